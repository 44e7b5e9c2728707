"""Judging every record of a run again, and comparing every column that was stored with what it must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from experiments.config import game_from
from experiments.results import Run
from experiments.rows import decode, event_table, match_table
from sim.errors import ConfigError, RecordMismatch, RunError
from sim.game import Game
from sim.record import MatchRecord
from sim.replay import rejudge
from sim.rng import derive


class _Stored(msgspec.Struct, frozen=True):
    """A grid point as `run.yaml` holds it; the agents are not needed to judge again."""

    game: Game
    labels: dict[str, Any]
    seats: list[str]


def replay_run(run: Run, progress: Callable[[int, int], None] | None = None) -> int:
    """Judge every record again; returns how many there were. Holds one part in memory.

    Raises:
        RecordMismatch: A record differs; it names the match and the first event that does.
        RunError: A file is damaged, or the game of the run cannot be made.
    """
    try:
        points = [_Stored(game_from(p["game"]), p["labels"], p["seats"]) for p in run.config["points"]]
    except ConfigError as error:
        raise RunError(f"{run.directory.config_file}: {error}") from None
    seen = bytearray(len(points) * run.config["num_matches"])
    total, count = len(run), 0
    for number in run.directory.parts():
        matches, events = run.directory.read("matches", number), run.directory.read("events", number)
        for row in matches.select(["match_index", "match_id", "point", "seed", "seats"]).to_pylist():
            _check_row(row, run, points, seen)
        try:
            records = list(decode(matches, events))
        except (LookupError, TypeError, ValueError, msgspec.MsgspecError) as error:
            raise run.directory.damaged("matches", number, error) from None
        for record in records:
            _check_record(record, points[record.spec.point].game)
            count += 1
            if progress is not None and count % 100 == 0:
                progress(count, total)
        _compare(match_table(points, records), matches, records)
        _compare(event_table(records), events, records)
    return count


def _check_row(row: dict[str, Any], run: Run, points: Sequence[_Stored], seen: bytearray) -> None:
    """Check that a match is one of those that were asked for, and is there for the first time."""
    index, match_id = row["match_index"], row["match_id"]
    if not 0 <= index < len(seen):
        raise RecordMismatch(match_id, 0, f"match_index is {index}; the run has {len(seen)} matches")
    if seen[index]:
        raise RecordMismatch(match_id, 0, "the match is there twice")
    seen[index] = 1
    point, repetition = divmod(index, run.config["num_matches"])
    expected = {
        "match_id": f"m{index:06d}",
        "point": point,
        "seed": derive(run.config["seed"], "match", repetition),
        "seats": points[point].seats,
    }
    for name, right in expected.items():
        if row[name] != right:
            raise RecordMismatch(match_id, 0, f"{name} is {row[name]}; that of the run is {right}")


def _check_record(record: MatchRecord, game: Game) -> None:
    rejudge(record, game)
    if record.seconds != record.events[-1].time:
        took = f"seconds is {record.seconds}; the match took {record.events[-1].time}"
        raise RecordMismatch(record.spec.match_id, len(record.events) - 1, took)


def _compare(right: pa.Table, stored: pa.Table, records: Sequence[MatchRecord]) -> None:
    """Compare stored rows with the rows that the judged records give.

    The records were made of some columns only; this is what notices a change in the others, such as who may see
    an event, or the labels of a match.
    """
    if right.equals(stored):
        return
    for row, (now_is, was) in enumerate(zip(right.to_pylist(), stored.to_pylist(), strict=False)):
        for name, value in now_is.items():
            if value != was[name]:
                raise RecordMismatch(
                    now_is["match_id"],
                    now_is.get("seq", 0),
                    f"{name} is {was[name]!r}; it must be {value!r} (row {row})",
                )
    match_id = records[0].spec.match_id if records else "?"
    raise RecordMismatch(match_id, 0, f"its part has {stored.num_rows:,} rows; it must have {right.num_rows:,}")
