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

DEPTH: Final = 32
"""Levels that a payload may have; how deep a decoder can go depends on the stack that it is called on."""

_TOO_DEEP: Final = f"the payload has more than {DEPTH} levels"

_BEYOND: Final = 2.0**63
"""Whole numbers from here on cannot be written down."""

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
        _check_inside(name, getattr(action, name), DEPTH - 1)
    return action


def parse_number(text: str) -> float | None:
    """Read a number as people write it in US notation; None when it is not one.

    "50", "$50", "1,500.25" and " .5 " are numbers; "14k", "1.500,25" and "nan" are not.
    """
    match = _NUMBER.match(text)
    return float(match[1].replace(",", "")) if match else None


class _Schema(msgspec.Struct, frozen=True):
    """What there is to know of an action type.

    Attributes:
        decoder: Decodes it.
        aliases: Its aliases, as they are sent.
        numbers: Types of the fields that hold numbers, at any depth, by the name under which they are sent.
        floats: Attributes that are floats.
        nested: Attributes that hold floats deeper down.
        deep: Whether its types allow a value of any depth.
    """

    decoder: msgspec.msgpack.Decoder[Any]
    aliases: Mapping[str, str]
    numbers: Mapping[str, types.Type]
    floats: tuple[str, ...]
    nested: tuple[str, ...]
    deep: bool

    @property
    def lenient(self) -> bool:
        """Whether another reading could help where the strict one fails."""
        return bool(self.numbers or self.aliases or self.deep)


_schemas: dict[Any, _Schema] = {}


def _schema(kind: type[Any]) -> _Schema:
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    holders = [field for field in info.fields if _holds_numbers(field.type)]
    numbers = {field.encode_name: field.type for field in holders}
    floats = tuple(field.name for field in holders if _is_number(field.type, types.FloatType))
    whole = tuple(field.name for field in holders if _is_number(field.type, types.IntType))
    nested = tuple(field.name for field in holders if field.name not in (*floats, *whole))
    aliases, deep = getattr(kind, "aliases", {}), any(_is_deep(field.type) for field in info.fields)
    schema = _schemas[kind] = _Schema(msgspec.msgpack.Decoder(kind), aliases, numbers, floats, nested, deep)
    return schema


def _is_number(kind: types.Type, *numbers: type[types.Type]) -> bool:
    """Return whether a type is a number, or a number or nothing."""
    if isinstance(kind, types.Metadata):
        return _is_number(kind.type, *numbers)
    if isinstance(kind, types.UnionType):
        return all(isinstance(member, types.NoneType) or _is_number(member, *numbers) for member in kind.types)
    return isinstance(kind, numbers)


def _holds_numbers(kind: types.Type) -> bool:
    """Return whether there may be numbers in a value of a type, or no end to its depth."""
    return isinstance(kind, types.FloatType | types.IntType) or _is_deep(kind) or any(map(_holds_numbers, _parts(kind)))


def _is_deep(kind: types.Type, above: tuple[types.Type, ...] = ()) -> bool:
    """Return whether a value of a type may nest without end: the type says nothing of it, or contains itself."""
    if isinstance(kind, types.AnyType) or any(kind is outer for outer in above):
        return True
    return any(_is_deep(part, (*above, kind)) for part in _parts(kind))


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


def _check_inside(where: str, value: Any, depth: int) -> None:
    """Check that all numbers in a value are finite, and that it does not nest beyond a depth."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} must be a finite number")
        return
    if isinstance(value, dict):
        inside = [(f"{where}.{key}", item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        inside = [(f"{where}[{number}]", item) for number, item in enumerate(value)]
    elif isinstance(value, msgspec.Struct):
        inside = [(f"{where}.{name}", getattr(value, name)) for name in value.__struct_fields__]
    else:
        return
    if inside and depth == 0:
        raise ValueError(_TOO_DEEP)
    for name, item in inside:
        _check_inside(name, item, depth - 1)


def nests(value: Any, depth: int = DEPTH) -> bool:
    """Return whether a value of maps and lists has more than so many levels."""
    if not isinstance(value, (dict, list)):
        return False
    if depth == 0:
        return True
    return any(nests(item, depth - 1) for item in (value.values() if isinstance(value, dict) else value))


def _decode_leniently(kind: type[A], schema: _Schema, payload: bytes, error: Exception) -> A:
    """Try once more with aliases resolved and numeric text read as numbers."""
    if isinstance(error, RecursionError):
        raise ValueError(_TOO_DEEP) from None
    try:
        fields = msgspec.msgpack.decode(payload)
        too_deep = nests(fields)
    except RecursionError:
        too_deep = True
    except (msgspec.MsgspecError, ValueError, OverflowError):
        raise _refused(error) from None
    if too_deep:
        # The same on every stack: how deep a decoder can go depends on it, and a record is judged on another.
        raise (ValueError(_TOO_DEEP) if schema.deep else _refused(error)) from None
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
        case types.StructType(fields=fields) if isinstance(value, dict) and _is_of(value, kind):
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


def _is_of(value: dict[Any, Any], kind: types.StructType) -> bool:
    """Return whether a map may be a struct: it has its tag, if there is one."""
    return kind.tag_field is None or value.get(kind.tag_field) == kind.tag


def _read_number(where: str, text: str, kind: types.Type) -> Any:
    """Return the number that a text stands for, where a number and no text is wanted."""
    whole = _is_number(kind, types.IntType)
    if not whole and not _wants_number(kind):
        return text
    number = parse_number(text)
    if number is None:
        raise ValueError(f"{where}={text[:40]!r} is not a number")
    if not whole or not number.is_integer():
        return number
    if abs(number) >= _BEYOND:
        raise ValueError(f"{where}={text[:40]!r} is beyond 64 bits")
    return int(number)


def _wants_number(kind: types.Type) -> bool:
    """Return whether a text for a value of this type can only mean a number."""
    if isinstance(kind, types.Metadata):
        return _wants_number(kind.type)
    if isinstance(kind, types.UnionType):
        containers = (types.NoneType, types.StructType, types.DictType, types.TupleType, types.ListType)
        others = [member for member in kind.types if not isinstance(member, (*containers, types.VarTupleType))]
        return bool(others) and all(map(_wants_number, others))
    return isinstance(kind, types.FloatType | types.IntType)


def _refused(error: Exception) -> ValueError:
    return ValueError(str(error)[:300] or type(error).__name__)
