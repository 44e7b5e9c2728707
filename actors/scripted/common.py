"""Agents that play any game: one that passes, and one that draws among what is legal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from actors.agent import Agent, Answer, Decision
from actors.scripted.bargaining.draws import DRAWS as BARGAINING
from actors.scripted.coalition.draws import DRAWS as COALITION
from actors.scripted.principal_agent.draws import DRAWS as PRINCIPAL_AGENT
from actors.scripted.provision_point.contributors import sentence
from actors.scripted.provision_point.draws import DRAWS as PROVISION_POINT
from actors.turn import Turn
from sim.game import ActionType, MessageOnly, Pass
from sim.payloads import random_payload

_KNOWN: Mapping[type[ActionType], Callable[[Turn], ActionType]] = MappingProxyType(
    {**BARGAINING, **COALITION, **PRINCIPAL_AGENT, **PROVISION_POINT}
)
_PASS = Pass()


class RandomAgent(Agent):
    """Picks evenly among the legal actions, and draws plausible payloads.

    It knows plausible payloads for the games of this product. For others they are drawn from the types and the
    constraints of their fields.

    Args:
        agent_id: Its seat id.
        talk: Whether it says one public sentence with each action.
    """

    def __init__(self, agent_id: str, *, talk: bool = False) -> None:
        super().__init__(agent_id)
        self.talk = talk

    def decide(self, turn: Turn) -> Answer:
        """Choose, and draw the payload."""
        action = self.draw(self.choose(turn), turn)
        return Decision(action, (sentence(action),)) if self.talk else action

    def choose(self, turn: Turn) -> str:
        """Return the name of a legal action; `message_only` would leave the turn open."""
        legal = [name for name in turn.allowed_actions if name != MessageOnly.name]
        return turn.rng.choice(legal)

    def draw(self, name: str, turn: Turn) -> ActionType:
        """Return an action of this name with a payload.

        Raises:
            LookupError: Its type is not known.
        """
        if name == Pass.name:
            return _PASS
        kind = turn.seat.action_types.get(name)
        if kind is None:
            raise LookupError(f"the action type of {name} is not known")
        known = _KNOWN.get(kind)
        return msgspec.convert(random_payload(kind, turn.rng), kind) if known is None else known(turn)


class PassAgent(RandomAgent):
    """Passes on every turn; where the rules allow no pass, it takes the first legal action."""

    def choose(self, turn: Turn) -> str:
        """Return "pass", or the first legal action."""
        allowed = turn.allowed_actions
        return Pass.name if Pass.name in allowed else allowed[0]
