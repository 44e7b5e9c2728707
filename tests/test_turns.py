"""Whose turn it is, one seat at a time and all at once, against a table of nothing but seats."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.game import MessageOnly, Pass, Phase
from sim.games.provision_point import ProvisionPointGame
from sim.testing import MatchByHand
from sim.turns import Concurrent, RoundRobin


class Seats:
    """A table whose seats are asked and never answer by themselves; some have nothing to do."""

    def __init__(self, idle: set[int] | None = None) -> None:
        self.idle = idle or set()
        self.state: Any = self
        self.open: set[int] = set()
        self.asked: list[tuple[int, int]] = []

    def legal(self, seat: int) -> tuple[str, ...]:
        return () if seat in self.idle else ("pass",)

    def open_turn(self, seat: int, round_number: int, legal: tuple[str, ...]) -> None:
        assert legal
        assert seat not in self.open
        self.open.add(seat)
        self.asked.append((seat, round_number))

    def has_turn(self, seat: int) -> bool:
        return seat in self.open

    def answer(self, keeper: RoundRobin | Concurrent, seat: int, *, passed: bool = False) -> bool:
        self.open.discard(seat)
        return keeper.acted(seat, Pass() if passed else MessageOnly())


def phase(order: tuple[int, ...], rounds: int, *, ends: bool = False) -> Phase:
    return Phase("talk", order, rounds, ends_when_all_pass=ends)


# ── one seat at a time ──────────────────────────────────────────────────────────────────────────────────


def test_seats_are_asked_in_the_order_of_the_phase_for_its_number_of_rounds() -> None:
    table = Seats()
    keeper = RoundRobin(table)
    assert keeper.begin(phase((1, 2, 0), 2)) is False
    over = [table.answer(keeper, seat) for seat in (1, 2, 0, 1, 2, 0)]
    assert over == [False] * 5 + [True]
    assert table.asked == [(1, 1), (2, 1), (0, 1), (1, 2), (2, 2), (0, 2)]


def test_a_seat_with_nothing_to_do_is_passed_over() -> None:
    table = Seats(idle={2})
    keeper = RoundRobin(table)
    keeper.begin(phase((1, 2, 0), 2))
    for seat in (1, 0, 1):
        assert table.answer(keeper, seat) is False
    assert table.answer(keeper, 0) is True
    assert [seat for seat, _ in table.asked] == [1, 0, 1, 0]


def test_a_phase_in_which_nobody_has_anything_to_do_is_over_at_once() -> None:
    assert RoundRobin(Seats(idle={0, 1, 2})).begin(phase((0, 1, 2), 5)) is True
    assert Concurrent(Seats(idle={0, 1, 2})).begin(phase((0, 1, 2), 5)) is True


def test_the_last_seat_that_has_something_to_do_is_asked_in_every_round() -> None:
    table = Seats(idle={1, 2})
    keeper = RoundRobin(table)
    keeper.begin(phase((0, 1, 2), 3))
    assert [table.answer(keeper, 0) for _ in range(3)] == [False, False, True]
    assert table.asked == [(0, 1), (0, 2), (0, 3)]


def test_a_full_round_of_passes_ends_a_phase_that_says_so() -> None:
    table = Seats()
    keeper = RoundRobin(table)
    keeper.begin(phase((0, 1), 10, ends=True))
    assert table.answer(keeper, 0, passed=True) is False
    assert table.answer(keeper, 1, passed=False) is False
    assert table.answer(keeper, 0, passed=True) is False
    assert table.answer(keeper, 1, passed=True) is True


def test_passes_of_two_rounds_do_not_add_up_to_one_round() -> None:
    table = Seats()
    keeper = RoundRobin(table)
    keeper.begin(phase((0, 1), 10, ends=True))
    assert [table.answer(keeper, s, passed=p) for s, p in ((0, False), (1, True), (0, True))] == [False] * 3
    assert table.answer(keeper, 1, passed=False) is False


def test_a_full_round_of_passes_does_not_end_a_phase_that_does_not_say_so() -> None:
    table = Seats()
    keeper = RoundRobin(table)
    keeper.begin(phase((0, 1), 2))
    assert [table.answer(keeper, s, passed=True) for s in (0, 1, 0, 1)] == [False, False, False, True]


def test_nobody_acts_out_of_turn_one_seat_at_a_time() -> None:
    table = Seats()
    keeper = RoundRobin(table)
    keeper.begin(phase((0, 1), 2))
    assert not keeper.may_act(0)
    assert not keeper.may_act(1)


@given(st.integers(1, 5), st.integers(1, 6), st.sets(st.integers(0, 4)), st.data())
def test_one_seat_at_a_time_asks_nobody_more_often_than_there_are_rounds(
    seats: int, rounds: int, idle: set[int], data: st.DataObject
) -> None:
    table = Seats(idle)
    keeper = RoundRobin(table)
    over = keeper.begin(phase(tuple(range(seats)), rounds, ends=data.draw(st.booleans())))
    while not over:
        assert len(table.open) == 1
        (seat,) = table.open
        over = table.answer(keeper, seat, passed=data.draw(st.booleans()))
    asked = [seat for seat, _ in table.asked]
    assert all(asked.count(seat) <= rounds for seat in range(seats))
    assert not set(asked) & idle


# ── all at once ─────────────────────────────────────────────────────────────────────────────────────────


def test_all_are_asked_at_once() -> None:
    table = Seats()
    keeper = Concurrent(table)
    assert keeper.begin(phase((1, 2, 0), 2)) is False
    assert table.open == {0, 1, 2}


def test_whoever_has_answered_is_asked_again_when_another_changes_the_picture() -> None:
    table = Seats()
    keeper = Concurrent(table)
    keeper.begin(phase((0, 1, 2), 5))
    table.answer(keeper, 0, passed=True)
    assert table.open == {1, 2}
    table.answer(keeper, 1)
    assert table.open == {0, 2}
    assert table.asked[-1] == (0, 2)


def test_the_phase_is_over_when_everybody_has_answered_the_latest_state_of_things() -> None:
    table = Seats()
    keeper = Concurrent(table)
    keeper.begin(phase((0, 1), 5))
    assert table.answer(keeper, 0) is False
    assert table.answer(keeper, 1, passed=True) is False  # it had not seen what 0 did, and is asked again
    assert table.answer(keeper, 1, passed=True) is True


def test_a_default_that_does_nothing_leaves_the_seat_its_other_turns() -> None:
    """Only the coordinator acts, for at most `max_rounds_announce` turns."""
    table = Seats()
    keeper = Concurrent(table)
    keeper.begin(phase((0,), 2))
    table.open.discard(0)
    assert keeper.acted(0, None) is False
    table.open.discard(0)
    assert keeper.acted(0, None) is True


def test_a_seat_has_as_many_actions_as_the_phase_has_rounds() -> None:
    """The same limits hold per seat (`max_rounds_*` actions each)."""
    table = Seats()
    keeper = Concurrent(table)
    keeper.begin(phase((0, 1), 2))
    table.answer(keeper, 0)
    assert keeper.may_act(0)
    table.answer(keeper, 0)
    assert not keeper.may_act(0)
    table.answer(keeper, 1)
    assert 0 not in table.open
    assert not keeper.may_act(7)


@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_all_at_once_nobody_acts_more_often_than_there_are_rounds_and_it_ends(
    seats: int, rounds: int, data: st.DataObject
) -> None:
    table = Seats()
    keeper = Concurrent(table)
    over = keeper.begin(phase(tuple(range(seats)), rounds))
    acted = [0] * seats
    while not over:
        assert table.open, "nobody is asked and the phase goes on"
        seat = data.draw(st.sampled_from(sorted(table.open)))
        acted[seat] += 1
        over = table.answer(keeper, seat, passed=data.draw(st.booleans()))
    assert max(acted) <= rounds
    assert sum(acted) == len(table.asked)


# ── all at once, in a match ─────────────────────────────────────────────────────────────────────────────


def concurrent(**parameters: Any) -> MatchByHand:
    game = ProvisionPointGame(mode="simple", turn_order="concurrent", **parameters)
    return MatchByHand(game, ("a", "b", "c")).open()


def test_a_phase_has_one_deadline_for_all_and_everybody_silent_gets_the_default() -> None:
    match = concurrent(phase_timeout=7.0)
    assert {ask.deadline for seat in match.seats if (ask := match.ask(seat))} == {7.0}
    match.act(1, "submit_commitment", {"amount": 5})
    match.lapse()
    assert match.outcome is not None
    assert [e.sender for e in match.events if e.kind == "timeout"] == [0, 2]


def test_without_a_phase_timeout_a_phase_lasts_a_turn_timeout_for_each_round() -> None:
    match = concurrent(turn_timeout=4.0, max_rounds_commit=3)
    assert match.judge.deadline == 12.0


def test_a_seat_may_act_unasked_while_the_phase_is_open() -> None:
    match = concurrent(max_rounds_commit=5)
    assert match.act(0, "pass") is None
    assert match.ask(0) is None
    assert match.act(0, "submit_commitment", {"amount": 3}, turn=0) is None


def test_a_turn_that_nobody_was_asked_for_cannot_be_answered() -> None:
    match = concurrent()
    rejection = match.act(0, "pass", turn=10**6)
    assert rejection is not None
    assert rejection.code == "not_your_turn"


def test_an_older_question_of_the_same_phase_can_be_answered_and_one_of_another_phase_cannot() -> None:
    game = ProvisionPointGame(turn_order="concurrent", max_rounds_signal=5)
    match = MatchByHand(game, ("a", "b", "c")).open()
    match.act(0, "announce_project", {"description": "x"})
    (older,) = [turn for seat, turn in match.open_turns() if seat == 1]
    match.act(1, "pass")
    match.act(2, "signal_intent", {"approximate_amount": 3})
    assert match.act(1, "signal_intent", {"approximate_amount": 4}, turn=older) is None
    rejection = match.act(1, "signal_intent", {"approximate_amount": 4}, turn=1)
    assert rejection is not None
    assert rejection.code == "not_your_turn"


def test_after_the_deadline_of_a_phase_an_answer_to_it_is_late() -> None:
    game = ProvisionPointGame(turn_order="concurrent")
    match = MatchByHand(game, ("a", "b")).open()
    match.act(0, "announce_project", {"description": "x"})
    (turn,) = [turn for seat, turn in match.open_turns() if seat == 1]
    match.lapse()
    rejection = match.act(1, "signal_intent", {"approximate_amount": 3}, turn=turn)
    assert rejection is not None
    assert rejection.code == "late"


@pytest.mark.parametrize("order", ["round_robin", "concurrent"])
def test_the_rules_are_the_same_in_both_orders(order: Any) -> None:
    game = ProvisionPointGame(mode="simple", turn_order=order, threshold=100)
    match = MatchByHand(game, ("a", "b"), seed=4).open()
    match.act(0, "submit_commitment", {"amount": 60})
    match.act(1, "submit_commitment", {"amount": 40})
    assert match.outcome is not None
    assert match.outcome.trigger == "threshold_met"
