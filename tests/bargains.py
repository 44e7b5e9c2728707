"""A bargaining match by hand: seats by name, offers as prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sim.game import Outcome
from sim.games.bargaining import BargainingGame
from sim.games.bargaining.tags import write
from sim.messages import Event, Rejection
from sim.replay import rejudge
from sim.testing import MatchByHand


class Bargain:
    """A match of bargaining, opened; everything is said by name of the seat and number of the thread."""

    def __init__(self, seed: int = 0, **parameters: Any) -> None:
        self.game = BargainingGame(**parameters)
        self.ids = self.game.seat_ids()
        self.match = MatchByHand(self.game, self.ids, seed).open()

    # ── acting ──────────────────────────────────────────────────────────────────────────────────────────

    def turn(self, who: str, thread: int = 1) -> int | None:
        """Return the number of the open turn of a seat in a thread."""
        seat = self.ids.index(who)
        return next((n for s, n in self.match.open_turns() if s == seat and self.match.thread(n) == thread), None)

    def text(self, who: str, text: str, thread: int = 1, turn: int | None = None) -> Rejection | None:
        """Have a seat say a text."""
        turn = self.turn(who, thread) if turn is None else turn
        assert turn is not None, f"{who} is not asked in thread {thread}"
        return self.match.act(self.ids.index(who), "reply", {"text": text}, turn=turn)

    def say(
        self,
        who: str,
        price: float,
        thread: int = 1,
        *,
        deal: bool = False,
        items: Sequence[str] = (),
        terms: Mapping[str, Any] | None = None,
        prose: str = "",
    ) -> None:
        """Have a seat offer a price; it must be accepted."""
        role = self.game.role(self.ids, self.ids.index(who))
        tags = write(price, role, items=items, terms=terms, make_deal=deal)  # type: ignore[arg-type]
        assert self.text(who, f"{prose} {tags}", thread) is None

    def skip(self, who: str, thread: int = 1) -> None:
        """Have a seat pass."""
        turn = self.turn(who, thread)
        assert turn is not None, f"{who} is not asked in thread {thread}"
        assert self.match.act(self.ids.index(who), "pass", turn=turn) is None

    def choose(self, who: str, partner: str, product: str | None = None) -> Rejection | None:
        """Have a seat choose whom to talk to."""
        payload = {"partner": partner} | ({} if product is None else {"product": product})
        return self.match.act(self.ids.index(who), "choose", payload, turn=self.turn(who, 0))

    def offers(self, thread: int, bid: float, ask: float, *, deal: bool = False) -> None:
        """Play a round of a thread."""
        it = self.match.judge.state.threads[thread - 1]  # type: ignore[attr-defined]
        buyer, seller = (self.ids[seat] for seat in it.seats)
        self.say(buyer, bid, thread, deal=deal)
        self.say(seller, ask, thread, deal=deal)

    def deal(self, thread: int, price: float) -> None:
        """Strike a deal in a thread."""
        self.offers(thread, price, price, deal=True)

    def rest(self, rounds: int = 1000) -> Outcome:
        """Have all pass for some rounds, or to the end; return the outcome then, and judge the record again."""
        last = self.round + rounds
        while self.match.outcome is None and self.round < last:
            seat, turn = self.match.open_turns()[0]
            assert self.match.act(seat, "pass", turn=turn) is None
        if self.match.outcome is None:
            return Outcome("resolved", "not over", ())
        return self.outcome

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────

    @property
    def outcome(self) -> Outcome:
        """The outcome; the record has to follow from the rules."""
        assert self.match.outcome is not None, "the match goes on"
        if hasattr(self.match.judge, "_keeper"):
            rejudge(self.match.record(), self.game)
        return self.match.outcome

    @property
    def round(self) -> int:
        """The round."""
        return int(self.match.judge.state.round)  # type: ignore[attr-defined]

    def asked(self) -> list[tuple[str, int]]:
        """Return who is asked in which thread."""
        return [(self.ids[seat], self.match.thread(turn)) for seat, turn in self.match.open_turns()]

    def view(self, who: str, thread: int = 1) -> dict[str, Any]:
        """Return what a seat sees, as it arrives."""
        packed = msgspec.msgpack.encode(self.match.view(self.ids.index(who), thread))
        seen: dict[str, Any] = msgspec.msgpack.decode(packed)
        return seen

    def status(self, thread: int) -> str:
        """Return where a thread stands."""
        return str(self.match.judge.state.threads[thread - 1].status)  # type: ignore[attr-defined]

    def notices(self, thread: int) -> list[str]:
        """Return what the referee has said in a thread."""
        bodies = [msgspec.json.decode(e.body) for e in self.match.events if e.kind == "notice"]
        return [body["text"] for body in bodies if body["thread"] == thread]

    def seen_by(self, who: str) -> list[Event]:
        """Return the events that a seat was sent."""
        return [event for update in self.match.sent[self.ids.index(who)] for event in update.events]


def market(buyers: int, sellers: int, products: int = 1, /, **parameters: Any) -> Bargain:
    """Return a market of b1, b2, ... and s1, s2, ... about p1, p2, ...; values are 100, costs 50, list prices 120."""
    return Bargain(
        **{
            "products": {f"p{n + 1}": {} for n in range(products)},
            "buyers": {f"b{n + 1}": {"max_price": 100} for n in range(buyers)},
            "sellers": {f"s{n + 1}": {"min_price": 50, "list_price": 120} for n in range(sellers)},
        }
        | parameters
    )
