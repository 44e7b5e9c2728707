"""From YAML, overrides and Python to what a run is to play."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import msgspec

from actors.agent import Agent
from actors.registry import AGENTS, make_agent
from actors.runtime.plan import Plan, Point, Settings
from experiments.mistakes import explain, shown
from sim.errors import ConfigError, nearest
from sim.game import Game
from sim.games import GAMES, game_type

CONF = Path(__file__).parent / "conf"

_LINE_UP = ("seats", "roles")
"""What a line-up holds."""


class ExperimentConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An experiment in Python.

    Attributes:
        game_id: The game, when none is passed to `run`; None is provision-point. One that is passed must be this one.
        num_matches: How many matches each grid point plays.
        seed: Seed of the run.
        runtime: "local", "packed", "ray", or `Settings`.
        out: Run directory; None makes `runs/GAME-TIME`.
    """

    game_id: str | None = None
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
            known = sorted(file.stem for file in file.parent.glob("*.yaml"))
            hint = nearest(str(self.runtime), known)
            raise ConfigError(f"runtime={self.runtime}: there is no such runtime{hint} (there is: {', '.join(known)})")
        settings: Settings = convert(msgspec.yaml.decode(file.read_bytes()), Settings, "runtime")
        return settings


def line_up(agents: Mapping[str, Any], game: Game) -> Any:
    """Return who sits where, `{seat id: {kind: ...}}`.

    A game whose parameters name its seats (`Game.seat_ids`) takes `roles: {ROLE: {kind: ...}}`, and `seats` for those
    that are to differ; every other game takes `seats` alone.

    Raises:
        ConfigError: A role or a seat does not exist, or nobody sits at one.
    """
    named = game.seat_ids()
    if named is None:
        if "roles" in agents:
            raise ConfigError(
                f"agents.roles: a line-up by roles needs a game that names its seats, such as game=bargaining; "
                f"{game.game_id} takes agents.seats.ID.kind=..., or a line-up of its own by agents=..."
            )
        return agents.get("seats")
    roles = [game.role(named, seat) for seat in range(len(named))]
    seats = agents.get("seats")
    if "roles" not in agents and isinstance(seats, Mapping) and seats and not seats.keys() & set(named):
        raise ConfigError(
            f"agents.seats: {', '.join(map(str, seats))} are not the seats of this {game.game_id} game, which names "
            f"its own: {', '.join(named)}; choose a line-up for it by agents=... (`quorum agents` lists them)"
        )
    by_seat, by_role = _only(agents, "seats", named), _only(agents, "roles", list(dict.fromkeys(roles)))
    for agent_id, role in zip(named, roles, strict=True):
        if agent_id not in by_seat and role not in by_role:
            raise ConfigError(f"agents: nobody sits at {agent_id}; set agents.roles.{role} or agents.seats.{agent_id}")
    return {
        agent_id: by_seat[agent_id] if agent_id in by_seat else by_role[role]
        for agent_id, role in zip(named, roles, strict=True)
    }


def _only(agents: Mapping[str, Any], key: str, allowed: Sequence[str]) -> Mapping[str, Any]:
    held = agents.get(key)
    if held is None:
        return {}
    if not isinstance(held, Mapping):
        raise ConfigError(f"agents.{key}={shown(held)}: a mapping to {{kind: ...}} is needed")
    for word in held:
        if word not in allowed:
            there_is = f"{nearest(str(word), allowed)} (there is: {', '.join(allowed)})"
            raise ConfigError(f"agents.{key}.{word}={shown(held[word])}: there is no such key{there_is}")
    return held


def _keys(agents: Mapping[str, Any], game: Game) -> dict[str, str]:
    """Return the keys of the seats that their role describes, by seat id."""
    named, seats = game.seat_ids() or (), agents.get("seats") or {}
    return {
        agent_id: f"agents.roles.{game.role(named, seat)}"
        for seat, agent_id in enumerate(named)
        if agent_id not in seats
    }


def agents_from(seats: Any, keys: Mapping[str, str] = MappingProxyType({})) -> tuple[Agent, ...]:
    """Make the agents of a line-up, `{seat id: {kind: ..., repeat: ..., option: ...}}`.

    `kind` is a kind of agent or the import path of a class. `keys` are what errors call the seats that are not set
    at `agents.seats`. `repeat` above 1 makes as many seats, which are called
    NAME_1, NAME_2, ... The rest are the agent's own options.

    Raises:
        ConfigError: A seat is not described well enough; the text names its key.
    """
    if not isinstance(seats, Mapping) or not seats:
        raise ConfigError(f"agents.seats={shown(seats)}: a mapping of seat ids to {{kind: ...}} is needed")
    return tuple(agent for name, config in seats.items() for agent in _agents_of(str(name), config, keys))


def _agents_of(name: str, config: Any, keys: Mapping[str, str]) -> list[Agent]:
    key = keys.get(name, f"agents.seats.{name}")
    if not isinstance(config, Mapping):
        raise ConfigError(f"{key}={shown(config)}: {{kind: ...}} is needed (kinds: {', '.join(AGENTS)})")
    options = {str(option): value for option, value in config.items()}
    kind, repeat = options.pop("kind", None), options.pop("repeat", 1)
    if not isinstance(kind, str):
        hint = "; did you mean kind?" if "kind" not in config and nearest("kind", options) else ""
        held = f"{key}.kind={shown(kind)}: " if "kind" in config else f"{key}={shown(config)}: "
        raise ConfigError(f"{held}a kind of agent is needed{hint} (kinds: {', '.join(AGENTS)})")
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
        raise ConfigError(f"{key}.repeat={shown(repeat)}: allowed is a whole number of at least 1")
    names = [name] if repeat == 1 else [f"{name}_{n}" for n in range(1, repeat + 1)]
    try:
        return [make_agent(kind, agent_id, options) for agent_id in names]
    except ConfigError as error:
        text = str(error)
        own = next((word for word in options if text.startswith(f"{word}=")), "")
        hint = nearest(own, ("kind", "repeat")) if "no such option" in text and "did you mean" not in text else ""
        if "no such option" in text and own and not hint:
            hint = f"; to leave it out write ~{key}.{own}"
        raise ConfigError(f"{key}.{text}{hint}" if own or text.startswith("kind=") else f"{key}: {text}") from None


def game_from(params: Mapping[str, Any]) -> Game:
    """Make a game from its parameters; `game_id` names it, or `class` its import path (`package.module:Class`).

    Raises:
        ConfigError: A parameter is unknown or out of range; the text names its key.
    """
    fields = dict(params)
    game_id, path = fields.pop("game_id", ""), fields.pop("class", None)
    kind: type[Game] = Game
    try:
        kind = game_type(str(game_id)) if path is None else _imported_game(str(path))
        game: Game = convert(fields, kind, "game")
    except ConfigError as error:
        text = str(error)
        first = re.split(r"\W", text)[0]
        known = first in ("game_id", "class", *fields)
        raise ConfigError(f"game.{text}" if known else f"{_part(fields, kind)}{text}") from None
    return game


def _part(fields: Mapping[str, Any], kind: type[Game]) -> str:
    """Return the key of a part that its own type refuses without knowing what it is called, or nothing."""
    for field in msgspec.structs.fields(kind):
        held, kinds = fields.get(field.name), get_args(field.type)
        for name, part in held.items() if isinstance(held, Mapping) and len(kinds) == 2 else ():
            try:
                msgspec.convert(part, kinds[1])
            except ConfigError:
                return f"game.{field.name}.{name}: "
            except msgspec.ValidationError:
                continue
    return ""


def game_params(game: Game) -> dict[str, Any]:
    """Return what `game_from` makes the game from."""
    kind = type(game)
    home = {} if GAMES.get(game.game_id) is kind else {"class": f"{kind.__module__}:{kind.__qualname__}"}
    params: dict[str, Any] = msgspec.to_builtins(game)
    return {"game_id": game.game_id, **home, **params}


def _imported_game(path: str) -> type[Game]:
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing runs the user's own code
        what = f"{type(error).__name__}: {error}"
        raise ConfigError(f"class={path!r}: the game cannot be imported: {what}") from None
    if not (isinstance(found, type) and issubclass(found, Game)):
        raise ConfigError(f"class={path!r}: {name} is not a subclass of sim.Game")
    return found


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
        plan = Plan(tuple(_point(**point) for point in self.points), self.num_matches, self.seed)
        plan.check()
        return plan, convert(self.runtime, Settings, "runtime")


def _point(labels: Mapping[str, Any], game: Any, agents: Any) -> Point:
    if not isinstance(game, Mapping):
        raise ConfigError(f"game={shown(game)}: a mapping with a game_id is needed")
    if not isinstance(agents, Mapping) or not agents.keys() & _LINE_UP:
        raise ConfigError(f"agents={shown(agents)}: a mapping with seats is needed")
    other = [str(key) for key in agents if key not in _LINE_UP]
    if other:
        hint = f"{nearest(other[0], _LINE_UP)} (there is: {', '.join(_LINE_UP)})"
        raise ConfigError(f"agents.{other[0]}={shown(agents[other[0]])}: there is no such key{hint}")
    made = game_from(game)
    point = Point(made, agents_from(line_up(agents, made), _keys(agents, made)), labels)
    for agent in point.agents:
        plays = getattr(agent, "games", ())
        if plays and made.game_id not in plays:
            where = f"agents.seats.{agent.agent_id}"
            raise ConfigError(f"{where}: {type(agent).__name__} plays {', '.join(plays)}, not {made.game_id}")
    try:
        point.game.check_seats(point.agent_ids)
    except ConfigError as error:
        text = str(error)
        raise ConfigError(f"game.{text}" if text.split(" ")[0] in game else f"agents.seats: {text}") from None
    return point


def compose(overrides: Sequence[str], folder: Path | None = None) -> RunConfig:
    """Compose a run from `conf/` and overrides such as `game.threshold=100,150,200` (a grid).

    Args:
        overrides: The settings.
        folder: Another folder with files `game/NAME.yaml`, `agents/NAME.yaml` or `runtime/NAME.yaml`.

    Raises:
        ConfigError: An override is misspelt or does not fit.
    """
    from experiments.composing import compose_points

    if folder is not None and not folder.is_dir():
        raise ConfigError(f"--config-dir={folder}: there is no such folder")
    composed = list(compose_points([CONF] if folder is None else [CONF, folder], overrides))
    top: dict[str, Any] = composed[0][1]
    points = [{"labels": labels, "game": config["game"], "agents": config["agents"]} for labels, config in composed]
    out = top["out"]
    return RunConfig(
        points=points,
        runtime=top["runtime"],
        num_matches=convert(top["num_matches"], int, "num_matches"),
        seed=convert(top["seed"], int, "seed"),
        out=convert(str(out) if type(out) is int else out, str | None, "out"),  # type: ignore[arg-type]
    )
