"""Draws a payload for an action type from nothing but its fields: their types and constraints."""

from __future__ import annotations

from math import inf, nextafter
from random import Random
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from sim.game import ActionType

A = TypeVar("A", bound=ActionType)

SPAN: Final = 100
"""How far a number may lie from its only bound, or from 0."""


def draw(kind: type[A], rng: Random) -> A:
    """Return an action with random fields that its type allows; optional ones are left out half of the time.

    Raises:
        TypeError: A field is of a type for which nothing can be drawn.
    """
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return msgspec.convert(_fields(info.fields, rng), kind)


def _fields(fields: tuple[inspect.Field, ...], rng: Random) -> dict[str, Any]:
    return {field.encode_name: _value(field.type, rng) for field in fields if field.required or rng.random() < 0.5}


def _value(kind: inspect.Type, rng: Random) -> Any:
    match kind:
        case inspect.BoolType():
            return rng.random() < 0.5
        case inspect.IntType() | inspect.FloatType():
            return _number(kind, rng)
        case inspect.StrType():
            return _text(kind, rng)
        case inspect.NoneType():
            return None
        case inspect.LiteralType(values=values):
            return rng.choice(values)
        case inspect.EnumType(cls=cls):
            return rng.choice(list(cls)).value
        case inspect.UnionType(types=types):
            return _value(rng.choice(types), rng)
        case inspect.StructType(fields=fields):
            return _fields(fields, rng)
        case inspect.DictType():
            return {}
        case inspect.TupleType(item_types=items):
            return [_value(item, rng) for item in items]
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            least = kind.min_length or 0
            most = least + 2 if kind.max_length is None else min(least + 2, kind.max_length)
            return [_value(kind.item_type, rng) for _ in range(rng.randint(least, most))]
    raise TypeError(f"nothing can be drawn for a field of type {type(kind).__name__}")


def _number(kind: inspect.IntType | inspect.FloatType, rng: Random) -> float:
    whole = isinstance(kind, inspect.IntType)
    step = 1.0 if whole else 0.0
    low = kind.ge if kind.ge is not None else None if kind.gt is None else _past(kind.gt, step, inf)
    high = kind.le if kind.le is not None else None if kind.lt is None else _past(kind.lt, step, -inf)
    if low is None:
        low = 0 if high is None else min(0, high - SPAN)
    if high is None:
        high = low + SPAN
    if not whole:
        return rng.uniform(low, high)
    times = kind.multiple_of or 1
    first, last = -(-low // times), high // times
    return int(times * rng.randint(int(first), int(last)))


def _past(bound: float, step: float, towards: float) -> float:
    if step:
        return bound + step if towards > 0 else bound - step
    return nextafter(bound, towards)


def _text(kind: inspect.StrType, rng: Random) -> str:
    if kind.pattern is not None:
        raise TypeError(f"nothing can be drawn for text of the pattern {kind.pattern}")
    least = max(1, kind.min_length or 0)
    length = least + 7 if kind.max_length is None else min(least + 7, kind.max_length)
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=length))
