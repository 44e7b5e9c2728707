"""The yardstick: round trips per second of two asyncio tasks over two `asyncio.Queue`s, on asyncio's own loop."""

from __future__ import annotations

import asyncio
import time

TRIPS = 40_000
"""Round trips of a yardstick that counts: about half a second."""


def round_trips_per_second(count: int = TRIPS) -> float:
    """Measure the yardstick; by default it takes about half a second."""
    return asyncio.run(_measure(count))


async def _measure(count: int) -> float:
    there: asyncio.Queue[int | None] = asyncio.Queue()
    back: asyncio.Queue[int] = asyncio.Queue()

    async def echo() -> None:
        while (item := await there.get()) is not None:
            await back.put(item)

    task = asyncio.create_task(echo())
    started = time.perf_counter()
    for number in range(count):
        await there.put(number)
        await back.get()
    elapsed = time.perf_counter() - started
    await there.put(None)
    await task
    return count / elapsed
