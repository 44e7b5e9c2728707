"""Studies: the same figures however many processes play, and rates that theory knows."""

from __future__ import annotations

import json
from math import exp, sqrt
from pathlib import Path

import msgspec
import pytest
from commands import quorum

from experiments.studies import TimeoutStudy, study_timeouts
from experiments.studies.report import bar, findings
from experiments.studies.timeouts import DELAYS, NETWORKS, RATIOS, SITUATIONS, Job, all_points, crossing, play

POINTS = len(all_points())


@pytest.fixture(scope="module")
def study() -> TimeoutStudy:
    return study_timeouts(POINTS, seed=7, workers=1)


def test_the_figures_do_not_depend_on_the_number_of_processes(study: TimeoutStudy) -> None:
    assert study_timeouts(POINTS, seed=7, workers=2) == study


def test_with_fixed_delays_the_threshold_is_what_lies_between_proposal_and_consensus(study: TimeoutStudy) -> None:
    fixed = [curve for curve in study.curves if curve.network == "fixed"]
    assert [curve.delays for curve in fixed] == [2, 2, 4]
    for curve in fixed:
        assert curve.rates == tuple(float(ratio > curve.delays) for ratio in RATIOS)
        assert curve.delays - 0.1 < curve.collapse < curve.delays + 0.1


def test_every_point_has_its_formations_and_every_curve_its_rates(study: TimeoutStudy) -> None:
    assert study.formations == POINTS == len(SITUATIONS) * len(NETWORKS) * len(DELAYS) * len(RATIOS)
    assert [rate.initiated for rate in study.rates] == [1] * POINTS
    assert len(study.curves) == len(SITUATIONS) * len(NETWORKS)


@pytest.mark.parametrize("ratio", [1.0, 2.1, 4.1])
def test_with_exponential_delays_the_rate_is_that_of_two_of_them_in_a_row(ratio: float) -> None:
    point = all_points().index((SITUATIONS[0], "exponential", DELAYS[0], ratio))
    counts = [play(Job(point, 0, 25, seed)) for seed in range(20)]
    initiated, active = (sum(column) for column in zip(*counts, strict=True))
    expected = 1 - exp(-ratio) * (1 + ratio)
    assert initiated == 500
    assert active / initiated == pytest.approx(expected, abs=4 * sqrt(expected * (1 - expected) / initiated))


def test_a_level_is_crossed_between_two_points_and_for_the_last_time() -> None:
    assert crossing((1.0, 2.0, 3.0), (0.0, 0.5, 1.0), 0.75) == 2.5
    assert crossing((1.0, 2.0, 3.0, 4.0), (0.9, 0.1, 0.9, 0.9), 0.5) == 2.5
    assert crossing((1.0, 2.0), (1.0, 1.0), 0.5) == 1.0
    assert crossing((1.0, 2.0), (0.0, 0.0), 0.0) == 1.0


def test_a_share_is_a_bar() -> None:
    assert (bar(0.0).strip(), bar(1.0), bar(0.5).strip()) == ("", "█" * 14, "█" * 7)
    assert {len(bar(n / 100)) for n in range(101)} == {14}


def test_the_findings_say_where_it_collapses(study: TimeoutStudy) -> None:
    first, *_ = findings(study)
    assert "2 (found between 1.9 and 2.1)" in first and "4 (found between 3.9 and 4.1)" in first
    far = msgspec.structs.replace(study, spread=9.0)
    assert "does not tell all" in [*findings(far)][-1]


def test_the_command_shows_curves_in_80_columns_and_leaves_a_file(tmp_path: Path) -> None:
    ended = quorum("study", "timeouts", "--formations", str(POINTS), "--workers", "1", "--out", tmp_path / "study")
    assert (ended.code, ended.err) == (0, "") and max(map(len, ended.out.splitlines()[:-1])) <= 80
    for situation in SITUATIONS:
        assert situation.name in ended.out
    written = json.loads((tmp_path / "study" / "timeouts.json").read_text())
    assert written["formations"] == POINTS and len(written["curves"]) == 9
    again = quorum("study", "timeouts", "--out", tmp_path / "study")
    assert again.code == 2 and "holds a study already" in again.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("deadlines",), "there is no such study"),
        (("timeouts", "--formations", "5"), f"from {POINTS}"),
        (("timeouts", "--workers", "0"), "at least 1"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], said: str) -> None:
    ended = quorum("study", *arguments)
    assert ended.code == 2 and said in ended.err and len(ended.err.splitlines()) == 1
