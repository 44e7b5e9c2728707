"""The bargaining game: buyers and sellers who talk about prices."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import ClassVar

from sim.errors import ConfigError
from sim.game import ActionType, Goal, MessageOnly, Pass, State
from sim.games.bargaining import rules
from sim.games.bargaining.actions import Choose, Reply
from sim.games.bargaining.opening import start
from sim.games.bargaining.parameters import Parameters


class BargainingGame(Parameters, frozen=True, kw_only=True, dict=True):
    """Buyers and sellers, each with a reservation price of its own, bargain in words; tags in them are the offers.

    Protocol and scores are those of AgenticPay (Liu, Gu, Song, 2026). Where it is silent:

    - A message without a clear offer is rejected with a sentence that says why. After `max_invalid` rejected
      messages the turn passes: no offer, and a round with a pass in it has no deal.
    - A deal is bound in a ledger when it is struck: one unit of each product from the seller's stock, for the
      buyer's one right to buy. The buyer's other conversations are closed, and those for which the seller has
      nothing left. What arrives in them later is late.
    - An agreement by which a side would lose ("overflow") closes its conversation and nothing else: no unit moves,
      nobody pays, it scores as a failure.
    - Of products that are chosen, the zone of a deal is that of the chosen ones. In contract mode it is what both
      can gain at most with the best terms.
    - The scores of a match are the means over the deals that it had room for (the number of buyers, or of lots on
      sale if those are fewer); one that was not made is a failure.
    - A round without movement is one after which both sides' last offers are what they were before it. A mediator
      speaks once in each stall.
    - A match that is cut off keeps the deals that were struck.

    The parameters are those of `Parameters`.

    turn.state:
        role: "buyer" or "seller".
        thread: Number of the conversation; 0 where one is to be chosen (`choose`), in `threads`.
        partner: Seat id of the other.
        status: "open", or how it ended: "deal", "overflow", "bought_elsewhere" or "sold_out".
        round: Round of the match, from 1.
        max_rounds: The last round.
        deal_rule: As in the parameters; `lot` and `terms` too.
        products: What is on sale in this conversation, by id; each with `name` and `about`.
        offers: The last offer of the "buyer" and of the "seller", each with a `price`, or None.
        history: For each round: its number, the buyer's price and the seller's.
        transcript: What was said in this conversation: `round`, `role`, `text`. It and `history` are sequences that are
            unpacked when they are looked at; `list` makes lists of them.
        my_reservation_price: Of what is on sale together; not where the products are to be chosen.
        list_price: What the seller asks at first for it; not where the products are to be chosen.
        my_reservation_prices: By product, where there are several; so are `list_prices`.
        my_weights: What the terms are worth to this seat, where there are terms.
        choose: How many products an offer names, where they are to be chosen; `on_sale` has those in stock.
        stock: What a seller has left, by product.
        others: A line for each other conversation of this seat: `partner`, `status`, `buyer_price`, `seller_price`.
        threads: Likewise for all of them, where one is to be chosen.
    """

    game_id: ClassVar[str] = "bargaining"
    action_types: ClassVar[Mapping[str, type[ActionType]]] = MappingProxyType(
        {kind.name: kind for kind in (Reply, Choose, Pass, MessageOnly)}
    )
    goal: ClassVar[Goal | None] = Goal("deals", "deal")

    def seat_ids(self) -> tuple[str, ...]:
        """Return the ids of the buyers, then of the sellers."""
        return (*self.buyers, *self.sellers)

    def check_seats(self, agent_ids: tuple[str, ...]) -> None:
        """Check that the seats are the buyers and the sellers that the parameters name, in that order."""
        needed = self.seat_ids()
        if agent_ids != needed:
            raise ConfigError(
                f"the seats have to be the buyers and then the sellers: {', '.join(needed)}; given: "
                f"{', '.join(agent_ids) or 'none'}"
            )

    def role(self, agent_ids: tuple[str, ...], seat: int) -> str:
        """Return "buyer" or "seller"."""
        return "buyer" if seat < len(self.buyers) else "seller"

    def rules_text(self, role: str) -> str:
        """Say the rules in words, to a buyer or a seller."""
        said = self.__dict__.setdefault("_rules", {})  # every seat of every match is told
        if role not in said:
            said[role] = rules.text(self, role)
        text: str = said[role]
        return text

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        """Return the state at the beginning."""
        return start(self, agent_ids, rng)
