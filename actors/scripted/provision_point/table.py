"""How a contributor reads a provision-point table: who stands where, and what an amount would do."""

from __future__ import annotations

from math import ceil, floor, log10, ulp
from typing import Final

from actors.turn import Turn
from sim.game import ActionType, Pass
from sim.games.provision_point.actions import SubmitAmount, SubmitCommitment, UpdateCommitment
from sim.numbers import exact_sum

AUTO: Final = 1.5
"""Where contributors declare their own valuations, the highest that is drawn, as a multiple of the threshold."""


def tick(threshold: float) -> float:
    """Return the smallest amount that scripted agents deal in: 0.01 for a threshold of 100 to 999, and so on."""
    return 10.0 ** (floor(log10(threshold)) - 4) or threshold


def worth(turn: Turn, declared: float | None = None) -> float:
    """Return what the project is worth to the seat that is asked, in the game's currency.

    Args:
        turn: The turn.
        declared: What to declare where the game leaves it to the contributor; None draws it, once per match,
            evenly from 0 to 1.5 times the threshold.
    """
    state = turn.state
    value: float | None = state["my_reservation_value"] if "my_reservation_value" in state else state["my_valuation"]
    if value is not None:
        return value
    if declared is not None:
        return declared
    drawn: float | None = turn.memory.get("worth")
    if drawn is None:
        drawn = turn.memory["worth"] = turn.rng.uniform(0.0, AUTO * state["threshold"])
    return drawn


class Table:
    """The table as one contributor sees it. Amounts are in the game's currency.

    Args:
        turn: The turn that it is asked.
        declared: As in `worth`.

    Attributes:
        turn: The turn that it is asked.
        me: Its seat id.
        simple: Whether this is the simple mode, where a shortfall is lost and a commitment is final.
        contributors: Ids of all contributors, in seat order.
        threshold: The total that funds the project.
        worth: What the project is worth to it.
        most: What it may commit at most: the endowment, or in simple mode the threshold.
        tick: The smallest amount that it deals in; see `tick`.
        commitments: Standing commitments, by seat id.
        signals: Last signals, by seat id.
        mine: Its own standing commitment, or None.
        others: Sum of the others' standing commitments.
        total: Sum of all standing commitments.
    """

    __slots__ = (
        "commitments",
        "contributors",
        "me",
        "mine",
        "most",
        "others",
        "signals",
        "simple",
        "threshold",
        "tick",
        "total",
        "turn",
        "worth",
    )

    def __init__(self, turn: Turn, declared: float | None = None) -> None:
        state = turn.state
        self.turn = turn
        self.me = turn.agent_id
        self.simple = "contributors" not in state
        self.contributors: list[str] = state["agent_ids"] if self.simple else state["contributors"]
        self.threshold: float = state["threshold"]
        self.worth = worth(turn, declared)
        self.most: float = self.threshold if self.simple else state["endowment"]
        self.tick = tick(self.threshold)
        self.commitments: dict[str, float] = state["commitments"]
        self.signals: dict[str, float] = {} if self.simple else state["signals"]
        self.mine = self.commitments.get(self.me)
        self.total: float = state["total_committed"]
        self.others = exact_sum(amount for agent_id, amount in self.commitments.items() if agent_id != self.me)

    @property
    def gap(self) -> float:
        """What is missing to the threshold; 0 or less when it is reached."""
        return self.threshold - self.total

    def expected(self) -> float:
        """Return what the others commit if those who have committed stand by it, and the rest by their signals."""
        pledged = self.signals | self.commitments
        return exact_sum(amount for agent_id, amount in pledged.items() if agent_id != self.me)

    def limit(self, part: float = 1.0) -> float:
        """Return the most that it would commit: a part of what the project is worth to it, within its means."""
        return min(self.worth * part, self.most)

    def round_up(self, amount: float) -> float:
        """Return the amount in whole ticks, at least one; a millionth of a tick is noise."""
        if amount <= self.tick:  # also minus infinity, where signals add up to it
            return self.tick
        return ceil(amount / self.tick - 1e-6) * self.tick

    def reach(self, others: float) -> float:
        """Return the smallest amount, at least a tick, that reaches the threshold if the others commit `others`.

        Where that is what they have committed, the game's own sum is made to reach it: 0.1 + 0.2 is not 0.3.
        """
        need = max(self.tick, self.threshold - others)
        whole = self.round_up(need)
        amount = whole if whole - need < 1e-6 * self.tick else need
        if abs(others - self.others) < 1e-6 * self.tick:
            while self._total_with(amount) < self.threshold:
                amount += ulp(self.threshold)
        return amount

    def _total_with(self, amount: float) -> float:
        """Return the total as the game sums it, were its own commitment this amount."""
        return exact_sum((self.commitments | {self.me: amount}).values())

    def waiting(self) -> list[str]:
        """Return who else has not committed and has not passed in this phase."""
        turn, seats = self.turn, self.contributors
        if turn.concurrent:
            passed = {
                entry["agent_id"]
                for entry in turn.state["action_history"]
                if entry["phase"] == turn.phase and entry["action"] == Pass.name
            }
        else:  # one at a time, whoever had a turn and has not committed has passed
            passed = set(seats if turn.round > 1 else seats[: seats.index(self.me)])
        return [a for a in seats if a != self.me and a not in self.commitments and a not in passed]

    def commit(self, amount: float) -> ActionType:
        """Return the action that makes `amount` its standing commitment; pass if it may not, or stands there."""
        allowed = self.turn.allowed_actions
        if "submit_commitment" in allowed:
            return SubmitAmount(amount) if self.simple else SubmitCommitment(amount, self.undeclared())
        if self.mine is None or "update_commitment" not in allowed or not self._moves(amount, self.mine):
            return Pass()
        return UpdateCommitment(amount)

    def undeclared(self) -> float | None:
        """Return its valuation where it is left to it to declare one and it has not, else None."""
        if self.simple or self.turn.state["my_valuation"] is not None:
            return None
        return max(0.0, self.worth)

    def _moves(self, amount: float, mine: float) -> bool:
        """Return whether a commitment is worth changing."""
        if amount >= mine:
            return amount > mine
        if mine - amount < 10 * self.tick:
            return False  # what rounding up leaves over is not worth another round
        # Asked at the same time, all would take back the same excess and fall short together: one may at a time.
        return not self.turn.concurrent or self.me == self._first_above_a_tick()

    def _first_above_a_tick(self) -> str | None:
        floor = 1.5 * self.tick
        return next((a for a in self.contributors if self.commitments.get(a, 0.0) > floor), None)
