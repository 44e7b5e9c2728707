"""Judging records again."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.errors import RecordMismatch
from sim.games.provision_point import ProvisionPointGame
from sim.games.provision_point.simple import SimpleState
from sim.messages import REFEREE, Abort, Forfeit, Lost, Message
from sim.record import MatchRecord, MatchSpec
from sim.replay import rejudge
from sim.testing import MatchByHand, bad_input, changed_records, play_randomly, play_virtually

IDS = ("a", "b", "c")
GAMES: list[dict[str, Any]] = [
    {"mode": "simple"},
    {"mode": "simple", "turn_order": "concurrent"},
    {"valuation_mode": "auto"},
    {"turn_order": "concurrent"},
]


def eventful(game: ProvisionPointGame, seed: int) -> MatchRecord:
    """Play a match in which every kind of event occurs."""
    match, rng = MatchByHand(game, IDS, seed).open(), Random(seed)
    for _, sender, item in rng.sample(list(bad_input(match, rng)), 10):
        if match.outcome is None:
            match.read(sender, item)
    if match.outcome is None:
        seat, turn = match.open_turns()[0]
        match.act(seat, "message_only", messages=["aloud", Message("psst", ("c",))])
        match.read(seat, Forfeit(seat, turn, "ValueError: x"))
    if match.outcome is None and seed % 2:
        match.read(2, Lost(2, "gone"))
    return play_randomly(match, rng)


def altered(record: MatchRecord, seq: int, old: bytes, new: bytes) -> MatchRecord:
    events = list(record.events)
    body = events[seq].body
    assert old in body
    events[seq] = msgspec.structs.replace(events[seq], body=body.replace(old, new, 1))
    return msgspec.structs.replace(record, events=events)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(GAMES), st.integers(0, 10**6))
def test_any_match_can_be_judged_again(parameters: dict[str, Any], seed: int) -> None:
    game = ProvisionPointGame(**parameters)
    rejudge(eventful(game, seed), game)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(GAMES), st.integers(0, 10**6))
def test_a_record_can_be_judged_again_after_a_round_trip_through_bytes(parameters: dict[str, Any], seed: int) -> None:
    game = ProvisionPointGame(**parameters)
    record = eventful(game, seed)
    for codec in (msgspec.msgpack, msgspec.json):
        rejudge(codec.decode(codec.encode(record), type=MatchRecord), game)  # type: ignore[attr-defined]


@pytest.mark.parametrize("parameters", GAMES, ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_change_of_one_byte_in_any_event_fails_and_names_the_match(parameters: dict[str, Any], seed: int) -> None:
    game = ProvisionPointGame(**parameters)
    record = eventful(game, seed)
    changes = 0
    for _what, changed in changed_records(record, Random(seed)):
        changes += 1
        with pytest.raises(RecordMismatch) as caught:
            rejudge(changed, game)
        assert caught.value.match_id == record.spec.match_id == "m000000"
        assert "m000000" in str(caught.value)
    assert changes == 8 * len(record.events)


def test_every_byte_of_one_event_counts() -> None:
    game = ProvisionPointGame(mode="simple")
    match = MatchByHand(game, IDS, 3).open()
    match.act(0, "submit_commitment", {"amount": 5}, messages=["I give five", Message("psst", ("b",))])
    match.read(REFEREE, Abort("x"))
    record = match.record()
    for seq, event in enumerate(record.events):
        for at in range(len(event.body)):
            body = event.body[:at] + bytes([event.body[at] ^ 1]) + event.body[at + 1 :]
            events = list(record.events)
            events[seq] = msgspec.structs.replace(event, body=body)
            with pytest.raises(RecordMismatch):
                rejudge(msgspec.structs.replace(record, events=events), game)


def test_a_word_that_an_agent_said_cannot_be_changed_though_nothing_follows_from_it() -> None:
    game = ProvisionPointGame(mode="simple")
    match = MatchByHand(game, IDS, 3).open()
    match.act(0, "pass", messages=["I promise fifty"])
    match.read(REFEREE, Abort("x"))
    record = match.record()
    (seq,) = [e.seq for e in record.events if b"fifty" in e.body]
    with pytest.raises(RecordMismatch):
        rejudge(altered(record, seq, b"fifty", b"sixty"), game)


def test_a_record_of_other_parameters_or_another_seed_fails() -> None:
    game = ProvisionPointGame(mode="simple")
    match = MatchByHand(game, IDS, 3).open()
    record = play_randomly(match, Random(3))
    with pytest.raises(RecordMismatch):
        rejudge(record, ProvisionPointGame(mode="simple", threshold=99))
    with pytest.raises(RecordMismatch):
        rejudge(msgspec.structs.replace(record, spec=msgspec.structs.replace(record.spec, seed=4)), game)


@pytest.mark.parametrize("field", ["outcome", "turns", "messages", "errors"])
def test_what_a_record_says_beside_its_events_is_judged_too(field: str) -> None:
    game = ProvisionPointGame(mode="simple")
    record = play_randomly(MatchByHand(game, IDS, 3).open(), Random(3))
    other = {
        "outcome": msgspec.structs.replace(record.outcome, trigger="bribery"),
        "turns": record.turns + 1,
        "messages": record.messages + 1,
        "errors": ("made up",),
    }[field]
    with pytest.raises(RecordMismatch, match=field):
        rejudge(msgspec.structs.replace(record, **{field: other}), game)


@pytest.mark.parametrize("keep", [0, 1, 3, -1])
def test_a_record_that_is_cut_off_fails(keep: int) -> None:
    game = ProvisionPointGame(mode="simple")
    record = play_randomly(MatchByHand(game, IDS, 3).open(), Random(3))
    with pytest.raises(RecordMismatch):
        rejudge(msgspec.structs.replace(record, events=record.events[:keep]), game)


def test_a_record_that_goes_on_after_its_end_fails() -> None:
    game = ProvisionPointGame(mode="simple")
    record = play_randomly(MatchByHand(game, IDS, 3).open(), Random(3))
    with pytest.raises(RecordMismatch):
        rejudge(msgspec.structs.replace(record, events=[*record.events, record.events[-2]]), game)


def test_a_forged_size_does_not_make_the_judge_allocate_it() -> None:
    game = ProvisionPointGame(mode="simple")
    match = MatchByHand(game, IDS, 3).open()
    match.act(0, "pass", "x" * 300_000)
    match.read(REFEREE, Abort("x"))
    record = match.record()
    (event,) = [e for e in record.events if e.kind == "rejected"]
    size = str(msgspec.json.decode(event.body)["size"]).encode()
    with pytest.raises(RecordMismatch):
        rejudge(altered(record, event.seq, b'"size":' + size, b'"size":999999999999999'), game)


@pytest.mark.parametrize("methods", [("outcome",), ("view",), ("view", "stopped")])
def test_rules_that_break_end_their_match_as_aborted_and_its_record_is_judged_the_same(
    methods: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where something was written down before they broke, and where they cannot even stop."""
    for method in methods:
        monkeypatch.setattr(SimpleState, method, broken_after_a_commitment(getattr(SimpleState, method)))
    game = ProvisionPointGame(mode="simple", max_rounds_commit=50)
    record = play_virtually(MatchSpec(0, ("a", "b"), 3), game)
    rejudge(record, game)
    assert record.outcome.status == "aborted"
    assert record.outcome.utilities == (0.0, 0.0)
    assert "the rules are broken" in record.errors[-1]


def broken_after_a_commitment(method: Any) -> Any:
    def broken(state: SimpleState, *args: Any) -> Any:
        if state.commitments:
            raise ZeroDivisionError("the rules are broken")
        return method(state, *args)

    return broken
