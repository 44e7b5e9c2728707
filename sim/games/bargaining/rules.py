"""The rules of bargaining in words, for prompts, people and `quorum games`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sim.games.bargaining.layout import market_type
from sim.games.bargaining.terms import Term, number_text

if TYPE_CHECKING:
    from sim.games.bargaining.parameters import Parameters

_ROLE: Final = {
    "buyer": (
        "You are a buyer. You buy once at most: {lot}.",
        "the most that {it} is worth to you",
        "A deal gains you your reservation price minus the price{terms}",
        "BUYER",
    ),
    "seller": (
        "You are a seller. Each deal sells {lot}, as long as your stock lasts.",
        "the least that you can take for {it}",
        "A deal gains you the price minus your reservation price{terms}",
        "SELLER",
    ),
}

_LOTS: Final = {
    "each": ("one unit", "it"),
    "bundle": ("the seller's products together as one bundle", "the bundle"),
    "choose": ("{k} of the seller's products together", "each product"),
}

_SECRET: Final = (
    "Your reservation price, {bound}, is confidential. NEVER reveal it, nor anything that it can be told from."
)

_MESSAGE: Final = (
    "You bargain in plain words, in messages of at most about 150 words. Each message must hold exactly one price, "
    "your offer, in this tag: ### {side}_PRICE($X) ###, X in digits. A price outside the tag is no offer."
)

_DEAL: Final = {
    "make_deal": (
        "There is a deal when in one round buyer and seller offer the same price{also} and both messages hold the "
        "word MAKE_DEAL. Use it only when you accept a price, and repeat that price in your tag."
    ),
    "crossing": (
        "There is a deal, at the seller's price, as soon as in one round the buyer's price is at least the "
        "seller's{also}."
    ),
}

_FAILURE: Final = (
    "; an early deal is a better one, and without a deal you gain nothing. A deal by which either side would lose does "
    "not stand, and counts as a failure."
)

_SEQUENTIAL: Final = (
    "In each round every {chooser} first picks one conversation to go on with; the others rest for that round."
)


def text(parameters: Parameters, role: str) -> str:
    """Say the rules to a buyer or a seller."""
    opening, bound, gain, side = _ROLE[role]
    lot, it = _LOTS[parameters.lot]
    settles = [*(["the same products"] if parameters.choose else []), *(["the same terms"] if parameters.terms else [])]
    also = "".join(f" and {what}" for what in settles)
    parts = [
        opening.format(lot=lot.format(k=parameters.choose)),
        _SECRET.format(bound=bound.format(it=it)),
        _MESSAGE.format(side=side),
        _tags(parameters),
        _rounds(parameters),
        _DEAL[parameters.deal_rule].format(also=also),
        gain.format(terms=", and what the terms are worth to you" if parameters.terms else "") + _FAILURE,
    ]
    return "\n".join(part for part in parts if part)


def _tags(parameters: Parameters) -> str:
    said = []
    if parameters.choose:
        said.append(f"Name the {parameters.choose} products that your price is for: ### ITEMS(a, b, ...) ###.")
    if parameters.terms:
        names = "; ".join(f"{name}=..." for name in parameters.terms)
        said.append(f"Set every term: ### TERMS({names}) ###, where {_ranges(parameters.terms)}.")
    return " ".join(said)


def _ranges(terms: Mapping[str, Term]) -> str:
    said = []
    for name, term in terms.items():
        if term.low is None or term.high is None:
            said.append(f"{name} is one of {', '.join(term.options)}")
        else:
            said.append(f"{name} is a number from {number_text(term.low)} to {number_text(term.high)}")
    return "; ".join(said)


def _rounds(parameters: Parameters) -> str:
    limit = f"at most {parameters.max_rounds} round{'s' if parameters.max_rounds > 1 else ''}"
    said = [f"In each round the buyer speaks first, then the seller; there are {limit}."]
    if market_type(parameters) != "1B1P1S":
        said.append(
            "Each conversation is about one deal between one buyer and one seller. You see your own conversations "
            "only. One that can lead to no deal any more, because the buyer has bought elsewhere or the seller has "
            "sold out, is closed; the others go on."
        )
    if parameters.threads == "sequential":
        chooser = parameters.chooser or ("buyers" if len(parameters.buyers) <= len(parameters.sellers) else "sellers")
        said.append(_SEQUENTIAL.format(chooser=chooser.removesuffix("s")))
    return " ".join(said)
