"""The inbox of one match, read to a judge by hand: to repeat a violation, and to try shorter schedules for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Literal

import msgspec

from experiments.stress.watching import Broken, Entry, Violation, Watched, check_record
from sim.game import Game
from sim.messages import Act, Deadline, Forfeit, ToReferee, ToSeat
from sim.paced import PacedState
from sim.record import MatchSpec

Witness = Callable[[Watched, Entry | None, list[tuple[int, ToSeat | None]], int], None]
"""Shown each step of a match: the judge, what it read (None: the match opens), what it sends, and the events before."""


class Step(msgspec.Struct, frozen=True):
    """An item of an inbox, and which turn it was about, so that it can be read at another place as well.

    Attributes:
        time: When it is read at the earliest, in seconds of the match.
        sender: Who really sent it.
        item: The item.
        about: The turn that it quotes: "open" is one of its sender, "over" one that was open before.
        thread: The thread of that turn.
    """

    time: float
    sender: int
    item: ToReferee
    about: Literal["open", "over", "none"] = "none"
    thread: int = 0


class Schedule(msgspec.Struct, frozen=True):
    """A match with what is read in it, and what came of that.

    Attributes:
        entries: What was read, up to the violation.
        steps: The same as steps.
        violation: What did not hold, or None.
    """

    entries: tuple[Entry, ...]
    steps: tuple[Step, ...]
    violation: Violation | None


def run_entries(game: Game, spec: MatchSpec, entries: Sequence[Entry], witness: Witness | None = None) -> Schedule:
    """Read an inbox as it is."""
    return _run(game, spec, [Step(*entry) for entry in entries], witness, adapt=False)


def run_steps(game: Game, spec: MatchSpec, steps: Sequence[Step]) -> Schedule:
    """Read steps, each made to fit where the match stands; one that fits nowhere is left out."""
    return _run(game, spec, steps, None, adapt=True)


def _run(game: Game, spec: MatchSpec, steps: Sequence[Step], witness: Witness | None, *, adapt: bool) -> Schedule:
    watched = Watched(spec, game)
    done: list[Step] = []
    _read(watched, None, witness)
    for step in steps:
        if watched.violation is not None or watched.outcome is not None:
            break
        entry = _fitted(watched, step) if adapt else (step.time, step.sender, step.item)
        if entry is None:
            continue
        done.append(step if adapt else _about(watched, entry))
        _read(watched, entry, witness)
    violation = watched.violation
    if violation is None and watched.outcome is not None:
        violation = check_record(watched.close(), game)
    return Schedule(tuple(watched.items), tuple(done), violation)


def _read(watched: Watched, entry: Entry | None, witness: Witness | None) -> None:
    before = len(watched.log.events)
    try:
        if entry is None:
            watched.open()
        else:
            watched.read(entry[1], entry[2], entry[0])
    except Broken:
        pass  # it is in `violation`
    if witness is not None:
        witness(watched, entry, watched.outbox, before)
    watched.outbox.clear()


def _about(watched: Watched, entry: Entry) -> Step:
    """Say which turn an item is about."""
    time, sender, item = entry
    if isinstance(item, (Act, Forfeit)):
        asked = watched.asked.get(item.turn)
        if asked is not None and asked.seat == item.seat:
            open_ = any(turn.id == item.turn for turn in watched.open_turns())
            return Step(time, sender, item, "open" if open_ else "over", asked.thread)
    return Step(time, sender, item)


def _fitted(watched: Watched, step: Step) -> Entry | None:
    """Return an item as it can be read now: it quotes a turn of this match, and time does not run backwards."""
    item, now = step.item, max(step.time, watched.log.now)
    if isinstance(item, Deadline):
        first = min((turn.deadline for turn in watched.open_turns()), default=inf)
        if isinstance(watched.state, PacedState):
            first = min(first, watched.state.alarm)
        if first == inf:
            return None
        at = max(item.at, first)
        return max(now, at), step.sender, Deadline(at)
    if isinstance(item, (Act, Forfeit)) and step.about != "none":
        turn = _turn(watched, step, item.seat)
        if turn is None:
            return None
        item = msgspec.structs.replace(item, turn=turn)
    return now, step.sender, item


def _turn(watched: Watched, step: Step, seat: int) -> int | None:
    """Return the turn that a step quotes: the last of its seat and thread that is open, or over."""
    open_ = {turn.id for turn in watched.open_turns()}
    wanted = step.about == "open"
    found = [
        number
        for number, asked in watched.asked.items()
        if asked.seat == seat and asked.thread == step.thread and (number in open_) == wanted
    ]
    return found[-1] if found else None
