"""Payloads that are drawn from the types of an action and from nothing else."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest

from sim.actions import decode_payload
from sim.game import ActionType
from sim.payloads import random_payload


class Everything(ActionType, frozen=True):
    name: ClassVar[str] = "everything"

    amount: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    count: Annotated[int, msgspec.Meta(gt=2, lt=4)]
    share: Annotated[float, msgspec.Meta(ge=-5, le=-4)]
    flag: bool
    word: Annotated[str, msgspec.Meta(min_length=8, max_length=9)]
    pick: Literal["a", "b", 3]
    pair: tuple[int, str]
    items: Annotated[list[int], msgspec.Meta(min_length=1, max_length=3)]
    table: dict[str, float]
    maybe: int | str | None
    anything: Any
    optional: float | None = None


def test_random_payloads_keep_to_the_types_and_bounds_of_an_action() -> None:
    rng = Random(3)
    drawn = [random_payload(Everything, rng) for _ in range(500)]
    for payload in drawn:
        msgspec.convert(payload, Everything)
        assert isinstance(decode_payload(Everything, msgspec.msgpack.encode(payload)), Everything)
    assert {payload["pick"] for payload in drawn} == {"a", "b", 3}
    assert {payload["count"] for payload in drawn} == {3}
    assert 0 < sum("optional" in payload for payload in drawn) < 500


def test_random_payloads_follow_from_the_generator_alone() -> None:
    one, two = ([random_payload(Everything, rng) for _ in range(50)] for rng in (Random(1), Random(1)))
    assert one == two


class Part(msgspec.Struct):
    count: Annotated[int, msgspec.Meta(gt=2, multiple_of=5, le=20)]


class Odd(ActionType, frozen=True):
    name: ClassVar[str] = "odd"

    price: Annotated[float, msgspec.Meta(gt=0, lt=1e-3)]
    level: Literal["low", "high"]
    words: Annotated[tuple[str, ...], msgspec.Meta(min_length=3)]
    part: Part
    code: Annotated[str, msgspec.Meta(min_length=2, max_length=3)]
    low: Annotated[int, msgspec.Meta(le=-500)]
    maybe: bool | None = None


def test_a_payload_is_drawn_from_types_and_constraints_alone() -> None:
    actions = [msgspec.convert(random_payload(Odd, Random(seed)), Odd) for seed in range(200)]
    for action in actions:
        assert msgspec.convert(msgspec.to_builtins(action), Odd) == action
    assert {action.level for action in actions} == {"low", "high"}
    assert {action.part.count for action in actions} == {5, 10, 15, 20}


def test_what_cannot_be_drawn_is_an_error_that_names_the_type() -> None:
    class Opaque(ActionType, frozen=True):
        name: ClassVar[str] = "opaque"

        blob: Annotated[str, msgspec.Meta(pattern="^a+$")]

    with pytest.raises(TypeError, match="pattern"):
        random_payload(Opaque, Random(1))
