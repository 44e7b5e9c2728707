"""What the agents of a coalition match could make at most, and the Shapley value of each one's part in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import fsum, inf, prod
from typing import TYPE_CHECKING, Any, Final

import msgspec

from experiments import cooperative
from experiments.cooperative.worth import membership
from sim.games.coalition import CoalitionGame
from sim.games.coalition.state import CoalitionState
from sim.games.coalition.things import Task
from sim.judge import start
from sim.record import MatchSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_SEATS: Final = 8
"""Seats up to which Shapley values are computed: 256 coalitions."""

MOST_NEEDS: Final = 50_000
"""Up to so many different needs of a task (quorum and requirement), the cheapest coalition is found by programming."""

MOST_SEARCHES: Final = 50
"""Tasks of a run, of more needs than that, for which branch and bound looks for the best coalition."""

MOST_WORK: Final = 2_000_000_000
"""Needs times agents, added up over the tasks of a run, after which matches are left out: about 20 s."""

_MOST_KEPT: Final = 10_000


class Potential(msgspec.Struct, frozen=True):
    """What could be made in a match.

    Attributes:
        best: The most that could be made, in currency: values of tasks less their members' private costs.
        exact: Whether it could; otherwise no more could be made than that.
        shapley: The Shapley value of each seat, in seat order; empty for many seats.
    """

    best: float
    exact: bool
    shapley: tuple[float, ...]


class World:
    """Computes what could be made, once for each distinct world, and no longer than `quorum results` should take.

    A task is done by a coalition within the circle of one of its discoverers: the seat itself and the peers that it
    can invite. Units do not count, as proposals may ask for none; nor does time. So tasks do not get in each other's
    way, and the most that can be made is the sum of what the best coalition makes of each: of an exclusive task
    once, of another once for each of its discoverers, who may initiate one formation each.
    """

    def __init__(self) -> None:
        self._found: dict[bytes, Potential | None] = {}
        self._searches = MOST_SEARCHES
        self._work = MOST_WORK

    def potential(self, game: CoalitionGame, agent_ids: tuple[str, ...], seed: int) -> Potential | None:
        """Return what could be made in a match; None where finding out would take too long."""
        state: Any = start(MatchSpec(0, agent_ids, seed), game)
        quests = list(_quests(state))
        key = msgspec.msgpack.encode((state.world.agents, quests))
        if key not in self._found:
            if len(self._found) >= _MOST_KEPT:  # drawn amounts: every match has its own
                self._found.clear()
            self._found[key] = self._compute(quests, [agent.capabilities for agent in state.world.agents])
        return self._found[key]

    def _compute(self, quests: Sequence[_Quest], capabilities: Sequence[Sequence[int]]) -> Potential | None:
        best, exact = [], True
        for quest in quests:
            gains = []
            for circle in dict.fromkeys(quest.circles):
                found = self._gain(quest, circle, capabilities)
                if found is None:
                    return None
                gains += [found[0]] * (1 if quest.task.exclusive else quest.circles.count(circle))
                exact &= found[1]
            best.append(max(gains) if quest.task.exclusive else fsum(gains))
        return Potential(fsum(best), exact, tuple(shapley(quests, capabilities)))

    def _gain(
        self, quest: _Quest, circle: Sequence[int], capabilities: Sequence[Sequence[int]]
    ) -> tuple[float, bool] | None:
        """Return what the best coalition of a circle makes of a task, and whether that is exact; 0 if it is nothing."""
        task = quest.task
        needs = prod(need + 1 for need in (task.quorum, *task.requires))
        if needs <= MOST_NEEDS:
            self._work -= needs * len(circle)
            if self._work < 0:
                return None
            given = [(capabilities[seat], quest.costs[seat]) for seat in circle]
            return max(0.0, task.value - cheapest(task.quorum, task.requires, given)), True
        self._searches -= 1
        if self._searches < 0:
            return None
        agents = [cooperative.Agent((quest.costs[seat],), _fit(capabilities[seat], task.requires)) for seat in circle]
        asked = cooperative.Task(task.value, task.quorum, task.requires)
        found = cooperative.best_coalitions([asked], agents, seconds=1.0)
        return found.bound, found.exact


class _Quest(msgspec.Struct, frozen=True):
    """A task that is discovered.

    Attributes:
        task: The task.
        costs: What membership costs each seat.
        discoverers: Who discovers it.
        circles: For each of them, who may be invited, in seat order, itself among them.
    """

    task: Task
    costs: tuple[int, ...]
    discoverers: tuple[int, ...]
    circles: tuple[tuple[int, ...], ...]


def _quests(state: CoalitionState) -> Iterable[_Quest]:
    for discovery in sorted(state.discoveries, key=lambda discovery: discovery.task):
        circles = tuple(tuple(sorted((seat, *state.peers[seat]))) for seat in discovery.seats)
        costs = tuple(costs[discovery.task - 1] for costs in state.costs)
        yield _Quest(state.world.tasks[discovery.task], costs, discovery.seats, circles)


def _fit(capabilities: Sequence[int], requires: Sequence[int]) -> tuple[int, ...]:
    """Return as many capabilities as are required: what an agent does not have is 0, what nobody needs is nothing."""
    return (*capabilities, *[0] * len(requires))[: len(requires)]


def cheapest(quorum: int, requires: Sequence[int], agents: Iterable[tuple[Sequence[int], int]]) -> float:
    """Return the least cost at which so many agents can be had who meet the requirement; infinite if there are none.

    Dynamic programming over what is still needed, for any number of agents.

    Args:
        quorum: How many agents are needed at least.
        requires: What their capabilities must add up to, by component.
        agents: Capabilities and cost, of 0 or more, of each.
    """
    import numpy as np

    shape = tuple(need + 1 for need in (quorum, *requires))
    costs = np.full(prod(shape), inf)
    costs[0] = 0.0
    for capabilities, cost in agents:
        costs = np.minimum(costs, cost + costs[_rest(shape, (1, *_fit(capabilities, requires)))])
    return float(costs[-1])


@lru_cache(maxsize=256)
def _rest(shape: tuple[int, ...], given: tuple[int, ...]) -> NDArray[np.int64]:
    """Return for each need, as an index, the need that is left once an agent has given what it can."""
    import numpy as np

    left = [np.maximum(np.arange(size) - amount, 0) for size, amount in zip(shape, given, strict=True)]
    return np.ravel_multi_index(np.meshgrid(*left, indexing="ij"), shape).ravel()


# ── Shapley values ──────────────────────────────────────────────────────────────────────────────────────────


def shapley(quests: Sequence[_Quest], capabilities: Sequence[Sequence[int]]) -> list[float]:
    """Return the Shapley value of each seat, none for more than `MOST_SEATS`.

    A coalition is worth what it can make on its own: of the tasks that its members discover, with those of its
    members that the discoverer can invite. Who discovers a task alone is needed for it.
    """
    if len(capabilities) > MOST_SEATS:
        return []
    if not quests:
        return [0.0] * len(capabilities)
    worth: Any = sum(_worth(quest, capabilities) for quest in quests)
    return cooperative.shapley_value(len(capabilities), lambda seats: float(worth[sum(1 << seat for seat in seats)]))


def _worth(quest: _Quest, capabilities: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return what each coalition can make of a task, by mask."""
    import numpy as np

    task, count = quest.task, len(capabilities)
    inside = membership(count)
    has = inside @ np.array([_fit(able, task.requires) for able in capabilities]).reshape(count, len(task.requires))
    able = (inside.sum(axis=1) >= task.quorum) & (has >= np.array(task.requires)).all(axis=1)
    gains = np.where(able, task.value - inside @ np.array(quest.costs), 0.0).clip(min=0.0)
    masks = np.arange(1 << count)
    for seat in range(count):  # the best of all parts of a coalition
        without = masks[inside[:, seat] == 0]
        gains[without | 1 << seat] = np.maximum(gains[without | 1 << seat], gains[without])
    worth = np.zeros(1 << count)
    for seat, circle in zip(quest.discoverers, quest.circles, strict=True):
        own = np.where(inside[:, seat] == 1, gains[masks & sum(1 << other for other in circle)], 0.0)
        worth = np.maximum(worth, own) if task.exclusive else worth + own
    return worth
