"""From what an agent sent to a typed action: strict decoding, and numbers written as text."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect as types

A = TypeVar("A")

_NUMBER: Final = re.compile(r"\s*\$?\s*([+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|[+-]?\.\d+)\s*\Z", re.ASCII)


def decode_payload(kind: type[A], payload: bytes) -> A:
    """Decode a payload into an action type.

    Numbers may be numeric text ("50", "$50", "1,500.25"), and must be finite, at any depth. A field may stand under
    one of its aliases (`ActionType.aliases`), but not under two names at once.

    Args:
        kind: The action type.
        payload: A MessagePack map of its fields.

    Raises:
        ValueError: It does not fit; the text says where and why.
    """
    schema = _schemas.get(kind) or _schema(kind)
    action: A
    try:
        action = schema.decoder.decode(payload)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        if not schema.lenient:
            raise _refused(error) from None
        action = _decode_leniently(kind, schema, payload, error)
    for name in schema.floats:
        value = getattr(action, name)
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number")
    for name in schema.nested:
        _check_finite(name, getattr(action, name))
    return action


def parse_number(text: str) -> float | None:
    """Read a number as people write it in US notation; None when it is not one.

    "50", "$50", "1,500.25" and " .5 " are numbers; "14k", "1.500,25" and "nan" are not.
    """
    match = _NUMBER.match(text)
    return float(match[1].replace(",", "")) if match else None


class _Schema(msgspec.Struct, frozen=True):
    """What there is to know of an action type: its fields that are floats, and those that hold numbers deeper down."""

    decoder: msgspec.msgpack.Decoder[Any]
    aliases: Mapping[str, str]
    numbers: Mapping[str, types.Type]
    floats: tuple[str, ...]
    nested: tuple[str, ...]

    @property
    def lenient(self) -> bool:
        """Whether another reading could help where the strict one fails."""
        return bool(self.numbers or self.aliases)


_schemas: dict[Any, _Schema] = {}


def _schema(kind: type[Any]) -> _Schema:
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    numbers = {field.encode_name: field.type for field in info.fields if _holds_numbers(field.type)}
    floats = tuple(name for name, held in numbers.items() if _is_number(held, types.FloatType))
    nested = tuple(name for name, held in numbers.items() if not _is_number(held, types.FloatType, types.IntType))
    aliases = getattr(kind, "aliases", {})
    schema = _schemas[kind] = _Schema(msgspec.msgpack.Decoder(kind), aliases, numbers, floats, nested)
    return schema


def _is_number(kind: types.Type, *numbers: type[types.Type]) -> bool:
    """Return whether a type is a number, or a number or nothing."""
    if isinstance(kind, types.Metadata):
        return _is_number(kind.type, *numbers)
    if isinstance(kind, types.UnionType):
        return all(isinstance(member, types.NoneType) or _is_number(member, *numbers) for member in kind.types)
    return isinstance(kind, numbers)


def _holds_numbers(kind: types.Type) -> bool:
    return isinstance(kind, types.FloatType | types.IntType) or any(map(_holds_numbers, _parts(kind)))


def _parts(kind: types.Type) -> tuple[types.Type, ...]:
    match kind:
        case types.Metadata(type=inner):
            return (inner,)
        case types.UnionType(types=members):
            return members
        case types.StructType(fields=fields):
            return tuple(field.type for field in fields)
        case types.DictType(value_type=value):
            return (value,)
        case types.TupleType(item_types=items):
            return items
        case types.ListType(item_type=item) | types.VarTupleType(item_type=item):
            return (item,)
    return ()


def _check_finite(where: str, value: Any) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} must be a finite number")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_finite(f"{where}.{key}", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check_finite(f"{where}[{number}]", item)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _check_finite(f"{where}.{name}", getattr(value, name))


def _decode_leniently(kind: type[A], schema: _Schema, payload: bytes, error: Exception) -> A:
    """Try once more with aliases resolved and numeric text read as numbers."""
    try:
        fields = msgspec.msgpack.decode(payload)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        # The first error: how deep a value may nest depends on the stack, and a record is judged on another.
        raise _refused(error) from None
    if not isinstance(fields, dict):
        raise _refused(error) from None
    for alias, name in schema.aliases.items():
        if alias in fields:
            if name in fields:
                raise ValueError(f"{alias} and {name} are the same field; give one of them")
            fields[name] = fields.pop(alias)
    try:
        for name, held in schema.numbers.items():
            if name in fields:
                fields[name] = _read_numbers(name, fields[name], held)
        return msgspec.convert(fields, kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as still:
        raise _refused(still) from None


def _read_numbers(where: str, value: Any, kind: types.Type) -> Any:
    """Return a value with the text that stands where its type wants a number read as one."""
    if isinstance(value, str):
        return _read_number(where, value, kind)
    match kind:
        case types.Metadata(type=inner):
            return _read_numbers(where, value, inner)
        case types.UnionType(types=members):
            for member in members:
                if _holds_numbers(member):
                    value = _read_numbers(where, value, member)
        case types.StructType(fields=fields) if isinstance(value, dict):
            held = {field.encode_name: field.type for field in fields if _holds_numbers(field.type)}
            return {
                key: _read_numbers(f"{where}.{key}", item, held[key]) if key in held else item
                for key, item in value.items()
            }
        case types.DictType(value_type=inner) if isinstance(value, dict):
            return {key: _read_numbers(f"{where}.{key}", item, inner) for key, item in value.items()}
        case types.ListType(item_type=inner) | types.VarTupleType(item_type=inner) if isinstance(value, list):
            return [_read_numbers(f"{where}[{n}]", item, inner) for n, item in enumerate(value)]
        case types.TupleType(item_types=items) if isinstance(value, list):
            pairs = itertools.zip_longest(value, items[: len(value)])
            return [_read_numbers(f"{where}[{n}]", i, k) if k else i for n, (i, k) in enumerate(pairs)]
    return value


def _read_number(where: str, text: str, kind: types.Type) -> Any:
    """Return the number that a text stands for, where a number and no text is wanted."""
    whole = _is_number(kind, types.IntType)
    if not whole and not _is_number(kind, types.FloatType, types.IntType):
        return text
    number = parse_number(text)
    if number is None:
        raise ValueError(f"{where}={text[:40]!r} is not a number")
    return int(number) if whole and number.is_integer() else number


def _refused(error: Exception) -> ValueError:
    return ValueError(str(error)[:300] or type(error).__name__)
