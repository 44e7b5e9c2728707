"""Where agents live: gives every agent a fresh seat for each of its matches and plays it in a task of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from actors.agent import Agent
from actors.seat import Seat
from sim.bus import Address, Bus
from sim.clock import Clock
from sim.errors import InboxFull, describe
from sim.game import ActionType
from sim.messages import AnyMessage, MatchEnd, MatchOpen, PhaseOpen, Update, YourTurn

GRACE = 1.0
"""Seconds that an agent has to return once its match is over, before its task is cancelled."""


class AgentHost:
    """The agents of one process, or of one cell.

    Args:
        agent_at: Finds the agent that plays at an address.
        bus: Where their referees are reached.
        clock: The time.
        types_at: Finds the action types of the game that is played there.
    """

    def __init__(
        self,
        agent_at: Callable[[Address], Agent],
        bus: Bus,
        clock: Clock,
        types_at: Callable[[Address], Mapping[str, type[ActionType]]] = lambda address: {},
    ) -> None:
        self._clock = clock
        self._agent_at = agent_at
        self._types_at = types_at
        self._bus = bus
        self._seats: dict[Address, Seat | None] = {}  # None: it left, and its match goes on
        self._tasks: set[asyncio.Task[None]] = set()
        self._leaving: deque[tuple[float, asyncio.Task[None]]] = deque()

    @property
    def open_seats(self) -> int:
        """How many seats are in a match that is not over."""
        return len(self._seats)

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Take in what a referee has for one of this host's seats."""
        assert type(message) is Update
        seat = self._seats.get(to)
        if seat is None:
            if to in self._seats:
                if type(message.message) is MatchEnd:
                    del self._seats[to]
                return
            if type(message.message) is not MatchOpen:
                return
            seat = self._open(to)
        try:
            ask = seat.receive(message)
            if ask is None:
                if seat.over:
                    self._end(to, seat)
            elif seat.task is None:
                self._clock.soon(self._decide, seat, ask)
            else:
                seat.put(ask)
        except InboxFull as error:
            seat.leave(describe(error))
            seat.stop_thinking()
            self._close(seat)
            self._seats[to] = None

    def forget(self, address: Address) -> None:
        """A match is over and this seat was not told: the message was lost, or is still on its way."""
        seat = self._seats.pop(address, None)
        if seat is not None and seat.task is not None:
            seat.task.cancel()
            seat.stop_thinking()

    def _open(self, address: Address) -> Seat:
        agent = self._agent_at(address)
        seat = self._seats[address] = Seat(
            address,
            agent,
            self._bus,
            streams=not agent.decides,
            action_types=self._types_at(address),
            tasks=self._tasks,
        )
        if not agent.decides:
            seat.task = asyncio.get_running_loop().create_task(self._play(agent, seat))
            self._tasks.add(seat.task)
            seat.task.add_done_callback(self._tasks.discard)
        return seat

    def _end(self, address: Address, seat: Seat) -> None:
        self._close(seat)
        del self._seats[address]
        if seat.agent.looks_back:
            self._look_back(seat)

    def _close(self, seat: Seat) -> None:
        if seat.task is not None and not seat.task.done():
            self._leaving.append((self._clock.now() + GRACE, seat.task))
            if len(self._leaving) == 1:
                self._clock.at(self._leaving[0][0], self._sweep)

    def _look_back(self, seat: Seat) -> None:
        try:
            seat.agent.ended(seat)
        except (Exception, SystemExit) as error:  # the match is over, so nothing can be forfeited: it is only said
            said = f"agent {seat.agent_id} raised when match {seat.match_id} was over"
            asyncio.get_running_loop().call_exception_handler({"message": said, "exception": error})

    def _sweep(self) -> None:
        """Cancel the tasks of agents that have not returned in time; one timer serves them all."""
        now = self._clock.now()
        while self._leaving and (self._leaving[0][0] <= now or self._leaving[0][1].done()):
            self._leaving.popleft()[1].cancel()
        if self._leaving:
            self._clock.at(self._leaving[0][0], self._sweep)

    def _decide(self, seat: Seat, ask: YourTurn | PhaseOpen) -> None:
        try:
            seat.answer(ask.turn, seat.agent.decide(seat.turn(ask)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an agent that calls `sys.exit` ends nobody's process
            seat.forfeit(ask.turn, error)

    async def _play(self, agent: Agent, seat: Seat) -> None:
        """Play one match; an agent that raises forfeits its turn and goes on, unless it raises at once again."""
        asked = 0
        while True:
            try:
                await agent.play(seat)
            except (Exception, SystemExit, asyncio.CancelledError) as error:
                if seat.over:
                    return
                if isinstance(error, asyncio.CancelledError):
                    if seat.overran():
                        continue
                    task = asyncio.current_task()
                    if task is not None and task.cancelling():
                        return
                    # Nobody cancelled it: what it waited for was cancelled, or it raised this itself.
                if seat.asked == asked:
                    seat.leave(describe(error))
                    return
                asked = seat.asked  # before the referee asks anew
                seat.forfeit(seat.last_turn, error)
            else:
                if not seat.over:
                    seat.leave("the agent left the match before its end")
                return

    async def close(self) -> None:
        """Cancel what still plays; an agent that does not let itself be cancelled is not waited for."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        _, clinging = await asyncio.wait(tasks, timeout=GRACE)
        for task in clinging:
            # The loop would wait for them without end when it closes.
            asyncio.tasks._unregister_task(task)
