"""What negotiators say around their tags. Prices stand in tags alone: no sentence holds a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Mood: TypeAlias = Literal["open", "counter", "hold", "accept", "confirm", "final", "compare"]
"""What is said: a first offer, a better one, the same again, yes to the other's price, yes to a deal that the other
has said yes to, the last offer of all, or an offer that a better one elsewhere limits."""

_POLITE_BUYER: Final[Mapping[Mood, Sequence[str]]] = {
    "open": (
        "Hello, and thank you for your time. I like {it}, and this is where I would begin.",
        "Good day! I have been looking for something like {it}. Would this work for you?",
        "Thanks for talking to me about {it}. Let me start with this.",
    ),
    "counter": (
        "Thank you, that helps. I can come up a little for {it}.",
        "I see your point, and I would like to meet you on the way. Here is my next offer.",
        "We are getting closer on {it}. This is what I can do now.",
        "Fair enough. I have looked at my budget again, and I can add something.",
    ),
    "hold": (
        "I would love to find a way, but for now I have to stay where I am on {it}.",
        "Thank you for your answer. My offer for {it} stands as it is.",
        "I am afraid that is all I can say for the moment.",
    ),
    "accept": (
        "That works for me. I will take {it} at your price, with pleasure.",
        "You have been fair, so yes: let us settle on that.",
        "Agreed, and thank you. I am glad to buy {it} at this price.",
    ),
    "confirm": (
        "Wonderful, then we have a deal on {it}. Thank you!",
        "I am glad that you agree. I stand by my offer.",
    ),
    "final": (
        "We are running out of time, so this is my last word on {it}. I hope you can say yes.",
        "This is truly the end of what I can offer. I would sign for {it} right now.",
    ),
    "compare": (
        "To be open with you, I have another offer that I like better. This is what would keep me here.",
        "Someone else is asking less of me. I would still rather buy {it} from you, at this.",
    ),
}
_FIRM_BUYER: Final[Mapping[Mood, Sequence[str]]] = {
    "open": (
        "I am interested in {it}, not in a long talk. My offer:",
        "I know what {it} goes for. Here is a serious offer.",
    ),
    "counter": (
        "I have moved; now it is your turn.",
        "A little more for {it}, and do not expect many such steps.",
        "Your price is still too high. This is mine.",
    ),
    "hold": (
        "My offer for {it} has not changed.",
        "You will have to do better than that. I stay where I am.",
        "No. The offer is the same.",
    ),
    "accept": ("Done. I take {it} at your price.", "Good, that is a price I can pay. Agreed."),
    "confirm": ("Agreed on both sides, then. Let us close.", "Then {it} is mine. Deal."),
    "final": ("Last offer for {it}. Take it or leave it.", "Time is up, and this is my final price."),
    "compare": (
        "Others sell for less. Match this or I buy there.",
        "I have a better offer on the table than {it} at your price. This is what you have to beat.",
    ),
}
_POLITE_SELLER: Final[Mapping[Mood, Sequence[str]]] = {
    "open": (
        "Hello, and thank you for your interest in {it}. I would ask this for it.",
        "Good day! I am happy to tell you more about {it}. Let me start with this price.",
        "Thanks for getting in touch. About {it}: here is what I have in mind.",
    ),
    "counter": (
        "Thank you, that is a step. I can come down a little on {it}.",
        "I hear you, and I would like {it} to go to you. How about this?",
        "We are not far apart any more. Let me make it easier for you.",
        "I have thought it over, and I can take something off.",
    ),
    "hold": (
        "I understand, but I cannot go lower on {it} just yet.",
        "Thank you for the offer. I would like to stay with my price for now.",
        "It is worth this to me, so let me hold on to my price a little longer.",
    ),
    "accept": (
        "That is a fair price, and I am happy to accept it for {it}.",
        "Yes, let us do that. You can have {it} at your price.",
        "Agreed, and thank you for a pleasant talk.",
    ),
    "confirm": (
        "Wonderful, it is a deal then. Enjoy {it}!",
        "Thank you, I stand by my price, and we are agreed.",
    ),
    "final": (
        "We are nearly out of time, and this is the best I can do for {it}.",
        "Here is my last price. I would be glad if we could shake hands on it.",
    ),
    "compare": (
        "I should say that somebody else has made a good offer. I would need this from you.",
        "There is other interest in {it}, and I cannot take less than this at the moment.",
    ),
}
_FIRM_SELLER: Final[Mapping[Mood, Sequence[str]]] = {
    "open": (
        "{it} is worth its price. This is it.",
        "There is a good deal of interest in {it}. My price:",
    ),
    "counter": (
        "A small step from me. I expect one from you.",
        "That is too little for {it}. I can do this.",
        "You are still too low, but here is a better price.",
    ),
    "hold": (
        "My price for {it} has not changed.",
        "I have heard your offer, and it is not enough.",
        "No. I wait for a better offer.",
    ),
    "accept": ("Sold. You get {it} at your price.", "Good, I take your offer."),
    "confirm": ("Agreed on both sides, then. Sold.", "Then we are done. Deal."),
    "final": ("Last price for {it}. After this it stays with me.", "This is final. Take it or leave it."),
    "compare": (
        "Another buyer pays more. This is what you have to beat.",
        "I have a better offer for {it} already. Match this.",
    ),
}

PHRASES: Final[Mapping[tuple[bool, bool], Mapping[Mood, Sequence[str]]]] = MappingProxyType(
    {
        (True, False): _POLITE_BUYER,
        (True, True): _FIRM_BUYER,
        (False, False): _POLITE_SELLER,
        (False, True): _FIRM_SELLER,
    }
)
"""Sentences by (whether a buyer says them, whether it is firm)."""


def say(mood: Mood, it: str, rng: Random, *, buying: bool, firm: bool = False) -> str:
    """Return a sentence.

    Args:
        mood: What is to be said.
        it: What the talk is about.
        rng: Chooses among those that fit.
        buying: Whether a buyer says it.
        firm: Whether it is said firmly, not politely.
    """
    text = rng.choice(PHRASES[buying, firm][mood]).replace("{it}", it)
    return text if text[0].isupper() else text[0].upper() + text[1:]
