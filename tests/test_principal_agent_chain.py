"""The rules of a chain: a worker opens a contract of its own for a part of its task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from delegating import CONTRACT, asked, code, do, match, posted, said, turn_in

from actors.agent import Action, Agent, Answer
from actors.turn import Turn
from sim.clock import run_virtual
from sim.errors import ConfigError
from sim.games.principal_agent import PrincipalAgentGame
from sim.messages import REFEREE, Abort, Forfeit
from sim.record import MatchRecord
from sim.replay import rejudge
from sim.testing import MatchByHand

Play = Callable[..., Awaitable[MatchRecord]]

SEATS = ("principal", "worker_1", "oracle_1", "worker_2", "oracle_2", "worker_3", "oracle_3")
PRINCIPAL, WORKER, ORACLE, SUB, SUB_ORACLE, SUBSUB, SUBSUB_ORACLE = range(7)
PART = {"task_description": "the secret part", "success_criteria": "it fits"}
CHEAP = [{"label": "done", "threshold": 50, "payment": 4}]


def chain(depth: int = 2, **parameters: Any) -> MatchByHand:
    """A chain whose outer contract is accepted."""
    opened = posted(*SEATS[: 3 + 2 * depth], shape="chain", depth=depth, **parameters)
    assert do(opened, WORKER, "accept_contract") is None
    return opened


def delegate(opened: MatchByHand, worker: int = WORKER, thread: int = 0, levels: Any = None) -> None:
    assert do(opened, worker, "delegate_task", {**PART, "outcome_levels": levels}, thread=thread) is None


def deliver(opened: MatchByHand, worker: int, oracle: int, thread: int, score: float, cost: float = 0) -> None:
    """From wherever the worker stands to its score."""
    if "accept_contract" in opened.legal(worker, turn_in(opened, worker, thread)):
        assert do(opened, worker, "accept_contract", thread=thread) is None
    deliverable = {"content": f"work {thread}", "effort_cost": cost}
    assert do(opened, worker, "submit_deliverable", deliverable, thread=thread) is None
    assert do(opened, oracle, "record_outcome_score", {"score": score}, thread=thread) is None


# ── seats and depth ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_each_level_has_a_worker_and_an_oracle_of_its_own(depth: int) -> None:
    game = PrincipalAgentGame(shape="chain", depth=depth)
    seats = 3 + 2 * depth
    ids = tuple(f"s{n}" for n in range(seats))
    game.check_seats(ids)
    assert [game.role(ids, n) for n in range(seats)] == ["principal", *["worker", "oracle"] * (depth + 1)]
    with pytest.raises(ConfigError, match=f"needs {seats} seats: principal, worker, oracle, worker, oracle"):
        game.check_seats(ids[1:])


def test_the_default_depth_is_one_contract_inside_the_outer_one_and_it_is_capped() -> None:
    """To a given depth: default 1, at most 5."""
    assert PrincipalAgentGame(shape="chain").depth == 1
    with pytest.raises(ConfigError, match="from 1 to 5"):
        PrincipalAgentGame(shape="chain", depth=6)


def test_a_worker_of_the_last_level_cannot_delegate_and_no_worker_can_twice() -> None:
    for depth, last in ((1, True), (2, False)):
        opened = chain(depth)
        delegate(opened)
        do(opened, SUB, "accept_contract", thread=1)
        assert ("delegate_task" not in opened.ask(SUB).allowed) == last  # type: ignore[union-attr]
        assert code(do(opened, SUB, "delegate_task", {}, thread=1)) == (
            "game_rule_violation" if last else "invalid_payload"
        )
        deliver(opened, SUB, SUB_ORACLE, 1, 100)
        assert code(do(opened, WORKER, "delegate_task", PART)) == "game_rule_violation"
        assert opened.ask(WORKER).allowed == ("submit_deliverable", "message_only")  # type: ignore[union-attr]


def test_only_the_worker_of_an_accepted_contract_delegates() -> None:
    opened = posted(*SEATS, shape="chain", depth=2)
    assert code(do(opened, WORKER, "delegate_task", PART)) == "game_rule_violation"
    assert code(do(opened, PRINCIPAL, "delegate_task", PART)) == "not_your_turn"
    assert code(posted().act(WORKER, "delegate_task", PART)) == "invalid_action_type"


def test_a_chain_in_which_nobody_delegates_is_a_single_match() -> None:
    opened = chain(1)
    deliver(opened, WORKER, ORACLE, 0, 90)
    outcome = said(opened)
    assert outcome["reason"] == "task_resolved_success"
    assert "inner" not in outcome


# ── one contract inside the other ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
def test_three_contracts_one_inside_the_other_are_played_and_paid(turn_order: str) -> None:
    """A worker opens its own principal-agent match for a part of its task, to a given depth; the inner outcome is in
    the outer record."""
    opened = chain(2, turn_order=turn_order)
    delegate(opened)
    do(opened, SUB, "accept_contract", thread=1)
    delegate(opened, SUB, 1, CHEAP)
    deliver(opened, SUBSUB, SUBSUB_ORACLE, 2, 70, cost=1)
    deliver(opened, SUB, SUB_ORACLE, 1, 85, cost=2)
    deliver(opened, WORKER, ORACLE, 0, 95, cost=0.5)
    outcome = said(opened)
    assert outcome == {
        "payoffs": [
            {"agent_id": "principal", "utility": -10},
            {"agent_id": "worker_1", "utility": 0},
            {"agent_id": "oracle_1", "utility": 0},
            {"agent_id": "worker_2", "utility": 6},
            {"agent_id": "oracle_2", "utility": 0},
            {"agent_id": "worker_3", "utility": 4},
            {"agent_id": "oracle_3", "utility": 0},
        ],
        "reason": "task_resolved_success",
        "outcome_score": 95,
        "outcome_label": "success",
        "payment": 10,
        "inner": {
            "payoffs": [
                {"agent_id": "worker_1", "utility": -10},
                {"agent_id": "worker_2", "utility": 10},
                {"agent_id": "oracle_2", "utility": 0},
            ],
            "reason": "task_resolved_success",
            "outcome_score": 85,
            "outcome_label": "success",
            "payment": 10,
            "inner": {
                "payoffs": [
                    {"agent_id": "worker_2", "utility": -4},
                    {"agent_id": "worker_3", "utility": 4},
                    {"agent_id": "oracle_3", "utility": 0},
                ],
                "reason": "task_resolved_done",
                "outcome_score": 70,
                "outcome_label": "done",
                "payment": 4,
            },
        },
        "effort_cost": {"worker_1": 0.5, "worker_2": 2, "worker_3": 1},
        "net_worker": {"worker_1": -0.5, "worker_2": 4, "worker_3": 3},
    }
    rejudge(opened.record(), opened.game)


def test_the_inner_match_goes_through_the_same_phases_with_the_worker_as_its_principal() -> None:
    opened = chain(1)
    delegate(opened)
    assert asked(opened) == {(SUB, 1, "clarify")}
    do(opened, SUB, "ask_clarification", {"question": "which part?"}, thread=1)
    assert asked(opened) == {(WORKER, 1, "clarify")}
    do(opened, WORKER, "answer_clarification", {"answer": "the middle"}, thread=1)
    do(opened, SUB, "skip_clarify", thread=1)
    assert asked(opened) == {(SUB, 1, "respond")}
    do(opened, SUB, "accept_contract", thread=1)
    do(opened, SUB, "submit_deliverable", {"content": "d"}, thread=1)
    assert asked(opened) == {(SUB_ORACLE, 1, "verify")}


def test_the_workers_turn_waits_and_is_asked_again_with_its_number_and_its_deadline() -> None:
    opened = chain(1)
    ((_, number),) = opened.open_turns()
    deadline = opened.ask(WORKER).deadline  # type: ignore[union-attr]
    delegate(opened)
    opened.now += 5
    assert code(opened.act(WORKER, "submit_deliverable", {"content": "d"}, turn=number)) == "not_your_turn"
    assert opened.legal(WORKER, number) == ()
    deliver(opened, SUB, SUB_ORACLE, 1, 100)
    assert opened.open_turns() == [(WORKER, number)]
    assert opened.ask(WORKER).deadline == deadline  # type: ignore[union-attr]
    assert opened.act(WORKER, "submit_deliverable", {"content": "d"}) is None


def test_what_came_of_the_inner_match_returns_to_the_worker_as_a_message_and_in_its_view() -> None:
    opened = chain(1)
    assert opened.view(WORKER)["inner"] is None
    delegate(opened, levels=CHEAP)
    assert opened.view(WORKER)["inner"]["reason"] is None
    deliver(opened, SUB, SUB_ORACLE, 1, 77)
    inner = opened.view(WORKER)["inner"]
    assert (inner["reason"], inner["deliverable"], inner["payment"]) == ("task_resolved_done", "work 1", 4)
    assert inner["contract"] == {**PART, "outcome_levels": CHEAP}
    told = [event for event in opened.events if event.kind == "notice"][-1]
    assert told.recipients == (WORKER, SUB, SUB_ORACLE)
    assert b"task_resolved_done, score 77, payment 4" in told.body


def test_a_worker_whose_offer_is_rejected_still_has_its_own_task() -> None:
    opened = chain(1)
    delegate(opened)
    do(opened, SUB, "reject_contract", {"reason": "busy"}, thread=1)
    assert asked(opened) == {(WORKER, 0, "execute")}
    deliver(opened, WORKER, ORACLE, 0, 50)
    outcome = said(opened)
    assert outcome["inner"]["reason"] == "contract_rejected"
    assert [p["utility"] for p in outcome["payoffs"]] == [-3, 3, 0, 0, 0]


def test_a_delegation_without_a_proper_schedule_is_refused_and_changes_nothing() -> None:
    opened = chain(1)
    before = opened.state_bytes()
    twice = [*CHEAP, {"label": "done", "threshold": 60, "payment": 5}]
    rejection = do(opened, WORKER, "delegate_task", {**PART, "outcome_levels": twice})
    assert rejection is not None
    assert (rejection.code, "done is there more than once" in rejection.reason) == ("game_rule_violation", True)
    assert opened.state_bytes() == before
    delegate(opened)
    assert opened.view(SUB, 1)["contract"]["outcome_levels"] == opened.view(PRINCIPAL)["contract"]["outcome_levels"]


# ── time ────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_deadline_inside_is_later_than_that_of_the_turn_it_hangs_on() -> None:
    opened = chain(2)
    outer = opened.ask(WORKER).deadline  # type: ignore[union-attr]
    opened.now += 10
    delegate(opened)
    do(opened, SUB, "accept_contract", thread=1)
    opened.now += 10
    delegate(opened, SUB, 1)
    assert [turn.deadline for turn in opened.judge.open_turns()] == [outer] * 3


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
def test_when_the_outer_turn_lapses_the_inner_matches_are_withdrawn_and_recorded(turn_order: str) -> None:
    opened = chain(2, turn_order=turn_order)
    delegate(opened)
    do(opened, SUB, "accept_contract", thread=1)
    delegate(opened, SUB, 1)
    opened.lapse()
    outcome = said(opened)
    assert outcome["reason"] == "not_delivered"
    assert outcome["inner"]["reason"] == outcome["inner"]["inner"]["reason"] == "withdrawn"
    assert [p["utility"] for p in outcome["payoffs"]] == [0] * 7
    notices = [event.body for event in opened.events if event.kind == "notice" and b"withdrawn" in event.body]
    assert len(notices) == 2
    rejudge(opened.record(), opened.game)


def test_when_a_middle_worker_gives_up_what_is_inside_is_withdrawn_and_the_one_above_goes_on() -> None:
    opened = chain(2)
    delegate(opened)
    do(opened, SUB, "accept_contract", thread=1)
    waiting = turn_in(opened, SUB, 1)
    delegate(opened, SUB, 1)
    opened.read(SUB, Forfeit(SUB, waiting, "crashed"))
    assert asked(opened) == {(WORKER, 0, "execute")}
    deliver(opened, WORKER, ORACLE, 0, 90)
    outcome = said(opened)
    assert (outcome["reason"], outcome["inner"]["reason"]) == ("task_resolved_success", "not_delivered")
    assert outcome["inner"]["inner"]["reason"] == "withdrawn"
    assert [b"withdrawn" in event.body for event in opened.events if event.kind == "notice"].count(True) == 1
    rejudge(opened.record(), opened.game)


def test_what_was_paid_inside_stays_paid_whatever_comes_of_the_outer_contract() -> None:
    opened = chain(1)
    delegate(opened, levels=CHEAP)
    deliver(opened, SUB, SUB_ORACLE, 1, 60)
    opened.lapse()
    assert said(opened)["reason"] == "not_delivered"
    assert [p["utility"] for p in said(opened)["payoffs"]] == [0, -4, 0, 4, 0]


def test_a_match_that_is_cut_off_reports_the_inner_match_as_withdrawn() -> None:
    opened = chain(1)
    delegate(opened)
    opened.read(REFEREE, Abort("power cut"))
    outcome = said(opened)
    assert (outcome["reason"], outcome["inner"]["reason"]) == ("aborted", "withdrawn")


# ── who sees what ───────────────────────────────────────────────────────────────────────────────────────


def test_the_inner_match_is_seen_by_those_who_take_part_in_it_alone() -> None:
    opened = chain(2)
    delegate(opened)
    do(opened, SUB, "accept_contract", thread=1)
    deliver(opened, SUB, SUB_ORACLE, 1, 63)
    for seat in (PRINCIPAL, ORACLE, SUBSUB, SUBSUB_ORACLE):
        assert not any(word in str(opened.sent[seat]) for word in ("secret part", "work 1", "63", "it fits"))
        assert opened.view(seat, 1) == {}
    for seat in (WORKER, SUB, SUB_ORACLE):
        assert "secret part" in str(opened.sent[seat])


def test_how_the_inner_match_came_out_is_told_to_nobody_outside_it_even_at_the_end() -> None:
    opened = chain(1)
    delegate(opened)
    do(opened, SUB, "accept_contract", thread=1)
    deliver(opened, SUB, SUB_ORACLE, 1, 63.5)
    deliver(opened, WORKER, ORACLE, 0, 90)
    assert said(opened)["inner"]["outcome_score"] == 63.5
    for seat in (PRINCIPAL, ORACLE):
        assert "63.5" not in str(opened.sent[seat])


def test_nobody_is_heard_in_a_match_that_it_has_no_part_in() -> None:
    opened = chain(2)
    delegate(opened)
    for seat in (SUB_ORACLE, SUBSUB):
        assert opened.act(seat, "message_only", messages=["I am out here."]) is None
    assert opened.act(PRINCIPAL, "message_only", messages=["I am in here."]) is None
    for seat in (PRINCIPAL, WORKER, ORACLE):
        assert "out here" not in str(opened.sent[seat])
        assert "in here" in str(opened.sent[seat])


def test_those_inside_do_not_see_the_outer_match() -> None:
    opened = chain(1)
    delegate(opened)
    deliver(opened, SUB, SUB_ORACLE, 1, 63)
    for seat in (SUB, SUB_ORACLE):
        assert CONTRACT["task_description"] not in str(opened.sent[seat])
        assert opened.view(seat, 0) == {}


def test_the_outer_seats_see_that_there_was_a_delegation_and_no_more() -> None:
    opened = chain(1)
    delegate(opened)
    for seat in (PRINCIPAL, ORACLE):
        (seen,) = [e for update in opened.sent[seat] for e in update.events if b"delegate_task" in e.body]
        assert b'"payload":{}' in seen.body


def test_the_view_has_the_keys_of_the_seed_and_for_the_worker_the_contract_inside() -> None:
    opened = chain(2)
    delegate(opened)
    keys = "contract clarifications accepted deliverable outcome_score outcome_label payment".split()
    assert list(opened.view(PRINCIPAL)) == list(opened.view(ORACLE)) == list(opened.view(SUB_ORACLE, 1)) == keys
    assert list(opened.view(WORKER)) == list(opened.view(SUB, 1)) == [*keys, "inner"]
    assert list(opened.view(WORKER, 1)) == keys


# ── a pipeline ──────────────────────────────────────────────────────────────────────────────────────────


def test_in_a_pipeline_each_consumer_scores_what_it_is_delivered() -> None:
    """SLA-enforced pipelines: each step is a contract, and the downstream consumer acts as oracle."""
    seats = ("customer", "service", "data", "storage")
    opened = match(*seats, shape="chain", oracle="consumer", depth=2, max_clarify_rounds=0)
    assert [opened.game.role(seats, n) for n in range(4)] == ["principal", "worker", "worker", "worker"]
    do(opened, 0, "post_contract", dict(CONTRACT))
    for worker in (1, 2):
        do(opened, worker, "accept_contract", thread=worker - 1)
        delegate(opened, worker, worker - 1)
    deliver(opened, 3, 2, 2, 100)
    deliver(opened, 2, 1, 1, 60)
    deliver(opened, 1, 0, 0, 40)
    assert opened.outcome is not None
    assert opened.outcome.utilities == (0, -3, 3 - 10, 10)


# ── through agents ──────────────────────────────────────────────────────────────────────────────────────


class Manager(Agent):
    """Delegates what it can, and hands on what it was delivered."""

    def decide(self, turn: Turn) -> Answer:
        allowed, state = turn.allowed_actions, turn.state
        if "delegate_task" in allowed:
            return Action("delegate_task", dict(PART))
        if "accept_contract" in allowed:
            return Action("accept_contract")
        if "submit_deliverable" in allowed:
            inner = state.get("inner")
            return Action("submit_deliverable", {"content": f"{self.agent_id}+{inner and inner['deliverable']}"})
        if "record_outcome_score" in allowed:
            return Action("record_outcome_score", {"score": 100 if "worker" in state["deliverable"] else 0})
        return Action("post_contract", dict(CONTRACT))


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_chain_runs_through_agents_bus_and_referee(depth: int, turn_order: str, play: Play) -> None:
    game = PrincipalAgentGame(shape="chain", depth=depth, turn_order=turn_order)  # type: ignore[arg-type]
    ids = ["principal"] + [f"{role}_{n}" for n in range(1, depth + 2) for role in ("worker", "oracle")]
    record = run_virtual(play(game, [Manager(agent_id) for agent_id in ids]))
    rejudge(record, game)
    assert record.errors == ()
    outcome = record.outcome.to_dict(record.spec.agent_ids)
    for _ in range(depth):
        assert outcome["reason"] == "task_resolved_success"
        outcome = outcome["inner"]
    assert "inner" not in outcome
    assert record.outcome.utilities[0] == -10
    assert record.outcome.utilities[-2] == 10
    assert sum(record.outcome.utilities) == 0
