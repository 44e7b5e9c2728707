"""The rows of a run: what is kept of matches and events as Arrow tables, and records made of them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, Protocol

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from actors.runtime.plan import Plan
from experiments.columns import lists, names, numbers, text
from sim.errors import RecordMismatch
from sim.game import Game, Outcome
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
        ("figures", pa.string()),
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


class PointLabels(Protocol):
    """What a row says of its grid point."""

    @property
    def game(self) -> Game:
        """The game."""

    @property
    def labels(self) -> Mapping[str, Any]:
        """The settings that set the point apart."""


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
        _parquet(match_table(plan.points, records)),
        _parquet(event_table(records)),
    )


def _parquet(table: pa.Table) -> bytes:
    buffer = BytesIO()
    dictionary = [name for name in ("kind", "sender", "visibility", "match_id", "labels", "game", "status", "trigger")]
    columns = [name for name in dictionary if name in table.schema.names]
    pq.write_table(
        table, buffer, compression="zstd", compression_level=1, use_dictionary=columns, write_statistics=False
    )
    return buffer.getvalue()


def match_table(points: Sequence[PointLabels], records: Sequence[MatchRecord]) -> pa.Table:
    """Return the rows of matches; `points` are the run's grid points."""
    labels = [_json.encode(point.labels) for point in points]
    games = [point.game.game_id for point in points]
    seats = [agent_id.encode() for record in records for agent_id in record.spec.agent_ids]
    payoffs = [utility for record in records for utility in record.outcome.utilities]
    agent_ids = [record.spec.agent_ids for record in records]
    columns = [
        numbers([record.spec.index for record in records], pa.int64()),
        text([record.spec.match_id.encode() for record in records]),
        numbers([record.spec.point for record in records], pa.int32()),
        text([labels[record.spec.point] for record in records]),
        names([games[record.spec.point] for record in records]),
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
        text([_json.encode(record.outcome.figures) for record in records]),
    ]
    return pa.Table.from_arrays(columns, schema=MATCHES)


def event_table(records: Sequence[MatchRecord]) -> pa.Table:
    """Return the rows of the matches' events."""
    match_ids: list[str] = []
    senders: list[str] = []
    recipients: list[list[bytes] | None] = []
    events: list[Event] = []
    for record in records:
        agent_ids = record.spec.agent_ids
        by_seat = (*agent_ids, REFEREE_NAME)  # the referee is seat -1
        match_ids.extend([record.spec.match_id] * len(record.events))
        senders.extend([by_seat[event.sender] for event in record.events])
        events.extend(record.events)
        named = _Named(agent_ids)
        recipients.extend([named[event.recipients] for event in record.events])
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


class _Named(dict[tuple[int, ...] | None, list[bytes] | None]):
    """The names of recipients; a match has few sets of them, and many events."""

    def __init__(self, agent_ids: tuple[str, ...]) -> None:
        self[None] = None
        self._agent_ids = [agent_id.encode() for agent_id in agent_ids]

    def __missing__(self, recipients: tuple[int, ...] | None) -> list[bytes]:
        assert recipients is not None
        made = self[recipients] = [self._agent_ids[seat] for seat in recipients]
        return made


def decode(matches: pa.Table, events: pa.Table) -> Iterator[MatchRecord]:
    """Make records of the rows of a part.

    Raises:
        RecordMismatch: An event belongs to no match of the part, or to no seat of its match.
    """
    by_match: dict[str, list[Event]] = {}
    rows = matches.to_pylist()
    seats = {row["match_id"]: {agent_id: seat for seat, agent_id in enumerate(row["seats"])} for row in rows}
    for row in events.to_pylist():
        number = seats.get(row["match_id"])
        if number is None:
            raise RecordMismatch(row["match_id"], row["seq"], "its part has no row for this match")
        to = row["recipients"]
        if not number.keys() >= set(to or ()):
            raise RecordMismatch(row["match_id"], row["seq"], f"recipients are {to}; the seats are {list(number)}")
        recipients = None if to is None else tuple(number[agent_id] for agent_id in to)
        event = Event(row["seq"], row["time"], row["kind"], row["seat"], row["cause"], recipients, row["body"].encode())
        by_match.setdefault(row["match_id"], []).append(event)
    for row in rows:
        yield _record(row, by_match.get(row["match_id"], []))


def _record(row: dict[str, Any], events: list[Event]) -> MatchRecord:
    return MatchRecord(
        spec=MatchSpec(row["match_index"], tuple(row["seats"]), row["seed"], row["point"]),
        events=events,
        outcome=Outcome(
            row["status"],
            row["trigger"],
            tuple(row["payoffs"]),
            msgspec.json.decode(row["outcome"]),
            msgspec.json.decode(row["figures"]),
        ),
        turns=row["turns"],
        messages=row["messages"],
        seconds=row["seconds"],
        errors=tuple(msgspec.json.decode(row["errors"])),
        uncounted=row["uncounted"],
    )
