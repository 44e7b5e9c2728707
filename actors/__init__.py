"""Who plays, and the processes they live in."""

from actors.agent import Action, Agent, Decision
from actors.learning.coalition import CoalitionLearner
from actors.scripted.bargaining.concession import Boulware, Conceder, Linear, TimeDependent, TitForTat
from actors.scripted.bargaining.exchange import DoubleAuction, NashSplitter, Rubinstein, ZeroIntelligenceTrader
from actors.scripted.bargaining.negotiator import Negotiator
from actors.scripted.bargaining.shopping import Shopper
from actors.scripted.coalition.legislature import BaronFerejohn
from actors.scripted.coalition.rule_based import CoalitionAgent
from actors.scripted.common import PassAgent, RandomAgent
from actors.scripted.principal_agent.delegating import DelegatingWorker
from actors.scripted.principal_agent.oracle import HonestOracle, LenientOracle, NoisyOracle
from actors.scripted.principal_agent.principal import FixedPrincipal, LinearPrincipal, OptimalPrincipal
from actors.scripted.principal_agent.worker import BestResponseWorker, Shirker
from actors.scripted.provision_point.collusion import Colluder
from actors.scripted.provision_point.contributors import Coordinator, FreeRider, RationalContributor, ZeroIntelligence
from actors.scripted.provision_point.pledge import Pledger
from actors.seat import Seat
from actors.turn import Turn

__all__ = [
    "Action",
    "Agent",
    "BaronFerejohn",
    "BestResponseWorker",
    "Boulware",
    "CoalitionAgent",
    "CoalitionLearner",
    "Colluder",
    "Conceder",
    "Coordinator",
    "Decision",
    "DelegatingWorker",
    "DoubleAuction",
    "FixedPrincipal",
    "FreeRider",
    "HonestOracle",
    "LenientOracle",
    "Linear",
    "LinearPrincipal",
    "NashSplitter",
    "Negotiator",
    "NoisyOracle",
    "OptimalPrincipal",
    "PassAgent",
    "Pledger",
    "RandomAgent",
    "RationalContributor",
    "Rubinstein",
    "Seat",
    "Shirker",
    "Shopper",
    "TimeDependent",
    "TitForTat",
    "Turn",
    "ZeroIntelligence",
    "ZeroIntelligenceTrader",
]
