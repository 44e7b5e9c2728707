"""From what an agent sent to a typed action."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC
from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.actions import decode_payload, parse_number
from sim.game import ActionType, Pass
from sim.games.provision_point import AnnounceProject, SubmitCommitment
from sim.messages import Struct


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


# ── aliases, and numbers at any depth ───────────────────────────────────────────────────────────────────


class Line(Struct, frozen=True):
    price: float
    units: Annotated[int, msgspec.Meta(ge=1)] = 1
    name: str = ""


class Cheap(Struct, frozen=True, tag="cheap"):
    size: float


class Dear(Struct, frozen=True, tag="dear"):
    size: str


class Order(ActionType, frozen=True):
    """Numbers in every kind of nest."""

    name: ClassVar[str] = "order"
    aliases: ClassVar[Mapping[str, str]] = {"qty": "units", "count": "units", "lines": "items"}

    units: int = 0
    either: int | float = 0
    loose: float | list[float] = 0.0
    word_or_number: float | str = 0.0
    items: tuple[Line, ...] = ()
    table: dict[str, float] = {}  # noqa: RUF012
    pair: tuple[str, float] = ("", 0.0)
    grid: list[list[float | None]] = []  # noqa: RUF012
    kind: Cheap | Dear | None = None


class Plain(ActionType, frozen=True):
    """No numbers, but an alias."""

    name: ClassVar[str] = "plain"
    aliases: ClassVar[Mapping[str, str]] = {"message": "text"}

    text: str


class Node(Struct, frozen=True):
    name: str = ""
    parts: tuple[Node, ...] = ()


class Tree(ActionType, frozen=True):
    """Values of any depth."""

    name: ClassVar[str] = "tree"

    number: float = 0.0
    root: Node | None = None
    anything: Any = None


class Renamed(ActionType, frozen=True, rename="camel"):
    """Fields that are sent under another name."""

    name: ClassVar[str] = "renamed"

    best_price: float
    all_prices: tuple[float, ...] = ()


def order(**fields: Any) -> Order:
    return decode_payload(Order, msgspec.msgpack.encode(fields))


def test_a_field_is_taken_under_an_alias() -> None:
    assert order(qty=3).units == order(count="3").units == order(units=3).units == 3
    assert order(lines=[{"price": "$1,500"}]).items == (Line(1500.0),)
    assert decode_payload(Plain, msgspec.msgpack.encode({"message": "50"})) == Plain("50")


@pytest.mark.parametrize("fields", [{"units": 3, "qty": 3}, {"qty": 3, "count": 3}, {"units": 3, "qty": 4, "count": 5}])
def test_a_field_under_two_names_is_refused(fields: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="are the same field"):
        order(**fields)


def test_an_alias_is_no_way_round_the_type_of_a_field() -> None:
    for fields in ({"qty": "many"}, {"qty": 1.5}, {"qty": None}, {"qty": {}}):
        with pytest.raises(ValueError, match="units"):
            order(**fields)
    with pytest.raises(ValueError, match="bribe"):
        order(qty=3, bribe=1)


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"units": "3"}, "units", 3),
        ({"units": "$3.00"}, "units", 3),
        ({"units": "1,000"}, "units", 1000),
        ({"either": "3"}, "either", 3.0),
        ({"either": "3.5"}, "either", 3.5),
        ({"loose": "$5"}, "loose", 5.0),
        ({"loose": ["$5", 6]}, "loose", [5.0, 6.0]),
        ({"table": {"a": "$50", "b": 7}}, "table", {"a": 50.0, "b": 7.0}),
        ({"pair": ["50", "50"]}, "pair", ("50", 50.0)),
        ({"grid": [["1", None], [], ["$2"]]}, "grid", [[1.0, None], [], [2.0]]),
        ({"items": [{"price": "$50", "units": "2", "name": "7"}]}, "items", (Line(50.0, 2, "7"),)),
        ({"kind": {"type": "cheap", "size": "5"}}, "kind", Cheap(5.0)),
    ],
    ids=str,
)
def test_numeric_text_is_read_at_any_depth_where_a_number_is_wanted(fields: Any, name: str, value: Any) -> None:
    read = getattr(order(**fields), name)
    assert read == value
    assert type(read) is type(value)


def test_text_stays_text_where_text_may_stand() -> None:
    assert order(word_or_number="50", units="3").word_or_number == "50"
    assert order(kind={"type": "dear", "size": "5"}, units="3").kind == Dear("5")
    assert order(kind={"type": "dear", "size": "big"}, units="3").kind == Dear("big")


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"units": "3.5"}, "units"),
        ({"units": 3.5}, "units"),
        ({"units": "many"}, "units='many'"),
        ({"units": "9" * 19}, "units"),
        ({"units": "9" * 400}, "units"),
        ({"units": True}, "units"),
        ({"either": math.nan}, "either"),
        ({"either": "9" * 400}, "either"),
        ({"loose": [1.0, math.inf]}, r"loose\[1\]"),
        ({"word_or_number": math.nan}, "word_or_number"),
        ({"table": {"a": math.nan}}, r"table\.a"),
        ({"table": {"a": "14k"}}, r"table\.a='14k'"),
        ({"pair": ["x", math.nan]}, r"pair\[1\]"),
        ({"pair": ["x", "1", "2"]}, "pair"),
        ({"pair": []}, "pair"),
        ({"grid": [[1.0], [math.inf]]}, r"grid\[1\]\[0\]"),
        ({"items": [{"price": math.nan}]}, r"items\[0\]\.price"),
        ({"items": [{"price": "1", "units": "0"}]}, "items"),
        ({"items": [{"price": "1", "bribe": "2"}]}, "bribe"),
        ({"items": ["5"]}, "items"),
        ({"items": {"price": "5"}}, "items"),
        ({"kind": {"type": "neither", "size": "5"}}, "kind"),
    ],
    ids=str,
)
def test_what_is_no_finite_number_is_refused_at_any_depth_and_the_sentence_says_where(fields: Any, where: str) -> None:
    with pytest.raises(ValueError, match=where):
        order(**fields)


def test_the_names_under_which_fields_are_sent_may_be_others() -> None:
    sent = {"bestPrice": "$5", "allPrices": ["1", 2]}
    assert decode_payload(Renamed, msgspec.msgpack.encode(sent)) == Renamed(5.0, (1.0, 2.0))
    with pytest.raises(ValueError, match="finite"):
        decode_payload(Renamed, msgspec.msgpack.encode({"bestPrice": math.nan}))


def test_values_that_are_not_described_hold_finite_numbers_too() -> None:
    packed = msgspec.msgpack.encode({"anything": {"a": [1, "50", 2.5]}})
    assert decode_payload(Tree, packed).anything == {"a": [1, "50", 2.5]}
    with pytest.raises(ValueError, match=r"anything\.a\[0\]"):
        decode_payload(Tree, msgspec.msgpack.encode({"anything": {"a": [math.nan]}}))


def nest(depth: int) -> bytes:
    """A tree of so many levels, as MessagePack; a decoder could not build it at once."""
    return b"\x81\xa4root" + b"\x81\xa5parts\x91" * depth + b"\x80"


@pytest.mark.parametrize("more", [b"", b"\xa6number\xa250", b"\xa6number\xa3big"])
@pytest.mark.parametrize("inside", ["root", "anything", "bribe"])
@pytest.mark.parametrize("depth", [5, 15, 40, 400, 900, 950, 980, 1000, 100_000])
def test_what_becomes_of_a_deep_value_does_not_depend_on_the_stack(depth: int, inside: str, more: bytes) -> None:
    tree = nest(depth)[6:] if inside == "root" else b"\x91" * depth + b"\x01"
    key = bytes([0xA0 + len(inside)]) + inside.encode()
    payload = bytes([0x81 + bool(more)]) + more + key + tree

    def at(level: int) -> str:
        if level:
            return at(level - 1)
        try:
            return repr(decode_payload(Tree, payload))
        except ValueError as error:
            return f"refused: {error}"

    said = at(0)
    assert at(100) == at(200) == said
    if depth >= 40:
        assert said.startswith("refused: ")
    elif inside != "bribe" and b"big" not in more:
        assert said.startswith("Tree(")


@given(
    st.dictionaries(
        st.sampled_from([*Order.__struct_fields__, *Order.aliases, "bribe"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**64 - 1)
            | st.floats()
            | st.text(max_size=5)
            | st.sampled_from(["$5", "1,000", "3.5", "9" * 30])
            | st.binary(max_size=3)
            | st.datetimes(timezones=st.just(UTC)),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=4,
    )
)
def test_whatever_is_sent_becomes_an_action_that_can_be_written_down_or_is_refused(fields: dict[str, Any]) -> None:
    try:
        action = decode_payload(Order, msgspec.msgpack.encode(fields))
    except ValueError:
        return
    again = msgspec.json.decode(msgspec.json.encode(action), type=Order)
    assert again == action
    assert decode_payload(Order, msgspec.msgpack.encode(msgspec.to_builtins(again))) == action


@given(st.binary(max_size=60))
def test_whatever_bytes_are_sent_nothing_but_a_refusal_is_raised(payload: bytes) -> None:
    for kind in (Order, Plain, Tree, Pass):
        try:
            decode_payload(kind, payload)
        except ValueError as error:
            assert 0 < len(str(error)) <= 300


def test_what_fits_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reading of text as numbers costs nobody anything who sends numbers."""

    def fail(*_: Any) -> Any:
        raise AssertionError("a second reading")

    monkeypatch.setattr("sim.actions._decode_leniently", fail)
    assert order(units=3, table={"a": 1.5}, items=[{"price": 1}]).units == 3
    assert commit(5, my_valuation=7).amount == 5
    with pytest.raises(AssertionError):
        order(units="3")
