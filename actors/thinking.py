"""What an agent thinks about at once: a task for each thread in which its seat is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import msgspec

Thought: TypeAlias = Coroutine[Any, Any, None]


class _Task(msgspec.Struct, frozen=True):
    turn: int
    task: asyncio.Task[None]


class Thoughts:
    """The tasks of one seat, by thread. A seat has one turn in a thread at a time, and so one thought.

    Args:
        forfeit: Called with the number of a turn and what its agent raised.
        tasks: Where the tasks are entered while they run, for whoever has to wait for their end.
    """

    def __init__(self, forfeit: Callable[[int, BaseException], None], tasks: set[asyncio.Task[None]]) -> None:
        self._forfeit = forfeit
        self._tasks = tasks
        self._by_thread: dict[int, _Task] = {}

    def begin(self, thread: int, turn: int, thought: Thought) -> None:
        """Think about a turn, and no longer about the one before it in its thread."""
        self.leave(thread)
        task = asyncio.get_running_loop().create_task(self._think(turn, thought))
        self._by_thread[thread] = _Task(turn, task)
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            thought.close()  # a task that is cancelled before it begins has not awaited it
            if thread in self._by_thread and self._by_thread[thread].task is task:
                del self._by_thread[thread]
            if not task.cancelled() and (error := task.exception()) is not None:
                self._forfeit(turn, error)

        task.add_done_callback(done)

    async def _think(self, turn: int, thought: Thought) -> None:
        try:
            await thought
        except SystemExit as error:  # it would end the event loop, and every match in it
            self._forfeit(turn, error)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            self._forfeit(turn, error)  # nobody cancelled it: what it waited for was cancelled

    def stop(self, turn: int) -> None:
        """Think no longer about a turn."""
        for own in list(self._by_thread.values()):
            if own.turn == turn:
                own.task.cancel()

    def leave(self, thread: int) -> None:
        """Think no longer about what is asked in a thread."""
        if thread in self._by_thread:
            self._by_thread[thread].task.cancel()

    def leave_all(self) -> None:
        """Think no longer about anything."""
        for own in list(self._by_thread.values()):
            own.task.cancel()
