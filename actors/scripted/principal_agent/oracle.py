"""Scripted oracles of the principal-agent game: honest, lenient, noisy."""

from __future__ import annotations

from actors.scripted.principal_agent.party import Party, capped
from actors.turn import Turn
from sim.games.principal_agent.actions import RecordOutcomeScore, Score


class HonestOracle(Party):
    """Scores the quality that it finds in the deliverable.

    Scripted workers state the quality that their effort led to, as in "(quality 83.5)". An oracle that follows a
    rule cannot judge other texts, such as those of a language model: where no quality is stated it gives a fixed
    score, by default 50.

    Args:
        agent_id: Its seat id.
        unread: The score of a deliverable in which no quality is found.
    """

    def __init__(self, agent_id: str, *, unread: Score = 50.0) -> None:
        super().__init__(agent_id)
        self.unread = unread


class LenientOracle(HonestOracle):
    """Scores the quality that it finds plus a bonus, at most 100.

    What it gives away is the principal's. The workers' efforts do not change: they do not know of the bonus.

    Args:
        agent_id: Its seat id.
        bonus: Score points that it adds.
        unread: As in `HonestOracle`; no bonus is added to it.
    """

    def __init__(self, agent_id: str, *, bonus: Score = 20.0, unread: Score = 50.0) -> None:
        super().__init__(agent_id, unread=unread)
        self.bonus = bonus

    def rate(self, quality: float, turn: Turn) -> RecordOutcomeScore:
        """Add the bonus."""
        return RecordOutcomeScore(capped(quality + self.bonus), "Good work on the whole.")


class NoisyOracle(HonestOracle):
    """Scores the quality that it finds with an error, drawn evenly and as often upwards as downwards.

    The result is cut off at 0 and 100.

    Args:
        agent_id: Its seat id.
        spread: The largest error, in score points.
        unread: As in `HonestOracle`; it has no error.
    """

    def __init__(self, agent_id: str, *, spread: Score = 10.0, unread: Score = 50.0) -> None:
        super().__init__(agent_id, unread=unread)
        self.spread = spread

    def rate(self, quality: float, turn: Turn) -> RecordOutcomeScore:
        """Draw the error."""
        score = capped(quality + turn.rng.uniform(-self.spread, self.spread))
        return RecordOutcomeScore(score, f"As far as can be seen, about {score:.3g}.")
