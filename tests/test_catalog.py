"""What `quorum games` and `quorum agents` list."""

from __future__ import annotations

import json
import pydoc
import re
from random import Random
from typing import Any

import pytest
from commands import quorum

import actors
import experiments
import sim
from actors.doc_text import entries
from actors.registry import AGENTS
from experiments.catalog import describe_files, describe_game, describe_games
from experiments.config import game_from
from sim.games import GAMES
from sim.paced import PacedState


def test_every_game_is_there_with_parameters_types_and_defaults() -> None:
    games = json.loads(quorum("games", "--json").out)
    assert games == describe_games()
    assert [game["game_id"] for game in games] == list(GAMES)
    parameters = {row["name"]: row for row in games[0]["parameters"]}
    mode = parameters["mode"]
    assert (mode["type"], mode["default"]) == ("full or simple", "full")
    assert mode["about"].startswith('"full" has a coordinator')
    assert parameters["valuation_range"]["default"] == "[0.0, 150.0]"
    assert {"submit_commitment", "pass"} <= {row["name"] for row in games[0]["actions"]}


def test_every_agent_is_there_with_its_options() -> None:
    agents = json.loads(quorum("agents", "--json").out)
    assert [agent["kind"] for agent in agents] == list(AGENTS)
    rational = next(agent for agent in agents if agent["kind"] == "rational")
    assert rational["parameters"][0] == {
        "name": "margin",
        "type": "number >= 0 and <= 1",
        "default": "0.0",
        "about": "The part of its valuation that it wants to keep.",
    }


def test_every_file_is_listed_with_what_it_says_of_itself() -> None:
    for group in ("game", "agents"):
        for file in describe_files(group):
            assert file["summary"], file


def test_the_lists_fit_in_80_columns_without_escape_sequences() -> None:
    for command in ("games", "agents"):
        ended = quorum(command)
        assert (ended.code, ended.err) == (0, "")
        assert "\x1b" not in ended.out
        assert max(map(len, ended.out.splitlines())) <= 80
        for name in GAMES if command == "games" else AGENTS:
            assert name in ended.out
    for group, command in (("agents", "agents"), ("game", "games")):
        listed = " ".join(quorum(command).out.split())
        for file in describe_files(group):
            assert f"{file['setting']} {file['summary']}" in listed  # whole: nothing of it is cut off


@pytest.mark.parametrize("name", [*GAMES, "provision_point", "principal_agent/bounty", "provision_point/gpu_cluster"])
def test_all_that_there_is_to_know_of_a_game_fits_in_80_columns(name: str) -> None:
    game = describe_game(name)
    ended = quorum("games", name)
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(quorum("games", name, "--json").out) == game
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    said = " ".join(ended.out.split())
    for role, rules in game["rules"].items():
        assert f" {role} ── {' '.join(rules.split())} ──" in said
    for part in ("parameters", "actions"):
        for row in game[part]:
            assert row["name"] in said, row
    for parameter in game["parameters"]:
        assert parameter["about"], parameter
        assert parameter["about"] in said
    for key, about in game["state"].items():
        assert f"{key} {about}" in said
    assert f"game={game['game_id'].replace('-', '_')}" in said


def test_the_rules_of_a_file_are_told_with_its_own_numbers() -> None:
    assert list(describe_game("principal_agent/bounty")["rules"]) == ["principal", "worker", "oracle"]
    assert "a total of 1200" in describe_game("provision_point/gpu_cluster")["rules"]["contributor"]


def test_a_game_that_is_not_there_is_one_line() -> None:
    ended = quorum("games", "bargan")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: bargan: there is no such game; did you mean bargaining? (there is: provision-")


VIEWS: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("provision-point", ("a", "b", "c"), {}),
    ("provision-point", ("a", "b", "c"), {"mode": "simple"}),
    ("principal-agent", ("a", "b", "c"), {}),
    ("principal-agent", ("a", "b", "c", "d"), {"shape": "bounty"}),
    ("principal-agent", ("a", "b", "c", "d", "e"), {"shape": "chain"}),
    ("bargaining", ("buyer", "seller"), {}),
    ("bargaining", ("buyer", "seller"), {"terms": {"days": {"low": 1, "high": 30}}}),
]


@pytest.mark.parametrize(("game_id", "agent_ids", "parameters"), VIEWS)
def test_every_key_that_an_agent_sees_is_described(
    game_id: str, agent_ids: tuple[str, ...], parameters: dict[str, Any]
) -> None:
    game = game_from({"game_id": game_id, **parameters})
    state: Any = game.start(agent_ids, Random(1))
    described = set(re.findall(r"\w+", str(entries(GAMES[game_id], "turn.state"))))
    for seat in range(len(agent_ids)):
        seen = (
            state.view(seat, 1 if game_id == "bargaining" else 0) if isinstance(state, PacedState) else state.view(seat)
        )
        assert set(seen) <= described


def test_agents_are_listed_by_the_game_that_they_play() -> None:
    out = quorum("agents").out
    groups = re.findall(r"── (.*) ──", out)
    assert groups == ["any game", *GAMES]
    assert out.index("\nrandom\n") < out.index("── provision-point") < out.index("\nrational\n")
    assert out.index("── bargaining") < out.index("\nboulware\n") < out.index("agents=bargaining/linear")


def test_what_is_exported_can_be_looked_up() -> None:
    for package in (actors, experiments, sim):
        for name in package.__all__:
            assert name in pydoc.render_doc(getattr(package, name), renderer=pydoc.plaintext)
