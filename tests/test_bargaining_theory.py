"""Scripted negotiators against the theory of bargaining, in real matches.

Where an outcome is determined it is compared exactly (1e-9 of the surplus), elsewhere with a 99 % interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple

import pytest
from haggling import Wall, deals, haggle, offers, prices, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.agent import Answer
from actors.scripted.bargaining.concession import conceded
from actors.scripted.bargaining.exchange import DoubleAuction, Rubinstein, proposer_share
from actors.turn import Turn
from sim import MatchRecord, Pass
from sim.games.bargaining import BargainingGame

NORMAL_99 = 2.576
"""The two-sided 99 % quantile of the normal distribution."""

FACTORS = (0.0, 0.3, 0.5, 0.9, 0.99)
PRICES = st.floats(1.0, 1e6).map(lambda price: round(price, 2))


def pair(low: float = 12_000.0, high: float = 16_000.0, **parameters: Any) -> BargainingGame:
    """A buyer who pays up to `high`, and a seller who takes `low`."""
    return BargainingGame(
        buyers={"buyer": {"max_price": high}},
        sellers={"seller": {"min_price": low, "list_price": 1.5 * high}},
        **parameters,
    )


def zone(low: float, high: float) -> tuple[float, float]:
    return min(low, high), max(low, high)


# ── alternating offers ──────────────────────────────────────────────────────────────────────────────────


def rubinstein(own: float, other: float, price: float) -> tuple[str, dict[str, Any]]:
    return "rubinstein", {"discount": own, "other_discount": other, "other": price}


class SilentAtFirst(Rubinstein):
    """Says nothing in the first round, so that the seller proposes first."""

    def decide(self, turn: Turn) -> Answer:
        return Pass() if turn.round == 1 else super().decide(turn)


@pytest.mark.parametrize("buyer", FACTORS)
@pytest.mark.parametrize("seller", FACTORS)
def test_the_first_proposer_gets_the_share_of_rubinsteins_equilibrium_at_once(buyer: float, seller: float) -> None:
    (record,) = haggle(pair(), (rubinstein(buyer, seller, 12_000.0), rubinstein(seller, buyer, 16_000.0)))
    (deal,) = deals([record])
    assert deal["round"] == 1
    assert deal["buyer_utility"] == pytest.approx((1 - seller) / (1 - buyer * seller), abs=1e-9)
    assert len(offers(record, "buyer")) == len(offers(record, "seller")) == 1


@pytest.mark.parametrize("rule", ["make_deal", "crossing"])
@pytest.mark.parametrize("buyer", FACTORS)
@pytest.mark.parametrize("seller", FACTORS)
def test_a_seller_who_proposes_first_gets_the_proposers_share(buyer: float, seller: float, rule: Any) -> None:
    late = SilentAtFirst("buyer", discount=buyer, other_discount=seller, other=12_000.0)
    (record,) = haggle(pair(deal_rule=rule), (late, rubinstein(seller, buyer, 16_000.0)))
    (deal,) = deals([record])
    assert deal["round"] == 2  # it proposed in round 1; the buyer accepts in the next, and the seller confirms
    assert deal["seller_utility"] == pytest.approx((1 - buyer) / (1 - buyer * seller), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(PRICES, PRICES, st.floats(0, 0.999), st.floats(0, 0.999))
def test_rubinsteins_shares_hold_for_any_zone_and_any_patience(
    one: float, another: float, buyer: float, seller: float
) -> None:
    low, high = zone(one, another)
    if high - low < 0.01:
        return
    game = pair(low, high)
    (record,) = haggle(game, (rubinstein(buyer, seller, low), rubinstein(seller, buyer, high)))
    (deal,) = deals([record])
    assert deal["round"] == 1
    exact = 1e-9 + 1e-15 * high / (high - low)  # what a float of this size holds
    assert deal["buyer_utility"] == pytest.approx(proposer_share(buyer, seller), abs=exact)


def test_patience_and_the_first_word_pay() -> None:
    assert proposer_share(0.9, 0.9) == pytest.approx(1 / 1.9)
    assert proposer_share(0.9, 0.8) > proposer_share(0.8, 0.8) > proposer_share(0.8, 0.9)
    assert proposer_share(0.0, 0.0) == 1.0  # an ultimatum
    assert proposer_share(1 - 1e-9, 1 - 1e-9) == pytest.approx(0.5, abs=1e-9)  # Binmore's limit: the Nash solution


@pytest.mark.parametrize(("buyer", "seller"), [(0.9, 0.8), (0.5, 0.5), (0.7, 0.95)])
def test_to_ask_for_more_than_the_equilibrium_share_is_refused_and_pays_less(buyer: float, seller: float) -> None:
    """The one-deviation property: who deviates once plays on from the other's proposal, a period later."""
    share = proposer_share(buyer, seller)

    class Greedy(Rubinstein):
        def ask(self, table: Any) -> float:
            return super().ask(table) * (1.0 + 1e-6 if table.round == 1 else 1.0)

    greedy = Greedy("buyer", discount=buyer, other_discount=seller, other=12_000.0)
    (record,) = haggle(pair(), (greedy, rubinstein(seller, buyer, 16_000.0)))
    (deal,) = deals([record])
    assert deal["round"] == 2
    # The deal is the seller's proposal, worth a message less: d_b (1 - proposer's share of the seller).
    assert deal["buyer_utility"] == pytest.approx(1 - proposer_share(seller, buyer), abs=1e-9)
    assert buyer * deal["buyer_utility"] < share


# ── the Nash bargaining solution ────────────────────────────────────────────────────────────────────────


@settings(max_examples=60, deadline=None)
@given(PRICES, PRICES, st.floats(0, 1))
def test_nash_splitters_who_know_both_limits_agree_at_once_on_the_solution(
    one: float, another: float, power: float
) -> None:
    low, high = zone(one, another)
    if high - low < 0.01:
        return
    buyer = ("nash_splitter", {"other": low, "power": power})
    seller = ("nash_splitter", {"other": high, "power": 1 - power})
    (record,) = haggle(pair(low, high), (buyer, seller))
    (deal,) = deals([record])
    assert deal["round"] == 1
    assert deal["buyer_utility"] == pytest.approx(power, abs=1e-9 + 1e-15 * high / (high - low))


def test_the_solution_maximises_the_product_of_what_both_gain() -> None:
    (record,) = haggle(pair(), (("nash_splitter", {"other": 12_000}), ("nash_splitter", {"other": 16_000})))
    (deal,) = deals([record])
    product = deal["buyer_surplus"] * deal["seller_surplus"]
    assert product == pytest.approx(max((16_000 - p) * (p - 12_000) for p in range(12_000, 16_001)))
    assert record.outcome.figures["global_score"] == pytest.approx(100.0)


def test_a_nash_splitter_accepts_at_or_beyond_the_solution_and_nothing_below() -> None:
    for price, agrees in ((14_000.0, True), (13_000.0, True), (14_000.01, False)):
        (record,) = haggle(pair(), (("nash_splitter", {"other": 12_000}), Wall("seller", price, deal=True)))
        assert bool(deals([record])) is agrees


def test_a_belief_that_was_not_given_comes_nearer_to_what_the_other_stands_by() -> None:
    (record,) = haggle(pair(), ("nash_splitter", Wall("seller", 15_500)))
    bids = prices(record, "buyer")
    assert bids == sorted(bids)
    # A list price of 24,000 is above its limit, so that it takes the seller for one who would take 3/4 of 16,000.
    assert bids[0] == 14_000
    assert bids[-1] == 15_500


# ── concession with time ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("exponent", [0.02, 0.2, 0.5, 1.0, 2.0, 5.0, 50.0])
def test_offers_follow_the_polynomial_of_faratin_sierra_and_jennings(exponent: float) -> None:
    options = {"exponent": exponent, "anchor": 0.5}
    game = pair(max_rounds=25)
    (record,) = haggle(game, (("time_dependent", options), Wall("seller", 20_000)))
    bids = prices(record, "buyer")
    expected = [8_000 + (16_000 - 8_000) * (t / 25) ** (1 / exponent) for t in range(1, 26)]
    assert bids == pytest.approx(expected, abs=10)  # 10 is what such prices are rounded to
    assert all(bid <= exact + 1e-6 for bid, exact in zip(bids, expected, strict=True))
    assert bids[-1] == 16_000
    (record,) = haggle(game, (Wall("buyer", 5_000), ("time_dependent", options)))
    asks = prices(record, "seller")
    expected = [24_000 + (12_000 - 24_000) * (t / 25) ** (1 / exponent) for t in range(1, 26)]
    assert asks == pytest.approx(expected, abs=10)
    assert all(ask >= exact - 1e-6 for ask, exact in zip(asks, expected, strict=True))


def test_presets_are_time_dependent_with_their_exponents() -> None:
    def bids(kind: str, **options: Any) -> list[float]:
        return prices(haggle(pair(), ((kind, options), Wall("seller", 20_000)))[0], "buyer")

    for kind, exponent in (("boulware", 0.2), ("linear", 1.0), ("conceder", 5.0)):
        assert bids(kind) == bids("time_dependent", exponent=exponent)
    assert conceded(10, 20, 0.2) == pytest.approx(1 / 32)
    assert conceded(10, 20, 5.0) == pytest.approx(0.5**0.2)


def test_two_who_concede_evenly_meet_where_their_lines_cross() -> None:
    # 9,600 + 6,400 t/T and 24,000 - 12,000 t/T are equal at t/T = 18/23, and the price is 14,608.70 there.
    (record,) = haggle(pair(max_rounds=400), ("linear", "linear"))
    (deal,) = deals([record])
    assert deal["price"] == pytest.approx(9_600 + 6_400 * 18 / 23, abs=2 * 12_000 / 400)
    assert deal["round"] / 400 == pytest.approx(18 / 23, abs=2 / 400)


# ── the double auction ──────────────────────────────────────────────────────────────────────────────────


def auction(**parameters: Any) -> BargainingGame:
    """Values and costs are drawn evenly from 1,000 to 2,000."""
    return BargainingGame(
        buyers={"buyer": {"max_price": (1_000.0, 2_000.0)}},
        sellers={"seller": {"min_price": (1_000.0, 2_000.0), "list_price": 2_000.0}},
        **({"deal_rule": "crossing", "max_rounds": 1} | parameters),
    )


LINEAR = ("double_auction", {"low": 1_000.0, "high": 2_000.0})


def drawn(record: MatchRecord) -> tuple[float, float]:
    """Return value and cost of a match, as parts of the interval."""
    figures = record.outcome.figures
    (value,), (cost,) = figures["values"]["buyer"].values(), figures["costs"]["seller"].values()
    return (value - 1_000) / 1_000, (cost - 1_000) / 1_000


class Auction(NamedTuple):
    """What is kept of a match; all of it as parts of the interval."""

    value: float
    cost: float
    bid: float
    asked: float
    traded: bool
    gains: tuple[float, float]


def summary(record: MatchRecord) -> Auction:
    bid, asked = ((prices(record, who)[0] - 1_000) / 1_000 for who in ("buyer", "seller"))
    buyer, seller = record.outcome.utilities
    return Auction(*drawn(record), bid, asked, record.outcome.trigger == "deal", (buyer / 1_000, seller / 1_000))


@pytest.fixture(scope="module")
def auctions() -> Sequence[Auction]:
    blocks = (range(start, start + 1_000) for start in range(0, 20_000, 1_000))
    return [summary(record) for seeds in blocks for record in haggle(auction(), (LINEAR, LINEAR), seeds)]


@pytest.mark.slow
def test_bids_and_asks_are_those_of_chatterjee_and_samuelson_and_trade_in_the_middle(
    auctions: Sequence[Auction],
) -> None:
    for it in auctions:
        bid, ask = min(it.value, 2 / 3 * it.value + 1 / 12), max(it.cost, 2 / 3 * it.cost + 1 / 4)
        assert it.bid == pytest.approx(bid, abs=1e-9)
        if abs(it.value - it.cost - 1 / 4) > 1e-9:
            assert it.traded is (it.value - it.cost > 1 / 4) is (bid > ask)
        assert it.asked == pytest.approx((bid + ask) / 2 if it.traded else ask, abs=1e-9)


@pytest.mark.slow
def test_trade_happens_with_probability_9_32(auctions: Sequence[Auction]) -> None:
    traded = fmean(it.traded for it in auctions)
    assert traded == pytest.approx(9 / 32, abs=NORMAL_99 * sqrt(9 / 32 * 23 / 32 / len(auctions)))


@pytest.mark.slow
def test_27_32_of_the_first_best_gains_are_realised_and_each_side_gets_9_128(auctions: Sequence[Auction]) -> None:
    # The ratio of two means, by the spread of what is left over.
    rest = [sum(it.gains) - 27 / 32 * max(0.0, it.value - it.cost) for it in auctions]
    assert fmean(rest) == pytest.approx(0.0, abs=NORMAL_99 * stdev(rest) / sqrt(len(rest)))
    for side in (0, 1):
        own = [it.gains[side] for it in auctions]
        assert fmean(own) == pytest.approx(9 / 128, abs=NORMAL_99 * stdev(own) / sqrt(len(own)))


def test_no_other_linear_bid_does_better_against_the_linear_ask() -> None:
    """The equilibrium is a best reply: bids that are shaded more, or less, gain less against the same sellers."""

    class Shading(DoubleAuction):
        def __init__(self, shade: float) -> None:
            super().__init__("buyer", low=1_000.0, high=2_000.0)
            self.shade = shade

        def _price(self, table: Any) -> float:
            return min(super()._price(table) + self.shade if table.buying else super()._price(table), table.limit())

    def gain(shade: float) -> list[float]:
        records = haggle(auction(), (Shading(shade), LINEAR), range(1_500))
        return [record.outcome.utilities[0] for record in records]

    best = gain(0.0)
    for shade in (-120.0, 120.0):
        less = [one - another for one, another in zip(best, gain(shade), strict=True)]  # the same draws
        assert fmean(less) - NORMAL_99 * stdev(less) / sqrt(len(less)) > 0


def test_with_make_deal_the_buyer_accepts_the_middle_in_the_second_round() -> None:
    for rounds in (1, 2):
        records = haggle(auction(deal_rule="make_deal", max_rounds=rounds), (LINEAR, LINEAR), range(200))
        struck = deals(records)
        assert len(struck) == sum(v - c > 1 / 4 for v, c in map(drawn, records))
        for record in records:
            for deal in deals([record]):
                bid = prices(record, "buyer")[0]
                assert deal["round"] == rounds
                assert deal["price"] == bid if rounds == 1 else deal["price"] <= bid


# ── zero intelligence ───────────────────────────────────────────────────────────────────────────────────


def test_markets_of_zero_intelligence_traders_realise_most_of_the_surplus() -> None:
    """Gode and Sunder: a budget constraint is enough for most of the gains; without learning, not for the price."""
    game = BargainingGame(
        buyers={f"buyer_{n}": {"max_price": (60.0, 160.0)} for n in range(4)},
        sellers={f"seller_{n}": {"min_price": (40.0, 140.0), "list_price": 160.0} for n in range(4)},
    )
    gained, possible = 0.0, 0.0
    paid = []
    for record in haggle(game, ["zero_intelligence_trader"] * 8, range(40)):
        figures = record.outcome.figures
        values = sorted((value for own in figures["values"].values() for value in own.values()), reverse=True)
        costs = sorted(cost for own in figures["costs"].values() for cost in own.values())
        possible += sum(max(0.0, value - cost) for value, cost in zip(values, costs, strict=True))
        gained += sum(record.outcome.utilities)
        paid += [deal["price"] for deal in figures["deals"]]
    assert 0.8 < gained / possible < 1.0
    assert stdev(paid) > 10
    assert not any("[redacted]" in text for text in texts(record, "buyer_0"))
