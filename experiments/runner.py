"""Runs an experiment: plays its plan on its runtime, writes the run directory, and can go on where it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from actors.agent import Agent
from actors.registry import check_options
from actors.runtime.plan import Plan, Point, Settings
from experiments.config import ExperimentConfig, RunConfig
from experiments.manifest import default_directory, describe_run
from experiments.playing import Progress, play, play_blocking
from experiments.results import Run
from experiments.store import RunDirectory
from sim.errors import ConfigError, RunError
from sim.game import Game
from sim.games import game_type


class ExperimentRunner:
    """Runs experiments in Python.

    Args:
        config: The experiment.
        progress: Told after each batch how far the run is.
    """

    def __init__(self, config: ExperimentConfig, progress: Progress | None = None) -> None:
        self._config = config
        self._progress = progress

    def run(self, agents: Sequence[Agent], game: Game | None = None, *, resume: bool = False) -> Run:
        """Play the experiment and return the run.

        Args:
            agents: Who plays, in seat order.
            game: The game; None is the game of the configuration with its default parameters.
            resume: Whether to go on with the run in `out`.

        Raises:
            ConfigError: Something does not fit.
            RunError: The run directory is taken, or processes could not be started.
        """
        if _loop_is_running():
            raise ConfigError("an event loop is running here, as in a notebook: use `await runner.run_async(...)`")
        directory, plan, settings = self._prepare(agents, game, resume)
        play_blocking(directory, plan, settings, self._progress)
        return Run(directory.path)

    async def run_async(self, agents: Sequence[Agent], game: Game | None = None, *, resume: bool = False) -> Run:
        """Like `run`, in an event loop that is running."""
        directory, plan, settings = self._prepare(agents, game, resume)
        if settings.clock == "virtual":
            raise ConfigError("runtime.clock=virtual has an event loop of its own: use run(), not run_async()")
        await play(directory, plan, settings, self._progress)
        return Run(directory.path)

    def _prepare(self, agents: Sequence[Agent], game: Game | None, resume: bool) -> tuple[RunDirectory, Plan, Settings]:
        config = self._config
        for agent in agents:
            if not isinstance(agent, Agent):
                raise ConfigError(f"agents: {agent!r} is not an Agent")
            try:
                check_options(agent)
            except ConfigError as error:
                raise ConfigError(f"agents: {agent.agent_id}: {error}") from None
        if game is None:
            game = game_type(config.game_id or "provision-point")()
        elif config.game_id not in (None, game.game_id):
            raise ConfigError(f"game_id={config.game_id}, but the game that was passed is {game.game_id}")
        settings = config.settings()
        plan = Plan((Point(game, tuple(agents)),), config.num_matches, config.seed)
        plan.check()
        directory = RunDirectory(config.out or default_directory(game.game_id))
        described = describe_run(plan, settings, origin="python")
        if resume:
            _check_same(directory, described)
        else:
            directory.create(described)
        return directory, plan, settings


def run_config(config: RunConfig, progress: Progress | None = None) -> Run:
    """Play a composed run and return it.

    Raises:
        ConfigError: Something does not fit.
        RunError: The run directory is taken, or processes could not be started.
    """
    plan, settings = config.plan()
    directory = RunDirectory(config.out or default_directory(plan.points[0].game.game_id))
    directory.create(describe_run(plan, settings, origin="config", points=config.points))
    play_blocking(directory, plan, settings, progress)
    return Run(directory.path)


def load_plan(run: Run) -> tuple[Plan, Settings]:
    """Make the plan of a run from its `run.yaml`.

    Raises:
        RunError: It was started from Python objects, which a file cannot hold.
    """
    config = run.config
    if config["origin"] != "config":
        raise RunError(
            f"{run.path} was started from Python, with agents that a file cannot hold; go on with it by "
            f"ExperimentRunner(ExperimentConfig(..., out={str(run.path)!r})).run(agents, game, resume=True)"
        )
    points = [{"labels": p["labels"], "game": p["game"], "agents": p["agents"]} for p in config["points"]]
    return RunConfig(
        points=points, runtime=config["runtime"], num_matches=config["num_matches"], seed=config["seed"]
    ).plan()


def resume_run(run: Run, progress: Progress | None = None) -> int:
    """Play what is missing of a run; returns how many matches that were."""
    plan, settings = load_plan(run)
    return play_blocking(run.directory, plan, settings, progress)


def _check_same(directory: RunDirectory, described: str) -> None:
    """Check that a run goes on as it was started."""
    run = Run(directory.path)
    asked = msgspec.yaml.decode(described)
    for key in ("points", "num_matches", "seed"):
        if run.config[key] != asked[key]:
            raise RunError(f"{directory.path} was started with another {key}; it cannot go on with this one")


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
