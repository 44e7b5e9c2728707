"""Says what is wrong with a setting: which key, what it held, what is allowed, and what comes nearest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

import msgspec


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" for the nearest of the known words, or nothing."""
    found = difflib.get_close_matches(word, list(known), 1, 0.6)
    return f"; did you mean {found[0]}?" if found else ""


def explain(error: msgspec.ValidationError, value: Any, kind: type[Any], key: str) -> str:
    """Say what `msgspec.convert` refused.

    Args:
        error: What it raised.
        value: What it was given.
        kind: What it was to become.
        key: Dotted key of the value in the configuration.
    """
    text = str(error)
    unknown = re.match(r"Object contains unknown field `([^`]+)`(?: - at `\$(.*)`)?", text)
    if unknown:
        known = [field.name for field in msgspec.structs.fields(kind)]
        return f"{key}.{unknown[1]}: there is no such key{nearest(unknown[1], known)} (there is: {', '.join(known)})"
    where = re.match(r"(.*?)(?: - at `\$(.*)`)?\Z", text, re.DOTALL)
    assert where is not None
    problem, path = where[1], where[2] or ""
    held = _held(value, path)
    if not path and not isinstance(value, dict):
        return f"{key}={value!r}: {_lower(problem)}"
    if not path:
        return f"{key}.{problem}" if re.match(r"\w+=", problem) else f"{key}: {problem}"
    return f"{key}{path}={held!r}: {_lower(problem)}"


def _lower(problem: str) -> str:
    text = problem[:1].lower() + problem[1:]
    return re.sub(r"^expected `([^`]+)`, got `([^`]+)`", r"\1 is expected, not \2", text)


def _held(value: Any, path: str) -> Any:
    for part in re.findall(r"[\w-]+", path):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
    return value
