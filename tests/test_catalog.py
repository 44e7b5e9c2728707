"""What `quorum games` and `quorum agents` list."""

from __future__ import annotations

import json
import pydoc

from commands import quorum

import actors
import experiments
import sim
from actors.registry import AGENTS
from experiments.catalog import describe_files, describe_games
from sim.games import GAMES


def test_every_game_is_there_with_parameters_types_and_defaults() -> None:
    games = json.loads(quorum("games", "--json").out)
    assert games == describe_games()
    assert [game["game_id"] for game in games] == list(GAMES)
    parameters = {row["name"]: row for row in games[0]["parameters"]}
    assert parameters["mode"] == {"name": "mode", "type": "full or simple", "default": "full"}
    assert parameters["valuation_range"]["default"] == "[0.0, 150.0]"
    assert {"submit_commitment", "pass"} <= {row["name"] for row in games[0]["actions"]}


def test_every_agent_is_there_with_its_options() -> None:
    agents = json.loads(quorum("agents", "--json").out)
    assert [agent["kind"] for agent in agents] == list(AGENTS)
    rational = next(agent for agent in agents if agent["kind"] == "rational")
    assert rational["parameters"][0] == {"name": "margin", "type": "number >= 0 and <= 1", "default": "0.0"}


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


def test_what_is_exported_can_be_looked_up() -> None:
    for package in (actors, experiments, sim):
        for name in package.__all__:
            assert name in pydoc.render_doc(getattr(package, name), renderer=pydoc.plaintext)
