"""Addresses, inboxes, the Bus interface, and the bus within one process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from sim.errors import InboxFull
from sim.messages import AnyMessage

T = TypeVar("T")


class Address(NamedTuple):
    """Where an actor is: the match, and the seat in it (`REFEREE` for its referee)."""

    match: int
    seat: int


class InboxStatistics(msgspec.Struct, frozen=True):
    """What an inbox holds and has seen.

    Attributes:
        capacity: Unread items at most.
        unread: Items waiting.
        accepted: Items taken in so far.
        refused: Items refused because it was full.
        peak: The most that ever waited.
    """

    capacity: int
    unread: int
    accepted: int
    refused: int
    peak: int


class Inbox(Generic[T]):
    """A bounded queue that has its owner read what it holds, one item after the other, in the order of arrival.

    An item that comes while nothing is being read is read at once; one that comes during a read waits for its
    turn. So the owner is never entered twice, and a message costs neither a task switch nor a callback.
    """

    __slots__ = ("_accepted", "_capacity", "_items", "_peak", "_read", "_reading", "_refused")

    def __init__(self, read: Callable[[T], None], *, capacity: int = 4096) -> None:
        self._read = read
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._reading = False
        self._accepted = self._refused = self._peak = 0

    def put(self, item: T) -> None:
        """Add an item.

        Raises:
            InboxFull: It holds `capacity` unread items.
        """
        items = self._items
        if len(items) >= self._capacity:
            self._refused += 1
            raise InboxFull(self._capacity)
        self._accepted += 1
        if self._reading:
            items.append(item)
            self._peak = max(self._peak, len(items))
            return
        self._reading = True
        try:
            self._read(item)
            while items:
                self._read(items.popleft())
        finally:
            self._reading = False

    def close(self) -> None:
        """Drop what is unread and whatever comes; the owner is not called again."""
        self._items.clear()
        self._read = _ignore

    def statistics(self) -> InboxStatistics:
        """Return what it holds and has seen."""
        return InboxStatistics(self._capacity, len(self._items), self._accepted, self._refused, self._peak)


def _ignore(item: object) -> None:
    """Read nothing."""


Receiver: TypeAlias = Callable[[Address, Address, AnyMessage], None]
"""What a bus hands a message to: (who sent it, to whom, the message). Called in order, must not block."""


class BusStatistics(msgspec.Struct, frozen=True):
    """What a bus has carried.

    Attributes:
        attached: Addresses that receive.
        sent: Messages sent.
        lost: Messages that the delivery model lost.
        duplicated: Messages that it delivered twice.
        delayed: Messages that it delivered later.
        undeliverable: Messages to an address where nobody receives.
        refused: Messages that a full inbox refused.
    """

    attached: int
    sent: int
    lost: int
    duplicated: int
    delayed: int
    undeliverable: int
    refused: int


class Bus(Protocol):
    """Carries messages between addresses; whoever sends never waits."""

    def attach(self, address: Address, receive: Receiver) -> None:
        """Deliver what is sent to `address` to `receive` from now on."""

    def detach(self, address: Address) -> None:
        """Stop delivering to `address`; harmless when nothing is attached."""

    def send(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Send a message."""


class LocalBus:
    """The bus within one event loop: messages are frozen, so they are handed over as they are.

    A receiver takes a message into an inbox and returns; it never acts on it before `send` has returned.
    """

    def __init__(self) -> None:
        self._receivers: dict[Address, Receiver] = {}
        self._sent = self._undeliverable = self._refused = 0

    def attach(self, address: Address, receive: Receiver) -> None:
        """Deliver what is sent to `address` to `receive` from now on."""
        self._receivers[address] = receive

    def detach(self, address: Address) -> None:
        """Stop delivering to `address`; harmless when nothing is attached."""
        self._receivers.pop(address, None)

    def send(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Send a message; what finds nobody or a full inbox is counted."""
        self._sent += 1
        receive = self._receivers.get(to)
        if receive is None:
            self._undeliverable += 1
            return
        try:
            receive(sender, to, message)
        except InboxFull:
            self._refused += 1

    def statistics(self) -> BusStatistics:
        """Return what it has carried."""
        return BusStatistics(len(self._receivers), self._sent, 0, 0, 0, self._undeliverable, self._refused)
