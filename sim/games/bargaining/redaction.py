"""What is hidden from counterparts: a seat's reservation prices, wherever its prose names them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sim.games.bargaining.tags import FLAGS, PRICE_TAG, Role
from sim.games.bargaining.terms import LIST_TAG, LONGEST, fold, list_kind, number_text, plain_number
from sim.games.bargaining.views import total

if TYPE_CHECKING:
    from sim.games.bargaining.state import BargainingState

REDACTED: Final = "[redacted]"

_GAPS: Final = b",.' \t\n\v\f\r\x1c\x1d\x1e\x1f*_"
"""What may stand between the digits of a number."""


# ── which amounts ───────────────────────────────────────────────────────────────────────────────────────


def secrets(state: BargainingState, seat: int) -> list[float]:
    """Return the amounts that others are not to read: a seat's reservation prices, and those of its bundles."""
    if not state.game.redact:
        return []
    own = state.amounts[seat]
    amounts = [*own.values()]
    if state.game.lot == "bundle" and len(amounts) > 1:
        bundles = dict.fromkeys([state.threads[number - 1].products for number in state.game.layout.of_seat[seat]])
        amounts += [total(own, products) for products in bundles]
    return [amount for amount in dict.fromkeys(amounts) if amount > 0]


def named(text: str, amounts: list[float]) -> list[float]:
    """Return the amounts that a text could name; a cheap look that lets most texts off a close one.

    However it is written ("16,000", "16 000", "16k"), its digits up to the last that is not 0 are there in a row.
    """
    if not text.isascii():
        return amounts
    found, digits = [], text.encode().translate(None, _GAPS)
    for amount in amounts:
        for run in _runs(amount):
            if run in digits:
                found.append(amount)
                break
    return found


def _without_gaps(text: bytes) -> bytes:
    """Return a number without what may stand between its digits."""
    return text.translate(None, _GAPS)


@lru_cache(maxsize=4096)
def _runs(amount: float) -> tuple[bytes, ...]:
    """Return the significant digits of an amount, and of the same in cents."""
    texts = [_without_gaps(number_text(number).encode()) for number in (amount, round(amount, 2) or amount)]
    return tuple(dict.fromkeys(text.strip(b"0") for text in texts))


# ── in which words ──────────────────────────────────────────────────────────────────────────────────────


def redact(
    text: str, amount: float, role: Role | None, *, choose: int = 0, terms: Collection[str] | None = None
) -> str:
    """Return a message in which a price is hidden wherever it is named, outside the sender's own tags.

    The price is found as "16000", "$16,000.00", "16 000", "16'000", "16.000,00", "16k" and "16 thousand", alone or
    with a currency beside it, in full-width digits as well, and rounded to cents where it has more digits; from
    1,000 on also with blanks, line breaks, marks of Markdown or characters of no width among its digits. It is not
    found in a longer number (116000, 16000.5), in a name (16000X, item_16000), or as a percentage or a time.
    Words ("sixteen thousand") and sums are beyond it.

    The other side's tag is prose like any other: else a seat could name its price there.

    Args:
        text: The message.
        amount: The price that is to be hidden.
        role: The sender's role: its price tags with a number in them are left as they are, it may offer what it
            likes. None: nothing in the text is an offer, all of it is prose.
        choose: How many products an offer names; where it does, the ITEMS tag is left as it is.
        terms: The terms that an offer sets; where there are any, the TERMS tag is left as it is.
    """

    def stands(tag: re.Match[str]) -> bool:
        kind = list_kind(tag) if tag.re is LIST_TAG else tag["side"].lower()
        own = kind == role and plain_number(tag["body"]) is not None
        return bool(tag["closed"]) and (own or kind in lists)

    lists = [kind for kind, used in (("ITEMS", choose), ("TERMS", terms)) if role and used]
    folded = fold(text)
    prose = folded if folded.isascii() else folded.translate(_DIGITS)
    for pattern in (PRICE_TAG, LIST_TAG):  # both look at the message as it is: what covers a tag must make no other
        for tag in filter(stands, pattern.finditer(folded)):
            prose = f"{prose[: tag.start()]}{'#' * len(tag[0])}{prose[tag.end() :]}"
    hidden = (amount, round(amount, 2) or amount)
    found = [
        number.span()
        for number in _NUMBER.finditer(prose)
        if not _in_a_name(prose, number) and any(value in hidden for value in _readings(number))
    ]
    if amount >= 1000:
        found += [number.span() for number in _spaced(amount).finditer(prose) if not number[0].isdecimal()]
    parts, end = [], 0
    for start, stop in sorted(found):
        if start >= end:
            parts += [text[end:start], REDACTED]
        end = max(end, stop)
    return "".join([*parts, text[end:]])


_NUMBER: Final = re.compile(
    r"""
    (?=[$€£¥₹.0-9])
    (?P<sign>[$€£¥₹][ ]?+)?+
    (?P<point>(?<![.0-9a-z_])\.)?+
    (?>(?P<whole>[0-9]{1,3}(?P<by>[,.' ])[0-9]{3}(?![0-9])(?:(?P=by)[0-9]{3}(?![0-9]))*+|[0-9]++)
       (?P<cents>\.[0-9]++|,[0-9]{1,2}(?![0-9]))?+)
    (?:[ -]?(?P<scale>k|thousand|grand|million|mm?|mn)(?![a-z]))?+
    (?:usd|eur|gbp|dollars?|bucks)?+
    (?=(?P<more>[a-z]|_[a-z0-9]|[ ]?%|:[0-9])?)
    """,
    FLAGS | re.VERBOSE,
)
"""A whole number with all that belongs to it; it always matches to the end, so that no part of one is looked at."""

_DIGITS: Final = {
    **{first + i: 0x30 + i for first in (0x660, 0x6F0, 0x966) for i in range(10)},  # Arabic, Persian, Indian
    **{0x66B: 0x2E, 0x66C: 0x2C},  # the Arabic point and comma
}
_AMONG: Final = "*_\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""What may stand among the digits of a number besides blanks: marks of Markdown, and characters of no width."""


@lru_cache(maxsize=4096)
def _spaced(amount: float) -> re.Pattern[str]:
    """Return what finds an amount with something among its digits that hides it from a pattern of numbers."""
    gap = rf"(?:[{_AMONG}]*+[,.'][\r\n{_AMONG}]*+|[\s{_AMONG}]*+)"
    digits = gap.join(map(re.escape, number_text(amount).replace(",", "")))
    before, after = r"(?<![0-9a-z])(?<![0-9a-z]_)(?<![0-9][.,'])", r"(?![0-9a-z]|[.,'][0-9]|[ ]?%|:[0-9])"
    return re.compile(rf"{before}{digits}(?:[.,]0{{1,2}})?+{after}", re.IGNORECASE)


_CURRENCIES: Final = ("usd", "eur", "gbp")


def _in_a_name(text: str, number: re.Match[str]) -> bool:
    """Tell whether a number belongs to a name, a percentage or a time: it is no price then."""
    if number["more"]:
        return True
    before = text[max(0, number.start() - 3) : number.start()].lower()
    if number["sign"] or before in _CURRENCIES or not before:
        return False
    name = before[:-1] if before.endswith("_") else before
    return name[-1:].isascii() and name[-1:].isalnum()


def _readings(number: re.Match[str]) -> Iterator[float]:
    """Yield what a number may mean: "16.000" is 16 in one country and 16,000 in another."""
    if number.end() - number.start() > LONGEST:
        return
    whole, by, cents = number["whole"], number["by"], (number["cents"] or "")[1:]
    scale = (number["scale"] or "").lower()
    power = 0 if not scale else 3 if scale in ("k", "thousand", "grand") else 6
    digits = whole.replace(by, "") if by else whole
    point = "." if number["point"] else ""
    yield float(f"{point}{digits}.{cents}e{power}" if not point else f".{digits}e{power}")
    if by == "." and whole.count(by) == 1 and not cents:
        yield float(f"{whole}e{power}")
