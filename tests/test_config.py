"""From files, overrides and Python to what a run plays."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from commands import played, quorum

from actors.agent import Agent
from actors.runtime.plan import Settings
from experiments.config import CONF, ExperimentConfig, agents_from, compose, game_from, game_params
from experiments.results import Run
from experiments.runner import ExperimentRunner
from sim.errors import ConfigError
from sim.games.provision_point import ProvisionPointGame


class OwnGame(ProvisionPointGame, frozen=True, kw_only=True):
    """A game that the registry does not know."""

    bonus: float = 1.0


def options(group: str) -> list[str]:
    return sorted(file.relative_to(CONF / group).with_suffix("").as_posix() for file in (CONF / group).rglob("*.yaml"))


def test_every_line_up_is_there_and_says_what_it_is() -> None:
    names = {name.rpartition("/")[2] for name in options("agents")}
    wanted = {"rational", "mixed", "attackers", "colluders", "zero_intelligence", "random", "always_pass"}
    assert wanted <= names
    for file in CONF.rglob("*.yaml"):
        assert file.read_text().startswith("# "), file
    assert not [folder for folder in CONF.rglob("*") if folder.is_dir() and not any(folder.iterdir())]


def games_of(line_up: str) -> list[str]:
    """Return the games of a line-up: that of its own name, or those of its folder that have none of their own."""
    games, line_ups = options("game"), options("agents")
    if line_up in games:
        return [line_up]
    folder = line_up.split("/")[0]
    return [game for game in games if game.split("/")[0] == folder and game not in line_ups]


def matches_of(game: str) -> int:
    """One match of two hundred seats says as much as twenty of a few."""
    return 1 if game.endswith("/large") else 20


@pytest.mark.parametrize("game", options("game"))
def test_every_game_is_played_to_its_end_where_nobody_chooses_a_line_up(game: str, tmp_path: Path) -> None:
    count = matches_of(game)
    run = played(tmp_path / "run", f"game={game}", "runtime.window=20", matches=count)
    assert run.matches()["status"].to_list() == ["resolved"] * count
    assert run.matches()["error"].to_list() == [None] * count


@pytest.mark.parametrize(
    ("agents", "game"), [(agents, game) for agents in options("agents") for game in games_of(agents)]
)
def test_every_line_up_plays_its_games_to_their_end(agents: str, game: str, tmp_path: Path) -> None:
    count = matches_of(game)
    run = played(tmp_path / "run", f"agents={agents}", f"game={game}", "runtime.window=20", matches=count)
    assert run.matches()["status"].to_list() == ["resolved"] * count
    assert run.matches()["error"].to_list() == [None] * count
    assert quorum("replay", run.path).code == 0


def test_attackers_gain_more_than_those_they_exploit(tmp_path: Path) -> None:
    run = played(tmp_path / "run", "agents=provision_point/attackers", "game.threshold=120", matches=200)
    gains = run.mean_payoffs
    assert min(gains["attacker_1"], gains["attacker_2"]) > max(gains["rational_1"], gains["rational_2"])


def test_composing_changes_no_folder_and_no_logging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    handlers = list(logging.getLogger().handlers)
    compose(["game.threshold=1,2"])
    assert Path.cwd() == tmp_path
    assert list(tmp_path.iterdir()) == []
    assert logging.getLogger().handlers == handlers


def test_a_grid_is_every_combination_and_the_last_key_varies_fastest() -> None:
    config = compose(["game.threshold=100,150,200", "agents.seats.rational.margin=0,0.1"])
    labels = [point["labels"] for point in config.points]
    assert [tuple(label.values()) for label in labels[:3]] == [(100, 0), (100, 0.1), (150, 0)]
    assert set(labels[0]) == {"game.threshold", "agents.seats.rational.margin"}
    plan, _ = config.plan()
    assert [point.game.threshold for point in plan.points] == [100, 100, 150, 150, 200, 200]  # type: ignore[attr-defined]
    assert [point.agents[1].margin for point in plan.points] == [0, 0.1] * 3  # type: ignore[attr-defined]


def test_ranges_and_quoted_values_make_grids() -> None:
    assert [p["labels"]["game.threshold"] for p in compose(["game.threshold=range(100,400,100)"]).points] == [
        100,
        200,
        300,
    ]
    points = compose(["agents.seats.coordinator.project='a, b','c'"]).points
    assert [p["agents"]["seats"]["coordinator"]["project"] for p in points] == ["a, b", "c"]


def test_files_make_grids_too() -> None:
    config = compose(["game=provision_point/simple,provision_point/full", "agents=provision_point/rational"])
    assert [p["labels"] for p in config.points] == [
        {"game": "provision_point/simple"},
        {"game": "provision_point/full"},
    ]
    assert [p["game"]["mode"] for p in config.points] == ["simple", "full"]


def test_a_large_grid_is_composed_at_once() -> None:
    assert len(compose(["game.threshold=range(1,1001)"]).points) == 1000


def test_a_key_that_its_file_leaves_to_a_default_can_be_set() -> None:
    config = compose(["game.max_turns=7", "game.valuations.rational_1=5", "runtime.patience=1"])
    assert config.points[0]["game"]["max_turns"] == 7
    assert config.points[0]["game"]["valuations"] == {"rational_1": 5}
    assert config.runtime["patience"] == 1


def test_seats_can_be_added_and_taken_away() -> None:
    plan, _ = compose(["~agents.seats.zero", "+agents.seats.last.kind=pass"]).plan()
    assert plan.points[0].agent_ids == ("coordinator", "rational_1", "rational_2", "free_rider", "last")


def test_a_directory_may_be_a_number_or_hold_spaces() -> None:
    assert compose(["out=7"]).out == "7"
    assert compose(["out=/tmp/my run"]).out == "/tmp/my run"


def test_files_of_ones_own_stand_beside_those_of_the_product(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "game" / "mine").mkdir(parents=True)
    (tmp_path / "agents" / "two.yaml").write_text("seats: {a: {kind: rational}, b: {kind: pass}}")
    (tmp_path / "game" / "mine" / "big.yaml").write_text("{game_id: provision-point, mode: simple, threshold: 500}")
    plan, _ = compose(["agents=two,provision_point/rational", "game=mine/big"], tmp_path).plan()
    assert [point.agent_ids for point in plan.points] == [("a", "b"), ("agent_1", "agent_2", "agent_3")]
    with pytest.raises(
        ConfigError, match=r"agents=tow: .* did you mean two\? \(there is: .*provision_point/always_pass"
    ):
        compose(["agents=tow"], tmp_path)


def test_an_agent_by_import_path_sits_down() -> None:
    (agent,) = agents_from({"x": {"kind": "actors.scripted.provision_point.contributors:FreeRider", "patience": 3}})
    assert isinstance(agent, Agent)
    assert agent.agent_id == "x"


@pytest.mark.parametrize("seats", [None, [], {}, "x"])
def test_without_seats_there_is_no_line_up(seats: object) -> None:
    with pytest.raises(ConfigError, match=r"agents\.seats="):
        agents_from(seats)


def test_a_game_is_written_down_and_made_again() -> None:
    game = ProvisionPointGame(threshold=200, valuations={"c1": 80.0}, valuation_range=(0, 250))
    assert "class" not in game_params(game)
    assert game_from(game_params(game)) == game


def test_a_game_outside_the_registry_is_written_down_with_its_class() -> None:
    game = OwnGame(bonus=2.0)
    params = game_params(game)
    assert params["class"] == "test_config:OwnGame"
    assert game_from(params) == game


@pytest.mark.parametrize("path", ["nope:Game", "test_config:Nope", "test_config:test_files_make_grids_too", "x"])
def test_a_game_class_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"^game\.class="):
        game_from({"game_id": "x", "class": path})


def test_a_run_of_a_game_of_ones_own_is_replayed_and_one_that_is_gone_is_told(tmp_path: Path) -> None:
    config = ExperimentConfig(num_matches=5, out=tmp_path / "run")
    run = ExperimentRunner(config).run(agents_from({"a": {"kind": "rational"}, "b": {"kind": "random"}}), OwnGame())
    assert quorum("replay", run.path).code == 0
    file = run.path / "run.yaml"
    file.write_text(file.read_text().replace("OwnGame", "Gone"))
    ended = quorum("replay", run.path)
    assert ended.code == 2
    assert "game.class='test_config:Gone'" in ended.err


def test_a_game_of_ones_own_is_run_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "own.yaml").write_text("# My own.\nclass: test_config:OwnGame\nbonus: 2\n")
    settings = ["game=own", "agents=provision_point/rational", "num_matches=2", f"out={tmp_path / 'run'}"]
    ended = quorum("run", "--config-dir", tmp_path, *settings)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("OwnGame")


def test_a_line_up_of_another_game_is_told_the_seats_and_an_option_the_key_that_set_it() -> None:
    with pytest.raises(ConfigError, match=r"agent_1, agent_2, agent_3 are not the seats .*: buyer, seller; choose"):
        compose(["game=bargaining", "agents=provision_point/rational"]).plan()
    with pytest.raises(ConfigError, match=r"^agents\.roles\.buyer\.exponent=-3: "):
        compose(["game=bargaining", "agents=bargaining/boulware_buyer", "agents.roles.buyer.exponent=-3"]).plan()
    with pytest.raises(ConfigError, match=r"to leave it out write ~agents\.seats\.careful\.\w+$"):
        compose(["game=principal_agent/bounty", "agents.seats.careful.kind=random"]).plan()


def test_a_runtime_by_name_has_the_settings_of_its_file() -> None:
    assert ExperimentConfig(runtime="packed").settings().kind == "packed"
    assert ExperimentConfig(runtime=Settings(window=3)).settings().window == 3
    with pytest.raises(ConfigError, match=r"runtime=pakced: .* did you mean packed\?"):
        ExperimentConfig(runtime="pakced").settings()


def test_a_run_says_how_it_came_about(tmp_path: Path) -> None:
    config = Run(played(tmp_path / "run", "game.threshold=100,150").path).config
    assert config["origin"] == "config"
    assert {"quorum-sim", "python", "ray", "msgspec", "pyarrow"} <= set(config["versions"])
    assert "git_revision" in config
    assert [point["seats"][0] for point in config["points"]] == ["coordinator", "coordinator"]
    assert os.listdir(tmp_path) == ["run"]
