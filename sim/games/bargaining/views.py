"""What a seat of the bargaining game sees: its own conversations, and its own reservation prices."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.msgpack import Ext

from sim.games.bargaining.thread import ROLES, Thread
from sim.views import LATER, encode, head

if TYPE_CHECKING:
    from sim.games.bargaining.state import BargainingState


def private_facts(state: BargainingState, seat: int) -> dict[str, Any]:
    """Return what a seat alone is told at the beginning: its reservation prices, who it is, its weights."""
    game = state.game
    facts: dict[str, Any] = {"my_reservation_prices": state.amounts[seat]}
    if game.sides[seat].about:
        facts["about"] = game.sides[seat].about
    if game.terms:
        facts["my_weights"] = state.weights[seat]
    return facts


def frame(state: BargainingState, it: Thread, side: int) -> dict[str, Any]:
    """Build what a side of a conversation sees all through the match."""
    game, layout = state.game, state.game.layout
    seat, products = it.seats[side], it.products
    own, listed = state.amounts[seat], state.list_prices[it.seats[1]]
    built: dict[str, Any] = {
        "role": ROLES[side],
        "thread": it.number,
        "partner": state.agent_ids[it.seats[1 - side]],
        "max_rounds": game.max_rounds,
        "deal_rule": game.deal_rule,
        "lot": game.lot,
        "products": layout.goods[it.number - 1],
    }
    if game.choose is None:
        built["my_reservation_price"] = total(own, products)
        built["list_price"] = total(listed, products)
    else:
        built["choose"] = game.choose
    if len(products) > 1:
        built["my_reservation_prices"] = {product: own[product] for product in products}
        built["list_prices"] = {product: listed[product] for product in products}
    if game.terms:
        built["terms"] = layout.terms
        built["my_weights"] = state.weights[seat]
    return built


def thread(state: BargainingState, seat: int, it: Thread) -> dict[str, Any]:
    """Build what a seat sees in a conversation of its own."""
    side = 0 if seat == it.seats[0] else 1
    transcript = [msgspec.msgpack.decode(entry) for entry in it.transcript(side, state.game.window)]
    return {**it.frames[side], **_changing(state, seat, it), "history": it.history, "transcript": transcript}


def packed(state: BargainingState, seat: int, it: Thread) -> bytes:
    """Pack what a seat sees in a conversation of its own; what grows from round to round is unpacked on demand."""
    side = 0 if seat == it.seats[0] else 1
    built = _changing(state, seat, it)
    heard = it.transcript(side, state.game.window) if it.middle else it.heard[side]
    built["history"] = Ext(LATER, encode(it.history))
    built["transcript"] = Ext(LATER, encode(heard))
    return it.heads[side] + encode(built)[1:]


def head_of(state: BargainingState, it: Thread, side: int) -> bytes:
    """Pack what a side of a conversation sees all through the match."""
    changing = len(_changing(state, it.seats[side], it)) + 2  # the history and the transcript
    return head(it.frames[side], changing)


def _changing(state: BargainingState, seat: int, it: Thread) -> dict[str, Any]:
    """Build what is new in a view from turn to turn, but for the history and the transcript."""
    game, numbers = state.game, state.game.layout.of_seat[seat]
    bid, ask = it.standing
    built: dict[str, Any] = {"status": it.status, "round": state.round, "offers": {"buyer": bid, "seller": ask}}
    if game.choose is not None:
        built["on_sale"] = state.on_sale(it)
    if seat == it.seats[1]:
        available = state.ledger.available
        built["stock"] = {product: available(seat, product) for product in it.products}
    if len(numbers) > 1:
        built["others"] = [line(state, seat, number) for number in numbers if number != it.number]
    return built


def lobby(state: BargainingState, seat: int) -> dict[str, Any]:
    """Build what a seat sees that is to choose whom to talk to: a line for each of its conversations."""
    game = state.game
    return {
        "role": "buyer" if seat < len(game.buyers) else "seller",
        "thread": 0,
        "round": state.round,
        "max_rounds": game.max_rounds,
        "lot": game.lot,
        "my_reservation_prices": state.amounts[seat],
        "threads": [line(state, seat, number) for number in game.layout.of_seat[seat]],
    }


def line(state: BargainingState, seat: int, number: int) -> dict[str, Any]:
    """Say in a line how another conversation of a seat stands."""
    it = state.threads[number - 1]
    bid, ask = it.standing
    return {
        "thread": number,
        "partner": state.agent_ids[it.seats[1 if seat == it.seats[0] else 0]],
        "products": it.products,
        "status": it.status,
        "list_price": total(state.list_prices[it.seats[1]], it.products) if state.game.choose is None else None,
        "buyer_price": bid["price"] if bid is not None else None,
        "seller_price": ask["price"] if ask is not None else None,
    }


def total(amounts: dict[str, float], products: tuple[str, ...]) -> float:
    """Return what the products of a lot come to; rounded once."""
    return amounts[products[0]] if len(products) == 1 else fsum([amounts[product] for product in products])
