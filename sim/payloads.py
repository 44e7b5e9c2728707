"""Draws payloads for an action type from nothing but its fields: their types and constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from msgspec import inspect as types

from sim.game import ActionType

SCALES: Final = (1.0, 10.0, 100.0)
"""Amounts that are plausible where nothing says how large they are in a game."""

WORDS: Final = ("yes", "no", "a fair share", "für alle ✓", "🤝")
"""Texts that are drawn, made as long and as short as a field wants them."""


def random_payload(
    kind: type[ActionType], rng: Random, scales: Sequence[float] = SCALES, words: Sequence[str] = WORDS
) -> dict[str, Any]:
    """Draw a payload that the types of an action allow; optional fields are left out half of the time.

    Args:
        kind: The action type.
        rng: Where it is drawn from.
        scales: Amounts that are plausible in this game: how far a number may lie from its only bound, or from 0.
        words: Texts that are plausible in it, such as names.

    Raises:
        TypeError: A field is of a type for which nothing can be drawn.
    """
    payload: dict[str, Any] = _draw(types.type_info(kind), rng, scales, words)
    return payload


def _draw(kind: types.Type, rng: Random, scales: Sequence[float], words: Sequence[str]) -> Any:
    match kind:
        case types.StructType():
            fields = (f for f in kind.fields if f.required or rng.random() < 0.5)
            return {f.encode_name: _draw(f.type, rng, scales, words) for f in fields}
        case types.Metadata():
            return _draw(kind.type, rng, scales, words)
        case types.UnionType():
            return _draw(rng.choice(kind.types), rng, scales, words)
        case types.NoneType() | types.AnyType():
            return None
        case types.BoolType():
            return rng.random() < 0.5
        case types.IntType() | types.FloatType():
            return _draw_number(kind, rng, scales)
        case types.StrType():
            return _draw_text(kind, rng, words)
        case types.LiteralType():
            return rng.choice(kind.values)
        case types.EnumType():
            return rng.choice([member.value for member in kind.cls])
        case types.ListType() | types.VarTupleType() | types.SetType() | types.FrozenSetType():
            least = kind.min_length or 0
            most = least + 3 if kind.max_length is None else kind.max_length
            return [_draw(kind.item_type, rng, scales, words) for _ in range(rng.randint(least, min(most, least + 3)))]
        case types.TupleType():
            return [_draw(item, rng, scales, words) for item in kind.item_types]
        case types.DictType():
            least = kind.min_length or 0
            pairs = range(rng.randint(least, least + 2))
            return {_draw(kind.key_type, rng, scales, words): _draw(kind.value_type, rng, scales, words) for _ in pairs}
    raise TypeError(f"nothing can be drawn for a field of type {type(kind).__name__}")


def _draw_number(kind: types.IntType | types.FloatType, rng: Random, scales: Sequence[float]) -> float:
    low = kind.ge if kind.ge is not None else kind.gt
    high = kind.le if kind.le is not None else kind.lt
    if low is None:
        low = 0.0 if high is None or high > 0 else high - rng.choice(scales)
    if high is None:
        high = low + rng.choice(scales)
    if isinstance(kind, types.IntType):
        return _draw_whole(kind, low, high, rng)
    number = rng.uniform(low, high)
    for drawn in (round(number, 2), number):
        above = low <= drawn if kind.gt is None else low < drawn
        below = drawn <= high if kind.lt is None else drawn < high
        if above and below:
            return drawn
    return (low + high) / 2


def _draw_whole(kind: types.IntType, low: float, high: float, rng: Random) -> int:
    times = int(kind.multiple_of or 1)
    first = math.floor(low) + 1 if kind.gt is not None else math.ceil(low)
    last = math.ceil(high) - 1 if kind.lt is not None else math.floor(high)
    least, most = -(-first // times), last // times
    return times * rng.randint(least, max(least, most))


def _draw_text(kind: types.StrType, rng: Random, words: Sequence[str]) -> str:
    if kind.pattern is not None:
        raise TypeError(f"nothing can be drawn for text of the pattern {kind.pattern}")
    return rng.choice(words).ljust(kind.min_length or 0, ".")[: kind.max_length]
