"""One match of 200 agents and 500 tasks: in one process, and in eleven of which some are killed in the middle."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from running import actors, eventually, run_plan

from actors.agent import Agent, Answer
from actors.runtime.plan import Plan, Point, Settings
from actors.turn import Turn
from experiments.config import compose
from experiments.replaying import replay_run
from experiments.results import Run

TASKS = 500
SECONDS, ACTIVATION_TIMEOUT = 3.0, 1.0
LOCAL = Settings(kind="local")
ELEVEN = Settings(kind="ray", cells=1, agents_per_actor=20)


class Watched(Agent):
    """Plays as another, and leaves a mark as soon as it is asked."""

    def __init__(self, inner: Agent, mark: Path) -> None:
        super().__init__(inner.agent_id)
        self.inner = inner
        self.mark = mark

    def decide(self, turn: Turn) -> Answer:
        self.mark.touch()
        return self.inner.decide(turn)


def large(mark: Path | None = None) -> Plan:
    """Return one match of the large preset, with shorter deadlines."""
    given = {"seconds": SECONDS, "activation_timeout": ACTIVATION_TIMEOUT, "turn_timeout": 1.0}
    settings = [f"game.{key}={value}" for key, value in given.items()]
    plan, _ = compose(["game=coalition/large", "agents=coalition/large", "num_matches=1", "seed=3", *settings]).plan()
    if mark is None:
        return plan
    agents = tuple(Watched(agent, mark) if place < 20 else agent for place, agent in enumerate(plan.points[0].agents))
    return Plan((Point(plan.points[0].game, agents),), 1, 3)


def check(run: Run) -> dict[str, Any]:
    """Check that the match is there once and complete, that it can be judged again, and that nothing is left open."""
    assert len(run) == 1
    assert replay_run(run) == 1
    result = run.match_results[0]
    said: dict[str, Any] = result.outcome
    assert (result.status, said["trigger"], said["discovered"]) == ("resolved", "formed", TASKS)
    units, rows, formations = said["units"], said["rows"], said["formations"]
    assert (units["held"], units["available"] + units["bound"]) == (0, units["supply"])
    assert len(rows) == formations["initiated"] == sum(n for end, n in formations.items() if end != "initiated") > 300
    for row in rows:
        assert row["end"] in ("active", "aborted", "failed")
        assert row["ended"] - row["opened"] <= SECONDS + ACTIVATION_TIMEOUT + 1.0  # that of a busy machine
    return said


def test_two_hundred_agents_form_coalitions_for_five_hundred_tasks_in_one_process(tmp_path: Path) -> None:
    run = run_plan(large(), LOCAL, tmp_path / "run")
    said = check(run)
    assert said["coalitions"] > 150
    assert run.summary["restarts"] == 0


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_processes_of_agents_that_are_killed_in_the_middle_do_not_cost_the_match(tmp_path: Path) -> None:
    """It begins anew with other processes; what was said before is forgotten."""
    mark, killed = tmp_path / "asked", []

    def kill() -> None:
        if eventually(mark.exists, 100):
            found = actors(kind="AgentActor")
            killed.extend([len(found), *found[:2]])
            for pid in found[:2]:
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    run = run_plan(large(mark), ELEVEN, tmp_path / "run")
    killer.join()
    assert killed[0] == 10
    check(run)
    assert run.summary["restarts"] == 1
    assert run.match_results[0].error is None
    assert eventually(lambda: not actors())
