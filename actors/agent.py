"""The Agent base class, and what an agent gives back on a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from sim.game import ActionType
from sim.messages import Message

if TYPE_CHECKING:
    from actors.seat import Seat
    from actors.turn import Turn


class Action(msgspec.Struct, frozen=True):
    """An action by name.

    Attributes:
        type: Name of the action.
        payload: Its fields.
    """

    type: str
    payload: Mapping[str, Any] = {}


class Decision(msgspec.Struct, frozen=True):
    """An action with messages.

    Attributes:
        action: The action, by name or typed.
        messages: What is said along with it; plain text is public.
    """

    action: Action | ActionType
    messages: Sequence[Message | str] = ()


Answer: TypeAlias = Action | ActionType | Decision
"""What an agent may answer."""


class Agent:
    """Whoever plays at a seat. Define one of three methods:

    - `decide(turn)` answers at once. The fastest: no task is started for it.
    - `act(turn)` may wait, for a model or a person; a turn that lapses meanwhile is cancelled.
    - `play(seat)` runs free, for games in which everybody acts at once.

    One agent object may play many matches at once. What it remembers of a match belongs on `turn.memory`
    (or `seat.memory`); what it keeps on `self` is shared by all its matches. An exception forfeits the turn,
    not the match.

    Args:
        agent_id: Its seat id, unique in a match.
    """

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id

    def decide(self, turn: Turn) -> Answer:
        """Answer one turn without waiting for anything."""
        raise NotImplementedError(f"{type(self).__name__} defines none of decide(), act() and play()")

    async def act(self, turn: Turn) -> Answer:
        """Answer one turn; the default decides."""
        return self.decide(turn)

    async def play(self, seat: Seat) -> None:
        """Play one match, from its first message to its last; the default answers turns with `act`."""
        async for turn in seat.turns():
            if seat.opening.threads:
                seat.spawn(turn, self._answer(seat, turn))  # it may be asked the next before this one is answered
            else:
                await self._answer(seat, turn)

    def ended(self, seat: Seat) -> None:
        """Look back at a match that is over, at `seat.events` and `seat.end`; the default does nothing.

        It is called once, without waiting, and not for a seat that left or was never told of the end.
        """

    async def _answer(self, seat: Seat, turn: Turn) -> None:
        try:
            answer = await self.act(turn)
        except asyncio.CancelledError:
            if not seat.overran(turn):
                raise
        except Exception as error:
            seat.forfeit(turn.number, error)
        else:
            seat.answer(turn.number, answer)

    @property
    def decides(self) -> bool:
        """Whether it answers without waiting: neither `act` nor `play` is its own."""
        return type(self).act is Agent.act and type(self).play is Agent.play

    @property
    def reactive(self) -> bool:
        """Whether it is to be told of every event at once: `play` is its own."""
        return type(self).play is not Agent.play

    @property
    def looks_back(self) -> bool:
        """Whether it is to be told when a match is over: `ended` is its own."""
        return type(self).ended is not Agent.ended
