"""Scripted agents of the coalition game: how they share, what they sign, and that they look back at a match."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from coalition_runs import decisions, figures, line_up, notices, outcomes, play
from hypothesis import given
from hypothesis import strategies as st

from actors.agent import Action, Agent, Answer
from actors.registry import make_agent
from actors.runtime.plan import Settings
from actors.scripted.coalition.sharing import demand, divide, partners, share_out
from actors.scripted.coalition.situation import Agent as Known
from actors.scripted.coalition.situation import Discovery, Proposal, Task, Version
from actors.seat import Seat
from actors.turn import Turn
from experiments.config import compose
from experiments.cooperative import baron_ferejohn
from experiments.runner import run_config
from sim.rng import generator

TASK = Task(1, 30, 2, (2, 2), 10.0, True)
ONE: dict[str, Any] = {
    "tasks": [{"value": 30, "quorum": 2, "requires": [2, 2], "at": 0}],
    "discoverers": ("agent_1",),
    "capabilities": {"agent_1": (2, 0), "agent_2": (0, 2), "agent_3": (1, 0)},
    "costs": 3,
    "units": 4,
}
"""One task, which `agent_1` discovers and for which it needs `agent_2`."""


# ── sharing ─────────────────────────────────────────────────────────────────────────────────────────────────


@given(value=st.integers(0, 10**6), weights=st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_a_division_gives_all_away_and_is_within_one_of_the_exact_proportion(value: int, weights: list[int]) -> None:
    shares = divide(value, {str(n): weight for n, weight in enumerate(weights)})
    total = sum(weights)
    exact = [value * weight / total if total else value / len(weights) for weight in weights]
    assert sum(shares.values()) == value
    assert all(abs(share - due) < 1 for share, due in zip(shares.values(), exact, strict=True))


@given(greed=st.floats(0, 1), value=st.integers(0, 1000), sharing=st.sampled_from(["equal", "proportional"]))
def test_whoever_is_greedy_keeps_its_part_and_all_is_shared_out(greed: float, value: int, sharing: Any) -> None:
    task = Task(1, value, 2, (2, 2), 10.0, True)
    members = [Known("a", (2, 0), 1), Known("b", (1, 2), 1), Known("c", (0, 0), 1)]
    shares = share_out(task, members, sharing, greed)
    assert sum(shares.values()) == value
    assert shares["a"] >= int(greed * value)


def test_shares_in_proportion_count_only_what_the_task_requires() -> None:
    members = [Known("a", (9, 0), 1), Known("b", (0, 1), 1)]
    assert share_out(TASK, members, "proportional") == {"a": 20, "b": 10}


def found(peers: list[tuple[int, ...]], capabilities: tuple[int, ...] = (2, 0), quorum: int = 2) -> Discovery:
    known = tuple(Known(f"p{n}", has, 1) for n, has in enumerate(peers))
    return Discovery("me", capabilities, 4, 3, Task(1, 30, quorum, (2, 2), 10.0, True), known)


def chosen(discovery: Discovery, extra: int = 0) -> set[str] | None:
    members = partners(discovery, extra, generator(1, "partners"))
    return None if members is None else {agent.id for agent in members}


def test_partners_are_those_who_provide_what_is_lacking_and_no_more_than_needed() -> None:
    assert chosen(found([(2, 0), (0, 2), (0, 1)])) == {"me", "p1"}
    assert chosen(found([(2, 0), (0, 1), (0, 1)])) == {"me", "p1", "p2"}
    assert len(chosen(found([(0, 2), (0, 2), (0, 2)], quorum=3)) or ()) == 3
    assert len(chosen(found([(0, 2), (0, 2), (0, 2)]), extra=1) or ()) == 3


def test_without_enough_peers_there_are_no_partners() -> None:
    assert chosen(found([(2, 0), (0, 1)])) is None
    assert chosen(found([(0, 2)], quorum=3)) is None


@given(
    shares=st.lists(st.integers(0, 60), min_size=2, max_size=5),
    least=st.floats(0, 120),
    spare=st.integers(0, 20),
)
def test_a_demand_is_met_and_never_shares_out_more_than_there_is(shares: list[int], least: float, spare: int) -> None:
    names = [f"a{n}" for n in range(len(shares))]
    task = Task(1, sum(shares) + spare, 2, (), 10.0, True)
    version = Version(1, "d", None, names[1], dict(zip(names, shares, strict=True)), {})
    known = tuple(Known(name, (), 1) for name in names)
    offer = Proposal(
        names[0], (), 4, 3, task, 1, "open", names[1], known, 0.0, 9.0, version, 3, {}, (names[-1],), shares[0], 0, 0
    )
    asked = demand(offer, least)
    if asked is None:
        assert least > task.value
    else:
        assert asked[names[0]] >= least
        assert sum(asked.values()) <= task.value
        assert names[-1] not in asked


# ── the rule-based agent ────────────────────────────────────────────────────────────────────────────────────


def test_a_fair_proposal_is_signed_at_once_and_the_coalition_active_where_all_have_committed(tmp_path: Path) -> None:
    run = play(tmp_path, ONE, line_up("coalition_agent", 3, stake=2), 5)
    assert outcomes(run) == {"initiated": 5, "active": 5}
    assert [row["action"] for row in decisions(run)[:2]] == ["initiate", "sign"]
    assert all(row["rows"][0]["members"] == {"agent_1": 15, "agent_2": 15} for row in figures(run))


def test_members_who_have_not_committed_are_waited_for_until_the_initiator_deploys(tmp_path: Path) -> None:
    run = play(tmp_path, ONE, line_up("coalition_agent", 3, stake=2, commit=False), 5)
    assert [row["action"] for row in decisions(run)[:3]] == ["initiate", "sign", "deploy"]
    assert figures(run)[0]["units"]["bound"] == 4


def test_who_is_offered_too_little_asks_once_for_a_fair_share_and_gets_it_where_the_other_can_live_with_it(
    tmp_path: Path,
) -> None:
    agents = [
        make_agent("coalition_agent", "agent_1", {"greed": 0.5, "fairness": 0.5}),
        *(make_agent("coalition_agent", f"agent_{n}", {"fairness": 0.8}) for n in (2, 3)),
    ]
    run = play(tmp_path, ONE, agents, 3)
    assert [row["action"] for row in decisions(run)[:3]] == ["initiate", "modify", "sign"]
    assert figures(run)[0]["rows"][0]["members"] == {"agent_1": 15, "agent_2": 15}


def test_units_that_are_locked_for_a_formation_count_for_its_next_version(tmp_path: Path) -> None:
    first = make_agent("coalition_agent", "agent_1", {"greed": 0.5, "fairness": 0.5, "stake": 2})
    others = [make_agent("coalition_agent", f"agent_{n}", {"fairness": 0.8}) for n in (2, 3)]
    run = play(tmp_path, ONE | {"units": 2}, [first, *others], 3)
    assert [row["action"] for row in decisions(run)[:3]] == ["initiate", "modify", "sign"]
    assert outcomes(run) == {"initiated": 3, "active": 3}
    assert figures(run)[0]["units"] == {"supply": 6, "available": 2, "held": 0, "bound": 4}


@pytest.mark.parametrize(("options", "rule"), [({"modifies": 0}, "unfair"), ({"margin": 40.0}, "unfair")])
def test_who_may_not_ask_or_cannot_be_satisfied_rejects(tmp_path: Path, options: dict[str, Any], rule: str) -> None:
    agents = [make_agent("coalition_agent", "agent_1", {"greed": 0.5})]
    agents += [make_agent("coalition_agent", f"agent_{n}", options) for n in (2, 3)]
    run = play(tmp_path, ONE, agents, 3)
    assert outcomes(run) == {"initiated": 3, "failed_infeasible": 3}
    assert [(row["action"], row["selection"]) for row in decisions(run)[1:2]] == [("reject", f"system-rule({rule})")]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"costs": 15}, "no gain"),
        (
            {"known_peers": 1, "capabilities": {"agent_1": (2, 0), "agent_2": (1, 0), "agent_3": (1, 0)}},
            "too few peers",
        ),
        (
            {
                "tasks": [{"value": 30, "quorum": 1, "requires": [1, 1], "at": 0}],
                "capabilities": dict.fromkeys(("agent_1", "agent_2", "agent_3"), (1, 1)),
            },
            "alone",
        ),
    ],
)
def test_it_does_not_initiate_what_does_not_fit(tmp_path: Path, changes: dict[str, Any], rule: str) -> None:
    run = play(tmp_path, ONE | changes, line_up("coalition_agent", 3), 2)
    assert {row["selection"] for row in decisions(run)} == {f"system-rule({rule})"}
    assert outcomes(run) == {"initiated": 0}


def test_as_initiator_it_shares_out_anew_what_someone_has_left(tmp_path: Path) -> None:
    quorum_of_two = ONE | {"capabilities": dict.fromkeys(("agent_1", "agent_2", "agent_3"), (2, 2))}
    agents = list(line_up("coalition_agent", 2, extra=1))
    agents.append(make_agent("coalition_agent", "agent_3", {"margin": 40.0}))
    run = play(tmp_path, quorum_of_two, agents, 4)
    assert outcomes(run) == {"initiated": 4, "active": 4}
    assert figures(run)[0]["rows"][0]["members"] == {"agent_1": 15, "agent_2": 15}


def test_each_decision_says_how_it_was_made_and_of_rules_there_is_no_doubt(tmp_path: Path) -> None:
    run = run_config(
        compose(["game=coalition/full", "num_matches=10", "runtime.clock=virtual", f"out={tmp_path / 'run'}"])
    )
    made = decisions(run)
    assert len(made) == sum(row["decisions"] for row in figures(run)) > 50
    assert all(row["probability"] == 1.0 and row["selection"].startswith("system-rule(") for row in made)
    assert all(row["context"] for row in made if row["selection"] != "system-rule(refused)")


@pytest.mark.parametrize(
    ("game", "agents", "matches"),
    [
        ("full", "mixed", 20),
        ("full", "rule_based", 20),
        ("full", "random", 40),
        ("learning", "learning", 20),
        ("large", "large", 1),
        ("baron_ferejohn", "baron_ferejohn", 20),
    ],
)
def test_every_line_up_plays_its_game_to_the_end(tmp_path: Path, game: str, agents: str, matches: int) -> None:
    settings = [f"game=coalition/{game}", f"agents=coalition/{agents}", "runtime.clock=virtual", "game.max_turns=20000"]
    run = run_config(compose([*settings, f"num_matches={matches}", f"out={tmp_path / 'run'}"]))
    rows = run.matches()
    assert set(rows["status"]) == {"resolved"}
    assert set(rows["errors"]) == {"[]"}
    if agents != "learning":  # who has learnt nothing yet forms nothing
        assert outcomes(run)["active"] > 0


def test_rule_based_agents_are_refused_nothing_but_what_came_late(tmp_path: Path) -> None:
    run = run_config(
        compose(["game=coalition/full", "num_matches=30", "runtime.clock=virtual", f"out={tmp_path / 'run'}"])
    )
    events = [event for record in run.directory.records() for event in record.events if event.kind == "rejected"]
    assert [event.body for event in events if json.loads(event.body)["code"] != "late"] == []


# ── bargaining in legislatures ──────────────────────────────────────────────────────────────────────────────


def test_proposer_and_partner_get_what_baron_and_ferejohn_say_without_delay(tmp_path: Path) -> None:
    matches = 1500
    settings = ["game=coalition/baron_ferejohn", f"num_matches={matches}", "seed=3", "runtime.clock=virtual"]
    run = run_config(compose([*settings, f"out={tmp_path / 'run'}"]))
    formed = [row["rows"][0] for row in figures(run)]
    assert {(row["end"], row["versions"], len(row["members"])) for row in formed} == {("active", 1, 2)}
    exact = baron_ferejohn(3, 0.8)
    kept = [row["members"][row["initiator"]] / 30000 for row in formed]
    paid = [share / 30000 for row in formed for seat, share in row["members"].items() if seat != row["initiator"]]
    assert sum(kept) / matches == pytest.approx(exact.proposer, abs=0.005)
    assert sum(paid) / matches == pytest.approx(exact.partner, abs=0.005)
    assert {row["ended"] for row in formed} == {0.0}
    for seat in ("member_1", "member_2", "member_3"):
        for p, count in (
            (1 / 3, sum(row["initiator"] == seat for row in formed)),
            (1 / 3, sum(seat in row["members"] and row["initiator"] != seat for row in formed)),
        ):
            assert abs(count / matches - p) < 4 * sqrt(p * (1 - p) / matches)


def test_members_reject_less_than_a_vote_is_worth(tmp_path: Path) -> None:
    game = {"tasks": [{"value": 30000, "quorum": 2, "requires": [], "at": 0}], "kinds": 0, "costs": 0}
    patient = [make_agent("baron_ferejohn", f"agent_{n}", {"discount": 0.9}) for n in (2, 3)]
    agents = [make_agent("baron_ferejohn", "agent_1", {"discount": 0.8}), *patient]
    run = play(tmp_path, game | {"discoverers": ("agent_1",)}, agents, 5)
    assert outcomes(run) == {"initiated": 5, "failed_infeasible": 5}


# ── looking back ────────────────────────────────────────────────────────────────────────────────────────────


class LooksBack(Agent):
    """Declines and rejects, and notes what it sees when a match is over."""

    def __init__(self, agent_id: str, *, fails: bool = False) -> None:
        super().__init__(agent_id)
        self.fails = fails
        self.seen: list[tuple[str, Any, int]] = []

    def decide(self, turn: Turn) -> Answer:
        return Action("decline" if turn.phase == "discovery" else "reject")

    def ended(self, seat: Seat) -> None:
        self.seen.append((seat.match_id, seat.end, sum(b'"utility"' in event.body for event in seat.events)))
        if self.fails:
            raise RuntimeError("looking back hurts")


class WaitsAndLooksBack(LooksBack):
    async def act(self, turn: Turn) -> Answer:
        return self.decide(turn)


@pytest.mark.parametrize("kind", [LooksBack, WaitsAndLooksBack])
def test_an_agent_sees_each_match_end_once_with_what_it_was_told(tmp_path: Path, kind: type[LooksBack]) -> None:
    agents = [kind(f"agent_{n}") for n in (1, 2, 3)]
    play(tmp_path, ONE, agents, 8)
    assert [len(agent.seen) for agent in agents] == [8, 8, 8]
    assert len({match for match, _, _ in agents[0].seen}) == 8
    assert all(end["utility"] == 0.0 for agent in agents for _, end, _ in agent.seen)
    assert [paid for _, _, paid in agents[0].seen] == [1] * 8


def test_an_agent_that_raises_when_it_looks_back_spoils_no_match(tmp_path: Path, caplog: Any) -> None:
    agents = [LooksBack("agent_1", fails=True), LooksBack("agent_2"), LooksBack("agent_3")]
    run = play(tmp_path, ONE, agents, 4)
    assert set(run.matches()["status"]) == {"resolved"}
    assert "agent agent_1 raised when match" in caplog.text


def test_only_agents_that_define_it_look_back() -> None:
    assert LooksBack("a").looks_back
    assert not make_agent("coalition_agent", "a").looks_back


def test_utilities_go_to_the_maker_of_a_decision_alone(tmp_path: Path) -> None:
    run = play(tmp_path, ONE, line_up("coalition_agent", 3, stake=1), 3)
    paid = [facts for _, facts in notices(run) if "utility" in facts]
    assert [row["utility"] for row in paid[:2]] == [12, 12]
    assert len(paid) == len(decisions(run))


def test_runs_of_rules_are_the_same_on_any_window(tmp_path: Path) -> None:
    runs = [
        play(tmp_path / str(window), ONE, line_up("coalition_agent", 3, stake=1), 20, window=window)
        for window in (1, 16)
    ]
    assert figures(runs[0]) == figures(runs[1])
    assert Settings().window > 16
