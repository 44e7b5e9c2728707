"""`quorum stress`: plays, shrinks what it finds and saves it; or repeats what was saved."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

from experiments.config import RunConfig, game_from
from experiments.display import console, print_json, print_line, watch
from experiments.manifest import default_directory
from experiments.stress.asking import Asked
from experiments.stress.faults import Faults
from experiments.stress.playing import Found, play_match
from experiments.stress.report import print_tally, print_violation, to_json
from experiments.stress.running import stress
from experiments.stress.seedfile import SeedFile, load, save, seed_file
from experiments.stress.shrinking import shrink
from experiments.stress.trace import trace
from experiments.stress.watching import Violation
from sim.errors import ConfigError, RunError

TALLY = "stress.json"
"""The file of a run that holds what happened."""

SEED = "violation.json"
"""The file of a run that holds a violation."""


def run_stress(asked: Asked, out: Path | None, *, as_json: bool) -> int:
    """Play, print what happened and write it down; returns the exit code.

    Args:
        asked: What to play.
        out: The directory to write to; None makes `runs/stress-GAME-TIME`.
        as_json: Whether to print JSON.
    """
    directory = default_directory(f"stress-{asked.name.replace('/', '-')}") if out is None else out
    if (directory / TALLY).exists():
        raise RunError(f"--out={directory} holds a stress run already; choose another directory")
    started = time.perf_counter()
    with watch("playing") as progress:
        tally, found = stress(asked, progress, None if asked.clock == "virtual" or out is None else directory / "run")
    seconds = time.perf_counter() - started
    saved = None if found is None else _explain(asked, found)
    report = to_json(asked, tally, seconds, saved)
    _write(directory, report, saved)
    if as_json:
        print_json(report)
    else:
        print_tally(asked, tally, seconds, None if saved is None else str(saved.violation))
    if saved is None:
        if not as_json:
            print_line(f"written to {directory / TALLY}")
        return 0
    if not as_json:
        console.print()
        print_violation(saved)
        print_line(f"repeat it with: quorum stress --replay {directory / SEED}")
    return 1


def _write(directory: Path, report: dict[str, Any], saved: SeedFile | None) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / TALLY).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
        if saved is not None:
            save(saved, directory / SEED)
    except OSError as error:
        raise RunError(f"--out={directory} cannot be written: {error.strerror or error}") from None


def _explain(asked: Asked, found: Found) -> SeedFile:
    """Shrink a violation, and put it into words."""
    plan, _ = asked.config.plan()
    game, spec = plan.point(found.index).game, plan.spec(found.index)
    run = {"config": msgspec.to_builtins(asked.config), "faults": msgspec.to_builtins(asked.faults)}
    shrunk = shrink(game, spec, found.items, found.violation)
    if shrunk is None or shrunk.violation is None:
        told = trace(game, spec, found.items)
        return seed_file(game, spec, found.violation, None, run=run, trace=told)
    told = trace(game, spec, shrunk.entries)
    return seed_file(game, spec, shrunk.violation, shrunk.entries, run=run, trace=told)


def replay_seed(path: Path, *, as_json: bool) -> int:
    """Repeat a saved violation; returns the exit code: 1 when something does not hold."""
    saved = load(path)
    violation = _again(saved)
    same = violation == saved.violation
    if as_json:
        print_json({"violation": violation, "saved": saved.violation, "same": same})
        return int(violation is not None)
    if violation is None:
        print_line(f"everything holds now; when it was saved this did not: {saved.violation}")
        return 0
    if saved.items is not None:
        told = trace(game_from(saved.game), saved.spec(), saved.entries())
        saved = msgspec.structs.replace(saved, trace=told, violation=violation)
    print_violation(saved)
    print_line("the same as when it was saved" if same else f"when it was saved it was: {load(path).violation}")
    return 1


def _again(saved: SeedFile) -> Violation | None:
    if saved.items is not None:
        return saved.repeat()
    try:
        config = msgspec.convert(saved.run["config"], RunConfig)
        faults = msgspec.convert(saved.run["faults"], Faults)
    except (KeyError, msgspec.ValidationError) as error:
        raise ConfigError(f"the seed file does not say how its match was played: {error}") from None
    plan, _ = config.plan()
    if not 0 <= saved.match < plan.total:
        raise ConfigError(f"the seed file is of match {saved.match}, and its run has {plan.total}")
    _, found = play_match(plan, saved.match, faults)
    return None if found is None else found.violation
