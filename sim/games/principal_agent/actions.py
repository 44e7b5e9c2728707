"""Actions of the principal-agent game."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar

from msgspec import Meta

from sim.game import ActionType
from sim.games.principal_agent.contract import OutcomeLevel, Text

Score = Annotated[float, Meta(ge=0, le=100)]
NonNegative = Annotated[float, Meta(ge=0)]


def _also(**aliases: str) -> Mapping[str, str]:
    return MappingProxyType(aliases)


class PostContract(ActionType, frozen=True):
    """Post the task contract; the configured outcome levels stand when they are left out."""

    name: ClassVar[str] = "post_contract"

    task_description: Text
    success_criteria: Text
    outcome_levels: tuple[OutcomeLevel, ...] | None = None


class AskClarification(ActionType, frozen=True):
    """Ask a clarifying question."""

    name: ClassVar[str] = "ask_clarification"
    aliases: ClassVar[Mapping[str, str]] = _also(text="question")

    question: Text


class AnswerClarification(ActionType, frozen=True):
    """Answer the last unanswered question."""

    name: ClassVar[str] = "answer_clarification"
    aliases: ClassVar[Mapping[str, str]] = _also(text="answer")

    answer: Text


class SkipClarify(ActionType, frozen=True):
    """Skip the remaining rounds of clarification; an open question stays unanswered."""

    name: ClassVar[str] = "skip_clarify"


class AcceptContract(ActionType, frozen=True):
    """Accept the contract, to do the task."""

    name: ClassVar[str] = "accept_contract"


class RejectContract(ActionType, frozen=True):
    """Reject the contract, which ends it: nobody is paid."""

    name: ClassVar[str] = "reject_contract"

    reason: str = ""


class SubmitDeliverable(ActionType, frozen=True):
    """Submit the completed work. `effort_cost` says in private what it cost you, in currency."""

    name: ClassVar[str] = "submit_deliverable"
    private_fields: ClassVar[tuple[str, ...]] = ("effort_cost",)
    aliases: ClassVar[Mapping[str, str]] = _also(text="content", deliverable="content")

    content: Text
    effort_cost: NonNegative | None = None


class RecordOutcomeScore(ActionType, frozen=True):
    """Score the deliverable from 0 to 100, with notes on the evaluation."""

    name: ClassVar[str] = "record_outcome_score"
    aliases: ClassVar[Mapping[str, str]] = _also(rating="score")

    score: Score
    notes: str = ""


class DelegateTask(ActionType, frozen=True):
    """Post a contract of your own for a part of your task (chain); your turn waits until that contract is over."""

    name: ClassVar[str] = "delegate_task"
    advances: ClassVar[bool] = False

    task_description: Text
    success_criteria: Text
    outcome_levels: tuple[OutcomeLevel, ...] | None = None


class Delegated(ActionType, frozen=True):
    """A delegation as those see it who have no part in it: that there is one."""

    name: ClassVar[str] = "delegate_task"
