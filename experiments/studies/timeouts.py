"""How long must a formation's deadline be? Formation rates by deadline and message delay, in virtual time."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import product
from math import ceil, sqrt
from types import MappingProxyType
from typing import Any, Final

import msgspec

from actors.registry import make_agent
from actors.runtime.local import LocalCell
from actors.runtime.plan import Plan, Point, Settings
from experiments.cores import cores
from sim.clock import run_virtual
from sim.delivery import Delivery
from sim.errors import ConfigError, RunError
from sim.games.coalition import CoalitionGame
from sim.record import MatchRecord
from sim.rng import derive

RATIOS: Final = (0.5, 1.0, 1.5, 1.9, 2.1, 2.5, 3.0, 3.5, 3.9, 4.1, 5.0, 6.0, 8.0, 12.0, 16.0)
"""Deadlines, as multiples of the typical delay of a message."""

DELAYS: Final = (0.02, 0.2)
"""Typical delays of a message, in seconds: if the ratio alone counts, both give the same rates."""

NETWORKS: Final[Mapping[str, str]] = MappingProxyType(
    {"fixed": "fixed:{}", "exponential": "exponential:{}", "lognormal": "lognormal:{}"}
)
"""How delays are distributed about the typical one: their mean, of lognormal ones their median."""

TASKS: Final = 25
"""Formations of one match."""

_AT_ONCE: Final[dict[str, Any]] = {"fairness": 0.0}
_HAGGLE: Final[dict[str, Any]] = {"fairness": 0.9, "modifies": 1, "greed": 0.5}
_SEATS: Final = 12
_NEVER: Final = 1e6


class Situation(msgspec.Struct, frozen=True):
    """How agents agree: with how many signatures, and with how many message delays from proposal to consensus."""

    name: str
    quorum: int
    options: dict[str, Any]
    delays: int


SITUATIONS: Final = (
    Situation("two members, who sign at once", 2, _AT_ONCE, 2),
    Situation("five members, who sign at once", 5, _AT_ONCE, 2),
    Situation("two members, one asks for more", 2, _HAGGLE, 4),
)


class Rate(msgspec.Struct, frozen=True):
    """How many formations became active at one point of the sweep.

    Attributes:
        situation: How agents agree.
        network: How delays are distributed.
        ratio: Deadline, as a multiple of the typical delay.
        delay: The typical delay of a message, in seconds.
        initiated: Formations.
        active: Those of them that became active.
    """

    situation: str
    network: str
    ratio: float
    delay: float
    initiated: int
    active: int

    @property
    def rate(self) -> float:
        """The formation rate."""
        return self.active / self.initiated if self.initiated else 0.0


class Curve(msgspec.Struct, frozen=True):
    """Formation rates of one situation on one network, both delays together.

    Attributes:
        situation: How agents agree.
        network: How delays are distributed.
        delays: How many message delays lie between proposal and consensus.
        rates: The formation rate for each of `RATIOS`.
        collapse: The deadline, in typical delays, below which less than half of what forms in the end does.
        safe: The deadline from which on 95 % of it do.
    """

    situation: str
    network: str
    delays: int
    rates: tuple[float, ...]
    collapse: float
    safe: float


class TimeoutStudy(msgspec.Struct, frozen=True):
    """What came out.

    Attributes:
        seed: The seed.
        formations: How many there were.
        ratios: The deadlines, in typical delays.
        rates: Every point of the sweep.
        curves: Formation rates by situation and network.
        spread: The largest difference between the rates of two delays at the same ratio, in standard errors.
    """

    seed: int
    formations: int
    ratios: tuple[float, ...]
    rates: list[Rate]
    curves: list[Curve]
    spread: float


def study_timeouts(
    formations: int = 20_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TimeoutStudy:
    """Sweep the deadline of formations against the delay of messages.

    Agents do not think long, nothing is lost, and units do not run out: time alone decides. The result depends on
    `formations` and `seed`, and on nothing else.

    Args:
        formations: How many in all, at least; each point of the sweep has as many.
        seed: The seed.
        workers: Processes; None takes one for each core.
        progress: Told (matches done, matches in all).
    """
    points = all_points()
    if not len(points) <= formations <= 10_000_000:
        raise ConfigError(
            f"--formations={formations}: from {len(points)} (one for each point) to 10,000,000 can be had"
        )
    if workers is not None and workers < 1:
        raise ConfigError(f"--workers={workers}: at least 1 is needed")
    each = ceil(formations / len(points))
    jobs = [
        Job(number, part, min(TASKS, each - TASKS * part), derive(seed, "timeouts", number, part))
        for number in range(len(points))
        for part in range(ceil(each / TASKS))
    ]
    counts = [[0, 0] for _ in points]
    for done, (job, (initiated, active)) in enumerate(zip(jobs, _play_all(jobs, workers), strict=True), 1):
        counts[job.point][0] += initiated
        counts[job.point][1] += active
        if progress is not None:
            progress(done, len(jobs))
    rates = [
        Rate(situation.name, network, ratio, delay, *count)
        for (situation, network, delay, ratio), count in zip(points, counts, strict=True)
    ]
    total = sum(rate.initiated for rate in rates)
    return TimeoutStudy(seed, total, RATIOS, rates, list(_curves(rates)), _spread(rates))


@cache
def all_points() -> tuple[tuple[Situation, str, float, float], ...]:
    """Return the points of the sweep: situation, network, typical delay in seconds, and deadline in delays."""
    return tuple(product(SITUATIONS, NETWORKS, DELAYS, RATIOS))


# ── playing ─────────────────────────────────────────────────────────────────────────────────────────────────


class Job(msgspec.Struct, frozen=True):
    """A match to be played.

    Attributes:
        point: Of which point of the sweep, by its number.
        part: Which of its matches.
        tasks: With how many formations.
        seed: From which seed.
    """

    point: int
    part: int
    tasks: int
    seed: int


def _play_all(jobs: Sequence[Job], workers: int | None) -> Iterator[tuple[int, int]]:
    count = min(workers or cores(), len(jobs))
    if count == 1:
        yield from map(play, jobs)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        count, mp_context=spawn, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    )
    try:
        yield from pool.map(play, jobs, chunksize=5)
    except BrokenProcessPool:
        raise RunError("a process that played matches died; --workers=1 plays them in this one") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def play(job: Job) -> tuple[int, int]:
    """Play a match in an event loop of its own; returns how many formations there were, and how many became active."""
    situation, network, delay, ratio = all_points()[job.point]
    game = CoalitionGame(
        tasks=job.tasks,
        value=1000,
        quorum=situation.quorum,
        seconds=ratio * delay,
        discovery=0.1 / delay,
        kinds=0,
        units=0,
        costs=0,
        turn_timeout=_NEVER,
    )
    agents = tuple(make_agent("coalition_agent", f"agent_{n}", situation.options) for n in range(_SEATS))
    plan = Plan((Point(game, agents),), 1, job.seed)
    settings = Settings(clock="virtual", delivery=Delivery(NETWORKS[network].format(delay)))
    record = run_virtual(_only(plan, settings))
    ends = record.outcome.figures["formations"]
    return ends["initiated"], ends.get("active", 0)


async def _only(plan: Plan, settings: Settings) -> MatchRecord:
    records = [record async for batch in LocalCell(plan, settings).play([0]) for record in batch]
    return records[0]


# ── what came out ───────────────────────────────────────────────────────────────────────────────────────────


def _curves(rates: Sequence[Rate]) -> Iterator[Curve]:
    for situation in SITUATIONS:
        for network in NETWORKS:
            own = [rate for rate in rates if (rate.situation, rate.network) == (situation.name, network)]
            found = tuple(_pooled([rate for rate in own if rate.ratio == ratio]) for ratio in RATIOS)
            most = found[-1]
            levels = crossing(RATIOS, found, most / 2), crossing(RATIOS, found, 0.95 * most)
            yield Curve(situation.name, network, situation.delays, found, *levels)


def _pooled(rates: Sequence[Rate]) -> float:
    return sum(rate.active for rate in rates) / max(1, sum(rate.initiated for rate in rates))


def crossing(ratios: Sequence[float], rates: Sequence[float], level: float) -> float:
    """Return from where on rates stay at or above a level, between the points of the sweep on a straight line."""
    at = len(rates) - 1
    while at > 0 and rates[at - 1] >= level:
        at -= 1
    if at == 0 or rates[at] <= level:
        return ratios[at]
    low, high = rates[at - 1], rates[at]
    return ratios[at - 1] + (ratios[at] - ratios[at - 1]) * (level - low) / (high - low)


def _spread(rates: Sequence[Rate]) -> float:
    """Return the largest difference between the rates of two delays at the same ratio, in standard errors."""
    found: dict[tuple[str, str, float], list[Rate]] = {}
    for rate in rates:
        found.setdefault((rate.situation, rate.network, rate.ratio), []).append(rate)
    largest = 0.0
    for first, second in found.values():
        share = _pooled([first, second])
        error = sqrt(share * (1 - share) * (1 / max(1, first.initiated) + 1 / max(1, second.initiated)))
        if error:
            largest = max(largest, abs(first.rate - second.rate) / error)
    return largest
