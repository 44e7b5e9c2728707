"""Moral hazard with finitely many efforts: how a worker responds to a contract, and which contract is best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import frexp, fsum, isfinite
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from actors.scripted.principal_agent.effort import TOP, Effort, Technology, Value, expected_worth, worth
from sim.errors import ConfigError
from sim.games.principal_agent.contract import OutcomeLevel
from sim.games.principal_agent.parameters import DEFAULT_LEVELS

DEFAULT_THRESHOLDS: Final[Mapping[str, float]] = MappingProxyType(
    {level.label: level.threshold for level in DEFAULT_LEVELS}
)
"""Thresholds of the game's default outcome levels, by label."""

TIE: Final = 1e-9
"""Utilities are equal when they differ by less than this part of the payments and costs that they come from."""

NUDGES: Final = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)
"""How much better an effort is made where a tie would go to another: parts of the highest cost, or of half of it."""


class OptimalContract(msgspec.Struct, frozen=True):
    """The best that a principal can offer.

    Attributes:
        levels: The outcome levels, by rising threshold; empty where it is best to offer nothing.
        effort: The effort that the worker chooses; None where nothing is offered.
        principal_utility: Expected worth minus expected payment, in currency; 0 where nothing is offered.
        worker_utility: Expected payment minus cost, in currency; the outside utility where nothing is offered.
    """

    levels: tuple[OutcomeLevel, ...]
    effort: Effort | None
    principal_utility: float
    worker_utility: float


# ── the worker ──────────────────────────────────────────────────────────────────────────────────────────


def payment(levels: Iterable[OutcomeLevel], score: float) -> float:
    """Return what a score is paid: the payment of the highest level that it reaches, 0 below all of them."""
    reached = max((level for level in levels if level.threshold <= score), key=lambda v: v.threshold, default=None)
    return 0.0 if reached is None else reached.payment


def expected_payment(levels: Sequence[OutcomeLevel], effort: Effort) -> float:
    """Return what an effort is paid in expectation, in currency."""
    return fsum(payment(levels, score) * probability for score, probability in effort.scores)


class _Choice(NamedTuple):
    effort: Effort
    utility: float
    size: float  # of the amounts that the utility is the difference of


def best_response(
    levels: Sequence[OutcomeLevel], technology: Technology, outside: float = 0.0
) -> tuple[Effort | None, float]:
    """Return what a risk-neutral worker does that is offered a contract.

    It takes the effort with the highest expected payment minus cost. Ties go the principal's way, as in the
    literature (Grossman and Hart 1983): a worker to whom accepting and rejecting are equal accepts. It is not told
    what its work is worth to the principal, so of equal efforts it takes the one with the highest expected score,
    then the cheaper one, then the one that is listed first. Utilities are equal within `TIE`, for floats: a payment
    of 1 / 0.1 must not fall to rounding.

    Args:
        levels: The contract.
        technology: What the worker can do.
        outside: What it gets if it rejects, in currency.

    Returns:
        The effort, or None to reject; and the worker's expected utility, in currency.
    """
    choices = [_choice(levels, effort) for effort in technology.efforts]
    best = max(choices, key=lambda choice: choice.utility)
    if outside - best.utility > TIE * max(best.size, abs(outside)):
        return None, outside
    tied = (choice for choice in choices if best.utility - choice.utility <= TIE * max(best.size, choice.size))
    taken = min(tied, key=lambda choice: (-round(choice.effort.expected_score, 9), choice.effort.cost))
    return taken.effort, taken.utility


def _choice(levels: Sequence[OutcomeLevel], effort: Effort) -> _Choice:
    paid = expected_payment(levels, effort)
    return _Choice(effort, paid - effort.cost, max(paid, effort.cost))


# ── the principal ───────────────────────────────────────────────────────────────────────────────────────


def linear_contract(thresholds: Mapping[str, float], share: float, value: Value) -> tuple[OutcomeLevel, ...]:
    """Return the contract that pays a share of what the threshold of each level is worth.

    Args:
        thresholds: Of the levels, by label.
        share: The worker's part, from 0 to 1.
        value: As in `worth`.

    Raises:
        ConfigError: A threshold, the share or the value is not allowed.
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"share={share}: a part from 0 to 1 is needed")
    return tuple(OutcomeLevel(label, start, share * worth(value, start)) for label, start in _rising(thresholds))


def cheapest_contract(
    technology: Technology,
    effort: Effort,
    thresholds: Mapping[str, float],
    outside: float = 0.0,
    *,
    margin: float = 0.0,
    monotone: bool = False,
) -> tuple[OutcomeLevel, ...] | None:
    """Return the contract that gets an effort from the worker for the least expected payment.

    This is the first of the two steps of Grossman and Hart (1983, Econometrica 51:7-45), with a risk-neutral worker
    who cannot be fined (Sappington 1983, Journal of Economic Theory 29:1-21): a linear programme in the payments,
    one for each level and none below 0, with a constraint for each other effort and one for taking part.

    The contract is tried on `best_response`, with the very payments that are returned. Where a tie goes to another
    effort, a difference of a millionth of the highest cost breaks it, or of more where payments are so high that
    this would still count as a tie. Of equally cheap contracts it takes one whose payments rise with the score, if
    there is one.

    Args:
        technology: What the worker can do.
        effort: The effort that is wanted; one of the technology's.
        thresholds: Of the levels, by label.
        outside: What the worker gets if it rejects, in currency.
        margin: By how much the effort must be better for the worker than any other and than rejecting, in currency.
        monotone: Whether a higher level must pay at least as much as a lower one.

    Returns:
        The levels by rising threshold, or None if no contract brings the worker to choose the effort.

    Raises:
        ConfigError: The effort is not one of the technology's, or a threshold, the outside utility or the margin
            is not allowed.
    """
    if effort not in technology.efforts:
        known = ", ".join(other.name for other in technology.efforts)
        raise ConfigError(f"effort {effort.name}: the technology has none like it; it has {known}")
    if not (isfinite(margin) and margin >= 0):
        raise ConfigError(f"margin={margin}: a finite amount of at least 0 is needed")
    if not isfinite(outside):
        raise ConfigError(f"outside={outside}: a finite amount is needed")
    starts = _rising(thresholds)
    programme = _Programme(technology, effort, [start for _, start in starts], outside)
    for nudge in NUDGES:
        payments = programme.solve(margin + nudge * programme.scale, monotone)
        if payments is None:
            return None  # and a larger margin would be harder still
        levels = tuple(OutcomeLevel(label, start, paid) for (label, start), paid in zip(starts, payments, strict=True))
        if best_response(levels, technology, outside)[0] == effort:
            return levels
    return None


def optimal_contract(
    technology: Technology,
    thresholds: Mapping[str, float],
    value: Value,
    outside: float = 0.0,
    *,
    margin: float = 0.0,
    monotone: bool = False,
) -> OptimalContract:
    """Return the contract that is best for the principal when effort is hidden and payments are at least 0.

    The second step of Grossman and Hart (1983): of the cheapest contracts for each effort, the one with the highest
    expected worth minus expected payment; and nothing at all if that is below 0. Of equally good ones it takes
    that of the effort listed first.

    Args:
        technology: What the worker can do.
        thresholds: Of the levels, by label.
        value: As in `worth`.
        outside: What the worker gets if it rejects, in currency.
        margin: As in `cheapest_contract`.
        monotone: As in `cheapest_contract`.

    Raises:
        ConfigError: A threshold, the value, the outside utility or the margin is not allowed.
    """
    best = OptimalContract((), None, 0.0, outside)
    for effort in technology.efforts:
        levels = cheapest_contract(technology, effort, thresholds, outside, margin=margin, monotone=monotone)
        if levels is None:
            continue
        paid = expected_payment(levels, effort)
        profit = expected_worth(value, effort) - paid
        if profit > best.principal_utility or (best.effort is None and profit == 0):
            best = OptimalContract(levels, effort, profit, paid - effort.cost)
    return best


def _rising(thresholds: Mapping[str, float]) -> list[tuple[str, float]]:
    starts = sorted(thresholds.items(), key=lambda item: item[1])
    if not starts:
        raise ConfigError("thresholds={}: at least one level is needed, such as success: 80")
    for label, start in starts:
        if not 0 <= start <= TOP:
            raise ConfigError(f"threshold {start} of {label}: a score from 0 to {TOP:g} is needed")
    for (one, start), (other, same) in pairwise(starts):
        if start == same:
            raise ConfigError(f"thresholds: {one} and {other} both begin at {start:g}; they must differ")
    return starts


class _Programme:
    """The linear programme of one effort: rows times payments are to be at most their limits.

    Attributes:
        scale: The highest power of 2 that is not above the highest cost or outside utility. Amounts are divided by
            it, which rounds nothing, because the solver's tolerances are absolute.
    """

    def __init__(self, technology: Technology, effort: Effort, starts: Sequence[float], outside: float) -> None:
        others = [other for other in technology.efforts if other != effort]
        self.chances = _chances(effort, starts)
        self.rows = [
            [theirs - mine for theirs, mine in zip(_chances(other, starts), self.chances, strict=True)]
            for other in others
        ]
        self.limits = [other.cost - effort.cost for other in others]
        self.rows.append([-mine for mine in self.chances])
        self.limits.append(-(effort.cost + outside))
        highest = max(abs(outside), *(other.cost for other in technology.efforts))
        self.scale = 2.0 ** (frexp(highest)[1] - 1) if highest > 0 else 1.0

    def solve(self, margin: float, monotone: bool) -> list[float] | None:
        """Return the payments, or None if there are none."""
        rising = self._solve(margin, rising=True)
        if monotone:
            return rising
        free = self._solve(margin, rising=False)
        if rising is not None and free is not None and self._paid(rising) <= self._paid(free) * (1 + TIE):
            return rising
        return free

    def _paid(self, payments: Sequence[float]) -> float:
        return fsum(chance * paid for chance, paid in zip(self.chances, payments, strict=True))

    def _solve(self, margin: float, *, rising: bool) -> list[float] | None:
        from scipy.optimize import linprog

        rows, limits = list(self.rows), [(limit - margin) / self.scale for limit in self.limits]
        for level in range(1, len(self.chances) if rising else 0):
            row = [0.0] * len(self.chances)
            row[level - 1], row[level] = 1.0, -1.0
            rows.append(row)
            limits.append(0.0)
        tolerances = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        found = linprog(self.chances, A_ub=rows, b_ub=limits, bounds=(0, None), method="highs", options=tolerances)
        return [_clean(float(paid), self.scale) for paid in found.x] if found.success else None


def _chances(effort: Effort, starts: Sequence[float]) -> list[float]:
    ends = [*starts[1:], TOP + 1]
    return [
        fsum(probability for score, probability in effort.scores if start <= score < end)
        for start, end in zip(starts, ends, strict=True)
    ]


def _clean(amount: float, scale: float) -> float:
    # What the solver leaves behind the twelfth digit is noise: 4.999999999999999 is meant to be 5.
    return 0.0 if amount < 1e-12 else float(f"{amount * scale:.12g}")
