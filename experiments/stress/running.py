"""Plays a whole stress run: in virtual time on every core, or as a run in real time whose records are checked."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import msgspec

from actors.runtime.plan import Plan
from experiments.config import RunConfig
from experiments.stress.asking import Asked
from experiments.stress.counting import Tally
from experiments.stress.faults import Faults
from experiments.stress.playing import Found, play_match
from experiments.stress.watching import Violation, Watched
from sim.errors import RecordMismatch, RunError, one_line
from sim.game import Game
from sim.judge import Judge
from sim.record import MatchRecord
from sim.replay import rejudge

Progress = Callable[[int, int], None]
"""Told (matches done, matches in all)."""

CHUNK = 20
"""Matches that a process plays before it says what happened."""


def stress(asked: Asked, progress: Progress | None = None, directory: Path | None = None) -> tuple[Tally, Found | None]:
    """Play until the end or the first match in which an invariant does not hold.

    Args:
        asked: What to play.
        progress: Told how far it is.
        directory: Where a run in real time is kept; None keeps none.

    Returns:
        What happened in the matches up to there, and what did not hold.
    """
    if asked.clock == "virtual":
        plan, _ = asked.config.plan()
        return _gather(_chunks(asked, plan), plan.total, progress)
    if directory is not None:
        return _real(asked.config, directory, progress)
    with tempfile.TemporaryDirectory(prefix="quorum-stress-") as folder:
        return _real(asked.config, Path(folder) / "run", progress)


def _gather(
    parts: Iterable[tuple[Tally, Found | None]], total: int, progress: Progress | None
) -> tuple[Tally, Found | None]:
    tally = Tally()
    for part, found in parts:
        tally.merge(part)
        if progress is not None:
            progress(tally["matches"], total)
        if found is not None:
            return tally, found
    return tally, None


# ── virtual time ────────────────────────────────────────────────────────────────────────────────────────


def _chunks(asked: Asked, plan: Plan) -> Iterator[tuple[Tally, Found | None]]:
    """Play chunk by chunk, in the order of the matches, whoever plays them."""
    spans = [range(start, min(start + CHUNK, plan.total)) for start in range(0, plan.total, CHUNK)]
    if asked.workers == 1 or len(spans) < 2:
        with _settled_memory():
            for span in spans:
                yield _play(plan, span, asked.faults)
        return
    pool = ProcessPoolExecutor(
        min(asked.workers, len(spans)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(msgspec.msgpack.encode(asked.config), asked.faults),
    )
    try:
        yield from pool.map(_play_here, spans)
    except BrokenProcessPool:
        raise RunError("a process that played matches died; --workers=1 plays them in this one") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _play(plan: Plan, span: Iterable[int], faults: Faults) -> tuple[Tally, Found | None]:
    tally = Tally()
    for index in span:
        part, found = play_match(plan, index, faults)
        tally.merge(part)
        if found is not None:
            return tally, found
    return tally, None


@contextmanager
def _settled_memory() -> Iterator[None]:
    """Look for cyclic garbage seldom: what a match leaves is freed by reference counts, but for its event loop."""
    thresholds = gc.get_threshold()
    gc.set_threshold(20_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


_worker: tuple[Plan, Faults]


def _begin(config: bytes, faults: Faults) -> None:
    """Begin a process that plays matches; Ctrl-C is for the one that started it."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    plan, _ = msgspec.msgpack.decode(config, type=RunConfig).plan()
    _worker = plan, faults
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _play_here(span: Sequence[int]) -> tuple[Tally, Found | None]:
    plan, faults = _worker
    return _play(plan, span, faults)


# ── real time ───────────────────────────────────────────────────────────────────────────────────────────


def _real(config: RunConfig, directory: Path, progress: Progress | None) -> tuple[Tally, Found | None]:
    from experiments.runner import run_config

    plan, _ = config.plan()
    run = run_config(msgspec.structs.replace(config, out=str(directory)), progress)
    parts = (check_recorded(record, plan.point(record.spec.index).game) for record in run.directory.records())
    return _gather(parts, plan.total, progress)


def check_recorded(record: MatchRecord, game: Game) -> tuple[Tally, Found | None]:
    """Judge a record again and check every invariant after every item of its inbox."""
    watched = Watched(record.spec, game)
    violation = None
    try:
        rejudge(record, game, cast(Judge, watched))
    except RecordMismatch as mismatch:
        violation = Violation("record", one_line(f"event {mismatch.seq}: {mismatch.detail}"))
    violation = watched.violation or violation
    watched.tally.add("matches")
    watched.tally.add("items", len(watched.items))
    if violation is None:
        return watched.tally, None
    return watched.tally, Found(record.spec.index, violation, watched.items)
