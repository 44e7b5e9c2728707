"""What an offer may hold besides its price: chosen items and terms, and how their tags are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, TypeAlias

from sim.actions import parse_number
from sim.errors import ConfigError, IllegalAction
from sim.messages import Struct

LARGEST = 1e15
"""Largest price and bound: beyond it a float no longer tells cents apart."""

Value: TypeAlias = float | str
"""What a term is set to: a number within its bounds, or one of its options."""

Weight: TypeAlias = float | dict[str, float]
"""What a term is worth to a side: currency for going from `low` to `high`, or currency for each option."""

LONGEST: Final = 400
"""Longest number, in characters: the smallest float written out has 326."""

# One character for one, so that places in the folded text are places in the text. Not `unicodedata.normalize`: it
# turns "14²" into 142, takes quadratic time on stacked accents, and changes with the version of Python.
_FOLDED: Final = {
    **{0xFF01 + i: 0x21 + i for i in range(94)},  # full-width ASCII
    **{0x1D7CE + i: 0x30 + i % 10 for i in range(50)},  # mathematical digits
    **dict.fromkeys((0x00A0, 0x2007, 0x2009, 0x202F, 0x3000), 0x20),  # blanks
    **{0xFE69: ord("$"), 0xFE5F: ord("#"), 0x2019: ord("'")},
}

BODY: Final = r"\s*+\((?P<body>[^()]*+)(?P<closed>\)?+)"
"""Pattern of what follows the name of a tag. Possessive, as all that repeats here, so that time stays linear."""

# "These items (all new)" is prose: without a hash the name must be in capitals.
LIST_TAG: Final = re.compile(
    rf"(?=[#IT])(?:#\s*+(?P<marked>(?i:items|terms))|(?<![A-Za-z0-9_])(?P<bare>ITEMS|TERMS)){BODY}", re.ASCII
)
_RESERVED = frozenset("()#,;:='\"`*\\")


class Term(Struct, frozen=True):
    """A named term: a number within bounds, or one of several options.

    Attributes:
        low: Lowest number; None for options.
        high: Highest number; None for options.
        options: The options; empty for a number.

    Raises:
        ConfigError: It is neither, or both, or its bounds or options are unusable.
    """

    low: float | None = None
    high: float | None = None
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.options and (self.low is not None or self.high is not None):
            raise ConfigError("a term has low and high, or options: both are given")
        if self.options:
            check_names("options", self.options)
            return
        if self.low is None or self.high is None:
            raise ConfigError(
                f"a term needs low and high, or options that are not empty: low={self.low}, high={self.high}"
            )
        if not -LARGEST <= self.low < self.high <= LARGEST:
            raise ConfigError(
                f"low={self.low}, high={self.high}: two finite numbers are needed, low < high, both within {LARGEST:g}"
            )

    def worth(self, value: Value, weight: Weight) -> float:
        """Return what a value is worth, in currency, to the side that has this weight.

        A number is worth its share of the way from `low` (worth 0) to `high` (worth the weight); an option what
        the weight says of it, 0 where it says nothing.
        """
        if isinstance(weight, Mapping):
            return weight.get(str(value), 0.0)
        if self.low is None or self.high is None or isinstance(value, str):
            raise TypeError(f"weight={weight}: a term with options needs a weight for each of them")
        return weight * ((value - self.low) / (self.high - self.low))

    def best(self, buyer: Weight, seller: Weight) -> float:
        """Return the most that the term can be worth to both sides together, in currency.

        Worth is linear in a number, so that the most is at one of its bounds.
        """
        values: tuple[Value, ...] = self.options
        if self.low is not None and self.high is not None:
            values = (self.low, self.high)
        return max(self.worth(value, buyer) + self.worth(value, seller) for value in values)


def name_key(name: str) -> str:
    """Return a name as it is looked up: case and blanks make no difference."""
    return " ".join(fold(name).split()).casefold()


def check_names(key: str, names: Iterable[str]) -> None:
    """Check that names can stand in a tag and be told apart there.

    Args:
        key: The setting that they come from, for the text of the error.
        names: Product ids, names of terms, or options.

    Raises:
        ConfigError: A name is empty, holds a character that tags are made of, or is there twice.
    """
    seen: dict[str, str] = {}
    for name in names:
        if not name or name != name.strip() or not name.isprintable() or _RESERVED.intersection(fold(name)):
            raise ConfigError(
                f"{key}: {name!r} cannot stand in a tag; a name without blanks around it and without any of "
                f"{' '.join(sorted(_RESERVED))} is needed"
            )
        if name_key(name) in seen:
            raise ConfigError(f"{key}: {name!r} and {seen[name_key(name)]!r} are the same; names must be unique")
        seen[name_key(name)] = name


# ── reading a message ───────────────────────────────────────────────────────────────────────────────────


class NoOffer(IllegalAction):
    """A message holds no offer, or none that is clear. The text says what was wrong, and what to write."""


def number_text(number: float) -> str:
    """Return a number in US notation, with all its digits and without an exponent: 14000.5 is "14,000.5"."""
    text = f"{float(number):,}"
    if "e" in text or "n" in text:  # an exponent, or no finite number
        text = f"{Decimal(text):,f}"
    return text.removesuffix(".0")


def fold(text: str) -> str:
    """Return a text with full-width characters as ASCII ones, each in its place."""
    return text if text.isascii() else text.translate(_FOLDED)


def plain_number(body: str) -> float | None:
    """Read a number; None when it is not one as people write it in the US."""
    body = body.strip().removeprefix("\\")
    # Without its blanks: `parse_number` takes quadratic time on them.
    return parse_number(body) if len(body) <= LONGEST else None


def shown(body: str) -> str:
    """Return a piece of a message as a sentence about it shows it: quoted, at most 40 characters."""
    return repr(body if len(body) <= 40 else body[:37] + "...")


def list_kind(tag: re.Match[str]) -> str:
    """Return which tag a match of `LIST_TAG` is: ITEMS or TERMS."""
    return (tag["marked"] or tag["bare"]).upper()


def _bodies(text: str, kind: str) -> Iterator[str]:
    """Yield what the ITEMS or the TERMS tags of a message hold."""
    for tag in LIST_TAG.finditer(text):
        if tag["closed"] and list_kind(tag) == kind:
            yield tag["body"]


def _key(name: str) -> str:
    return name_key(name.strip(" \t\r\n'\"`*"))


def read_items(text: str, items: Sequence[str], choose: int) -> tuple[str, ...]:
    """Read which products a message names, of those on sale; the text is folded.

    Raises:
        NoOffer: It does not name as many as are to be chosen, each once.
    """
    need = f"You MUST include ### ITEMS(...) ### in your response, with {choose} of: {', '.join(items)}"
    ids = {_key(item): item for item in items}
    found: tuple[str, ...] | None = None
    for body in _bodies(text, "ITEMS"):
        named = [part for part in re.split("[,;]", body) if part.strip()]
        chosen = {_key(part) for part in named}
        unknown = next((part for part in named if _key(part) not in ids), None)
        if unknown is not None:
            raise NoOffer(f"{need}: {shown(unknown.strip())} is none of them.")
        if not len(named) == len(chosen) == choose:
            raise NoOffer(f"{need}: each once, and {len(chosen)} different ones are named.")
        offered = tuple(item for key, item in ids.items() if key in chosen)
        if found not in (None, offered):
            raise NoOffer(f"{need}: two tags name different ones.")
        found = offered
    if found is None:
        raise NoOffer(f"{need}: there is no such tag in it.")
    return found


def read_terms(text: str, terms: Mapping[str, Term]) -> dict[str, Value]:
    """Read the value of each term that a message sets; the text is folded.

    Raises:
        NoOffer: One is missing, set twice, unknown, or out of its bounds or options.
    """
    need = f"You MUST include ### TERMS({'; '.join(f'{name}=...' for name in terms)}) ### in your response"
    names = {_key(name): name for name in terms}
    found: dict[str, Value] | None = None
    for body in _bodies(text, "TERMS"):
        offered: dict[str, Value] = {}
        for part in filter(str.strip, body.split(";")):
            label, *value = re.split("[=:]", part, maxsplit=1)
            name = names.get(_key(label))
            if name is None or not value:
                raise NoOffer(f"{need}: {shown(part.strip())} sets none of these terms.")
            if name in offered:
                raise NoOffer(f"{need}: {name} is set twice.")
            offered[name] = _read_value(terms[name], name, value[0].strip(), need)
        missing = [name for name in terms if name not in offered]
        if missing:
            raise NoOffer(f"{need}: {', '.join(missing)} is not set.")
        offered = {name: offered[name] for name in terms}
        if found not in (None, offered):
            raise NoOffer(f"{need}: two tags set different terms.")
        found = offered
    if found is None:
        raise NoOffer(f"{need}: there is no such tag in it.")
    return found


def _read_value(term: Term, name: str, text: str, need: str) -> Value:
    if term.low is None or term.high is None:
        option = {_key(option): option for option in term.options}.get(_key(text))
        if option is None:
            raise NoOffer(f"{need}: {name} is one of {', '.join(term.options)}, not {shown(text)}.")
        return option
    number = plain_number(text)
    if number is None or not term.low <= number <= term.high:
        raise NoOffer(
            f"{need}: {name} is a number from {number_text(term.low)} to {number_text(term.high)}, not {shown(text)}."
        )
    return number
