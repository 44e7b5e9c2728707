"""Fixtures that the suites share."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

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
            hosts.append(AgentHost(lambda address: agents[address.seat], bus, clock, lambda address: game.action_types))
            return hosts[0].receive

        spec = MatchSpec(index, tuple(agent.agent_id for agent in agents), seed)
        reactive = [seat for seat, agent in enumerate(agents) if agent.reactive]
        try:
            return await play_on_bus(spec, game, players, bus=bus, reactive=reactive)
        finally:
            await hosts[0].close()

    return play


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """One Ray for all tests that need one: it takes seconds to start."""
    import ray

    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    here = str(Path(__file__).parent)  # its processes import the agents of the tests
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    context: Any = ray.init(
        "local", num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False
    )
    yield
    ray.shutdown()
    shutil.rmtree(context.address_info["session_dir"], ignore_errors=True)
