"""Figures of bargaining runs: deals, scores and welfare, by type of market."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import fsum
from typing import Any

import msgspec

from experiments.config import game_from
from experiments.results import Run
from experiments.welfare import best_matching, efficiency, equilibrium_prices
from sim.games.bargaining import BargainingGame
from sim.games.bargaining.amounts import weight_of
from sim.games.bargaining.layout import lots_in_stock, market_type

ALL = "all"
"""What the row of all markets together is called."""


class MarketFigures(msgspec.Struct, frozen=True):
    """Figures of the markets of one type.

    Attributes:
        market: The type, such as "1B1PMS", or "all".
        points: How many grid points there are of it, such as tasks.
        matches: How many matches.
        deals: Deals made, as a part of those that were possible: min(buyers, lots on sale) in each match.
        timeout: Share of the matches that ended without any agreement.
        overflow: Agreements outside the bargaining zone, as a part of all agreements.
        rounds: Mean round in which a deal was made; None without deals.
        global_score: Mean GlobalScore of a match; a deal that was possible and not made counts as a failure.
        buyer_score: Likewise BuyerScore.
        seller_score: Likewise SellerScore.
        efficiency: What buyers and sellers gained together, as a part of what the best matching gains.
        at_equilibrium: Share of the deals whose price is one at which the market clears; None where there are
            several products, lots or terms, or no deals.
    """

    market: str
    points: int
    matches: int
    deals: float
    timeout: float
    overflow: float
    rounds: float | None
    global_score: float
    buyer_score: float
    seller_score: float
    efficiency: float
    at_equilibrium: float | None


class _Sums:
    """Adds matches up."""

    def __init__(self) -> None:
        self.points: dict[int, None] = {}
        self.matches = self.deals = self.possible = self.timeouts = self.overflows = self.priced = self.clearing = 0
        self.rounds: list[int] = []
        self.scores: dict[str, list[float]] = defaultdict(list)
        self.gained: list[float] = []
        self.best: list[float] = []

    def add(self, point: int, trigger: str, figures: Mapping[str, Any], yardstick: _Yardstick) -> None:
        """Add a match."""
        self.points[point] = None
        self.matches += 1
        deals = figures["deals"]
        self.deals += len(deals)
        self.possible += figures["deals_possible"]
        self.timeouts += trigger == "timeout"
        self.overflows += len(figures["overflows"])
        self.rounds += [deal["round"] for deal in deals]
        for score in ("global_score", "buyer_score", "seller_score"):
            self.scores[score].append(figures[score])
        self.gained += [gain for deal in deals for gain in (deal["buyer_surplus"], deal["seller_surplus"])]
        self.best.append(yardstick.welfare)
        if yardstick.single:
            self.priced += len(deals)
            low, high = yardstick.prices or (1.0, 0.0)
            self.clearing += sum(low <= deal["price"] <= high for deal in deals)

    def figures(self, market: str) -> MarketFigures:
        """Return the figures of all that was added."""
        agreed = self.deals + self.overflows
        return MarketFigures(
            market=market,
            points=len(self.points),
            matches=self.matches,
            deals=self.deals / self.possible if self.possible else 0.0,
            timeout=self.timeouts / self.matches,
            overflow=self.overflows / agreed if agreed else 0.0,
            rounds=sum(self.rounds) / len(self.rounds) if self.rounds else None,
            **{score: fsum(values) / len(values) for score, values in self.scores.items()},
            efficiency=efficiency(fsum(self.gained), fsum(self.best)),
            at_equilibrium=self.clearing / self.priced if self.priced else None,
        )


class _Yardstick(msgspec.Struct, frozen=True):
    """The best that a market could do: its welfare, and the prices at which it clears where it has one product."""

    welfare: float
    single: bool
    prices: tuple[float, float] | None


def market_figures(run: Run) -> list[MarketFigures]:
    """Return the figures of a bargaining run: a row for each type of market, and one for all where there are several.

    Matches of other games are left out, and those in which the rules broke down. It reads part by part, and holds
    no match in memory.
    """
    by_type: dict[str, _Sums] = defaultdict(_Sums)
    total = _Sums()
    for _, market, add in _measured(run):
        add(by_type[market])
        add(total)
    rows = [by_type[market].figures(market) for market in sorted(by_type, key=_by_size)]
    return [*rows, total.figures(ALL)] if len(rows) > 1 else rows


def figures_by_point(run: Run) -> dict[int, MarketFigures]:
    """Return the figures of each grid point of a bargaining run that has matches, by its number."""
    sums: dict[int, _Sums] = defaultdict(_Sums)
    markets = {}
    for point, market, add in _measured(run):
        markets[point] = market
        add(sums[point])
    return {point: sums[point].figures(markets[point]) for point in sorted(sums)}


def _measured(run: Run) -> Iterator[tuple[int, str, Callable[[_Sums], None]]]:
    """Yield for each match: its grid point, its type of market, and the function that adds it to sums."""
    games = [game_from(point["game"]) for point in run.config["points"]]
    yardsticks: dict[tuple[int, bytes], _Yardstick] = {}
    for point, trigger, figures in _matches(run):
        game = games[point]
        if not isinstance(game, BargainingGame) or not figures:
            continue
        key = point, msgspec.json.encode((figures["values"], figures["costs"]))
        found = yardsticks.get(key)
        if found is None:
            if len(yardsticks) > 10_000:  # drawn amounts: every match has its own
                yardsticks.clear()
            found = yardsticks[key] = _yardstick(game, figures["values"], figures["costs"])
        yield (
            point,
            market_type(game),
            partial(_Sums.add, point=point, trigger=trigger, figures=figures, yardstick=found),
        )


def _by_size(market: str) -> tuple[int, str]:
    return market.count("M"), market


def _matches(run: Run) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for number in run.directory.parts():
        table = run.directory.read("matches", number).select(["point", "trigger", "figures"])
        for row in table.to_pylist():
            yield row["point"], row["trigger"], msgspec.json.decode(row["figures"])


def _yardstick(
    game: BargainingGame, values: Mapping[str, Mapping[str, float]], costs: Mapping[str, Mapping[str, float]]
) -> _Yardstick:
    """Return the best that a market could do with these reservation prices, by seat and product."""
    layout, buyers, seats = game.layout, len(game.buyers), game.seat_ids()
    columns: dict[tuple[int, tuple[str, ...]], int] = {}
    rows: list[dict[int, float]] = [{} for _ in range(buyers)]
    for place in layout.places:
        column = columns.setdefault((place.seller, place.products), len(columns))
        buyer, seller = seats[place.buyer], seats[place.seller]
        gains = sorted((values[buyer].get(p, 0.0) - costs[seller][p] for p in place.products), reverse=True)
        lot = gains if game.choose is None else gains[: game.choose]
        rows[place.buyer][column] = fsum((*lot, *_best_terms(game, buyer, seller)))
    units = [
        lots_in_stock(tuple(layout.stock[seller][p] for p in products), game.choose or len(products), buyers)
        for seller, products in columns
    ]
    table = [[row.get(column, float("nan")) for column in range(len(units))] for row in rows]
    welfare, _ = best_matching(table, units)
    single = len(game.products) == 1 and not game.terms and not game.cannot_trade
    if not single:
        return _Yardstick(welfare, single, None)
    (product,) = game.products
    stock = [layout.stock[seat][product] for seat in range(buyers, len(seats))]
    prices = equilibrium_prices([v[product] for v in values.values()], [c[product] for c in costs.values()], stock)
    return _Yardstick(welfare, single, prices)


def _best_terms(game: BargainingGame, buyer: str, seller: str) -> list[float]:
    """Return what each term can add to the joint surplus of a pair."""
    mine, other = game.buyers[buyer].weights, game.sellers[seller].weights
    return [term.best(weight_of(mine, name, term), weight_of(other, name, term)) for name, term in game.terms.items()]
