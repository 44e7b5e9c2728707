"""Bargaining between one buyer and one seller: the protocol, deals, scores, and what each side sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bargains import Bargain

from sim.games.bargaining import BargainingGame
from sim.messages import Message, Rejection

GOLDEN = json.loads((Path(__file__).parent / "golden" / "bargaining_scores.json").read_text())
PRINTED = 5.0001e-7  # the table has six decimals
FAILURE = {"global_score": -15.0, "buyer_score": -15.0, "seller_score": -15.0}


def scores(figures: dict[str, Any]) -> dict[str, float]:
    return {key: figures[key] for key in FAILURE}


def reason(rejection: Rejection | None) -> str:
    assert rejection is not None
    assert rejection.code == "game_rule_violation"
    return rejection.reason


# ── rounds and messages ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turn_order", ["concurrent", "round_robin"])
def test_a_round_is_one_buyer_message_and_one_seller_message_buyer_first(turn_order: str) -> None:
    play = Bargain(turn_order=turn_order)
    for number in (1, 2, 3):
        assert (play.round, play.asked()) == (number, [("buyer", 1)])
        play.say("buyer", 13_000)
        assert (play.round, play.asked()) == (number, [("seller", 1)])
        play.say("seller", 15_000)


def test_nobody_speaks_out_of_turn() -> None:
    play = Bargain()
    refused = play.text("seller", "### SELLER_PRICE($15,000) ###", turn=1)
    assert refused is not None
    assert refused.code == "not_your_turn"


def test_a_round_limit_of_20_means_20_rounds() -> None:
    play = Bargain()
    for number in range(1, 21):
        assert play.round == number
        play.offers(1, 13_000, 15_000)
    assert play.outcome.details["rounds"] == 20
    assert play.outcome.trigger == "timeout"
    assert play.outcome.status == "resolved"


def test_a_message_without_a_tag_is_asked_again_with_a_sentence_and_changes_nothing() -> None:
    play = Bargain()
    before = play.match.state_bytes()
    assert "You MUST include ### BUYER_PRICE($X) ###" in reason(play.text("buyer", "I offer $13,000."))
    assert play.match.state_bytes() == before
    ask = play.match.ask(0)
    assert ask is not None
    assert ask.rejection is not None
    assert (ask.turn, ask.round) == (1, 1)
    play.say("buyer", 13_000)


@pytest.mark.parametrize(
    "text",
    [
        "### SELLER_PRICE($13,000) ###",
        "### BUYER_PRICE($13,000) ### or ### BUYER_PRICE($13,500) ###",
        "### BUYER_PRICE($0) ###",
        "### BUYER_PRICE(lots) ###",
        "MAKE_DEAL at 13,000",
    ],
)
def test_what_is_no_clear_offer_is_refused(text: str) -> None:
    reason(Bargain().text("buyer", text))


def test_after_three_retries_the_turn_is_recorded_as_having_no_offer() -> None:
    play = Bargain()
    for _ in range(4):
        assert play.turn("buyer") is not None
        reason(play.text("buyer", "no tag"))
    assert play.asked() == [("seller", 1)]
    forfeit = next(event for event in play.match.events if event.kind == "forfeit")
    assert msgspec.json.decode(forfeit.body)["action"] == "pass"
    assert play.view("seller")["offers"] == {"buyer": None, "seller": None}
    assert play.view("seller")["history"] == [[1, None, None]]


def test_the_tag_is_read_with_blanks_cents_and_in_any_case() -> None:
    play = Bargain()
    assert play.text("buyer", "###buyer_price( $13,250.50 )### please") is None
    assert play.view("seller")["offers"]["buyer"]["price"] == 13_250.5


def test_a_silent_seat_makes_no_offer_and_the_round_goes_on() -> None:
    play = Bargain(turn_timeout=5.0)
    play.match.lapse()
    assert play.asked() == [("seller", 1)]
    play.match.lapse()
    assert (play.round, play.asked()) == (2, [("buyer", 1)])
    assert [event.kind for event in play.match.events].count("timeout") == 2


# ── deals ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turn_order", ["concurrent", "round_robin"])
@pytest.mark.parametrize("row", GOLDEN["deals"], ids=lambda r: f"{r['price']}-{r['round']}-{r['weights'][0]}")
def test_the_golden_scores_of_deals_through_the_judge(row: dict[str, Any], turn_order: str) -> None:
    play = Bargain(
        weights=tuple(row["weights"]),
        buyers={"buyer": {"max_price": row["buyer_max"]}},
        sellers={"seller": {"min_price": row["seller_min"], "list_price": 18_000}},
        turn_order=turn_order,
    )
    play.rest(row["round"] - 1)
    play.deal(1, row["price"])
    outcome = play.outcome
    (deal,) = outcome.figures["deals"]
    for key in FAILURE:
        assert deal[key] == pytest.approx(row[key], rel=0, abs=PRINTED)
        assert outcome.figures[key] == deal[key]
    assert (deal["price"], deal["round"]) == (row["price"], row["round"])
    assert (outcome.trigger, outcome.details["rounds"]) == ("deal", row["round"])
    assert outcome.utilities == (row["buyer_max"] - row["price"], row["price"] - row["seller_min"])


@pytest.mark.parametrize("failure", ["flat", "discounted"])
@pytest.mark.parametrize("row", GOLDEN["failures"], ids=lambda r: f"{r['reason']}-{r['max_rounds']}")
def test_the_golden_scores_of_failures_through_the_judge(row: dict[str, Any], failure: str) -> None:
    play = Bargain(max_rounds=row["max_rounds"], failure=failure)
    if row["reason"] == "overflow":
        play.deal(1, 17_000)
    outcome = play.rest()
    assert outcome.trigger == row["reason"]
    for key in FAILURE:
        assert outcome.figures[key] == pytest.approx(row[failure], rel=0, abs=PRINTED)
    assert outcome.utilities == (0.0, 0.0)


def test_discount_and_penalty_are_parameters() -> None:
    play = Bargain(discount=0.5, weights=(10, 20, 30))
    play.rest(2)
    play.deal(1, 14_000)
    assert scores(play.outcome.figures) == {"global_score": 15.0, "buyer_score": 12.5, "seller_score": 12.5}
    assert Bargain(penalty=7).rest().figures["global_score"] == -7


def test_a_price_in_prose_is_no_offer() -> None:
    play = Bargain(deal_rule="crossing")
    assert play.text("buyer", "I could pay $15,500, but I say ### BUYER_PRICE($13,000) ###.") is None
    play.say("seller", 15_000, prose="For $13,000 I would not even get up.")
    assert play.status(1) == "open"
    assert play.view("buyer")["history"] == [[1, 13_000, 15_000]]


def test_the_seeds_example_scores_95_099005() -> None:
    play = Bargain(max_rounds=15)
    play.rest(5)
    play.deal(1, 14_000)
    (deal,) = play.outcome.figures["deals"]
    assert (deal["price"], deal["round"]) == (14_000, 6)
    assert (deal["buyer_utility"], deal["seller_utility"]) == (0.5, 0.5)
    assert deal["global_score"] == pytest.approx(95.099005, rel=0, abs=PRINTED)


def test_make_deal_closes_at_an_equal_price_in_the_same_round_with_both_words() -> None:
    play = Bargain()
    play.offers(1, 14_000, 14_000, deal=True)
    assert play.outcome.trigger == "deal"


@pytest.mark.parametrize(("bid", "ask"), [((14_000, True), (14_000, False)), ((14_000, False), (14_000, True))])
def test_make_deal_needs_the_word_of_both(bid: tuple[float, bool], ask: tuple[float, bool]) -> None:
    play = Bargain()
    play.say("buyer", bid[0], deal=bid[1])
    play.say("seller", ask[0], deal=ask[1])
    assert (play.round, play.status(1)) == (2, "open")


def test_make_deal_needs_equal_prices_even_when_they_cross() -> None:
    play = Bargain()
    play.offers(1, 14_500, 14_000, deal=True)
    assert play.status(1) == "open"


def test_make_deal_in_two_different_rounds_is_no_deal() -> None:
    play = Bargain()
    play.say("buyer", 14_000, deal=True)
    play.say("seller", 15_000)
    play.say("buyer", 13_000)
    play.say("seller", 14_000, deal=True)
    assert play.status(1) == "open"


def test_a_round_with_a_pass_in_it_never_deals_whatever_was_offered_before() -> None:
    play = Bargain(deal_rule="crossing")
    play.say("buyer", 14_000)
    play.skip("seller")
    play.skip("buyer")
    play.say("seller", 13_000)
    assert play.status(1) == "open"
    play.offers(1, 14_000, 13_000)
    assert play.status(1) == "deal"


def test_make_deal_must_be_a_word_of_its_own() -> None:
    play = Bargain()
    assert play.text("buyer", "### BUYER_PRICE($14,000) ### MAKE_DEALs") is None
    play.say("seller", 14_000, deal=True)
    assert play.status(1) == "open"


def test_crossing_closes_at_the_sellers_price_without_the_word() -> None:
    play = Bargain(deal_rule="crossing")
    play.offers(1, 13_000, 15_000)
    play.offers(1, 14_500, 13_900)
    (deal,) = play.outcome.figures["deals"]
    assert (deal["price"], deal["round"]) == (13_900, 2)
    assert play.outcome.utilities == (2_100, 1_900)


def test_crossing_closes_at_equal_prices_and_not_below() -> None:
    play = Bargain(deal_rule="crossing")
    play.offers(1, 13_999.99, 14_000)
    assert play.status(1) == "open"
    play.offers(1, 14_000, 14_000)
    assert play.status(1) == "deal"


@pytest.mark.parametrize("price", [16_000.01, 17_000, 11_999.99, 0.01])
@pytest.mark.parametrize("deal_rule", ["make_deal", "crossing"])
def test_an_agreed_price_outside_the_zone_is_an_overflow_and_scores_as_a_failure(price: float, deal_rule: str) -> None:
    play = Bargain(deal_rule=deal_rule)
    play.deal(1, price)
    outcome = play.outcome
    assert (outcome.status, outcome.trigger, outcome.utilities) == ("resolved", "overflow", (0.0, 0.0))
    assert outcome.figures["deals"] == []
    (overflow,) = outcome.figures["overflows"]
    assert (overflow["price"], overflow["round"]) == (price, 1)
    assert scores(outcome.figures) == FAILURE
    assert "no deal" in play.notices(1)[0]


@pytest.mark.parametrize("price", [16_000, 12_000])
def test_the_ends_of_the_zone_are_in_it(price: float) -> None:
    play = Bargain()
    play.deal(1, price)
    assert play.outcome.trigger == "deal"
    assert min(play.outcome.utilities) == 0


def test_a_deal_is_said_to_both_and_moves_the_unit() -> None:
    play = Bargain()
    play.deal(1, 14_000)
    assert play.notices(1) == ["Deal at $14,000: civic."]
    ledger = play.match.judge.state.ledger  # type: ignore[attr-defined]
    assert (ledger.available(0, "civic"), ledger.available(1, "civic")) == (1, 0)
    ledger.check()


def test_a_match_that_is_cut_off_keeps_its_deals() -> None:
    play = Bargain(max_turns=3, max_rounds=9)
    play.offers(1, 13_000, 15_000)
    play.say("buyer", 13_000)
    outcome = play.outcome
    assert (outcome.status, outcome.trigger, outcome.utilities) == ("timed_out", "max_turns", (0.0, 0.0))
    assert scores(outcome.figures) == FAILURE


# ── stalls ──────────────────────────────────────────────────────────────────────────────────────────────

STALL = "Neither party has moved in 3 rounds. Consider adjusting your offer to reach agreement."


def test_three_rounds_without_movement_bring_the_mediator_once_per_stall() -> None:
    play = Bargain()
    for _ in range(3):
        play.offers(1, 13_000, 15_000)
    assert play.notices(1) == []  # the first round moved, from nothing
    play.offers(1, 13_000, 15_000)
    assert play.notices(1) == [STALL]
    for _ in range(4):
        play.offers(1, 13_000, 15_000)
    assert play.notices(1) == [STALL]
    play.offers(1, 13_000, 14_900)
    for _ in range(3):
        play.offers(1, 13_000, 14_900)
    assert play.notices(1) == [STALL, STALL]


def test_a_movement_of_one_side_is_no_stall() -> None:
    play = Bargain(mediator_after=2)
    for number in range(6):
        play.offers(1, 13_000 + number, 15_000)
    assert play.notices(1) == []


def test_to_say_nothing_is_no_movement() -> None:
    play = Bargain()
    play.rest(3)
    assert play.notices(1) == [STALL]


def test_the_mediator_is_in_the_transcript_of_both() -> None:
    play = Bargain(mediator_after=2)
    play.rest(2)
    said = {"round": 2, "role": "mediator", "text": STALL.replace("3", "2")}
    assert said in play.view("buyer")["transcript"]
    assert said in play.view("seller")["transcript"]


def test_the_mediator_can_be_switched_off() -> None:
    play = Bargain(mediator_after=0)
    play.rest()
    assert play.notices(1) == []


# ── what is private stays private ───────────────────────────────────────────────────────────────────────


def test_a_seat_is_told_its_own_reservation_price_and_profile_only() -> None:
    play = Bargain(
        buyers={"buyer": {"max_price": 16_000, "about": "firm"}},
        sellers={"seller": {"min_price": 12_000, "list_price": 18_000, "about": "easy"}},
    )
    state = play.match.judge.state
    assert state.private_facts(0) == {"my_reservation_prices": {"civic": 16_000}, "about": "firm"}
    assert state.private_facts(1) == {"my_reservation_prices": {"civic": 12_000}, "about": "easy"}
    assert play.view("buyer")["my_reservation_price"] == 16_000
    assert play.view("buyer")["list_price"] == 18_000


def test_no_reservation_price_is_in_anything_that_the_other_side_is_sent() -> None:
    play = Bargain()
    play.say("buyer", 13_000, prose="I am on a budget of $16,000.00, 16k to be exact.")
    play.say("seller", 15_000, prose="I cannot go below 12 000 or 12'000 or $12K.")
    play.deal(1, 14_000)
    for seat, secret in ((0, ("12000", "12,000", "12 000", "12'000", "12K")), (1, ("16000", "16,000", "16k"))):
        sent = b"".join(msgspec.msgpack.encode(update) for update in play.match.sent[seat]).decode(errors="replace")
        assert not any(word in sent for word in secret)
        assert "REDACT" in sent.upper()


def test_a_leak_is_redacted_for_the_counterpart_shown_to_its_author_and_recorded() -> None:
    play = Bargain()
    play.say("buyer", 13_000, prose="My maximum is $16,000.")
    said = "My maximum is $16,000. ### BUYER_PRICE($13,000) ###"
    assert play.view("buyer")["transcript"][0]["text"] == said
    assert play.view("seller")["transcript"][0]["text"] == said.replace("$16,000", "[redacted]")
    recorded = next(msgspec.json.decode(e.body) for e in play.match.events if e.kind == "action")
    assert recorded["private"] == {"text": said}
    assert recorded["payload"] == {"text": said.replace("$16,000", "[redacted]")}
    heard = [msgspec.json.decode(e.body) for e in play.seen_by("seller") if e.kind == "action"]
    assert heard[0]["payload"]["text"].startswith("My maximum is [redacted]")
    assert "private" not in heard[0]


@pytest.mark.parametrize("said", ["15\n234", "1 5 2 3 4", "15\t234", "**15**234", "15\u200b234", "15_234", "١٥٢٣٤"])
def test_a_leak_is_found_with_something_among_its_digits(said: str) -> None:
    play = Bargain(buyers={"buyer": {"max_price": 15_234}})
    play.say("buyer", 13_000, prose=f"At most {said} dollars.")
    assert "At most [redacted] dollars." in play.view("seller")["transcript"][0]["text"].replace("**", "")


def test_an_offer_of_the_reservation_price_in_the_tag_is_an_offer() -> None:
    play = Bargain()
    play.say("buyer", 16_000, prose="It is worth it.")
    assert play.view("seller")["offers"]["buyer"]["price"] == 16_000
    assert "[redacted]" not in play.view("seller")["transcript"][0]["text"]


def test_chat_beside_a_reply_is_redacted_too() -> None:
    play = Bargain()
    act = {"text": "### BUYER_PRICE($13,000) ###"}
    chat = (Message("16,000 at most"), Message("16k, really", ("seller",)))
    assert play.match.act(0, "reply", act, messages=chat) is None
    seen = b"".join(event.body for event in play.seen_by("seller")).decode()
    assert "16" not in seen
    assert seen.count("[redacted]") == 2
    assert "16,000 at most" in b"".join(event.body for event in play.match.events).decode()


def test_redaction_can_be_switched_off() -> None:
    play = Bargain(redact=False)
    play.say("buyer", 13_000, prose="My maximum is $16,000.")
    assert "16,000" in play.view("seller")["transcript"][0]["text"]


def test_what_all_are_told_at_the_end_is_not_computed_from_private_facts() -> None:
    play = Bargain()
    play.deal(1, 14_000)
    assert play.outcome.details == {"market": "1B1P1S", "rounds": 1}
    ends = [update.message for sent in play.match.sent for update in sent if update.message is not None]
    told = msgspec.json.decode(ends[-1].outcome)  # type: ignore[union-attr]
    assert told == {
        "market": "1B1P1S",
        "rounds": 1,
        "status": "resolved",
        "trigger": "deal",
        "utility": 2000.0,
    }


def test_the_record_holds_what_is_needed_to_compute_the_best_that_could_be_done() -> None:
    figures = Bargain().rest().figures
    assert figures["values"] == {"buyer": {"civic": 16_000}}
    assert figures["costs"] == {"seller": {"civic": 12_000}}
    assert figures["units"] == {"seller": {"civic": 1}}
    assert figures["deals_possible"] == 1


# ── what a side sees ────────────────────────────────────────────────────────────────────────────────────


def test_a_view_holds_the_offers_of_both_sides_and_the_prices_of_every_round() -> None:
    play = Bargain()
    play.offers(1, 13_000, 15_000)
    play.say("buyer", 13_500, deal=True)
    view = play.view("seller")
    assert view["role"] == "seller"
    assert (view["thread"], view["partner"], view["round"], view["max_rounds"]) == (1, "buyer", 2, 20)
    assert view["products"] == {"civic": {"name": "Used car", "about": "2019 Honda Civic, 45K miles, good condition"}}
    assert view["offers"] == {
        "buyer": {"price": 13_500, "round": 2, "make_deal": True},
        "seller": {"price": 15_000, "round": 1, "make_deal": False},
    }
    assert view["history"] == [[1, 13_000, 15_000], [2, 13_500, None]]
    assert [(entry["round"], entry["role"]) for entry in view["transcript"]] == [
        (1, "buyer"),
        (1, "seller"),
        (2, "buyer"),
    ]


def test_a_long_history_is_the_first_2_and_the_last_5_rounds_in_full_and_a_line_for_each_round_between() -> None:
    play = Bargain()
    for number in range(1, 8):
        play.offers(1, 13_000 + number, 15_000 - number)
    assert [e["role"] for e in play.view("buyer")["transcript"]] == ["buyer", "seller"] * 7
    play.offers(1, 13_008, 14_992)
    play.skip("buyer")
    play.say("seller", 14_991)
    play.say("buyer", 13_010.5)
    transcript = play.view("seller")["transcript"]
    assert [e["round"] for e in transcript] == [1, 1, 2, 2, 3, 4, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10]
    assert transcript[4] == {
        "round": 3,
        "role": "summary",
        "text": "Buyer offered $13,003, Seller countered at $14,997.",
    }
    assert transcript[-3]["text"] == "(no offer)"
    for number in range(10, 15):
        play.say("seller", 14_980)
        play.say("buyer", 13_010 + number)
    assert play.view("seller")["transcript"][10]["text"] == "Buyer made no offer, Seller countered at $14,991."


def test_the_window_can_be_set() -> None:
    play = Bargain(window=(0, 1))
    for _ in range(3):
        play.offers(1, 13_000, 15_000)
    assert [e["role"] for e in play.view("buyer")["transcript"]] == ["summary", "summary", "buyer", "seller"]


# ── the rules in words ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("role", "tag"), [("buyer", "### BUYER_PRICE($X) ###"), ("seller", "### SELLER_PRICE($X) ###")]
)
def test_the_rules_name_the_tag_the_word_the_limits_and_the_secret(role: str, tag: str) -> None:
    said = BargainingGame(max_rounds=7).rules_text(role)
    for word in (tag, "MAKE_DEAL", "150 words", "at most 7 rounds", "NEVER reveal", "confidential"):
        assert word in said
    assert "16" not in said
    assert "12" not in said


def test_the_rules_follow_the_parameters() -> None:
    said = BargainingGame(deal_rule="crossing", terms={"days": {"low": 1, "high": 30}}).rules_text("buyer")  # type: ignore[dict-item]
    assert "MAKE_DEAL" not in said
    assert "### TERMS(days=...) ###" in said
    assert "days is a number from 1 to 30" in said
