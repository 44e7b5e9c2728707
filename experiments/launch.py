"""The script for `ray submit` and `ray job submit`: takes the settings of `quorum run`.

    ray submit cluster.yaml experiments/launch.py -- game=provision_point/full runtime=ray num_matches=100000

It joins the cluster at `RAY_ADDRESS`, or the one that runs on this machine, or starts a local one.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext


def main(settings: list[str] | None = None) -> int:
    """Run an experiment; returns the exit code.

    Args:
        settings: Settings as `quorum run` takes them; None reads the command line.
    """
    from experiments.cli import app, guarded
    from experiments.cluster import running_ray

    settings = sys.argv[1:] if settings is None else settings
    if settings[:1] == ["--"]:  # `ray submit` hands the separator on
        settings = settings[1:]
    if not any(setting.startswith("runtime=") for setting in settings):
        settings = ["runtime=ray", *settings]

    def run() -> None:
        cluster = nullcontext() if "runtime=local" in settings else running_ray(join=True)
        with cluster:
            app(["run", *settings], standalone_mode=False)

    return guarded(run)


if __name__ == "__main__":
    sys.exit(main())
