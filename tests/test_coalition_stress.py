"""`quorum stress coalition`: nothing breaks the game, and every mutant of its rules falls and is shrunk."""

from __future__ import annotations

from typing import Any

import pytest
import stress_coalitions
from mutants import MUTANTS

from experiments.stress.asking import Asked, ask
from experiments.stress.counting import VERDICTS
from experiments.stress.running import stress
from experiments.stress.schedules import run_entries
from experiments.stress.shrinking import shrink

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
