"""Plays stressed matches in virtual time, each in an event loop of its own: one seed is one schedule."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec

from actors.runtime.host import AgentHost
from actors.runtime.plan import Plan
from experiments.stress.counting import Tally
from experiments.stress.faults import Faults, FaultyBus
from experiments.stress.watching import Entry, Violation, Watched, check_record
from sim.bus import Address
from sim.clock import Clock, run_virtual
from sim.errors import DeadlockError, describe
from sim.judge import Judge
from sim.record import MatchRecord
from sim.referee import Referee
from sim.rng import derive


class Found(msgspec.Struct, frozen=True):
    """A match in which an invariant did not hold.

    Attributes:
        index: Number of the match.
        violation: What did not hold.
        items: The inbox of the match up to there.
    """

    index: int
    violation: Violation
    items: list[Entry]


def play_match(plan: Plan, index: int, faults: Faults) -> tuple[Tally, Found | None]:
    """Play one match of a plan; returns what happened, and what did not hold.

    The schedule and the faults depend on the seed of the plan and the number of the match alone.
    """
    playing = _Playing(plan, index, faults)
    try:
        run_virtual(playing.play(), explore=derive(plan.seed, "schedule", index))
    except DeadlockError as error:
        playing.violation = playing.violation or Violation("deadlock", str(error))
    tally = playing.finish()
    violation = playing.violation
    return tally, None if violation is None else Found(index, violation, playing.watched.items)


class _Playing:
    """One match as it is played."""

    def __init__(self, plan: Plan, index: int, faults: Faults) -> None:
        self._plan = plan
        self._point = plan.point(index)
        self._spec = plan.spec(index)
        self._faults = faults
        self._record: MatchRecord | None = None
        self.watched = Watched(self._spec, self._point.game)
        self.violation: Violation | None = None

    async def play(self) -> None:
        clock, spec, point = Clock(), self._spec, self._point
        types = point.game.action_types
        bus = self._bus = FaultyBus(spec, self._faults, clock, derive(self._plan.seed, "faults"), types)
        host = bus.host = AgentHost(lambda address: point.agents[address.seat], bus, clock, lambda address: types)
        bus.next_due = lambda: self.watched.deadline  # the match opens at time 0 of its own loop
        for seat in range(len(spec.agent_ids)):
            bus.attach(Address(spec.index, seat), bus.receive)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._failed)
        ended: asyncio.Future[MatchRecord] = loop.create_future()
        referee = Referee(spec, point.game, bus, clock, ended.set_result, reactive=point.reactive)
        referee.judge = cast(Judge, self.watched)
        referee.open()
        try:
            self._record = await ended
        finally:
            await host.close()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A callback raised: that of a referee, a host or a bus, for agents are asked within a `try`."""
        if self.violation is None and "handle" in context and "exception" in context:
            self.violation = Violation("process", describe(context["exception"]))

    def finish(self) -> Tally:
        """Check the record; return what happened in all."""
        watched, record, bus = self.watched, self._record, self._bus
        self.violation = watched.violation or self.violation
        if self.violation is None and record is not None:
            self.violation = check_record(record, self._point.game)
            if bus.after_the_end or set(bus.told) != {1}:
                text = f"every seat is told once of the end, and then nothing: {bus.told}"
                self.violation = self.violation or Violation("referee", text)
        tally, carried = watched.tally, bus.statistics()
        tally.add("matches")
        tally.add("items", len(watched.items))
        tally.add("messages_sent", carried.sent)
        for name, count in (
            ("messages_lost", carried.lost),
            ("messages_duplicated", carried.duplicated),
            ("messages_delayed", carried.delayed),
            ("answers_slowed", bus.slowed),
            ("crashes", len(bus.crashed)),
            ("matches_with_a_crash", bool(bus.crashed)),
            ("crashes_survived", len(bus.crashed) if record is not None and self.violation is None else 0),
        ):
            if count:
                tally.add(name, int(count))
        return tally
