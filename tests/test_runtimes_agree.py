"""The same seed gives the same outcomes wherever the actors live."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import LOCAL, Command, actors, eventually, run_plan, table
from runtime_agents import Golden

from actors.registry import make_agent
from actors.runtime.plan import Plan, Point, Settings
from experiments.replaying import replay_run
from experiments.results import Run
from sim.games.provision_point import ProvisionPointGame

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

GOLDEN = json.loads((Path(__file__).parent / "golden" / "provision_point.json").read_text())

PACKED = Settings(kind="packed", cells=1, window=64)
RAY = Settings(kind="ray", cells=1, window=64)


# ── the golden table ────────────────────────────────────────────────────────────────────────────────────


def golden_plan() -> Plan:
    points = []
    for case in GOLDEN:
        parameters = {key: case[key] for key in ("mode", "threshold", "endowment", "valuations") if key in case}
        agents = tuple(Golden(agent_id, case["commitments"].get(agent_id)) for agent_id in case["utility"])
        points.append(Point(ProvisionPointGame(**parameters), agents, {"name": case["name"]}))
    return Plan(tuple(points), 2, seed=5)


@pytest.mark.parametrize("settings", [LOCAL, PACKED, RAY], ids=lambda settings: settings.kind)
def test_the_golden_table_holds_from_the_agents_to_the_store(settings: Settings, tmp_path: Path) -> None:
    plan = golden_plan()
    run = run_plan(plan, settings, tmp_path / "run")
    results = run.match_results
    assert len(results) == plan.total == 2 * len(GOLDEN)
    for number, result in enumerate(results):
        case = GOLDEN[number // plan.matches]
        assert result.labels == {"name": case["name"]}
        assert (result.status, result.error) == ("resolved", None)
        assert result.utilities == case["utility"]
        assert result.outcome["trigger"] == case["trigger"]
        assert result.outcome["total_committed"] == case["total"]
    assert replay_run(run) == plan.total


# ── one seed, one table ─────────────────────────────────────────────────────────────────────────────────


def scripted_plan(matches: int = 40) -> Plan:
    """Every kind of scripted agent, in both modes."""
    lineups = (
        (ProvisionPointGame(), ("coordinator", "rational", "free_rider", "zero_intelligence")),
        (ProvisionPointGame(threshold=60), ("coordinator", "colluder", "colluder", "random")),
        (ProvisionPointGame(), ("random", "random", "random")),
        (ProvisionPointGame(mode="simple", max_rounds_commit=5), ("rational", "random", "zero_intelligence")),
    )
    points = []
    for game, kinds in lineups:
        agents = tuple(make_agent(kind, f"{kind}_{seat}") for seat, kind in enumerate(kinds))
        points.append(Point(game, agents, {"agents": "+".join(kinds)}))
    return Plan(tuple(points), matches, seed=20)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_plan(scripted_plan(), LOCAL, tmp_path_factory.mktemp("reference") / "run")


HOMES = {
    "packed": (PACKED, None),
    "packed, two cells": (Settings(kind="packed", cells=2, window=8, batch=16), None),
    "ray": (RAY, None),
    "ray, two cells": (Settings(kind="ray", cells=2, window=16, batch=16), None),
    "ray, two seats in a process": (Settings(kind="ray", cells=1, window=64, agents_per_actor=2), None),
    "ray, one match at a time": (Settings(kind="ray", cells=1, window=1), range(0, 160, 8)),
}


@pytest.mark.parametrize("home", HOMES)
def test_turn_based_matches_come_out_the_same_in_every_home(home: str, reference: Run, tmp_path: Path) -> None:
    settings, todo = HOMES[home]
    run = run_plan(scripted_plan(), settings, tmp_path / "run", todo)
    expected = table(reference)
    assert table(run) == [row for row in expected if todo is None or row[0] in todo]
    assert replay_run(run) == len(todo or expected)
    assert eventually(lambda: not actors()), "actors are left"


def test_the_reference_is_worth_comparing_to(reference: Run) -> None:
    rows = table(reference)
    assert len(rows) == 160
    assert {row[2] for row in rows} == {"threshold_met", "rounds_exhausted"}
    assert len({str(row[3:]) for row in rows}) > 80


def test_another_process_with_other_hashes_gives_the_same_table(tmp_path: Path) -> None:
    asked = ["run", "game=provision_point/full", "agents=provision_point/mixed", "num_matches=60", "seed=8"]
    homes = [("local", "0"), ("local", "1"), ("ray", "4242")]
    tables = []
    for runtime, hashes in homes:
        out = tmp_path / f"{runtime}-{hashes}"
        code, _, errors = Command(*asked, f"runtime={runtime}", f"out={out}", PYTHONHASHSEED=hashes).end()
        assert code == 0, errors
        tables.append(table(Run(out)))
    assert tables[0] == tables[1] == tables[2]
    assert len(tables[0]) == 60
