"""A schedule in words: when, who, to whom, what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from experiments.stress.schedules import run_entries
from experiments.stress.watching import Entry, Watched
from sim.errors import one_line
from sim.game import Game
from sim.log import as_json
from sim.messages import (
    REFEREE,
    Abort,
    Act,
    Deadline,
    Event,
    Forfeit,
    Lost,
    MatchEnd,
    PhaseOpen,
    ToReferee,
    ToSeat,
    Verdict,
    YourTurn,
)
from sim.record import MatchSpec

_LONGEST = 160
"""Letters of what a line says."""


def trace(game: Game, spec: MatchSpec, entries: Sequence[Entry]) -> list[str]:
    """Return what happens when an inbox is read, a line for each thing that is sent."""
    teller = _Teller(spec.agent_ids)
    schedule = run_entries(game, spec, entries, teller.tell)
    lines = [(time, f"{who} -> {whom}", what) for time, who, whom, what in teller.lines]
    width = max((len(route) for _, route, _ in lines), default=0)
    said = [f"{time:10.6f}  {route:{width}}  {what}" for time, route, what in lines]
    if schedule.violation is not None:
        said.append(f"{'':10}  {schedule.violation}")
    return said


class _Teller:
    """Writes down what happens, step by step.

    Attributes:
        lines: What happened: (when, who, to whom, what).
    """

    def __init__(self, agent_ids: Sequence[str]) -> None:
        self.lines: list[tuple[float, str, str, str]] = []
        self._agent_ids = agent_ids

    def tell(self, watched: Watched, entry: Entry | None, sent: list[tuple[int, ToSeat | None]], before: int) -> None:
        """Write down an item, and what it leads to."""
        now = 0.0
        if entry is not None:
            now, sender, item = entry
            self._line(now, "clock" if isinstance(item, Deadline) else self._name(sender), "referee", _said(item))
        for event in watched.log.events[before:]:
            told = _told(event)
            if told is not None:
                whom = "all" if event.recipients is None else self._names(event.recipients)
                self._line(now, "referee", whom or "record", told)
        for seat, message in sent:
            what = _sent(message)
            if what is not None:
                self._line(now, "referee", self._name(seat), what)

    def _line(self, time: float, who: str, whom: str, what: str) -> None:
        text = one_line(what)
        self.lines.append((time, who, whom, text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."))

    def _name(self, seat: int) -> str:
        if seat == REFEREE:
            return "process"
        return self._agent_ids[seat] if 0 <= seat < len(self._agent_ids) else f"stranger {seat}"

    def _names(self, seats: Sequence[int]) -> str:
        return ", ".join(self._name(seat) for seat in seats)


def _said(item: ToReferee) -> str:
    match item:
        case Act():
            plain = as_json(item.payload)
            payload = repr(item.payload) if plain is None else bytes(plain).decode()
            said = "".join(f" {'says' if m.to is None else f'whispers to {m.to}'} {m.text!r}" for m in item.messages)
            return f"{item.action or item.problem} {payload} for turn {item.turn} (number {item.cause}){said}"
        case Deadline():
            return f"all that was due at {item.at:.6f} is late"
        case Forfeit():
            return f"gives up turn {item.turn}: {item.error}"
        case Lost():
            return f"the seat is lost: {item.error}"
        case Abort():
            return f"the match is to end: {item.reason}"


def _told(event: Event) -> str | None:
    """Say an event that the item does not say already; what is not refused is accepted."""
    body: dict[str, Any] = msgspec.json.decode(event.body)
    match event.kind:
        case "phase":
            return f"phase {body['phase']}"
        case "notice":
            return f"{body['text']}{' (thread %d is over)' % body['thread'] if body.get('closes') else ''}"  # noqa: UP031
        case "timeout" | "forfeit":
            action = body.get("action") or "nothing"
            return f"{event.kind}: turn {body['turn']} of {body['agent_id']} takes {action}"
        case "end":
            return f"the match is over: {body['status']}, {body['trigger']}, utilities {body['utilities']}"
    return None


def _sent(message: ToSeat | None) -> str | None:
    if isinstance(message, (YourTurn, PhaseOpen)):
        thread = f", thread {message.thread}" if message.thread else ""
        asks = " or ".join(name for name in message.allowed if name != "message_only")
        return f"turn {message.turn}, {message.phase}{thread}: {asks}? until {message.deadline:.6f}"
    if isinstance(message, Verdict) and message.rejection is not None:
        return f"refused: {message.rejection.code}: {message.rejection.reason}"
    if isinstance(message, MatchEnd):
        return None  # the event says it
    return None
