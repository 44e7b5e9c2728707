"""Actions of the provision-point game."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from sim.game import ActionType

Text = Annotated[str, Meta(min_length=1, max_length=4000)]
NonNegative = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]


class AnnounceProject(ActionType, frozen=True):
    """Describe the project and set the funding threshold (the configured one when left out)."""

    name: ClassVar[str] = "announce_project"

    description: Text
    threshold: Positive | None = None
    return_description: str = ""


class SignalIntent(ActionType, frozen=True):
    """Signal, without being bound, how much you may commit. `my_valuation` privately sets your valuation."""

    name: ClassVar[str] = "signal_intent"
    private_fields: ClassVar[tuple[str, ...]] = ("my_valuation",)

    approximate_amount: NonNegative
    my_valuation: NonNegative | None = None


class SubmitCommitment(ActionType, frozen=True):
    """Submit a binding commitment. `my_valuation` privately sets your valuation (auto mode)."""

    name: ClassVar[str] = "submit_commitment"
    private_fields: ClassVar[tuple[str, ...]] = ("my_valuation",)

    amount: NonNegative
    my_valuation: NonNegative | None = None


class SubmitAmount(ActionType, frozen=True):
    """Submit a binding commitment (simple mode)."""

    name: ClassVar[str] = "submit_commitment"

    amount: NonNegative


class UpdateCommitment(ActionType, frozen=True):
    """Revise your commitment."""

    name: ClassVar[str] = "update_commitment"

    new_amount: NonNegative


class WithdrawCommitment(ActionType, frozen=True):
    """Remove your commitment entirely."""

    name: ClassVar[str] = "withdraw_commitment"
