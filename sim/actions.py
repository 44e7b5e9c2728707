"""From what an agent sent to a typed action: strict decoding, and numbers written as text."""

from __future__ import annotations

import math
import re
import types
from typing import Any, Final, TypeVar, Union, get_args, get_origin

import msgspec

A = TypeVar("A")

_NUMBER: Final = re.compile(r"\s*\$?\s*([+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|[+-]?\.\d+)\s*\Z", re.ASCII)


def decode_payload(kind: type[A], payload: bytes) -> A:
    """Decode a payload into an action type.

    Numbers may be numeric text ("50", "$50", "1,500.25"), and must be finite.

    Args:
        kind: The action type.
        payload: A MessagePack map of its fields.

    Raises:
        ValueError: It does not fit; the text says where and why.
    """
    decoder, floats = _schemas.get(kind) or _schema(kind)
    action: A
    try:
        action = decoder.decode(payload)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        if not floats:
            raise _refused(error) from None
        action = _decode_leniently(kind, floats, payload, error)
    for name in floats:
        value = getattr(action, name)
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number")
    return action


def parse_number(text: str) -> float | None:
    """Read a number as people write it in US notation; None when it is not one.

    "50", "$50", "1,500.25" and " .5 " are numbers; "14k", "1.500,25" and "nan" are not.
    """
    match = _NUMBER.match(text)
    return float(match[1].replace(",", "")) if match else None


_schemas: dict[Any, tuple[msgspec.msgpack.Decoder[Any], tuple[str, ...]]] = {}


def _schema(kind: type[Any]) -> tuple[msgspec.msgpack.Decoder[Any], tuple[str, ...]]:
    """Return the decoder of an action type, and which of its fields are floats."""
    floats = tuple(f.name for f in msgspec.structs.fields(kind) if float in _union_members(f.type))
    schema = _schemas[kind] = (msgspec.msgpack.Decoder(kind), floats)
    return schema


def _union_members(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(m for arg in get_args(kind) for m in _union_members(arg))
    return (getattr(kind, "__origin__", kind),)


def _decode_leniently(kind: type[A], floats: tuple[str, ...], payload: bytes, error: Exception) -> A:
    """Try once more with the numeric text of float fields read as numbers."""
    try:
        fields = msgspec.msgpack.decode(payload)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        # The first error: how deep a value may nest depends on the stack, and a record is judged on another.
        raise _refused(error) from None
    if not isinstance(fields, dict):
        raise _refused(error) from None
    for name in floats:
        value = fields.get(name)
        if isinstance(value, str):
            number = parse_number(value)
            if number is None:
                raise ValueError(f"{name}={value[:40]!r} is not a number")
            fields[name] = number
    try:
        return msgspec.convert(fields, kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as still:
        raise _refused(still) from None


def _refused(error: Exception) -> ValueError:
    return ValueError(str(error)[:300] or type(error).__name__)
