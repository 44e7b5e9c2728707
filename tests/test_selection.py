"""Actions are chosen with the probabilities that are recorded, and the same under every schedule."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from math import exp, fsum, inf, nan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from actors.learning import Choice, Options, Selection, exponential, register
from actors.learning.selection import argmax, draw, epsilon_greedy, other, softmax
from sim.errors import ConfigError

DRAWS = 20_000
GRID = 512

scores_lists = st.lists(st.floats(allow_nan=False), min_size=1, max_size=6)
uniforms = st.floats(0, 1, exclude_max=True)


def last(options: Options) -> int:
    return len(options.scores) - 1


def lowest_quorum(options: Options) -> int:
    return options.actions.index("sign" if options.features["signatures"] >= 2 else "reject")


def proportional(options: Options) -> list[float]:
    return [score / fsum(options.scores) for score in options.scores]


def no_distribution(options: Options) -> list[float]:
    return [0.5] * len(options.scores)


def fails(options: Options) -> list[float]:
    raise LookupError("its own mistake")


def select_many(selection: Selection, scores: Sequence[float], seed: int = 7) -> list[Choice]:
    return [selection.select(scores, seed, "ann", f"d{n}") for n in range(DRAWS)]


# ── frequencies ─────────────────────────────────────────────────────────────────────────────────────────


EPSILON = Selection(kind="epsilon_greedy", epsilon=0.1)
SOFTMAX = Selection(kind="softmax", temperature=2.0)
OTHER = Selection(kind="other", function=f"{__name__}:proportional")
E = [exp(1 / 2), exp(3 / 2), exp(2 / 2)]


@pytest.mark.parametrize(
    ("selection", "scores", "exact"),
    [
        (EPSILON, [1.0, 3.0, 2.0], [0.1 / 3, 0.9 + 0.1 / 3, 0.1 / 3]),
        (EPSILON, [5.0, 5.0], [0.95, 0.05]),
        (Selection(kind="epsilon_greedy", epsilon=1.0), [1.0, 3.0, 2.0, 0.0], [0.25] * 4),
        (SOFTMAX, [1.0, 3.0, 2.0], [e / sum(E) for e in E]),
        (SOFTMAX, [4.0, 4.0, 4.0, 4.0, 4.0], [0.2] * 5),
        (OTHER, [1.0, 2.0, 5.0], [1 / 8, 2 / 8, 5 / 8]),
    ],
)
def test_actions_are_chosen_as_often_as_the_formula_says(
    selection: Selection, scores: list[float], exact: list[float]
) -> None:
    choices = select_many(selection, scores)
    count = Counter(choice.index for choice in choices)
    statistic = sum((count[n] - DRAWS * p) ** 2 / (DRAWS * p) for n, p in enumerate(exact))
    assert statistic < chi2.ppf(0.999, len(exact) - 1)
    for choice in choices:
        assert choice.probability == pytest.approx(exact[choice.index], rel=1e-14)


def test_the_chi_square_test_would_notice_an_epsilon_that_is_never_spent_on_the_best() -> None:
    wrong = [0.05, 0.9, 0.05]
    count = Counter(choice.index for choice in select_many(EPSILON, [1.0, 3.0, 2.0]))
    assert sum((count[n] - DRAWS * p) ** 2 / (DRAWS * p) for n, p in enumerate(wrong)) > chi2.ppf(0.999, 2)


@given(scores_lists, uniforms)
def test_the_recorded_probability_is_the_share_of_draws_that_choose_the_action(scores: list[float], u: float) -> None:
    for selection in (partial(epsilon_greedy, scores, 0.3), partial(softmax, scores, 0.7)):
        choice = selection(u)
        assert 0 < choice.probability <= 1
        width = sum(selection(n / GRID).index == choice.index for n in range(GRID)) / GRID
        assert width == pytest.approx(choice.probability, abs=1.01 / GRID)


def test_a_draw_on_the_border_of_two_actions_takes_the_second() -> None:
    assert [softmax([1.0, 1.0], 1.0, u).index for u in (0.0, 0.5 - 2**-53, 0.5)] == [0, 0, 1]


def test_a_draw_above_what_the_probabilities_add_up_to_takes_the_last_that_can_be_chosen() -> None:
    choice = other(Options((0.0, 0.0, 0.0)), lambda options: [0.0, 1.0 - 1e-10, 0.0], 1.0 - 1e-12, "nearly")
    assert choice == Choice(1, 1.0 - 1e-10, "other(nearly)")


# ── ends of the range ───────────────────────────────────────────────────────────────────────────────────


def test_of_equal_scores_argmax_takes_the_first() -> None:
    assert argmax([1.0, 4.0, 4.0, 2.0]) == Choice(1, 1.0, "argmax")
    assert argmax([0.0, -0.0]).index == 0
    assert argmax([-0.0, 0.0]).index == 0


def test_epsilon_0_is_argmax_and_epsilon_1_is_uniform() -> None:
    never = Selection(kind="epsilon_greedy", epsilon=0)
    assert {(c.index, c.probability) for c in select_many(never, [1.0, 9.0, 9.0])} == {(1, 1.0)}
    always = Selection(kind="epsilon_greedy", epsilon=1)
    assert {(c.index, c.probability) for c in select_many(always, [1.0, 9.0])} == {(0, 0.5), (1, 0.5)}


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        EPSILON,
        Selection(kind="epsilon_greedy", epsilon=1.0),
        SOFTMAX,
        OTHER,
        Selection(kind="system_rule", function=f"{__name__}:last"),
    ],
)
def test_the_only_action_is_certain(selection: Selection) -> None:
    choice = selection.select([3.0], 1, "ann", "d")
    assert (choice.index, choice.probability) == (0, 1.0)


@pytest.mark.parametrize("temperature", [1e-3, 1e-300, 5e-324])
def test_softmax_near_temperature_0_shares_among_the_best(temperature: float) -> None:
    assert [softmax([2.0, 7.0, 7.0, -1.0], temperature, u).index for u in (0.0, 0.49, 0.51, 0.99)] == [1, 1, 2, 2]
    assert softmax([2.0, 7.0, 7.0, -1.0], temperature, 0.3).probability == 0.5


def test_softmax_at_a_great_temperature_is_uniform() -> None:
    assert softmax([0.0, 1.0, 2.0], 1e308, 0.5).probability == pytest.approx(1 / 3)


def test_softmax_of_the_largest_scores_does_not_overflow() -> None:
    assert softmax([1e308, 1e308], 1.0, 0.7) == Choice(1, 0.5, "softmax(1.0)")
    assert softmax([1e308, -1e308], 1.0, 0.9999999) == Choice(0, 1.0, "softmax(1.0)")
    assert softmax([1e308, 0.9e308], 1e308, 0.0).probability == pytest.approx(1 / (1 + exp(-0.1)))


@given(scores_lists, st.floats(min_value=5e-324, max_value=1e308), uniforms)
def test_whatever_the_scores_an_action_is_chosen(scores: list[float], temperature: float, u: float) -> None:
    for choice in (argmax(scores), epsilon_greedy(scores, 0.2, u), softmax(scores, temperature, u)):
        assert 0 <= choice.index < len(scores)
        assert 0 < choice.probability <= 1


@given(st.floats(-800, 0))
def test_the_exponential_is_that_of_the_library_to_its_last_digits(x: float) -> None:
    assert exponential.exp(x) == pytest.approx(exp(x), rel=1e-15, abs=5e-324)


# ── infinite scores and scores that are no number ───────────────────────────────────────────────────────


def test_an_infinite_score_is_certain_and_minus_infinity_is_out() -> None:
    assert argmax([1.0, inf, inf]).index == 1
    assert argmax([-inf, -inf]).index == 0
    assert [softmax([inf, 1.0, inf], 1.0, u).index for u in (0.0, 0.49, 0.51, 0.99)] == [0, 0, 2, 2]
    assert softmax([inf, 1.0, inf], 1.0, 0.0).probability == 0.5
    assert {softmax([-inf, 0.0, -inf], 1.0, u).index for u in (0.0, 0.5, 0.999)} == {1}
    assert softmax([-inf, -inf], 1.0, 0.0).probability == 0.5


def test_epsilon_greedy_explores_an_action_of_minus_infinity() -> None:
    assert epsilon_greedy([0.0, -inf], 0.5, 0.9) == Choice(1, 0.25, "epsilon-greedy(0.5)")


@pytest.mark.parametrize(
    "selection",
    [Selection(), EPSILON, SOFTMAX, OTHER, Selection(kind="system_rule", function=f"{__name__}:last")],
)
def test_a_score_that_is_no_number_and_an_empty_list_are_refused(selection: Selection) -> None:
    with pytest.raises(ValueError, match="score of action 1"):
        selection.select([0.0, nan], 1, "ann", "d")
    with pytest.raises(ValueError, match="no actions"):
        selection.select([], 1, "ann", "d")


# ── schedules ───────────────────────────────────────────────────────────────────────────────────────────


def test_decisions_fall_the_same_way_in_any_order_and_beside_any_others() -> None:
    asked = [(agent, f"d{n}") for agent in ("ann", "bob") for n in range(200)]

    def choose(order: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Choice]:
        return {(a, d): SOFTMAX.select([1.0, 2.0, 3.0], 11, a, d) for a, d in order}

    forward = choose(asked)
    assert choose(asked[::-1]) == forward
    assert choose(sorted(asked, key=lambda pair: draw(5, *pair))) == forward
    assert choose(asked[::7]) == {pair: forward[pair] for pair in asked[::7]}
    assert len({choice.index for choice in forward.values()}) == 3


def test_seed_agent_and_decision_each_change_the_draw() -> None:
    draws = {draw(seed, agent, d) for seed in range(9) for agent in ("a", "b", "ab") for d in ("1", "2", "b1")}
    assert len(draws) == 81
    assert all(0 <= u < 1 for u in draws)


def test_a_decision_falls_as_it_always_did() -> None:
    assert draw(7, "ann", "match-1/f1/c1") == DRAWN
    code = (
        "from actors.learning.selection import draw, softmax\n"
        "u = draw(7, 'ann', 'match-1/f1/c1')\n"
        "print(repr(u), softmax([0.1, 0.2, 0.3], 0.05, u))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == f"{DRAWN!r} {PICKED}\n"


DRAWN = 0.8646827604123192
PICKED = Choice(2, 0.8668133321973347, "softmax(0.05)")


# ── rules and functions of one's own ────────────────────────────────────────────────────────────────────


def test_a_system_rule_decides_with_certainty_from_what_it_sees() -> None:
    rule = Selection(kind="system_rule")
    for signatures, index in ((1, 1), (2, 0)):
        options = Options((0.0, 9.0), ("sign", "reject"), {"signatures": signatures})
        choice = rule.select(options, 1, "ann", "d", rule=lowest_quorum)
        assert choice == Choice(index, 1.0, f"system-rule({__name__}:lowest_quorum)")


def test_a_system_rule_is_found_by_import_path_and_by_name() -> None:
    register("take_last", last)
    register("take_last", last)  # again is no mistake
    for name in ("take_last", f"{__name__}:last"):
        choice = Selection(kind="system_rule", function=name).select([1.0, 2.0, 0.0], 1, "ann", "d")
        assert choice == Choice(2, 1.0, f"system-rule({name})")


def test_a_name_is_given_to_one_function_only() -> None:
    register("mine", proportional)
    with pytest.raises(ConfigError, match=r"mine.*:proportional has this name"):
        register("mine", last)
    for name in ("", "a:b"):
        with pytest.raises(ConfigError, match="without a colon"):
            register(name, last)


@pytest.mark.parametrize("answer", [3, -1, True, 1.0, None])
def test_a_rule_that_names_no_action_is_told(answer: object) -> None:
    with pytest.raises(ConfigError, match="index of one of 3"):
        Selection(kind="system_rule").select([0.0] * 3, 1, "ann", "d", rule=lambda options: answer)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("answer", [[0.5, 0.6], [1.0], [1.5, -0.5], [nan, 1.0], [inf, 0.0], None, "ab", [[], []]])
def test_a_function_that_gives_no_probabilities_is_told(answer: object) -> None:
    name = f"answer {answer!r}".replace(":", "")
    register(name, lambda options: answer)
    with pytest.raises(ConfigError, match="that add up to 1"):
        Selection(kind="other", function=name).select([0.0, 1.0], 1, "ann", "d")


def test_an_action_of_probability_0_is_never_chosen() -> None:
    register("first_only", lambda options: [0.0, 1.0 - 1e-10, 0.0])
    only = Selection(kind="other", function="first_only")
    assert {choice.index for choice in select_many(only, [0.0, 0.0, 0.0])} == {1}


def test_a_mistake_inside_a_function_is_its_own() -> None:
    with pytest.raises(LookupError, match="its own mistake"):
        Selection(kind="other", function=f"{__name__}:fails").select([0.0], 1, "ann", "d")


# ── settings ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        ({}, "argmax"),
        ({"kind": "epsilon_greedy", "epsilon": 0.1}, "epsilon-greedy(0.1)"),
        ({"kind": "epsilon_greedy", "epsilon": 1}, "epsilon-greedy(1.0)"),
        ({"kind": "softmax", "temperature": 0.5}, "softmax(0.5)"),
        ({"kind": "system_rule"}, "system-rule"),
        ({"kind": "system_rule", "function": "threshold"}, "system-rule(threshold)"),
        ({"kind": "other", "function": f"{__name__}:proportional"}, f"other({__name__}:proportional)"),
    ],
)
def test_a_selection_comes_from_yaml_goes_back_and_says_what_it_is(plain: dict[str, object], text: str) -> None:
    selection = Selection.from_plain(plain)
    assert str(selection) == text
    assert msgspec.to_builtins(selection) == plain
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(selection), type=Selection) == selection


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"kind": "softmx", "temperature": 1.0}, ["softmx", "did you mean softmax?", "epsilon_greedy"]),
        ({"kind": "epsilon_greedy"}, ["needs epsilon"]),
        ({"kind": "softmax"}, ["needs temperature"]),
        ({"kind": "other"}, ["needs function"]),
        ({"kind": "epsilon_greedy", "epsilon": 1.1}, ["epsilon=1.1", "0 to 1"]),
        ({"kind": "epsilon_greedy", "epsilon": nan}, ["epsilon=nan"]),
        ({"kind": "softmax", "temperature": 0.0}, ["temperature=0.0", "kind=argmax"]),
        ({"kind": "softmax", "temperature": inf}, ["temperature=inf"]),
        ({"kind": "softmax", "temperature": nan}, ["temperature=nan"]),
        ({"kind": "argmax", "epsilon": 0.1}, ["epsilon=0.1", "takes no setting", "leave epsilon out"]),
        ({"kind": "softmax", "temperature": 1.0, "epsilon": 0.1}, ["epsilon=0.1", "takes temperature"]),
        ({"kind": "epsilon_greedy", "epsilon": "often"}, ["selection", "$.epsilon"]),
        ({"kind": "epsilon_greedy", "epsilom": 0.1}, ["selection", "epsilom"]),
    ],
)
def test_a_wrong_setting_is_named(plain: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        Selection.from_plain(plain)
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("proportionate", ["no function is registered"]),
        ("tests.nowhere:f", ["cannot be imported"]),
        (f"{__name__}:proportionl", ["did you mean proportional?"]),
        (f"{__name__}:DRAWS", ["no function 'DRAWS'"]),
    ],
)
def test_a_function_that_is_not_there_is_named(function: str, words: list[str]) -> None:
    selection = Selection(kind="other", function=function)
    for attempt in (selection.check, lambda: selection.select([0.0], 1, "ann", "d")):
        with pytest.raises(ConfigError) as raised:
            attempt()
        for word in words:
            assert word in str(raised.value)


def test_a_rule_is_given_where_one_is_needed_and_nowhere_else() -> None:
    with pytest.raises(ConfigError, match="needs function, or a rule"):
        Selection(kind="system_rule").select([0.0], 1, "ann", "d")
    for selection in (Selection(), Selection(kind="system_rule", function=f"{__name__}:last")):
        with pytest.raises(ConfigError, match="a rule was given"):
            selection.select([0.0], 1, "ann", "d", rule=last)


def test_names_of_actions_match_their_scores() -> None:
    with pytest.raises(ValueError, match="2 actions and 1 scores"):
        Options((1.0,), ("sign", "reject"))
