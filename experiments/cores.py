"""How many cores there are to work with."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many cores this process may use; where the platform does not say, how many the machine has."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
