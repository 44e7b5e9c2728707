"""Seeds: a name such as (run seed, match, seat, purpose) becomes a generator, the same on every machine."""

from __future__ import annotations

import random
from hashlib import blake2b, shake_128
from typing import Final


def derive(seed: int, *names: int | str) -> int:
    """Derive a 63-bit seed from a parent seed and the names of what it is for.

    The result depends on nothing but its arguments: not on the process, the platform,
    `PYTHONHASHSEED`, or the order in which seeds are asked for. It does not reveal its parent.

    Args:
        seed: The parent seed, any integer.
        names: What the seed is for, such as ("match", 7).
    """
    digest = blake2b(repr((seed, *names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def derive_each(seed: int, name: str, count: int) -> list[int]:
    """Derive `count` seeds at once: those of the seats of a match."""
    digest = shake_128(repr((seed, name)).encode()).digest(8 * count)
    return [int.from_bytes(digest[8 * n : 8 * n + 8], "big") >> 1 for n in range(count)]


def generator(seed: int, *names: int | str) -> random.Random:
    """Return a generator of its own for the purpose that the names give."""
    return random.Random(derive(seed, *names))


class _Undrawn(random.Random):
    def random(self) -> float:
        raise RuntimeError("a game that draws nothing draws (`Game.draws`)")

    def getrandbits(self, k: int, /) -> int:
        raise RuntimeError("a game that draws nothing draws (`Game.draws`)")


UNDRAWN: Final[random.Random] = _Undrawn(0)
"""Stands where nothing is drawn, since making a generator takes long; whoever draws from it all the same is told."""
