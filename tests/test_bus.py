"""Inboxes, the bus within one loop, and the delivery model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from sim.bus import Address, Inbox, LocalBus
from sim.clock import Clock, run_virtual
from sim.delivery import Delivery, UnreliableBus
from sim.errors import ConfigError, InboxFull
from sim.messages import Abort, AnyMessage

A, B, C = Address(0, 0), Address(0, 1), Address(1, 0)


def ignore(sender: Address, to: Address, message: AnyMessage) -> None:
    """Receive and forget."""


def numbers_through(
    delivery: Delivery, count: int, *, seed: int = 1, noise: int = 0
) -> tuple[list[int], UnreliableBus]:
    """Send numbered messages from A to B, one each millisecond; return what arrived, in order."""
    arrived: list[int] = []

    async def main() -> UnreliableBus:
        clock = Clock()
        bus = UnreliableBus(LocalBus(), clock, delivery, seed)
        bus.attach(B, lambda sender, to, message: arrived.append(int(message.reason)))  # type: ignore[union-attr]
        bus.attach(C, ignore)
        for n in range(count):
            clock.at(n * 1e-3, bus.send, A, B, Abort(str(n)))
            for _ in range(noise):
                clock.at(n * 1e-3, bus.send, A, C, Abort("noise"))
        await asyncio.sleep(1000)
        return bus

    bus = run_virtual(main())
    return arrived, bus


# ── inboxes ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_inbox_reads_in_the_order_of_arrival_and_never_re_enters_its_owner() -> None:
    read: list[int] = []
    depth = 0

    def owner(item: int) -> None:
        nonlocal depth
        depth += 1
        assert depth == 1, "entered twice"
        if item < 3:
            inbox.put(item + 10)
            inbox.put(item + 20)
        read.append(item)
        depth -= 1

    inbox = Inbox(owner)
    inbox.put(1)
    inbox.put(2)
    assert read == [1, 11, 21, 2, 12, 22]


def test_a_full_inbox_refuses_and_goes_on() -> None:
    read: list[int] = []
    refused: list[int] = []

    def owner(item: int) -> None:
        read.append(item)
        if item == 0:
            for n in range(1, 6):
                try:
                    inbox.put(n)
                except InboxFull as error:
                    assert error.capacity == 3
                    refused.append(n)

    inbox = Inbox(owner, capacity=3)
    inbox.put(0)
    assert (read, refused) == ([0, 1, 2, 3], [4, 5])
    statistics = inbox.statistics()
    assert (statistics.capacity, statistics.unread, statistics.accepted) == (3, 0, 4)
    assert (statistics.refused, statistics.peak) == (2, 3)
    inbox.put(9)
    assert read[-1] == 9


def test_an_owner_that_raises_can_be_given_the_next_item() -> None:
    read: list[int] = []

    def owner(item: int) -> None:
        if item == 1:
            raise ValueError("one")
        read.append(item)

    inbox = Inbox(owner)
    with pytest.raises(ValueError, match="one"):
        inbox.put(1)
    inbox.put(2)
    assert read == [2]


def test_a_closed_inbox_drops_what_is_unread_and_what_comes() -> None:
    read: list[int] = []

    def owner(item: int) -> None:
        read.append(item)
        if item == 1:
            inbox.put(2)
            inbox.close()
            inbox.put(3)

    inbox = Inbox(owner)
    inbox.put(1)
    inbox.put(4)
    assert read == [1]
    assert inbox.statistics().unread == 0


# ── the bus within one loop ─────────────────────────────────────────────────────────────────────────────


def test_a_message_goes_to_the_address_that_it_is_sent_to_and_names_its_sender() -> None:
    bus = LocalBus()
    arrived: list[tuple[Address, Address, AnyMessage]] = []
    bus.attach(A, lambda *args: arrived.append(args))
    bus.attach(B, lambda *args: arrived.append(args))
    bus.send(A, B, Abort("hello"))
    assert arrived == [(A, B, Abort("hello"))]


def test_what_finds_nobody_is_counted_and_forgotten() -> None:
    bus = LocalBus()
    bus.attach(A, ignore)
    bus.send(B, A, Abort("1"))
    bus.detach(A)
    bus.detach(A)
    bus.send(B, A, Abort("2"))
    statistics = bus.statistics()
    assert (statistics.attached, statistics.sent, statistics.undeliverable) == (0, 2, 1)


def test_a_full_inbox_at_the_end_of_a_bus_is_counted_and_the_sender_goes_on() -> None:
    bus = LocalBus()

    def full(sender: Address, to: Address, message: AnyMessage) -> None:
        raise InboxFull(1)

    bus.attach(A, full)
    bus.send(B, A, Abort("1"))
    assert bus.statistics().refused == 1


# ── the delivery model ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"loss": 1.5}, "loss=1.5"),
        ({"duplicate": -0.1}, "duplicate=-0.1"),
        ({"loss": float("nan")}, "loss=nan"),
        ({"delay": "sometimes"}, "sometimes"),
        ({"delay": "fixed"}, "fixed"),
        ({"delay": "fixed:-1"}, "fixed"),
        ({"delay": "fixed:inf"}, "inf"),
        ({"delay": "uniform:2s:1s"}, "uniform"),
        ({"delay": "exponential:0"}, "exponential"),
        ({"delay": "fixed:1:2"}, "fixed"),
    ],
)
def test_a_delivery_that_makes_no_sense_is_a_configuration_error_that_quotes_it(
    setting: dict[str, float | str], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        Delivery(**setting)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("delay", "low", "high", "mean"),
    [
        ("none", 0, 0, 0),
        ("fixed:50ms", 0.05, 0.05, 0.05),
        ("fixed:2s", 2, 2, 2),
        ("uniform:0.1:0.3", 0.1, 0.3, 0.2),
        ("exponential:20ms", 0, 10, 0.02),
        ("lognormal:1s:0.5", 0, 100, 1.133),
    ],
)
def test_delays_are_drawn_as_they_are_named(delay: str, low: float, high: float, mean: float) -> None:

    draw, rng = Delivery(delay=delay).sampler(), Random(5)
    drawn = [draw(rng) for _ in range(4000)]
    assert low <= min(drawn) <= max(drawn) <= high
    assert sum(drawn) / len(drawn) == pytest.approx(mean, rel=0.1)


def test_a_perfect_delivery_is_immediate_and_in_order() -> None:
    arrived, bus = numbers_through(Delivery(), 100)
    assert arrived == list(range(100))
    assert bus.statistics().delayed < 100


def test_the_same_seed_treats_every_message_the_same_and_another_does_not() -> None:
    delivery = Delivery(delay="exponential:5ms", loss=0.2, duplicate=0.2, reorder=True)
    one, two, other = (numbers_through(delivery, 300, seed=seed)[0] for seed in (1, 1, 2))
    assert one == two
    assert one != other


def test_traffic_between_other_addresses_changes_the_fate_of_no_message() -> None:
    delivery = Delivery(delay="exponential:5ms", loss=0.2, duplicate=0.2, reorder=True)
    assert numbers_through(delivery, 200)[0] == numbers_through(delivery, 200, noise=3)[0]


def test_losses_and_duplicates_come_at_the_rates_that_were_set_and_are_counted() -> None:
    arrived, bus = numbers_through(Delivery(loss=0.25, duplicate=0.1), 4000)
    statistics = bus.statistics()
    assert statistics.lost == 4000 - len(set(arrived))
    assert 900 < statistics.lost < 1100
    assert statistics.duplicated == len(arrived) - len(set(arrived))
    assert 230 < statistics.duplicated < 370


def test_everything_can_be_lost() -> None:
    arrived, bus = numbers_through(Delivery(loss=1.0), 50)
    assert arrived == []
    assert bus.statistics().lost == bus.statistics().sent == 50


def test_delayed_messages_keep_their_order_unless_reordering_is_allowed() -> None:
    delay = "uniform:0ms:50ms"
    kept, _ = numbers_through(Delivery(delay=delay), 300)
    assert kept == list(range(300))
    mixed, bus = numbers_through(Delivery(delay=delay, reorder=True), 300)
    assert mixed != list(range(300))
    assert sorted(mixed) == list(range(300))
    assert bus.statistics().delayed == 300


@pytest.mark.parametrize("explore", range(10))
def test_order_is_kept_under_every_schedule(explore: int) -> None:
    arrived: list[int] = []

    async def main() -> None:
        clock = Clock()
        bus = UnreliableBus(LocalBus(), clock, Delivery(delay="fixed:10ms"), 3)
        bus.attach(B, lambda sender, to, message: arrived.append(int(message.reason)))  # type: ignore[union-attr]
        for n in range(50):
            bus.send(A, B, Abort(str(n)))
        await asyncio.sleep(1)

    run_virtual(main(), explore=explore)
    assert arrived == list(range(50))


def test_order_is_kept_where_timers_fire_in_another_order() -> None:
    # A real loop (uvloop) rounds timers to milliseconds, each from its own idea of now.
    class Backwards:
        timers: list[tuple[Callable[..., object], tuple[object, ...]]] = []  # noqa: RUF012

        def now(self) -> float:
            return 0.0

        def at(self, when: float, callback: Callable[..., object], *args: object) -> None:
            self.timers.append((callback, args))

    arrived: list[int] = []
    clock = Backwards()
    bus = UnreliableBus(LocalBus(), clock, Delivery(delay="fixed:1ms"), 3)  # type: ignore[arg-type]
    bus.attach(B, lambda sender, to, message: arrived.append(int(message.reason)))  # type: ignore[union-attr]
    for n in range(3):
        bus.send(A, B, Abort(str(n)))
    for callback, args in reversed(clock.timers):
        callback(*args)
    assert arrived == [0, 1, 2]


def test_a_message_on_its_way_to_an_address_that_is_given_up_is_undeliverable() -> None:
    async def main() -> UnreliableBus:
        bus = UnreliableBus(LocalBus(), Clock(), Delivery(delay="fixed:1s"), 3)
        bus.attach(B, ignore)
        bus.send(A, B, Abort("late"))
        bus.detach(B)
        await asyncio.sleep(2)
        return bus

    assert run_virtual(main()).statistics().undeliverable == 1


def test_a_bus_calls_only_what_is_attached_last() -> None:
    calls: list[str] = []

    def named(name: str) -> Callable[[Address, Address, AnyMessage], None]:
        return lambda sender, to, message: calls.append(name)

    bus = LocalBus()
    bus.attach(A, named("old"))
    bus.attach(A, named("new"))
    bus.send(B, A, Abort("x"))
    assert calls == ["new"]
