"""The run directory: Parquet parts that are there whole or not at all.

runs/NAME/
    run.yaml                    what was asked for
    matches/part-00000.parquet  a row per match
    events/part-00000.parquet   a row per event
    summary.json                what came out

A part of matches is written after its part of events, so a match that has a row has its events.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from actors.runtime.plan import Plan
from experiments.columns import lists, names, numbers, text
from sim.errors import RunError
from sim.game import Outcome
from sim.messages import Event
from sim.record import MatchRecord, MatchSpec

MATCHES = pa.schema(
    [
        ("match_index", pa.int64()),
        ("match_id", pa.string()),
        ("point", pa.int32()),
        ("labels", pa.string()),
        ("game", pa.string()),
        ("seed", pa.int64()),
        ("seats", pa.list_(pa.string())),
        ("status", pa.string()),
        ("trigger", pa.string()),
        ("payoffs", pa.list_(pa.float64())),
        ("turns", pa.int32()),
        ("messages", pa.int32()),
        ("tokens", pa.int64()),
        ("cost", pa.float64()),
        ("seconds", pa.float64()),
        ("error", pa.string()),
        ("errors", pa.string()),
        ("uncounted", pa.int32()),
        ("outcome", pa.string()),
    ]
)

EVENTS = pa.schema(
    [
        ("match_id", pa.string()),
        ("seq", pa.int32()),
        ("time", pa.float64()),
        ("kind", pa.string()),
        ("sender", pa.string()),
        ("seat", pa.int32()),
        ("cause", pa.int64()),
        ("recipients", pa.list_(pa.string())),
        ("visibility", pa.string()),
        ("body", pa.string()),
    ]
)

REFEREE_NAME = "referee"
_json = msgspec.json.Encoder()


class Batch(msgspec.Struct, frozen=True):
    """Finished matches, encoded where they were played.

    Attributes:
        indexes: Their numbers.
        matches: Their rows, as a Parquet file.
        events: The rows of their events, as a Parquet file.
    """

    indexes: tuple[int, ...]
    matches: bytes
    events: bytes


def encode(plan: Plan, records: Sequence[MatchRecord]) -> Batch:
    """Encode finished matches."""
    return Batch(
        tuple(record.spec.index for record in records),
        _parquet(_match_table(plan, records)),
        _parquet(_event_table(records)),
    )


def _parquet(table: pa.Table) -> bytes:
    buffer = BytesIO()
    dictionary = [name for name in ("kind", "sender", "visibility", "match_id", "labels", "game", "status", "trigger")]
    columns = [name for name in dictionary if name in table.schema.names]
    pq.write_table(
        table, buffer, compression="zstd", compression_level=1, use_dictionary=columns, write_statistics=False
    )
    return buffer.getvalue()


def _match_table(plan: Plan, records: Sequence[MatchRecord]) -> pa.Table:
    points = [plan.points[record.spec.point] for record in records]
    seats = [agent_id.encode() for record in records for agent_id in record.spec.agent_ids]
    payoffs = [utility for record in records for utility in record.outcome.utilities]
    agent_ids = [record.spec.agent_ids for record in records]
    columns = [
        numbers([record.spec.index for record in records], pa.int64()),
        text([record.spec.match_id.encode() for record in records]),
        numbers([record.spec.point for record in records], pa.int32()),
        text([_json.encode(point.labels) for point in points]),
        names([point.game.game_id for point in points]),
        numbers([record.spec.seed for record in records], pa.int64()),
        lists(agent_ids, text(seats)),
        names([record.outcome.status for record in records]),
        names([record.outcome.trigger for record in records]),
        lists(agent_ids, numbers(payoffs, pa.float64())),
        numbers([record.turns for record in records], pa.int32()),
        numbers([record.messages for record in records], pa.int32()),
        numbers([0] * len(records), pa.int64()),
        numbers([0.0] * len(records), pa.float64()),
        numbers([record.seconds for record in records], pa.float64()),
        text([record.errors[0].encode() if record.errors else None for record in records]),
        text([_json.encode(record.errors) for record in records]),
        numbers([record.uncounted for record in records], pa.int32()),
        text([_json.encode(record.outcome.details) for record in records]),
    ]
    return pa.Table.from_arrays(columns, schema=MATCHES)


def _event_table(records: Sequence[MatchRecord]) -> pa.Table:
    match_ids: list[str] = []
    senders: list[str] = []
    recipients: list[list[bytes] | None] = []
    events: list[Event] = []
    for record in records:
        agent_ids = record.spec.agent_ids
        by_seat = (*agent_ids, REFEREE_NAME)  # the referee is seat -1
        match_ids.extend([record.spec.match_id] * len(record.events))
        senders.extend([by_seat[event.sender] for event in record.events])
        for event in record.events:
            to = event.recipients
            recipients.append(None if to is None else [agent_ids[seat].encode() for seat in to])
        events.extend(record.events)
    columns = [
        names(match_ids),
        numbers([event.seq for event in events], pa.int32()),
        numbers([event.time for event in events], pa.float64()),
        names([event.kind for event in events]),
        names(senders),
        numbers([event.sender for event in events], pa.int32()),
        numbers([event.cause for event in events], pa.int64()),
        lists(recipients, text([agent_id for to in recipients if to for agent_id in to])),
        names(["public" if to is None else "private" if to else "referee" for to in recipients]),
        text([event.body for event in events]),
    ]
    return pa.Table.from_arrays(columns, schema=EVENTS)


class RunDirectory:
    """The files of a run.

    Args:
        path: The directory.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._next: int | None = None

    @property
    def config_file(self) -> Path:
        """Where the run says what was asked for."""
        return self.path / "run.yaml"

    @property
    def summary_file(self) -> Path:
        """Where the run says what came out."""
        return self.path / "summary.json"

    def create(self, config: str) -> None:
        """Make the directory.

        Args:
            config: Text of `run.yaml`.

        Raises:
            RunError: There is a run already.
        """
        if self.config_file.exists():
            raise RunError(
                f"{self.path} holds a run already; `quorum resume {self.path}` goes on with it, "
                "or choose another directory with out=..."
            )
        try:
            for name in ("matches", "events"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            write_whole(self.config_file, config.encode())
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error.strerror}") from None

    def add(self, batch: Batch) -> None:
        """Write a batch as the next part."""
        if self._next is None:
            self._next = self._parts()[-1] + 1 if self._parts() else 0
        name = f"part-{self._next:05d}.parquet"
        self._next += 1
        write_whole(self.path / "events" / name, batch.events)
        write_whole(self.path / "matches" / name, batch.matches)

    def finished(self) -> set[int]:
        """Return the numbers of the matches that are there; drop what a stopped run left half done."""
        found: set[int] = set()
        for file in sorted((self.path / "matches").glob("part-*.parquet")):
            found.update(pq.read_table(file, columns=["match_index"])["match_index"].to_pylist())
        whole = {file.name for file in (self.path / "matches").glob("part-*.parquet")}
        for file in (self.path / "events").glob("part-*.parquet"):
            if file.name not in whole:
                file.unlink()
        for file in self.path.rglob("*.tmp"):
            file.unlink()
        return found

    def records(self) -> Iterator[MatchRecord]:
        """Read the records back, a part at a time."""
        for number in self._parts():
            yield from self._records_of(f"part-{number:05d}.parquet")

    def _parts(self) -> list[int]:
        return sorted(int(file.stem.split("-")[1]) for file in (self.path / "matches").glob("part-*.parquet"))

    def _records_of(self, name: str) -> Iterator[MatchRecord]:
        matches = pq.read_table(self.path / "matches" / name).to_pylist()
        events = pq.read_table(self.path / "events" / name)
        by_match: dict[str, list[Event]] = {}
        seats = {row["match_id"]: {a: s for s, a in enumerate(row["seats"])} for row in matches}
        for row in events.to_pylist():
            number = seats[row["match_id"]]
            recipients = None if row["recipients"] is None else tuple(number[a] for a in row["recipients"])
            event = Event(
                row["seq"], row["time"], row["kind"], row["seat"], row["cause"], recipients, row["body"].encode()
            )
            by_match.setdefault(row["match_id"], []).append(event)
        for row in matches:
            yield _record(row, by_match.get(row["match_id"], []))


def _record(row: dict[str, Any], events: list[Event]) -> MatchRecord:
    return MatchRecord(
        spec=MatchSpec(row["match_index"], tuple(row["seats"]), row["seed"], row["point"]),
        events=events,
        outcome=Outcome(row["status"], row["trigger"], tuple(row["payoffs"]), msgspec.json.decode(row["outcome"])),
        turns=row["turns"],
        messages=row["messages"],
        seconds=row["seconds"],
        errors=tuple(msgspec.json.decode(row["errors"])),
        uncounted=row["uncounted"],
    )


def write_whole(file: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, whenever the process or the machine stops."""
    part = file.with_name(file.name + ".tmp")
    with part.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(file)
