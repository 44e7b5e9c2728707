"""Plausible random actions for the principal-agent game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from actors.scripted.principal_agent import deliverable
from actors.scripted.principal_agent.party import CRITERIA, DONE, TASK
from actors.turn import Turn
from sim.game import ActionType
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
from sim.games.principal_agent.contract import OutcomeLevel

MOST = 20.0
"""The highest payment that is drawn, in currency: twice that of the default contract."""


def _levels(turn: Turn) -> tuple[OutcomeLevel, ...] | None:
    """Draw payments for the usual thresholds, rising; half of the time leave the configured levels.

    A bounty may be paid from a level of a certain label on, so there they are always left.
    """
    if "awards_left" in turn.state or turn.rng.random() < 0.5:
        return None
    partial, success = sorted(turn.rng.uniform(0.0, MOST) for _ in range(2))
    return (OutcomeLevel("fail", 0, 0), OutcomeLevel("partial", 50, partial), OutcomeLevel("success", 80, success))


def _post(turn: Turn) -> ActionType:
    return PostContract(TASK, CRITERIA, _levels(turn))


def _delegate(turn: Turn) -> ActionType:
    return DelegateTask(TASK, CRITERIA, _levels(turn))


def _ask(turn: Turn) -> ActionType:
    return AskClarification("What matters most?")


def _answer(turn: Turn) -> ActionType:
    return AnswerClarification("That it works.")


def _submit(turn: Turn) -> ActionType:
    return SubmitDeliverable(deliverable.write(DONE, round(turn.rng.uniform(0.0, 100.0), 1)))


def _score(turn: Turn) -> ActionType:
    return RecordOutcomeScore(round(turn.rng.uniform(0.0, 100.0), 1))


DRAWS: Mapping[type[ActionType], Callable[[Turn], ActionType]] = MappingProxyType(
    {
        PostContract: _post,
        DelegateTask: _delegate,
        AskClarification: _ask,
        AnswerClarification: _answer,
        SkipClarify: lambda turn: SkipClarify(),
        AcceptContract: lambda turn: AcceptContract(),
        RejectContract: lambda turn: RejectContract("Not for me."),
        SubmitDeliverable: _submit,
        RecordOutcomeScore: _score,
    }
)
"""A function for each action type that draws an action for a turn."""
