"""What hidden effort does: its cost to the worker, the scores it leads to, and what those are worth."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, isfinite
from random import Random
from typing import Final, TypeAlias

import msgspec

from sim.errors import ConfigError

TOP: Final = 100.0
"""The highest score; the lowest is 0."""

Value: TypeAlias = float | tuple[tuple[float, float], ...]
"""What a score is worth to the principal: currency per score point, or steps of (score from which, currency)."""


def _check_unique(key: str, found: Iterable[float | str]) -> None:
    seen: set[float | str] = set()
    for one in found:
        if one in seen:
            raise ConfigError(f"{key}: {one} is there more than once; leave one")
        seen.add(one)


class Effort(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A level of effort that a worker may put in; only the worker knows which one it chose.

    Attributes:
        name: What it is called.
        cost: What it costs the worker, in currency; at least 0.
        scores: Pairs of a score, from 0 to 100, and its probability; the probabilities add to 1.
    """

    name: str
    cost: float
    scores: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("name='': an effort needs a name, such as high")
        what = f"effort {self.name}"
        if not (isfinite(self.cost) and self.cost >= 0):
            raise ConfigError(f"cost={self.cost} of {what}: a finite amount of at least 0 is needed")
        for score, probability in self.scores:
            if not 0 <= score <= TOP:
                raise ConfigError(f"score {score} of {what}: a score is a number from 0 to {TOP:g}")
            if not 0 <= probability <= 1:
                raise ConfigError(f"probability {probability} of score {score:g} of {what}: from 0 to 1 is allowed")
        _check_unique(f"scores of {what}", (score for score, _ in self.scores))
        total = fsum(probability for _, probability in self.scores)
        if abs(total - 1) > 1e-9:
            raise ConfigError(f"scores of {what}: the probabilities add to {total:g}; they must add to 1")

    @property
    def expected_score(self) -> float:
        """The mean of its scores."""
        return fsum(score * probability for score, probability in self.scores)

    def draw(self, rng: Random) -> float:
        """Draw a score: the lowest whose cumulative probability is above one number from the generator."""
        possible = sorted(pair for pair in self.scores if pair[1] > 0)
        at, reached = rng.random(), 0.0
        for score, probability in possible:
            reached += probability
            if at < reached:
                return score
        return possible[-1][0]  # the probabilities add to a little less than 1


LOW: Final = Effort("low", 0.0, ((30.0, 0.6), (60.0, 0.3), (90.0, 0.1)))
MEDIUM: Final = Effort("medium", 1.0, ((30.0, 0.3), (60.0, 0.45), (90.0, 0.25)))
HIGH: Final = Effort("high", 3.0, ((30.0, 0.1), (60.0, 0.2), (90.0, 0.7)))


class Technology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The efforts that a worker can choose from.

    With the default ones, the game's default contract (3 from a score of 50, 10 from 80) is worth a high effort;
    5 from a score of 80 would do.

    Attributes:
        efforts: At least one, with unique names.
    """

    efforts: tuple[Effort, ...] = (LOW, MEDIUM, HIGH)

    def __post_init__(self) -> None:
        if not self.efforts:
            raise ConfigError("efforts=[]: at least one effort is needed")
        _check_unique("efforts", (effort.name for effort in self.efforts))


DEFAULT_TECHNOLOGY: Final = Technology()


def worth(value: Value, score: float) -> float:
    """Return what a score is worth to the principal, in currency.

    Args:
        value: Currency per score point, or steps: the highest step that the score reaches counts, below all it is 0.
        score: From 0 to 100.

    Raises:
        ConfigError: A worth is negative or not finite, or two steps begin at the same score.
    """
    steps = value if isinstance(value, tuple) else ((0.0, value),)
    for start, amount in steps:
        if not (isfinite(start) and isfinite(amount) and amount >= 0):
            raise ConfigError(f"value={value}: finite amounts of at least 0 are needed")
    if not isinstance(value, tuple):
        return value * score
    _check_unique("value", (start for start, _ in steps))
    return max((step for step in steps if step[0] <= score), default=(0.0, 0.0))[1]


def expected_worth(value: Value, effort: Effort) -> float:
    """Return what an effort is worth to the principal in expectation, in currency. Errors as in `worth`."""
    return fsum(worth(value, score) * probability for score, probability in effort.scores)


def first_best(technology: Technology, value: Value, outside: float = 0.0) -> tuple[Effort | None, float]:
    """Return the effort that principal and worker would agree on if it could be seen, and the surplus from it.

    The surplus is the largest expected worth minus cost, less what the worker has without a contract. A principal
    that sees the effort can keep all of it, so what an optimal contract leaves it short of that is the agency cost
    (Jensen and Meckling 1976, Journal of Financial Economics 3; here without costs of monitoring).

    Args:
        technology: What the worker can do.
        value: As in `worth`.
        outside: What the worker gets without a contract, in currency.

    Returns:
        The effort, and the surplus in currency; None and 0 where no effort has a surplus of at least 0.
    """
    surplus, effort = max(
        ((expected_worth(value, effort) - effort.cost - outside, effort) for effort in technology.efforts),
        key=lambda pair: pair[0],
    )
    return (effort, surplus) if surplus >= 0 else (None, 0.0)
