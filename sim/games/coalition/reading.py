"""From actions, which name seats by their ids, to what the core reads; and from its sentences back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sim.errors import IllegalAction
from sim.games.coalition import actions, items
from sim.games.coalition.talks import Place
from sim.games.coalition.things import Formation

if TYPE_CHECKING:
    from sim.games.coalition.state import CoalitionState


def item(state: CoalitionState, seat: int, action: Any, place: Place) -> items.Item:
    """Return what the core reads for an action.

    Raises:
        IllegalAction: It names seats that are not there, or another task or formation than its turn is about.
    """
    if isinstance(action, actions.Initiate):
        return _initiate(state, seat, action, place)
    if action.formation not in (None, place.formation):
        raise IllegalAction(f"this turn is about formation {place.formation}, not {action.formation}")
    number = place.formation
    match action:
        case actions.Sign():
            return items.Sign(seat, number, action.digest, action.commit)
        case actions.Modify():
            return _modify(state, seat, action, number)
        case actions.Reject():
            return items.Reject(seat, number)
        case actions.Deploy():
            return items.Deploy(seat, number)
    return items.Abort(seat, number)


def _initiate(state: CoalitionState, seat: int, action: actions.Initiate, place: Place) -> items.Initiate:
    if action.task not in (None, place.task):
        raise IllegalAction(f"this turn is about task {place.task}, not {action.task}")
    if action.invited is None:
        invited = state.peers[seat]
    else:
        invited = tuple(other for other in _seats(state, "invited", action.invited) if other != seat)
        for other in invited:
            if other not in state.peers[seat]:
                raise IllegalAction(f"invited: you do not know {state.agent_ids[other]}")
    everybody = (seat, *invited)
    value = state.world.tasks[place.task].value
    allocation = _amounts(state, "allocation", action.allocation, lambda: evenly(value, everybody))
    commitment = _amounts(state, "commitment", action.commitment, dict)
    return items.Initiate(seat, place.task, everybody, allocation, commitment, action.commit)


def _modify(state: CoalitionState, seat: int, action: actions.Modify, number: int) -> items.Modify:
    formation = state.world.formation(number)
    assert formation is not None
    current = formation.current
    allocation = _amounts(state, "allocation", action.allocation, lambda: _staying(formation, current.allocation))
    commitment = _amounts(state, "commitment", action.commitment, lambda: current.commitment)
    return items.Modify(seat, number, action.parent, allocation, commitment, action.commit)


def evenly(value: int, seats: Sequence[int]) -> dict[int, int]:
    """Share a value out evenly; the first get what is left over."""
    share, over = divmod(value, len(seats))
    return {seat: share + (place < over) for place, seat in enumerate(seats)}


def _staying(formation: Formation, amounts: Mapping[int, int]) -> dict[int, int]:
    return {seat: amount for seat, amount in amounts.items() if seat not in formation.rejected}


def _seats(state: CoalitionState, where: str, agent_ids: Iterable[str]) -> tuple[int, ...]:
    for agent_id in agent_ids:
        if agent_id not in state.seats:
            raise IllegalAction(f"{where}: there is no {agent_id!r}")
    return tuple(state.seats[agent_id] for agent_id in agent_ids)


def _amounts(state: CoalitionState, where: str, given: Mapping[str, int] | None, otherwise: Any) -> dict[int, int]:
    if given is None:
        amounts: dict[int, int] = otherwise()
        return amounts
    return dict(zip(_seats(state, where, given), given.values(), strict=True))


def in_words(sentence: str, agent_ids: Sequence[str]) -> str:
    """Return a sentence of the core with the ids of the seats that it names."""
    return _SEAT.sub(lambda found: _name(int(found[1]), agent_ids), sentence)


def _name(seat: int, agent_ids: Sequence[str]) -> str:
    return agent_ids[seat] if seat < len(agent_ids) else f"seat {seat}"


_SEAT = re.compile(r"\bseat (\d+)\b")
