"""What `quorum bench` prints."""

from __future__ import annotations

import multiprocessing
import platform
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from experiments.bench.memory import memory_of_matches
from experiments.bench.throughput import Throughput, measure
from experiments.bench.yardstick import round_trips_per_second
from experiments.config import ExperimentConfig
from experiments.display import console, print_json, print_line, table

MATCHES = {
    "provision simple": 6000,
    "provision full": 2000,
    "provision 5 seats": 1000,
    "bargaining": 2000,
    "principal-agent": 3000,
}
"""How many matches of each case are played."""

ROUNDS = 3
"""How often each case is measured; the median counts."""

RUNTIMES = ("local", "packed", "ray")


class Work(msgspec.Struct, frozen=True):
    """How much is measured.

    Attributes:
        matches: How many matches of each case are played in this process; on Ray there are three times as many.
        rounds: How often each case is measured.
        on_ray: The cases that are measured on Ray as well, where each starts processes of its own.
        cells: How many cells there are on Ray; None: one for each core.
        trips: Round trips of a yardstick.
        memory: Matches that are open at once where memory is measured.
        calls: Bare calls of a Ray actor.
        linked: Messages over a link.
    """

    matches: Mapping[str, int]
    rounds: int
    on_ray: Sequence[str]
    cells: int | None
    trips: int
    memory: int
    calls: int
    linked: int


FULL = Work(MATCHES, ROUNDS, tuple(MATCHES), None, 40_000, 1000, 4000, 400_000)
QUICK = Work(dict.fromkeys(MATCHES, 10), 1, ("provision full", "bargaining"), 1, 1000, 50, 100, 5000)
"""What takes seconds: the shape of the figures, and not their values."""


def run_bench(work: Work) -> dict[str, Any]:
    """Measure everything; all of it takes one to two minutes on a machine with nothing else to do."""
    from experiments.bench.calls import measure_calls
    from experiments.cluster import running_ray

    memory = _in_a_process_of_its_own(memory_of_matches, work.memory)
    results: list[Throughput] = []
    with running_ray(), tempfile.TemporaryDirectory(prefix="quorum-bench-") as folder:
        for runtime in RUNTIMES:
            settings = msgspec.structs.replace(ExperimentConfig(runtime=runtime).settings(), cells=work.cells)
            for case in work.matches if runtime == "local" else work.on_ray:
                count = work.matches[case] * (1 if runtime == "local" else 3)
                results.append(measure(settings, case, count, Path(folder), work.rounds, work.trips))
        calls = measure_calls(work.calls, work.linked)
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "yardstick_round_trips_per_second": round_trips_per_second(work.trips),
        "throughput": results,
        "mib_per_1000_matches": memory * 1000 / work.memory,
        "calls": calls,
    }


def _in_a_process_of_its_own(function: Any, *args: Any) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args)


def print_bench(*, as_json: bool, quick: bool) -> None:
    """Measure and print."""
    work = QUICK if quick else FULL
    result = run_bench(work)
    if as_json:
        print_json(result)
        return
    print_line(f"yardstick: {result['yardstick_round_trips_per_second']:,.0f} round trips/s over two asyncio queues")
    console.print()
    console.print(throughput_table(result["throughput"]))
    rounds = f"of {work.rounds} rounds the median; range: lowest to highest" if work.rounds > 1 else ""
    console.print(Text(f"{_OF_RATIOS}{rounds}".rstrip(), style="dim"))
    console.print()
    calls = result["calls"]
    print_line(
        f"bare Ray calls: {calls.calls:,.0f} messages/s; a link: {calls.link:,.0f} messages/s, "
        f"{calls.ratio:.0f} times as many"
    )
    print_line(f"memory: {result['mib_per_1000_matches']:.0f} MiB for 1,000 matches at once, with their records")
    if quick:
        print_line("too little was played for these figures to mean anything: quorum bench", "yellow")


_OF_RATIOS = """\
per second: actions and messages, with the complete record on disk
ratio: the same as a ratio to the yardstick; turns: of the actions alone
"""
"""What the columns of the bench are."""


def throughput_table(measured: Sequence[Throughput]) -> Table:
    """Return the table of what was measured."""
    numbers = ("matches", "per second", "ratio", "range", "turns")
    made = table("runtime", "game", *numbers, right=numbers)
    for number, r in enumerate(measured):
        first = number == 0 or measured[number - 1].runtime != r.runtime
        made.add_row(
            r.runtime if first else "",
            r.case,
            f"{r.matches:,}",
            f"{r.per_second:,.0f}",
            f"{r.ratio:.2f}",
            f"{r.lowest:.2f}–{r.highest:.2f}",
            f"{r.turns:.2f}",
            end_section=number + 1 < len(measured) and measured[number + 1].runtime != r.runtime,
        )
    return made
