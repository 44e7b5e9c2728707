"""The bench counts what is on disk, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from experiments.bench import throughput
from experiments.bench.memory import memory_of_matches
from experiments.bench.players import CASES, plan
from experiments.bench.report import MATCHES
from experiments.bench.yardstick import round_trips_per_second
from experiments.config import ExperimentConfig
from experiments.manifest import describe_run
from experiments.results import Run
from experiments.store import RunDirectory


@pytest.mark.parametrize(
    ("case", "actions", "messages"),
    [
        ("provision point, simple", 2, 2),
        ("provision point, full", 28, 28),
        ("provision point, full, 5 seats", 46, 46),
        ("bargaining, 8 rounds", 16, 0),
        ("principal-agent", 8, 8),
    ],
)
def test_every_action_and_every_message_of_the_bench_is_counted(
    case: str, actions: int, messages: int, tmp_path: Path
) -> None:
    directory = RunDirectory(tmp_path / "run")
    settings = ExperimentConfig(runtime="local").settings()
    directory.create(describe_run(plan(case, 10), settings, origin="python"))
    asyncio.run(throughput._play(plan(case, 10), settings, directory))
    assert throughput._counts(directory) == (10 * actions, 10 * messages)
    assert set(Run(directory.path).matches()["status"]) == {"resolved"}


def test_every_case_is_measured() -> None:
    assert list(MATCHES) == list(CASES)


def test_a_measure_is_the_median_of_its_rounds(tmp_path: Path) -> None:
    measured = throughput.measure("local", "provision point, simple", 50, tmp_path, rounds=3)
    assert 0 < measured.lowest <= measured.ratio <= measured.highest
    assert measured.per_second > 0


def test_the_yardstick_is_a_rate() -> None:
    assert round_trips_per_second(200) > 100


def test_matches_take_memory() -> None:
    assert 0 < memory_of_matches(200) < 500
