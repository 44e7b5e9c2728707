"""What the game keeps of a formation besides the rules' own: who is asked, who waits, and what was decided."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec import field

from sim.games.coalition.actions import Decision

Step: TypeAlias = Literal["C1", "C2", "C4"]
"""Steps at which a seat decides: initiation, evaluation, activation."""

PHASES: dict[Step, str] = {"C1": "discovery", "C2": "consensus", "C4": "activation"}
"""What the phase of a turn is called, by step."""


class Place(msgspec.Struct, frozen=True):
    """A thread.

    Attributes:
        step: What is decided in it.
        task: For which task.
        formation: About which formation; 0 for C1.
        party: Who takes part.
    """

    step: Step
    task: int
    formation: int
    party: tuple[int, ...]


class Made(msgspec.Struct, frozen=True):
    """A decision that has not been paid for yet: which one of its seat's, at which step, and which action."""

    seat: int
    number: int
    step: Step
    action: str
    decision: Decision | None


class Asked(msgspec.Struct, frozen=True):
    """A seat that is asked.

    Attributes:
        since: Since when, in seconds of the match.
        changes: After how many changes it was asked last.
        reworded: Whether it was shown another version while it was thinking.
    """

    since: float
    changes: int
    reworded: bool = False


class Talk(msgspec.Struct):
    """What goes on about a formation.

    Attributes:
        thread: Where versions are put forward and signed.
        activation: Where the initiator decides; 0 where it does not.
        asked: The seats that are asked and have not answered.
        changes: How often something has changed that the seats are asked about.
        waiting: The seats that wait for something to change, and whether they have not answered.
        made: The decisions that are to be paid for when the formation ends.
        reached: When there was consensus.
        ended: When it ended.
    """

    thread: int
    activation: int = 0
    asked: dict[int, Asked] = field(default_factory=dict)
    changes: int = 0
    waiting: dict[int, bool] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    reached: float | None = None
    ended: float | None = None

    @property
    def current(self) -> int:
        """The thread in which the formation is decided on now."""
        return self.activation or self.thread
