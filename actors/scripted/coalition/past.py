"""What a seat of the coalition game has gone through in a match so far, as numbers."""

from __future__ import annotations

import msgspec

from actors.turn import Turn
from sim.record import NoticeBody


class Past(msgspec.Struct):
    """What came of a seat's decisions.

    Attributes:
        read: How many events it has looked at.
        initiations: Formations that it has initiated and that have ended.
        active: How many of them became active.
        signatures: Signatures that it has given to formations that have ended.
        kept: How many of these formations became active.
        earned: What all its formations brought, in currency.
        formations: The formations that are counted in `earned`.
    """

    read: int = 0
    initiations: int = 0
    active: int = 0
    signatures: int = 0
    kept: int = 0
    earned: float = 0.0
    formations: set[int] = msgspec.field(default_factory=set)


def past_features(turn: Turn) -> dict[str, float]:
    """Return the past as numbers; only what is new since the last time is read.

    `initiated` and `success` are how many formations it has initiated, and which part of them became active; `kept`
    is the part of its signatures that led to a coalition, `earned` what formations have brought so far. Where there
    was nothing yet, parts are 0.5.
    """
    past: Past = turn.memory.setdefault("past", Past())
    events = turn.seat.events
    for event in events[past.read :]:
        if event.kind == "notice" and b'"utility"' in event.body:
            _take(past, _notice.decode(event.body).facts)
    past.read = len(events)
    return {
        "initiated": float(past.initiations),
        "success": _rate(past.active, past.initiations),
        "kept": _rate(past.kept, past.signatures),
        "earned": past.earned,
    }


def _take(past: Past, paid: dict[str, object]) -> None:
    active = paid["end"] == "active"
    if paid["action"] == "initiate":
        past.initiations += 1
        past.active += active
    elif paid["action"] == "sign":
        past.signatures += 1
        past.kept += active
    formation, utility = paid.get("formation"), paid["utility"]
    if isinstance(formation, int) and isinstance(utility, int | float) and formation not in past.formations:
        past.formations.add(formation)
        past.earned += utility


def _rate(count: int, of: int) -> float:
    return round(count / of, 6) if of else 0.5


_notice = msgspec.json.Decoder(NoticeBody)
