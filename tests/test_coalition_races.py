"""Every race of coalition formation, as a match plays it: inbox order decides, and everybody gets a verdict."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from coalition_players import play
from coalitions import Table

from sim.bus import Address, Bus, Receiver
from sim.clock import Clock, run_virtual
from sim.delivery import Delivery
from sim.games.coalition import CoalitionGame
from sim.messages import REFEREE, Act, AnyMessage, Deadline, Lost, PhaseOpen, Update
from sim.record import MatchRecord, MatchSpec
from sim.replay import rejudge
from sim.testing import encode_events, play_on_bus

PAIR = {"quorum": 2}


@pytest.mark.parametrize("signature_first", [True, False])
def test_a_signature_at_the_very_deadline_counts_if_it_is_read_before_the_clock(signature_first: bool) -> None:
    table = Table(seats=2)
    table.initiate(owes=2)
    table.now = 10.0
    if not signature_first:
        table.read(REFEREE, Deadline(10.0))
    refused = table.send("b", "sign", digest=table.digest(), commit=True)
    if signature_first:
        assert (refused, table.status()) == (None, "consensus")
    else:
        assert refused is not None
        assert table.status() == "failed: timeout"
        assert table.world.ledger.available(1, "units") == 10
    table.judge.state.check()


class AtTheDeadline:
    """Two seats: one initiates, the other signs at the very deadline, in its turn or without one."""

    def __init__(self, bus: Bus, clock: Clock, *, unasked: bool) -> None:
        self._bus, self._clock, self._unasked = bus, clock, unasked

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        ask = message.message if isinstance(message, Update) else None
        if not isinstance(ask, PhaseOpen):
            return
        view = msgspec.msgpack.decode(ask.view)
        if view["step"] == "C1":
            self._act(sender, to, ask, ask.turn, "initiate" if view["task"]["id"] == 1 else "decline", {})
            return
        payload = {"formation": view["formation"], "digest": view["version"]["digest"]}
        turn = 0 if self._unasked else ask.turn
        self._clock.at(self._clock.now() + ask.remaining, self._act, sender, to, ask, turn, "sign", payload)

    def _act(
        self, referee: Address, seat: Address, ask: PhaseOpen, turn: int, name: str, payload: dict[str, Any]
    ) -> None:
        act = Act(seat.seat, turn, ask.turn, name, msgspec.msgpack.encode(payload))
        self._bus.send(seat, referee, act)


def explored(seed: int, *, unasked: bool) -> MatchRecord:
    task: Any = {"value": 30, "quorum": 2, "requires": [], "seconds": 1.0, "at": 0}
    later = task | {"at": 2.0}  # so that the match is not over when what is late comes
    game = CoalitionGame(tasks=[task, later], discoverers=("a",), kinds=0, costs=3, turn_timeout=5.0)  # type: ignore[arg-type]
    spec = MatchSpec(0, ("a", "b"), seed)

    async def playing() -> MatchRecord:
        def players(bus: Bus, clock: Clock) -> Receiver:
            return AtTheDeadline(bus, clock, unasked=unasked).receive

        return await play_on_bus(spec, game, players)

    record = run_virtual(playing(), explore=seed)
    rejudge(record, game)
    return record


@pytest.mark.parametrize("unasked", [False, True], ids=["in its turn", "unasked"])
def test_a_signature_at_the_very_deadline_goes_either_way_and_the_record_says_why(unasked: bool) -> None:
    counted, seeds = 0, 300
    for seed in range(seeds):
        record = explored(seed, unasked=unasked)
        bodies = [(event.kind, json.loads(event.body)) for event in record.events]
        last = [body["facts"] for kind, body in bodies if body.get("facts", {}).get("step") == "threshold"][-1]
        refused = [body for kind, body in bodies if kind == "rejected"]
        assert last["elapsed"] == pytest.approx(1.0, abs=1e-6)
        if record.outcome.trigger == "formed":
            counted += 1
            assert (last["trigger"], last["status"]) == ("signatures_updated", "met")
            assert (last["signers"], last["quorum"], refused) == (["a", "b"], 2, [])
        else:
            assert (last["trigger"], last["status"], last["signers"]) == ("deadline", "timeout", ["a"])
            assert [(body["agent_id"], body["code"]) for body in refused] == [("b", "late")]
            assert refused[0]["reason"] == ("formation 1 is failed (timeout)" if unasked else "turn 2 of b is over")
    assert 0.2 <= counted / seeds <= 0.8


def test_a_signature_after_the_deadline_is_late_even_if_the_clock_is_read_after_it() -> None:
    table = Table(seats=2)
    table.initiate()
    table.now = 10.005
    refused = table.send("b", "sign", digest=table.digest())
    assert refused is not None
    assert refused.code == "late"
    races = table.judge.state.races()
    assert (races["late_signatures"], races["late_by_10_ms"]) == (1, 1)


def test_a_signature_of_version_1_while_version_2_is_made_is_late_and_the_reply_names_version_2() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate()
    old, turn = table.digest(), table.turn("c", 2)
    table.do("b", "modify", parent=old)
    refused = table.act(2, "sign", {"digest": old}, turn=turn)
    assert refused is not None
    assert refused.code == "late"
    assert table.digest() in refused.reason
    assert table.seen("c")["version"]["number"] == 2
    assert table.do("c", "sign", digest=table.digest()) is None
    assert table.judge.state.races()["signatures_of_old_versions"] == 1


def test_of_two_modifications_of_one_version_one_wins_and_the_other_is_told() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate()
    old = table.digest()
    assert table.send("b", "modify", parent=old) is None
    refused = table.send("c", "modify", parent=old, allocation={"a": 1})
    assert refused is not None
    assert refused.code == "late"
    assert table.digest() in refused.reason
    assert table.judge.state.races()["version_conflicts"] == 1
    assert len(table.world.formation(1).versions) == 2


def test_a_modification_in_the_inbox_behind_the_last_signature_changes_nothing() -> None:
    table = Table(tasks=[PAIR])
    table.initiate(owes=1)
    digest, turn = table.digest(), table.turn("c", 2)
    table.do("b", "sign", digest=digest)
    refused = table.act(2, "modify", {"parent": digest}, turn=turn)
    assert refused is not None
    assert refused.code == "late"
    assert table.digest() == digest


@pytest.mark.parametrize("first", ["deploy", "abort", "clock"])
def test_of_deploying_aborting_and_the_clock_the_first_in_the_inbox_wins(first: str) -> None:
    table = Table(seats=2)
    table.initiate(owes=1)
    table.do("b", "sign", digest=table.digest())
    table.now = 5.0
    done = []
    for what in (first, *(name for name in ("deploy", "abort", "clock") if name != first)):
        if what == "clock":
            table.read(REFEREE, Deadline(5.0))
        else:
            done.append((what, table.send("a", what) is None))
    assert table.status() == {"deploy": "active", "abort": "aborted: decided", "clock": "aborted: timeout"}[first]
    assert [what for what, accepted in done if accepted] == [first] * (first != "clock")
    table.judge.state.check()


def test_of_two_initiators_for_one_exclusive_task_one_becomes_active() -> None:
    table = Table(discoverers=("a", "b"))
    table.initiate(thread=1)
    table.initiate("b", thread=2)
    assert table.send("b", "sign", 1, digest=table.digest(1)) is None
    refused = table.send("a", "sign", 2, digest=table.digest(2))
    assert refused is not None
    assert [table.status(1), table.status(2)] == ["active", "failed: superseded"]
    assert table.judge.state.races()["supersessions"] == 1


def test_a_second_signature_is_a_duplicate_and_one_that_arrives_twice_has_no_effect() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate()
    packed = b"\x82\xa9formation\x01\xa6digest\xb0" + table.digest().encode()
    act = Act(1, 0, table.next_cause(1), "sign", packed)
    assert table.read(1, act) is None
    before = table.state_bytes()
    again, second = table.read(1, act), table.send("b", "sign", digest=table.digest())
    assert [again and again.code, second and second.code] == ["duplicate", "duplicate"]
    assert table.state_bytes() == before
    assert table.judge.state.races()["duplicate_signatures"] == 1


@pytest.mark.parametrize("lost", [0, 1])
def test_a_process_that_dies_leaves_no_formation_open_and_no_lock_behind(lost: int) -> None:
    table = Table(seats=3, tasks=[{"quorum": 3}])
    table.initiate(owes=3, commit=True, allocation={"a": 10, "b": 10, "c": 10})
    table.do("b", "sign", digest=table.digest(), commit=True)
    table.read(-1, Lost(lost, "its process died"))
    table.pass_time(20.0)
    assert table.outcome is not None
    assert table.outcome.figures["units"]["available"] == 30
    table.judge.state.check()


def test_an_unasked_action_belongs_where_its_payload_says_whatever_turn_is_open() -> None:
    table = Table(tasks=[{"quorum": 3}, {"at": 1.0}], discoverers=("a", "b"))
    table.do("b", "decline", 2)
    table.initiate(thread=1)
    table.do("b", "pass", 3)
    table.pass_time(1.0)  # b is asked about the other task, and about nothing else
    assert len([turn for turn in table.judge.open_turns() if turn.seat == 1]) == 1
    assert table.send("b", "sign", 1, digest=table.digest()) is None
    assert list(table.world.formation(1).signed) == [0, 1]
    assert len([turn for turn in table.judge.open_turns() if turn.seat == 1]) == 1


@pytest.mark.parametrize("formation", [2, None])
def test_an_unasked_action_about_no_formation_of_its_seat_is_refused(formation: int | None) -> None:
    table = Table()
    table.initiate(invited=["b"])
    for seat, action in ((3, "reject"), (1, "abort")):
        number = formation if seat == 1 else 1
        refused = table.act(seat, action, {} if number is None else {"formation": number}, turn=0)
        assert refused is not None
        assert "a formation that you are invited to" in refused.reason


BAD = Delivery(delay="exponential:0.05", loss=0.1, duplicate=0.1, reorder=True)


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
@pytest.mark.parametrize("seed", range(4))
def test_messages_that_are_lost_reordered_or_duplicated_leave_no_lock_held_and_the_record_can_be_judged_again(
    seed: int, order: str
) -> None:
    game = CoalitionGame(tasks=10, seconds=4.0, turn_timeout=0.5, discoverers=2, units=8, turn_order=order)  # type: ignore[arg-type]
    spec = MatchSpec(0, tuple(f"s{n}" for n in range(6)), seed)
    record = play(spec, game, delivery=BAD, slow=0.3, explore=seed)
    units = record.outcome.figures["units"]
    assert record.outcome.status == "resolved"
    assert (units["held"], units["available"] + units["bound"]) == (0, units["supply"])
    rejudge(record, game)
    assert encode_events(play(spec, game, delivery=BAD, slow=0.3, explore=seed)) == encode_events(record)
