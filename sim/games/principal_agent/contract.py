"""What is agreed on: the task, the criteria, and which score is paid what."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from sim.messages import Struct

LARGEST: Final = 1e15
"""Largest payment: beyond it a float no longer tells cents apart, and sums could overflow."""

UNREACHED: Final = "none"
"""Label of a score below every threshold."""

Text = Annotated[str, Meta(min_length=1)]


class OutcomeLevel(Struct, frozen=True, forbid_unknown_fields=True):
    """A level of outcome and what it is paid.

    Attributes:
        label: What it is called.
        threshold: Lowest score that reaches it, from 0 to 100.
        payment: What the worker gets from the principal, in currency.
    """

    label: Text
    threshold: Annotated[float, Meta(ge=0, le=100)]
    payment: Annotated[float, Meta(ge=0)]


class Contract(Struct, frozen=True):
    """A contract as it was posted.

    Attributes:
        task_description: What is to be done.
        success_criteria: What the oracle scores by.
        outcome_levels: What is paid from which score on, by rising threshold.
    """

    task_description: str
    success_criteria: str
    outcome_levels: tuple[OutcomeLevel, ...]

    def level_of(self, score: float) -> OutcomeLevel | None:
        """Return the highest level that a score reaches; None below all of them."""
        return next((level for level in reversed(self.outcome_levels) if score >= level.threshold), None)

    def view(self) -> dict[str, Any]:
        """Return it as the seats see it."""
        levels = [msgspec.structs.asdict(level) for level in self.outcome_levels]
        return {**msgspec.structs.asdict(self), "outcome_levels": levels}


def checked(levels: Sequence[OutcomeLevel]) -> tuple[OutcomeLevel, ...]:
    """Return outcome levels by rising threshold.

    Raises:
        ValueError: They make no payment schedule; the text says where and why.
    """
    if not levels:
        raise ValueError("outcome_levels: at least one level is needed")
    for number, level in enumerate(levels):
        if not level.label:
            raise ValueError(f"outcome_levels[{number}].label: a label is needed")
        if not 0 <= level.threshold <= 100:
            raise ValueError(f"outcome_levels[{number}].threshold={level.threshold}: a score from 0 to 100 is needed")
        if not (isfinite(level.payment) and 0 <= level.payment <= LARGEST):
            raise ValueError(
                f"outcome_levels[{number}].payment={level.payment}: an amount from 0 to {LARGEST:g} is needed"
            )
    for key in ("label", "threshold"):
        held = [getattr(level, key) for level in levels]
        repeated = [str(value) for value in held if held.count(value) > 1]
        if repeated:
            raise ValueError(f"outcome_levels: each {key} may be there once; {repeated[0]} is there more than once")
    return tuple(sorted(levels, key=lambda level: level.threshold))


def read(levels: Any) -> tuple[OutcomeLevel, ...]:
    """Return outcome levels from a sequence of `OutcomeLevel` or of mappings, checked.

    Raises:
        ValueError: They are no outcome levels, or make no payment schedule.
    """
    try:
        return checked(msgspec.convert(levels, tuple[OutcomeLevel, ...]))
    except msgspec.ValidationError as error:
        raise ValueError(f"outcome_levels: {error}") from None
