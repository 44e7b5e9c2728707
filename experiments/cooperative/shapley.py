"""The Shapley value: what a player adds to those who came before it, over all orders of coming."""

from __future__ import annotations

from math import comb, fsum, sqrt
from random import Random

import msgspec

from experiments.cooperative.worth import Worth, membership, tabulate


class ShapleyEstimate(msgspec.Struct, frozen=True):
    """An estimate of the Shapley value.

    Attributes:
        values: By player, in currency; they add up to what all players together are worth.
        standard_errors: By player, in currency.
        samples: From how many orders.
    """

    values: list[float]
    standard_errors: list[float]
    samples: int


def shapley_value(n: int, worth: Worth) -> list[float]:
    """Return the Shapley value of each player, exactly: from all 2**n coalitions, for up to 16 players.

    A coalition S without player i counts with |S|! (n - |S| - 1)! / n! of what i adds to it. Shapley (1953),
    "A value for n-person games", Contributions to the Theory of Games II.

    The value is linear, so a game of costs needs no change of sign: with what a coalition has to pay as its
    worth, the result is what each player is charged.

    Args:
        n: How many players.
        worth: What a coalition is worth; called once for each.

    Returns:
        By player, in the currency of `worth`.
    """
    import numpy as np

    table, inside = tabulate(n, worth), membership(n)
    sizes = inside.sum(axis=1)
    weights = np.array([1 / (n * comb(n - 1, size)) for size in range(n)])
    values = []
    for player in range(n):
        without = np.flatnonzero(inside[:, player] == 0)
        added = table[without | 1 << player] - table[without]
        values.append(fsum(weights[sizes[without]] * added))
    return values


def sampled_shapley_value(n: int, worth: Worth, samples: int, rng: Random) -> ShapleyEstimate:
    """Estimate the Shapley value from random orders of the players; for any number of them.

    The mean of what a player adds is unbiased; its error falls with the square root of `samples`. Castro, Gómez and
    Tejada (2009), "Polynomial calculation of the Shapley value based on sampling", Computers and Operations
    Research 36.

    Args:
        n: How many players.
        worth: What a coalition is worth; called n times for each sample, so give it a cache if it is slow.
        samples: How many orders, 2 or more.
        rng: Where the orders are drawn from.
    """
    if n < 1:
        raise ValueError(f"n={n}: 1 or more players are needed")
    if samples < 2:
        raise ValueError(f"samples={samples}: 2 or more are needed for a standard error")
    added: list[list[float]] = [[] for _ in range(n)]
    order = list(range(n))
    for _ in range(samples):
        rng.shuffle(order)
        before, there = 0.0, frozenset[int]()
        for player in order:
            there |= {player}
            after = worth(there)
            added[player].append(after - before)
            before = after
    values = [fsum(amounts) / samples for amounts in added]
    errors = [
        sqrt(fsum((amount - mean) ** 2 for amount in amounts) / (samples - 1) / samples)
        for amounts, mean in zip(added, values, strict=True)
    ]
    return ShapleyEstimate(values, errors, samples)
