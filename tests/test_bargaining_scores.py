"""The scores of a negotiation: the golden table, and what the formula promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import ConfigError
from sim.games.bargaining.scores import Scores, Scoring, contract_scores, deal_scores, failure_scores

GOLDEN = json.loads((Path(__file__).parent / "golden" / "bargaining_scores.json").read_text())
PAPER = Scoring()
PRINTED = 5.0001e-7  # the table has six decimals


def deal(price: float, round: int = 1, scoring: Scoring = PAPER) -> Scores:
    return deal_scores(scoring, price=price, seller_min=12_000, buyer_max=16_000, round=round)


@pytest.mark.parametrize("row", GOLDEN["deals"], ids=lambda r: f"{r['price']}-{r['round']}-{r['weights'][0]}")
def test_the_golden_table_of_deals(row: dict[str, Any]) -> None:
    scores = deal_scores(
        Scoring(weights=tuple(row["weights"])),
        price=row["price"],
        seller_min=row["seller_min"],
        buyer_max=row["buyer_max"],
        round=row["round"],
    )
    for key in Scores.__struct_fields__:
        assert getattr(scores, key) == pytest.approx(row[key], rel=0, abs=PRINTED)


@pytest.mark.parametrize("row", GOLDEN["failures"], ids=lambda r: f"{r['reason']}-{r['max_rounds']}")
@pytest.mark.parametrize("failure", ["flat", "discounted"])
def test_the_golden_table_of_failures(row: dict[str, Any], failure: Any) -> None:
    scores = failure_scores(Scoring(failure=failure), row["max_rounds"])
    for key in Scores.__struct_fields__:
        assert getattr(scores, key) == pytest.approx(row[failure], rel=0, abs=PRINTED)


def test_an_even_price_scores_best_and_each_end_leaves_a_side_without_a_share() -> None:
    assert deal(14_000) == Scores(100.0, 72.5, 72.5)
    assert deal(12_000) == Scores(45.0, 100.0, 45.0)
    assert deal(16_000) == Scores(45.0, 45.0, 100.0)


@given(st.floats(12_000, 16_000), st.integers(1, 40))
def test_scores_are_within_their_weights_and_mirror_each_other(price: float, round: int) -> None:
    scores, mirrored = deal(price, round), deal(28_000 - price, round)
    top = 100 * 0.99 ** (round - 1) + 1e-9
    assert 0 < scores.global_score <= top
    assert scores.buyer_score == pytest.approx(mirrored.seller_score)
    assert scores.global_score == pytest.approx(mirrored.global_score)
    assert scores.buyer_score + scores.seller_score == pytest.approx((45 * 2 + 55) * 0.99 ** (round - 1))
    assert deal(price, round + 1).global_score < scores.global_score


def test_a_contract_divides_by_the_most_that_both_could_gain() -> None:
    """Contract mode: r = U / z_max."""
    scores = contract_scores(PAPER, buyer_utility=30, seller_utility=20, max_surplus=100, round=3)
    left = 0.99**2
    expected = [left * (45 + 55 * share) for share in (4 * 0.3 * 0.2, 0.3, 0.2)]
    assert [scores.global_score, scores.buyer_score, scores.seller_score] == pytest.approx(expected)


def test_a_price_alone_is_a_contract_without_terms() -> None:
    whole = contract_scores(PAPER, buyer_utility=3000, seller_utility=1000, max_surplus=4000, round=5)
    assert deal(13_000, 5) == whole


def test_the_discounted_penalty_of_a_single_round_is_nothing() -> None:
    assert failure_scores(Scoring(failure="discounted"), 1).global_score == 0
    assert failure_scores(Scoring(failure="flat", penalty=3), 1) == Scores(-3.0, -3.0, -3.0)


def test_without_a_discount_rounds_cost_nothing() -> None:
    patient = Scoring(discount=1.0)
    assert deal(14_000, 500, patient).global_score == 100
    assert failure_scores(Scoring(discount=1.0, failure="discounted"), 20).global_score == 0


@pytest.mark.parametrize("price", [11_999.99, 16_000.01])
def test_a_price_outside_the_zone_has_no_score_of_a_deal(price: float) -> None:
    with pytest.raises(ValueError, match="failure"):
        deal(price)


@pytest.mark.parametrize("surplus", [0.0, -1.0, float("nan"), float("inf")])
def test_without_a_zone_there_is_no_score(surplus: float) -> None:
    with pytest.raises(ValueError, match="zone"):
        contract_scores(PAPER, buyer_utility=0, seller_utility=0, max_surplus=surplus, round=1)


def test_rounds_count_from_one() -> None:
    with pytest.raises(ValueError, match="round=0"):
        deal(14_000, 0)


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"weights": (30, -1, 15)}, "weights"),
        ({"weights": (30, float("nan"), 15)}, "weights"),
        ({"weights": (float("inf"), 55, 15)}, "weights"),
        ({"discount": 0.0}, "discount"),
        ({"discount": 1.01}, "discount"),
        ({"discount": float("nan")}, "discount"),
        ({"penalty": -15}, "penalty"),
        ({"penalty": float("inf")}, "penalty"),
    ],
)
def test_a_wrong_parameter_is_an_error_that_names_it(wrong: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key}="):
        Scoring(**wrong)
