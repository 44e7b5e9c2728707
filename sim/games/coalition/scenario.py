"""What a match is played with: tasks, who discovers them and when, and what each agent brings; all drawn at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import msgspec

from sim.games.coalition.parameters import Parameters, Range, TaskSpec, bounds
from sim.games.coalition.things import Agent, Task


class Discovery(msgspec.Struct, frozen=True):
    """When a task is discovered, in seconds of the match, and by which seats."""

    at: float
    task: int
    seats: tuple[int, ...]


class Scenario(msgspec.Struct, frozen=True):
    """What a match is played with.

    Attributes:
        tasks: The tasks.
        discoveries: When they are discovered, in order; those after the horizon are left out.
        agents: What each seat brings along.
        costs: What membership costs each seat, by task; task 1 comes first.
        peers: The other seats that each seat knows, in order.
    """

    tasks: list[Task]
    discoveries: list[Discovery]
    agents: list[Agent]
    costs: list[list[int]]
    peers: list[tuple[int, ...]]


def draw(game: Parameters, agent_ids: Sequence[str], rng: Random) -> Scenario:
    """Draw a scenario."""
    seats = {agent_id: seat for seat, agent_id in enumerate(agent_ids)}
    specs = game.tasks if isinstance(game.tasks, tuple) else (TaskSpec(),) * game.tasks
    tasks = [_task(game, number, spec, rng) for number, spec in enumerate(specs, 1)]
    times = _times(game, rng)
    discoveries = [
        Discovery(next(times) if spec.at is None else spec.at, task.id, _discoverers(game, spec, seats, rng))
        for task, spec in zip(tasks, specs, strict=True)
    ]
    if game.horizon is not None:
        discoveries = [discovery for discovery in discoveries if discovery.at <= game.horizon]
    return Scenario(
        tasks,
        sorted(discoveries, key=lambda discovery: (discovery.at, discovery.task)),
        [Agent(_capabilities(game, agent_id, rng), _units(game, agent_id, rng)) for agent_id in agent_ids],
        [_costs(game, agent_id, rng) for agent_id in agent_ids],
        [_peers(game, seat, len(agent_ids), rng) for seat in seats.values()],
    )


def _whole(held: Range, rng: Random) -> int:
    low, high = bounds(held)
    return low if low == high else rng.randint(low, high)


def _task(game: Parameters, number: int, spec: TaskSpec, rng: Random) -> Task:
    requires = spec.requires
    if requires is None:
        requires = tuple(_whole(game.requires, rng) for _ in range(_kinds(game)))
    return Task(
        id=number,
        value=_whole(game.value if spec.value is None else spec.value, rng),
        quorum=_whole(game.quorum if spec.quorum is None else spec.quorum, rng),
        seconds=game.seconds if spec.seconds is None else spec.seconds,
        requires=requires,
        exclusive=game.exclusive if spec.exclusive is None else spec.exclusive,
    )


def _kinds(game: Parameters) -> int:
    """Return how many components capabilities have."""
    given = game.capabilities
    return max(map(len, given.values()), default=0) if isinstance(given, dict) else game.kinds


def _times(game: Parameters, rng: Random) -> Iterator[float]:
    """Give times of discovery in order: those that are listed, or those of a Poisson process."""
    if isinstance(game.discovery, tuple):
        yield from game.discovery
        return
    at = 0.0
    while True:
        at += rng.expovariate(game.discovery)
        yield at


def _discoverers(game: Parameters, spec: TaskSpec, seats: dict[str, int], rng: Random) -> tuple[int, ...]:
    who = game.discoverers if spec.discoverers is None else spec.discoverers
    if isinstance(who, tuple):
        return tuple(sorted(seats[agent_id] for agent_id in who))
    if isinstance(who, int):
        return tuple(sorted(rng.sample(range(len(seats)), min(who, len(seats)))))
    return tuple(seats.values())


def _capabilities(game: Parameters, agent_id: str, rng: Random) -> tuple[int, ...]:
    given = game.capabilities
    if isinstance(given, dict):
        return given[agent_id]
    return tuple(_whole(given, rng) for _ in range(game.kinds))


def _units(game: Parameters, agent_id: str, rng: Random) -> int:
    return _whole(game.units[agent_id] if isinstance(game.units, dict) else game.units, rng)


def _costs(game: Parameters, agent_id: str, rng: Random) -> list[int]:
    given = game.costs[agent_id] if isinstance(game.costs, dict) else game.costs
    if isinstance(given, dict):
        return [given.get(number, 0) for number in range(1, game.count + 1)]
    return [_whole(given, rng) for _ in range(game.count)]


def _peers(game: Parameters, seat: int, seats: int, rng: Random) -> tuple[int, ...]:
    others = [other for other in range(seats) if other != seat]
    known = game.known_peers
    return tuple(others if known is None or known >= len(others) else sorted(rng.sample(others, known)))
