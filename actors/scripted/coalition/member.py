"""The base of the agents of the coalition game: one that is asked at the protocol's three steps."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import ClassVar

from actors.agent import Agent
from actors.scripted.coalition.situation import (
    ACTIVATION,
    DISCOVERY,
    Discovery,
    Proposal,
    read_discovery,
    read_proposal,
)
from actors.turn import Turn
from sim.game import ActionType
from sim.games.coalition.actions import Abort, Decision, Decline, Initiate, Modify, Reject, Sign
from sim.rng import generator


def _same(action: ActionType, other: ActionType | None) -> bool:
    """Return whether two actions are the same, however they were decided on."""
    return other is not None and action.public_part() == other.public_part()


class Member(Agent):
    """A seat of this game; a subclass says what it does at each step.

    What is refused it considers anew, as others may have been first; if it would do the same again, it declines,
    rejects or aborts. It never waits for others with an answer.

    Attributes:
        stake: Units that each member owes by the versions that it puts forward first.
        commit: Whether it locks what it owes when it puts a version forward.
    """

    games: ClassVar[tuple[str, ...]] = ("coalition",)

    stake: int = 0
    commit: bool = False

    def decide(self, turn: Turn) -> ActionType:
        """Decide the step that is asked for."""
        sent: dict[int, ActionType] = turn.memory.setdefault("sent", {})
        action = self._step(turn)
        if turn.rejection is not None and turn.rejection.code != "late" and _same(action, sent.get(turn.thread)):
            action = self._give_up(turn)
        sent[turn.thread] = action
        return action

    def _step(self, turn: Turn) -> ActionType:
        if turn.phase == DISCOVERY:
            return self.initiate(turn, read_discovery(turn))
        offer = read_proposal(turn)
        if turn.phase == ACTIVATION:
            return self.activate(turn, offer)
        return self.evaluate(turn, offer)

    def _give_up(self, turn: Turn) -> ActionType:
        decision = self.ruled("refused")
        if turn.phase == DISCOVERY:
            return Decline(decision=decision)
        return Abort(decision=decision) if turn.phase == ACTIVATION else Reject(decision=decision)

    # ── the three steps ─────────────────────────────────────────────────────────────────────────────────

    def initiate(self, turn: Turn, found: Discovery) -> ActionType:
        """Initiate a formation for a task that it discovered, or decline (C1)."""
        raise NotImplementedError

    def evaluate(self, turn: Turn, offer: Proposal) -> ActionType:
        """Sign, modify or reject a proposal (C2)."""
        raise NotImplementedError

    def activate(self, turn: Turn, offer: Proposal) -> ActionType:
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
        commit = self.commit and offer.can_commit
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
