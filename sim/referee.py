"""Runs one match: one inbox, one clock, one record. The rulings are the judge's."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf

from sim.bus import Address, Bus, Inbox, InboxStatistics
from sim.clock import Clock, Timer
from sim.errors import QuorumError, describe
from sim.game import Game
from sim.messages import (
    REFEREE,
    STRANGER,
    Abort,
    Act,
    AnyMessage,
    Deadline,
    Forfeit,
    Lost,
    ToReferee,
    ToSeat,
    Update,
)
from sim.paced_judge import appoint
from sim.record import MatchRecord, MatchSpec

_GRAIN = 1e-6
"""Seconds by which rounding may let a timer seem to fire before its time."""


class Referee:
    """The actor that runs one match.

    It reads its inbox item by item; the order in which it reads is the truth. A deadline is an item too: the
    timer posts it, and what is read after it is late. One timer serves the whole match: it is set again when
    it fires before the deadline that stands by then, so a turn that is answered in time costs no timer.

    Args:
        spec: What makes the match.
        game: Its rules.
        bus: Where seats are reached and from where they reach the referee.
        clock: The time.
        ended: Called once with the record.
        reactive: Seats that are sent every event at once. The others get events along with the next thing that
            they are asked, which saves a message and a wake-up for each.
    """

    def __init__(
        self,
        spec: MatchSpec,
        game: Game,
        bus: Bus,
        clock: Clock,
        ended: Callable[[MatchRecord], None],
        *,
        reactive: Collection[int] = (),
    ) -> None:
        self.judge = appoint(spec, game)
        self._bus = bus
        self._clock = clock
        self._ended = ended
        self._address = Address(spec.index, REFEREE)
        self._seats = tuple(Address(spec.index, seat) for seat in range(len(spec.agent_ids)))
        self._inbox: Inbox[tuple[int, ToReferee]] = Inbox(self._read)
        self._told = [0] * len(self._seats)
        self._reactive = tuple(reactive)
        self._timer: Timer | None = None
        self._timer_at = inf

    def open(self) -> None:
        """Open the match."""
        self._opened = self._clock.now()
        self._bus.attach(self._address, self._receive)
        try:
            self.judge.open()
        except Exception as error:
            self._abort(error)
        self._after()

    def post(self, item: ToReferee) -> None:
        """Put an item of the process or the clock into the inbox."""
        self._inbox.put((REFEREE, item))

    def statistics(self) -> InboxStatistics:
        """Return what the inbox holds and has seen."""
        return self._inbox.statistics()

    def _receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        if type(message) is Act or isinstance(message, (Forfeit, Lost)):
            self._inbox.put((sender.seat if sender.match == to.match else STRANGER, message))

    def _read(self, entry: tuple[int, ToReferee]) -> None:
        sender, item = entry
        judge = self.judge
        try:
            judge.read(sender, item, self._clock.now() - self._opened)
        except Exception as error:
            self._abort(error)
        if type(item) is Act and item.receipt and 0 <= sender < len(self._seats):
            judge.outbox.append((sender, None))
        self._after()

    def _abort(self, error: Exception) -> None:
        """A game whose rules raise ends its own match and no other."""
        judge = self.judge
        if judge.outcome is not None:
            raise error
        judge.outbox.clear()
        judge.read(REFEREE, Abort(f"the rules raised {describe(error)}"), judge.log.now)

    def _after(self) -> None:
        judge = self.judge
        for seat, message in judge.outbox:
            self._send(seat, message)
        judge.outbox.clear()
        for seat in self._reactive:
            if self._told[seat] < len(judge.log.events):
                self._send(seat, None)
        if judge.outcome is not None:
            self._close()
        elif judge.deadline < self._timer_at:
            self._set_timer(judge.deadline)

    def _send(self, seat: int, message: ToSeat | None) -> None:
        log = self.judge.log
        news = log.since(self._told[seat], seat)
        self._told[seat] = len(log.events)
        if news or message is not None:
            self._bus.send(self._address, self._seats[seat], Update(news, message))

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._clock.at(self._opened + at, self._due)

    def _due(self) -> None:
        self._timer, self._timer_at = None, inf
        now, deadline = self._clock.now() - self._opened, self.judge.deadline
        if deadline <= now + _GRAIN:
            self.post(Deadline(deadline))
        elif deadline < inf:
            self._set_timer(deadline)

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._bus.detach(self._address)
        self._inbox.close()
        self._ended(self.judge.close())


def abandon(spec: MatchSpec, game: Game, reason: str) -> MatchRecord:
    """Return the record of a match that could not be played because it took its process down.

    Raises:
        QuorumError: The match was over as soon as it opened.
    """
    judge = appoint(spec, game)
    judge.open()
    if judge.outcome is not None:
        raise QuorumError(f"match {spec.match_id} was over as soon as it opened")
    judge.read(REFEREE, Abort(reason, "agent_failed"), 0.0)
    return judge.close()
