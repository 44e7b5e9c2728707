"""Runs, processes and signals, as several suites need them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from actors.agent import Agent
from actors.runtime.plan import Plan, Point, Settings
from experiments.manifest import describe_run
from experiments.playing import play_blocking
from experiments.results import Run
from experiments.store import RunDirectory
from sim.games.provision_point import ProvisionPointGame

LOCAL = Settings(kind="local", window=64)


def simple(agents: Sequence[Agent], matches: int, seed: int = 1, **parameters: Any) -> Plan:
    """A run of provision point in simple mode."""
    game = ProvisionPointGame(**({"mode": "simple", "max_rounds_commit": 2} | parameters))  # type: ignore[arg-type]
    return Plan((Point(game, tuple(agents)),), matches, seed)


def run_plan(plan: Plan, settings: Settings, path: Path, todo: Sequence[int] | None = None) -> Run:
    """Play a plan to the end."""
    directory = RunDirectory(path)
    directory.create(describe_run(plan, settings, origin="python"))
    play_blocking(directory, plan, settings, only=todo)
    return Run(path)


def table(run: Run) -> list[tuple[Any, ...]]:
    """What came out, match by match."""
    return run.matches().select("match_index", "status", "trigger", "payoffs", "outcome").rows()


# ── processes ───────────────────────────────────────────────────────────────────────────────────────────


def processes() -> dict[int, int]:
    """All processes of this machine: number -> that of the parent. Those that have ended are left out."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                found[int(entry.name)] = int(parent)
    return found


def title(pid: int) -> str:
    """What a process calls itself."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def actors(root: int | None = None, kind: str = "") -> list[int]:
    """Processes of actors below this process or another."""
    parents = processes()
    below = {os.getpid() if root is None else root}
    grown = True
    while grown:
        grown = False
        for pid, parent in parents.items():
            if parent in below and pid not in below:
                below.add(pid)
                grown = True
    kinds = ("PackedActor", "RefereeActor", "AgentActor")
    return sorted(p for p in below if any(f"ray::{k}" in title(p) for k in kinds if kind in k))


def eventually(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait until a condition holds; return what it gave last."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


class Killer(threading.Thread):
    """Kills one process of a kind of actor once a run has written its first part.

    Attributes:
        killed: The processes that it killed.
        parts: How many parts there were by then.
    """

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.kind = kind
        self.killed: list[int] = []
        self.parts = 0

    def run(self) -> None:
        eventually(lambda: list(self.path.glob("matches/part-*.parquet")), 60)
        pids = actors(kind=self.kind)
        if pids:
            os.kill(pids[-1], signal.SIGKILL)
            self.killed.append(pids[-1])
        self.parts = len(list(self.path.glob("matches/part-*.parquet")))


class Command:
    """`quorum` in a process group of its own, as a terminal starts it.

    Args:
        arguments: Its arguments.
        environment: Variables beyond those of this process.
    """

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.mark = f"QUORUM_TEST={uuid.uuid4().hex}"
        name, _, value = self.mark.partition("=")
        paths = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
        environ = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "experiments.cli", *arguments],
            env=environ | {"PYTHONPATH": os.pathsep.join(paths), name: value} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self, seconds: float = 60.0) -> tuple[int, str, str]:
        """Wait for the end; returns (exit code, output, errors)."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def sessions(self) -> list[Path]:
        """Directories of the Ray sessions that it started and that are still there."""
        return list(Path("/tmp/ray").glob(f"session_2*_{self.process.pid}"))

    def left(self) -> list[int]:
        """Processes that it started and that are still there."""
        found = []
        for pid in processes():
            try:
                environ = Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if self.mark.encode() in environ:
                found.append(pid)
        return found
