"""A negotiator with several conversations, which plays its counterparts off against each other."""

from __future__ import annotations

from math import fsum, sqrt
from typing import Any

from actors.scripted.bargaining.concession import TimeDependent, conceded
from actors.scripted.bargaining.offering import choose_items, stance
from actors.scripted.bargaining.phrases import Mood
from actors.scripted.bargaining.table import Package, Table, memos
from actors.scripted.options import Part, Positive
from actors.turn import Turn
from sim.game import ActionType
from sim.games.bargaining.actions import Choose


class Shopper(TimeDependent):
    """Concedes with time, but nowhere further than to its best outside option, and closes where it gains most.

    In each conversation it asks for the surplus of `time_dependent`, or for that of its outside option where that
    is more: what the last offers elsewhere would leave it. It accepts what is no worse than both, in the last round
    what is no worse than the outside option. The outside option of a buyer is the best offer of another
    conversation. That of a seller with k units is the k-th best of the other buyers' offers for the same product,
    since k of them could be served; it is nothing while fewer have made offers.

    Rivals make it hold out longer: its exponent is divided by the square root of the number of conversations that it
    has for each unit it can trade. (Without that it gains little by them; divided by the number itself it gains
    more, but in a market of such negotiators one deal in five is missed.)

    Where it chooses whom to talk to, it hears everybody once, the most promising list price first, and no more than
    half of the rounds long. After that it talks in turn to whoever's last offer leaves it most and to whom it has
    not talked for longest, and to the former alone in the last two rounds.

    It does the same in a seller's seat.

    Args:
        agent_id: Its seat id.
        exponent: As in `TimeDependent`.
        anchor: As in `TimeDependent`.
        firm: As in `Negotiator`.
    """

    def __init__(self, agent_id: str, *, exponent: Positive = 1.0, anchor: Part = 0.4, firm: bool = False) -> None:
        super().__init__(agent_id, exponent=exponent, anchor=anchor, firm=firm)

    def ask(self, table: Table) -> float:
        """Return what time leaves it, or what it can have elsewhere."""
        return max(self._by_time(table), outside_option(table))

    def least(self, table: Table, ask: float) -> float:
        """Return what it asks for; in the last round what it can have elsewhere."""
        return outside_option(table) if table.last else ask

    def accepts(self, table: Table, theirs: Package, ask: float) -> bool:
        """Return whether it takes the other's offer; its own, too, only while there is no better one elsewhere."""
        better = theirs == table.mine and table.surplus(theirs) < outside_option(table)
        return not better and super().accepts(table, theirs, ask)

    def mood(self, table: Table, package: Package) -> Mood:
        """Return how an offer is to be put: the outside option is mentioned where it is what limits the offer."""
        mood = super().mood(table, package)
        limits = table.surplus(package) > self._by_time(table) + 0.01 * table.limit(package.items)
        return "compare" if limits and mood != "open" and outside_option(table) > 0 else mood

    def _by_time(self, table: Table) -> float:
        least, most = stance(table, self.anchor, choose_items(table))
        exponent = self.exponent / sqrt(max(1.0, (1 + len(rivals(table))) / table.stock()))
        return most + (least - most) * conceded(table.round, table.rounds, exponent)

    def choose(self, turn: Turn) -> ActionType:
        """Pick whom to talk to in this round."""
        state = turn.state
        there = [line for line in state["threads"] if line["status"] == "open"]
        prices, buying = state["my_reservation_prices"], state["role"] == "buyer"
        theirs = "seller_price" if buying else "buyer_price"
        talked: dict[int, int] = turn.memory.setdefault("talked", {})
        new = [line for line in there if line["thread"] not in talked]
        if new and state["round"] <= max(1, state["max_rounds"] // 2):
            line = max(new, key=lambda line: _gain(prices, line, line["list_price"] or 0.0, buying=True))
        else:
            there = [line for line in there if line[theirs] is not None] or there
            line = max(there, key=lambda line: _gain(prices, line, line[theirs] or 0.0, buying=buying))
            if talked.get(line["thread"]) == state["round"] - 1 and state["round"] < state["max_rounds"] - 1:
                line = min(there, key=lambda line: talked.get(line["thread"], 0))
        talked[line["thread"]] = state["round"]
        return Choose(line["partner"], line["products"][0])


def rivals(table: Table) -> list[dict[str, Any]]:
    """Return a line for each of the seat's other conversations that compete with this one."""
    lines = [line for line in table.state.get("others", ()) if line["status"] == "open"]
    if table.buying:  # it buys once, whatever it is
        return lines
    return [line for line in lines if not set(table.products).isdisjoint(line["products"])]


def outside_option(table: Table) -> float:
    """Return the surplus that the last offers in the seat's other conversations would leave it; 0 or more."""
    theirs = "seller_price" if table.buying else "buyer_price"
    prices: dict[str, float] = table.turn.private["my_reservation_prices"]
    gains: list[float] = []
    for line in rivals(table):
        if table.contract or table.choose:  # a line has the price alone: what else was offered, it has to remember
            memo = memos(table.turn).get(line["thread"])
            gains.append(0.0 if memo is None else memo.heard or 0.0)
        elif line[theirs] is not None:
            gains.append(_gain(prices, line, line[theirs], buying=table.buying))
    best = sorted((gain for gain in gains if gain > 0), reverse=True)
    units = table.stock()
    return best[units - 1] if len(best) >= units else 0.0


def _gain(prices: dict[str, float], line: dict[str, Any], price: float, *, buying: bool) -> float:
    """Return the surplus of a price in another conversation."""
    gain = fsum(prices[product] for product in line["products"]) - price
    return gain if buying else -gain
