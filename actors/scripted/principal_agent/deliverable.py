"""How the quality of a scripted deliverable stands in its text, so that an oracle finds it there."""

from __future__ import annotations

import re
from typing import Final

from actors.scripted.principal_agent.effort import TOP

_QUALITY: Final = re.compile(r"\(quality (\d+(?:\.\d+)?(?:e-\d+)?)\)", re.ASCII)


def write(text: str, quality: float) -> str:
    """Return a deliverable: what is delivered, and its quality, as in "All tests pass. (quality 83.5)".

    Args:
        text: What is delivered.
        quality: From 0 to 100; it is written with all its digits.
    """
    return f"{text} (quality {repr(float(quality)).removesuffix('.0')})"


def read(text: str) -> float | None:
    """Return the quality of a deliverable: the last one in its text; None where there is none from 0 to 100.

    A quality is what its author wrote. It stands for work that a scripted oracle cannot look at; only scripted workers
    can be relied on to state a true one.
    """
    found = [float(number) for number in _QUALITY.findall(text)]
    return found[-1] if found and found[-1] <= TOP else None
