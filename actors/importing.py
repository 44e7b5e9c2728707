"""Modules that a setting names by an import path, `package.module:name`."""

from __future__ import annotations

import importlib
from types import ModuleType

from sim.errors import ConfigError


def import_named(key: str, path: str) -> tuple[ModuleType, str]:
    """Import the module of a path; returns it and the name after the colon.

    Args:
        key: The setting that holds the path, for the text of the error.
        path: `package.module:name`.

    Raises:
        ConfigError: The module cannot be imported.
    """
    module, _, name = path.partition(":")
    try:
        return importlib.import_module(module), name
    except Exception as error:  # importing runs the user's own code
        what = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{key}={path!r}: module {module!r} cannot be imported: {what}") from error
