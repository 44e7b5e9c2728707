"""How a negotiator reads its conversation: who has offered what, and what that is worth to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import fsum
from random import Random
from typing import Any

import msgspec

from actors.turn import Turn
from sim.games.bargaining.amounts import weight_of
from sim.games.bargaining.terms import Term, Value


class Package(msgspec.Struct, frozen=True):
    """What is offered: a price, the items where they are chosen, the terms where there are any."""

    price: float
    items: tuple[str, ...] = ()
    terms: dict[str, Value] = {}


class Memo(msgspec.Struct):
    """What a negotiator remembers of a conversation.

    Attributes:
        rng: Its generator there. Each conversation has its own, so that draws do not depend on which is asked first.
        offers: How many offers it has made.
        asked: The surplus that its last offer would leave it.
        heard: The surplus that the other's last offer would leave it.
        answered: The same, as it was when it last spoke.
    """

    rng: Random
    offers: int = 0
    asked: float | None = None
    heard: float | None = None
    answered: float | None = None

    def spoke(self, surplus: float) -> None:
        """Take down an offer that it makes."""
        self.offers += 1
        self.asked = surplus
        self.answered = self.heard


def memos(turn: Turn) -> dict[int, Memo]:
    """Return what the seat remembers of its conversations in this match, by number."""
    there: dict[int, Memo] = turn.memory.setdefault("conversations", {})
    return there


def _memo(turn: Turn) -> Memo:
    there = memos(turn)
    if turn.thread not in there:
        salt = turn.memory.setdefault("salt", turn.rng.getrandbits(48))
        there[turn.thread] = Memo(Random(salt + (turn.thread << 48)))
    return there[turn.thread]


class Table:
    """A conversation as one side sees it. Amounts are in the game's currency.

    The surplus of an offer is what it leaves the seat: its reservation price less the price for a buyer, the price
    less its reservation price for a seller, and for both what the terms are worth to them.

    Args:
        turn: The turn that it is asked.

    Attributes:
        turn: The turn that it is asked.
        state: The view of the conversation.
        buying: Whether it is the buyer.
        products: Ids of the products that the conversation is about.
        round: The round, from 1.
        rounds: How many there are.
        theirs: The other side's last offer, or None.
        mine: Its own last offer, or None.
        memo: What it remembers of this conversation.
    """

    __slots__ = (
        "_terms",
        "buying",
        "memo",
        "mine",
        "own",
        "products",
        "round",
        "rounds",
        "state",
        "theirs",
        "turn",
    )

    def __init__(self, turn: Turn) -> None:
        state = turn.state
        self.turn = turn
        self.state = state
        self.buying: bool = state["role"] == "buyer"
        self.products: tuple[str, ...] = tuple(state["products"])
        self.round: int = state["round"]
        self.rounds: int = state["max_rounds"]
        self.own: dict[str, float] = turn.private["my_reservation_prices"]
        self._terms = {name: Term(**term) for name, term in state["terms"].items()} if "terms" in state else {}
        offers = state["offers"]
        mine, theirs = ("buyer", "seller") if self.buying else ("seller", "buyer")
        self.mine = _package(offers[mine])
        self.theirs = _package(offers[theirs])
        self.memo = _memo(turn)
        if self.theirs is not None:
            self.memo.heard = self.surplus(self.theirs)

    # ── the conversation ────────────────────────────────────────────────────────────────────────────────

    @property
    def progress(self) -> float:
        """The share of the rounds that has been reached, up to 1 in the last."""
        return self.round / self.rounds

    @property
    def last(self) -> bool:
        """Whether this is the last round."""
        return self.round >= self.rounds

    @property
    def crossing(self) -> bool:
        """Whether a deal is closed by prices that cross, without MAKE_DEAL."""
        return bool(self.state["deal_rule"] == "crossing")

    @property
    def contract(self) -> bool:
        """Whether an offer settles terms besides its price."""
        return bool(self._terms)

    @property
    def choose(self) -> int:
        """How many products an offer names; 0 where it names none."""
        count: int = self.state.get("choose", 0)
        return count

    @property
    def on_sale(self) -> Sequence[str]:
        """Ids of the products that can be chosen, or of all."""
        there: Sequence[str] = self.state.get("on_sale", self.products)
        return there

    @property
    def label(self) -> str:
        """What the conversation is about, in words."""
        if len(self.products) > 1:
            return "your selection" if self.choose and not self.buying else "my selection" if self.choose else "the lot"
        name: str = self.state["products"][self.products[0]]["name"]
        return f'"{name if len(name) <= 60 else name[:57] + "..."}"'

    def stock(self) -> int:
        """Return how many deals the seat can still make here: one for a buyer, what is in stock for a seller."""
        if self.buying:
            return 1
        return max(1, min((self.state["stock"].get(product, 0) for product in self.products), default=1))

    # ── what an offer is worth ──────────────────────────────────────────────────────────────────────────

    def limit(self, items: Iterable[str] = ()) -> float:
        """Return its reservation price for items; without any, for all that the conversation is about."""
        return fsum(self.own[item] for item in items or self.products)

    def listed(self, items: Iterable[str] = ()) -> float | None:
        """Return the list price for items; None where it is not known."""
        prices: dict[str, float] = self.state.get("list_prices", {})
        if not prices:
            price: float | None = self.state.get("list_price")
            return price
        return fsum(prices[item] for item in items or self.products)

    def surplus(self, package: Package) -> float:
        """Return what an offer leaves it; rounded once, so that its sign is exact."""
        prices = [self.own[item] for item in package.items or self.products]
        worth = self.worths(package.terms)
        if self.buying:
            return fsum((*prices, -package.price, *worth))
        return fsum((package.price, *(-price for price in prices), *worth))

    def can_have(self, package: Package) -> bool:
        """Return whether all that an offer names can still be had."""
        return not package.items or set(package.items) <= set(self.on_sale)

    def worths(self, terms: Mapping[str, Value]) -> list[float]:
        """Return what each of some terms is worth to it, in currency."""
        return [self.worth(name, value) for name, value in terms.items()]

    def worth(self, name: str, value: Value) -> float:
        """Return what a value of a term is worth to it, in currency."""
        term = self._terms[name]
        return term.worth(value, weight_of(self.state["my_weights"], name, term))

    def values(self, name: str) -> tuple[Value, ...]:
        """Return the values of a term that are best or worst for somebody: its options, or its bounds."""
        term = self._terms[name]
        if term.low is None or term.high is None:
            return term.options
        return term.low, term.high

    def best(self) -> dict[str, Value]:
        """Return the terms that are best for it."""
        return {name: max(self.values(name), key=partial(self.worth, name)) for name in self._terms}


def _package(standing: Mapping[str, Any] | None) -> Package | None:
    if standing is None:
        return None
    return Package(standing["price"], tuple(standing.get("items", ())), standing.get("terms", {}))
