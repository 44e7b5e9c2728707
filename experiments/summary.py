"""The summary of a run: `summary.json`."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.runtime.plan import Plan
from experiments.results import Run
from experiments.stats import figures
from experiments.store import RunDirectory, write_whole


def write_summary(directory: RunDirectory, plan: Plan, *, seconds: float, played: int, restarts: int) -> None:
    """Write what came out.

    Args:
        directory: The run.
        plan: What was asked for.
        seconds: How long the matches took that were played now.
        played: How many those were.
        restarts: How often a cell was started again because a process of it died.
    """
    points = figures(Run(directory.path))
    summary: dict[str, Any] = {
        "matches": sum(point.matches for point in points),
        "asked": plan.total,
        "seconds": seconds,
        "matches_per_second": played / seconds if seconds > 0 else 0.0,
        "restarts": restarts,
        "points": points,
    }
    write_whole(directory.summary_file, msgspec.json.format(msgspec.json.encode(summary), indent=2))
