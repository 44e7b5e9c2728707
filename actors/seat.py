"""A seat in one match: what arrives there, in order, and the ways to answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from actors.agent import Agent, Answer
from actors.answers import add_messages, make_act
from actors.thinking import Thought, Thoughts
from actors.turn import TAKEN, Turn
from sim.bus import Address, Bus
from sim.errors import InboxFull, describe, one_line
from sim.game import ActionType
from sim.messages import (
    REFEREE,
    Event,
    Forfeit,
    Lost,
    MatchEnd,
    MatchOpen,
    Message,
    PhaseOpen,
    Rejection,
    Update,
    Verdict,
    YourTurn,
)
from sim.record import NoticeBody


class _OfTurn(msgspec.Struct, frozen=True):
    turn: int


_turn_decoder = msgspec.json.Decoder(_OfTurn)
_notice_decoder = msgspec.json.Decoder(NoticeBody)
_OVER = Rejection("match_not_running", "the match is over")

Item: TypeAlias = YourTurn | PhaseOpen | Event | Verdict | MatchEnd
"""What arrives at a seat while the match is on."""


class Seat:
    """A seat in one match.

    `async for item in seat` yields all that arrives, in order, to the end of the match: `YourTurn`,
    `PhaseOpen`, `Event` and `Verdict`. `async for turn in seat.turns()` yields turns alone, and gathers the
    rest into them. Both stop when the match is over.

    Args:
        address: The match and the seat number.
        agent: Who plays here.
        bus: Where the referee is reached.
        streams: Whether the agent reads all that arrives, or turns alone.
        capacity: Unread items at most.
        action_types: The game's action types, by name.
        tasks: Where tasks are entered in which the agent thinks about a turn.

    Attributes:
        agent: Who plays here.
        number: Number of the seat.
        memory: What the agent remembers of this match and of no other.
        events: What happened so far, as this seat may see it.
        asked: How often the seat was asked.
        last_turn: Number of the turn that it was last asked for.
        action_types: The game's action types, by name.
        task: The task in which the agent plays; None where it decides without waiting. Its host sets it.
    """

    # How it begins; here and not in `__init__`, for there are seats by the million.
    asked = 0
    last_turn = 0
    task: asyncio.Task[None] | None = None
    _read = 0
    _cause = 0
    _rng: Random | None = None
    _opening: MatchOpen | None = None
    _ending: MatchEnd | None = None
    _private: dict[str, Any] | None = None
    _acting: int | None = None
    _acting_in = 0
    _overrun: int | None = None
    _thoughts: Thoughts | None = None
    _waiter: asyncio.Future[None] | None = None

    def __init__(
        self,
        address: Address,
        agent: Agent,
        bus: Bus,
        *,
        streams: bool = True,
        capacity: int = 8192,
        action_types: Mapping[str, type[ActionType]] = MappingProxyType({}),
        tasks: set[asyncio.Task[None]] | None = None,
    ) -> None:
        self.agent = agent
        self.action_types = action_types
        self.memory: dict[str, Any] = {}
        self.events: list[Event] = []
        self._address = address
        self._referee = Address(address.match, REFEREE)
        self.number = address.seat
        self._bus = bus
        self._capacity = capacity
        self._items: deque[Item] = deque()
        self._streams = streams
        self._verdicts: dict[int, asyncio.Future[Verdict]] = {}
        self._read_in: dict[int, int] = {}
        self._tasks = tasks

    # ── what the seat knows ─────────────────────────────────────────────────────────────────────────────

    @property
    def opening(self) -> MatchOpen:
        """The first message of the match."""
        if self._opening is None:
            raise RuntimeError("the match has not opened yet")
        return self._opening

    @property
    def match_id(self) -> str:
        """Name of the match within its run."""
        return self.opening.match_id

    @property
    def agent_id(self) -> str:
        """The seat's id."""
        return self.opening.agent_id

    @property
    def agent_ids(self) -> tuple[str, ...]:
        """All ids, in seat order."""
        return self.opening.agent_ids

    @property
    def role(self) -> str:
        """The seat's role."""
        return self.opening.role

    @property
    def rules(self) -> str:
        """The rules in words, for this role."""
        return self.opening.rules

    @property
    def private(self) -> dict[str, Any]:
        """What this seat alone was told when the match opened."""
        if self._private is None:
            self._private = msgspec.msgpack.decode(self.opening.private)
        return self._private

    @property
    def rng(self) -> Random:
        """The seat's own generator; the same draws for the same seed, whatever the schedule."""
        if self._rng is None:
            self._rng = Random(self.opening.seed)
        return self._rng

    @property
    def over(self) -> bool:
        """Whether the match is over."""
        return self._ending is not None

    @property
    def end(self) -> dict[str, Any] | None:
        """The end of the match as this seat is told it, once it is over."""
        return None if self._ending is None else msgspec.json.decode(self._ending.outcome)

    # ── what arrives ────────────────────────────────────────────────────────────────────────────────────

    def receive(self, update: Update) -> YourTurn | PhaseOpen | None:
        """Take in what the referee has for this seat; return what it asks, if it asks.

        Raises:
            InboxFull: The agent has not read for so long that nothing more fits.
        """
        events, known = update.events, self.events
        if events:
            if known and events[0].seq <= known[-1].seq:
                events = self._unseen(events)
            known.extend(events)
            if self._acting is not None or self._verdicts or self._streams or self._thoughts or self._items:
                self._take_events(events)
        message = update.message
        if type(message) is YourTurn or type(message) is PhaseOpen:
            self.asked += 1
            self.last_turn = message.turn
            return message
        if type(message) is MatchOpen:
            self._opening = message
        elif type(message) is Verdict:
            self._resolve(message)
            if self._streams:
                self.put(message)
        elif type(message) is MatchEnd:
            self._take_end(message)
        return None

    def _unseen(self, events: list[Event]) -> list[Event]:
        """Leave out what was received before: on an unreliable bus a message may come twice."""
        seen = {event.seq for event in self.events}
        return [event for event in events if event.seq not in seen]

    def put(self, item: Item) -> None:
        """Hand an item to the agent that plays here.

        Raises:
            InboxFull: It has not read for so long that nothing more fits.
        """
        if len(self._items) >= self._capacity:
            raise InboxFull(self._capacity)
        self._items.append(item)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take_events(self, events: list[Event]) -> None:
        for event in events:
            if event.sender == self.number:
                if event.cause and event.kind == "action":
                    self._resolve(Verdict(event.cause))
                elif event.kind in TAKEN:
                    self._stop_thinking(_turn_decoder.decode(event.body).turn)
            elif event.kind == "notice":
                notice = _notice_decoder.decode(event.body)
                if notice.closes:
                    self._leave_thread(notice.thread)
            elif event.kind == "phase" and self._thoughts is not None:
                self._thoughts.leave_all()
            if self._streams:
                self.put(event)

    def _take_end(self, message: MatchEnd) -> None:
        self._ending = message
        for cause in list(self._verdicts):
            self._resolve(Verdict(cause, _OVER))
        if self._acting is not None:
            self._interrupt()
        self.stop_thinking()
        self._items.append(message)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _resolve(self, verdict: Verdict) -> None:
        future = self._verdicts.pop(verdict.cause, None)
        if future is not None and not future.done():
            future.set_result(verdict)

    def _stop_thinking(self, number: int) -> None:
        """A turn is over, whatever its agent still thinks of it."""
        if number == self._acting:
            self._interrupt()
        elif self._thoughts is not None:
            self._thoughts.stop(number)
        self._drop_asks(lambda ask: ask.turn == number)

    def _leave_thread(self, thread: int) -> None:
        """A thread is over, and the turn in it with it."""
        if self._acting is not None and thread == self._acting_in:
            self._interrupt()
        if self._thoughts is not None:
            self._thoughts.leave(thread)
        self._drop_asks(lambda ask: ask.thread == thread)

    def _drop_asks(self, over: Callable[[YourTurn | PhaseOpen], bool]) -> None:
        """What was asked and not read yet is over."""
        if self._items and not self._streams:
            kept = [item for item in self._items if not (isinstance(item, (YourTurn, PhaseOpen)) and over(item))]
            self._items = deque(kept)

    def spawn(self, turn: Turn, thinking: Thought) -> None:
        """Think about a turn in a task of its own; it is cancelled when the turn is over first."""
        self._acting = None
        if self._ending is not None:
            thinking.close()
            return
        if self._thoughts is None:
            self._thoughts = Thoughts(self.forfeit, set() if self._tasks is None else self._tasks)
        self._thoughts.begin(turn.thread, turn.number, thinking)

    def stop_thinking(self) -> None:
        """Cancel all tasks in which the agent thinks about a turn."""
        if self._thoughts is not None:
            self._thoughts.leave_all()

    def _interrupt(self) -> None:
        """The turn that the agent is still thinking about is over."""
        if self.task is not None and not self.task.done():
            self._overrun, self._acting = self._acting, None
            self.task.cancel()

    def overran(self, turn: Turn | None = None) -> bool:
        """Return whether a cancellation means that this turn (or any) lapsed; if so it is dealt with."""
        if self._overrun is None or (turn is not None and self._overrun != turn.number):
            return False
        self._overrun = None
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        return True

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        """Return the next item.

        Raises:
            StopAsyncIteration: The match is over.
        """
        while not self._items:
            await self._wait()
        item = self._items.popleft()
        if type(item) is MatchEnd:
            self._items.appendleft(item)
            raise StopAsyncIteration
        return item

    def turns(self) -> _Turns:
        """Iterate over the turns that the seat is asked for, to the end of the match."""
        return _Turns(self)

    def turn(self, ask: YourTurn | PhaseOpen) -> Turn:
        """Return what the agent is asked, with what happened since it was last asked."""
        end = len(self.events)
        if ask.thread:
            start, self._read_in[ask.thread] = self._read_in.get(ask.thread, 0), end
        else:
            start, self._read = self._read, end
        return Turn(self, ask, start, end)

    def was_asked_in(self, thread: int) -> bool:
        """Return whether the seat was asked in a thread so far."""
        return thread in self._read_in if thread else self._read > 0

    async def _wait(self) -> None:
        waiter = self._waiter = asyncio.get_running_loop().create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────────

    async def submit(self, answer: Answer, *, turn: int = 0, messages: Sequence[Message | str] = ()) -> Verdict:
        """Submit an answer and wait for the verdict.

        Args:
            answer: An action by name, a typed action, or either with messages.
            turn: Number of the turn that it answers; in a concurrent phase it may be left out.
            messages: What is said along with it.

        Returns:
            The verdict; `match_not_running` when the match ended first.
        """
        if self._ending is not None:
            return Verdict(0, _OVER)
        if messages:
            answer = add_messages(answer, messages)
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._verdicts[self._cause + 1] = future
        self.answer(turn, answer, receipt=True)
        return await future

    def answer(self, turn: int, answer: Answer, *, receipt: bool = False) -> None:
        """Submit an answer to a turn without waiting for the verdict.

        Args:
            turn: Number of the turn.
            answer: The answer.
            receipt: Whether the verdict is to be sent at once, and not along with the next question.
        """
        self._acting = None
        self._cause += 1
        act = make_act(self._address.seat, turn, self._cause, answer, receipt is True)
        self._bus.send(self._address, self._referee, act)

    def forfeit(self, turn: int, error: BaseException) -> None:
        """Give a turn up because the agent raised."""
        self._acting = None
        turn = turn if type(turn) is int else 0  # an agent may say anything
        self._bus.send(self._address, self._referee, Forfeit(self._address.seat, turn, describe(error)))

    def leave(self, reason: str) -> None:
        """Give up all turns of the match."""
        self._bus.send(self._address, self._referee, Lost(self._address.seat, one_line(reason)))


class _Turns:
    """The turns of a seat. A class that reaches into it, and not a generator: it costs half the time per turn."""

    __slots__ = ("_seat",)

    def __init__(self, seat: Seat) -> None:
        seat._streams = False
        self._seat = seat

    def __aiter__(self) -> _Turns:
        return self

    async def __anext__(self) -> Turn:
        seat = self._seat
        seat._acting = None
        while True:
            while seat._items:
                item = seat._items.popleft()
                if type(item) is YourTurn or type(item) is PhaseOpen:
                    seat._acting, seat._acting_in = item.turn, item.thread
                    return seat.turn(item)
                if type(item) is MatchEnd:
                    seat._items.appendleft(item)
                    raise StopAsyncIteration
            await seat._wait()
