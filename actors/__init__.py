"""Who plays, and the processes they live in."""

from actors.agent import Action, Agent, Decision
from actors.scripted.collusion import Colluder
from actors.scripted.common import PassAgent, RandomAgent
from actors.scripted.provision_point import Coordinator, FreeRider, RationalContributor, ZeroIntelligence
from actors.seat import Seat
from actors.turn import Turn

__all__ = [
    "Action",
    "Agent",
    "Colluder",
    "Coordinator",
    "Decision",
    "FreeRider",
    "PassAgent",
    "RandomAgent",
    "RationalContributor",
    "Seat",
    "Turn",
    "ZeroIntelligence",
]
