"""The rules of bargaining: whose turn it is, what is offered, what is sold, and when a conversation is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from sim.errors import IllegalAction
from sim.game import ActionType, Outcome, Pass, Status
from sim.games.bargaining import invariants, views
from sim.games.bargaining.actions import Choose, Reply
from sim.games.bargaining.bargains import Bargain, outcome_of, strike
from sim.games.bargaining.parameters import Parameters
from sim.games.bargaining.redaction import named, redact
from sim.games.bargaining.tags import Offer, Role, read
from sim.games.bargaining.terms import number_text
from sim.games.bargaining.thread import SILENT, Thread
from sim.ledger import Ledger
from sim.paced import Call, Notice, PacedState

LOBBY = 0
"""The thread in which the choosing side is asked whom it will talk to."""

RIGHT = "(to buy)"
"""What a buyer gives for what it buys; it has one. No product can be called so."""


class BargainingState(PacedState, kw_only=True):
    """Conversations, reservation prices, and who owns what.

    A round is common to all conversations. In each the buyer is asked, then the seller; the next round begins when
    that is done everywhere. Nothing said in the lobby goes to others.

    Attributes:
        game: The parameters.
        agent_ids: The buyers, then the sellers.
        round: The round, from 1.
        threads: The conversations by number; the lobby has none.
        amounts: Each seat's reservation prices by product; 0 is what a buyer does not want.
        list_prices: What each seller asks at first, by product; nothing for buyers.
        weights: Each seat's weights of the terms.
        secrets: The amounts of each seat that are hidden in what it says.
        ledger: Who has which units, and who may still buy.
        bargains: What was agreed on, in order, within the zone or not.
        open: How many conversations are open.
        waiting: How many conversations and choices this round still waits for.
        lobby: The seats that are still to choose.
        over: Whether the match is over.
        redacted: The last reply that was read, and as the other side reads it: it is looked through once.
    """

    game: Parameters
    agent_ids: tuple[str, ...]
    round: int = 0
    threads: list[Thread]
    amounts: list[dict[str, float]]
    list_prices: list[dict[str, float]]
    weights: list[dict[str, Any]]
    secrets: list[list[float]] = msgspec.field(default_factory=list)
    ledger: Ledger = msgspec.field(default_factory=Ledger)
    bargains: list[Bargain] = msgspec.field(default_factory=list)
    open: int = 0
    waiting: int = 0
    lobby: list[int] = msgspec.field(default_factory=list)
    over: bool = False
    redacted: tuple[Reply, Reply] | None = None

    # ── what a seat sees ────────────────────────────────────────────────────────────────────────────────

    def private_facts(self, seat: int) -> dict[str, Any]:
        """Return the seat's own reservation prices, who it is, and what the terms are worth to it."""
        return views.private_facts(self, seat)

    def view(self, seat: int, thread: int = LOBBY) -> dict[str, Any]:
        """Build what the seat may see in a conversation, or in the lobby."""
        return views.lobby(self, seat) if thread == LOBBY else views.thread(self, seat, self.threads[thread - 1])

    def packed_view(self, seat: int, thread: int = LOBBY) -> bytes:
        """Pack what the seat may see."""
        if thread == LOBBY:
            return PacedState.packed_view(self, seat, thread)
        return views.packed(self, seat, self.threads[thread - 1])

    def party(self, thread: int) -> tuple[int, ...]:
        """Return the buyer and the seller of a conversation; nobody hears what is said in the lobby."""
        return () if thread == LOBBY else self.threads[thread - 1].seats

    def shown(self, seat: int, action: ActionType) -> ActionType:
        """Return a reply without the sender's reservation prices in its prose; all else is as it is."""
        last = self.redacted
        if last is not None and last[0] is action:
            return last[1]
        if not isinstance(action, Reply):
            return action
        return Reply(self._hide(seat, action.text, "buyer" if seat < len(self.game.buyers) else "seller"))

    def heard(self, seat: int, text: str) -> str:
        """Return a chat message without the sender's reservation prices; nothing in it is an offer."""
        return self._hide(seat, text, None)

    def _hide(self, seat: int, text: str, role: Role | None) -> str:
        hidden = text
        for amount in named(text, self.secrets[seat]):
            hidden = redact(hidden, amount, role, choose=self.game.choose or 0, terms=self.game.terms)
        return text if hidden == text else hidden

    # ── what a seat may do ──────────────────────────────────────────────────────────────────────────────

    def legal(self, seat: int, thread: int = LOBBY) -> tuple[str, ...]:
        """Return what the seat may do: reply where it is its turn, choose where it is to choose, or pass."""
        if thread == LOBBY:
            if seat not in self.lobby:
                return ()
            return ("choose", "pass") if self._has_open(seat) else ("pass",)
        it = self.threads[thread - 1]
        return ("reply", "pass") if it.due is not None and seat == it.seats[0 if it.due == "buyer" else 1] else ()

    def default_action(self, seat: int, thread: int = LOBBY) -> ActionType | None:
        """Return a pass: no offer, or talking to nobody in this round."""
        return Pass() if self.legal(seat, thread) else None

    def apply(self, seat: int, action: Any, thread: int = LOBBY) -> None:
        """Apply an action that `legal` allows.

        Raises:
            IllegalAction: There is no clear offer in the reply, or nobody to be talked to is chosen.
        """
        if thread != LOBBY:
            self._speak(seat, action, self.threads[thread - 1])
        elif isinstance(action, Choose):
            chosen = self._find(seat, action)
            self.lobby.remove(seat)
            self._ask(chosen)
        else:
            self.lobby.remove(seat)
            self.waiting -= 1
        if self.waiting == 0:
            self.begin_round()

    def _speak(self, seat: int, action: Any, thread: Thread) -> None:
        game, role = self.game, thread.due
        assert role is not None
        offer: Offer | None = None
        text = shown = SILENT
        if isinstance(action, Reply):
            text = action.text
            items = self.on_sale(thread) if game.choose else ()
            offer = read(text, role, items=items, choose=game.choose or 0, terms=game.terms)
            shown = self._hide(seat, text, role)
            self.redacted = (action, action if shown is text else Reply(shown))
        thread.say(self.round, offer, text, shown, game.window)
        if role == "buyer":
            self.calls.append(Call(thread.seats[1], thread.number, self.round))
        else:
            self.waiting -= 1
            self._judge(thread)

    # ── deals ───────────────────────────────────────────────────────────────────────────────────────────

    def on_sale(self, thread: Thread) -> tuple[str, ...]:
        """Return the products of a conversation that its seller still has."""
        ledger, seller = self.ledger, thread.seats[1]
        return tuple([product for product in thread.products if ledger.available(seller, product)])

    def _judge(self, thread: Thread) -> None:
        """Look at a conversation in which both have spoken: is there a deal, or a stall?"""
        offer = thread.agreed(self.game.deal_rule)
        if offer is not None:
            self._close(thread, offer)
            return
        after = self.game.mediator_after
        if thread.count_still() == after > 0:
            rounds = "this round" if after == 1 else f"{after} rounds"
            text = f"Neither party has moved in {rounds}. Consider adjusting your offer to reach agreement."
            thread.note(self.round, text)
            self.notices.append(Notice(text, thread.number))

    def _close(self, thread: Thread, offer: Offer) -> None:
        """Bind a deal, and close what it leaves nobody or nothing for; an agreement outside the zone binds nothing."""
        bargain = strike(self, thread, offer)
        self.bargains.append(bargain)
        price = number_text(offer.price)
        if bargain.overflow:
            text = f"You agreed on ${price}, but one side would lose by it: there is no deal."
            self._end_thread(thread, "overflow", f"{text} This conversation is over.")
            return
        buyer, seller = thread.seats
        goods = dict.fromkeys(offer.items or thread.products, 1)
        self.ledger.transfer(seller, buyer, goods, in_return={RIGHT: 1})
        self._end_thread(thread, "deal", f"Deal at ${price}: {', '.join(goods)}.")
        of_seat = self.game.layout.of_seat
        for other in self._open_threads(of_seat[buyer]):
            self._end_thread(
                other, "bought_elsewhere", f"This conversation is over: {self.agent_ids[buyer]} has bought."
            )
        for other in self._open_threads(of_seat[seller]):
            if not self._in_stock(other):
                who = self.agent_ids[seller]
                self._end_thread(other, "sold_out", f"This conversation is over: {who} has sold out.")

    def _open_threads(self, numbers: Iterable[int]) -> list[Thread]:
        threads = self.threads
        return [thread for number in numbers if (thread := threads[number - 1]).status == "open"]

    def _in_stock(self, thread: Thread) -> bool:
        return len(self.on_sale(thread)) >= (self.game.choose or len(thread.products))

    def _end_thread(self, thread: Thread, status: Any, text: str) -> None:
        thread.status = status
        self.open -= 1
        if thread.due is not None:
            thread.due = None
            self.waiting -= 1
        self.notices.append(Notice(text, thread.number, closes=True))

    # ── rounds ──────────────────────────────────────────────────────────────────────────────────────────

    def begin_round(self) -> None:
        """Begin the next round; without one, or without anybody who can trade, the match is over."""
        if self.open == 0 or self.round == self.game.max_rounds:
            self.over = True
            return
        self.round += 1
        if self.game.threads == "parallel":
            self.waiting = self.open
            for thread in self.threads:
                if thread.status == "open":
                    self._ask(thread)
            return
        self.lobby = [seat for seat in self._choosers() if self._has_open(seat)]
        self.waiting = len(self.lobby)
        self.calls += [Call(seat, LOBBY, self.round, "choose") for seat in self.lobby]

    def _ask(self, thread: Thread) -> None:
        thread.begin()
        self.calls.append(Call(thread.seats[0], thread.number, self.round))

    def _choosers(self) -> range:
        buyers, seats = len(self.game.buyers), len(self.agent_ids)
        side = self.game.chooser or ("buyers" if buyers <= seats - buyers else "sellers")
        return range(buyers) if side == "buyers" else range(buyers, seats)

    def _has_open(self, seat: int) -> bool:
        threads = self.threads
        return any(threads[number - 1].status == "open" for number in self.game.layout.of_seat[seat])

    def _find(self, seat: int, choice: Choose) -> Thread:
        """Return the open conversation that a seat has chosen."""
        partners: dict[str, list[Thread]] = {}
        for thread in self._open_threads(self.game.layout.of_seat[seat]):
            partner = self.agent_ids[thread.seats[1 if seat == thread.seats[0] else 0]]
            partners.setdefault(partner, []).append(thread)
        found = partners.get(choice.partner, [])
        if not found:
            raise IllegalAction(f"{choice.partner!r} is nobody whom you can still talk to: {', '.join(partners)}")
        if choice.product is not None:
            found = [thread for thread in found if choice.product in thread.products]
        if len(found) != 1:
            products = ", ".join(dict.fromkeys(p for thread in partners[choice.partner] for p in thread.products))
            raise IllegalAction(f"name the product that you would talk about with {choice.partner}: {products}")
        return found[0]

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────────

    def outcome(self) -> Outcome | None:
        """Return the outcome once nobody can trade or the rounds are used up."""
        if not self.over:
            return None
        trigger = "timeout"
        if self.bargains:
            trigger = "overflow" if all(bargain.overflow for bargain in self.bargains) else "deal"
        return outcome_of(self, "resolved", trigger)

    def stopped(self, status: Status, trigger: str) -> Outcome:
        """Return the outcome of a match that was cut off: the deals that were struck stand."""
        return outcome_of(self, status, trigger)

    def check(self) -> None:
        """Check that units are conserved, that nobody loses by a deal, and that a round waits for those who move."""
        invariants.check(self, RIGHT)

    def races(self) -> dict[str, int]:
        """Return how many conversations a deal in another one has ended."""
        ended = Counter(thread.status for thread in self.threads)
        return {status: ended[status] for status in ("bought_elsewhere", "sold_out") if ended[status]}
