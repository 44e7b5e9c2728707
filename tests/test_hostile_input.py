"""Whatever is sent, no judge, referee, codec or seat breaks, and what is refused changes nothing."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.agent import Action, Decision
from actors.answers import make_act
from sim.actions import decode_payload
from sim.bus import Address, LocalBus
from sim.clock import Clock, run_virtual
from sim.errors import CodecError, describe
from sim.games.provision_point import AnnounceProject, ProvisionPointGame, SignalIntent, SubmitAmount, SubmitCommitment
from sim.judge import Judge
from sim.messages import (
    REFEREE,
    SCHEMA_VERSION,
    Abort,
    Act,
    AnyMessage,
    Deadline,
    Event,
    Forfeit,
    Lost,
    MatchEnd,
    Message,
    Update,
    Verdict,
    decode,
    decode_frame,
    encode,
    encode_frame,
)
from sim.record import MatchRecord, MatchSpec
from sim.referee import Referee
from sim.replay import rejudge
from sim.testing import MatchByHand, play_randomly, state_bytes

IDS = ("a", "b", "c")
SEEN: Counter[str] = Counter()
"""How many inputs each test was given."""

LEAST = 20_000


def examples(count: int) -> Any:
    every = list(HealthCheck)
    return settings(max_examples=count, deadline=None, database=None, suppress_health_check=every)


GAMES = [
    ProvisionPointGame(max_invalid=10**9, max_bytes=4096),
    ProvisionPointGame(mode="simple", max_invalid=10**9, max_bytes=4096),
    ProvisionPointGame(valuation_mode="auto", turn_order="concurrent", max_invalid=10**9, max_bytes=4096),
    ProvisionPointGame(mode="simple", turn_order="concurrent", max_invalid=10**9, max_bytes=4096),
]

# ── what is sent ────────────────────────────────────────────────────────────────────────────────────────

NUMBERS = [
    0,
    -0.0,
    -1,
    1e-320,
    1e308,
    -1e308,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
    math.nan,
    math.inf,
    -math.inf,
    0.1,
    50,
    True,
]
WORDS = [
    "",
    "50",
    "$50",
    "-5",
    "nan",
    "Infinity",
    "1e999",
    "9" * 400,
    "٣",
    "\x00",
    "\u202e",
    "🤝" * 50,
    "ß\u0301",
    "x" * 5000,
]
SURROGATES = ["\ud800", "a\udfff", "\ud83d"]
FIELDS = [
    "amount",
    "new_amount",
    "approximate_amount",
    "my_valuation",
    "threshold",
    "description",
    "",
    "__class__",
    "type",
]
NAMES = [*ProvisionPointGame().action_types, "", "bribe", "\ud800", "pass ", "x" * 5000, "__init__"]

number = st.sampled_from(NUMBERS) | st.floats() | st.integers(-(2**63), 2**64 - 1)
word = st.sampled_from(WORDS) | st.text(max_size=8)
leaf = st.none() | st.booleans() | number | word | st.binary(max_size=6)
nested = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3), max_leaves=5
)
fields = st.dictionaries(st.sampled_from(FIELDS), leaf | nested, max_size=3)
deep = st.integers(1, 3000).map(lambda depth: b"\x81\xa6amount" + b"\x91" * depth + b"\x01")
payload = st.one_of(
    fields.map(msgspec.msgpack.encode),
    fields.map(msgspec.msgpack.encode),
    nested.map(msgspec.msgpack.encode),
    st.binary(max_size=30),
    deep,
    fields.map(lambda value: msgspec.msgpack.encode(value)[:-1]),
    st.just(b"\x80"),
    st.just(bytes(5000)),
)
some_text = word | st.sampled_from(SURROGATES)
to = st.none() | st.lists(st.sampled_from([*IDS, "nobody", "", "\ud800", "x" * 500]), max_size=3).map(tuple)
said = st.lists(st.builds(Message, some_text, to), max_size=2).map(tuple) | st.just((Message("hi"),) * 12)
small = st.integers(-2, 5)
act = st.builds(
    Act,
    seat=small,
    turn=st.integers(-1, 6) | st.integers(-(2**63), 2**63 - 1),
    cause=st.integers(0, 40),
    action=st.sampled_from(NAMES),
    payload=payload,
    messages=st.just(()) | said,
    problem=st.just("") | some_text,
    receipt=st.booleans(),
)
sent = st.tuples(small, act)
item = st.one_of(
    act,
    act,
    st.builds(Forfeit, small, small, word),
    st.builds(Lost, small, word),
    st.builds(Deadline, st.floats()),
    st.builds(Abort, word),
    st.builds(Update, st.just([]), st.none() | st.builds(Verdict, small) | st.builds(MatchEnd, st.binary(max_size=5))),
)
batch = 25


def begun(game: ProvisionPointGame, seed: int, steps: int) -> MatchByHand:
    """Return a match that has gone on for some steps of random play."""
    match, rng = MatchByHand(game, IDS, seed).open(), Random(seed)
    for _ in range(steps):
        if match.outcome is None:
            seat = rng.choice(match.open_turns())[0]
            action = match.judge.state.legal(seat)[0]
            match.act(seat, action, {"announce_project": {"description": "x"}}.get(action) or {}, messages=["hm"])
            match.act(seat, "pass")
    if match.outcome is None:
        return match
    return MatchByHand(game, IDS, seed).open()


# ── judges ──────────────────────────────────────────────────────────────────────────────────────────────


@examples(400)
@given(st.sampled_from(GAMES), st.integers(0, 10**6), st.integers(0, 4), st.lists(sent, min_size=batch, max_size=batch))
def test_no_submission_breaks_a_judge_or_changes_a_state_unless_it_is_accepted(
    game: ProvisionPointGame, seed: int, steps: int, submissions: list[tuple[int, Act]]
) -> None:
    match = begun(game, seed, steps)
    for sender, submission in submissions:
        SEEN["judge"] += 1
        if match.outcome is not None:
            break
        before, open_turns, events = match.state_bytes(), match.open_turns(), len(match.events)
        rejection = match.read(sender, submission)
        new = match.events[events:]
        if sender not in match.seats or rejection is not None:
            assert (match.state_bytes(), match.open_turns()) == (before, open_turns)
            assert [event.kind for event in new] == ["rejected"]
        else:
            assert sender == submission.seat
            assert any(event.kind == "action" and event.sender == sender for event in new)
        for event in new:
            assert msgspec.json.decode(event.body) is not None
    if match.outcome is None:
        match.read(REFEREE, Abort("enough"))
    record = match.record()
    rejudge(msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=MatchRecord), game)


@examples(80)
@given(st.sampled_from(GAMES), st.lists(st.tuples(small, item), min_size=batch, max_size=batch))
def test_no_message_of_any_kind_breaks_a_referee_and_the_match_still_ends(
    game: ProvisionPointGame, items: list[tuple[int, AnyMessage]]
) -> None:
    async def main() -> tuple[MatchRecord, bytes, bytes]:
        ended: asyncio.Future[MatchRecord] = asyncio.get_running_loop().create_future()
        bus, clock = LocalBus(), Clock()
        referee = Referee(MatchSpec(0, IDS, 1), game, bus, clock, ended.set_result)
        referee.open()
        before = state_bytes(referee.judge.state)
        for sender, message in items:
            SEEN["referee"] += 1
            bus.send(Address(99, sender), Address(0, REFEREE), message)  # nobody of this match
        after = state_bytes(referee.judge.state)
        for sender, message in items:
            SEEN["referee"] += 1
            bus.send(Address(0, sender), Address(0, REFEREE), message)
            bus.send(Address(0, sender), Address(7, REFEREE), message)  # a match that is not there
        return await ended, before, after

    record, before, after = run_virtual(main())
    assert before == after
    assert record.outcome.status in ("resolved", "timed_out")
    assert not any("the rules raised" in error for error in record.errors)
    rejudge(record, game)


@examples(40)
@given(st.sampled_from(GAMES), st.integers(0, 10**6))
def test_a_replayed_frame_changes_nothing(game: ProvisionPointGame, seed: int) -> None:
    match = MatchByHand(game, IDS, seed).open()
    play_randomly(match, Random(seed))
    acts = [(sender, i) for _, sender, i in match.script if isinstance(i, Act)]
    frame = encode_frame(1, [(0, sender, i) for sender, i in acts])
    again, other = MatchByHand(game, IDS, seed).open(), MatchByHand(game, IDS, seed).open()
    for _match, sender, i in decode_frame(frame)[1][:5]:
        assert isinstance(i, Act)
        SEEN["replayed"] += 1
        other.read(sender, i)
        again.read(sender, i)
        if again.outcome is not None:
            return
        before = again.state_bytes(), again.open_turns()
        rejection = again.read(sender, i)
        assert rejection is not None
        assert rejection.code == "duplicate"
        assert (again.state_bytes(), again.open_turns()) == before == (other.state_bytes(), other.open_turns())


@pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.mode}-{game.turn_order}")
@pytest.mark.parametrize("size", [10**6, 10**7])
def test_ten_megabytes_are_refused_and_not_kept(game: ProvisionPointGame, size: int) -> None:
    match = MatchByHand(game, IDS, 1).open()
    before = match.state_bytes()
    big = "x" * size
    for n, (data, messages) in enumerate(
        [
            (msgspec.msgpack.encode({"description": big}), ()),
            (bytes(size), ()),
            (b"\x91" * size, ()),
            (b"\x80", (Message(big),)),
            (b"\x80", (Message("hi", (big,)),)),
        ]
    ):
        SEEN["huge"] += 1
        rejection = match.read(0, Act(0, 1, n + 1, next(iter(game.action_types)), data, messages))
        assert rejection is not None
        assert rejection.code == "too_large"
        with pytest.raises(CodecError):
            decode(encode(Act(0, 1, n + 1, "pass", data, messages)))
    assert match.state_bytes() == before
    assert sum(len(event.body) for event in match.events) < 10_000


# ── codecs ──────────────────────────────────────────────────────────────────────────────────────────────


@examples(250)
@given(
    st.sampled_from([SubmitCommitment, SubmitAmount, SignalIntent, AnnounceProject]),
    st.lists(payload, min_size=batch, max_size=batch),
)
def test_a_payload_becomes_an_action_with_finite_numbers_or_a_value_error(
    kind: type[Any], payloads: list[bytes]
) -> None:
    for data in payloads:
        SEEN["payload"] += 1
        try:
            action = decode_payload(kind, data)
        except ValueError as error:
            assert 0 < len(str(error)) <= 400
        else:
            assert type(action) is kind
            for value in msgspec.structs.astuple(action):
                assert not isinstance(value, float) or (math.isfinite(value) and value >= 0)


TRUE = [
    encode(Act(0, 1, 2, "pass", b"\x80", (Message("hi", ("a",)),))),
    encode(Update([Event(0, 0.5, "action", 1, 2, None, b"{}")], Verdict(3))),
    encode_frame(3, [(0, 1, Act(0, 1, 2, "pass", b"\x80")), (3, 0, Lost(0, "gone"))]),
]


@examples(250)
@given(
    st.lists(
        st.tuples(st.sampled_from(TRUE), st.integers(0, 200), st.binary(max_size=4)), min_size=batch, max_size=batch
    )
)
def test_truncated_and_altered_bytes_are_a_message_or_a_codec_error(changes: list[tuple[bytes, int, bytes]]) -> None:
    for data, at, put in changes:
        SEEN["altered bytes"] += 1
        at %= len(data)
        for altered in (data[:at], data[:at] + put + data[at + len(put) :], data + put):
            for decoder in (decode, decode_frame):
                try:
                    decoder(altered)
                except CodecError as error:
                    assert str(error)


@examples(250)
@given(st.lists(st.binary(max_size=60) | payload, min_size=batch, max_size=batch))
def test_random_bytes_are_a_codec_error(several: list[bytes]) -> None:
    for data in several:
        SEEN["random bytes"] += 1
        with pytest.raises(CodecError):
            decode(data)
        with pytest.raises(CodecError):
            decode_frame(data + b"\xc1")
        with pytest.raises(CodecError):
            decode_frame(msgspec.msgpack.encode([SCHEMA_VERSION, 0, data]))


# ── what agents answer ──────────────────────────────────────────────────────────────────────────────────


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


class Treacherous(dict[str, Any]):
    def __bool__(self) -> bool:
        raise Unspeakable


anything = st.one_of(
    nested,
    st.sampled_from(
        [object(), print, Exception, {1: 2}, {1j}, 10**40, Treacherous(a=1), type, SURROGATES, b"\xff", SubmitAmount]
    ),
)
answer = st.one_of(
    anything,
    st.builds(Action, anything | st.sampled_from(NAMES), anything | fields),
    st.builds(Decision, anything | st.builds(Action, st.sampled_from(NAMES), fields), anything),
    st.builds(
        Decision,
        st.builds(SubmitAmount, anything),
        st.lists(some_text | st.builds(Message, anything | some_text, anything | to), max_size=2),
    ),
)


@examples(120)
@given(st.sampled_from(GAMES), st.lists(answer, min_size=batch, max_size=batch))
def test_whatever_an_agent_answers_becomes_a_submission_that_a_judge_rules_on(
    game: ProvisionPointGame, answers: list[Any]
) -> None:
    judge = Judge(MatchSpec(0, IDS, 1), game)
    judge.open()
    for n, given_ in enumerate(answers):
        SEEN["answer"] += 1
        before = state_bytes(judge.state)
        submission = make_act(0, 1, n + 1, given_)
        judge.read(0, submission, 0.5)
        if judge.outcome is not None:
            break
        if judge.log.events[-1].kind == "rejected":
            assert state_bytes(judge.state) == before
    if judge.outcome is None:
        judge.read(REFEREE, Abort("enough"), 1.0)
    rejudge(judge.close(), game)


@pytest.mark.parametrize(
    "error", [Unspeakable(), ValueError("\ud800"), ValueError("x" * 10**6), KeyError("a\nb"), Exception()]
)
def test_what_an_agent_raised_is_one_short_line_that_can_be_written_down(error: Exception) -> None:
    said_ = describe(error)
    assert said_.startswith(type(error).__name__)
    assert len(said_.encode()) <= 3000
    assert "\n" not in said_
    game = ProvisionPointGame(mode="simple")
    match = MatchByHand(game, IDS, 1).open()
    match.read(0, Forfeit(0, 1, said_))
    match.read(1, Lost(1, said_))
    match.read(REFEREE, Abort("enough"))
    rejudge(match.record(), game)


# ── how much ────────────────────────────────────────────────────────────────────────────────────────────


def test_at_least_twenty_thousand_inputs_were_generated(request: pytest.FixtureRequest) -> None:
    here = [i for i in request.session.items if i.path == request.path and i.name != request.node.name]
    if len(SEEN) < 8 and len(here) < 8:
        pytest.skip("the tests that generate them were not selected")
    print(f"{SEEN.total():,} inputs: {dict(SEEN)}")
    assert SEEN.total() >= LEAST
