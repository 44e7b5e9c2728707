"""`quorum stress coalition`: nothing breaks the game, mutants fall and are shrunk, and long matches stay as fast."""

from __future__ import annotations

import sys
import time
from math import inf
from typing import Any

import pytest
import stress_coalitions
from mutants import MUTANTS

from experiments.stress.asking import Asked, ask
from experiments.stress.counting import VERDICTS
from experiments.stress.running import stress
from experiments.stress.schedules import run_entries
from experiments.stress.shrinking import shrink
from sim.games.coalition import invariants
from sim.games.coalition.core import step
from sim.games.coalition.items import Initiate, Item, Reject, Sign
from sim.games.coalition.observing import Observer
from sim.games.coalition.things import Agent, Task, World

FAULTS: dict[str, Any] = {
    "delay": "lognormal:50ms",
    "loss": 0.02,
    "duplicate": 0.02,
    "reorder": True,
    "slow": 0.2,
    "crash": 0.05,
}

RACES = (
    "activation_timeouts",
    "duplicate_signatures",
    "infeasible",
    "initiators_left",
    "late_signatures",
    "lock_conflicts",
    "modifications",
    "overtaken",
    "signatures_of_old_versions",
    "supersessions",
    "timeouts",
    "version_conflicts",
    "withdrawals",
)

LONGEST = 12
"""Items that a shrunk schedule has at most."""


def asked(game: str, *settings: str, matches: int, workers: int = 1, seed: int = 7, **more: float) -> Asked:
    return ask(game, settings, FAULTS | more, matches=matches, seed=seed, clock=None, runtime="local", workers=workers)


def check_all_is_well(given: Asked, matches: int) -> dict[str, int]:
    tally, found = stress(given)
    assert found is None, found
    assert tally["matches"] == tally["resolved"] == matches
    assert tally["submissions"] == sum(tally[verdict] for verdict in VERDICTS)
    assert tally["crashes"] == tally["crashes_survived"] > 0 < tally["messages_lost"]
    return tally.races


@pytest.mark.parametrize("order", ["concurrent", "round_robin"])
def test_faults_break_no_coalition(order: str) -> None:
    check_all_is_well(asked("coalition", f"game.turn_order={order}", matches=100), 100)


def test_the_small_match_comes_to_every_race() -> None:
    races = check_all_is_well(asked("coalition/small", matches=800), 800)
    assert [race for race in RACES if not races.get(race)] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_schedules_break_no_coalition() -> None:
    races = check_all_is_well(asked("coalition/small", matches=10_000, workers=2), 10_000)
    assert min(races[race] for race in RACES) > 20


def test_the_mutants_are_those_of_the_model_check() -> None:
    assert list(stress_coalitions.STATES) == [mutant.name for mutant in MUTANTS]


@pytest.mark.parametrize("mutant", stress_coalitions.STATES)
def test_a_mutant_falls_and_is_shrunk_to_a_few_items(mutant: str) -> None:
    wrong = ("+game.class='stress_coalitions:Mutated'", f"+game.mutant='{mutant}'")
    given = asked("coalition/small", *wrong, matches=4000, seed=4, slow=0.4)
    tally, found = stress(given)
    assert found is not None, tally.races
    assert found.violation.kind == "rules"
    plan, _ = given.config.plan()
    game, spec = plan.point(found.index).game, plan.spec(found.index)
    shrunk = shrink(game, spec, found.items, found.violation)
    assert shrunk is not None
    assert 1 <= len(shrunk.entries) <= min(LONGEST, len(found.items))
    assert run_entries(game, spec, shrunk.entries).violation == shrunk.violation
    healthy, _ = asked("coalition/small", matches=4000, seed=4).config.plan()
    assert run_entries(healthy.point(found.index).game, spec, shrunk.entries).violation is None
    print(f"{mutant}: match {found.index}, {len(found.items)} items -> {len(shrunk.entries)}: {shrunk.violation}")


# ── a long match ────────────────────────────────────────────────────────────────────────────────────────


class Long:
    """A world that formations come and go in, checked as a match is."""

    def __init__(self) -> None:
        tasks = [Task(0, 30, 3, 10.0, exclusive=False), Task(1, 30, 1, 10.0, exclusive=False)]
        agents = [Agent(units=10**6)] * 50
        self.world = World.make(tasks, agents, activation_timeout=2.0, max_versions=4)
        self.observer = Observer()
        self.now = 0.0

    def read(self, item: Item) -> int:
        self.now += 0.001
        _, effects = step(self.world, item, self.now)
        self.observer.followed(effects)
        return effects[0].formation

    def close(self, formations: int) -> None:
        """Bring the formations that have ended to so many."""
        for number in range(len(self.world.closed), formations):
            seat = number % 50
            self.read(Initiate(seat, 1, (seat,), {seat: 1}, {seat: 1}, True))
        self.observer.changed.clear()

    def form(self) -> None:
        """Form a coalition of three, and let another formation fail; check after each item."""
        for last in (True, False):
            seats = tuple((len(self.world.closed) + 7 * place) % 50 for place in range(3))
            number = self.read(Initiate(seats[0], 0, seats, dict.fromkeys(seats, 10), dict.fromkeys(seats, 2), True))
            self.check()
            formation = self.world.open[number]
            for seat in seats[1 : 3 if last else 2]:
                self.read(Sign(seat, number, formation.current.digest, True))
                self.check()
            if not last:
                self.read(Reject(seats[2], number))
                self.check()
            assert formation.status == ("active" if last else "failed")

    def check(self) -> None:
        self.observer.check(self.world, self.now, over=False)

    def calls(self) -> int:
        """Count the calls of forming, of functions and of what is built in."""
        count = 0

        def tally(frame: Any, event: str, arg: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(tally)
        try:
            self.form()
        finally:
            sys.setprofile(None)
        return count

    def seconds(self) -> float:
        """Return how long forming takes at best."""
        best = inf
        for _ in range(200):
            began = time.perf_counter()
            self.form()
            best = min(best, time.perf_counter() - began)
        return best


def test_an_item_costs_the_same_after_a_hundred_thousand_formations_as_after_a_thousand() -> None:
    match = Long()
    match.close(1_000)
    calls, seconds = match.calls(), match.seconds()
    match.close(100_000)
    assert match.calls() == calls
    assert match.seconds() < 3 * seconds
    invariants.check(match.world, match.now)
