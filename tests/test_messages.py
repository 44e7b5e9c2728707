"""The wire vocabulary and its codec."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import messages as m
from sim.errors import CodecError, TooLarge

number = st.integers(-(2**63), 2**63 - 1)
text = st.text(max_size=20)
seconds = st.floats(allow_nan=False)
chat = st.builds(m.Message, text=text, to=st.none() | st.lists(text, max_size=3).map(tuple))
packed = st.recursive(
    st.none() | st.booleans() | number | st.floats(allow_nan=False) | text | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
).map(lambda value: msgspec.msgpack.encode(value))
code = st.sampled_from(m.Code.__args__)  # type: ignore[attr-defined]
rejection = st.builds(m.Rejection, code=code, reason=text)
event = st.builds(
    m.Event,
    seq=number,
    time=seconds,
    kind=st.sampled_from(m.EventKind.__args__),  # type: ignore[attr-defined]
    sender=number,
    cause=number,
    recipients=st.none() | st.lists(number, max_size=3).map(tuple),
    body=st.binary(max_size=20),
)
ask: dict[str, Any] = {
    "turn": number,
    "phase": text,
    "round": number,
    "deadline": seconds,
    "remaining": seconds,
    "allowed": st.lists(text, max_size=3).map(tuple),
    "view": st.binary(max_size=20),
    "rejection": st.none() | rejection,
}
opening = st.builds(
    m.MatchOpen,
    match_id=text,
    agent_id=text,
    agent_ids=st.lists(text, max_size=3).map(tuple),
    role=text,
    rules=text,
    private=st.binary(max_size=9),
    seed=number,
)
to_seat = (
    opening
    | st.builds(m.YourTurn, **ask)
    | st.builds(m.PhaseOpen, **ask)
    | st.builds(m.Verdict, cause=number, rejection=st.none() | rejection)
    | st.builds(m.MatchEnd, outcome=st.binary(max_size=20))
)
to_referee = (
    st.builds(
        m.Act,
        seat=number,
        turn=number,
        cause=number,
        action=text,
        payload=packed,
        messages=st.lists(chat, max_size=3).map(tuple),
        problem=text,
        receipt=st.booleans(),
    )
    | st.builds(m.Forfeit, seat=number, turn=number, error=text)
    | st.builds(m.Lost, seat=number, error=text)
    | st.builds(m.Deadline, at=seconds)
    | st.builds(m.Abort, reason=text, status=st.sampled_from(["aborted", "agent_failed"]))
)
update = st.builds(m.Update, events=st.lists(event, max_size=3), message=st.none() | to_seat)
any_message = to_referee | update

ACT = m.Act(0, 1, 1, "pass", msgspec.msgpack.encode({}))


@settings(max_examples=400, deadline=None)
@given(any_message)
def test_a_message_comes_back_from_its_bytes_as_it_was(message: m.AnyMessage) -> None:
    data = m.encode(message)
    again = m.decode(data)
    assert type(again) is type(message)
    assert m.encode(again) == data
    for field in message.__struct_fields__:
        assert getattr(again, field) == getattr(message, field)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(number, number, any_message), max_size=4))
def test_a_frame_comes_back_from_its_bytes_as_it_was(items: list[m.FrameItem]) -> None:
    data = m.encode_frame(7, items)
    sent, again = m.decode_frame(data)
    assert sent == 7
    assert m.encode_frame(7, again) == data
    assert [item[:2] for item in again] == [item[:2] for item in items]


def test_messages_cannot_be_changed() -> None:
    for message in (ACT, m.Message("hi"), m.Update([], None), m.Deadline(1.0)):
        with pytest.raises(AttributeError):
            setattr(message, message.__struct_fields__[0], "changed")


@pytest.mark.parametrize("message", [ACT, m.Forfeit(0, 1, "x"), m.Lost(0, "x"), m.Deadline(1.0), m.Abort("x")])
def test_a_field_that_nobody_knows_is_refused(message: m.AnyMessage) -> None:
    fields = msgspec.msgpack.decode(m.encode(message))
    assert m.encode(m.decode(msgspec.msgpack.encode(fields))) == m.encode(message)
    with pytest.raises(CodecError):
        m.decode(msgspec.msgpack.encode([*fields, "surprise"]))


def test_a_message_of_no_known_kind_is_refused() -> None:
    with pytest.raises(CodecError):
        m.decode(msgspec.msgpack.encode({"type": "takeover"}))


def test_a_field_of_the_wrong_type_is_refused() -> None:
    names = ("tag", *m.Act.__struct_fields__)
    for name, wrong in (("seat", "0"), ("seat", 0.5), ("turn", None), ("action", 5), ("messages", [{"text": 5}])):
        fields = msgspec.msgpack.decode(m.encode(ACT))
        fields[names.index(name)] = wrong
        with pytest.raises(CodecError):
            m.decode(msgspec.msgpack.encode(fields))


def test_a_frame_of_another_schema_version_is_refused_and_says_both() -> None:
    data = msgspec.msgpack.encode([m.SCHEMA_VERSION + 1, 0, []])
    with pytest.raises(CodecError, match=f"version {m.SCHEMA_VERSION + 1}; this is version {m.SCHEMA_VERSION}"):
        m.decode_frame(data)


def test_more_than_the_upper_size_is_too_large_and_says_how_much() -> None:
    big = m.encode(m.Abort("x" * m.MAX_BYTES))
    with pytest.raises(TooLarge) as caught:
        m.decode(big)
    assert (caught.value.size, caught.value.limit) == (len(big), m.MAX_BYTES)
    assert m.decode(big, max_bytes=len(big)) == m.Abort("x" * m.MAX_BYTES)
    with pytest.raises(TooLarge):
        m.decode(big, max_bytes=len(big) - 1)


def test_the_default_upper_size_is_256_kibibytes() -> None:
    assert m.MAX_BYTES == 262_144


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xff" * 100,
        b"\x91" * 100_000,
        b"\x81" * 100_000,
        msgspec.msgpack.encode({"type": "abort", "reason": "x"})[:-1] + b"\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xd6\xff\x00\x00\x00\x00",
        b"\xc7\x0c\xff" + b"\xff" * 12,
        msgspec.msgpack.encode({"type": "deadline", "at": "soon"}),
    ],
    ids=lambda data: data[:6].hex() or "nothing",
)
def test_bytes_that_are_no_message_raise_the_codec_error_alone(data: bytes) -> None:
    with pytest.raises(CodecError):
        m.decode(data)
    with pytest.raises(CodecError):
        m.decode_frame(data)


def test_an_event_says_who_may_see_it() -> None:
    seen = {(): "referee", (1,): "private", None: "public"}
    for recipients, visibility in seen.items():
        assert m.Event(0, 0.0, "message", 0, 1, recipients, b"{}").visibility == visibility


def test_a_verdict_without_a_rejection_is_an_acceptance() -> None:
    assert m.Verdict(1).accepted
    assert not m.Verdict(1, m.Rejection("late", "the turn has lapsed")).accepted
