"""The rules of a bounty: several workers accept and deliver at the same time, and the first good ones are paid."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from delegating import CONTRACT, asked, code, do, match, posted, said, turn_in

from actors.agent import Action, Agent, Answer
from actors.turn import Turn
from sim.clock import run_virtual
from sim.errors import ConfigError
from sim.game import Goal
from sim.games.principal_agent import PrincipalAgentGame
from sim.messages import REFEREE, Abort
from sim.record import MatchRecord
from sim.replay import rejudge
from sim.testing import MatchByHand, check_game

Play = Callable[..., Awaitable[MatchRecord]]

SEATS = ("principal", "w1", "w2", "w3", "oracle")
ORACLE = 4


def bounty(**parameters: Any) -> MatchByHand:
    """A bounty with three workers at once, its contract posted."""
    return posted(*SEATS, shape="bounty", **{"turn_order": "concurrent", **parameters})


def works(opened: MatchByHand, *workers: int) -> None:
    for worker in workers:
        assert do(opened, worker, "accept_contract", thread=worker) is None
        deliverable = {"content": f"by {worker}", "effort_cost": worker}
        assert do(opened, worker, "submit_deliverable", deliverable, thread=worker) is None


def scores(opened: MatchByHand, worker: int, score: float) -> None:
    assert do(opened, ORACLE, "record_outcome_score", {"score": score}, thread=worker) is None


# ── seats ───────────────────────────────────────────────────────────────────────────────────────────────


def test_the_seats_are_the_principal_the_workers_and_the_oracle() -> None:
    game = PrincipalAgentGame(shape="bounty")
    game.check_seats(SEATS)
    assert [game.role(SEATS, seat) for seat in range(5)] == ["principal", "worker", "worker", "worker", "oracle"]
    consumer = PrincipalAgentGame(shape="bounty", oracle="consumer")
    consumer.check_seats(SEATS)
    assert [consumer.role(SEATS, seat) for seat in range(5)] == ["principal"] + 4 * ["worker"]


@pytest.mark.parametrize(
    ("parameters", "least"), [({}, 4), ({"winners": 3}, 5), ({"oracle": "consumer"}, 3), ({"winners": 2}, 4)]
)
def test_fewer_than_two_workers_or_than_winners_is_a_configuration_error(
    parameters: dict[str, Any], least: int
) -> None:
    game = PrincipalAgentGame(shape="bounty", **parameters)
    game.check_seats(tuple(f"s{n}" for n in range(least)))
    with pytest.raises(ConfigError, match=f"at least {least} seats: the principal, the workers"):
        game.check_seats(tuple(f"s{n}" for n in range(least - 1)))


# ── at the same time ────────────────────────────────────────────────────────────────────────────────────


def test_all_workers_are_asked_at_once_and_each_goes_on_at_its_own_pace() -> None:
    """Several workers accept and deliver at the same time."""
    opened = bounty()
    assert opened.judge.state.legal(1) == ()
    assert asked(opened) == {(1, 1, "clarify"), (2, 2, "clarify"), (3, 3, "clarify")}
    do(opened, 2, "accept_contract", thread=2)
    do(opened, 3, "ask_clarification", {"question": "q"}, thread=3)
    assert asked(opened) == {(1, 1, "clarify"), (2, 2, "execute"), (0, 3, "clarify")}
    do(opened, 2, "submit_deliverable", {"content": "d"}, thread=2)
    do(opened, 1, "ask_clarification", {"question": "q"}, thread=1)
    assert asked(opened) == {(0, 1, "clarify"), (ORACLE, 2, "verify"), (0, 3, "clarify")}
    do(opened, 0, "answer_clarification", {"answer": "to w3"}, thread=3)
    assert opened.view(3, 3)["clarifications"] == [{"question": "q", "answer": "to w3"}]
    assert opened.view(1, 1)["clarifications"] == [{"question": "q", "answer": None}]


def test_the_oracle_scores_each_as_it_arrives() -> None:
    """The oracle scores each as it arrives: it may have several open turns at once."""
    opened = bounty()
    works(opened, 3, 1)
    assert {place for place in asked(opened) if place[0] == ORACLE} == {(ORACLE, 3, "verify"), (ORACLE, 1, "verify")}
    assert opened.view(ORACLE, 3)["deliverable"] == "by 3"
    assert opened.view(ORACLE, 1)["deliverable"] == "by 1"


def test_one_at_a_time_the_workers_are_asked_in_turn() -> None:
    opened = bounty(turn_order="round_robin", max_clarify_rounds=0)
    order = []
    while opened.outcome is None:
        ((seat, turn),) = opened.open_turns()
        order.append((opened.thread(turn), opened.ask(seat).phase))  # type: ignore[union-attr]
        payload = {"content": "d"} if seat != ORACLE else {"score": 10}
        name = opened.legal(seat, turn)[0]
        opened.act(seat, name, payload if name != "accept_contract" else {})
    assert order == [(thread, phase) for phase in ("respond", "execute", "verify") for thread in (1, 2, 3)]
    assert said(opened)["reason"] == "no_winner"


# ── who is paid ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_deliverables_at_or_above_the_accept_level_are_paid_and_the_rest_are_not() -> None:
    """The first `winners` deliverables at or above `accept_level` are paid, the rest are not."""
    opened = bounty()
    works(opened, 1, 2, 3)
    scores(opened, 3, 79)
    assert opened.outcome is None
    scores(opened, 2, 80)
    assert said(opened) == {
        "payoffs": [
            {"agent_id": "principal", "utility": -10},
            {"agent_id": "w1", "utility": 0},
            {"agent_id": "w2", "utility": 10},
            {"agent_id": "w3", "utility": 0},
            {"agent_id": "oracle", "utility": 0},
        ],
        "reason": "bounty_awarded",
        "winners": ["w2"],
        "payment": 10,
        "workers": [
            {"agent_id": "w1", "reason": "too_late"},
            {
                "agent_id": "w2",
                "reason": "task_resolved_success",
                "outcome_score": 80,
                "outcome_label": "success",
                "payment": 10,
            },
            {
                "agent_id": "w3",
                "reason": "task_resolved_partial",
                "outcome_score": 79,
                "outcome_label": "partial",
                "payment": 0,
            },
        ],
        "effort_cost": {"w1": 1, "w2": 2, "w3": 3},
        "net_worker": {"w1": -1, "w2": 8, "w3": -3},
    }
    rejudge(opened.record(), opened.game)


def test_the_order_in_which_the_scores_are_read_decides() -> None:
    for first, second in ((1, 2), (2, 1)):
        opened = bounty()
        works(opened, 1, 2)
        scores(opened, first, 90)
        assert code(do(opened, ORACLE, "record_outcome_score", {"score": 90}, thread=second)) == "match_not_running"
        assert said(opened)["winners"] == [SEATS[first]]


def test_several_winners_are_paid_each_by_its_level_and_the_match_goes_on_until_they_are_found() -> None:
    opened = bounty(winners=2, accept_level="partial")
    assert opened.view(1, 1)["awards_left"] == 2
    works(opened, 1, 2, 3)
    scores(opened, 3, 95)
    assert opened.view(1, 1)["awards_left"] == 1
    scores(opened, 1, 20)
    scores(opened, 2, 50)
    assert opened.outcome is not None
    assert opened.outcome.utilities == (-13, 0, 3, 10, 0)
    assert opened.outcome.details["winners"] == ["w3", "w2"]
    assert opened.outcome.details["payment"] == 13


@pytest.mark.parametrize(
    ("accept_level", "score", "pays"),
    [
        (None, 79.9, None),
        (None, 80, 10),
        ("partial", 49.9, None),
        ("partial", 50, 3),
        (65, 64, None),
        (65, 65, 3),
        (0, 0, 0),
    ],
)
def test_the_accept_level_is_a_label_or_a_score_and_the_highest_level_where_it_is_left_out(
    accept_level: Any, score: float, pays: float | None
) -> None:
    opened = bounty(accept_level=accept_level)
    works(opened, 1)
    scores(opened, 1, score)
    assert (opened.outcome is None) == (pays is None)
    if opened.outcome is not None:
        assert opened.outcome.details["payment"] == pays


def test_a_contract_without_the_level_from_which_on_the_bounty_pays_is_refused() -> None:
    opened = match(*SEATS, shape="bounty", accept_level="partial")
    levels = [{"label": "done", "threshold": 50, "payment": 5}]
    rejection = opened.act(0, "post_contract", {**CONTRACT, "outcome_levels": levels})
    assert rejection is not None
    assert rejection.code == "game_rule_violation"
    assert "pays from level partial on" in rejection.reason
    levels[0]["label"] = "partial"
    assert opened.act(0, "post_contract", {**CONTRACT, "outcome_levels": levels}) is None


# ── how else it ends ────────────────────────────────────────────────────────────────────────────────────


def test_the_match_ends_when_nobody_is_left() -> None:
    """... or nobody is left: rejected, silent, or not good enough."""
    opened = bounty()
    do(opened, 1, "reject_contract", thread=1)
    assert opened.outcome is None
    works(opened, 2)
    scores(opened, 2, 10)
    do(opened, 3, "accept_contract", thread=3)
    opened.lapse()
    assert said(opened)["reason"] == "no_winner"
    assert [w["reason"] for w in said(opened)["workers"]] == [
        "contract_rejected",
        "task_resolved_fail",
        "not_delivered",
    ]
    assert opened.outcome is not None
    assert opened.outcome.utilities == (0,) * 5


def test_when_all_reject_the_contract_is_rejected_and_without_a_contract_there_is_none() -> None:
    opened = bounty()
    for worker in (1, 2, 3):
        do(opened, worker, "reject_contract", thread=worker)
    assert said(opened)["reason"] == "contract_rejected"
    silent = match(*SEATS, shape="bounty", max_rounds_offer=1)
    silent.lapse()
    assert said(silent) == {"payoffs": [{"agent_id": s, "utility": 0} for s in SEATS], "reason": "no_contract"}


def test_an_award_that_was_taken_is_paid_even_if_the_match_is_cut_off() -> None:
    opened = bounty(winners=2)
    works(opened, 1)
    scores(opened, 1, 100)
    opened.read(REFEREE, Abort("power cut"))
    assert opened.outcome is not None
    assert (opened.outcome.status, opened.outcome.utilities) == ("aborted", (-10, 10, 0, 0, 0))
    assert [w["reason"] for w in opened.outcome.details["workers"]] == ["task_resolved_success", "aborted", "aborted"]


# ── who sees what ───────────────────────────────────────────────────────────────────────────────────────


def test_competitors_see_neither_questions_nor_deliverables_of_each_other() -> None:
    opened = bounty()
    do(opened, 1, "ask_clarification", {"question": "my question"}, thread=1)
    do(opened, 0, "answer_clarification", {"answer": "my answer"}, thread=1)
    do(opened, 1, "accept_contract", thread=1)
    do(opened, 1, "submit_deliverable", {"content": "my work"}, thread=1)
    scores(opened, 1, 33)
    for rival in (2, 3):
        assert not any(word in str(opened.sent[rival]) for word in ("my question", "my answer", "my work", "33"))
        assert opened.view(rival, 1) == {}
    for seat in (0, 1, ORACLE):
        assert "my work" in str(opened.sent[seat])
    (told,) = [event for event in opened.events if event.kind == "notice"]
    assert told.recipients == (0, 1, ORACLE)
    assert b'does not win: task_resolved_fail, score 33, payment 0.","thread":1,"closes":true' in told.body


def test_the_view_has_the_keys_of_the_seed_and_the_awards_that_are_left() -> None:
    opened = bounty()
    keys = "contract clarifications accepted deliverable outcome_score outcome_label payment awards_left".split()
    for seat, thread in ((1, 1), (0, 2), (ORACLE, 3), (2, 0)):
        assert list(opened.view(seat, thread)) == keys
        assert opened.view(seat, thread)["contract"]["task_description"] == CONTRACT["task_description"]


def test_with_the_consumer_as_oracle_the_principal_scores() -> None:
    opened = posted("principal", "w1", "w2", shape="bounty", oracle="consumer", turn_order="concurrent")
    works(opened, 2)
    assert turn_in(opened, 0, 2)
    assert do(opened, 0, "record_outcome_score", {"score": 85}, thread=2) is None
    assert opened.outcome is not None
    assert opened.outcome.utilities == (-10, 0, 10)


def test_the_goal_is_that_the_bounty_is_awarded() -> None:
    assert PrincipalAgentGame(shape="bounty").goal == Goal("awarded", "bounty_awarded")


# ── through agents ──────────────────────────────────────────────────────────────────────────────────────


class Busy(Agent):
    """Does its part; a worker takes its time to deliver."""

    def __init__(self, agent_id: str, seconds: float = 0.0) -> None:
        super().__init__(agent_id)
        self.seconds = seconds

    async def act(self, turn: Turn) -> Answer:
        await asyncio.sleep(self.seconds if turn.phase == "execute" else 0)
        payloads: dict[str, dict[str, Any]] = {
            "post_contract": dict(CONTRACT),
            "submit_deliverable": {"content": "d"},
            "record_outcome_score": {"score": 99},
        }
        name = turn.allowed_actions[0]
        return Action(name, payloads.get(name, {}))


def test_at_once_the_fastest_worker_wins_and_in_turn_the_first(play: Play) -> None:
    for turn_order, winner in (("concurrent", "w3"), ("round_robin", "w1")):
        game = PrincipalAgentGame(shape="bounty", turn_order=turn_order, max_clarify_rounds=0)  # type: ignore[arg-type]
        agents = [Busy("principal"), Busy("w1", 3), Busy("w2", 2), Busy("w3", 1), Busy("oracle")]
        record = run_virtual(play(game, agents))
        rejudge(record, game)
        assert record.outcome.details["winners"] == [winner]
        assert record.errors == ()


@pytest.mark.parametrize("parameters", [{}, {"winners": 2, "accept_level": 30}, {"oracle": "consumer"}], ids=str)
def test_a_bounty_with_three_workers_or_more_passes_the_conformance_suite(parameters: dict[str, Any]) -> None:
    check_game(
        PrincipalAgentGame(shape="bounty", **parameters),
        SEATS,
        seeds=range(2),
        budget=lambda state, outcome: 0.0,
    )
