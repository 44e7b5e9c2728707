"""Reading a run in Python: shapes, units and errors, for runs that are finished, stopped, empty or damaged."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import played

from experiments import load_run
from experiments.config import compose
from experiments.manifest import describe_run
from experiments.results import Run
from experiments.store import RunDirectory
from sim.errors import RunError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return played(tmp_path_factory.mktemp("results") / "run", "runtime.batch=5", matches=24)


@pytest.fixture
def empty(tmp_path: Path) -> Run:
    """A run that was stopped before a match was finished."""
    config = compose(["game.threshold=100,200", "num_matches=5"])
    plan, settings = config.plan()
    RunDirectory(tmp_path / "run").create(describe_run(plan, settings, origin="config", points=config.points))
    return load_run(tmp_path / "run")


def test_matches_are_a_row_each_in_order(run: Run) -> None:
    matches = run.matches()
    assert len(run) == run.asked == 24
    assert matches["match_index"].to_list() == list(range(24))
    assert matches["match_id"][3] == "m000003"
    assert run.to_polars().equals(matches)
    assert list(run.to_pandas()["match_index"]) == list(range(24))


def test_payoffs_are_an_array_of_matches_by_seats(run: Run) -> None:
    matrix = run.payoff_matrix
    assert matrix.shape == (24, 5)
    assert matrix.dtype == np.float64
    assert run.agent_ids == ["coordinator", "rational_1", "rational_2", "free_rider", "zero"]
    assert list(run.mean_payoffs) == run.agent_ids
    assert np.allclose(list(run.mean_payoffs.values()), matrix.mean(axis=0))


def test_results_have_the_documented_shape(run: Run) -> None:
    assert run.completion_rate == 1.0
    result = run.match_results[3]
    assert result.match_id == "m000003"
    assert {"payoffs", "trigger", "total_committed", "threshold"} <= set(result.outcome)
    assert list(result.utilities) == run.agent_ids
    assert list(result.utilities.values()) == list(run.payoff_matrix[3])
    assert (result.status, result.error, result.labels) == ("resolved", None, {})


@pytest.mark.parametrize("name", ["m000003", "3", 3, "m3", " 3"])
def test_a_match_is_found_by_name_or_number(run: Run, name: str | int) -> None:
    events = run.events(name)
    assert set(events["match_id"]) == {"m000003"}
    assert events["seq"].to_list() == list(range(len(events)))
    assert events["kind"][-1] == "end"
    assert run.match(name)["match_index"] == 3


@pytest.mark.parametrize("name", ["24", "m000024", "-1", -1, "nope", "", "m", "3.5", "٣"])
def test_a_match_that_is_not_there_is_told(run: Run, name: str | int) -> None:
    with pytest.raises(RunError, match=r"has no match .*it has 24 of 24 matches"):
        run.events(name)


def test_all_events_can_be_had_at_once(run: Run) -> None:
    assert run.events().height == sum(len(record.events) for record in run.records())
    assert set(run.events()["visibility"]) == {"public", "private", "referee"}


def test_records_hold_what_the_tables_hold(run: Run) -> None:
    records = sorted(run.records(), key=lambda record: record.spec.index)
    assert [record.outcome.utilities for record in records] == [tuple(row) for row in run.payoff_matrix.tolist()]
    assert [record.turns for record in records] == run.matches()["turns"].to_list()


def test_a_grid_is_labelled_and_its_points_may_differ_in_seats(tmp_path: Path) -> None:
    run = played(tmp_path / "run", "agents=provision_point/rational,provision_point/mixed", matches=4)
    matches = run.matches()
    assert matches["point"].to_list() == [0] * 4 + [1] * 4
    assert matches["labels"].to_list()[0] == '{"agents":"provision_point/rational"}'
    assert matches["payoffs"].list.len().to_list() == [3] * 4 + [5] * 4
    assert matches["seed"].to_list()[:4] == matches["seed"].to_list()[4:]  # the same draws at every point
    assert set(run.mean_payoffs) == {*run.agent_ids, "coordinator", "rational_1", "rational_2", "free_rider", "zero"}
    with pytest.raises(RunError, match="differ in their number of seats"):
        _ = run.payoff_matrix
    assert run.match_results[5].labels == {"agents": "provision_point/mixed"}


def test_a_run_without_a_match_is_read_all_the_same(empty: Run) -> None:
    assert (len(empty), empty.asked, empty.completion_rate) == (0, 10, 0.0)
    assert empty.payoff_matrix.shape == (0, 5)
    assert empty.mean_payoffs == {}
    assert empty.match_results == []
    assert empty.summary == {}
    assert empty.matches().is_empty()
    assert empty.matches().schema["payoffs"] == pl.List(pl.Float64)
    assert empty.events().is_empty()
    assert list(empty.records()) == []
    with pytest.raises(RunError, match="has no match 0"):
        empty.events(0)


def test_what_was_asked_for_and_what_came_out(run: Run) -> None:
    assert run.config["num_matches"] == 24
    assert run.summary["matches"] == run.summary["asked"] == 24
    assert run.summary["points"][0]["matches"] == 24


@pytest.mark.parametrize(
    "text", ["", "{", "a: [", "points: 3", "origin: config", "- 1", "\0", "origin: config\nseed: x"]
)
def test_a_damaged_manifest_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(RunError, match=r"run\.yaml is damaged: \S"):
        load_run(tmp_path)


def test_a_manifest_of_other_bytes_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(RunError, match=r"run\.yaml is damaged"):
        load_run(tmp_path)


def test_a_folder_that_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"it has no run\.yaml"):
        load_run(tmp_path)
    with pytest.raises(RunError, match="there is no such run directory"):
        load_run(tmp_path / "nope")


def test_a_damaged_summary_is_told(empty: Run) -> None:
    empty.directory.summary_file.write_text("{")
    with pytest.raises(RunError, match=r"summary\.json is damaged"):
        _ = empty.summary


async def test_a_run_is_read_inside_of_an_event_loop(run: Run) -> None:
    assert await asyncio.to_thread(len, run) == len(run) == 24
