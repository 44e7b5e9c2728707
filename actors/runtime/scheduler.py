"""Fans the matches of a run over cells, and starts a cell again whose process died."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

from sim.errors import QuorumError, RunError

MAX_DEATHS = 3
"""Deaths of its cell that a match survives before it is played alone, to find out whether it is the cause."""

MAX_DEATHS_ALONE = 2
"""Deaths of a cell that played nothing else after which a match is given up."""

MAX_BARREN = 20
"""Deaths of cells without one finished match in between after which the run is given up."""


class CellDied(QuorumError):
    """A process of a cell is gone; what was not handed over is lost."""


class NoRoom(RunError):
    """The cluster has no room for a cell."""


class Batch(Protocol):
    """Finished matches, as a cell hands them over."""

    @property
    def indexes(self) -> Sequence[int]:
        """Their numbers."""


class CellHandle(Protocol):
    """A cell that runs somewhere."""

    async def exchange(self, indexes: Sequence[int]) -> Batch:
        """Take on matches, and return the next batch of finished ones.

        Raises:
            CellDied: A process of the cell is gone.
            RunError: Something failed that would fail again.
        """

    def kill(self) -> None:
        """End what is left of it."""


class Scheduler:
    """Keeps cells busy until every match is accounted for.

    Args:
        start: Starts a cell.
        cells: How many.
        ahead: How many matches a cell is given beyond those that it has finished.
        done: Called with each batch, in the order in which they come.
        give_up: Called with the number of a match that takes its processes down each time it is played.

    Attributes:
        restarts: How often a cell was started again because a process of it died.
        began: When the first cell was there, by `time.perf_counter`.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[CellHandle]],
        *,
        cells: int,
        ahead: int,
        done: Callable[[Any], None],
        give_up: Callable[[int], None],
    ) -> None:
        self._start = start
        self._cells = cells
        self._ahead = ahead
        self._done = done
        self._give_up = give_up
        self._todo: deque[int] = deque()
        self._suspects: deque[int] = deque()
        self._deaths: Counter[int] = Counter()
        self._barren = 0
        self._left = 0
        self._alive: set[CellHandle] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self.restarts = 0
        self.began = 0.0

    async def run(self, indexes: Iterable[int]) -> None:
        """Play matches; returns when each is done or given up.

        Raises:
            RunError: Cells cannot be started, die without an end, or fail in a way that would fail again.
        """
        self._todo.extend(indexes)
        self._left = len(self._todo)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._cells, self._left)):
                    group.create_task(self._keep_busy())
        except ExceptionGroup as failures:
            raise _first(failures) from None
        finally:
            for cell in self._alive:
                cell.kill()

    async def _keep_busy(self) -> None:
        cell: CellHandle | None = None
        given: set[int] = set()
        while given or self._todo or self._suspects:
            try:
                if cell is None:
                    cell = await self._start_cell()
                fresh = self._take(given)
                if not fresh and not given:
                    break
                given.update(fresh)
                batch = await cell.exchange(fresh)
            except NoRoom:
                if self._alive:
                    return  # the others do without it
                raise
            except CellDied as error:
                self.restarts += 1
                self._barren += 1
                if self._barren > MAX_BARREN:
                    raise RunError(f"processes died {self._barren} times and no match was finished: {error}") from None
                if cell is not None:
                    self._alive.discard(cell)
                    cell.kill()
                self._lose(given)
                cell, given = None, set()
            else:
                if not batch.indexes:
                    raise RunError(f"a process of the run lost {len(given)} matches, {min(given)} the first of them")
                self._barren = 0
                given.difference_update(batch.indexes)
                self._done(batch)
                self._account(len(batch.indexes))
        if cell is not None:
            self._alive.discard(cell)
            cell.kill()

    async def _start_cell(self) -> CellHandle:
        task = asyncio.current_task()
        assert task is not None
        self._starting.add(task)
        try:
            cell = await self._start()
        finally:
            self._starting.discard(task)
        self._alive.add(cell)
        self.began = self.began or time.perf_counter()
        return cell

    def _account(self, matches: int) -> None:
        self._left -= matches
        if not self._left:
            for task in self._starting:
                task.cancel()  # nobody needs a cell any more that is still on its way

    def _take(self, given: set[int]) -> list[int]:
        """Return what a cell is given next; a suspect is given alone."""
        if self._suspects:
            return [] if given else [self._suspects.popleft()]
        # Towards the end ever less, so that all cells finish at about the same time.
        share = -(-len(self._todo) // (2 * self._cells))
        return [self._todo.popleft() for _ in range(min(self._ahead - len(given), share))]

    def _lose(self, given: set[int]) -> None:
        for index in sorted(given, reverse=True):
            self._deaths[index] += 1
            if self._deaths[index] < MAX_DEATHS:
                self._todo.appendleft(index)
            elif self._deaths[index] < MAX_DEATHS + MAX_DEATHS_ALONE:
                self._suspects.appendleft(index)
            else:
                self._give_up(index)
                self._account(1)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = failures
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
