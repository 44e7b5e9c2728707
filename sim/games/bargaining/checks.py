"""Whether the parameters of the bargaining game make a market; what is wrong is said with its key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sim.errors import ConfigError, nearest
from sim.game import check_agent_ids
from sim.games.bargaining.amounts import amount_of, bounds, weight_of
from sim.games.bargaining.layout import lots, market_type, sold
from sim.games.bargaining.terms import LARGEST, Term, check_names, number_text

if TYPE_CHECKING:
    from sim.games.bargaining.parameters import Buyer, Parameters, Seller


def check(parameters: Parameters) -> None:
    """Check parameters as a whole.

    Raises:
        ConfigError: They make no market; the text names the key, what it held and what is allowed.
    """
    for key in ("products", "buyers", "sellers"):
        if not getattr(parameters, key):
            raise ConfigError(f"{key}={{}}: at least one is needed")
    check_names("products", parameters.products)
    check_names("terms", parameters.terms)
    check_agent_ids((*parameters.buyers, *parameters.sellers))
    for name, buyer in parameters.buyers.items():
        _check_amounts(parameters, f"buyers.{name}.max_price", buyer.max_price)
        _check_weights(parameters, f"buyers.{name}.weights", buyer)
    for name, seller in parameters.sellers.items():
        _check_seller(parameters, f"sellers.{name}", name, seller)
    _check_numbers(parameters)
    _check_lot(parameters)
    _check_market(parameters)
    _check_zones(parameters)


# ── amounts and weights ─────────────────────────────────────────────────────────────────────────────────


def _check_amounts(parameters: Parameters, key: str, amounts: Any) -> None:
    if not isinstance(amounts, Mapping):
        _check_amount(key, amounts)
        return
    if not amounts:
        raise ConfigError(f"{key}={{}}: an amount for at least one product is needed")
    for product, amount in amounts.items():
        _check_known(f"{key}.{product}", product, parameters.products, "product")
        _check_amount(f"{key}.{product}", amount)


def _check_amount(key: str, amount: Any) -> None:
    ends = amount if isinstance(amount, list | tuple) else (amount, amount)
    numbers = len(ends) == 2 and all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    if not (numbers and 0 < ends[0] <= ends[1] <= LARGEST):
        raise ConfigError(
            f"{key}={amount}: an amount above 0 and at most {LARGEST:g} is needed, or two of them, lowest first"
        )


def _check_seller(parameters: Parameters, key: str, name: str, seller: Seller) -> None:
    _check_amounts(parameters, f"{key}.min_price", seller.min_price)
    _check_weights(parameters, f"{key}.weights", seller)
    _check_amounts(parameters, f"{key}.list_price", seller.list_price)
    stock = seller.stock if isinstance(seller.stock, Mapping) else {"": seller.stock}
    for product, units in stock.items():
        where = f"{key}.stock.{product}" if product else f"{key}.stock"
        if type(units) is not int or not 0 < units <= 10**6:
            raise ConfigError(f"{where}={units}: a whole number of units, at least 1, is needed")
    sells = sold(parameters, name)
    for word, given in (("list_price", seller.list_price), ("stock", seller.stock)):
        if isinstance(given, Mapping) and set(given) != set(sells):
            raise ConfigError(
                f"{key}.{word} is given for {', '.join(given)}; needed is one for each product that {name} sells: "
                f"{', '.join(sells)}"
            )


def _check_weights(parameters: Parameters, key: str, seat: Buyer | Seller) -> None:
    for name, weight in seat.weights.items():
        _check_known(f"{key}.{name}", name, parameters.terms, "term")
        term: Term = parameters.terms[name]
        if isinstance(weight, Mapping) != bool(term.options):
            needs = f"currency for each of {', '.join(term.options)}" if term.options else "one amount of currency"
            raise ConfigError(f"{key}.{name}={weight}: {needs} is needed")
        for option, worth in weight.items() if isinstance(weight, Mapping) else [("", weight)]:
            where = f"{key}.{name}.{option}" if option else f"{key}.{name}"
            if option:
                _check_known(where, option, term.options, "option")
            if isinstance(worth, bool) or not isinstance(worth, int | float) or not -LARGEST <= worth <= LARGEST:
                raise ConfigError(f"{where}={worth}: a finite amount of currency is needed")


def _check_known(key: str, name: str, known: Iterable[str], what: str) -> None:
    names = list(known)
    if name not in names:
        there_is = f"{nearest(name, names)} (there is: {', '.join(names) or 'none'})"
        raise ConfigError(f"{key}: there is no {what} {name!r}{there_is}")


# ── the rest ────────────────────────────────────────────────────────────────────────────────────────────


def _check_numbers(parameters: Parameters) -> None:
    for key, least in (("max_rounds", 1), ("mediator_after", 0)):
        value = getattr(parameters, key)
        if value < least:
            raise ConfigError(f"{key}={value}: at least {least} is needed")
    if parameters.window[0] < 0 or parameters.window[1] < 1:
        raise ConfigError(
            f"window={list(parameters.window)}: needed are two numbers of rounds, at least 0 at the beginning and 1 "
            "at the end"
        )
    parameters.scoring  # noqa: B018 - checks itself
    if parameters.chooser is not None and parameters.threads != "sequential":
        raise ConfigError(f"chooser={parameters.chooser}: only threads=sequential has one, not {parameters.threads}")


def _check_lot(parameters: Parameters) -> None:
    k = parameters.choose
    if parameters.lot != "choose":
        if k is not None:
            raise ConfigError(f"choose={k}: only lot=choose takes it, not lot={parameters.lot}")
        return
    fewest = min(len(tuple(sold(parameters, seller))) for seller in parameters.sellers)
    if k is None or not 1 <= k <= fewest:
        held = "null" if k is None else k
        raise ConfigError(f"choose={held}: lot=choose needs from 1 to {fewest}, the products of the seller with fewest")


def _check_market(parameters: Parameters) -> None:
    there = market_type(parameters)
    if parameters.market not in (None, there):
        raise ConfigError(
            f"market={parameters.market}: the parameters make a {there} ({len(parameters.buyers)} buyers, "
            f"{len(parameters.products)} products, {len(parameters.sellers)} sellers); M is more than one"
        )
    for product in parameters.products:
        if not any(product in sold(parameters, seller) for seller in parameters.sellers):
            raise ConfigError(f"products.{product}: nobody sells it; name it in a seller's min_price or leave it out")
    pairs = [
        key
        for buyer in parameters.buyers
        for seller in parameters.sellers
        for pair in (f"{buyer}/{seller}",)
        for key in (pair, *(f"{pair}/{product}" for product in parameters.products if parameters.lot == "each"))
    ]
    for pair in parameters.cannot_trade:
        if pair not in pairs:
            needed = "BUYER/SELLER is needed, or with lot=each BUYER/SELLER/PRODUCT"
            raise ConfigError(f"cannot_trade.{pair}: {needed}{nearest(pair, pairs)}")


def _check_zones(parameters: Parameters) -> None:
    """Check that whoever talks can agree: a bargaining zone that is empty whatever is drawn only wastes rounds."""
    talks = 0
    for buyer in parameters.buyers:
        for seller in parameters.sellers:
            for products in lots(parameters, buyer, seller):
                talks += 1
                if _most_gain(parameters, buyer, seller, products) <= 0:
                    _refuse_zone(parameters, buyer, seller, products)
    if talks == 0:
        raise ConfigError("cannot_trade: no buyer and seller are left who may trade; leave a pair out of it")


def _most_gain(parameters: Parameters, buyer: str, seller: str, products: tuple[str, ...]) -> float:
    """Return the most that a buyer and a seller can gain together, by the luckiest draw and the best terms."""
    pays, takes = parameters.buyers[buyer], parameters.sellers[seller]
    gains = sorted(
        (bounds(amount_of(pays.max_price, p))[1] - bounds(amount_of(takes.min_price, p))[0] for p in products),
        reverse=True,
    )
    gain = sum(gains[: parameters.choose] if parameters.lot == "choose" else gains)
    return gain + sum(
        term.best(weight_of(pays.weights, name, term), weight_of(takes.weights, name, term))
        for name, term in parameters.terms.items()
    )


def _refuse_zone(parameters: Parameters, buyer: str, seller: str, products: tuple[str, ...]) -> None:
    pays = sum(bounds(amount_of(parameters.buyers[buyer].max_price, p))[1] for p in products)
    takes = sum(bounds(amount_of(parameters.sellers[seller].min_price, p))[0] for p in products)
    which = f" for {products[0]}" if len(parameters.products) > 1 and len(products) == 1 else ""
    pair = f"{buyer}/{seller}" + (f"/{products[0]}" if which else "")
    if parameters.lot == "choose" or parameters.terms:
        raise ConfigError(
            f"buyers.{buyer}.max_price and sellers.{seller}.min_price: whatever they agree on{which}, one of them "
            f"loses by it; raise the first, lower the second, or list {pair} under cannot_trade"
        )
    raise ConfigError(
        f"buyers.{buyer}.max_price={number_text(pays)} is not above "
        f"sellers.{seller}.min_price={number_text(takes)}{which}, so that they can never agree; raise the first, lower "
        f"the second, or list {pair} under cannot_trade"
    )
