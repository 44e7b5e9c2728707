"""Where the world stands, told apart and numbered: each state of the rules is stepped from, and checked, once.

Two worlds are the same place if nothing that the rules may do from there on differs. So a place

- counts time from now: what is due in 4 seconds is due in 4 seconds, whatever the hour;
- forgets locks that are released and that no formation which has not ended still names, and numbers the others by
  owner; the hour at which something ended; and entries of the timer that stand for nothing;
- sorts what the rules look up and never go through in order (who signed, who left).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import msgspec
from msgspec.structs import replace

from sim.errors import IllegalAction
from sim.games.coalition import invariants
from sim.games.coalition.core import Core
from sim.games.coalition.items import Effect
from sim.games.coalition.things import Formation, Status, World


class Step(msgspec.Struct, frozen=True):
    """What an item led to.

    Attributes:
        place: Where the world stands after it.
        effects: What followed; empty if it was refused.
        refused: Why it was refused, or None.
        for_good: Whether it would be refused ever after too: it was overtaken by something, or was there before.
    """

    place: int
    effects: tuple[Effect, ...] = ()
    refused: str | None = None
    for_good: bool = False


class Facts(msgspec.Struct, frozen=True):
    """What the small world has to know of a place.

    Attributes:
        world: The place itself, encoded.
        broken: The invariant that does not hold there, or None.
        next_due: Seconds until the timer is due.
        awaited: Whose answer is awaited, as (formation, stage, seat): a version, or 0 for the decision.
        status: Where each formation stands.
        signed: Who has signed the current version of each formation.
        left: Who has left it.
        digests: The digests of each formation's versions.
        held: Whether a lock is held.
    """

    world: bytes
    broken: str | None
    next_due: float
    awaited: tuple[tuple[int, int, int], ...]
    status: dict[int, Status]
    signed: dict[int, tuple[int, ...]]
    left: dict[int, tuple[int, ...]]
    digests: dict[int, tuple[str, ...]]
    held: bool


class Places:
    """All places that were come to, with what each item leads to from there.

    Args:
        core: The rules.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.facts: list[Facts] = []
        self._numbers: dict[bytes, int] = {}
        self._steps: dict[tuple[int, Hashable], Step] = {}

    def number(self, world: World) -> int:
        """Return the number of the place where a world stands at time 0; the world is used up."""
        canonical(world, self.core)
        encoded = _encoder.encode(world)
        number = self._numbers.get(encoded)
        if number is None:
            number = self._numbers[encoded] = len(self.facts)
            self.facts.append(self._facts(world, encoded))
        return number

    def world(self, place: int) -> World:
        """Return the world of a place, a copy of its own."""
        return _decoder.decode(self.facts[place].world)

    def step(self, place: int, name: Hashable, change: Callable[[World], tuple[Effect, ...]]) -> Step:
        """Return what a change leads to; it is made once for each place and name."""
        known = self._steps.get((place, name))
        if known is None:
            known = self._steps[place, name] = self._step(place, change)
        return known

    def _step(self, place: int, change: Callable[[World], tuple[Effect, ...]]) -> Step:
        world = self.world(place)
        try:
            effects = change(world)
        except IllegalAction as refusal:
            if _encoder.encode(world) == self.facts[place].world:
                return Step(place, refused=str(refusal), for_good=refusal.code in ("late", "duplicate"))
            return self._breakdown(place, f"what is refused changes nothing: {refusal}")
        except Exception as error:  # of rules that are wrong
            return self._breakdown(place, f"the rules break down: {error!r}")
        return Step(self.number(world), effects)

    def _breakdown(self, place: int, text: str) -> Step:
        self.facts.append(replace(self.facts[place], broken=text))
        return Step(len(self.facts) - 1)

    def _facts(self, world: World, encoded: bytes) -> Facts:
        formations = world.formations()
        return Facts(
            world=encoded,
            broken=_broken(world),
            next_due=world.next_due,
            awaited=tuple(
                (formation.number, 0 if formation.status == "consensus" else len(formation.versions), seat)
                for formation in world.open.values()
                for seat in self.core.awaited(formation)
            ),
            status={formation.number: formation.status for formation in formations},
            signed={f.number: tuple(signature.seat for signature in f.signed.values()) for f in formations},
            left={formation.number: tuple(formation.rejected) for formation in formations},
            digests={f.number: tuple(version.digest for version in f.versions) for f in formations},
            held=any(lock.status == "held" for lock in world.ledger.locks.values()),
        )


def canonical(world: World, core: Core) -> None:
    """Make a world, at time 0, the one that stands for all that are the same place."""
    world.due = sorted(entry for entry in world.due if core.stands(world, *entry))
    world.open_by_task = {task: dict(sorted(numbers.items())) for task, numbers in world.open_by_task.items()}
    world.closed = dict(sorted(world.closed.items()))
    for formation in world.closed.values():
        _move(formation, -formation.deadline)
        formation.opened = 0.0
        formation.decide_by = None
    for formation in world.formations():
        signed = sorted(formation.signed.items())
        # no rule asks when it was signed, as long as that was before the deadline
        formation.signed = {seat: replace(sign, at=max(sign.at, formation.deadline)) for seat, sign in signed}
        formation.rejected = dict(sorted(formation.rejected.items()))
    _renumber(world)


def shift(world: World, seconds: float) -> tuple[Effect, ...]:
    """Let time pass: everything is due so much sooner."""
    for formation in world.open.values():
        _move(formation, -seconds)
    world.due = [(at - seconds, number) for at, number in world.due]
    return ()


def _move(formation: Formation, seconds: float) -> None:
    formation.opened += seconds
    formation.deadline += seconds
    if formation.decide_by is not None:
        formation.decide_by += seconds
    formation.signed = {seat: replace(sign, at=sign.at + seconds) for seat, sign in formation.signed.items()}


def _renumber(world: World) -> None:
    ledger = world.ledger
    named = {lock for formation in world.open.values() for lock in formation.locks}
    kept = [number for number, lock in ledger.locks.items() if lock.status != "released" or number in named]
    kept.sort(key=lambda number: (ledger.locks[number].purpose, ledger.locks[number].owner, number))
    names = {old: new for new, old in enumerate(kept, start=1)}
    ledger.locks = {names[old]: ledger.locks[old] for old in kept}
    ledger.live = {}
    for number, lock in ledger.locks.items():
        if lock.status != "released":
            ledger.live.setdefault(lock.purpose, {}).setdefault(lock.owner, {})[lock.resource] = number
    for formation in world.formations():
        _rename(formation, names)


def _rename(formation: Formation, names: dict[int, int]) -> None:
    formation.locks = sorted(names[lock] for lock in formation.locks if lock in names)
    for place, signature in formation.signed.items():
        locks = tuple(names[lock] for lock in signature.locks if lock in names)
        if locks != signature.locks:
            formation.signed[place] = replace(signature, locks=locks)


def _broken(world: World) -> str | None:
    try:
        invariants.check(world)
    except AssertionError as error:
        return str(error)
    return None


_encoder: Any = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(World)
