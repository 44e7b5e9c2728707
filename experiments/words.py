"""Values that agents and games have chosen, as text that does nothing to a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def fields_text(fields: Mapping[str, Any]) -> str:
    """Return fields as text; those that are null are left out."""
    return ", ".join(f"{clean(key)} = {value_text(value)}" for key, value in fields.items() if value is not None)


def value_text(value: Any) -> str:
    """Return a value as text, numbers with two decimals."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, Mapping):
        return f"({fields_text(value)})" if value else "none"
    if isinstance(value, list):
        return ", ".join(map(value_text, value)) or "none"
    return clean(str(value))


def clean(text: str) -> str:
    """Return text that does nothing to a terminal: agents may say anything, escape sequences too."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
