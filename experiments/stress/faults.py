"""What goes wrong in a stressed match: the bus, answers that come at the last moment, and processes that die."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

import msgspec

from sim.bus import Address, BusStatistics, LocalBus, Receiver
from sim.clock import Clock
from sim.delivery import Delivery, UnreliableBus
from sim.errors import ConfigError
from sim.game import ActionType
from sim.messages import REFEREE, Act, AnyMessage, Lost, MatchEnd, PhaseOpen, Update, YourTurn
from sim.record import MatchSpec
from sim.rng import derive, generator

DIED = "its process died"
"""What the record says of a seat that crashed."""

_MOMENTS = 40
"""Messages to and from a seat, before one of which its process dies."""


class Faults(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes wrong. The default: nothing, but for answers at the last moment.

    Attributes:
        delay: Delay of messages, as in `sim.delivery.Delivery`.
        loss: Probability that a message is lost.
        duplicate: Probability that it arrives twice.
        reorder: Whether messages may overtake each other.
        slow: Probability that an agent thinks so long that its answer comes about the deadline of its turn; every
            other one at its very instant, or at that of what is due before it. Where the game takes it without a turn
            as well, every other one comes so: the rules have to say whether it is late, and not its turn.
        crash: Probability that the process of a seat dies in a match.
    """

    delay: str = "none"
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: bool = False
    slow: float = 0.02
    crash: float = 0.0

    def __post_init__(self) -> None:
        for key in ("slow", "crash"):
            value = getattr(self, key)
            if not 0 <= value <= 1:
                raise ConfigError(f"{key}={value}: a probability is between 0 and 1")
        self.delivery()

    def delivery(self) -> Delivery:
        """Return how the bus treats messages."""
        return Delivery(delay=self.delay, loss=self.loss, duplicate=self.duplicate, reorder=self.reorder)


class _Host(Protocol):
    """Where agents live."""

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Take in a message."""

    def forget(self, address: Address) -> None:
        """Drop a seat."""


class FaultyBus:
    """The bus of one match under faults.

    What happens depends on the seed and the match alone. It stands between the agents' host and the referee: both
    send through it, and what the host is to receive goes through `receive`.

    Args:
        spec: The match.
        faults: What goes wrong.
        clock: The time.
        seed: The seed.
        types: The action types of the game.

    Attributes:
        host: Where the agents live; set it before anything is sent.
        next_due: Returns when something is due in the match, by the clock; set it likewise.
        crashed: Seats whose process died.
        slowed: How many answers were held back to about the deadline.
        told: How often each seat was told of the end of the match.
        after_the_end: Whether a seat was sent anything after that.
    """

    host: _Host
    next_due: Callable[[], float]

    def __init__(
        self, spec: MatchSpec, faults: Faults, clock: Clock, seed: int, types: Mapping[str, type[ActionType]]
    ) -> None:
        self._types = types
        self._clock = clock
        self._inner = LocalBus()
        delivery = faults.delivery()
        self._bus: LocalBus | UnreliableBus = self._inner
        if delivery != Delivery():
            self._bus = UnreliableBus(self._inner, clock, delivery, derive(seed, "delivery"))
        self._slow = faults.slow
        self._rng = generator(seed, "slow", spec.index)
        self._deadlines: dict[int, float] = {}
        self.crashed: list[int] = []
        self.slowed = 0
        self.told = [0] * len(spec.agent_ids)
        self.after_the_end = False
        rng = generator(seed, "crash", spec.index)
        self._moments = {seat: _moment(rng) for seat in range(len(spec.agent_ids)) if rng.random() < faults.crash}
        self._silent = rng.random() < 0.5  # nobody notices that the process died
        self._notice = 0.0 if rng.random() < 0.5 else rng.expovariate(10.0)

    def attach(self, address: Address, receive: Receiver) -> None:
        """Deliver what is sent to `address` to `receive` from now on."""
        self._bus.attach(address, receive)

    def detach(self, address: Address) -> None:
        """Stop delivering to `address`."""
        self._bus.detach(address)

    def send(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Send a message; it may arrive later, twice or never."""
        seat = sender.seat
        if seat == REFEREE:
            self._note(to, message)
            self._bus.send(sender, to, message)
            return
        if seat in self.crashed:
            return
        if type(message) is Act and self._slow and self._rng.random() < self._slow:
            self._hold(sender, to, message)
        else:
            self._bus.send(sender, to, message)
        self._pass_moment(sender)

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Take in what the referee has for a seat."""
        if to.seat not in self.crashed and not self._pass_moment(to):
            self.host.receive(sender, to, message)

    def statistics(self) -> BusStatistics:
        """Return what it has carried."""
        return self._bus.statistics()

    def _note(self, to: Address, message: AnyMessage) -> None:
        assert type(message) is Update
        self.after_the_end |= self.told[to.seat] > 0
        what = message.message
        if isinstance(what, (YourTurn, PhaseOpen)):
            self._deadlines[what.turn] = self._clock.now() + what.remaining
        elif type(what) is MatchEnd:
            self.told[to.seat] += 1

    def _hold(self, sender: Address, to: Address, act: Act) -> None:
        now = self._clock.now()
        deadline, draw = self._deadlines.get(act.turn, now), self._rng.random()
        if draw < 0.5:
            alarm = self.next_due()  # of another turn, or of a game that keeps its own time
            due = alarm if draw < 0.25 and now < alarm < deadline else deadline
        else:
            due = now + self._rng.uniform(0.0, 2.0) * (deadline - now)
        if due <= now:
            self._bus.send(sender, to, act)
            return
        self.slowed += 1
        kind = self._types.get(act.action)
        if kind is not None and kind.unasked and self._rng.random() < 0.5:
            act = msgspec.structs.replace(act, turn=0)
        # Once it is time it goes by the bus that is perfect: its thinking was the delay.
        self._clock.at(due, self._inner.send, sender, to, act)

    def _pass_moment(self, address: Address) -> bool:
        """Count a message to or from a seat; return whether this is the moment at which its process dies."""
        seat = address.seat
        if seat not in self._moments:
            return False
        self._moments[seat] -= 1
        if self._moments[seat] > 0:
            return False
        del self._moments[seat]
        self.crashed.append(seat)
        self._bus.detach(address)
        self._clock.soon(self.host.forget, address)
        if not self._silent:
            lost = Lost(seat, DIED)
            self._clock.at(
                self._clock.now() + self._notice, self._inner.send, address, Address(address.match, REFEREE), lost
            )
        return True


def _moment(rng: Random) -> int:
    """Draw at which message a process dies: early ones as often as late ones, for matches are short and long."""
    return int(_MOMENTS ** rng.random())
