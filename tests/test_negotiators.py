"""The scripted negotiators of the bargaining game, in real matches."""

from __future__ import annotations

import itertools
import random
import re
from statistics import fmean
from typing import Any

import msgspec
import pytest
from commands import quorum
from haggling import KINDS, Steps, Wall, assert_sound, deals, haggle, offers, prices, some_market, texts
from test_scripted import bodies

from actors.registry import make_agent
from actors.scripted.bargaining.negotiator import Negotiator
from actors.scripted.bargaining.phrases import phrases
from actors.scripted.bargaining.table import Table
from experiments.tasks import MARKETS, load_tasks
from sim import ConfigError, rejudge
from sim.games.bargaining import BargainingGame
from sim.games.bargaining.terms import number_text

GAME = BargainingGame()
RULES = ("make_deal", "crossing")
AGREEABLE = [kind for kind in KINDS if kind not in ("double_auction", "pass", "random")]
"""Kinds that come to terms with each other where there is room enough."""


def task_game(name: str, parameters: dict[str, Any]) -> BargainingGame:
    parameters.pop("game_id", None)
    return msgspec.convert(parameters, BargainingGame)


def smallest(market: str, count: int = 3) -> list[tuple[str, BargainingGame]]:
    """The tasks of a market that are played soonest."""
    games = [(task.name, task_game(task.name, task.parameters)) for task in load_tasks() if task.market == market]
    return sorted(games, key=lambda pair: len(pair[1].layout.places) * pair[1].max_rounds)[:count]


# ── any of them, anywhere ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("market", MARKETS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_plays_every_type_of_market_to_its_end(kind: str, market: str) -> None:
    for _name, game in smallest(market):
        (record,) = haggle(game, [kind] * len(game.seat_ids()))
        assert_sound(record)
        if kind in AGREEABLE and kind != "zero_intelligence_trader":
            assert record.outcome.trigger == "deal"


@pytest.mark.parametrize("block", range(10))
def test_nobody_ever_agrees_to_a_loss(block: int) -> None:
    """Any kinds against each other in markets of any size, with lots, terms, and prices from cents to millions."""
    struck = 0
    for seed in range(60 * block, 60 * (block + 1)):
        rng = random.Random(seed)
        try:
            game = BargainingGame(**some_market(rng))
        except ConfigError:
            continue
        (record,) = haggle(game, [rng.choice(KINDS) for _ in game.seat_ids()], (seed,))
        assert_sound(record)
        struck += len(record.outcome.figures["deals"])
    assert struck > 30


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_takes_a_price_beyond_its_reservation_price(kind: str) -> None:
    for rule, seed in itertools.product(RULES, range(5)):
        game = BargainingGame(deal_rule=rule, max_rounds=6)
        for bait in (12_000 - 0.01, 11_000, 0.01):
            (record,) = haggle(game, [Wall("buyer", bait, deal=True), kind], (seed,))
            assert record.outcome.trigger == "timeout"
        for bait in (16_000.01, 18_000, 1e15):
            (record,) = haggle(game, [kind, Wall("seller", bait, deal=True)], (seed,))
            assert record.outcome.trigger == "timeout"


def test_a_negotiator_that_asks_for_a_loss_does_not_get_it() -> None:
    class Careless(Negotiator):
        def ask(self, table: Table) -> float:
            return -5_000.0

        def least(self, table: Table, ask: float) -> float:
            return -5_000.0

    (record,) = haggle(GAME, (Careless("buyer"), Wall("seller", 16_000.01, deal=True)))
    assert set(prices(record, "buyer")) == {16_000}
    assert record.outcome.trigger == "timeout"
    (record,) = haggle(GAME, (Wall("buyer", 11_999.99, deal=True), Careless("seller")))
    assert set(prices(record, "seller")) == {12_000}
    assert record.outcome.trigger == "timeout"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("buyer", "seller"), list(itertools.product(AGREEABLE, repeat=2)))
def test_where_the_zone_is_wide_there_are_deals(buyer: str, seller: str, rule: Any) -> None:
    game = BargainingGame(deal_rule=rule)
    records = haggle(game, (buyer, seller), range(6))
    for record in records:
        assert_sound(record)
    struck = deals(records)
    random_against_stubborn = "zero_intelligence_trader" in (buyer, seller)
    assert len(struck) >= (2 if random_against_stubborn else 6)
    assert all(12_000 <= deal["price"] <= 16_000 for deal in struck)


def test_the_same_match_is_the_same_under_every_schedule() -> None:
    """With one conversation; where a seat hears of its other ones, the schedule decides what it hears."""
    for kind in KINDS:
        first = haggle(GAME, (kind, kind), (3,))[0]
        for schedule in (5, 6):
            again = haggle(GAME, (kind, kind), (3,), explore=schedule)[0]
            assert texts(again, "buyer") == texts(first, "buyer")
            assert again.outcome == first.outcome


def test_draws_in_a_conversation_do_not_hang_on_the_other_conversations() -> None:
    sellers = {f"seller_{n}": {"min_price": 12_000.0, "list_price": 18_000.0} for n in (1, 2)}
    game = BargainingGame(sellers=sellers, max_rounds=6)
    who = ("zero_intelligence_trader", Wall("seller_1", 18_000), Wall("seller_2", 17_000))
    ordered = haggle(game, who, (4,))[0]
    for schedule in range(4):
        other = haggle(game, who, (4,), explore=schedule)[0]
        assert [prices(other, "buyer", n) for n in (1, 2)] == [prices(ordered, "buyer", n) for n in (1, 2)]
    assert prices(ordered, "buyer", 1) != prices(ordered, "buyer", 2)


def test_matches_of_negotiators_are_judged_the_same_again() -> None:
    game = BargainingGame(sellers={f"s{n}": {"min_price": 12e3, "list_price": 18e3, "stock": n} for n in (1, 2)})
    for record in haggle(game, ("shopper", "shopper", "zero_intelligence_trader"), range(5)):
        rejudge(record, game)


# ── what they say ───────────────────────────────────────────────────────────────────────────────────────


def test_sentences_are_short_and_hold_no_number_and_no_tag() -> None:
    for by_mood in phrases().values():
        assert {"open", "counter", "hold", "accept", "confirm", "final", "compare"} == set(by_mood)
        for sentence in (sentence for sentences in by_mood.values() for sentence in sentences):
            assert not re.search(r"[0-9#$]|PRICE|DEAL|ITEMS|TERMS", sentence)
            assert 2 <= len(sentence.split()) <= 30


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pass"])
def test_prose_names_the_product_and_never_a_reservation_price(kind: str) -> None:
    named = 0
    for record in haggle(GAME, (kind, kind), range(4)):
        assert not [event for event in record.events if b"[redacted]" in event.body]
        for who in ("buyer", "seller"):
            for text in texts(record, who):
                prose = re.sub(r"###.*?###", "", text)
                assert len(text.split()) < 150
                assert not re.search(r"\d", prose)
                named += "Used car" in prose
    assert named > 0


def test_sentences_vary_and_firm_ones_differ_from_polite_ones() -> None:
    def prose(firm: bool) -> set[str]:
        who = ("linear", {"firm": firm}), Wall("seller", 18_000)
        return {text.split(" ###")[0] for record in haggle(GAME, who, range(3)) for text in texts(record, "buyer")}

    polite, firm = prose(False), prose(True)
    assert min(len(polite), len(firm)) > 6
    assert not polite & firm


def test_make_deal_is_said_to_accept_to_confirm_and_at_the_end_and_not_where_prices_cross() -> None:
    (record,) = haggle(GAME, ("linear", "linear"))
    said = [offer.make_deal for offer in offers(record, "buyer")]
    assert said == [False] * (len(said) - 1) + [True]
    (record,) = haggle(GAME, ("linear", Wall("seller", 18_000)))
    assert [offer.make_deal for offer in offers(record, "buyer")] == [False] * 19 + [True]
    for record in haggle(BargainingGame(deal_rule="crossing"), ("nash_splitter", "rubinstein"), range(3)):
        assert not any("MAKE_DEAL" in text for text in texts(record, "buyer") + texts(record, "seller"))
        assert record.outcome.trigger == "deal"


# ── concession ──────────────────────────────────────────────────────────────────────────────────────────


def test_who_holds_out_gets_the_better_price() -> None:
    def price(buyer: str, seller: str) -> float:
        return fmean(deal["price"] for deal in deals(haggle(GAME, (buyer, seller))))

    even = price("linear", "linear")
    assert price("boulware", "conceder") < price("boulware", "linear") < even < price("linear", "boulware")
    assert price("linear", "boulware") < price("conceder", "boulware")
    assert price("linear", "conceder") < even < price("conceder", "linear")


def test_who_concedes_early_closes_early() -> None:
    rounds = {kind: deals(haggle(GAME, (kind, kind)))[0]["round"] for kind in ("conceder", "linear", "boulware")}
    assert rounds["conceder"] < rounds["linear"] < rounds["boulware"]


def test_tit_for_tat_gives_back_what_it_gets() -> None:
    buyer = Steps("buyer", 10_000, 10_500, 11_500, 11_500, 11_400, 11_900)
    (record,) = haggle(BargainingGame(max_rounds=6), (buyer, ("tit_for_tat", {"first_step": 0.0})))
    assert prices(record, "seller")[:6] == [18_000, 17_500, 16_500, 16_500, 16_500, 16_000]


def test_tit_for_tat_begins_with_a_step_of_its_own_and_gives_nothing_for_nothing() -> None:
    (record,) = haggle(GAME, (("tit_for_tat", {"first_step": 0.25, "anchor": 0.5}), Wall("seller", 18_000)))
    assert prices(record, "buyer") == [8_000] + [10_000] * 19
    (record,) = haggle(GAME, (("tit_for_tat", {"first_step": 0.0, "anchor": 0.5}), Wall("seller", 18_000)))
    assert set(prices(record, "buyer")) == {8_000}


def test_relative_tit_for_tat_gives_back_shares_of_the_gap() -> None:
    buyer = Steps("buyer", 10_000, 12_000, 12_500)
    options = {"relative": True, "first_step": 0.0}
    (record,) = haggle(
        BargainingGame(max_rounds=3, sellers={"seller": {"min_price": 9e3, "list_price": 18e3}}),
        (buyer, ("tit_for_tat", options)),
    )
    # A quarter of 8,000 is closed, so a quarter of the 6,000 that are left; then 500 of 4,500, and a ninth of 4,000.
    # It is the last round then, in which it takes what it gets.
    assert prices(record, "seller") == [18_000, 16_500, 12_500]


def test_in_the_last_round_a_haggler_takes_what_is_no_loss() -> None:
    for kind in ("linear", "boulware", "tit_for_tat", "shopper"):
        (record,) = haggle(GAME, (kind, Wall("seller", 15_990, deal=True)))
        assert deals([record])[0]["price"] == 15_990
        (record,) = haggle(GAME, (Wall("buyer", 12_010, deal=True), kind))
        assert deals([record])[0]["price"] == 12_010


def test_a_buyer_pays_no_more_than_the_list_price() -> None:
    game = BargainingGame(sellers={"seller": {"min_price": 9_000.0, "list_price": 11_110.0}})
    for kind in ("linear", "conceder", "tit_for_tat", "nash_splitter", "rubinstein", "shopper"):
        (record,) = haggle(game, (kind, Wall("seller", 11_110)))
        assert max(prices(record, "buyer")) <= 11_110
        assert min(prices(record, "buyer")) < 9_800


# ── zero intelligence, random, pass ─────────────────────────────────────────────────────────────────────


def test_zero_intelligence_bids_evenly_up_to_its_limit_and_asks_evenly_up_to_the_list_price() -> None:
    records = haggle(GAME, ("zero_intelligence_trader", Wall("seller", 18_000)), range(100))
    bids = [price / 16_000 for record in records for price in prices(record, "buyer")]
    records = haggle(GAME, (Wall("buyer", 1), "zero_intelligence_trader"), range(100))
    asks = [(price - 12_000) / 6_000 for record in records for price in prices(record, "seller")]
    for drawn in (bids, asks):
        assert 0 <= min(drawn) < 0.02
        assert 0.98 < max(drawn) <= 1
        # Evenly drawn: the mean within 99 %, and each tenth within 5 standard deviations of its share.
        assert fmean(drawn) == pytest.approx(0.5, abs=2.576 * (1 / 12 / len(drawn)) ** 0.5)
        for tenth in range(10):
            share = sum(tenth <= 10 * x < tenth + 1 for x in drawn) / len(drawn)
            assert share == pytest.approx(0.1, abs=5 * (0.09 / len(drawn)) ** 0.5)


def test_random_offers_are_no_loss_and_pass_offers_nothing() -> None:
    records = haggle(GAME, ("random", "random"), range(40))
    assert all(price <= 16_000 for record in records for price in prices(record, "buyer"))
    assert all(price >= 12_000 for record in records for price in prices(record, "seller"))
    assert 5 < len(deals(records)) <= 40
    for record in haggle(GAME, ("pass", "pass"), range(2)):
        assert record.outcome.trigger == "timeout"
        assert not texts(record, "buyer")


# ── several conversations ───────────────────────────────────────────────────────────────────────────────


def three_sellers(**parameters: Any) -> BargainingGame:
    seller = {"min_price": (500.0, 900.0), "list_price": 1200.0}
    return BargainingGame(
        buyers={"buyer": {"max_price": 1000.0}}, sellers={f"seller_{n}": seller for n in (1, 2, 3)}, **parameters
    )


def three_buyers(**parameters: Any) -> BargainingGame:
    return BargainingGame(
        buyers={f"buyer_{n}": {"max_price": (600.0, 1000.0)} for n in (1, 2, 3)},
        sellers={"seller": {"min_price": 500.0, "list_price": 1200.0}},
        **parameters,
    )


@pytest.mark.parametrize("threads", ["parallel", "sequential"])
def test_a_shopper_gains_more_from_several_counterparts_than_who_looks_at_one(threads: Any) -> None:
    def gain(game: BargainingGame, who: list[str], seat: int) -> float:
        return fmean(record.outcome.utilities[seat] for record in haggle(game, who, range(60)))

    game = three_sellers(threads=threads)
    assert gain(game, ["shopper", *["linear"] * 3], 0) > 1.1 * gain(game, ["linear"] * 4, 0)
    game = three_buyers(threads=threads)
    assert gain(game, [*["linear"] * 3, "shopper"], 3) > 1.05 * gain(game, ["linear"] * 4, 3)


def test_a_shopper_offers_nobody_more_than_another_asks_and_buys_from_the_cheapest() -> None:
    walls = [Wall(f"seller_{n}", price, deal=True) for n, price in ((1, 930), (2, 880), (3, 990))]
    (record,) = haggle(three_sellers(), ["conceder", *walls])
    assert max(prices(record, "buyer", 1)) > 880  # what a shopper does not do
    (record,) = haggle(three_sellers(), [("shopper", {"exponent": 5.0}), *walls])
    for thread in (1, 3):
        assert max(prices(record, "buyer", thread)[1:]) <= 880
    (deal,) = deals([record])
    assert (deal["seller"], deal["price"]) == ("seller_2", 880)


def test_a_seller_who_shops_sells_its_units_to_those_who_pay_most() -> None:
    walls = [Wall(f"buyer_{n}", price, deal=True) for n, price in ((1, 580), (2, 590), (3, 560))]
    for stock, sold_to in ((1, {"buyer_2"}), (2, {"buyer_1", "buyer_2"}), (3, {"buyer_1", "buyer_2", "buyer_3"})):
        sellers = {"seller": {"min_price": 500.0, "list_price": 1200.0, "stock": stock}}
        buyers = {f"buyer_{n}": {"max_price": 1000.0} for n in (1, 2, 3)}
        game = BargainingGame(buyers=buyers, sellers=sellers, max_rounds=2, turn_order="round_robin")
        (record,) = haggle(game, [*walls, "shopper"])
        assert {deal["buyer"] for deal in deals([record])} == sold_to


def test_a_shopper_hears_everybody_before_it_settles_on_whom_to_talk_to() -> None:
    lists = (1300.0, 1100.0, 1200.0)
    sellers = {f"seller_{n}": {"min_price": 500.0, "list_price": lists[n - 1]} for n in (1, 2, 3)}
    game = BargainingGame(buyers={"buyer": {"max_price": 1000.0}}, sellers=sellers, threads="sequential")
    walls = [Wall("seller_1", 1050, deal=True), Wall("seller_2", 990, deal=True), Wall("seller_3", 900, deal=True)]
    (record,) = haggle(game, ["shopper", *walls])
    chosen = [body["payload"]["partner"] for body in bodies(record, "action") if body["action"] == "choose"]
    assert chosen[:4] == ["seller_2", "seller_3", "seller_1", "seller_3"]
    (deal,) = deals([record])
    assert (deal["seller"], deal["price"]) == ("seller_3", 900)


# ── lots and terms ──────────────────────────────────────────────────────────────────────────────────────

TERMS = {"days": {"low": 0.0, "high": 30.0}, "warranty": {"options": ["none", "year"]}}


def contract(**parameters: Any) -> BargainingGame:
    """Warranty is worth more to the buyer than it costs the seller; time is worth more to the seller."""
    buyer = {"max_price": 1000.0, "weights": {"days": -50.0, "warranty": {"year": 200.0}}}
    seller = {
        "min_price": 800.0,
        "list_price": 1300.0,
        "weights": {"days": 150.0, "warranty": {"year": -60.0}},
    }
    return BargainingGame(buyers={"buyer": buyer}, sellers={"seller": seller}, terms=TERMS, **parameters)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", AGREEABLE)
def test_contracts_are_closed_without_a_loss(kind: str, rule: Any) -> None:
    records = haggle(contract(deal_rule=rule), (kind, kind), range(4))
    struck = deals(records)
    assert len(struck) >= 3
    for deal in struck:
        assert set(deal["terms"]) == {"days", "warranty"}
        assert min(deal["buyer_surplus"], deal["seller_surplus"]) >= 0


def test_a_negotiator_proposes_its_best_terms_first_and_lets_go_of_the_least_important_one_first() -> None:
    (record,) = haggle(contract(), ("linear", "boulware"))
    found = [re.search(r"TERMS\(days=(\d+); warranty=(\w+)\)", text) for text in texts(record, "buyer")]
    terms = [match.groups() for match in found if match]
    assert terms[0] == ("0", "year")
    assert ("30", "year") in terms  # the days matter less to it: 50, against 200
    assert ("0", "none") not in terms


def test_terms_that_only_make_up_for_a_gap_in_prices_still_lead_to_a_deal() -> None:
    """Without the warranty there is no zone: it is worth 200 to the buyer, and costs the seller 60."""
    buyer = {"max_price": 760.0, "weights": {"warranty": {"year": 200.0}}}
    seller = {"min_price": 800.0, "list_price": 1300.0, "weights": {"warranty": {"year": -60.0}}}
    terms = {"warranty": {"options": ["none", "year"]}}
    game = BargainingGame(buyers={"buyer": buyer}, sellers={"seller": seller}, terms=terms)
    (record,) = haggle(game, ("linear", "linear"))
    (deal,) = deals([record])
    assert deal["terms"] == {"warranty": "year"}


def test_a_buyer_chooses_what_it_values_most_above_the_list_price_and_the_seller_goes_along() -> None:
    products = {name: {"name": name.capitalize()} for name in ("lamp", "rug", "desk")}
    buyer = {"max_price": {"lamp": 100.0, "rug": 300.0, "desk": 280.0}}
    seller = {"min_price": 60.0, "list_price": {"lamp": 90.0, "rug": 310.0, "desk": 200.0}}
    game = BargainingGame(
        products=products, buyers={"buyer": buyer}, sellers={"seller": seller}, lot="choose", choose=2
    )
    for kind in AGREEABLE:
        (record,) = haggle(game, (kind, kind), (2,))
        assert all("ITEMS(lamp, desk)" in text for text in texts(record, "buyer") + texts(record, "seller"))
        (deal,) = deals([record])
        assert list(deal["items"]) == ["lamp", "desk"]


# ── line-ups and presets ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("setting", "share"),
    [("bargaining", 1.0), ("bargaining/comparison_shopping", 1.0), ("bargaining/chatterjee_samuelson", None)],
)
def test_the_games_files_are_played_by_line_ups_of_their_own(setting: str, share: float | None, tmp_path: Any) -> None:
    ended = quorum("run", f"game={setting}", "num_matches=5", f"out={tmp_path / 'run'}")
    assert (ended.code, ended.err) == (0, "")
    assert share is None or "100.0%" in ended.out


def test_the_games_file_has_every_parameter_with_its_default() -> None:
    from experiments.config import CONF

    held = msgspec.yaml.decode((CONF / "game" / "bargaining.yaml").read_bytes())
    assert held.pop("game_id") == "bargaining"
    game = msgspec.convert(held, BargainingGame)
    for name in BargainingGame.__struct_fields__:
        assert getattr(game, name) == getattr(GAME, name), name
    shared = {"phase_timeout", "max_messages_per_turn", "max_message_pings", "max_bytes"}
    assert set(BargainingGame.__struct_fields__) - set(held) == shared


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("time_dependent", {"exponent": 0}, "exponent=0"),
        ("boulware", {"exponent": 1.5}, "number > 0 and < 1"),
        ("conceder", {"exponent": 1}, "number > 1"),
        ("rubinstein", {"discount": 1}, "number >= 0 and < 1"),
        ("double_auction", {"low": 5, "high": 5}, "low=5.0 must be below high=5.0"),
        ("nash_splitter", {"other": 0}, "number > 0 or null"),
    ],
)
def test_wrong_options_are_said(kind: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        make_agent(kind, "buyer", options)


def test_a_price_is_repeated_to_the_last_digit() -> None:
    odd = 13_333.333333333334
    (record,) = haggle(GAME, (Wall("buyer", odd, deal=True), "conceder"))
    assert deals([record])[0]["price"] == odd
    assert number_text(odd) in texts(record, "seller")[-1]


def test_a_side_that_offers_nothing_for_a_while_does_not_stop_the_other() -> None:
    (record,) = haggle(GAME, (Steps("buyer", 0, 0, 13_000), "linear"))
    assert len(texts(record, "seller")) == len(texts(record, "buyer")) + 2
    assert prices(record, "seller")[:2] == [17_700, 17_400]
