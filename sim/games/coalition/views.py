"""What a seat sees when it is asked: its own side, and the task or the formation that it is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.games.coalition.facts import names, task_facts, version_facts
from sim.games.coalition.talks import Place
from sim.games.coalition.things import UNITS, Formation

if TYPE_CHECKING:
    from sim.games.coalition.state import CoalitionState


def view(state: CoalitionState, seat: int, place: Place) -> dict[str, Any]:
    """Build what a seat may see in a thread."""
    seen = {"step": place.step, **_own(state, seat, place.task), "task": task_facts(state.world.tasks[place.task])}
    if place.step == "C1":
        return seen | {"peers": [_agent(state, other) for other in state.peers[seat]]}
    formation = state.world.formation(place.formation)
    assert formation is not None
    seen |= _formation(state, formation)
    version = formation.current
    seen["my_share"] = version.allocation.get(seat, 0)
    seen["my_commitment"] = version.owed(seat)
    ledger = state.world.ledger
    seen["my_locked"] = sum(ledger.locks[lock].units for lock in ledger.locks_for(formation.purpose, seat))
    return seen | (_activation(state, formation) if place.step == "C4" else {})


def _own(state: CoalitionState, seat: int, task: int) -> dict[str, Any]:
    """Return what a seat brings along, how many units it has free, and what the task would cost it."""
    return {
        "me": state.agent_ids[seat],
        "capabilities": list(state.world.agents[seat].capabilities),
        "units": state.world.ledger.available(seat, UNITS),
        "my_cost": state.costs[seat][task - 1],
    }


def _agent(state: CoalitionState, seat: int) -> dict[str, Any]:
    """Return what others may know of a seat; how many units it has free is not in it."""
    agent = state.world.agents[seat]
    return {"id": state.agent_ids[seat], "capabilities": list(agent.capabilities), "units": agent.units}


def _formation(state: CoalitionState, formation: Formation) -> dict[str, Any]:
    ids = state.agent_ids
    return {
        "formation": formation.number,
        "status": formation.status,
        "initiator": ids[formation.initiator],
        "invited": [_agent(state, seat) for seat in formation.invited],
        "opened": formation.opened,
        "deadline": formation.deadline,
        "version": version_facts(state, formation.current),
        "versions_left": state.world.max_versions - len(formation.versions),
        "signed": {ids[signature.seat]: signature.committed for signature in formation.signed.values()},
        "left": names(state, formation.rejected),
    }


def _activation(state: CoalitionState, formation: Formation) -> dict[str, Any]:
    version = formation.current
    uncommitted = [sign.seat for sign in formation.signed.values() if not sign.committed and version.owed(sign.seat)]
    return {
        "members": names(state, formation.members),
        "decide_by": formation.decide_by,
        "uncommitted": {state.agent_ids[seat]: version.owed(seat) for seat in uncommitted},
    }
