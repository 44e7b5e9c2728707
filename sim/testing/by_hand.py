"""A match by hand: whoever holds it reads items to the judge, and sees what every seat is sent."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from math import inf
from typing import Any, TypeAlias

import msgspec

from sim.game import ActionType, Game, Outcome
from sim.messages import (
    REFEREE,
    Act,
    Deadline,
    Event,
    Message,
    PhaseOpen,
    Rejection,
    ToReferee,
    Update,
    Verdict,
    YourTurn,
)
from sim.paced import PacedState
from sim.paced_judge import appoint
from sim.record import MatchRecord, MatchSpec

Ask: TypeAlias = YourTurn | PhaseOpen
"""What a seat can be asked."""


class MatchByHand:
    """One match without a clock, a bus or agents: whoever holds it reads items to the judge, one by one.

    Every seat is sent what it may see at once, as a reactive seat is.

    Args:
        game: The game.
        agent_ids: The seats.
        seed: Seed of the match.
        index: Number of the match.

    Attributes:
        spec: What makes the match.
        judge: Rules on it.
        now: Seconds since the match opened; set it to let time pass.
        sent: What each seat was sent, in order.
        script: What was read: (when, sender, item).
        turns: Turns that seats were asked for: number -> seat.
        lapsed: Numbers of those that lapsed.
    """

    def __init__(self, game: Game, agent_ids: Sequence[str], seed: int = 0, *, index: int = 0) -> None:
        game.check_seats(tuple(agent_ids))
        self.game = game
        self.spec = MatchSpec(index, tuple(agent_ids), seed)
        self.judge = appoint(self.spec, game)
        self.now = 0.0
        self.sent: list[list[Update]] = [[] for _ in agent_ids]
        self.script: list[tuple[float, int, ToReferee]] = []
        self.turns: dict[int, int] = {}
        self.lapsed: set[int] = set()
        self._told = [0] * len(agent_ids)
        self._asks: dict[int, Ask] = {}
        self._causes = [0] * len(agent_ids)

    def open(self) -> MatchByHand:
        """Open the match."""
        self.judge.open()
        self._deliver()
        return self

    @property
    def seats(self) -> range:
        """The seat numbers."""
        return range(len(self.spec.agent_ids))

    @property
    def outcome(self) -> Outcome | None:
        """How the match ended, or None."""
        return self.judge.outcome

    @property
    def events(self) -> list[Event]:
        """What happened so far."""
        return self.judge.log.events

    def ask(self, seat: int, turn: int | None = None) -> Ask | None:
        """Return what the seat was last asked in an open turn; None when there is none.

        Args:
            seat: The seat.
            turn: Number of the turn; None takes the oldest that is open.
        """
        open_ = [number for who, number in self.open_turns() if who == seat and turn in (None, number)]
        return self._asks[open_[0]] if open_ else None

    def open_turns(self) -> list[tuple[int, int]]:
        """Return the open turns as (seat, number), but for those that wait for something else to happen."""
        return [(turn.seat, turn.id) for turn in self.judge.open_turns() if turn.legal]

    def thread(self, turn: int) -> int:
        """Return the thread of a turn that was asked for."""
        return self._asks[turn].thread

    def legal(self, seat: int, turn: int) -> tuple[str, ...]:
        """Return what the rules let a seat do now in one of its open turns."""
        state = self.judge.state
        return state.legal(seat, self.thread(turn)) if isinstance(state, PacedState) else state.legal(seat)

    def view(self, seat: int, thread: int = 0) -> dict[str, Any]:
        """Return what the seat may see of the state."""
        state = self.judge.state
        return state.view(seat, thread) if isinstance(state, PacedState) else state.view(seat)

    def state_bytes(self) -> bytes:
        """Return the state as bytes, to compare."""
        return state_bytes(self.judge.state)

    def next_cause(self, seat: int) -> int:
        """Return a submission number that the seat has not used."""
        self._causes[seat] += 1
        return self._causes[seat]

    def act(
        self,
        seat: int,
        action: str | ActionType,
        payload: Any = None,
        *,
        turn: int | None = None,
        messages: Sequence[Message | str] = (),
    ) -> Rejection | None:
        """Submit an action for a seat, as an answer to its open turn unless another is named.

        Returns:
            Why it was rejected; None when it was accepted.
        """
        if isinstance(action, ActionType):
            action, payload = action.name, action
        if turn is None:
            ask = self.ask(seat)
            turn = ask.turn if ask is not None else 0
        said = tuple(Message(m) if isinstance(m, str) else m for m in messages)
        packed = msgspec.msgpack.encode({} if payload is None else payload)
        return self.read(seat, Act(seat, turn, self.next_cause(seat), action, packed, said))

    def read(self, sender: int, item: ToReferee) -> Rejection | None:
        """Read an item to the judge; return why it was rejected if it was."""
        self.script.append((self.now, sender, item))
        self.judge.read(sender, item, self.now)
        rejection = None
        for seat, message in self.judge.outbox:
            if type(message) is Verdict and seat == sender and message.rejection is not None:
                rejection = message.rejection
        self._deliver()
        return rejection

    def stalled(self) -> bool:
        """Return whether nobody is asked, and time alone goes on."""
        state = self.judge.state
        return isinstance(state, PacedState) and state.alarm < inf and not self.open_turns()

    def lapse(self) -> None:
        """Let time pass to the next deadline or alarm, and read it."""
        open_, state = self.judge.open_turns(), self.judge.state
        times = [turn.deadline for turn in open_]  # the judge's own may be that of a turn that is over
        deadline = min([*times, state.alarm] if isinstance(state, PacedState) else times)
        self.now = max(self.now, deadline)
        self.lapsed.update(turn.id for turn in open_ if turn.deadline <= deadline)
        self.read(REFEREE, Deadline(deadline))

    def record(self) -> MatchRecord:
        """Return the record; the match must be over."""
        return self.judge.close()

    def _deliver(self) -> None:
        for seat, message in (*self.judge.outbox, *((seat, None) for seat in self.seats)):
            news = self.judge.log.since(self._told[seat], seat)
            self._told[seat] = len(self.events)
            if news or message is not None:
                self.sent[seat].append(Update(news, message))
            if isinstance(message, (YourTurn, PhaseOpen)):
                self._asks[message.turn] = message
                self.turns[message.turn] = seat
        self.judge.outbox.clear()


def state_bytes(state: Any) -> bytes:
    """Return a game's state as bytes, to compare it with what it was or with that of another match."""
    try:
        return msgspec.msgpack.encode(state)
    except TypeError:  # a type that msgspec does not know
        return pickle.dumps(copy.deepcopy(state))


def encode_events(record: MatchRecord) -> bytes:
    """Return the events of a record as bytes, to compare."""
    return msgspec.msgpack.encode(record.events)
