"""The colluder of the provision-point game: side deals by private messages."""

from __future__ import annotations

import re
from typing import Any, Final

from actors.agent import Answer, Decision
from actors.scripted.options import Amount, Part
from actors.scripted.provision_point.contributors import Contributor, best_reply, fair_part
from actors.scripted.provision_point.table import Table
from actors.turn import Turn
from sim.game import ActionType, Pass
from sim.messages import Message

_NUMBER: Final = r"(\d+(?:\.\d+)?)"
_OFFER: Final = re.compile(rf"\byou commit {_NUMBER}.{{0,80}}?\bI commit {_NUMBER}", re.IGNORECASE | re.ASCII)
_ACCEPT: Final = re.compile(r"\s*deal\b", re.IGNORECASE)


class Colluder(Contributor):
    """Splits the gap with partners by private side deals, honours what is agreed, and says nothing in public.

    On its first turn it offers each partner an even part of what the rest leaves open ("you commit 25, I commit
    25"). It accepts an offer if its own part is within its limit w = min(valuation, endowment). A partner
    accepts with a private message that begins with "deal", or by committing at least its part. A deal stands:
    from then on the colluder commits its part of it, neither more nor less (the largest, if it has several).
    Until its offer can have been answered it commits nothing; without a deal it then commits as
    `RationalContributor` does.

    Args:
        agent_id: Its seat id.
        partners: Ids of its partners; those that are not contributors of the match are left out. Empty: the
            contributor after it, in seat order.
        share: The part of the gap that it offers to pay itself; None: an even one.
        valuation: As in `Contributor`.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        partners: tuple[str, ...] = (),
        share: Part | None = None,
        valuation: Amount | None = None,
    ) -> None:
        super().__init__(agent_id, valuation=valuation)
        self.partners = partners
        self.share = share

    def decide(self, turn: Turn) -> Answer:
        """Deal in private, then signal nothing and commit what was agreed."""
        if turn.role == "coordinator":
            return self.coordinate(turn)
        table = Table(turn, self.valuation)
        said = self._negotiate(table)
        action = Pass() if turn.phase == "signal" else self.commit(table)
        return Decision(action, said) if said else action

    def commit(self, table: Table) -> ActionType:
        """Commit what was agreed; without a deal wait for the answer, then reply to what stands."""
        agreed = _deals(table.turn)
        if agreed:
            amount: float | None = max(agreed.values())
        elif table.turn.round == 1 and not table.turn.concurrent:
            amount = None  # asked all at once, nobody is asked again for an answer alone
        else:
            amount = fair_part(table, 1.0) if table.simple else best_reply(table, 1.0)
        return Pass() if amount is None else table.commit(amount)

    def _negotiate(self, table: Table) -> list[Message]:
        """Return its private messages: acceptances and, once per match, offers."""
        memory = table.turn.memory
        partners = self._partners(table)
        said = self._read(table, partners)
        if "offers" not in memory:
            memory["offers"] = {} if _deals(table.turn) else self._offer(table, partners, said)
        for partner, (mine, theirs) in memory["offers"].items():
            if table.commitments.get(partner, 0.0) >= theirs:
                _deals(table.turn).setdefault(partner, mine)
        return said

    def _partners(self, table: Table) -> list[str]:
        if self.partners:
            return [a for a in table.contributors if a in self.partners and a != table.me]
        following = table.contributors.index(table.me) + 1
        partner = table.contributors[following % len(table.contributors)]
        return [] if partner == table.me else [partner]

    def _read(self, table: Table, partners: list[str]) -> list[Message]:
        """Take in private messages; return the acceptances."""
        turn, said = table.turn, []
        deals, offers = _deals(turn), turn.memory.get("offers", {})
        for chat in turn.messages:
            if not chat.private or chat.agent_id == table.me:
                continue
            if _ACCEPT.match(chat.text):
                if chat.agent_id in offers:
                    deals[chat.agent_id] = offers[chat.agent_id][0]
            elif (offer := _OFFER.search(chat.text)) and self._acceptable(table, float(offer[1])):
                deals[chat.agent_id] = float(offer[1])
                said.append(Message(f"Deal: I commit {offer[1]}, you commit {offer[2]}.", (chat.agent_id,)))
        return said

    def _acceptable(self, table: Table, amount: float) -> bool:
        return table.mine is None and 0 < amount <= table.limit()

    def _offer(self, table: Table, partners: list[str], said: list[Message]) -> dict[str, tuple[float, float]]:
        """Offer each partner a part of what is missing; return (its own part, theirs) by partner."""
        insiders = {table.me, *partners}
        pledged = table.signals | table.commitments
        gap = table.threshold - sum(amount for a, amount in pledged.items() if a not in insiders)
        if not partners or gap <= 0 or table.mine is not None or table.limit() < table.tick:
            return {}
        even = 1 / (1 + len(partners))
        mine = min(table.limit(), table.round_up(gap * (even if self.share is None else self.share)))
        theirs = table.round_up((gap - mine) / len(partners))
        offers = {}
        for partner in partners:
            text = f"Between us: you commit {theirs:.10g}, I commit {mine:.10g}. Answer 'deal' and it stands."
            said.append(Message(text, (partner,)))
            offers[partner] = (mine, theirs)
        return offers


def _deals(turn: Turn) -> dict[str, Any]:
    """Return what it has agreed to commit, by partner."""
    deals: dict[str, Any] = turn.memory.setdefault("deals", {})
    return deals
