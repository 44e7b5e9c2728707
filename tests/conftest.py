"""Fixtures that the suites share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest

from actors.agent import Agent
from actors.runtime.host import AgentHost
from sim.bus import Bus, Receiver
from sim.clock import Clock
from sim.game import Game
from sim.record import MatchRecord, MatchSpec
from sim.testing import play_on_bus

Play = Callable[..., Awaitable[MatchRecord]]


@pytest.fixture
def play() -> Play:
    """Plays one match of agents through host, bus and referee: `await play(game, agents, seed=7, bus=None)`."""

    async def play(
        game: Game, agents: Sequence[Agent], *, seed: int = 0, index: int = 0, bus: Bus | None = None
    ) -> MatchRecord:
        hosts: list[AgentHost] = []

        def players(bus: Bus, clock: Clock) -> Receiver:
            hosts.append(AgentHost(lambda address: agents[address.seat], bus, clock))
            return hosts[0].receive

        spec = MatchSpec(index, tuple(agent.agent_id for agent in agents), seed)
        reactive = [seat for seat, agent in enumerate(agents) if agent.reactive]
        try:
            return await play_on_bus(spec, game, players, bus=bus, reactive=reactive)
        finally:
            await hosts[0].close()

    return play
