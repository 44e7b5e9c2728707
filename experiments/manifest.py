"""What a run says of itself: `run.yaml`, and the name of its directory."""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from actors.runtime.plan import Plan, Settings
from experiments.config import game_params


def default_directory(game_id: str) -> Path:
    """Return a run directory that is named after the game and the time, and is not there yet."""
    stem = Path("runs") / f"{game_id}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidates = [stem, *(stem.with_name(f"{stem.name}-{n}") for n in range(2, 1000))]
    return next(path for path in candidates if not path.exists())


def describe_run(
    plan: Plan, settings: Settings, *, origin: str, points: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """Return the text of `run.yaml`."""
    described = []
    for number, point in enumerate(plan.points):
        entry: dict[str, Any] = {"labels": dict(point.labels), "seats": list(point.agent_ids)}
        if points is not None:
            entry |= {"game": points[number]["game"], "agents": points[number]["agents"]}
        else:
            kinds = {a.agent_id: {"kind": f"{type(a).__module__}:{type(a).__qualname__}"} for a in point.agents}
            entry |= {"game": game_params(point.game), "agents": {"seats": kinds}}
        described.append(entry)
    text = msgspec.yaml.encode(
        {
            "origin": origin,
            "seed": plan.seed,
            "num_matches": plan.matches,
            "runtime": msgspec.to_builtins(settings),
            "points": described,
            "versions": {
                "quorum-sim": version("quorum-sim"),
                "python": platform.python_version(),
                **{name: version(name) for name in ("ray", "msgspec", "pyarrow")},
            },
            "git_revision": _git_revision(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
    )
    return text.decode()


def _git_revision() -> str | None:
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None
