"""What an agent of the coalition game is asked, with types: a task that it discovered, or a proposal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from actors.turn import Turn

DISCOVERY: Final = "discovery"
CONSENSUS: Final = "consensus"
ACTIVATION: Final = "activation"


class Agent(msgspec.Struct, frozen=True):
    """What everybody may know of a seat: its id, what it can do, and how many units it brought."""

    id: str
    capabilities: tuple[int, ...]
    units: int


class Task(msgspec.Struct, frozen=True):
    """A task, as the game shows it."""

    id: int
    value: int
    quorum: int
    requires: tuple[int, ...]
    seconds: float
    exclusive: bool

    def use(self, capabilities: Sequence[int]) -> int:
        """Return how much of what is required these capabilities provide, component by component, added up."""
        return sum(min(has, needed) for has, needed in zip(capabilities, self.requires, strict=False))

    def lacks(self, members: Iterable[Sequence[int]]) -> tuple[int, ...]:
        """Return what these members' capabilities, added up, still lack of what is required."""
        lacking = list(self.requires)
        for capabilities in members:
            for kind, has in enumerate(capabilities[: len(lacking)]):
                lacking[kind] = max(0, lacking[kind] - has)
        return tuple(lacking)

    def covered(self, members: Iterable[Sequence[int]]) -> float:
        """Return which part of what is required these members provide, from 0 to 1."""
        total = sum(self.requires)
        return round(1.0 - sum(self.lacks(members)) / total, 6) if total else 1.0


class Version(msgspec.Struct, frozen=True):
    """A version of a proposal, as the game shows it."""

    number: int
    digest: str
    parent: str | None
    author: str
    allocation: dict[str, int]
    commitment: dict[str, int]


class Situation(msgspec.Struct, frozen=True):
    """What a seat knows whenever it is asked: who it is, what it has, and the task with its private cost."""

    me: str
    capabilities: tuple[int, ...]
    units: int
    my_cost: int
    task: Task


class Discovery(Situation, frozen=True):
    """A task that the seat discovered, and the peers that it can invite."""

    peers: tuple[Agent, ...]

    @property
    def myself(self) -> Agent:
        """The seat, as its peers see it; of its units those that are free."""
        return Agent(self.me, self.capabilities, self.units)


class Proposal(Situation, frozen=True):
    """A formation and its current version; from consensus on with its members."""

    formation: int
    status: str
    initiator: str
    invited: tuple[Agent, ...]
    opened: float
    deadline: float
    version: Version
    versions_left: int
    signed: dict[str, bool]
    left: tuple[str, ...]
    my_share: int
    my_commitment: int
    my_locked: int
    members: tuple[str, ...] = ()
    decide_by: float | None = None
    uncommitted: dict[str, int] = {}

    @property
    def paid(self) -> list[str]:
        """The seats that the version pays."""
        return [agent_id for agent_id, share in self.version.allocation.items() if share]

    @property
    def dead(self) -> bool:
        """Whether the version pays a seat that has left: it cannot be signed, only replaced."""
        return any(agent_id in self.left for agent_id in self.paid)

    @property
    def staying(self) -> tuple[Agent, ...]:
        """The invited who have not left."""
        return tuple(agent for agent in self.invited if agent.id not in self.left)

    @property
    def can_commit(self) -> bool:
        """Whether the seat has the units that it owes: free, or locked for this formation already."""
        return self.my_commitment <= self.units + self.my_locked

    @property
    def equal_share(self) -> float:
        """What each of the paid would get of an equal division of the task's value, in currency."""
        return self.task.value / max(1, len(self.paid))

    def capabilities_of(self, seats: Iterable[str]) -> list[tuple[int, ...]]:
        """Return the capabilities of some of the invited."""
        known: Mapping[str, Agent] = {agent.id: agent for agent in self.invited}
        return [known[agent_id].capabilities for agent_id in seats if agent_id in known]


def read_discovery(turn: Turn) -> Discovery:
    """Read a turn in which a task is discovered."""
    return msgspec.convert(turn.state, Discovery)


def read_proposal(turn: Turn) -> Proposal:
    """Read a turn that is about a formation."""
    return msgspec.convert(turn.state, Proposal)


# ── what there is to look at, as numbers ────────────────────────────────────────────────────────────────────


def discovery_features(found: Discovery, members: Sequence[Agent]) -> dict[str, float]:
    """Return a task that was discovered as numbers, for a coalition with these members.

    `gain` is an equal share less the cost, as a part of the equal share; `alone` which part of what is required the
    seat provides itself; `covered` which part the members do; `members`, `peers`, `quorum`, `value`, `cost` and
    `units` are amounts.
    """
    equal = found.task.value / max(1, len(members))
    return {
        "gain": part(equal - found.my_cost, equal),
        "alone": found.task.covered([found.capabilities]),
        "covered": found.task.covered(agent.capabilities for agent in members),
        "members": float(len(members)),
        "peers": float(len(found.peers)),
        "quorum": float(found.task.quorum),
        "value": float(found.task.value),
        "cost": float(found.my_cost),
        "units": float(found.units),
    }


def proposal_features(offer: Proposal) -> dict[str, float]:
    """Return a proposal as numbers.

    `gain` is the own share less the cost, as a part of an equal share; `fairness` the own share as a part of it;
    `fit` which part of what is required the seat provides itself; `quality` which part the paid do; `signed` the
    signers as a part of the quorum; `uncommitted` the members who still owe, as a part of all members; `share`,
    `cost`, `owed`, `units`, `version`, `versions_left` and `left` are amounts.
    """
    equal = offer.equal_share
    return {
        "gain": part(offer.my_share - offer.my_cost, equal),
        "fairness": part(offer.my_share, equal),
        "fit": offer.task.covered([offer.capabilities]),
        "quality": offer.task.covered(offer.capabilities_of(offer.paid)),
        "signed": part(len(offer.signed), offer.task.quorum),
        "uncommitted": part(len(offer.uncommitted), len(offer.members)),
        "share": float(offer.my_share),
        "cost": float(offer.my_cost),
        "owed": float(offer.my_commitment),
        "units": float(offer.units),
        "version": float(offer.version.number),
        "versions_left": float(offer.versions_left),
        "left": float(len(offer.left)),
    }


def part(amount: float, of: float) -> float:
    """Return an amount as a part of another; 0 where that is nothing."""
    return round(amount / of, 6) if of else 0.0
