"""The tagged protocol: what is an offer, what is prose, and what others do not get to see."""

from __future__ import annotations

import pickle
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.errors import ConfigError, IllegalAction
from sim.games.bargaining.redaction import redact
from sim.games.bargaining.tags import NoOffer, Offer, Role, read, write
from sim.games.bargaining.terms import Term, check_names, number_text

B, S = "### BUYER_PRICE({}) ###", "### SELLER_PRICE({}) ###"

PRICES: list[tuple[str, float]] = [
    # as asked for
    ("### BUYER_PRICE($14000) ###", 14000),
    ("### BUYER_PRICE(14000) ###", 14000),
    ("### BUYER_PRICE($14,000.50) ###", 14000.5),
    ("### BUYER_PRICE($1,234,567) ###", 1234567),
    ("### BUYER_PRICE(0.01) ###", 0.01),
    ("### BUYER_PRICE(.5) ###", 0.5),
    ("### BUYER_PRICE($12.500) ###", 12.5),
    ("### BUYER_PRICE(1000000000000000) ###", 1e15),
    # spacing and case
    ("###BUYER_PRICE($900)###", 900),
    ("###   BUYER_PRICE ( $ 900 )   ###", 900),
    ("### buyer_price($900) ###", 900),
    ("### Buyer_Price( 900.00 ) ###", 900),
    ("###\nBUYER_PRICE(\n$900\n)\n###", 900),
    ("### BUYER _ PRICE($900) ###", 900),
    # hashes are missing, or others stand around it
    ("BUYER_PRICE($900)", 900),
    ("## BUYER_PRICE(900)", 900),
    ("#### BUYER_PRICE(900) #", 900),
    ("**BUYER_PRICE($900)**", 900),
    ("__BUYER_PRICE($900)__", 900),
    ("`### BUYER_PRICE($900) ###`", 900),
    ("### BUYER\\_PRICE(\\$900) ###", 900),
    ("我出价BUYER_PRICE(900)。", 900),
    # full-width and other blanks
    ("### BUYER_PRICE(１４０００) ###", 14000),
    ("＃＃＃ ＢＵＹＥＲ＿ＰＲＩＣＥ（＄１４，０００．５０） ＃＃＃", 14000.5),
    ("### BUYER_PRICE($\u00a0900) ###", 900),
    ("### BUYER_PRICE(𝟗𝟎𝟎) ###", 900),
    # beside prose
    ("The iPhone 14 Pro is worth $800 to me, not $1,099. ### BUYER_PRICE($750) ###", 750),
    ("You ask 14k; I offer ### BUYER_PRICE($900) ###", 900),
    ("I was at $800, then $850.\n\n### BUYER_PRICE($900) ###\n\nBest, J. (900 is final)", 900),
    # tags twice, and the other side's
    ("### BUYER_PRICE($900) ### I repeat: ### BUYER_PRICE(900.00) ###", 900),
    ("You said ### SELLER_PRICE($950) ###. ### BUYER_PRICE($900) ###", 900),
    ("### BUYER_PRICE($900) ### against your ### SELLER_PRICE(14k) ### and ### SELLER_PRICE(1) ###", 900),
    ("MY_BUYER_PRICE(5) is a variable; ### BUYER_PRICE($900) ###", 900),
]

REFUSED: list[tuple[str, str]] = [
    # no tag
    ("", "no price tag of yours"),
    ("I offer $900.", "no price tag of yours"),
    ("MAKE_DEAL", "no price tag of yours"),
    ("### PRICE($900) ###", "no price tag of yours"),
    ("### BUYER_PRICE $900 ###", "no price tag of yours"),
    ("### BUYER_PRICE: $900 ###", "no price tag of yours"),
    ("### BUYERPRICE($900) ###", "no price tag of yours"),
    ("xBUYER_PRICE($900)", "no price tag of yours"),
    ("OLD_BUYER_PRICE($900)", "no price tag of yours"),
    ("### BUYER_PRICES($900) ###", "no price tag of yours"),
    # the other side's
    ("### SELLER_PRICE($900) ###", "SELLER_PRICE is the other side's tag"),
    ("I accept your ### SELLER_PRICE($900) ###. MAKE_DEAL", "SELLER_PRICE is the other side's tag"),
    # several
    ("### BUYER_PRICE($900) ### or ### BUYER_PRICE($950) ###", "there are $900 and $950"),
    ("### BUYER_PRICE($900) ### ### buyer_price(900.01) ###", "there are $900 and $900.01"),
    # amounts that are none
    ("### BUYER_PRICE() ###", "'' is not a plain number"),
    ("### BUYER_PRICE($) ###", "'$' is not a plain number"),
    ("### BUYER_PRICE($X) ###", "'$X' is not a plain number; write digits alone"),
    ("### BUYER_PRICE(14k) ###", "'14k' is not a plain number; write all its digits, without k or M"),
    ("### BUYER_PRICE($1.5M) ###", "without k or M"),
    ("### BUYER_PRICE(14 thousand) ###", "without k or M"),
    ("### BUYER_PRICE(12.500,00) ###", "'12.500,00' is not a plain number; commas go between thousands"),
    ("### BUYER_PRICE(1.500.000) ###", "commas go between thousands"),
    ("### BUYER_PRICE(12,50) ###", "commas go between thousands"),
    ("### BUYER_PRICE(14 000) ###", "commas go between thousands"),
    ("### BUYER_PRICE(14'000) ###", "commas go between thousands"),
    ("### BUYER_PRICE(900.) ###", "commas go between thousands"),
    ("### BUYER_PRICE($900-$950) ###", "write digits alone"),
    ("### BUYER_PRICE($900 USD) ###", "write digits alone"),
    ("### BUYER_PRICE(€900) ###", "write digits alone"),
    ("### BUYER_PRICE(nine hundred) ###", "write digits alone"),
    ("### BUYER_PRICE(1e3) ###", "write digits alone"),
    ("### BUYER_PRICE(0x10) ###", "write digits alone"),
    ("### BUYER_PRICE(nan) ###", "write digits alone"),
    ("### BUYER_PRICE(inf) ###", "write digits alone"),
    ("### BUYER_PRICE(14²) ###", "write digits alone"),
    ("### BUYER_PRICE(٩٠٠) ###", "write digits alone"),
    ("### BUYER_PRICE($900 ###", "not closed"),
    ("### BUYER_PRICE($900 (final)) ###", "not closed"),
    ("### BUYER_PRICE($X) ### means ### BUYER_PRICE($900) ###", "'$X' is not a plain number"),
    # amounts that cannot be
    ("### BUYER_PRICE(0) ###", "above 0"),
    ("### BUYER_PRICE($0.00) ###", "above 0"),
    ("### BUYER_PRICE(-900) ###", "above 0"),
    ("### BUYER_PRICE(-$900) ###", "above 0"),
    ("### BUYER_PRICE($-900) ###", "above 0"),
    ("### BUYER_PRICE(0." + "0" * 380 + "1) ###", "above 0"),
    ("### BUYER_PRICE(1000000000000000.5) ###", "at most $1,000,000,000,000,000"),
    ("### BUYER_PRICE(" + "9" * 390 + ") ###", "at most $1,000,000,000,000,000"),
    ("### BUYER_PRICE(" + "0" * 500 + "9) ###", "not a plain number"),
]

WORDS: list[tuple[str, bool]] = [
    ("MAKE_DEAL", True),
    ("make_deal", True),
    ("**MAKE_DEAL**", True),
    ("__MAKE_DEAL__", True),
    ("MAKE\\_DEAL", True),
    ("MAKE_DEAL.", True),
    ('"MAKE_DEAL"', True),
    ("### MAKE_DEAL ###", True),
    ("Agreed:MAKE_DEAL!", True),
    ("同意MAKE_DEAL。", True),
    ("ＭＡＫＥ＿ＤＥＡＬ", True),
    ("I will not MAKE_DEAL", True),  # it is the word: the protocol does not look at meaning
    ("MAKE_DEALs", False),
    ("I refuse to MAKE_DEALs", False),
    ("REMAKE_DEAL", False),
    ("RE_MAKE_DEAL", False),
    ("MAKE_DEAL_NOT", False),
    ("MAKE_DEAL2", False),
    ("MAKE DEAL", False),
    ("MAKE-DEAL", False),
    ("MAKEDEAL", False),
    ("let us make a deal", False),
]


def sellers(text: str) -> str:
    """Return a buyer's text as a seller would write it."""
    other = {"BUYER": "SELLER", "SELLER": "BUYER", "buyer": "seller"}
    return re.sub("BUYER|SELLER|buyer", lambda found: other[found[0]], text)


# ── the price ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("text", "price"), PRICES)
def test_a_price_in_its_tag_is_an_offer(text: str, price: float) -> None:
    assert read(text, "buyer") == Offer(price)


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_no_clear_offer_is_refused_with_what_was_wrong_and_what_to_write(text: str, reason: str) -> None:
    for role, said in (("buyer", text), ("seller", sellers(text))):
        with pytest.raises(NoOffer) as caught:
            read(said, role)  # type: ignore[arg-type]
        sentence = str(caught.value)
        assert sentence.startswith(f"You MUST include ### {role.upper()}_PRICE($X) ### in your response")
        assert (reason if role == "buyer" else sellers(reason)) in sentence
        assert len(sentence) < 400


def test_each_role_reads_its_own_tag() -> None:
    both = f"{B.format(900)} {S.format(950)}"
    assert read(both, "buyer").price == 900
    assert read(both, "seller").price == 950


@pytest.mark.parametrize(("words", "counts"), WORDS)
def test_make_deal_is_a_word_of_its_own(words: str, counts: bool) -> None:
    assert read(f"{B.format(900)} {words}", "buyer").make_deal is counts
    assert read(f"{words} {B.format(900)}", "buyer").make_deal is counts


def test_a_refusal_lets_the_rules_through_and_crosses_processes() -> None:
    with pytest.raises(IllegalAction) as caught:
        read("hello", "buyer")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is NoOffer
    assert str(again) == str(caught.value)


@given(st.text(max_size=60) | st.lists(st.sampled_from([*"#(),.$ k9=;", "BUYER_PRICE(", "MAKE_DEAL"])).map("".join))
def test_any_text_is_an_offer_or_refused(text: str) -> None:
    try:
        offer = read(text, "buyer", items=["a", "b"], choose=1, terms={"x": Term(low=0, high=1)})
    except NoOffer as refusal:
        assert str(refusal)
    else:
        assert 0 < offer.price <= 1e15
    assert redact(text, 123456789.0, "buyer") == text


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────

ITEMS = ["civic", "Desk Lamp", "x-1"]
TERMS = {"delivery days": Term(low=-5, high=30), "warranty": Term(options=("none", "one year"))}


@given(
    price=st.floats(min_value=0, max_value=1e15, exclude_min=True),
    role=st.sampled_from(["buyer", "seller"]),
    make_deal=st.booleans(),
)
@example(price=sys.float_info.min, role="buyer", make_deal=True)
@example(price=5e-324, role="buyer", make_deal=True)
@example(price=1e15, role="seller", make_deal=False)
def test_a_price_that_is_written_is_read_to_the_last_digit(price: float, role: Role, make_deal: bool) -> None:
    assert read(write(price, role, make_deal=make_deal), role) == Offer(price, make_deal=make_deal)


@given(
    items=st.sets(st.sampled_from(ITEMS), min_size=2, max_size=2),
    days=st.floats(-5, 30),
    warranty=st.sampled_from(["none", "one year"]),
)
def test_items_and_terms_that_are_written_are_read(items: set[str], days: float, warranty: str) -> None:
    chosen = tuple(item for item in ITEMS if item in items)
    offer = Offer(900.0, chosen, {"delivery days": days, "warranty": warranty}, True)
    text = write(900, "seller", items=chosen[::-1], terms=offer.terms, make_deal=True)
    assert read(f"Well. {text} Yes.", "seller", items=ITEMS, choose=2, terms=TERMS) == offer


def test_an_offer_is_written_as_one_plain_line() -> None:
    assert write(14000, "buyer") == "### BUYER_PRICE($14,000) ###"
    assert write(1e-7, "seller") == "### SELLER_PRICE($0.0000001) ###"
    line = write(14000.5, "buyer", items=("a", "b"), terms={"days": 30.0, "kind": "new"}, make_deal=True)
    assert line == "### BUYER_PRICE($14,000.5) ### ### ITEMS(a, b) ### ### TERMS(days=30; kind=new) ### MAKE_DEAL"


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan"), float("inf"), 1.1e15])
def test_a_price_that_could_not_be_read_is_not_written(price: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        write(price, "buyer")


# ── items and terms ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "tag",
    [
        "### ITEMS(civic, x-1) ###",
        "### ITEMS(x-1, civic) ###",
        "###items( CIVIC ; X-1 )###",
        "ITEMS(civic,x-1,)",
        '### ITEMS("civic", `x-1`) ###',
        "### ITEMS(civic, x-1) ### and again ### ITEMS(x-1, civic) ###",
        "＃ＩＴＥＭＳ（civic，x-1）",
        "these items (both) in these terms (mine): ### ITEMS(civic, x-1) ###",
    ],
)
def test_chosen_items_are_read_in_the_order_in_which_they_are_on_sale(tag: str) -> None:
    assert read(f"{B.format(900)} {tag}", "buyer", items=ITEMS, choose=2).items == ("civic", "x-1")


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("", "no such tag"),
        ("the items (civic, x-1)", "no such tag"),
        ("### ITEMS(civic, x-1", "no such tag"),
        ("### ITEMS() ###", "0 different"),
        ("### ITEMS(civic) ###", "1 different"),
        ("### ITEMS(civic, civic) ###", "1 different"),
        ("### ITEMS(civic, x-1, desk lamp) ###", "3 different"),
        ("### ITEMS(civic, boat) ###", "'boat' is none of them"),
        ("### ITEMS(civic x-1) ###", "'civic x-1' is none of them"),
        ("### ITEMS(civic, x-1) ### ### ITEMS(civic, desk lamp) ###", "two tags"),
    ],
)
def test_other_items_than_so_many_of_those_on_sale_are_refused(tag: str, reason: str) -> None:
    with pytest.raises(NoOffer, match=r"ITEMS.* with 2 of: civic, Desk Lamp, x-1: ") as caught:
        read(f"{B.format(900)} {tag}", "buyer", items=ITEMS, choose=2)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "tag",
    [
        "### TERMS(delivery days=14; warranty=one year) ###",
        "### TERMS(warranty=One Year; Delivery Days=14.0;) ###",
        "TERMS(delivery days: +14; warranty: 'one year')",
        "### terms(delivery  days = 14 ;\n warranty = one year) ###",
    ],
)
def test_terms_are_read_by_name(tag: str) -> None:
    offer = read(f"{B.format(900)} {tag}", "buyer", terms=TERMS)
    assert list(offer.terms.items()) == [("delivery days", 14.0), ("warranty", "one year")]


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("", "no such tag"),
        ("our terms (delivery days=14; warranty=none)", "no such tag"),
        ("### TERMS() ###", "delivery days, warranty is not set"),
        ("### TERMS(delivery days=14) ###", "warranty is not set"),
        ("### TERMS(delivery days=14; warranty=none; colour=red) ###", "'colour=red' sets none"),
        ("### TERMS(delivery days; warranty=none) ###", "'delivery days' sets none"),
        ("### TERMS(delivery days=14; delivery days=14; warranty=none) ###", "set twice"),
        ("### TERMS(delivery days=31; warranty=none) ###", "a number from -5 to 30, not '31'"),
        ("### TERMS(delivery days=-6; warranty=none) ###", "a number from -5 to 30, not '-6'"),
        ("### TERMS(delivery days=two weeks; warranty=none) ###", "a number from -5 to 30"),
        ("### TERMS(delivery days=nan; warranty=none) ###", "a number from -5 to 30"),
        ("### TERMS(delivery days=14, warranty=none) ###", "a number from -5 to 30"),
        ("### TERMS(delivery days=14; warranty=two years) ###", "one of none, one year, not 'two years'"),
        ("### TERMS(delivery days=1; warranty=none) ### ### TERMS(delivery days=2; warranty=none) ###", "two tags"),
    ],
)
def test_other_terms_than_the_contract_has_are_refused(tag: str, reason: str) -> None:
    with pytest.raises(NoOffer, match=r"### TERMS\(delivery days=...; warranty=...\) ###") as caught:
        read(f"{B.format(900)} {tag}", "buyer", terms=TERMS)
    assert reason in str(caught.value)


def test_tags_that_are_not_asked_for_are_prose() -> None:
    assert read(f"{B.format(900)} ### ITEMS(boat) ### ### TERMS(x=1) ###", "buyer", items=ITEMS) == Offer(900.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"low": 1.0},
        {"high": 1.0},
        {"low": 1.0, "high": 1.0},
        {"low": 2.0, "high": 1.0},
        {"low": float("nan"), "high": 1.0},
        {"low": 0.0, "high": float("inf")},
        {"low": 0.0, "high": 1e16},
        {"low": 0.0, "high": 1.0, "options": ("a", "b")},
        {"low": 0.0, "options": ("a", "b")},
        {"options": ("a", "a")},
        {"options": ("a", "A")},
        {"options": ("a", "")},
        {"options": ("a", " b")},
        {"options": ("a", "b;c")},
    ],
)
def test_a_term_is_a_number_within_bounds_or_one_of_several_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Term(**wrong)


def test_the_worth_of_a_term() -> None:
    days, warranty = TERMS["delivery days"], TERMS["warranty"]
    assert [days.worth(d, -70.0) for d in (-5.0, 7.5, 30.0)] == pytest.approx([0, -25, -70])
    assert warranty.worth("one year", {"one year": 40.0}) == 40
    assert warranty.worth("none", {"one year": 40.0}) == 0
    assert days.best(-70.0, 30.0) == 0
    assert days.best(-30.0, 70.0) == 40
    assert warranty.best({"one year": 40.0}, {"one year": -10.0, "none": 5.0}) == 30
    with pytest.raises(TypeError, match="each of them"):
        warranty.worth("none", 3.0)


@pytest.mark.parametrize("name", ["", " a", "a ", "a,b", "a)", "(a", "a;b", "a=b", "a:b", "#a", "a\nb", "（a", "'a'"])
def test_a_name_that_cannot_stand_in_a_tag_is_a_mistake(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^products: "):
        check_names("products", ["fine", name])


@pytest.mark.parametrize("names", [["a b", "A  B"], ["x", "Ｘ"]])
def test_names_that_a_tag_cannot_tell_apart_are_a_mistake(names: list[str]) -> None:
    with pytest.raises(ConfigError, match="unique"):
        check_names("products", names)


# ── what is hidden from the other side ──────────────────────────────────────────────────────────────────

LEAKS: list[tuple[str, str]] = [
    ("My limit is $16,000.", "My limit is [redacted]."),
    ("My limit is 16000, really", "My limit is [redacted], really"),
    ("16,000.00", "[redacted]"),
    ("16000.0 or 16000.", "[redacted] or [redacted]."),
    ("$ 16000!", "[redacted]!"),
    ("16 000", "[redacted]"),
    ("16\u202f000 €", "[redacted] €"),
    ("16'000 and 16’000", "[redacted] and [redacted]"),
    ("16.000,00 or 16.000", "[redacted] or [redacted]"),
    ("16k, 16K, $16.0k", "[redacted], [redacted], [redacted]"),
    ("16 thousand, 16 grand", "[redacted], [redacted]"),
    ("0.016 million", "[redacted]"),
    ("USD16000, US$16000, 16000USD, €16000", "USD[redacted], US[redacted], [redacted], [redacted]"),
    ("１６０００ and ＄１６，０００", "[redacted] and [redacted]"),
    ("我的上限是16000元", "我的上限是[redacted]元"),
    ("١٦٠٠٠ or ١٦٬٠٠٠ or १६०००", "[redacted] or [redacted] or [redacted]"),
    ("1 6 0 0 0, 16  000", "[redacted], [redacted]"),
    ("16\u200b000|16\u200b,\u2060000|1\ufeff6000|16\u00ad000", "[redacted]|[redacted]|[redacted]|[redacted]"),
    ("é 16\n000 **16**,000 16,\n000", "é [redacted] **[redacted] [redacted]"),
    ("(16000)/16000|`16000`**16000**_16000_", "([redacted])/[redacted]|`[redacted]`**[redacted]**_[redacted]_"),
    ("12000-16000 or 12000,16000", "12000-[redacted] or 12000,[redacted]"),
    ("you said ### SELLER_PRICE($16,000) ###", "you said ### SELLER_PRICE([redacted]) ###"),
    ("### BUYER_PRICE(my limit is 16000) ###", "### BUYER_PRICE(my limit is [redacted]) ###"),
    ("### BUYER_PRICE($16000", "### BUYER_PRICE([redacted]"),
    ("### ITEMS(16000) ### ### TERMS(x=16000) ###", "### ITEMS([redacted]) ### ### TERMS(x=[redacted]) ###"),
]

HARMLESS = [
    "",
    "116000 160000 1,016,000 16,000,000 16000.5 16,000.01 16,0001 0.16000 16 16.5",
    "116 000 and 16 0000",
    "1 6000.5, A1 6000, 1 6 000 %, rounds 1, 6, 000",
    "The iPhone 16000X, X16000, item_16000, 16000_b",
    "16000% or 16000 % off at 16000:30",
    "16m, 16 million, 16000k",
    "sixteen thousand",
    "9" * 1000,
]


@pytest.mark.parametrize(("text", "heard"), LEAKS)
def test_a_price_of_ones_own_is_hidden_however_it_is_written(text: str, heard: str) -> None:
    assert redact(text, 16000.0, "buyer") == heard
    assert redact(heard, 16000.0, "buyer") == heard


@pytest.mark.parametrize("text", HARMLESS)
def test_another_number_is_left_alone(text: str) -> None:
    assert redact(text, 16000.0, "buyer") == text


@pytest.mark.parametrize(
    "text", [B.format("$16,000"), "BUYER_PRICE(16000)", "### buyer_price( １６０００ ) ### MAKE_DEAL"]
)
def test_what_a_seat_offers_in_its_own_tag_is_not_hidden_unless_nothing_is_an_offer(text: str) -> None:
    assert redact(f"{text} (16k)", 16000.0, "buyer") == f"{text} ([redacted])"
    assert "16" not in redact(text, 16000.0, None)
    assert "16" not in redact(text, 16000.0, "seller")


def test_tags_that_are_part_of_the_offer_are_left_as_they_are() -> None:
    tags = write(20, "buyer", items=("30", "b"), terms={"days": 30.0})
    assert redact(f"{tags} 30", 30.0, "buyer", choose=2, terms=TERMS) == f"{tags} [redacted]"
    assert redact(tags, 30.0, "buyer").count("[redacted]") == 2


@pytest.mark.parametrize(
    "text",
    [
        "### BUYER_PRICE($100) terms (16000) ### TERMS(days=3) ###",
        "### BUYER_PRICE($100) ### TERMS(16000 BUYER_PRICE(100)) ### TERMS(days=3) ###",
        "### BUYER_PRICE($100) ### ITEMS(16000 BUYER_PRICE(100)) ### ITEMS(a) ###",
    ],
)
def test_a_tag_beside_or_inside_words_makes_no_tag_of_them_to_hide_a_price_in(text: str) -> None:
    hidden = redact(text, 16000.0, "buyer", choose=1, terms={"days": Term(low=1.0, high=30.0)})
    assert hidden == text.replace("16000", "[redacted]")


def test_a_price_with_many_digits_is_hidden_to_the_cent() -> None:
    text = "15,234.12 or 15234.123456 or 15,234.13 or 15,234"
    assert redact(text, 15234.123456, "seller") == "[redacted] or [redacted] or 15,234.13 or 15,234"
    assert redact("$.50 and 0.5, not 5 or 50", 0.5, "seller") == "[redacted] and [redacted], not 5 or 50"
    assert redact("0 and 0.00", 0.001, "seller") == "0 and 0.00"
    assert redact("1 234.5 6, not 123,456", 1234.56, "seller") == "[redacted], not 123,456"


@given(st.integers(1, 10**12), st.sampled_from(["{}", "${:,}", "{:,}.00", "${}.0", "{:_}"]), st.text(max_size=5))
def test_a_price_is_found_between_any_words(amount: int, pattern: str, word: str) -> None:
    written = pattern.format(amount).replace("_", " ")
    assert "; [redacted]; " in redact(f"{word}; {written}; {word}", float(amount), "buyer")


@given(st.floats(min_value=1e-3, max_value=1e15))
def test_a_price_as_the_product_writes_it_is_found(amount: float) -> None:
    assert redact(f"I hold ${number_text(amount)}.", amount, "buyer") == "I hold [redacted]."


# ── time ────────────────────────────────────────────────────────────────────────────────────────────────

HOSTILE = [
    "### BUYER_PRICE(",
    "### BUYER_PRICE(9",
    "### BUYER_PRICE($900) ### ",
    "### BUYER_PRICE($1) ### ### BUYER_PRICE($1.0) ### ",
    "### SELLER_PRICE($900) ### ",
    "BUYER  _  ",
    "BUYER_PRICE",
    "#",
    "# ",
    " ",
    "\t\n",
    "(",
    ")",
    "$",
    "_",
    "MAKE_DEAL_",
    "ITEMS(",
    "### ITEMS(a, b) ### ",
    "### TERMS(x=1; ",
    "9",
    "9,",
    "9.",
    "999,",
    "999 ",
    "16000 ",
    "1 234567 ",
    "９",
    "\u0301\u0323",
    "ﷺ",
    "\ud800",
]


def at_once(text: str) -> None:
    for act in (
        lambda: read(text, "buyer"),
        lambda: read(B.format(text), "buyer"),
        lambda: read(text + B.format(5), "buyer", items=["a", "b"], choose=2),
        lambda: read(text + B.format(5), "buyer", terms={"x": Term(low=0, high=1)}),
    ):
        try:
            act()
        except NoOffer as refusal:
            assert len(str(refusal)) < 500
    redact(text, 16000.0, "buyer", choose=2)
    redact(text + "x", 16000.0, None)


def seconds(act: Callable[[], object]) -> float:
    times = []
    for _ in range(4):
        began = time.process_time()
        act()
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
def test_time_is_linear_in_the_size_of_a_hostile_message(piece: str) -> None:
    """Eight times the text takes eight times as long; it would be 64 times, were it quadratic."""
    small, large = (piece * (size // len(piece)) for size in (12_500, 100_000))
    assert seconds(lambda: at_once(large)) < 24 * seconds(lambda: at_once(small)) + 0.001


def test_an_offer_is_found_in_a_message_of_100_kb() -> None:
    prose = "The iPhone 14 Pro costs $999 (new), ### 16k ### is no price. " * 1700
    assert len(prose) > 100_000
    assert read(f"{prose}{B.format('$750')}{prose}MAKE_DEAL", "buyer") == Offer(750.0, make_deal=True)
    assert redact(f"{prose}$1,600.00", 1600.0, "buyer") == f"{prose}[redacted]"
