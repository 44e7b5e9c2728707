"""What a run is to play: its grid points, how often, and from which seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import msgspec

from actors.agent import Agent
from sim.bus import Address
from sim.delivery import Delivery
from sim.errors import ConfigError
from sim.game import ActionType, Game
from sim.record import MatchSpec
from sim.rng import derive

MAX_MATCHES = 10_000_000
"""Matches of one run at most: their numbers are held in memory."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where and how matches are played.

    Attributes:
        kind: "local" is one event loop; "ray" one Ray actor for each agent and one for the referee in each cell;
            "packed" a whole cell in one Ray actor.
        cells: How many cells; None: as many as the cluster has cores.
        window: How many matches a cell holds open.
        batch: How many finished matches a cell hands over at once.
        patience: Seconds after which it hands over fewer.
        agents_per_actor: How many seats share an agent process (ray).
        start_timeout: Seconds that the processes of a cell have to start (ray, packed). A cluster that grows on
            demand needs longer.
        clock: "real", or "virtual", which never waits (local).
        explore: Seed of the schedule in virtual time; None keeps the event loop's own order.
        delivery: How the bus treats messages, for stress runs (local).
    """

    kind: Literal["local", "ray", "packed"] = "local"
    cells: int | None = None
    window: int = 256
    batch: int = 500
    patience: float = 0.5
    agents_per_actor: int = 1
    start_timeout: float = 120.0
    clock: Literal["real", "virtual"] = "real"
    explore: int | None = None
    delivery: Delivery | None = None

    def __post_init__(self) -> None:
        for key in ("cells", "window", "batch", "agents_per_actor"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise ConfigError(f"runtime.{key}={value}: at least 1 is needed")
        for key in ("patience", "start_timeout"):
            if not 0 < getattr(self, key) < float("inf"):
                raise ConfigError(f"runtime.{key}={getattr(self, key)}: a number of seconds above 0 is needed")
        if self.explore is not None and self.clock != "virtual":
            raise ConfigError("runtime.explore needs runtime.clock=virtual: real time cannot be steered")
        if self.kind != "local":
            for key, default in (("clock", "real"), ("explore", None), ("delivery", None)):
                if getattr(self, key) != default:
                    raise ConfigError(f"runtime.{key} needs runtime.kind=local, not {self.kind}")


@dataclass(frozen=True)
class Point:
    """One point of a grid: a game with its parameters, and who plays it.

    Attributes:
        game: The game.
        agents: Who plays, in seat order.
        labels: The settings that set this point apart, by dotted key.
    """

    game: Game
    agents: tuple[Agent, ...]
    labels: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Python takes 200 for 200.0; a file that the game is read from does not, and records would differ by it.
        try:
            game = msgspec.convert(msgspec.to_builtins(self.game), type(self.game))
        except (msgspec.ValidationError, TypeError) as error:
            raise ConfigError(f"game {self.game.game_id}: {error}") from None
        object.__setattr__(self, "game", game)

    @cached_property
    def agent_ids(self) -> tuple[str, ...]:
        """Seat ids, in seat order."""
        return tuple(agent.agent_id for agent in self.agents)

    @cached_property
    def reactive(self) -> tuple[int, ...]:
        """Seats whose agents are to be told of every event at once."""
        return tuple(seat for seat, agent in enumerate(self.agents) if agent.reactive)


@dataclass(frozen=True)
class Plan:
    """What a run is to play.

    Matches are numbered through: those of the first grid point, then those of the second, and so on. The n-th
    match of every point has the same seed, so points are compared under the same draws (common random numbers).

    Attributes:
        points: The grid points.
        matches: How many matches each point plays.
        seed: Seed of the run.
    """

    points: tuple[Point, ...]
    matches: int
    seed: int

    def check(self) -> None:
        """Check that every point can be played.

        Raises:
            ConfigError: Some game cannot be played by its seats.
        """
        for key, value in (("num_matches", self.matches), ("seed", self.seed)):
            if type(value) is not int:
                raise ConfigError(f"{key}={value!r}: a whole number is needed")
        if self.matches < 1:
            raise ConfigError(f"num_matches={self.matches}: at least 1 is needed")
        if self.total > MAX_MATCHES:
            raise ConfigError(f"num_matches={self.matches}: {self.total:,} in all; one run has {MAX_MATCHES:,} at most")
        if not -(2**63) <= self.seed < 2**63:
            raise ConfigError(f"seed={self.seed}: a 64-bit integer is needed")
        for point in self.points:
            point.game.check_seats(point.agent_ids)

    @property
    def total(self) -> int:
        """How many matches there are in all."""
        return len(self.points) * self.matches

    def point(self, index: int) -> Point:
        """Return the grid point of a match."""
        return self.points[index // self.matches]

    def action_types_at(self, address: Address) -> Mapping[str, type[ActionType]]:
        """Return the action types of the game that is played at an address."""
        return self.point(address.match).game.action_types

    def spec(self, index: int) -> MatchSpec:
        """Return what makes a match."""
        number, repetition = divmod(index, self.matches)
        seed = derive(self.seed, "match", repetition)
        return MatchSpec(index, self.points[number].agent_ids, seed, number)
