"""Functions that a selection can name: registered under a name, or by import path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from actors.importing import import_named
from sim.errors import ConfigError, nearest

_REGISTERED: dict[str, Callable[..., Any]] = {}


class Options(msgspec.Struct, frozen=True):
    """What there is to choose from.

    Attributes:
        scores: The score of each action.
        actions: The name of each action; may be left out where the function does not look at it.
        features: The context of the decision, by name.
    """

    scores: tuple[float, ...]
    actions: tuple[str, ...] = ()
    features: Mapping[str, float] = MappingProxyType({})

    def __post_init__(self) -> None:
        if self.actions and len(self.actions) != len(self.scores):
            raise ValueError(f"there are {len(self.actions)} actions and {len(self.scores)} scores")


def register(name: str, function: Callable[..., Any]) -> None:
    """Give a function a name that a selection can use in this process.

    Other processes know it when the module that registers it is imported there; an import path works everywhere.

    Raises:
        ConfigError: Another function has the name, or the name reads as an import path.
    """
    if ":" in name or not name:
        raise ConfigError(f"function={name!r}: a name without a colon is needed")
    if _REGISTERED.setdefault(name, function) is not function:
        raise ConfigError(f"function={name!r}: {function_name(_REGISTERED[name])} has this name; take another")


def find_function(name: str) -> Callable[..., Any]:
    """Return the function of a name, or at an import path `package.module:function`.

    Raises:
        ConfigError: There is none.
    """
    if ":" in name:
        return _imported(name)
    found = _REGISTERED.get(name)
    if found is None:
        raise ConfigError(
            f"function={name!r}: no function is registered under this name{nearest(name, _REGISTERED)}; "
            f"allowed are {', '.join(sorted(_REGISTERED)) or 'none here'}, or an import path package.module:function"
        )
    return found


def function_name(function: Callable[..., Any]) -> str:
    """Return the import path of a function, or what comes closest."""
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def _imported(path: str) -> Callable[..., Any]:
    module, name = import_named("function", path)
    found = getattr(module, name, None)
    if not callable(found):
        functions = [n for n, value in vars(module).items() if callable(value)]
        raise ConfigError(f"function={path!r}: {module.__name__} has no function {name!r}{nearest(name, functions)}")
    checked: Callable[..., Any] = found
    return checked
