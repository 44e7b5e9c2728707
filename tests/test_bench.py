"""The bench counts what is on disk, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from experiments.bench import throughput
from experiments.bench.memory import memory_of_matches
from experiments.bench.players import plan
from experiments.bench.yardstick import round_trips_per_second
from experiments.config import ExperimentConfig
from experiments.manifest import describe_run
from experiments.store import RunDirectory


@pytest.mark.parametrize(("mode", "seats", "actions"), [("simple", 2, 2), ("full", 3, 28), ("full", 5, 46)])
def test_every_action_of_the_bench_says_one_public_sentence_and_both_are_counted(
    mode: str, seats: int, actions: int, tmp_path: Path
) -> None:
    directory = RunDirectory(tmp_path / "run")
    settings = ExperimentConfig(runtime="local").settings()
    directory.create(describe_run(plan(mode, seats, 10), settings, origin="python"))
    asyncio.run(throughput._play(plan(mode, seats, 10), settings, directory))
    assert throughput._units(directory) == 10 * actions * 2


def test_a_measure_is_the_median_of_its_rounds(tmp_path: Path) -> None:
    measured = throughput.measure("local", "simple", 2, 50, tmp_path, rounds=3)
    assert 0 < measured.lowest <= measured.ratio <= measured.highest
    assert measured.per_second > 0


def test_the_yardstick_is_a_rate() -> None:
    assert round_trips_per_second(200) > 100


def test_matches_take_memory() -> None:
    assert 0 < memory_of_matches(200) < 500
