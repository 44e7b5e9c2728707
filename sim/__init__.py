"""The world: rules, messages and time. Imports the standard library and msgspec, nothing else."""

from sim.bus import Address, Inbox, LocalBus
from sim.clock import Clock, VirtualLoop, run_virtual
from sim.delivery import Delivery, UnreliableBus
from sim.errors import (
    CodecError,
    ConfigError,
    DeadlockError,
    IllegalAction,
    InboxFull,
    QuorumError,
    RecordMismatch,
    RunError,
    TooLarge,
)
from sim.game import ActionType, Game, MessageOnly, Outcome, Pass, Phase, State
from sim.games.bargaining import BargainingGame
from sim.games.coalition import CoalitionGame
from sim.games.principal_agent import PrincipalAgentGame
from sim.games.provision_point import ProvisionPointGame
from sim.messages import Message
from sim.paced import Call, Notice, PacedState
from sim.record import MatchRecord, MatchSpec
from sim.referee import Referee
from sim.replay import rejudge

__all__ = [
    "ActionType",
    "Address",
    "BargainingGame",
    "Call",
    "Clock",
    "CoalitionGame",
    "CodecError",
    "ConfigError",
    "DeadlockError",
    "Delivery",
    "Game",
    "IllegalAction",
    "Inbox",
    "InboxFull",
    "LocalBus",
    "MatchRecord",
    "MatchSpec",
    "Message",
    "MessageOnly",
    "Notice",
    "Outcome",
    "PacedState",
    "Pass",
    "Phase",
    "PrincipalAgentGame",
    "ProvisionPointGame",
    "QuorumError",
    "RecordMismatch",
    "Referee",
    "RunError",
    "State",
    "TooLarge",
    "UnreliableBus",
    "VirtualLoop",
    "rejudge",
    "run_virtual",
]
