"""A contributor that pays its price or nothing: for pools with a fixed fee, a share by use, or a vote."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from actors.scripted.options import Amount, Positive
from actors.scripted.provision_point.contributors import Contributor
from actors.scripted.provision_point.table import Table
from sim.errors import ConfigError
from sim.game import ActionType, Pass
from sim.games.provision_point.actions import SignalIntent

_PASS = Pass()


class Pledger(Contributor):
    """Signals and commits a fixed amount, or a fixed part of the threshold, if the project is worth that to it.

    Args:
        agent_id: Its seat id.
        amount: What it pays, in the game's currency.
        share: What it pays, as a part of the threshold; one of `amount` and `share` is needed.
        valuation: As in `Contributor`.
        talk: As in `Contributor`.

    Raises:
        ConfigError: Both are given, or neither.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        amount: Positive | None = None,
        share: Annotated[float, Meta(gt=0, le=1)] | None = None,
        valuation: Amount | None = None,
        talk: bool = False,
    ) -> None:
        super().__init__(agent_id, valuation=valuation, talk=talk)
        if (amount is None) == (share is None):
            raise ConfigError(f"pledger {agent_id} needs an amount or a share of the threshold, and not both")
        self.amount = amount
        self.share = share

    def price(self, table: Table) -> float | None:
        """Return what it pays; None where that is more than the project is worth to it, or than it may pay."""
        amount = self.amount if self.amount is not None else (self.share or 0.0) * table.threshold
        return amount if amount <= table.limit() else None

    def signal(self, table: Table) -> ActionType:
        """Signal its price, once."""
        amount = self.price(table)
        return _PASS if amount is None or table.me in table.signals else SignalIntent(amount, table.undeclared())

    def commit(self, table: Table) -> ActionType:
        """Commit its price, once."""
        amount = self.price(table)
        return _PASS if amount is None or table.mine is not None else table.commit(amount)
