"""The coalition game with one rule wrong, for `quorum stress`: `+game.class=stress_coalitions:Mutated`."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

import mutants

from sim.game import State
from sim.games.coalition import CoalitionGame
from sim.games.coalition.core import Core
from sim.games.coalition.items import Reject
from sim.games.coalition.state import CoalitionState
from sim.games.coalition.talks import Talk
from sim.games.coalition.things import Formation, World
from sim.games.coalition.threshold import Effects


class TakesBackBeforeTheVerdict(Core):
    """A seat that withdraws has its units back, whatever comes of its withdrawal."""

    def reject(self, world: World, item: Reject, now: float) -> Effects:
        formation = world.formation(item.formation)
        assert formation is not None
        self.release(world, world.ledger.locks_for(formation.purpose, item.seat))
        return super().reject(world, item, now)


class NeverAsksAgain(CoalitionState, kw_only=True, dict=True):
    """Who has not answered, because a message was lost, is not asked again."""

    def remind(self, formation: Formation, talk: Talk, seat: int) -> None:
        pass


def _with(core: type[Core]) -> type[CoalitionState]:
    class Mutant(CoalitionState, kw_only=True, dict=True):
        pass

    Mutant.core = core()
    return Mutant


STATES: Final[Mapping[str, type[CoalitionState]]] = {
    "carry signatures across versions": _with(mutants.CarriesSignatures),
    "count messages, not signers": _with(mutants.CountsMessages),
    "accept a late signature": _with(mutants.AcceptsLateSignatures),
    "let the timer fire after consensus": _with(mutants.TimerFiresAfterConsensus),
    "allow modification after consensus": _with(mutants.ModifiesAfterConsensus),
    "lock only at deployment": _with(mutants.LocksOnlyAtDeployment),
    "release without acknowledgement": _with(TakesBackBeforeTheVerdict),
    "no second asking after a lost message": NeverAsksAgain,
    "non-idempotent release": _with(mutants.ReleasesTwice),
}
"""The states of the mutants, by the names of `mutants.MUTANTS`."""


class Mutated(CoalitionGame, frozen=True, kw_only=True, dict=True):
    """The game with a mutant in it; without one it is itself.

    Attributes:
        mutant: Which.
    """

    mutant: str = ""

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        state = super().start(agent_ids, rng)
        if not self.mutant:
            return state
        return STATES[self.mutant](**{name: getattr(state, name) for name in state.__struct_fields__})
