"""Games that keep their own order: several conversations at once, and turns that depend on other turns.

The phases of most games say who is asked, in which order and how often (`sim.game.Phase`). Where that is not
enough, the state calls for the turns itself: it appends to `calls` what is to be asked, and to `notices` what the
referee is to say; the judge takes both from there after each item that it has read.
"""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec
from msgspec import field

from sim.game import ActionType, State
from sim.messages import Struct

_pack = msgspec.msgpack.Encoder()


class Call(Struct, frozen=True):
    """A turn that the state asks for.

    A call for a seat and thread whose turn is open asks that turn again, with its number and its deadline.

    Attributes:
        seat: Who is asked.
        thread: In which conversation; 0 in a game that has only one.
        round: Round, from 1.
        phase: The phase as the seat is told; None is that of the match.
        within: Seat and thread of an open turn whose deadline this one may not outlive.
        by: When the turn lapses at the latest, in seconds of the match.
    """

    seat: int
    thread: int = 0
    round: int = 1
    phase: str | None = None
    within: tuple[int, int] | None = None
    by: float = inf


class Notice(Struct, frozen=True):
    """What the referee says to those who take part in a thread.

    Attributes:
        text: What it says.
        thread: The thread.
        closes: Whether the thread is over: its turns, open or called for, are withdrawn.
        to: Seats that it is for; None is all that take part in the thread, empty the record alone.
        facts: The same for a program to read.
    """

    text: str
    thread: int = 0
    closes: bool = False
    to: tuple[int, ...] | None = None
    facts: dict[str, Any] = {}  # noqa: RUF012


class PacedState(State, kw_only=True):
    """State of a game that keeps its own order.

    What `start` calls for is asked when the match opens. In concurrent order all that is called for is asked at
    once; in round-robin order one turn at a time, in the order of the calls. Each turn has `turn_timeout` seconds.

    An action type that does not advance (`ActionType.advances`) leaves the turn open: it waits, while its deadline
    runs, until the state calls for it again. Every legal turn has a default action.

    Attributes:
        calls: Turns to be asked; the judge takes them out.
        notices: What is to be said; the judge takes them out.
        now: Time of the last item that changed something, in seconds of the match; `apply` and `wake` read it.
        alarm: When the state wants to be woken, in seconds of the match.
    """

    calls: list[Call] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    now: float = 0.0
    alarm: float = inf

    def wake(self) -> None:
        """Do what is due: the time of the alarm has come. Sets a later alarm."""
        raise NotImplementedError

    def thread_of(self, seat: int, action: Any) -> int:
        """Return the thread that an unasked action is meant for, by its payload.

        Raises:
            IllegalAction: It is meant for none that the seat takes part in.
        """
        raise NotImplementedError

    def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
        """Return the names of the actions that the seat may take now in a thread, without `message_only`."""
        raise NotImplementedError

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        """Apply a legal action in a thread, whole or not at all.

        Raises:
            IllegalAction: The rules refuse it; the state is unchanged.
        """
        raise NotImplementedError

    def default_action(self, seat: int, thread: int = 0) -> ActionType | None:
        """Return what a seat does in a thread that does not answer."""
        raise NotImplementedError

    def view(self, seat: int, thread: int = 0) -> dict[str, Any]:
        """Build what the seat may see in a thread, from nothing else; `action_history` is added for it."""
        raise NotImplementedError

    def packed_view(self, seat: int, thread: int = 0) -> bytes:
        """Pack the view as the seat is sent it; a state that keeps parts of it packed puts them in (`sim.views`)."""
        return _pack.encode(self.view(seat, thread))

    def party(self, thread: int) -> tuple[int, ...] | None:
        """Return the seats that see what is said and done in a thread; None is all of them."""
        return None

    def shown(self, seat: int, action: ActionType) -> ActionType:
        """Return an action as the other seats may see it."""
        return action.public_part() or action if action.private_fields else action

    def heard(self, seat: int, text: str) -> str:
        """Return what others hear of what a seat says in a chat message."""
        return text

    def close_phase(self) -> None:
        """Nothing is asked any more, and the match is not over: the rules have forgotten to call for a turn.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"nobody is asked in phase {self.phase.name}, and the match is not over")
