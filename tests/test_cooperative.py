"""Yardsticks of coalitions, against trying everything and against the textbook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise
from math import comb, inf, nan
from random import Random

import pytest
from msgspec.structs import replace

from experiments.cooperative import (
    Agent,
    BestCoalitions,
    Coalition,
    Task,
    Worth,
    baron_ferejohn,
    best_coalitions,
    core_allocation,
    gain_from_signing,
    in_core,
    least_core,
    optimal_structure,
    sampled_shapley_value,
    shapley_value,
    sign_game_equilibria,
)
from experiments.cooperative.programme import by_programme
from sim.rng import generator


def glove(coalition: frozenset[int]) -> float:
    """Player 0 has a left glove, players 1 and 2 a right one each; a pair is worth 1."""
    return float(0 in coalition and len(coalition) > 1)


def majority(coalition: frozenset[int]) -> float:
    return float(len(coalition) >= 2)


def airport(coalition: frozenset[int]) -> float:
    """What a runway costs that is long enough for planes that need 1, 2 and 3."""
    return max((player + 1.0 for player in coalition), default=0.0)


def saved(coalition: frozenset[int]) -> float:
    return -airport(coalition)


def weighted_voting(coalition: frozenset[int]) -> float:
    return float(sum((3, 2, 1, 1)[player] for player in coalition) >= 4)


def coalitions_of(n: int) -> Iterator[frozenset[int]]:
    for size in range(n + 1):
        yield from map(frozenset, combinations(range(n), size))


def drawn(rng: Random, n: int) -> Worth:
    """Return a game with worths of any sign, whole in half of the cases so that there are ties."""
    whole = rng.random() < 0.5
    table = {c: float(rng.randint(-3, 6)) if whole else rng.uniform(-5, 10) for c in coalitions_of(n)}
    table[frozenset()] = 0.0
    return table.__getitem__


def convex(rng: Random, n: int) -> Worth:
    """Return a game in which who joins adds more the more are there, which has a core (Shapley 1971)."""
    weights = [rng.uniform(0, 3) for _ in range(n)]
    return lambda coalition: sum(weights[player] for player in coalition) ** 2


# The Shapley value


@pytest.mark.parametrize(
    ("n", "worth", "values"),
    [
        (3, glove, [2 / 3, 1 / 6, 1 / 6]),
        (3, majority, [1 / 3, 1 / 3, 1 / 3]),
        (3, airport, [1 / 3, 5 / 6, 11 / 6]),
        (3, saved, [-1 / 3, -5 / 6, -11 / 6]),
        (4, weighted_voting, [1 / 2, 1 / 6, 1 / 6, 1 / 6]),
        (1, lambda coalition: 7.0 * len(coalition), [7]),
    ],
)
def test_the_shapley_value_is_that_of_the_textbook(n: int, worth: Worth, values: list[float]) -> None:
    assert shapley_value(n, worth) == pytest.approx(values, abs=1e-12)


def test_shapley_values_share_out_what_all_are_worth() -> None:
    for seed in range(100):
        rng = generator(seed, "efficiency")
        n = rng.randint(1, 6)
        worth = drawn(rng, n)
        assert sum(shapley_value(n, worth)) == pytest.approx(worth(frozenset(range(n))))


def test_players_who_add_the_same_get_the_same_and_who_adds_nothing_gets_nothing() -> None:
    for seed in range(100):
        worth = drawn(generator(seed, "symmetry"), 3)

        def alike(coalition: frozenset[int], worth: Worth = worth) -> float:
            """Players 0 and 1 count by their number, players 2 and 3 are those of the game, player 4 is null."""
            rest = frozenset(player - 1 for player in coalition & {2, 3})
            return worth(rest | {0}) * len(coalition & {0, 1}) + worth(rest)

        values = shapley_value(5, alike)
        assert values[0] == pytest.approx(values[1])
        assert values[4] == pytest.approx(0, abs=1e-12)


def test_the_shapley_value_of_a_sum_of_games_is_the_sum() -> None:
    for seed in range(100):
        rng = generator(seed, "additivity")
        n = rng.randint(1, 5)
        one, other = drawn(rng, n), drawn(rng, n)

        def both(coalition: frozenset[int], one: Worth = one, other: Worth = other) -> float:
            return one(coalition) + other(coalition)

        added = [a + b for a, b in zip(shapley_value(n, one), shapley_value(n, other), strict=True)]
        assert shapley_value(n, both) == pytest.approx(added, abs=1e-12)


def test_sampled_values_are_within_their_errors_of_the_exact_ones() -> None:
    outside = total = 0
    for seed in range(40):
        rng = generator(seed, "sampled")
        worth = drawn(rng, 5)
        estimate = sampled_shapley_value(5, worth, 400, rng)
        assert sum(estimate.values) == pytest.approx(worth(frozenset(range(5))))
        for value, error, exact in zip(estimate.values, estimate.standard_errors, shapley_value(5, worth), strict=True):
            total += 1
            outside += abs(value - exact) > 1.96 * error
    assert 0.01 < outside / total < 0.1  # 5 % are expected


def test_a_sampled_value_depends_on_the_generator_alone_and_takes_many_players() -> None:
    def square(coalition: frozenset[int]) -> float:
        return float(len(coalition) ** 2)

    estimate = sampled_shapley_value(40, square, 300, generator(0, "orders"))
    assert estimate == sampled_shapley_value(40, square, 300, generator(0, "orders"))
    assert estimate != sampled_shapley_value(40, square, 300, generator(1, "orders"))
    assert all(abs(v - 40) < 5 * e for v, e in zip(estimate.values, estimate.standard_errors, strict=True))
    assert estimate.samples == 300


def test_a_sample_of_an_additive_game_has_no_error() -> None:
    estimate = sampled_shapley_value(3, lambda coalition: 2.0 * sum(coalition), 2, generator(0, "orders"))
    assert (estimate.values, estimate.standard_errors) == ([0, 2, 4], [0, 0, 0])


# The core


def test_the_core_of_the_glove_game_is_a_single_division() -> None:
    assert core_allocation(3, glove) == pytest.approx([1, 0, 0], abs=1e-9)
    assert in_core([1, 0, 0], glove)
    assert not in_core([0.99, 0.01, 0], glove)
    assert not in_core([2 / 3, 1 / 6, 1 / 6], glove)


def test_the_core_of_a_majority_of_three_is_empty_by_a_third() -> None:
    assert core_allocation(3, majority) is None
    least = least_core(3, majority)
    assert least.epsilon == pytest.approx(1 / 3)
    assert least.allocation == pytest.approx([1 / 3] * 3)


def test_what_is_not_all_or_more_than_all_is_not_in_the_core() -> None:
    assert in_core([1.0, 1.0], lambda coalition: float(len(coalition)))
    assert not in_core([1.0, 0.5], lambda coalition: float(len(coalition)))
    assert not in_core([1.0, 1.5], lambda coalition: float(len(coalition)))


def test_the_core_of_costs_is_the_charges_that_nobody_undercuts() -> None:
    assert in_core([-1 / 3, -5 / 6, -11 / 6], saved)
    assert in_core([0, 0, -3], saved)
    assert not in_core([-1.5, -0.5, -1], saved)  # the first alone costs 1
    found = core_allocation(3, saved)
    assert found is not None
    assert in_core(found, saved)


def test_a_core_allocation_leaves_nobody_a_reason_to_leave() -> None:
    empty = 0
    for seed in range(200):
        rng = generator(seed, "core")
        n = rng.randint(1, 5)
        worth = convex(rng, n) if seed % 2 else drawn(rng, n)
        found, least = core_allocation(n, worth), least_core(n, worth)
        empty += found is None
        assert sum(least.allocation) == pytest.approx(worth(frozenset(range(n))))
        proper = [c for c in coalitions_of(n) if 0 < len(c) < n]
        losses = [worth(c) - sum(least.allocation[player] for player in c) for c in proper]
        assert least.epsilon == pytest.approx(max(losses, default=-inf), abs=1e-9)
        assert (found is None) == (least.epsilon > 1e-7)
        if found is not None:
            assert in_core(found, worth)
            assert all(sum(found[player] for player in c) >= worth(c) - 1e-7 for c in proper)
        assert found is not None or not seed % 2  # a convex game has a core
    assert 20 < empty < 100


def test_the_shapley_value_of_a_convex_game_is_in_its_core() -> None:
    for seed in range(50):
        rng = generator(seed, "convex")
        n = rng.randint(2, 6)
        worth = convex(rng, n)
        assert in_core(shapley_value(n, worth), worth)


def test_no_other_division_is_nearer_to_the_core() -> None:
    for seed in range(30):
        rng = generator(seed, "least core")
        worth = drawn(rng, 3)
        epsilon, total = least_core(3, worth).epsilon, worth(frozenset(range(3)))
        for _ in range(200):
            first, second = rng.uniform(-10, 15), rng.uniform(-10, 15)
            payoff = (first, second, total - first - second)
            proper = [c for c in coalitions_of(3) if 0 < len(c) < 3]
            assert max(worth(c) - sum(payoff[player] for player in c) for c in proper) >= epsilon - 1e-9


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_core_does_not_depend_on_the_unit_of_currency(unit: float) -> None:
    assert core_allocation(3, lambda c: unit * glove(c)) == pytest.approx([unit, 0, 0], abs=1e-8 * unit)
    assert core_allocation(3, lambda c: unit * majority(c)) is None
    assert not in_core([0.99 * unit, 0.01 * unit, 0], lambda c: unit * glove(c))


def test_a_single_player_and_a_worthless_game_have_a_core() -> None:
    assert least_core(1, lambda coalition: 5.0 * len(coalition)).epsilon == -inf
    assert core_allocation(1, lambda coalition: 5.0 * len(coalition)) == [5]
    assert core_allocation(3, lambda coalition: 0.0) == [0, 0, 0]


@pytest.mark.parametrize("of", [shapley_value, least_core, core_allocation, optimal_structure])
def test_games_that_make_no_sense_are_refused(of: object) -> None:
    assert callable(of)
    with pytest.raises(ValueError, match="between 1 and 16"):
        of(0, glove)
    with pytest.raises(ValueError, match="between 1 and 16"):
        of(17, glove)
    with pytest.raises(ValueError, match="nobody is 1"):
        of(2, lambda coalition: 1.0)
    with pytest.raises(ValueError, match=r"\{1\} is not finite"):
        of(2, lambda coalition: inf if coalition == {1} else 0.0)


def test_samples_and_allocations_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="samples=1"):
        sampled_shapley_value(3, glove, 1, generator(0))
    with pytest.raises(ValueError, match="n=0"):
        sampled_shapley_value(0, glove, 2, generator(0))
    with pytest.raises(ValueError, match="finite"):
        in_core([nan, 0, 0], glove)


# Coalition structures


def partitions(players: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """Yield every partition, each as coalitions by their first players."""
    if not players:
        yield []
        return
    first, *rest = players
    for size in range(len(players)):
        for others in combinations(rest, size):
            for more in partitions([player for player in rest if player not in others]):
                yield [(first, *others), *more]


def masks(partition: Sequence[Sequence[int]]) -> list[int]:
    return [sum(1 << player for player in coalition) for coalition in partition]


def test_the_best_structure_is_the_best_of_all() -> None:
    for seed in range(200):
        rng = generator(seed, "structure")
        n = rng.randint(1, 8)
        worth = drawn(rng, n)
        tried = [(sum(worth(frozenset(c)) for c in p), p) for p in partitions(range(n))]
        best = max(welfare for welfare, _ in tried)
        welfare, structure = optimal_structure(n, worth)
        assert welfare == pytest.approx(best)
        assert sorted(player for c in structure for player in c) == list(range(n))
        assert welfare == pytest.approx(sum(worth(frozenset(c)) for c in structure))
        if all(worth(c).is_integer() for c in coalitions_of(n)):
            assert structure == min((p for welfare, p in tried if welfare == best), key=masks)


def test_of_equal_structures_the_one_with_the_smallest_masks_is_chosen() -> None:
    assert optimal_structure(3, lambda coalition: float(len(coalition))) == (3, [(0,), (1,), (2,)])
    assert optimal_structure(3, majority) == (1, [(0,), (1, 2)])
    assert optimal_structure(3, glove) == (1, [(0, 1), (2,)])


# Coalitions for tasks


def tried(tasks: Sequence[Task], agents: Sequence[Agent]) -> float:
    """Return the best welfare by trying every coalition for every task."""

    @cache
    def best(number: int, left: tuple[int, ...]) -> float:
        if number == len(tasks):
            return 0.0
        task, found = tasks[number], best(number + 1, left)
        for c in coalitions_of(len(agents)):
            totals = [sum(agents[a].capabilities[k] for a in c) for k in range(len(task.requirements))]
            enough = all(total >= needed - 1e-9 for total, needed in zip(totals, task.requirements, strict=True))
            if len(c) >= task.quorum and enough and all(left[a] >= task.commitment for a in c):
                after = tuple(units - task.commitment * (a in c) for a, units in enumerate(left))
                gained = task.value - sum(agents[a].costs[number] for a in c)
                found = max(found, gained + best(number + task.exclusive, after))
        return found

    return best(0, tuple(agent.resources for agent in agents))


def market(rng: Random, n: int, m: int, most_resources: int = 1) -> tuple[list[Task], list[Agent]]:
    """Draw tasks and agents; whole numbers, so that there are ties."""
    k = rng.randint(0, 2)
    tasks = [
        Task(
            value=rng.randint(-1, 15),
            quorum=rng.randint(1, 3),
            requirements=tuple(rng.choice([0, 0.3, 1]) for _ in range(k)),
            commitment=rng.randint(1, min(2, most_resources)),
            exclusive=rng.random() < 0.6,
        )
        for _ in range(m)
    ]
    agents = [
        Agent(
            costs=tuple(rng.randint(-1, 5) for _ in range(m)),
            capabilities=tuple(rng.choice([0, 0.1, 0.2, 1]) for _ in range(k)),
            resources=rng.choice([0, 1, most_resources, most_resources]),
        )
        for _ in range(n)
    ]
    return tasks, agents


def assert_possible(result: BestCoalitions, tasks: Sequence[Task], agents: Sequence[Agent]) -> None:
    gained, left = 0.0, [agent.resources for agent in agents]
    for coalition in result.coalitions:
        task, its = tasks[coalition.task], [agents[a] for a in coalition.members]
        gained += task.value - sum(agent.costs[coalition.task] for agent in its)
        assert list(coalition.members) == sorted(set(coalition.members))
        assert len(its) >= task.quorum
        for k, needed in enumerate(task.requirements):
            assert sum(agent.capabilities[k] for agent in its) >= needed - 1e-9
        for a in coalition.members:
            left[a] -= task.commitment
    assert min(left, default=0) >= 0
    for number, task in enumerate(tasks):
        assert not task.exclusive or [c.task for c in result.coalitions].count(number) <= 1
    assert result.welfare == pytest.approx(gained)
    assert result.bound >= result.welfare


def test_the_best_coalitions_are_the_best_of_all() -> None:
    formed = 0
    for seed in range(200):
        rng = generator(seed, "tasks")
        tasks, agents = market(rng, rng.randint(0, 5), rng.randint(0, 3))
        result = best_coalitions(tasks, agents)
        assert_possible(result, tasks, agents)
        assert result.exact
        assert result.bound == result.welfare == pytest.approx(tried(tasks, agents))
        formed += bool(result.coalitions)
    assert 60 < formed < 200


def test_with_resources_for_several_coalitions_they_are_the_best_of_all_too() -> None:
    several = 0
    for seed in range(120):
        rng = generator(seed, "resources")
        tasks, agents = market(rng, rng.randint(1, 4), rng.randint(1, 3), most_resources=3)
        result = best_coalitions(tasks, agents)
        assert_possible(result, tasks, agents)
        assert result.exact
        assert result.welfare == pytest.approx(tried(tasks, agents))
        joined = [a for c in result.coalitions for a in c.members]
        several += len(joined) > len(set(joined))
    assert several > 10


def test_both_ways_of_looking_for_them_find_the_same_welfare() -> None:
    for seed in range(30):
        rng = generator(seed, "both")
        tasks, agents = market(rng, rng.randint(5, 8), rng.randint(1, 5))
        coalitions, bound = by_programme(tasks, agents, 60)
        assert bound is None
        gains = [tasks[c.task].value - sum(agents[a].costs[c.task] for a in c.members) for c in coalitions]
        assert best_coalitions(tasks, agents).welfare == pytest.approx(sum(gains))


def test_more_agents_than_every_coalition_can_be_tried_of() -> None:
    tasks = [Task(value=10, quorum=3), Task(value=7, quorum=2)]
    agents = [Agent(costs=(float(a), float(a % 7))) for a in range(30)]
    result = best_coalitions(tasks, agents)
    assert result.exact
    # the cheapest three of the first task, and for the second two others who cost nothing
    assert result.welfare == pytest.approx(10 - 3 + 7)
    assert result.coalitions[0] == Coalition(0, (0, 1, 2))
    assert_possible(result, tasks, agents)


def test_what_is_given_up_has_a_bound_and_says_so() -> None:
    loose = 0
    for seed in range(10):
        tasks, agents = market(generator(seed, "given up"), 4, 3, most_resources=3)
        result = best_coalitions(tasks, agents, seconds=0)
        assert_possible(result, tasks, agents)
        best = tried(tasks, agents)
        assert result.welfare <= best + 1e-6
        assert result.bound >= best - 1e-6
        loose += not result.exact
    assert loose


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_best_coalitions_do_not_depend_on_the_unit_of_currency(unit: float) -> None:
    for seed in range(20):
        drawn_tasks, drawn_agents = market(generator(seed, "unit"), 4, 3, most_resources=3)
        tasks = [replace(task, value=task.value * unit) for task in drawn_tasks]
        agents = [replace(agent, costs=tuple(cost * unit for cost in agent.costs)) for agent in drawn_agents]
        result = best_coalitions(tasks, agents)
        assert result.exact
        assert result.welfare == pytest.approx(unit * tried(drawn_tasks, drawn_agents), abs=1e-9 * unit)


def test_an_exclusive_task_is_done_once_and_another_as_often_as_there_are_agents() -> None:
    agents = [Agent(costs=(1.0,))] * 4
    once = best_coalitions([Task(value=5, quorum=2)], agents)
    often = best_coalitions([Task(value=5, quorum=2, exclusive=False)], agents)
    assert (once.welfare, len(once.coalitions)) == (3, 1)
    assert (often.welfare, len(often.coalitions)) == (6, 2)


def test_capabilities_that_add_up_but_for_rounding_are_enough() -> None:
    task = Task(value=5, requirements=(0.8,))
    agents = [Agent(costs=(0.0,), capabilities=(share,)) for share in (0.7, 0.1)]
    assert best_coalitions([task], agents).coalitions == (Coalition(0, (0, 1)),)
    assert not best_coalitions([Task(value=5, requirements=(0.81,))], agents).coalitions


def test_who_is_not_needed_and_what_does_not_pay_is_left_out() -> None:
    tasks = [Task(value=5, quorum=1), Task(value=2, quorum=2)]
    agents = [Agent(costs=(3.0, 2.0)), Agent(costs=(2.0, 2.0)), Agent(costs=(4.0, 2.0))]
    assert best_coalitions(tasks, agents) == BestCoalitions(3, (Coalition(0, (1,)),), 3, True)


@pytest.mark.parametrize(("tasks", "n"), [([], 0), ([], 3), ([Task(value=5)], 0), ([Task(value=5, quorum=20)], 12)])
def test_without_tasks_or_enough_agents_nothing_is_gained(tasks: list[Task], n: int) -> None:
    assert best_coalitions(tasks, [Agent(costs=(0.0,) * len(tasks))] * n) == BestCoalitions(0, (), 0, True)


@pytest.mark.parametrize(
    ("task", "agent", "message"),
    [
        (Task(value=inf), Agent(costs=(1,)), "task 0: value=inf"),
        (Task(value=1, quorum=0), Agent(costs=(1,)), "quorum=0"),
        (Task(value=1, commitment=0), Agent(costs=(1,)), "commitment=0"),
        (Task(value=1, requirements=(-1,)), Agent(costs=(1,), capabilities=(1,)), "task 0: requirements"),
        (Task(value=1, requirements=(1,)), Agent(costs=(1,)), "agent 0: capabilities"),
        (Task(value=1), Agent(costs=()), "agent 0: costs"),
        (Task(value=1), Agent(costs=(nan,)), "agent 0: costs"),
        (Task(value=1), Agent(costs=(1,), resources=-1), "resources=-1"),
    ],
)
def test_tasks_and_agents_that_make_no_sense_are_refused(task: Task, agent: Agent, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        best_coalitions([task], [agent])


def test_a_time_limit_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="seconds"):
        best_coalitions([], [], seconds=nan)


# Bargaining in legislatures


def test_three_members_divide_as_in_baron_and_ferejohn() -> None:
    shares = baron_ferejohn(3, 0.8)
    assert (shares.proposer, shares.partner) == pytest.approx((0.7333, 0.2667), abs=5e-5)
    assert shares.partners == 1


@pytest.mark.parametrize("n", [1, 3, 5, 7, 101])
def test_an_odd_number_divides_by_the_formula(n: int) -> None:
    shares = baron_ferejohn(n, 0.9)
    assert shares.proposer == pytest.approx(1 - 0.9 * (n - 1) / (2 * n))
    assert shares.proposer + shares.partners * shares.partner == pytest.approx(1)


def test_with_any_quorum_a_member_is_paid_what_waiting_is_worth_to_it() -> None:
    for n in range(1, 8):
        for quorum in range(1, n + 1):
            shares = baron_ferejohn(n, 0.7, quorum)
            expected = (shares.proposer + (n - 1) * shares.partner * (shares.partners / max(n - 1, 1))) / n
            assert shares.partner == pytest.approx(0.7 * expected)
            assert shares.partners == quorum - 1
    assert baron_ferejohn(4, 0.7) == baron_ferejohn(4, 0.7, 3)


def test_votes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="n=0"):
        baron_ferejohn(0, 0.5)
    with pytest.raises(ValueError, match="discount"):
        baron_ferejohn(3, nan)
    with pytest.raises(ValueError, match="quorum=4"):
        baron_ferejohn(3, 0.5, 4)


# The sign game


def test_five_agents_sign_as_in_the_worked_example() -> None:
    (refunded,) = sign_game_equilibria(5, 3, 0.3, refund=True)
    assert (refunded.probability, refunded.provision) == pytest.approx((0.6916, 0.8256), abs=5e-5)
    low, high = sign_game_equilibria(5, 3, 0.3, refund=False)
    assert (low.probability, high.probability) == pytest.approx((0.3375, 0.6625), abs=5e-5)
    assert (low.provision, high.provision) == pytest.approx((0.2161, 0.7839), abs=5e-5)


def difference(n: int, q: int, cost_ratio: float, refund: bool, p: float) -> float:
    """Return what signing gains over not signing, by adding up both payoffs over what the others do."""
    gained = 0.0
    for others in range(n):
        chance = comb(n - 1, others) * p**others * (1 - p) ** (n - 1 - others)
        signing = (others + 1 >= q) - cost_ratio * (not refund or others + 1 >= q)
        gained += chance * (signing - (others >= q))
    return gained


def test_in_equilibrium_agents_are_indifferent_and_nowhere_else() -> None:
    for n in range(1, 8):
        for q in range(1, n + 1):
            for refund in (False, True):
                for cost_ratio in (0.05, 0.3, 0.7):
                    roots = [e.probability for e in sign_game_equilibria(n, q, cost_ratio, refund)]
                    grid = [i / 400 for i in range(1, 400)]
                    gains = [difference(n, q, cost_ratio, refund, p) for p in grid]
                    assert gains == pytest.approx([gain_from_signing(n, q, cost_ratio, refund, p) for p in grid])
                    for p in roots:
                        assert 0 < p < 1
                        assert difference(n, q, cost_ratio, refund, p) == pytest.approx(0, abs=1e-9)
                    changes = sum((a > 0) != (b > 0) for a, b in pairwise(gains))
                    assert len(roots) == changes


@pytest.mark.parametrize("refund", [False, True])
def test_one_volunteer_is_found_as_in_diekmann(refund: bool) -> None:
    (found,) = sign_game_equilibria(4, 1, 0.2, refund)
    assert found.probability == pytest.approx(1 - 0.2 ** (1 / 3))
    assert found.provision == pytest.approx(1 - 0.2 ** (4 / 3))


def test_where_all_are_needed_a_refund_takes_away_the_doubt() -> None:
    assert sign_game_equilibria(3, 3, 0.25, refund=True) == []
    (found,) = sign_game_equilibria(3, 3, 0.25, refund=False)
    assert (found.probability, found.provision) == pytest.approx((0.5, 0.125))


def test_at_the_peak_two_equilibria_become_one_and_above_it_none() -> None:
    assert [e.probability for e in sign_game_equilibria(3, 2, 0.5, refund=False)] == [0.5]
    assert sign_game_equilibria(3, 2, 0.51, refund=False) == []


@pytest.mark.parametrize(("n", "q"), [(300, 200), (1000, 1), (1000, 500), (1000, 999)])
def test_many_agents_still_have_an_equilibrium(n: int, q: int) -> None:
    (found,) = sign_game_equilibria(n, q, 0.3, refund=True)
    assert gain_from_signing(n, q, 0.3, True, found.probability) == pytest.approx(0, abs=1e-9)
    assert 0 < found.probability < 1


def test_sign_games_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="q=0"):
        sign_game_equilibria(3, 0, 0.5, refund=True)
    with pytest.raises(ValueError, match="n=1001"):
        sign_game_equilibria(1001, 2, 0.5, refund=True)
    with pytest.raises(ValueError, match="q=4"):
        sign_game_equilibria(3, 4, 0.5, refund=True)
    for cost_ratio in (0.0, 1.0, nan):
        with pytest.raises(ValueError, match="cost_ratio"):
            sign_game_equilibria(3, 2, cost_ratio, refund=True)
    with pytest.raises(ValueError, match="probability"):
        gain_from_signing(3, 2, 0.5, True, 1.5)
