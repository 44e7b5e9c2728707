"""Types in the words of a user: what a parameter of a game or an option of an agent takes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

_WORDS: Final[Mapping[Any, str]] = MappingProxyType(
    {int: "whole number", float: "number", str: "text", bool: "true or false", NoneType: "null"}
)
_SIGNS: Final = MappingProxyType({"gt": ">", "ge": ">=", "lt": "<", "le": "<="})


def type_text(kind: Any) -> str:
    """Say a type as people read it: "full or simple", "number >= 0 or null", "list of 2: number", or "{low, high}"."""
    if kind in _WORDS:
        return _WORDS[kind]
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return " ".join(filter(None, (type_text(args[0]), _bounds(args[1:]))))
    if origin is Literal:
        return " or ".join(map(str, args))
    if origin in (Union, UnionType):
        return " or ".join(map(type_text, sorted(args, key=lambda member: member is NoneType)))
    if origin is tuple and args[-1] is not Ellipsis:
        return f"list of {len(args)}: {type_text(args[0])}"
    if origin in (tuple, list):
        return f"list of {type_text(args[0])}"
    if origin is dict:
        return f"mapping of {type_text(args[0])} to {type_text(args[1])}"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"{{{', '.join(field.encode_name for field in msgspec.structs.fields(kind))}}}"
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def value_text(value: Any) -> str:
    """Write a value as a setting has it: "null", "true", "[1.0, 2.0]", "{low: 1}"."""
    plain = msgspec.to_builtins(value)
    if isinstance(plain, dict):
        return f"{{{', '.join(f'{key}: {value_text(held)}' for key, held in plain.items())}}}"
    if isinstance(plain, list | tuple):
        return f"[{', '.join(map(value_text, plain))}]"
    if plain is None:
        return "null"
    return str(plain).lower() if isinstance(plain, bool) else str(plain) or "''"


def _bounds(metadata: tuple[Any, ...]) -> str:
    return " and ".join(
        f"{sign} {getattr(meta, key):g}"
        for meta in metadata
        for key, sign in _SIGNS.items()
        if getattr(meta, key, None) is not None
    )
