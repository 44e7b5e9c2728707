"""Rulings: what is refused and why, what is recorded, who is told. The rules are those for all games."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sim.errors import ConfigError
from sim.game import Game
from sim.games.provision_point import ProvisionPointGame
from sim.judge import Judge
from sim.log import MAX_REJECTIONS
from sim.messages import (
    REFEREE,
    Abort,
    Act,
    Deadline,
    Event,
    Forfeit,
    Lost,
    MatchEnd,
    MatchOpen,
    Message,
    PhaseOpen,
    Verdict,
    YourTurn,
)
from sim.record import MatchSpec
from sim.replay import rejudge
from sim.rng import derive_each
from sim.testing import MatchByHand

IDS = ("a", "b", "c")


def simple(**parameters: Any) -> MatchByHand:
    """A match of three equal contributors; seat 0 is asked first."""
    return MatchByHand(ProvisionPointGame(mode="simple", **parameters), IDS).open()


def body(event: Event) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(event.body)
    return decoded


def kinds(match: MatchByHand) -> list[str]:
    return [event.kind for event in match.events]


def told(match: MatchByHand, seat: int, kind: type) -> list[Any]:
    return [update.message for update in match.sent[seat] if type(update.message) is kind]


def said_to(match: MatchByHand, seat: int) -> str:
    """All the text of events that a seat was sent."""
    return " ".join(event.body.decode() for update in match.sent[seat] for event in update.events)


def end(match: MatchByHand) -> None:
    """End the match, and judge its record again."""
    if match.outcome is None:
        match.read(REFEREE, Abort("the test is over"))
    rejudge(match.record(), match.game)


# ── codes ───────────────────────────────────────────────────────────────────────────────────────────────


def not_running(match: MatchByHand) -> tuple[int, Act]:
    match.read(REFEREE, Abort("over"))
    return 0, Act(0, 1, 77, "pass", b"\x80")


def foreign(match: MatchByHand) -> tuple[int, Act]:
    return 1, Act(0, 1, 77, "pass", b"\x80")


def out_of_turn(match: MatchByHand) -> tuple[int, Act]:
    return 1, Act(1, 1, 77, "pass", b"\x80")


def unknown_action(match: MatchByHand) -> tuple[int, Act]:
    return 0, Act(0, 1, 77, "bribe", b"\x80")


def bad_payload(match: MatchByHand) -> tuple[int, Act]:
    return 0, Act(0, 1, 77, "submit_commitment", msgspec.msgpack.encode({"amount": "a lot"}))


def against_the_rules(match: MatchByHand) -> tuple[int, Act]:
    return 0, Act(0, 1, 77, "pass", b"\x80", (Message("hi"),) * 11)


def late(match: MatchByHand) -> tuple[int, Act]:
    match.lapse()
    return 0, Act(0, 1, 77, "pass", b"\x80")


def twice(match: MatchByHand) -> tuple[int, Act]:
    act = Act(0, 1, 77, "message_only", b"\x80", (Message("hi"),))
    match.read(0, act)
    return 0, act


def too_large(match: MatchByHand) -> tuple[int, Act]:
    return 0, Act(0, 1, 77, "pass", bytes(300_000))


@pytest.mark.parametrize(
    ("code", "make"),
    [
        ("match_not_running", not_running),
        ("agent_not_in_match", foreign),
        ("not_your_turn", out_of_turn),
        ("invalid_action_type", unknown_action),
        ("invalid_payload", bad_payload),
        ("game_rule_violation", against_the_rules),
        ("late", late),
        ("duplicate", twice),
        ("too_large", too_large),
    ],
)
def test_a_rejected_action_changes_nothing_goes_back_with_a_code_and_a_sentence_and_is_in_the_record(
    code: str, make: Any
) -> None:
    """A rejected action changes nothing, goes back to its sender with a code and a sentence, and is in the record."""
    match = simple()
    sender, act = make(match)
    before, open_turns, events = match.state_bytes(), match.open_turns(), len(match.events)
    rejection = match.read(sender, act)
    assert rejection is not None
    assert rejection.code == code
    assert len(rejection.reason) > 8
    assert (match.state_bytes(), match.open_turns()) == (before, open_turns)
    assert told(match, sender, Verdict)[-1].cause == 77
    if code == "match_not_running":
        assert len(match.events) == events, "the record was closed"
    else:
        (event,) = [e for e in match.events if e.kind == "rejected"]
        assert (event.sender, event.cause, event.recipients) == (sender, 77, (sender,))
        assert (body(event)["code"], body(event)["reason"]) == (code, rejection.reason)
    end(match)


def test_other_seats_are_not_told_of_a_rejection() -> None:
    match = simple()
    match.act(0, "submit_commitment", {"amount": "secret plan"})
    assert "secret plan" not in said_to(match, 1) + said_to(match, 2)
    assert "secret plan" not in said_to(match, 0)  # it is told by the verdict


def test_the_rejection_of_an_answer_comes_with_the_question_asked_again() -> None:
    match = simple()
    rejection = match.act(0, "submit_commitment", {"amount": -5})
    again = told(match, 0, YourTurn)[-1]
    assert again.turn == 1
    assert again.rejection == rejection
    assert told(match, 0, YourTurn)[0].rejection is None


def test_an_action_of_a_stranger_is_recorded_as_nobodys() -> None:
    match = simple()
    match.read(9, Act(9, 1, 1, "pass", b"\x80"))
    match.read(-2, Act(0, 1, 1, "pass", b"\x80"))
    strangers = [e for e in match.events if e.kind == "rejected"]
    assert [(e.sender, e.recipients, body(e)["agent_id"]) for e in strangers] == [(REFEREE, (), None)] * 2
    end(match)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), True, "NaN", "14k", None, [5], {"x": 5}])
def test_numbers_from_agents_must_be_finite_numbers_or_numeric_text(number: Any) -> None:
    """Numbers from agents must be finite and are JSON numbers or numeric strings. A boolean is not a number."""
    match = simple()
    rejection = match.act(0, "submit_commitment", {"amount": number})
    assert rejection is not None
    assert rejection.code == "invalid_payload"
    end(match)


@pytest.mark.parametrize("number", ["50", "$50", 50, 50.0])
def test_numeric_text_reads_as_the_number(number: Any) -> None:
    """("50" and "$50" read as 50)."""
    match = simple()
    assert match.act(0, "submit_commitment", {"amount": number}) is None
    assert match.view(1)["commitments"] == {"a": 50.0}
    end(match)


# ── patience ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("most", [1, 3, 5])
def test_after_max_invalid_rejected_answers_in_a_row_the_turn_takes_the_default_action(most: int) -> None:
    """After `max_invalid` rejected actions in a row on one turn the turn takes the game's default action."""
    match = simple(max_invalid=most)
    for _ in range(most - 1):
        match.act(0, "bribe")
        assert match.open_turns() == [(0, 1)]
    match.act(0, "bribe")
    assert match.open_turns() == [(1, 2)]
    (forfeit,) = [e for e in match.events if e.kind == "forfeit"]
    assert (body(forfeit)["action"], forfeit.sender) == ("pass", 0)
    end(match)


def test_the_default_of_max_invalid_is_three() -> None:
    assert ProvisionPointGame().max_invalid == 3


def test_rejections_of_one_turn_do_not_count_against_the_next() -> None:
    match = simple()
    for _ in range(2):
        match.act(0, "bribe")
    match.act(0, "pass")
    match.act(1, "pass")
    match.act(2, "pass")
    for _ in range(2):
        match.act(0, "bribe")
    assert match.open_turns() == [(0, 4)]


def test_what_was_no_attempt_at_the_turn_does_not_count_against_it() -> None:
    match = simple(max_invalid=2)
    act = Act(0, 1, 50, "message_only", b"\x80", (Message("hi"),))
    match.read(0, act)
    for n in range(20):
        match.read(0, act)  # duplicates
        match.read(1, Act(0, 1, 100 + n, "pass", b"\x80"))  # somebody else in its name
        match.act(0, "pass", turn=9)  # not its turn
    assert match.open_turns() == [(0, 1)]
    assert match.act(0, "pass") is None


def test_babble_out_of_turn_is_written_down_up_to_a_limit_and_counted_beyond() -> None:
    match = simple()
    for _ in range(MAX_REJECTIONS + 40):
        match.act(2, "pass", turn=1)
    assert kinds(match).count("rejected") == MAX_REJECTIONS
    match.read(REFEREE, Abort("over"))
    record = match.record()
    assert record.uncounted == 40
    rejudge(record, match.game)


def test_of_ten_megabytes_the_record_keeps_the_size_alone_whatever_they_were() -> None:
    match = simple()
    huge = bytes(10**7)
    match.read(0, Act(0, 1, 1, "pass", huge))
    match.read(0, Act(0, 1, 1, "pass", huge))
    match.read(1, Act(0, 1, 1, "pass", huge))
    rejected = [e for e in match.events if e.kind == "rejected"]
    assert [body(e)["code"] for e in rejected] == ["too_large", "duplicate", "agent_not_in_match"]
    assert all(10**7 <= body(e)["size"] < 10**7 + 100 for e in rejected)
    assert sum(len(e.body) for e in match.events) < 5000
    end(match)


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────


def test_message_only_is_legal_at_any_time_and_never_advances_the_turn() -> None:
    """`message_only` is legal at any time, never advances the turn."""
    match = simple()
    for seat in (1, 0, 2):
        assert match.act(seat, "message_only", messages=["hello"]) is None
        assert match.open_turns() == [(0, 1)]
    assert match.act(0, "pass") is None
    end(match)


def test_messages_per_turn_are_capped_and_what_is_over_the_cap_is_rejected() -> None:
    """... is capped by `max_messages_per_turn` (10); what is over the cap is rejected, not dropped in silence."""
    match = simple()
    assert match.act(0, "message_only", messages=["hi"] * 10) is None
    rejection = match.act(0, "message_only", messages=["hi"] * 11)
    assert rejection is not None
    assert rejection.code == "game_rule_violation"
    assert "10" in rejection.reason
    assert match.judge.log.messages == 10
    end(match)


def test_message_only_is_capped_within_a_turn_and_free_again_in_the_next() -> None:
    """... and `max_message_pings` (5 rounds of replies)."""
    match = simple(max_invalid=100)
    for seat in (0, 1):
        for _ in range(5):
            assert match.act(seat, "message_only", messages=["ping"]) is None
        rejection = match.act(seat, "message_only", messages=["one more"])
        assert rejection is not None
        assert rejection.code == "game_rule_violation"
    assert match.act(0, "pass") is None
    assert match.act(0, "message_only", messages=["again"]) is None
    end(match)


def test_message_only_needs_a_message() -> None:
    match = simple()
    rejection = match.act(0, "message_only")
    assert rejection is not None
    assert rejection.code == "invalid_payload"


def test_a_public_message_is_seen_by_all_and_is_marked_public() -> None:
    """A message is public or private to named seats."""
    match = simple()
    match.act(0, "message_only", messages=["to everybody"])
    assert all("to everybody" in said_to(match, seat) for seat in range(3))
    (event,) = [e for e in match.events if b"to everybody" in e.body]
    assert event.visibility == "public"
    end(match)


def test_a_private_message_is_seen_by_its_sender_and_its_recipients_and_nobody_else() -> None:
    """A private message is seen by its sender and its recipients, nobody else, and is marked private in the record."""
    match = simple()
    match.act(0, "message_only", messages=[Message("psst", ("c",)), "aloud"])
    assert "psst" in said_to(match, 0)
    assert "psst" in said_to(match, 2)
    assert "psst" not in said_to(match, 1)
    (event,) = [e for e in match.events if b"psst" in e.body]
    assert (event.visibility, event.recipients, body(event)["to"]) == ("private", (0, 2), ["c"])
    end(match)


@pytest.mark.parametrize("to", [("nobody",), ("b", "nobody"), ("",), ("\ud800",)])
def test_an_unknown_recipient_is_an_error_and_nobody_gets_anything(to: tuple[str, ...]) -> None:
    """An unknown recipient is an error."""
    match = simple()
    rejection = match.act(0, "pass", messages=["first", Message("psst", to)])
    assert rejection is not None
    assert rejection.code == "invalid_payload"
    assert match.open_turns() == [(0, 1)]
    assert all("psst" not in said_to(match, seat) and "first" not in said_to(match, seat) for seat in range(3))
    end(match)


def test_messages_of_a_refused_action_are_not_delivered() -> None:
    match = simple()
    match.act(0, "submit_commitment", {"amount": -1}, messages=["look how generous"])
    assert "generous" not in said_to(match, 1)
    end(match)


@pytest.mark.parametrize("where", ["text", "to", "action", "problem"])
@pytest.mark.parametrize("seat", [0, 1])
def test_text_that_is_not_unicode_is_refused_and_can_be_judged_again(where: str, seat: int) -> None:
    match = simple()
    bad = "\ud800"
    act = {
        "text": Act(seat, 1, 5, "pass", b"\x80", (Message(bad),)),
        "to": Act(seat, 1, 5, "pass", b"\x80", (Message("hi", (bad,)),)),
        "action": Act(seat, 1, 5, bad, b"\x80"),
        "problem": Act(seat, 1, 5, "", b"\x80", (), bad),
    }[where]
    rejection = match.read(seat, act)
    assert rejection is not None
    assert rejection.code == "invalid_payload"
    end(match)


@pytest.mark.parametrize("payload", [b"\xc0", b"", b"\xc1", b"\x91\x01", b"\x81\xa6amount" + b"\x91" * 900 + b"\x01"])
@pytest.mark.parametrize("action", ["pass", "submit_commitment"])
def test_a_payload_that_is_no_map_of_fields_is_refused_and_can_be_judged_again(action: str, payload: bytes) -> None:
    match = simple()
    rejection = match.read(0, Act(0, 1, 5, action, payload))
    assert rejection is not None
    assert rejection.code == "invalid_payload"
    end(match)


# ── turns, deadlines and caps ───────────────────────────────────────────────────────────────────────────


def test_pass_advances_the_turn() -> None:
    """`pass` advances the turn."""
    match = simple()
    match.act(0, "pass")
    assert match.open_turns() == [(1, 2)]


def test_every_turn_has_a_deadline_and_a_silent_seat_takes_the_default_action_recorded_as_timeout() -> None:
    """Every turn has a deadline. A silent seat's turn takes the default action and is recorded as `timeout`."""
    match = simple(turn_timeout=12.0)
    (ask,) = told(match, 0, YourTurn)
    assert (ask.deadline, ask.remaining) == (12.0, 12.0)
    match.lapse()
    (event,) = [e for e in match.events if e.kind == "timeout"]
    assert (event.sender, body(event)["action"], body(event)["deadline"], event.time) == (0, "pass", 12.0, 12.0)
    assert match.open_turns() == [(1, 2)]
    assert told(match, 1, YourTurn)[-1].deadline == 24.0
    end(match)


def test_what_is_read_before_the_deadline_counts_and_what_is_read_after_it_is_late() -> None:
    before, after = simple(), simple()
    before.now = before.judge.deadline
    assert before.act(0, "submit_commitment", {"amount": 5}) is None
    after.lapse()
    rejection = after.act(0, "submit_commitment", {"amount": 5}, turn=1)
    assert rejection is not None
    assert rejection.code == "late"
    end(before)
    end(after)


def test_a_deadline_that_was_met_changes_nothing_when_it_is_read() -> None:
    match = simple()
    deadline = match.judge.deadline
    match.now = 1.0
    match.act(0, "pass")
    match.now = deadline
    events = len(match.events)
    match.judge.read(REFEREE, Deadline(deadline), deadline)
    assert len(match.events) == events


def test_every_phase_has_a_round_limit() -> None:
    """Every phase has a round limit."""
    match = simple(max_rounds_commit=2)
    for _ in range(2):
        for seat in range(3):
            assert match.outcome is None
            match.act(seat, "pass")
    assert match.outcome is not None
    assert match.outcome.trigger == "rounds_exhausted"
    end(match)


def test_every_match_has_a_cap_of_turns() -> None:
    """Every match has a cap (`max_turns`)."""
    match = simple(max_turns=4, max_rounds_commit=100)
    for seat in (0, 1, 2, 0):
        match.act(seat, "pass")
    assert match.outcome is not None
    assert (match.outcome.status, match.outcome.trigger, match.outcome.utilities) == (
        "timed_out",
        "max_turns",
        (0, 0, 0),
    )
    assert match.record().turns == 4


def test_an_agent_that_raised_forfeits_its_turn_and_the_error_is_for_the_record_alone() -> None:
    match = simple()
    match.read(0, Forfeit(0, 1, "ValueError: my secret"))
    assert match.open_turns() == [(1, 2)]
    assert all("my secret" not in said_to(match, seat) for seat in range(3))
    assert "forfeit" in kinds(match)
    match.read(REFEREE, Abort("over"))
    record = match.record()
    assert record.errors == ("a: ValueError: my secret", "over")
    rejudge(record, match.game)


def test_a_forfeit_of_another_turn_is_ignored() -> None:
    match = simple()
    match.read(1, Forfeit(1, 1, "x"))
    match.read(0, Forfeit(0, 2, "x"))
    assert match.open_turns() == [(0, 1)]


@pytest.mark.parametrize("sender", [1, 2, 5, -2])
def test_nobody_forfeits_or_leaves_in_the_name_of_another(sender: int) -> None:
    match = simple()
    events = len(match.events)
    match.read(sender, Forfeit(0, 1, "spoofed"))
    match.read(sender, Lost(0, "spoofed"))
    match.read(sender, Lost(sender, "spoofed") if sender not in (1, 2) else Lost(0, "spoofed"))
    assert match.open_turns() == [(0, 1)]
    assert len(match.events) == events


@pytest.mark.parametrize("seat", [3, 99, -1, -3])
def test_the_loss_of_a_seat_that_is_not_there_is_ignored(seat: int) -> None:
    match = simple()
    match.read(REFEREE, Lost(seat, "x"))
    assert match.open_turns() == [(0, 1)]


def test_a_lost_seat_takes_its_default_actions_at_once_for_the_rest_of_the_match() -> None:
    match = simple(max_rounds_commit=3)
    match.read(1, Lost(1, "gone"))
    match.read(1, Lost(1, "gone again"))
    for seat in (0, 2, 0, 2, 0, 2):
        assert match.open_turns()[0][0] == seat
        match.act(seat, "pass")
    assert match.outcome is not None
    assert kinds(match).count("lost") == 1
    assert kinds(match).count("forfeit") == 3
    end(match)


def test_a_match_that_every_seat_has_left_still_ends() -> None:
    match = simple(max_rounds_commit=100)
    for seat in range(3):
        match.read(seat, Lost(seat, "gone"))
    assert match.outcome is not None
    assert match.outcome.status == "resolved"
    end(match)


@pytest.mark.parametrize("status", ["aborted", "agent_failed"])
def test_a_match_can_be_ended_from_outside(status: Any) -> None:
    match = simple()
    match.act(0, "submit_commitment", {"amount": 40})
    match.read(REFEREE, Abort("maintenance", status))
    assert match.outcome is not None
    assert (match.outcome.status, match.outcome.utilities) == (status, (0.0, 0.0, 0.0))
    end(match)


# ── opening and end ─────────────────────────────────────────────────────────────────────────────────────


def test_every_seat_is_told_its_role_its_rules_and_its_private_facts_and_no_others() -> None:
    match = MatchByHand(ProvisionPointGame(valuations={"b": 61, "c": 73}), IDS, seed=5).open()
    openings = [told(match, seat, MatchOpen)[0] for seat in range(3)]
    assert [o.role for o in openings] == ["coordinator", "contributor", "contributor"]
    facts = [msgspec.msgpack.decode(o.private) for o in openings]
    assert facts == [{}, {"my_valuation": 61}, {"my_valuation": 73}]
    assert [o.agent_id for o in openings] == list(IDS)
    assert [o.seed for o in openings] == derive_each(5, "seat", 3)
    assert len({o.seed for o in openings}) == 3
    assert all(o.rules == match.game.rules_text(o.role) for o in openings)


def test_the_end_tells_every_seat_its_own_payoff_alone() -> None:
    match = simple(valuations={"a": 11, "b": 22, "c": 33}, threshold=10)
    match.act(0, "submit_commitment", {"amount": 10})
    ends = [msgspec.json.decode(told(match, seat, MatchEnd)[0].outcome) for seat in range(3)]
    assert [e["utility"] for e in ends] == [11, 22, 33]
    assert all("utilities" not in e and "payoffs" not in e for e in ends)


def test_what_arrives_after_the_end_changes_nothing() -> None:
    match = simple(threshold=10)
    match.act(0, "submit_commitment", {"amount": 10})
    events = [*match.events]
    for sender, item in ((0, Lost(0, "x")), (0, Forfeit(0, 1, "x")), (REFEREE, Abort("x"))):
        match.read(sender, item)
    rejection = match.act(1, "pass", turn=2)
    assert rejection is not None
    assert rejection.code == "match_not_running"
    assert match.events == events


def test_a_judge_asks_with_the_view_of_the_seat_and_what_it_may_do() -> None:
    match = simple(valuations={"a": 11, "b": 22, "c": 33})
    (ask,) = told(match, 0, YourTurn)
    assert msgspec.msgpack.decode(ask.view)["my_reservation_value"] == 11
    assert ask.allowed == ("submit_commitment", "pass", "message_only")
    assert (ask.phase, ask.round) == ("commit", 1)


# ── seats ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (("a", "b", "a"), "more than once: a"),
        (("a", ""), "''"),
        (("a", " b"), "' b'"),
        (("a",), "1 seat"),
        ((), "0 seat"),
    ],
)
def test_seats_that_make_no_table_are_a_configuration_error(ids: tuple[str, ...], says: str) -> None:
    """Seat ids are unique. Too few or too many seats for the game is a configuration error before anything starts."""
    for game in (ProvisionPointGame(), ProvisionPointGame(mode="simple")):
        with pytest.raises(ConfigError, match=says):
            game.check_seats(ids)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("turn_timeout", 0),
        ("turn_timeout", float("inf")),
        ("turn_timeout", float("nan")),
        ("phase_timeout", -1),
        ("max_turns", 0),
        ("max_invalid", 0),
        ("max_messages_per_turn", -1),
        ("max_message_pings", -1),
        ("max_bytes", 10),
    ],
)
def test_a_parameter_that_makes_no_sense_is_a_configuration_error_that_names_it(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{key}="):
        ProvisionPointGame(**{key: value})


def test_a_concurrent_phase_asks_with_phase_open() -> None:
    game: Game = ProvisionPointGame(mode="simple", turn_order="concurrent")
    judge = Judge(MatchSpec(0, IDS, 1), game)
    judge.open()
    asked = [seat for seat, message in judge.outbox if isinstance(message, PhaseOpen)]
    assert asked == [0, 1, 2]
