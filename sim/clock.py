"""Real time and virtual time behind one interface.

Real time is any asyncio event loop. Virtual time is `VirtualLoop`, an event loop that never waits:
when nothing is runnable it jumps to the next timer. With `explore=SEED` it also permutes what is
runnable and jitters timers that fall at the same instant, so one seed is one schedule. Permuting
alone would always let a timer beat the callbacks that it makes runnable; the jitter makes it a race.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from math import ulp
from typing import Any, Protocol, TypeVar

from sim.errors import DeadlockError

T = TypeVar("T")

JITTER = 1e-7
"""Seconds by which explored timers are spread; far below any deadline, far above a float's grain."""


class Timer(Protocol):
    """A timer that can be cancelled before it fires."""

    def cancel(self) -> None:
        """Stop the timer; harmless when it has fired."""


class Clock:
    """Time and timers; the same on a real and on a virtual loop.

    Attributes:
        now: Returns the time in seconds, from an arbitrary start.
        soon: Calls a function with arguments once everything that is runnable now has run.
    """

    __slots__ = ("_loop", "now", "soon")

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or asyncio.get_running_loop()
        # A real loop's own time may be as coarse as a millisecond (uvloop); both count from the same start.
        virtual = isinstance(self._loop, VirtualLoop)
        self.now: Callable[[], float] = self._loop.time if virtual else time.monotonic
        self.soon: Callable[..., object] = self._loop.call_soon

    def at(self, when: float, callback: Callable[..., object], *args: Any) -> Timer:
        """Call `callback` at `when`, in seconds of this clock."""
        return self._loop.call_at(when, callback, *args)


class _Jump:
    """Stands where an event loop has its selector: instead of waiting it moves the time on."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise DeadlockError("nothing is runnable and no timer is set")
        self.now += timeout
        return []

    def close(self) -> None:
        """Nothing to close: there is no socket here."""


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time, without sockets, signals or subprocesses.

    Args:
        explore: Seed of the schedule. None keeps asyncio's own order.
    """

    _ready: deque[asyncio.Handle]

    def __init__(self, explore: int | None = None) -> None:
        super().__init__()
        self._selector = _Jump()
        self._schedule = None if explore is None else random.Random(explore)
        # `now + (when - now)` may fall short of `when` by a rounding error, and the timer would never be due.
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """Return the virtual time in seconds; a run starts at 0."""
        return self._selector.now

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Schedule a timer; an explored one is late by up to `JITTER`."""
        if self._schedule is not None:
            when += self._schedule.random() * JITTER
        return super().call_at(when, callback, *args, context=context)

    def _run_once(self) -> None:
        if self._schedule is not None and len(self._ready) > 1:
            runnable = list(self._ready)
            self._schedule.shuffle(runnable)
            self._ready.clear()
            self._ready.extend(runnable)
        # Far from 0 the grain of a float is coarser than that.
        self._clock_resolution = max(1e-9, 2 * ulp(self._selector.now))
        super()._run_once()  # type: ignore[misc]

    def _process_events(self, event_list: list[Any]) -> None:
        """There are no I/O events."""

    def _write_to_self(self) -> None:
        """There is no waiting call to wake."""


def run_virtual(main: Coroutine[Any, Any, T], *, explore: int | None = None) -> T:
    """Run a coroutine to its end in virtual time.

    Args:
        main: The coroutine.
        explore: Seed of the schedule: the same seed gives the same schedule. None: asyncio's own order.

    Raises:
        DeadlockError: Nothing is runnable and no timer is set.
    """
    loop = VirtualLoop(explore)
    try:
        return _run(loop, main)
    finally:
        loop.close()


def _run(loop: VirtualLoop, main: Coroutine[Any, Any, T]) -> T:
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(main)
    finally:
        _cancel_all(loop)
        asyncio.set_event_loop(None)


def _cancel_all(loop: VirtualLoop) -> None:
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
    if pending:
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
