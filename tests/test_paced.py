"""Games that keep their own order: what is asked when, what waits, what lapses, who sees what."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

import msgspec
import pytest
from paced_game import Bid, Consult, Market, MarketState, Panel, PanelState, Report, market

from sim.bus import Address, Bus, LocalBus, Receiver
from sim.clock import Clock, run_virtual
from sim.delivery import Delivery, UnreliableBus
from sim.errors import RecordMismatch
from sim.game import ActionType, Game, Pass
from sim.log import MAX_REJECTIONS
from sim.messages import (
    REFEREE,
    Abort,
    Act,
    AnyMessage,
    Deadline,
    Event,
    Forfeit,
    Lost,
    Message,
    PhaseOpen,
    Update,
    YourTurn,
    encode,
)
from sim.paced import Call, Notice
from sim.paced_judge import appoint
from sim.record import MatchRecord, MatchSpec
from sim.referee import Referee
from sim.replay import rejudge
from sim.rng import generator
from sim.testing import MatchByHand, RandomPlayers, check_game, play_on_bus, play_randomly, random_payload
from sim.testing.conformance import changed_records
from sim.testing.players import random_step

DESK_IDS = ("b", "s1", "s2", "s3")
PANEL_IDS = ("lead", "e1", "e2")


def desks(order: Any = "concurrent", **parameters: Any) -> MatchByHand:
    """One buyer at three desks, in threads 1 to 3; in concurrent order it has turns 1 to 3 open."""
    return MatchByHand(Market(turn_order=order, **parameters), DESK_IDS).open()


def panel(order: Any = "concurrent", **parameters: Any) -> MatchByHand:
    """A lead in turn 1, who may ask two experts."""
    return MatchByHand(Panel(turn_order=order, **parameters), PANEL_IDS).open()


def body(event: Event) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(event.body)
    return decoded


def kinds(match: MatchByHand) -> list[str]:
    return [event.kind for event in match.events]


def asks(match: MatchByHand, seat: int) -> list[YourTurn | PhaseOpen]:
    """What a seat was asked, in order."""
    return [u.message for u in match.sent[seat] if isinstance(u.message, (YourTurn, PhaseOpen))]


def seen(match: MatchByHand, seat: int) -> str:
    """All that a seat was sent, as text."""
    return b" ".join(encode(update) for update in match.sent[seat]).decode("utf-8", "replace")


def end(match: MatchByHand) -> MatchRecord:
    """End the match, and judge its record again."""
    if match.outcome is None:
        match.read(REFEREE, Abort("the test is over"))
    record = match.record()
    rejudge(record, match.game)
    return record


# ── conformance ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("game", "ids"),
    [
        (Market(rounds=2), DESK_IDS),
        (Market(buyers=2), ("b1", "b2", "s1", "s2")),
        (Market(rounds=4, max_turns=7), DESK_IDS),
        (Panel(), PANEL_IDS),
        (Panel(topics=4, max_turns=5), ("lead", "e1", "e2", "e3")),
    ],
    ids=str,
)
def test_games_that_keep_their_own_order_pass_the_conformance_suite_in_both_orders(game: Game, ids: Any) -> None:
    check_game(game, ids, seeds=range(2))


@pytest.mark.parametrize("broken", ["view", "heard", "shown", "party"])
def test_a_market_that_shows_too_much_does_not_pass(broken: str) -> None:
    class Leaky(MarketState, kw_only=True):
        def view(self, seat: int, thread: int = 0) -> dict[str, Any]:
            return super().view(seat, thread) | ({"all": self.worth} if broken == "view" else {})

        def heard(self, seat: int, text: str) -> str:
            return f"{text} {self.worth[seat]}" if broken == "heard" else text

        def shown(self, seat: int, action: ActionType) -> ActionType:
            return action if broken == "shown" else super().shown(seat, action)

        def party(self, thread: int) -> tuple[int, ...] | None:
            return tuple(range(1 + self.worth[0] % 2)) if broken == "party" else super().party(thread)

    with pytest.raises(AssertionError, match="views leak nothing"):
        check_game(market(Leaky), DESK_IDS, seeds=range(6))


# ── what is asked, and when ─────────────────────────────────────────────────────────────────────────────


def test_in_concurrent_order_all_that_is_called_for_is_asked_at_once() -> None:
    match = desks()
    assert [(ask.turn, ask.thread, ask.round) for ask in asks(match, 0)] == [(1, 1, 1), (2, 2, 1), (3, 3, 1)]
    assert all(isinstance(ask, PhaseOpen) for ask in asks(match, 0))
    match.act(0, Bid(50), turn=2)
    assert match.open_turns() == [(0, 1), (0, 3), (2, 4)]
    end(match)


def test_one_at_a_time_what_is_called_for_first_is_asked_first() -> None:
    match = desks("round_robin")
    order = []
    while match.outcome is None:
        ((seat, turn),) = match.open_turns()
        order.append((seat, match.thread(turn)))
        match.act(seat, "pass")
    assert order[:6] == [(0, 1), (0, 2), (0, 3), (1, 1), (2, 2), (3, 3)]
    assert all(isinstance(ask, YourTurn) for ask in asks(match, 0))
    end(match)


def test_one_at_a_time_a_turn_that_lapses_while_it_waits_has_nobody_else_asked_beside_who_is_asked_already() -> None:
    match = panel("round_robin", topics=1)
    assert match.act(0, Consult("why?")) is None
    match.now = 1.0
    assert match.open_turns() == [(1, 2)], "the second expert is asked once the first has answered"
    match.act(1, Report("so"))
    assert match.open_turns() == [(2, 3)]
    match.act(2, Report("so"))
    assert match.open_turns() == [(0, 1)], "the lead's own turn again"
    assert [ask.turn for ask in asks(match, 0)] == [1, 1]
    end(match)


class WaitsElsewhere(PanelState, kw_only=True):
    """The lead's waiting turn does not end the consultation when it lapses, and calls for more."""

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        if thread == 0 and type(action) is Pass:
            self.calls.append(Call(2, 2, within=None))
            return
        super().apply(seat, action, thread)
        if type(action) is Consult:
            self.calls[:] = [Call(1, 1)]


def panel_of(state: type[PanelState], order: Any, **parameters: Any) -> MatchByHand:
    class Variant(Panel, frozen=True, kw_only=True):
        def start(self, agent_ids: Any, rng: Any) -> Any:
            made = super().start(agent_ids, rng)
            return state(**{name: getattr(made, name) for name in made.__struct_fields__})

    return MatchByHand(Variant(turn_order=order, **parameters), PANEL_IDS).open()


def test_one_at_a_time_what_a_lapsed_turn_calls_for_is_asked_after_who_is_asked_now() -> None:
    match = panel_of(WaitsElsewhere, "round_robin")
    match.now = 5.0
    match.act(0, Consult("why?"))
    match.lapse()
    assert kinds(match)[-1] == "timeout"
    assert match.open_turns() == [(1, 2)], "and not the second expert at the same time"
    match.act(1, Report("so"))
    assert match.open_turns() == [(2, 3)]
    end(match)


def test_a_call_for_an_open_turn_asks_it_again_with_its_number_and_its_deadline() -> None:
    match = panel()
    match.now = 4.0
    match.act(0, Consult("why?"))
    for seat in (1, 2):
        match.now += 1.0
        match.act(seat, Report("so"))
    first, again = asks(match, 0)
    assert (again.turn, again.deadline, again.remaining) == (first.turn, 30.0, 24.0)
    assert "consult" not in again.allowed
    end(match)


class CallsTwice(MarketState, kw_only=True):
    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        super().apply(seat, action, thread)
        self.calls += self.calls


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_a_turn_that_is_called_for_twice_at_once_is_asked_once(order: Any) -> None:
    match = MatchByHand(market(CallsTwice, turn_order=order), ("b", "s")).open()
    match.act(0, Bid(10))
    assert [ask.turn for ask in asks(match, 1)] == [2]
    end(match)


# ── turns that wait ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_a_turn_that_waits_is_open_and_nobody_can_answer_it(order: Any) -> None:
    match = panel(order)
    match.act(0, Consult("why?"))
    assert 1 in [turn.id for turn in match.judge.open_turns()]
    for name in ("report", "consult"):
        rejection = match.act(0, name, {"question": "?"} if name == "consult" else {}, turn=1)
        assert rejection is not None
        assert (rejection.code, "waits" in rejection.reason) == ("not_your_turn", True)
    assert len(asks(match, 0)) == 1, "it is not asked again for it"
    end(match)


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
@pytest.mark.parametrize(("action", "payload"), [("report", {}), ("bribe", {}), ("report", {"text": 5})])
def test_a_flood_of_answers_to_a_turn_that_waits_costs_it_nothing(order: Any, action: str, payload: Any) -> None:
    match = panel(order)
    match.act(0, Consult("why?"))
    for _ in range(MAX_REJECTIONS + 20):
        assert match.act(0, action, payload, turn=1) is not None
    assert "forfeit" not in kinds(match)
    assert kinds(match).count("rejected") == MAX_REJECTIONS
    assert len(asks(match, 0)) == 1
    for seat in (1, 2):
        assert match.act(seat, Report("so")) is None
    assert match.act(0, Report("done"), turn=1) is None
    assert end(match).uncounted == 20


def test_who_waits_may_talk_and_is_not_asked_for_it() -> None:
    match = panel()
    match.act(0, Consult("why?"))
    for _ in range(match.game.max_message_pings):
        assert match.act(0, "message_only", messages=["still here"], turn=1) is None
    rejection = match.act(0, "message_only", messages=["still here"], turn=1)
    assert rejection is not None
    assert rejection.code == "game_rule_violation"
    assert len(asks(match, 0)) == 1
    end(match)


def test_a_turn_that_waits_lapses_at_its_own_deadline_and_takes_what_hangs_on_it_along() -> None:
    match = panel()
    match.now = 10.0
    match.act(0, Consult("why?"))
    deadlines = {turn.seat: turn.deadline for turn in match.judge.open_turns()}
    assert deadlines == {0: 30.0, 1: 30.0, 2: 30.0}, "within the lead's, and not 40"
    match.lapse()
    assert match.now == 30.0
    assert kinds(match)[-4:] == ["timeout", "notice", "notice", "phase"]
    assert match.open_turns() == [(0, 4)]
    late = match.act(1, Report("so"), turn=2)
    assert late is not None
    assert late.code == "late"
    end(match)


def test_what_is_asked_at_the_end_of_the_outer_turn_does_not_outlive_it() -> None:
    match = panel()
    match.now = 30.0  # the deadline is not read yet
    match.act(0, Consult("why?"))
    assert {turn.deadline for turn in match.judge.open_turns()} == {30.0}
    match.lapse()
    assert match.open_turns() == [(0, 4)]
    end(match)


# ── deadlines ───────────────────────────────────────────────────────────────────────────────────────────


def test_every_turn_has_its_own_deadline() -> None:
    match = desks()
    match.now = 7.0
    match.act(0, Bid(5), turn=2)
    match.now = 9.0
    match.act(0, Bid(5), turn=1)
    lapsed = []
    for _ in range(3):
        match.lapse()
        lapsed.append(([body(e)["turn"] for e in match.events if e.kind == "timeout"], match.now))
    assert lapsed == [([3], 30.0), ([3, 4], 37.0), ([3, 4, 5], 39.0)]
    end(match)


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_a_match_in_which_nobody_ever_answers_ends_and_is_judged_the_same(order: Any) -> None:
    match = desks(order)
    while match.outcome is None:
        match.lapse()
    record = end(match)
    assert (record.outcome.status, kinds(match).count("timeout")) == ("resolved", 18)
    first = [e.time for e in record.events if e.kind == "timeout"][:3]
    assert first == ([30.0] * 3 if order == "concurrent" else [30.0, 60.0, 90.0])


def test_a_deadline_that_is_that_of_a_turn_long_over_changes_nothing() -> None:
    match = desks()
    for turn in (1, 2, 3):
        match.now += 1.0
        match.act(0, Bid(5), turn=turn)
    assert match.judge.deadline == 30.0
    events = len(match.events)
    match.read(REFEREE, Deadline(30.0))
    assert (len(match.events), match.judge.deadline) == (events, 31.0)
    end(match)


class Stopwatch(Clock):
    """Counts the timers that fire."""

    __slots__ = ("fired",)

    def __init__(self) -> None:
        super().__init__()
        self.fired = 0

    def at(self, when: float, callback: Any, *args: Any) -> Any:
        def fire() -> None:
            self.fired += 1
            callback(*args)

        return super().at(when, fire)


class Slow:
    """Every seat bids after `delay` seconds, in every thread; seats in `silent` never."""

    def __init__(self, bus: Bus, clock: Clock, delay: float, silent: tuple[int, ...] = ()) -> None:
        self.bus, self.clock, self.delay, self.silent, self.cause = bus, clock, delay, silent, 0

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        if isinstance(message, Update) and isinstance(message.message, (YourTurn, PhaseOpen)):
            if to.seat not in self.silent:
                self.cause += 1
                act = Act(to.seat, message.message.turn, self.cause, "pass", b"\x80")
                self.clock.at(self.clock.now() + self.delay, self.bus.send, to, sender, act)


def play_slowly(game: Game, delay: float, silent: tuple[int, ...] = ()) -> tuple[MatchRecord, int, int]:
    """Play a match; returns its record, how many timers of the referee fired, and how many deadlines it read."""

    async def main() -> tuple[MatchRecord, int, int]:
        stopwatch, read = Stopwatch(), [0]
        ended: list[MatchRecord] = []
        bus = LocalBus()
        spec = MatchSpec(0, DESK_IDS, 1)
        players = Slow(bus, Clock(), delay, silent)
        for seat in range(len(DESK_IDS)):
            bus.attach(Address(0, seat), players.receive)
        referee = Referee(spec, game, bus, stopwatch, ended.append)
        judge_read = referee.judge.read

        def count(sender: int, item: Any, now: float) -> None:
            read[0] += isinstance(item, Deadline)
            judge_read(sender, item, now)

        referee.judge.read = count  # type: ignore[method-assign]
        referee.open()
        clock = Clock()
        while not ended:
            future = clock._loop.create_future()
            clock.at(clock.now() + 10.0, future.set_result, None)
            await future
        return ended[0], stopwatch.fired, read[0]

    return run_virtual(main())


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_a_bound_that_is_out_of_date_costs_a_timer_now_and_then_and_no_busy_loop(order: Any) -> None:
    record, fired, deadlines = play_slowly(Market(turn_order=order, rounds=20, turn_timeout=30.0), 7.0)
    assert record.outcome.status == "resolved"
    assert record.turns == 120
    assert not [e for e in record.events if e.kind == "timeout"]
    assert deadlines <= fired <= record.seconds / 7.0 + 1
    rejudge(record, Market(turn_order=order, rounds=20, turn_timeout=30.0))


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_deadlines_are_exact(order: Any) -> None:
    game = Market(turn_order=order, rounds=3, turn_timeout=10.0)
    record, fired, _ = play_slowly(game, 3.0, silent=(2,))
    timeouts = [e for e in record.events if e.kind == "timeout"]
    assert len(timeouts) == 3
    assert all(e.sender == 2 and e.time == pytest.approx(body(e)["deadline"], abs=1e-6) for e in timeouts)
    if order == "concurrent":
        assert [body(e)["deadline"] for e in timeouts] == pytest.approx([13.0, 26.0, 39.0])
    assert fired <= 15
    rejudge(record, game)


# ── who sees what ───────────────────────────────────────────────────────────────────────────────────────


def test_what_is_done_in_a_thread_is_seen_by_those_who_take_part_and_in_part() -> None:
    match = desks()
    worth = match.judge.state.worth[0]  # type: ignore[attr-defined]
    match.act(0, Bid(77, f"worth {worth} to me", 99.25), turn=2, messages=[f"that is {worth}, you see"])
    event = match.events[-1]
    assert event.recipients == (0, 2)
    assert (body(event)["payload"]["note"], body(event)["messages"]) == (
        "worth [hidden] to me",
        ["that is [hidden], you see"],
    )
    assert body(event)["private"] == {"price": 77.0, "note": f"worth {worth} to me", "limit": 99.25}
    assert body(event)["said"] == [f"that is {worth}, you see"]
    assert "[hidden]" in seen(match, 2)
    assert "that is" not in seen(match, 1) + seen(match, 3)
    for secret in (f"worth {worth}", f"is {worth}", "99.25", "said", "private"):
        assert secret not in seen(match, 1) + seen(match, 2) + seen(match, 3)
    end(match)


def test_a_default_action_is_seen_as_any_other() -> None:
    class BidsByDefault(MarketState, kw_only=True):
        def default_action(self, seat: int, thread: int = 0) -> ActionType | None:
            return Bid(5.0, f"I have {self.worth[seat]}", 98.5)

    match = MatchByHand(market(BidsByDefault, turn_order="concurrent"), DESK_IDS).open()
    worth = match.judge.state.worth[0]  # type: ignore[attr-defined]
    match.lapse()
    timeouts = [e for e in match.events if e.kind == "timeout"]
    assert [e.recipients for e in timeouts] == [(0, 1), (0, 2), (0, 3)]
    assert body(timeouts[0])["private"]["limit"] == 98.5
    assert body(timeouts[0])["payload"] == {"price": 5.0, "note": "I have [hidden]"}
    assert f"have {worth}" not in "".join(seen(match, seat) for seat in (1, 2, 3))
    end(match)


def test_a_private_message_is_heard_in_part_too() -> None:
    match = desks()
    worth = match.judge.state.worth[0]  # type: ignore[attr-defined]
    match.act(0, "pass", turn=1, messages=[Message(f"psst: {worth}", ("s3",)), Message("psst: 5", ("s3",))])
    told = [e for e in match.events if e.kind == "message"]
    assert [e.recipients for e in told] == [(0, 3), (0, 3)]
    assert [body(e).get("said") for e in told] == [f"psst: {worth}", None]
    assert "psst: [hidden]" in seen(match, 3)
    assert "psst" not in seen(match, 1) + seen(match, 2)
    assert f"psst: {worth}" not in "".join(seen(match, seat) for seat in (0, 1, 2, 3))
    end(match)


def test_a_notice_is_for_its_thread_and_what_the_others_are_told_of_a_consultation_is_that_it_was() -> None:
    match = panel()
    match.act(0, Consult("is the moon of cheese?"), turn=1)
    assert "cheese" not in seen(match, 1) + seen(match, 2)
    assert "consult" in seen(match, 1)
    match.act(1, Report("of goat's milk"))
    assert "goat" not in seen(match, 2)
    match.lapse()  # the lead reports nothing, and the second expert is too late
    (notice,) = [e for e in match.events if e.kind == "notice"]
    assert (notice.recipients, body(notice)) == ((0, 2), {"text": "too late", "thread": 2, "closes": True})
    assert "too late" not in seen(match, 1)
    end(match)


@pytest.mark.parametrize(
    ("turn", "thread", "recipients"),
    [(1, 1, (0, 1)), (0, 0, None), (3, 3, (0, 3)), (4, 0, None), (999, 0, None)],
)
def test_who_hears_a_message_follows_from_the_turn_that_it_quotes(turn: int, thread: int, recipients: Any) -> None:
    """An open turn, none (of several), a turn that is over, a turn of somebody else, and one that never was."""
    match = desks()
    match.act(0, Bid(5), turn=3)
    match.read(0, Act(0, turn, 90, "message_only", b"\x80", (Message("hear, hear"),)))
    event = match.events[-1]
    assert (event.kind, event.recipients, body(event).get("thread", 0)) == ("action", recipients, thread)
    for other in (1, 2, 3):
        assert ("hear, hear" in seen(match, other)) == (recipients is None or other in recipients)
    end(match)


def test_after_a_thread_is_closed_those_who_took_part_still_hear_each_other() -> None:
    match = desks()
    match.act(0, Bid(5), turn=2)
    match.act(2, "accept")
    assert match.outcome is not None, "the buyer has bought, and all desks are closed"
    two = MatchByHand(Market(buyers=2, turn_order="concurrent"), ("b1", "b2", "s1", "s2")).open()
    two.act(0, Bid(5), turn=1)
    two.act(2, "accept")  # closes every desk of b1 and of s1
    assert two.open_turns() == [(1, 4)]
    assert two.act(0, "message_only", turn=1, messages=["thanks"]) is None
    assert (two.events[-1].recipients, body(two.events[-1])["thread"]) == ((0, 2), 1)
    assert two.open_turns() == [(1, 4)], "and nobody is asked for it"
    late = two.act(0, "pass", turn=2)
    assert late is not None
    assert late.code == "late"
    end(two)


def test_a_seat_without_a_turn_may_talk_a_little() -> None:
    match = desks()
    most = match.game.max_message_pings
    verdicts = [match.act(3, "message_only", messages=["hello"]) for _ in range(most + 1)]
    assert [v is None for v in verdicts] == [True] * most + [False]
    assert kinds(match).count("action") == most
    end(match)


def test_messages_are_counted_by_turn_and_not_by_seat() -> None:
    match = desks(max_message_pings=2)
    for turn in (1, 2, 3):
        for _ in range(2):
            assert match.act(0, "message_only", messages=["hm"], turn=turn) is None
        assert match.act(0, "message_only", messages=["hm"], turn=turn) is not None
    end(match)


# ── submissions ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_without_a_number_is_taken_where_one_turn_is_open_and_refused_where_several_are() -> None:
    match = desks()
    refused = match.read(0, Act(0, 0, 50, "pass", b"\x80"))
    assert refused is not None
    assert refused.code == "not_your_turn"
    for turn in (1, 2):
        match.act(0, "pass", turn=turn)
    assert match.read(0, Act(0, 0, 51, "pass", b"\x80")) is None
    assert body(match.events[-1])["turn"] == 3
    end(match)


def test_a_turn_of_somebody_else_cannot_be_answered() -> None:
    match = desks()
    refused = match.act(1, "pass", turn=1)
    assert refused is not None
    assert refused.code == "not_your_turn"
    assert match.open_turns() == [(0, 1), (0, 2), (0, 3)]
    end(match)


@pytest.mark.parametrize("action", ["bribe", "message_only"])
def test_what_is_asked_again_says_what_is_legal_by_now(action: str) -> None:
    class OneBid(MarketState, kw_only=True):
        def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
            legal = super().legal(seat, thread)
            return legal if all(desk.price is None for desk in self.desks) else legal and ("pass",)

    match = MatchByHand(market(OneBid, turn_order="concurrent"), DESK_IDS).open()
    match.act(0, Bid(5), turn=1)
    match.act(0, action, turn=2, messages=["hm"])
    assert asks(match, 0)[-1].turn == 2
    assert asks(match, 0)[-1].allowed == ("pass", "message_only")
    end(match)


def test_patience_is_by_turn() -> None:
    match = desks(max_invalid=2)
    for turn in (1, 2):
        match.act(0, "bribe", turn=turn)
    assert match.open_turns() == [(0, 1), (0, 2), (0, 3)]
    match.act(0, "bribe", turn=1)
    assert match.open_turns() == [(0, 2), (0, 3), (1, 4)]
    end(match)


def test_a_forfeit_of_a_turn_that_was_withdrawn_or_is_over_or_anothers_changes_nothing() -> None:
    match = panel()
    match.act(0, Consult("why?"))
    match.lapse()
    events, open_turns = len(match.events), match.open_turns()
    for sender, turn in ((1, 2), (0, 1), (1, 4), (0, 0), (0, 999), (2, -5)):
        match.read(sender, Forfeit(sender, turn, "boom"))
    assert (len(match.events), match.open_turns()) == (events, open_turns)
    match.read(0, Forfeit(0, 4, "boom"))
    assert kinds(match)[events] == "forfeit"
    assert end(match).errors == ("lead: boom",)


def test_what_is_no_longer_legal_is_refused_even_where_one_seat_is_asked_at_a_time() -> None:
    class Changes(WaitsElsewhere, kw_only=True):
        def apply(self, seat: int, action: Any, thread: int = 0) -> None:
            super().apply(seat, action, thread)
            if thread == 0 and type(action) is Pass:
                self.asked.remove(1)

    match = panel_of(Changes, "round_robin")
    match.now = 5.0
    match.act(0, Consult("why?"))
    match.lapse()
    assert match.open_turns() == [(1, 2)]
    refused = match.act(1, Report("so"))
    assert refused is not None
    assert refused.code == "game_rule_violation"
    end(match)


# ── seats that are lost ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_a_seat_that_is_lost_takes_the_default_in_all_its_threads(order: Any) -> None:
    match = desks(order)
    match.read(REFEREE, Lost(0, "gone"))
    forfeits = [body(e)["thread"] for e in match.events if e.kind == "forfeit"]
    assert forfeits == [1, 2, 3]
    assert all(seat != 0 for seat, _ in match.open_turns())
    end(match)


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1, 2)])
def test_a_lost_seat_in_a_game_of_waiting_turns_holds_nobody_up(order: Any, lost: tuple[int, ...]) -> None:
    match = panel(order)
    match.act(0, Consult("why?"))
    for seat in lost:
        match.read(REFEREE, Lost(seat, "gone"))
    for _ in range(20):
        if match.outcome is None:
            match.lapse()
    assert match.outcome is not None
    assert match.outcome.status == "resolved"
    end(match)


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_a_market_of_lost_seats_ends(order: Any) -> None:
    match = desks(order)
    for seat in match.seats:
        match.read(REFEREE, Lost(seat, "gone"))
    assert match.outcome is not None
    assert match.outcome.status == "resolved"
    end(match)


def test_what_is_over_as_soon_as_it_is_asked_is_not_asked() -> None:
    match = panel()
    match.read(REFEREE, Lost(1, "gone"))
    match.read(REFEREE, Lost(2, "gone"))
    match.act(0, Consult("why?"))
    assert [ask.turn for ask in asks(match, 0)] == [1, 1]
    assert asks(match, 1) == asks(match, 2) == []
    end(match)


# ── broken rules, and caps ──────────────────────────────────────────────────────────────────────────────


class CallsWithoutLegal(MarketState, kw_only=True):
    """A seller has nothing to do when it is called for."""

    def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
        return super().legal(seat, thread) if seat == 0 else ()


class Forgets(MarketState, kw_only=True):
    """Nobody is asked after the first answer."""

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        super().apply(seat, action, thread)
        self.calls.clear()


class CallsAStranger(MarketState, kw_only=True):
    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        super().apply(seat, action, thread)
        self.calls[:] = [Call(-1, 1)]


class NothingByDefault(MarketState, kw_only=True):
    def default_action(self, seat: int, thread: int = 0) -> ActionType | None:
        return None


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
@pytest.mark.parametrize(
    ("state", "says"),
    [
        (CallsWithoutLegal, "nobody is asked in phase trade"),
        (Forgets, "nobody is asked in phase trade"),
        (CallsAStranger, "no seat -1"),
        (NothingByDefault, "nobody is asked in phase trade"),
    ],
)
def test_rules_that_forget_to_ask_end_their_match_and_do_not_hang(state: Any, says: str, order: Any) -> None:
    game = market(state, turn_order=order, turn_timeout=5.0)
    record, fired, _ = play_slowly(game, 1.0, silent=(0, 1, 2, 3) if state is NothingByDefault else ())
    assert record.outcome.status == "aborted"
    assert any(says in error for error in record.errors)
    assert fired < 20
    rejudge(record, game)


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_no_more_turns_are_asked_than_max_turns(order: Any) -> None:
    for most in range(1, 9):
        match = desks(order, max_turns=most)
        for _ in range(20):
            if match.outcome is None:
                seat, turn = match.open_turns()[0]
                match.act(seat, "pass", turn=turn)
        assert match.outcome is not None
        assert (match.outcome.status, match.outcome.trigger) == ("timed_out", "max_turns")
        assert end(match).turns == most


class Hold(ActionType, frozen=True):
    """Think about it."""

    name: ClassVar[str] = "hold"
    advances: ClassVar[bool] = False


class GoesRound(MarketState, kw_only=True):
    """Who holds is asked again at once."""

    def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
        legal = super().legal(seat, thread)
        return legal and (*legal, "hold")

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        if type(action) is Hold:
            self.calls.append(Call(seat, thread))
        else:
            super().apply(seat, action, thread)


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_who_holds_for_ever_is_asked_max_turns_times_and_then_waits_for_the_deadline(order: Any) -> None:
    class Circles(Market, frozen=True, kw_only=True):
        action_types: ClassVar[Any] = {**Market.action_types, "hold": Hold}
        state_type: ClassVar[type[MarketState]] = GoesRound

    match = MatchByHand(Circles(turn_order=order, max_turns=7), ("b", "s")).open()
    for _ in range(7):
        assert match.act(0, Hold(), turn=1) is None
    refused = match.act(0, Hold(), turn=1)
    assert refused is not None
    assert "waits" in refused.reason
    assert len(asks(match, 0)) == 7
    match.lapse()
    assert match.open_turns() == [(1, 2)]
    end(match)


def test_a_thread_that_is_closed_takes_the_turns_along_that_were_called_for_in_it() -> None:
    class ClosesWhatItCalls(MarketState, kw_only=True):
        def apply(self, seat: int, action: Any, thread: int = 0) -> None:
            super().apply(seat, action, thread)
            if thread == 1:
                self.desks[0].open = True
                self.notices.append(Notice("over", 1, closes=True))

    for order in ("concurrent", "round_robin"):
        match = MatchByHand(market(ClosesWhatItCalls, turn_order=order), DESK_IDS).open()
        match.act(0, Bid(5), turn=1)
        assert all(match.thread(turn) != 1 for _, turn in match.open_turns())
        assert asks(match, 1) == []
        end(match)


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_a_phase_ends_the_turns_of_the_one_before(order: Any) -> None:
    match = panel(order)
    assert match.act(0, Report("at once")) is None
    assert kinds(match)[-2:] == ["action", "phase"]
    assert match.open_turns() == [(0, 2)]
    assert asks(match, 0)[-1].phase == "topic 2"
    end(match)


def test_the_phase_is_as_the_call_says() -> None:
    match = panel()
    match.act(0, Consult("why?"))
    assert [ask.phase for seat in match.seats for ask in asks(match, seat)] == ["topic 1", "asked", "asked"]
    match.act(1, Report("so"))
    assert body(match.events[-1])["phase"] == "asked"
    end(match)


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
