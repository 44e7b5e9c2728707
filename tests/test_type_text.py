"""Types in the words of a user."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from actors.type_text import type_text, value_text
from sim.games.bargaining import Buyer
from sim.games.provision_point import ProvisionPointGame


def test_parameters_of_a_game_are_said_in_words() -> None:
    types = {field.name: type_text(field.type) for field in msgspec.structs.fields(ProvisionPointGame)}
    assert types["mode"] == "full or simple"
    assert types["threshold"] == "number"
    assert types["valuation_mode"] == "random or fixed or auto or null"
    assert types["valuation_range"] == "list of 2: number"
    assert types["valuations"] == "mapping of text to number or null"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Annotated[float, Meta(ge=0, le=1)], "number >= 0 and <= 1"),
        (None | Annotated[float, Meta(gt=0)], "number > 0 or null"),
        (Annotated[str, Meta(min_length=1)], "text"),
        (tuple[int, ...], "list of whole number"),
        (dict[str, Buyer] | None, "mapping of text to {max_price, about, weights} or null"),
        (bool, "true or false"),
        (Any, "Any"),
    ],
)
def test_bounds_lists_and_structs_are_said_in_words(kind: Any, said: str) -> None:
    assert type_text(kind) == said


def test_values_are_written_as_settings_have_them() -> None:
    held = [None, True, 1.5, "a", "", (0.0, 150.0), {"low": 1, "options": ("a",)}]
    said = ["null", "true", "1.5", "a", "''", "[0.0, 150.0]", "{low: 1, options: [a]}"]
    assert [value_text(value) for value in held] == said
