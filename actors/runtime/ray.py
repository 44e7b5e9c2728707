"""Ray actors: one for the referees of a cell and one for each agent (ray), or a whole cell in one (packed)."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ray
import ray.exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from actors.agent import Agent
from actors.runtime.cell import Cell, seats_by_process
from actors.runtime.host import AgentHost
from actors.runtime.link import Arrivals, Link, LinkBus
from actors.runtime.local import LocalCell
from actors.runtime.plan import Plan, Settings
from actors.runtime.scheduler import CellDied
from actors.seat import describe
from sim.bus import Address, LocalBus
from sim.clock import Clock
from sim.errors import CodecError, ConfigError, RunError
from sim.messages import REFEREE, FrameItem
from sim.record import MatchRecord

UNKNOWN_SEAT = -2
"""Seat number of a sender that claims a seat which does not live in its process."""

Encoder = Callable[[Plan, Sequence[MatchRecord]], Any]
"""What a cell makes of finished records before it hands them over; runs in the cell's process."""


def _settle_memory() -> None:
    """Take what is loaded by now out of the garbage collector's rounds; matches free themselves."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class PackedActor:
    """A whole cell in one process."""

    def __init__(self, plan: Plan, settings: Settings, encode: Encoder) -> None:
        self._plan = plan
        self._settings = settings
        self._encode = encode
        self._cell: LocalCell | None = None
        encode(plan, ())  # imports what it needs
        _settle_memory()

    async def exchange(self, indexes: Sequence[int]) -> Any:
        """Take on matches, and return the next batch of finished ones."""
        if self._cell is None:
            self._cell = LocalCell(self._plan, self._settings)
        self._cell.assign(indexes)
        return self._encode(self._plan, await self._cell.collect())


class RefereeActor:
    """The referees of a cell; its agents live in other processes."""

    def __init__(self, plan: Plan, settings: Settings, encode: Encoder) -> None:
        self._plan = plan
        self._settings = settings
        self._encode = encode
        self._broken: asyncio.Future[None] | None = None
        encode(plan, ())  # imports what it needs
        _settle_memory()

    async def node(self) -> str:
        """Return the id of the node that this process runs on."""
        node_id: str = ray.get_runtime_context().get_node_id()
        return node_id

    async def connect(self, hosts: list[tuple[Sequence[int], Any]]) -> None:
        """Join the processes of the agents, each given as (its seats, its actor)."""
        self._broken = asyncio.get_running_loop().create_future()
        self._bus = LocalBus()
        me = ray.get_runtime_context().current_actor
        self._arrivals = [Arrivals(partial(self._read, frozenset(seats))) for seats, _ in hosts]
        self._links = [
            Link(actor.deliver.remote, partial(self._take, number), self._break)
            for number, (_, actor) in enumerate(hosts)
        ]
        route = {seat: self._links[number].send for number, (seats, _) in enumerate(hosts) for seat in seats}
        self._cell = Cell(
            self._plan,
            self._bus,
            lambda address: route[address.seat],
            Clock(),
            window=self._settings.window,
            backlog=2 * self._settings.batch,
        )
        await asyncio.gather(*(actor.connect.remote(me, number) for number, (_, actor) in enumerate(hosts)))
        # A call that never returns tells at once when the process at the other end is gone.
        self._watches = [asyncio.ensure_future(self._watch(actor.stay.remote())) for _, actor in hosts]

    async def _watch(self, stay: Any) -> None:
        try:
            await stay
        except Exception as error:
            self._break(error)

    def _break(self, error: Exception) -> None:
        if self._broken is not None and not self._broken.done():
            self._broken.set_exception(ConnectionError(f"the process of an agent is gone: {type(error).__name__}"))
            self._broken.exception()  # it is looked at only while somebody waits

    async def deliver(self, host: int, frame: bytes) -> None:
        """Take in a frame of an agents' process."""
        self._take(host, frame)

    def _take(self, host: int, frame: bytes) -> None:
        try:
            self._arrivals[host].take(frame)
        except CodecError as error:
            self._break(error)

    def _read(self, seats: frozenset[int], items: list[FrameItem]) -> None:
        send = self._bus.send
        for match, seat, message in items:
            sender = seat if seat in seats else UNKNOWN_SEAT
            send(Address(match, sender), Address(match, REFEREE), message)

    async def exchange(self, indexes: Sequence[int]) -> Any:
        """Take on matches, and return the next batch of finished ones.

        Raises:
            ConnectionError: The process of an agent is gone.
        """
        assert self._broken is not None
        if self._broken.done():
            self._broken.result()
        self._cell.assign(indexes)
        collecting = asyncio.ensure_future(self._cell.collect(self._settings.batch, self._settings.patience))
        await asyncio.wait((collecting, self._broken), return_when=asyncio.FIRST_COMPLETED)
        if not collecting.done():
            collecting.cancel()
            self._broken.result()
        return self._encode(self._plan, collecting.result())


class AgentActor:
    """Agents of one cell, in a process of their own."""

    def __init__(self, plan: Plan, seats: Sequence[int]) -> None:
        self._plan = plan
        self._seats = seats
        _settle_memory()

    async def connect(self, referee: Any, number: int) -> None:
        """Join the referees' process, to which this one is number so-and-so."""
        self._link = Link(lambda frame: referee.deliver.remote(number, frame), self._arrive, lambda error: None)
        self._arrivals = Arrivals(self._read)
        self._host = AgentHost(self._agent_at, LinkBus(self._link), Clock())

    def _agent_at(self, address: Address) -> Agent:
        return self._plan.point(address.match).agents[address.seat]

    async def deliver(self, frame: bytes) -> bytes | None:
        """Take in a frame of the referees' process; return what the agents answered at once."""
        self._arrive(frame)
        await asyncio.sleep(0)  # what the frame made runnable has run by then
        return self._link.take()

    def _arrive(self, frame: bytes) -> None:
        self._arrivals.take(frame)

    def _read(self, items: list[FrameItem]) -> None:
        receive = self._host.receive
        for match, seat, message in items:
            receive(Address(match, REFEREE), Address(match, seat), message)

    async def stay(self) -> None:
        """Never return: the caller learns from the failure of this call that the process is gone."""
        await asyncio.get_running_loop().create_future()


# ── the driver's side ───────────────────────────────────────────────────────────────────────────────────

START_TIMEOUT = 120.0
"""Seconds that the processes of a cell have to start."""

_Packed = ray.remote(num_cpus=1, enable_task_events=False)(PackedActor)
_Referee = ray.remote(num_cpus=1, enable_task_events=False)(RefereeActor)
_Agents = ray.remote(num_cpus=0, enable_task_events=False)(AgentActor)


class RayCell:
    """A cell that runs in Ray actors.

    Args:
        leader: The actor that finished matches come from.
        others: The actors of its agents.
    """

    def __init__(self, leader: Any, others: Sequence[Any]) -> None:
        self._leader = leader
        self._actors = [leader, *others]

    async def exchange(self, indexes: Sequence[int]) -> Any:
        """Take on matches, and return the next batch of finished ones.

        Raises:
            CellDied: A process of the cell is gone.
        """
        return await _alive(self._leader.exchange.remote(indexes))

    def kill(self) -> None:
        """End the processes of the cell."""
        for actor in self._actors:
            ray.kill(actor)


async def start_cell(plan: Any, first: Plan, settings: Settings, encode: Encoder) -> RayCell:
    """Start a cell.

    Args:
        plan: The plan in Ray's object store.
        first: The same plan, here.
        settings: How its matches are played.
        encode: What it makes of finished records.

    Raises:
        CellDied: A process was gone before it had started.
        RunError: A process could not be started: an agent that cannot be sent there, or no free processor.
    """
    if settings.kind == "packed":
        return RayCell(_Packed.remote(plan, settings, encode), ())
    leader = _Referee.remote(plan, settings, encode)
    node = await _alive(leader.node.remote(), START_TIMEOUT)
    beside = NodeAffinitySchedulingStrategy(node_id=node, soft=True)
    seats = max(len(point.agents) for point in first.points)
    groups = seats_by_process(seats, settings.agents_per_actor)
    hosts = [(group, _Agents.options(scheduling_strategy=beside).remote(plan, group)) for group in groups]
    cell = RayCell(leader, [actor for _, actor in hosts])
    try:
        await _alive(leader.connect.remote(hosts), START_TIMEOUT)
    except BaseException:
        cell.kill()
        raise
    return cell


async def _alive(result: Any, timeout: float | None = None) -> Any:
    try:
        return await asyncio.wait_for(result, timeout)
    except (ray.exceptions.RayActorError, ConnectionError) as error:
        raise CellDied(str(error).splitlines()[0]) from None
    except TimeoutError:
        free = ray.available_resources().get("CPU", 0)
        raise RunError(
            f"no process could be started within {timeout:g} s; {free:g} processors are free. "
            "Use fewer cells (runtime.cells=1), or a larger cluster"
        ) from None
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        raise RunError(f"a process of the run failed: {describe(cause)}") from error


def default_cells(settings: Settings) -> int:
    """Return how many cells the cluster has room for."""
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    return min(settings.cells or cores, cores)


def put_plan(plan: Plan) -> Any:
    """Put the plan where every process of the run can read it.

    Raises:
        ConfigError: An agent or a game cannot be sent to another process.
    """
    for point in plan.points:
        for kind in {type(point.game), *(type(action) for action in point.game.action_types.values())}:
            if kind.__module__ == "__main__":
                raise ConfigError(f"{kind.__name__} is defined in a notebook or script; put it in a module of its own")
    try:
        return ray.put(plan)
    except Exception as error:  # pickling runs the agents' own code, which may raise anything
        raise ConfigError(f"an agent or the game cannot be sent to another process: {describe(error)}") from None
