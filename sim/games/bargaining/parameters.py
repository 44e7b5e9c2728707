"""The parameters of the bargaining game, and their shape; `checks` says whether they make a market."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, TypeAlias

import msgspec

from sim.errors import ConfigError
from sim.game import Game
from sim.games.bargaining.amounts import amount_of, bounds
from sim.games.bargaining.checks import check
from sim.games.bargaining.layout import Layout, lay_out
from sim.games.bargaining.scores import Scoring
from sim.games.bargaining.terms import Term, Weight
from sim.messages import Struct

Market: TypeAlias = Literal["1B1P1S", "1BMP1S", "1B1PMS", "MB1P1S", "MBMP1S", "1BMPMS", "MB1PMS", "MBMPMS"]
"""One or many (M: more than one) buyers, products and sellers."""

Amount: TypeAlias = float | tuple[float, float]
"""Currency, or the bounds that it is drawn evenly between, for each match from its seed, to the cent."""

Amounts: TypeAlias = float | tuple[float, float] | dict[str, Amount]
"""One amount for each of the products, or an amount for each by product."""


class Product(Struct, frozen=True):
    """Something on sale: what it is called, and what everybody knows of it."""

    name: str = ""
    about: str = ""


class Buyer(Struct, frozen=True):
    """A buyer. It buys once: one unit, or one lot.

    Attributes:
        max_price: Its reservation price, the most that a unit is worth to it. As a mapping it names what the buyer
            wants; of a lot, the rest is worth nothing to it.
        about: Who it is and how it talks; it is told, nobody else.
        weights: What the terms are worth to it: currency for going from `low` to `high` (below 0 where it is
            disliked), or currency for each option. A term that is left out is worth nothing.
    """

    max_price: Amounts
    about: str = ""
    weights: dict[str, Weight] = {}  # noqa: RUF012


class Seller(Struct, frozen=True):
    """A seller.

    Attributes:
        min_price: Its reservation price, the least that it takes for a unit. As a mapping it names what it sells.
        list_price: What it asks for a unit at first, in public.
        stock: How many units it has: of each product, or by product.
        about: Who it is and how it talks; it is told, nobody else.
        weights: What the terms are worth to it, as for a buyer.
    """

    min_price: Amounts
    list_price: Amounts
    stock: int | dict[str, int] = 1
    about: str = ""
    weights: dict[str, Weight] = {}  # noqa: RUF012


_CIVIC = Product("Used car", "2019 Honda Civic, 45K miles, good condition")


class Parameters(Game, frozen=True, kw_only=True, dict=True):
    """What a bargaining game is played with. In Python, the parts may be given as plain dicts too.

    Attributes:
        market: The type of market that this has to be, such as "1B1PMS"; None is whatever it is.
        products: What is on sale, by id.
        buyers: The buyers by seat id.
        sellers: The sellers by seat id.
        lot: What a conversation is about. "each": one product, so that a pair has a conversation for each; "bundle":
            all of the seller's products together; "choose": `choose` of the seller's products, named in the offer.
        choose: How many products an offer names, for lot=choose.
        terms: What an offer settles besides its price, by name (contract mode).
        cannot_trade: Pairs ("buyer/seller"), or pairs and a product ("buyer/seller/product"), that have no zone on
            purpose, and why. They do not talk.
        max_rounds: Rounds; in each, a buyer and then the seller speak once in each conversation.
        deal_rule: "make_deal" closes when both offer the same in one round and both say MAKE_DEAL; "crossing" closes
            at the seller's price as soon as the buyer's is not below it.
        threads: "parallel" runs all conversations in every round; in "sequential" each seat of the choosing side
            picks one for the round.
        chooser: The choosing side; None is the side with fewer seats, the buyers on a tie.
        failure: How a failure scores: "flat", or "discounted" as in the paper's algorithm.
        weights: D, W and E of the scores.
        discount: What a round leaves of a score.
        penalty: What a failure costs.
        mediator_after: Rounds without movement after which the mediator speaks; 0 is never.
        redact: Whether a price that equals one of the sender's reservation prices is hidden from its counterpart.
        window: Rounds of a conversation that a view shows in full, at its beginning and at its end.
    """

    turn_order: Literal["round_robin", "concurrent"] = "concurrent"
    max_invalid: int = 4
    max_turns: int = 100_000

    market: Market | None = None
    products: dict[str, Product] = msgspec.field(default_factory=lambda: {"civic": _CIVIC})
    buyers: dict[str, Buyer] = msgspec.field(default_factory=lambda: {"buyer": Buyer(16_000.0)})
    sellers: dict[str, Seller] = msgspec.field(default_factory=lambda: {"seller": Seller(12_000.0, 18_000.0)})
    lot: Literal["each", "bundle", "choose"] = "each"
    choose: int | None = None
    terms: dict[str, Term] = {}  # noqa: RUF012
    cannot_trade: dict[str, str] = {}  # noqa: RUF012
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

    def __post_init__(self) -> None:
        for key, kind in (("products", Product), ("buyers", Buyer), ("sellers", Seller), ("terms", Term)):
            _make_parts(self, key, kind)
        Game.__post_init__(self)
        check(self)

    @cached_property
    def sides(self) -> tuple[Buyer | Seller, ...]:
        """The buyers, then the sellers."""
        return (*self.buyers.values(), *self.sellers.values())

    @cached_property
    def draws(self) -> bool:  # type: ignore[override]
        """Whether an amount is drawn for each match."""
        held = [buyer.max_price for buyer in self.buyers.values()]
        held += [amount for seller in self.sellers.values() for amount in (seller.min_price, seller.list_price)]
        amounts = [amount_of(amount, product) for amount in held for product in self.products]
        return any(low != high for low, high in map(bounds, amounts))

    @cached_property
    def layout(self) -> Layout:
        """The conversations of a match, and what is the same in all matches."""
        return lay_out(self)

    @cached_property
    def scoring(self) -> Scoring:
        """How outcomes are scored."""
        return Scoring(self.weights, self.discount, self.penalty, self.failure)


def _make_parts(parameters: Parameters, key: str, kind: type[Any]) -> None:
    """Make the parts that are given as plain dicts."""
    given = getattr(parameters, key)
    if not isinstance(given, dict):
        raise ConfigError(f"{key}: a mapping by name is needed, not {type(given).__name__}")
    if all(type(part) is kind for part in given.values()):
        return
    try:
        made = {name: part if type(part) is kind else msgspec.convert(part, kind) for name, part in given.items()}
    except msgspec.ValidationError as error:
        raise ConfigError(f"{key}: {error}") from None
    msgspec.structs.force_setattr(parameters, key, made)
