"""Every order in which a small world's messages can be read: the rules hold in all, and no mutant does."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from commands import quorum
from mutants import MUTANTS, Mutant

from experiments.modelcheck import Config, Report, check
from experiments.modelcheck.places import Facts, Places, canonical, shift
from experiments.modelcheck.world import Message, SmallWorld
from sim.errors import ConfigError
from sim.games.coalition.core import CORE
from sim.games.coalition.items import Effect, Initiate, Sign
from sim.games.coalition.things import Agent, Task, World

LONGEST = 10


@cache
def searched(config: Config) -> Report:
    """Search with the rules as they are, once for each configuration."""
    return check(config)


def test_no_order_of_messages_breaks_the_rules_and_one_may_be_lost() -> None:
    report = searched(Config(agents=3, quorum=2, versions=2, drops=1))
    assert report.holds, str(report)
    assert report.states > 5_000


@pytest.mark.slow
def test_no_order_of_messages_breaks_the_rules_and_one_may_be_lost_and_one_may_come_twice() -> None:
    report = searched(Config(drops=1, duplicates=1))
    assert report.holds, str(report)


@pytest.mark.parametrize(
    "config",
    [
        Config(agents=1, quorum=1),
        Config(agents=2, quorum=2, versions=3, duplicates=1),
        Config(agents=2, quorum=2, versions=1, formations=2),
        Config(quorum=3, versions=2, commit="always"),
        Config(agents=4, quorum=3, versions=1, commit="always"),
        Config(versions=1, formations=2, commit="always", drops=0),
    ],
    ids=str,
)
def test_no_order_of_messages_breaks_the_rules_in_other_small_worlds(config: Config) -> None:
    report = searched(config)
    assert report.holds, str(report)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught_in_a_few_moves(mutant: Mutant) -> None:
    report = check(mutant.config, mutant.make(mutant.config))
    assert report.broken is not None, str(report)
    assert mutant.invariant in report.broken
    assert 1 <= len(report.trace) <= LONGEST
    assert not report.holds
    print(report)


@pytest.mark.parametrize("config", list(dict.fromkeys(mutant.config for mutant in MUTANTS)), ids=str)
def test_the_rules_themselves_pass_where_the_mutants_are_caught(config: Config) -> None:
    assert searched(config).holds


def ends(small: SmallWorld) -> set[tuple[str, str | None]]:
    worlds = [small.places.world(place) for place in range(len(small.places.facts))]
    return {(f.status, f.reason) for world in worlds for f in world.formations()}


def test_the_search_comes_to_every_status_and_every_reason() -> None:
    one, two = SmallWorld(Config(drops=0)), SmallWorld(Config(agents=2, versions=1, formations=2, drops=0))
    for small in (one, two):
        assert check(small.config, small).holds
    assert ends(one) | ends(two) == {
        ("open", None),
        ("consensus", None),
        ("active", None),
        ("aborted", "decided"),
        ("aborted", "timeout"),
        ("failed", "timeout"),
        ("failed", "infeasible"),
        ("failed", "withdrawn"),
        ("failed", "superseded"),
    }


class KeepsEverything(SmallWorld):
    """Leaves no message out, whether it can still change anything or not."""

    def matters(self, place: int, facts: Facts, message: Message) -> bool:
        return True


@pytest.mark.parametrize("config", [Config(versions=1, drops=0), Config(agents=2, duplicates=1, drops=0)], ids=str)
def test_leaving_messages_out_leaves_no_place_out(config: Config) -> None:
    small, whole = SmallWorld(config), KeepsEverything(config)
    less, more = check(config, small), check(config, whole)
    assert less.holds
    assert more.complete
    assert more.states > less.states
    assert {facts.world for facts in small.places.facts} == {facts.world for facts in whole.places.facts}


def test_a_search_that_is_cut_off_says_so() -> None:
    report = check(Config(max_states=100))
    assert (report.states, report.complete, report.broken, report.holds) == (100, False, None, False)
    assert "stopped at 100 states" in str(report)


def test_a_report_is_short_where_all_is_well() -> None:
    text = str(searched(Config(agents=1, quorum=1)))
    assert "quorum 1, 1 agent" in text
    assert text.endswith("every invariant holds in every state")


def test_a_counterexample_says_who_sent_what_and_what_followed() -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "accept a late signature")
    assert check(mutant.config, mutant.make(mutant.config)).trace == (
        "t=0  read from seat 0: initiate -> "
        "formation 1: version 1 of seat 0; seat 0 has signed; signers [0] of 2: not met",
        "t=0  seat 1, asked about version 1 in formation 1, sends: sign formation 1 version 1",
        "t=4  time passes",
        "t=4  the timer is read -> signers [0] of 2: timeout; formation 1 has failed (timeout)",
        "t=4  read from seat 1: sign formation 1 version 1 -> "
        "seat 1 has signed; signers [0, 1] of 2: met; consensus of seats [0, 1] on version 1",
    )


def test_the_search_does_not_depend_on_hashes() -> None:
    code = (
        "from mutants import MUTANTS\nfrom experiments.modelcheck import check\n"
        "import msgspec\nfor mutant in MUTANTS[:4]:\n"
        "    print(msgspec.structs.replace(check(mutant.config, mutant.make(mutant.config)), seconds=0))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "moves:" in outputs.pop()


@pytest.mark.parametrize(
    ("sizes", "key"),
    [({"agents": 0}, "agents=0"), ({"quorum": 4}, "quorum=4"), ({"drops": -1}, "drops=-1"), ({"formations": 9}, "9")],
)
def test_a_world_of_no_size_is_a_mistake(sizes: dict[str, int], key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        Config(**sizes)  # type: ignore[arg-type]


def test_whoever_signs_first_and_whenever_it_is_the_same_place() -> None:
    def place(seats: tuple[int, int], begun: float) -> int:
        world = World.make([Task(0, 1, 3, 4.0)], [Agent(units=1)] * 3, activation_timeout=2.0, max_versions=1)
        world, _ = CORE.step(world, Initiate(0, 0, (0, 1, 2), {0: 1}, {0: 1, 1: 1, 2: 1}, True), begun)
        for seat in seats:
            world, _ = CORE.step(world, Sign(seat, 1, world.open[1].current.digest, True), begun)
        shift(world, begun)
        return places.number(world)

    places = Places(CORE)
    assert place((1, 2), 0.0) == place((2, 1), 8.0) == 0


def test_a_change_that_is_refused_but_leaves_a_trace_is_found() -> None:
    def spoil(world: World) -> tuple[Effect, ...]:
        world.max_versions += 1
        return CORE.step(world, Sign(0, 9, ""), 0.0)[1]

    def fall(world: World) -> tuple[Effect, ...]:
        raise ZeroDivisionError

    world = World.make([Task(0, 1, 1, 4.0)], [Agent()], activation_timeout=2.0, max_versions=1)
    places = Places(CORE)
    start = places.number(world)
    for change, text in ((spoil, "what is refused changes nothing"), (fall, "break down: ZeroDivisionError")):
        broken = places.facts[places.step(start, text, change).place].broken
        assert broken is not None
        assert text in broken


def test_making_a_world_canonical_twice_changes_nothing() -> None:
    small = SmallWorld(Config(agents=2, drops=0))
    check(small.config, small)
    for place in range(len(small.places.facts)):
        world = small.places.world(place)
        canonical(world, CORE)
        assert small.places.number(world) == place


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_states_what_was_searched_and_that_it_holds() -> None:
    ended = quorum("check", "coalition", "--versions", "1", "--drops", "0")
    assert ended.code == 0
    assert ended.out.startswith("quorum 2, 3 agents, 1 version, 1 formation, 0 drops, 0 duplicates, commit both\n")
    assert ended.out.endswith("every invariant holds in every state\n")


def test_the_command_says_when_the_cap_stopped_it() -> None:
    ended = quorum("check", "coalition", "--max-states", "100")
    assert ended.code == 3
    assert "stopped at 100 states" in ended.out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["coalitin"], "did you mean coalition?"),
        (["coalition", "--commit", "perhaps"], "commit='perhaps': allowed is both or always or never"),
        (["coalition", "--agents", "0"], "agents=0: 1 or more is needed"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], text: str) -> None:
    ended = quorum("check", *arguments)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert text in ended.err
