"""What people launch and look at."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.config import ExperimentConfig
    from experiments.results import Run, load_run
    from experiments.runner import ExperimentRunner

__all__ = ["ExperimentConfig", "ExperimentRunner", "Run", "load_run"]

_HOMES = {
    "ExperimentConfig": "experiments.config",
    "ExperimentRunner": "experiments.runner",
    "Run": "experiments.results",
    "load_run": "experiments.results",
}


def __getattr__(name: str) -> Any:
    # pyarrow, duckdb and polars take a second to import; whoever asks for `quorum --help` needs none of them.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'experiments' has no attribute {name!r}")
