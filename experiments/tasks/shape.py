"""What a table of tasks holds: its keys and their types.

Whether the numbers make a market (a zone between buyer and seller, names that exist) is for the game to say. Here
a table is only read strictly enough that no misspelt key passes for a default.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import msgspec

Market: TypeAlias = Literal["1B1P1S", "1BMP1S", "1B1PMS", "MB1P1S", "MBMP1S", "1BMPMS", "MB1PMS", "MBMPMS"]
"""One or many (M: more than one) buyers, products and sellers."""

MARKETS: tuple[str, ...] = get_args(Market)
"""The names of the eight types of market."""

Amount: TypeAlias = float | tuple[float, float]
"""Dollars, or the bounds that each match draws them from."""

Weights: TypeAlias = dict[str, float | dict[str, float]]
"""What each term is worth to a side, in dollars: from its low to its high, or per option."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the parts of a table: strict about keys."""


class Table(Shape, frozen=True, kw_only=True):
    """A file: one family.

    Attributes:
        family: Name of the family, which is the file's as well.
        about: The family in one line.
        tasks: The tasks by name, each an `Entry`.
    """

    family: str
    about: str
    tasks: dict[str, Any]


class Product(Shape, frozen=True, kw_only=True):
    """Something on sale."""

    name: str
    about: str = ""


class Buyer(Shape, frozen=True, kw_only=True):
    """A buyer: what it pays at most, for anything or by product."""

    max_price: Amount | dict[str, Amount]
    about: str = ""
    weights: Weights = {}


class Seller(Shape, frozen=True, kw_only=True):
    """A seller: what it takes at least and asks at first, and how many units it has."""

    min_price: Amount | dict[str, Amount]
    list_price: float | dict[str, float]
    stock: int | dict[str, int] = 1
    about: str = ""
    weights: Weights = {}


class Term(Shape, frozen=True, kw_only=True):
    """A term of a contract: a number within bounds, or one of several options."""

    low: float | None = None
    high: float | None = None
    options: tuple[str, ...] = ()


class Entry(Shape, frozen=True, kw_only=True):
    """A task: its title, and the parameters of the bargaining game.

    What `products`, `buyers`, `sellers` and `terms` hold is read one by one, so that an error names the seat.
    """

    title: str
    market: Market
    products: dict[str, Any]
    buyers: dict[str, Any]
    sellers: dict[str, Any]
    lot: Literal["each", "bundle", "choose"] = "each"
    choose: int | None = None
    terms: dict[str, Any] = {}
    cannot_trade: dict[str, str] = {}
    max_rounds: int = 20
    deal_rule: Literal["make_deal", "crossing"] = "make_deal"
    threads: Literal["parallel", "sequential"] = "parallel"
    chooser: Literal["buyers", "sellers"] | None = None
    failure: Literal["flat", "discounted"] = "flat"
    weights: tuple[float, float, float] = (30.0, 55.0, 15.0)
    discount: float = 0.99
    penalty: float = 15.0
    mediator_after: int = 3
    redact: bool = True
    window: tuple[int, int] = (2, 5)
    turn_order: Literal["round_robin", "concurrent"] = "concurrent"
    turn_timeout: float = 30.0
    phase_timeout: float | None = None
    max_turns: int = 100_000
    max_invalid: int = 4
    max_messages_per_turn: int = 10
    max_message_pings: int = 5
    max_bytes: int = 262_144


PARTS: dict[str, type[Shape]] = {"products": Product, "buyers": Buyer, "sellers": Seller, "terms": Term}
"""The keys of an `Entry` whose entries have a shape of their own."""
