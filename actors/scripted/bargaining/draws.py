"""Plausible random actions for the bargaining game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from actors.scripted.bargaining.offering import make_package
from actors.scripted.bargaining.phrases import say
from actors.scripted.bargaining.table import Package, Table
from actors.turn import Turn
from sim.game import ActionType, Pass
from sim.games.bargaining.actions import Choose, Reply
from sim.games.bargaining.tags import write
from sim.games.bargaining.terms import Value


def _reply(turn: Turn) -> ActionType:
    """Take the other's offer one time in three if it is no loss; else make a random offer that is no loss either."""
    table = Table(turn)
    rng = table.memo.rng
    theirs = table.theirs
    if theirs is not None and table.surplus(theirs) >= 0 and table.can_have(theirs) and rng.random() < 1 / 3:
        return _say(table, theirs, closing=True)
    package = _package(table)
    return Pass() if package is None else _say(table, package, closing=rng.random() < 1 / 2)


def _package(table: Table) -> Package | None:
    """Draw a price up to half of the reservation price from it, and items and terms evenly."""
    rng = table.memo.rng
    items = tuple(rng.sample(list(table.on_sale), table.choose)) if table.choose else ()
    items = tuple(item for item in table.on_sale if item in items)
    terms: dict[str, Value] = {}
    for name in table.best():
        values = table.values(name)
        if isinstance(low := values[0], float) and isinstance(high := values[-1], float):
            terms[name] = min(max(round(rng.uniform(low, high), 2), low), high)
        else:
            terms[name] = rng.choice(values)
    return make_package(table, rng.random() * table.limit(items) / 2, items=items, terms=terms)


def _say(table: Table, package: Package, *, closing: bool) -> Reply:
    role = "buyer" if table.buying else "seller"
    words = say("accept" if package == table.theirs else "counter", table.label, table.memo.rng, buying=table.buying)
    tags = write(package.price, role, items=package.items, terms=package.terms, make_deal=closing)  # type: ignore[arg-type]
    return Reply(f"{words} {tags}")


def _choose(turn: Turn) -> ActionType:
    line = turn.rng.choice([line for line in turn.state["threads"] if line["status"] == "open"])
    return Choose(line["partner"], line["products"][0])


DRAWS: Mapping[type[ActionType], Callable[[Turn], ActionType]] = MappingProxyType({Reply: _reply, Choose: _choose})
"""A function for each action type that draws an action for a turn."""
