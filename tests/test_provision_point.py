"""The rules of provision point, line by line, and its golden table through agents, bus and referee."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.agent import Action, Agent, Answer
from actors.turn import Turn
from sim.clock import run_virtual
from sim.errors import ConfigError
from sim.game import Outcome
from sim.games.provision_point import ProvisionPointGame
from sim.messages import REFEREE, Abort, MatchEnd, MatchOpen, Rejection
from sim.record import MatchRecord
from sim.replay import rejudge
from sim.testing import MatchByHand, play_randomly

Play = Callable[..., Awaitable[MatchRecord]]

GOLDEN = json.loads((Path(__file__).parent / "golden" / "provision_point.json").read_text())
FULL_VIEW = """num_agents agent_ids coordinator contributors my_role project_spec signals commitments total_committed
threshold endowment my_valuation valuation_mode funded""".split()
SIMPLE_VIEW = (
    """num_agents agent_ids my_role commitments total_committed threshold my_reservation_value funded""".split()
)


def full(seats: int = 3, seed: int = 0, **parameters: Any) -> MatchByHand:
    ids = ("coordinator", *(f"c{n}" for n in range(1, seats)))
    return MatchByHand(ProvisionPointGame(**parameters), ids, seed).open()


def announced(seats: int = 3, **parameters: Any) -> MatchByHand:
    match = full(seats, **parameters)
    assert match.act(0, "announce_project", {"description": "a shared cluster"}) is None
    return match


def committing(seats: int = 3, **parameters: Any) -> MatchByHand:
    """A match in the first turn of its commit phase."""
    match = announced(seats, max_rounds_signal=1, **parameters)
    everybody_passes(match, 1)
    return match


def simple(seats: int = 2, **parameters: Any) -> MatchByHand:
    ids = tuple(f"agent_{n + 1}" for n in range(seats))
    return MatchByHand(ProvisionPointGame(mode="simple", **parameters), ids).open()


def everybody_passes(match: MatchByHand, rounds: int = 1) -> None:
    for _ in range(rounds * len(match.seats)):
        ((seat, _turn),) = match.open_turns()
        assert match.act(seat, "pass") is None


def to_the_end(match: MatchByHand) -> Outcome:
    """Pass until the match is over, and judge its record again."""
    while match.outcome is None:
        for seat, _turn in match.open_turns():
            if match.outcome is None:
                if "pass" in match.judge.state.legal(seat):
                    match.act(seat, "pass")
                else:
                    match.lapse()
    rejudge(match.record(), match.game)
    assert match.outcome is not None
    return match.outcome


def code(rejection: Rejection | None) -> str:
    return "accepted" if rejection is None else rejection.code


def phase(match: MatchByHand) -> str:
    return str(match.judge.state.phase.name)


# ── the golden table ────────────────────────────────────────────────────────────────────────────────────


class Scripted(Agent):
    """Announces, and commits what it is told to."""

    def __init__(self, agent_id: str, amount: float | None) -> None:
        super().__init__(agent_id)
        self.amount = amount

    def decide(self, turn: Turn) -> Answer:
        if "announce_project" in turn.allowed_actions:
            return Action("announce_project", {"description": "golden"})
        if "submit_commitment" in turn.allowed_actions and self.amount is not None:
            return Action("submit_commitment", {"amount": self.amount})
        return Action("pass")


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_the_golden_table_holds_through_agents_bus_and_referee(
    case: dict[str, Any], turn_order: str, play: Play
) -> None:
    parameters = {key: case[key] for key in ("mode", "threshold", "endowment", "valuations") if key in case}
    game = ProvisionPointGame(**parameters, turn_order=turn_order)  # type: ignore[arg-type]
    agents = [Scripted(agent_id, case["commitments"].get(agent_id)) for agent_id in case["utility"]]
    record = run_virtual(play(game, agents))
    rejudge(record, game)
    said = record.outcome.to_dict(record.spec.agent_ids)
    assert {p["agent_id"]: p["utility"] for p in said["payoffs"]} == case["utility"]
    assert (said["trigger"], said["total_committed"], said["threshold"]) == (
        case["trigger"],
        case["total"],
        case["threshold"],
    )
    assert record.outcome.status == "resolved"


def test_the_golden_table_has_both_modes_and_both_triggers() -> None:
    assert {(case["mode"], case["trigger"]) for case in GOLDEN} == {
        (mode, trigger) for mode in ("full", "simple") for trigger in ("threshold_met", "rounds_exhausted")
    }


# ── full: announce ──────────────────────────────────────────────────────────────────────────────────────


def test_seat_0_coordinates_and_only_the_coordinator_acts_in_announce() -> None:
    """Seat 0 coordinates. Announce: only the coordinator acts."""
    match = full()
    assert [match.game.role(match.spec.agent_ids, seat) for seat in match.seats] == [
        "coordinator",
        "contributor",
        "contributor",
    ]
    assert match.open_turns() == [(0, 1)]
    assert code(match.act(1, "announce_project", {"description": "mine"}, turn=1)) == "not_your_turn"
    assert match.ask(0).allowed == ("announce_project", "message_only")  # type: ignore[union-attr]


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_without_an_announcement_the_match_ends_unfunded(rounds: int) -> None:
    """... for at most `max_rounds_announce` turns; without an announcement the match ends unfunded with trigger
    `rounds_exhausted`."""
    match = full(max_rounds_announce=rounds)
    for _ in range(rounds):
        assert match.outcome is None
        match.lapse()
    assert match.outcome == Outcome(
        "resolved",
        "rounds_exhausted",
        (0.0, 0.0, 0.0),
        {"total_committed": 0, "threshold": 100.0},
    )


def test_the_announced_threshold_becomes_the_threshold() -> None:
    """The announced threshold must be finite and > 0 and becomes the threshold."""
    match = full()
    match.act(0, "announce_project", {"description": "x", "threshold": 42, "return_description": "y"})
    for seat in match.seats:
        view = match.view(seat)
        assert view["threshold"] == 42
        assert view["project_spec"] == {"description": "x", "threshold": 42, "return_description": "y"}


@pytest.mark.parametrize("threshold", [0, -1, math.nan, math.inf, True, "a lot", "0"])
def test_an_announced_threshold_that_is_not_finite_and_above_0_is_refused(threshold: Any) -> None:
    match = full()
    assert code(match.act(0, "announce_project", {"description": "x", "threshold": threshold})) == "invalid_payload"
    assert phase(match) == "announce"
    assert match.view(1)["threshold"] == 100


def test_if_left_out_the_configured_threshold_stands() -> None:
    """... if left out, the configured one stands."""
    match = full(threshold=77)
    match.act(0, "announce_project", {"description": "x"})
    assert match.view(2)["project_spec"]["threshold"] == match.view(2)["threshold"] == 77


# ── full: signal and commit ─────────────────────────────────────────────────────────────────────────────


def test_a_round_goes_contributors_first_then_the_coordinator_for_its_number_of_rounds() -> None:
    """Signal and commit: a round goes contributors first (seats 1, 2, ...), then the coordinator; a phase lasts its
    number of full rounds."""
    match = announced(4, max_rounds_signal=2, max_rounds_commit=2)
    order = []
    while match.outcome is None:
        ((seat, _turn),) = match.open_turns()
        order.append((phase(match), seat))
        if phase(match) == "commit" and seat == 1 and "submit_commitment" in match.ask(seat).allowed:  # type: ignore[union-attr]
            match.act(seat, "submit_commitment", {"amount": 1})
        else:
            match.act(seat, "pass")
    assert order == [(p, s) for p in ("signal", "signal", "commit", "commit") for s in (1, 2, 3, 0)]


def test_signals_are_any_amount_from_0_up_may_be_repeated_and_the_last_one_stands() -> None:
    """Signals are any finite amount >= 0, may be repeated, and the last one stands."""
    match = announced(2, endowment=10)
    for amount in (0, 1e9, 33.5):
        assert match.act(1, "signal_intent", {"approximate_amount": amount}) is None
        assert match.view(0)["signals"] == {"c1": amount}
        match.act(0, "pass")
    assert phase(match) == "commit"


@pytest.mark.parametrize("amount", [-0.01, math.nan, math.inf, True, "lots", None])
def test_a_signal_that_is_no_amount_is_refused(amount: Any) -> None:
    match = announced(2)
    assert code(match.act(1, "signal_intent", {"approximate_amount": amount})) == "invalid_payload"
    assert match.view(0)["signals"] == {}


def test_signals_bind_nobody() -> None:
    match = announced(2, max_rounds_signal=1)
    match.act(1, "signal_intent", {"approximate_amount": 90})
    assert to_the_end(match).details["total_committed"] == 0


@pytest.mark.parametrize(
    ("amount", "ruling"),
    [
        (0, "game_rule_violation"),
        (-1, "invalid_payload"),
        (0.01, "accepted"),
        (80, "accepted"),
        (80.01, "game_rule_violation"),
    ],
)
def test_a_commitment_is_above_0_and_at_most_the_endowment(amount: float, ruling: str) -> None:
    """Commit: 0 < amount <= endowment."""
    match = committing(2)
    assert code(match.act(1, "submit_commitment", {"amount": amount})) == ruling
    assert match.view(0)["commitments"] == ({"c1": amount} if ruling == "accepted" else {})


@pytest.mark.parametrize("amount", [0, 81])
def test_a_revised_commitment_keeps_to_the_same_bounds(amount: float) -> None:
    match = committing(2)
    match.act(1, "submit_commitment", {"amount": 40})
    match.act(0, "pass")
    assert code(match.act(1, "update_commitment", {"new_amount": amount})) == "game_rule_violation"
    assert match.act(1, "update_commitment", {"new_amount": 80}) is None
    assert match.view(0)["commitments"] == {"c1": 80}


def test_without_updates_one_submission_is_final() -> None:
    """`update_commitment` and `withdraw_commitment` need `allow_commitment_updates`; without it one submission is
    final."""
    match = committing(2, allow_commitment_updates=False)
    match.act(1, "submit_commitment", {"amount": 40})
    match.act(0, "pass")
    for action, payload in (
        ("update_commitment", {"new_amount": 50}),
        ("withdraw_commitment", {}),
        ("submit_commitment", {"amount": 50}),
    ):
        assert code(match.act(1, action, payload)) == "game_rule_violation"
        if match.open_turns()[0][0] != 1:
            break
    assert match.view(0)["commitments"] == {"c1": 40}


def test_after_a_withdrawal_a_seat_may_submit_again() -> None:
    """After a withdrawal a seat may submit again (if updates are allowed)."""
    match = committing(2)
    match.act(1, "submit_commitment", {"amount": 40})
    match.act(0, "pass")
    assert match.act(1, "withdraw_commitment") is None
    assert match.view(0)["commitments"] == {}
    match.act(0, "pass")
    assert code(match.act(1, "withdraw_commitment")) == "game_rule_violation"
    assert match.act(1, "submit_commitment", {"amount": 30}) is None
    assert match.view(0)["total_committed"] == 30


def test_what_belongs_to_another_phase_or_role_is_not_legal() -> None:
    match = announced(2, max_rounds_signal=1, max_invalid=100)
    assert code(match.act(1, "submit_commitment", {"amount": 4})) == "game_rule_violation"
    assert code(match.act(1, "announce_project", {"description": "x"})) == "game_rule_violation"
    match.act(1, "pass")
    assert code(match.act(0, "signal_intent", {"approximate_amount": 4})) == "game_rule_violation"
    match.act(0, "pass")
    assert code(match.act(1, "signal_intent", {"approximate_amount": 4})) == "game_rule_violation"
    assert code(match.act(1, "update_commitment", {"new_amount": 4})) == "game_rule_violation"


def test_the_commit_phase_ends_when_its_rounds_are_used_up() -> None:
    """The commit phase ends when its rounds are used up, ..."""
    match = committing(2, max_rounds_commit=3)
    for n in range(3):
        assert match.outcome is None
        match.act(
            1, "submit_commitment" if n == 0 else "update_commitment", {"amount": 9} if n == 0 else {"new_amount": 9}
        )
        match.act(0, "pass")
    assert match.outcome is not None


def test_the_commit_phase_ends_after_a_full_round_in_which_every_seat_passed() -> None:
    """... or after a full round in which every seat passed. Then it resolves."""
    match = committing(3, max_rounds_commit=6)
    match.act(1, "submit_commitment", {"amount": 70})
    match.act(2, "pass")
    match.act(0, "pass")
    for seat in (1, 2):
        match.act(seat, "pass")
        assert match.outcome is None
    match.act(0, "pass")
    assert match.outcome is not None


def test_equality_funds() -> None:
    """Funded if total >= threshold (equality funds)."""
    for amount, funded in ((49.99, False), (50, True), (50.01, True)):
        match = committing(2, threshold=50)
        match.act(1, "submit_commitment", {"amount": amount})
        assert (to_the_end(match).trigger == "threshold_met") is funded


def test_a_total_above_the_threshold_does_not_end_the_phase() -> None:
    """A total above the threshold before that does not end the phase: contributors may still move."""
    match = committing(3)
    match.act(1, "submit_commitment", {"amount": 50})
    match.act(2, "submit_commitment", {"amount": 55})
    view = match.view(0)
    assert (view["total_committed"], view["threshold"], view["funded"]) == (105, 100, None)
    match.act(0, "pass")
    assert match.act(1, "withdraw_commitment") is None
    assert to_the_end(match).trigger == "rounds_exhausted"


def test_funded_a_standing_commitment_pays_valuation_minus_commitment_and_everybody_else_gets_0() -> None:
    """Funded: a contributor with a standing commitment gets valuation - commitment; the others and the coordinator 0.
    Trigger `threshold_met`."""
    match = committing(4, valuations={"c1": 80, "c2": 20, "c3": 500}, threshold=100)
    match.act(1, "submit_commitment", {"amount": 60})
    match.act(2, "submit_commitment", {"amount": 45})
    outcome = to_the_end(match)
    assert (outcome.trigger, outcome.utilities) == ("threshold_met", (0, 20, -25, 0))


def test_unfunded_everybody_gets_0() -> None:
    """Unfunded: all 0. Trigger `rounds_exhausted`."""
    match = committing(3, valuations={"c1": 80, "c2": 20})
    match.act(1, "submit_commitment", {"amount": 60})
    outcome = to_the_end(match)
    assert (outcome.trigger, outcome.utilities) == ("rounds_exhausted", (0, 0, 0))
    assert outcome.details == {"total_committed": 60, "threshold": 100}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans())
def test_payoffs_follow_from_the_final_commitments_and_valuations(seed: int, seats: int, concurrent: bool) -> None:
    match = full(seats, seed, turn_order="concurrent" if concurrent else "round_robin", threshold=60)
    outcome = play_randomly(match, Random(seed)).outcome
    state = match.judge.state
    total = math.fsum(state.commitments.values())
    assert outcome.details["total_committed"] == pytest.approx(total)
    assert all(0 < amount <= 80 for amount in state.commitments.values())
    funded = state.project is not None and outcome.details["total_committed"] >= outcome.details["threshold"]
    assert (outcome.trigger == "threshold_met") is funded
    for seat, agent_id in enumerate(match.spec.agent_ids):
        paid = funded and agent_id in state.commitments
        expected = state.valuations[seat] - state.commitments[agent_id] if paid else 0.0
        assert outcome.utilities[seat] == pytest.approx(expected)


# ── full: valuations ────────────────────────────────────────────────────────────────────────────────────


def test_random_valuations_are_uniform_in_their_range_and_follow_from_the_seed() -> None:
    """Valuation modes: random draws uniformly from `valuation_range` with the match's seed."""
    game = ProvisionPointGame(valuation_range=(50, 150))
    drawn = []
    for seed in range(1000):
        one, two = (MatchByHand(game, ("k", "a", "b"), seed).judge.state.valuations for _ in range(2))
        assert one == two
        assert one[0] is None
        drawn += one[1:]
    assert all(50 <= value <= 150 for value in drawn)
    assert len(set(drawn)) == 2000
    quarters = [sum(1 for v in drawn if 50 + 25 * q <= v < 75 + 25 * q) for q in range(4)]
    assert all(430 < count < 570 for count in quarters)


def test_the_default_range_of_valuations_is_0_to_150() -> None:
    assert ProvisionPointGame().valuation_range == (0, 150)
    assert ProvisionPointGame().valuation_mode == "random"


def test_fixed_valuations_name_every_seat_that_needs_one() -> None:
    """`valuations` name every seat that needs one; a missing or unknown seat id is a configuration error that lists
    the ids. Values given without a mode mean `fixed`."""
    game = ProvisionPointGame(valuations={"c1": 80, "c2": 120})
    assert game.valuation_mode == "fixed"
    game.check_seats(("k", "c1", "c2"))
    with pytest.raises(ConfigError, match="missing c3; the seats are k, c1, c2, c3"):
        game.check_seats(("k", "c1", "c2", "c3"))
    with pytest.raises(ConfigError, match="unknown c2; the seats are k, c1"):
        game.check_seats(("k", "c1"))
    with pytest.raises(ConfigError, match="missing agent_2; unknown c1, c2"):
        game.check_seats(("agent_1", "agent_2"))


def test_a_coordinators_valuation_is_accepted_and_ignored() -> None:
    """A coordinator's entry is accepted and ignored."""
    match = MatchByHand(ProvisionPointGame(valuations={"k": 5000, "c1": 80}, threshold=40), ("k", "c1")).open()
    assert "my_valuation" not in match.view(0)
    match.act(0, "announce_project", {"description": "x"})
    while match.outcome is None:
        ((seat, _),) = match.open_turns()
        commit = "submit_commitment" in match.judge.state.legal(seat)
        match.act(seat, "submit_commitment" if commit else "pass", {"amount": 40} if commit else {})
    assert match.outcome.utilities == (0, 40)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"threshold": 0}, "threshold=0"),
        ({"threshold": math.nan}, "threshold=nan"),
        ({"endowment": -1}, "endowment=-1"),
        ({"max_rounds_commit": 0}, "max_rounds_commit=0"),
        ({"max_rounds_announce": 0}, "max_rounds_announce=0"),
        ({"max_rounds_signal": 0}, "max_rounds_signal=0"),
        ({"valuation_range": (5, 4)}, "valuation_range"),
        ({"valuation_range": (-1, 4)}, "valuation_range"),
        ({"valuation_mode": "fixed"}, "needs valuations"),
        ({"valuation_mode": "random", "valuations": {"a": 1}}, "random"),
        ({"valuation_mode": "auto", "valuations": {"a": 1}}, "auto"),
        ({"valuation_mode": "auto", "mode": "simple"}, "auto"),
        ({"valuations": {"a": math.inf}}, "valuations.a"),
    ],
)
def test_parameters_that_make_no_sense_are_a_configuration_error_that_quotes_them(
    parameters: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        ProvisionPointGame(**parameters)


def test_auto_valuations_are_declared_and_the_last_one_stands() -> None:
    """auto takes `my_valuation` (finite, >= 0) from `signal_intent` or `submit_commitment`, the last one stands."""
    match = announced(2, valuation_mode="auto", threshold=50, max_rounds_signal=1)
    assert match.view(1)["my_valuation"] is None
    match.act(1, "signal_intent", {"approximate_amount": 1, "my_valuation": 300})
    assert match.view(1)["my_valuation"] == 300
    match.act(0, "pass")
    match.act(1, "submit_commitment", {"amount": 50, "my_valuation": "$90"})
    assert match.view(1)["my_valuation"] == 90
    assert to_the_end(match).utilities == (0, 40)


def test_an_auto_valuation_that_was_never_declared_is_0() -> None:
    """... default 0."""
    match = committing(2, valuation_mode="auto", threshold=50)
    match.act(1, "submit_commitment", {"amount": 50})
    assert to_the_end(match).utilities == (0, -50)


@pytest.mark.parametrize("valuation", [-1, math.nan, math.inf, True, "much"])
def test_a_declared_valuation_is_finite_and_from_0_up(valuation: Any) -> None:
    match = announced(2, valuation_mode="auto")
    payload = {"approximate_amount": 5, "my_valuation": valuation}
    assert code(match.act(1, "signal_intent", payload)) == "invalid_payload"
    assert (match.view(1)["my_valuation"], match.view(0)["signals"]) == (None, {})


@pytest.mark.parametrize("mode", ["random", "fixed"])
def test_a_valuation_may_be_declared_in_auto_mode_alone_and_the_refusal_changes_nothing(mode: Any) -> None:
    match = announced(2, valuation_mode=mode, valuations={"c1": 5} if mode == "fixed" else None)
    before = match.state_bytes()
    payload = {"approximate_amount": 5, "my_valuation": 7}
    assert code(match.act(1, "signal_intent", payload)) == "game_rule_violation"
    assert match.state_bytes() == before


def everything_sent(match: MatchByHand, seat: int) -> bytes:
    return b"".join(msgspec.msgpack.encode(update) for update in match.sent[seat])


def test_a_valuation_is_in_its_owners_view_and_in_no_message_to_another_seat() -> None:
    """A valuation appears in its owner's view and in the record's private part, never in any other seat's view, the
    action history or public events."""
    match = announced(3, valuation_mode="auto", max_rounds_signal=1)
    match.act(1, "signal_intent", {"approximate_amount": 5, "my_valuation": 31337})
    match.act(2, "pass")
    match.act(0, "pass")
    match.act(1, "submit_commitment", {"amount": 5, "my_valuation": 42424})
    outcome = to_the_end(match)
    number = [msgspec.msgpack.encode(n) for n in (31337.0, 42424.0)]
    for seat in (0, 2):
        sent = everything_sent(match, seat)
        assert b"31337" not in sent
        assert b"42424" not in sent
        assert not any(n in sent for n in number)
        assert b"my_valuation" not in b"".join(e.body for e in match.judge.log.since(0, seat))
    assert match.view(1)["my_valuation"] == 42424
    declared = [e for e in match.events if b"42424" in e.body]
    assert [json.loads(e.body)["private"]["my_valuation"] for e in declared] == [42424]
    assert outcome.utilities == (0, 0, 0)


def test_fixed_and_random_valuations_are_sent_to_nobody_else() -> None:
    for parameters in ({"valuations": {"c1": 31337, "c2": 42424}}, {"valuation_range": (31337, 31337)}):
        match = committing(3, **parameters)
        to_the_end(match)
        assert msgspec.msgpack.encode(31337.0) not in everything_sent(match, 0)
        assert b"31337" not in everything_sent(match, 0)
        assert b"42424" not in everything_sent(match, 1)


# ── full: what is seen, and concurrent order ────────────────────────────────────────────────────────────


def test_the_visible_state_is_the_documented_one_key_for_key() -> None:
    match = committing(3)
    match.act(1, "submit_commitment", {"amount": 50})
    assert list(match.view(1)) == [*FULL_VIEW[:11], "valuation_mode", "funded", "my_valuation"]
    assert sorted(match.view(1)) == sorted(FULL_VIEW)
    assert set(FULL_VIEW) - set(match.view(0)) == {"my_valuation"}
    assert sorted(simple().view(0)) == sorted(SIMPLE_VIEW)


@pytest.mark.parametrize("role", ["coordinator", "contributor"])
@pytest.mark.parametrize("mode", ["full", "simple"])
def test_the_rules_in_words_name_the_numbers_of_this_game(mode: Any, role: str) -> None:
    game = ProvisionPointGame(mode=mode, threshold=123, endowment=45, max_rounds_commit=7)
    said = game.rules_text(role)
    assert "123" in said
    assert "7" in said
    assert ("45" in said) is (mode == "full")
    assert said == ProvisionPointGame(mode=mode, threshold=123, endowment=45, max_rounds_commit=7).rules_text(role)


def test_in_concurrent_order_signal_and_commit_are_open_to_all_until_the_deadline_of_their_phase() -> None:
    """Turn order `concurrent`: signal and commit are open to all at once until their phase deadline."""
    match = announced(3, turn_order="concurrent", phase_timeout=50.0)
    assert [seat for seat, _ in match.open_turns()] == [0, 1, 2]
    match.lapse()
    assert (phase(match), match.now) == ("commit", 50.0)
    assert match.act(2, "submit_commitment", {"amount": 60}) is None
    assert match.act(1, "submit_commitment", {"amount": 60}) is None
    match.lapse()
    assert match.outcome is not None
    assert match.outcome.trigger == "threshold_met"


def test_in_concurrent_order_a_seat_has_as_many_actions_as_the_phase_has_rounds() -> None:
    """The same limits hold per seat (`max_rounds_*` actions each)."""
    match = announced(2, turn_order="concurrent", max_rounds_signal=2)
    rulings = [code(match.act(1, "signal_intent", {"approximate_amount": n}, turn=0)) for n in range(3)]
    assert rulings == ["accepted", "accepted", "not_your_turn"]


# ── simple ──────────────────────────────────────────────────────────────────────────────────────────────


def test_all_seats_are_contributors_in_one_phase_of_at_most_max_rounds_commit_rounds() -> None:
    """All seats are contributors. One phase, commit, at most `max_rounds_commit` rounds."""
    match = simple(3, max_rounds_commit=2)
    assert [match.game.role(match.spec.agent_ids, seat) for seat in match.seats] == ["contributor"] * 3
    for _ in range(6):
        assert phase(match) == "commit"
        ((seat, _turn),) = match.open_turns()
        match.act(seat, "pass")
    assert match.outcome is not None
    assert match.outcome.details["resolved_by"] == "rounds"


def test_each_seat_commits_once() -> None:
    """Each seat commits once."""
    match = simple(2, max_rounds_commit=3)
    match.act(0, "submit_commitment", {"amount": 5})
    match.act(1, "pass")
    assert match.open_turns()[0][0] == 1  # seat 0 has nothing left to do
    assert code(match.act(0, "submit_commitment", {"amount": 6}, turn=3)) == "not_your_turn"
    assert match.view(1)["commitments"] == {"agent_1": 5}


@pytest.mark.parametrize(("amount", "ruling"), [(0, "accepted"), (1e9, "accepted"), (-1, "invalid_payload")])
def test_an_amount_is_0_or_more_without_a_cap(amount: float, ruling: str) -> None:
    """amount >= 0, no endowment cap."""
    assert code(simple(endowment=1).act(0, "submit_commitment", {"amount": amount})) == ruling


@pytest.mark.parametrize("action", ["update_commitment", "withdraw_commitment", "signal_intent", "announce_project"])
def test_actions_of_the_full_mode_are_unknown(action: str) -> None:
    assert code(simple().act(0, action, {})) == "invalid_action_type"


def test_a_valuation_cannot_be_declared() -> None:
    assert code(simple().act(0, "submit_commitment", {"amount": 1, "my_valuation": 2})) == "invalid_payload"


def test_it_resolves_as_soon_as_the_threshold_is_met() -> None:
    """It resolves as soon as total >= threshold (`threshold_met`)."""
    match = simple(3, threshold=100)
    match.act(0, "submit_commitment", {"amount": 100})
    assert match.outcome is not None
    assert (match.outcome.trigger, match.outcome.details["resolved_by"]) == ("threshold_met", "threshold")


def test_it_resolves_when_all_have_committed() -> None:
    """... or all have committed (`rounds_exhausted`; `resolved_by` says which)."""
    match = simple(2, threshold=100)
    match.act(0, "submit_commitment", {"amount": 40})
    match.act(1, "submit_commitment", {"amount": 59})
    assert match.outcome is not None
    assert (match.outcome.trigger, match.outcome.details["resolved_by"]) == ("rounds_exhausted", "all_committed")


def test_it_resolves_when_the_rounds_are_used_up() -> None:
    """... or the rounds are used up."""
    match = simple(2, max_rounds_commit=1)
    match.act(0, "submit_commitment", {"amount": 40})
    match.act(1, "pass")
    assert match.outcome is not None
    assert (match.outcome.trigger, match.outcome.details["resolved_by"]) == ("rounds_exhausted", "rounds")


def test_funded_every_seat_gets_its_reservation_value_committed_or_not() -> None:
    """Funded: every seat gets its reservation value, committed or not."""
    match = simple(3, threshold=50, valuations={"agent_1": 1, "agent_2": 22, "agent_3": 333})
    match.act(0, "submit_commitment", {"amount": 50})
    assert match.outcome is not None
    assert match.outcome.utilities == (1, 22, 333)


def test_unfunded_every_seat_loses_its_commitment() -> None:
    """Unfunded: minus its commitment; 0 if it made none."""
    match = simple(3, max_rounds_commit=1)
    match.act(0, "submit_commitment", {"amount": 40})
    match.act(1, "submit_commitment", {"amount": 0})
    match.act(2, "pass")
    assert match.outcome is not None
    assert match.outcome.utilities == (-40, 0, 0)


def test_everybody_sees_all_commitments_and_the_total_and_its_own_reservation_value_alone() -> None:
    """Everyone sees all commitments and the total; the reservation value is private."""
    match = simple(2, valuations={"agent_1": 31337, "agent_2": 42424})
    match.act(0, "submit_commitment", {"amount": 40})
    for seat, own, other in ((0, 31337, 42424), (1, 42424, 31337)):
        view = match.view(seat)
        assert (view["commitments"], view["total_committed"]) == ({"agent_1": 40}, 40)
        assert view["my_reservation_value"] == own
        assert msgspec.msgpack.encode(float(other)) not in everything_sent(match, seat)
        assert str(other).encode() not in everything_sent(match, seat)


def test_reservation_values_name_every_seat() -> None:
    """`reservation_values` name every seat that needs one."""
    game = ProvisionPointGame(mode="simple", valuations={"agent_1": 70})
    with pytest.raises(ConfigError, match="missing agent_2"):
        game.check_seats(("agent_1", "agent_2"))


@pytest.mark.parametrize("mode", ["full", "simple"])
def test_a_match_that_is_cut_off_pays_nobody(mode: Any) -> None:
    match = committing(2) if mode == "full" else simple()
    match.act(match.open_turns()[0][0], "submit_commitment", {"amount": 50})
    match.read(REFEREE, Abort("power cut"))
    assert match.outcome is not None
    assert (match.outcome.status, match.outcome.utilities) == ("aborted", (0, 0))


def test_an_outcome_has_the_documented_shape() -> None:
    match = simple(2, threshold=10, valuations={"agent_1": 70, "agent_2": 70})
    match.act(0, "submit_commitment", {"amount": 10})
    assert match.outcome is not None
    said = match.outcome.to_dict(match.spec.agent_ids)
    assert said["payoffs"] == [{"agent_id": "agent_1", "utility": 70.0}, {"agent_id": "agent_2", "utility": 70.0}]
    assert {key: said[key] for key in ("trigger", "total_committed", "threshold")} == {
        "trigger": "threshold_met",
        "total_committed": 10,
        "threshold": 10,
    }
    openings = [u.message for u in match.sent[0] if isinstance(u.message, MatchOpen)]
    ends = [u.message for u in match.sent[0] if isinstance(u.message, MatchEnd)]
    assert (len(openings), len(ends)) == (1, 1)
