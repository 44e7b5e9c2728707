"""Copies of learning agents in the cells of a run, and the one place that gathers what they have learnt from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from actors.learning.learner import Learner, Lessons
from actors.runtime.plan import Plan

Place: TypeAlias = tuple[int, int]
"""Where an agent plays: grid point and seat."""

Versions: TypeAlias = dict[Place, dict[str, bytes]]
"""The models of the learning agents, as bytes."""

Learnt: TypeAlias = dict[Place, Lessons]
"""What the copies of one cell have learnt from since they were last asked."""


def learners(plan: Plan, seats: Collection[int] | None = None) -> dict[Place, Learner]:
    """Return the learning agents of a plan; with `seats` those of these seats alone."""
    return {
        (number, seat): agent
        for number, point in enumerate(plan.points)
        for seat, agent in enumerate(point.agents)
        if isinstance(agent, Learner) and (seats is None or seat in seats)
    }


def exchange(copies: Mapping[Place, Learner], versions: Versions) -> Learnt:
    """Give copies the models of the one place; return what they have learnt from since they were last given them."""
    learnt = {place: agent.exchange(versions[place]) for place, agent in copies.items()}
    return {place: lessons for place, lessons in learnt.items() if lessons}


class Originals:
    """The learning agents of a run whose copies play in cells.

    Args:
        plan: The run's plan; its agents do not play themselves.
    """

    def __init__(self, plan: Plan) -> None:
        self._agents = learners(plan)

    def __bool__(self) -> bool:
        return bool(self._agents)

    def versions(self) -> Versions:
        """Return their models."""
        return {place: agent.versions() for place, agent in self._agents.items()}

    def gather(self, learnt: Sequence[Learnt]) -> None:
        """Learn from what copies have learnt from."""
        for place, agent in self._agents.items():
            agent.gather(cell[place] for cell in learnt if place in cell)
