"""The scores of a negotiation: Algorithm 1 of AgenticPay (Liu, Gu, Song 2026)."""

from __future__ import annotations

from itertools import repeat
from math import inf, isfinite, prod
from typing import Literal

from sim.errors import ConfigError
from sim.messages import Struct


class Scoring(Struct, frozen=True):
    """How outcomes are scored.

    Attributes:
        weights: D for a deal, W for the quality of its price (or for a side's share), E for efficiency.
        discount: What each round after the first leaves of a score.
        penalty: What a failure costs.
        failure: "flat" takes the whole penalty; "discounted" takes penalty * (1 - discount^(T - 1)), T being the
            limit of rounds, as the paper's algorithm does.

    Raises:
        ConfigError: A weight or the penalty is not a finite number >= 0, or the discount is not in (0, 1].
    """

    weights: tuple[float, float, float] = (30.0, 55.0, 15.0)
    discount: float = 0.99
    penalty: float = 15.0
    failure: Literal["flat", "discounted"] = "flat"

    def __post_init__(self) -> None:
        if not all(0 <= weight < inf for weight in self.weights):
            raise ConfigError(f"weights={list(self.weights)}: three finite numbers >= 0 are needed (D, W, E)")
        if not 0 < self.discount <= 1:
            raise ConfigError(f"discount={self.discount}: a number above 0 and at most 1 is needed")
        if not 0 <= self.penalty < inf:
            raise ConfigError(f"penalty={self.penalty}: a finite number >= 0 is needed; it is taken off")


class Scores(Struct, frozen=True):
    """What a negotiation scores, for both sides together and for each.

    Attributes:
        global_score: Rewards a deal, a balanced one, and an early one.
        buyer_score: Rewards the buyer's share of the surplus instead of the balance.
        seller_score: Likewise for the seller.
    """

    global_score: float
    buyer_score: float
    seller_score: float


def deal_scores(scoring: Scoring, *, price: float, seller_min: float, buyer_max: float, round: int) -> Scores:
    """Return the scores of a deal on a price (AgenticPay, Algorithm 1).

    With Z = p_max - p_min, r_b = (p_max - p) / Z, r_s = (p - p_min) / Z, Q = 4 r_b r_s and d = discount^(t - 1):
    global d (D + W Q + E), buyer d (D + W r_b + E), seller d (D + W r_s + E).

    Args:
        scoring: Weights and discount.
        price: The agreed price p, in currency.
        seller_min: The seller's reservation price p_min.
        buyer_max: The buyer's reservation price p_max.
        round: The round of the deal t, from 1.

    Raises:
        ValueError: The price is outside the zone (that is a failure, see `failure_scores`), or there is no zone.
    """
    return contract_scores(
        scoring,
        buyer_utility=buyer_max - price,
        seller_utility=price - seller_min,
        max_surplus=buyer_max - seller_min,
        round=round,
    )


def contract_scores(
    scoring: Scoring, *, buyer_utility: float, seller_utility: float, max_surplus: float, round: int
) -> Scores:
    """Return the scores of a deal on a price and terms: Algorithm 1 with r = U / z_max.

    Args:
        scoring: Weights and discount.
        buyer_utility: U_b, what the buyer gains by the contract, in currency.
        seller_utility: U_s, what the seller gains by it.
        max_surplus: z_max, the most that U_b + U_s can be in any contract.
        round: The round of the deal t, from 1.

    Raises:
        ValueError: A utility is below 0 (that is a failure, see `failure_scores`), or z_max is not above 0.
    """
    if not (0 < max_surplus < inf and isfinite(buyer_utility) and isfinite(seller_utility)):
        raise ValueError(f"utilities {buyer_utility} and {seller_utility} of at most {max_surplus}: there is no zone")
    if buyer_utility < 0 or seller_utility < 0:
        raise ValueError(f"utilities {buyer_utility} and {seller_utility}: below 0 a deal scores as a failure")
    deal, weight, efficiency = scoring.weights
    buyer, seller = buyer_utility / max_surplus, seller_utility / max_surplus
    left = _discount(scoring, round)
    shares = (4 * buyer * seller, buyer, seller)
    return Scores(*(left * (deal + weight * share + efficiency) for share in shares))


def failure_scores(scoring: Scoring, max_rounds: int) -> Scores:
    """Return the scores of a negotiation without a deal, or with one that pays a side less than nothing.

    Flat: -F for all three. Discounted: -F (1 - discount^(T - 1)) (AgenticPay, Algorithm 1).

    Args:
        scoring: The penalty F, the discount, and which of the two.
        max_rounds: The limit of rounds T.
    """
    share = 1.0 if scoring.failure == "flat" else 1.0 - _discount(scoring, max_rounds)
    return Scores(*repeat(-scoring.penalty * share, 3))


def _discount(scoring: Scoring, round: int) -> float:
    """Return discount^(round - 1), by multiplication: `**` asks the platform's library, whose last digit differs."""
    if round < 1:
        raise ValueError(f"round={round}: rounds count from 1")
    return prod(repeat(scoring.discount, round - 1), start=1.0)
