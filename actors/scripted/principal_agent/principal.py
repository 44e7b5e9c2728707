"""Scripted principals of the principal-agent game: fixed, linear, optimal."""

from __future__ import annotations

from functools import cached_property

from actors.scripted.options import Amount, Part, Text
from actors.scripted.principal_agent.contracts import (
    DEFAULT_THRESHOLDS,
    OptimalContract,
    linear_contract,
    optimal_contract,
)
from actors.scripted.principal_agent.effort import DEFAULT_TECHNOLOGY, Effort, Technology, Value
from actors.scripted.principal_agent.party import CRITERIA, TASK, Party
from actors.turn import Turn
from sim.games.principal_agent.contract import OutcomeLevel, checked


class FixedPrincipal(Party):
    """Posts the outcome levels that the game is configured with, or given ones, and answers every question.

    Args:
        agent_id: Its seat id.
        levels: The outcome levels, each with `label`, `threshold` and `payment`; None: those of the game.
        task: What is to be done.
        criteria: What the oracle is to score by.
        answer: What it answers to questions; None: what the success criteria say.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        levels: tuple[OutcomeLevel, ...] | None = None,
        task: Text = TASK,
        criteria: Text = CRITERIA,
        answer: Text | None = None,
    ) -> None:
        super().__init__(agent_id)
        self.task, self.criteria, self.reply = task, criteria, answer
        self.posted = None if levels is None else checked(levels)

    def levels(self, turn: Turn) -> tuple[OutcomeLevel, ...] | None:
        """Return its levels."""
        return self.posted


class LinearPrincipal(FixedPrincipal):
    """Posts payments that are linear in worth: for each level a share of what its threshold is worth.

    Args:
        agent_id: Its seat id.
        share: The worker's part of the worth.
        value: What a score is worth to it: currency per score point, or steps of (score from which, currency).
        thresholds: Of the outcome levels, by label; None: fail 0, partial 50, success 80.
        task: As in `FixedPrincipal`.
        criteria: As in `FixedPrincipal`.
        answer: As in `FixedPrincipal`.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        share: Part = 0.5,
        value: Value = 0.2,
        thresholds: dict[str, float] | None = None,
        task: Text = TASK,
        criteria: Text = CRITERIA,
        answer: Text | None = None,
    ) -> None:
        levels = linear_contract(DEFAULT_THRESHOLDS if thresholds is None else thresholds, share, value)
        super().__init__(agent_id, levels=levels, task=task, criteria=criteria, answer=answer)


class OptimalPrincipal(FixedPrincipal):
    """Posts the contract that is best for it, by what it believes of the worker (Grossman and Hart 1983).

    It takes the worker to be alone, risk-neutral and to respond as well as it can; see `optimal_contract`. Where no
    contract is worth it, it posts one that pays nothing, which such a worker rejects. The contract is computed once
    and posted in every match.

    Args:
        agent_id: Its seat id.
        value: As in `LinearPrincipal`.
        efforts: What it takes the worker's efforts to be: for each `name`, `cost` in currency, and `scores`, pairs
            of a score and its probability; None: low, medium and high.
        outside: What it takes the worker to have without the contract, in currency.
        thresholds: As in `LinearPrincipal`.
        margin: By how much the effort that it wants is to be better for the worker than any other, in currency.
        monotone: Whether a higher level must pay at least as much as a lower one.
        task: As in `FixedPrincipal`.
        criteria: As in `FixedPrincipal`.
        answer: As in `FixedPrincipal`.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        value: Value = 0.2,
        efforts: tuple[Effort, ...] | None = None,
        outside: float = 0.0,
        thresholds: dict[str, float] | None = None,
        margin: Amount = 0.0,
        monotone: bool = False,
        task: Text = TASK,
        criteria: Text = CRITERIA,
        answer: Text | None = None,
    ) -> None:
        super().__init__(agent_id, task=task, criteria=criteria, answer=answer)
        self.believed = DEFAULT_TECHNOLOGY if efforts is None else Technology(efforts)
        self.value = value
        self.thresholds = dict(DEFAULT_THRESHOLDS if thresholds is None else thresholds)
        self.worker_outside = outside
        self.margin = margin
        self.monotone = monotone
        linear_contract(self.thresholds, 0.0, value)  # a mistake in them shows now, not in a match

    @cached_property
    def best(self) -> OptimalContract:
        """The contract, what it brings the worker to do, and what both may expect of it."""
        return optimal_contract(
            self.believed,
            self.thresholds,
            self.value,
            self.worker_outside,
            margin=self.margin,
            monotone=self.monotone,
        )

    def levels(self, turn: Turn) -> tuple[OutcomeLevel, ...]:
        """Return the best contract's levels."""
        return checked(self.best.levels or linear_contract(self.thresholds, 0.0, 0.0))
