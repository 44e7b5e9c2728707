"""From what an agent sent to a typed action."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.actions import decode_payload, parse_number
from sim.game import Pass
from sim.games.provision_point import AnnounceProject, SubmitCommitment


def commit(amount: Any, **more: Any) -> SubmitCommitment:
    return decode_payload(SubmitCommitment, msgspec.msgpack.encode({"amount": amount, **more}))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("50", 50.0),
        ("$50", 50.0),
        (" $ 50 ", 50.0),
        ("1,500.25", 1500.25),
        ("$1,234,567", 1234567.0),
        (".5", 0.5),
        ("+3", 3.0),
        ("-3", -3.0),
        ("0", 0.0),
        ("\t7\n", 7.0),
    ],
)
def test_a_number_is_read_as_people_write_it(text: str, number: float) -> None:
    """Numbers from agents are JSON numbers or numeric strings ("50" and "$50" read as 50)."""
    assert parse_number(text) == number
    if number >= 0:
        assert commit(text).amount == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "$",
        "14k",
        "1.500,25",
        "nan",
        "inf",
        "-inf",
        "1e5",
        "0x10",
        "1_000",
        "12,34",
        "1,2345",
        "50 tokens",
        "٥",
        "5.",
        "--3",
    ],
)
def test_what_is_no_number_is_refused_with_a_sentence(text: str) -> None:
    assert parse_number(text) is None
    with pytest.raises(ValueError, match="amount"):
        commit(text)


@given(st.floats(min_value=0, max_value=1e12).map(lambda x: round(x, 2)))
def test_a_number_written_with_commas_and_a_dollar_is_the_number(number: float) -> None:
    assert parse_number(f"${number:,.2f}") == pytest.approx(number)


@given(st.text(max_size=30))
def test_any_text_is_a_finite_number_or_none(text: str) -> None:
    number = parse_number(text)
    assert number is None or math.isfinite(number)


@given(st.integers(0, 2**63) | st.floats(min_value=0, max_value=1e300))
def test_a_json_number_is_taken_as_it_is(number: float) -> None:
    assert commit(number).amount == float(number)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_must_be_finite(number: float) -> None:
    """Numbers from agents must be finite (no NaN, no infinity)."""
    for fields in ({"amount": number}, {"amount": 1, "my_valuation": number}):
        with pytest.raises(ValueError, match=r"finite|>= 0"):
            decode_payload(SubmitCommitment, msgspec.msgpack.encode(fields))


def test_text_that_reads_as_infinity_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        commit("9" * 400)


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_not_a_number(value: bool) -> None:
    """A boolean is not a number."""
    with pytest.raises(ValueError, match="amount"):
        commit(value)


@pytest.mark.parametrize("value", [None, [], [1], {}, {"amount": 1}, b"50", -1, "-1", "-$1"])
def test_a_value_of_another_type_or_out_of_bounds_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        commit(value)


def test_a_field_that_the_action_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="bribe"):
        commit(5, bribe=3)
    with pytest.raises(ValueError, match="bribe"):
        commit("5", bribe=3)


def test_a_missing_field_is_refused() -> None:
    with pytest.raises(ValueError, match="amount"):
        decode_payload(SubmitCommitment, msgspec.msgpack.encode({}))


def test_only_number_fields_are_read_from_text() -> None:
    action = decode_payload(AnnounceProject, msgspec.msgpack.encode({"description": "50", "threshold": "$70"}))
    assert action == AnnounceProject("50", 70.0)


@pytest.mark.parametrize("value", [None, [], 5, "pass", {"x": 1}])
def test_an_action_without_fields_takes_an_empty_map_alone(value: Any) -> None:
    assert decode_payload(Pass, msgspec.msgpack.encode({})) == Pass()
    with pytest.raises(ValueError, match=r"."):
        decode_payload(Pass, msgspec.msgpack.encode(value))


@pytest.mark.parametrize("depth", [10, 100, 900, 980, 1000, 100_000])
def test_what_is_said_of_a_nested_value_does_not_depend_on_the_depth_of_the_stack(depth: int) -> None:
    payload = b"\x81\xa6amount" + b"\x91" * depth + b"\x01"

    def at(level: int) -> str:
        if level:
            return at(level - 1)
        with pytest.raises(ValueError, match="amount") as caught:
            decode_payload(SubmitCommitment, payload)
        return str(caught.value)

    assert at(0) == at(150)


def test_a_refusal_is_a_sentence_of_bounded_length() -> None:
    with pytest.raises(ValueError, match="amount") as caught:
        commit("x" * 100_000)
    assert len(str(caught.value)) <= 300
