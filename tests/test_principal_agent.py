"""The rules of principal-agent, line by line: one principal, one worker, one oracle."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from delegating import CONTRACT, ORACLE, PRINCIPAL, WORKER, accepted, asked, code, delivered, match, posted, said

import sim
from actors.agent import Action, Agent, Answer
from actors.turn import Turn
from experiments.config import game_from, game_params
from sim.clock import run_virtual
from sim.errors import ConfigError
from sim.game import Goal
from sim.games.principal_agent import OutcomeLevel, PrincipalAgentGame
from sim.record import MatchRecord
from sim.replay import rejudge
from sim.testing import MatchByHand, encode_events

Play = Callable[..., Awaitable[MatchRecord]]

DEFAULT_LEVELS = [
    {"label": "fail", "threshold": 0, "payment": 0},
    {"label": "partial", "threshold": 50, "payment": 3},
    {"label": "success", "threshold": 80, "payment": 10},
]
ZERO = [{"agent_id": agent_id, "utility": 0.0} for agent_id in ("principal", "worker", "oracle")]


# ── the whole way ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
def test_the_view_and_the_outcome_are_those_of_the_seed(turn_order: str) -> None:
    opened = posted(turn_order=turn_order)
    for seat, action, payload in (
        (WORKER, "ask_clarification", {"question": "Which language?"}),
        (PRINCIPAL, "answer_clarification", {"answer": "Python"}),
        (WORKER, "accept_contract", {}),
        (WORKER, "submit_deliverable", {"content": "Tests written with 95% coverage"}),
        (ORACLE, "record_outcome_score", {"score": 90, "notes": "good"}),
    ):
        assert opened.act(seat, action, payload) is None
    for seat in opened.seats:
        assert opened.view(seat) == {
            "contract": {**CONTRACT, "outcome_levels": DEFAULT_LEVELS},
            "clarifications": [{"question": "Which language?", "answer": "Python"}],
            "accepted": True,
            "deliverable": "Tests written with 95% coverage",
            "outcome_score": 90,
            "outcome_label": "success",
            "payment": 10,
        }
    assert said(opened) == {
        "payoffs": [
            {"agent_id": "principal", "utility": -10},
            {"agent_id": "worker", "utility": 10},
            {"agent_id": "oracle", "utility": 0.0},
        ],
        "reason": "task_resolved_success",
        "outcome_score": 90,
        "outcome_label": "success",
        "payment": 10,
    }
    assert opened.outcome is not None
    assert (opened.outcome.status, opened.outcome.trigger) == ("resolved", "task_resolved_success")
    rejudge(opened.record(), opened.game)


class Scripted(Agent):
    """Does what the seed's example does in each phase."""

    def decide(self, turn: Turn) -> Answer:
        name = turn.allowed_actions[0]
        if name == "ask_clarification" and turn.state["clarifications"]:
            name = "accept_contract"
        payloads: dict[str, dict[str, Any]] = {
            "post_contract": dict(CONTRACT),
            "ask_clarification": {"text": "Which language?"},
            "answer_clarification": {"text": "Python"},
            "submit_deliverable": {"deliverable": "done", "effort_cost": "$4"},
            "record_outcome_score": {"rating": "85.5", "notes": "fine"},
        }
        return Action(name, payloads.get(name, {}))


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
def test_a_contract_is_done_and_paid_through_agents_bus_and_referee(turn_order: str, play: Play) -> None:
    game = PrincipalAgentGame(turn_order=turn_order)  # type: ignore[arg-type]
    record = run_virtual(play(game, [Scripted(agent_id) for agent_id in ("principal", "worker", "oracle")]))
    rejudge(record, game)
    assert record.outcome.utilities == (-10, 10, 0)
    assert record.outcome.details["outcome_score"] == 85.5
    assert record.outcome.figures == {"effort_cost": 4, "net_worker": 6}
    assert (record.turns, record.errors) == (6, ())


# ── seats and configuration ─────────────────────────────────────────────────────────────────────────────


def test_three_agents_are_required_principal_worker_oracle() -> None:
    """3 agents required: principal (index 0), worker (index 1), oracle (index 2)."""
    game = PrincipalAgentGame()
    ids = ("a", "b", "c")
    game.check_seats(ids)
    assert [game.role(ids, seat) for seat in range(3)] == ["principal", "worker", "oracle"]


@pytest.mark.parametrize("seats", [1, 2, 4])
def test_another_number_of_seats_is_a_configuration_error(seats: int) -> None:
    with pytest.raises(ConfigError, match=f"needs 3 seats: principal, worker, oracle; {seats} given"):
        PrincipalAgentGame().check_seats(tuple(f"s{n}" for n in range(seats)))


def test_with_the_consumer_as_oracle_the_principal_scores_and_two_seats_are_required() -> None:
    opened = MatchByHand(PrincipalAgentGame(oracle="consumer"), ("downstream", "upstream")).open()
    opened.act(0, "post_contract", dict(CONTRACT))
    opened.act(1, "accept_contract")
    opened.act(1, "submit_deliverable", {"content": "rows"})
    assert asked(opened) == {(0, 0, "verify")}
    assert opened.act(0, "record_outcome_score", {"score": 60}) is None
    assert opened.outcome is not None
    assert opened.outcome.utilities == (-3, 3)
    with pytest.raises(ConfigError, match="oracle=consumer needs 2 seats: principal, worker; 3 given"):
        opened.game.check_seats(("a", "b", "c"))


def test_the_defaults_are_those_of_the_seed() -> None:
    game = PrincipalAgentGame()
    assert game.max_clarify_rounds == 2
    assert msgspec.to_builtins(game.outcome_levels) == tuple(DEFAULT_LEVELS)
    assert sim.PrincipalAgentGame is PrincipalAgentGame


LEVELS = [
    {"label": "great", "threshold": 90, "payment": 20},
    {"label": "bad", "threshold": 0, "payment": 0},
    {"label": "ok", "threshold": 40, "payment": 5.5},
]


def test_outcome_levels_are_taken_from_python_and_from_a_configuration_and_sorted_by_threshold() -> None:
    """... sorted by threshold on entry."""
    written = PrincipalAgentGame(outcome_levels=LEVELS, max_clarify_rounds=3)  # type: ignore[arg-type]
    typed = PrincipalAgentGame(outcome_levels=tuple(msgspec.convert(LEVELS, list[OutcomeLevel])), max_clarify_rounds=3)
    composed = game_from({"game_id": "principal_agent", "outcome_levels": LEVELS, "max_clarify_rounds": 3})
    assert written == typed == composed
    assert [level.label for level in written.outcome_levels] == ["bad", "ok", "great"]
    assert game_from(json.loads(json.dumps(game_params(written)))) == written


BROKEN_LEVELS = [
    ([], "at least one level"),
    (
        [{"label": "a", "threshold": 0, "payment": 0}, {"label": "a", "threshold": 1, "payment": 0}],
        "each label .* a is",
    ),
    ([{"label": "a", "threshold": 5, "payment": 0}, {"label": "b", "threshold": 5, "payment": 0}], "each threshold"),
    ([{"label": "a", "threshold": -1, "payment": 0}], "threshold|>= 0"),
    ([{"label": "a", "threshold": 101, "payment": 0}], "threshold|<= 100"),
    ([{"label": "a", "threshold": math.nan, "payment": 0}], "threshold"),
    ([{"label": "a", "threshold": 0, "payment": -1}], "payment|>= 0"),
    ([{"label": "a", "threshold": 0, "payment": math.inf}], "payment"),
    ([{"label": "a", "threshold": 0, "payment": 1e16}], "payment"),
    ([{"label": "", "threshold": 0, "payment": 0}], "label|length"),
    ([{"label": "a", "threshold": 0, "payment": True}], "payment"),
    ([{"label": "a", "threshold": 0}], "payment"),
    ([{"label": "a", "threshold": 0, "payment": 0, "bonus": 1}], "bonus"),
]


@pytest.mark.parametrize(("levels", "says"), BROKEN_LEVELS)
def test_outcome_levels_that_make_no_schedule_are_a_configuration_error(levels: Any, says: str) -> None:
    """Outcome levels: at least one, labels and thresholds unique, thresholds within 0 to 100, payments finite and
    >= 0."""
    with pytest.raises(ConfigError, match="outcome_levels") as caught:
        PrincipalAgentGame(outcome_levels=levels)
    assert caught.match(says)


@pytest.mark.parametrize("levels", [levels for levels, _ in BROKEN_LEVELS])
def test_the_same_levels_are_refused_in_a_contract(levels: Any) -> None:
    opened = match()
    before = opened.state_bytes()
    rejection = opened.act(PRINCIPAL, "post_contract", {**CONTRACT, "outcome_levels": levels})
    assert code(rejection) in ("invalid_payload", "game_rule_violation")
    assert rejection is not None
    assert "outcome_levels" in rejection.reason
    assert opened.state_bytes() == before


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"max_clarify_rounds": -1}, "max_clarify_rounds=-1: at least 0"),
        ({"max_rounds_offer": 0}, "max_rounds_offer=0: at least 1"),
        ({"shape": "bounty", "winners": 0}, "winners=0: at least 1"),
        ({"winners": 2}, "winners=2 needs shape=bounty, not shape=single"),
        ({"shape": "chain", "accept_level": "success"}, "accept_level=success needs shape=bounty"),
        ({"shape": "bounty", "depth": 2}, "depth=2 needs shape=chain"),
        ({"shape": "chain", "depth": 0}, "depth=0: from 1 to 5"),
        ({"shape": "chain", "depth": 6}, "depth=6: from 1 to 5"),
        ({"shape": "bounty", "accept_level": "superb"}, "accept_level=superb: .* fail, partial, success"),
        ({"shape": "bounty", "accept_level": 101}, "accept_level=101"),
        ({"shape": "bounty", "accept_level": math.nan}, "accept_level=nan"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_a_configuration_error(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        PrincipalAgentGame(**parameters)


# ── offer ───────────────────────────────────────────────────────────────────────────────────────────────


def test_the_principal_posts_and_without_levels_the_configured_ones_stand() -> None:
    """`post_contract` without `outcome_levels` takes the configured ones."""
    opened = match(outcome_levels=LEVELS)
    assert asked(opened) == {(PRINCIPAL, 0, "offer")}
    assert opened.act(PRINCIPAL, "post_contract", dict(CONTRACT)) is None
    assert [v["label"] for v in opened.view(ORACLE)["contract"]["outcome_levels"]] == ["bad", "ok", "great"]


def test_posted_levels_are_sorted_and_take_numbers_as_text() -> None:
    levels = [{"label": "b", "threshold": "60", "payment": "$1,500"}, {"label": "a", "threshold": 0, "payment": 0}]
    opened = posted(levels=levels)
    assert opened.view(WORKER)["contract"]["outcome_levels"] == [
        {"label": "a", "threshold": 0, "payment": 0},
        {"label": "b", "threshold": 60, "payment": 1500},
    ]


@pytest.mark.parametrize("rounds", [1, 3])
def test_without_a_contract_the_match_ends_after_the_rounds_of_offer(rounds: int) -> None:
    """Endings besides the seed's two: `no_contract`, ..., all with payoffs 0."""
    opened = match(max_rounds_offer=rounds)
    for n in range(rounds):
        assert opened.outcome is None
        assert opened.ask(PRINCIPAL).round == n + 1  # type: ignore[union-attr]
        opened.lapse()
    assert said(opened) == {"payoffs": ZERO, "reason": "no_contract"}


# ── clarify ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_worker_may_ask_and_an_open_question_is_the_principals_turn() -> None:
    """An open question is the principal's turn."""
    opened = posted()
    assert asked(opened) == {(WORKER, 0, "clarify")}
    opened.act(WORKER, "ask_clarification", {"question": "Which language?"})
    assert asked(opened) == {(PRINCIPAL, 0, "clarify")}
    assert opened.view(WORKER)["clarifications"] == [{"question": "Which language?", "answer": None}]
    assert set(opened.legal(*opened.open_turns()[0])) == {"answer_clarification", "skip_clarify"}


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_after_max_clarify_rounds_answered_questions_the_phase_moves_to_respond_by_itself(rounds: int) -> None:
    """After `max_clarify_rounds` answered questions the phase moves to respond by itself."""
    opened = posted(max_clarify_rounds=rounds)
    for n in range(rounds):
        assert asked(opened) == {(WORKER, 0, "clarify")}
        assert opened.ask(WORKER).round == n + 1  # type: ignore[union-attr]
        opened.act(WORKER, "ask_clarification", {"question": f"q{n}"})
        opened.act(PRINCIPAL, "answer_clarification", {"answer": f"a{n}"})
    assert asked(opened) == {(WORKER, 0, "respond")}
    assert code(opened.act(WORKER, "ask_clarification", {"question": "one more"})) == "game_rule_violation"


def test_with_no_clarify_rounds_the_phase_is_left_out() -> None:
    assert asked(posted(max_clarify_rounds=0)) == {(WORKER, 0, "respond")}


@pytest.mark.parametrize("answered", [0, 1])
@pytest.mark.parametrize(
    ("action", "then"),
    [("accept_contract", {(WORKER, 0, "execute")}), ("reject_contract", set()), ("skip_clarify", {(1, 0, "respond")})],
)
def test_the_worker_may_accept_reject_or_skip_whenever_it_is_its_turn_in_clarify(
    action: str, then: set[Any], answered: int
) -> None:
    """The worker may accept, reject or skip whenever it is its turn in clarify, also after an answer."""
    opened = posted()
    for _ in range(answered):
        opened.act(WORKER, "ask_clarification", {"question": "q"})
        opened.act(PRINCIPAL, "answer_clarification", {"answer": "a"})
    assert opened.act(WORKER, action) is None
    assert asked(opened) == then


def test_a_principal_may_skip_an_open_question_and_its_answer_stays_null() -> None:
    """A principal may skip an open question; its answer stays `null`."""
    opened = posted()
    opened.act(WORKER, "ask_clarification", {"question": "q"})
    assert opened.act(PRINCIPAL, "skip_clarify") is None
    assert asked(opened) == {(WORKER, 0, "respond")}
    assert opened.view(ORACLE)["clarifications"] == [{"question": "q", "answer": None}]


def test_a_silent_seat_skips_in_clarify() -> None:
    opened = posted()
    opened.lapse()
    assert asked(opened) == {(WORKER, 0, "respond")}
    opened = posted()
    opened.act(WORKER, "ask_clarification", {"question": "q"})
    opened.lapse()
    assert asked(opened) == {(WORKER, 0, "respond")}
    assert opened.view(WORKER)["clarifications"] == [{"question": "q", "answer": None}]


# ── respond, execute, verify ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("phase", ["clarify", "respond"])
def test_a_rejection_ends_the_game_with_payoffs_0(phase: str) -> None:
    """Rejection ends the game with payoffs 0."""
    opened = posted()
    if phase == "respond":
        opened.act(WORKER, "skip_clarify")
    assert opened.act(WORKER, "reject_contract", {"reason": "too little"}) is None
    assert said(opened) == {"payoffs": ZERO, "reason": "contract_rejected"}
    assert opened.view(PRINCIPAL)["accepted"] is False


def test_silence_ends_respond_execute_and_verify_with_payoffs_0() -> None:
    """`no_response`, `not_delivered`, `not_scored`, all with payoffs 0."""
    responding = posted(max_clarify_rounds=0)
    for opened, reason in ((responding, "no_response"), (accepted(), "not_delivered"), (delivered(), "not_scored")):
        opened.lapse()
        assert said(opened) == {"payoffs": ZERO, "reason": reason}
        assert opened.outcome is not None
        assert opened.outcome.status == "resolved"
        rejudge(opened.record(), opened.game)


@pytest.mark.parametrize(
    ("score", "label", "payment"),
    [
        (0, "fail", 0),
        (49.9, "fail", 0),
        (50, "partial", 3),
        (79.99, "partial", 3),
        (80, "success", 10),
        (100, "success", 10),
    ],
)
def test_the_score_maps_to_the_highest_level_whose_threshold_is_satisfied(
    score: float, label: str, payment: float
) -> None:
    """The engine maps the score to the highest outcome level whose threshold is satisfied. Payoffs: worker = +payment,
    principal = -payment, oracle = 0. 0 is a score."""
    opened = delivered()
    assert opened.act(ORACLE, "record_outcome_score", {"score": score}) is None
    assert said(opened) == {
        "payoffs": [
            {"agent_id": "principal", "utility": -payment},
            {"agent_id": "worker", "utility": payment},
            {"agent_id": "oracle", "utility": 0},
        ],
        "reason": f"task_resolved_{label}",
        "outcome_score": score,
        "outcome_label": label,
        "payment": payment,
    }
    assert "-0.0" not in json.dumps(said(opened))


def test_a_score_below_every_threshold_pays_0_with_label_none() -> None:
    """A score below every threshold pays 0 with label `none`."""
    opened = delivered(outcome_levels=[{"label": "ok", "threshold": 40, "payment": 5}])
    opened.act(ORACLE, "record_outcome_score", {"score": 39})
    shape = said(opened)
    assert (shape["reason"], shape["outcome_label"], shape["payment"]) == ("task_resolved_none", "none", 0)
    assert shape["payoffs"] == ZERO


@pytest.mark.parametrize("score", [-0.1, 100.1, math.nan, math.inf, True, "well done", None, [90]])
def test_a_score_is_a_finite_number_from_0_to_100(score: Any) -> None:
    """Scores are finite numbers from 0 to 100."""
    opened = delivered()
    assert code(opened.act(ORACLE, "record_outcome_score", {"score": score})) == "invalid_payload"
    assert opened.view(PRINCIPAL)["outcome_score"] is None


@pytest.mark.parametrize("score", ["85.5", "$85.5", 85.5])
def test_a_score_may_have_decimals_and_may_be_numeric_text(score: Any) -> None:
    """85.5 is one."""
    opened = delivered()
    assert opened.act(ORACLE, "record_outcome_score", {"score": score}) is None
    assert said(opened)["outcome_score"] == 85.5


# ── names of fields, and who may do what ────────────────────────────────────────────────────────────────


def test_aliases_of_fields_are_accepted() -> None:
    """`text` for question/answer/content, `deliverable` for content, `rating` for score."""
    opened = posted()
    opened.act(WORKER, "ask_clarification", {"text": "q"})
    opened.act(PRINCIPAL, "answer_clarification", {"text": "a"})
    opened.act(WORKER, "accept_contract")
    opened.act(WORKER, "submit_deliverable", {"text": "d"})
    opened.act(ORACLE, "record_outcome_score", {"rating": 51})
    view = opened.view(ORACLE)
    assert view["clarifications"] == [{"question": "q", "answer": "a"}]
    assert (view["deliverable"], view["outcome_score"]) == ("d", 51)
    assert accepted().act(WORKER, "submit_deliverable", {"deliverable": "d"}) is None


def test_an_alias_beside_its_own_name_is_an_error() -> None:
    """An alias beside its own name is an error."""
    for payload in ({"content": "d", "deliverable": "d"}, {"deliverable": "d", "text": "d"}):
        assert code(accepted().act(WORKER, "submit_deliverable", payload)) == "invalid_payload"
    assert code(delivered().act(ORACLE, "record_outcome_score", {"score": 1, "rating": 1})) == "invalid_payload"


PHASES: dict[str, tuple[Callable[[], MatchByHand], int, set[str]]] = {
    "offer": (match, PRINCIPAL, {"post_contract"}),
    "clarify": (posted, WORKER, {"ask_clarification", "accept_contract", "reject_contract", "skip_clarify"}),
    "respond": (lambda: posted(max_clarify_rounds=0), WORKER, {"accept_contract", "reject_contract"}),
    "execute": (accepted, WORKER, {"submit_deliverable"}),
    "verify": (delivered, ORACLE, {"record_outcome_score"}),
}


@pytest.mark.parametrize("phase", PHASES)
def test_what_belongs_to_another_phase_or_role_is_not_legal(phase: str) -> None:
    opening, mover, legal = PHASES[phase]
    opened = opening()
    assert set(opened.ask(mover).allowed) == {*legal, "message_only"}  # type: ignore[union-attr]
    payloads = {
        "post_contract": CONTRACT,
        "ask_clarification": {"question": "q"},
        "answer_clarification": {"answer": "a"},
        "submit_deliverable": {"content": "d"},
        "record_outcome_score": {"score": 1},
    }
    before = opened.state_bytes()
    others = [name for name in opened.game.action_types if name not in legal and name != "message_only"]
    for name in others:
        opened = opening()
        assert code(opened.act(mover, name, payloads.get(name))) == "game_rule_violation"
        for seat in opened.seats:
            if seat != mover:
                assert code(opened.act(seat, name, payloads.get(name))) == "not_your_turn"
        assert opened.state_bytes() == before
    assert len(others) == 8 - len(legal)


@pytest.mark.parametrize("phase", PHASES)
def test_message_only_is_legal_at_any_time_and_never_advances_the_turn(phase: str) -> None:
    """message_only: any phase, any role; send messages without advancing the turn."""
    opened = PHASES[phase][0]()
    before = (opened.state_bytes(), opened.open_turns())
    for seat in opened.seats:
        assert opened.act(seat, "message_only", messages=["hello"]) is None
    assert (opened.state_bytes(), opened.open_turns()) == before


# ── what is hidden ──────────────────────────────────────────────────────────────────────────────────────


def test_the_effort_cost_is_seen_by_nobody_else_and_stands_in_the_figures_alone() -> None:
    opened = accepted()
    opened.act(WORKER, "submit_deliverable", {"content": "d", "effort_cost": 7})
    opened.act(ORACLE, "record_outcome_score", {"score": 95})
    for seat in opened.seats:
        assert "effort_cost" not in str(opened.view(seat))
        if seat != WORKER:
            assert "effort_cost" not in str(opened.sent[seat])
    assert opened.outcome is not None
    assert opened.outcome.figures == {"effort_cost": 7, "net_worker": 3}
    assert opened.outcome.utilities == (-10, 10, 0)
    assert "effort" not in str(opened.outcome.details)


def test_an_effort_for_nothing_is_the_workers_loss_in_the_figures() -> None:
    opened = accepted()
    opened.act(WORKER, "submit_deliverable", {"content": "d", "effort_cost": 7})
    opened.lapse()
    assert opened.outcome is not None
    assert opened.outcome.figures == {"effort_cost": 7, "net_worker": -7}


@pytest.mark.parametrize("cost", [-1, math.inf, math.nan, "much"])
def test_an_effort_cost_is_an_amount_from_0_up(cost: Any) -> None:
    opened = accepted()
    assert code(opened.act(WORKER, "submit_deliverable", {"content": "d", "effort_cost": cost})) == "invalid_payload"


def test_both_turn_orders_play_by_the_same_rules() -> None:
    played = []
    for turn_order in ("round_robin", "concurrent"):
        opened = delivered(turn_order=turn_order)
        opened.act(ORACLE, "record_outcome_score", {"score": 60})
        played.append(encode_events(opened.record()))
    assert played[0] == played[1]


# ── in words and figures ────────────────────────────────────────────────────────────────────────────────


def test_the_goal_is_the_highest_configured_level() -> None:
    assert PrincipalAgentGame().goal == Goal("success", "task_resolved_success")
    assert PrincipalAgentGame(outcome_levels=LEVELS).goal == Goal("great", "task_resolved_great")  # type: ignore[arg-type]


@pytest.mark.parametrize("role", ["principal", "worker", "oracle"])
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, ["2 turns", "2 questions", "fail from 0 pays 0, partial from 50 pays 3, success from 80 pays 10"]),
        ({"max_clarify_rounds": 0, "max_rounds_offer": 1}, ["1 turn ", "left out"]),
        ({"oracle": "consumer"}, ["the principal scores the deliverable"]),
        ({"shape": "bounty"}, ["first deliverable to be scored at the highest outcome level of the contract is paid"]),
        ({"shape": "bounty", "winners": 2, "accept_level": 40.5}, ["first 2 deliverables to be scored 40.5 or above"]),
        ({"shape": "bounty", "accept_level": "partial"}, ["at the level partial or above"]),
        ({"shape": "chain"}, ["delegate_task", "one contract inside the outer one"]),
        ({"shape": "chain", "depth": 3}, ["3 contracts inside the outer one"]),
    ],
)
def test_the_rules_are_said_in_words_to_every_role(parameters: dict[str, Any], words: list[str], role: str) -> None:
    text = PrincipalAgentGame(**parameters).rules_text(role)
    assert role in text.split(".")[0]
    assert all(word in text for word in words), text
    assert "{" not in text
