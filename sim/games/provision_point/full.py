"""Provision point, full mode: a coordinator announces, contributors signal and commit, a shortfall is refunded."""

from __future__ import annotations

from math import fsum
from random import Random
from typing import Any

from msgspec import field

from sim.errors import IllegalAction
from sim.game import Outcome, Phase, State, Status
from sim.games.provision_point.actions import (
    AnnounceProject,
    SignalIntent,
    SubmitCommitment,
    UpdateCommitment,
    WithdrawCommitment,
)
from sim.games.provision_point.parameters import Parameters

COORDINATOR = 0


class FullState(State, kw_only=True):
    """State of a full-mode match. Amounts are in the game's currency; lists are by seat number."""

    game: Parameters
    agent_ids: tuple[str, ...]
    signal: Phase
    commit: Phase
    threshold: float
    valuations: list[float | None]
    project: dict[str, Any] | None = None
    signals: dict[str, float] = field(default_factory=dict)
    commitments: dict[str, float] = field(default_factory=dict)
    funded: bool | None = None

    def private_facts(self, seat: int) -> dict[str, Any]:
        """Return the seat's own valuation."""
        return {} if seat == COORDINATOR else {"my_valuation": self.valuations[seat]}

    def legal(self, seat: int) -> tuple[str, ...]:
        """Return the actions that the seat may take in this phase."""
        phase = self.phase.name
        if phase == "announce":
            return ("announce_project",) if seat == COORDINATOR else ()
        if seat == COORDINATOR:
            return ("pass",)
        if phase == "signal":
            return ("signal_intent", "pass")
        if self.agent_ids[seat] not in self.commitments:
            return ("submit_commitment", "pass")
        if self.game.allow_commitment_updates:
            return ("update_commitment", "withdraw_commitment", "pass")
        return ("pass",)

    def apply(self, seat: int, action: Any) -> None:
        """Apply an action that `legal` allows."""
        kind, agent_id = type(action), self.agent_ids[seat]
        if kind is SubmitCommitment:
            self._check_amount(action.amount)
            self._declare(seat, action.my_valuation)
            self.commitments[agent_id] = action.amount
        elif kind is UpdateCommitment:
            self._check_amount(action.new_amount)
            self.commitments[agent_id] = action.new_amount
        elif kind is WithdrawCommitment:
            del self.commitments[agent_id]
        elif kind is SignalIntent:
            self._declare(seat, action.my_valuation)
            self.signals[agent_id] = action.approximate_amount
        elif kind is AnnounceProject:
            self._announce(action)

    def _announce(self, action: AnnounceProject) -> None:
        if action.threshold is not None:
            self.threshold = action.threshold
        self.project = {
            "description": action.description,
            "threshold": self.threshold,
            "return_description": action.return_description,
        }
        self.phase = self.signal

    def close_phase(self) -> None:
        """Go from announce to the end (nothing was announced), from signal to commit, and from commit to the end."""
        if self.phase is self.signal:
            self.phase = self.commit
            return
        self.funded = self.project is not None and self.total() >= self.threshold

    def total(self) -> float:
        """Return the sum of the standing commitments: rounded once, so the same on every version and in any order."""
        return fsum(self.commitments.values())

    def view(self, seat: int) -> dict[str, Any]:
        """Build what the seat may see; of the valuations only its own."""
        agent_ids = self.agent_ids
        built = {
            "num_agents": len(agent_ids),
            "agent_ids": agent_ids,
            "coordinator": agent_ids[COORDINATOR],
            "contributors": agent_ids[1:],
            "my_role": "coordinator" if seat == COORDINATOR else "contributor",
            "project_spec": self.project,
            "signals": self.signals,
            "commitments": self.commitments,
            "total_committed": fsum(self.commitments.values()),
            "threshold": self.threshold,
            "endowment": self.game.endowment,
            "valuation_mode": self.game.valuation_mode,
            "funded": self.funded,
        }
        if seat != COORDINATOR:
            built["my_valuation"] = self.valuations[seat]
        return built

    def outcome(self) -> Outcome | None:
        """Return the outcome once the match is over. Source of the payoffs: valuation - commitment if funded."""
        if self.funded is None:
            return None
        utilities = [0.0] * len(self.agent_ids)
        if self.funded:
            for seat, agent_id in enumerate(self.agent_ids):
                if agent_id in self.commitments:
                    utilities[seat] = (self.valuations[seat] or 0.0) - self.commitments[agent_id]
        return self._outcome("resolved", "threshold_met" if self.funded else "rounds_exhausted", tuple(utilities))

    def stopped(self, status: Status, trigger: str) -> Outcome:
        """Return the outcome of a match that was cut off: all commitments are refunded."""
        return self._outcome(status, trigger, (0.0,) * len(self.agent_ids))

    def _outcome(self, status: Status, trigger: str, utilities: tuple[float, ...]) -> Outcome:
        details = {"total_committed": self.total(), "threshold": self.threshold}
        return Outcome(status, trigger, utilities, details)

    def check(self) -> None:
        """Check that the phases keep their order, that commitments are of contributors and within bounds."""
        phase, project, contributors = self.phase.name, self.project, self.agent_ids[1:]
        assert phase in ("announce", "signal", "commit"), f"there is no phase {phase}"
        assert (project is None) == (phase == "announce"), "signals and commitments come after the announcement"
        assert project is None or project["threshold"] == self.threshold, "the threshold is the one announced"
        assert not self.signals or phase != "announce", "a signal came before the announcement"
        assert not self.commitments or phase == "commit", "a commitment came before its phase"
        assert all(0 <= amount for amount in self.signals.values()), "a signal is below 0"
        for agent_id, amount in self.commitments.items():
            assert agent_id in contributors, f"{agent_id} is no contributor and has committed"
            assert 0 < amount <= self.game.endowment, f"{agent_id} has committed {amount:g}, out of bounds"
        assert self.valuations[COORDINATOR] is None, "the coordinator has a valuation"
        if self.funded is not None:
            self._check_end()

    def _check_end(self) -> None:
        total = self.total()
        due = self.project is not None and total >= self.threshold
        assert self.funded == due, f"{total:g} of {self.threshold:g} was committed, and funded is {self.funded}"
        outcome = self.outcome()
        assert outcome is not None, "the match is over without an outcome"
        committed = [seat for seat, agent_id in enumerate(self.agent_ids) if agent_id in self.commitments]
        worth = fsum(self.valuations[seat] or 0.0 for seat in committed) - total if self.funded else 0.0
        assert abs(fsum(outcome.utilities) - worth) <= 1e-9 * (1 + abs(worth)), "utilities do not add up"

    def _check_amount(self, amount: float) -> None:
        if not 0 < amount <= self.game.endowment:
            raise IllegalAction(
                f"an amount above 0 and at most the endowment of {self.game.endowment:g} is needed, not {amount:g}"
            )

    def _declare(self, seat: int, valuation: float | None) -> None:
        if valuation is None:
            return
        if self.game.valuation_mode != "auto":
            raise IllegalAction(f"my_valuation may be set only in valuation_mode auto, not {self.game.valuation_mode}")
        self.valuations[seat] = valuation


def start(game: Parameters, agent_ids: tuple[str, ...], rng: Random) -> FullState:
    """Return the state at the beginning, with valuations as the mode says."""
    contributors = tuple(range(1, len(agent_ids)))
    order = (*contributors, COORDINATOR)
    announce = Phase("announce", (COORDINATOR,), game.max_rounds_announce)
    return FullState(
        game=game,
        agent_ids=agent_ids,
        phase=announce,
        signal=Phase("signal", order, game.max_rounds_signal),
        commit=Phase("commit", order, game.max_rounds_commit, ends_when_all_pass=True),
        threshold=game.threshold,
        valuations=[None, *game.draw_valuations(agent_ids[1:], rng)],
    )
