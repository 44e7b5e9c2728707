"""The cluster file and the script that `ray submit` runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments import launch, load_run

ROOT = Path(__file__).parent.parent
SETTINGS = ["game=provision_point/simple", "agents=provision_point/rational", "game.max_rounds_commit=3"]


def cluster() -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "cluster.yaml").read_text())
    return config


def test_ray_accepts_the_cluster_file() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    validate_config(prepare_config(cluster()))


def test_every_node_installs_the_package_with_pinned_versions_and_gets_the_token() -> None:
    config = cluster()
    assert any("constraints.txt" in command and "pip install" in command for command in config["setup_commands"])
    assert "~/.ray/auth_token" in config["file_mounts"]
    for node in ("head", "worker"):
        assert any("RAY_AUTH_MODE=token" in command for command in config[f"{node}_start_ray_commands"])


def test_settings_behind_the_separator_are_those_of_quorum_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code = launch.main(["--", *SETTINGS, "runtime=local", "num_matches=7", f"out={out}"])
    assert code == 0
    assert len(load_run(out)) == 7


def test_a_misspelt_setting_ends_with_2_and_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert launch.main(["runtime=local", "game.treshold=5"]) == 2
    error = capfd.readouterr().err
    assert "game.treshold" in error
    assert "threshold?" in error
    assert "Traceback" not in error


def test_an_address_where_no_cluster_is_ends_at_once_with_one_line(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "experiments" / "launch.py"), *SETTINGS, f"out={tmp_path / 'run'}"],
        env={"RAY_ADDRESS": "127.0.0.1:1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 2
    assert "127.0.0.1:1" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_ray_does_not_warn_that_a_cell_has_many_processes_and_says_all_else() -> None:
    from ray._private.ray_logging import stdout_deduplicator

    import actors.runtime.ray  # noqa: F401  (as a run on Ray imports it)

    def told(line: str) -> bool:  # beside what it has kept of earlier tests
        batch: Any = {"lines": [line], "pid": "raylet", "is_err": False}
        return any(line in said for part in stdout_deduplicator.deduplicate(batch) for said in part["lines"])

    assert not told("WARNING: 8 PYTHON worker processes have been started on node: 1f with address: 192.0.2.2, which")
    assert told("A worker died because the node ran out of memory.")
