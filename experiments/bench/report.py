"""What `quorum bench` prints."""

from __future__ import annotations

import multiprocessing
import platform
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table

from experiments.bench.memory import memory_of_matches
from experiments.bench.throughput import Throughput, measure
from experiments.bench.yardstick import round_trips_per_second
from experiments.display import console

MATCHES = {
    "provision point, simple": 6000,
    "provision point, full": 2000,
    "provision point, full, 5 seats": 1000,
    "bargaining, 8 rounds": 2000,
    "principal-agent": 3000,
}
"""How many matches of each case are played."""

ROUNDS = 3
"""How often each case is measured; the median counts."""

RUNTIMES = ("local", "packed", "ray")


def run_bench(*, quick: bool) -> dict[str, Any]:
    """Measure everything; takes one to two minutes, or a few seconds for the shape of it."""
    from experiments.bench.calls import measure_calls
    from experiments.cluster import running_ray

    scale = 10 if quick else 1
    memory = _in_a_process_of_its_own(memory_of_matches, 1000 // scale)
    results: list[Throughput] = []
    with running_ray(), tempfile.TemporaryDirectory(prefix="quorum-bench-") as folder:
        for runtime in RUNTIMES:
            for case, matches in MATCHES.items():
                count = matches // scale if runtime == "local" else 3 * matches // scale
                results.append(measure(runtime, case, count, Path(folder), 1 if quick else ROUNDS))
        calls = measure_calls(4000 // scale, 400_000 // scale)
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "yardstick_round_trips_per_second": round_trips_per_second(),
        "throughput": results,
        "mib_per_1000_matches": memory * scale,
        "calls": calls,
    }


def _in_a_process_of_its_own(function: Any, *args: Any) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args)


def print_bench(*, as_json: bool, quick: bool) -> None:
    """Measure and print."""
    result = run_bench(quick=quick)
    if as_json:
        text = msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
        console.print(text, markup=False, soft_wrap=True)
        return
    console.print(f"yardstick: {result['yardstick_round_trips_per_second']:,.0f} round trips/s over two asyncio queues")
    table = Table("runtime", "game", title="Complete record on disk; ratios to the yardstick", title_justify="left")
    for heading in ("matches", "actions + messages/s", "ratio", "lowest – highest", "turns"):
        table.add_column(heading, justify="right")
    for r in result["throughput"]:
        spread = f"{r.lowest:.2f} – {r.highest:.2f}"
        table.add_row(
            r.runtime, r.case, f"{r.matches:,}", f"{r.per_second:,.0f}", f"{r.ratio:.2f}", spread, f"{r.turns:.2f}"
        )
    console.print(table)
    calls = result["calls"]
    console.print(
        f"bare Ray calls: {calls.calls:,.0f} messages/s · "
        f"link: {calls.link:,.0f} messages/s · {calls.ratio:.0f} times\n"
        f"memory: {result['mib_per_1000_matches']:.0f} MiB for 1,000 matches at once, records included"
    )
