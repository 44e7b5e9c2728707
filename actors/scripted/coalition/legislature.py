"""An agent that plays the equilibrium of bargaining in legislatures."""

from __future__ import annotations

from actors.scripted.coalition.member import Member
from actors.scripted.coalition.situation import Discovery, Proposal
from actors.scripted.options import Part
from actors.turn import Turn
from sim.game import ActionType
from sim.games.coalition.actions import Decision, Deploy, Initiate, Reject


class BaronFerejohn(Member):
    """Buys as few votes as the quorum needs, at what a vote is worth, and keeps the rest.

    The symmetric stationary equilibrium under the closed rule (Baron and Ferejohn 1989): of n members, itself and its
    peers, each expects 1/n of the value before a session, so to wait for the next one is worth discount/n. As
    initiator it offers that to quorum - 1 members, drawn evenly, and keeps 1 - discount (quorum - 1) / n; it invites
    all. It signs what gives it discount/n, and rejects less. Costs and requirements are not looked at.

    Args:
        agent_id: Its seat id.
        discount: What a session later is worth.
    """

    def __init__(self, agent_id: str, *, discount: Part = 0.8) -> None:
        super().__init__(agent_id)
        self.discount = discount

    def initiate(self, turn: Turn, found: Discovery) -> ActionType:
        """Make the cheapest proposal that passes."""
        price = self._price(found.task.value, 1 + len(found.peers))
        peers = [peer.id for peer in found.peers]
        chosen = self.draws(turn, "partners", found.task.id).sample(peers, found.task.quorum - 1)
        allocation = {found.me: found.task.value - price * len(chosen), **dict.fromkeys(chosen, price)}
        decision = self._declare("cheapest majority", price)
        return Initiate(task=found.task.id, allocation=allocation, decision=decision)

    def evaluate(self, turn: Turn, offer: Proposal) -> ActionType:
        """Vote for what is worth no less than to wait."""
        price = self._price(offer.task.value, len(offer.invited))
        decision = self._declare("worth of a vote", price)
        if offer.dead or offer.my_share < price:
            return Reject(formation=offer.formation, decision=decision)
        return self.sign(offer, decision, commit=True)

    def activate(self, turn: Turn, offer: Proposal) -> ActionType:
        """Deploy."""
        return Deploy(formation=offer.formation, decision=self.ruled("passed"))

    def _price(self, value: int, members: int) -> int:
        return round(self.discount * value / members)

    def _declare(self, rule: str, price: int) -> Decision:
        return self.ruled(rule, {"discount": self.discount, "price": float(price)})
