"""The tagged protocol: an offer is what stands in a message's tags, and all else is prose.

A message holds one price tag of its own role, `### BUYER_PRICE($X) ###` or `### SELLER_PRICE($X) ###`. Where items
are chosen it also holds `### ITEMS(a, b) ###`, and in contract mode `### TERMS(name=value; name=value) ###`. The
word MAKE_DEAL says that the sender would close at its price.

Full-width characters count as the ASCII ones that they stand for. Every pattern is possessive where it repeats, so
that a message of any size and kind is read in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NoReturn, TypeAlias

from sim.games.bargaining.terms import (
    BODY,
    LARGEST,
    LONGEST,
    NoOffer,
    Term,
    Value,
    fold,
    number_text,
    plain_number,
    read_items,
    read_terms,
    shown,
)
from sim.messages import Struct

Role: TypeAlias = Literal["buyer", "seller"]

# A word ends at ASCII letters and digits alone: in languages without blanks a tag stands right beside other letters.
_START = r"(?<![a-z0-9])(?<![a-z0-9]_)"
FLAGS: Final = re.IGNORECASE | re.ASCII
"""Flags of the patterns of tags and of numbers."""

# Each pattern looks at one character first: it is more than twice as fast so. An escaped underscore is one of Markdown.
PRICE_TAG: Final = re.compile(rf"(?=[bs]){_START}(?P<side>buyer|seller)\s*+\\?+_\s*+price{BODY}", FLAGS)
_MAKE_DEAL: Final = re.compile(rf"(?=m){_START}make\\?+_deal(?!_*+[a-z0-9])", FLAGS)
# As `write` writes it, or without commas. It has so few digits that it is no more than `LARGEST`.
_AMOUNT: Final = r"((?:[0-9]{1,3}(?:,[0-9]{3}){0,4}|[0-9]{4,15})(?:\.[0-9]{1,20})?)"
_WRITTEN: Final[Mapping[Role, re.Pattern[str]]] = {
    "buyer": re.compile(rf"### BUYER_PRICE\(\${_AMOUNT}\) ###"),
    "seller": re.compile(rf"### SELLER_PRICE\(\${_AMOUNT}\) ###"),
}
_SCALED: Final = re.compile(r"\$?\s*+[0-9][0-9.,]*+\s*+(?:k|m|mn|mm|b|bn|thousand|grand|million|billion)\Z", FLAGS)
_GROUPED: Final = re.compile(r"\$?\s*+[0-9][0-9.,'\s]*+\Z", re.ASCII)


class Offer(Struct, frozen=True):
    """What a message offers.

    Attributes:
        price: In currency; above 0, at most 1e15.
        items: Ids of the chosen products, in the order in which they are on sale; empty where none are chosen.
        terms: The value of each term by name, in the order of the contract's terms; empty without terms.
        make_deal: Whether the sender would close at this.
    """

    price: float
    items: tuple[str, ...] = ()
    terms: dict[str, Value] = {}  # noqa: RUF012
    make_deal: bool = False


def read(
    text: str,
    role: Role,
    *,
    items: Sequence[str] = (),
    choose: int = 0,
    terms: Mapping[str, Term] | None = None,
) -> Offer:
    """Read the offer in a message.

    MAKE_DEAL counts wherever it is a word of its own: "I will not MAKE_DEAL" says it, since the protocol looks at
    words and not at meaning; "MAKE_DEALs", "REMAKE_DEAL" and "MAKE_DEAL_NOT" are other words. The other side's tag
    may be quoted, and the same price may be tagged twice.

    Args:
        text: The message.
        role: The sender's role.
        items: Ids of the products on sale.
        choose: How many of them an offer must name; 0: none, and an ITEMS tag is prose.
        terms: The terms that an offer must set, by name; none: a TERMS tag is prose.

    Raises:
        NoOffer: There is no offer, or no clear one.
    """
    offer = None if choose or terms else _read_written(text, role)
    return offer or _read_any(text, role, items, choose, terms)


def _read_written(text: str, role: Role) -> Offer | None:
    """Read the offer in a message where it stands as `write` writes it; None where it takes a closer look.

    Every tag and every MAKE_DEAL has an underscore of its own: those that are counted here leave room for no other.
    """
    underscores = text.count("_")
    if underscores > 2 or not text.isascii():
        return None
    tag = _WRITTEN[role].search(text)
    if tag is None:
        return None
    make_deal = underscores == 2
    if make_deal and _MAKE_DEAL.search(text) is None:
        return None
    price = float(tag[1].replace(",", ""))
    return Offer(price, make_deal=make_deal) if price > 0 else None


def _read_any(text: str, role: Role, items: Sequence[str], choose: int, terms: Mapping[str, Term] | None) -> Offer:
    text = fold(text)
    return Offer(
        price=_read_price(text, role),
        items=read_items(text, items, choose) if choose else (),
        terms=read_terms(text, terms) if terms else {},
        make_deal=_MAKE_DEAL.search(text) is not None,
    )


def write(
    price: float,
    role: Role,
    *,
    items: Sequence[str] = (),
    terms: Mapping[str, Value] | None = None,
    make_deal: bool = False,
) -> str:
    """Write an offer as a line of tags, which `read` reads as the same offer to the last digit.

    Raises:
        ValueError: The price is not above 0 and at most 1e15.
    """
    if not 0 < price <= LARGEST:
        raise ValueError(f"price={price}: a price above 0 and at most {LARGEST:g} is needed")
    tags = [f"### {role.upper()}_PRICE(${number_text(price)}) ###"]
    if items:
        tags.append(f"### ITEMS({', '.join(items)}) ###")
    if terms:
        values = ((n, v if isinstance(v, str) else number_text(v)) for n, v in terms.items())
        tags.append(f"### TERMS({'; '.join(f'{name}={value}' for name, value in values)}) ###")
    return " ".join([*tags, "MAKE_DEAL"] if make_deal else tags)


# ── the price tag ───────────────────────────────────────────────────────────────────────────────────────


def _read_price(text: str, role: Role) -> float:
    price: float | None = None
    other = False
    for tag in PRICE_TAG.finditer(text):
        if tag["side"].lower() != role:
            other = True
            continue
        amount = _read_amount(tag, role)
        if price is not None and amount != price:
            _refuse(role, f"it must hold one price, and there are ${number_text(price)} and ${number_text(amount)}")
        price = amount
    if price is None:
        theirs = "SELLER" if role == "buyer" else "BUYER"
        _refuse(role, f"{theirs}_PRICE is the other side's tag" if other else "there is no price tag of yours in it")
    return price


def _read_amount(tag: re.Match[str], role: Role) -> float:
    body = tag["body"].strip()
    if not tag["closed"]:
        _refuse(role, f"a price tag of yours is not closed: the amount, then ')', not {shown(body)}")
    amount = plain_number(body)
    if amount is None:
        _refuse(role, f"{shown(body)} is not a plain number; {_advice(body)}")
    if amount <= 0:
        _refuse(role, f"a price is above 0, not {shown(body)}")
    if amount > LARGEST:
        _refuse(role, f"a price is at most ${number_text(LARGEST)}, not {shown(body)}")
    return amount


def _advice(body: str) -> str:
    if body.startswith(("-", "−")):
        return "a price is above 0"
    if len(body) <= LONGEST and _SCALED.match(body):
        return "write all its digits, without k or M, such as 14,000"
    if len(body) <= LONGEST and _GROUPED.match(body):
        return "commas go between thousands and a point before decimals, such as 12,500.00"
    return "write digits alone, such as $14,000 or 14000.50"


def _refuse(role: Role, reason: str) -> NoReturn:
    raise NoOffer(
        f"You MUST include ### {role.upper()}_PRICE($X) ### in your response, X being your price: {reason}. "
        "Prices outside the tag are not offers."
    )
