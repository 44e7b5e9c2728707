"""Runs an experiment: plays its plan on its runtime, writes the run directory, and can go on where it stopped."""

from __future__ import annotations

import asyncio
import gc
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from actors.agent import Agent
from actors.runtime.local import LocalCell
from actors.runtime.plan import Plan, Point, Settings
from experiments.config import ExperimentConfig, RunConfig, game_params
from experiments.results import Run
from experiments.store import Batch, RunDirectory, encode, write_whole
from sim.clock import run_virtual
from sim.errors import ConfigError, RunError
from sim.game import Game
from sim.games import game_type
from sim.referee import abandon

Progress = Callable[[int, int], None]
"""Told after each batch: (matches done, matches in all)."""


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
        directory, plan, settings, todo = self._prepare(agents, game, resume)
        play_blocking(directory, plan, settings, todo, self._progress)
        return Run(directory.path)

    async def run_async(self, agents: Sequence[Agent], game: Game | None = None, *, resume: bool = False) -> Run:
        """Like `run`, in an event loop that is running."""
        directory, plan, settings, todo = self._prepare(agents, game, resume)
        if settings.clock == "virtual":
            raise ConfigError("runtime.clock=virtual has an event loop of its own: use run(), not run_async()")
        await play(directory, plan, settings, todo, self._progress)
        return Run(directory.path)

    def _prepare(
        self, agents: Sequence[Agent], game: Game | None, resume: bool
    ) -> tuple[RunDirectory, Plan, Settings, Sequence[int]]:
        config = self._config
        for agent in agents:
            if not isinstance(agent, Agent):
                raise ConfigError(f"agents: {agent!r} is not an Agent")
        if game is None:
            game = game_type(config.game_id)()
        elif game.game_id != config.game_id:
            raise ConfigError(f"game_id={config.game_id}, but the game that was passed is {game.game_id}")
        settings = config.settings()
        plan = Plan((Point(game, tuple(agents)),), config.num_matches, config.seed)
        plan.check()
        directory = RunDirectory(config.out or default_directory(game.game_id))
        described = describe_run(plan, settings, origin="python")
        if resume:
            return directory, plan, settings, _missing(directory, plan, described)
        directory.create(described)
        return directory, plan, settings, range(plan.total)


def run_config(config: RunConfig, progress: Progress | None = None) -> Run:
    """Play a composed run and return it.

    Raises:
        ConfigError: Something does not fit.
        RunError: The run directory is taken, or processes could not be started.
    """
    plan, settings = config.plan()
    directory = RunDirectory(config.out or default_directory(plan.points[0].game.game_id))
    directory.create(describe_run(plan, settings, origin="config", points=config.points))
    play_blocking(directory, plan, settings, range(plan.total), progress)
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
    done = run.directory.finished()
    todo = [index for index in range(plan.total) if index not in done]
    play_blocking(run.directory, plan, settings, todo, progress, done=len(done))
    return len(todo)


def _missing(directory: RunDirectory, plan: Plan, described: str) -> Sequence[int]:
    run = Run(directory.path)
    asked = msgspec.yaml.decode(described)
    for key in ("points", "num_matches", "seed"):
        if run.config[key] != asked[key]:
            raise RunError(f"{directory.path} was started with another {key}; it cannot go on with this one")
    done = directory.finished()
    return [index for index in range(plan.total) if index not in done]


# ── playing ─────────────────────────────────────────────────────────────────────────────────────────────


def play_blocking(
    directory: RunDirectory,
    plan: Plan,
    settings: Settings,
    todo: Sequence[int],
    progress: Progress | None = None,
    *,
    done: int = 0,
) -> None:
    """Play matches to the end, in an event loop of their own."""
    playing = play(directory, plan, settings, todo, progress, done=done)
    if settings.clock == "virtual":
        run_virtual(playing, explore=settings.explore)
    else:
        with tuned_memory(), asyncio.Runner(loop_factory=fast_loop()) as runner:
            runner.run(playing)


async def play(
    directory: RunDirectory,
    plan: Plan,
    settings: Settings,
    todo: Sequence[int],
    progress: Progress | None = None,
    *,
    done: int = 0,
) -> None:
    """Play matches and write them down; afterwards write the summary."""
    from experiments.summary import write_summary

    started = time.perf_counter()
    count = done

    def add(batch: Batch) -> None:
        nonlocal count
        if batch.indexes:
            directory.add(batch)
            count += len(batch.indexes)
        if progress is not None:
            progress(count, plan.total)

    with directory.writing():
        restarts = 0
        if todo and settings.kind == "local":
            await _play_here(plan, settings, todo, add)
        elif todo:
            restarts = await _play_on_ray(plan, settings, todo, add)
        if todo or not directory.summary_file.exists():
            seconds = time.perf_counter() - started
            write_summary(directory, plan, seconds=seconds, played=len(todo), restarts=restarts)


async def _play_here(plan: Plan, settings: Settings, todo: Sequence[int], add: Callable[[Batch], None]) -> None:
    cell = LocalCell(plan, settings)
    cell.assign(todo)
    try:
        while records := await cell.collect():
            add(encode(plan, records))
    except asyncio.CancelledError:
        # Stopped, as by Ctrl-C: what has ended so far is kept; what ends while it is handed over may be, too.
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * settings.patience):
                while records := await cell.collect():
                    add(encode(plan, records))
                    if len(records) < settings.batch:
                        break
        raise
    finally:
        await cell.close()


async def _play_on_ray(plan: Plan, settings: Settings, todo: Sequence[int], add: Callable[[Batch], None]) -> int:
    from actors.runtime.ray import default_cells, put_plan, start_cell
    from actors.runtime.scheduler import Scheduler

    with running_ray():
        reference = put_plan(plan)

        def give_up(index: int) -> None:
            spec = plan.spec(index)
            reason = "its processes died each time it was played"
            add(encode(plan, [abandon(spec, plan.point(index).game, reason)]))

        scheduler = Scheduler(
            lambda: start_cell(reference, plan, settings, encode),
            cells=default_cells(settings),
            ahead=2 * settings.window + settings.batch,
            done=add,
            give_up=give_up,
        )
        await scheduler.run(todo)
        return scheduler.restarts


@contextmanager
def running_ray() -> Iterator[None]:
    """Use the Ray that this process is part of; else join the cluster at `RAY_ADDRESS`, or start a local one.

    What was started here ends here, and leaves no files.

    Raises:
        RunError: There is no cluster at that address.
    """
    import ray

    if ray.is_initialized():
        yield
        return
    session: Path | None = None
    try:
        session = _start_ray()
        yield
    finally:
        ray.shutdown()
        if session is not None:
            _remove_session(session)


def _remove_session(session: Path) -> None:
    shutil.rmtree(session, ignore_errors=True)
    latest = session.with_name("session_latest")
    if latest.is_symlink() and latest.readlink() == session:
        latest.unlink(missing_ok=True)


def _start_ray() -> Path | None:
    """Return the directory of the session that was started, or None when a cluster was joined."""
    import logging
    import os

    import ray

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    address = os.environ.get("RAY_ADDRESS")
    try:
        if address:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
            return None
        context: Any = ray.init("local", include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
        return Path(context.address_info["session_dir"])
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = f"at RAY_ADDRESS={address}" if address else "on this machine"
        raise RunError(f"no Ray cluster could be reached {where}: {str(error).splitlines()[0]}") from None


# ── what a run says of itself ───────────────────────────────────────────────────────────────────────────


def default_directory(game_id: str) -> Path:
    """Return a run directory that is named after the game and the time, and is not there yet."""
    stem = Path("runs") / f"{game_id}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidates = [stem, *(stem.with_name(f"{stem.name}-{n}") for n in range(2, 1000))]
    return next(path for path in candidates if not path.exists())


def describe_run(
    plan: Plan, settings: Settings, *, origin: str, points: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """Return the text of `run.yaml`."""
    described = []
    for number, point in enumerate(plan.points):
        entry: dict[str, Any] = {"labels": dict(point.labels), "seats": list(point.agent_ids)}
        if points is not None:
            entry |= {"game": points[number]["game"], "agents": points[number]["agents"]}
        else:
            kinds = {a.agent_id: {"kind": f"{type(a).__module__}:{type(a).__qualname__}"} for a in point.agents}
            entry |= {"game": game_params(point.game), "agents": {"seats": kinds}}
        described.append(entry)
    text = msgspec.yaml.encode(
        {
            "origin": origin,
            "seed": plan.seed,
            "num_matches": plan.matches,
            "runtime": msgspec.to_builtins(settings),
            "points": described,
            "versions": {
                "quorum-sim": version("quorum-sim"),
                "python": platform.python_version(),
                **{name: version(name) for name in ("ray", "msgspec", "pyarrow")},
            },
            "git_revision": _git_revision(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
    )
    return text.decode()


def _git_revision() -> str | None:
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def tuned_memory() -> Iterator[None]:
    """Look for cyclic garbage seldom while matches are played: they make none, and reference counts free them."""
    thresholds = gc.get_threshold()
    gc.set_threshold(50_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


__all__ = ["ExperimentRunner", "Progress", "load_plan", "play", "resume_run", "run_config", "write_whole"]
