"""Games with a bug that only a race or a fault reveals."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from msgspec import field

from actors.agent import Agent, Answer
from actors.turn import Turn
from sim.game import ActionType, Outcome, State
from sim.games.principal_agent import PrincipalAgentGame, bounty
from sim.games.principal_agent.bounty import BountyState
from sim.games.provision_point import ProvisionPointGame, SubmitCommitment, full
from sim.games.provision_point.full import FullState


class LastMoment(Agent):
    """Answers at the very instant of its deadline."""

    async def act(self, turn: Turn) -> Answer:
        await asyncio.sleep(turn.deadline - asyncio.get_running_loop().time())
        return SubmitCommitment(amount=1.0)


class LostUpdateState(FullState, kw_only=True):
    """Keeps a total that it works out from the one that the seat saw: an update in between is lost."""

    seen: list[float] = field(default_factory=lambda: [0.0] * 100)
    kept: float = 0.0

    def view(self, seat: int) -> dict[str, Any]:
        self.seen[seat] = self.total()
        return super().view(seat)

    def apply(self, seat: int, action: Any) -> None:
        before = self.total()
        super().apply(seat, action)
        if self.total() != before:
            self.kept = self.seen[seat] + self.total() - before

    def check(self) -> None:
        super().check()
        assert abs(self.kept - self.total()) < 1e-9, f"the kept total {self.kept:g} is not {self.total():g}"

    def races(self) -> dict[str, int]:
        return {"looks": sum(seen > 0 for seen in self.seen)}


class WildDefaultState(FullState, kw_only=True):
    """A seat that has committed and does not answer commits more than it has."""

    def default_action(self, seat: int) -> ActionType | None:
        if self.agent_ids[seat] in self.commitments:
            return SubmitCommitment(amount=2 * self.game.endowment)
        return super().default_action(seat)


class LostUpdate(ProvisionPointGame, frozen=True, kw_only=True):
    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        return _as(LostUpdateState, full.start(self, agent_ids, rng))


class WildDefault(ProvisionPointGame, frozen=True, kw_only=True):
    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        return _as(WildDefaultState, full.start(self, agent_ids, rng))


def _as(kind: type[FullState], state: FullState) -> FullState:
    return kind(**{name: getattr(state, name) for name in state.__struct_fields__})


class DoubleAwardState(BountyState, kw_only=True):
    """Waits for everybody, and pays whoever is good: two deliverables that cross are both paid."""

    def outcome(self) -> Outcome | None:
        everybody = self.posting.over or all(line.over for line in self.lines)
        return super().outcome() if everybody else None


class DoubleAward(PrincipalAgentGame, frozen=True, kw_only=True):
    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        state = bounty.start(self, agent_ids)
        return DoubleAwardState(**{name: getattr(state, name) for name in state.__struct_fields__})
