"""Refused input changes nothing: what must be refused, and whether it is."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from random import Random
from typing import Any, TypeAlias

import msgspec

from sim.actions import decode_payload
from sim.errors import IllegalAction
from sim.game import ActionType, Game, MessageOnly
from sim.messages import (
    REFEREE,
    Act,
    Deadline,
    Forfeit,
    Lost,
    Message,
    ToReferee,
)
from sim.paced import PacedState
from sim.payloads import SCALES, random_payload
from sim.replay import rejudge
from sim.rng import generator
from sim.testing.by_hand import MatchByHand, state_bytes
from sim.testing.players import random_step


def check_refusals(game: Game, ids: tuple[str, ...], seed: int) -> None:
    """Check that what must be refused is, and changes nothing, all through a match."""
    patient = msgspec.structs.replace(game, max_invalid=10**9, max_bytes=min(game.max_bytes, 65536))
    match, rng = MatchByHand(patient, ids, seed).open(), generator(seed, "refusals")
    tried = 0
    while match.outcome is None:
        _check_illegal_actions(match, rng)
        attacks = list(bad_input(match, rng))
        for what, sender, item in attacks if tried == 0 else rng.sample(attacks, min(8, len(attacks))):
            tried += 1
            before = (match.state_bytes(), match.open_turns(), _deadlines(match))
            rejection = match.read(sender, item)
            assert (match.state_bytes(), match.open_turns(), _deadlines(match)) == before, (
                f"{what} changed the state or whose turn it is: {item!r:.500}"
            )
            if isinstance(item, Act) and sender in match.seats:
                assert rejection is not None, f"{what} was not rejected: {item!r:.500}"
        random_step(match, rng)
    rejudge(match.record(), patient)


def _deadlines(match: MatchByHand) -> list[float]:
    return [turn.deadline for turn in match.judge.open_turns()]


def _check_illegal_actions(match: MatchByHand, rng: Random) -> None:
    """Check that what the rules themselves refuse leaves the state as it was."""
    before = match.state_bytes()
    for seat, turn in match.open_turns():
        for name in match.legal(seat, turn):
            kind = match.game.action_types[name]
            for scales in (SCALES, (1e-9,), (1e9,)):
                action = decode_payload(kind, msgspec.msgpack.encode(random_payload(kind, rng, scales)))
                state = copy.deepcopy(match.judge.state)
                try:
                    if isinstance(state, PacedState):
                        state.apply(seat, action, match.thread(turn))
                    else:
                        state.apply(seat, action)
                except IllegalAction:
                    assert state_bytes(state) == before, f"{action} was refused, and yet changed the state"


Attack: TypeAlias = tuple[str, int, ToReferee]


def bad_input(match: MatchByHand, rng: Random) -> Iterator[Attack]:
    """Draw input that must be refused as the match stands: (what it is, who really sends it, the item)."""
    for seat in match.seats:
        ask = match.ask(seat)
        yield from _bad_acts(match, seat, ask.turn if ask is not None else 0, rng)
        yield from _spoofs(match, seat, ask.turn if ask is not None else 0)
    yield "a deadline that is not due", REFEREE, Deadline(match.now - 1.0)
    yield "the loss of nobody", REFEREE, Lost(len(match.seats), "lost")


def _bad_acts(match: MatchByHand, seat: int, turn: int, rng: Random) -> Iterator[Attack]:
    game = match.game

    def act(action: str, payload: bytes, messages: tuple[Message, ...] = (), at: int = turn) -> Act:
        return Act(seat, at, match.next_cause(seat), action, payload, messages)

    legal = match.legal(seat, turn) if match.ask(seat) is not None else ()
    yield "an unknown action", seat, act("no such action", b"\x80")
    for name, kind in game.action_types.items():
        packed = msgspec.msgpack.encode(random_payload(kind, rng))
        hello = (Message("hello"),)
        if name not in (*legal, MessageOnly.name) and not _may_act_unasked(match, seat, name):
            yield f"{name}, which is not legal now", seat, act(name, packed)
        for what, payload in _malformed(kind, packed, rng):
            yield f"{name} with {what}", seat, act(name, payload, hello if kind is MessageOnly else ())
        if kind is not MessageOnly:
            yield f"{name} of a turn that never was", seat, act(name, packed, (), 10**9)
        yield f"{name} to a stranger", seat, act(name, packed, (Message("psst", ("nobody here",)),))
        yield f"{name} with text that is none", seat, act(name, packed, (Message("\ud800"),))
        yield f"{name} to a name that is none", seat, act(name, packed, (Message("psst", ("\udfff",)),))
        yield f"{name} with too many messages", seat, act(name, packed, hello * (game.max_messages_per_turn + 1))
        yield f"{name} with too much text", seat, act(name, packed, (Message("x" * game.max_bytes),) * 2)
    yield "ten megabytes", seat, act(next(iter(game.action_types)), bytes(10**7))
    yield "a message_only without messages", seat, act(MessageOnly.name, b"\x80")
    still_open = [turn.id for turn in match.judge.open_turns()]
    past = [n for n, who in match.turns.items() if who == seat and n not in still_open]
    timed = [name for name, kind in game.action_types.items() if kind is not MessageOnly]
    paced = isinstance(match.judge.state, PacedState)
    over = past if paced or game.turn_order == "round_robin" else [n for n in past if n in match.lapsed]
    for number in over[-3:]:
        yield "an answer to a turn that is over", seat, act(rng.choice(timed), b"\x80", (), number)
    for _now, sender, item in match.script[-20:]:
        if sender == seat and isinstance(item, Act):
            yield "a submission that was received before", seat, item


def _may_act_unasked(match: MatchByHand, seat: int, name: str) -> bool:
    if isinstance(match.judge.state, PacedState):
        return match.game.action_types[name].unasked
    return match.game.turn_order == "concurrent" and name in match.judge.state.legal(seat)


def _malformed(kind: type[ActionType], packed: bytes, rng: Random) -> Iterator[tuple[str, bytes]]:
    fields = msgspec.msgpack.decode(packed)
    wrong: dict[str, Any] = {
        "a list": [1, 2],
        "a map": {"a": {"b": []}},
        "true": True,
        "not a number": math.nan,
        "infinity": math.inf,
        "minus infinity": -math.inf,
        "bytes": b"\xff",
        "a word": "many",
    }
    payloads = [
        (f"{field} = {what}", msgspec.msgpack.encode(fields | {field: value}))
        for field in kind.__struct_fields__
        for what, value in wrong.items()
    ]
    payloads += [
        ("a field that it has not", msgspec.msgpack.encode(fields | {"no such field": 1})),
        ("nothing", msgspec.msgpack.encode(None)),
        ("no bytes", b""),
        ("a list for a map", msgspec.msgpack.encode([1, 2, 3])),
        ("half of its bytes", packed[: len(packed) // 2]),
        ("a byte too many", packed + b"\x01"),
        ("random bytes", rng.randbytes(rng.randint(1, 40))),
        ("a deep nest", b"\x91" * 5000 + b"\x01"),
    ]
    for what, payload in payloads:
        try:
            decode_payload(kind, payload)
        except ValueError:
            yield what, payload


def _spoofs(match: MatchByHand, seat: int, turn: int) -> Iterator[Attack]:
    seats, empty = len(match.seats), b"\x80"
    for other in (*match.seats, seats, seats + 7, REFEREE, -2):
        if other == seat:
            continue
        for name in match.game.action_types:
            cause = match.next_cause(seat)
            yield f"{name} in the name of another", other, Act(seat, turn, cause, name, empty, (Message("I am he"),))
        if other != REFEREE:
            yield "the forfeit of another", other, Forfeit(seat, turn, "spoofed")
            yield "the loss of another", other, Lost(seat, "spoofed")


def check_patience(game: Game, ids: tuple[str, ...], seed: int) -> None:
    """Check that a turn takes the default action after `max_invalid` rejected answers, and not before."""
    match, rng = MatchByHand(game, ids, seed).open(), generator(seed, "patience")
    for _ in range(rng.randint(0, 5)):
        if match.outcome is None:
            random_step(match, rng)
    while match.outcome is None and match.stalled():
        match.lapse()
    if match.outcome is not None:
        return
    seat, turn = rng.choice(match.open_turns())
    rejected = next(open_.invalid for open_ in match.judge.open_turns() if open_.id == turn)
    for attempt in range(rejected, game.max_invalid):
        assert (seat, turn) in match.open_turns(), f"the turn is over after {attempt} rejected answers"
        match.act(seat, "no such action", turn=turn)
    assert (seat, turn) not in match.open_turns(), f"the turn is open after {game.max_invalid} rejected answers"
    assert any(e.kind == "forfeit" and e.sender == seat for e in match.events), "it is not in the record"
