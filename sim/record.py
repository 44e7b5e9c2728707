"""What is kept of a match: its specification, its event log and its outcome; and judging it again.

The log holds the inbox order in its events: each event either is what was read or follows from it. So the
rules can be applied again to a record alone, and must give the same events and the same outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sim.game import Outcome
from sim.messages import Event, Struct


class MatchSpec(Struct, frozen=True):
    """What makes a match: with the game's parameters, all that its rules and its agents are given.

    Attributes:
        index: Number of the match within its run, from 0.
        agent_ids: Seat ids, in seat order.
        seed: Seed of the match; the game and every seat draw from seeds derived from it.
        point: Number of the grid point that the game's parameters come from.
    """

    index: int
    agent_ids: tuple[str, ...]
    seed: int
    point: int = 0

    @property
    def match_id(self) -> str:
        """Name of the match within its run."""
        return f"m{self.index:06d}"


class MatchRecord(msgspec.Struct, frozen=True):
    """All that is kept of a match.

    Attributes:
        spec: What made it.
        events: What happened, in order.
        outcome: How it ended.
        turns: Turns that seats were asked for; in concurrent order a seat may act without one.
        messages: Chat messages.
        seconds: How long it took on its own clock.
        errors: What agents raised, in order, and why seats were lost.
        uncounted: Rejected submissions beyond what is recorded of one seat.
    """

    spec: MatchSpec
    events: Sequence[Event]
    outcome: Outcome
    turns: int
    messages: int
    seconds: float
    errors: tuple[str, ...]
    uncounted: int


# ── bodies of events ────────────────────────────────────────────────────────────────────────────────────


class ActionBody(Struct, frozen=True, omit_defaults=True):
    """An accepted action, or the default that a seat was given.

    Attributes:
        agent_id: Whose.
        phase: In which phase.
        round: In which round of it; 0 where the seat had no turn.
        turn: In which turn; where the seat had none, the number that it quoted.
        action: Name of the action; None where the game has no default.
        payload: Its fields, as everybody may see them.
        messages: What was said to all along with it. Private messages are events of their own.
        deadline: When the turn lapsed, for a timeout.
        private: Its fields in full where the others may not see all; the record alone holds this.
        error: Why the seat forfeits; the record alone holds this.
        thread: In which thread.
        said: The messages in full where the others do not hear all; the record alone holds this.
    """

    agent_id: str
    phase: str
    round: int
    turn: int
    action: str | None
    payload: Any
    messages: tuple[str, ...] = ()
    deadline: float | None = None
    private: Any = None
    error: str | None = None
    thread: int = 0
    said: tuple[str, ...] | None = None


class EndBody(Outcome, frozen=True):
    """The outcome. Other attributes as in `Outcome`.

    Attributes:
        digest: SHA-256 of all events before this one. What an agent sent follows from nothing, so the rules alone
            would not notice that a word of it was changed.
    """

    digest: str = ""


class MessageBody(Struct, frozen=True, omit_defaults=True):
    """A private chat message. Other attributes as in `Message`.

    Attributes:
        agent_id: Who said it.
        thread: In which thread.
        said: The text in full where its recipients do not hear all; the record alone holds this.
    """

    agent_id: str
    text: str
    to: tuple[str, ...]
    thread: int = 0
    said: str | None = None


class NoticeBody(Struct, frozen=True, omit_defaults=True):
    """What the referee said to a thread.

    Attributes:
        text: What it said.
        thread: The thread.
        closes: Whether the thread is over.
        facts: The same for a program to read.
    """

    text: str
    thread: int = 0
    closes: bool = False
    facts: dict[str, Any] = {}  # noqa: RUF012


class RejectedBody(Struct, frozen=True, omit_defaults=True):
    """A rejected submission, whole enough to be judged again.

    Attributes:
        agent_id: Who sent it; None when nobody at this table did.
        code: Why it was rejected.
        reason: The same in words.
        claimed: The seat that it claimed to come from.
        turn: The turn that it quoted.
        action: Name of the action.
        payload: Its payload, where JSON can hold it.
        packed: Its payload as MessagePack in Base64, where JSON cannot.
        messages: What was said along with it.
        problem: What was wrong before it could be encoded.
        size: Bytes of a submission that was too large, which is not kept itself.
    """

    agent_id: str | None
    code: str
    reason: str
    claimed: int
    turn: int
    action: str = ""
    payload: Any = None
    packed: bytes | None = None
    messages: tuple[Any, ...] = ()
    problem: str = ""
    size: int = 0
