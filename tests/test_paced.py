"""Games that keep their own order: what is asked when, what waits, and where it ends."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from paced_game import Bid, Consult, Market, MarketState, Panel, PanelState, Report, market
from paced_matches import DESK_IDS, PANEL_IDS, asks, body, desks, end, kinds, panel, play_slowly

from sim.game import ActionType, Game, Pass
from sim.log import MAX_REJECTIONS
from sim.messages import (
    REFEREE,
    Act,
    Forfeit,
    Lost,
    PhaseOpen,
    YourTurn,
)
from sim.paced import Call, Notice
from sim.replay import rejudge
from sim.testing import MatchByHand, check_game

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
