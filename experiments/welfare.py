"""Yardsticks for markets: the most that could be gained, the prices at which markets clear, the share realised."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite

from sim.numbers import exact_sum


def best_matching(gains: Sequence[Sequence[float]], units: Sequence[int]) -> tuple[float, list[tuple[int, int]]]:
    """Return the most that buyers and sellers can gain together when each buyer buys once at most.

    A column is something on sale: a seller's product, or a kind of lot of a seller, with its own stock. The result
    is exact when no two columns draw on the same stock:

    - one product each: a column per seller and product, `units` its stock;
    - bundles of all that a seller has: a column per seller, `units` from `sim.games.bargaining.layout.lots_in_stock`;
    - lots of k different products out of n, with a gain that does not depend on the choice: likewise.

    If the gain depends on the choice, give each column the gain of its buyer's best choice. The result is then an
    upper bound, as the best choices of several buyers may need the same unit; it stays exact for one buyer.

    This is the assignment problem of Shapley and Shubik (1971), "The assignment game I: the core", International
    Journal of Game Theory 1, with a column for each unit.

    Args:
        gains: Surplus in currency of each buyer (row) with each column: its value minus the seller's cost.
            Gains of 0 or less are left out, and so are NaN and -inf, for pairs that cannot trade.
        units: How many of each column there are.

    Returns:
        The welfare in currency, and the pairs (buyer, column) that make it, by buyer. Of several best matchings
        it is one; their welfare is the same.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    if any(count < 0 for count in units):
        raise ValueError(f"units={list(units)}: 0 or more are needed")
    table = np.array(gains, dtype=float).reshape(len(gains), len(units))
    if np.isposinf(table).any():
        raise ValueError("a gain is infinite; only what is bounded can be compared")
    table = np.where(table > 0, table, 0.0)  # NaN and -inf too
    column_of_unit = np.repeat(np.arange(len(units)), np.minimum(units, len(gains)).astype(int))
    buyers, chosen = linear_sum_assignment(table[:, column_of_unit], maximize=True)
    pairs = [(int(b), int(c)) for b, c in zip(buyers, column_of_unit[chosen], strict=True) if table[b, c] > 0]
    return exact_sum(table[pair] for pair in pairs), pairs


def equilibrium_prices(
    values: Sequence[float], costs: Sequence[float], units: Sequence[int] | None = None
) -> tuple[float, float] | None:
    """Return the lowest and the highest price at which a market of one product clears.

    Buyers by falling value and units by rising cost are paired as long as the value is above the cost. The last
    pair that trades and the first that does not bound the price:
    [max(last cost, next value), min(last value, next cost)]. At these prices, and at no others, what buyers are
    willing to take and what sellers are willing to give can be the same amount; who is indifferent may do either.

    The bounds are Böhm-Bawerk's marginal pairs (1889), of which Shapley and Shubik (1971), "The assignment game I:
    the core", International Journal of Game Theory 1, is the general case. A seller with several units is as many
    sellers of one.

    Args:
        values: What one unit is worth to each buyer, in currency; each takes one at most.
        costs: What a unit costs each seller, in currency.
        units: How many each seller has; None: one each.

    Returns:
        The two ends, which may be equal; None where no pair can gain from trade.
    """
    if not all(isfinite(amount) for amount in [*values, *costs]):
        raise ValueError("values and costs must be finite")
    stock = [1] * len(costs) if units is None else units
    if any(count < 0 for count in stock):
        raise ValueError(f"units={list(stock)}: 0 or more are needed")
    demand = sorted(values, reverse=True)
    # more units than buyers are never needed of one seller; one more than that is the first left out
    supply = sorted(cost for cost, count in zip(costs, stock, strict=True) for _ in range(min(count, len(values) + 1)))
    traded = sum(value > cost for value, cost in zip(demand, supply, strict=False))
    if traded == 0:
        return None
    next_value = demand[traded] if traded < len(demand) else -inf
    next_cost = supply[traded] if traded < len(supply) else inf
    return max(supply[traded - 1], next_value), min(demand[traded - 1], next_cost)


def efficiency(realised: float, best: float) -> float:
    """Return the share of the best possible welfare that was realised; below 0 where trade destroyed value.

    Where nothing could be gained it is 1 if nothing was lost, and 0 if something was. With an upper bound as
    `best` it is a lower bound.
    """
    if not (isfinite(realised) and 0 <= best < inf):
        raise ValueError(f"realised={realised}, best={best}: finite numbers, the second of 0 or more, are needed")
    if best == 0:
        return 1.0 if realised >= 0 else 0.0
    return realised / best
