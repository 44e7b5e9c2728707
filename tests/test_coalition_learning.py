"""Agents that learn to form coalitions: how they choose, what they learn from, and where it is kept."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from coalition_runs import LEARNING, VIRTUAL, decisions, figures, line_up, mean_and_half, notices, play
from running import run_plan

from actors.agent import Agent
from actors.learning import Learner, Options, Update, load_policies, model_from_bytes, saved_agents
from actors.learning.coalition import CoalitionLearner
from actors.registry import make_agent
from actors.runtime.copies import Originals, exchange, learners
from actors.runtime.plan import Plan, Point, Settings
from experiments.config import compose, game_from
from experiments.playing import play_blocking
from experiments.results import Run
from experiments.runner import resume_run, run_config
from sim.delivery import Delivery
from sim.errors import ConfigError, RunError

EPSILON = {"kind": "epsilon_greedy", "epsilon": 0.2}
SOFTMAX = {"kind": "softmax", "temperature": 4.0}
FIXED = LEARNING | {"tasks": LEARNING["tasks"][:1]}
"""The learning scenario with its first task alone."""


def learnt(agents: tuple[Agent, ...], **values: float) -> tuple[Agent, ...]:
    """Give agents models in which each action has a value, whatever the context."""
    for agent in agents:
        assert isinstance(agent, Learner)
        for model in agent.models.values():
            for gain in (-0.9, -0.4, 0.1, 0.6):
                for signed in (0.0, 0.6):
                    for action, value in values.items():
                        model.learn({"gain": gain, "signed": signed}, action, value)
    return agents


def versions(folder: Path) -> int:
    """Return how many utility records the saved policies have learnt from."""
    return sum(model.version for name in saved_agents(folder) for model in load_policies(folder, name).values())


def decided(run: Run) -> int:
    """Return how many decisions there were."""
    return sum(row["decisions"] for row in figures(run))


def welfare(rows: list[dict[str, Any]]) -> tuple[float, float]:
    return mean_and_half([row["welfare"] for row in rows])


def formed(rows: list[dict[str, Any]]) -> tuple[float, float]:
    return mean_and_half([row["formations"].get("active", 0) / 3 for row in rows])


# ── choosing ────────────────────────────────────────────────────────────────────────────────────────────────

VALUES = {"decline": 1.0, "equal": 5.0, "proportional": 3.0, "greedy": 2.0, "reject": 0.0, "sign": 4.0, "commit": 6.0}


def everything(options: Options) -> list[float]:
    """Choose each action in proportion to its place in the list."""
    places = range(1, len(options.scores) + 1)
    return [place / sum(places) for place in places]


@pytest.mark.parametrize(
    "selection",
    [
        {"kind": "argmax"},
        {"kind": "epsilon_greedy", "epsilon": 0.3},
        {"kind": "softmax", "temperature": 2.0},
        {"kind": "system_rule", "function": "test_coalition_learning:last"},
        {"kind": "other", "function": "test_coalition_learning:everything"},
    ],
    ids=lambda selection: selection["kind"],
)
def test_actions_are_chosen_as_often_as_their_probability_says(tmp_path: Path, selection: dict[str, Any]) -> None:
    agents = learnt(line_up("coalition_learner", selection=selection, learning=False), **VALUES)
    run = play(tmp_path, FIXED, agents, 1000)
    offers = [row for row in decisions(run) if row["step"] == "C1"]
    counts = Counter(row["context"]["option"] for row in offers)
    exact = {
        "argmax": {"equal": 1.0},
        "epsilon_greedy": dict.fromkeys(("decline", "proportional", "greedy"), 0.075) | {"equal": 0.775},
        "softmax": {"decline": 0.0784, "equal": 0.5793, "proportional": 0.2131, "greedy": 0.1293},
        "system_rule": {"greedy": 1.0},
        "other": {"decline": 0.1, "equal": 0.2, "proportional": 0.3, "greedy": 0.4},
    }[selection["kind"]]
    assert counts.keys() == exact.keys()
    for option, p in exact.items():
        assert abs(counts[option] / len(offers) - p) <= 4 * sqrt(p * (1 - p) / len(offers)) + 1e-4
        said = [row["probability"] for row in offers if row["context"]["option"] == option]
        assert said == pytest.approx([p] * counts[option], abs=1e-4)


def last(options: Options) -> int:
    """A rule: the last action."""
    return len(options.scores) - 1


def test_a_decision_falls_the_same_way_whatever_the_schedule(tmp_path: Path) -> None:
    runs = []
    for name, settings in (("a", {}), ("b", {"window": 1, "explore": 5})):
        agents = learnt(line_up("coalition_learner", selection=SOFTMAX, learning=False), **VALUES)
        run = play(tmp_path / name, LEARNING, agents, 40, **settings)
        rows = [(match, facts) for match, facts in notices(run) if facts.get("step") == "C1" and "next" in facts]
        runs.append({(match, facts["seat"], facts["id"]): facts["context"]["option"] for match, facts in rows})
    assert len(runs[0]) == 120
    assert runs[0] == runs[1]


def test_the_record_says_how_and_by_which_version_it_was_decided(tmp_path: Path) -> None:
    run = play(tmp_path, LEARNING, line_up("coalition_learner", selection=EPSILON), 60)
    made = [row for row in decisions(run) if row.get("id")]
    assert {row["selection"] for row in made} == {"epsilon-greedy(0.2)"}
    assert {row["policy"].split("@")[0] for row in made} >= {"initiation", "evaluation"}
    assert {int(row["policy"].split("@")[1]) > 0 for row in made} == {True, False}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"selection": {"kind": "system_rule"}}, "selection.function"),
        ({"selection": {"kind": "other", "function": "no_such_module:f"}}, "no_such_module"),
        ({"selection": {"kind": "softmax"}}, "temperature"),
        ({"initiation": {"kind": "tabular", "features": [{"name": "gain", "low": 1, "high": 0}]}}, "low"),
        ({"evaluation": {"kind": "deep"}}, "evaluation"),
    ],
)
def test_what_is_wrong_with_a_learner_is_said_when_it_is_made(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make_agent("coalition_learner", "a", options)


# ── learning ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("model", ["tabular", "linear"])
def test_each_decision_is_learnt_from_exactly_once(tmp_path: Path, model: str) -> None:
    features = [{"name": "gain", "low": -1.0}, {"name": "value", "high": 50.0}]
    spec = {"kind": model, "features": features, "initial": 4.0}
    agents = line_up("coalition_learner", selection=EPSILON, initiation=spec)
    run = play(tmp_path, LEARNING, agents, 60)
    assert versions(tmp_path) == decided(run) > 180
    for agent in agents:
        assert isinstance(agent, CoalitionLearner)
        kept = load_policies(tmp_path, agent.agent_id)
        assert {name: saved.to_bytes() for name, saved in kept.items()} == agent.versions()


def test_who_decides_again_on_a_version_as_a_member_has_left_learns_from_both_decisions(tmp_path: Path) -> None:
    game = LEARNING | {"tasks": [{"value": 30, "quorum": 2, "requires": [1, 1], "at": 0}]}
    agents = line_up("coalition_learner", selection={"kind": "softmax", "temperature": 100.0}, extra=1)
    run = play(tmp_path, game, agents, 60)
    made = [row["id"] for row in decisions(run) if row.get("id")]
    assert any(decision_id.endswith("again") for decision_id in made)
    assert versions(tmp_path) == len(made)


def test_on_a_network_that_loses_and_repeats_messages_nothing_is_learnt_from_twice(tmp_path: Path) -> None:
    delivery = Delivery(loss=0.03, duplicate=0.2, reorder=True)
    run = play(tmp_path, LEARNING, line_up("coalition_learner", selection=EPSILON), 60, delivery=delivery)
    assert 0.5 * decided(run) < versions(tmp_path) <= decided(run)


def test_formation_and_welfare_rise_as_agents_learn(tmp_path: Path) -> None:
    settings = ["game=coalition/learning", "num_matches=1600", "seed=2", "runtime.clock=virtual", "runtime.window=16"]
    rows = figures(run_config(compose([*settings, f"out={tmp_path / 'run'}"])))
    for measure in (formed, welfare):
        (before, around), (after, about) = measure(rows[:160]), measure(rows[-160:])
        assert before + around < after - about
    assert formed(rows[-160:])[0] > 0.5


def test_who_may_not_learn_stays_as_it_is(tmp_path: Path) -> None:
    agents = learnt(line_up("coalition_learner", learning=False), **VALUES)
    before = [agent.versions() for agent in agents if isinstance(agent, Learner)]
    play(tmp_path, LEARNING, agents, 10)
    assert [agent.versions() for agent in agents if isinstance(agent, Learner)] == before


def test_what_it_went_through_in_the_match_is_part_of_the_context(tmp_path: Path) -> None:
    task = {"value": 24, "quorum": 2, "requires": [2, 2]}
    game = LEARNING | {"tasks": [task | {"at": at} for at in (0, 1, 2)], "discoverers": ("agent_1",)}
    values = {"equal": 5.0, "sign": 4.0, "deploy": 3.0}
    agents = learnt(line_up("coalition_learner", selection={"kind": "argmax"}, learning=False), **values)
    run = play(tmp_path, game, agents, 3)
    seen = [row["context"] for row in decisions(run) if row["step"] == "C1"][:3]
    past = [tuple(context[name] for name in ("initiated", "success", "kept", "earned")) for context in seen]
    assert past == [(0.0, 0.5, 0.5, 0.0), (1.0, 1.0, 0.5, 9.0), (2.0, 1.0, 0.5, 18.0)]


# ── what is kept ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_that_starts_from_policies_goes_on_where_they_were(tmp_path: Path) -> None:
    spec = {"kind": "tabular", "initial": 5.0, "features": [{"name": "gain", "low": -1.0}]}
    specs: dict[str, Any] = dict.fromkeys(("initiation", "evaluation", "activation"), spec)
    specs["selection"] = EPSILON
    first = play(tmp_path / "first", LEARNING, line_up("coalition_learner", **specs), 400)
    specs["policies"] = str(tmp_path / "first")
    second = play(tmp_path / "second", LEARNING, line_up("coalition_learner", **specs), 200, seed=9)
    (was, around), (goes_on, about) = welfare(figures(first)[-200:]), welfare(figures(second)[:200])
    assert abs(was - goes_on) < around + about
    assert versions(tmp_path / "second") == decided(first) + decided(second)


def test_a_run_that_was_stopped_goes_on_with_what_its_agents_had_learnt(tmp_path: Path) -> None:
    settings = ["game=coalition/learning", "num_matches=60", "runtime.clock=virtual", f"out={tmp_path / 'run'}"]
    plan, how = compose(settings).plan()
    run = run_plan(plan, how, tmp_path / "run", range(20))
    half = versions(run.path)
    assert half == decided(run) > 0
    fresh, _ = compose(settings).plan()
    assert play_blocking(run.directory, fresh, how) == 40
    assert versions(run.path) == decided(Run(run.path)) > half


def test_resuming_a_finished_run_leaves_its_policies_alone(tmp_path: Path) -> None:
    settings = ["game=coalition/learning", "num_matches=20", "runtime.clock=virtual", f"out={tmp_path / 'run'}"]
    run = run_config(compose(settings))
    before = versions(run.path)
    assert resume_run(run) == 0
    assert versions(run.path) == before


def test_each_point_of_a_grid_has_policies_of_its_own(tmp_path: Path) -> None:
    settings = ["game=coalition/learning", "game.exclusive=true,false", "num_matches=20", "runtime.clock=virtual"]
    run = run_config(compose([*settings, f"out={tmp_path / 'run'}"]))
    assert [versions(run.path / f"point-{n}") > 0 for n in (0, 1)] == [True, True]
    assert versions(run.path / "point-0") + versions(run.path / "point-1") == decided(run)


def test_a_run_without_learners_keeps_no_policies(tmp_path: Path) -> None:
    run = play(tmp_path, LEARNING, line_up("coalition_agent"), 4)
    assert not (run.path / "policies").exists()


def test_policies_that_are_not_there_or_anothers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such file"):
        make_agent("coalition_learner", "a", {"policies": str(tmp_path)})
    agent = make_agent("coalition_learner", "a")
    assert isinstance(agent, Learner)
    with pytest.raises(ConfigError, match="this agent decides on activation, evaluation, initiation"):
        agent.restore({"initiation": agent.models["initiation"]})


# ── copies ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_of_two_copies_nothing_is_lost_and_nothing_learnt_twice() -> None:
    """Lessons that come while others are on their way are kept for the next time."""

    def plan() -> Plan:
        return Plan((Point(game_from(LEARNING), line_up("coalition_learner")),), 1, 0)

    at = (0, 0)
    one, *cells = plan(), plan(), plan()
    originals, copies = Originals(one), [learners(cell) for cell in cells]
    for copy in copies:
        originals.gather([exchange(copy, originals.versions())])
    number = 0
    for turn in range(6):
        copy = copies[turn % 2]
        for _ in range(turn + 1):
            number += 1
            update = Update(f"m{turn}/{number}", {"gain": 0.5}, "equal", float(number))
            copy[at].learn({"initiation": [update]})
            copy[at].note({"initiation": [update]})
        originals.gather([exchange(copy, originals.versions())])
    found = learners(one)[at].models["initiation"]
    assert found.version == number == 21
    assert found.scores({"gain": 0.5}, ["equal"]) == [pytest.approx(11.0)]
    exchange(copies[0], originals.versions())
    assert copies[0][at].versions() == learners(one)[at].versions()
    assert model_from_bytes(copies[0][at].versions()["initiation"]).version == 21


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("kind", ["packed", "ray"])
def test_cells_share_what_their_agents_learn(tmp_path: Path, kind: Any) -> None:
    settings = Settings(kind=kind, cells=2 if kind == "packed" else 1, window=8, batch=20, patience=0.1)
    agents = line_up("coalition_learner", selection=EPSILON)
    plan = Plan((Point(game_from(LEARNING), agents),), 120, 4)
    run = run_plan(plan, settings, tmp_path)
    assert versions(tmp_path) == decided(run)
    used = Counter(int(row["policy"].split("@")[1]) > 0 for row in decisions(run) if row["step"] == "C1")
    assert used[True] > used[False]
    assert VIRTUAL.kind == "local"
