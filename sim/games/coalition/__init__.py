"""Coalition formation: agents who agree, by signatures, on who works together and who gets what."""

from sim.games.coalition.actions import Abort, Decision, Decline, Deploy, Initiate, Modify, Reject, Sign
from sim.games.coalition.game import CoalitionGame
from sim.games.coalition.parameters import TaskSpec

__all__ = [
    "Abort",
    "CoalitionGame",
    "Decision",
    "Decline",
    "Deploy",
    "Initiate",
    "Modify",
    "Reject",
    "Sign",
    "TaskSpec",
]
