"""Whose turn it is: one seat at a time, or everybody who may act at once. The rules are the same in both."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from sim.game import ActionType, Pass, Phase, State
from sim.paced import Call


class Table(Protocol):
    """What a turn-keeper needs of the match: its state, and turns to open."""

    state: State

    def open_turn(self, seat: int, round_number: int, legal: tuple[str, ...]) -> None:
        """Ask a seat for one of its legal actions."""

    def has_turn(self, seat: int) -> bool:
        """Return whether the seat has an open turn."""


class TurnKeeper(Protocol):
    """Opens turns. `begin` and `acted` return whether the phase is over."""

    def begin(self, phase: Phase) -> bool:
        """A phase begins."""

    def acted(self, seat: int, action: ActionType | None) -> bool:
        """A seat's turn was answered, or lapsed; None is a default that does nothing."""

    def may_act(self, seat: int) -> bool:
        """Return whether a seat without an open turn may act all the same."""


class RoundRobin:
    """Asks one seat after the other, in the order of the phase, for its number of rounds."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def begin(self, phase: Phase) -> bool:
        """Ask the first seat that has something to do."""
        self._phase = phase
        self._position = -1
        self._round = 1
        self._all_passed = True
        return self.acted(-1, None)

    def may_act(self, seat: int) -> bool:
        """Nobody acts out of turn."""
        return False

    def acted(self, seat: int, action: ActionType | None) -> bool:
        """Ask the next seat that has something to do."""
        if action is not None and type(action) is not Pass:
            self._all_passed = False
        phase, table = self._phase, self._table
        order = phase.order
        for _ in order:
            self._position += 1
            if self._position == len(order):
                if self._round >= phase.rounds or (phase.ends_when_all_pass and self._all_passed):
                    return True
                self._position = 0
                self._round += 1
                self._all_passed = True
            seat = order[self._position]
            legal = table.state.legal(seat)
            if legal:
                table.open_turn(seat, self._round, legal)
                return False
        return True


class Concurrent:
    """Asks all at once; whoever answered is asked again when another's action has changed the picture.

    A seat has as many actions in a phase as the phase has rounds. The phase is over when no turn is open:
    everybody has passed on the latest state of things, or has no action left.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def begin(self, phase: Phase) -> bool:
        """Ask every seat of the phase that has something to do."""
        self._phase = phase
        self._left = dict.fromkeys(phase.order, phase.rounds)
        self._moves = 0
        self._asked_at = dict.fromkeys(phase.order, 0)
        return self._ask(phase.order)

    def acted(self, seat: int, action: ActionType | None) -> bool:
        """Ask the others again if the seat moved; ask it again itself if it passed on what is out of date."""
        self._left[seat] -= 1
        if action is None or (type(action) is Pass and self._asked_at[seat] < self._moves):
            return self._ask((seat,))
        if type(action) is Pass:
            return self._ask(())
        self._moves += 1
        return self._ask(tuple(other for other in self._phase.order if other != seat))

    def may_act(self, seat: int) -> bool:
        """A seat may act unasked while the phase is open and it has actions left."""
        return self._left.get(seat, 0) > 0

    def _ask(self, seats: tuple[int, ...]) -> bool:
        """Ask those that have something to do and are not asked already; return whether nobody is asked."""
        table = self._table
        for seat in seats:
            if self._left[seat] > 0 and not table.has_turn(seat) and (legal := table.state.legal(seat)):
                self._asked_at[seat] = self._moves
                table.open_turn(seat, self._phase.rounds - self._left[seat] + 1, legal)
        return not any(table.has_turn(seat) for seat in self._phase.order)


class CallTable(Protocol):
    """What the turn-keeper of a paced game needs of the match."""

    def open_call(self, call: Call) -> None:
        """Ask the seat that is called for."""

    def busy(self) -> bool:
        """Return whether a seat is asked and has not answered."""


class AsCalled:
    """Asks as the state of a paced game calls for it: everything at once, or one turn at a time.

    One at a time, the calls are served in their order. A turn that waits (its action did not advance it) is open
    all the while, and does not hold up the calls.
    """

    def __init__(self, table: CallTable, *, at_once: bool) -> None:
        self._table = table
        self._at_once = at_once
        self._calls: deque[Call] = deque()

    def begin(self, phase: Phase) -> bool:
        """Forget what the phase before it has called for."""
        self._calls.clear()
        return False

    def withdraw(self, thread: int) -> None:
        """Forget the calls of a thread that is over."""
        if self._calls:
            self._calls = deque(call for call in self._calls if call.thread != thread)

    def ask(self, calls: list[Call]) -> None:
        """Take in what the state calls for, and ask the next, or all.

        Args:
            calls: The calls; they are taken out.
        """
        table, waiting = self._table, self._calls
        if len(calls) == 1 and not waiting and (self._at_once or not table.busy()):
            table.open_call(calls.pop())
            return
        if calls:
            waiting.extend(calls)
            calls.clear()
        while waiting and (self._at_once or not table.busy()):
            table.open_call(waiting.popleft())

    def acted(self, seat: int, action: ActionType | None) -> bool:
        """Ask the next, or all that are called for."""
        self.ask([])
        return False

    def may_act(self, seat: int) -> bool:
        """Nobody acts unasked."""
        return False
