"""Scripted workers of the principal-agent game: one that responds as well as it can, and one that shirks."""

from __future__ import annotations

from collections.abc import Sequence

from actors.scripted.options import Part, Text
from actors.scripted.principal_agent.contracts import best_response
from actors.scripted.principal_agent.effort import DEFAULT_TECHNOLOGY, Effort, Technology
from actors.scripted.principal_agent.party import DONE, Party, above, levels_of
from actors.turn import Turn
from sim.games.principal_agent.actions import Score
from sim.games.principal_agent.contract import OutcomeLevel


class BestResponseWorker(Party):
    """Accepts if that is worth more to it than its outside option, and exerts the effort that pays it best.

    The exact best response of a risk-neutral worker, with ties in the principal's favour; see `best_response`. The
    quality of its deliverable is drawn from the scores of its effort and stated in the text, as in "(quality
    83.5)"; what the effort cost it declares in private.

    In a bounty it counts what is paid with the chance that it believes it has of an award.

    Args:
        agent_id: Its seat id.
        efforts: What it can do: for each effort `name`, `cost` in currency, and `scores`, pairs of a score and its
            probability; None: low, medium and high.
        outside: What it gets without the contract, in currency.
        question: What it asks before it responds; None: nothing.
        work: What its deliverable says, before the quality.
        chance: In a bounty: the probability, as it believes, that a deliverable that is good enough is paid.
        paid_from: In a bounty: the score from which on it is good enough; None: that of the highest level.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        efforts: tuple[Effort, ...] | None = None,
        outside: float = 0.0,
        question: Text | None = None,
        work: Text = DONE,
        chance: Part = 1.0,
        paid_from: Score | None = None,
    ) -> None:
        super().__init__(agent_id)
        self.technology = DEFAULT_TECHNOLOGY if efforts is None else Technology(efforts)
        self.outside, self.question, self.work = outside, question, work
        self.chance, self.paid_from = chance, paid_from

    def offered(self, turn: Turn) -> tuple[OutcomeLevel, ...]:
        """Return what the contract pays it, in a bounty what it may expect."""
        levels = levels_of(turn)
        if "awards_left" not in turn.state:
            return levels
        return above(levels, levels[-1].threshold if self.paid_from is None else self.paid_from, self.chance)


class Shirker(BestResponseWorker):
    """Exerts the least effort, and accepts whatever contract it then loses nothing by.

    The least effort is the cheapest; of equally cheap ones, that with the lowest expected score. Arguments are as in
    `BestResponseWorker`.
    """

    def choose(self, levels: Sequence[OutcomeLevel], outside: float) -> Effort | None:
        """Return the least effort, or None."""
        least = min(self.technology.efforts, key=lambda effort: (effort.cost, effort.expected_score))
        return best_response(levels, Technology((least,)), outside)[0]
