"""A rule-based agent of the coalition game."""

from __future__ import annotations

from actors.scripted.coalition.member import Member
from actors.scripted.coalition.sharing import Sharing, demand, partners, reshare, share_out
from actors.scripted.coalition.situation import Discovery, Proposal, discovery_features, proposal_features
from actors.scripted.options import Amount, Count, Part
from actors.turn import Turn
from sim.game import ActionType
from sim.games.coalition.actions import Abort, Decision, Decline, Deploy, Modify, Reject


class CoalitionAgent(Member):
    """Initiates what it cannot do alone and gains by, signs what is fair, asks for more where it is not.

    Initiation: if the task needs others, enough peers are known and its share exceeds its cost, it invites those who
    provide most of what is lacking, as few as the task needs. Evaluation: it signs if it is of use for the task, the
    paid are good enough for it, and its share covers its cost and is fair; if only the share is too small it asks
    for a fair one, so often and no more; else it rejects. Where someone has left who was to be paid it shares out
    anew. Activation: it deploys what is no loss.

    Args:
        agent_id: Its seat id.
        sharing: How it shares out the value that it proposes: "equal", or "proportional" to what each provides.
        greed: The part of the value that it keeps as initiator before the rest is shared out.
        fairness: The least share that it signs, as a part of an equal one.
        margin: By how much its share must exceed its cost at least, in currency.
        quality: Which part of what is required the paid must provide.
        extra: How many partners it invites beyond those that the task needs.
        stake: Units that each member owes by the versions that it puts forward first.
        commit: Whether it locks what it owes when it signs.
        modifies: How often it asks for a better share of one formation.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        sharing: Sharing = "equal",
        greed: Part = 0.0,
        fairness: Part = 0.8,
        margin: Amount = 0.0,
        quality: Part = 1.0,
        extra: Count = 0,
        stake: Count = 0,
        commit: bool = True,
        modifies: Count = 1,
    ) -> None:
        super().__init__(agent_id)
        self.sharing: Sharing = sharing
        self.greed = greed
        self.fairness = fairness
        self.margin = margin
        self.quality = quality
        self.extra = extra
        self.stake = stake
        self.commit = commit
        self.modifies = modifies

    # ── initiation ──────────────────────────────────────────────────────────────────────────────────────

    def initiate(self, turn: Turn, found: Discovery) -> ActionType:
        """Initiate what needs others and pays."""
        members = partners(found, self.extra, self.draws(turn, "partners", found.task.id))
        seen = discovery_features(found, members or [found.myself])
        if found.task.quorum == 1 and seen["alone"] == 1.0:
            return Decline(decision=self.ruled("alone", seen))
        if members is None:
            return Decline(decision=self.ruled("too few peers", seen))
        allocation = share_out(found.task, members, self.sharing, self.greed)
        if allocation[found.me] <= found.my_cost + self.margin:
            return Decline(decision=self.ruled("no gain", seen))
        return self.propose(found, allocation, self.ruled("gain", seen))

    # ── evaluation ──────────────────────────────────────────────────────────────────────────────────────

    def evaluate(self, turn: Turn, offer: Proposal) -> ActionType:
        """Sign, ask for more, or reject."""
        seen = proposal_features(offer)
        if offer.dead:
            return self._replace(turn, offer, self.ruled("someone left", seen))
        if sum(offer.task.requires) and not offer.task.use(offer.capabilities):
            return Reject(formation=offer.formation, decision=self.ruled("of no use", seen))
        if seen["quality"] < self.quality:
            return Reject(formation=offer.formation, decision=self.ruled("members", seen))
        if self.commit and not offer.can_commit:
            return Reject(formation=offer.formation, decision=self.ruled("units", seen))
        least = self.least(offer)
        if offer.my_share < least:
            return self._ask(turn, offer, least, seen)
        return self.sign(offer, self.ruled("fair", seen), commit=self.commit)

    def least(self, offer: Proposal) -> float:
        """Return the least share that it signs."""
        return max(offer.my_cost + self.margin, self.fairness * offer.equal_share, 1.0)

    def _ask(self, turn: Turn, offer: Proposal, least: float, seen: dict[str, float]) -> ActionType:
        asked: dict[int, int] = turn.memory.setdefault("asked", {})
        fair = demand(offer, max(least, offer.equal_share))
        if fair is None or not offer.my_share or asked.get(offer.formation, 0) >= self.modifies:
            return Reject(formation=offer.formation, decision=self.ruled("unfair", seen))
        if Modify.name not in turn.allowed_actions:
            return Reject(formation=offer.formation, decision=self.ruled("last version", seen))
        asked[offer.formation] = asked.get(offer.formation, 0) + 1
        return self.counter(offer, fair, self.ruled("asks for more", seen))

    def _replace(self, turn: Turn, offer: Proposal, decision: Decision) -> ActionType:
        """Share out anew among those who stay, or give up."""
        greed = self.greed if offer.me == offer.initiator else 0.0
        allocation = reshare(offer, self.sharing, greed) if Modify.name in turn.allowed_actions else None
        if allocation is None or allocation[offer.me] <= offer.my_cost + self.margin:
            return Reject(formation=offer.formation, decision=decision)
        return self.counter(offer, allocation, decision)

    # ── activation ──────────────────────────────────────────────────────────────────────────────────────

    def activate(self, turn: Turn, offer: Proposal) -> ActionType:
        """Deploy what is no loss."""
        seen = proposal_features(offer)
        if offer.my_share < offer.my_cost:
            return Abort(formation=offer.formation, decision=self.ruled("loss", seen))
        return Deploy(formation=offer.formation, decision=self.ruled("no loss", seen))
