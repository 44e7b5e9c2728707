"""The principal-agent game: its parameters, and the shape that they choose."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import ClassVar

from sim.errors import ConfigError
from sim.game import ActionType, Goal, MessageOnly, State, check_agent_ids
from sim.games.principal_agent import bounty, chain, rules
from sim.games.principal_agent.actions import (
    AcceptContract,
    AnswerClarification,
    AskClarification,
    DelegateTask,
    PostContract,
    RecordOutcomeScore,
    RejectContract,
    SkipClarify,
    SubmitDeliverable,
)
from sim.games.principal_agent.parameters import Parameters

_KINDS: tuple[type[ActionType], ...] = (
    PostContract,
    AskClarification,
    AnswerClarification,
    SkipClarify,
    AcceptContract,
    RejectContract,
    SubmitDeliverable,
    RecordOutcomeScore,
    MessageOnly,
)
_ACTIONS: Mapping[str, type[ActionType]] = MappingProxyType({kind.name: kind for kind in _KINDS})
_CHAIN_ACTIONS: Mapping[str, type[ActionType]] = MappingProxyType({**_ACTIONS, DelegateTask.name: DelegateTask})


class PrincipalAgentGame(Parameters, frozen=True, kw_only=True, dict=True):
    """A principal delegates a task by a contract; a worker delivers; an oracle's score says what is paid.

    Mechanism: pay by outcome under hidden effort (Holmström, 1979, "Moral hazard and observability"). The parameters
    are those of `Parameters`. The seats, by shape (without the oracles where `oracle` is "consumer"):

    - single: principal, worker, oracle;
    - bounty: principal, two workers or more, oracle;
    - chain: principal, worker, oracle, and then a worker and an oracle for each level of `depth`.

    In a bounty each worker has its own line from clarify on: its own questions, answer and deliverable, which its
    competitors do not see. The first `winners` deliverables scored at `accept_level` or above, in the order in which
    the scores are read, are paid by their level. In a chain the worker of a contract may delegate a part once; what
    it pays for that it pays whatever comes of its own contract. A pipeline of services is a chain in which the
    consumer scores.

    A seat that does not answer skips in clarify. Elsewhere its silence is the end: `no_contract` after
    `max_rounds_offer` turns, `no_response`, `not_delivered`, `not_scored`, all without a payment.

    turn.state:
        contract: What was posted: `task_description`, `success_criteria` and `outcome_levels`; None before that.
        clarifications: The questions on this contract, each with its answer.
        accepted: Whether the worker has accepted; None before it has answered.
        deliverable: What was delivered; None before that.
        outcome_score: The oracle's score; None before that, as are `outcome_label` and `payment`.
        awards_left: Deliverables that will still be paid (bounty).
        inner: The contract inside this one, for the worker that posted it: the same keys and `reason` (chain).
    """

    game_id: ClassVar[str] = "principal-agent"
    draws: ClassVar[bool] = False

    @property
    def action_types(self) -> Mapping[str, type[ActionType]]:  # type: ignore[override]
        """The actions of the shape, by name."""
        return _CHAIN_ACTIONS if self.shape == "chain" else _ACTIONS

    @property
    def goal(self) -> Goal | None:  # type: ignore[override]
        """The share of matches that reach the highest configured outcome level, or award the bounty."""
        if self.shape == "bounty":
            return Goal("awarded", bounty.AWARDED)
        best = self.outcome_levels[-1].label
        return Goal(best, f"task_resolved_{best}")

    def check_seats(self, agent_ids: tuple[str, ...]) -> None:
        """Check that there are as many seats as the shape has roles."""
        check_agent_ids(agent_ids)
        seats = len(agent_ids)
        if self.shape == "bounty":
            workers = max(2, self.winners)
            least = workers + (1 if self.oracle == "consumer" else 2)
            if seats < least:
                what = f"shape=bounty, winners={self.winners} needs at least {least} seats"
                raise ConfigError(f"{what}: {self._order()}; {seats} given")
            return
        needed = max(map(max, self.parties(0))) + 1
        if seats != needed:
            depth = f", depth={self.depth}" if self.shape == "chain" else ""
            what = f"shape={self.shape}{depth}, oracle={self.oracle} needs {needed} seats"
            raise ConfigError(f"{what}: {self._order()}; {seats} given")

    def _order(self) -> str:
        if self.shape == "bounty":
            return "the principal, the workers" + ("" if self.oracle == "consumer" else ", the oracle")
        roles = range(max(map(max, self.parties(0))) + 1)
        return ", ".join(self.role(("",) * len(roles), seat) for seat in roles)

    def role(self, agent_ids: tuple[str, ...], seat: int) -> str:
        """Return "principal", "worker" or "oracle"; a worker that delegates is a worker all the same."""
        if seat == 0:
            return "principal"
        if self.oracle == "consumer":
            return "worker"
        if self.shape == "bounty":
            return "oracle" if seat == len(agent_ids) - 1 else "worker"
        return "worker" if seat % 2 else "oracle"  # one of each for every contract

    def rules_text(self, role: str) -> str:
        """Say the rules in words, to a principal, a worker or an oracle."""
        said = self.__dict__.setdefault("_rules", {})  # every seat of every match is told
        if role not in said:
            said[role] = rules.text(self, role)
        text: str = said[role]
        return text

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        """Return the state at the beginning; nothing is drawn."""
        return bounty.start(self, agent_ids) if self.shape == "bounty" else chain.start(self, agent_ids)
