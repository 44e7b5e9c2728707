"""How fast matches are played, from the first message to the record on disk."""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

import msgspec

from actors.runtime.local import LocalCell
from actors.runtime.plan import Plan, Settings
from actors.runtime.scheduler import Scheduler
from experiments.bench.players import plan as make_plan
from experiments.bench.yardstick import TRIPS, round_trips_per_second
from experiments.manifest import describe_run
from experiments.playing import fast_loop, tuned_memory
from experiments.results import Run
from experiments.rows import Batch, encode
from experiments.store import RunDirectory


class Throughput(msgspec.Struct, frozen=True):
    """How fast matches were played.

    Attributes:
        runtime: Where.
        case: What was played.
        matches: How many matches were played.
        per_second: Actions and messages per second, with the complete record on disk.
        ratio: The same as a ratio to the yardstick, measured just before and just after.
        lowest: The lowest ratio of the rounds; `ratio` and `per_second` are medians.
        highest: The highest.
        turns: Turns as a ratio to the yardstick: the actions without the messages.
    """

    runtime: str
    case: str
    matches: int
    per_second: float
    ratio: float
    lowest: float
    highest: float
    turns: float


def measure(
    settings: Settings, case: str, matches: int, folder: Path, rounds: int = 1, trips: int = TRIPS
) -> Throughput:
    """Play matches on a runtime and measure; the machine's speed drifts, so in several rounds.

    Args:
        settings: The runtime.
        case: What is played.
        matches: How often.
        folder: Where the records are written.
        rounds: How often it is measured.
        trips: Round trips of each yardstick.
    """
    measured = [_round(settings, case, matches, folder, trips) for _ in range(rounds)]
    speeds, ratios, turns = zip(*measured, strict=True)
    median = statistics.median
    return Throughput(
        settings.kind, case, matches, median(speeds), median(ratios), min(ratios), max(ratios), median(turns)
    )


def _round(settings: Settings, case: str, matches: int, folder: Path, trips: int) -> tuple[float, float, float]:
    """Return the actions and messages per second of one round, their ratio to the yardstick, and that of the turns."""
    plan = make_plan(case, matches)
    directory = RunDirectory(folder / f"{settings.kind}-{time.monotonic_ns()}")
    directory.create(describe_run(plan, settings, origin="python"))
    encode(plan, [])  # what is imported late is imported now
    before = round_trips_per_second(trips)
    with tuned_memory(), asyncio.Runner(loop_factory=fast_loop()) as runner:
        seconds = runner.run(_play(plan, settings, directory))
    after = round_trips_per_second(trips)
    actions, messages = _counts(directory)
    possible = (before + after) / 2 * seconds
    return (actions + messages) / seconds, (actions + messages) / possible, actions / possible


def _counts(directory: RunDirectory) -> tuple[int, int]:
    """Count the actions and the messages that are on disk."""
    run = Run(directory.path)
    return run.events()["kind"].to_list().count("action"), sum(run.matches()["messages"].to_list())


async def _play(plan: Plan, settings: Settings, directory: RunDirectory) -> float:
    if settings.kind == "local":
        started = time.perf_counter()
        async for records in LocalCell(plan, settings).play(range(plan.total)):
            directory.add(encode(plan, records))
        return time.perf_counter() - started
    return await _play_on_ray(plan, settings, directory)


async def _play_on_ray(plan: Plan, settings: Settings, directory: RunDirectory) -> float:
    from actors.runtime.ray import default_cells, put_plan, start_cell

    reference = put_plan(plan)
    count = default_cells(settings)
    cells = [await start_cell(reference, plan, settings, encode) for _ in range(count)]
    await asyncio.gather(*(cell.exchange([]) for cell in cells))
    ready = list(cells)

    async def next_cell() -> Any:
        return ready.pop()

    def add(batch: Batch) -> None:
        if batch.indexes:
            directory.add(batch)

    ahead = 2 * settings.window + settings.batch
    scheduler = Scheduler(next_cell, cells=count, ahead=ahead, done=add, give_up=_never)
    started = time.perf_counter()
    await scheduler.run(range(plan.total))
    return time.perf_counter() - started


def _never(index: int) -> None:
    raise AssertionError(f"match {index} took its processes down")
