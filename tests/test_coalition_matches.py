"""Whole matches of the coalition game: scenarios, records, figures, and what they cost."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest
from coalition_players import play

from experiments.config import CONF, game_from
from sim.errors import ConfigError
from sim.games.coalition import CoalitionGame, TaskSpec
from sim.games.coalition.scenario import draw
from sim.record import MatchSpec
from sim.replay import rejudge
from sim.rng import generator
from sim.testing import MatchByHand, check_game, encode_events, play_randomly


def ids(count: int) -> tuple[str, ...]:
    return tuple(f"agent_{n}" for n in range(1, count + 1))


# ── scenarios ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_scenario_follows_from_its_seed() -> None:
    game = CoalitionGame(tasks=20, known_peers=3, units=(5, 9), discoverers=2)
    one, two, other = (draw(game, ids(9), generator(seed, "game")) for seed in (1, 1, 2))
    assert one == two != other
    assert all(len(peers) == 3 and seat not in peers for seat, peers in enumerate(one.peers))
    assert all(len(discovery.seats) == 2 for discovery in one.discoveries)
    assert all(5 <= agent.units <= 9 for agent in one.agents)


def test_tasks_are_discovered_at_the_rate_that_is_given_and_not_after_the_horizon() -> None:
    scenario = draw(CoalitionGame(tasks=5000, discovery=50.0), ids(3), generator(3, "game"))
    assert scenario.discoveries[-1].at == pytest.approx(100.0, rel=0.05)
    cut = draw(CoalitionGame(tasks=5000, discovery=50.0, horizon=10.0), ids(3), generator(3, "game"))
    assert cut.discoveries == [discovery for discovery in scenario.discoveries if discovery.at <= 10.0]


def test_tasks_agents_and_times_can_be_given() -> None:
    tasks = [{"value": 9, "quorum": 2, "requires": [1, 0]}, TaskSpec(value=(3, 5), exclusive=False, discoverers="all")]
    game = CoalitionGame(
        tasks=tasks,  # type: ignore[arg-type]
        discovery=(4.0, 2.0),
        capabilities={"x": [1, 0], "y": [0, 2]},  # type: ignore[dict-item]
        units={"x": 3, "y": [1, 2]},  # type: ignore[dict-item]
        costs={"x": 4, "y": {2: 7}},
        quorum=1,
    )
    scenario = draw(game, ("x", "y"), generator(1, "game"))
    assert [(found.at, found.task, len(found.seats)) for found in scenario.discoveries] == [(2.0, 2, 2), (4.0, 1, 1)]
    assert [agent.capabilities for agent in scenario.agents] == [(1, 0), (0, 2)]
    assert scenario.costs == [[4, 4], [0, 7]]
    assert (scenario.tasks[0].value, scenario.tasks[1].exclusive) == (9, False)
    assert scenario.agents[0].units == 3


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"value": [5, 3]}, r"^value="),
        ({"tasks": 0}, r"^tasks=0"),
        ({"tasks": [{"quorum": 0}]}, r"^tasks\[0\].quorum=0"),
        ({"tasks": [{"size": 0}]}, r"^tasks: .*size"),
        ({"tasks": 2, "discovery": [1.0]}, r"^discovery=\[1.0\]: 2 times"),
        ({"tasks": [{"at": 1}], "discovery": [1.0]}, r"^tasks\[0\].at"),
        ({"discovery": 0.0}, r"^discovery=0.0"),
        ({"seconds": 0}, r"^seconds=0"),
        ({"costs": {"a": -1}}, r"^costs.a=-1"),
        ({"capabilities": {"a": [-1]}}, r"^capabilities.a=-1"),
        ({"discoverers": 0}, r"^discoverers=0"),
        ({"discoverers": ["a", "a"]}, r"^discoverers=\['a', 'a'\]"),
        ({"max_versions": 0}, r"^max_versions=0"),
        ({"known_peers": 0}, r"^known_peers=0"),
    ],
)
def test_a_parameter_that_is_out_of_range_is_named(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        CoalitionGame(**parameters)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({}, r"^a coalition needs 2 seats or more"),
        ({"quorum": 4}, r"^quorum=4: there are 3 seats"),
        ({"tasks": [{"quorum": [2, 5]}]}, r"^tasks\[0\].quorum=5"),
        ({"units": {"a": 1, "z": 1}}, r"^units: there is no seat 'z'"),
        ({"units": {"a": 1}}, r"^units: nothing is said for b, c"),
        ({"discoverers": ["z"]}, r"^discoverers: there is no seat 'z'"),
        ({"tasks": [{"discoverers": ["z"]}]}, r"^tasks\[0\].discoverers: there is no seat 'z'"),
    ],
)
def test_parameters_have_to_fit_the_line_up(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        CoalitionGame(**parameters).check_seats(("a", "b", "c") if parameters else ("a",))


# ── matches ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_suite_holds_for_matches_that_come_to_consensus() -> None:
    game, seats = CoalitionGame(tasks=3, quorum=2, requires=1, discoverers=2), ("a", "b", "c")
    found: dict[str, int] = {}
    for seed in range(300):
        match = MatchByHand(game, seats, seed).open()
        ends = play_randomly(match, generator(seed, "conformance")).outcome.figures["formations"]
        found |= {end: seed for end in ("active", "aborted_decided") if end in ends and end not in found}
        if len(found) == 2:
            break
    assert len(found) == 2
    check_game(game, seats, seeds=tuple(found.values()))


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
@pytest.mark.parametrize("seats", [2, 6])
def test_matches_end_with_coalitions_and_their_records_can_be_judged_again(order: str, seats: int) -> None:
    game = CoalitionGame(tasks=12, quorum=2, requires=(1, 2), turn_order=order)  # type: ignore[arg-type]
    for seed in range(3):
        record = play(MatchSpec(0, ids(seats), seed), game, explore=seed)
        assert (record.outcome.status, record.outcome.trigger) == ("resolved", "formed")
        rejudge(record, game)


def test_figures_say_how_formations_ended_and_what_came_of_them() -> None:
    record = play(MatchSpec(0, ids(6), 5), CoalitionGame(tasks=30))
    figures = record.outcome.figures
    rows = figures["rows"]
    assert len(rows) == figures["formations"]["initiated"]
    assert sum(count for end, count in figures["formations"].items() if end != "initiated") == len(rows)
    active = [row for row in rows if row["end"] == "active"]
    assert figures["allocated"] == sum(sum(row["members"].values()) for row in active)
    assert sum(record.outcome.utilities) == figures["allocated"] - figures["costs"]
    assert figures["welfare"] == figures["value"] - figures["costs"]
    assert figures["seconds_to_agreement"] > 0
    assert figures["versions_per_agreement"] >= 1
    assert figures["members_per_coalition"] >= 2
    assert record.outcome.details == {"discovered": 30, "coalitions": len(active)}


def test_a_match_that_is_cut_off_keeps_the_coalitions_that_are_active() -> None:
    game = CoalitionGame(tasks=40, max_turns=60)
    outcome = play(MatchSpec(0, ids(6), 5), game).outcome
    assert outcome.status == "timed_out"
    assert outcome.details["coalitions"] > 0
    assert sum(outcome.utilities) == outcome.figures["allocated"] - outcome.figures["costs"]


def test_nothing_is_discovered_after_the_horizon_and_the_match_is_over_at_once() -> None:
    match = MatchByHand(CoalitionGame(tasks=3, discovery=(5.0, 6.0, 7.0), horizon=1.0), ids(3)).open()
    assert match.outcome is not None
    assert match.outcome.details["discovered"] == 0


def test_a_seat_hears_nothing_of_formations_that_it_is_not_invited_to() -> None:
    game = CoalitionGame(tasks=20, known_peers=2, discoverers=1)
    record = play(MatchSpec(0, ids(8), 4), game)
    parties: dict[int, list[str]] = {}
    for event in record.events:
        body = json.loads(event.body)
        facts = body.get("facts", {})
        if event.kind == "notice" and "invited" in facts:
            parties[body["thread"]] = facts["invited"]
        if event.kind == "action" and body.get("thread") in parties:
            assert event.recipients is not None
            heard_by = [record.spec.agent_ids[seat] for seat in event.recipients]
            assert set(heard_by) <= set(parties[body["thread"]])
    assert parties


# ── what it costs ───────────────────────────────────────────────────────────────────────────────────────────


def test_30_agents_and_60_tasks_take_seconds_and_the_same_seed_gives_the_same_record() -> None:
    game = CoalitionGame(tasks=60)
    started = time.perf_counter()
    one, two = (play(MatchSpec(0, ids(30), 7), game) for _ in range(2))
    assert time.perf_counter() - started < 10
    assert encode_events(one) == encode_events(two)
    assert one.outcome.details["coalitions"] > 20


def test_an_item_costs_the_same_however_many_formations_have_ended() -> None:
    game = CoalitionGame(tasks=600, discovery=tuple(float(n) for n in range(600)), quorum=2, requires=0)
    match = MatchByHand(game, ids(4), 1).open()
    spent = []
    for number in range(600):
        while not match.open_turns():
            match.lapse()
        ((seat, turn),) = match.open_turns()
        started = time.perf_counter()
        match.act(seat, "initiate", {"allocation": {}, "invited": [ids(4)[(seat + 1) % 4]]}, turn=turn)
        ((other, turn),) = match.open_turns()
        match.act(other, "reject", turn=turn)
        spent.append(time.perf_counter() - started)
        assert match.judge.state.world.open == {}, number  # type: ignore[attr-defined]
    assert sorted(spent[-200:])[100] < 3 * sorted(spent[:200])[100]


def test_200_agents_and_500_tasks_are_a_few_lines_of_yaml_and_play_in_seconds() -> None:
    parts = [msgspec.yaml.decode((CONF / f"game/coalition/{name}.yaml").read_bytes()) for name in ("full", "large")]
    game = game_from({key: value for part in parts for key, value in part.items() if key != "defaults"})
    started = time.perf_counter()
    record = play(MatchSpec(0, ids(200), 7), game)
    assert time.perf_counter() - started < 30
    assert record.outcome.details["discovered"] == 500
    assert record.outcome.details["coalitions"] > 250
    assert len(record.events[-1].body) < 200_000
