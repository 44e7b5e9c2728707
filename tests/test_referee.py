"""A match on a bus: deadlines as items of the inbox, races, losses, and rules that raise."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import msgspec
import pytest

from actors.agent import Action, Agent, Answer
from actors.seat import Seat
from actors.turn import Turn
from sim.bus import Address, Bus, LocalBus
from sim.clock import Clock, run_virtual
from sim.delivery import Delivery, UnreliableBus
from sim.errors import QuorumError
from sim.game import Game, State
from sim.games.provision_point import ProvisionPointGame
from sim.games.provision_point.simple import SimpleState
from sim.messages import (
    REFEREE,
    Abort,
    Act,
    AnyMessage,
    Deadline,
    Forfeit,
    Lost,
    MatchEnd,
    MatchOpen,
    Message,
    Update,
    Verdict,
    YourTurn,
)
from sim.record import MatchRecord, MatchSpec
from sim.referee import Referee, abandon
from sim.replay import rejudge
from sim.testing import encode_events, play_on_bus, play_virtually

Play = Callable[..., Awaitable[MatchRecord]]
IDS = ("a", "b")


def simple(**parameters: Any) -> ProvisionPointGame:
    return ProvisionPointGame(mode="simple", **parameters)


class Passes(Agent):
    def decide(self, turn: Turn) -> Answer:
        return Action("pass")


class Races(Agent):
    """Answers its first turn at the very instant at which it lapses, and waits for the verdict."""

    verdicts: list[Verdict]

    async def play(self, seat: Seat) -> None:
        self.verdicts = []
        async for item in seat:
            if isinstance(item, YourTurn):
                if item.turn == 1:
                    await asyncio.sleep(item.remaining)
                answer = Action("submit_commitment", {"amount": 40}) if item.turn == 1 else Action("pass")
                self.verdicts.append(await seat.submit(answer, turn=item.turn))


def kinds(record: MatchRecord, sender: int | None = None) -> list[str]:
    return [event.kind for event in record.events if sender in (None, event.sender)]


def codes(record: MatchRecord) -> list[str]:
    return [msgspec.json.decode(event.body)["code"] for event in record.events if event.kind == "rejected"]


# ── races ───────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_at_the_instant_of_its_deadline_wins_or_loses_and_the_record_says_which(play: Play) -> None:
    game = simple(turn_timeout=5.0, max_rounds_commit=3)
    in_time = 0
    for seed in range(500):
        racer = Races("a")
        record = run_virtual(play(game, [racer, Passes("b")]), explore=seed)
        if racer.verdicts[0].accepted:
            in_time += 1
            assert "timeout" not in kinds(record)
            assert codes(record) == []
            assert record.outcome.details["total_committed"] == 40
        else:
            assert racer.verdicts[0].rejection is not None
            assert kinds(record, 0).index("timeout") < kinds(record, 0).index("rejected")
            assert racer.verdicts[0].rejection.code == "late"
            assert codes(record) == ["late"]
            assert record.outcome.details["total_committed"] == 0
        rejudge(record, game)
    assert 100 <= in_time <= 400, f"in time in {in_time} of 500 schedules"


def test_the_same_schedule_gives_the_same_record(play: Play) -> None:
    game = simple(turn_timeout=5.0, max_rounds_commit=3)
    for seed in range(20):
        one, two = (run_virtual(play(game, [Races("a"), Passes("b")]), explore=seed) for _ in range(2))
        assert encode_events(one) == encode_events(two)


def test_of_two_who_act_at_once_the_inbox_decides_who_was_first() -> None:
    """The order in which the inbox is read is the truth: each of the two funds the project in some schedule."""
    game = simple(turn_order="concurrent", threshold=50)
    first = []

    def both_commit(bus: Bus, clock: Clock) -> Callable[[Address, Address, AnyMessage], None]:
        def receive(sender: Address, to: Address, message: AnyMessage) -> None:
            if isinstance(message, Update) and isinstance(message.message, MatchOpen):
                payload = msgspec.msgpack.encode({"amount": 50})
                act = Act(to.seat, 0, 1, "submit_commitment", payload)
                clock.at(1.0, bus.send, to, sender, act)

        return receive

    for seed in range(200):
        record = run_virtual(play_on_bus(MatchSpec(0, IDS, 1), game, both_commit), explore=seed)
        rejudge(record, game)
        (action,) = [event for event in record.events if event.kind == "action"]
        first.append(action.sender)
    assert 40 <= sum(first) <= 160


# ── deadlines ───────────────────────────────────────────────────────────────────────────────────────────


def silent(bus: Bus, clock: Clock) -> Callable[[Address, Address, AnyMessage], None]:
    """Receive and say nothing."""
    return lambda sender, to, message: None


def test_a_match_of_silent_seats_ends_by_its_deadlines() -> None:
    game = simple(turn_timeout=7.0, max_rounds_commit=3)
    record = run_virtual(play_on_bus(MatchSpec(0, IDS, 1), game, silent))
    assert kinds(record).count("timeout") == 6
    assert (record.outcome.status, record.outcome.trigger) == ("resolved", "rounds_exhausted")
    assert record.seconds == pytest.approx(42.0)
    rejudge(record, game)


@pytest.mark.parametrize("start", [0.1, 0.3, 0.7, 1.1, 12345.678, 1e6 + 0.7, 3e7 + 0.1])
@pytest.mark.parametrize("timeout", [0.1, 0.3, 30.0])
def test_deadlines_are_met_whenever_a_match_opens(start: float, timeout: float) -> None:
    game = simple(turn_timeout=timeout, max_rounds_commit=2)

    async def main() -> MatchRecord:
        await asyncio.sleep(start)
        return await play_on_bus(MatchSpec(0, IDS, 1), game, silent)

    record = run_virtual(main())
    assert record.seconds == pytest.approx(4 * timeout, rel=1e-6)
    assert kinds(record).count("timeout") == 4


def test_many_matches_with_deadlines_share_one_virtual_clock() -> None:
    game = simple(turn_timeout=30.0, max_rounds_commit=10)

    async def main() -> list[MatchRecord]:
        bus = LocalBus()
        matches = (play_on_bus(MatchSpec(n, IDS, n), game, silent, bus=bus) for n in range(100))
        return await asyncio.gather(*matches)

    records = run_virtual(main())
    assert {record.outcome.trigger for record in records} == {"rounds_exhausted"}
    assert {round(record.seconds) for record in records} == {600}


async def test_a_deadline_holds_in_real_time() -> None:
    game = simple(turn_timeout=0.002, max_rounds_commit=1)
    record = await play_on_bus(MatchSpec(0, IDS, 1), game, silent)
    assert kinds(record).count("timeout") == 2
    assert 0.003 < record.seconds < 5


# ── who is heard ────────────────────────────────────────────────────────────────────────────────────────


class Table:
    """A referee whose seats are this test."""

    def __init__(self, game: Game, **settings: Any) -> None:
        self.records: list[MatchRecord] = []
        self.bus = LocalBus()
        self.told: list[tuple[int, Update]] = []
        for seat in range(2):
            self.bus.attach(Address(0, seat), self._receive)
        self.referee = Referee(MatchSpec(0, IDS, 1), game, self.bus, Clock(), self.records.append, **settings)
        self.referee.open()

    def _receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        assert isinstance(message, Update)
        self.told.append((to.seat, message))

    def send(self, sender: Address, message: AnyMessage) -> None:
        self.bus.send(sender, Address(0, REFEREE), message)

    def events(self) -> list[str]:
        return [event.kind for event in self.referee.judge.log.events]


def test_what_only_the_clock_and_the_process_may_say_is_not_taken_from_a_seat() -> None:
    async def main() -> None:
        table = Table(simple())
        for message in (Deadline(1e9), Abort("mine now"), Update([], None), Update([], MatchEnd(b"{}"))):
            table.send(Address(0, 0), message)
        assert table.events() == ["open", "open", "open", "phase"]
        assert table.records == []

    run_virtual(main())


def test_a_seat_of_another_match_is_nobody_here() -> None:
    async def main() -> None:
        table = Table(simple())
        table.send(Address(5, 0), Act(0, 1, 1, "pass", b"\x80"))
        table.send(Address(5, 0), Forfeit(0, 1, "x"))
        table.send(Address(5, 0), Lost(0, "x"))
        assert table.events()[4:] == ["rejected"]
        rejected = table.referee.judge.log.events[-1]
        assert (rejected.sender, rejected.recipients) == (REFEREE, ())
        assert msgspec.json.decode(rejected.body)["code"] == "agent_not_in_match"
        assert table.referee.judge.has_turn(0)

    run_virtual(main())


def test_nothing_is_heard_after_the_end_and_the_end_is_told_once() -> None:
    async def main() -> None:
        table = Table(simple(threshold=10))
        act = Act(0, 1, 1, "submit_commitment", msgspec.msgpack.encode({"amount": 10}))
        table.send(Address(0, 0), act)
        table.send(Address(0, 0), act)
        table.referee.post(Abort("late"))
        assert len(table.records) == 1
        assert sum(isinstance(update.message, MatchEnd) for _, update in table.told) == 2
        await asyncio.sleep(1000)
        assert len(table.records) == 1

    run_virtual(main())


def test_a_seat_that_is_not_reactive_gets_news_with_its_next_question_and_a_reactive_one_at_once() -> None:
    async def main() -> list[int]:
        counts = []
        for reactive in ((), (1,)):
            table = Table(simple(max_rounds_commit=2), reactive=reactive)
            start = sum(seat == 1 for seat, _ in table.told)
            table.send(Address(0, 0), Act(0, 1, 1, "message_only", b"\x80", (Message("x"),)))
            counts.append(sum(seat == 1 for seat, _ in table.told) - start)
        return counts

    assert run_virtual(main()) == [0, 1]


def test_every_event_reaches_a_seat_once_and_in_order() -> None:
    async def main() -> None:
        for reactive in ((), (0, 1)):
            table = Table(simple(max_rounds_commit=3), reactive=reactive)
            for n in range(6):
                table.send(Address(0, n % 2), Act(n % 2, n + 1, n + 1, "pass", b"\x80"))
            for seat in range(2):
                seqs = [event.seq for who, update in table.told if who == seat for event in update.events]
                assert seqs == sorted(set(seqs))
                assert len(seqs) == 1 + 6  # the phase and the six passes

    run_virtual(main())


def test_an_inbox_reports_what_it_has_read() -> None:
    async def main() -> None:
        table = Table(simple())
        table.send(Address(0, 0), Act(0, 1, 1, "pass", b"\x80"))
        statistics = table.referee.statistics()
        assert (statistics.accepted, statistics.refused, statistics.unread) == (1, 0, 0)

    run_virtual(main())


def test_a_match_can_be_aborted_and_its_record_judged_again() -> None:
    async def main() -> MatchRecord:
        table = Table(simple())
        table.referee.post(Abort("interrupted"))
        return table.records[0]

    record = run_virtual(main())
    assert (record.outcome.status, record.errors) == ("aborted", ("interrupted",))
    rejudge(record, simple())


# ── rules that raise ────────────────────────────────────────────────────────────────────────────────────


class Explosive(SimpleState, kw_only=True):
    def apply(self, seat: int, action: Any) -> None:
        raise ZeroDivisionError("in the rules")


class NoView(SimpleState, kw_only=True):
    def view(self, seat: int) -> dict[str, Any]:
        raise KeyError("no view")


class Faulty(ProvisionPointGame, frozen=True, kw_only=True):
    kind: str = "apply"

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        state = super().start(agent_ids, rng)
        fields = {f: getattr(state, f) for f in state.__struct_fields__}
        return {"apply": Explosive, "view": NoView}[self.kind](**fields)


@pytest.mark.parametrize(("kind", "says"), [("apply", "ZeroDivisionError: in the rules"), ("view", "KeyError")])
def test_rules_that_raise_end_their_own_match_in_a_typed_outcome(kind: str, says: str, play: Play) -> None:
    game = Faulty(mode="simple", kind=kind)
    record = run_virtual(play(game, [Passes("a"), Passes("b")]))
    assert record.outcome.status == "aborted"
    assert says in record.errors[-1]
    assert record.outcome.utilities == (0.0, 0.0)


def test_a_match_that_took_its_process_down_is_recorded_as_failed_and_can_be_judged_again() -> None:
    record = abandon(MatchSpec(3, IDS, 1), simple(), "its process died three times")
    assert record.outcome.status == "agent_failed"
    assert record.errors == ("its process died three times",)
    rejudge(record, simple())


def test_a_match_that_is_over_as_it_opens_cannot_be_abandoned() -> None:
    class Over(SimpleState, kw_only=True):
        def legal(self, seat: int) -> tuple[str, ...]:
            return ()

    class Instant(ProvisionPointGame, frozen=True, kw_only=True):
        def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
            state = super().start(agent_ids, rng)
            return Over(**{f: getattr(state, f) for f in state.__struct_fields__})

    with pytest.raises(QuorumError, match="m000003"):
        abandon(MatchSpec(3, IDS, 1), Instant(mode="simple"), "died")
    record = run_virtual(play_on_bus(MatchSpec(0, IDS, 1), Instant(mode="simple"), silent))
    assert record.outcome.status == "resolved"


# ── networks that lose, repeat and mix ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "delivery",
    [
        Delivery(delay="exponential:50ms"),
        Delivery(loss=0.3),
        Delivery(duplicate=0.5),
        Delivery(delay="uniform:0s:2s", reorder=True),
        Delivery(delay="lognormal:100ms:1", loss=0.2, duplicate=0.2, reorder=True),
        Delivery(loss=1.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
def test_a_match_on_an_unreliable_network_ends_and_is_the_same_for_the_same_seed(
    delivery: Delivery, turn_order: Any, play: Play
) -> None:
    game = simple(turn_timeout=1.0, max_rounds_commit=3, turn_order=turn_order)

    async def main(seed: int) -> tuple[MatchRecord, Any]:
        bus = UnreliableBus(LocalBus(), Clock(), delivery, seed)
        record = await play(game, [Passes("a"), Passes("b")], bus=bus, seed=7)
        return record, bus.statistics()

    for seed in range(5):
        (one, seen), (two, seen_too) = (run_virtual(main(seed)) for _ in range(2))
        assert encode_events(one) == encode_events(two)
        assert seen == seen_too
        assert one.outcome.status == "resolved"
        rejudge(one, game)
        if delivery.loss == 1.0:
            assert seen.lost == seen.sent
            assert "action" not in kinds(one)


def test_a_submission_that_arrives_twice_counts_once() -> None:
    async def main() -> MatchRecord:
        bus = UnreliableBus(LocalBus(), Clock(), Delivery(duplicate=1.0), 1)

        def commit_once(inner: Bus, clock: Clock) -> Callable[[Address, Address, AnyMessage], None]:
            causes = iter(range(1, 1000))

            def receive(sender: Address, to: Address, message: AnyMessage) -> None:
                if isinstance(message, Update) and isinstance(message.message, YourTurn):
                    payload = msgspec.msgpack.encode({"amount": 5})
                    act = Act(to.seat, message.message.turn, next(causes), "submit_commitment", payload)
                    clock.at(clock.now() + 1.0, inner.send, to, sender, act)

            return receive

        return await play_on_bus(MatchSpec(0, IDS, 1), simple(), commit_once, bus=bus)

    record = run_virtual(main())
    assert record.outcome.details["total_committed"] == 10
    assert "duplicate" in codes(record)
    rejudge(record, simple())


# ── schedules ───────────────────────────────────────────────────────────────────────────────────────────


def test_one_seat_at_a_time_no_schedule_changes_the_outcome() -> None:
    spec, game = MatchSpec(0, ("a", "b", "c"), 11), ProvisionPointGame()
    outcomes = [play_virtually(spec, game, explore=explore).outcome for explore in (None, *range(20))]
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_all_at_once_the_schedule_matters_and_every_record_can_be_judged_again() -> None:
    spec, game = MatchSpec(0, ("a", "b", "c"), 11), ProvisionPointGame(turn_order="concurrent")
    records = [play_virtually(spec, game, explore=explore) for explore in range(20)]
    assert len({encode_events(record) for record in records}) > 1
    for record in records:
        rejudge(record, game)
