"""Who plays, and the processes they live in."""

from actors.agent import Action, Agent, Decision
from actors.scripted.collusion import Colluder
from actors.scripted.common import PassAgent, RandomAgent
from actors.scripted.concession import Boulware, Conceder, Linear, TimeDependent, TitForTat
from actors.scripted.exchange import DoubleAuction, NashSplitter, Rubinstein, ZeroIntelligenceTrader
from actors.scripted.negotiator import Negotiator
from actors.scripted.provision_point import Coordinator, FreeRider, RationalContributor, ZeroIntelligence
from actors.scripted.shopping import Shopper
from actors.seat import Seat
from actors.turn import Turn

__all__ = [
    "Action",
    "Agent",
    "Boulware",
    "Colluder",
    "Conceder",
    "Coordinator",
    "Decision",
    "DoubleAuction",
    "FreeRider",
    "Linear",
    "NashSplitter",
    "Negotiator",
    "PassAgent",
    "RandomAgent",
    "RationalContributor",
    "Rubinstein",
    "Seat",
    "Shopper",
    "TimeDependent",
    "TitForTat",
    "Turn",
    "ZeroIntelligence",
    "ZeroIntelligenceTrader",
]
