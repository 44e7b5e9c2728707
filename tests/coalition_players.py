"""Seats of a coalition match that agree now and then: invite whom a task needs, sign what pays, haggle, withdraw."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from sim.bus import Address, Bus, LocalBus, Receiver
from sim.clock import Clock, run_virtual
from sim.delivery import Delivery, UnreliableBus
from sim.game import Game
from sim.messages import Act, AnyMessage, PhaseOpen, Update, YourTurn
from sim.record import MatchRecord, MatchSpec
from sim.rng import generator
from sim.testing import MatchByHand, play_on_bus

Move = tuple[str, dict[str, Any]]


def initiate(view: dict[str, Any], rng: Random) -> Move:
    """Invite peers until the task can be done, and one more; share out evenly among those."""
    task, peers = view["task"], rng.sample(view["peers"], len(view["peers"]))
    chosen: list[dict[str, Any]] = []
    while not _suffice(task, [view, *chosen]):
        if not peers:
            return "decline", {}
        chosen.append(peers.pop())
    signers = [view["me"], *(peer["id"] for peer in chosen)]
    invited = [*signers[1:], *(peer["id"] for peer in peers[:1])]
    allocation = dict.fromkeys(signers, task["value"] // len(signers))
    commitment = {agent_id: rng.randint(0, 3) for agent_id in signers}
    terms = {"invited": invited, "allocation": allocation, "commitment": commitment, "commit": rng.random() < 0.7}
    return "initiate", terms


def _suffice(task: dict[str, Any], agents: list[dict[str, Any]]) -> bool:
    has = [sum(column) for column in zip(*(agent["capabilities"] for agent in agents), strict=True)]
    able = all(had >= needed for had, needed in zip(has, task["requires"], strict=True))
    return able and len(agents) >= task["quorum"]


def evaluate(view: dict[str, Any], allowed: tuple[str, ...], rng: Random) -> Move:
    """Sign what pays, mostly; ask for more now and then; reject what does not pay."""
    version, me = view["version"], view["me"]
    drawn = rng.random()
    if "modify" in allowed and drawn < 0.15 and me in version["allocation"]:
        giver = max(version["allocation"], key=lambda agent_id: (version["allocation"][agent_id], agent_id))
        allocation = dict(version["allocation"])
        if giver != me and allocation[giver] > 0:
            allocation[giver] -= 1
            allocation[me] += 1
        return "modify", {"parent": version["digest"], "allocation": allocation, "commit": drawn < 0.1}
    if "sign" in allowed and view["my_share"] > view["my_cost"] and view["units"] >= view["my_commitment"]:
        return "sign", {"digest": version["digest"], "commit": drawn < 0.8}
    return ("pass", {}) if drawn < 0.9 and view["my_share"] == 0 else ("reject", {})


def move(view: dict[str, Any], allowed: tuple[str, ...], rng: Random) -> Move:
    """Return what a seat does."""
    if view["step"] == "C1":
        name, payload = initiate(view, rng)
    elif view["step"] == "C2":
        name, payload = evaluate(view, allowed, rng)
    else:
        name, payload = ("deploy" if rng.random() < 0.8 else "abort"), {}
    if name != "pass":
        chosen = {"selection": "softmax(1)", "probability": 0.5, "policy": "test:1", "context": {"x": 1.5}}
        payload = payload | {"decision": chosen | {"id": str(rng.randrange(10**9))}}
    return name, payload


class Players:
    """All seats of a match on a bus; each answers after a delay of its own, up to `slow` seconds."""

    def __init__(self, spec: MatchSpec, bus: Bus, clock: Clock, slow: float = 0.01) -> None:
        self._bus, self._clock, self._slow = bus, clock, slow
        self._rngs = [generator(spec.seed, "player", seat) for seat in range(len(spec.agent_ids))]
        self._causes = [0] * len(spec.agent_ids)
        self.updates: list[tuple[int, Update]] = []

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Take in what a seat is sent, and answer what it is asked."""
        if isinstance(message, Update):
            self.updates.append((to.seat, message))
            if isinstance(message.message, (YourTurn, PhaseOpen)):
                delay = self._rngs[to.seat].random() * self._slow
                self._clock.at(self._clock.now() + delay, self._answer, sender, to, message.message)

    def _answer(self, referee: Address, seat: Address, ask: YourTurn | PhaseOpen) -> None:
        number = seat.seat
        self._causes[number] += 1
        name, payload = move(msgspec.msgpack.decode(ask.view), ask.allowed, self._rngs[number])
        packed = msgspec.msgpack.encode(payload)
        self._bus.send(seat, referee, Act(number, ask.turn, self._causes[number], name, packed))


def play(
    spec: MatchSpec,
    game: Game,
    *,
    explore: int | None = None,
    slow: float = 0.01,
    delivery: Delivery | None = None,
) -> MatchRecord:
    """Play a match in virtual time, on a bus that may lose messages."""

    async def playing() -> MatchRecord:
        def players(bus: Bus, clock: Clock) -> Receiver:
            return Players(spec, bus, clock, slow).receive

        bus = None if delivery is None else UnreliableBus(LocalBus(), Clock(), delivery, spec.seed)
        return await play_on_bus(spec, game, players, bus=bus)

    return run_virtual(playing(), explore=explore)


def play_by_hand(match: MatchByHand, rng: Random, *, lapses: float = 0.05) -> MatchRecord:
    """Play an open match to its end, and check it after each item."""
    while match.outcome is None:
        turns = match.open_turns()
        if not turns or rng.random() < lapses:
            match.lapse()
        else:
            match.now += rng.random() * 0.05
            seat, turn = rng.choice(turns)
            ask = match.ask(seat, turn)
            assert ask is not None
            name, payload = move(msgspec.msgpack.decode(ask.view), ask.allowed, rng)
            match.act(seat, name, payload, turn=turn)
        match.judge.state.check()
    return match.record()
