"""Says what is wrong with a setting: which key, what it held, what is allowed, and what comes nearest."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from actors.type_text import type_text
from sim.errors import nearest


def shown(value: Any) -> str:
    """Write a value as it is written in YAML, cut to a part of a line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."


def explain(error: msgspec.ValidationError, value: Any, kind: Any, key: str) -> str:
    """Say what `msgspec.convert` refused.

    Args:
        error: What it raised.
        value: What it was given.
        kind: What it was to become.
        key: Dotted key of the value in the configuration.
    """
    problem, path = _split(str(error))
    unknown = re.match(r"Object contains unknown field `([^`]+)`", problem)
    missing = re.match(r"Object missing required field `([^`]+)`", problem)
    held, wanted, where = _follow(value, kind, path)
    where = f"{key}{where}"
    if unknown:
        known = [field.name for field in msgspec.structs.fields(wanted)]
        what = f"{where}.{unknown[1]}={shown(held.get(unknown[1]))}"
        return f"{what}: there is no such key{nearest(unknown[1], known)} (there is: {', '.join(known)})"
    if missing:
        field = next(field for field in msgspec.structs.fields(wanted) if field.encode_name == missing[1])
        return f"{where}={shown(held)}: {missing[1]} is missing; it needs {type_text(field.type)}"
    allowed = type_text(wanted)
    choices = [str(choice) for choice in _choices(wanted)]
    hint = nearest(held, choices) if isinstance(held, str) else ""
    return f"{where}={shown(held)}: allowed is {allowed}{hint}"


def _split(text: str) -> tuple[str, list[str]]:
    """Split msgspec's text into what is wrong and the path to where."""
    where = re.match(r"(.*?)(?: - at `(?:key in )?\$(.*)`)?\Z", text, re.DOTALL)
    assert where is not None
    return where[1], re.findall(r"\.\.\.|[\w-]+", where[2] or "")


def _follow(value: Any, kind: Any, path: list[str]) -> tuple[Any, Any, str]:
    """Return what a path leads to in a value and in its type, and the path as it is written in a setting."""
    where = ""
    for part in path:
        members = [member for member in _members(kind) if member is not type(None)]
        if len(members) > 1:  # of a number or a mapping of numbers, the one that has parts
            members = [m for m in members if get_origin(m) is dict] or members
        kind = members[0] if members else Any
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            kind = {field.name: field.type for field in msgspec.structs.fields(kind)}.get(part, Any)
        elif get_args(kind):
            kind = [argument for argument in get_args(kind) if argument is not Ellipsis][-1]
        if part == "..." and isinstance(value, Mapping):
            part = _first_bad(value, kind)
        value = _child(value, part)
        where += "" if part == "..." else f".{part}"
    return value, kind, where


def _child(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list | tuple) and part.isdigit() and int(part) < len(value):
        return value[int(part)]
    return value


def _first_bad(value: Mapping[Any, Any], kind: Any) -> str:
    """Return the key of a mapping whose value is not of a type: msgspec does not say which one it was."""
    for key, held in value.items():
        try:
            msgspec.convert(held, kind)
        except msgspec.ValidationError:
            return str(key)
    return "..."


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _choices(kind: Any) -> tuple[Any, ...]:
    return tuple(c for member in _members(kind) if get_origin(member) is Literal for c in get_args(member))
