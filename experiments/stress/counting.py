"""Counts what happened in stressed matches: which races there were, which faults, and how matches ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sim.messages import Code

INSTANT = 1e-6
"""Seconds within which an answer came at the very instant of its deadline; schedules spread less than that."""

LATE_BY = ((INSTANT, "at its instant"), (1e-3, "1 ms"), (1e-2, "10 ms"), (0.1, "100 ms"), (1.0, "1 s"), (10.0, "10 s"))
"""How late an answer was at most, in seconds and in words."""

LATER = "more"
"""What is later than all of `LATE_BY`."""

_REFUSED: Mapping[Code, str] = {
    "duplicate": "duplicates",
    "late": "overtaken",
    "not_your_turn": "not_your_turn",
    "game_rule_violation": "against_the_rules",
}

VERDICTS = ("accepted", "late", "overtaken", "not_your_turn", "duplicates", "against_the_rules", "malformed")
"""What comes of a submission: each has exactly one of these."""


class Tally:
    """Counts by name; adding up tallies of parts gives the tally of the whole.

    Attributes:
        counts: The counts.
        late_by: Late answers by how late they were, in the words of `LATE_BY`.
        latest: The most by which an answer was late, in seconds.
        races: The game's own counts (`State.races`).
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.late_by: dict[str, int] = {}
        self.latest = 0.0
        self.races: dict[str, int] = {}

    def add(self, name: str, count: int = 1) -> None:
        """Count something."""
        self.counts[name] = self.counts.get(name, 0) + count

    def refused(self, code: Code, late_by: float | None) -> None:
        """Count a submission that was refused.

        Args:
            code: Why.
            late_by: Seconds by which it missed the deadline of its turn; None where it quotes no turn.
        """
        if late_by is not None and late_by >= -INSTANT and code in ("late", "not_your_turn"):
            self.add("late")
            word = next((word for most, word in LATE_BY if late_by <= most), LATER)
            self.late_by[word] = self.late_by.get(word, 0) + 1
            self.latest = max(self.latest, late_by)
        elif late_by is not None and code == "not_your_turn":
            self.add("overtaken")
        else:
            self.add(_REFUSED.get(code, "malformed"))

    def merge(self, other: Tally) -> None:
        """Add another tally to this one."""
        for mine, others in (
            (self.counts, other.counts),
            (self.late_by, other.late_by),
            (self.races, other.races),
        ):
            _add(mine, others.items())
        self.latest = max(self.latest, other.latest)

    def add_races(self, races: Mapping[str, int]) -> None:
        """Add the game's own counts of a match."""
        _add(self.races, races.items())

    def __getitem__(self, name: str) -> int:
        return self.counts.get(name, 0)

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        words = [word for _, word in LATE_BY] + [LATER]
        late_by = {word: self.late_by[word] for word in words if word in self.late_by}
        return {
            "counts": dict(sorted(self.counts.items())),
            "late_by": late_by,
            "latest_seconds": self.latest,
            "races": dict(sorted(self.races.items())),
        }


def _add(mine: dict[str, int], others: Iterable[tuple[str, int]]) -> None:
    for name, count in others:
        mine[name] = mine.get(name, 0) + count
