"""How much memory open matches take."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from pathlib import Path

import msgspec

from actors.runtime.local import LocalCell
from experiments.bench.players import plan as make_plan
from experiments.config import ExperimentConfig


def memory_of_matches(count: int) -> float:
    """Return by how many MiB this process grows while it plays `count` matches at once (full, 3 seats).

    Their complete records are part of it. Linux alone tells; elsewhere the answer is NaN.
    """
    if not _STATM.exists():
        return float("nan")
    asyncio.run(_play(10))  # what is loaded late is loaded now
    gc.collect()
    before = _resident()
    peak = _Peak()
    asyncio.run(_play(count))
    return peak.stop() - before


async def _play(count: int) -> None:
    settings = msgspec.structs.replace(ExperimentConfig().settings(), window=count, batch=count)
    async for _ in LocalCell(make_plan("provision full", count), settings).play(range(count)):
        pass


_STATM = Path("/proc/self/statm")


def _resident() -> float:
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class _Peak:
    """Looks at the size of the process every few milliseconds."""

    def __init__(self) -> None:
        self._highest = _resident()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(0.005):
            self._highest = max(self._highest, _resident())

    def stop(self) -> float:
        self._done.set()
        self._thread.join()
        return self._highest
