"""The base of the agents of the coalition game: one that is asked at the protocol's three steps."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import ClassVar

from actors.agent import Agent, Answer
from actors.scripted.coalition.situation import (
    ACTIVATION,
    DISCOVERY,
    Discovery,
    Proposal,
    read_discovery,
    read_proposal,
)
from actors.turn import Turn
from sim.game import ActionType, Pass
from sim.games.coalition.actions import Abort, Decision, Decline, Initiate, Modify, Reject, Sign
from sim.rng import generator

WAIT = Pass()


class Member(Agent):
    """A seat of this game; a subclass says what it does at each step.

    What was overtaken by others it considers anew. What the rules refuse for another reason it gives up: it declines,
    rejects or aborts. A version that pays someone who has left is for the initiator to replace; the others wait.

    Attributes:
        stake: Units that each member owes by the versions that it puts forward first.
        commit: Whether it locks what it owes when it puts a version forward.
    """

    games: ClassVar[tuple[str, ...]] = ("coalition",)

    stake: int = 0
    commit: bool = False

    def decide(self, turn: Turn) -> Answer:
        """Decide the step that is asked for."""
        refused = turn.rejection is not None and turn.rejection.code != "late"
        if turn.phase == DISCOVERY:
            return Decline(decision=self.ruled("refused")) if refused else self.initiate(turn, read_discovery(turn))
        if turn.phase == ACTIVATION:
            return Abort(decision=self.ruled("refused")) if refused else self.activate(turn, read_proposal(turn))
        if refused:
            return Reject(decision=self.ruled("refused"))
        offer = read_proposal(turn)
        return WAIT if offer.dead and offer.initiator != offer.me else self.evaluate(turn, offer)

    # ── the three steps ─────────────────────────────────────────────────────────────────────────────────

    def initiate(self, turn: Turn, found: Discovery) -> Answer:
        """Initiate a formation for a task that it discovered, or decline (C1)."""
        raise NotImplementedError

    def evaluate(self, turn: Turn, offer: Proposal) -> Answer:
        """Sign, modify or reject a proposal (C2)."""
        raise NotImplementedError

    def activate(self, turn: Turn, offer: Proposal) -> Answer:
        """Deploy or abort what there is consensus on (C4)."""
        raise NotImplementedError

    # ── actions ─────────────────────────────────────────────────────────────────────────────────────────

    def propose(self, found: Discovery, allocation: Mapping[str, int], decision: Decision) -> ActionType:
        """Initiate with this allocation; those who are in it are invited."""
        stake = {agent_id: self.stake for agent_id in allocation} if self.stake else {}
        commit = self.commit and self.stake <= found.units
        others = tuple(agent_id for agent_id in allocation if agent_id != found.me)
        return Initiate(
            task=found.task.id,
            invited=others,
            allocation=dict(allocation),
            commitment=stake,
            commit=commit,
            decision=decision,
        )

    def counter(self, offer: Proposal, allocation: Mapping[str, int], decision: Decision) -> ActionType:
        """Put a version with this allocation in place of the current one."""
        commit = self.commit and self.can_commit(offer)
        return Modify(
            formation=offer.formation,
            parent=offer.version.digest,
            allocation=dict(allocation),
            commit=commit,
            decision=decision,
        )

    def sign(self, offer: Proposal, decision: Decision, *, commit: bool) -> ActionType:
        """Sign the current version."""
        return Sign(formation=offer.formation, digest=offer.version.digest, commit=commit, decision=decision)

    def can_commit(self, offer: Proposal) -> bool:
        """Return whether it has the units that it owes; what it has locked for this formation is not counted."""
        return offer.my_commitment <= offer.units

    # ── how it decides ──────────────────────────────────────────────────────────────────────────────────

    def ruled(self, rule: str, context: Mapping[str, float] | None = None) -> Decision:
        """Declare a decision that a rule has made, with certainty."""
        policy = type(self).__name__
        return Decision(
            selection=f"system-rule({rule})",
            probability=1.0,
            policy=policy,
            context=None if context is None else dict(context),
        )

    def draws(self, turn: Turn, *purpose: int | str) -> Random:
        """Return a generator for one purpose in this match, the same whatever came before."""
        return generator(turn.seat.opening.seed, *purpose)
