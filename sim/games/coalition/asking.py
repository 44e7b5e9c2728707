"""Who is asked in a formation: on each version, again when something has changed, and until there is an answer."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import ClassVar

from msgspec import field

from sim.games.coalition.core import CORE, Core
from sim.games.coalition.parameters import Parameters
from sim.games.coalition.talks import PHASES, Asked, Place, Step, Talk
from sim.games.coalition.things import Formation, World
from sim.paced import Call, PacedState


class Asking(PacedState, kw_only=True, dict=True):
    """The part of a coalition match's state that calls seats.

    Attributes:
        core: The rules of the protocol.
        game: The parameters.
        agent_ids: The seats.
        world: Tasks, formations and the ledger.
        places: The threads; the lobby is none of them.
        talks: What goes on about each formation.
        again: A heap of (when, formation, seat): who is asked again, as it has not answered.
    """

    core: ClassVar[Core] = CORE

    game: Parameters
    agent_ids: tuple[str, ...]
    world: World
    places: list[Place] = field(default_factory=list)
    talks: dict[int, Talk] = field(default_factory=dict)
    again: list[tuple[float, int, int]] = field(default_factory=list)

    def open_thread(self, step: Step, task: int, formation: int, party: tuple[int, ...]) -> int:
        """Open a thread; return its number."""
        self.places.append(Place(step, task, formation, party))
        return len(self.places)

    def ask(self, formation: Formation, talk: Talk, seat: int) -> None:
        """Ask a seat, unless time is over; one that is thinking is shown what there is now."""
        by = formation.due
        if by is None or self.now >= by:
            return
        talk.waiting.pop(seat, None)
        before = talk.asked.get(seat)
        since = self.now if before is None else before.since
        talk.asked[seat] = Asked(since, talk.changes, before is not None)
        phase = PHASES["C4" if formation.status == "consensus" else "C2"]
        self.calls.append(Call(seat, talk.current, formation.current.number, phase, by=by))

    def ask_all(self, number: int, *, thinking: bool) -> None:
        """Something has changed: ask the seats that are awaited; with `thinking` those that are asked already, too."""
        formation, talk = self.world.open.get(number), self.talks[number]
        if formation is None or formation.status != "open":
            return
        talk.changes += 1
        for seat in self.core.awaited(formation):
            if thinking or seat not in talk.asked:
                self.ask(formation, talk, seat)

    def wait(self, seat: int, place: Place, *, silent: bool) -> None:
        """Let a seat wait for something to change; one that did not answer is asked again in any case."""
        formation, talk = self.world.open.get(place.formation), self.talks[place.formation]
        asked = talk.asked.pop(seat, Asked(self.now, talk.changes))
        if formation is None:
            return
        talk.waiting[seat] = silent
        at = asked.since + self.game.turn_timeout
        if not silent:
            # What has changed while it was thinking it may not have seen; and a pass names no version, so one that was
            # sent before the last came looks like one on it.
            if asked.changes < talk.changes or asked.reworded:
                self.ask(formation, talk, seat)
        elif at <= self.now:
            self.remind(formation, talk, seat)
        else:  # it has forfeited its turn: not at once, lest it does nothing else
            heappush(self.again, (at, formation.number, seat))

    def ask_again(self) -> None:
        """Ask the seats that have not answered, and whose time it is."""
        while self.again and self.again[0][0] <= self.now:
            _at, number, seat = heappop(self.again)
            formation, talk = self.world.open.get(number), self.talks[number]
            if formation is not None and seat in talk.waiting and seat in self.core.awaited(formation):
                self.remind(formation, talk, seat)

    def remind(self, formation: Formation, talk: Talk, seat: int) -> None:
        """Ask a seat that has not answered: the question may be lost, or the answer."""
        self.ask(formation, talk, seat)

    def check_asking(self) -> None:
        """Check that who has not answered is asked again.

        Raises:
            AssertionError: A seat is not.
        """
        again = {(number, seat) for _, number, seat in self.again}
        for number, formation in self.world.open.items():
            for seat, silent in self.talks[number].waiting.items():
                asked = not silent or (number, seat) in again or (formation.due or 0.0) <= self.now
                assert asked, f"who does not answer is asked again: seat {seat} (formation {number})"
