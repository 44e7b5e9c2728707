"""Principal and agent: a contract, a hidden effort, an oracle's score, and the payment that follows from it."""

from sim.games.principal_agent.actions import (
    AcceptContract,
    AnswerClarification,
    AskClarification,
    DelegateTask,
    PostContract,
    RecordOutcomeScore,
    RejectContract,
    SkipClarify,
    SubmitDeliverable,
)
from sim.games.principal_agent.contract import Contract, OutcomeLevel
from sim.games.principal_agent.game import PrincipalAgentGame

__all__ = [
    "AcceptContract",
    "AnswerClarification",
    "AskClarification",
    "Contract",
    "DelegateTask",
    "OutcomeLevel",
    "PostContract",
    "PrincipalAgentGame",
    "RecordOutcomeScore",
    "RejectContract",
    "SkipClarify",
    "SubmitDeliverable",
]
