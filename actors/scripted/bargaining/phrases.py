"""What negotiators say around their tags: sentences from `phrases.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

import msgspec

Mood: TypeAlias = Literal["open", "counter", "hold", "accept", "confirm", "final", "compare"]
"""What is said: a first offer, a better one, the same again, yes to the other's price, yes to a deal that the other
has said yes to, the last offer of all, or an offer that a better one elsewhere limits."""


@cache
def phrases() -> Mapping[str, Mapping[Mood, tuple[str, ...]]]:
    """Return the sentences by manner and role, such as "polite_buyer", and by mood."""
    text = Path(__file__).with_name("phrases.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=dict[str, dict[Mood, tuple[str, ...]]])


def say(mood: Mood, it: str, rng: Random, *, buying: bool, firm: bool = False) -> str:
    """Return a sentence.

    Args:
        mood: What is to be said.
        it: What the talk is about.
        rng: Chooses among those that fit.
        buying: Whether a buyer says it.
        firm: Whether it is said firmly, not politely.
    """
    speaker = f"{'firm' if firm else 'polite'}_{'buyer' if buying else 'seller'}"
    text = rng.choice(phrases()[speaker][mood]).replace("{it}", it)
    return text if text[0].isupper() else text[0].upper() + text[1:]
