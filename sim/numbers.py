"""Arithmetic that gives the same on every machine and every version of Python."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, inf


def exact_sum(amounts: Iterable[float]) -> float:
    """Return the sum of amounts of 0 or more, rounded once: so in any order; infinite when it is too large for a float.

    `sum` rounds after each step, and since Python 3.12 in another way than before.
    """
    try:
        return fsum(amounts)
    except OverflowError:
        return inf
