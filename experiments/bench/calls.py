"""Ray's raw call rate, and what a link makes of it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
import ray

from actors.runtime.link import Link
from sim.bus import Address
from sim.messages import REFEREE, Act, Message, decode_frame


class CallRates(msgspec.Struct, frozen=True):
    """Messages per second from one process to another.

    Attributes:
        calls: With one Ray call for each, as many in flight as Ray takes.
        link: Over a link, one frame in flight.
        ratio: How many times as many.
    """

    calls: float
    link: float
    ratio: float


class _Sink:
    """Counts what arrives."""

    def __init__(self) -> None:
        self._count = 0

    async def take(self, message: bytes) -> None:
        """Take one message."""
        self._count += 1

    async def deliver(self, frame: bytes) -> None:
        """Take a frame of messages."""
        self._count += len(decode_frame(frame)[1])

    async def count(self) -> int:
        """Return how many messages came."""
        return self._count


def measure_calls(calls: int, messages: int) -> CallRates:
    """Measure both; Ray must be running."""
    return asyncio.run(_measure(calls, messages))


async def _measure(calls: int, messages: int) -> CallRates:
    sink: Any = ray.remote(_Sink).options(num_cpus=0).remote()
    payload = msgspec.msgpack.encode({"amount": 50.0})
    act = Act(1, 7, 3, "submit_commitment", payload, (Message("I am in with my share."),))
    await asyncio.gather(*(sink.take.remote(b"warm") for _ in range(200)))

    single = msgspec.msgpack.encode(act)
    started = time.perf_counter()
    await asyncio.gather(*(sink.take.remote(single) for _ in range(calls)))
    per_call = calls / (time.perf_counter() - started)

    link = Link(sink.deliver.remote, _nothing, _broken)
    before = await sink.count.remote()
    started = time.perf_counter()
    for number in range(messages):
        link.send(Address(number, 1), Address(number, REFEREE), act)
        if number % 500 == 0:
            await asyncio.sleep(0)
    await link.drained()
    assert await sink.count.remote() - before == messages
    per_link = messages / (time.perf_counter() - started)
    ray.kill(sink)
    return CallRates(per_call, per_link, per_link / per_call)


def _nothing(frame: bytes) -> None:
    """The sink does not answer."""


def _broken(error: Exception) -> None:
    raise error
