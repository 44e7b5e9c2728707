"""One conversation: what was offered in it, how it reads to each side, and whether it moves."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Raw

from sim.games.bargaining.tags import Offer, Role
from sim.games.bargaining.terms import number_text
from sim.views import encode

Status: TypeAlias = Literal["open", "deal", "overflow", "bought_elsewhere", "sold_out"]
"""Where a conversation stands. "overflow": they agreed on what is worth less than nothing to one of them."""

ROLES: tuple[Role, Role] = ("buyer", "seller")

SILENT = "(no offer)"
"""How a turn without an offer reads in a transcript."""


class Thread(msgspec.Struct, kw_only=True):
    """A conversation between a buyer and a seller. What is held by side has the buyer's part first.

    Attributes:
        number: Its number, from 1.
        seats: The buyer's seat and the seller's.
        products: Ids of the products that it is about.
        frames: What each side's view of it shows all through the match.
        heads: The same as a packed view begins with it.
        status: Where it stands.
        due: Who is to speak next in this round; None when both have, or when it rests in this round.
        offers: What each side has offered in this round.
        standing: The last offer of each side, as a view shows it.
        history: For each of its rounds: the round, the buyer's price and the seller's.
        still: Rounds in a row without movement on either side.
        moved: Whether a side has moved in this round.
        heard: The transcript as each side reads it; an entry is packed once, when it is said.
        starts: Where in the transcript each of its rounds starts.
        middle: Its rounds that have left the window, a line each, packed.
    """

    number: int
    seats: tuple[int, int]
    products: tuple[str, ...]
    frames: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    heads: tuple[bytes, bytes] = (b"", b"")
    status: Status = "open"
    due: Role | None = None
    offers: list[Offer | None] = msgspec.field(default_factory=lambda: [None, None])
    standing: list[dict[str, Any] | None] = msgspec.field(default_factory=lambda: [None, None])
    history: list[list[Any]] = []
    still: int = 0
    moved: bool = False
    heard: tuple[list[Raw], list[Raw]] = msgspec.field(default_factory=lambda: ([], []))
    starts: list[int] = []
    middle: list[Raw] = []

    def begin(self) -> None:
        """A round begins in it: the buyer is to speak."""
        self.due = "buyer"
        self.offers[0] = self.offers[1] = None
        self.moved = False

    def say(self, round_number: int, offer: Offer | None, text: str, shown: str, window: tuple[int, int]) -> None:
        """Take in what the side that is due says.

        Args:
            round_number: The round.
            offer: What it offers; None is nothing.
            text: What it said.
            shown: The same as the other side reads it.
            window: Rounds that are shown in full, at the beginning and at the end.
        """
        role = self.due
        assert role is not None
        if role == "buyer":
            side, self.due = 0, "seller"
            self._start(round_number, window)
        else:
            side, self.due = 1, None
        entry = Raw(encode({"round": round_number, "role": role, "text": text}))
        heard = self.heard
        heard[side].append(entry)
        heard[1 - side].append(entry if shown is text else _entry(round_number, role, shown))
        if offer is None:
            return
        price = offer.price
        self.offers[side] = offer
        self.history[-1][side + 1] = price
        before = self.standing[side]
        standing: dict[str, Any] = {"price": price, "round": round_number, "make_deal": offer.make_deal}
        if offer.items:
            standing["items"] = offer.items
        if offer.terms:
            standing["terms"] = offer.terms
        self.standing[side] = standing
        if before is None or before["price"] != price or not _same(before, standing):
            self.moved = True

    def _start(self, round_number: int, window: tuple[int, int]) -> None:
        """Start a round of the transcript; the round that leaves the window becomes a line."""
        self.starts.append(len(self.heard[0]))
        self.history.append([round_number, None, None])
        leaves = len(self.starts) - window[1] - 1
        if leaves >= window[0]:
            self.middle.append(_line(*self.history[leaves]))

    def note(self, round_number: int, text: str) -> None:
        """Take in what the mediator says to both."""
        entry = _entry(round_number, "mediator", text)
        self.heard[0].append(entry)
        self.heard[1].append(entry)

    def count_still(self) -> int:
        """Count the round that both have spoken in; return how many there were in a row without movement."""
        self.still = 0 if self.moved else self.still + 1
        return self.still

    def transcript(self, side: int, window: tuple[int, int]) -> list[Raw]:
        """Return the conversation as one side reads it: in full at its ends, a line for each round between."""
        entries, starts = self.heard[side], self.starts
        if not self.middle:  # it is all in the window
            return entries
        first = starts[window[0]]
        return [*entries[:first], *self.middle, *entries[starts[len(starts) - window[1]] :]]

    def agreed(self, rule: str) -> Offer | None:
        """Return what both sides have agreed on in this round, if they have, once the seller has spoken."""
        bid, ask = self.offers
        if bid is None or ask is None or bid.items != ask.items or bid.terms != ask.terms:
            return None
        if rule == "crossing":
            return ask if bid.price >= ask.price else None
        return ask if bid.price == ask.price and bid.make_deal and ask.make_deal else None


def _same(one: dict[str, Any], two: dict[str, Any]) -> bool:
    return one.get("items") == two.get("items") and one.get("terms") == two.get("terms")


def _entry(round_number: int, role: str, text: str) -> Raw:
    return Raw(encode({"round": round_number, "role": role, "text": text}))


def _line(round_number: int, bid: float | None, ask: float | None) -> Raw:
    buyer = "Buyer made no offer" if bid is None else f"Buyer offered ${number_text(bid)}"
    seller = "Seller made no offer" if ask is None else f"Seller countered at ${number_text(ask)}"
    return _entry(round_number, "summary", f"{buyer}, {seller}.")
