"""How the parameters of the bargaining game state amounts and weights: one for all, or by product and by term."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.games.bargaining.terms import Term


def bounds(amount: Any) -> tuple[float, float]:
    """Return the lowest and the highest that an amount can be."""
    return (amount[0], amount[1]) if isinstance(amount, list | tuple) else (amount, amount)


def amount_of(amounts: Any, product: str) -> Any:
    """Return the amount for a product; 0 where a mapping does not name it."""
    return amounts.get(product, 0.0) if isinstance(amounts, Mapping) else amounts


def weight_of(weights: Mapping[str, Any], name: str, term: Term) -> Any:
    """Return a side's weight of a term; one that is left out is worth nothing."""
    return weights.get(name, {} if term.options else 0.0)
