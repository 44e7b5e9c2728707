"""Units change hands, are locked, bound and given back, and none is ever lost or made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from time import perf_counter
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sim.errors import IllegalAction
from sim.ledger import Balance, Ledger

BUYER, OTHER, SELLER = 0, 1, 2


@pytest.fixture
def market() -> Ledger:
    ledger = Ledger()
    ledger.put(SELLER, "civic", 2)
    ledger.put(SELLER, "radio", 1)
    for buyer in (BUYER, OTHER):
        ledger.put(buyer, "purchase", 1)
    return ledger


@pytest.fixture
def pool() -> Ledger:
    ledger = Ledger()
    for seat in range(3):
        ledger.put(seat, "cpu", 5)
        ledger.put(seat, "disk", 2)
    return ledger


def refused(ledger: Ledger, operation: Callable[[], Any], match: str, error: type[Exception] = IllegalAction) -> None:
    """Check that an operation is refused and has left no trace."""
    before = deepcopy(ledger)
    with pytest.raises(error, match=match):
        operation()
    assert ledger == before
    assert msgspec.json.encode(ledger) == msgspec.json.encode(before)  # the order of keys too
    ledger.check()


def test_what_is_put_in_is_available_and_adds_up() -> None:
    ledger = Ledger()
    ledger.put(0, "cpu", 3)
    ledger.put(0, "cpu", 2)
    ledger.put(1, "cpu", 0)
    assert ledger.balance(0, "cpu") == Balance(available=5)
    assert (ledger.available(0, "cpu"), ledger.available(1, "cpu"), ledger.supply) == (5, 0, {"cpu": 5})
    ledger.check()


def test_asking_changes_nothing(pool: Ledger) -> None:
    before = deepcopy(pool)
    assert pool.balance(9, "cpu") == pool.balance(0, "gold") == Balance()
    assert pool.locks_for("nothing") == pool.locks_for("nothing", 0) == ()
    pool.check()
    assert pool == before


def test_two_ledgers_share_nothing() -> None:
    one, two = Ledger(), Ledger()
    one.put(0, "cpu", 1)
    one.hold("f", {0: {"cpu": 1}})
    assert two == Ledger()


@pytest.mark.parametrize("units", [True, 1.0, "1", None, -1])
def test_units_are_whole_numbers(pool: Ledger, units: Any) -> None:
    refused(pool, lambda: pool.put(0, "cpu", units), "a whole number", ValueError)
    refused(pool, lambda: pool.transfer(0, 1, {"disk": 1, "cpu": units}), "a whole number", ValueError)
    refused(pool, lambda: pool.transfer(0, 1, {}, in_return={"cpu": units}), "a whole number", ValueError)
    refused(pool, lambda: pool.hold("f", {0: {"disk": 1, "cpu": units}}), "a whole number", ValueError)


def test_a_sale_moves_the_unit_and_uses_up_the_right_to_buy(market: Ledger) -> None:
    market.transfer(SELLER, BUYER, {"civic": 1}, in_return={"purchase": 1})
    assert (market.available(SELLER, "civic"), market.available(BUYER, "civic")) == (1, 1)
    assert (market.available(SELLER, "purchase"), market.available(BUYER, "purchase")) == (1, 0)
    market.check()


def test_a_unit_is_sold_once_and_a_buyer_buys_once(market: Ledger) -> None:
    market.transfer(SELLER, BUYER, {"radio": 1}, in_return={"purchase": 1})
    refused(
        market,
        lambda: market.transfer(SELLER, OTHER, {"radio": 1}, in_return={"purchase": 1}),
        "seat 2 does not have 1 of 'radio'",
    )
    refused(
        market,
        lambda: market.transfer(SELLER, BUYER, {"civic": 1}, in_return={"purchase": 1}),
        "seat 0 does not have 1 of 'purchase'",
    )


def test_a_bundle_moves_whole_or_not_at_all(market: Ledger) -> None:
    refused(market, lambda: market.transfer(SELLER, BUYER, {"civic": 1, "radio": 2}), "2 of 'radio'")
    market.transfer(SELLER, BUYER, {"civic": 1, "radio": 1})
    assert (market.available(BUYER, "civic"), market.available(BUYER, "radio")) == (1, 1)


def test_nobody_gives_what_it_only_gets_in_the_same_step(market: Ledger) -> None:
    refused(market, lambda: market.transfer(SELLER, BUYER, {"civic": 1}, in_return={"civic": 1}), "seat 0")


def test_a_transfer_of_nothing_or_to_oneself_is_a_mistake(market: Ledger) -> None:
    refused(market, lambda: market.transfer(SELLER, BUYER, {"civic": 0}), "1 or more", ValueError)
    refused(market, lambda: market.transfer(SELLER, SELLER, {"civic": 1}), "to itself", ValueError)


def test_a_refusal_does_not_say_how_much_a_seat_has(pool: Ledger) -> None:
    for operation in (lambda: pool.transfer(0, 1, {"cpu": 9}), lambda: pool.hold("f", {0: {"cpu": 9}})):
        with pytest.raises(IllegalAction) as caught:
            operation()
        assert "5" not in str(caught.value)


def test_held_units_can_be_neither_given_nor_held_for_something_else(pool: Ledger) -> None:
    assert pool.hold("f", {0: {"cpu": 4, "disk": 2}}) == (1, 2)
    assert pool.balance(0, "cpu") == Balance(available=1, held=4)
    refused(pool, lambda: pool.transfer(0, 1, {"cpu": 2}), "2 of 'cpu' to give")
    refused(pool, lambda: pool.hold("g", {0: {"cpu": 2}}), "2 of 'cpu' to lock for g")
    assert pool.hold("g", {0: {"cpu": 1}}) == (3,)
    pool.check()


def test_holding_again_tops_up_and_gives_back(pool: Ledger) -> None:
    pool.hold("f", {0: {"cpu": 2, "disk": 2}})
    assert pool.hold("f", {0: {"disk": 1, "cpu": 5}}) == (2, 1)
    assert pool.balance(0, "cpu") == Balance(held=5)
    assert pool.balance(0, "disk") == Balance(available=1, held=1)
    assert pool.hold("f", {0: {"cpu": 5}}) == (1,)
    assert (pool.locks[2].status, pool.balance(0, "disk")) == ("released", Balance(available=2))
    assert pool.hold("f", {0: {"cpu": 0, "disk": 1}}) == (3,)
    assert pool.locks_for("f") == (3,)
    pool.check()


def test_holding_again_what_is_held_changes_nothing(pool: Ledger) -> None:
    pool.hold("f", {0: {"cpu": 5}})
    before = deepcopy(pool)
    assert pool.hold("f", {0: {"cpu": 5}}) == (1,)
    assert pool.hold("f", {1: {"cpu": 0}, 2: {}}) == ()
    assert pool == before


def test_holding_for_some_leaves_the_others_alone(pool: Ledger) -> None:
    pool.hold("f", {0: {"cpu": 1}})
    pool.hold("f", {1: {"cpu": 2}, 2: {"cpu": 3}})
    assert (pool.locks_for("f"), pool.locks_for("f", 1), pool.locks_for("g")) == ((1, 2, 3), (2,), ())
    pool.release(1)
    pool.hold("f", {0: {"cpu": 1}})
    assert pool.locks_for("f") == (2, 3, 4)  # oldest first, whoever came first


def test_several_seats_lock_together_or_not_at_all(pool: Ledger) -> None:
    pool.hold("f", {0: {"cpu": 1, "disk": 1}})
    refused(pool, lambda: pool.hold("f", {0: {"cpu": 3}, 1: {"cpu": 5}, 2: {"cpu": 6}}), "seat 2")


def test_locks_are_bound_together_or_not_at_all(pool: Ledger) -> None:
    locks = pool.hold("f", {0: {"cpu": 1}, 1: {"cpu": 2}, 2: {"cpu": 3}})
    pool.release(locks[2])
    refused(pool, lambda: pool.bind(*locks), "lock 3 of seat 2 is released")
    assert pool.bind(*locks[:2]) == locks[:2]
    assert pool.balance(1, "cpu") == Balance(available=3, bound=2)
    assert pool.locks_for("f") == locks[:2]
    pool.check()


def test_binding_again_changes_nothing(pool: Ledger) -> None:
    (lock,) = pool.hold("f", {0: {"cpu": 2}})
    assert pool.bind(lock, lock) == (lock,)
    before = deepcopy(pool)
    assert pool.bind(lock) == ()
    assert pool == before


def test_what_is_bound_stays_as_it_is(pool: Ledger) -> None:
    held, bound = pool.hold("f", {0: {"cpu": 2}, 1: {"cpu": 2}})
    pool.bind(bound)
    refused(pool, lambda: pool.release(held, bound), "lock 2 of seat 1 is bound")
    for wanted in ({"cpu": 1}, {"cpu": 3}, {"disk": 1}, {}):
        refused(pool, lambda w=wanted: pool.hold("f", {0: {"cpu": 1}, 1: w}), "are bound for f")  # type: ignore[misc]
    assert pool.hold("f", {1: {"cpu": 2, "disk": 1}}) == (bound, 3)  # more may come beside it
    assert (pool.locks[bound].status, pool.locks[3].status) == ("bound", "held")
    pool.check()


def test_an_abort_gives_back_what_is_bound(pool: Ledger) -> None:
    locks = pool.hold("f", {0: {"cpu": 2}, 1: {"cpu": 2}})
    pool.bind(locks[0])
    assert pool.release(*pool.locks_for("f"), bound=True) == locks
    assert pool.balance(0, "cpu") == pool.balance(1, "cpu") == Balance(available=5)
    assert pool.locks_for("f") == ()
    pool.check()


def test_releasing_again_changes_nothing(pool: Ledger) -> None:
    one, two = pool.hold("f", {0: {"cpu": 2}, 1: {"cpu": 2}})
    assert pool.release(one, one) == (one,)
    before = deepcopy(pool)
    assert pool.release(one) == pool.release(one, bound=True) == ()
    assert pool == before
    assert pool.release(two, one) == (two,)
    pool.check()


def test_a_lock_that_was_released_stays_so_when_its_owner_locks_anew(pool: Ledger) -> None:
    (old,) = pool.hold("f", {0: {"cpu": 2}})
    pool.release(old)
    (new,) = pool.hold("f", {0: {"cpu": 3}})
    assert new != old
    assert pool.release(old) == ()
    assert pool.balance(0, "cpu") == Balance(available=2, held=3)


def test_a_lock_that_is_not_there_is_a_mistake(pool: Ledger) -> None:
    (lock,) = pool.hold("f", {0: {"cpu": 2}})
    refused(pool, lambda: pool.release(lock, 7), "no lock 7", ValueError)
    refused(pool, lambda: pool.bind(lock, 0), "no lock 0", ValueError)


def test_a_ledger_survives_encoding_and_a_copy_goes_its_own_way(pool: Ledger) -> None:
    pool.bind(*pool.hold("f", {0: {"cpu": 2}, 1: {"cpu": 2}}))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(pool), type=Ledger) == pool
    assert msgspec.json.decode(msgspec.json.encode(pool), type=Ledger) == pool
    copy = deepcopy(pool)
    copy.hold("f", {2: {"cpu": 1}})
    assert (pool.locks_for("f"), copy.locks_for("f")) == ((1, 2), (1, 2, 3))


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda ledger: ledger.supply.update(cpu=14), "put in were"),
        (lambda ledger: ledger.supply.update(gold=1), "put in were"),
        (lambda ledger: ledger.balances[1].update(cpu=Balance(6)), "put in were"),
        (lambda ledger: ledger.balances[1].update(cpu=Balance(6, -1)), "seat 1"),
        (lambda ledger: ledger.balances[0].update(cpu=Balance(4, 1)), "seat 0"),
        (lambda ledger: ledger.balances[0].update(cpu=Balance(3, 0, 2)), "seat 0"),
        (lambda ledger: ledger.balances[0].pop("cpu"), "put in were"),
        (lambda ledger: ledger.live.clear(), "the index has"),
        (lambda ledger: ledger.live["f"][0].update(disk=7), "the index has"),
        (lambda ledger: ledger.live.update(f={0: {"disk": 1}}), "misplaced"),
        (lambda ledger: ledger.locks.update({1: msgspec.structs.replace(ledger.locks[1], units=1)}), "seat 0"),
        (lambda ledger: ledger.locks.update({1: msgspec.structs.replace(ledger.locks[1], status="released")}), "index"),
    ],
)
def test_a_check_finds_what_does_not_add_up(pool: Ledger, spoil: Callable[[Ledger], Any], text: str) -> None:
    pool.hold("f", {0: {"cpu": 2}})
    pool.check()
    spoil(pool)
    with pytest.raises(AssertionError, match=f"does not add up.*{text}"):
        pool.check()


def test_an_operation_costs_the_same_in_a_large_match() -> None:
    def seconds(formations: int) -> float:
        ledger = Ledger()
        for seat in range(formations):
            ledger.put(seat, "cpu", 3)
            ledger.hold(f"old {seat}", {seat: {"cpu": 1}})
        times = []
        for n in range(200):
            began = perf_counter()
            locks = ledger.hold(f"new {n}", {0: {"cpu": 1}, 1: {"cpu": 2}})
            ledger.hold(f"new {n}", {0: {"cpu": 2}})
            ledger.bind(*locks)
            ledger.release(*ledger.locks_for(f"new {n}"), bound=True)
            ledger.transfer(0, 1, {"cpu": 1})
            ledger.transfer(1, 0, {"cpu": 1})
            times.append(perf_counter() - began)
        return min(times)

    assert seconds(20_000) < 5 * seconds(20)  # a scan over the locks would take hundreds of times as long


SEATS = st.integers(0, 2)
RESOURCES = st.sampled_from(["cpu", "disk"])
PURPOSES = st.sampled_from(["f", "g"])
AMOUNTS = st.dictionaries(RESOURCES, st.integers(0, 3))
GOODS = st.dictionaries(RESOURCES, st.integers(1, 3))
Place = tuple[int, str, str | None, str]
"""Where a unit is: its owner, what it is, what it is locked for, and how."""


class LedgerMachine(RuleBasedStateMachine):
    """Plays a ledger against a bag of single units, each of which is in one place."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.units: Counter[Place] = Counter()
        self.ids: dict[int, tuple[int, str, str]] = {}  # of every lock ever taken: owner, resource, purpose
        self.standing: dict[tuple[int, str, str], int] = {}
        self.put_in = 0

    def attempt(self, allowed: bool, operation: Callable[[], Any]) -> Any:
        if allowed:
            return operation()
        before = msgspec.msgpack.encode(self.ledger)
        with pytest.raises(IllegalAction):
            operation()
        assert msgspec.msgpack.encode(self.ledger) == before
        return None

    def carry(self, source: Place, target: Place, count: int) -> None:
        self.units[source] -= count
        self.units[target] += count

    def status(self, lock_id: int) -> str:
        key = self.ids[lock_id]
        if self.standing.get(key) != lock_id:
            return "released"
        owner, resource, purpose = key
        return "bound" if self.units[owner, resource, purpose, "bound"] else "held"

    def free(self, lock_id: int) -> None:
        owner, resource, purpose = self.ids[lock_id]
        for how in ("held", "bound"):
            place = (owner, resource, purpose, how)
            self.carry(place, (owner, resource, None, "available"), self.units[place])
        del self.standing[owner, resource, purpose]

    @rule(owner=SEATS, resource=RESOURCES, units=st.integers(0, 4))
    def put(self, owner: int, resource: str, units: int) -> None:
        self.ledger.put(owner, resource, units)
        self.units[owner, resource, None, "available"] += units
        self.put_in += units

    @rule(giver=SEATS, step=st.integers(1, 2), goods=GOODS, back=GOODS)
    def transfer(self, giver: int, step: int, goods: dict[str, int], back: dict[str, int]) -> None:
        taker = (giver + step) % 3
        allowed = all(
            self.units[seat, resource, None, "available"] >= units
            for seat, gives in ((giver, goods), (taker, back))
            for resource, units in gives.items()
        )
        self.attempt(allowed, lambda: self.ledger.transfer(giver, taker, goods, in_return=back))
        if allowed:
            for source, target, gives in ((giver, taker, goods), (taker, giver, back)):
                for resource, units in gives.items():
                    self.carry((source, resource, None, "available"), (target, resource, None, "available"), units)

    @rule(purpose=PURPOSES, wanted=st.dictionaries(SEATS, AMOUNTS, min_size=1))
    def hold(self, purpose: str, wanted: dict[int, dict[str, int]]) -> None:
        changes, allowed = [], True
        for owner, goods in wanted.items():
            for resource in ("cpu", "disk"):
                want = goods.get(resource, 0)
                bound = self.units[owner, resource, purpose, "bound"]
                more = want - bound - self.units[owner, resource, purpose, "held"]
                allowed &= more <= self.units[owner, resource, None, "available"] and (not bound or want == bound)
                changes.append((owner, resource, more))
        standing = self.attempt(allowed, lambda: self.ledger.hold(purpose, wanted))
        if not allowed:
            return
        for owner, resource, more in changes:
            place = (owner, resource, purpose, "held")
            self.carry((owner, resource, None, "available"), place, more)
            if more and not self.units[place]:
                del self.standing[owner, resource, purpose]
        expected = [(owner, name, purpose) for owner, goods in wanted.items() for name in goods if goods[name]]
        for key in expected:
            if key not in self.standing:
                lock_id = self.standing[key] = len(self.ids) + 1
                self.ids[lock_id] = key
        assert standing == tuple(self.standing[key] for key in expected)

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), bound=st.booleans())
    def release(self, data: st.DataObject, bound: bool) -> None:
        chosen = data.draw(st.lists(st.sampled_from(sorted(self.ids)), max_size=4))
        statuses = {lock_id: self.status(lock_id) for lock_id in chosen}
        allowed = bound or "bound" not in statuses.values()
        released = self.attempt(allowed, lambda: self.ledger.release(*chosen, bound=bound))
        if allowed:
            expected = tuple(lock_id for lock_id, status in statuses.items() if status != "released")
            assert released == expected
            for lock_id in expected:
                self.free(lock_id)

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def bind(self, data: st.DataObject) -> None:
        pool = sorted(self.standing.values()) if data.draw(st.booleans()) else sorted(self.ids)
        chosen = data.draw(st.lists(st.sampled_from(pool or sorted(self.ids)), max_size=4))
        statuses = {lock_id: self.status(lock_id) for lock_id in chosen}
        allowed = "released" not in statuses.values()
        bound = self.attempt(allowed, lambda: self.ledger.bind(*chosen))
        if allowed:
            expected = tuple(lock_id for lock_id, status in statuses.items() if status == "held")
            assert bound == expected
            for lock_id in expected:
                owner, resource, purpose = self.ids[lock_id]
                place = (owner, resource, purpose, "held")
                self.carry(place, (owner, resource, purpose, "bound"), self.units[place])

    @invariant()
    def nothing_is_lost_or_made(self) -> None:
        self.ledger.check()
        assert sum(self.units.values()) == self.put_in == sum(self.ledger.supply.values())
        assert all(count >= 0 for count in self.units.values())

    @invariant()
    def every_balance_and_lock_is_that_of_the_model(self) -> None:
        for owner in range(3):
            for resource in ("cpu", "disk"):
                has = Counter[str]()
                for (who, what, _, how), count in self.units.items():
                    if (who, what) == (owner, resource):
                        has[how] += count
                assert self.ledger.balance(owner, resource) == Balance(has["available"], has["held"], has["bound"])
        assert list(self.ledger.locks) == list(self.ids)
        for lock_id, (owner, resource, purpose) in self.ids.items():
            lock = self.ledger.locks[lock_id]
            assert (lock.owner, lock.resource, lock.purpose) == (owner, resource, purpose)
            assert lock.status == self.status(lock_id)
            if lock.status != "released":
                assert lock.units == self.units[owner, resource, purpose, lock.status]


TestLedgerAgainstSingleUnits = LedgerMachine.TestCase
TestLedgerAgainstSingleUnits.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
