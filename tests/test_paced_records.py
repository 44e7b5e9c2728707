"""Records of games that keep their own order, whatever arrives and on any bus."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from paced_game import Bid, Market, Panel
from paced_matches import DESK_IDS, PANEL_IDS, body, desks, end

from sim.bus import Bus, LocalBus, Receiver
from sim.clock import Clock, run_virtual
from sim.delivery import Delivery, UnreliableBus
from sim.errors import RecordMismatch
from sim.game import Game
from sim.messages import (
    REFEREE,
    Act,
    Forfeit,
    Lost,
    Message,
)
from sim.paced_judge import appoint
from sim.record import MatchRecord, MatchSpec
from sim.replay import rejudge
from sim.rng import generator
from sim.testing import MatchByHand, RandomPlayers, play_on_bus, play_randomly, random_payload
from sim.testing.conformance import changed_records
from sim.testing.players import random_step

# ── records ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
@pytest.mark.parametrize("seed", range(4))
def test_records_of_random_play_with_many_lapses_are_judged_the_same_and_forged_ones_refused(
    order: Any, seed: int
) -> None:
    for game, ids in ((Market(turn_order=order), DESK_IDS), (Panel(turn_order=order, topics=3), PANEL_IDS)):
        match = MatchByHand(game, ids, seed).open()
        record = play_randomly(match, generator(seed, "play"), lapses=0.3)
        rejudge(record, game)
        for what, forged in changed_records(record, generator(seed, "forger")):
            with pytest.raises(RecordMismatch):
                rejudge(forged, game)
                pytest.fail(what)


def test_what_each_seat_may_see_is_the_same_when_a_record_is_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    match = desks()
    worth = match.judge.state.worth[0]  # type: ignore[attr-defined]
    match.act(0, Bid(5, f"{worth}", 99), turn=1, messages=[f"{worth}", Message(f"{worth}", ("s2",))])
    match.act(0, "bribe", turn=2)
    match.lapse()
    again = []
    monkeypatch.setattr("sim.replay.appoint", lambda *args: again.append(appoint(*args)) or again[0])
    end(match)
    for seat in match.seats:
        told = again[0].log.since(0, seat)
        assert told == match.judge.log.since(0, seat)
        assert told != match.events
        assert str(worth).encode() not in b"".join(event.body for event in told if event.kind != "open")


@pytest.mark.parametrize("change", ["thread", "said", "private", "messages", "closes"])
def test_a_record_that_says_otherwise_what_was_said_where_is_refused(change: str) -> None:
    match = desks()
    worth = match.judge.state.worth[0]  # type: ignore[attr-defined]
    match.act(0, Bid(5, f"{worth}"), turn=1, messages=[f"{worth}"])
    match.act(1, "accept")
    record = end(match)
    changes = {
        "thread": 2,
        "said": ["5"],
        "private": {"price": 5.0, "note": "none"},
        "messages": ["5"],
        "closes": False,
    }
    forged = []
    for event in record.events:
        held = body(event)
        if change in held and event.kind in ("action", "notice"):
            packed = msgspec.json.encode(held | {change: changes[change]})
            forged.append(msgspec.structs.replace(event, body=packed))
        else:
            forged.append(event)
    assert forged != record.events
    with pytest.raises(RecordMismatch):
        rejudge(msgspec.structs.replace(record, events=forged), match.game)


# ── on a bus that is not to be relied on ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
@pytest.mark.parametrize(
    "delivery",
    [
        Delivery(duplicate=1.0),
        Delivery(delay="uniform:0:9", reorder=True),
        Delivery(loss=0.3),
        Delivery(delay="exponential:4", loss=0.1, duplicate=0.3, reorder=True),
    ],
    ids=["duplicates", "delays", "losses", "all"],
)
@pytest.mark.parametrize("game", [Market(rounds=2), Panel()], ids=["market", "panel"])
def test_whatever_the_bus_does_a_match_ends_and_is_judged_the_same(game: Game, delivery: Delivery, order: Any) -> None:
    game = msgspec.structs.replace(game, turn_order=order, turn_timeout=20.0)
    spec = MatchSpec(0, DESK_IDS if isinstance(game, Market) else PANEL_IDS, 3)

    async def main(seed: int) -> MatchRecord:
        def players(bus: Bus, clock: Clock) -> Receiver:
            return RandomPlayers(spec, game, bus, clock).receive

        return await play_on_bus(spec, game, players, bus=UnreliableBus(LocalBus(), Clock(), delivery, seed))

    for seed in range(5):
        record = run_virtual(main(seed), explore=seed)
        assert record.outcome.status == "resolved"
        rejudge(record, game)
        if delivery.duplicate == 1.0:
            assert not [e for e in record.events if e.kind == "forfeit"], "what arrives twice is no fault of a seat's"


# ── whatever arrives ────────────────────────────────────────────────────────────────────────────────────


def anything(match: MatchByHand, rng: Random) -> tuple[int, Any]:
    """Draw something that may arrive at a judge, and who sends it."""
    seat = rng.randrange(len(match.seats))
    number = rng.choice(
        [0, rng.randint(-1, 2 + max(match.turns, default=0)), *[turn for _, turn in match.open_turns()]]
    )
    draw = rng.random()
    if draw < 0.01:
        return rng.choice([seat, REFEREE]), Lost(seat, "gone")
    if draw < 0.08:
        return seat, Forfeit(seat, number, "boom")
    if draw < 0.12:
        return rng.choice([-2, 9, (seat + 1) % len(match.seats)]), Forfeit(seat, number, "spoofed")
    if draw < 0.2 and match.script:
        _now, sender, item = rng.choice(match.script)
        return sender, item
    kind = rng.choice(list(match.game.action_types.values()))
    payload = msgspec.msgpack.encode(rng.choice([random_payload(kind, rng), {}, {"price": "many"}, []]))
    text = f"{rng.choice(['hm', match.judge.state.private_facts(seat).get('worth')])}"
    said = (Message(text, rng.choice([None, None, (match.spec.agent_ids[0],)])),) * rng.choice([0, 0, 1, 2, 11])
    return seat, Act(seat, number, match.next_cause(seat), rng.choice([kind.name, kind.name, "bribe"]), payload, said)


def check_sent(match: MatchByHand) -> None:
    """Check that every seat was sent what it may see of what happened, and no more; and forget what it was sent."""
    worth = [match.judge.state.private_facts(seat).get("worth") for seat in match.seats]
    for seat in match.seats:
        for update in match.sent[seat]:
            for event in update.events:
                assert event.recipients is None or seat in event.recipients
                held = body(event)
                if event.kind in ("action", "timeout", "forfeit", "notice"):
                    party = match.judge.state.party(held.get("thread", 0))  # type: ignore[attr-defined]
                    assert party is None or seat in party or seat == event.sender
                assert not {"private", "said", "error"} & set(held)
                if event.kind in ("action", "message") and worth[event.sender] is not None:
                    heard = (*held.get("messages", ()), held.get("text", ""))
                    assert str(worth[event.sender]) not in heard
        match.sent[seat].clear()


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
@pytest.mark.parametrize("game", [Market(buyers=2), Panel(topics=4)], ids=["market", "panel"])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_arrives_a_match_ends_is_judged_the_same_and_tells_nobody_too_much(
    game: Game, order: Any, seed: int
) -> None:
    game = msgspec.structs.replace(game, turn_order=order, max_turns=40)
    ids = ("b1", "b2", "s1", "s2") if isinstance(game, Market) else ("lead", "e1", "e2", "e3")
    match, rng = MatchByHand(game, ids, seed).open(), generator(seed, "anything")
    while match.outcome is None:
        open_turns = match.judge.open_turns()
        assert len({(turn.seat, turn.thread) for turn in open_turns}) == len(open_turns) > 0
        assert order == "concurrent" or len(match.open_turns()) == 1
        assert match.judge.deadline <= min(turn.deadline for turn in open_turns)
        match.now += rng.random()
        if rng.random() < 0.5:
            random_step(match, rng)
            continue
        before = (match.state_bytes(), match.open_turns())
        rejection = match.read(*anything(match, rng))
        rejected = match.events[-1].kind == "rejected"  # and not the last straw
        assert not (rejection and rejected) or (match.state_bytes(), match.open_turns()) == before
        check_sent(match)
    record = end(match)
    assert record.turns <= 40
    assert record.outcome.status in ("resolved", "timed_out")
