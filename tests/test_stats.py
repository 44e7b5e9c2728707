"""Figures of a run, by hand and by the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import played
from scipy.stats import norm

from experiments.results import Run
from experiments.stats import Z95, figures, query
from sim.errors import RunError


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return played(tmp_path_factory.mktemp("stats") / "run", "game.threshold=80,300", "runtime.batch=7", matches=40)


def test_the_quantile_is_that_of_the_normal_distribution() -> None:
    assert pytest.approx(norm.ppf(0.975), abs=1e-12) == Z95


def test_figures_are_those_of_numpy_for_each_point(grid: Run) -> None:
    points = figures(grid)
    assert [point.labels for point in points] == [{"game.threshold": 80}, {"game.threshold": 300}]
    matches = grid.matches()
    for number, point in enumerate(points):
        rows = matches.filter(point=number)
        payoffs = np.array(rows["payoffs"].to_list())
        assert point.matches == 40
        assert point.turns == pytest.approx(rows["turns"].mean())
        assert point.statuses == {"resolved": 40}
        assert sum(point.triggers.values()) == 40
        assert [seat.agent_id for seat in point.seats] == grid.agent_ids
        for seat, figure in enumerate(point.seats):
            assert figure.mean == pytest.approx(payoffs[:, seat].mean(), abs=1e-9)
            width = 1.96 * payoffs[:, seat].std(ddof=1) / np.sqrt(40)
            assert figure.half_width == pytest.approx(width, rel=1e-4, abs=1e-9)


def test_success_is_the_share_that_reached_the_goal_of_the_game(grid: Run) -> None:
    low, high = figures(grid)
    assert (low.goal, high.goal) == ("funded", "funded")
    assert low.success is not None
    assert high.success is not None
    assert low.success > high.success
    assert low.success == low.triggers["threshold_met"] / 40


def test_a_goal_of_a_game_that_is_gone_is_left_out(grid: Run, tmp_path: Path) -> None:
    run = Run(grid.path)
    run.config["points"][0]["game"]["class"] = "nowhere:Gone"
    assert figures(run)[0].goal is None
    assert figures(run)[0].matches == 40


def test_one_match_has_a_mean_and_no_interval(tmp_path: Path) -> None:
    (point,) = figures(played(tmp_path / "run", matches=1))
    assert all(seat.half_width is None for seat in point.seats)


def test_a_query_sees_both_tables(grid: Run) -> None:
    names, rows = query(
        grid, "select count(*) as n, count(distinct e.match_id) from matches m join events e using (match_id)"
    )
    assert names[0] == "n"
    assert rows[0][1] == 80


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("selec 1", "selec"),
        ("select nope from matches", "nope"),
        ("select * from matchs", "matches"),
        ("", "--sql"),
        ("select 1; select 'x'::int", "--sql"),
    ],
)
def test_a_wrong_query_is_told(grid: Run, sql: str, says: str) -> None:
    with pytest.raises(RunError, match="--sql: ") as caught:
        query(grid, sql)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
