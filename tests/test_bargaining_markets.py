"""Bargaining in markets: conversations side by side, one unit for one buyer, and who may still trade."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from bargains import Bargain, market

from sim.messages import Act

FAILURE = -15.0


# ── conversations ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("1B1P1S", (1, 1, 1)),
        ("1BMP1S", (1, 1, 2)),
        ("1B1PMS", (1, 3, 1)),
        ("MB1P1S", (2, 1, 1)),
        ("MBMP1S", (3, 1, 2)),
        ("1BMPMS", (1, 2, 2)),
        ("MB1PMS", (2, 2, 1)),
        ("MBMPMS", (3, 2, 2)),
    ],
)
def test_each_of_the_eight_market_types_can_be_played(name: Any, counts: tuple[int, int, int]) -> None:
    play = market(*counts, market=name)
    assert play.rest().details["market"] == name


def test_a_thread_is_one_buyer_with_one_seller_about_one_product_numbered_from_1() -> None:
    play = market(2, 2, 2)
    threads = play.match.judge.state.threads
    assert [(t.number, *(play.ids[s] for s in t.seats), *t.products) for t in threads] == [
        (1, "b1", "s1", "p1"),
        (2, "b1", "s1", "p2"),
        (3, "b1", "s2", "p1"),
        (4, "b1", "s2", "p2"),
        (5, "b2", "s1", "p1"),
        (6, "b2", "s1", "p2"),
        (7, "b2", "s2", "p1"),
        (8, "b2", "s2", "p2"),
    ]


def test_the_seats_are_the_buyers_and_then_the_sellers() -> None:
    play = market(2, 1)
    assert play.game.seat_ids() == ("b1", "b2", "s1")
    assert [play.game.role(play.ids, seat) for seat in range(3)] == ["buyer", "buyer", "seller"]


def test_parallel_threads_of_a_round_run_at_the_same_time() -> None:
    play = market(2, 2)
    assert play.asked() == [("b1", 1), ("b1", 2), ("b2", 3), ("b2", 4)]
    play.say("b1", 60, 2)
    assert play.asked() == [("b1", 1), ("b2", 3), ("b2", 4), ("s2", 2)]  # its seller waits for nobody else
    play.say("s2", 90, 2)
    assert play.round == 1
    for thread in (4, 1, 3):
        play.offers(thread, 60, 90)
    assert play.round == 2
    assert play.asked() == [("b1", 1), ("b1", 2), ("b2", 3), ("b2", 4)]


def test_one_turn_at_a_time_the_calls_are_served_in_their_order() -> None:
    play = market(2, 2, turn_order="round_robin")
    order = []
    while play.round == 1:
        ((who, thread),) = play.asked()
        order.append((who, thread))
        play.skip(who, thread)
    buyers = [("b1", 1), ("b1", 2), ("b2", 3), ("b2", 4)]
    assert order == [*buyers, ("s1", 1), ("s2", 2), ("s1", 3), ("s2", 4)]


def test_the_next_round_begins_when_every_open_thread_has_had_both() -> None:
    play = market(1, 3)
    play.offers(1, 60, 90)
    play.offers(3, 60, 90)
    play.say("b1", 60, 2)
    assert play.round == 1
    play.skip("s2", 2)
    assert play.round == 2


def test_agents_see_their_own_threads_only() -> None:
    play = market(2, 2)
    play.say("b1", 61, 1, prose="a word for s1 alone")
    play.say("s1", 91, 1)
    for who in ("b2", "s2"):
        sent = b"".join(msgspec.msgpack.encode(u) for u in play.match.sent[play.ids.index(who)])
        assert b"a word for s1 alone" not in sent
        assert b"BUYER_PRICE($61)" not in sent
    assert play.match.judge.state.party(1) == (0, 2)


def test_a_seat_with_several_threads_has_a_line_on_each_of_its_others() -> None:
    play = market(2, 2)
    play.offers(1, 61, 91)
    assert play.view("b1", 2)["others"] == [
        {
            "thread": 1,
            "partner": "s1",
            "products": ["p1"],
            "status": "open",
            "list_price": 120,
            "buyer_price": 61,
            "seller_price": 91,
        }
    ]
    assert [line["thread"] for line in play.view("s1", 1)["others"]] == [3]
    assert "others" not in Bargain().view("buyer")


def test_the_price_of_another_lot_is_hidden_too() -> None:
    play = market(1, 1, 2, buyers={"b1": {"max_price": {"p1": 100, "p2": 77}}})
    play.say("b1", 60, 1, prose="For p2 I would pay 77.")
    assert play.view("s1", 1)["transcript"][0]["text"].startswith("For p2 I would pay [redacted].")


# ── one unit, one buyer ─────────────────────────────────────────────────────────────────────────────────


def test_a_buyer_buys_once_and_its_other_threads_are_told() -> None:
    play = market(1, 3)
    play.say("b1", 60, 2)
    play.deal(1, 70)
    assert [play.status(n) for n in (1, 2, 3)] == ["deal", "bought_elsewhere", "bought_elsewhere"]
    assert play.notices(2) == ["This conversation is over: b1 has bought."]
    assert play.outcome.trigger == "deal"
    assert play.outcome.utilities == (30, 20, 0, 0)


def test_a_unit_is_sold_once_and_the_other_threads_are_told() -> None:
    play = market(2, 1)
    play.deal(1, 70)
    assert play.status(2) == "sold_out"
    assert play.notices(2) == ["This conversation is over: s1 has sold out."]
    assert play.outcome.utilities == (30, 0, 20)


def test_of_two_deals_that_race_the_first_in_the_inbox_wins_and_the_other_is_late() -> None:
    play = market(2, 1)
    play.say("b1", 70, 1, deal=True)
    play.say("b2", 75, 2, deal=True)
    both = [play.turn("s1", 1), play.turn("s1", 2)]
    assert play.text("s1", "### SELLER_PRICE($75) ### MAKE_DEAL", turn=both[1]) is None
    refused = play.text("s1", "### SELLER_PRICE($70) ### MAKE_DEAL", turn=both[0])
    assert refused is not None
    assert refused.code == "match_not_running"
    assert [deal["buyer"] for deal in play.outcome.figures["deals"]] == ["b2"]


def test_what_arrives_in_a_thread_that_was_closed_is_late() -> None:
    play = market(2, 2)
    stale = play.turn("b1", 2)
    assert stale is not None
    play.deal(1, 70)
    before = play.match.state_bytes()
    packed = msgspec.msgpack.encode({"text": "### BUYER_PRICE($60) ###"})
    refused = play.match.read(0, Act(0, stale, 99, "reply", packed))
    assert refused is not None
    assert refused.code == "late"
    assert play.match.state_bytes() == before


def test_a_seller_sells_its_stock_and_no_more() -> None:
    play = market(3, 1, sellers={"s1": {"min_price": 50, "list_price": 120, "stock": 2}})
    play.deal(1, 70)
    assert [play.status(n) for n in (2, 3)] == ["open", "open"]
    assert play.view("s1", 2)["stock"] == {"p1": 1}
    assert "stock" not in play.view("b2", 2)
    play.deal(3, 80)
    assert play.status(2) == "sold_out"
    outcome = play.outcome
    assert [(deal["buyer"], deal["price"]) for deal in outcome.figures["deals"]] == [("b1", 70), ("b3", 80)]
    assert outcome.utilities == (30, 0, 20, 50)
    play.match.judge.state.ledger.check()


def test_stock_is_by_product() -> None:
    play = market(
        2,
        1,
        2,
        sellers={"s1": {"min_price": 50, "list_price": 120, "stock": {"p1": 1, "p2": 2}}},
    )
    play.deal(1, 70)
    assert {n: play.status(n) for n in (2, 3, 4)} == {2: "bought_elsewhere", 3: "sold_out", 4: "open"}


def test_other_threads_go_on_until_nobody_can_trade() -> None:
    play = market(2, 2, max_rounds=9)
    play.deal(1, 70)
    assert play.asked() == [("b2", 4)]
    play.offers(4, 60, 90)
    assert (play.round, play.asked()) == (2, [("b2", 4)])
    play.deal(4, 80)
    assert (play.outcome.trigger, play.outcome.details["rounds"]) == ("deal", 2)


def test_an_overflow_closes_its_thread_alone_moves_no_unit_and_pays_nothing() -> None:
    play = market(1, 2)
    play.deal(1, 101)
    assert [play.status(n) for n in (1, 2)] == ["overflow", "open"]
    assert play.match.judge.state.ledger.available(1, "p1") == 1
    play.deal(2, 70)
    outcome = play.outcome
    assert (outcome.trigger, outcome.utilities) == ("deal", (30, 0, 20))
    assert [bargain["seller"] for bargain in outcome.figures["overflows"]] == ["s1"]


def test_an_overflow_is_the_trigger_when_there_is_no_deal_beside_it() -> None:
    play = market(1, 2, max_rounds=2)
    play.deal(1, 101)
    assert play.rest().trigger == "overflow"


def test_no_unit_is_sold_twice_and_nothing_is_lost_in_a_big_market() -> None:
    play = market(5, 4, 2)
    state = play.match.judge.state
    for thread in state.threads:
        if thread.status == "open":
            play.deal(thread.number, 60)
            state.ledger.check()
    figures = play.outcome.figures
    assert len({deal["buyer"] for deal in figures["deals"]}) == len(figures["deals"]) == 5
    assert len({(deal["seller"], deal["items"][0]) for deal in figures["deals"]}) == 5


# ── scores of a market ──────────────────────────────────────────────────────────────────────────────────


def test_the_scores_of_a_match_are_means_over_the_deals_that_were_possible() -> None:
    play = market(3, 2, max_rounds=2)
    play.deal(1, 75)
    figures = play.rest().figures
    assert figures["deals_possible"] == 2
    assert figures["global_score"] == (100 + FAILURE) / 2
    assert figures["buyer_score"] == (72.5 + FAILURE) / 2


@pytest.mark.parametrize(
    ("buyers", "stock", "lot", "choose", "possible"),
    [
        (3, 2, "each", None, 3),
        (3, {"p1": 1, "p2": 1, "p3": 1}, "each", None, 3),
        (5, {"p1": 1, "p2": 1, "p3": 1}, "each", None, 3),
        (5, {"p1": 2, "p2": 3, "p3": 4}, "bundle", None, 2),
        (5, {"p1": 2, "p2": 3, "p3": 4}, "choose", 2, 4),
        (5, {"p1": 1, "p2": 1, "p3": 9}, "choose", 2, 2),
    ],
)
def test_deals_that_were_possible_are_the_buyers_or_the_lots_on_sale(
    buyers: int, stock: Any, lot: Any, choose: Any, possible: int
) -> None:
    sellers = {"s1": {"min_price": 50, "list_price": 120, "stock": stock}}
    play = market(buyers, 1, 3, sellers=sellers, lot=lot, choose=choose, max_rounds=1)
    assert play.rest().figures["deals_possible"] == possible


# ── who may trade ───────────────────────────────────────────────────────────────────────────────────────


def test_a_pair_that_cannot_trade_has_no_thread() -> None:
    play = market(
        2,
        1,
        buyers={"b1": {"max_price": 100}, "b2": {"max_price": 40}},
        cannot_trade={"b2/s1": "too poor"},
    )
    assert play.asked() == [("b1", 1)]
    assert play.match.judge.state.game.layout.possible == 1


def test_a_pair_may_be_kept_from_one_product() -> None:
    play = market(1, 1, 2, cannot_trade={"b1/s1/p1": "not on purpose"})
    assert play.match.judge.state.threads[0].products == ("p2",)
    assert len(play.match.judge.state.threads) == 1


def test_prices_by_product_say_what_a_side_wants_and_sells() -> None:
    play = market(
        2,
        2,
        3,
        buyers={"b1": {"max_price": {"p1": 100, "p2": 90}}, "b2": {"max_price": {"p3": 80}}},
        sellers={
            "s1": {"min_price": {"p2": 50, "p3": 40}, "list_price": 120},
            "s2": {"min_price": {"p1": 30}, "list_price": {"p1": 99}},
        },
    )
    threads = play.match.judge.state.threads
    assert [(play.ids[t.seats[0]], play.ids[t.seats[1]], t.products) for t in threads] == [
        ("b1", "s1", ("p2",)),
        ("b1", "s2", ("p1",)),
        ("b2", "s1", ("p3",)),
    ]
    assert play.view("b1", 2)["list_price"] == 99


# ── sequential ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turn_order", ["concurrent", "round_robin"])
def test_sequential_the_choosing_side_picks_whom_to_talk_to_each_round(turn_order: str) -> None:
    play = market(1, 3, threads="sequential", turn_order=turn_order)
    for number, partner in ((1, "s2"), (2, "s2"), (3, "s3")):
        assert (play.round, play.asked()) == (number, [("b1", 0)])
        ask = play.match.ask(0)
        assert ask is not None
        assert (ask.phase, ask.allowed) == ("choose", ("choose", "pass", "message_only"))
        assert play.choose("b1", partner) is None
        thread = int(partner[1])
        assert play.asked() == [("b1", thread)]
        play.offers(thread, 60 + number, 90)
    assert play.view("b1", 2)["history"] == [[1, 61, 90], [2, 62, 90]]
    assert play.view("b1", 1)["history"] == []


def test_the_lobby_shows_a_line_for_each_conversation_and_is_heard_by_nobody() -> None:
    play = market(1, 2, threads="sequential")
    assert play.choose("b1", "s2") is None
    play.offers(2, 61, 91)
    view = play.view("b1", 0)
    assert (view["role"], view["round"], view["my_reservation_prices"]) == ("buyer", 2, {"p1": 100})
    assert [(line["partner"], line["seller_price"]) for line in view["threads"]] == [("s1", None), ("s2", 91)]
    assert play.match.act(0, "message_only", turn=play.turn("b1", 0), messages=["anybody?"]) is None
    for who in ("s1", "s2"):
        assert not any(b"anybody" in event.body or b"choose" in event.body for event in play.seen_by(who))


def test_the_side_with_fewer_seats_chooses_and_the_buyers_on_a_tie() -> None:
    assert market(3, 1, threads="sequential").asked() == [("s1", 0)]
    assert market(1, 3, threads="sequential").asked() == [("b1", 0)]
    assert market(2, 2, threads="sequential").asked() == [("b1", 0), ("b2", 0)]
    assert market(2, 2, threads="sequential", chooser="sellers").asked() == [("s1", 0), ("s2", 0)]


def test_the_buyer_speaks_first_when_the_seller_chooses_too() -> None:
    play = market(2, 1, threads="sequential")
    assert play.choose("s1", "b2") is None
    assert play.asked() == [("b2", 2)]


def test_a_choice_must_be_somebody_whom_one_can_still_talk_to() -> None:
    play = market(2, 3, threads="sequential")
    assert play.choose("b1", "s1") is None
    assert play.choose("b2", "s2") is None
    play.deal(1, 70)
    play.offers(5, 60, 90)
    assert play.asked() == [("b2", 0)]
    for partner in ("s1", "b1", "nobody"):
        refused = play.choose("b2", partner)
        assert refused is not None
        assert "s2, s3" in refused.reason


def test_a_choice_names_the_product_where_there_are_several() -> None:
    play = market(1, 2, 2, threads="sequential")
    refused = play.choose("b1", "s1")
    assert refused is not None
    assert "p1, p2" in refused.reason
    assert play.choose("b1", "s1", "p3") is not None
    assert play.choose("b1", "s1", "p2") is None
    assert play.asked() == [("b1", 2)]


def test_who_chooses_nobody_rests_for_the_round() -> None:
    play = market(1, 2, threads="sequential")
    play.skip("b1", 0)
    assert (play.round, play.asked()) == (2, [("b1", 0)])


def test_who_has_nobody_left_while_it_is_to_choose_can_only_pass() -> None:
    play = market(2, 1, threads="sequential", chooser="buyers")
    assert play.choose("b1", "s1") is None
    play.deal(1, 70)
    assert play.match.judge.state.legal(1, 0) == ("pass",)
    play.skip("b2", 0)
    assert play.outcome.trigger == "deal"
