"""Negotiators that concede: with time, or as much as the other does."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from actors.scripted.bargaining.negotiator import Negotiator
from actors.scripted.bargaining.offering import choose_items, stance
from actors.scripted.bargaining.table import Table
from actors.scripted.options import Part, Positive


class TimeDependent(Negotiator):
    """Concedes from its opening to its reservation price as the rounds go by.

    The time-dependent tactic of Faratin, Sierra and Jennings (1998, Robotics and Autonomous Systems 24), in its
    polynomial form without an initial concession: in round t of T it offers

        opening + (reservation price - opening) (t / T)^(1 / exponent),

    and it accepts an offer that is no worse for it than its own of the same round. Below 1 the exponent makes a
    Boulware negotiator, which holds out to the end; above 1 a conceder. A buyer takes the list price for its
    reservation price where that is less. Prices are rounded, by less than 1/200 of the reservation price.

    Args:
        agent_id: Its seat id.
        exponent: How readily it concedes (beta).
        anchor: How far a buyer's opening is below the list price, or below its reservation price where that is
            less, as a part of it. A seller opens at the list price; where that is not above its reservation price,
            this far above it.
        firm: As in `Negotiator`.
    """

    def __init__(self, agent_id: str, *, exponent: Positive = 1.0, anchor: Part = 0.4, firm: bool = False) -> None:
        super().__init__(agent_id, firm=firm)
        self.exponent = exponent
        self.anchor = anchor

    def ask(self, table: Table) -> float:
        """Return what the formula leaves it."""
        least, most = stance(table, self.anchor, choose_items(table))
        return most + (least - most) * conceded(table.round, table.rounds, self.exponent)

    def least(self, table: Table, ask: float) -> float:
        """Return what it asks for; in the last round anything is better than nothing."""
        return 0.0 if table.last else ask


def conceded(round: int, rounds: int, exponent: float) -> float:
    """Return the part of the way that is conceded by a round, (round / rounds)^(1 / exponent)."""
    return float((round / rounds) ** (1.0 / exponent))


class Boulware(TimeDependent):
    """Holds out and concedes close to the end: `time_dependent` with an exponent below 1."""

    def __init__(
        self,
        agent_id: str,
        *,
        exponent: Annotated[float, Meta(gt=0, lt=1)] = 0.2,
        anchor: Part = 0.4,
        firm: bool = True,
    ) -> None:
        super().__init__(agent_id, exponent=exponent, anchor=anchor, firm=firm)


class Linear(TimeDependent):
    """Concedes the same amount in each round: `time_dependent` with an exponent of 1."""

    def __init__(self, agent_id: str, *, anchor: Part = 0.4, firm: bool = False) -> None:
        super().__init__(agent_id, exponent=1.0, anchor=anchor, firm=firm)


class Conceder(TimeDependent):
    """Concedes most at the beginning: `time_dependent` with an exponent above 1."""

    def __init__(
        self, agent_id: str, *, exponent: Annotated[float, Meta(gt=1)] = 5.0, anchor: Part = 0.4, firm: bool = False
    ) -> None:
        super().__init__(agent_id, exponent=exponent, anchor=anchor, firm=firm)


class TitForTat(Negotiator):
    """Concedes as much as the other side has conceded since its last offer but one, and nothing for nothing.

    After the behaviour-dependent tactics of Faratin, Sierra and Jennings (1998, Robotics and Autonomous Systems 24).
    With g the amount by which the other's last offer is better for it than the one before (less than nothing counts
    as nothing), its next offer gives up

        absolute: g;
        relative: the same share of the gap that is left as g was of the gap before it (there: the same ratio of
            prices, which has no meaning where a zero of prices is arbitrary).

    Two that wait for each other would never move: on its second offer it gives up `first_step` of what its opening
    asked for, if that is more. It accepts what is no worse for it than its own next offer, and in the last round
    whatever is no loss.

    Args:
        agent_id: Its seat id.
        relative: Whether it answers shares of the gap and not amounts.
        first_step: What it gives up on its second offer, as a part of the surplus of its opening.
        anchor: As in `TimeDependent`.
        firm: As in `Negotiator`.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        relative: bool = False,
        first_step: Part = 0.1,
        anchor: Part = 0.4,
        firm: bool = False,
    ) -> None:
        super().__init__(agent_id, firm=firm)
        self.relative = relative
        self.first_step = first_step
        self.anchor = anchor

    def ask(self, table: Table) -> float:
        """Return what is left of what it last asked for."""
        least, opening = stance(table, self.anchor, choose_items(table))
        asked = table.memo.asked
        if asked is None:
            return opening
        given = self._returned(table, asked)
        if table.memo.offers == 1:
            given = max(given, self.first_step * (opening - least))
        return max(min(least, asked), asked - given)

    def least(self, table: Table, ask: float) -> float:
        """Return what it asks for; in the last round anything is better than nothing."""
        return 0.0 if table.last else ask

    def _returned(self, table: Table, asked: float) -> float:
        """Return what it gives up for what the other has given up."""
        before, now = table.memo.answered, table.memo.heard
        if before is None or now is None or now <= before:
            return 0.0
        if not self.relative:
            return now - before
        return max(0.0, asked - now) * min(1.0, (now - before) / (asked - before)) if asked > before else 0.0
