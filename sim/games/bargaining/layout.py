"""Who may talk to whom about what: the conversations of a market, which are the same in all its matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sim.messages import Struct

if TYPE_CHECKING:
    from sim.games.bargaining.parameters import Parameters


class Place(Struct, frozen=True):
    """A conversation that a market has room for.

    Attributes:
        number: Its number; 0 is the lobby's, so that the first has 1.
        buyer: The buyer's seat.
        seller: The seller's seat.
        products: Ids of the products that it is about.
    """

    number: int
    buyer: int
    seller: int
    products: tuple[str, ...]


class Layout(Struct, frozen=True):
    """A market's conversations.

    Attributes:
        places: The conversations in the order buyers x sellers x lots.
        of_seat: The numbers of each seat's conversations, in order.
        stock: Units that each seat has, by product; nothing for buyers.
        goods: What each conversation is about, as a view describes it, by product.
        terms: Likewise the terms.
        possible: Deals that could be made: the number of buyers or of lots on sale, whichever is less.
    """

    places: tuple[Place, ...]
    of_seat: tuple[tuple[int, ...], ...]
    stock: tuple[dict[str, int], ...]
    goods: tuple[dict[str, dict[str, str]], ...]
    terms: dict[str, dict[str, Any]]
    possible: int


def wanted(parameters: Parameters, buyer: str) -> Iterable[str]:
    """Return the ids of the products that a buyer wants."""
    prices = parameters.buyers[buyer].max_price
    return prices if isinstance(prices, Mapping) else parameters.products


def sold(parameters: Parameters, seller: str) -> Iterable[str]:
    """Return the ids of the products that a seller sells, in the order of the market's products."""
    prices = parameters.sellers[seller].min_price
    return [p for p in parameters.products if p in prices] if isinstance(prices, Mapping) else parameters.products


def lots(parameters: Parameters, buyer: str, seller: str) -> Iterator[tuple[str, ...]]:
    """Yield what a buyer and a seller could talk about: the products of each conversation."""
    wants, sells = set(wanted(parameters, buyer)), tuple(sold(parameters, seller))
    pair = f"{buyer}/{seller}"
    if pair in parameters.cannot_trade:
        return
    if parameters.lot != "each":
        if wants.intersection(sells):
            yield sells
        return
    for product in sells:
        if product in wants and f"{pair}/{product}" not in parameters.cannot_trade:
            yield (product,)


def market_type(parameters: Parameters) -> str:
    """Return the type of a market: one or many buyers, products and sellers."""
    sides = (("B", parameters.buyers), ("P", parameters.products), ("S", parameters.sellers))
    return "".join(f"{'1' if len(there) == 1 else 'M'}{letter}" for letter, there in sides)


def lay_out(parameters: Parameters) -> Layout:
    """Return a market's conversations."""
    buyers, sellers = tuple(parameters.buyers), tuple(parameters.sellers)
    places: list[Place] = []
    for b, buyer in enumerate(buyers):
        for s, seller in enumerate(sellers, len(buyers)):
            places += [
                Place(number, b, s, products)
                for number, products in enumerate(lots(parameters, buyer, seller), len(places) + 1)
            ]
    of_seat: list[list[int]] = [[] for _ in (*buyers, *sellers)]
    for place in places:
        of_seat[place.buyer].append(place.number)
        of_seat[place.seller].append(place.number)
    stock: list[dict[str, int]] = [{} for _ in buyers]
    for seller, config in parameters.sellers.items():
        units = config.stock
        stock.append({p: units[p] if isinstance(units, Mapping) else units for p in sold(parameters, seller)})
    described = {
        product: {"name": it.name or product, **({"about": it.about} if it.about else {})}
        for product, it in parameters.products.items()
    }
    return Layout(
        places=tuple(places),
        of_seat=tuple(map(tuple, of_seat)),
        stock=tuple(stock),
        goods=tuple([{product: described[product] for product in place.products} for place in places]),
        terms={
            name: {"options": list(term.options)} if term.options else {"low": term.low, "high": term.high}
            for name, term in parameters.terms.items()
        },
        possible=_possible_deals(parameters, places, stock),
    )


def _possible_deals(parameters: Parameters, places: Sequence[Place], stock: Sequence[Mapping[str, int]]) -> int:
    buyers = len({place.buyer for place in places})
    talked_about: dict[int, dict[str, None]] = {}
    for place in places:
        talked_about.setdefault(place.seller, {}).update(dict.fromkeys(place.products))
    size = parameters.choose if parameters.lot == "choose" else None
    on_sale = 0
    for seller, products in talked_about.items():
        units = tuple(stock[seller][product] for product in products)
        on_sale += sum(units) if parameters.lot == "each" else lots_in_stock(units, size or len(units), buyers)
    return min(buyers, on_sale)


@lru_cache(maxsize=256)
def lots_in_stock(units: tuple[int, ...], size: int, most: int) -> int:
    """Return how many lots of `size` different products a stock allows, whichever they are, up to `most`.

    m lots can be filled exactly when sum(min(units, m)) >= size * m: laid out in turn, the units fill them
    (McNaughton's wrap-around rule, 1959).
    """
    return max(m for m in range(most + 1) if sum(min(count, m) for count in units) >= size * m)
