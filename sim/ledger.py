"""Who holds how much: goods that change hands, and locks that are taken, released and bound. Conservation lives here.

A ledger belongs to the state of one match. Owners are seats, amounts are whole units, and each operation happens
as one step: it is done whole, or it raises and the ledger is as it was. Nobody waits for units, so nothing deadlocks.

A sale is an exchange. That a buyer buys once is said by a unit of its own, the right to buy, given in return:

    ledger.put(seller, "civic", 3)
    ledger.put(buyer, "purchase", 1)
    ledger.transfer(seller, buyer, {"civic": 1}, in_return={"purchase": 1})

A commitment is held for a purpose, changed as often as its owner changes its mind, then bound or released:

    ledger.hold("formation 1", {seat: {"cpu": 4}})
    ledger.hold("formation 1", {seat: {"cpu": 2, "disk": 1}})
    ledger.bind(*ledger.locks_for("formation 1"))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

from sim.errors import IllegalAction

LockStatus: TypeAlias = Literal["held", "bound", "released"]
"""Where a lock stands: units set aside, given for good, or given back."""


class Balance(msgspec.Struct, frozen=True):
    """What a seat has of a resource, in units.

    Attributes:
        available: What it may give, or set aside.
        held: What is set aside; it may come back.
        bound: What is given for good, unless the agreement that it is bound by is aborted.
    """

    available: int = 0
    held: int = 0
    bound: int = 0


class Lock(msgspec.Struct, frozen=True):
    """Units of one seat, set aside for one purpose. It never changes; the ledger puts another in its place.

    Attributes:
        owner: The seat whose units they are.
        resource: What they are units of.
        units: How many; at least 1.
        purpose: What they are set aside for, such as a formation.
        status: Where the lock stands.
    """

    owner: int
    resource: str
    units: int
    purpose: str
    status: LockStatus = "held"


class Ledger(msgspec.Struct):
    """Who holds how much.

    The fields are for encoding and comparing; they are changed by the methods only. A call that names a lock
    which is not there, or an amount that is not a whole number (True is none), is the caller's mistake: `ValueError`.

    Attributes:
        supply: Units put in so far, by resource.
        balances: What each seat has, by seat and resource.
        locks: Every lock ever taken, by id; ids count up from 1.
        live: Ids of the locks that are held or bound, by purpose, seat and resource.
    """

    supply: dict[str, int] = {}
    balances: dict[int, dict[str, Balance]] = {}
    locks: dict[int, Lock] = {}
    live: dict[str, dict[int, dict[str, int]]] = {}

    def put(self, owner: int, resource: str, units: int) -> None:
        """Bring units into the match, available to a seat; 0 or more."""
        _check_units(units, least=0)
        self._move(owner, resource, available=units)
        self.supply[resource] = self.supply.get(resource, 0) + units

    def balance(self, owner: int, resource: str) -> Balance:
        """Return what a seat has of a resource."""
        return self.balances.get(owner, {}).get(resource, _NOTHING)

    def available(self, owner: int, resource: str) -> int:
        """Return how many units a seat may give or set aside."""
        return self.balance(owner, resource).available

    def transfer(
        self, giver: int, taker: int, goods: Mapping[str, int], *, in_return: Mapping[str, int] | None = None
    ) -> None:
        """Hand available units from one seat to another, and others back for them, in one step.

        Args:
            giver: The seat that gives `goods`.
            taker: The seat that takes them.
            goods: Units by resource; at least 1 of each.
            in_return: What the taker gives for them. Neither side can give what it only gets in this step.

        Raises:
            IllegalAction: A side has not what it is to give; nothing has moved.
        """
        if giver == taker:
            raise ValueError(f"seat {giver} cannot hand anything to itself")
        moves = [(giver, taker, resource, units) for resource, units in goods.items()]
        moves += [(taker, giver, resource, units) for resource, units in (in_return or {}).items()]
        for source, _, resource, units in moves:
            _check_units(units, least=1)
            if units > self.available(source, resource):
                # how much it has is not said: the text may reach another seat
                raise IllegalAction(f"seat {source} does not have {units} of {resource!r} to give")
        for source, target, resource, units in moves:
            self._move(source, resource, available=-units)
            self._move(target, resource, available=units)

    def hold(self, purpose: str, wanted: Mapping[int, Mapping[str, int]]) -> tuple[int, ...]:
        """Make what some seats have locked for a purpose exactly this, in one step.

        A lock that is there is topped up or partly released and keeps its id. What is not wanted any more (0, or
        not named) is released. What is not there yet is locked. Seats that are not named keep theirs.

        Args:
            purpose: What the units are set aside for.
            wanted: Units by seat and resource.

        Returns:
            The ids of the locks of the named seats that now stand, in the order of `wanted`.

        Raises:
            IllegalAction: A seat has not enough available, or a bound lock would change; nothing has changed.
        """
        claims = [claim for owner, goods in wanted.items() for claim in self._claims(purpose, owner, goods)]
        ids = [self._set_lock(purpose, owner, resource, units) for owner, resource, units in claims]
        return tuple(lock_id for lock_id in ids if lock_id is not None)

    def bind(self, *lock_ids: int) -> tuple[int, ...]:
        """Bind held locks, all together; those that are bound stay so.

        Returns:
            The ids of those that this call has bound.

        Raises:
            IllegalAction: One is released; none has been bound.
        """
        changing = []
        for lock_id, lock in self._named(lock_ids):
            if lock.status == "released":
                raise IllegalAction(f"lock {lock_id} of seat {lock.owner} is released and cannot be bound")
            if lock.status == "held":
                changing.append(lock_id)
        for lock_id in changing:
            lock = self.locks[lock_id]
            self._move(lock.owner, lock.resource, held=-lock.units, bound=lock.units)
            self.locks[lock_id] = msgspec.structs.replace(lock, status="bound")
        return tuple(changing)

    def release(self, *lock_ids: int, bound: bool = False) -> tuple[int, ...]:
        """Give locked units back to their owners, all together; releasing again changes nothing.

        Args:
            lock_ids: The locks.
            bound: Whether bound ones are given back too, as when an agreement is aborted.

        Returns:
            The ids of those that this call has released.

        Raises:
            IllegalAction: One is bound, and bound ones are not to be given back; none has been released.
        """
        changing = []
        for lock_id, lock in self._named(lock_ids):
            if lock.status == "bound" and not bound:
                raise IllegalAction(f"lock {lock_id} of seat {lock.owner} is bound and cannot be released")
            if lock.status != "released":
                changing.append(lock_id)
        for lock_id in changing:
            self._release(lock_id)
        return tuple(changing)

    def locks_for(self, purpose: str, owner: int | None = None) -> tuple[int, ...]:
        """Return the ids of the locks that are held or bound for a purpose, of one seat or of all, oldest first."""
        owners = self.live.get(purpose, {})
        chosen = owners.values() if owner is None else [owners.get(owner, {})]
        return tuple(sorted(lock_id for ids in chosen for lock_id in ids.values()))

    def check(self) -> None:
        """Check that nothing was lost or made, by adding everything up.

        Raises:
            AssertionError: Something was; this is an error in the ledger, or in one who went around its methods.
        """
        locked = self._locked()
        totals = dict.fromkeys(self.supply, 0)
        for owner, resources in self.balances.items():
            for resource, has in resources.items():
                _assert(min(has.available, has.held, has.bound) >= 0, f"seat {owner}, {resource!r}: {has}")
                by_lock = (locked.pop((owner, resource, "held"), 0), locked.pop((owner, resource, "bound"), 0))
                _assert((has.held, has.bound) == by_lock, f"seat {owner}, {resource!r}: {has}; in locks {by_lock}")
                totals[resource] = totals.get(resource, 0) + has.available + has.held + has.bound
        _assert(totals == self.supply, f"there are {totals}; put in were {self.supply}")
        _assert(not locked, f"locks of units that nobody has: {locked}")

    def _locked(self) -> dict[tuple[int, str, LockStatus], int]:
        """Add up the locks that are held or bound; check that the index has these and no others."""
        locked: dict[tuple[int, str, LockStatus], int] = {}
        live = [lock_id for purpose in self.live for lock_id in self.locks_for(purpose)]
        standing = [lock_id for lock_id, lock in self.locks.items() if lock.status != "released"]
        _assert(sorted(live) == standing, f"locks {standing} stand; the index has {sorted(live)}")
        for lock_id in standing:
            lock = self.locks[lock_id]
            _assert(self.live[lock.purpose][lock.owner].get(lock.resource) == lock_id, f"lock {lock_id} is misplaced")
            key = (lock.owner, lock.resource, lock.status)
            locked[key] = locked.get(key, 0) + lock.units
        return locked

    def _claims(self, purpose: str, owner: int, goods: Mapping[str, int]) -> Iterator[tuple[int, str, int]]:
        """Check what a seat wants locked; also give, with 0 units, what it has locked and wants no more."""
        there = self.live.get(purpose, {}).get(owner, {})
        for resource in [*goods, *(name for name in there if name not in goods)]:
            units = goods.get(resource, 0)
            _check_units(units, least=0)
            lock = self.locks[there[resource]] if resource in there else None
            before = lock.units if lock else 0
            if lock and lock.status == "bound" and units != before:
                raise IllegalAction(f"seat {owner}: {before} of {resource!r} are bound for {purpose} and stay so")
            if units - before > self.available(owner, resource):
                raise IllegalAction(f"seat {owner} does not have {units} of {resource!r} to lock for {purpose}")
            yield owner, resource, units

    def _set_lock(self, purpose: str, owner: int, resource: str, units: int) -> int | None:
        lock_id = self.live.get(purpose, {}).get(owner, {}).get(resource)
        if units == 0:
            if lock_id is not None:
                self._release(lock_id)
            return None
        before = 0 if lock_id is None else self.locks[lock_id].units
        if units != before:
            self._move(owner, resource, available=before - units, held=units - before)
            if lock_id is None:
                lock_id = len(self.locks) + 1
                self.live.setdefault(purpose, {}).setdefault(owner, {})[resource] = lock_id
            self.locks[lock_id] = Lock(owner, resource, units, purpose)
        return lock_id

    def _release(self, lock_id: int) -> None:
        lock = self.locks[lock_id]
        self._move(lock.owner, lock.resource, available=lock.units, **{lock.status: -lock.units})
        self.locks[lock_id] = msgspec.structs.replace(lock, status="released")
        del self.live[lock.purpose][lock.owner][lock.resource]

    def _named(self, lock_ids: Iterable[int]) -> Iterator[tuple[int, Lock]]:
        for lock_id in dict.fromkeys(lock_ids):  # one that is named twice counts once
            if lock_id not in self.locks:
                raise ValueError(f"there is no lock {lock_id!r}")
            yield lock_id, self.locks[lock_id]

    def _move(self, owner: int, resource: str, available: int = 0, held: int = 0, bound: int = 0) -> None:
        has = self.balance(owner, resource)
        self.balances.setdefault(owner, {})[resource] = Balance(
            has.available + available, has.held + held, has.bound + bound
        )


_NOTHING = Balance()


def _check_units(units: int, least: int) -> None:
    if type(units) is not int or units < least:
        raise ValueError(f"{units!r} units: a whole number of {least} or more is needed")


def _assert(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(f"the ledger does not add up: {text}")
