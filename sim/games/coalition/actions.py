"""Actions of the coalition game."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from sim.game import ActionType
from sim.messages import Struct

AgentId = Annotated[str, Meta(min_length=1, max_length=200)]
Whole = Annotated[int, Meta(ge=0, le=10**12)]
Amounts = dict[AgentId, Whole]
Number = Annotated[int, Meta(ge=1, le=10**12)]
Digest = Annotated[str, Meta(min_length=1, max_length=64)]
Word = Annotated[str, Meta(max_length=200)]


class Decision(Struct, frozen=True, omit_defaults=True):
    """How an action was chosen. It is written down, for learning and for whoever reads the record; no rule reads it.

    Attributes:
        selection: The selection function, such as "softmax(0.5)".
        probability: With which probability the action was chosen.
        policy: The policy and its version.
        context: What the policy looked at.
        id: What its maker calls the decision; its utility comes back under this name.
    """

    selection: Word = ""
    probability: Annotated[float, Meta(ge=0, le=1)] | None = None
    policy: Word = ""
    context: dict[Word, int | float | str | bool | None] | None = None
    id: Word = ""


class _Decided(ActionType, frozen=True, kw_only=True):
    private_fields: ClassVar[tuple[str, ...]] = ("decision",)


class Initiate(_Decided, frozen=True, kw_only=True):
    """Propose a coalition for the task that you discovered; your signature of version 1 is in it.

    Amounts are by seat id: `allocation` of the task's value, `commitment` in units. What is left out: all known peers
    are invited, the value is shared out evenly among the invited, nobody owes anything. With `commit` your own
    commitment is locked at once.
    """

    name: ClassVar[str] = "initiate"

    task: Number | None = None
    invited: tuple[AgentId, ...] | None = None
    allocation: Amounts | None = None
    commitment: Amounts | None = None
    commit: bool = False
    decision: Decision | None = None


class Decline(_Decided, frozen=True, kw_only=True):
    """Initiate nothing for the task that you discovered."""

    name: ClassVar[str] = "decline"

    decision: Decision | None = None


class _OnFormation(_Decided, frozen=True, kw_only=True):
    unasked: ClassVar[bool] = True

    formation: Number | None = None


class Sign(_OnFormation, frozen=True, kw_only=True):
    """Sign the version of this digest; with `commit` what you owe by it is locked at once."""

    name: ClassVar[str] = "sign"

    digest: Digest
    commit: bool = False
    decision: Decision | None = None


class Modify(_OnFormation, frozen=True, kw_only=True):
    """Put another version in place of the one of digest `parent`, and sign it; what is left out stays as it is."""

    name: ClassVar[str] = "modify"

    parent: Digest
    allocation: Amounts | None = None
    commitment: Amounts | None = None
    commit: bool = False
    decision: Decision | None = None


class Reject(_OnFormation, frozen=True, kw_only=True):
    """Leave the formation for good; after you have signed, this withdraws your signature."""

    name: ClassVar[str] = "reject"

    decision: Decision | None = None


class Deploy(_OnFormation, frozen=True, kw_only=True):
    """Make the coalition active; what its members have not locked yet is locked now, all or nothing."""

    name: ClassVar[str] = "deploy"

    decision: Decision | None = None


class Abort(_OnFormation, frozen=True, kw_only=True):
    """Give up the coalition that there is consensus on."""

    name: ClassVar[str] = "abort"

    decision: Decision | None = None


class Silence(ActionType, frozen=True):
    """No answer: what a seat is taken to do when its turn lapses. It is asked again as long as there is time."""

    name: ClassVar[str] = "silence"
