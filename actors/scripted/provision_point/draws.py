"""Plausible random actions for the provision-point game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from actors.scripted.provision_point.table import Table
from actors.turn import Turn
from sim.game import ActionType
from sim.games.provision_point.actions import (
    AnnounceProject,
    SignalIntent,
    SubmitAmount,
    SubmitCommitment,
    UpdateCommitment,
    WithdrawCommitment,
)


def _announce(turn: Turn) -> ActionType:
    return AnnounceProject("A shared project.", return_description="Access for every contributor.")


def _amount(table: Table) -> float:
    """Draw evenly up to the endowment; in simple mode up to twice a fair part, so that half of all tables fund."""
    most = 2 * table.threshold / len(table.contributors) if table.simple else table.most
    return most * (1.0 - table.turn.rng.random())


def _signal(turn: Turn) -> ActionType:
    table = Table(turn)
    return SignalIntent(_amount(table), table.undeclared())


def _submit(turn: Turn) -> ActionType:
    table = Table(turn)
    amount = _amount(table)
    return SubmitAmount(amount) if table.simple else SubmitCommitment(amount, table.undeclared())


def _update(turn: Turn) -> ActionType:
    return UpdateCommitment(_amount(Table(turn)))


def _withdraw(turn: Turn) -> ActionType:
    return WithdrawCommitment()


DRAWS: Mapping[type[ActionType], Callable[[Turn], ActionType]] = MappingProxyType(
    {
        AnnounceProject: _announce,
        SignalIntent: _signal,
        SubmitAmount: _submit,
        SubmitCommitment: _submit,
        UpdateCommitment: _update,
        WithdrawCommitment: _withdraw,
    }
)
"""A function for each action type that draws an action for a turn."""
