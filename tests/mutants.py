"""Nine ways to get the protocol wrong, one small override each; the checks must catch every one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from experiments.modelcheck import Config
from experiments.modelcheck.world import Message, SmallWorld, State
from sim.games.coalition.core import Core
from sim.games.coalition.items import Effect
from sim.games.coalition.things import Formation, Signature, Version, World


class CarriesSignatures(Core):
    """Signatures of one version count for the next."""

    def carried(self, formation: Formation) -> dict[int, Signature]:
        return dict(formation.signed)


class CountsMessages(Core):
    """A signature that arrives twice counts twice."""

    def slot(self, formation: Formation, seat: int) -> int:
        return seat if seat not in formation.signed else -len(formation.signed)


class AcceptsLateSignatures(Core):
    """A signature counts although the deadline has passed."""

    def may_sign(self, formation: Formation, now: float) -> None:
        if formation.reason != "timeout" and not (formation.status == "open" and now > formation.deadline):
            super().may_sign(formation, now)


class TimerFiresAfterConsensus(Core):
    """The timer that was set for the deadline fires although there was consensus."""

    def stands(self, world: World, at: float, number: int) -> bool:
        formation = world.formation(number)
        return super().stands(world, at, number) or (formation is not None and formation.members != ())


class ModifiesAfterConsensus(Core):
    """What was agreed on is modified."""

    def may_modify(self, formation: Formation, now: float) -> None:
        return


class LocksOnlyAtDeployment(Core):
    """Who commits is believed; its units are locked at the deployment."""

    def lock(self, world: World, formation: Formation, version: Version, seat: int, commit: bool) -> tuple[int, ...]:
        return ()


class ReleasesTwice(Core):
    """A lock that was given back is given back again."""

    def release(self, world: World, locks: Iterable[int]) -> None:
        for number in locks:
            lock = world.ledger.locks[number]
            if lock.status != "released":
                world.ledger.release(number, bound=True)
            else:
                world.ledger._move(lock.owner, lock.resource, available=lock.units, held=-lock.units)


class AgentsReleaseByThemselves(SmallWorld):
    """An agent that withdraws takes its units back without waiting for the referee."""

    def withdraws(self, place: int, message: Message) -> int:
        def take_back(world: World) -> tuple[Effect, ...]:
            formation = world.formation(message.formation)
            assert formation is not None
            world.ledger.release(*world.ledger.locks_for(formation.purpose, message.seat))
            return ()

        return self.places.step(place, ("takes back", message), take_back).place


class NeverAsksAgain(SmallWorld):
    """A message that is lost is lost for good."""

    def ask_again(self, state: State) -> State:
        return state


class Mutant(NamedTuple):
    """A mutant, and the smallest world that it is to be caught in."""

    name: str
    make: Callable[[Config], SmallWorld]
    config: Config
    invariant: str


def _rules(core: type[Core]) -> Callable[[Config], SmallWorld]:
    return lambda config: SmallWorld(config, core())


_QUIET = Config(drops=0)
_DOUBLED = Config(quorum=3, versions=1, drops=0, duplicates=1)

MUTANTS = (
    Mutant("carry signatures across versions", _rules(CarriesSignatures), _QUIET, "signed the current version"),
    Mutant("count messages, not signers", _rules(CountsMessages), _DOUBLED, "a signer counts once"),
    Mutant("accept a late signature", _rules(AcceptsLateSignatures), _QUIET, "one terminal state"),
    Mutant("let the timer fire after consensus", _rules(TimerFiresAfterConsensus), _QUIET, "one terminal state"),
    Mutant("allow modification after consensus", _rules(ModifiesAfterConsensus), _QUIET, "signed the final digest"),
    Mutant("lock only at deployment", _rules(LocksOnlyAtDeployment), _QUIET, "terms bound = terms signed"),
    Mutant("release without acknowledgement", AgentsReleaseByThemselves, _QUIET, "terms bound = terms signed"),
    Mutant("no second asking after a lost message", NeverAsksAgain, Config(commit="always"), "when all is quiet"),
    Mutant("non-idempotent release", _rules(ReleasesTwice), _QUIET, "does not add up"),
)
