"""Matches of paced games, by hand and on a bus, and what was asked, seen and written down in them."""

from __future__ import annotations

from typing import Any

import msgspec
from paced_game import Market, Panel

from sim.bus import Address, Bus, LocalBus
from sim.clock import Clock, run_virtual
from sim.game import Game
from sim.messages import (
    REFEREE,
    Abort,
    Act,
    AnyMessage,
    Deadline,
    Event,
    PhaseOpen,
    Update,
    YourTurn,
    encode,
)
from sim.record import MatchRecord, MatchSpec
from sim.referee import Referee
from sim.replay import rejudge
from sim.testing import MatchByHand

DESK_IDS = ("b", "s1", "s2", "s3")
PANEL_IDS = ("lead", "e1", "e2")


def desks(order: Any = "concurrent", **parameters: Any) -> MatchByHand:
    """One buyer at three desks, in threads 1 to 3; in concurrent order it has turns 1 to 3 open."""
    return MatchByHand(Market(turn_order=order, **parameters), DESK_IDS).open()


def panel(order: Any = "concurrent", **parameters: Any) -> MatchByHand:
    """A lead in turn 1, who may ask two experts."""
    return MatchByHand(Panel(turn_order=order, **parameters), PANEL_IDS).open()


def body(event: Event) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(event.body)
    return decoded


def kinds(match: MatchByHand) -> list[str]:
    return [event.kind for event in match.events]


def asks(match: MatchByHand, seat: int) -> list[YourTurn | PhaseOpen]:
    """What a seat was asked, in order."""
    return [u.message for u in match.sent[seat] if isinstance(u.message, (YourTurn, PhaseOpen))]


def seen(match: MatchByHand, seat: int) -> str:
    """All that a seat was sent, as text."""
    return b" ".join(encode(update) for update in match.sent[seat]).decode("utf-8", "replace")


def end(match: MatchByHand) -> MatchRecord:
    """End the match, and judge its record again."""
    if match.outcome is None:
        match.read(REFEREE, Abort("the test is over"))
    record = match.record()
    rejudge(record, match.game)
    return record


class Stopwatch(Clock):
    """Counts the timers that fire."""

    __slots__ = ("fired",)

    def __init__(self) -> None:
        super().__init__()
        self.fired = 0

    def at(self, when: float, callback: Any, *args: Any) -> Any:
        def fire() -> None:
            self.fired += 1
            callback(*args)

        return super().at(when, fire)


class Slow:
    """Every seat bids after `delay` seconds, in every thread; seats in `silent` never."""

    def __init__(self, bus: Bus, clock: Clock, delay: float, silent: tuple[int, ...] = ()) -> None:
        self.bus, self.clock, self.delay, self.silent, self.cause = bus, clock, delay, silent, 0

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        if isinstance(message, Update) and isinstance(message.message, (YourTurn, PhaseOpen)):
            if to.seat not in self.silent:
                self.cause += 1
                act = Act(to.seat, message.message.turn, self.cause, "pass", b"\x80")
                self.clock.at(self.clock.now() + self.delay, self.bus.send, to, sender, act)


def play_slowly(game: Game, delay: float, silent: tuple[int, ...] = ()) -> tuple[MatchRecord, int, int]:
    """Play a match; returns its record, how many timers of the referee fired, and how many deadlines it read."""

    async def main() -> tuple[MatchRecord, int, int]:
        stopwatch, read = Stopwatch(), [0]
        ended: list[MatchRecord] = []
        bus = LocalBus()
        spec = MatchSpec(0, DESK_IDS, 1)
        players = Slow(bus, Clock(), delay, silent)
        for seat in range(len(DESK_IDS)):
            bus.attach(Address(0, seat), players.receive)
        referee = Referee(spec, game, bus, stopwatch, ended.append)
        judge_read = referee.judge.read

        def count(sender: int, item: Any, now: float) -> None:
            read[0] += isinstance(item, Deadline)
            judge_read(sender, item, now)

        referee.judge.read = count  # type: ignore[method-assign]
        referee.open()
        clock = Clock()
        while not ended:
            future = clock._loop.create_future()
            clock.at(clock.now() + 10.0, future.set_result, None)
            await future
        return ended[0], stopwatch.fired, read[0]

    return run_virtual(main())
