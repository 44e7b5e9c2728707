"""Shrinks a violation to the shortest schedule found: fewer items, seats that are simply lost, simpler items.

Delta debugging (Zeller and Hildebrandt, 2002, "Simplifying and isolating failure-inducing input", IEEE TSE 28(2)).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from experiments.stress.schedules import Schedule, Step, run_entries, run_steps
from experiments.stress.watching import Entry, Violation
from sim.game import Game
from sim.messages import REFEREE, Act, Deadline, Lost
from sim.record import MatchSpec

SECONDS = 20.0
"""How long it looks for a shorter schedule."""

MOST_REPLACED = 40
"""Items that one deadline stands for at most."""

GONE = "left out"
"""What the record says of a seat that shrinking has made lost."""


def shrink(
    game: Game, spec: MatchSpec, entries: Sequence[Entry], violation: Violation, *, seconds: float = SECONDS
) -> Schedule | None:
    """Return the shortest schedule found that breaks the same invariant; None where the inbox alone does not.

    Args:
        game: The game.
        spec: The match.
        entries: Its inbox.
        violation: What did not hold.
        seconds: How long to look.
    """
    whole = run_entries(game, spec, entries)
    if whole.violation is None or _same(whole.violation) != _same(violation):
        return None
    search = _Search(game, spec, whole, seconds)
    length = -1
    while length != len(search.steps):  # each pass may make room for another
        length = len(search.steps)
        search.drop_items()
        search.lose_seats()
        search.let_time_pass()
    search.simplify()
    best = search.best
    again = run_entries(game, spec, best.entries)
    return again if again.violation == best.violation else whole


def _same(violation: Violation) -> tuple[str, str]:
    """Return what makes two violations the same: not the amounts in them, nor whose they are."""
    return violation.kind, re.sub(r"\d[\d.,]*|_\d+\b", "#", violation.text)


class _Search:
    """The shortest schedule so far, and ways to a shorter one.

    Attributes:
        best: The schedule.
    """

    def __init__(self, game: Game, spec: MatchSpec, whole: Schedule, seconds: float) -> None:
        assert whole.violation is not None
        self.best = whole
        self._game = game
        self._spec = spec
        self._wanted = _same(whole.violation)
        self._end = time.monotonic() + seconds

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the shortest schedule so far."""
        return self.best.steps

    def _try(self, steps: Sequence[Step]) -> bool:
        """Keep other steps if they break the same invariant."""
        if time.monotonic() > self._end:
            return False
        found = run_steps(self._game, self._spec, steps)
        if found.violation is None or _same(found.violation) != self._wanted:
            return False
        self.best = found
        return True

    def drop_items(self) -> None:
        """Leave out as many items as possible: halves first, single ones in the end."""
        size = max(1, len(self.steps) // 2)
        while True:
            start, dropped = len(self.steps), False
            while start > 0:  # from the end: what is late depends on what is early
                start = min(start, len(self.steps))
                first = max(0, start - size)
                dropped |= self._try([*self.steps[:first], *self.steps[start:]])
                start = first
            if size > 1:
                size //= 2
            elif not dropped:
                return

    def lose_seats(self) -> None:
        """Let a seat be lost from some moment on, in place of all that it does after that."""
        for seat in range(len(self._spec.agent_ids)):
            for at in range(len(self.steps)):
                steps = self.steps
                rest = [step for step in steps[at:] if step.sender != seat and not _loses(step, seat)]
                if len(steps) - at - len(rest) < 2:
                    break  # nothing is won
                moment = steps[at - 1].time if at else 0.0
                if self._try([*steps[:at], Step(moment, seat, Lost(seat, GONE)), *rest]):
                    break

    def let_time_pass(self) -> None:
        """Let a deadline pass in place of several items, the longest stretch first."""
        at = 0
        while at < len(self.steps):
            steps = self.steps
            for end in range(min(len(steps), at + MOST_REPLACED), at + 1, -1):
                lapse = Step(0.0, REFEREE, Deadline(0.0))
                if self._try([*steps[:at], lapse, *steps[end:]]):
                    break
            at += 1

    def simplify(self) -> None:
        """Make the items simpler: earlier, without messages, with round numbers and short words."""
        for at in range(len(self.steps)):
            if at >= len(self.steps):
                return
            for simpler in _simpler(self.steps[at]):
                self._try([*self.steps[:at], simpler, *self.steps[at + 1 :]])
                if at >= len(self.steps):
                    return


def _loses(step: Step, seat: int) -> bool:
    return isinstance(step.item, Lost) and step.item.seat == seat


def _simpler(step: Step) -> Iterator[Step]:
    """Yield simpler forms of a step; each is tried on its own."""
    item = step.item
    if isinstance(item, Act):
        if item.messages:
            item = msgspec.structs.replace(item, messages=())
            yield msgspec.structs.replace(step, item=item)
        for simplify in (_rounded, _shortened):
            payload = _simpler_payload(item.payload, simplify)
            if payload != item.payload:
                yield msgspec.structs.replace(step, item=msgspec.structs.replace(item, payload=payload))
    if step.time > 0 and not isinstance(item, Deadline):
        yield msgspec.structs.replace(step, time=0.0)  # as soon as what was read before it


def _simpler_payload(packed: bytes, simplify: Callable[[Any], Any]) -> bytes:
    try:
        return msgspec.msgpack.encode(_mapped(msgspec.msgpack.decode(packed), simplify))
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError):
        return packed


def _mapped(value: Any, simplify: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(held, simplify) for key, held in value.items()}
    if isinstance(value, list):
        return [_mapped(held, simplify) for held in value]
    return simplify(value)


def _rounded(value: Any) -> Any:
    return float(round(value)) if isinstance(value, float) else value


def _shortened(value: Any) -> Any:
    return value.split(" ")[0][:12] if isinstance(value, str) else value
