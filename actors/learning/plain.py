"""Settings of learners from plain YAML: what is wrong with them is said in one kind of error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from sim.errors import ConfigError

T = TypeVar("T")


def from_plain(plain: Mapping[str, Any], cls: type[T], what: str) -> T:
    """Convert plain YAML to a setting.

    Args:
        plain: What YAML gave: keys and values.
        cls: The Struct, or union of tagged Structs, that it should be.
        what: What is being set, for the text of an error.

    Raises:
        ConfigError: A key does not exist, is missing, or holds something else than it may.
    """
    try:
        return msgspec.convert(plain, cls)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{what} {plain}: {error}") from None
