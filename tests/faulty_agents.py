"""Agents whose turns go wrong, for a run to be told of them by import path."""

from __future__ import annotations

import asyncio

from actors import Action, Agent, Turn
from actors.agent import Answer


class Greedy(Agent):
    """Commits what nobody may."""

    def decide(self, turn: Turn) -> Answer:
        return Action("submit_commitment", {"amount": -5.0})


class Raises(Agent):
    """Raises."""

    def decide(self, turn: Turn) -> Answer:
        raise ValueError("out of order")


class Sleeps(Agent):
    """Lets every turn lapse."""

    async def act(self, turn: Turn) -> Answer:
        await asyncio.sleep(3600)
        raise AssertionError
