"""What hostile agents and broken games tried, and may not do to anybody else."""

from __future__ import annotations

import asyncio
import itertools
import threading
from pathlib import Path
from typing import Any

import pytest

from actors.agent import Action, Agent, Answer, Decision
from actors.runtime.plan import Plan, Point, Settings
from actors.turn import Turn
from experiments.manifest import describe_run
from experiments.playing import play_blocking
from experiments.replaying import replay_run
from experiments.results import Run
from experiments.store import RunDirectory
from sim.errors import ConfigError, RunError
from sim.game import Pass
from sim.games.provision_point import ProvisionPointGame, SubmitAmount
from sim.messages import Message


class Evil(str):
    """Text that brings code of its own."""

    def encode(self, *args: Any) -> bytes:
        raise ZeroDivisionError

    def __hash__(self) -> int:
        raise ZeroDivisionError


class Adversary(Agent):
    def __init__(self, agent_id: str, trick: str) -> None:
        super().__init__(agent_id)
        self.trick = trick

    def decide(self, turn: Turn) -> Answer:
        match self.trick:
            case "message":
                return Decision(Pass(), [Evil("boo")])
            case "recipient":
                return Decision(Pass(), [Message("boo", (Evil("honest"),))])
            case "name":
                return Action(Evil("pass"))
            case "endless":
                return Decision(Pass(), itertools.repeat("boo"))  # type: ignore[arg-type]
            case "number":
                turn.seat.number = "1"
                return Pass()
            case "forfeit":
                turn.seat.forfeit(Evil("3"), ValueError("boo"))  # type: ignore[arg-type]
                return Pass()
        raise GeneratorExit("boo")


class Honest(Agent):
    def decide(self, turn: Turn) -> Answer:
        return SubmitAmount(turn.state["threshold"])


class Clings(Agent):
    async def act(self, turn: Turn) -> Answer:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue


def run_of(agents: tuple[Agent, ...], path: Path, **settings: Any) -> Run:
    game = ProvisionPointGame(mode="simple", turn_timeout=0.3, max_rounds_commit=2)
    plan = Plan((Point(game, agents),), 3, 7)
    chosen = Settings(batch=3, **settings)
    directory = RunDirectory(path)
    directory.create(describe_run(plan, chosen, origin="python"))
    play_blocking(directory, plan, chosen)
    return Run(path)


@pytest.mark.parametrize("trick", ["message", "recipient", "name", "endless", "number", "forfeit", "raise"])
def test_a_hostile_agent_spoils_its_own_turn_and_no_match(trick: str, tmp_path: Path) -> None:
    run = run_of((Adversary("evil", trick), Honest("honest")), tmp_path / "run")
    assert run.matches()["status"].to_list() == ["resolved"] * 3
    assert run.matches()["trigger"].to_list() == ["threshold_met"] * 3
    assert replay_run(run) == 3


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_an_agent_that_clings_to_its_task_does_not_hold_the_run_up(clock: str, tmp_path: Path) -> None:
    """In a thread, so that a hang is a failure and not the end of the suite."""
    runs: list[Run] = []
    agents = (Clings("clings"), Honest("honest"))
    player = threading.Thread(target=lambda: runs.append(run_of(agents, tmp_path / "run", clock=clock)), daemon=True)
    player.start()
    player.join(30)
    assert len(runs) == 1
    assert replay_run(runs[0]) == 3


def test_a_directory_that_another_run_took_meanwhile_is_left_alone(tmp_path: Path) -> None:
    one, other = RunDirectory(tmp_path / "run"), RunDirectory(tmp_path / "run")
    one.create("origin: one")
    with pytest.raises(RunError, match="holds a run already"):
        other.create("origin: other")
    assert one.config_file.read_text() == "origin: one"


def test_more_matches_than_memory_holds_are_refused_at_once() -> None:
    plan = Plan((Point(ProvisionPointGame(mode="simple"), (Honest("a"), Honest("b"))),), 10**12, 7)
    with pytest.raises(ConfigError, match="at most"):
        plan.check()
