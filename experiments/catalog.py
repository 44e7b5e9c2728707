"""What there is: the games and the agents, with parameters, types and defaults, and the files that name them."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
from rich.padding import Padding
from rich.text import Text

from actors.registry import describe_agents
from actors.type_text import type_text
from experiments.config import CONF
from experiments.display import console, print_json, print_line, table
from experiments.mistakes import shown
from sim.game import Game
from sim.games import GAMES


def describe_games() -> list[dict[str, Any]]:
    """Return every game with its parameters and its actions."""
    return [
        {"game_id": game_id, "summary": _summary(kind), "parameters": _parameters(kind), "actions": _actions(kind)}
        for game_id, kind in GAMES.items()
    ]


def describe_files(group: str) -> list[dict[str, str]]:
    """Return the files of a group of the configuration, each with what its first line says of it."""
    root = CONF / group
    return [
        {
            "setting": f"{group}={file.relative_to(root).with_suffix('').as_posix()}",
            "summary": _comment(file.read_text("utf-8")),
        }
        for file in sorted(root.rglob("*.yaml"))
    ]


def _comment(text: str) -> str:
    first = text.partition("\n")[0]
    return first.lstrip("# ") if first.startswith("#") else ""


def _summary(kind: type[Any]) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")


def _parameters(kind: type[Game]) -> list[dict[str, str]]:
    return [
        {"name": field.name, "type": type_text(field.type), "default": _default(field)}
        for field in msgspec.structs.fields(kind)
    ]


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "needed"
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return value if isinstance(value, str) else shown(list(value) if isinstance(value, tuple) else value)


def _actions(kind: type[Game]) -> list[dict[str, str]]:
    game = kind()
    return [
        {
            "name": name,
            "payload": ", ".join(f"{f.name}{'' if f.required else '?'}" for f in msgspec.structs.fields(action)),
            "summary": _summary(action),
        }
        for name, action in game.action_types.items()
    ]


def print_games(*, as_json: bool) -> None:
    """Print the games."""
    games = describe_games()
    if as_json:
        print_json(games)
        return
    for game in games:
        _print_head(game["game_id"], game["summary"])
        _print_rows(game["parameters"], "parameter", "type", "default")
        _print_rows(game["actions"], "action", "payload (? may be left out)", "")
    _print_files("game")


def print_agents(*, as_json: bool) -> None:
    """Print the agents."""
    agents: list[dict[str, Any]] = msgspec.to_builtins(describe_agents())
    if as_json:
        print_json(agents)
        return
    for agent in agents:
        _print_head(agent["kind"], agent["summary"])
        if agent["parameters"]:
            rows = [{**row, "default": row["default"] or "needed"} for row in agent["parameters"]]
            _print_rows(rows, "parameter", "type", "default")
    _print_files("agents")


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
        rows = [{"task": t.name, "type": t.market, "title": t.title} for t in tasks if t.family == name]
        if rows:
            _print_head(name, about)
            _print_rows(rows, "task", "type", "")
    count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    print_line(f"{count}; play one with: quorum run task={tasks[0].name}")


def _print_head(name: str, summary: str) -> None:
    print_line(name, "bold cyan")
    console.print(summary, markup=False)
    console.print()


def _print_files(group: str) -> None:
    """Print the files of a group, what each says of itself below its name: beside it there is no room for both."""
    _print_head(f"{group}=FILE", "The files that there are:")
    for file in describe_files(group):
        print_line(file["setting"], "bold")
        console.print(Padding(Text(file["summary"]), (0, 0, 0, 4)))
    console.print()


def _print_rows(rows: list[dict[str, str]], *headings: str) -> None:
    made = table(*headings)
    for row in rows:
        made.add_row(*(text.replace("[", r"\[") for text in row.values()))
    made.columns[0].min_width = max(len(next(iter(row.values()))) for row in rows)  # names are not broken
    console.print(made)
    console.print()
