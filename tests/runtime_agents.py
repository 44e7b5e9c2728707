"""Agents that other processes import by name, so they cannot live in a test module alone."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from random import Random
from typing import Any

from actors.agent import Action, Agent, Answer
from actors.runtime.plan import Plan
from actors.scripted.provision_point.contributors import ZeroIntelligence
from actors.turn import Turn
from experiments.rows import Batch, encode
from sim.games.bargaining.tags import write
from sim.games.provision_point import ProvisionPointGame
from sim.record import MatchRecord


class Golden(Agent):
    """Announces, and commits what it is told to."""

    def __init__(self, agent_id: str, amount: float | None = None) -> None:
        super().__init__(agent_id)
        self.amount = amount

    def decide(self, turn: Turn) -> Answer:
        if "announce_project" in turn.allowed_actions:
            return Action("announce_project", {"description": "golden"})
        if "submit_commitment" in turn.allowed_actions and self.amount is not None:
            return Action("submit_commitment", {"amount": self.amount})
        return Action("pass")


class Fair(Agent):
    """Commits half of what its seat alone knows; one match is enough to see whether it was disturbed."""

    def decide(self, turn: Turn) -> Answer:
        if "submit_commitment" in turn.allowed_actions:
            return Action("submit_commitment", {"amount": turn.rng.uniform(0, 60)})
        return Action("pass")


class Dawdler(ZeroIntelligence):
    """Takes its time, so that a run lasts long enough to be disturbed in the middle."""

    def __init__(self, agent_id: str, pause: float = 0.02) -> None:
        super().__init__(agent_id)
        self.pause = pause

    async def act(self, turn: Turn) -> Answer:
        await asyncio.sleep(self.pause)
        return self.decide(turn)


class In(Fair):
    """Does something in some of its matches, and plays fairly in the others."""

    def __init__(self, agent_id: str, *matches: int) -> None:
        super().__init__(agent_id)
        self.matches = matches

    def decide(self, turn: Turn) -> Answer:
        if int(turn.seat.match_id[1:]) in self.matches:
            return self.misbehave(turn)
        return super().decide(turn)

    def misbehave(self, turn: Turn) -> Answer:
        raise NotImplementedError


class Exits(In):
    """Takes its process down."""

    def misbehave(self, turn: Turn) -> Answer:
        os._exit(1)


class CallsExit(In):
    """Asks Python to end."""

    def misbehave(self, turn: Turn) -> Answer:
        sys.exit("enough")


class Raises(In):
    """Raises."""

    def misbehave(self, turn: Turn) -> Answer:
        raise ValueError("I would rather not")


class Blocks(In):
    """Blocks its whole process."""

    seconds = 1.5

    def misbehave(self, turn: Turn) -> Answer:
        time.sleep(self.seconds)
        return super(In, self).decide(turn)


class NotUnicode(In):
    """Says what no frame can hold."""

    def misbehave(self, turn: Turn) -> Answer:
        return Action("submit_commitment\ud800", {"amount": 1.0})


class Garbles(In):
    """Makes garbage of the frame that its process sends next."""

    def __init__(self, agent_id: str, garbage: bytes, *matches: int) -> None:
        super().__init__(agent_id, *matches)
        self.garbage = garbage

    def misbehave(self, turn: Turn) -> Answer:
        link: Any = turn.seat._bus._link  # type: ignore[attr-defined]
        whole = link._next_frame

        def garbled() -> bytes:
            link._next_frame = whole
            whole()
            return self.garbage

        link._next_frame = garbled
        return super(In, self).decide(turn)


class GarblesLater(Garbles):
    """The same, in a frame that answers no call."""

    async def act(self, turn: Turn) -> Answer:
        await asyncio.sleep(0.01)
        return self.decide(turn)


class Waits(In):
    """Waits for something that never comes."""

    async def act(self, turn: Turn) -> Answer:
        if int(turn.seat.match_id[1:]) in self.matches:
            await asyncio.sleep(3600)
        return super().decide(turn)


class CancelsItself(In):
    """Lets out the cancellation of something that it waited for."""

    async def act(self, turn: Turn) -> Answer:
        if int(turn.seat.match_id[1:]) in self.matches:
            inner = asyncio.ensure_future(asyncio.sleep(3600))
            inner.cancel()
            await inner
        return super().decide(turn)


class NotLoadable(Fair):
    """Cannot be made again in another process."""

    def __setstate__(self, state: Any) -> None:
        raise LookupError("the weights are not on this machine")


class NotPicklable(Fair):
    """Cannot be sent to another process."""

    def __getstate__(self) -> Any:
        raise TypeError("a socket cannot be sent")


class Moody(Fair):
    """Raises when it is asked what kind of agent it is."""

    @property
    def decides(self) -> bool:
        raise ArithmeticError("do not ask")


class Unplayable(ProvisionPointGame, frozen=True):
    """A game that now and then cannot begin."""

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> Any:
        if rng.random() < 0.1:
            raise ZeroDivisionError("no table is free")
        return super().start(agent_ids, rng)


def failing_encode(plan: Plan, records: Sequence[MatchRecord]) -> Batch:
    """Fail as soon as there is something to encode."""
    if records:
        raise ValueError("these cannot be encoded")
    return encode(plan, records)


def exiting_encode(plan: Plan, records: Sequence[MatchRecord]) -> Batch:
    """Take the process down as soon as there is something to encode."""
    if records:
        os._exit(1)
    return encode(plan, records)


class Closer(Agent):
    """Bargains to a price in a round: what it names before is apart from the other side's, and without MAKE_DEAL."""

    def __init__(self, agent_id: str, price: float, in_round: int) -> None:
        super().__init__(agent_id)
        self.price = price
        self.in_round = in_round

    def decide(self, turn: Turn) -> Answer:
        role, closes = turn.state["role"], turn.round == self.in_round
        step = 0.0 if closes else (-500.0 if role == "buyer" else 500.0)
        return Action("reply", {"text": f"My price. {write(self.price + step, role, make_deal=closes)}"})
