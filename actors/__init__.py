"""Who plays, and the processes they live in."""

from actors.agent import Action, Agent, Decision
from actors.scripted.bargaining.concession import Boulware, Conceder, Linear, TimeDependent, TitForTat
from actors.scripted.bargaining.exchange import DoubleAuction, NashSplitter, Rubinstein, ZeroIntelligenceTrader
from actors.scripted.bargaining.negotiator import Negotiator
from actors.scripted.bargaining.shopping import Shopper
from actors.scripted.common import PassAgent, RandomAgent
from actors.scripted.provision_point.collusion import Colluder
from actors.scripted.provision_point.contributors import Coordinator, FreeRider, RationalContributor, ZeroIntelligence
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
