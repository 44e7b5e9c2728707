"""What docstrings say of a class and of its parameters, for lists that people read."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any


def summary(kind: Any) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


def entries(kind: Any, section: str) -> dict[str, str]:
    """Return what a section of a docstring, such as "Args", says of each name in it."""
    lines = (inspect.getdoc(kind) or "").splitlines()
    if f"{section}:" not in lines:
        return {}
    found: dict[str, list[str]] = {}
    said: list[str] = []
    for line in lines[lines.index(f"{section}:") + 1 :]:
        if line and not line.startswith(" "):
            break
        entry = re.match(r" {4}(\w+): (.*)", line)
        if entry is not None:
            said = found[entry[1]] = [entry[2]]
        else:
            said.append(line.strip())
    return {name: " ".join(filter(None, words)) for name, words in found.items()}


def parameter_text(kind: type[Any], name: str, section: str = "Args") -> str:
    """Return the sentence that says what a parameter means, from the class or those it comes from.

    Where it is said to be as in another class or function, that one's words are taken.
    """
    for base in kind.__mro__:
        if said := _resolved(base, name, section):
            sentence = re.split(r"(?<=\.) (?=[A-Z])", said)[0]
            return re.sub(r"\bNone\b", "null", sentence)
    return ""


def _resolved(thing: Any, name: str, section: str) -> str:
    said = entries(thing, section).get(name, "")
    other = re.match(r"As in `(\w+)`", said)
    if other is None:
        return said
    found = getattr(sys.modules.get(thing.__module__), other[1], None)
    return "" if found is None or found is thing else _resolved(found, name, section)
