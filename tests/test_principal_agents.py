"""The scripted agents of the principal-agent game, in real matches, against the exact mathematics."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from math import fsum, inf, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from commands import quorum
from hypothesis import given
from hypothesis import strategies as st
from test_scripted import assert_clean, bodies, play

from actors.agent import Agent, Answer
from actors.registry import AGENTS, make_agent
from actors.scripted.principal_agent import deliverable
from actors.scripted.principal_agent.contracts import (
    DEFAULT_THRESHOLDS,
    best_response,
    expected_payment,
    linear_contract,
    optimal_contract,
    payment,
)
from actors.scripted.principal_agent.delegating import DelegatingWorker
from actors.scripted.principal_agent.effort import (
    DEFAULT_TECHNOLOGY,
    HIGH,
    LOW,
    Effort,
    Technology,
    Value,
    expected_worth,
    worth,
)
from actors.scripted.principal_agent.oracle import HonestOracle, LenientOracle, NoisyOracle
from actors.scripted.principal_agent.party import above
from actors.scripted.principal_agent.principal import FixedPrincipal, LinearPrincipal, OptimalPrincipal
from actors.scripted.principal_agent.worker import BestResponseWorker, Shirker
from actors.turn import Turn
from experiments.catalog import describe_files
from sim import ConfigError, MatchRecord, rejudge
from sim.games.principal_agent import (
    AcceptContract,
    OutcomeLevel,
    PrincipalAgentGame,
    RejectContract,
    SubmitDeliverable,
)
from sim.games.principal_agent.parameters import DEFAULT_LEVELS

GAME = PrincipalAgentGame()
KINDS = [kind for kind, cls in AGENTS.items() if "principal-agent" in getattr(cls, "games", ("principal-agent",))]
PRESETS = ("bounty", "nested_delegation", "orchestrator_to_specialist", "sla_pipeline")

CHI_SQUARE_2 = 9.21
"""The 99 % quantile of the chi-square distribution with 2 degrees of freedom."""

NORMAL_99 = 2.576
"""The two-sided 99 % quantile of the normal distribution."""


class Writer(Agent):
    """Accepts, and delivers a text of its own.

    Args:
        agent_id: Its seat id.
        text: The text.
    """

    def __init__(self, agent_id: str, text: str) -> None:
        super().__init__(agent_id)
        self.text = text

    def decide(self, turn: Turn) -> Answer:
        """Accept and deliver."""
        return SubmitDeliverable(self.text) if "submit_deliverable" in turn.allowed_actions else AcceptContract()


def trio(principal: Agent | None = None, worker: Agent | None = None, oracle: Agent | None = None) -> list[Agent]:
    """Return the three seats; plain ones where nothing is said."""
    return [
        principal or FixedPrincipal("principal"),
        worker or BestResponseWorker("worker"),
        oracle or HonestOracle("oracle"),
    ]


def actions(record: MatchRecord, name: str) -> list[dict[str, Any]]:
    """Return the payloads of an action, what is private among them, in order."""
    return [
        (body.get("payload") or {}) | (body.get("private") or {})
        for body in bodies(record, "action")
        if body["action"] == name
    ]


def qualities(records: Sequence[MatchRecord]) -> list[float]:
    """Return the quality of the last deliverable of each match."""
    found = [deliverable.read(actions(record, "submit_deliverable")[-1]["content"]) for record in records]
    return [quality for quality in found if quality is not None]


def levels_of(*payments: float) -> tuple[OutcomeLevel, ...]:
    return tuple(OutcomeLevel(f"l{n}", 40.0 * n, paid) for n, paid in enumerate(payments))


def random_technology(rng: random.Random) -> Technology:
    """Draw efforts with unique costs."""
    made = []
    for n, cost in enumerate(rng.sample(range(500), rng.randint(1, 5))):
        parts = [rng.random() for _ in range(3)]
        scores = zip(rng.sample(range(101), 3), (part / sum(parts) for part in parts), strict=True)
        made.append(Effort(f"e{n}", cost / 100, tuple((float(score), chance) for score, chance in scores)))
    return Technology(tuple(made))


def chi_square(drawn: Sequence[float], effort: Effort) -> float:
    counts = Counter(drawn)
    assert set(counts) <= {score for score, _ in effort.scores}
    return sum((counts[score] - len(drawn) * p) ** 2 / (len(drawn) * p) for score, p in effort.scores)


# ── workers ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [BestResponseWorker, Shirker])
def test_a_worker_accepts_and_exerts_what_the_mathematics_say(kind: type[BestResponseWorker]) -> None:
    rng = random.Random(7)
    accepted = 0
    chosen = set()
    for seed in range(300):
        technology, outside = random_technology(rng), rng.choice([0.0, 0.5, 2.0])
        levels = levels_of(*(rng.choice([0.0, rng.uniform(0, 8)]) for _ in range(rng.randint(1, 3))))
        worker = kind("worker", efforts=technology.efforts, outside=outside)
        (record,) = play(GAME, trio(FixedPrincipal("principal", levels=levels), worker), [seed])
        assert_clean(record)
        least = min(technology.efforts, key=lambda effort: effort.cost)
        able = Technology((least,)) if kind is Shirker else technology
        effort, _ = best_response(levels, able, outside)
        if effort is None:
            assert record.outcome.trigger == "contract_rejected"
            continue
        (done,) = actions(record, "submit_deliverable")
        assert done["effort_cost"] == effort.cost
        assert deliverable.read(done["content"]) in dict(effort.scores)
        assert record.outcome.figures["net_worker"] == record.outcome.utilities[1] - effort.cost
        accepted += 1
        chosen.add(technology.efforts.index(effort))
    assert 50 < accepted < 290 and len(chosen) > 2


@pytest.mark.parametrize(("kind", "effort"), [(BestResponseWorker, HIGH), (Shirker, LOW)])
def test_scores_have_the_distribution_of_the_effort(kind: type[BestResponseWorker], effort: Effort) -> None:
    records = play(GAME, trio(worker=kind("worker")), range(2000))
    scores = [record.outcome.details["outcome_score"] for record in records]
    assert scores == qualities(records)
    assert chi_square(scores, effort) < CHI_SQUARE_2
    other = LOW if effort is HIGH else HIGH
    assert chi_square(scores, other) > 100 * CHI_SQUARE_2


def test_a_worker_asks_its_question_once_and_every_principal_answers() -> None:
    for kind in (FixedPrincipal, LinearPrincipal, OptimalPrincipal):
        worker = BestResponseWorker("worker", question="By when?")
        (record,) = play(GAME, trio(kind("principal", criteria="Quick and clean."), worker))
        assert_clean(record)
        assert actions(record, "ask_clarification") == [{"question": "By when?"}]
        assert actions(record, "answer_clarification") == [{"answer": "What counts is this: Quick and clean."}]
        assert actions(record, "submit_deliverable")
    told = FixedPrincipal("principal", answer="By noon.")
    (record,) = play(GAME, trio(told, BestResponseWorker("worker", question="By when?")))
    assert actions(record, "answer_clarification") == [{"answer": "By noon."}]
    (record,) = play(PrincipalAgentGame(max_clarify_rounds=0), trio(told, BestResponseWorker("worker", question="?")))
    assert record.outcome.status == "resolved" and not actions(record, "ask_clarification")


@given(st.text(), st.floats(0, 100))
def test_a_quality_is_read_as_it_was_written(text: str, quality: float) -> None:
    assert deliverable.read(deliverable.write(text, quality)) == quality


def test_only_a_quality_in_its_place_is_read() -> None:
    assert deliverable.read("As good as it gets, quality 100.") is None
    assert deliverable.read("(quality 101)") is None
    assert deliverable.read("(quality -3)") is None
    assert deliverable.read("(quality 20), later (quality 80.5)") == 80.5
    assert deliverable.write("Done.", 80.0) == "Done. (quality 80)"


# ── oracles ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_honest_oracle_scores_what_it_finds_and_the_middle_where_it_finds_nothing() -> None:
    (record,) = play(GAME, trio(worker=Writer("worker", "Here it is. (quality 83.5)")))
    assert record.outcome.details["outcome_score"] == 83.5
    for oracle, score in ((HonestOracle("oracle"), 50.0), (LenientOracle("oracle", unread=30.0), 30.0)):
        (record,) = play(GAME, trio(worker=Writer("worker", "def answer(): return 42"), oracle=oracle))
        assert record.outcome.details["outcome_score"] == score


@pytest.mark.parametrize(("quality", "score"), [(0, 15), (70, 85), (85, 100), (99, 100)])
def test_a_lenient_oracle_adds_its_bonus_up_to_100(quality: float, score: float) -> None:
    worker = Writer("worker", deliverable.write("Done.", quality))
    (record,) = play(GAME, trio(worker=worker, oracle=LenientOracle("oracle", bonus=15.0)))
    assert record.outcome.details["outcome_score"] == score


def test_a_noisy_oracle_errs_evenly_within_its_spread() -> None:
    line_up = trio(worker=Writer("worker", "(quality 60)"), oracle=NoisyOracle("oracle", spread=12.0))
    scores = [record.outcome.details["outcome_score"] for record in play(GAME, line_up, range(2000))]
    assert 48 <= min(scores) < 48.2 and 71.8 < max(scores) <= 72
    assert abs(fmean(scores) - 60) < NORMAL_99 * 12 / sqrt(3) / sqrt(2000)
    best = trio(worker=Writer("worker", "(quality 100)"), oracle=NoisyOracle("oracle"))
    assert max(record.outcome.details["outcome_score"] for record in play(GAME, best, range(50))) == 100


# ── principals ──────────────────────────────────────────────────────────────────────────────────────────


def posted(record: MatchRecord) -> tuple[OutcomeLevel, ...] | None:
    """Return the outcome levels that were posted."""
    (payload,) = actions(record, "post_contract")
    levels = payload.get("outcome_levels")
    return None if levels is None else tuple(OutcomeLevel(**level) for level in levels)


def same(levels: Sequence[OutcomeLevel] | None, others: Sequence[OutcomeLevel]) -> bool:
    assert levels is not None
    return [(v.label, v.threshold, v.payment) for v in levels] == [(v.label, v.threshold, v.payment) for v in others]


def test_a_fixed_principal_posts_the_configured_levels_or_its_own() -> None:
    (record,) = play(GAME, trio())
    assert posted(record) is None
    own = levels_of(0.0, 1.0, 7.0)
    (record,) = play(GAME, trio(FixedPrincipal("principal", levels=own[::-1], task="Dig.", criteria="Deep.")))
    assert posted(record) == own
    assert actions(record, "post_contract")[0]["task_description"] == "Dig."


@pytest.mark.parametrize("value", [0.2, ((40.0, 3.0), (80.0, 15.0))])
def test_a_linear_principal_posts_a_share_of_the_worth(value: Value) -> None:
    (record,) = play(GAME, trio(LinearPrincipal("principal", share=0.25, value=value)))
    assert same(posted(record), linear_contract(DEFAULT_THRESHOLDS, 0.25, value))


def test_an_optimal_principal_posts_the_optimal_contract() -> None:
    rng = random.Random(3)
    efforts = Counter[str]()
    for seed in range(40):
        technology, value, outside = random_technology(rng), rng.uniform(0.0, 0.3), rng.choice([0.0, 0.5])
        principal = OptimalPrincipal("principal", value=value, efforts=technology.efforts, outside=outside)
        worker = BestResponseWorker("worker", efforts=technology.efforts, outside=outside)
        best = optimal_contract(technology, DEFAULT_THRESHOLDS, value, outside)
        (record,) = play(GAME, trio(principal, worker), [seed])
        assert_clean(record)
        if best.effort is None:
            assert [level.payment for level in posted(record) or ()] == [0, 0, 0]
            assert record.outcome.trigger == "contract_rejected"
            efforts["none"] += 1
        else:
            assert same(posted(record), best.levels)
            assert actions(record, "submit_deliverable")[0]["effort_cost"] == best.effort.cost
            efforts[best.effort.name] += 1
    assert len(efforts) > 2


def profits(principal: Agent, value: Value, matches: int) -> list[float]:
    records = play(GAME, trio(principal), range(matches))
    return [worth(value, r.outcome.details["outcome_score"]) + r.outcome.utilities[0] for r in records]


def test_an_optimal_principal_earns_what_it_expects_and_more_than_the_others() -> None:
    value, matches = 0.2, 2500
    best = optimal_contract(DEFAULT_TECHNOLOGY, DEFAULT_THRESHOLDS, value)
    offers: dict[Agent, Sequence[Any]] = {
        OptimalPrincipal("principal", value=value): best.levels,
        FixedPrincipal("principal"): DEFAULT_LEVELS,
        LinearPrincipal("principal", value=value): linear_contract(DEFAULT_THRESHOLDS, 0.5, value),
        LinearPrincipal("principal", value=value, share=0.2): linear_contract(DEFAULT_THRESHOLDS, 0.2, value),
    }
    means, errors = [], []
    for principal, levels in offers.items():
        effort, _ = best_response(levels, DEFAULT_TECHNOLOGY)
        assert effort is not None
        expected = expected_worth(value, effort) - expected_payment(levels, effort)
        square = fsum(p * (worth(value, score) - payment(levels, score) - expected) ** 2 for score, p in effort.scores)
        earned = profits(principal, value, matches)
        assert abs(fmean(earned) - expected) <= NORMAL_99 * sqrt(square / matches), (principal, fmean(earned), expected)
        means.append(fmean(earned))
        errors.append(sqrt(square / matches))
    assert abs(means[0] - best.principal_utility) <= NORMAL_99 * errors[0]
    for mean, error in zip(means[1:], errors[1:], strict=True):
        assert means[0] - mean > NORMAL_99 * (errors[0] + error)


def test_a_lenient_oracle_is_the_principals_loss() -> None:
    strict, lenient = (
        play(GAME, trio(worker=Shirker("worker"), oracle=oracle), range(300))
        for oracle in (HonestOracle("oracle"), LenientOracle("oracle"))
    )
    assert qualities(strict) == qualities(lenient)
    assert fmean(r.outcome.utilities[0] for r in lenient) < fmean(r.outcome.utilities[0] for r in strict) - 1


# ── any line-up ─────────────────────────────────────────────────────────────────────────────────────────


def random_game(rng: random.Random) -> tuple[PrincipalAgentGame, int]:
    """Draw a game, and its number of seats."""
    shape = rng.choice(["single", "bounty", "chain"])
    oracle = rng.choice(["independent", "consumer"])
    common: dict[str, Any] = {
        "oracle": oracle,
        "max_clarify_rounds": rng.randint(0, 3),
        "turn_order": rng.choice(["round_robin", "concurrent"]),
    }
    oracles = oracle == "independent"
    if shape == "single":
        return PrincipalAgentGame(**common), 2 + oracles
    if shape == "bounty":
        winners, accepted = rng.randint(1, 3), rng.choice([None, "partial", 60.0])
        seats = 1 + max(2, winners) + rng.randint(0, 3) + oracles
        return PrincipalAgentGame(shape="bounty", winners=winners, accept_level=accepted, **common), seats
    depth = rng.randint(1, 4)
    return PrincipalAgentGame(shape="chain", depth=depth, **common), 1 + (depth + 1) * (1 + oracles)


@pytest.mark.parametrize("seed", range(300))
def test_any_kind_in_any_seat_of_any_shape_plays_by_the_rules(seed: int) -> None:
    rng = random.Random(seed)
    game, seats = random_game(rng)
    agents = [make_agent(rng.choice(KINDS), f"a{seat}", {}) for seat in range(seats)]
    (record,) = play(game, agents, [seed], explore=seed)
    assert_clean(record)
    rejudge(record, game)
    assert fsum(record.outcome.utilities) == pytest.approx(0)


def test_the_worker_gets_what_the_principal_pays_and_the_oracle_nothing() -> None:
    paid = set()
    for seed in range(100):
        rng = random.Random(seed)
        agents = [make_agent(rng.choice(KINDS), agent_id, {}) for agent_id in ("principal", "worker", "oracle")]
        (record,) = play(GAME, agents, [seed])
        amount = record.outcome.details.get("payment", 0.0)
        assert record.outcome.utilities == (-amount, amount, 0.0)
        paid.add(amount)
    assert len(paid) > 4


def test_agents_that_pass_take_the_contract_to_its_end() -> None:
    (record,) = play(GAME, [make_agent("pass", agent_id, {}) for agent_id in ("principal", "worker", "oracle")])
    assert_clean(record)
    assert record.outcome.trigger.startswith("task_resolved_")


def test_random_agents_reach_all_ends_that_the_rules_have() -> None:
    agents = [make_agent("random", agent_id, {}) for agent_id in ("principal", "worker", "oracle")]
    records = play(GAME, agents, range(300))
    for record in records:
        assert_clean(record)
    ends = {"fail", "partial", "success"}
    assert {r.outcome.trigger for r in records} == {"contract_rejected", *(f"task_resolved_{end}" for end in ends)}
    assert {posted(record) is None for record in records} == {True, False}


# ── bounties ────────────────────────────────────────────────────────────────────────────────────────────


def test_in_a_bounty_a_worker_reckons_with_what_is_paid_and_its_chance() -> None:
    levels = DEFAULT_LEVELS
    assert [(v.threshold, v.payment) for v in above(levels, 80.0, 0.5)] == [(80, 5)]
    assert [(v.threshold, v.payment) for v in above(levels, 60.0, 1.0)] == [(60, 3), (80, 10)]
    game = PrincipalAgentGame(shape="bounty", winners=2)
    for chance, paid_from in ((1.0, None), (0.2, None), (0.5, 50.0), (0.0, None)):
        workers = [BestResponseWorker(f"w{n}", chance=chance, paid_from=paid_from) for n in range(3)]
        (record,) = play(game, [FixedPrincipal("principal"), *workers, HonestOracle("oracle")])
        effort, _ = best_response(above(levels, paid_from or 80.0, chance), DEFAULT_TECHNOLOGY)
        assert effort is not None
        assert {done["effort_cost"] for done in actions(record, "submit_deliverable")} == {effort.cost}
    workers = [BestResponseWorker(f"w{n}", chance=0.1, outside=2.0) for n in range(3)]
    (record,) = play(game, [FixedPrincipal("principal"), *workers, HonestOracle("oracle")])
    assert record.outcome.trigger == "contract_rejected"


def test_a_bounty_pays_no_more_than_its_winners() -> None:
    game = PrincipalAgentGame(shape="bounty", winners=2, turn_order="concurrent")
    agents = [FixedPrincipal("p"), *(BestResponseWorker(f"w{n}") for n in range(8)), HonestOracle("o")]
    won = Counter[int]()
    for seed in range(60):
        (record,) = play(game, agents, [seed], explore=seed)
        assert_clean(record)
        paid = [utility for utility in record.outcome.utilities[1:-1] if utility > 0]
        assert paid == [10.0] * len(record.outcome.details["winners"]) and len(paid) <= 2
        won[len(paid)] += 1
    assert won[2] > 50


# ── chains ──────────────────────────────────────────────────────────────────────────────────────────────

SPECIALIST = (Effort("little", 0.0, ((40.0, 1.0),)), Effort("much", 1.0, ((40.0, 0.2), (95.0, 0.8))))
GENERALIST = (Effort("little", 0.0, ((40.0, 0.7), (70.0, 0.3))), Effort("much", 10.0, ((40.0, 0.3), (95.0, 0.7))))
CHAIN = PrincipalAgentGame(shape="chain")
PAYS: tuple[OutcomeLevel, ...] = levels_of(0.0, 4.0, 20.0)


def chain(middle: Agent, last: Agent | None = None) -> list[Agent]:
    """Return principal, worker and oracle, and the worker and the oracle of the contract inside."""
    return [
        FixedPrincipal("principal", levels=PAYS),
        middle,
        HonestOracle("oracle"),
        last or BestResponseWorker("inner", efforts=SPECIALIST),
        HonestOracle("inner_oracle"),
    ]


def test_a_delegating_worker_delivers_with_the_inner_result_in_hand() -> None:
    middle = DelegatingWorker("worker", efforts=GENERALIST, inner_efforts=SPECIALIST, share=0.6, pass_on=0.2)
    efforts = Counter[tuple[float, float]]()
    for record in play(CHAIN, chain(middle), range(200)):
        assert_clean(record)
        (offer,) = actions(record, "delegate_task")
        assert [level["payment"] for level in offer["outcome_levels"]] == [0.0, 0.8, 4.0]
        score = record.outcome.figures["inner"]["outcome_score"]
        effort, _ = best_response(PAYS, middle.rest(score), -inf)
        assert effort is not None
        inner, outer = actions(record, "submit_deliverable")
        assert deliverable.read(inner["content"]) == score
        own = {0.4 * quality + 0.6 * score for quality in (40.0, 70.0, 95.0)}
        assert deliverable.read(outer["content"]) in own
        assert outer["effort_cost"] == effort.cost
        efforts[score, effort.cost] += 1
    assert set(efforts) == {(40.0, 0.0), (95.0, 4.0)}


def test_a_delegating_worker_earns_what_it_expects() -> None:
    middle = DelegatingWorker("worker", efforts=GENERALIST, inner_efforts=SPECIALIST, share=0.6, pass_on=0.2)
    records = play(CHAIN, chain(middle), range(2000))
    net = [record.outcome.figures["net_worker"]["worker"] for record in records]
    mean = fmean(net)
    error = sqrt(fsum((value - mean) ** 2 for value in net)) / len(net)
    expected = middle.expected(PAYS)
    assert abs(mean - expected) <= NORMAL_99 * error
    alone = best_response(PAYS, Technology(GENERALIST))[1]
    assert expected > alone + NORMAL_99 * error


@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize("pass_on", [0.2, 0.5])
def test_a_delegating_worker_may_hand_on_only_what_is_worth_it(always: bool, pass_on: float) -> None:
    middle = DelegatingWorker(
        "worker", efforts=GENERALIST, inner_efforts=SPECIALIST, share=0.6, pass_on=pass_on, always=always
    )
    worth_it = middle.expected(PAYS) > best_response(PAYS, Technology(GENERALIST))[1]
    assert worth_it is (pass_on == 0.2)
    (record,) = play(CHAIN, chain(middle))
    assert bool(actions(record, "delegate_task")) is (always or worth_it)


def test_a_delegating_worker_does_all_itself_where_nothing_is_delivered() -> None:
    class Unwilling(Agent):
        def decide(self, turn: Turn) -> Answer:
            return RejectContract("No.")

    middle = DelegatingWorker("worker", efforts=GENERALIST)
    (record,) = play(CHAIN, chain(middle, Unwilling("inner")))
    assert_clean(record)
    assert record.outcome.figures["inner"]["reason"] == "contract_rejected"
    (done,) = actions(record, "submit_deliverable")
    assert done["effort_cost"] == 10.0
    assert deliverable.read(done["content"]) in (40.0, 95.0)


@pytest.mark.parametrize("oracle", ["independent", "consumer"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_all_workers_of_a_chain_but_the_last_reckon_with_handing_on(oracle: Any, depth: int) -> None:
    # Alone the work costs more than it pays, so who accepts has counted on the worker below.
    alone = (Effort("alone", 1100.0, ((100.0, 1.0),)),)
    below = (Effort("free", 0.0, ((100.0, 1.0),)),)
    game = PrincipalAgentGame(shape="chain", depth=depth, oracle=oracle)
    step = 2 if oracle == "independent" else 1
    agents: list[Agent] = [HonestOracle(f"a{seat}") for seat in range(1 + (depth + 1) * step)]
    agents[0] = FixedPrincipal("a0", levels=levels_of(1000.0))
    for seat in range(1, len(agents), step):
        agents[seat] = DelegatingWorker(f"a{seat}", efforts=alone, inner_efforts=below, share=0.99, pass_on=0.9)
    (record,) = play(game, agents)
    assert_clean(record)
    assert [len(actions(record, name)) for name in ("accept_contract", "delegate_task")] == [depth, depth]
    assert len(actions(record, "reject_contract")) == 1


# ── options and files ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("fixed_principal", {"levels": []}, "at least one level"),
        ("fixed_principal", {"levels": [{"label": "a", "threshold": 120, "payment": 1}]}, "levels"),
        ("linear_principal", {"share": 1.5}, "share=1.5"),
        ("linear_principal", {"thresholds": {"good": 120}}, "threshold 120"),
        ("optimal_principal", {"thresholds": {}}, "at least one level"),
        ("optimal_principal", {"value": -1}, "value=-1"),
        ("optimal_principal", {"value": [[0, 1], [0, 2]]}, "more than once"),
        ("best_response_worker", {"efforts": []}, "at least one effort"),
        ("best_response_worker", {"efforts": [{"name": "a", "cost": 1, "scores": [[50, 0.5]]}]}, "add to 0.5"),
        ("delegating_worker", {"share": 1.0}, "share=1.0"),
        ("lenient_oracle", {"bonus": 101}, "bonus=101"),
    ],
)
def test_a_mistake_in_an_option_shows_before_anything_starts(kind: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make_agent(kind, "me", options)


def test_options_are_plain_data() -> None:
    agent = make_agent(
        "optimal_principal",
        "me",
        {
            "value": [[50, 4], [80, 20]],
            "efforts": [{"name": "only", "cost": 2, "scores": [[90, 1]]}],
            "thresholds": {"good": 70},
        },
    )
    assert isinstance(agent, OptimalPrincipal)
    assert [(v.label, v.payment) for v in agent.best.levels] == [("good", 2.0)]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_played_by_its_own_line_up_and_can_be_read(preset: str, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    ended = quorum("run", f"game=principal_agent/{preset}", "num_matches=20", f"out={out}")
    assert (ended.code, ended.err) == (0, "")
    assert "all resolved" in ended.out
    shown = quorum("show", out, "0").out
    assert "task_description" in shown and "quality" in shown
    assert not any(word in shown for word in ("REJECTED", "lets the deadline pass", "raises"))


def test_every_line_up_says_what_it_is_and_every_preset_has_one() -> None:
    games = {file["setting"]: file["summary"] for file in describe_files("game")}
    agents = {file["setting"]: file["summary"] for file in describe_files("agents")}
    for preset in PRESETS:
        assert games[f"game=principal_agent/{preset}"]
        assert agents[f"agents=principal_agent/{preset}"]
