"""What a table of tasks holds: its keys and their types, which are those of the bargaining game.

Whether the numbers make a market (a zone between buyer and seller, names that exist) is for the game to say. Here
a table is only read strictly enough that no misspelt key passes for a default.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, get_args

import msgspec

from sim.games.bargaining import BargainingGame, Buyer, Product, Seller, Term
from sim.games.bargaining.parameters import Market

MARKETS: Final[tuple[str, ...]] = get_args(Market)
"""The names of the eight types of market."""

PARTS: Final = MappingProxyType({"products": Product, "buyers": Buyer, "sellers": Seller, "terms": Term})
"""The keys of an entry whose own entries are Structs. They are read one by one, so that an error names the seat."""

_NEEDED: Final = {"title": str, "market": Market, **dict.fromkeys(("products", "buyers", "sellers"), dict[str, Any])}


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file: one family.

    Attributes:
        family: Name of the family, which is the file's as well.
        about: The family in one line.
        tasks: The tasks by name, each an `ENTRY`.
    """

    family: str
    about: str
    tasks: dict[str, Any]


def _entry() -> type[Any]:
    """Return the shape of a task: its title and its market, and the game's parameters."""
    needed: list[tuple[str, Any]] = [*_NEEDED.items()]
    optional = [
        (field.name, dict[str, Any] if field.name in PARTS else field.type, None)
        for field in msgspec.structs.fields(BargainingGame)
        if field.name not in _NEEDED
    ]
    return msgspec.defstruct("Entry", [*needed, *optional], frozen=True, kw_only=True, forbid_unknown_fields=True)


ENTRY: Final = _entry()
"""A task as its table holds it; what is left out has the game's default."""
