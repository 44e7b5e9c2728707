"""Actions of the bargaining game."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from sim.game import ActionType


class Reply(ActionType, frozen=True):
    """Say something in a conversation; the tags in the text are the offer, all else is prose."""

    name: ClassVar[str] = "reply"

    text: Annotated[str, Meta(min_length=1, max_length=20_000)]


class Choose(ActionType, frozen=True):
    """Pick whom to talk to in this round; the product, where there are several conversations with that partner."""

    name: ClassVar[str] = "choose"

    partner: Annotated[str, Meta(min_length=1, max_length=200)]
    product: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
