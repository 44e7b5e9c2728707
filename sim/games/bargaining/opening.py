"""How a match of bargaining begins: what is drawn, who has what, and the first round."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from sim.game import Phase
from sim.games.bargaining.amounts import amount_of, bounds
from sim.games.bargaining.parameters import Parameters
from sim.games.bargaining.redaction import secrets
from sim.games.bargaining.state import RIGHT, BargainingState
from sim.games.bargaining.thread import Thread
from sim.games.bargaining.views import frame, head_of


def start(game: Parameters, agent_ids: tuple[str, ...], rng: Random) -> BargainingState:
    """Return the state at the beginning, with the amounts drawn and the first round called for."""
    layout = game.layout
    amounts = [_draw(game, buyer.max_price, game.products, rng) for buyer in game.buyers.values()]
    list_prices: list[dict[str, float]] = [{} for _ in game.buyers]
    stock = layout.stock[len(game.buyers) :]
    for seller, products in zip(game.sellers.values(), stock, strict=True):
        amounts.append(_draw(game, seller.min_price, products, rng))
        list_prices.append(_draw(game, seller.list_price, products, rng))
    state = BargainingState(
        game=game,
        agent_ids=agent_ids,
        phase=Phase("bargain", tuple(range(len(agent_ids))), game.max_rounds),
        threads=[
            Thread(number=place.number, seats=(place.buyer, place.seller), products=place.products)
            for place in layout.places
        ],
        amounts=amounts,
        list_prices=list_prices,
        weights=[_copy(seat.weights) for seat in game.sides],
        open=len(layout.places),
    )
    for thread in state.threads:
        thread.frames = (frame(state, thread, 0), frame(state, thread, 1))
    state.secrets = [secrets(state, seat) for seat in range(len(agent_ids))]
    for seat, units in enumerate(layout.stock):
        if not units:
            state.ledger.put(seat, RIGHT, 1)
        for product, count in units.items():
            state.ledger.put(seat, product, count)
    for thread in state.threads:
        thread.heads = (head_of(state, thread, 0), head_of(state, thread, 1))
    state.begin_round()
    return state


def _draw(game: Parameters, amounts: Any, products: Iterable[str], rng: Random) -> dict[str, float]:
    drawn = {}
    for product in products:
        low, high = bounds(amount_of(amounts, product))
        drawn[product] = float(low) if low == high else _rounded(rng.uniform(low, high), low, high)
    return drawn


def _rounded(amount: float, low: float, high: float) -> float:
    """Return an amount in cents, or in millionths of an interval that has few of them, such as [0, 1]."""
    return min(max(round(amount, 2 if high - low >= 10 else 6), low), high)


def _copy(weights: dict[str, Any]) -> dict[str, Any]:
    return {name: dict(weight) if isinstance(weight, dict) else weight for name, weight in weights.items()}
