"""Deadlines of games that keep their own order: every turn has its own."""

from __future__ import annotations

from typing import Any

import pytest
from paced_game import Bid, Market
from paced_matches import body, desks, end, kinds, play_slowly

from sim.messages import (
    REFEREE,
    Deadline,
)
from sim.replay import rejudge

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
