"""Random legal play, by hand and on a bus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from sim.bus import Address, Bus, LocalBus, Receiver
from sim.clock import Clock, run_virtual
from sim.game import Game, MessageOnly
from sim.messages import (
    Act,
    AnyMessage,
    Message,
    PhaseOpen,
    Update,
    YourTurn,
)
from sim.payloads import SCALES, WORDS, random_payload
from sim.record import MatchRecord, MatchSpec
from sim.referee import Referee
from sim.rng import generator
from sim.testing.by_hand import Ask, MatchByHand
from sim.views import Lazy, read_view

_LONGEST = 40
"""Characters of a text in view that may be a name of something."""


def random_act(game: Game, agent_ids: Sequence[str], ask: Ask, seat: int, cause: int, rng: Random) -> Act:
    """Draw an answer to what a seat is asked: an allowed action, a payload that fits, and sometimes a message.

    Numbers are of the size of those in view; a field that is called as something in view may be the same.
    """
    allowed = [name for name in ask.allowed if name != MessageOnly.name]
    messages: tuple[Message, ...] = ()
    if rng.random() < 0.15:
        to = None if rng.random() < 0.5 else (rng.choice(agent_ids),)
        messages = (Message(rng.choice(WORDS), to),)
    if not allowed or (messages and rng.random() < 0.3):
        action, messages = MessageOnly.name, messages or (Message("well"),)
    else:
        action = rng.choice(allowed)
    leaves = list(_leaves("", read_view(ask.view)))
    numbers = [float(n) for _, n in leaves if not isinstance(n, str) and 0 < n < 1e9]
    words = [text for _, text in leaves if isinstance(text, str) and 0 < len(text) <= _LONGEST]
    payload = random_payload(game.action_types[action], rng, numbers or SCALES, words or WORDS)
    for name, drawn in payload.items():
        seen = [value for key, value in leaves if key == name and type(value) is type(drawn)]
        if seen and rng.random() < 0.5:
            payload[name] = rng.choice(seen)
    return Act(seat, ask.turn, cause, action, msgspec.msgpack.encode(payload), messages)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, float | str]]:
    """Give the numbers and the texts in a view, each with the nearest key above it."""
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        yield key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(name, item)
    elif isinstance(value, list | Lazy):
        for item in value:
            yield from _leaves(key, item)


def play_randomly(match: MatchByHand, rng: Random, *, lapses: float = 0.05) -> MatchRecord:
    """Play an open match to its end, every seat at random; some turns lapse.

    Raises:
        AssertionError: It does not end.
    """
    game, agent_ids = match.game, match.spec.agent_ids
    most = 10 * (game.max_turns + 1) * (game.max_message_pings + game.max_invalid + 1)
    for _ in range(min(most, 1_000_000)):
        if match.outcome is not None:
            return match.record()
        turns = match.open_turns()
        assert turns or match.stalled(), "no turn is open and the match is not over"
        if not turns or rng.random() < lapses:
            match.lapse()
            continue
        match.now += rng.random() * 1e-3 * game.turn_timeout
        seat, turn = rng.choice(turns)
        ask = match.ask(seat, turn)
        assert ask is not None
        match.read(seat, random_act(game, agent_ids, ask, seat, match.next_cause(seat), rng))
    raise AssertionError("random legal play does not end")


def random_step(match: MatchByHand, rng: Random) -> None:
    """Have one seat that is asked answer at random; now and then its turn lapses instead."""
    turns = match.open_turns()
    assert turns or match.stalled(), "no turn is open and the match is not over"
    if not turns:
        match.lapse()
        return
    seat, turn = rng.choice(turns)
    ask = match.ask(seat, turn)
    assert ask is not None
    if rng.random() < 0.05:
        match.lapse()
    else:
        match.read(seat, random_act(match.game, match.spec.agent_ids, ask, seat, match.next_cause(seat), rng))


def random_match(game: Game, ids: tuple[str, ...], seed: int) -> tuple[MatchByHand, MatchRecord]:
    """Play a match at random; the same seed plays the same."""
    match = MatchByHand(game, ids, seed).open()
    return match, play_randomly(match, generator(seed, "conformance"))


async def play_on_bus(
    spec: MatchSpec,
    game: Game,
    players: Callable[[Bus, Clock], Receiver],
    *,
    bus: Bus | None = None,
    reactive: Collection[int] = (),
) -> MatchRecord:
    """Play one match in the running event loop, real or virtual.

    Args:
        spec: What makes the match.
        game: Its rules.
        players: Given the bus and the clock, returns what receives for the seats.
        bus: The bus; None makes a `LocalBus`.
        reactive: Seats that are sent every event at once.
    """
    clock, bus = Clock(), LocalBus() if bus is None else bus
    ended: asyncio.Future[MatchRecord] = asyncio.get_running_loop().create_future()
    receive = players(bus, clock)
    addresses = [Address(spec.index, seat) for seat in range(len(spec.agent_ids))]
    for address in addresses:
        bus.attach(address, receive)
    try:
        Referee(spec, game, bus, clock, ended.set_result, reactive=reactive).open()
        return await ended
    finally:
        for address in addresses:
            bus.detach(address)


class RandomPlayers:
    """All seats of a match on a bus, each playing at random and answering after a delay of its own.

    Args:
        spec: The match.
        game: Its rules.
        bus: Where the referee is reached.
        clock: The time.
    """

    def __init__(self, spec: MatchSpec, game: Game, bus: Bus, clock: Clock) -> None:
        self._spec, self._game, self._bus, self._clock = spec, game, bus, clock
        self._rngs = [generator(spec.seed, "player", seat) for seat in range(len(spec.agent_ids))]
        self._causes = [0] * len(spec.agent_ids)

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Take in what a seat is sent, and answer what it is asked."""
        if isinstance(message, Update) and isinstance(message.message, (YourTurn, PhaseOpen)):
            delay = self._rngs[to.seat].choice((0.0, 0.0, 1.0)) * 1e-4 * self._game.turn_timeout
            self._clock.at(self._clock.now() + delay, self._answer, sender, to, message.message)

    def _answer(self, referee: Address, seat: Address, ask: Ask) -> None:
        number = seat.seat
        self._causes[number] += 1
        agent_ids, rng = self._spec.agent_ids, self._rngs[number]
        act = random_act(self._game, agent_ids, ask, number, self._causes[number], rng)
        self._bus.send(seat, referee, act)


def play_virtually(spec: MatchSpec, game: Game, *, explore: int | None = None) -> MatchRecord:
    """Play one match of `RandomPlayers` in virtual time, under one schedule."""

    def players(bus: Bus, clock: Clock) -> Receiver:
        return RandomPlayers(spec, game, bus, clock).receive

    return run_virtual(play_on_bus(spec, game, players), explore=explore)
