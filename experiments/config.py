"""From YAML, overrides and Python to what a run is to play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.registry import make_agent
from actors.runtime.plan import Plan, Point, Settings
from experiments.mistakes import explain
from sim.errors import ConfigError
from sim.game import Game
from sim.games import game_type

CONF = Path(__file__).parent / "conf"


class ExperimentConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An experiment in Python.

    Attributes:
        game_id: The game, when none is passed to `run`.
        num_matches: How many matches each grid point plays.
        seed: Seed of the run.
        runtime: "local", "packed", "ray", or `Settings`.
        out: Run directory; None makes `runs/GAME-TIME`.
    """

    game_id: str = "provision-point"
    num_matches: int = 100
    seed: int = 0
    runtime: str | Settings = "local"
    out: str | Path | None = None

    def settings(self) -> Settings:
        """Return the runtime's settings; a name stands for the settings of `conf/runtime/NAME.yaml`.

        Raises:
            ConfigError: There is no such runtime.
        """
        if isinstance(self.runtime, Settings):
            return self.runtime
        file = CONF / "runtime" / f"{self.runtime}.yaml"
        if not file.exists():
            known = ", ".join(sorted(f.stem for f in file.parent.glob("*.yaml")))
            raise ConfigError(f"runtime={self.runtime}: there is no such runtime (there is: {known})")
        return convert(msgspec.yaml.decode(file.read_bytes()), Settings, "runtime")


class SeatConfig(msgspec.Struct, frozen=True):
    """A seat, or several alike.

    Attributes:
        kind: Kind of agent, or the import path of a class.
        repeat: How many; above 1 the seats are called NAME_1, NAME_2, ...
        options: The agent's own parameters.
    """

    kind: str
    repeat: int
    options: dict[str, Any]


def agents_from(seats: Mapping[str, Mapping[str, Any]]) -> tuple[Any, ...]:
    """Make the agents of a line-up, `{seat id: {kind: ..., repeat: ..., option: ...}}`.

    Raises:
        ConfigError: A seat is not described well enough; the text names its key.
    """
    if not isinstance(seats, Mapping) or not seats:
        raise ConfigError("agents.seats: a mapping of seat ids to {kind: ...} is needed")
    agents = []
    for name, config in seats.items():
        seat = _seat_config(name, config)
        names = [name] if seat.repeat == 1 else [f"{name}_{n}" for n in range(1, seat.repeat + 1)]
        try:
            agents.extend(make_agent(seat.kind, agent_id, seat.options) for agent_id in names)
        except ConfigError as error:
            raise ConfigError(f"agents.seats.{name}: {error}") from None
    return tuple(agents)


def _seat_config(name: str, config: Any) -> SeatConfig:
    if not isinstance(config, Mapping) or not isinstance(config.get("kind"), str):
        raise ConfigError(f"agents.seats.{name}: {{kind: ...}} is needed; `quorum agents` lists the kinds")
    options = {str(key): value for key, value in config.items() if key not in ("kind", "repeat")}
    repeat = config.get("repeat", 1)
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
        raise ConfigError(f"agents.seats.{name}.repeat={repeat}: a whole number of at least 1 is needed")
    return SeatConfig(config["kind"], repeat, options)


def game_from(params: Mapping[str, Any]) -> Game:
    """Make a game from its parameters, `game_id` among them.

    Raises:
        ConfigError: A parameter is unknown or out of range; the text names its key.
    """
    fields = dict(params)
    kind = game_type(str(fields.pop("game_id", "")))
    game: Game = convert(fields, kind, "game")
    return game


def game_params(game: Game) -> dict[str, Any]:
    """Return what `game_from` makes the game from."""
    return {"game_id": game.game_id, **msgspec.to_builtins(game)}


def convert(value: Any, kind: type[Any], key: str) -> Any:
    """Convert plain data to a typed Struct.

    Raises:
        ConfigError: It does not fit; the text names the key, what it held and what is allowed.
    """
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigError(explain(error, value, kind, key)) from None


class RunConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run as plain data: what `run.yaml` holds.

    Attributes:
        points: The grid points: `labels`, `game` and `agents`.
        runtime: Settings of the runtime.
        num_matches: How many matches each point plays.
        seed: Seed of the run.
        out: Run directory, or None.
    """

    points: list[dict[str, Any]]
    runtime: dict[str, Any]
    num_matches: int
    seed: int
    out: str | None = None

    def plan(self) -> tuple[Plan, Settings]:
        """Make what is to be played.

        Raises:
            ConfigError: Something does not fit.
        """
        points = tuple(
            Point(game_from(point["game"]), agents_from(point["agents"]["seats"]), point["labels"])
            for point in self.points
        )
        plan = Plan(points, self.num_matches, self.seed)
        plan.check()
        return plan, convert(self.runtime, Settings, "runtime")


def compose(overrides: Sequence[str]) -> RunConfig:
    """Compose a run from `conf/` and overrides such as `game.threshold=100,150,200` (a grid).

    Raises:
        ConfigError: An override is misspelt or does not fit.
    """
    from experiments.composing import compose_points

    composed = list(compose_points(CONF, overrides))
    top: dict[str, Any] = composed[0][1]
    _check_top(top)
    points = [{"labels": labels, "game": config["game"], "agents": config["agents"]} for labels, config in composed]
    return RunConfig(
        points=points,
        runtime=top["runtime"],
        num_matches=convert(top["num_matches"], int, "num_matches"),
        seed=convert(top["seed"], int, "seed"),
        out=convert(top["out"], str | None, "out"),  # type: ignore[arg-type]
    )


def _check_top(top: Mapping[str, Any]) -> None:
    unknown = [key for key in top if key not in ("game", "agents", "runtime", "num_matches", "seed", "out")]
    if unknown:
        raise ConfigError(f"{unknown[0]}: there is no such key")
