"""Coalition formation as a mixed integer linear programme, for more agents than every coalition can be tried of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import Any

from experiments.cooperative.tasks import Agent, Coalition, Task, meets


class _Slot:
    """Columns of a coalition that may form for a task: whether it does, and which agents are members."""

    def __init__(self, task: int, first: int, able: Sequence[int]) -> None:
        self.task = task
        self.active = first
        self.member = {agent: first + 1 + index for index, agent in enumerate(able)}


class _Rows:
    """Constraints: a sparse row of coefficients by column, 0 or more unless another lower bound is given."""

    def __init__(self) -> None:
        self.rows: list[dict[int, float]] = []
        self.lowest: list[float] = []

    def add(self, row: dict[int, float], lowest: float = 0.0) -> None:
        self.rows.append(row)
        self.lowest.append(lowest)

    def constraint(self, columns: int) -> Any:
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array

        entries = [(r, c, value) for r, row in enumerate(self.rows) for c, value in row.items()]
        at_row, at_column, values = zip(*entries, strict=True)
        matrix = csr_array((values, (at_row, at_column)), shape=(len(self.rows), columns), dtype=float)
        return LinearConstraint(matrix, lb=self.lowest)


def by_programme(
    tasks: Sequence[Task], agents: Sequence[Agent], seconds: float
) -> tuple[list[Coalition], float | None]:
    """Return the best coalitions found, and an upper bound of the welfare, or None where they are the best.

    A coalition that may form is a binary column that carries the task's value, and one for each agent that carries
    minus its cost; a task that is not exclusive has as many as its agents' resources could pay for.
    """
    from scipy.optimize import Bounds, milp

    slots = list(_slots(tasks, agents))
    if not slots:
        return [], None
    columns = slots[-1].active + 1 + len(slots[-1].member)
    losses = [0.0] * columns
    for slot in slots:
        losses[slot.active] = -tasks[slot.task].value
        for agent, column in slot.member.items():
            losses[column] = agents[agent].costs[slot.task]
    scale = max(map(abs, losses)) or 1.0  # the solver's gap of 1e-6 is absolute
    problem = {
        "c": [loss / scale for loss in losses],
        "bounds": Bounds(0, 1),
        "constraints": _constraints(slots, tasks, agents).constraint(columns),
    }
    solved = milp(**problem, integrality=[1] * columns, options={"time_limit": seconds, "mip_rel_gap": 0.0})
    formed = [] if solved.x is None else _formed(slots, solved.x)
    found = [coalition for coalition in formed if meets(coalition, tasks, agents)]
    if solved.status == 0 and found == formed:  # the solver forgives more than we do
        return found, None
    bound = solved.mip_dual_bound
    if bound is None or not isfinite(bound):
        bound = milp(**problem).fun
    return found, inf if bound is None else -bound * scale


def _slots(tasks: Sequence[Task], agents: Sequence[Agent]) -> Iterator[_Slot]:
    column = 0
    for number, task in enumerate(tasks):
        able = [a for a, agent in enumerate(agents) if agent.resources >= task.commitment]
        seats = len(able) if task.exclusive else sum(agents[a].resources // task.commitment for a in able)
        most = seats // task.quorum
        for _ in range(min(most, 1) if task.exclusive else most):
            yield _Slot(number, column, able)
            column += 1 + len(able)


def _constraints(slots: Sequence[_Slot], tasks: Sequence[Task], agents: Sequence[Agent]) -> _Rows:
    rows = _Rows()
    bound: list[dict[int, float]] = [{} for _ in agents]
    for slot in slots:
        task = tasks[slot.task]
        rows.add({slot.active: -task.quorum} | dict.fromkeys(slot.member.values(), 1.0))
        for component, needed in enumerate(task.requirements):
            if needed > 0:
                shares = {column: agents[a].capabilities[component] / needed for a, column in slot.member.items()}
                rows.add({slot.active: -1.0} | shares)
        for agent, column in slot.member.items():
            rows.add({slot.active: 1.0, column: -1.0})
            bound[agent][column] = -task.commitment
    for agent, row in enumerate(bound):
        if row:
            rows.add(row, -agents[agent].resources)
    for one, other in pairwise(slots):
        if one.task == other.task:  # alike, so the earlier one forms first
            rows.add({one.active: 1.0, other.active: -1.0})
    return rows


def _formed(slots: Sequence[_Slot], x: Sequence[float]) -> list[Coalition]:
    return [
        Coalition(slot.task, tuple(agent for agent, column in slot.member.items() if x[column] > 0.5))
        for slot in slots
        if x[slot.active] > 0.5
    ]
