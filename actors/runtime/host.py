"""Where agents live: gives every agent a fresh seat for each of its matches and plays it in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from actors.agent import Agent
from actors.seat import Seat, describe
from sim.bus import Address, Bus
from sim.errors import InboxFull
from sim.messages import AnyMessage, MatchEnd, MatchOpen

GRACE = 1.0
"""Seconds that an agent has to return once its match is over, before its task is cancelled."""


class AgentHost:
    """The agents of one process, or of one cell.

    Args:
        agents: By seat number.
        bus: Where their referees are reached.
    """

    def __init__(self, agents: Mapping[int, Agent], bus: Bus) -> None:
        self._agents = agents
        self._bus = bus
        self._seats: dict[Address, Seat] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def open_seats(self) -> int:
        """How many seats are in a match that is not over."""
        return len(self._seats)

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Take in a message of a referee for one of this host's seats."""
        if type(message) is MatchOpen:
            self._open(to)
        seat = self._seats.get(to)
        if seat is None:
            return
        try:
            seat.receive(sender, message)
        except InboxFull as error:
            seat.leave(describe(error))
            self._close(to)
            return
        if type(message) is MatchEnd:
            self._close(to)

    def _open(self, address: Address) -> None:
        if address in self._seats:
            return
        seat = self._seats[address] = Seat(address, self._bus)
        seat.task = asyncio.get_running_loop().create_task(self._play(self._agents[address.seat], seat))
        self._tasks.add(seat.task)
        seat.task.add_done_callback(self._tasks.discard)

    def _close(self, address: Address) -> None:
        seat = self._seats.pop(address)
        task = seat.task
        if task is not None and not seat.idle:
            asyncio.get_running_loop().call_later(GRACE, task.cancel)

    async def _play(self, agent: Agent, seat: Seat) -> None:
        """Play one match; an agent that raises forfeits its turn and goes on, unless it raises at once again."""
        while True:
            asked = seat.asked
            try:
                await agent.play(seat)
            except asyncio.CancelledError:
                if seat.over or not seat.overran():
                    return
            except Exception as error:
                if seat.over:
                    return
                if seat.asked == asked:
                    seat.leave(describe(error))
                    return
                seat.forfeit(seat.last_turn, error)
            else:
                if not seat.over:
                    seat.leave("the agent left the match before its end")
                return

    async def close(self) -> None:
        """Cancel what still plays."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
