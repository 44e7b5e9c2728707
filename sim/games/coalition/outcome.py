"""How a match ended: what each seat got, and figures of its formations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from sim.game import Outcome, Status
from sim.games.coalition.things import UNITS, Formation

if TYPE_CHECKING:
    from sim.games.coalition.state import CoalitionState

FORMED: Final = "formed"
"""Trigger of a match in which a coalition became active."""

NOT_FORMED: Final = "none_formed"
"""Trigger of one in which none did."""

MOST_ROWS: Final = 1000
"""Formations that an outcome lists; it counts all."""


def outcome_of(state: CoalitionState, status: Status, trigger: str | None) -> Outcome:
    """Return the outcome; the trigger of a match that was not cut off says whether a coalition was formed."""
    formations = state.world.formations()
    active = [formation for formation in formations if formation.status == "active"]
    figures = _figures(state, formations, active)
    details = {"discovered": state.discovered, "coalitions": len(active)}
    trigger = trigger or (FORMED if active else NOT_FORMED)
    return Outcome(status, trigger, tuple(map(float, state.utilities)), details, figures)


def _figures(state: CoalitionState, formations: list[Formation], active: list[Formation]) -> dict[str, Any]:
    tasks, talks = state.world.tasks, state.talks
    agreed = [formation for formation in formations if formation.members]
    times = [(talks[formation.number].reached or 0.0) - formation.opened for formation in agreed]
    value = sum(tasks[formation.task].value for formation in active)
    costs = sum(state.costs[seat][formation.task - 1] for formation in active for seat in formation.members)
    return {
        "formations": {"initiated": len(formations), **_ends(formations)},
        "agreed": len(agreed),
        "seconds_to_agreement": _mean(times),
        "versions_per_agreement": _mean([formation.current.number for formation in agreed]),
        "members_per_coalition": _mean([len(formation.members) for formation in active]),
        "value": value,
        "allocated": sum(sum(formation.current.allocation.values()) for formation in active),
        "costs": costs,
        "welfare": value - costs,
        "decisions": sum(state.decided),
        "units": _units(state),
        "rows": [_row(state, formation) for formation in formations[:MOST_ROWS]],
    }


def _ends(formations: Iterable[Formation]) -> dict[str, int]:
    """Count formations by their status, those that came to nothing by the reason as well."""
    counts: dict[str, int] = {}
    for formation in formations:
        end = formation.status if formation.reason is None else f"{formation.status}_{formation.reason}"
        counts[end] = counts.get(end, 0) + 1
    return dict(sorted(counts.items()))


def _mean(numbers: list[float] | list[int]) -> float | None:
    return round(sum(numbers) / len(numbers), 3) if numbers else None


def _units(state: CoalitionState) -> dict[str, int]:
    """Add up the units of all seats: what was put in is what is available, held and bound."""
    ledger = state.world.ledger
    balances = [ledger.balance(seat, UNITS) for seat in range(len(state.agent_ids))]
    return {
        "supply": ledger.supply.get(UNITS, 0),
        "available": sum(has.available for has in balances),
        "held": sum(has.held for has in balances),
        "bound": sum(has.bound for has in balances),
    }


def _row(state: CoalitionState, formation: Formation) -> dict[str, Any]:
    talk = state.talks[formation.number]
    row: dict[str, Any] = {
        "formation": formation.number,
        "task": formation.task,
        "initiator": state.agent_ids[formation.initiator],
        "end": formation.status,
        "opened": round(formation.opened, 3),
        "ended": None if talk.ended is None else round(talk.ended, 3),
        "versions": len(formation.versions),
    }
    if formation.reason is not None:
        row["reason"] = formation.reason
    if formation.status == "active":
        shares = formation.current.allocation
        row["members"] = {state.agent_ids[seat]: shares.get(seat, 0) for seat in formation.members}
    return row
