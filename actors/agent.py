"""The Agent base class, and what an agent is given and gives back on a turn."""

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
    payload: Mapping[str, Any] = {}  # noqa: RUF012


class Decision(msgspec.Struct, frozen=True):
    """An action with messages.

    Attributes:
        action: The action, by name or typed.
        messages: What is said along with it; plain text is public.
    """

    action: Action | ActionType
    messages: Sequence[Message | str] = ()


Answer: TypeAlias = Action | ActionType | Decision
"""What `act` may return."""


class Agent:
    """Whoever plays at a seat.

    One agent object may play many matches at once. What it remembers of a match belongs on `turn.memory`
    (or `seat.memory`); what it keeps on `self` is shared by all its matches.

    Args:
        agent_id: Its seat id, unique in a match.
    """

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id

    async def act(self, turn: Turn) -> Answer:
        """Answer one turn.

        An exception forfeits the turn. An answer after the deadline is cancelled.
        """
        raise NotImplementedError(f"{type(self).__name__} defines neither act() nor play()")

    async def play(self, seat: Seat) -> None:
        """Play one match, from its first message to its last; the default answers turns with `act`."""
        async for turn in seat.turns():
            try:
                answer = await self.act(turn)
            except asyncio.CancelledError:
                if not seat.overran(turn):
                    raise
            except Exception as error:
                seat.forfeit(turn.number, error)
            else:
                seat.answer(turn.number, answer)
