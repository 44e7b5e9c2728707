"""A worker of the principal-agent game that has a part of its task done by another."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, inf
from typing import Annotated, Any

from msgspec import Meta

from actors.scripted.options import Part, Text
from actors.scripted.principal_agent import deliverable
from actors.scripted.principal_agent.contracts import TIE, best_response, payment
from actors.scripted.principal_agent.effort import DEFAULT_TECHNOLOGY, Effort, Technology
from actors.scripted.principal_agent.party import CRITERIA, DONE, capped, levels_of
from actors.scripted.principal_agent.worker import BestResponseWorker
from actors.turn import Turn
from sim.game import ActionType
from sim.games.principal_agent.actions import DelegateTask, SubmitDeliverable
from sim.games.principal_agent.contract import OutcomeLevel

PART = "Do the part of the task that is handed on to you."

Share = Annotated[float, Meta(ge=0.01, le=0.99)]
"""A part that leaves something to both."""


class DelegatingWorker(BestResponseWorker):
    """Hands a part of its task down the chain by a contract of its own, and does the rest itself.

    The part is the share s of the whole: done with an effort that costs c for the whole, the rest costs (1 - s) c,
    and the quality of the whole is (1 - s) times that of its own work plus s times the score of the part. The
    contract that it posts pays a fixed part of what its own contract pays, at the same thresholds. It takes the
    worker below to respond as well as it can, chooses its own effort when it has seen the result, and where none
    was delivered does all of it itself. It accepts if what it expects of this is worth more than its outside option.

    Args:
        agent_id: Its seat id.
        efforts: What it can do itself, as in `BestResponseWorker`: costs and scores of the whole task.
        inner_efforts: What it takes the worker below to be able to do with the part; None: low, medium and high.
        share: The part of the task that it hands on.
        pass_on: The part of its own payments that it offers for it.
        always: Whether it hands on whenever it may; if not, only where it expects more of that than of working
            alone.
        outside: As in `BestResponseWorker`.
        question: As in `BestResponseWorker`.
        work: As in `BestResponseWorker`.
        task: The task of the contract that it posts.
        criteria: The success criteria of that contract.
        answer: What it answers to questions about it; None: what the success criteria say.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        efforts: tuple[Effort, ...] | None = None,
        inner_efforts: tuple[Effort, ...] | None = None,
        share: Share = 0.5,
        pass_on: Part = 0.5,
        always: bool = True,
        outside: float = 0.0,
        question: Text | None = None,
        work: Text = DONE,
        task: Text = PART,
        criteria: Text = CRITERIA,
        answer: Text | None = None,
    ) -> None:
        super().__init__(agent_id, efforts=efforts, outside=outside, question=question, work=work)
        self.below = DEFAULT_TECHNOLOGY if inner_efforts is None else Technology(inner_efforts)
        self.share, self.pass_on, self.always = share, pass_on, always
        self.task, self.criteria, self.reply = task, criteria, answer

    def accepts(self, turn: Turn) -> bool:
        """Return whether what it expects is worth it."""
        levels = levels_of(turn)
        if not (may_delegate(turn) and self._hands_on(levels)):
            return super().accepts(turn)
        expected = self.expected(levels)
        return self.outside - expected <= TIE * max(abs(expected), abs(self.outside))

    def execute(self, turn: Turn) -> ActionType:
        """Hand the part on; then do the rest."""
        levels = levels_of(turn)
        if DelegateTask.name in turn.allowed_actions and self._hands_on(levels):
            return DelegateTask(self.task, self.criteria, self.inner_levels(levels))
        result: dict[str, Any] | None = turn.state.get("inner")
        if result is None or result["outcome_score"] is None:
            return super().execute(turn)
        score = result["outcome_score"]
        effort, _ = best_response(levels, self.rest(score), -inf)
        assert effort is not None
        text = f"{self.work} A part was done under a contract of its own, which scored {score:.6g}."
        return SubmitDeliverable(deliverable.write(text, effort.draw(turn.rng)), effort.cost)

    # ── what it reckons with ────────────────────────────────────────────────────────────────────────────

    def inner_levels(self, levels: Sequence[OutcomeLevel]) -> tuple[OutcomeLevel, ...]:
        """Return the outcome levels that it posts under a contract with these."""
        # Rounded to what people would write: 0.35 of 12 is 4.2, and not 4.199999999999999.
        return tuple(OutcomeLevel(v.label, v.threshold, float(f"{self.pass_on * v.payment:.12g}")) for v in levels)

    def rest(self, score: float) -> Technology:
        """Return what it can do once the part is there: costs of the rest, and qualities of the whole."""
        own = 1 - self.share
        return Technology(
            tuple(
                Effort(
                    effort.name,
                    own * effort.cost,
                    tuple((capped(own * quality + self.share * score), chance) for quality, chance in effort.scores),
                )
                for effort in self.technology.efforts
            )
        )

    def expected(self, levels: Sequence[OutcomeLevel]) -> float:
        """Return its expected utility of a contract of which it hands a part on, in currency."""
        inner = self.inner_levels(levels)
        effort, _ = best_response(inner, self.below)
        if effort is None:
            return best_response(levels, self.technology, -inf)[1]
        return fsum(
            chance * (best_response(levels, self.rest(score), -inf)[1] - payment(inner, score))
            for score, chance in effort.scores
        )

    def _hands_on(self, levels: Sequence[OutcomeLevel]) -> bool:
        return self.always or self.expected(levels) > best_response(levels, self.technology, -inf)[1]


def may_delegate(turn: Turn) -> bool:
    """Return whether a worker can post a contract inside the one on the table, before that is accepted.

    In a chain all workers but the last can: the seats after them are its worker and, if it has one, its oracle.
    """
    seat = turn.seat
    if DelegateTask.name not in seat.action_types:
        return False
    return seat.number < len(seat.agent_ids) - (2 if "oracle" in seat.rules else 1)
