"""Figures of coalition runs, against worlds whose best is known, and the table of steps of a match."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from coalitions import Table
from commands import quorum

from actors.registry import make_agent
from experiments import ExperimentConfig, ExperimentRunner, cooperative
from experiments.coalitions import CoalitionFigures, coalition_figures
from experiments.potential import World, cheapest
from experiments.results import Run
from experiments.steps import Step, steps
from sim.games.coalition import CoalitionGame

IDS = ("a", "b", "c")


def world(seats: tuple[str, ...] = IDS, task: dict[str, Any] | None = None, **parameters: Any) -> CoalitionGame:
    """Return a game of one task at time 0 for all three; value 30, quorum 2, cost 3 each."""
    given = {"value": 30, "quorum": 2, "requires": [], "seconds": 10.0, "at": 0, "discoverers": ["a"]}
    return CoalitionGame(**{"tasks": [given | (task or {})], "kinds": 0, "costs": 3, **parameters})


def play(out: Path, game: CoalitionGame, kind: str = "coalition_agent", matches: int = 2, **options: Any) -> Run:
    agents = [make_agent(kind, agent_id, options) for agent_id in IDS]
    return ExperimentRunner(ExperimentConfig(num_matches=matches, seed=3, out=out)).run(agents, game)


def only(run: Run) -> CoalitionFigures:
    (row,) = coalition_figures(run)
    return row


# ── what could be made ──────────────────────────────────────────────────────────────────────────────────────


def test_the_best_is_the_cheapest_coalition_that_can_do_the_task() -> None:
    game = world(costs={"a": 9, "b": 2, "c": 4})
    found = World().potential(game, IDS, 1)
    assert found is not None and (found.best, found.exact) == (30 - 2 - 4, True)


def test_who_discovers_a_task_alone_has_a_veto() -> None:
    # a alone can initiate; b and c are alike, and one of them is enough: the glove game with a left glove.
    found = World().potential(world(costs=0), IDS, 1)
    assert found is not None and found.shapley == pytest.approx((30 * 1 / 2 + 30 / 6, 5, 5))


def test_shapley_values_add_up_to_the_best_in_drawn_worlds() -> None:
    game, seats = CoalitionGame(known_peers=2, discoverers=2, exclusive=False), ("a", "b", "c", "d", "e")
    for seed in range(20):
        found = World().potential(game, seats, seed)
        assert found is not None and sum(found.shapley) == pytest.approx(found.best)


def test_a_task_that_pays_for_nobody_or_that_nobody_can_do_is_worth_nothing() -> None:
    for game in (world(costs=15), world(task={"requires": [5]}, kinds=1, capabilities=1)):
        found = World().potential(game, IDS, 1)
        assert found is not None and (found.best, sum(found.shapley)) == (0.0, 0.0)


def test_who_is_not_known_to_a_discoverer_is_out_of_reach() -> None:
    game = world(task={"quorum": 3}, known_peers=1)
    found = World().potential(game, IDS, 1)
    assert found is not None and found.best == 0.0


def test_a_task_that_is_not_exclusive_counts_once_for_each_discoverer() -> None:
    for discoverers, best in ((["a"], 24), (["a", "b"], 48), (["a", "b", "c"], 72)):
        found = World().potential(world(task={"exclusive": False, "discoverers": discoverers}), IDS, 1)
        assert found is not None and found.best == sum(found.shapley) == pytest.approx(best)


def test_the_cheapest_coalition_is_that_of_the_full_search() -> None:
    rng = Random(5)
    for _ in range(50):
        count, kinds = rng.randint(1, 9), rng.randint(0, 3)
        agents = [(tuple(rng.randint(0, 3) for _ in range(kinds)), rng.randint(0, 9)) for _ in range(count)]
        quorum, requires = rng.randint(1, 4), tuple(rng.randint(0, 6) for _ in range(kinds))
        task = cooperative.Task(1000, quorum, requires)
        found = cooperative.best_coalitions([task], [cooperative.Agent((cost,), able) for able, cost in agents])
        assert max(0.0, 1000 - cheapest(quorum, requires, agents)) == found.welfare


def test_a_task_of_many_needs_goes_to_branch_and_bound_and_too_many_of_them_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game, seats = CoalitionGame(discovery=100.0), tuple(f"a{n}" for n in range(12))
    found = World().potential(game, seats, 4)
    monkeypatch.setattr("experiments.potential.MOST_NEEDS", 1)
    searched = World().potential(game, seats, 4)
    assert found is not None and searched is not None and searched.best == pytest.approx(found.best)
    assert found.shapley == ()
    monkeypatch.setattr("experiments.potential.MOST_SEARCHES", 5)
    worlds = World()
    assert [worlds.potential(game, seats, seed) is None for seed in (4, 5, 4)] == [False, True, False]


def test_worlds_that_are_the_same_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr("experiments.potential.cheapest", lambda *given: calls.append(given) or 6)
    worlds = World()
    for seed in range(10):
        worlds.potential(world(), IDS, seed)
    assert len(calls) == 1


# ── figures of runs ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_coalition_of_those_who_cost_least_reaches_the_optimum(tmp_path: Path) -> None:
    row = only(play(tmp_path / "run", world()))
    assert (row.matches, row.discovered, row.initiated, row.formed) == (2, 2, 2, 1.0)
    assert (row.welfare, row.best, row.efficiency, row.exact, row.unmeasured) == (24.0, 24.0, 1.0, True, 0)
    assert (row.versions, row.members, row.ends) == (1.0, 2.0, {"active": 2})
    assert row.seconds is not None and row.seconds_p95 is not None and 0 <= row.seconds <= row.seconds_p95 < 5
    assert [seat.agent_id for seat in row.seats] == list(IDS)
    assert sum(seat.got for seat in row.seats) == pytest.approx(24)
    assert sum(seat.shapley for seat in row.seats) == pytest.approx(24)


def test_where_nobody_initiates_there_is_nothing_to_agree_on(tmp_path: Path) -> None:
    row = only(play(tmp_path / "run", world(), margin=100.0))
    assert (row.initiated, row.formed, row.seconds, row.seconds_p95, row.versions) == (0, None, None, None, None)
    assert (row.welfare, row.efficiency, row.ends) == (0.0, 0.0, {})
    assert "there was no formation" in quorum("results", tmp_path / "run").out


def test_results_show_each_point_in_80_columns_and_give_all_of_it_as_json(tmp_path: Path) -> None:
    game = "coalition/full"
    run = tmp_path / "run"
    shown = quorum(
        "run", f"game={game}", "agents=coalition/mixed", "game.known_peers=2,4", "num_matches=3", f"out={run}"
    )
    assert shown.code == 0 and max(map(len, shown.out.splitlines()[:-1])) <= 80
    for word in ("initiated", "of most", "versions", "Shapley", "p95"):
        assert word in shown.out
    found = json.loads(quorum("results", run, "--json").out)["coalitions"]
    assert [point["point"] for point in found] == [0, 1]
    assert all(0 < point["efficiency"] <= 1 and point["exact"] for point in found)


def test_a_run_of_another_game_has_no_such_figures(tmp_path: Path) -> None:
    quorum("run", "num_matches=2", f"out={tmp_path / 'run'}")
    assert coalition_figures(Run(tmp_path / "run")) == []
    assert "coalitions" not in json.loads(quorum("results", tmp_path / "run", "--json").out)


# ── the table of steps ──────────────────────────────────────────────────────────────────────────────────────


def steps_of(run: Run, match: int = 0) -> list[Step]:
    return steps((row, json.loads(row["body"])) for row in run.events(match).iter_rows(named=True))


def test_every_step_of_the_protocol_is_in_the_record(tmp_path: Path) -> None:
    run = play(tmp_path / "run", world(costs=0), stake=2, commit=False)
    found = steps_of(run)
    assert [(step.id, step.output, step.next) for step in found] == [
        ("C1-initiation", "initiate", "C2-evaluation"),
        ("Threshold-check", "not_met", "C2-evaluation"),
        ("C2-evaluation", "sign", "Threshold-check"),
        ("Threshold-check", "met", "C4-activation"),
        ("C4-activation", "deploy", "Coalition Active"),
    ]
    assert [step.trigger for step in found[::2]] == ["task_discovered", "proposal_received", "consensus_reached"]
    for step in found:
        if step.type == "decision":
            assert step.context and step.selection.startswith("system-rule") and step.probability == 1.0
            assert (step.utility, step.end, step.policy) == (15, "active", "CoalitionAgent")
        else:
            assert (step.selection, step.seat, step.utility) == ("system_rule", None, None)
            assert step.trigger == "signatures_updated" and set(step.context) >= {"signers", "quorum", "elapsed"}


def test_an_activation_that_is_skipped_is_a_step_of_the_system(tmp_path: Path) -> None:
    *_, last = steps_of(play(tmp_path / "run", world(), stake=2))
    assert (last.id, last.type, last.action, last.next) == ("C4-activation", "automatic", "skip", "Coalition Active")
    assert sum(last.context["commitment"].values()) == 4


def test_who_declines_goes_on_listening_for_nothing(tmp_path: Path) -> None:
    (step,) = steps_of(play(tmp_path / "run", world(), margin=100.0))
    assert (step.output, step.next, step.utility, step.end) == ("decline", "Listening", 0, "listening")


def test_a_modification_leads_to_a_new_version_and_a_rejection_out() -> None:
    table = Table(seconds=1.0)
    table.initiate()
    table.do("b", "modify", parent=table.digest(), allocation={"a": 10, "b": 20})
    table.do("a", "reject")
    rows = [({"kind": e.kind, "time": e.time, "recipients": e.recipients}, json.loads(e.body)) for e in table.events]
    found = steps((row, body) for row, body in rows if "utility" not in body.get("facts", {}))
    assert [step.next for step in found if step.type == "decision"] == [
        "C2-evaluation",
        "C2 (new version)",
        "Not Member",
    ]
    assert found[-1].output == "infeasible" and found[-1].next == "Failed"


@pytest.mark.parametrize("columns", [80, 100])
def test_the_transcript_shows_the_steps_in_the_width_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    quorum("run", "game=coalition/full", "agents=coalition/mixed", "num_matches=2", f"out={tmp_path / 'run'}")
    shown = quorum("show", tmp_path / "run", "1").out
    table = shown[shown.index("\nsteps\n") : shown.index("\nresolved")].splitlines()
    assert max(map(len, table)) <= columns
    lines = [line.split() for line in table if line.strip()[:1].isdigit()]
    assert {line[1] for line in lines if len(line) > 5} >= {"C1-initiation", "C2-evaluation", "Threshold-check"}
