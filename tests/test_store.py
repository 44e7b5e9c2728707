"""The run directory: parts that are there whole or not at all, and a match that is there once."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from commands import played, quorum

from experiments.config import compose
from experiments.results import Run
from experiments.rows import EVENTS, MATCHES, encode
from experiments.store import RunDirectory, part_name, write_whole
from sim.errors import RunError


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A finished run of 24 matches in parts of 5."""
    return played(tmp_path / "run", "runtime.batch=5", "runtime.window=4", matches=24)


def indexes(run: Run) -> list[int]:
    return run.matches()["match_index"].to_list()


def drop(run: Run, number: int, tables: tuple[str, ...] = ("matches", "events")) -> None:
    for table in tables:
        (run.path / table / part_name(number)).unlink()


def test_parts_are_read_in_place_by_other_tools(run: Run) -> None:
    assert len(run.directory.parts()) >= 5
    assert pl.scan_parquet(run.path / "matches" / "*.parquet").select(pl.len()).collect().item() == 24
    rows = duckdb.sql(f"select count(*), count(distinct match_id) from '{run.path}/events/*.parquet'").fetchall()
    assert rows[0][1] == 24
    assert pq.read_schema(run.directory.files("matches")[0]).equals(MATCHES)
    assert pq.read_schema(run.directory.files("events")[0]).equals(EVENTS)


def test_records_come_back_as_they_were_a_part_at_a_time(run: Run) -> None:
    records = list(run.records())
    assert sorted(record.spec.index for record in records) == list(range(24))
    plan, _ = compose(["num_matches=24"]).plan()
    first = run.directory.read("matches", 0)
    again = encode(plan, [record for record in records if record.spec.index in first["match_index"].to_pylist()])
    assert sorted(again.indexes) == sorted(first["match_index"].to_pylist())


def test_no_match_at_all_can_be_encoded() -> None:
    plan, _ = compose([]).plan()
    batch = encode(plan, [])
    assert batch.indexes == ()
    assert pq.read_table(io.BytesIO(batch.matches)).num_rows == 0


@pytest.mark.parametrize("number", [0, 2, 4])
def test_resuming_plays_what_is_missing_and_nothing_twice(run: Run, number: int) -> None:
    before = {row["match_index"]: row for row in run.matches().iter_rows(named=True)}
    drop(run, number)
    missing = 24 - len(run)
    ended = quorum("resume", run.path)
    assert ended.code == 0
    assert ended.out.startswith(f"{missing} matches were missing and have been played\n")
    assert indexes(run) == list(range(24))
    for row in run.matches().iter_rows(named=True):
        assert row["payoffs"] == before[row["match_index"]]["payoffs"]
    assert quorum("replay", run.path).code == 0


def test_resuming_a_finished_run_changes_nothing(run: Run) -> None:
    files = {file: file.stat().st_mtime_ns for file in run.path.rglob("*.parquet")}
    summary = run.directory.summary_file.read_bytes()
    ended = quorum("resume", run.path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("nothing was missing\n")
    assert {file: file.stat().st_mtime_ns for file in run.path.rglob("*.parquet")} == files
    assert run.directory.summary_file.read_bytes() == summary


def test_what_a_stopped_run_left_half_done_is_dropped(run: Run) -> None:
    last = run.directory.parts()[-1]
    drop(run, last, ("matches",))  # events are written first: the process stopped between the two
    (run.path / "matches" / (part_name(last) + ".tmp")).write_bytes(b"PAR1 half")
    (run.path / "events" / (part_name(last + 1) + ".tmp")).write_bytes(b"")
    assert quorum("resume", run.path).code == 0
    assert indexes(run) == list(range(24))
    assert not list(run.path.rglob("*.tmp"))
    assert len(list((run.path / "events").iterdir())) == len(list((run.path / "matches").iterdir()))
    assert quorum("replay", run.path).code == 0


def test_the_next_part_never_takes_the_place_of_another(run: Run) -> None:
    last = run.directory.parts()[-1]
    drop(run, 1)
    assert quorum("resume", run.path).code == 0
    assert 1 not in run.directory.parts()
    assert max(run.directory.parts()) > last


def test_a_directory_that_holds_a_run_is_not_taken(run: Run) -> None:
    ended = quorum("run", f"out={run.path}", "num_matches=1")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert f"quorum resume {run.path}" in ended.err
    assert len(run) == 24


@pytest.mark.skipif(not os.access("/proc", os.R_OK), reason="needs a directory that nobody can write")
def test_a_directory_that_cannot_be_written_is_one_line() -> None:
    ended = quorum("run", "out=/proc/nowhere/run", "num_matches=1")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: out=/proc/nowhere/run cannot be written: ")
    assert ended.err.count("\n") == 1


def test_a_file_in_the_way_of_a_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    ended = quorum("run", f"out={tmp_path / 'file' / 'run'}", "num_matches=1")
    assert (ended.code, ended.err.count("\n")) == (2, 1)


def test_two_processes_never_write_one_run(run: Run) -> None:
    drop(run, 0)
    code = "import sys; from experiments.cli import main; sys.argv = ['quorum', 'resume', sys.argv[1]]; main()"
    with run.directory.writing():
        ended = subprocess.run(
            [sys.executable, "-c", code, str(run.path)], capture_output=True, text=True, timeout=60, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr == f"error: {run.path} is being written by another process\n"
    assert quorum("resume", run.path).code == 0


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_whole(file, b"one")
    write_whole(file, b"two")
    assert file.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]


def test_a_write_that_is_stopped_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(descriptor: int) -> None:
        raise KeyboardInterrupt

    write_whole(tmp_path / "file", b"one")
    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "file", b"two")
    assert (tmp_path / "file").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("table", ["matches", "events"])
@pytest.mark.parametrize("damage", ["truncated", "emptied", "garbled", "gone"])
def test_a_damaged_part_is_named_and_can_be_mended(run: Run, table: str, damage: str) -> None:
    file = run.path / table / part_name(1)
    data = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes({"truncated": data[:-20], "emptied": b"", "garbled": b"\0" * len(data)}[damage])
    if not (table == "matches" and damage == "gone"):  # a part without matches is one that was never finished
        commands = [["replay"], ["results", "--sql", f"select * from {table}"]]
        commands += [["results"], ["resume"]] if table == "matches" else []
        for command, *rest in commands:
            ended = quorum(command, run.path, *rest)
            assert ended.code == 2, command
            assert ended.err.count("\n") == 1
            assert f"{table}/{part_name(1)} is damaged" in ended.err
            assert f"quorum resume {run.path}" in ended.err
    for name in ("matches", "events"):
        (run.path / name / part_name(1)).unlink(missing_ok=True)
    assert quorum("resume", run.path).code == 0
    assert quorum("replay", run.path).out.startswith("24 matches judged again")


def test_a_run_that_python_started_cannot_be_resumed_from_the_command_line(run: Run) -> None:
    file = run.directory.config_file
    file.write_text(file.read_text().replace("origin: config", "origin: python"))
    ended = quorum("resume", run.path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "started from Python" in ended.err
    assert "resume=True" in ended.err


def test_adding_outside_of_a_directory_fails(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"), RunDirectory(tmp_path / "nowhere").writing():
        pass
