"""A message is read at a glance where it is written as the product writes it; that reading is the close one."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim.games.bargaining import tags
from sim.games.bargaining.tags import NoOffer, Offer, Role, write
from sim.games.bargaining.terms import number_text

ROLES: tuple[Role, Role] = ("buyer", "seller")

PIECES = [
    *("### BUYER_PRICE($14,000) ###", "### SELLER_PRICE($14,000) ###", "### BUYER_PRICE($14000.50) ###"),
    *(
        "### BUYER_PRICE($0) ###",
        "### BUYER_PRICE($0.0) ###",
        "### BUYER_PRICE($1,4000) ###",
        "### BUYER_PRICE($0900) ###",
    ),
    "### BUYER_PRICE($999,999,999,999,999.99999999999999999999) ###",
    *("BUYER_PRICE(9)", "BUYER_ PRICE(9)", "buyer\\_price(9)", "SELLER_PRICE($7)", "＿", "BUYER＿PRICE(9)", "_", "__"),
    *("MAKE_DEAL", "make\\_deal", "MAKE_DEALs", "REMAKE_DEAL", "MAKE_", "DEAL", "OLD_", "BUYER", "PRICE($1)", "ſ", "K"),
    *("### BUYER_PRICE($14", "$14,000) ###", "### ", "###", "(", ")", "\\", "x", "9", " ", "\n", "the best price"),
]

messages = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=6).map("".join)


@settings(max_examples=1000)
@given(messages)
@example("### BUYER_PRICE($14,000) ### MAKE_DEAL")
@example("### BUYER_PRICE($14,000) ### MAKE_DEALs")
@example("### BUYER_PRICE($14,000) ### BUYER_PRICE(9)")
@example("### BUYER_PRICE($14,000) ### MAKE_DEAL MAKE_DEAL")
def test_what_is_read_at_a_glance_is_what_a_close_look_reads(text: str) -> None:
    for role in ROLES:
        glance = tags._read_written(text, role)
        if glance is None:
            continue
        assert glance == tags._read_any(text, role, (), 0, None)


@given(
    st.floats(min_value=1e-4, max_value=9.99e14), st.sampled_from(ROLES), st.booleans(), st.sampled_from(["", "Well. "])
)
def test_what_the_product_writes_is_read_at_a_glance(price: float, role: Role, make_deal: bool, prose: str) -> None:
    text = prose + write(price, role, make_deal=make_deal)
    assert tags._read_written(text, role) == Offer(price, make_deal=make_deal)
    other = ROLES[role == "buyer"]
    assert tags._read_written(text, other) is None
    with pytest.raises(NoOffer, match="the other side's tag"):
        tags.read(text, other)


@given(st.floats() | st.integers(-(10**18), 10**18) | st.floats(0, 1e7).map(lambda number: round(number, 2)))
@example(1e15)
@example(1e16)
@example(1e23)
@example(-0.0)
@example(0.0001)
@example(0.00001)
@example(float("nan"))
@example(float("inf"))
def test_numbers_are_written_with_all_their_digits(number: float) -> None:
    assert number_text(number) == f"{Decimal(repr(float(number))):,f}".removesuffix(".0")
