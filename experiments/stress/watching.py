"""A judge that is watched: after every item that it reads, the invariants of the house and of the game are checked."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import TypeAlias

import msgspec

from experiments.stress.counting import INSTANT, Tally
from sim.errors import RecordMismatch, describe, one_line
from sim.game import Game, Outcome, State
from sim.judge import Judge, OpenTurn
from sim.log import EventLog
from sim.messages import Act, Deadline, MatchEnd, PhaseOpen, Rejection, ToReferee, ToSeat, Verdict, YourTurn
from sim.paced import PacedState
from sim.paced_judge import appoint
from sim.record import MatchRecord, MatchSpec
from sim.replay import rejudge

Entry: TypeAlias = tuple[float, int, ToReferee]
"""An item of the inbox as it was read: (seconds of the match, who really sent it, the item)."""

MOST_ITEMS = 250_000
"""Items of one match beyond which it is taken not to end."""


class Violation(msgspec.Struct, frozen=True):
    """An invariant that did not hold.

    Attributes:
        kind: "rules" (`State.check`), "raised" (the rules raised), "referee" (an invariant of the house), "record" (a
            record that cannot be judged again), "endless", "deadlock", or "process" (what carries a match raised).
        text: What did not hold.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Broken(AssertionError):
    """An invariant does not hold."""


class Asked(msgspec.Struct, frozen=True):
    """A turn that a seat was asked for: the seat, the thread and the deadline, in seconds of the match."""

    seat: int
    thread: int
    deadline: float


class Watched:
    """A judge that is watched. Whoever owns it uses it as a `Judge`.

    Attributes:
        items: What it has read.
        asked: The turns that it has asked for, by number.
        tally: What happened.
        violation: The first invariant that did not hold, or None. What is read after it is not checked.
    """

    def __init__(self, spec: MatchSpec, game: Game) -> None:
        self.judge: Judge = appoint(spec, game)
        self.items: list[Entry] = []
        self.asked: dict[int, Asked] = {}
        self.tally = Tally()
        self.violation: Violation | None = None
        self._most = MOST_ITEMS
        self._checked = 0
        self._time = 0.0
        self._told: set[int] = set()
        self._paced = isinstance(self.judge.state, PacedState)

    # ── what a judge has ────────────────────────────────────────────────────────────────────────────────

    @property
    def spec(self) -> MatchSpec:
        """What makes the match."""
        return self.judge.spec

    @property
    def game(self) -> Game:
        """The game."""
        return self.judge.game

    @property
    def state(self) -> State:
        """The game's state."""
        return self.judge.state

    @property
    def log(self) -> EventLog:
        """The events so far."""
        return self.judge.log

    @property
    def outbox(self) -> list[tuple[int, ToSeat | None]]:
        """What is to be sent."""
        return self.judge.outbox

    @property
    def deadline(self) -> float:
        """When something is due."""
        return self.judge.deadline

    @property
    def outcome(self) -> Outcome | None:
        """How the match ended, or None."""
        return self.judge.outcome

    def open_turns(self) -> list[OpenTurn]:
        """Return the open turns."""
        return self.judge.open_turns()

    def close(self) -> MatchRecord:
        """Return the record, and count how the match ended."""
        record = self.judge.close()
        self.tally.add(record.outcome.status)
        self.tally.add("turns", record.turns)
        self.tally.add_races(self.state.races())
        return record

    def open(self) -> None:
        """Open the match."""
        self._watch(self.judge.open, None, -1)
        self._stop()

    def read(self, sender: int, item: ToReferee, now: float) -> None:
        """Rule on one item.

        Raises:
            Broken: An invariant does not hold, and the match is not over.
        """
        if self.violation is not None or self.judge.outcome is not None:
            self.judge.read(sender, item, now)
            return
        self.items.append((now, sender, item))
        if len(self.items) > self._most:
            self.violation = Violation("endless", f"the match is not over after {self._most:,} items")
        else:
            self._watch(partial(self.judge.read, sender, item, now), item, sender)
        self._stop()

    def _stop(self) -> None:
        # After the end there is nothing to stop: whoever owns it would not know what to do with an error.
        if self.violation is not None and self.judge.outcome is None:
            raise Broken(str(self.violation))

    # ── checks ──────────────────────────────────────────────────────────────────────────────────────────

    def _watch(self, step: Callable[[], None], item: ToReferee | None, sender: int) -> None:
        start = len(self.outbox)
        due = [turn for turn in self.open_turns() if turn.deadline <= item.at] if type(item) is Deadline else []
        try:
            step()
        except Exception as error:
            self.violation = Violation("raised", f"{describe(error)} ({_place(error)})")
            return
        try:
            self._check_house(item, sender, self.outbox[start:])
            if due:
                open_ = {turn.id for turn in self.open_turns()}
                _require(open_.isdisjoint(turn.id for turn in due), "no turn is open after its deadline was read")
        except Broken as broken:
            self.violation = Violation("referee", str(broken))
            return
        try:
            self.judge.state.check()
        except AssertionError as error:
            self.violation = Violation("rules", one_line(str(error)) or f"an assertion of {_place(error)}")
        except Exception as error:
            self.violation = Violation("rules", f"check() raised {describe(error)} ({_place(error)})")

    def _check_house(self, item: ToReferee | None, sender: int, sent: list[tuple[int, ToSeat | None]]) -> None:
        judge = self.judge
        ends, accepted = self._check_events(item, sender)
        outcome = judge.outcome
        _require(ends == (outcome is not None), "the end is in the record if and only if the match is over")
        refused = self._look(item, sender, sent)
        if type(item) is Act and 0 <= sender < len(self.spec.agent_ids):
            verdicts = accepted + len(refused)
            _require(verdicts == 1, f"a submission has {verdicts} verdicts, not one")
            self._count(item, sender, refused)
        elif type(item) is Act:
            self.tally.add("strangers")
        if outcome is None:
            self._check_deadlines()
        else:
            seats = len(self.spec.agent_ids)
            finite = len(outcome.utilities) == seats and all(map(isfinite, outcome.utilities))
            _require(finite, f"an outcome gives {seats} finite utilities")
            _require(len(self._told) == seats, "every seat is told that the match is over")

    def _check_events(self, item: ToReferee | None, sender: int) -> tuple[bool, int]:
        """Check the order of what was written down; return whether it ends, and how often the item was accepted."""
        events = self.log.events
        ends, accepted = False, 0
        _require(len(events) >= self._checked, "what is written down stays")
        for seq in range(self._checked, len(events)):
            event = events[seq]
            _require(event.seq == seq, "events are numbered in order")
            _require(event.time >= self._time, "events are in the order of time")
            _require(not ends, "nothing happens after the end")
            self._time = event.time
            kind = event.kind
            if kind == "action":
                accepted += type(item) is Act and event.sender == sender and event.cause == item.cause
            elif kind == "end":
                ends = True
            elif kind in ("timeout", "forfeit", "lost"):
                self.tally.add(_PLURAL[kind])
        self._checked = len(events)
        return ends, accepted

    def _look(self, item: ToReferee | None, sender: int, sent: list[tuple[int, ToSeat | None]]) -> list[Rejection]:
        """Look at what is sent; return why the item was refused, if it was."""
        refused = []
        for seat, message in sent:
            if message is None:
                continue
            _require(seat not in self._told, "nothing is sent to a seat after it was told of the end")
            if isinstance(message, (YourTurn, PhaseOpen)):
                self.asked[message.turn] = Asked(seat, message.thread, message.deadline)
            elif type(message) is MatchEnd:
                self._told.add(seat)
            elif type(message) is Verdict and type(item) is Act and seat == sender and message.cause == item.cause:
                assert message.rejection is not None
                refused.append(message.rejection)
        return refused

    def _check_deadlines(self) -> None:
        open_, deadline = self.open_turns(), self.judge.deadline
        _require(deadline < inf, "a match that is not over has a deadline")
        _require(bool(open_) or self._paced, "a match that is not over has an open turn")
        for turn in open_:
            _require(isfinite(turn.deadline), "an open turn has a deadline")
            _require(turn.deadline >= deadline, "the next deadline is that of an open turn, or before it")

    def _count(self, act: Act, sender: int, refused: list[Rejection]) -> None:
        asked = self.asked.get(act.turn)
        late_by = self.log.now - asked.deadline if asked is not None and asked.seat == sender else None
        self.tally.add("submissions")
        if refused:
            self.tally.refused(refused[0].code, late_by)
            return
        self.tally.add("accepted")
        if late_by is not None and late_by >= -INSTANT:
            self.tally.add("in_time_at_the_instant")


_PLURAL = {"timeout": "timeouts", "forfeit": "forfeits", "lost": "lost_seats"}


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise Broken(text)


def check_record(record: MatchRecord, game: Game) -> Violation | None:
    """Judge a record again; return what is wrong with it."""
    try:
        rejudge(record, game)
    except RecordMismatch as mismatch:
        return Violation("record", one_line(f"event {mismatch.seq}: {mismatch.detail}"))
    return None


def _place(error: BaseException) -> str:
    """Return where something was raised: function and file."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    return "nowhere" if last is None else f"{last.name}, {Path(last.filename).name}"
