"""What the referee says of a match, in words and in facts; in the record these are the rows of the protocol's table.

A row has a step ("C1", "C2", "threshold", "C4"), a trigger, and either the action that a seat has chosen and how
(decisions), or the status that the system found (checks). The utility of a decision has a row of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sim.games.coalition import items
from sim.games.coalition.scenario import Discovery
from sim.games.coalition.talks import Made, Place, Step
from sim.games.coalition.things import Formation, Task, Version
from sim.paced import Notice

if TYPE_CHECKING:
    from sim.games.coalition.state import CoalitionState

TRIGGERS: Final[Mapping[Step, str]] = {
    "C1": "task_discovered",
    "C2": "proposal_received",
    "C4": "consensus_reached",
}
"""What has triggered a decision, by step."""

NEXT: Final[Mapping[str, str]] = {
    "initiate": "C2",
    "sign": "threshold",
    "modify": "C2",
    "reject": "not_member",
    "deploy": "active",
    "abort": "aborted",
}
"""What comes after an action."""

_AFTER_CHECK: Final = {"met": "C4", "not_met": "C2", "timeout": "failed", "infeasible": "failed"}

_WHY: Final = {
    "timeout": "time is over",
    "infeasible": "those who are left can no longer agree",
    "withdrawn": "its initiator has left",
    "superseded": "another coalition has the task",
    "decided": "its initiator gave it up",
}


def task_facts(task: Task) -> dict[str, Any]:
    """Return what everybody may know of a task."""
    return {
        "id": task.id,
        "value": task.value,
        "quorum": task.quorum,
        "requires": list(task.requires),
        "seconds": task.seconds,
        "exclusive": task.exclusive,
    }


def version_facts(state: CoalitionState, version: Version) -> dict[str, Any]:
    """Return a version, with seats by their ids."""
    return {
        "number": version.number,
        "digest": version.digest,
        "parent": version.parent,
        "author": state.agent_ids[version.author],
        "allocation": by_id(state, version.allocation),
        "commitment": by_id(state, version.commitment),
    }


def by_id(state: CoalitionState, amounts: Mapping[int, int]) -> dict[str, int]:
    """Return amounts by seat id."""
    return {state.agent_ids[seat]: amount for seat, amount in amounts.items()}


def names(state: CoalitionState, seats: Any) -> list[str]:
    """Return the ids of seats."""
    return [state.agent_ids[seat] for seat in seats]


# ── to the record alone ─────────────────────────────────────────────────────────────────────────────────────


def discovered(state: CoalitionState, discovery: Discovery) -> Notice:
    """A task is discovered."""
    task = state.world.tasks[discovery.task]
    row = {"step": "C1", "trigger": "task_discovered", "task": task_facts(task), "seats": names(state, discovery.seats)}
    return Notice(f"Task {task.id} is discovered.", to=(), facts=row)


def decided(state: CoalitionState, made: Made, place: Place, after: str, formation: int, version: int) -> Notice:
    """A decision: who made it, on what, how, and what comes next."""
    row: dict[str, Any] = {
        "step": made.step,
        "trigger": TRIGGERS[made.step],
        "seat": state.agent_ids[made.seat],
        "decision": made.number,
        "task": place.task,
    }
    if formation:
        row |= {"formation": formation, "version": version}
    row |= {"action": made.action, "next": after}
    if made.decision is not None:
        row |= msgspec.to_builtins(made.decision)
    return Notice(f"{state.agent_ids[made.seat]}: {made.action}.", to=(), facts=row)


def checked(state: CoalitionState, check: items.Checked) -> Notice:
    """A threshold check and what it found."""
    row = {
        "step": "threshold",
        "trigger": "deadline" if check.status == "timeout" else "signatures_updated",
        "formation": check.formation,
        "version": check.version,
        "selection": "system_rule",
        "signers": names(state, check.signers),
        "quorum": check.quorum,
        "covered": check.covered,
        "paid": check.paid,
        "elapsed": check.elapsed,
        "status": check.status,
        "next": _AFTER_CHECK[check.status],
    }
    return Notice(f"Formation {check.formation}: {check.status}.", to=(), facts=row)


# ── to a seat alone ─────────────────────────────────────────────────────────────────────────────────────────


def payment(formation: Formation, utility: int) -> dict[str, Any]:
    """Return what a formation that has ended brings a seat."""
    return {"task": formation.task, "formation": formation.number, "end": formation.status, "utility": utility}


def paid(made: Made, thread: int, brings: dict[str, Any]) -> Notice:
    """The utility of a decision, to its maker."""
    row = {"step": made.step, "decision": made.number, "action": made.action, **brings}
    if made.decision is not None and made.decision.id:
        row["id"] = made.decision.id
    return Notice(f"Your {made.action} brought {brings['utility']}.", thread, to=(made.seat,), facts=row)


def taken(task: int, thread: int) -> Notice:
    """A task is no longer to be had; who discovered it is asked no more."""
    return Notice(f"Task {task} is taken.", thread, closes=True, facts={"task": task, "status": "taken"})


# ── to all who take part ────────────────────────────────────────────────────────────────────────────────────


def proposed(state: CoalitionState, formation: Formation, thread: int) -> Notice:
    """There is a new formation."""
    row = {
        "status": "open",
        "formation": formation.number,
        "task": formation.task,
        "initiator": state.agent_ids[formation.initiator],
        "invited": names(state, formation.invited),
        "deadline": formation.deadline,
    }
    return Notice(f"Formation {formation.number} for task {formation.task} is proposed.", thread, facts=row)


def reached(state: CoalitionState, formation: Formation, effect: items.Reached, thread: int) -> Notice:
    """There is consensus, and the initiator is to decide."""
    initiator = state.agent_ids[formation.initiator]
    text = f"Consensus in formation {formation.number} on version {effect.version}; {initiator} deploys or aborts."
    return Notice(text, thread, closes=True, facts=_agreed(state, formation) | {"decide_by": effect.decide_by})


def ended(state: CoalitionState, formation: Formation, effect: items.Effect, thread: int) -> Notice:
    """A formation has ended."""
    row: dict[str, Any]
    if isinstance(effect, items.Activated):
        text = f"Formation {formation.number} is active."
        row = _agreed(state, formation) | {"auto": effect.auto}
    else:
        assert isinstance(effect, items.Aborted | items.Failed)
        text = f"Formation {formation.number} is {formation.status}: {_WHY[effect.reason]}."
        row = _place(formation) | {"reason": effect.reason}
    return Notice(text, thread, closes=True, to=formation.invited, facts=row)


def _place(formation: Formation) -> dict[str, Any]:
    number = formation.current.number
    return {"status": formation.status, "formation": formation.number, "task": formation.task, "version": number}


def _agreed(state: CoalitionState, formation: Formation) -> dict[str, Any]:
    version = formation.current
    return _place(formation) | {
        "digest": version.digest,
        "members": names(state, formation.members),
        "allocation": by_id(state, version.allocation),
        "commitment": by_id(state, version.commitment),
    }
