"""Provision point, simple mode: equal contributors, one commitment each, and a shortfall is lost."""

from __future__ import annotations

from math import inf
from random import Random
from typing import Any, Literal

from msgspec import field

from sim.game import Outcome, Pass, Phase, State, Status
from sim.games.provision_point.parameters import Parameters
from sim.numbers import exact_sum


class SimpleState(State, kw_only=True):
    """State of a simple-mode match. Amounts are in the game's currency; lists are by seat number."""

    game: Parameters
    agent_ids: tuple[str, ...]
    threshold: float
    reservation_values: list[float | None]
    commitments: dict[str, float] = field(default_factory=dict)
    resolved_by: Literal["threshold", "all_committed", "rounds"] | None = None

    def private_facts(self, seat: int) -> dict[str, Any]:
        """Return the seat's own reservation value."""
        return {"my_reservation_value": self.reservation_values[seat]}

    def legal(self, seat: int) -> tuple[str, ...]:
        """Return the actions that the seat may take: none once it has committed."""
        return () if self.agent_ids[seat] in self.commitments else ("submit_commitment", "pass")

    def apply(self, seat: int, action: Any) -> None:
        """Apply an action that `legal` allows."""
        if type(action) is Pass:
            return
        self.commitments[self.agent_ids[seat]] = action.amount
        if self.total() >= self.threshold:
            self.resolved_by = "threshold"
        elif len(self.commitments) == len(self.agent_ids):
            self.resolved_by = "all_committed"

    def close_phase(self) -> None:
        """Resolve a total that is short: the rounds are used up, or in concurrent order nobody has a turn left."""
        self.resolved_by = "rounds"

    def total(self) -> float:
        """Return the sum of the commitments: rounded once, so the same on every version and in any order."""
        return exact_sum(self.commitments.values())

    def view(self, seat: int) -> dict[str, Any]:
        """Build what the seat may see; of the reservation values only its own."""
        return {
            "num_agents": len(self.agent_ids),
            "agent_ids": self.agent_ids,
            "my_role": "contributor",
            "commitments": self.commitments,
            "total_committed": self.total(),
            "threshold": self.threshold,
            "my_reservation_value": self.reservation_values[seat],
            "funded": None if self.resolved_by is None else self.total() >= self.threshold,
        }

    def outcome(self) -> Outcome | None:
        """Return the outcome once the match is over.

        Funded: everybody gets its reservation value, committed or not. Unfunded: everybody loses what it committed.
        """
        if self.resolved_by is None:
            return None
        if self.total() >= self.threshold:
            utilities = tuple(value or 0.0 for value in self.reservation_values)
            return self._outcome("resolved", "threshold_met", utilities)
        utilities = tuple(0.0 - self.commitments.get(a, 0.0) for a in self.agent_ids)
        return self._outcome("resolved", "rounds_exhausted", utilities)

    def stopped(self, status: Status, trigger: str) -> Outcome:
        """Return the outcome of a match that was cut off: nobody gains or loses."""
        return self._outcome(status, trigger, (0.0,) * len(self.agent_ids))

    def check(self) -> None:
        """Check that commitments are within bounds, and that the match is over as soon as the threshold is met."""
        total, everybody = self.total(), len(self.commitments) == len(self.agent_ids)
        for agent_id, amount in self.commitments.items():
            assert agent_id in self.agent_ids, f"{agent_id} has no seat and has committed"
            assert 0 <= amount < inf, f"{agent_id} has committed {amount:g}, out of bounds"
        met = total >= self.threshold
        held = self.resolved_by
        assert met == (held == "threshold"), f"{total:g} of {self.threshold:g}, and it is resolved by {held}"
        assert not everybody or self.resolved_by is not None, "all have committed, and the match is not over"
        assert everybody or self.resolved_by != "all_committed", "not all have committed"

    def _outcome(self, status: Status, trigger: str, utilities: tuple[float, ...]) -> Outcome:
        committed = self.total()
        details = {
            "total_committed": committed,
            "threshold": self.threshold,
            "resolved_by": self.resolved_by,
        }
        return Outcome(status, trigger, utilities, details)


def start(game: Parameters, agent_ids: tuple[str, ...], rng: Random) -> SimpleState:
    """Return the state at the beginning, with reservation values as the mode says."""
    return SimpleState(
        game=game,
        agent_ids=agent_ids,
        phase=Phase("commit", tuple(range(len(agent_ids))), game.max_rounds_commit),
        threshold=game.threshold,
        reservation_values=game.draw_valuations(agent_ids, rng),
    )
