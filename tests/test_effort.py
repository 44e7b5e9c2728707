"""Hidden effort and contracts, held to enumeration, exact fractions and closed forms."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from math import inf, nan
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.scripted.principal_agent.contracts import (
    DEFAULT_THRESHOLDS,
    best_response,
    cheapest_contract,
    expected_payment,
    linear_contract,
    optimal_contract,
    payment,
)
from actors.scripted.principal_agent.effort import (
    DEFAULT_TECHNOLOGY,
    Effort,
    Technology,
    Value,
    expected_worth,
    first_best,
    worth,
)
from sim.errors import ConfigError
from sim.games.principal_agent import OutcomeLevel
from sim.games.principal_agent.parameters import DEFAULT_LEVELS

PASS_FAIL = {"fail": 0.0, "success": 50.0}
AT = (25.0, 60.0, 90.0)
"""A score within each of the default levels."""


def effort(name: str, cost: float, *chances: float) -> Effort:
    """An effort with a chance for each score in `AT`."""
    return Effort(name, cost, tuple(zip(AT, chances, strict=True)))


def binary(name: str, cost: float, success: float) -> Effort:
    return Effort(name, cost, ((0.0, 1 - success), (100.0, success)))


def chosen(levels: Sequence[OutcomeLevel], technology: Technology, outside: float = 0.0) -> str | None:
    found = best_response(levels, technology, outside)[0]
    return None if found is None else found.name


def schedule(*payments: float) -> tuple[OutcomeLevel, ...]:
    pairs = zip(DEFAULT_THRESHOLDS.items(), payments, strict=True)
    return tuple(OutcomeLevel(label, start, paid) for (label, start), paid in pairs)


# ── efforts ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cost", "scores", "said"),
    [
        (-1.0, ((50.0, 1.0),), "cost=-1.0 of effort e"),
        (nan, ((50.0, 1.0),), "cost=nan"),
        (inf, ((50.0, 1.0),), "cost=inf"),
        (0.0, ((101.0, 1.0),), "score 101.0"),
        (0.0, ((-1.0, 1.0),), "score -1.0"),
        (0.0, ((nan, 1.0),), "score nan"),
        (0.0, ((50.0, 1.5), (60.0, -0.5)), "probability 1.5"),
        (0.0, ((50.0, nan),), "probability nan"),
        (0.0, ((50.0, 0.5), (60.0, 0.4)), "add to 0.9"),
        (0.0, ((50.0, 0.5), (50.0, 0.5)), "50.0 is there more than once"),
        (0.0, (), "add to 0"),
    ],
)
def test_an_effort_that_cannot_be_is_refused(cost: float, scores: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Effort("e", cost, scores)


def test_efforts_have_names_of_their_own() -> None:
    with pytest.raises(ConfigError, match="needs a name"):
        binary("", 0, 0.5)
    with pytest.raises(ConfigError, match="a is there more than once"):
        Technology((binary("a", 0, 0.5), binary("a", 1, 0.6)))
    with pytest.raises(ConfigError, match="at least one effort"):
        Technology(())


def test_a_technology_is_built_from_plain_data() -> None:
    plain = {"efforts": [{"name": "idle", "cost": 0, "scores": [[0, 1]]}]}
    assert msgspec.convert(plain, Technology) == Technology((Effort("idle", 0.0, ((0.0, 1.0),)),))
    assert msgspec.convert({}, Technology) == DEFAULT_TECHNOLOGY
    assert msgspec.json.decode(msgspec.json.encode(DEFAULT_TECHNOLOGY), type=Technology) == DEFAULT_TECHNOLOGY
    with pytest.raises(msgspec.ValidationError, match="unknown field `effort`"):
        msgspec.convert({"effort": []}, Technology)
    with pytest.raises(ConfigError, match="add to 2"):
        msgspec.convert({"efforts": [{"name": "idle", "cost": 0, "scores": [[0, 1], [1, 1]]}]}, Technology)


def test_thirds_add_to_one() -> None:
    assert Effort("e", 0, ((0.0, 1 / 3), (1.0, 1 / 3), (2.0, 1 / 3))).expected_score == pytest.approx(1)
    assert Effort("e", 0, tuple((float(n), 0.1) for n in range(10))).expected_score == pytest.approx(4.5)


class At(random.Random):
    """A generator that always gives the same number."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number

    def random(self) -> float:
        return self.number


@pytest.mark.parametrize(("number", "score"), [(0.0, 10), (0.2499, 10), (0.25, 40), (0.7499, 40), (0.75, 90)])
def test_a_score_is_drawn_by_the_inverse_of_the_distribution(number: float, score: float) -> None:
    assert Effort("e", 0, ((90.0, 0.25), (10.0, 0.25), (40.0, 0.5))).draw(At(number)) == score


def test_a_score_without_a_chance_is_never_drawn() -> None:
    nearly_one = 1 - 1e-10
    certain = Effort("e", 0, ((0.0, 0.0), (50.0, nearly_one), (100.0, 0.0)))
    assert certain.draw(At(0.0)) == 50
    assert certain.draw(At(1 - 2**-53)) == 50


def test_drawn_scores_are_as_frequent_as_their_probabilities() -> None:
    high, rng = DEFAULT_TECHNOLOGY.efforts[-1], random.Random(4)
    drawn = [high.draw(rng) for _ in range(10_000)]
    again = random.Random(4)
    assert drawn[:100] == [high.draw(again) for _ in range(100)]
    for score, probability in high.scores:
        assert drawn.count(score) / len(drawn) == pytest.approx(probability, abs=0.02)


def test_worth_is_by_the_point_or_by_steps() -> None:
    assert worth(0.2, 85.5) == pytest.approx(17.1)
    steps = ((80.0, 20.0), (50.0, 6.0))
    assert [worth(steps, score) for score in (0, 49.9, 50, 79.9, 80, 100)] == [0, 0, 6, 6, 20, 20]
    assert expected_worth(steps, effort("e", 0, 0.2, 0.5, 0.3)) == pytest.approx(9)


@pytest.mark.parametrize("value", [-1.0, nan, inf, ((0.0, -1.0),), ((0.0, inf),), ((0.0, 1.0), (0.0, 2.0))])
def test_a_worth_that_cannot_be_is_refused(value: Value) -> None:
    with pytest.raises(ConfigError, match="value"):
        worth(value, 50)


def test_the_first_best_has_the_largest_surplus() -> None:
    found, surplus = first_best(DEFAULT_TECHNOLOGY, 0.2)
    assert found is not None and found.name == "high"
    assert surplus == pytest.approx(0.2 * (0.1 * 30 + 0.2 * 60 + 0.7 * 90) - 3)
    assert first_best(DEFAULT_TECHNOLOGY, 0.2, outside=2.0)[1] == pytest.approx(surplus - 2)
    assert first_best(DEFAULT_TECHNOLOGY, 0.2, outside=20.0) == (None, 0.0)


# ── the worker ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("score", "paid"), [(0, 0), (49.999, 0), (50, 3), (79.999, 3), (80, 10), (85.5, 10), (100, 10)]
)
def test_a_score_is_paid_by_the_highest_level_that_it_reaches(score: float, paid: float) -> None:
    assert payment(DEFAULT_LEVELS, score) == paid
    assert payment(DEFAULT_LEVELS[::-1], score) == paid


def test_below_every_level_nothing_is_paid() -> None:
    assert payment((OutcomeLevel("good", 40, 5),), 39.9) == 0
    assert payment((), 100) == 0


def test_the_default_contract_is_worth_a_high_effort_to_the_default_worker() -> None:
    found, utility = best_response(DEFAULT_LEVELS, DEFAULT_TECHNOLOGY)
    assert found is not None and found.name == "high"
    assert utility == pytest.approx(0.2 * 3 + 0.7 * 10 - 3)


def test_the_best_response_is_what_enumeration_finds() -> None:
    rng = random.Random(20)
    answers = set()
    for _ in range(200):
        technology, exact = random_model(rng, rng.randint(1, 5))
        outside = Fraction(rng.randint(0, 40), 7)
        payments = sorted(Fraction(rng.randint(0, 80), 7) for _ in AT)
        utilities = {name: dot(chances, payments) - cost for name, (cost, chances) in exact.items()}
        best = max(utilities.values())
        found, utility = best_response(schedule(*map(float, payments)), technology, float(outside))
        if best < outside:
            assert (found, utility) == (None, float(outside))
        else:
            assert found is not None and utilities[found.name] == best
            assert utility == pytest.approx(float(best), abs=1e-12)
        answers.add(found and found.name)
    assert len(answers) > 3  # rejections and several efforts


def test_a_worker_that_loses_by_every_effort_rejects() -> None:
    technology = Technology((binary("work", 5, 0.5),))
    assert best_response(DEFAULT_LEVELS, technology, outside=0.01) == (None, 0.01)
    assert chosen((OutcomeLevel("any", 0, 4.99),), technology) is None


def test_a_worker_that_gains_nothing_either_way_accepts() -> None:
    technology = Technology((binary("work", 5, 0.5),))
    assert chosen(DEFAULT_LEVELS, technology) == "work"
    assert chosen((), Technology((binary("idle", 0, 0.0),))) == "idle"


def test_of_equal_efforts_the_higher_score_is_taken_then_the_lower_cost_then_the_first() -> None:
    low, high = effort("low", 0, 0.5, 0.25, 0.25), effort("high", 2, 0.25, 0.25, 0.5)
    levels = schedule(0, 0, 8)  # 8 times a quarter is the cost of 2
    assert chosen(levels, Technology((low, high))) == "high"
    assert chosen(levels, Technology((high, low))) == "high"
    dear, cheap = Effort("dear", 2, ((0.0, 0.5), (100.0, 0.5))), Effort("cheap", 1, ((50.0, 1.0),))
    assert chosen((OutcomeLevel("c", 50, 1), OutcomeLevel("d", 100, 4)), Technology((dear, cheap))) == "cheap"
    twins = Technology((binary("one", 1, 0.5), binary("two", 1, 0.5)))
    assert chosen(DEFAULT_LEVELS, twins) == "one"


def test_a_tie_is_one_whatever_floats_make_of_it() -> None:
    for cents, part in itertools.product(range(1, 40), range(1, 10)):
        cost, gain = cents / 100, part / 10
        technology = Technology((binary("low", 0, 0.0), binary("high", cost, gain)))
        levels = (OutcomeLevel("success", 50, cost / gain),)
        assert chosen(levels, technology) == "high"
        assert chosen(levels, technology, outside=1e-6) is None
        assert chosen((OutcomeLevel("success", 50, cost / gain * (1 - 1e-6)),), technology) == "low"


# ── the principal ───────────────────────────────────────────────────────────────────────────────────────


def test_a_linear_contract_pays_a_share_of_what_the_threshold_is_worth() -> None:
    assert linear_contract({"b": 80, "a": 50}, 0.25, 0.2) == (OutcomeLevel("a", 50, 2.5), OutcomeLevel("b", 80, 4.0))
    assert linear_contract(DEFAULT_THRESHOLDS, 0.5, ((80.0, 20.0),)) == schedule(0, 0, 10)
    for share in (-0.1, 1.1, nan):
        with pytest.raises(ConfigError, match="share="):
            linear_contract(DEFAULT_THRESHOLDS, share, 0.2)


@pytest.mark.parametrize(
    ("thresholds", "said"),
    [({}, "at least one"), ({"a": 101.0}, "threshold 101.0 of a"), ({"a": nan}, "nan"), ({"a": 5.0, "b": 5.0}, "both")],
)
def test_thresholds_that_cannot_be_are_refused(thresholds: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        optimal_contract(DEFAULT_TECHNOLOGY, thresholds, 0.2)


def test_what_else_cannot_be_is_refused() -> None:
    stranger = binary("stranger", 1, 0.5)
    with pytest.raises(ConfigError, match=r"effort stranger: .* low, medium, high"):
        cheapest_contract(DEFAULT_TECHNOLOGY, stranger, PASS_FAIL)
    with pytest.raises(ConfigError, match="margin=-1"):
        optimal_contract(DEFAULT_TECHNOLOGY, PASS_FAIL, 0.2, margin=-1)
    with pytest.raises(ConfigError, match="outside=nan"):
        optimal_contract(DEFAULT_TECHNOLOGY, PASS_FAIL, 0.2, nan)


@pytest.mark.parametrize("low", [0.0, 0.1, 0.5, 0.8])
@pytest.mark.parametrize("high", [0.85, 0.9, 1.0])
@pytest.mark.parametrize(("idle", "cost"), [(0.0, 3.0), (0.5, 3.0), (0.0, 1e-6), (2e6, 5e6)])
def test_two_efforts_and_two_outcomes_have_their_closed_form(low: float, high: float, idle: float, cost: float) -> None:
    # Laffont and Martimort (2002, The Theory of Incentives, chapter 4): with limited liability and no outside
    # utility, failure pays nothing and success the difference in cost over the difference in probability, unless
    # that does not cover the cost.
    technology = Technology((binary("low", idle, low), binary("high", cost, high)))
    bonus = max((cost - idle) / (high - low), cost / high)
    levels = cheapest_contract(technology, technology.efforts[1], PASS_FAIL)
    assert levels is not None
    fail, success = levels
    assert expected_payment(levels, technology.efforts[1]) == pytest.approx(high * bonus, rel=1e-9)
    if (cost - idle) / (high - low) >= cost / high:  # else the cost may be covered in several ways
        assert fail.payment == pytest.approx(0, abs=1e-9 * cost)
        assert success.payment == pytest.approx(bonus, rel=1e-9)
    assert chosen(levels, technology) == "high"


def test_the_agency_cost_is_the_workers_rent_and_the_work_that_is_not_worth_inducing() -> None:
    best = optimal_contract(DEFAULT_TECHNOLOGY, DEFAULT_THRESHOLDS, 0.2)
    assert best.levels == schedule(0, 0, 5)
    assert best.effort is not None and best.effort.name == "high"
    assert best.worker_utility == pytest.approx(0.5)
    _, surplus = first_best(DEFAULT_TECHNOLOGY, 0.2)
    assert surplus - best.principal_utility == pytest.approx(best.worker_utility)  # the same effort: rent alone
    less = optimal_contract(DEFAULT_TECHNOLOGY, DEFAULT_THRESHOLDS, 0.1)
    wanted, surplus = first_best(DEFAULT_TECHNOLOGY, 0.1)
    assert wanted is not None and wanted.name == "medium"
    assert less.effort is not None and less.effort.name == "low"
    assert less.worker_utility == 0
    assert surplus - less.principal_utility == pytest.approx(4.85 - 4.5)


def test_no_contract_on_a_grid_is_better_than_the_optimal_one() -> None:
    rng = random.Random(7)
    grid = [step / 2 for step in range(21)]
    implemented = set()
    for value in (0.02, 0.05, 0.1, 0.2):
        for _ in range(3):
            technology, _ = random_model(rng, 3)
            outside = rng.choice((0.0, 0.5))
            best = optimal_contract(technology, DEFAULT_THRESHOLDS, value, outside)
            for payments in itertools.product(grid, repeat=3):
                found, profit = reply(technology, payments, value, outside)
                assert profit <= best.principal_utility + 1e-4, (payments, found)
            implemented.add(best.effort and best.effort.name)
    assert len(implemented) > 1


def test_the_cheapest_contract_is_the_cheapest_corner_in_exact_fractions() -> None:
    rng = random.Random(11)
    none = some = 0
    for _ in range(40):
        technology, exact = random_model(rng, rng.randint(2, 6))
        outside = Fraction(rng.randint(0, 3), 2)
        for wanted in technology.efforts:
            least = cheapest_corner(exact, wanted.name, outside)
            levels = cheapest_contract(technology, wanted, DEFAULT_THRESHOLDS, float(outside))
            if least is None:
                assert levels is None
                none += 1
                continue
            assert levels is not None
            assert -1e-9 <= expected_payment(levels, wanted) - float(least) <= 1e-4 * (1 + float(least))
            some += 1
    assert none > 10 and some > 50


def test_an_effort_that_costs_more_for_the_same_scores_is_out_of_reach() -> None:
    technology = Technology((binary("work", 1, 0.5), binary("waste", 2, 0.5)))
    assert cheapest_contract(technology, technology.efforts[1], PASS_FAIL) is None
    assert cheapest_contract(technology, technology.efforts[0], PASS_FAIL) is not None


@pytest.mark.parametrize(("cost", "within_reach"), [(0.9, True), (1.0, False), (1.1, False)])
def test_an_effort_that_a_mixture_of_others_does_cheaper_is_out_of_reach(cost: float, within_reach: bool) -> None:
    # At the cost of the mixture it only ties with both, and then the worker takes the one with the higher score.
    technology = Technology((binary("low", 0, 0.25), binary("middle", cost, 0.5), binary("high", 2, 0.75)))
    levels = cheapest_contract(technology, technology.efforts[1], PASS_FAIL)
    assert (levels is not None) == within_reach
    assert levels is None or chosen(levels, technology) == "middle"


def test_a_tie_that_would_go_to_another_effort_is_broken_by_a_little_money() -> None:
    # What is just enough for a medium effort is just enough for a high one, which scores higher.
    middling = DEFAULT_TECHNOLOGY.efforts[1]
    levels = cheapest_contract(DEFAULT_TECHNOLOGY, middling, DEFAULT_THRESHOLDS)
    assert levels is not None and chosen(levels, DEFAULT_TECHNOLOGY) == "medium"
    tied = cheapest_corner(
        {
            "low": (Fraction(0), [Fraction(n, 20) for n in (12, 6, 2)]),
            "medium": (Fraction(1), [Fraction(n, 20) for n in (6, 9, 5)]),
            "high": (Fraction(3), [Fraction(n, 20) for n in (2, 4, 14)]),
        },
        "medium",
        Fraction(0),
    )
    assert tied is not None
    assert 1e-7 < expected_payment(levels, middling) - float(tied) < 1e-4


def test_a_single_effort_is_paid_what_it_costs() -> None:
    work = binary("work", 3, 0.25)
    technology = Technology((work,))
    best = optimal_contract(technology, PASS_FAIL, 1.0, outside=0.5)
    assert best.effort == work
    assert expected_payment(best.levels, work) == pytest.approx(3.5)
    assert best.principal_utility == pytest.approx(21.5)
    assert best.worker_utility == pytest.approx(0.5)
    payments = [level.payment for level in best.levels]
    assert payments == sorted(payments)


def test_an_effort_that_costs_nothing_is_paid_nothing() -> None:
    free = binary("free", 0, 0.5)
    best = optimal_contract(Technology((free,)), PASS_FAIL, 0.1)
    assert [level.payment for level in best.levels] == [0, 0]
    assert (best.effort, best.worker_utility) == (free, 0)
    assert best.principal_utility == pytest.approx(5)


def test_certain_scores_are_paid_their_cost_and_no_rent() -> None:
    technology = Technology((effort("low", 0, 1.0, 0.0, 0.0), effort("high", 3, 0.0, 0.0, 1.0)))
    best = optimal_contract(technology, DEFAULT_THRESHOLDS, 0.2)
    assert best.levels[-1].payment == pytest.approx(3)
    assert best.principal_utility == pytest.approx(15)
    assert best.worker_utility == pytest.approx(0)


def test_work_that_is_not_worth_its_cost_is_offered_nothing() -> None:
    best = optimal_contract(Technology((binary("work", 3, 0.5),)), PASS_FAIL, 0.01, outside=0.25)
    assert (best.levels, best.effort, best.principal_utility, best.worker_utility) == ((), None, 0, 0.25)
    below = optimal_contract(Technology((Effort("poor", 1, ((10.0, 1.0),)),)), {"good": 50.0}, 5.0)
    assert (below.levels, below.effort) == ((), None)  # no level that it reaches could pay it


def test_falling_payments_may_be_cheapest_and_can_be_ruled_out() -> None:
    technology = Technology((effort("wild", 0, 0.5, 0.0, 0.5), effort("steady", 1, 0.0, 0.9, 0.1)))
    steady = technology.efforts[1]
    free = cheapest_contract(technology, steady, DEFAULT_THRESHOLDS)
    rising = cheapest_contract(technology, steady, DEFAULT_THRESHOLDS, monotone=True)
    assert free is not None and rising is not None
    assert [level.payment for level in free] == [0, pytest.approx(1 / 0.9), 0]
    assert [level.payment for level in rising] == [0, 2, 2]
    assert chosen(free, technology) == chosen(rising, technology) == "steady"


# ── properties ──────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def technologies(draw: st.DrawFn) -> Technology:
    def one(name: str) -> Effort:
        weights = draw(st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any))
        return effort(name, draw(st.integers(0, 400)) / 100, *(weight / sum(weights) for weight in weights))

    return Technology(tuple(one(f"e{n}") for n in range(draw(st.integers(1, 4)))))


@settings(max_examples=60, deadline=None)
@given(technologies(), st.integers(0, 50), st.integers(0, 4), st.booleans())
def test_an_optimal_contract_holds_what_it_says(
    technology: Technology, value: int, outside: int, monotone: bool
) -> None:
    best = optimal_contract(technology, DEFAULT_THRESHOLDS, value / 100, outside / 4, monotone=monotone)
    surplus = first_best(technology, value / 100, outside / 4)[1]
    assert 0 <= best.principal_utility <= surplus + 1e-9
    assert best.worker_utility >= outside / 4 - 1e-9
    if best.effort is None:
        assert best.levels == ()
        return
    payments = [level.payment for level in best.levels]
    assert min(payments) >= 0
    assert best_response(best.levels, technology, outside / 4) == (best.effort, best.worker_utility)
    assert best.principal_utility == expected_worth(value / 100, best.effort) - expected_payment(
        best.levels, best.effort
    )
    if monotone:
        assert payments == sorted(payments)
        free = optimal_contract(technology, DEFAULT_THRESHOLDS, value / 100, outside / 4)
        assert free.principal_utility >= best.principal_utility - 1e-9


@settings(max_examples=40, deadline=None)
@given(technologies(), st.integers(1, 20))
def test_a_margin_makes_the_effort_better_than_all_others(technology: Technology, cents: int) -> None:
    for wanted in technology.efforts:
        levels = cheapest_contract(technology, wanted, DEFAULT_THRESHOLDS, margin=cents / 100)
        if levels is None:
            continue
        utility = expected_payment(levels, wanted) - wanted.cost
        others = [expected_payment(levels, other) - other.cost for other in technology.efforts if other != wanted]
        assert utility - max([0.0, *others]) >= cents / 100 - 1e-7


def test_the_solver_is_loaded_when_it_is_needed() -> None:
    code = (
        "import sys\n"
        "from actors.scripted.principal_agent.contracts import best_response\n"
        "from sim.games.principal_agent import OutcomeLevel\n"
        "from actors.scripted.principal_agent.effort import Technology\n"
        "best_response((OutcomeLevel('any', 0, 1),), Technology())\n"
        "assert 'scipy' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ── independent computation ─────────────────────────────────────────────────────────────────────────────

Exact = dict[str, tuple[Fraction, list[Fraction]]]
"""Cost and chances of each level, by name of the effort."""


def dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def random_model(rng: random.Random, efforts: int) -> tuple[Technology, Exact]:
    """Efforts with chances in parts of 97 and costs in parts of 89, so that chance makes no ties; the first is free."""
    exact: Exact = {}
    for n in range(efforts):
        first, second = sorted(rng.randint(0, 97) for _ in range(2))
        parts = [first, second - first, 97 - second]
        exact[f"e{n}"] = (Fraction(rng.randint(1, 300) if n else 0, 89), [Fraction(part, 97) for part in parts])
    made = [effort(name, float(cost), *map(float, chances)) for name, (cost, chances) in exact.items()]
    return Technology(tuple(made)), exact


def reply(technology: Technology, payments: Sequence[float], value: float, outside: float) -> tuple[str | None, float]:
    """Return what the worker does for these payments in `AT`, and the principal's profit from it."""
    best: tuple[float, float, str | None] = (outside, -inf, None)
    for one in technology.efforts:
        paid = sum(p * chance for p, (_, chance) in zip(payments, one.scores, strict=True))
        best = max(best, (paid - one.cost, one.expected_score, one.name), key=lambda entry: entry[:2])
    for one in technology.efforts:
        if one.name == best[2]:
            return one.name, value * one.expected_score - best[0] - one.cost
    return None, 0.0


def cheapest_corner(exact: Exact, wanted: str, outside: Fraction) -> Fraction | None:
    """Return the least expected payment: the programme has its least value in a corner, so all of them are tried."""
    cost, mine = exact[wanted]
    planes = [(list(mine), cost + outside)]  # each: a row whose product with the payments is at least the limit
    for name, (other, theirs) in exact.items():
        if name != wanted:
            planes.append(([a - b for a, b in zip(mine, theirs, strict=True)], cost - other))
    planes += [([Fraction(int(at == level)) for at in range(3)], Fraction(0)) for level in range(3)]
    paid = []
    for corner in itertools.combinations(planes, 3):
        point = crossing([row for row, _ in corner], [limit for _, limit in corner])
        if point is not None and all(dot(row, point) >= limit for row, limit in planes):
            paid.append(dot(mine, point))
    return min(paid, default=None)


def crossing(rows: list[list[Fraction]], limits: list[Fraction]) -> list[Fraction] | None:
    """Return where three planes meet, by Cramer's rule; None where that is not one point."""
    whole = determinant(rows)
    if whole == 0:
        return None
    return [
        determinant([[*row[:k], limit, *row[k + 1 :]] for row, limit in zip(rows, limits, strict=True)]) / whole
        for k in range(3)
    ]


def determinant(rows: list[list[Fraction]]) -> Fraction:
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
