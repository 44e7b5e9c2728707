"""What a world reads (items), and what follows from it (effects)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from sim.games.coalition.things import Reason

CheckStatus: TypeAlias = Literal["met", "not_met", "timeout", "infeasible"]
"""What a threshold check finds: consensus, go on, or the end."""


class _Item(msgspec.Struct, frozen=True, tag=True):
    pass


class Initiate(_Item, frozen=True):
    """A seat begins a formation: version 1, with its own signature.

    Attributes:
        seat: Who.
        task: For which task.
        invited: Who may sign, the seat itself among them.
        allocation: What each seat is to get.
        commitment: How many units each seat owes as a member.
        commit: Whether the seat locks at once what it owes.
    """

    seat: int
    task: int
    invited: tuple[int, ...]
    allocation: dict[int, int]
    commitment: dict[int, int]
    commit: bool = False


class Sign(_Item, frozen=True):
    """A seat signs the version of this digest; with `commit` it locks what it owes."""

    seat: int
    formation: int
    digest: str
    commit: bool = False


class Modify(_Item, frozen=True):
    """A seat puts another version in place of `parent`, and signs it. Other attributes as in `Initiate`."""

    seat: int
    formation: int
    parent: str
    allocation: dict[int, int]
    commitment: dict[int, int]
    commit: bool = False


class Reject(_Item, frozen=True):
    """A seat leaves a formation, for good; after it has signed, this withdraws."""

    seat: int
    formation: int


class Deploy(_Item, frozen=True):
    """The initiator makes the coalition active."""

    seat: int
    formation: int


class Abort(_Item, frozen=True):
    """The initiator gives up what consensus was reached on."""

    seat: int
    formation: int


class Tick(_Item, frozen=True):
    """Time has come to now: whatever is due ends."""


Item: TypeAlias = Initiate | Sign | Modify | Reject | Deploy | Abort | Tick


class _Effect(msgspec.Struct, frozen=True, tag=True):
    formation: int
    version: int


class Proposed(_Effect, frozen=True):
    """There is a new version. The author's signature follows as `Signed`."""

    seat: int
    digest: str
    parent: str | None


class Signed(_Effect, frozen=True):
    """A seat has signed; `locks` are the locks that it has for the formation now."""

    seat: int
    committed: bool
    locks: tuple[int, ...]


class Left(_Effect, frozen=True):
    """A seat has left. `withdrew`: it had signed the current version."""

    seat: int
    withdrew: bool


class Checked(_Effect, frozen=True):
    """What the threshold check found.

    Attributes:
        signers: Who has signed the current version, by seat.
        quorum: How many are needed.
        covered: Whether the signers' capabilities cover what the task requires.
        paid: Whether all who are paid have signed.
        elapsed: Seconds since the initiation.
        status: What follows.
    """

    signers: tuple[int, ...]
    quorum: int
    covered: bool
    paid: bool
    elapsed: float
    status: CheckStatus


class Reached(_Effect, frozen=True):
    """There is consensus; membership is frozen. `decide_by` is None where the coalition is active at once."""

    members: tuple[int, ...]
    digest: str
    decide_by: float | None


class Activated(_Effect, frozen=True):
    """The coalition is active; `auto`: at once, for all its members had committed."""

    members: tuple[int, ...]
    auto: bool


class Aborted(_Effect, frozen=True):
    """There was consensus, and it came to nothing."""

    reason: Reason


class Failed(_Effect, frozen=True):
    """There was no consensus, and there will be none."""

    reason: Reason


Effect: TypeAlias = Proposed | Signed | Left | Checked | Reached | Activated | Aborted | Failed
