"""Types of the options that scripted agents share; `actors.registry` checks them and says them in words."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Part = Annotated[float, Meta(ge=0, le=1)]
"""A part of something, from none of it to all."""

Amount = Annotated[float, Meta(ge=0)]
"""An amount of currency; 0 or more."""

Positive = Annotated[float, Meta(gt=0)]
"""A number above 0."""

Count = Annotated[int, Meta(ge=0)]
"""A number of things; 0 or more."""

Text = Annotated[str, Meta(min_length=1, max_length=4000)]
"""Something to say."""
