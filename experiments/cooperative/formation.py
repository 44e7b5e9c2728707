"""The welfare optimum of coalition formation: which agents should do which tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import TYPE_CHECKING

from experiments.cooperative.programme import by_programme
from experiments.cooperative.tasks import TOLERANCE, Agent, BestCoalitions, Coalition, Task, check, gain
from experiments.cooperative.worth import members, membership, submasks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_AGENTS = 10
"""Up to so many, looking at every coalition takes no longer than branch and bound, and is sure to end."""


def best_coalitions(tasks: Sequence[Task], agents: Sequence[Agent], seconds: float = 10.0) -> BestCoalitions:
    """Return the coalitions that make most together: the values of their tasks minus their members' private costs.

    A coalition does a task if it has the quorum and its members' capabilities add up to what is required (a
    shortfall of 1e-9 of it is forgiven). An agent can be in as many coalitions as its resources pay for. How a value
    is divided does not matter here: what one member gets, another does not. Nor does who knows whom, or when a task
    is discovered: the best is what could be done if everybody knew everything at once.

    - Up to 10 agents with resources for one coalition each: dynamic programming over sets of agents,
      O(tasks * 3**agents). Exact, and of several best results always the same.
    - Otherwise: a mixed integer linear programme, solved by branch and bound (HiGHS) with a relative gap of 0. It is
      exact to a millionth of the largest value or cost. After `seconds` it is given up, and the result is the best
      found so far, with the bound of what was left to search, or of the linear relaxation if that is all there is.

    The problem is that of Shehory and Kraus (1998), "Methods for task allocation via agent coalition formation",
    Artificial Intelligence 101.

    Args:
        tasks: What can be done.
        agents: Who can do it; each has a cost for each task.
        seconds: Time limit of branch and bound. The result depends on it, and on the machine, only where it is not
            exact.
    """
    check(tasks, agents)
    if not seconds >= 0:
        raise ValueError(f"seconds={seconds}: 0 or more are needed")
    if len(agents) <= MOST_AGENTS and all(_joins_one_at_most(agent, tasks) for agent in agents):
        return _result(_by_subsets(tasks, agents), tasks, agents)
    coalitions, bound = by_programme(tasks, agents, seconds)
    return _result(coalitions, tasks, agents, bound)


def _result(
    coalitions: Iterable[Coalition], tasks: Sequence[Task], agents: Sequence[Agent], bound: float | None = None
) -> BestCoalitions:
    found = tuple(sorted(coalitions))
    welfare = fsum(gain(coalition, tasks, agents) for coalition in found)
    return BestCoalitions(welfare, found, welfare if bound is None else max(bound, welfare), bound is None)


def _joins_one_at_most(agent: Agent, tasks: Sequence[Task]) -> bool:
    needs = sorted(task.commitment for task in tasks for _ in range(1 if task.exclusive else 2))
    return sum(needs[:2]) > agent.resources or len(needs) < 2


def _by_subsets(tasks: Sequence[Task], agents: Sequence[Agent]) -> list[Coalition]:
    """Return the best coalitions of agents that are in one at most.

    After a task, `best` holds for each set of agents what they make with the tasks up to it.
    """
    import numpy as np

    everyone = (1 << len(agents)) - 1
    parts = [submasks(mask) for mask in range(everyone + 1)]
    best = np.zeros(everyone + 1)
    chosen = np.zeros((len(tasks), everyone + 1), dtype=np.int64)
    for number, task in enumerate(tasks):
        gains = _gains(number, task, agents)
        after = best.copy()
        rest = best if task.exclusive else after  # the rest may do the same task again
        for mask, coalitions in enumerate(parts):
            welfare = gains[coalitions] + rest[mask ^ coalitions]
            index = int(np.argmax(welfare))  # the first of equals; nobody is the first of all
            after[mask], chosen[number, mask] = welfare[index], coalitions[index]
        best = after
    found, left = [], everyone
    for number in reversed(range(len(tasks))):
        while coalition := int(chosen[number, left]):
            found.append(Coalition(number, members(coalition)))
            left ^= coalition
            if tasks[number].exclusive:
                break
    return found


def _gains(number: int, task: Task, agents: Sequence[Agent]) -> NDArray[np.float64]:
    """Return what each set of agents makes with a task: -inf where they cannot do it, and 0 for nobody."""
    import numpy as np

    inside = membership(len(agents))
    capabilities = np.array([agent.capabilities for agent in agents], dtype=float)
    capabilities = capabilities.reshape(len(agents), len(task.requirements))
    able = np.array([agent.resources >= task.commitment for agent in agents], dtype=bool)
    costs = np.array([agent.costs[number] for agent in agents], dtype=float)
    possible = (
        (inside.sum(axis=1) >= task.quorum)
        & (inside @ capabilities >= np.array(task.requirements) * (1 - TOLERANCE)).all(axis=1)
        & (inside[:, ~able].sum(axis=1) == 0)
    )
    gains = np.where(possible, task.value - inside @ costs, -np.inf)
    gains[0] = 0.0
    return gains
