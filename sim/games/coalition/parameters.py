"""The parameters of the coalition game, checked."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any, Final, Literal, TypeAlias

import msgspec

from sim.errors import ConfigError
from sim.game import Game
from sim.messages import Struct

Range: TypeAlias = int | tuple[int, int]
"""A whole number, or the bounds that one is drawn evenly between, both of them possible."""

Costs: TypeAlias = Range | dict[int, int]
"""What membership costs a seat: for any task, or by number of the task; 0 for tasks that are left out."""

MOST: Final = 10**9
"""The largest amount that a parameter may hold."""


class TaskSpec(Struct, frozen=True):
    """A task that is given. What is left out is as the parameter of the same name says.

    Attributes:
        value: What there is to share out.
        quorum: How many have to sign.
        requires: What the signers' capabilities have to add up to, by component.
        seconds: How long a formation for it may take.
        exclusive: Whether one coalition at most may be active for it.
        at: When it is discovered, in seconds of the match.
        discoverers: Who discovers it.
    """

    value: Range | None = None
    quorum: Range | None = None
    requires: tuple[int, ...] | None = None
    seconds: float | None = None
    exclusive: bool | None = None
    at: float | None = None
    discoverers: Literal["all"] | int | tuple[str, ...] | None = None


class Parameters(Game, frozen=True, kw_only=True, dict=True):
    """What a coalition game is played with. Where a range is given, it is drawn for each match from its seed.

    Attributes:
        tasks: How many tasks there are, or the tasks themselves; they are numbered from 1 on.
        value: What a task's allocation may share out, in currency.
        quorum: How many have to sign.
        requires: What a task requires of each capability; the signers' have to add up to it.
        seconds: How long a formation may take from its initiation, in seconds.
        exclusive: Whether one coalition at most may be active for a task.
        discovery: Tasks discovered in a second on average (a Poisson process), or when each is, in seconds.
        discoverers: Who discovers a task: "all", how many seats (drawn for each task), or which.
        horizon: Seconds after which nothing new is discovered; None is without end.
        kinds: How many capabilities there are, where they are drawn.
        capabilities: What an agent has of each capability, or its capabilities by seat id.
        units: How many units of the resource an agent can commit; one for all, or by seat id.
        costs: What membership costs an agent, its private matter; drawn for each agent and task, or by seat id.
        known_peers: How many others an agent knows, and can invite; None is all.
        activation_timeout: How long the initiator has to decide after consensus, in seconds.
        max_versions: How many versions a formation may have.
    """

    turn_order: Literal["round_robin", "concurrent"] = "concurrent"
    turn_timeout: float = 2.0
    max_turns: int = 1_000_000

    tasks: int | tuple[TaskSpec, ...] = 4
    value: Range = (20, 60)
    quorum: Range = (2, 3)
    requires: Range = (1, 3)
    seconds: float = 10.0
    exclusive: bool = True
    discovery: float | tuple[float, ...] = 10.0
    discoverers: Literal["all"] | int | tuple[str, ...] = 1
    horizon: float | None = None
    kinds: int = 2
    capabilities: Range | dict[str, tuple[int, ...]] = (1, 3)
    units: Range | dict[str, Range] = 10
    costs: Range | dict[str, Costs] = (1, 9)
    known_peers: int | None = None
    activation_timeout: float = 5.0
    max_versions: int = 8

    def __post_init__(self) -> None:
        if isinstance(self.tasks, (list, tuple)):
            _make_tasks(self, self.tasks)
        Game.__post_init__(self)
        for key, kind in _CONVERTED.items():  # lists to tuples, as YAML has no tuples
            msgspec.structs.force_setattr(self, key, msgspec.convert(getattr(self, key), kind))
        for key in ("value", "quorum", "requires"):
            _check_range(key, getattr(self, key), least=1 if key == "quorum" else 0)
        for key in ("seconds", "activation_timeout", "horizon"):
            _check_seconds(key, getattr(self, key))
        for key, least in (("kinds", 0), ("known_peers", 1), ("max_versions", 1)):
            held = getattr(self, key)
            if held is not None and not least <= held <= MOST:
                raise ConfigError(f"{key}={held}: a whole number of at least {least} is needed")
        _check_discoverers("discoverers", self.discoverers)
        _check_agents(self)
        _check_tasks(self)

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return self.tasks if isinstance(self.tasks, int) else len(self.tasks)

    def named(self) -> Iterator[tuple[str, tuple[str, ...], bool]]:
        """Give each parameter that names seats, the seats, and whether it has to name all."""
        for key in ("capabilities", "units", "costs"):
            held = getattr(self, key)
            if isinstance(held, dict):
                yield key, tuple(held), True
        if isinstance(self.discoverers, tuple):
            yield "discoverers", self.discoverers, False
        for number, task in enumerate(self.tasks if isinstance(self.tasks, tuple) else (), 1):
            if isinstance(task.discoverers, tuple):
                yield f"tasks[{number - 1}].discoverers", task.discoverers, False


_CONVERTED: Final[dict[str, Any]] = {
    "value": Range,
    "quorum": Range,
    "requires": Range,
    "discovery": float | tuple[float, ...],
    "discoverers": Literal["all"] | int | tuple[str, ...],
    "capabilities": Range | dict[str, tuple[int, ...]],
    "units": Range | dict[str, Range],
    "costs": Range | dict[str, Costs],
}


def _make_tasks(game: Parameters, given: Any) -> None:
    try:
        made = tuple(task if type(task) is TaskSpec else msgspec.convert(task, TaskSpec) for task in given)
    except msgspec.ValidationError as error:
        raise ConfigError(f"tasks: {error}") from None
    msgspec.structs.force_setattr(game, "tasks", made)


def bounds(held: Range) -> tuple[int, int]:
    """Return the bounds of a range; a number is both of its own."""
    return (held, held) if isinstance(held, int) else held


def _check_range(key: str, held: Range, least: int = 0) -> None:
    low, high = bounds(held)
    if not least <= low <= high <= MOST:
        raise ConfigError(f"{key}={held}: whole numbers from {least} on are needed, the lower bound first")


def _check_seconds(key: str, held: float | None) -> None:
    if held is not None and not 0 < held < inf:
        raise ConfigError(f"{key}={held}: a number of seconds above 0 is needed")


def _check_discoverers(key: str, held: Any) -> None:
    if isinstance(held, int) and not 1 <= held <= MOST:
        raise ConfigError(f"{key}={held}: at least 1 is needed, or all, or a list of seat ids")
    if isinstance(held, tuple) and (not held or len(dict.fromkeys(held)) != len(held)):
        raise ConfigError(f"{key}={list(held)}: seat ids are needed, each once")


def _check_agents(game: Parameters) -> None:
    for key in ("capabilities", "units", "costs"):
        held = getattr(game, key)
        for where, one in held.items() if isinstance(held, dict) else [("", held)]:
            name = f"{key}.{where}" if where else key
            if isinstance(one, dict) or (isinstance(held, dict) and key == "capabilities"):
                for amount in one.values() if isinstance(one, dict) else one:
                    _check_range(name, amount)
            else:
                _check_range(name, one)


def _check_tasks(game: Parameters) -> None:
    if not 1 <= game.count <= 10**6:
        raise ConfigError(f"tasks={game.count}: from 1 to 1,000,000 are possible")
    times = game.discovery
    if isinstance(times, tuple):
        if len(times) != game.count:
            raise ConfigError(f"discovery={list(times)}: {game.count} times are needed, one for each task")
        if not all(0 <= time < inf for time in times):
            raise ConfigError(f"discovery={list(times)}: seconds of the match are needed, from 0 on")
    elif not 0 < times < inf:
        raise ConfigError(f"discovery={times}: a rate above 0 is needed, or a list of times")
    for number, task in enumerate(game.tasks if isinstance(game.tasks, tuple) else ()):
        where = f"tasks[{number}]"
        for key, least in (("value", 0), ("quorum", 1)):
            if getattr(task, key) is not None:
                _check_range(f"{where}.{key}", getattr(task, key), least)
        for amount in task.requires or ():
            _check_range(f"{where}.requires", amount)
        _check_seconds(f"{where}.seconds", task.seconds)
        if task.at is not None and isinstance(times, tuple):
            raise ConfigError(f"{where}.at={task.at}: discovery says already when each task is discovered")
        if task.at is not None and not 0 <= task.at < inf:
            raise ConfigError(f"{where}.at={task.at}: seconds of the match are needed, from 0 on")
        _check_discoverers(f"{where}.discoverers", task.discoverers)
