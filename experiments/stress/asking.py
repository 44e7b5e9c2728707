"""What a stress run is asked for: from the command line to a run that can be played, with every mistake in one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from actors.runtime.plan import Settings
from experiments.config import CONF, RunConfig, compose
from experiments.cores import cores
from experiments.stress.faults import Faults
from sim.errors import ConfigError, nearest

_COMPLETE = ("full", "bounty")
"""Files of a game's folder that stand for it, the first that is there."""

_OPTIONS = {"num_matches": "--matches", "seed": "--seed", "out": "--out", "runtime": "--runtime", "game": "GAME"}
"""Settings of `quorum run` that are options here."""

_OF_VIRTUAL_TIME = ("slow", "crash")
"""Faults that need virtual time."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A stress run.

    Attributes:
        name: The game's file.
        config: What is played.
        faults: What goes wrong.
        clock: "virtual" plays each match on a schedule of its own; "real" plays a run and checks its records.
        runtime: Where.
        workers: Processes that play in virtual time.
    """

    name: str
    config: RunConfig
    faults: Faults
    clock: Literal["virtual", "real"]
    runtime: Literal["local", "packed", "ray"]
    workers: int


def ask(
    game: str,
    settings: Sequence[str],
    faults: dict[str, Any],
    *,
    matches: int,
    seed: int,
    clock: str | None,
    runtime: str,
    workers: int | None,
    config_dir: Path | None = None,
) -> Asked:
    """Return what is asked for.

    Args:
        game: Name of a game file, or of its folder.
        settings: Settings as in `quorum run`.
        faults: Fields of `Faults`; None stands for the default.
        matches: Matches for each point of a grid.
        seed: Seed of the run.
        clock: "virtual" or "real"; None takes virtual time where that can be.
        runtime: "local", "packed" or "ray".
        workers: Processes; None takes one for each core.
        config_dir: Folder of one's own files.

    Raises:
        ConfigError: Something does not fit.
    """
    runtime = _one_of("--runtime", runtime, ("local", "packed", "ray"))
    clock = _one_of("--clock", clock or ("virtual" if runtime == "local" else "real"), ("virtual", "real"))
    if clock == "virtual" and runtime != "local":
        raise ConfigError(f"--clock=virtual needs --runtime=local, not {runtime}: only one event loop can be steered")
    if workers is not None and workers < 1:
        raise ConfigError(f"--workers={workers}: at least 1 is needed")
    for setting in settings:
        key = setting.lstrip("+~").partition("=")[0]
        option = _OPTIONS.get("runtime" if key.startswith("runtime.") else key)
        if option is not None:
            raise ConfigError(f"{setting}: here that is {option}")
    name = _game_file(game, config_dir)
    chosen = _faults(faults, clock, runtime)
    config = compose([f"game={name}", *settings, f"num_matches={matches}", f"seed={seed}"], config_dir)
    if clock == "real":
        delivery = chosen.delivery()
        made = Settings(kind=runtime, delivery=delivery if delivery != type(delivery)() else None)  # type: ignore[arg-type]
        config = msgspec.structs.replace(config, runtime=msgspec.to_builtins(made))
    config.plan()
    return Asked(
        name=name,
        config=config,
        faults=chosen,
        clock=clock,  # type: ignore[arg-type]
        runtime=runtime,  # type: ignore[arg-type]
        workers=workers or cores(),
    )


def _one_of(option: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ConfigError(f"{option}={value}: allowed is {' or '.join(allowed)}{nearest(value, allowed)}")
    return value


def _faults(given: dict[str, Any], clock: str, runtime: str) -> Faults:
    values = {key: value for key, value in given.items() if value is not None}
    try:
        faults = Faults(**values)
    except ConfigError as error:
        raise ConfigError(f"--{error}") from None
    if clock == "virtual":
        return faults
    for key in _OF_VIRTUAL_TIME:
        if values.get(key):
            raise ConfigError(f"--{key}={values[key]} needs --clock=virtual")
    for key in ("delay", "loss", "duplicate", "reorder"):
        if runtime != "local" and values.get(key) not in (None, "none", 0.0, False):
            raise ConfigError(f"--{key} needs --runtime=local, not {runtime}: the bus between processes loses nothing")
    return msgspec.structs.replace(faults, slow=0.0)


def _game_file(game: str, config_dir: Path | None) -> str:
    """Return the game file that a name stands for: itself, or one of its folder."""
    from experiments.composing import options

    folders = [CONF] if config_dir is None else [CONF, config_dir]
    files = options(folders, "game")
    for name in (game, game.replace("-", "_")):
        if name in files:
            return name
        inside = [file for file in files if file.startswith(f"{name}/")]
        if inside:
            complete = (f"{name}/{part}" for part in _COMPLETE)
            return next((file for file in complete if file in inside), inside[0])
    names = sorted({file.split("/")[0] for file in files} | set(files))
    raise ConfigError(f"GAME={game}: there is no such game{nearest(game, names)} (there is: {', '.join(files)})")
