"""What there is: the games and the agents, with parameters, types and defaults."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
from rich.table import Table

from actors.registry import describe_agents
from experiments.display import console
from sim.game import Game
from sim.games import GAMES


def describe_games() -> list[dict[str, Any]]:
    """Return every game with its parameters and its actions."""
    return [
        {"game_id": game_id, "summary": _summary(kind), "parameters": _parameters(kind), "actions": _actions(kind)}
        for game_id, kind in GAMES.items()
    ]


def _summary(kind: type[Any]) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")


def _parameters(kind: type[Game]) -> list[dict[str, str]]:
    return [
        {"name": field.name, "type": type_text(field.type), "default": repr(field.default)}
        for field in msgspec.structs.fields(kind)
    ]


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


def type_text(kind: Any) -> str:
    """Write a type as people read it."""
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    return text.replace("typing.", "").replace("NoneType", "None")


def print_games(*, as_json: bool) -> None:
    """Print the games."""
    games = describe_games()
    if as_json:
        _print_json(games)
        return
    for game in games:
        console.print(f"[bold]{game['game_id']}[/bold]  {game['summary']}")
        console.print(_table(game["parameters"], "parameter", "type", "default"))
        console.print(_table(game["actions"], "action", "payload", "summary"))


def print_agents(*, as_json: bool) -> None:
    """Print the agents."""
    agents = msgspec.to_builtins(describe_agents())
    if as_json:
        _print_json(agents)
        return
    for agent in agents:
        console.print(f"[bold]{agent['kind']}[/bold]  {agent['summary']}")
        if agent["parameters"]:
            console.print(_table(agent["parameters"], "parameter", "type", "default"))


def _table(rows: list[dict[str, str]], *headings: str) -> Table:
    table = Table(*headings)
    for row in rows:
        table.add_row(*(text.replace("[", r"\[") for text in row.values()))
    return table


def _print_json(value: Any) -> None:
    console.print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode(), markup=False, soft_wrap=True)
