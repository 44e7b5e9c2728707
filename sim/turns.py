"""Whose turn it is: one seat at a time, or everybody who may act at once. The rules are the same in both."""

from __future__ import annotations

from typing import Protocol

from sim.game import Phase, State


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

    def acted(self, seat: int, passed: bool) -> bool:
        """A seat's turn was answered, or lapsed."""

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
        return self.acted(-1, True)

    def may_act(self, seat: int) -> bool:
        """Nobody acts out of turn."""
        return False

    def acted(self, seat: int, passed: bool) -> bool:
        """Ask the next seat that has something to do."""
        if not passed:
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
    everybody has answered or has no action left. An answer that was on its way while another acted counts as one.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def begin(self, phase: Phase) -> bool:
        """Ask every seat of the phase that has something to do."""
        self._phase = phase
        self._left = dict.fromkeys(phase.order, phase.rounds)
        return self._ask_all_but(None)

    def acted(self, seat: int, passed: bool) -> bool:
        """Ask the others again, unless the seat passed."""
        self._left[seat] -= 1
        if passed:
            return not any(self._table.has_turn(s) for s in self._phase.order)
        return self._ask_all_but(seat)

    def may_act(self, seat: int) -> bool:
        """A seat may act unasked while the phase is open and it has actions left."""
        return self._left.get(seat, 0) > 0

    def _ask_all_but(self, actor: int | None) -> bool:
        table, waiting = self._table, False
        for seat in self._phase.order:
            if table.has_turn(seat):
                waiting = True
            elif seat != actor and self._left[seat] > 0 and (legal := table.state.legal(seat)):
                table.open_turn(seat, self._phase.rounds - self._left[seat] + 1, legal)
                waiting = True
        return not waiting
