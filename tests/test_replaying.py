"""Replaying notices a change in any column of any row, and names the match."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import played, quorum

from experiments.results import Run
from experiments.rows import EVENTS, MATCHES

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "run"
    played(path, "agents=provision_point/colluders", "game.threshold=100,150", matches=4)
    return path


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Run:
    shutil.copytree(original, tmp_path / "run")
    return Run(tmp_path / "run")


def change(run: Run, table: str, edit: Callable[[Rows], Any]) -> None:
    file = run.directory.files(table)[0]
    rows = pq.read_table(file).to_pylist()
    edit(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=MATCHES if table == "matches" else EVENTS), file)


def other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, str):
        return value[:-1] + ("x" if value[-1:] != "x" else "y")
    if isinstance(value, list):
        return [*value[:-1], other(value[-1])] if value else value
    return 1 if value is None else value + 1


def test_an_untouched_run_is_confirmed(run: Run) -> None:
    told: list[tuple[int, int]] = []
    from experiments.replaying import replay_run

    assert replay_run(run, lambda done, total: told.append((done, total))) == 8
    assert quorum("replay", run.path).out == "8 matches judged again; all give the same events and outcomes\n"


@pytest.mark.parametrize("column", [name for name in MATCHES.names if name != "uncounted"])
def test_a_change_in_any_column_of_a_match_is_noticed(run: Run, column: str) -> None:
    def edit(rows: Rows) -> None:
        rows[2][column] = '["x"]' if column == "errors" else "x" if column == "error" else other(rows[2][column])
        if column in ("outcome", "figures"):
            rows[2][column] = '{"total_committed":1.0}'

    change(run, "matches", edit)
    ended = quorum("replay", run.path)
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert ended.err.startswith("differs: match m0000")


@pytest.mark.parametrize("column", EVENTS.names)
@pytest.mark.parametrize("kind", ["message", "action", "end", "open"])
def test_a_change_in_any_column_of_an_event_is_noticed(run: Run, column: str, kind: str) -> None:
    def edit(rows: Rows) -> None:
        row = next(r for r in rows if r["kind"] == kind and r["match_id"] == "m000001")
        before = row[column]
        if column == "recipients":
            row[column] = ["coordinator"] if before != ["coordinator"] else []
        elif column == "body":
            row[column] = before[:-2] + ("0" if before[-2] != "0" else "1") + before[-1]
        elif column == "seat":
            row[column] = 1 if before != 1 else 2
        else:
            row[column] = other(before)
        assert row[column] != before

    change(run, "events", edit)
    ended = quorum("replay", run.path)
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("differs: match m00000")


def test_an_event_more_or_fewer_or_elsewhere_is_noticed(run: Run) -> None:
    saved = run.directory.files("events")[0].read_bytes()
    for edit in (
        lambda rows: rows.pop(9),
        lambda rows: rows.append(rows[-1]),
        lambda rows: rows.insert(0, rows.pop(9)),
    ):
        run.directory.files("events")[0].write_bytes(saved)
        change(run, "events", edit)
        assert quorum("replay", run.path).code == 1


def test_a_match_that_is_there_twice_is_noticed(run: Run) -> None:
    for table in ("matches", "events"):
        file = run.directory.files(table)[0]
        shutil.copy(file, file.with_name("part-00077.parquet"))
    ended = quorum("replay", run.path)
    assert ended.code == 1
    assert "the match is there twice" in ended.err


@pytest.mark.parametrize(
    ("old", "new"),
    [("seed: 0", "seed: 1"), ("threshold: 100", "threshold: 99"), ("num_matches: 4", "num_matches: 3")],
)
def test_a_change_of_what_was_asked_for_is_noticed(run: Run, old: str, new: str) -> None:
    file = run.directory.config_file
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert quorum("replay", run.path).code == 1


def test_matches_that_are_missing_are_told(run: Run) -> None:
    file = run.directory.config_file
    file.write_text(file.read_text().replace("num_matches: 4", "num_matches: 5"))
    assert quorum("replay", run.path).code == 1  # the second point's matches have other numbers now
    for part in [*run.directory.files("matches")]:
        part.unlink()
    assert f"10 are missing: quorum resume {run.path}" in quorum("replay", run.path).out


@pytest.mark.parametrize("table", ["matches", "events"])
def test_a_flipped_byte_anywhere_is_never_a_traceback(run: Run, table: str) -> None:
    file = run.directory.files(table)[0]
    data = file.read_bytes()
    codes = set()
    for place in range(4, len(data), max(1, len(data) // 40)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :])
        ended = quorum("replay", run.path)
        assert ended.err.count("\n") == (0 if ended.code == 0 else 1)
        codes.add(ended.code)
    assert codes <= {0, 1, 2}  # 0: a byte of the file's own description that says nothing of the rows
    assert codes & {1, 2}
