"""Which offers a negotiator makes: where it opens, what it believes, which items and terms, and at what price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor, fsum, inf, log10, ulp
from typing import Final

from actors.scripted.bargaining.table import Package, Table
from sim.games.bargaining.terms import LARGEST, Value

MARKUP: Final = 0.25
"""Part of a list price that a negotiator takes to be markup, where nothing else tells."""


def stance(table: Table, anchor: float, items: Iterable[str] = ()) -> tuple[float, float]:
    """Return the least surplus that it need be content with, and that of its opening.

    A buyer opens at a part 1 - anchor of the list price, or of its limit where that is less. It need not pay
    more than the list price. A seller opens at the list price, or at 1 + anchor of its limit where that is more.
    """
    limit, listed = table.limit(items), table.listed(items)
    if table.buying:
        most = limit if listed is None else min(limit, listed)
        return 0.0 if table.contract else limit - most, limit - (1 - anchor) * most
    return 0.0, (listed - limit if listed is not None and listed > limit else anchor * limit)


def belief(table: Table, items: Iterable[str] = ()) -> float:
    """Return what it takes the other's reservation price to be.

    At first a seller's is a part 1 - MARKUP of the list price (or of the buyer's limit where that is less), a
    buyer's the list price (or the seller's limit with that markup where that is more). Nobody offers beyond it,
    and the longer somebody stands by a price, the nearer to that price it is taken to be.
    """
    limit, listed = table.limit(items), table.listed(items)
    price = None if table.theirs is None else table.theirs.price
    if table.buying:
        prior = (1 - MARKUP) * min(limit, inf if listed is None else listed)
        if price is not None:
            prior, price = min(prior, price), min(limit, price)
    else:
        prior = max(limit / (1 - MARKUP), 0.0 if listed is None else listed)
        if price is not None:
            prior, price = max(prior, price), max(limit, price)
    if price is None:
        return prior
    return prior + (price - prior) * (table.round - 1) / max(1, table.rounds - 1)


def choose_items(table: Table) -> tuple[str, ...]:
    """Return what it would trade where items are chosen.

    A buyer names those that it values most above their list prices. A seller goes along, and without a word
    from the buyer names those on which it earns most.
    """
    if not table.choose:
        return ()
    if not table.buying and table.theirs is not None and table.can_have(table.theirs):
        return table.theirs.items
    prices: dict[str, float] = table.state.get("list_prices", {})
    sign = 1 if table.buying else -1
    gains = {item: sign * (table.own[item] - prices.get(item, 0.0)) for item in table.on_sale}
    best = sorted(gains, key=lambda item: -gains[item])[: table.choose]
    return tuple(item for item in table.on_sale if item in best)


def choose_terms(table: Table) -> dict[str, Value]:
    """Return the terms that it proposes: its best ones first, then more and more of the other's.

    The terms that matter least to it are given up first, one after the other as the rounds go by; those that
    do not matter at all at once. Whatever they are, the price makes up for them (`make_package`).
    """
    best = table.best()
    if table.theirs is None or not table.theirs.terms:
        return best
    stakes = {name: table.worth(name, best[name]) - _worst(table, name) for name in best}
    given = floor(table.progress * len(best))
    for rank, name in enumerate(sorted(stakes, key=lambda name: stakes[name])):
        if rank < given or stakes[name] == 0:
            best[name] = table.theirs.terms[name]
    return best


def make_package(
    table: Table,
    ask: float,
    *,
    exact: bool = False,
    items: tuple[str, ...] = (),
    terms: Mapping[str, Value] | None = None,
) -> Package | None:
    """Return an offer that leaves it a surplus, or a little more; None where no price above 0 does.

    Args:
        ask: The surplus; 0 or more.
        exact: Whether the price keeps all its digits. Else it is rounded to what people say, and on the side of
            caution, and does not go beyond the list price.
        items: The items; none leaves them to `choose_items`.
        terms: The terms; None leaves them to `choose_terms`.
    """
    items = items or choose_items(table)
    chosen = choose_terms(table) if terms is None else dict(terms)
    worth, limit = fsum(table.worths(chosen)), table.limit(items)
    price = limit + (worth - ask if table.buying else ask - worth)
    price = max(price, 5e-324) if exact else max(_rounded(table, price, items), _tick(limit))
    package = Package(min(price, LARGEST), items, chosen)
    short = -table.surplus(package)
    if short > 1e-9 * max(limit, abs(worth)):
        return None
    step = ulp(max(limit, abs(worth), price)) * (-1 if table.buying else 1)
    while short > 0 and package.price > 0:  # the last digit is not always on its side
        package = Package(package.price + step, items, chosen)
        short = -table.surplus(package)
    return package if package.price > 0 else None


def _rounded(table: Table, price: float, items: Iterable[str]) -> float:
    limit, listed = table.limit(items), table.listed(items)
    tick = _tick(limit)
    whole = floor(price / tick + 1e-6) if table.buying else ceil(price / tick - 1e-6)
    rounded = float(f"{whole * tick:.12g}")
    if table.contract or listed is None or (not table.buying and listed < limit):
        return rounded
    return min(rounded, listed)


def _tick(limit: float) -> float:
    """Return the step of the prices that it names: 1 for a limit of 200 to 1,999, 10 for one of 2,000, and so on."""
    return float(10.0 ** floor(log10((limit or 1.0) / 200)))


def _worst(table: Table, name: str) -> float:
    return min(table.worth(name, value) for value in table.values(name))
