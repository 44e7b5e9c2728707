"""Hydra's Compose API: groups and overrides become plain data. Nothing else of Hydra is used: it changes no
directory, sets up no logging and starts nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.mistakes import nearest
from sim.errors import ConfigError

_ONCE = ("runtime", "num_matches", "seed", "out")
"""Keys that a whole run has one of: a grid cannot vary them."""


def compose_points(conf: Path, overrides: Sequence[str]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Compose every point of a grid.

    Yields:
        (labels, config): the settings that the grid varies, by key, and the whole as plain data.

    Raises:
        ConfigError: An override is misspelt, or names a file or a key that is not there.
    """
    parsed = _parse(overrides)
    fixed = [o.input_line for o in parsed if not o.is_sweep_override()]
    swept = {o.get_key_element(): _choices(o) for o in parsed if o.is_sweep_override()}
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf), version_base=None):
        for labels in _combinations(swept):
            config = _compose(conf, [*fixed, *(f"{key}={value}" for key, value in labels.items())])
            yield {key: _label(config, key, value) for key, value in labels.items()}, config


def _combinations(choices: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    """Return every combination of one choice for each key, the last key varying fastest."""
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def _parse(overrides: Sequence[str]) -> list[Override]:
    for text in overrides:
        if "=" not in text:
            raise ConfigError(f"{text!r} is not a setting; settings look like game.threshold=200")
    try:
        parsed: list[Override] = OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as error:
        raise ConfigError(f"a setting cannot be read: {str(error).splitlines()[0]}") from None
    keys = [o.get_key_element() for o in parsed]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ConfigError(f"{twice[0]} is set more than once")
    return parsed


def _choices(override: Override) -> list[str]:
    key = override.get_key_element()
    if key.split(".")[0] in _ONCE:
        raise ConfigError(f"{key}: a grid cannot vary it; one run has one {key.split('.')[0]}")
    return [str(value) for value in override.sweep_string_iterator()]


def _label(config: dict[str, Any], key: str, text: str) -> Any:
    value: Any = config
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return text
        value = value[part]
    return value if isinstance(value, str | int | float | bool) or value is None else text


def _compose(conf: Path, overrides: list[str]) -> dict[str, Any]:
    try:
        composed = compose("config", overrides=overrides)
        plain = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_explain(conf, overrides, str(error))) from None
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _explain(conf: Path, overrides: list[str], text: str) -> str:
    """Say what is wrong with a setting, and what comes nearest to it."""
    missing = re.search(r"Could not find '([^']+)/([^'/]+(?:/[^'/]+)*)'", text) or re.search(
        r"In '[^']*': Could not", text
    )
    group = re.search(r"Could not find '(\w+)/([^']+)'", text)
    if missing and group:
        options = sorted(
            str(file.relative_to(conf / group[1]).with_suffix("")) for file in (conf / group[1]).rglob("*.yaml")
        )
        return (
            f"{group[1]}={group[2]}: there is no such file{nearest(group[2], options)} (there is: {', '.join(options)})"
        )
    unknown = re.search(r"Could not override '([^']+)'", text)
    if unknown:
        return f"{unknown[1]}: there is no such key{nearest(unknown[1], _keys(conf, overrides, unknown[1]))}"
    no_group = re.search(r"Could not override '(\w+)'.*No match in the defaults list", text, re.DOTALL)
    if no_group:
        return f"{no_group[1]}: there is no such key{nearest(no_group[1], ['game', 'agents', 'runtime', *_ONCE])}"
    return text.splitlines()[0]


def _keys(conf: Path, overrides: list[str], wrong: str) -> list[str]:
    """Return the keys that could have been meant, as dotted paths."""
    rest = [o for o in overrides if not o.lstrip("+~").startswith(wrong)]
    try:
        plain = OmegaConf.to_container(compose("config", overrides=rest), resolve=True)
    except (HydraException, OmegaConfBaseException):
        return []
    return list(_paths(plain, ""))


def _paths(value: Any, prefix: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{prefix}{key}"
            yield from _paths(inner, f"{prefix}{key}.")
