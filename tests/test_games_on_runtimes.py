"""Bargaining and contracts from the agents to the store, on every runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from running import LOCAL, run_plan, table
from runtime_agents import Closer

from actors.runtime.plan import Plan, Point, Settings
from experiments.config import compose
from experiments.replaying import replay_run
from experiments.results import Run
from sim.games.bargaining import BargainingGame

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

GOLDEN = json.loads((Path(__file__).parent / "golden" / "bargaining_scores.json").read_text())

PACKED = Settings(kind="packed", cells=1, window=32)
RAY = Settings(kind="ray", cells=1, window=32)
HOMES = pytest.mark.parametrize("settings", [LOCAL, PACKED, RAY], ids=lambda settings: settings.kind)


# ── the golden scores ───────────────────────────────────────────────────────────────────────────────────


def golden_plan() -> Plan:
    points = []
    for number, deal in enumerate(GOLDEN["deals"]):
        game = BargainingGame(
            buyers={"buyer": {"max_price": deal["buyer_max"]}},
            sellers={"seller": {"min_price": deal["seller_min"], "list_price": 18000}},
            weights=deal["weights"],
        )
        agents = tuple(Closer(agent_id, deal["price"], deal["round"]) for agent_id in ("buyer", "seller"))
        points.append(Point(game, agents, {"deal": number}))
    return Plan(tuple(points), 2, seed=3)


@HOMES
def test_the_golden_scores_hold_from_the_agents_to_the_store(settings: Settings, tmp_path: Path) -> None:
    plan = golden_plan()
    run = run_plan(plan, settings, tmp_path / "run")
    assert len(run.match_results) == plan.total
    for number, result in enumerate(run.match_results):
        deal = GOLDEN["deals"][number // plan.matches]
        assert (result.status, result.outcome["trigger"], result.error) == ("resolved", "deal", None)
        (struck,) = result.outcome["deals"]
        assert (struck["price"], struck["round"]) == (deal["price"], deal["round"])
        for score in ("global_score", "buyer_score", "seller_score"):
            assert round(struck[score], 6) == round(result.outcome[score], 6) == deal[score]
        assert result.utilities == {
            "buyer": deal["buyer_max"] - deal["price"],
            "seller": deal["price"] - deal["seller_min"],
        }
    assert replay_run(run) == plan.total


# ── one seed, one table ─────────────────────────────────────────────────────────────────────────────────

CASES: dict[str, list[str]] = {
    "bilateral": ["game=bargaining", "agents=bargaining/linear"],
    "shopping": ["game=bargaining/comparison_shopping", "game.turn_order=round_robin"],
    "sequential market": ["task=MBMPMS", "agents=bargaining/random", "+game.threads=sequential"],
    "contract": ["game=principal_agent/single"],
    "bounty of eight": ["game=principal_agent/bounty", "game.turn_order=round_robin"],
    "three levels": ["game=principal_agent/nested_delegation"],
    "consumers as oracles": ["game=principal_agent/sla_pipeline", "game.turn_order=concurrent"],
}


def plan_of(settings: list[str], matches: int) -> Plan:
    found, _ = compose([*settings, f"num_matches={matches}", "seed=11"]).plan()
    points = tuple(
        Point(msgspec.structs.replace(point.game, turn_order="round_robin"), point.agents, point.labels)
        if "task=MBMPMS" in settings
        else point
        for point in found.points[:3]
    )
    return Plan(points, matches, found.seed)


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, ...]]]:
    folder = tmp_path_factory.mktemp("references")
    return {case: table(run_plan(plan_of(given, 6), LOCAL, folder / case)) for case, given in CASES.items()}


@pytest.mark.parametrize("settings", [PACKED, RAY], ids=lambda settings: settings.kind)
@pytest.mark.parametrize("case", CASES)
def test_what_depends_on_no_race_comes_out_the_same_in_every_home(
    case: str, settings: Settings, references: dict[str, list[tuple[Any, ...]]], tmp_path: Path
) -> None:
    plan = plan_of(CASES[case], 6)
    run = run_plan(plan, settings, tmp_path / "run")
    assert table(run) == references[case]
    assert {row[1] for row in references[case]} == {"resolved"}
    assert replay_run(run) == plan.total


# ── races ───────────────────────────────────────────────────────────────────────────────────────────────


@HOMES
@pytest.mark.parametrize("given", [["task=electric_bikes_on_saturday"], ["game=principal_agent/bounty"]], ids=str)
def test_conversations_and_workers_that_race_end_well_in_every_home(
    given: list[str], settings: Settings, tmp_path: Path
) -> None:
    found, _ = compose([*given, "num_matches=8", "seed=2"]).plan()
    assert all(point.game.turn_order == "concurrent" for point in found.points)
    run: Run = run_plan(found, settings, tmp_path / "run")
    assert len(run) == 8
    assert set(run.matches()["status"]) == {"resolved"}
    assert set(run.matches()["trigger"]) <= {"deal", "bounty_awarded", "no_winner"}
    assert replay_run(run) == 8
