"""A cell: the referees of many matches in one event loop, and the bus that joins them to their seats."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from actors.runtime.plan import Plan
from sim.bus import Address, Bus, Receiver
from sim.clock import Clock
from sim.errors import RunError, describe
from sim.record import MatchRecord
from sim.referee import Referee

Route = Callable[[Address], Receiver]
"""Who receives what is sent to a seat: the agents' host here, or the link to the process that they live in."""


class Cell:
    """Plays the matches that it is assigned, as many at a time as its window holds.

    Args:
        plan: What the run plays.
        bus: What joins referees and seats.
        route: Who receives for a seat.
        clock: The time.
        window: How many matches are open at once.
        backlog: How many finished records are held at most; beyond that no match is started.
        forget: Told of each seat whose match is over, where the bus may lose the message that says so.
    """

    def __init__(
        self,
        plan: Plan,
        bus: Bus,
        route: Route,
        clock: Clock,
        *,
        window: int,
        backlog: int,
        forget: Callable[[Address], None] | None = None,
    ) -> None:
        self._plan = plan
        self._bus = bus
        self._route = route
        self._clock = clock
        self._window = window
        self._backlog = backlog
        self._forget = forget
        self._waiting: deque[int] = deque()
        self._open = 0
        self._finished: list[MatchRecord] = []
        self._wanted = 0
        self._failed: RunError | None = None
        self._changed = asyncio.Event()

    def assign(self, indexes: Iterable[int]) -> None:
        """Take on matches; they start as the window has room."""
        self._waiting.extend(indexes)
        self._fill()

    async def collect(self, batch: int, patience: float) -> list[MatchRecord]:
        """Wait for `batch` finished matches, or fewer when `patience` seconds have passed or there are no more.

        Returns:
            The records, in the order in which the matches ended; empty when there is nothing left to play.

        Raises:
            RunError: A match could not be opened.
        """
        self._wanted = batch
        deadline = self._clock.now() + patience
        while len(self._finished) < batch and (self._open or self._waiting) and self._failed is None:
            left = deadline - self._clock.now()
            if left <= 0 and self._finished:
                break
            self._changed.clear()
            # Not `wait_for`: up to Python 3.11 it loses a cancellation that comes just as the event is set.
            with suppress(TimeoutError):
                async with asyncio.timeout(left if self._finished else None):
                    await self._changed.wait()
        if self._failed is not None:
            raise self._failed
        records, self._finished = self._finished[:batch], self._finished[batch:]
        self._fill()
        return records

    def _fill(self) -> None:
        while self._waiting and self._open < self._window and len(self._finished) < self._backlog:
            index = self._waiting.popleft()
            try:
                self._start(index)
            except Exception as error:  # in a callback nobody would hear of it, and `collect` would wait for ever
                self._failed = RunError(f"match {index} could not be opened: {describe(error)}")
                self._changed.set()
                return

    def _start(self, index: int) -> None:
        point = self._plan.point(index)
        for seat in range(len(point.agents)):
            address = Address(index, seat)
            self._bus.attach(address, self._route(address))
        self._open += 1
        Referee(self._plan.spec(index), point.game, self._bus, self._clock, self._ended, reactive=point.reactive).open()

    def _ended(self, record: MatchRecord) -> None:
        for seat in range(len(record.spec.agent_ids)):
            address = Address(record.spec.index, seat)
            self._bus.detach(address)
            if self._forget is not None:
                self._forget(address)
        self._open -= 1
        self._finished.append(record)
        # In a callback of its own: a match that is over as soon as it opens must not open the next inside itself.
        self._clock.soon(self._fill)
        if len(self._finished) in (1, self._wanted) or not self._open:
            self._changed.set()


def seats_by_process(seats: int, agents_per_actor: int) -> list[Sequence[int]]:
    """Split seat numbers into groups that share a process."""
    return [range(start, min(start + agents_per_actor, seats)) for start in range(0, seats, agents_per_actor)]
