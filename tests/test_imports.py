"""Heavy libraries are imported where they are used: what needs none of them starts at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("ray", "numpy", "polars", "pyarrow", "pandas", "duckdb", "hydra", "omegaconf", "openai", "aiohttp", "scipy")


def imported(code: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return {name.partition(".")[0] for name in ended.stderr.split()}


def test_the_world_brings_in_nothing_but_msgspec() -> None:
    standard = set(sys.stdlib_module_names)
    mine = imported("import sim") - imported("pass") - standard
    assert mine <= {"sim", "msgspec", "typing_extensions"}  # msgspec imports the last where it is installed


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["replay", "--help"]])
def test_help_brings_in_nothing_heavy(arguments: list[str]) -> None:
    command = f"guarded(lambda: app({arguments}, standalone_mode=False))"
    assert imported(f"from experiments.cli import app, guarded\nassert {command} == 0").isdisjoint({*HEAVY, "rich"})


def test_the_names_of_experiments_are_imported_when_they_are_used() -> None:
    assert imported("import experiments").isdisjoint(HEAVY)
    assert "polars" in imported("from experiments import load_run")
    with pytest.raises(ImportError):
        from experiments import nothing_of_this_name  # type: ignore[attr-defined]  # noqa: F401


def test_playing_here_needs_no_ray_and_no_pandas() -> None:
    found = imported(
        "import tempfile\n"
        "from experiments import ExperimentConfig, ExperimentRunner\n"
        "from actors import RandomAgent\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    config = ExperimentConfig(num_matches=3, out=folder + '/run')\n"
        "    ExperimentRunner(config).run([RandomAgent('a'), RandomAgent('b')])\n"
    )
    assert found.isdisjoint({"ray", "pandas", "openai", "aiohttp"})
