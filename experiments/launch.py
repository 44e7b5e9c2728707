"""The script for `ray submit` and `ray job submit`: takes the settings of `quorum run`.

    ray submit cluster.yaml experiments/launch.py -- game=provision_point/full runtime=ray num_matches=100000

It joins the cluster at `RAY_ADDRESS`, or the one that runs on this machine, or starts a local one.
"""

from __future__ import annotations

import logging
import os
import sys


def main(settings: list[str] | None = None) -> int:
    """Run an experiment; returns the exit code.

    Args:
        settings: Settings as `quorum run` takes them; None reads the command line.
    """
    from experiments.cli import app, guarded

    settings = sys.argv[1:] if settings is None else settings
    if settings[:1] == ["--"]:  # `ray submit` hands the separator on
        settings = settings[1:]
    if not any(setting.startswith("runtime=") for setting in settings):
        settings = ["runtime=ray", *settings]
    if "runtime=local" not in settings:
        _join()
    return guarded(lambda: app(["run", *settings], standalone_mode=False))


def _join() -> None:
    """Join the cluster at `RAY_ADDRESS` or on this machine; where there is none, the run starts a local one."""
    import ray

    try:
        ray.init(os.environ.get("RAY_ADDRESS", "auto"), logging_level=logging.ERROR, log_to_driver=False)
    except ConnectionError:
        if "RAY_ADDRESS" in os.environ:
            sys.exit(f"error: no Ray cluster could be reached at RAY_ADDRESS={os.environ['RAY_ADDRESS']}")


if __name__ == "__main__":
    sys.exit(main())
