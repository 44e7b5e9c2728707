"""The provision-point game: its parameters, and the mode that they choose."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import ClassVar

from sim.errors import ConfigError
from sim.game import ActionType, Goal, MessageOnly, Pass, State, check_agent_ids
from sim.games.provision_point import full, rules, simple
from sim.games.provision_point.actions import (
    AnnounceProject,
    SignalIntent,
    SubmitAmount,
    SubmitCommitment,
    UpdateCommitment,
    WithdrawCommitment,
)
from sim.games.provision_point.parameters import Parameters

_FULL: Mapping[str, type[ActionType]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            AnnounceProject,
            SignalIntent,
            SubmitCommitment,
            UpdateCommitment,
            WithdrawCommitment,
            Pass,
            MessageOnly,
        )
    }
)
_SIMPLE: Mapping[str, type[ActionType]] = MappingProxyType(
    {kind.name: kind for kind in (SubmitAmount, Pass, MessageOnly)}
)


class ProvisionPointGame(Parameters, frozen=True, kw_only=True):
    """Contributors pool commitments; if their total reaches the threshold, the project is funded.

    Mechanism: provision point with refund (Bagnoli and Lipman, 1989, "Provision of public goods: fully
    implementing the core through private contributions") in full mode; without refund, and with the gain for
    everybody, in simple mode. The parameters are those of `Parameters`.

    turn.state:
        my_role: "coordinator" or "contributor".
        agent_ids: Everybody, in seat order; `num_agents` says how many.
        coordinator: Who that is (full mode).
        contributors: Everybody else, in seat order (full mode).
        project_spec: What was announced; None before that (full mode).
        signals: The last signal of each contributor, by seat id (full mode).
        commitments: The standing commitments, by seat id; `total_committed` is their sum.
        threshold: The total that funds the project.
        endowment: Most that a contributor can commit (full mode).
        valuation_mode: As in the parameters (full mode).
        my_valuation: What the project is worth to this contributor; None until it is declared (full mode).
        my_reservation_value: What the project is worth to this seat (simple mode).
        funded: How it ended; None before that.
    """

    game_id: ClassVar[str] = "provision-point"
    goal: ClassVar[Goal | None] = Goal("funded", "threshold_met")

    @property
    def action_types(self) -> Mapping[str, type[ActionType]]:  # type: ignore[override]
        """The actions of the mode, by name."""
        return _FULL if self.mode == "full" else _SIMPLE

    def check_seats(self, agent_ids: tuple[str, ...]) -> None:
        """Check that there are two seats or more, and a fixed valuation for each that needs one."""
        check_agent_ids(agent_ids)
        if len(agent_ids) < 2:
            needs = "a coordinator and at least one contributor" if self.mode == "full" else "at least two contributors"
            raise ConfigError(f"provision point needs {needs}; {len(agent_ids)} seat given")
        if self.valuations is None:
            return
        contributors = agent_ids[1:] if self.mode == "full" else agent_ids
        missing = [a for a in contributors if a not in self.valuations]
        unknown = [a for a in self.valuations if a not in agent_ids]
        if missing or unknown:
            raise ConfigError(
                "valuations do not match the seats: "
                + "; ".join(
                    f"{word} {', '.join(ids)}" for word, ids in (("missing", missing), ("unknown", unknown)) if ids
                )
                + f"; the seats are {', '.join(agent_ids)}"
            )

    def role(self, agent_ids: tuple[str, ...], seat: int) -> str:
        """Return "coordinator" or "contributor"."""
        return "coordinator" if self.mode == "full" and seat == full.COORDINATOR else "contributor"

    def rules_text(self, role: str) -> str:
        """Say the rules in words, to a coordinator or a contributor."""
        return rules.text(self, role)

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        """Return the state at the beginning."""
        return full.start(self, agent_ids, rng) if self.mode == "full" else simple.start(self, agent_ids, rng)
