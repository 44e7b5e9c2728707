"""The conformance suite: all that a game must keep to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, Final, TypeAlias

import msgspec

from sim.errors import ConfigError, RecordMismatch
from sim.game import Game, Outcome
from sim.messages import (
    EventKind,
    encode,
)
from sim.paced import PacedState
from sim.record import MatchRecord, MatchSpec
from sim.replay import rejudge
from sim.rng import generator
from sim.testing.by_hand import MatchByHand, encode_events
from sim.testing.leaks import Alter, check_views
from sim.testing.players import (
    play_virtually,
    random_match,
    random_step,
)
from sim.testing.refusals import check_patience, check_refusals

Budget: TypeAlias = Callable[[Any, Outcome], float | None]
"""Given the final state and the outcome, what the payoffs must add up to; None where nothing is promised."""

TURN_ORDERS: Final = ("round_robin", "concurrent")


def check_game(
    game: Game,
    agent_ids: Sequence[str] | None = None,
    *,
    seeds: Iterable[int] = range(4),
    alter: Alter | None = None,
    budget: Budget | None = None,
) -> None:
    """Check all that a game must keep to, in both turn orders:

    - the same seed gives the same events, byte for byte, to the end of the match, and under one schedule of the
      virtual clock the same record; one seat at a time, no schedule changes the outcome;
    - to look at a state (`view`, `legal`, `phase`, `outcome`, ...) changes nothing in it;
    - no seat is sent a byte that depends on another's private facts, or on the private part of its actions,
      before that seat acts differently;
    - illegal, late, duplicate, foreign and malformed input is rejected, and changes nothing;
    - random legal play ends within `max_turns`, with a finite payoff for each seat, within the budget;
    - a record can be judged again, and one with a changed byte cannot.

    Args:
        game: The game, with its parameters. Its `turn_order` does not matter.
        agent_ids: The seats; None takes the smallest table that the game allows.
        seeds: Seeds of the matches that are played for each property.
        alter: Changes the private facts of one seat in a state that has just been started, and nothing else. None
            finds them itself: what changes `private_facts` of one seat alone is that seat's private matter.
        budget: Given the final state and the outcome, returns what the payoffs must add up to, or None where
            the rules promise nothing.

    Raises:
        AssertionError: It does not; the text names the property, the turn order and the seed.
    """
    ids = smallest_table(game) if agent_ids is None else tuple(agent_ids)
    for order in TURN_ORDERS:
        ordered = msgspec.structs.replace(game, turn_order=order)
        for seed in seeds:
            for name, check in _properties(ordered, ids, seed, alter, budget):
                try:
                    check()
                except Exception as error:
                    said = str(error) if isinstance(error, AssertionError) else f"raised {error!r}"
                    raise AssertionError(f"{game.game_id} ({order}, seed {seed}): {name}: {said}") from error


def smallest_table(game: Game) -> tuple[str, ...]:
    """Return the fewest seats that a game can be played by.

    Raises:
        ConfigError: It asks for ids of its own, or for more than 32 seats.
    """
    problem = None
    for seats in range(1, 33):
        ids = tuple(f"agent_{n + 1}" for n in range(seats))
        try:
            game.check_seats(ids)
        except ConfigError as error:
            problem = error
        else:
            return ids
    raise ConfigError(f"give agent_ids: agent_1, agent_2, ... are not what this game needs ({problem})")


def _properties(
    game: Game, ids: tuple[str, ...], seed: int, alter: Alter | None, budget: Budget | None
) -> list[tuple[str, Callable[[], None]]]:
    return [
        ("the same seed gives the same match", lambda: _check_determinism(game, ids, seed)),
        ("one schedule gives one record", lambda: _check_schedules(game, ids, seed)),
        ("looking at a state leaves it as it is", lambda: _check_looking(game, ids, seed)),
        ("views leak nothing", lambda: check_views(game, ids, seed, alter)),
        ("refused input changes nothing", lambda: check_refusals(game, ids, seed)),
        ("a turn ends after max_invalid rejected answers", lambda: check_patience(game, ids, seed)),
        ("random legal play ends", lambda: _check_end(game, ids, seed, budget)),
        ("a record can be judged again", lambda: _check_record(game, ids, seed)),
    ]


def _check_determinism(game: Game, ids: tuple[str, ...], seed: int) -> None:
    (first, one), (second, two) = random_match(game, ids, seed), random_match(game, ids, seed)
    assert encode_events(one) == encode_events(two), "two matches of one seed differ"
    assert one.outcome == two.outcome, f"{one.outcome} and then {two.outcome}"
    for seat in first.seats:
        same = [encode(u) for u in first.sent[seat]] == [encode(u) for u in second.sent[seat]]
        assert same, f"{ids[seat]} is not sent the same in two matches of one seed"


def _check_schedules(game: Game, ids: tuple[str, ...], seed: int) -> None:
    spec = MatchSpec(0, ids, seed)
    outcomes = []
    for explore in (None, 1, 2):
        one, two = (play_virtually(spec, game, explore=explore) for _ in range(2))
        assert encode_events(one) == encode_events(two), f"schedule {explore} gives two different records"
        rejudge(one, game)
        outcomes.append(one.outcome)
    if game.turn_order == "round_robin":
        assert all(o == outcomes[0] for o in outcomes), f"the schedule changes the outcome: {outcomes}"


def _check_looking(game: Game, ids: tuple[str, ...], seed: int) -> None:
    match, rng = MatchByHand(game, ids, seed).open(), generator(seed, "looking")
    while match.outcome is None:
        state, before = match.judge.state, match.state_bytes()
        for seat in match.seats:
            state.private_facts(seat)
        for seat, thread in _places(match):
            views = [msgspec.msgpack.encode(match.view(seat, thread)) for _ in range(2)]
            assert views[0] == views[1], f"two views of {ids[seat]} differ"
            if isinstance(state, PacedState):
                state.legal(seat, thread)
                state.default_action(seat, thread)
                state.party(thread)
            else:
                state.legal(seat)
                state.default_action(seat)
        state.phase  # noqa: B018
        assert state.outcome() is None, "the game has an outcome, but the match goes on"
        state.stopped("aborted", "aborted")
        assert match.state_bytes() == before, "view, legal, phase, outcome or another of them changed the state"
        random_step(match, rng)


def _places(match: MatchByHand) -> list[tuple[int, int]]:
    """Return where a state can be looked at, as (seat, thread): where the game keeps its own order, what is open."""
    if isinstance(match.judge.state, PacedState):
        return [(seat, match.thread(turn)) for seat, turn in match.open_turns()]
    return [(seat, 0) for seat in match.seats]


def _check_end(game: Game, ids: tuple[str, ...], seed: int, budget: Budget | None) -> None:
    match, record = random_match(game, ids, seed)
    outcome = record.outcome
    most = game.max_turns + (len(ids) if game.turn_order == "concurrent" else 0)
    assert record.turns <= most, f"{record.turns} turns; at most {game.max_turns} are allowed"
    assert outcome.status in ("resolved", "timed_out"), f"nobody failed, and yet it ended as {outcome.status}"
    assert len(outcome.utilities) == len(ids), f"{len(outcome.utilities)} payoffs for {len(ids)} seats"
    assert all(math.isfinite(u) for u in outcome.utilities), f"payoffs {outcome.utilities} are not finite"
    sum_ = None if budget is None else budget(match.judge.state, outcome)
    if sum_ is not None:
        total = sum(outcome.utilities)
        assert math.isclose(total, sum_, rel_tol=1e-9, abs_tol=1e-6), f"payoffs add up to {total}, not to {sum_}"


def _check_record(game: Game, ids: tuple[str, ...], seed: int) -> None:
    _match, record = random_match(game, ids, seed)
    rejudge(record, game)
    for what, changed in changed_records(record, generator(seed, "forger")):
        try:
            rejudge(changed, game)
        except RecordMismatch as mismatch:
            assert record.spec.match_id in str(mismatch), f"{what}: the error does not name the match: {mismatch}"
        else:
            raise AssertionError(f"{what}: nobody noticed")


def changed_records(record: MatchRecord, rng: Random) -> Iterator[tuple[str, MatchRecord]]:
    """Make records that differ from a true one in one event each: (what was changed, the record)."""
    events = list(record.events)
    kinds: tuple[EventKind, ...] = ("open", "action", "message", "rejected", "timeout", "forfeit", "lost", "end")
    for seq, event in enumerate(events):
        at = rng.randrange(len(event.body))
        byte = bytes([event.body[at] ^ (1 << rng.randrange(8))])
        changes: dict[str, Any] = {
            "body": event.body[:at] + byte + event.body[at + 1 :],
            "time": math.nextafter(event.time, math.inf),
            "kind": rng.choice([k for k in kinds if k != event.kind]),
            "sender": event.sender + 1,
            "cause": event.cause + 1,
            "recipients": (0,) if event.recipients is None else None,
            "seq": event.seq + 1,
        }
        for field, value in changes.items():
            forged = msgspec.structs.replace(event, **{field: value})
            yield (
                f"{field} of event {seq}",
                msgspec.structs.replace(record, events=[*events[:seq], forged, *events[seq + 1 :]]),
            )
        yield f"event {seq} left out", msgspec.structs.replace(record, events=[*events[:seq], *events[seq + 1 :]])
