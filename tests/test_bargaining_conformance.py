"""Bargaining keeps to all that a game must keep to, played by seats that really make offers and deals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytest

from sim.game import ActionType, MessageOnly, Outcome, Pass
from sim.games.bargaining import BargainingGame, Choose, Reply
from sim.rng import generator
from sim.testing import MatchByHand, check_game, play_randomly

# Both sides' tags in one text: each role reads its own. Random players draw from these instead of from any words.
Said = Literal[
    "### BUYER_PRICE($70) ### ### SELLER_PRICE($70) ### MAKE_DEAL",
    "### BUYER_PRICE($70) ### ### SELLER_PRICE($70) ### MAKE_DEAL!",
    "### BUYER_PRICE($60.50) ### ### SELLER_PRICE($80) ###",
    "I have no offer.",
]
Chosen = Literal[
    "### BUYER_PRICE($140) ### ### SELLER_PRICE($140) ### ### ITEMS(a, b) ### MAKE_DEAL",
    "### BUYER_PRICE($140) ### ### SELLER_PRICE($140) ### ### ITEMS(b, c) ### MAKE_DEAL",
    "### BUYER_PRICE($140) ### ### SELLER_PRICE($140) ###",
]
Settled = Literal[
    "### BUYER_PRICE($70) ### ### SELLER_PRICE($70) ### ### TERMS(days=3; color=red) ### MAKE_DEAL",
    "### BUYER_PRICE($70) ### ### SELLER_PRICE($70) ### ### TERMS(days=3; color=blue) ### MAKE_DEAL",
    "### BUYER_PRICE($70) ### ### SELLER_PRICE($70) ### ### TERMS(days=9; color=red) ###",
]
Partner = Literal["b1", "b2", "b3", "s1", "s2", "nobody"]


class Talk(Reply, frozen=True):
    name: ClassVar[str] = "reply"

    text: Said


class TalkOfItems(Reply, frozen=True):
    name: ClassVar[str] = "reply"

    text: Chosen


class TalkOfTerms(Reply, frozen=True):
    name: ClassVar[str] = "reply"

    text: Settled


class Pick(Choose, frozen=True):
    name: ClassVar[str] = "choose"

    partner: Partner
    product: Literal["a"] | None = None


class TalkativeGame(BargainingGame, frozen=True, kw_only=True, dict=True):
    """Bargaining whose random players say what means something."""

    @property
    def action_types(self) -> Mapping[str, type[ActionType]]:  # type: ignore[override]
        talk: type[Reply] = TalkOfTerms if self.terms else TalkOfItems if self.choose else Talk
        return {kind.name: kind for kind in (talk, Pick, Pass, MessageOnly)}


def sides(buyers: int, sellers: int, value: Any = 100, cost: Any = 50, **seller: Any) -> dict[str, Any]:
    return {
        "products": {"a": {}},
        "buyers": {f"b{n + 1}": {"max_price": value} for n in range(buyers)},
        "sellers": {f"s{n + 1}": {"min_price": cost, "list_price": 120, **seller} for n in range(sellers)},
        "max_rounds": 2,
    }


TERMS: dict[str, Any] = {
    "terms": {"days": {"low": 1, "high": 30}, "color": {"options": ["red", "blue"]}},
    "buyers": {"b1": {"max_price": 100, "weights": {"days": -10, "color": {"red": 5}}}},
    "sellers": {"s1": {"min_price": 50, "list_price": 120, "weights": {"days": 3}}},
}

VARIANTS: dict[str, dict[str, Any]] = {
    "one round": sides(1, 1) | {"max_rounds": 1},
    "crossing": sides(1, 1) | {"deal_rule": "crossing"},
    "mediator": sides(1, 1) | {"mediator_after": 1, "window": (1, 1)},
    "a market with stock": sides(3, 2, stock=2),
    "scarcity": sides(3, 1) | {"deal_rule": "crossing"},
    "several products": sides(2, 2) | {"products": {"a": {}, "b": {}}},
    "sequential": sides(2, 2) | {"threads": "sequential"},
    "sequential, sellers choose": sides(3, 1, stock=2) | {"threads": "sequential", "chooser": "sellers"},
    "a bundle": sides(2, 1, value=50, cost=20, stock=2) | {"products": {"a": {}, "b": {}}, "lot": "bundle"},
    "a choice": sides(2, 1, stock=2) | {"products": {"a": {}, "b": {}, "c": {}}, "lot": "choose", "choose": 2},
    "a contract": sides(1, 1) | TERMS,
    "drawn": sides(2, 2, value=[75, 100], cost=[30, 65]),
    "cut off": sides(2, 2) | {"max_turns": 7},
}


def gains_from_trade(state: Any, outcome: Outcome) -> float:
    """What the buyers' values and the sellers' costs say; with terms, what the record says that each side gains."""
    deals = outcome.figures["deals"]
    if state.game.terms:
        return sum(deal["buyer_surplus"] + deal["seller_surplus"] for deal in deals)
    values, costs = outcome.figures["values"], outcome.figures["costs"]
    return sum(values[d["buyer"]][item] - costs[d["seller"]][item] for d in deals for item in d["items"])


@pytest.mark.parametrize("name", VARIANTS)
def test_bargaining_passes_with_players_who_deal(name: str) -> None:
    game = TalkativeGame(**VARIANTS[name])
    check_game(game, game.seat_ids(), budget=gains_from_trade, seeds=[len(name)])


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "cut off"])
def test_random_players_deal_in_some_matches_and_units_add_up(name: str, turn_order: str) -> None:
    game = TalkativeGame(**VARIANTS[name] | {"turn_order": turn_order, "max_rounds": 15})
    deals = 0
    for seed in range(12):
        match = MatchByHand(game, game.seat_ids(), seed).open()
        outcome = play_randomly(match, generator(seed, "deals")).outcome
        struck = outcome.figures["deals"]
        state: Any = match.judge.state
        state.ledger.check()
        assert outcome.trigger == ("deal" if struck else "timeout")
        assert len({deal["buyer"] for deal in struck}) == len(struck) <= outcome.figures["deals_possible"]
        assert state.open == sum(thread.status == "open" for thread in state.threads)
        deals += len(struck)
    assert deals > 0
