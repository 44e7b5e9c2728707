"""Plays a plan on its runtime and writes down what comes back."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from actors.runtime.local import LocalCell
from actors.runtime.plan import Plan, Settings
from experiments.policies import Policies
from experiments.rows import Batch, encode
from experiments.store import RunDirectory
from experiments.summary import write_summary
from sim.clock import run_virtual
from sim.referee import abandon

Progress = Callable[[int, int], None]
"""Told after each batch: (matches done, matches in all)."""


_LAST_WORDS = 0.2
"""Seconds that a stopped run waits for a match to end."""


def play_blocking(
    directory: RunDirectory,
    plan: Plan,
    settings: Settings,
    progress: Progress | None = None,
    *,
    only: Sequence[int] | None = None,
) -> int:
    """Play what is missing, in an event loop of its own; returns how many matches that were."""
    playing = play(directory, plan, settings, progress, only=only)
    if settings.clock == "virtual":
        return run_virtual(playing, explore=settings.explore)
    with tuned_memory(), asyncio.Runner(loop_factory=fast_loop()) as runner:
        return runner.run(playing)


async def play(
    directory: RunDirectory,
    plan: Plan,
    settings: Settings,
    progress: Progress | None = None,
    *,
    only: Sequence[int] | None = None,
) -> int:
    """Play what is missing and write it down, and what learning agents learn; afterwards write the summary.

    What is missing is looked up while nobody else can write, so that two processes play nothing twice.

    Args:
        directory: The run.
        plan: What it is to play.
        settings: How.
        progress: Told after each batch how far the run is.
        only: Of these matches alone; None is all.

    Returns:
        How many matches were missing.
    """
    started = time.perf_counter()
    count = 0
    policies = Policies(directory.path, plan)

    def add(batch: Batch) -> None:
        nonlocal count
        if batch.indexes:
            directory.add(batch)
            count += len(batch.indexes)
            policies.keep()
        if progress is not None:
            progress(count, plan.total)

    with directory.writing():
        done = directory.finished()
        count = len(done)
        todo = [index for index in (range(plan.total) if only is None else only) if index not in done]
        restarts = 0
        if todo:
            policies.load()
            try:
                if settings.kind == "local":
                    await _play_here(plan, settings, todo, add)
                else:
                    restarts, started = await _play_on_ray(plan, settings, todo, add)
            finally:
                policies.save()
        if todo or not directory.summary_file.exists():
            seconds = time.perf_counter() - started
            write_summary(directory, plan, seconds=seconds, played=len(todo), restarts=restarts)
    return len(todo)


async def _play_here(plan: Plan, settings: Settings, todo: Sequence[int], add: Callable[[Batch], None]) -> None:
    cell = LocalCell(plan, settings)
    cell.assign(todo)
    try:
        while records := await cell.collect():
            add(encode(plan, records))
    except asyncio.CancelledError:
        # Stopped, as by Ctrl-C: what has ended is kept. A cell holds back two batches at most, and hands them
        # over at once; where nothing has ended there is nothing to wait for.
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                for _ in range(2):
                    add(encode(plan, await cell.collect(patience=0.0)))
        raise
    finally:
        await cell.close()


async def _play_on_ray(
    plan: Plan, settings: Settings, todo: Sequence[int], add: Callable[[Batch], None]
) -> tuple[int, float]:
    """Return how often a cell was started again, and when the first match could begin."""
    from actors.runtime.ray import default_cells, put_plan, start_cell
    from actors.runtime.scheduler import Scheduler
    from experiments.cluster import running_ray

    with running_ray():
        reference = put_plan(plan)

        def give_up(index: int) -> None:
            spec = plan.spec(index)
            reason = "its processes died each time it was played"
            add(encode(plan, [abandon(spec, plan.point(index).game, reason)]))

        scheduler = Scheduler(
            lambda: start_cell(reference, plan, settings, encode),
            cells=default_cells(settings),
            ahead=2 * settings.window + settings.batch,
            done=add,
            give_up=give_up,
        )
        await scheduler.run(todo)
        return scheduler.restarts, scheduler.began


@contextmanager
def tuned_memory() -> Iterator[None]:
    """Look for cyclic garbage seldom while matches are played: they make none, and reference counts free them."""
    thresholds = gc.get_threshold()
    gc.set_threshold(50_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes a uvloop where that is installed, else None: asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
