"""Provision point, simple mode: equal contributors, one commitment each, and a shortfall is lost."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from sim.game import Outcome, Pass, Phase, Status

if TYPE_CHECKING:
    from sim.games.provision_point.game import ProvisionPointGame


class SimpleState(Struct):
    """State of a simple-mode match. Amounts are in the game's currency; lists are by seat number."""

    agent_ids: tuple[str, ...]
    phase: Phase
    threshold: float
    reservation_values: list[float | None]
    commitments: dict[str, float] = {}  # noqa: RUF012
    resolved_by: Literal["threshold", "all_committed", "rounds"] | None = None


def start(game: ProvisionPointGame, agent_ids: tuple[str, ...], rng: Random) -> SimpleState:
    """Return the state at the beginning, with reservation values as the mode says."""
    return SimpleState(
        agent_ids=agent_ids,
        phase=Phase("commit", tuple(range(len(agent_ids))), game.max_rounds_commit),
        threshold=game.threshold,
        reservation_values=game.draw_valuations(agent_ids, rng),
    )


def legal(state: SimpleState, seat: int) -> tuple[str, ...]:
    """Return the actions that the seat may take: none once it has committed."""
    return () if state.agent_ids[seat] in state.commitments else ("submit_commitment", "pass")


def apply(state: SimpleState, seat: int, action: Any) -> None:
    """Apply an action that `legal` allows."""
    if type(action) is Pass:
        return
    state.commitments[state.agent_ids[seat]] = action.amount
    if total(state) >= state.threshold:
        state.resolved_by = "threshold"
    elif len(state.commitments) == len(state.agent_ids):
        state.resolved_by = "all_committed"


def close_phase(state: SimpleState) -> None:
    """The rounds are used up."""
    state.resolved_by = "rounds"


def total(state: SimpleState) -> float:
    """Return the sum of the commitments."""
    return sum(state.commitments.values())


def view(state: SimpleState, seat: int) -> dict[str, Any]:
    """Build what the seat may see; of the reservation values only its own."""
    return {
        "num_agents": len(state.agent_ids),
        "agent_ids": state.agent_ids,
        "my_role": "contributor",
        "commitments": state.commitments,
        "total_committed": total(state),
        "threshold": state.threshold,
        "my_reservation_value": state.reservation_values[seat],
        "funded": None if state.resolved_by is None else total(state) >= state.threshold,
    }


def outcome(state: SimpleState) -> Outcome | None:
    """Return the outcome once the match is over.

    Funded: everybody gets its reservation value, committed or not. Unfunded: everybody loses what it committed.
    """
    if state.resolved_by is None:
        return None
    if total(state) >= state.threshold:
        utilities = tuple(value or 0.0 for value in state.reservation_values)
        return _outcome(state, "resolved", "threshold_met", utilities)
    utilities = tuple(-state.commitments[a] if a in state.commitments else 0.0 for a in state.agent_ids)
    return _outcome(state, "resolved", "rounds_exhausted", utilities)


def stopped(state: SimpleState, status: Status, trigger: str) -> Outcome:
    """Return the outcome of a match that was cut off: nobody gains or loses."""
    return _outcome(state, status, trigger, (0.0,) * len(state.agent_ids))


def _outcome(state: SimpleState, status: Status, trigger: str, utilities: tuple[float, ...]) -> Outcome:
    committed = total(state)
    details = {
        "total_committed": committed,
        "threshold": state.threshold,
        "funded": trigger == "threshold_met",
        "resolved_by": state.resolved_by,
    }
    return Outcome(status, trigger, utilities, details)
