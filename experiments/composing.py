"""Hydra's Compose API and override grammar: files, settings and grids become plain data.

Nothing else of Hydra is used: it changes no directory, sets up no logging and starts nothing. It chooses the files;
single keys are set here, so that a key may also name what its file leaves to a default, and a grid of thousands
reads each file once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from experiments.mistakes import shown
from sim.errors import ConfigError, nearest

GROUPS = ("game", "agents", "runtime")
"""Keys whose value is the name of a file."""

ONCE = ("runtime", "num_matches", "seed", "out")
"""Keys that a whole run has one of: a grid cannot vary them."""

KEYS = ("game", "agents", "task", "runtime", "num_matches", "seed", "out")
"""What a configuration holds."""

TASK_GAME = "bargaining"
"""The game that tasks are for."""


class Setting:
    """One override: a key, what was done to it, and one value or many.

    Args:
        text: What the user wrote.

    Raises:
        ConfigError: It cannot be read, or its key does not exist.
    """

    def __init__(self, text: str) -> None:
        if "=" not in text and not text.startswith("~"):
            raise ConfigError(f"{text!r} is not a setting; settings look like game.threshold=200{nearest(text, KEYS)}")
        override = _parse(text)
        self.key: str = override.key_or_group
        self.top = self.key.split(".")[0]
        if self.top not in KEYS or override.package is not None:
            raise ConfigError(f"{text}: there is no such key{nearest(self.top, KEYS)} (keys: {', '.join(KEYS)})")
        self.text = text
        self.adds = bool(override.is_add())
        self.deletes = bool(override.is_delete())
        self.values: list[Any] = _values(self.key, override)
        if self.key == "task":
            self.values = _task_names(self.values)
        self.sweeps = bool(override.is_sweep_override()) or len(self.values) > 1

    @property
    def chooses(self) -> bool:
        """Whether it names a file, not a value."""
        return self.key in GROUPS


def compose_points(folders: Sequence[Path], texts: Sequence[str]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Compose every point of a grid.

    Args:
        folders: Where the files are; the first holds `config.yaml` and wins where names are the same.
        texts: Overrides.

    Yields:
        (labels, config): the settings that the grid varies, by key, and the whole as plain data.

    Raises:
        ConfigError: An override is misspelt, or names a file or a key that is not there.
    """
    settings = [Setting(text) for text in texts]
    _check(settings, folders)
    line_ups = options(folders, "agents")
    loaded: dict[str, DictConfig] = {}
    bases: dict[tuple[str, str | None], DictConfig] = {}
    for values in itertools.product(*(setting.values for setting in settings)):
        chosen = [(setting, value) for setting, value in zip(settings, values, strict=True)]
        task = next((value for setting, value in chosen if setting.key == "task"), None)
        files = _files({setting.key: str(value) for setting, value in chosen if setting.chooses}, task, line_ups)
        base = bases.get((files, task))
        if base is None:
            if files not in loaded:
                loaded[files] = _load(folders, files.split())
            base = bases[files, task] = _of_task(loaded[files], task)
        config = _with(base, [(setting, value) for setting, value in chosen if setting.key not in (*GROUPS, "task")])
        yield {s.key: _label(config, s, value) for s, value in chosen if s.sweeps}, config


def _files(named: dict[str, str], task: str | None, line_ups: Sequence[str]) -> str:
    """Return the files to compose; a game is played by the line-up of its own name where none is chosen."""
    if task is not None:
        named.setdefault("game", TASK_GAME)
    game = named.get("game")
    if game is not None and "agents" not in named:
        fitting = (game, f"{game.split('/')[0]}/mixed")
        named["agents"] = next((name for name in fitting if name in line_ups), "provision_point/mixed")
    return " ".join(f"{key}={value}" for key, value in named.items())


def _of_task(config: DictConfig, task: str | None) -> DictConfig:
    """Put the parameters of a task in place of those of the game's file."""
    if task is None:
        return config
    from experiments.tasks import find_task

    if (game_id := config.game.get("game_id")) != TASK_GAME:
        raise ConfigError(f"task={task}: tasks are for game={TASK_GAME}, not {game_id}")
    own: DictConfig = config.copy()
    for key, value in find_task(task).parameters.items():
        OmegaConf.update(own, f"game.{key}", value, merge=False, force_add=True)
    return own


def options(folders: Sequence[Path], group: str) -> list[str]:
    """Return the names of the files of a group."""
    files = ((folder / group, file) for folder in folders for file in (folder / group).rglob("*.yaml"))
    return sorted({file.relative_to(root).with_suffix("").as_posix() for root, file in files})


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────


def _parse(text: str) -> Override:
    try:
        override: Override = OverridesParser.create().parse_overrides([text])[0]
    except (HydraException, RecursionError):
        quotes = any(text.count(mark) % 2 for mark in "'\"")
        why = "a quotation mark is not closed" if quotes else "a value with special characters needs quotes"
        raise ConfigError(f"{text}: cannot be read: {why}, as in \"out='runs/a (b)'\"") from None
    return override


def _values(key: str, override: Override) -> list[Any]:
    if not override.is_sweep_override():
        return [None if override.is_delete() else override.value()]
    try:
        values = [_plain(value) for value in override.sweep_iterator()]
    except HydraException:
        raise ConfigError(f"{override.input_line}: write the values with commas, or range(START,STOP,STEP)") from None
    if not values:
        raise ConfigError(f"{override.input_line}: there is no value in it")
    if len({repr(value) for value in values}) < len(values):
        raise ConfigError(f"{override.input_line}: the same value is there more than once")
    return values


def _task_names(values: Sequence[Any]) -> list[Any]:
    """Return the tasks that are meant: by name, by family, by type of market, or all."""
    from experiments.tasks import choose_tasks

    return list(dict.fromkeys(task.name for word in values for task in choose_tasks(str(word))))


def _plain(value: Any) -> Any:
    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


def _check(settings: Sequence[Setting], folders: Sequence[Path]) -> None:
    seen: dict[str, str] = {}
    for setting in settings:
        if setting.key in seen:
            raise ConfigError(f"{setting.text}: {setting.key} is set more than once (also {seen[setting.key]})")
        seen[setting.key] = setting.text
        if setting.sweeps and setting.top in ONCE:
            raise ConfigError(f"{setting.text}: a grid cannot vary {setting.top}; one run has one value of it")
        if setting.deletes and "." not in setting.key:
            raise ConfigError(f"{setting.text}: a run needs {setting.key}; set it by {setting.key}=...")
        if setting.chooses:
            _check_files(setting, options(folders, setting.key))


def _check_files(setting: Setting, known: list[str]) -> None:
    for value in setting.values:
        if value not in known:
            held = str(value) if isinstance(value, str) and value else shown(value)
            hint = nearest(str(value), known)
            raise ConfigError(f"{setting.key}={held}: there is no such file{hint} (there is: {', '.join(known)})")


# ── composing ───────────────────────────────────────────────────────────────────────────────────────────


def _load(folders: Sequence[Path], files: Sequence[str]) -> DictConfig:
    paths = ",".join(f"'file://{folder.resolve()}'" for folder in folders[1:])
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(folders[0].resolve()), version_base=None):
            composed = compose("config", overrides=[*files, f"hydra.searchpath=[{paths}]"])
    except (HydraException, OmegaConfBaseException, YAMLError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{' '.join(files)}: a file cannot be read: {_one_line(error)}") from None
    OmegaConf.set_struct(composed, False)
    unknown = [str(key) for key in composed if key not in KEYS]
    if unknown:
        raise ConfigError(f"{unknown[0]}: there is no such key{nearest(unknown[0], KEYS)} (keys: {', '.join(KEYS)})")
    return composed


def _with(base: DictConfig, values: Sequence[tuple[Setting, Any]]) -> dict[str, Any]:
    config = base.copy()
    for setting, value in values:
        try:
            _set(config, setting, value)
        except OmegaConfBaseException as error:
            raise ConfigError(f"{setting.text}: {_one_line(error)}") from None
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None)
        raise ConfigError(f"{key or 'a setting'}: {_one_line(error)}") from None
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _set(config: DictConfig, setting: Setting, value: Any) -> None:
    """Set a key that is there, or whose last part its file leaves to a default; or `agents.roles`, of which only the
    game can tell whether there is room for it.
    """
    *parents, last = setting.key.split(".")
    node: Any = config
    for depth, name in enumerate(parents):
        if not isinstance(node, Mapping):
            break
        if name not in node and not setting.adds and parents[: depth + 1] != ["agents", "roles"]:
            missing = ".".join(parents[: depth + 1])
            known = [str(key) for key in node]
            raise ConfigError(
                f"{setting.text}: there is no {missing}{nearest(name, known)} (there is: {', '.join(known)}); "
                f"to add it write +{setting.text}"
            )
        node = node.get(name)
    if not setting.deletes:
        OmegaConf.update(config, setting.key, value, force_add=True, merge=setting.adds)
    elif not isinstance(node, Mapping) or last not in node:
        known = [str(key) for key in node] if isinstance(node, Mapping) else []
        raise ConfigError(f"{setting.text}: there is no such key{nearest(last, known)} (there is: {', '.join(known)})")
    else:
        del node[last]  # type: ignore[attr-defined]


def _label(config: Mapping[str, Any], setting: Setting, value: Any) -> Any:
    """Return the value that a point is labelled with: as it stands in the configuration."""
    if setting.chooses or setting.key == "task":
        return value
    found: Any = config
    for part in setting.key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found if found is None or isinstance(found, str | int | float | bool) else shown(found)


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return re.sub(r"\s+", " ", "; ".join(lines[:3])) or type(error).__name__
