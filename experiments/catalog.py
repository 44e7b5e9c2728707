"""What there is: the games and the agents, with parameters, types and defaults, and the files that name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from actors.doc_text import entries, parameter_text, summary
from actors.registry import describe_agents
from actors.type_text import type_text, value_text
from experiments.config import CONF, compose
from experiments.display import print_json, print_line, print_page, table
from sim.errors import ConfigError, nearest
from sim.game import Game
from sim.games import GAMES

ANY = "any game"
"""What the agents that play any game are listed under."""

_MOST_SEATS = 12
"""Seats with which a game is tried to find out which roles it has."""

_LONG = 22
"""Columns of a default that stands beside its name; a longer one stands with what is said of it."""


def describe_games() -> list[dict[str, Any]]:
    """Return every game with its parameters, its actions, its rules by role, and the keys of `turn.state`."""
    return [_describe(kind()) for kind in GAMES.values()]


def describe_game(name: str) -> dict[str, Any]:
    """Return the same of one game, by its id or by its file; of a file, with the parameters that it sets.

    Raises:
        ConfigError: There is no such game; the text names the nearest.
    """
    if (game_id := name.replace("_", "-")) in GAMES:
        return _describe(GAMES[game_id]())
    files = [file["setting"].removeprefix("game=") for file in describe_files("game")]
    if name in files:
        plan, _ = compose([f"game={name}"]).plan()
        return _describe(plan.points[0].game, plan.points[0].agent_ids)
    known = list(dict.fromkeys([*GAMES, *files]))
    raise ConfigError(f"{name}: there is no such game{nearest(name, known)} (there is: {', '.join(known)})")


def describe_files(group: str) -> list[dict[str, str]]:
    """Return the files of a group of the configuration, each with what its first line says of it."""
    root = CONF / group
    return [
        {
            "setting": f"{group}={file.relative_to(root).with_suffix('').as_posix()}",
            "summary": _comment(file.read_text("utf-8")),
        }
        for file in sorted(root.rglob("*.yaml"), key=lambda file: file.with_suffix("").parts)
    ]


def _comment(text: str) -> str:
    first = text.partition("\n")[0]
    return first.lstrip("# ") if first.startswith("#") else ""


def _describe(game: Game, agent_ids: tuple[str, ...] = ()) -> dict[str, Any]:
    kind = type(game)
    return {
        "game_id": game.game_id,
        "summary": summary(kind),
        "parameters": [
            {
                "name": field.name,
                "type": type_text(field.type),
                "default": value_text(getattr(game, field.name)),
                "about": parameter_text(kind, field.name, "Attributes"),
            }
            for field in msgspec.structs.fields(kind)
        ],
        "actions": [
            {
                "name": name,
                "payload": ", ".join(f"{f.name}{'' if f.required else '?'}" for f in msgspec.structs.fields(action)),
                "summary": summary(action),
            }
            for name, action in game.action_types.items()
        ],
        "rules": {role: game.rules_text(role) for role in _roles(game, agent_ids)},
        "state": {key: parameter_text(kind, key, "turn.state") for key in entries(kind, "turn.state")},
    }


def _roles(game: Game, agent_ids: tuple[str, ...]) -> Iterable[str]:
    """Return the roles that a game has with these seats; without any, with the fewest that it can be played with."""
    named = game.seat_ids()
    if named is not None or agent_ids:
        return _roles_of(game, named or agent_ids)
    for seats in range(1, _MOST_SEATS + 1):
        agent_ids = tuple(f"agent_{number}" for number in range(1, seats + 1))
        try:
            game.check_seats(agent_ids)
        except ConfigError:
            continue
        return _roles_of(game, agent_ids)
    return ()


def _roles_of(game: Game, agent_ids: tuple[str, ...]) -> Iterable[str]:
    return dict.fromkeys(game.role(agent_ids, seat) for seat in range(len(agent_ids)))


# ── games ───────────────────────────────────────────────────────────────────────────────────────────────


def print_games(name: str | None = None, *, as_json: bool) -> None:
    """Print an overview of the games, or all that there is to know of one.

    Raises:
        ConfigError: There is no such game.
    """
    if name is not None:
        game = describe_game(name)
        if as_json:
            print_json(game)
        else:
            _print_game(game)
    elif as_json:
        print_json(describe_games())
    else:
        for kind in GAMES.values():
            _print_head(kind.game_id, summary(kind))
            _print_files("game", kind.game_id)
        print_line("rules, parameters, actions and what agents see: quorum games NAME")


def _print_game(game: Mapping[str, Any]) -> None:
    _print_head(game["game_id"], game["summary"])
    for role, rules in game["rules"].items():
        _print_heading(f"the rules, to {'an' if role[0] in 'aeiou' else 'a'} {role}")
        for paragraph in rules.split("\n"):
            print_page(Padding(Text(paragraph), (0, 0, 0, 2)))
        print_line("")
    _print_heading("parameters")
    own = {field.name for field in msgspec.structs.fields(Game)}
    _print_options(sorted(game["parameters"], key=lambda parameter: parameter["name"] in own))
    _print_heading("actions, with their payload (? may be left out)")
    actions = [(f"{a['name']} {a['payload']}".rstrip(), a["summary"]) for a in game["actions"]]
    print_page(_listed(actions))
    print_line("")
    if game["state"]:
        _print_heading("turn.state")
        print_page(_listed(list(game["state"].items())))
        print_line("")
    _print_heading("files")
    _print_files("game", game["game_id"])


# ── agents ──────────────────────────────────────────────────────────────────────────────────────────────


def print_agents(*, as_json: bool) -> None:
    """Print the agents, by the game that they play."""
    agents = describe_agents()
    if as_json:
        print_json(agents)
        return
    groups = dict.fromkeys([ANY, *GAMES, *(game for agent in agents for game in agent.games)])
    for group in groups:
        _print_heading(group)
        for agent in agents:
            if group in (agent.games or (ANY,)):
                print_line(agent.kind, "bold cyan")
                print_page(Padding(Text(agent.summary), (0, 0, 0, 2)))
                _print_options([msgspec.to_builtins(parameter) for parameter in agent.parameters])
        if group != ANY:
            _print_files("agents", group)


# ── tasks ───────────────────────────────────────────────────────────────────────────────────────────────


def print_tasks(family: str | None, market: str | None, *, as_json: bool) -> None:
    """Print the bargaining tasks of a family, of a type of market, or all.

    Raises:
        ConfigError: There is no such family or type.
    """
    from experiments.tasks import families, select_tasks

    tasks = select_tasks(family, market, keys=("--family", "--type"))
    if as_json:
        print_json([{"name": t.name, "family": t.family, "title": t.title, "game": t.parameters} for t in tasks])
        return
    for name, about in families():
        rows = [(t.name, t.market, t.title) for t in tasks if t.family == name]
        if rows:
            _print_head(name, about)
            made = table("task", "type", "")
            for row in rows:
                made.add_row(*map(Text, row))
            made.columns[0].min_width = max(len(row[0]) for row in rows)  # names are not broken
            print_page(made)
            print_line("")
    count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    print_line(f"{count}; play one with: quorum run task={tasks[0].name}")


# ── what the lists are made of ──────────────────────────────────────────────────────────────────────────


def _print_head(name: str, about: str) -> None:
    print_line(name, "bold cyan")
    print_page(Text(about))
    print_line("")


def _print_heading(text: str) -> None:
    print_line(f"── {text} ──", "bold magenta")
    print_line("")


def _print_options(options: Sequence[Mapping[str, Any]]) -> None:
    """Print options or parameters as settings: the name and its default, and beside them type and meaning."""
    rows = []
    for option in options:
        default, about = option["default"], str(option["about"])
        long = default is not None and len(default) > _LONG
        if long:
            about = f"{about} default: {default}".strip()
        elif default is None:
            about = f"{about} It is needed.".strip()
        rows.append(
            (option["name"] if default is None or long else f"{option['name']}={default}", option["type"], about)
        )
    print_page(_listed([(name, f"{kind}\n{about}" if about else kind) for name, kind, about in rows]))
    print_line("")


def _listed(rows: Sequence[tuple[str, str]]) -> Table:
    """Return names, and beside them what is said of each; below it where a name is long."""
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(width=2)
    made.add_column(width=min(34, max((len(name) for name, _ in rows), default=0)), overflow="fold")
    made.add_column(ratio=1, overflow="fold")
    for name, about in rows:
        made.add_row("", Text(name, style="bold"), Text(about))
    return made


def _print_files(group: str, game_id: str) -> None:
    """Print the files for a game, what each says of itself below its name: beside it there is no room for both."""
    folder = game_id.replace("-", "_")
    for file in describe_files(group):
        if Path(file["setting"].partition("=")[2]).parts[0] == folder:
            print_line(file["setting"], "bold")
            print_page(Padding(Text(file["summary"]), (0, 0, 0, 4)))
    print_line("")
