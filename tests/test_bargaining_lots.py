"""Bargaining over bundles, selections and terms, and what is drawn for a match."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from bargains import Bargain

from sim.games.bargaining import BargainingGame

# ── lots ────────────────────────────────────────────────────────────────────────────────────────────────


KITCHEN: dict[str, Any] = {
    "products": {"grinder": {"name": "Burr grinder"}, "kettle": {}, "scale": {}},
    "buyers": {
        "ann": {"max_price": {"grinder": 150, "kettle": 85, "scale": 40}},
        "bob": {"max_price": {"grinder": 90, "kettle": 120, "scale": 45}},
    },
    "sellers": {"shop": {"min_price": {"grinder": 110, "kettle": 60, "scale": 25}, "list_price": 90}},
}


def test_a_bundle_is_one_thread_a_pair_about_all_the_sellers_products() -> None:
    play = Bargain(**KITCHEN, lot="bundle")
    assert len(play.match.judge.state.threads) == 2
    view = play.view("ann", 1)
    assert list(view["products"]) == ["grinder", "kettle", "scale"]
    assert (view["my_reservation_price"], view["list_price"]) == (275, 270)
    assert view["my_reservation_prices"] == {"grinder": 150, "kettle": 85, "scale": 40}
    assert play.view("shop", 1)["my_reservation_price"] == 195
    play.deal(1, 235)
    (deal,) = play.outcome.figures["deals"]
    assert deal["items"] == ["grinder", "kettle", "scale"]
    assert (deal["buyer_surplus"], deal["seller_surplus"], deal["global_score"]) == (40, 40, 100)
    assert play.status(2) == "sold_out"


def test_neither_the_sum_nor_a_part_of_a_bundle_is_told() -> None:
    play = Bargain(**KITCHEN, lot="bundle")
    play.say("ann", 200, 1, prose="At most $275 for all, and 150 of it for the grinder.")
    assert play.view("shop", 1)["transcript"][0]["text"].startswith("At most [redacted] for all, and [redacted] of it")


def test_the_chosen_items_are_named_in_a_tag_and_enforced() -> None:
    play = Bargain(**KITCHEN, lot="choose", choose=2)
    for tag in ("", "### ITEMS(grinder) ###", "### ITEMS(grinder, kettle, scale) ###"):
        refused = play.text("ann", f"### BUYER_PRICE($100) ### {tag}")
        assert refused is not None
        assert "### ITEMS(...) ###" in refused.reason
    play.say("ann", 100, items=["kettle", "grinder"])
    assert play.view("shop", 1)["offers"]["buyer"]["items"] == ["grinder", "kettle"]


def test_a_deal_needs_the_same_items_and_is_worth_what_they_are() -> None:
    play = Bargain(**KITCHEN, lot="choose", choose=2)
    play.say("ann", 100, 1, items=["kettle", "scale"], deal=True)
    play.say("shop", 100, 1, items=["grinder", "scale"], deal=True)
    assert play.status(1) == "open"
    play.rest(1)
    play.say("ann", 105, 1, items=["kettle", "scale"], deal=True)
    play.say("shop", 105, 1, items=["scale", "kettle"], deal=True)
    deal = play.rest().figures["deals"][0]
    assert deal["items"] == ["kettle", "scale"]
    assert (deal["buyer_surplus"], deal["seller_surplus"], deal["max_surplus"]) == (20, 20, 40)
    assert deal["global_score"] == pytest.approx(99)


def test_what_is_sold_out_cannot_be_chosen_any_more() -> None:
    kitchen = KITCHEN | {
        "sellers": {
            "shop": {
                "min_price": {"grinder": 80, "kettle": 60, "scale": 25},
                "list_price": 90,
                "stock": {"grinder": 1, "kettle": 2, "scale": 2},
            }
        }
    }
    play = Bargain(**kitchen, lot="choose", choose=2)
    play.say("bob", 150, 2, items=["grinder", "kettle"])
    play.say("ann", 200, 1, items=["grinder", "kettle"], deal=True)
    play.say("shop", 200, 1, items=["grinder", "kettle"], deal=True)
    assert play.status(2) == "open"
    assert play.view("shop", 2)["on_sale"] == ["kettle", "scale"]
    refused = play.text("shop", "### SELLER_PRICE($150) ### ### ITEMS(grinder, kettle) ### MAKE_DEAL", 2)
    assert refused is not None
    play.say("shop", 130, 2, items=["kettle", "scale"])
    play.say("bob", 130, 2, items=["kettle", "scale"], deal=True)
    play.say("shop", 130, 2, items=["kettle", "scale"], deal=True)
    assert [deal["items"] for deal in play.outcome.figures["deals"]] == [["grinder", "kettle"], ["kettle", "scale"]]


def test_a_thread_closes_when_fewer_items_are_left_than_are_to_be_chosen() -> None:
    play = Bargain(**KITCHEN, lot="choose", choose=2)
    play.say("ann", 100, 1, items=["kettle", "scale"], deal=True)
    play.say("shop", 100, 1, items=["kettle", "scale"], deal=True)
    assert play.status(2) == "sold_out"
    assert play.outcome.trigger == "deal"


# ── terms ───────────────────────────────────────────────────────────────────────────────────────────────

CONTRACT: dict[str, Any] = {
    "products": {"crm": {}},
    "terms": {"days": {"low": 1, "high": 31}, "warranty": {"options": ["none", "one_year"]}},
    "buyers": {"firm": {"max_price": 1000, "weights": {"days": -300, "warranty": {"one_year": 200}}}},
    "sellers": {
        "vendor": {
            "min_price": 800,
            "list_price": 1500,
            "weights": {"days": 150, "warranty": {"one_year": -50, "none": 10}},
        }
    },
}


def terms(days: float, warranty: str) -> dict[str, Any]:
    return {"days": days, "warranty": warranty}


def test_an_offer_sets_every_term_and_a_deal_needs_the_same_ones() -> None:
    play = Bargain(**CONTRACT)
    refused = play.text("firm", "### BUYER_PRICE($900) ###")
    assert refused is not None
    assert "### TERMS(days=...; warranty=...) ###" in refused.reason
    play.say("firm", 900, terms=terms(1, "one_year"), deal=True)
    play.say("vendor", 900, terms=terms(2, "one_year"), deal=True)
    assert play.status(1) == "open"
    assert play.view("firm")["offers"]["seller"]["terms"] == terms(2, "one_year")


def test_utilities_of_a_contract_are_price_and_weighted_terms_and_scores_use_the_best_joint_surplus() -> None:
    play = Bargain(**CONTRACT)
    play.say("firm", 950, terms=terms(1, "one_year"), deal=True)
    play.say("vendor", 950, terms=terms(1, "one_year"), deal=True)
    outcome = play.outcome
    assert outcome.utilities == (1000 - 950 + 200, 950 - 800 - 50)
    (deal,) = outcome.figures["deals"]
    assert deal["max_surplus"] == 200 + 0 + 150  # delivery on day 1, one year: the best for both together
    assert deal["terms"] == terms(1, "one_year")
    buyer, seller = 250 / 350, 100 / 350
    assert (deal["buyer_utility"], deal["seller_utility"]) == (buyer, seller)
    assert deal["global_score"] == pytest.approx(30 + 55 * 4 * buyer * seller + 15)
    assert deal["buyer_score"] == pytest.approx(30 + 55 * buyer + 15)


def test_a_number_between_its_bounds_is_worth_its_share() -> None:
    play = Bargain(**CONTRACT)
    play.say("firm", 830, terms=terms(16, "none"), deal=True)
    play.say("vendor", 830, terms=terms(16, "none"), deal=True)
    assert play.outcome.utilities == (1000 - 830 - 150, 830 - 800 + 75 + 10)


def test_a_contract_by_which_a_side_loses_is_a_failure() -> None:
    play = Bargain(**CONTRACT)
    play.say("firm", 900, terms=terms(31, "none"), deal=True)
    play.say("vendor", 900, terms=terms(31, "none"), deal=True)
    assert play.outcome.trigger == "overflow"
    assert play.outcome.figures["global_score"] == -15


def test_a_price_above_the_reservation_price_is_a_deal_when_the_terms_make_up_for_it() -> None:
    play = Bargain(**CONTRACT)
    play.say("firm", 1100, terms=terms(1, "one_year"), deal=True)
    play.say("vendor", 1100, terms=terms(1, "one_year"), deal=True)
    assert play.outcome.utilities == (100, 250)


def test_a_side_sees_its_own_weights_only() -> None:
    play = Bargain(**CONTRACT)
    play.say("firm", 900, terms=terms(1, "one_year"))
    assert play.view("firm")["my_weights"] == CONTRACT["buyers"]["firm"]["weights"]
    assert play.view("vendor")["my_weights"] == CONTRACT["sellers"]["vendor"]["weights"]
    assert play.view("vendor")["terms"] == CONTRACT["terms"]
    assert b"-300" not in b"".join(event.body for event in play.seen_by("vendor"))


def test_another_term_is_a_movement() -> None:
    play = Bargain(**CONTRACT, mediator_after=1)
    for days in (1, 2, 3):
        play.say("firm", 900, terms=terms(days, "none"))
        play.say("vendor", 950, terms=terms(5, "none"))
    assert play.notices(1) == []
    play.say("firm", 900, terms=terms(3, "none"))
    play.say("vendor", 950, terms=terms(5, "none"))
    assert play.notices(1) == [
        "Neither party has moved in this round. Consider adjusting your offer to reach agreement."
    ]


# ── what is drawn ───────────────────────────────────────────────────────────────────────────────────────


DRAWN: dict[str, Any] = {
    "buyers": {"buyer": {"max_price": [90, 110]}},
    "sellers": {"seller": {"min_price": [40, 60], "list_price": [120, 130]}},
}


def test_amounts_are_drawn_for_each_match_from_its_seed_within_their_bounds_to_the_cent() -> None:
    facts = set()
    for seed in range(50):
        state = Bargain(seed, **DRAWN).match.judge.state
        assert state.amounts == Bargain(seed, **DRAWN).match.judge.state.amounts
        ((value,), (cost,), (asked,)) = (list(x.values()) for x in (*state.amounts, state.list_prices[1]))
        assert 90 <= value <= 110
        assert 40 <= cost <= 60
        assert 120 <= asked <= 130
        assert all(round(amount, 2) == amount for amount in (value, cost, asked))
        facts.add(value)
    assert len(facts) > 40


def test_amounts_of_a_narrow_interval_are_drawn_to_the_millionth() -> None:
    narrow = {
        "buyers": {"buyer": {"max_price": [0.01, 1]}},
        "sellers": {"seller": {"min_price": [0.01, 1], "list_price": 2}},
    }
    values = [Bargain(seed, **narrow).match.judge.state.amounts[0] for seed in range(50)]  # type: ignore[arg-type]
    drawn = [value for (value,) in (amounts.values() for amounts in values)]
    assert all(round(value, 6) == value for value in drawn)
    assert sum(round(value, 2) == value for value in drawn) < 5


def test_what_is_fixed_draws_nothing() -> None:
    one = BargainingGame(buyers={"buyer": {"max_price": 100}}, sellers=DRAWN["sellers"])  # type: ignore[dict-item]
    two = BargainingGame(buyers={"buyer": {"max_price": [100, 100]}}, sellers=DRAWN["sellers"])  # type: ignore[dict-item]
    drawn = [Bargain(3, **msgspec.to_builtins(game)).match.judge.state.amounts for game in (one, two)]
    assert drawn[0] == drawn[1]


def test_drawn_amounts_without_a_zone_can_only_overflow() -> None:
    for seed in range(20):
        play = Bargain(
            seed,
            buyers={"buyer": {"max_price": [40, 60]}},
            sellers={"seller": {"min_price": [40, 60], "list_price": 70}},
        )
        value, cost = (amounts["civic"] for amounts in play.match.judge.state.amounts)
        play.deal(1, (value + cost) / 2)
        assert play.outcome.trigger == ("deal" if value > cost else "overflow")


def test_one_deal_in_the_middle_of_two_drawn_prices_scores_100() -> None:
    play = Bargain(5, **DRAWN)
    value, cost = (amounts["civic"] for amounts in play.match.judge.state.amounts)
    play.deal(1, (value + cost) / 2)
    assert play.outcome.figures["global_score"] == pytest.approx(100)
