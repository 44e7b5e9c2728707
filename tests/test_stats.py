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


def test_turns_that_lapse_are_forfeited_or_refused_are_counted_for_each_point_and_seat(tmp_path: Path) -> None:
    seats = "{raises: {kind: 'faulty_agents:Raises'}, greedy: {kind: 'faulty_agents:Greedy'}, fair: {kind: rational}}"
    run = played(
        tmp_path / "run",
        "game=provision_point/simple",
        "game.max_rounds_commit=1,2",
        "game.max_invalid=2",
        f"agents.seats={seats}",
        "runtime.batch=4",
        matches=10,
    )
    events = run.events().join(run.matches().select("match_id", "point"), on="match_id")
    kinds = {"timeouts": "timeout", "forfeits": "forfeit", "rejected": "rejected"}  # nothing here is late
    points = figures(run)
    for number, point in enumerate(points):
        for n, seat in enumerate(point.seats):
            found = events.filter(point=number, seat=n)
            for name, kind in kinds.items():
                assert getattr(seat, name) == found.filter(kind=kind).height, (number, seat, name)
    raises, greedy, fair = points[0].seats
    assert (raises.timeouts, raises.forfeits, raises.rejected) == (0, 10, 0)
    assert (greedy.timeouts, greedy.forfeits, greedy.rejected) == (0, 10, 20)
    assert (fair.timeouts, fair.forfeits, fair.rejected) == (0, 0, 0)
    assert 10 < points[1].seats[0].forfeits <= 20  # in two rounds, where the first does not settle it


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


REACHES = "--sql: a query reads the tables matches and events of the run, and writes nothing"


@pytest.mark.parametrize(
    "sql",
    [
        "copy matches to 'DIR/stolen.csv'",
        "copy (select 1) to 'RUN/matches/part-00000.parquet' (use_tmp_file false)",
        "explain analyze copy matches to 'DIR/stolen.csv'",
        "select 1; copy matches to 'DIR/stolen.csv'",
        "export database 'DIR/stolen'",
        "attach 'DIR/stolen.db'",
        "select * from 'DIR/secret.csv'",
        "select * from read_text('DIR/secret.csv')",
        "select * from read_blob('RUN/run.yaml')",
        "select * from read_parquet('RUN/matches/part-00000.parquet')",
        "select * from glob('DIR/*')",
        "create view v as select * from read_csv('DIR/secret.csv')",
        "set enable_external_access = true",
        "reset lock_configuration",
        "pragma profile_output = 'DIR/stolen.json'",
        "install httpfs",
        "load 'DIR/secret.csv'",
    ],
)
def test_a_query_reads_no_other_file_and_writes_none(grid: Run, tmp_path: Path, sql: str) -> None:
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    before = {file: file.read_bytes() for file in grid.path.rglob("*") if file.is_file()}
    with pytest.raises(RunError) as caught:
        query(grid, sql.replace("DIR", str(tmp_path)).replace("RUN", str(grid.path)))
    assert str(caught.value).startswith(REACHES)
    assert "\n" not in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]
    assert {file: file.read_bytes() for file in grid.path.rglob("*") if file.is_file()} == before


def test_a_query_sees_no_variable_of_the_program(grid: Run) -> None:
    with pytest.raises(RunError, match="files"):
        query(grid, "select * from files")


def test_a_query_sees_rows_in_the_order_in_which_they_are_written(grid: Run) -> None:
    indexes = [index for (index,) in query(grid, "select match_index from matches")[1]]
    stored = [grid.directory.read("matches", number)["match_index"].to_pylist() for number in grid.directory.parts()]
    assert indexes == [index for part in stored for index in part]
