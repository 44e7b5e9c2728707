"""The scripted agents, in real matches."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
import pytest

from actors.agent import Agent, Answer, Decision
from actors.registry import AGENTS, make_agent
from actors.runtime.host import AgentHost
from actors.scripted.common import RandomAgent
from actors.turn import Turn
from sim import (
    Address,
    Clock,
    Game,
    LocalBus,
    MatchRecord,
    MatchSpec,
    Message,
    Pass,
    ProvisionPointGame,
    Referee,
    rejudge,
    run_virtual,
)
from sim.games.provision_point.actions import SignalIntent, SubmitCommitment

MODES: Sequence[Literal["full", "simple"]] = ("full", "simple")
ORDERS: Sequence[Literal["round_robin", "concurrent"]] = ("round_robin", "concurrent")
PASS = Pass()
KINDS = [kind for kind, cls in AGENTS.items() if "provision-point" in getattr(cls, "games", ("provision-point",))]
OPTIONS: dict[str, dict[str, Any]] = {"pledger": {"share": 0.2}}
"""Options of the kinds that cannot do without."""


def play(
    game: Game, agents: Sequence[Agent], seeds: Iterable[int] = (1,), *, explore: int | None = None
) -> list[MatchRecord]:
    """Play a match for each seed, all at once, with the same agents; return the records in order of seeds."""

    async def main() -> list[MatchRecord]:
        bus, clock = LocalBus(), Clock()
        host = AgentHost(lambda address: agents[address.seat], bus, clock, lambda address: game.action_types)
        records: list[asyncio.Future[MatchRecord]] = []
        for index, seed in enumerate(seeds):
            ended: asyncio.Future[MatchRecord] = asyncio.get_running_loop().create_future()
            spec = MatchSpec(index, tuple(agent.agent_id for agent in agents), seed)
            game.check_seats(spec.agent_ids)
            for seat in range(len(agents)):
                bus.attach(Address(index, seat), host.receive)
            Referee(spec, game, bus, clock, ended.set_result).open()
            records.append(ended)
        return list(await asyncio.gather(*records))

    return run_virtual(main(), explore=explore)


def line_up(*kinds: str, **options: Any) -> list[Agent]:
    """Make agents a0, a1, ... of these kinds."""
    return [make_agent(kind, f"a{seat}", OPTIONS.get(kind, {}) | options) for seat, kind in enumerate(kinds)]


def bodies(record: MatchRecord, kind: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(event.body) for event in record.events if event.kind == kind]


def said_to_all(record: MatchRecord) -> list[tuple[str, str]]:
    """Return (who, what) of each public message."""
    return [(b["agent_id"], text) for b in bodies(record, "action") for text in b.get("messages", ())]


def amounts(record: MatchRecord, agent_id: str) -> list[float]:
    """Return every amount that an agent signalled or committed, in order."""
    payloads = [b["payload"] for b in bodies(record, "action") if b["agent_id"] == agent_id]
    return [v for p in payloads for k, v in p.items() if k in ("amount", "new_amount", "approximate_amount")]


def commitments(record: MatchRecord) -> dict[str, float]:
    """Return the commitments that stand at the end."""
    standing: dict[str, float] = {}
    for body in bodies(record, "action"):
        if body["action"] == "withdraw_commitment":
            del standing[body["agent_id"]]
        elif body["action"] in ("submit_commitment", "update_commitment"):
            payload = body["payload"]
            standing[body["agent_id"]] = payload.get("amount", payload.get("new_amount"))
    return standing


def facts(record: MatchRecord) -> list[dict[str, Any]]:
    """Return the private facts of each seat."""
    return [body for body in bodies(record, "open")[1:]]


def assert_clean(record: MatchRecord) -> None:
    """Assert that a match ended by its rules, without a rejected answer or an error."""
    assert record.outcome.status == "resolved"
    assert record.errors == ()
    assert not [e for e in record.events if e.kind in ("rejected", "timeout", "forfeit", "lost", "abort")]


# ── any line-up ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mode", MODES)
def test_every_line_up_ends_by_the_rules(mode: Literal["full", "simple"], order: Any) -> None:
    game = ProvisionPointGame(mode=mode, turn_order=order)
    for kinds in itertools.product(KINDS, repeat=3):
        for record in play(game, line_up(*kinds), range(2)):
            assert_clean(record)


@pytest.mark.parametrize("seed", range(200))
def test_no_answer_is_ever_rejected(seed: int) -> None:
    rng = random.Random(seed)
    mode = rng.choice(MODES)
    game = ProvisionPointGame(
        mode=mode,
        turn_order=rng.choice(ORDERS),
        threshold=rng.choice([0.1, 33.3, 100.0, 7e8]),
        endowment=rng.choice([0.05, 80.0, 3e8]),
        valuation_mode=rng.choice(["random", "auto"]) if mode == "full" else "random",
        allow_commitment_updates=rng.random() < 0.5,
        max_rounds_signal=rng.randint(1, 4),
        max_rounds_commit=rng.randint(1, 7),
    )
    agents = line_up(*rng.choices(KINDS, k=rng.randint(2, 7)))
    for record in play(game, agents, [seed], explore=seed):
        assert_clean(record)
        rejudge(record, game)


@pytest.mark.parametrize("mode", MODES)
def test_talkers_say_one_public_sentence_with_each_action(mode: Literal["full", "simple"]) -> None:
    game = ProvisionPointGame(mode=mode)
    for kind in ("pass", "random", "rational", "zero_intelligence"):
        (record,) = play(game, line_up(kind, kind, kind, talk=True))
        assert_clean(record)
        assert record.messages == record.turns
        assert len(said_to_all(record)) == record.turns


def test_the_same_seed_gives_the_same_outcomes_and_another_seed_others() -> None:
    game = ProvisionPointGame()
    kinds = ("random", "zero_intelligence", "random", "colluder", "rational", "free_rider")
    once, again = (play(game, line_up(*kinds), range(30)) for _ in range(2))
    assert [r.events for r in once] == [r.events for r in again]
    assert len({r.outcome.utilities for r in once}) > 1


def test_matches_at_once_do_not_disturb_each_other() -> None:
    game = ProvisionPointGame(valuation_mode="auto")
    agents = line_up("coordinator", "colluder", "colluder", "free_rider", "zero_intelligence", "random")
    together = play(game, agents, range(20))
    alone = [play(game, agents, [seed])[0] for seed in range(20)]
    assert [commitments(r) for r in together] == [commitments(r) for r in alone]
    assert [r.outcome for r in together] == [r.outcome for r in alone]


# ── rational ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("updates", [True, False])
@pytest.mark.parametrize("rounds", [1, 3])
def test_rational_contributors_fund_exactly_what_their_limits_reach(updates: bool, rounds: int) -> None:
    rng = random.Random(5)
    funded = 0
    for _ in range(150):
        n = rng.randint(1, 6)
        values = {f"a{seat}": float(rng.randint(0, 60)) for seat in range(1, n + 1)}
        limits = {agent_id: min(value, 40.0) for agent_id, value in values.items()}
        game = ProvisionPointGame(
            threshold=60.0,
            endowment=40.0,
            valuations=values,
            allow_commitment_updates=updates,
            max_rounds_signal=rounds,
        )
        (record,) = play(game, line_up(*["rational"] * (n + 1)))
        feasible = sum(limits.values()) >= 60.0
        assert (record.outcome.trigger == "threshold_met") is feasible
        assert all(amount <= limits[agent_id] for agent_id in values for amount in amounts(record, agent_id))
        assert all(utility >= 0 for utility in record.outcome.utilities)
        if feasible:
            assert 60.0 <= record.outcome.details["total_committed"] <= 60.0 + n * 0.001
            funded += 1
    assert 30 < funded < 120


def test_rational_contributors_fund_in_concurrent_order_what_their_limits_reach() -> None:
    for seed in range(100):
        values = {f"a{seat}": float(random.Random(seed * 10 + seat).randint(0, 60)) for seat in range(1, 5)}
        game = ProvisionPointGame(endowment=40.0, valuations=values, turn_order="concurrent")
        (record,) = play(game, line_up(*["rational"] * 5), explore=seed)
        assert (record.outcome.trigger == "threshold_met") is (sum(min(v, 40.0) for v in values.values()) >= 100.0)
        assert all(u >= 0 for u in record.outcome.utilities)


def test_a_rational_contributor_takes_back_what_is_not_needed() -> None:
    class Late(Agent):
        def decide(self, turn: Turn) -> Answer:
            if turn.phase == "commit" and turn.round == 2:
                return SubmitCommitment(70.0)
            return PASS

    game = ProvisionPointGame(threshold=70.0, valuations={"a1": 80.0, "a2": 80.0})
    (record,) = play(game, [*line_up("pass", "rational"), Late("a2")])
    assert amounts(record, "a1") == [35.0, 70.0, 70.0, 0.001]
    assert record.outcome.trigger == "threshold_met"


def test_a_margin_is_kept() -> None:
    game = ProvisionPointGame(valuations={"a1": 100.0, "a2": 100.0})
    (record,) = play(game, line_up("pass") + [make_agent("rational", f"a{i}", {"margin": 0.55}) for i in (1, 2)])
    assert record.outcome.trigger != "threshold_met"
    (record,) = play(game, line_up("pass") + [make_agent("rational", f"a{i}", {"margin": 0.5}) for i in (1, 2)])
    assert record.outcome.utilities == (0.0, 50.0, 50.0)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("value", [20.0, 33.0, 34.0, 70.0])
def test_in_simple_mode_rational_equals_fund_what_is_worth_it(value: float, order: Any) -> None:
    game = ProvisionPointGame(mode="simple", valuations={f"a{i}": value for i in range(3)}, turn_order=order)
    (record,) = play(game, line_up("rational", "rational", "rational"))
    assert (record.outcome.trigger == "threshold_met") is (3 * value >= 100.0)
    assert all(amount <= value for i in range(3) for amount in amounts(record, f"a{i}"))
    assert record.outcome.utilities == ((value,) * 3 if 3 * value >= 100.0 else (0.0,) * 3)


def test_in_simple_mode_a_rational_contributor_fills_a_gap_only_below_its_reservation_value() -> None:
    for seed in range(200):
        (record,) = play(
            ProvisionPointGame(mode="simple"), line_up("zero_intelligence", "rational", "rational"), [seed]
        )
        for agent_id, private in zip(("a1", "a2"), facts(record)[1:], strict=True):
            assert all(amount <= private["my_reservation_value"] for amount in amounts(record, agent_id))


def test_an_absurd_signal_breaks_no_agent() -> None:
    class Braggart(Agent):
        def decide(self, turn: Turn) -> Answer:
            return SignalIntent(1.7e308) if turn.phase == "signal" else PASS

    for kind in KINDS:
        agents = [*line_up("pass"), Braggart("a1"), Braggart("a2"), *line_up("pass", "pass", "pass", kind)[3:]]
        assert_clean(play(ProvisionPointGame(), agents)[0])


# ── free riders ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seat", [1, 2, 3])
def test_in_full_mode_a_free_rider_gets_more_than_those_it_exploits(seat: int, order: Any) -> None:
    kinds = ["coordinator", "rational", "rational", "rational"]
    kinds[seat] = "free_rider"
    game = ProvisionPointGame(valuations={f"a{i}": 70.0 for i in range(1, 4)}, turn_order=order)
    (record,) = play(game, line_up(*kinds))
    payoffs = record.outcome.utilities[1:]
    assert record.outcome.trigger == "threshold_met"
    assert payoffs[seat - 1] == pytest.approx(69.99)
    assert all(payoffs[seat - 1] > payoff for i, payoff in enumerate(payoffs, 1) if i != seat)


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_in_simple_mode_a_free_rider_has_the_same_project_for_less(seat: int) -> None:
    kinds = ["rational"] * 3
    kinds[seat] = "free_rider"
    game = ProvisionPointGame(mode="simple", valuations={f"a{i}": 70.0 for i in range(3)})
    (record,) = play(game, line_up(*kinds))
    paid = commitments(record)
    assert record.outcome.trigger == "threshold_met"
    assert record.outcome.utilities == (70.0, 70.0, 70.0)
    assert all(paid.get(f"a{seat}", 0.0) <= paid[f"a{i}"] for i in range(3) if i != seat)


def test_in_simple_mode_a_stubborn_free_rider_loses_less_than_those_it_exploits() -> None:
    game = ProvisionPointGame(mode="simple", valuations={"a0": 70.0, "a1": 70.0})
    (record,) = play(game, [make_agent("rational", "a0", {}), make_agent("free_rider", "a1", {"stake": 0.0})])
    assert record.outcome.utilities == (-50.0, 0.0)


def test_a_free_rider_presses_the_others_in_public_unless_told_not_to() -> None:
    agents = line_up("rational", "free_rider")
    (record,) = play(ProvisionPointGame(mode="simple"), agents)
    assert {who for who, _ in said_to_all(record)} == {"a1"}
    assert record.messages == len(said_to_all(record))
    agents[1] = make_agent("free_rider", "a1", {"talk": False})
    assert play(ProvisionPointGame(mode="simple"), agents)[0].messages == 0


# ── colluders ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mode", MODES)
def test_a_colluders_messages_reach_its_partners_alone(mode: Literal["full", "simple"], order: Any) -> None:
    game = ProvisionPointGame(mode=mode, turn_order=order)
    agents = line_up("coordinator", "rational", "rational", "rational", "rational")
    agents[1] = make_agent("colluder", "a1", {"partners": ["a3", "a4", "nobody"]})
    agents[3] = make_agent("colluder", "a3", {"partners": ["a1"]})
    sent = 0
    for record in play(game, agents, range(20)):
        assert not {"a1", "a3"} & {who for who, _ in said_to_all(record)}
        for event in record.events:
            if event.kind == "message" and event.sender in (1, 3):
                sent += 1
                assert event.recipients in ((1, 3), (1, 4))
    assert sent > 0


def test_colluders_honour_an_accepted_deal() -> None:
    values = {f"a{i}": 70.0 for i in range(1, 4)}
    agents = line_up("coordinator", "colluder", "colluder", "pass")
    agents[2] = make_agent("colluder", "a2", {"partners": ["a1"]})
    (record,) = play(ProvisionPointGame(valuations=values), agents)
    assert commitments(record) == {"a1": 50.0, "a2": 50.0}
    private = bodies(record, "message")
    assert [body["agent_id"] for body in private] == ["a1", "a2"]
    assert record.outcome.utilities == (0.0, 20.0, 20.0, 0.0)


def test_a_colluder_refuses_a_deal_above_its_limit() -> None:
    agents = [*line_up("pass", "colluder"), make_agent("colluder", "a2", {"partners": ["a1"]})]
    game = ProvisionPointGame(valuations={"a1": 80.0, "a2": 30.0})
    (record,) = play(game, agents)
    assert all(amount <= 30.0 for amount in amounts(record, "a2"))
    assert "Deal" not in " ".join(body["text"] for body in bodies(record, "message") if body["agent_id"] == "a2")


def test_a_colluder_keeps_its_offer_to_whoever_answers_deal() -> None:
    class Taker(Agent):
        def decide(self, turn: Turn) -> Answer:
            offered = any("you commit" in chat.text for chat in turn.messages)
            return Decision(PASS, [Message("Deal!", ("a1",))]) if offered else PASS

    game = ProvisionPointGame(valuations={"a1": 80.0, "a2": 80.0})
    (record,) = play(game, [*line_up("pass"), make_agent("colluder", "a1", {"share": 0.3}), Taker("a2")])
    assert commitments(record) == {"a1": pytest.approx(30.0)}


# ── zero intelligence, coordinator, any game ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", MODES)
def test_zero_intelligence_stays_within_its_budget(mode: Literal["full", "simple"]) -> None:
    key = "my_valuation" if mode == "full" else "my_reservation_value"
    drawn: list[float] = []
    for record in play(ProvisionPointGame(mode=mode), line_up(*["zero_intelligence"] * 4), range(100)):
        for seat, private in enumerate(facts(record)):
            budget = min(private.get(key, 0.0), 80.0 if mode == "full" else 100.0)
            assert all(0 < amount <= budget for amount in amounts(record, f"a{seat}"))
            drawn += [amount / budget for amount in amounts(record, f"a{seat}")]
    assert 0.45 < sum(drawn) / len(drawn) < 0.55


def test_a_coordinator_announces_what_it_is_told_and_reports_totals() -> None:
    agents = line_up("coordinator", "rational", "rational")
    agents[0] = make_agent("coordinator", "a0", {"project": "A cluster", "threshold": 120})
    (record,) = play(ProvisionPointGame(valuations={"a1": 80.0, "a2": 80.0}), agents)
    (announced,) = [b["payload"] for b in bodies(record, "action") if b["action"] == "announce_project"]
    assert (announced["description"], announced["threshold"]) == ("A cluster", 120.0)
    assert record.outcome.details["total_committed"] == 120.0
    said = [text for _, text in said_to_all(record)]
    assert "120 of 120 is committed: we have it. Please stand by it." in said
    assert len(set(said)) == len(said)


def test_contributors_that_set_their_own_valuation_declare_it_once_and_in_private() -> None:
    game = ProvisionPointGame(valuation_mode="auto")
    for kind in ("rational", "zero_intelligence", "free_rider", "colluder"):
        (record,) = play(game, [*line_up("pass"), *(make_agent(kind, f"a{i}", {"valuation": 75}) for i in (1, 2))])
        taken = bodies(record, "action")
        declared = [b["private"]["my_valuation"] for b in taken if b.get("private")]
        assert declared == [75.0, 75.0]
        assert all("my_valuation" not in b["payload"] for b in taken)


def test_a_random_agent_says_which_action_type_it_does_not_know() -> None:
    class Elsewhere(RandomAgent):
        def choose(self, turn: Turn) -> str:
            return "odd"

    game = ProvisionPointGame(mode="simple")
    (record,) = play(game, [Elsewhere("a0"), make_agent("pass", "a1", {})])
    assert "the action type of odd is not known" in record.errors[0]
