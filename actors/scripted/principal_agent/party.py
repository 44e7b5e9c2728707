"""The base of the scripted agents of the principal-agent game: one that can sit in any of its seats."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import ClassVar, Final

from actors.agent import Agent, Answer
from actors.scripted.principal_agent import deliverable
from actors.scripted.principal_agent.contracts import best_response, payment
from actors.scripted.principal_agent.effort import DEFAULT_TECHNOLOGY, TOP, Effort, Technology
from actors.turn import Turn
from sim.game import ActionType
from sim.games.principal_agent.actions import (
    AcceptContract,
    AnswerClarification,
    AskClarification,
    PostContract,
    RecordOutcomeScore,
    RejectContract,
    SubmitDeliverable,
)
from sim.games.principal_agent.contract import OutcomeLevel

TASK: Final = "Do the task as it was agreed on, and say what was done."
CRITERIA: Final = "The work is complete and correct: 100 is flawless, 0 is nothing at all."
DONE: Final = "The task is done."

_ACCEPT = AcceptContract()
_REJECT = RejectContract("What the contract pays is not worth the work.")


class Party(Agent):
    """A seat of this game; a subclass says what it does in its role.

    In the seats of other roles it does what is plain: it posts the configured outcome levels, answers questions with
    the success criteria, responds to a contract as well as it can, and scores the quality that it finds. So a worker
    can be the principal of a contract inside its own, and a principal the oracle where the consumer scores.

    Attributes:
        technology: The efforts that it can choose from as a worker.
        outside: What it gets as a worker if it rejects, in currency.
        task: The task of the contract that it posts.
        criteria: The success criteria of that contract.
        reply: What it answers to questions; None: what the success criteria say.
        question: What it asks before it responds to a contract; None: nothing.
        work: What its deliverable says, before the quality.
        unread: The score of a deliverable in which no quality is found.
    """

    games: ClassVar[tuple[str, ...]] = ("principal-agent",)

    technology: Technology = DEFAULT_TECHNOLOGY
    outside: float = 0.0
    task: str = TASK
    criteria: str = CRITERIA
    reply: str | None = None
    question: str | None = None
    work: str = DONE
    unread: float = 50.0

    def decide(self, turn: Turn) -> Answer:
        """Make the move that is asked for."""
        allowed = turn.allowed_actions
        if PostContract.name in allowed:
            return PostContract(self.task, self.criteria, self.levels(turn))
        if AnswerClarification.name in allowed:
            criteria = turn.state["contract"]["success_criteria"]
            return AnswerClarification(self.reply or f"What counts is this: {criteria}")
        if RecordOutcomeScore.name in allowed:
            return self.verify(turn)
        if SubmitDeliverable.name in allowed:
            return self.execute(turn)
        if self.question is not None and AskClarification.name in allowed and not turn.state["clarifications"]:
            return AskClarification(self.question)
        return _ACCEPT if self.accepts(turn) else _REJECT

    # ── principal ───────────────────────────────────────────────────────────────────────────────────────

    def levels(self, turn: Turn) -> tuple[OutcomeLevel, ...] | None:
        """Return the outcome levels that it posts; None: those of the game."""
        return None

    # ── worker ──────────────────────────────────────────────────────────────────────────────────────────

    def offered(self, turn: Turn) -> tuple[OutcomeLevel, ...]:
        """Return what the contract on the table pays it."""
        return levels_of(turn)

    def choose(self, levels: Sequence[OutcomeLevel], outside: float) -> Effort | None:
        """Return the effort with which it would do the task for these levels, or None to reject."""
        return best_response(levels, self.technology, outside)[0]

    def accepts(self, turn: Turn) -> bool:
        """Return whether it accepts the contract."""
        return self.choose(self.offered(turn), self.outside) is not None

    def execute(self, turn: Turn) -> ActionType:
        """Do the task, with an effort that shows in nothing but the quality that is drawn for it."""
        effort = self.choose(self.offered(turn), -inf)
        assert effort is not None
        return SubmitDeliverable(deliverable.write(self.work, effort.draw(turn.rng)), effort.cost)

    # ── oracle ──────────────────────────────────────────────────────────────────────────────────────────

    def verify(self, turn: Turn) -> RecordOutcomeScore:
        """Score the deliverable."""
        quality = deliverable.read(turn.state["deliverable"])
        if quality is None:
            return RecordOutcomeScore(self.unread, "No quality is stated.")
        return self.rate(quality, turn)

    def rate(self, quality: float, turn: Turn) -> RecordOutcomeScore:
        """Return the score of a deliverable of this quality."""
        return RecordOutcomeScore(quality, f"The quality found is {quality:.6g}.")


def levels_of(turn: Turn) -> tuple[OutcomeLevel, ...]:
    """Return the outcome levels of the contract on the table."""
    return tuple(
        OutcomeLevel(level["label"], level["threshold"], level["payment"])
        for level in turn.state["contract"]["outcome_levels"]
    )


def above(levels: Sequence[OutcomeLevel], least: float, part: float) -> tuple[OutcomeLevel, ...]:
    """Return the levels of which nothing is paid below a score, and a part of the payment from there on.

    Args:
        levels: By rising threshold.
        least: The score, from 0 to 100.
        part: The part, from 0 to 1.
    """
    bottom = OutcomeLevel("", least, part * payment(levels, least))
    return (bottom, *(OutcomeLevel(v.label, v.threshold, part * v.payment) for v in levels if v.threshold > least))


def capped(score: float) -> float:
    """Return the nearest score from 0 to 100."""
    return min(max(score, 0.0), TOP)
