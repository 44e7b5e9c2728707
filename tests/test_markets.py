"""Figures of bargaining runs, against markets whose best is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import quorum

from actors.registry import make_agent
from experiments import ExperimentConfig, ExperimentRunner
from experiments.config import compose
from experiments.markets import ALL, figures_by_point, market_figures
from experiments.results import Run
from experiments.runner import run_config
from sim.games.bargaining import BargainingGame


def play(out: Path, kind: str = "linear", matches: int = 3, **parameters: Any) -> Run:
    game = BargainingGame(**parameters)
    agents = [make_agent(kind, agent_id) for agent_id in game.seat_ids() or ()]
    return ExperimentRunner(ExperimentConfig(num_matches=matches, seed=3, out=out)).run(agents, game)


def test_a_bilateral_deal_is_all_of_the_welfare_and_clears_the_market(tmp_path: Path) -> None:
    (row,) = market_figures(play(tmp_path / "run"))
    assert (row.market, row.points, row.matches, row.deals) == ("1B1P1S", 1, 3, 1.0)
    assert (row.timeout, row.overflow, row.efficiency, row.at_equilibrium) == (0.0, 0.0, 1.0, 1.0)
    assert row.rounds is not None and 1 <= row.rounds <= 20
    assert 30 < row.global_score < 100


def test_those_who_never_offer_time_out_and_score_as_failures(tmp_path: Path) -> None:
    (row,) = market_figures(play(tmp_path / "run", "pass"))
    assert (row.deals, row.timeout, row.rounds, row.efficiency, row.at_equilibrium) == (0.0, 1.0, None, 0.0, None)
    assert row.global_score == row.buyer_score == row.seller_score == -15


def test_welfare_is_measured_against_the_best_matching(tmp_path: Path) -> None:
    # One seller with one unit, and two buyers: the best sells to the one who values it at 200.
    market = {
        "products": {"pot": {}},
        "buyers": {"low": {"max_price": 120}, "high": {"max_price": 200}},
        "sellers": {"potter": {"min_price": 100, "list_price": 200}},
    }
    run = play(tmp_path / "run", "time_dependent", **market)
    (row,) = market_figures(run)
    gained = sum(
        result.utilities["low"] + result.utilities["high"] + result.utilities["potter"] for result in run.match_results
    )
    assert row.efficiency == pytest.approx(gained / (100 * len(run)))
    assert row.deals == 1.0  # one unit: one deal was possible


def test_terms_and_selections_count_in_the_best(tmp_path: Path) -> None:
    run = run_config(compose(["task=electric_van_contract", "num_matches=2", f"out={tmp_path / 'a'}"]))
    (row,) = market_figures(run)
    best = 27500 - 24200 + (1400 - 950) + (450 - 180)  # warranty at its most, the used wallbox, delivery at once
    gained = sum(result.utilities["buyer"] + result.utilities["seller"] for result in run.match_results) / 2
    assert row.efficiency == pytest.approx(gained / best)
    assert row.at_equilibrium is None


def test_a_run_of_many_tasks_has_a_row_for_each_type_and_one_for_all(tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown = quorum("run", "task=1BMPMS,MB1P1S", "num_matches=1", f"out={out}").out
    rows = market_figures(Run(out))
    assert [row.market for row in rows] == ["MB1P1S", "1BMPMS", ALL]
    assert sum(row.points for row in rows[:-1]) == rows[-1].points == rows[-1].matches
    assert "buyer_1" not in shown and max(map(len, shown.splitlines()[:-1])) <= 80
    for row in rows:
        assert f"{row.market} " in shown


def test_a_grid_of_few_points_has_a_row_for_each_by_its_labels(tmp_path: Path) -> None:
    rounds = tmp_path / "rounds"
    lines = quorum("run", "game=bargaining", "game.max_rounds=1,20", "num_matches=2", f"out={rounds}").out.splitlines()
    assert list(figures_by_point(Run(rounds))) == [0, 1]
    assert [line.split()[:2] for line in lines if "1B1P1S" in line] == [["1", "1B1P1S"], ["20", "1B1P1S"]]
    tasks = ("commuter_hatchback", "camper_vans_compared")
    run = run_config(compose([f"task={','.join(tasks)}", "num_matches=1", f"out={tmp_path / 'tasks'}"]))
    assert [json.loads(labels) for labels in run.matches()["labels"]] == [{"task": task} for task in tasks]
    shown = quorum("results", run.path).out.splitlines()
    assert [line.split()[0] for line in shown if "1B1P1S" in line or "1BMPMS" in line] == list(tasks)


def test_matches_of_another_game_are_left_out(tmp_path: Path) -> None:
    assert market_figures(run_config(compose(["num_matches=2", f"out={tmp_path / 'a'}"]))) == []


def test_deals_at_clearing_prices_are_shown_and_all_figures_are_in_the_json(tmp_path: Path) -> None:
    run = play(tmp_path / "run")
    shown = quorum("results", run.path).out
    assert "deals at a price at which the market clears: 1B1P1S 100%" in shown
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    (market,) = json.loads(quorum("results", run.path, "--json").out)["markets"]
    assert (market["market"], market["at_equilibrium"]) == ("1B1P1S", 1.0)
