"""An unreliable network for tests and stress runs: delay, loss, duplication and reordering, all seeded."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import msgspec

from sim.bus import Address, BusStatistics, LocalBus, Receiver
from sim.clock import JITTER, Clock
from sim.errors import ConfigError
from sim.messages import AnyMessage
from sim.rng import generator


class Delivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an unreliable network treats messages. The default is a perfect one.

    Attributes:
        delay: "none", "fixed:S", "uniform:A:B", "exponential:MEAN" or "lognormal:MEDIAN[:SIGMA]", in seconds;
            a number may end in "ms" or "s".
        loss: Probability that a message is lost.
        duplicate: Probability that it arrives twice.
        reorder: Whether a message may overtake another between the same two addresses.
    """

    delay: str = "none"
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: bool = False

    def __post_init__(self) -> None:
        for key in ("loss", "duplicate"):
            value = getattr(self, key)
            if not 0 <= value <= 1:
                raise ConfigError(f"{key}={value}: a probability is between 0 and 1")
        self.sampler()

    def sampler(self) -> Callable[[random.Random], float]:
        """Return the function that draws a delay in seconds."""
        name, *rest = self.delay.split(":")
        try:
            args = [_seconds(text) for text in rest]
        except ValueError:
            raise ConfigError(f"delay={self.delay!r}: {', '.join(rest)} is not a time such as 50ms") from None
        match name, args:
            case "none", []:
                return lambda rng: 0.0
            case "fixed", [s]:
                return lambda rng: s
            case "uniform", [a, b] if a <= b:
                return lambda rng: rng.uniform(a, b)
            case "exponential", [mean] if mean > 0:
                return lambda rng: rng.expovariate(1 / mean)
            case "lognormal", [median, *sigma] if median > 0 and len(sigma) <= 1:
                return lambda rng: median * rng.lognormvariate(0.0, sigma[0] if sigma else 0.5)
        raise ConfigError(
            f"delay={self.delay!r}: allowed are none, fixed:S, uniform:A:B, exponential:MEAN, lognormal:MEDIAN[:SIGMA]"
        )


def _seconds(text: str) -> float:
    scale = 1.0
    if text.endswith("ms"):
        text, scale = text[:-2], 1e-3
    elif text.endswith("s"):
        text = text[:-1]
    value = float(text) * scale
    if not 0 <= value < float("inf"):
        raise ValueError(text)
    return value


class UnreliableBus:
    """A bus that delays, loses, duplicates and reorders, the same way for the same seed.

    What happens to the n-th message between two addresses depends on the seed, the addresses and n alone,
    so a change in one match leaves the fate of another's as it was.

    Args:
        inner: The bus that delivers in the end.
        clock: Where delays are waited for.
        delivery: How messages are treated.
        seed: The seed.
    """

    def __init__(self, inner: LocalBus, clock: Clock, delivery: Delivery, seed: int) -> None:
        self._inner = inner
        self._clock = clock
        self._delivery = delivery
        self._draw_delay = delivery.sampler()
        self._seed = seed
        self._streams: dict[tuple[Address, Address], _Stream] = {}
        self._lost = self._duplicated = self._delayed = 0

    def attach(self, address: Address, receive: Receiver) -> None:
        """Deliver what is sent to `address` to `receive` from now on."""
        self._inner.attach(address, receive)

    def detach(self, address: Address) -> None:
        """Stop delivering to `address`, and forget the streams that it took part in."""
        self._inner.detach(address)
        for pair in [p for p in self._streams if address in p]:
            del self._streams[pair]

    def send(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Send a message; it may arrive later, twice or never."""
        stream = self._streams.get((sender, to))
        if stream is None:
            rng = generator(self._seed, "delivery", *sender, *to)
            stream = self._streams[sender, to] = _Stream(rng)
        delivery = self._delivery
        lost = stream.rng.random() < delivery.loss
        copies = 2 if stream.rng.random() < delivery.duplicate else 1
        if lost:
            self._lost += 1
            return
        self._duplicated += copies - 1
        for _ in range(copies):
            self._deliver(stream, sender, to, message)

    def _deliver(self, stream: _Stream, sender: Address, to: Address, message: AnyMessage) -> None:
        now = self._clock.now()
        due = now + self._draw_delay(stream.rng)
        if self._delivery.reorder:
            if due <= now:
                self._inner.send(sender, to, message)
                return
            self._delayed += 1
            self._clock.at(due, self._inner.send, sender, to, message)
            return
        due = stream.last = max(due, stream.last + JITTER)
        if due <= now and not stream.waiting:
            self._inner.send(sender, to, message)
            return
        self._delayed += 1
        stream.waiting.append(message)
        self._clock.at(due, self._deliver_next, stream, sender, to)

    def _deliver_next(self, stream: _Stream, sender: Address, to: Address) -> None:
        """Deliver the message that waits longest: timers less than a millisecond apart may fire in either order."""
        self._inner.send(sender, to, stream.waiting.popleft())

    def statistics(self) -> BusStatistics:
        """Return what it has carried."""
        inner = self._inner.statistics()
        return msgspec.structs.replace(
            inner, sent=inner.sent + self._lost, lost=self._lost, duplicated=self._duplicated, delayed=self._delayed
        )


class _Stream:
    """What happens between two addresses: its draws, when its latest message is due, and what waits in order."""

    __slots__ = ("last", "rng", "waiting")

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.last = float("-inf")
        self.waiting: deque[AnyMessage] = deque()
