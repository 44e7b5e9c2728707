"""Running experiments: one run, one directory; what is missing can be played later, and nothing twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import LOCAL, actors, run_plan, simple, table
from runtime_agents import Fair

from actors import Agent, Boulware, Colluder, FreeRider, RationalContributor
from actors.runtime.plan import Plan, Settings
from experiments import ExperimentConfig, ExperimentRunner
from experiments.bench.players import Steady
from experiments.playing import play_blocking
from experiments.replaying import replay_run
from experiments.results import Run
from experiments.runner import resume_run
from experiments.store import RunDirectory
from sim.errors import ConfigError, RunError
from sim.games.provision_point import ProvisionPointGame

GAME = ProvisionPointGame(mode="simple", max_rounds_commit=2)


def agents() -> list[Fair]:
    return [Fair("a"), Fair("b")]


def config(out: Path, **settings: Any) -> ExperimentConfig:
    return ExperimentConfig(**({"num_matches": 60, "seed": 3, "out": out} | settings))


# ── in Python ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (RationalContributor("ann", margin=7), "agents: ann: margin=7: .* allowed is number >= 0 and <= 1"),
        (FreeRider("ann", patience=-1), "agents: ann: patience=-1: .* allowed is whole number >= 0"),
        (Boulware("ann", exponent=7), "agents: ann: exponent=7: .* allowed is number > 0 and < 1"),
        (Boulware("ann", exponent=float("nan")), "agents: ann: exponent=nan: "),
    ],
)
def test_options_that_a_file_would_not_take_are_not_taken_from_python_either(
    agent: Agent, says: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=says):
        ExperimentRunner(config(tmp_path / "run")).run([agent, Fair("b")], game=GAME)
    assert not (tmp_path / "run").exists()


def test_options_within_bounds_and_agents_of_ones_own_are_taken(tmp_path: Path) -> None:
    seats = [RationalContributor("ann", margin=1, valuation=None), Colluder("ben", partners=("ann",)), Fair("c")]
    run = ExperimentRunner(config(tmp_path / "run", num_matches=2)).run(seats, game=GAME)
    assert len(run.match_results) == 2


def test_a_run_returns_its_results_and_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    runner = ExperimentRunner(config(tmp_path / "run"), lambda done, total: told.append((done, total)))
    run = runner.run(agents(), GAME)
    assert len(run) == 60
    assert told[-1] == (60, 60)
    assert run.summary["matches"] == run.summary["asked"] == 60
    assert replay_run(run) == 60


async def test_a_run_in_an_event_loop_that_is_running(tmp_path: Path) -> None:
    runner = ExperimentRunner(config(tmp_path / "run"))
    with pytest.raises(ConfigError, match="run_async"):
        runner.run(agents(), GAME)
    run = await runner.run_async(agents(), GAME)
    assert [row[0] for row in table(run)] == list(range(60))
    assert replay_run(run) == 60


def test_a_directory_holds_one_run(tmp_path: Path) -> None:
    ExperimentRunner(config(tmp_path / "run")).run(agents(), GAME)
    with pytest.raises(RunError, match="holds a run already"):
        ExperimentRunner(config(tmp_path / "run")).run(agents(), GAME)


def test_a_run_goes_on_only_with_what_it_was_started_with(tmp_path: Path) -> None:
    ExperimentRunner(config(tmp_path / "run")).run(agents(), GAME)
    with pytest.raises(RunError, match="another seed"):
        ExperimentRunner(config(tmp_path / "run", seed=4)).run(agents(), GAME, resume=True)
    with pytest.raises(RunError, match="another points"):
        ExperimentRunner(config(tmp_path / "run")).run([Fair("a"), Steady("b")], GAME, resume=True)
    with pytest.raises(RunError, match="started from Python"):
        resume_run(Run(tmp_path / "run"))


def test_integers_for_amounts_are_the_same_game_in_memory_and_on_disk(tmp_path: Path) -> None:
    game = ProvisionPointGame(mode="simple", threshold=60, valuations={"a": 40, "b": 50})
    run = ExperimentRunner(config(tmp_path / "run")).run(agents(), game)
    assert replay_run(run) == 60


# ── what a stopped run leaves ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def stopped(tmp_path: Path) -> tuple[RunDirectory, Plan, list[tuple[Any, ...]]]:
    """A run of which some matches are there, and what all of them are."""
    plan = simple(agents(), 90, seed=2)
    whole = table(run_plan(plan, LOCAL, tmp_path / "whole"))
    todo = [n for n in range(90) if n % 3]
    run = run_plan(plan, Settings(kind="local", window=8, batch=10, patience=0.01), tmp_path / "stopped", todo)
    return run.directory, plan, whole


def go_on(directory: RunDirectory, plan: Plan) -> list[int]:
    done = directory.finished()
    todo = [n for n in range(plan.total) if n not in done]
    assert play_blocking(directory, plan, LOCAL) == len(todo)
    return todo


def test_what_is_missing_is_played_and_nothing_twice(stopped: tuple[RunDirectory, Plan, list[Any]]) -> None:
    directory, plan, whole = stopped
    assert go_on(directory, plan) == list(range(0, 90, 3))
    run = Run(directory.path)
    assert table(run) == whole
    assert replay_run(run) == 90
    assert go_on(directory, plan) == []


def test_a_part_of_events_without_its_matches_and_files_half_written_are_dropped(
    stopped: tuple[RunDirectory, Plan, list[Any]],
) -> None:
    directory, plan, whole = stopped
    parts = sorted((directory.path / "matches").glob("part-*"))
    parts[-1].unlink()  # the driver died between the two
    (directory.path / "matches" / (parts[-1].name + ".tmp")).write_bytes(b"PAR1")
    (directory.path / "summary.json.tmp").write_bytes(b"{")
    go_on(directory, plan)
    run = Run(directory.path)
    assert table(run) == whole
    assert replay_run(run) == 90
    assert not list(directory.path.rglob("*.tmp"))
    assert {f.name for f in directory.path.glob("events/*")} == {f.name for f in directory.path.glob("matches/*")}
    assert run.events()["match_id"].n_unique() == 90


def test_a_directory_that_is_gone_is_an_error_of_the_run(tmp_path: Path) -> None:
    plan = simple(agents(), 300)
    settings = Settings(kind="local", window=8, batch=10, patience=0.01)

    def remove(done: int, total: int) -> None:
        for folder in ("events", "matches"):
            for file in (tmp_path / "run" / folder).glob("*"):
                file.unlink()
            if (tmp_path / "run" / folder).exists():
                (tmp_path / "run" / folder).rmdir()

    directory = RunDirectory(tmp_path / "run")
    directory.create("seed: 1")
    with pytest.raises(RunError, match="cannot be written"):
        play_blocking(directory, plan, settings, remove)


# ── memory ──────────────────────────────────────────────────────────────────────────────────────────────


class Sampler(threading.Thread):
    """Samples the memory of a process and of its actors while a run goes on."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.stopped = threading.Event()
        self.samples: list[tuple[int, dict[str, int]]] = []

    def run(self) -> None:
        while not self.stopped.wait(0.05):
            parts = len(list(self.path.glob("matches/part-*.parquet")))
            self.samples.append((parts, dict(self._sizes())))

    def _sizes(self) -> Iterator[tuple[str, int]]:
        for name in ("self", *map(str, actors())):
            try:
                resident, shared = Path(f"/proc/{name}/statm").read_text().split()[1:3]
            except OSError:
                continue
            yield name, (int(resident) - int(shared)) * 4096  # libraries would hide what grows


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_memory_does_not_grow_with_the_number_of_matches(tmp_path: Path) -> None:
    plan = simple([Steady("a"), Steady("b")], 12_000, max_rounds_commit=100)
    sampler = Sampler(tmp_path / "run")
    sampler.start()
    time.sleep(0.1)
    run = run_plan(plan, Settings(kind="packed", cells=1, window=64, batch=250), tmp_path / "run")
    sampler.stopped.set()
    sampler.join()
    total = len(list(run.path.glob("matches/part-*.parquet")))
    early = [sizes for parts, sizes in sampler.samples if total / 8 <= parts <= total / 4]
    late = [sizes for parts, sizes in sampler.samples if total * 3 / 4 <= parts < total]
    assert early, sampler.samples
    assert late, sampler.samples
    names = set(early[-1]) & set(late[0])
    assert len(names) == 2  # the driver and the cell
    for name in names:
        before = max(sizes[name] for sizes in early if name in sizes)
        after = max(sizes[name] for sizes in late if name in sizes)
        assert after < 1.1 * before, (name, before, after)
