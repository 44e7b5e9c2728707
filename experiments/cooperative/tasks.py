"""What coalitions form for: tasks, the agents that could do them, and the best that they could do."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isfinite

import msgspec

TOLERANCE = 1e-9
"""By what part of a requirement capabilities may fall short, as sums of floats do."""


class Task(msgspec.Struct, frozen=True):
    """Something that a coalition can do.

    Attributes:
        value: What doing it is worth, in currency.
        quorum: How many members it needs at least.
        requirements: What its members' capabilities must add up to at least, by component.
        commitment: Units of resources that each member binds.
        exclusive: Whether one coalition at most does it; otherwise each of several makes the value.
    """

    value: float
    quorum: int = 1
    requirements: tuple[float, ...] = ()
    commitment: int = 1
    exclusive: bool = True


class Agent(msgspec.Struct, frozen=True):
    """Someone who can be a member.

    Attributes:
        costs: What being a member costs it, in currency, by task.
        capabilities: What it adds to each coalition that it is in, by component.
        resources: Units that it has for all its coalitions together.
    """

    costs: tuple[float, ...]
    capabilities: tuple[float, ...] = ()
    resources: int = 1


class Coalition(msgspec.Struct, frozen=True, order=True):
    """Who does a task.

    Attributes:
        task: Number of the task.
        members: Numbers of the agents, in rising order.
    """

    task: int
    members: tuple[int, ...]


class BestCoalitions(msgspec.Struct, frozen=True):
    """The best coalitions that were found, and how good any could be.

    Attributes:
        welfare: What these coalitions make: values minus their members' costs, in currency.
        coalitions: By task, then by members.
        bound: No coalitions make more than that. Equal to `welfare` where the result is exact.
        exact: Whether these coalitions are the best. Otherwise `bound` is that of a relaxation, which may be out of
            reach, and only a lower bound of efficiency can be given.
    """

    welfare: float
    coalitions: tuple[Coalition, ...]
    bound: float
    exact: bool


def gain(coalition: Coalition, tasks: Sequence[Task], agents: Sequence[Agent]) -> float:
    """Return what a coalition makes, in currency."""
    costs = [agents[member].costs[coalition.task] for member in coalition.members]
    return fsum([tasks[coalition.task].value, *(-cost for cost in costs)])


def meets(coalition: Coalition, tasks: Sequence[Task], agents: Sequence[Agent]) -> bool:
    """Return whether a coalition can do its task: enough members, and enough of each capability."""
    task = tasks[coalition.task]
    return len(coalition.members) >= task.quorum and all(
        fsum(agents[member].capabilities[c] for member in coalition.members) >= needed * (1 - TOLERANCE)
        for c, needed in enumerate(task.requirements)
    )


def check(tasks: Sequence[Task], agents: Sequence[Agent]) -> None:
    """Raise ValueError for what makes no sense, and for vectors that do not fit together."""
    components = len(tasks[0].requirements) if tasks else None
    for t, task in enumerate(tasks):
        if not isfinite(task.value):
            raise ValueError(f"task {t}: value={task.value}; a finite number is needed")
        if task.quorum < 1 or task.commitment < 1:
            raise ValueError(f"task {t}: quorum={task.quorum}, commitment={task.commitment}; 1 or more are needed")
        _check_vector(f"task {t}: requirements", task.requirements, components)
    for a, agent in enumerate(agents):
        if len(agent.costs) != len(tasks) or not all(isfinite(cost) for cost in agent.costs):
            raise ValueError(f"agent {a}: costs={agent.costs}; a finite number per task, {len(tasks)}, is needed")
        if agent.resources < 0:
            raise ValueError(f"agent {a}: resources={agent.resources}; 0 or more are needed")
        _check_vector(f"agent {a}: capabilities", agent.capabilities, components)


def _check_vector(name: str, vector: Sequence[float], components: int | None) -> None:
    if components is not None and len(vector) != components:
        raise ValueError(f"{name}={vector}; as many components as task 0 requires, {components}, are needed")
    if not all(isfinite(amount) and amount >= 0 for amount in vector):
        raise ValueError(f"{name}={vector}; finite numbers of 0 or more are needed")
