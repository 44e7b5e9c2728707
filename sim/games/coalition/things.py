"""What there is: tasks, agents, versions of a proposal, signatures, formations, and the world that holds them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from math import inf
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import field

from sim.ledger import Ledger

UNITS: Final = "units"
"""The one resource that agents commit."""

Status: TypeAlias = Literal["open", "consensus", "active", "aborted", "failed"]
"""Where a formation stands; the last three are its ends."""

Reason: TypeAlias = Literal["timeout", "infeasible", "withdrawn", "superseded", "decided"]
"""Why a formation failed or was aborted; "decided" is the initiator's own abort."""

ENDS: Final = ("active", "aborted", "failed")
"""Statuses after which nothing changes any more."""


class Task(msgspec.Struct, frozen=True):
    """What a coalition is formed for.

    Attributes:
        id: The task.
        value: What an allocation may share out at most, in whole units of currency.
        quorum: How many have to sign; at least 1.
        seconds: How long a formation may take from its initiation, in seconds.
        requires: What the signers' capabilities have to add up to, component by component.
        exclusive: Whether one coalition at most may be active for it.
    """

    id: int
    value: int
    quorum: int
    seconds: float
    requires: tuple[int, ...] = ()
    exclusive: bool = True


class Agent(msgspec.Struct, frozen=True):
    """What a seat brings along.

    Attributes:
        capabilities: What it can do, component by component.
        units: How many units of the resource it has to commit.
    """

    capabilities: tuple[int, ...] = ()
    units: int = 0


class Version(msgspec.Struct, frozen=True):
    """One version of a formation's proposal; it never changes, another takes its place.

    Attributes:
        formation: The formation.
        number: Counts up from 1.
        digest: Of everything else here; who signs names it.
        parent: Digest of the version that it modifies; None for the first.
        author: The seat that put it forward.
        allocation: What each seat is to get of the task's value.
        commitment: How many units each seat owes once it is a member.
    """

    formation: int
    number: int
    digest: str
    parent: str | None
    author: int
    allocation: dict[int, int]
    commitment: dict[int, int]

    def owed(self, seat: int) -> int:
        """Return how many units a seat owes as a member."""
        return self.commitment.get(seat, 0)

    def paid(self) -> list[int]:
        """Return the seats that get something."""
        return [seat for seat, share in self.allocation.items() if share]

    @classmethod
    def make(
        cls,
        formation: int,
        parent: Version | None,
        author: int,
        allocation: dict[int, int],
        commitment: dict[int, int],
    ) -> Version:
        """Make the version that follows `parent`, with its digest."""
        number, before = (1, None) if parent is None else (parent.number + 1, parent.digest)
        allocation, commitment = dict(sorted(allocation.items())), dict(sorted(commitment.items()))
        content = (formation, number, before, author, [*allocation.items()], [*commitment.items()])
        digest = sha256(_json.encode(content)).hexdigest()[:16]
        return cls(formation, number, digest, before, author, allocation, commitment)


class Signature(msgspec.Struct, frozen=True):
    """A seat's word for one version.

    Attributes:
        seat: Who signed.
        number: The version.
        digest: Its digest.
        at: When it was counted, in seconds.
        committed: Whether what the seat owes is locked since it signed.
        locks: Ids of these locks in the ledger; none where it owes nothing.
    """

    seat: int
    number: int
    digest: str
    at: float
    committed: bool
    locks: tuple[int, ...] = ()


class Formation(msgspec.Struct):
    """An attempt to form a coalition.

    Attributes:
        number: Counts up from 1 in the world.
        task: What it is for.
        initiator: Who began it, and decides on it once there is consensus.
        invited: Who may sign, the initiator among them.
        opened: When it was initiated, in seconds.
        deadline: When it fails without consensus.
        versions: What was proposed, oldest first; the last is the current one.
        signed: Who has signed the current version.
        rejected: Who has left, before or after signing; it does not come back.
        path: The statuses that it went through.
        reason: Why it failed or was aborted.
        members: Who signed, from consensus on.
        decide_by: When it is aborted unless it was decided on; None before consensus.
        locks: Every lock that was taken for it.
    """

    number: int
    task: int
    initiator: int
    invited: tuple[int, ...]
    opened: float
    deadline: float
    versions: list[Version]
    signed: dict[int, Signature] = field(default_factory=dict)
    rejected: dict[int, None] = field(default_factory=dict)
    path: list[Status] = field(default_factory=lambda: ["open"])
    reason: Reason | None = None
    members: tuple[int, ...] = ()
    decide_by: float | None = None
    locks: list[int] = field(default_factory=list)

    @property
    def status(self) -> Status:
        """Where it stands."""
        return self.path[-1]

    @property
    def current(self) -> Version:
        """The version that can be signed, or that was agreed on."""
        return self.versions[-1]

    @property
    def due(self) -> float | None:
        """When time alone ends it; None once it has ended."""
        if self.status == "open":
            return self.deadline
        return self.decide_by if self.status == "consensus" else None

    @property
    def purpose(self) -> str:
        """What its locks are for, as the ledger has it."""
        return f"formation {self.number}"

    def staying(self) -> list[int]:
        """Return the invited seats that have not left."""
        return [seat for seat in self.invited if seat not in self.rejected]

    def dead(self) -> bool:
        """Return whether the current version pays a seat that has left, so that only another can be agreed on."""
        return any(seat in self.rejected for seat in self.current.paid())


class World(msgspec.Struct):
    """Everything that the rules know. `Core.step` owns it and changes it.

    Attributes:
        tasks: The tasks, by id.
        agents: What each seat brings along, by seat.
        activation_timeout: How long the initiator has to decide after consensus, in seconds.
        max_versions: How many versions a formation may have.
        ledger: Who has how many units, and what is locked for which formation.
        open: Formations that have not ended, by number.
        closed: Formations that have; nothing looks through them.
        open_by_task: The numbers of those that have not ended, by task.
        taken: Exclusive tasks for which there is consensus or an active coalition, and its formation.
        due: A heap of (when, formation). An entry whose formation has gone on since stands for nothing.
    """

    tasks: dict[int, Task]
    agents: list[Agent]
    activation_timeout: float
    max_versions: int
    ledger: Ledger = field(default_factory=Ledger)
    open: dict[int, Formation] = field(default_factory=dict)
    closed: dict[int, Formation] = field(default_factory=dict)
    open_by_task: dict[int, dict[int, None]] = field(default_factory=dict)
    taken: dict[int, int] = field(default_factory=dict)
    due: list[tuple[float, int]] = field(default_factory=list)

    @classmethod
    def make(
        cls, tasks: Iterable[Task], agents: Iterable[Agent], *, activation_timeout: float, max_versions: int
    ) -> World:
        """Make a world in which nothing has happened yet; every seat has its units."""
        world = cls({task.id: task for task in tasks}, list(agents), activation_timeout, max_versions)
        for seat, agent in enumerate(world.agents):
            world.ledger.put(seat, UNITS, agent.units)
        return world

    @property
    def next_due(self) -> float:
        """When the next `Tick` is needed, in seconds; infinite if time alone ends nothing."""
        return self.due[0][0] if self.due else inf

    def formation(self, number: int) -> Formation | None:
        """Return a formation, whether it has ended or not; None if there is no such."""
        return self.open.get(number) or self.closed.get(number)

    def formations(self) -> list[Formation]:
        """Return all formations, by number. For looking at the world as a whole: the rules do not."""
        return sorted([*self.open.values(), *self.closed.values()], key=lambda formation: formation.number)


_json = msgspec.json.Encoder()
