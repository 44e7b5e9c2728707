"""The bench counts what is on disk, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rich.console import Console

from experiments.bench import throughput
from experiments.bench.memory import memory_of_matches
from experiments.bench.players import CASES, plan
from experiments.bench.report import MATCHES, throughput_table
from experiments.bench.throughput import Throughput
from experiments.bench.yardstick import round_trips_per_second
from experiments.config import ExperimentConfig
from experiments.manifest import describe_run
from experiments.results import Run
from experiments.store import RunDirectory


@pytest.mark.parametrize(
    ("case", "actions", "messages"),
    [
        ("provision simple", 2, 2),
        ("provision full", 28, 28),
        ("provision 5 seats", 46, 46),
        ("bargaining", 16, 0),
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
    measured = throughput.measure(ExperimentConfig().settings(), "provision simple", 50, tmp_path, rounds=3)
    assert 0 < measured.lowest <= measured.ratio <= measured.highest
    assert measured.per_second > 0


def test_the_yardstick_is_a_rate() -> None:
    assert round_trips_per_second(200) > 100


def test_matches_take_memory() -> None:
    assert 0 < memory_of_matches(200) < 500


def test_the_table_of_the_bench_breaks_no_name_in_80_columns() -> None:
    measured = [
        Throughput(runtime, case, 18_000, 1_234_567.0, 10.24, 9.87, 12.34, 10.11)
        for runtime in ("local", "packed", "ray")
        for case in CASES
    ]
    page = Console(width=80)
    with page.capture() as captured:
        page.print(throughput_table(measured))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 80
    for case in CASES:
        assert sum(case in line for line in lines) == 3
    assert "9.87–12.34" in lines[2]
    assert lines[2].rstrip().endswith("10.11")
