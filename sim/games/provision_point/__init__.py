"""Provision point: a threshold, binding commitments, and private valuations."""

from sim.games.provision_point.actions import (
    AnnounceProject,
    SignalIntent,
    SubmitAmount,
    SubmitCommitment,
    UpdateCommitment,
    WithdrawCommitment,
)
from sim.games.provision_point.game import ProvisionPointGame

__all__ = [
    "AnnounceProject",
    "ProvisionPointGame",
    "SignalIntent",
    "SubmitAmount",
    "SubmitCommitment",
    "UpdateCommitment",
    "WithdrawCommitment",
]
