"""The host of agents: who left a match stays away, and nobody is waited for without end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from actors.agent import Action, Agent, Answer
from actors.runtime import host as hosts
from actors.runtime.host import AgentHost
from actors.seat import Seat
from actors.turn import Turn
from sim.bus import Address, LocalBus
from sim.clock import Clock, run_virtual
from sim.messages import REFEREE, AnyMessage, Forfeit, Lost, MatchEnd, MatchOpen, ToSeat, Update, YourTurn

OPEN = MatchOpen("m000000", "a", ("a", "b"), "contributor", "", b"\x80", 1)
END = MatchEnd(b'{"utility":0.0}')
SEAT, CHAIR = Address(0, 0), Address(0, REFEREE)


def ask(turn: int) -> YourTurn:
    return YourTurn(turn, "commit", 1, 9.0, 9.0, ("pass",), b"\x80", None)


class Table:
    """A referee by hand: what it was sent, and a way to send."""

    def __init__(self, agent: Agent) -> None:
        bus = LocalBus()
        self.got: list[AnyMessage] = []
        bus.attach(CHAIR, lambda sender, to, message: self.got.append(message))
        self.host = AgentHost(lambda address: agent, bus, Clock())

    async def send(self, message: ToSeat) -> None:
        self.host.receive(CHAIR, SEAT, Update([], message))
        await asyncio.sleep(0.01)


class NeverReads(Agent):
    async def play(self, seat: Seat) -> None:
        await asyncio.sleep(3600)


async def test_a_seat_that_left_is_not_opened_again_by_an_opening_that_comes_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def small(*args: Any, **options: Any) -> Seat:
        return Seat(*args, **options, capacity=2)

    monkeypatch.setattr(hosts, "Seat", small)
    table = Table(NeverReads("a"))
    await table.send(OPEN)
    for turn in range(1, 4):
        await table.send(ask(turn))
    assert [type(message) for message in table.got] == [Lost]
    await table.send(OPEN)
    await table.send(ask(4))
    assert len(table.got) == 1
    await table.send(END)
    assert table.host.open_seats == 0
    await table.host.close()


class Cancels(Agent):
    """Lets out a cancellation that nobody asked for, in its first turns."""

    def __init__(self, agent_id: str, times: int) -> None:
        super().__init__(agent_id)
        self.times = times

    async def act(self, turn: Turn) -> Answer:
        if turn.number <= self.times:
            raise asyncio.CancelledError
        return Action("pass")


async def test_an_agent_that_lets_out_a_cancellation_of_its_own_forfeits_the_turn_and_plays_the_next() -> None:
    table = Table(Cancels("a", 1))
    await table.send(OPEN)
    await table.send(ask(1))
    assert table.got == [Forfeit(0, 1, "CancelledError")]
    await table.send(ask(2))
    assert len(table.got) == 2
    await table.send(END)
    assert table.host.open_seats == 0


@pytest.mark.parametrize("leave", [lambda host: host.forget(SEAT), lambda host: None], ids=["forgotten", "closed"])
async def test_an_agent_that_the_host_cancels_says_nothing(leave: Callable[[AgentHost], None]) -> None:
    table = Table(NeverReads("a"))
    await table.send(OPEN)
    leave(table.host)
    await table.host.close()
    assert table.got == []


class Clings(Agent):
    """Does not let itself be cancelled while it is told to cling."""

    clinging = True

    async def play(self, seat: Seat) -> None:
        while self.clinging:
            try:
                await asyncio.sleep(0.5)
            except asyncio.CancelledError:
                continue


def test_an_agent_that_clings_to_life_is_not_waited_for() -> None:
    agent = Clings("a")

    async def main() -> float:
        table = Table(agent)
        await table.send(OPEN)
        start = asyncio.get_running_loop().time()
        await table.host.close()
        waited = asyncio.get_running_loop().time() - start
        agent.clinging = False
        return waited

    assert run_virtual(main()) == pytest.approx(hosts.GRACE)
