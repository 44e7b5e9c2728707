"""What holds in every state of a market, whoever spoke first: units are conserved, and no deal is anybody's loss."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.games.bargaining.state import BargainingState


def check(state: BargainingState, right: str) -> None:
    """Check a state.

    Args:
        state: The state.
        right: What the ledger calls a buyer's right to buy.

    Raises:
        AssertionError: Something does not hold; the text says what.
    """
    _check_threads(state)
    sold, bought = _check_bargains(state)
    state.ledger.check()
    buyers = len(state.game.buyers)
    for seat, stock in enumerate(state.game.layout.stock):
        for product, units in stock.items():
            left = state.ledger.available(seat, product)
            assert left == units - sold[seat, product] >= 0, f"seat {seat} has {left} of {units} units of {product}"
        if seat < buyers:
            rights = state.ledger.available(seat, right)
            assert rights == 1 - bought[seat] >= 0, f"seat {seat} has bought {bought[seat]} times"


def _check_threads(state: BargainingState) -> None:
    open_ = due = 0
    for thread in state.threads:
        open_ += thread.status == "open"
        due += thread.due is not None
        rests = thread.due is None or thread.status == "open"
        assert rests, f"thread {thread.number} is over, and somebody is to speak"
    assert state.open == open_, f"{open_} conversations are open, not {state.open}"
    waits = due + len(state.lobby)
    assert state.over or state.waiting == waits > 0, f"a round waits for {state.waiting}, and {waits} are to move"
    assert 0 < state.round <= state.game.max_rounds, f"there is no round {state.round}"


def _check_bargains(state: BargainingState) -> tuple[Counter[tuple[int, str]], Counter[int]]:
    """Check what was agreed on; return the units that each seat has sold, and how often each has bought."""
    sold: Counter[tuple[int, str]] = Counter()
    bought: Counter[int] = Counter()
    struck: set[int] = set()
    for bargain in state.bargains:
        thread = state.threads[bargain.thread - 1]
        buyer, seller = thread.seats
        assert bargain.thread not in struck, f"two agreements in thread {bargain.thread}"
        struck.add(bargain.thread)
        ending = "overflow" if bargain.overflow else "deal"
        assert thread.status == ending, f"an agreement that is {ending}, in a thread that is {thread.status}"
        assert isfinite(bargain.offer.price) and set(bargain.items) <= set(thread.products), "a deal about other goods"
        if not bargain.overflow:
            assert min(bargain.gains) >= 0 < bargain.most, f"a deal outside the zone: gains {bargain.gains}"
            bought[buyer] += 1
            sold.update((seller, product) for product in bargain.items)
    closed = sum(thread.status in ("deal", "overflow") for thread in state.threads)
    assert closed == len(struck), f"{closed} conversations end in an agreement, and there are {len(struck)}"
    return sold, bought
