"""Ray actors: one for the referees of a cell and one for each agent (ray), or a whole cell in one (packed)."""

from __future__ import annotations

import asyncio
import gc
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import ray
import ray.exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from actors.agent import Agent
from actors.runtime.cell import Cell, seats_by_process
from actors.runtime.copies import Learnt, Originals, Versions, exchange, learners
from actors.runtime.host import AgentHost
from actors.runtime.link import Arrivals, Link, LinkBus
from actors.runtime.local import LocalCell
from actors.runtime.plan import Plan, Settings
from actors.runtime.scheduler import CellDied, NoRoom
from sim.bus import Address, LocalBus, Receiver
from sim.clock import Clock
from sim.errors import CodecError, ConfigError, QuorumError, RunError, describe
from sim.messages import REFEREE, STRANGER, FrameItem, Lost
from sim.record import MatchRecord

_SETTLED = 0.2
"""Seconds that agents are given to hear of the end of a match before they are asked what they have learnt."""

Encoder = Callable[[Plan, Sequence[MatchRecord]], Any]
"""What a cell makes of finished records before it hands them over; runs in the cell's process."""


def _settle_memory() -> None:
    """Take what is loaded by now out of the garbage collector's rounds; matches free themselves."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def explain(error: BaseException) -> QuorumError:
    """Say what it means that a call of an actor failed: its process is gone, or the run cannot go on."""
    if isinstance(error, ray.exceptions.RayTaskError):
        cause = error.cause
        if isinstance(cause, QuorumError):
            return cause
        if not isinstance(cause, ray.exceptions.RayError):
            return RunError(f"a process of the run failed: {describe(cause)}")
        error = cause
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if isinstance(error, ray.exceptions.RayActorError) and error.actor_init_failed:
        return RunError(f"a process of the run could not be started: {lines[-1].strip()}")
    if isinstance(error, _GONE):
        return CellDied(lines[0])
    return RunError(f"a process of the run failed: {type(error).__name__}: {lines[0]}")


_GONE = (
    ray.exceptions.RayActorError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.ObjectLostError,
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.OutOfMemoryError,
)
"""What Ray raises when a process, its node, or a result that was on its way, is no more."""


class _Leader:
    """The process of a cell that finished matches come from."""

    def __init__(self, plan: Plan, settings: Settings, encode: Encoder) -> None:
        self._plan = plan
        self._settings = settings
        self._encode = encode
        encode(plan, ())  # imports what it needs
        _settle_memory()

    async def node(self) -> str:
        """Return the id of the node that this process runs on."""
        node_id: str = ray.get_runtime_context().get_node_id()
        return node_id


class PackedActor(_Leader):
    """A whole cell in one process."""

    _cell: LocalCell | None = None

    async def exchange(self, indexes: Sequence[int]) -> Any:
        """Take on matches, and return the next batch of finished ones."""
        if self._cell is None:
            self._cell = LocalCell(self._plan, self._settings)
        self._cell.assign(indexes)
        return self._encode(self._plan, await self._cell.collect())

    async def learn(self, versions: Versions) -> Learnt:
        """Take on the models of the originals; return what the agents here have learnt from since."""
        return exchange(learners(self._plan), versions)


class _Connection:
    """The referees' end of a link to a process of agents.

    Args:
        actor: The process.
        seats: Who lives there.
        link: What takes messages there.
        read: Called with the items of each frame that comes from there.
    """

    def __init__(self, actor: Any, seats: frozenset[int], link: Link, read: Callable[[list[FrameItem]], None]) -> None:
        self.actor = actor
        self.seats = seats
        self.link = link
        self.arrivals = Arrivals(read)
        self.open: set[Address] = set()  # its seats in matches that are not over


class RefereeActor(_Leader):
    """The referees of a cell; its agents live in other processes."""

    async def connect(self, hosts: list[tuple[Sequence[int], Any]]) -> None:
        """Join the processes of the agents, each given as (its seats, its actor).

        Raises:
            CellDied: One of them is gone.
            RunError: One of them could not be started.
        """
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._bus = LocalBus()
        self._me = ray.get_runtime_context().current_actor
        self._numbers = itertools.count()
        self._connections: dict[int, _Connection] = {}
        self._by_seat: dict[int, _Connection] = {}
        self._reconnecting: set[asyncio.Task[None]] = set()
        self._cell = Cell(
            self._plan,
            self._bus,
            self._route,
            Clock(),
            window=self._settings.window,
            backlog=2 * self._settings.batch,
            forget=self._forget,
        )
        numbers = [self._connection(actor, frozenset(seats), actor.deliver.remote) for seats, actor in hosts]
        try:
            await asyncio.gather(
                *(actor.connect.remote(self._me, n) for n, (_, actor) in zip(numbers, hosts, strict=True))
            )
        except Exception as error:
            raise explain(error) from None
        # A call that never returns tells at once when the process at the other end is gone.
        self._watches = [asyncio.ensure_future(self._watch(actor.stay.remote())) for _, actor in hosts]

    def _connection(
        self, actor: Any, seats: frozenset[int], deliver: Callable[[bytes], Awaitable[bytes | None]]
    ) -> int:
        """Make the connection of a process the one that its seats use; returns its number."""
        number = next(self._numbers)
        link = Link(deliver, partial(self._take, number), self._break)
        connection = self._connections[number] = _Connection(actor, seats, link, partial(self._read, seats))
        self._by_seat.update(dict.fromkeys(seats, connection))
        return number

    def _route(self, address: Address) -> Receiver:
        connection = self._by_seat[address.seat]
        connection.open.add(address)
        return connection.link.send

    def _forget(self, address: Address) -> None:
        self._by_seat[address.seat].open.discard(address)

    async def _watch(self, stay: Any) -> None:
        try:
            await stay
        except Exception as error:
            self._break(error)

    def _break(self, error: Exception) -> None:
        if not self._broken.done():
            known = error if isinstance(error, QuorumError) else explain(error)
            if isinstance(known, CellDied):
                known = CellDied(f"the process of an agent is gone: {known}")
            self._broken.set_exception(known)
            self._broken.exception()  # it is looked at only while somebody waits

    async def deliver(self, number: int, frame: bytes) -> None:
        """Take in a frame of an agents' process, which came by connection number so-and-so."""
        self._take(number, frame)

    def _take(self, number: int, frame: bytes) -> None:
        connection = self._connections.get(number)
        if connection is None:
            return  # it was given up
        try:
            connection.arrivals.take(frame)
        except CodecError as error:
            self._give_up(number, error)
        except Exception as error:  # whoever sent the frame cannot help it; whoever collects must hear of it
            self._break(error)

    def _give_up(self, number: int, error: CodecError) -> None:
        """A process sent what cannot be read: its seats are lost to their matches, and it begins anew for the next.

        Nobody knows what the frame held and which number it had, so what follows it cannot be put in order.
        """
        lost = self._connections.pop(number)
        lost.link.close()
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def deliver(frame: bytes) -> bytes | None:
            await ready
            answer: bytes | None = await lost.actor.deliver.remote(frame)
            return answer

        again = self._connection(lost.actor, lost.seats, deliver)
        task = asyncio.get_running_loop().create_task(self._connect_again(lost, again, ready))
        self._reconnecting.add(task)
        task.add_done_callback(self._reconnecting.discard)
        reason = f"its process sent a frame that cannot be read ({describe(error)})"
        for address in sorted(lost.open):
            self._bus.send(address, Address(address.match, REFEREE), Lost(address.seat, reason))

    async def _connect_again(self, lost: _Connection, number: int, ready: asyncio.Future[None]) -> None:
        await lost.link.drained()  # or a frame of the old link would be taken for one of the new
        try:
            await lost.actor.connect.remote(self._me, number)
        except Exception as error:
            self._break(error)
        else:
            ready.set_result(None)

    def _read(self, seats: frozenset[int], items: list[FrameItem]) -> None:
        send = self._bus.send
        for match, seat, message in items:
            sender = seat if seat in seats else STRANGER  # it may only speak for the seats of its process
            send(Address(match, sender), Address(match, REFEREE), message)

    async def exchange(self, indexes: Sequence[int]) -> Any:
        """Take on matches, and return the next batch of finished ones.

        Raises:
            CellDied: The process of an agent is gone.
            RunError: Something failed that would fail again.
        """
        if self._broken.done():
            self._broken.result()
        self._cell.assign(indexes)
        collecting = asyncio.ensure_future(self._cell.collect(self._settings.batch, self._settings.patience))
        await asyncio.wait((collecting, self._broken), return_when=asyncio.FIRST_COMPLETED)
        if not collecting.done():
            collecting.cancel()
            self._broken.result()
        return self._encode(self._plan, collecting.result())

    async def settle(self) -> None:
        """Wait until the agents have what was sent to them, or a short while: they may be in other matches."""
        drained = [asyncio.ensure_future(own.link.drained()) for own in self._connections.values()]
        _, waiting = await asyncio.wait(drained, timeout=_SETTLED)
        for task in waiting:
            task.cancel()


class AgentActor:
    """Agents of one cell, in a process of their own."""

    _host: AgentHost | None = None

    def __init__(self, plan: Plan, seats: Sequence[int]) -> None:
        self._plan = plan
        self._seats = seats
        _settle_memory()

    async def connect(self, referee: Any, number: int) -> None:
        """Join the referees' process by connection number so-and-so; the seats of an earlier one are left."""
        before = self._host
        if before is None:
            self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._link = Link(lambda frame: referee.deliver.remote(number, frame), self._arrive, self._break)
        self._arrivals = Arrivals(self._read)
        self._host = AgentHost(self._agent_at, LinkBus(self._link), Clock(), self._plan.action_types_at)
        if before is not None:
            await before.close()

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
        assert self._host is not None
        receive = self._host.receive
        for match, seat, message in items:
            receive(Address(match, REFEREE), Address(match, seat), message)

    def _break(self, error: Exception) -> None:
        if not self._broken.done():
            self._broken.set_exception(error)

    async def learn(self, versions: Versions) -> Learnt:
        """Take on the models of the originals; return what the agents here have learnt from since."""
        return exchange(learners(self._plan, self._seats), versions)

    async def stay(self) -> None:
        """Never return: the caller learns from the failure of this call that the process is gone, or its link."""
        await self._broken


# ── the driver's side ───────────────────────────────────────────────────────────────────────────────────

_ray: Any = ray  # its own annotations leave out what it has
_Packed = _ray.remote(num_cpus=1, enable_task_events=False)(PackedActor)
_Referee = _ray.remote(num_cpus=1, enable_task_events=False)(RefereeActor)
_Agents = _ray.remote(num_cpus=0, enable_task_events=False)(AgentActor)


class RayCell:
    """A cell that runs in Ray actors.

    Args:
        actors: Its actors. Finished matches come from the first; the others hold its agents.
        originals: The agents whose copies learn here.
    """

    def __init__(self, actors: Sequence[Any], originals: Originals) -> None:
        self._actors = actors
        self._originals = originals

    async def exchange(self, indexes: Sequence[int]) -> Any:
        """Take on matches, and return the next batch of finished ones.

        Raises:
            CellDied: A process of the cell is gone.
            RunError: Something failed that would fail again.
        """
        batch = await _alive(self._actors[0].exchange.remote(indexes))
        with suppress(CellDied):  # the batch is whole; the next call raises
            await self.learn()
        return batch

    async def learn(self) -> None:
        """Have the originals learn from what their copies have learnt from, and the copies go on from there.

        Raises:
            CellDied: A process of the cell is gone.
        """
        if not self._originals:
            return
        if len(self._actors) > 1:
            await _alive(self._actors[0].settle.remote())
        versions = self._originals.versions()
        hosts = self._actors[1:] or self._actors
        self._originals.gather(await asyncio.gather(*(_alive(host.learn.remote(versions)) for host in hosts)))

    def kill(self) -> None:
        """End the processes of the cell."""
        for actor in self._actors:
            with suppress(Exception):  # it may be gone, or the whole cluster
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
        NoRoom: The cluster had no processor free for it.
        RunError: A process could not be started, as when an agent cannot be sent there.
    """
    kind = _Packed if settings.kind == "packed" else _Referee
    actors = [kind.remote(plan, settings, encode)]
    cell = RayCell(actors, Originals(first))
    try:
        node = await _alive(actors[0].node.remote(), settings.start_timeout)
        if settings.kind == "ray":
            beside = NodeAffinitySchedulingStrategy(node_id=node, soft=True)
            seats = max(len(point.agents) for point in first.points)
            groups = seats_by_process(seats, settings.agents_per_actor)
            actors.extend(_Agents.options(scheduling_strategy=beside).remote(plan, group) for group in groups)
            hosts = list(zip(groups, actors[1:], strict=True))
            await _alive(actors[0].connect.remote(hosts), settings.start_timeout)
        await cell.learn()
    except BaseException:
        cell.kill()
        raise
    return cell


async def _alive(result: Any, within: float | None = None) -> Any:
    try:
        return await asyncio.wait_for(result, within)
    except ray.exceptions.RayError as error:
        raise explain(error) from None
    except TimeoutError:
        free = _ray.available_resources().get("CPU", 0)
        raise NoRoom(
            f"no process could be started within {within:g} s; {free:g} processors are free. "
            "Use fewer cells (runtime.cells=1), a larger cluster, or a longer runtime.start_timeout"
        ) from None


def default_cells(settings: Settings) -> int:
    """Return how many cells the cluster has room for."""
    cores = max(1, int(_ray.cluster_resources().get("CPU", 1)))
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
        raise ConfigError(f"{_culprit(plan, error)}; give it a __getstate__, or use runtime=local") from None


def _culprit(plan: Plan, error: Exception) -> str:
    """Say who cannot be sent: the error of the whole holds the whole, and names nobody."""
    things = {f"agent {agent.agent_id}": agent for point in plan.points for agent in point.agents}
    for name, thing in [*things.items(), *((f"game {point.game.game_id}", point.game) for point in plan.points)]:
        try:
            _ray.cloudpickle.dumps(thing)
        except Exception as own:
            return f"{name} cannot be sent to another process: {describe(own)}"
    return f"an agent or the game cannot be sent to another process: {describe(error)}"
