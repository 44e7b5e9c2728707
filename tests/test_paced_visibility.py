"""Who sees what in games that keep their own order."""

from __future__ import annotations

from typing import Any

import pytest
from paced_game import Bid, Consult, Market, MarketState, Report, market
from paced_matches import DESK_IDS, body, desks, end, kinds, panel, seen

from sim.game import ActionType
from sim.messages import (
    Act,
    Message,
)
from sim.testing import MatchByHand

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
