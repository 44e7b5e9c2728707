"""Negotiators from theory: zero intelligence, the Nash bargaining solution, Rubinstein's game, the double auction."""

from __future__ import annotations

from math import ulp
from typing import Annotated

from msgspec import Meta

from actors.scripted.bargaining.negotiator import Negotiator
from actors.scripted.bargaining.offering import belief, choose_items, stance
from actors.scripted.bargaining.table import Package, Table
from actors.scripted.options import Amount, Part, Positive

Discount = Annotated[float, Meta(ge=0, lt=1)]

_NOISE = 1e-9
"""Shares that differ by less are the same."""


class ZeroIntelligenceTrader(Negotiator):
    """Names random prices at which it loses nothing, takes whatever is better than its next, and learns nothing.

    The zero-intelligence trader with a budget constraint (ZI-C) of Gode and Sunder (1993, Journal of Political
    Economy 101): a buyer bids evenly between 0 and its reservation price, a seller asks evenly between its
    reservation price and the list price (twice its reservation price where the list price is not above it). Where
    its next price would cross the other's, it takes the other's, which was there first.

    Args:
        agent_id: Its seat id.
        firm: As in `Negotiator`.
    """

    binding = True

    def ask(self, table: Table) -> float:
        """Draw the surplus that its price would leave it."""
        items = choose_items(table)
        limit, listed = table.limit(items), table.listed(items)
        above = listed - limit if listed is not None and listed > limit else limit
        return table.memo.rng.random() * (limit if table.buying else above)


class Believer(Negotiator):
    """Base of negotiators that go by what they take the other's reservation price to be.

    Args:
        agent_id: Its seat id.
        other: The other's reservation price for what is traded, all of it; None judges by the list price and by the
            other's offers (`belief`).
        firm: As in `Negotiator`.
    """

    binding = True

    def __init__(self, agent_id: str, *, other: Positive | None = None, firm: bool = False) -> None:
        super().__init__(agent_id, firm=firm)
        self.other = other
        self.exact = other is not None

    def part(self, table: Table, share: float) -> float:
        """Return the surplus that a share of the zone leaves it.

        The zone lies between both reservation prices. A buyer who was not told the seller's takes the list price
        for its own where that is less: what it saves by that is its own in any case.
        """
        items = choose_items(table)
        limit, safe, other = table.limit(items), 0.0, self.other
        if other is None:
            safe, other = stance(table, 0.0, items)[0], belief(table, items)
        zone = max(0.0, (limit - other if table.buying else other - limit) - safe)
        # All of it, to the last digit, could leave the other a loss in the last digit, and it would refuse.
        return safe + max(0.0, min(share * zone, zone - 8 * ulp(max(limit, other))))

    def noise(self, table: Table) -> float:
        """Return by how much two sides may differ that compute the same surplus."""
        return _NOISE * self.part(table, 1.0) + 16 * ulp(table.limit() + (self.other or 0.0))


class NashSplitter(Believer):
    """Proposes the Nash bargaining solution as it sees it, and accepts at or beyond it.

    With utilities that are linear in money and nothing without a deal, the solution of Nash (1950, Econometrica 18)
    splits the surplus evenly: the price is the mean of both reservation prices. With bargaining power a, the
    asymmetric solution of Kalai (1977, International Journal of Game Theory 6) maximises U^a V^(1 - a) and leaves
    it the part a. A belief that it was not given follows the other's offers, so that it agrees in the end.

    Args:
        agent_id: Its seat id.
        other: As in `Believer`.
        power: Its part of the surplus.
        firm: As in `Negotiator`.
    """

    def __init__(self, agent_id: str, *, other: Positive | None = None, power: Part = 0.5, firm: bool = False) -> None:
        super().__init__(agent_id, other=other, firm=firm)
        self.power = power

    def ask(self, table: Table) -> float:
        """Return its part of the surplus."""
        return self.part(table, self.power)

    def least(self, table: Table, ask: float) -> float:
        """Return the same, but for what two roundings may differ by."""
        return ask - self.noise(table)


class Rubinstein(Believer):
    """Plays the subgame-perfect equilibrium of alternating offers: proposes its share, accepts what waiting is worth.

    In the game of Rubinstein (1982, Econometrica 50) two sides propose in turn how to split a pie, which loses a
    part of its value with each refusal. With d1 the discount factor of who proposes and d2 that of the other, the
    proposer asks for

        (1 - d2) / (1 - d1 d2)

    of the pie and leaves the rest; who is asked accepts whatever leaves it d times the share that it would ask for
    itself in the next period. So the first proposal is accepted, and the first proposer is the buyer.

    In this protocol each message is a period: a refusal is the next proposal. A proposal is an offer with
    MAKE_DEAL, an acceptance repeats it with MAKE_DEAL. The buyer's proposals are accepted in the round in which they
    are made; a seller's in the next, in which the seller repeats it once more as the protocol wants it. The pie is
    the zone between both reservation prices; in contract mode the terms are paid for in full, by the price.
    The number of rounds plays no part: the strategies are those of the game without an end.

    Args:
        agent_id: Its seat id.
        discount: What a message leaves of the value of a deal to it.
        other_discount: The same for the other.
        other: As in `Believer`.
        firm: As in `Negotiator`.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        discount: Discount = 0.9,
        other_discount: Discount = 0.9,
        other: Positive | None = None,
        firm: bool = False,
    ) -> None:
        super().__init__(agent_id, other=other, firm=firm)
        self.discount = discount
        self.other_discount = other_discount
        self.share = proposer_share(discount, other_discount)

    def ask(self, table: Table) -> float:
        """Return the proposer's share of the pie."""
        return self.part(table, self.share)

    def least(self, table: Table, ask: float) -> float:
        """Return what it would be left with in a period from now."""
        return self.part(table, self.discount * self.share) - self.noise(table)


def proposer_share(own: float, other: float) -> float:
    """Return the proposer's share in Rubinstein's game, (1 - other) / (1 - own other); factors are below 1."""
    return (1 - other) / (1 - own * other)


class DoubleAuction(Negotiator):
    """Bids or asks once by the linear equilibrium of the double auction, and stays with it.

    Chatterjee and Samuelson (1983, Operations Research 31): where values v and costs c are drawn evenly from [0, 1]
    and a trade is made in the middle of bid and ask, the buyer bids 2/3 v + 1/12 and the seller asks 2/3 c + 1/4.
    They trade where v >= c + 1/4, with probability 9/32, and gain 27/32 of what could be gained (Myerson and
    Satterthwaite, 1983: no mechanism without subsidies gains more). Here [low, high] stands for [0, 1]. Whoever could
    only trade at a loss (v < 1/4, c > 3/4) names its reservation price; in equilibrium nobody trades there.

    The referee closes at one of the two prices and not in the middle. So a seller whose ask the bid has reached
    names the middle: with deal_rule=crossing that closes the deal at once. With make_deal the buyer has yet to
    accept it, and in the last round the seller takes the bid as it is.

    Args:
        agent_id: Its seat id.
        low: Lowest value or cost that is drawn, in currency, for what is traded.
        high: The highest; above `low`.
        firm: As in `Negotiator`.
    """

    binding = True
    exact = True

    def __init__(
        self,
        agent_id: str,
        *,
        low: Amount = 0.0,
        high: Positive = 1.0,
        firm: bool = False,
    ) -> None:
        if low >= high:
            raise ValueError(f"low={low} must be below high={high}")
        super().__init__(agent_id, firm=firm)
        self.low = low
        self.high = high

    def ask(self, table: Table) -> float:
        """Return what the bid or the ask leaves it; for a seller who can have the middle, what that does."""
        price, limit = self._price(table), table.limit(choose_items(table))
        if table.buying:
            return limit - price
        bid = table.theirs
        return (price if bid is None or bid.price < price else (bid.price + price) / 2) - limit

    def accepts(self, table: Table, theirs: Package, ask: float) -> bool:
        """Return whether it takes the other's price: a seller only once it cannot have the middle any more."""
        if table.buying or theirs == table.mine:
            return super().accepts(table, theirs, ask)
        late = table.last and not table.crossing and theirs.price >= self._price(table)
        return late and super().accepts(table, theirs, 0.0)

    def _price(self, table: Table) -> float:
        """Return its bid or its ask: that of the equilibrium, within its reservation price."""
        limit = table.limit(choose_items(table))
        width = self.high - self.low
        price = self.low + 2 / 3 * (limit - self.low) + width * (1 / 12 if table.buying else 1 / 4)
        return min(price, limit) if table.buying else max(price, limit)
