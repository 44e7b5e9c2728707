"""The `quorum` command in this process, as the suites of the command line need it."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from experiments.cli import app, guarded
from experiments.results import Run

QUORUM = [sys.executable, "-c", "from experiments.cli import main; main()"]
"""The command as a process of its own."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, what it printed, and what it said on stderr."""

    code: int
    out: str
    err: str


def quorum(*arguments: str | Path) -> Ended:
    """Run a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = guarded(lambda: app([str(argument) for argument in arguments], standalone_mode=False))
    return Ended(code, out.getvalue(), err.getvalue())


def played(out: Path, *settings: str, matches: int = 6) -> Run:
    """Play a small run and open it."""
    ended = quorum("run", f"out={out}", f"num_matches={matches}", *settings)
    assert (ended.code, ended.err) == (0, "")
    return Run(out)


def start(*arguments: str | Path, cwd: Path | None = None) -> subprocess.Popen[str]:
    """Start a command as a process of its own."""
    root = str(Path(__file__).parents[1])
    return subprocess.Popen(
        [*QUORUM, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that starts something in the background has it ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
