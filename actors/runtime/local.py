"""Everything in one event loop: referees, agents and the bus between them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from actors.agent import Agent
from actors.runtime.cell import Cell
from actors.runtime.host import AgentHost
from actors.runtime.plan import Plan, Settings
from sim.bus import Address, Bus, LocalBus
from sim.clock import Clock
from sim.delivery import UnreliableBus
from sim.record import MatchRecord


class LocalCell:
    """A cell whose agents live beside it.

    Args:
        plan: What the run plays.
        settings: How.
    """

    def __init__(self, plan: Plan, settings: Settings) -> None:
        clock = Clock()
        inner = LocalBus()
        bus: Bus = inner
        if settings.delivery is not None:
            bus = UnreliableBus(inner, clock, settings.delivery, plan.seed)

        def agent_at(address: Address) -> Agent:
            return plan.point(address.match).agents[address.seat]

        self.host = AgentHost(agent_at, bus, clock, plan.action_types_at)
        self._settings = settings
        self._cell = Cell(
            plan,
            bus,
            lambda address: self.host.receive,
            clock,
            window=settings.window,
            backlog=2 * settings.batch,
            forget=self.host.forget if settings.delivery is not None else None,
        )

    async def play(self, indexes: Iterable[int]) -> AsyncIterator[list[MatchRecord]]:
        """Play matches; yields their records in batches, in the order in which they end."""
        self._cell.assign(indexes)
        try:
            while records := await self.collect():
                yield records
        finally:
            await self.close()

    def assign(self, indexes: Iterable[int]) -> None:
        """Take on matches."""
        self._cell.assign(indexes)

    async def collect(self, patience: float | None = None) -> list[MatchRecord]:
        """Wait for a batch of records; empty when there is nothing left to play.

        Args:
            patience: Seconds after which fewer will do; None is that of the settings.
        """
        return await self._cell.collect(self._settings.batch, self._settings.patience if patience is None else patience)

    async def close(self) -> None:
        """Cancel what still plays."""
        await self.host.close()
