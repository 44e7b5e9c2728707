"""What a bargain is worth: gains, scores, and the outcome of a match."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum
from typing import TYPE_CHECKING, Any

from sim.game import Outcome, Status
from sim.games.bargaining.amounts import weight_of
from sim.games.bargaining.layout import market_type
from sim.games.bargaining.scores import Scores, contract_scores, failure_scores
from sim.games.bargaining.tags import Offer
from sim.games.bargaining.thread import Thread
from sim.messages import Struct

if TYPE_CHECKING:
    from sim.games.bargaining.state import BargainingState


class Bargain(Struct, frozen=True):
    """What a buyer and a seller have agreed on.

    Attributes:
        thread: Number of the conversation.
        items: Ids of the products.
        offer: The price and the terms.
        round: In which round.
        gains: What the buyer and the seller gain by it, in currency.
        most: The most that they could gain together with these products (z_max): by price alone, or by the best terms.
    """

    thread: int
    items: tuple[str, ...]
    offer: Offer
    round: int
    gains: tuple[float, float]
    most: float

    @property
    def overflow(self) -> bool:
        """Whether it is outside the bargaining zone: a side would lose by it, or there is no zone. It binds nobody."""
        return min(self.gains) < 0 or self.most <= 0


def strike(state: BargainingState, thread: Thread, offer: Offer) -> Bargain:
    """Return what an agreement is worth to both sides.

    The buyer gains its reservation price less the price, the seller the price less its own, both with what the terms
    are worth to them. Each sum is rounded once, so that its sign is exact.
    """
    buyer, seller = thread.seats
    items = offer.items or thread.products
    values = [state.amounts[buyer][item] for item in items]
    costs = [state.amounts[seller][item] for item in items]
    terms = state.game.terms
    weights = [
        (weight_of(state.weights[buyer], name, term), weight_of(state.weights[seller], name, term))
        for name, term in terms.items()
    ]
    worth = [
        (term.worth(value, bid), term.worth(value, ask))
        for term, value, (bid, ask) in zip(terms.values(), offer.terms.values(), weights, strict=True)
    ]
    gains = (
        fsum((*values, -offer.price, *(bid for bid, _ask in worth))),
        fsum((offer.price, *(-cost for cost in costs), *(ask for _bid, ask in worth))),
    )
    best = (term.best(bid, ask) for term, (bid, ask) in zip(terms.values(), weights, strict=True))
    most = fsum((*values, *(-cost for cost in costs), *best))
    return Bargain(thread.number, items, offer, state.round, gains, most)


def outcome_of(state: BargainingState, status: Status, trigger: str) -> Outcome:
    """Return the outcome: gains from the deals, and for the record all that is computed from private facts.

    What all are told is no more than the type of the market and the round of the end.
    """
    game, ids = state.game, state.agent_ids
    deals = [bargain for bargain in state.bargains if not bargain.overflow]
    gains: list[list[float]] = [[] for _ in ids]
    for deal in deals:
        for seat, gain in zip(state.threads[deal.thread - 1].seats, deal.gains, strict=True):
            gains[seat].append(gain)
    scored = [(deal, _scores(state, deal)) for deal in deals]
    failure = failure_scores(game.scoring, game.max_rounds)
    failures = [failure] * (game.layout.possible - len(deals))
    buyers = len(game.buyers)
    figures = {
        "deals": [_figures(state, deal) | _by_name(scores) for deal, scores in scored],
        "overflows": [_figures(state, bargain) for bargain in state.bargains if bargain.overflow],
        "deals_possible": game.layout.possible,
        **_by_name(_mean([*(scores for _deal, scores in scored), *failures])),
        "values": dict(zip(ids, state.amounts[:buyers], strict=False)),
        "costs": dict(zip(ids[buyers:], state.amounts[buyers:], strict=True)),
        "units": dict(zip(ids[buyers:], game.layout.stock[buyers:], strict=True)),
    }
    details = {"market": market_type(game), "rounds": state.round}
    return Outcome(status, trigger, tuple([fsum(gain) for gain in gains]), details, figures)


def _scores(state: BargainingState, deal: Bargain) -> Scores:
    buyer, seller = deal.gains
    return contract_scores(
        state.game.scoring, buyer_utility=buyer, seller_utility=seller, max_surplus=deal.most, round=deal.round
    )


def _figures(state: BargainingState, bargain: Bargain) -> dict[str, Any]:
    buyer, seller = state.threads[bargain.thread - 1].seats
    gains, most = bargain.gains, bargain.most
    figures: dict[str, Any] = {
        "thread": bargain.thread,
        "buyer": state.agent_ids[buyer],
        "seller": state.agent_ids[seller],
        "items": bargain.items,
        "price": bargain.offer.price,
        "round": bargain.round,
        "buyer_surplus": gains[0],
        "seller_surplus": gains[1],
        "max_surplus": most,
    }
    if most > 0:
        figures |= {"buyer_utility": gains[0] / most, "seller_utility": gains[1] / most}
    if bargain.offer.terms:
        figures["terms"] = bargain.offer.terms
    return figures


def _by_name(scores: Scores) -> dict[str, float]:
    return {
        "global_score": scores.global_score,
        "buyer_score": scores.buyer_score,
        "seller_score": scores.seller_score,
    }


def _mean(several: Iterable[Scores]) -> Scores:
    columns = zip(*((s.global_score, s.buyer_score, s.seller_score) for s in several), strict=True)
    return Scores(*(fsum(column) / len(column) for column in columns))
