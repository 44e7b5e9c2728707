"""Yardsticks of markets, against trying everything and against the textbook."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import inf, isnan, nan
from random import Random
from time import perf_counter

import pytest

from experiments.welfare import best_matching, efficiency, equilibrium_prices
from sim.games.bargaining.layout import lots_in_stock
from sim.rng import generator

BOEHM_BAWERK = ([30, 28, 26, 24, 22, 21, 20, 18, 17, 15], [10, 11, 15, 17, 20, 21.5, 25, 26])
"""The horse market of the Positive Theory of Capital (1889): buyers' values and sellers' costs."""


def tried(gains: Sequence[Sequence[float]], units: Sequence[int]) -> float:
    """Return the best welfare by trying every choice of every buyer."""
    best = 0.0
    for choice in product([None, *range(len(units))], repeat=len(gains)):
        sold = [c for c in choice if c is not None]
        if all(sold.count(c) <= units[c] for c in sold):
            best = max(best, sum(gains[b][c] for b, c in enumerate(choice) if c is not None))
    return best


def difference(values: Sequence[float], costs: Sequence[float]) -> list[list[float]]:
    return [[value - cost for cost in costs] for value in values]


def drawn(rng: Random) -> tuple[list[list[float]], list[int]]:
    buyers, columns = rng.randint(0, 4), rng.randint(0, 4)
    kinds = [lambda: float(rng.randint(-2, 3)), lambda: rng.uniform(-5, 10), lambda: rng.choice([-inf, nan])]
    table = [[rng.choices(kinds, [4, 4, 1])[0]() for _ in range(columns)] for _ in range(buyers)]
    return table, [rng.randint(0, 3) for _ in range(columns)]


def test_the_best_matching_is_the_best_of_all() -> None:
    for n in range(400):
        gains, units = drawn(generator(n, "market"))
        welfare, pairs = best_matching(gains, units)
        possible = [[-inf if isnan(gain) else gain for gain in row] for row in gains]
        assert welfare == pytest.approx(tried(possible, units))
        assert welfare == pytest.approx(sum(gains[b][c] for b, c in pairs))
        assert all(gains[b][c] > 0 for b, c in pairs)
        assert len({b for b, _ in pairs}) == len(pairs)
        assert all([c for _, c in pairs].count(column) <= units[column] for column in range(len(units)))


def test_a_greedy_matching_is_not_the_best() -> None:
    assert best_matching([[10, 9], [9, 1]], [1, 1]) == (18, [(0, 1), (1, 0)])


def test_a_seller_serves_as_many_as_it_has_units() -> None:
    assert best_matching([[3], [5], [4]], [2]) == (9, [(1, 0), (2, 0)])
    assert best_matching([[3], [5], [4]], [1000]) == (12, [(0, 0), (1, 0), (2, 0)])
    assert best_matching([[3], [5], [4]], [0]) == (0, [])


@pytest.mark.parametrize("gains", [[], [[]], [[0.0]], [[-1.0]], [[nan]], [[-inf]]])
def test_without_a_gain_there_is_no_welfare_and_no_pair(gains: list[list[float]]) -> None:
    assert best_matching(gains, [1] * len(gains[0]) if gains else [2, 2]) == (0, [])


def test_equal_gains_fill_the_stock() -> None:
    welfare, pairs = best_matching([[5, 5]] * 4, [1, 2])
    assert (welfare, len(pairs)) == (15, 3)


def test_a_matching_of_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="reshape"):
        best_matching([[1, 2], [3, 4]], [1, 1, 1])
    with pytest.raises(ValueError, match="inhomogeneous"):
        best_matching([[1, 2], [3]], [1, 1])
    with pytest.raises(ValueError, match="0 or more"):
        best_matching([[1]], [-1])
    with pytest.raises(ValueError, match="infinite"):
        best_matching([[inf]], [1])


def test_a_large_market_takes_no_time() -> None:
    rng = generator(0, "market")
    gains = [[rng.uniform(-5, 10) for _ in range(20)] for _ in range(20)]
    best_matching(gains[:1], [5] * 20)  # what it needs is imported now
    began = perf_counter()
    best_matching(gains, [5] * 20)
    assert perf_counter() - began < 2


def most_lots(stock: Sequence[int], size: int) -> int:
    """Return the most lots by trying which to make next."""
    best = 0
    for lot in combinations(range(len(stock)), size):
        if all(stock[item] for item in lot):
            best = max(best, 1 + most_lots([units - (item in lot) for item, units in enumerate(stock)], size))
    return best


def test_the_lots_in_a_stock_are_the_most_that_can_be_made() -> None:
    for stock in product(range(4), repeat=3):
        for size in (1, 2, 3):
            most = most_lots(stock, size)
            assert lots_in_stock(stock, size, 9) == most
            assert lots_in_stock(stock, size, 1) == min(1, most)
    assert lots_in_stock((5, 10**12, 7), 3, 20) == 5


def best_selection(worth: Sequence[Sequence[float]], stock: Sequence[int], size: int) -> float:
    """Return the best welfare of one seller's lots of `size` products, by trying every choice of every buyer."""
    best = 0.0
    for choice in product([(), *combinations(range(len(stock)), size)], repeat=len(worth)):
        if all(sum(item in lot for lot in choice) <= units for item, units in enumerate(stock)):
            best = max(best, sum(worth[b][item] for b, lot in enumerate(choice) for item in lot))
    return best


def test_lots_of_ones_choice_are_exact_for_equal_worth_and_bounded_otherwise() -> None:
    loose = 0
    for n in range(100):
        rng = generator(n, "selection")
        stock = tuple(rng.randint(0, 2) for _ in range(3))
        size, buyers = rng.randint(1, 3), rng.randint(1, 3)
        same = [[float(rng.randint(1, 9))] * 3 for _ in range(buyers)]
        differs = [[float(rng.randint(1, 9)) for _ in range(3)] for _ in range(buyers)]
        for worth, exact in ((same, True), (differs, buyers == 1)):
            there = [[w for w, units in zip(row, stock, strict=True) if units] for row in worth]
            gains = [[sum(sorted(row)[-size:])] for row in there]
            bound, _ = best_matching(gains, [lots_in_stock(stock, size, buyers)])
            best = best_selection(worth, stock, size)
            assert bound == best if exact else bound >= best
            loose += bound > best
    assert loose  # so the bound is no more than that


def clears(price: float, values: Sequence[float], offers: Sequence[float]) -> bool:
    """Return whether demand can equal supply at a price, by the definition."""
    demand = (sum(value > price for value in values), sum(value >= price for value in values))
    supply = (sum(cost < price for cost in offers), sum(cost <= price for cost in offers))
    return max(demand[0], supply[0]) <= min(demand[1], supply[1])


def test_a_market_clears_at_the_equilibrium_prices_and_at_no_others() -> None:
    none = 0
    for n in range(500):
        rng = generator(n, "prices")
        values = [float(rng.randint(0, 12)) for _ in range(rng.randint(0, 6))]
        costs = [float(rng.randint(0, 12)) for _ in range(rng.randint(0, 4))]
        units = [rng.randint(0, 4) for _ in costs]
        offers = [cost for cost, count in zip(costs, units, strict=True) for _ in range(count)]
        found = equilibrium_prices(values, costs, units)
        if found is None:
            none += 1
            assert best_matching(difference(values, costs), units)[0] == 0
            continue
        low, high = found
        for quarter in range(-4, 60):
            price = quarter / 4
            assert clears(price, values, offers) == (low <= price <= high), (values, offers, price)
    assert 50 < none < 450


def test_the_horse_market_clears_between_21_and_21_and_a_half() -> None:
    values, costs = BOEHM_BAWERK
    assert equilibrium_prices(values, costs) == (21, 21.5)
    welfare, pairs = best_matching(difference(values, costs), [1] * len(costs))
    assert ({b for b, _ in pairs}, {s for _, s in pairs}) == (set(range(5)), set(range(5)))
    assert welfare == sum(values[:5]) - sum(costs[:5])


@pytest.mark.parametrize(
    ("values", "costs", "units", "prices"),
    [
        ([10], [4], None, (4, 10)),  # bilateral monopoly: all of the zone
        ([10, 8], [4], None, (8, 10)),  # two buyers of one unit: the second value, as in an auction
        ([10], [4, 6], None, (4, 6)),  # two sellers: the second cost
        ([10, 10], [4], None, (10, 10)),  # equal buyers compete it all away
        ([10], [4, 4], None, (4, 4)),  # and equal sellers
        ([10, 9], [4], [2], (4, 9)),  # nothing is left out but what nobody wants
        ([10, 9], [4], [3], (4, 4)),  # a unit too many
        ([10, 9], [4], [10**9], (4, 4)),
        ([10, 7], [4, 7], None, (7, 7)),  # the second pair gains nothing; its price is the only one
        ([10, 2], [4, 1], [1, 0], (4, 10)),  # who has no unit sets no price
    ],
)
def test_the_marginal_pairs_bound_the_price(
    values: list[float], costs: list[float], units: list[int] | None, prices: tuple[float, float]
) -> None:
    assert equilibrium_prices(values, costs, units) == prices


@pytest.mark.parametrize(
    ("values", "costs", "units"), [([], [], None), ([5], [], None), ([], [5], None), ([5], [5], None), ([9], [1], [0])]
)
def test_where_nobody_gains_from_trade_there_is_no_price(
    values: list[float], costs: list[float], units: list[int] | None
) -> None:
    assert equilibrium_prices(values, costs, units) is None


def test_prices_of_what_is_no_market_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        equilibrium_prices([nan], [1])
    with pytest.raises(ValueError, match="0 or more"):
        equilibrium_prices([5], [1], [-1])
    with pytest.raises(ValueError, match="zip"):
        equilibrium_prices([5], [1], [1, 1])


def test_efficiency_is_the_share_of_the_best() -> None:
    assert efficiency(15, 20) == 0.75
    assert efficiency(-5, 20) == -0.25


def test_efficiency_where_nothing_could_be_gained() -> None:
    assert efficiency(0, 0) == 1
    assert efficiency(-1, 0) == 0


@pytest.mark.parametrize(("realised", "best"), [(1, -1), (1, nan), (1, inf), (nan, 0), (inf, 1)])
def test_efficiency_of_what_is_no_welfare_is_refused(realised: float, best: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        efficiency(realised, best)
