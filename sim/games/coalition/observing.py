"""Looks at a match without being part of it: counts races, and checks what has changed since it last looked."""

from __future__ import annotations

from collections.abc import Iterable

from sim.errors import IllegalAction
from sim.games.coalition import invariants
from sim.games.coalition.items import Aborted, Effect, Failed, Initiate, Item, Left, Modify, Proposed, Sign
from sim.games.coalition.things import UNITS, World

LATE_BY = ((1e-3, "1_ms"), (1e-2, "10_ms"), (0.1, "100_ms"), (1.0, "1_s"), (float("inf"), "more"))
"""By how much a signature was late at most, in seconds, and what that is called."""

SMALL = 30
"""Formations up to which all of them are checked every time."""


_FAILED = {"timeout": "timeouts", "superseded": "supersessions", "withdrawn": "initiators_left"}


class Observer:
    """What has been seen of a match. Refused actions change nothing in its state, so they are counted here.

    Attributes:
        races: How often items got in each other's way, by kind.
        changed: Formations that something happened to since the last check.
    """

    def __init__(self) -> None:
        self.races: dict[str, int] = {}
        self.changed: dict[int, None] = {}

    def count(self, race: str) -> None:
        """Count a race."""
        self.races[race] = self.races.get(race, 0) + 1

    def refused(self, world: World, item: Item, error: IllegalAction, now: float) -> None:
        """Count what was refused: because it came late, twice, or for units that are locked elsewhere."""
        formation = None if isinstance(item, Initiate) else world.formation(getattr(item, "formation", 0))
        if error.code == "duplicate":
            self.count("duplicate_signatures")
        elif error.code == "late" and isinstance(item, Sign) and formation is not None:
            if formation.status == "open" and now <= formation.deadline:
                self.count("signatures_of_old_versions")
            else:
                self.count("late_signatures")
                late_by = now - formation.deadline
                if late_by >= 0:
                    self.count("late_by_" + next(word for most, word in LATE_BY if late_by <= most))
        elif error.code == "late" and isinstance(item, Modify) and formation is not None and formation.status == "open":
            self.count("version_conflicts")
        elif error.code == "late":
            self.count("overtaken")
        elif f"of {UNITS!r}" in str(error):
            self.count("lock_conflicts")

    def followed(self, effects: Iterable[Effect]) -> None:
        """Take in what came of an item."""
        for effect in effects:
            self.changed[effect.formation] = None
            if isinstance(effect, Failed):
                self.count(_FAILED.get(effect.reason, effect.reason))
            elif isinstance(effect, Aborted) and effect.reason == "timeout":
                self.count("activation_timeouts")
            elif isinstance(effect, Left) and effect.withdrew:
                self.count("withdrawals")
            elif isinstance(effect, Proposed) and effect.version > 1:
                self.count("modifications")

    def check(self, world: World, ticked: float, *, over: bool) -> None:
        """Check the invariants: of everything in a small or finished match, else of what has changed.

        Raises:
            AssertionError: One does not hold.
        """
        changed, self.changed = self.changed, {}
        if over or len(world.open) + len(world.closed) <= SMALL:
            invariants.check(world, ticked)
            return
        seats: dict[int, None] = {}
        for number in changed:
            formation = world.formation(number)
            assert formation is not None, f"formation {number} is gone"
            invariants.check_formation(world, formation, ticked)
            seats |= dict.fromkeys(formation.invited)
            taken = world.taken.get(formation.task)
            if world.tasks[formation.task].exclusive and formation.status in ("consensus", "active"):
                assert taken == number, f"at most one coalition for an exclusive task: {taken} and {number}"
        for seat in seats:
            has = world.ledger.balance(seat, UNITS)
            total = has.available + has.held + has.bound
            assert min(has.available, has.held, has.bound) >= 0, f"nothing is negative: seat {seat} has {has}"
            assert total == world.agents[seat].units, f"units are conserved: seat {seat} has {has}"
