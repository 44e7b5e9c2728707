"""Bargaining of many over a division by vote, and what the proposer and its partners get."""

from __future__ import annotations

import msgspec


class LegislativeShares(msgspec.Struct, frozen=True):
    """Who gets which part of what is divided; all others get nothing.

    Attributes:
        proposer: The part of the proposer.
        partner: The part of each partner.
        partners: How many partners are paid.
    """

    proposer: float
    partner: float
    partners: int


def baron_ferejohn(n: int, discount: float, quorum: int | None = None) -> LegislativeShares:
    """Return the division in the symmetric stationary equilibrium under the closed rule.

    In each round one of n members, each as likely, proposes how to divide 1; it passes when `quorum` members, the
    proposer included, vote for it; otherwise the round ends and the next counts `discount` as much. Before a round
    each member expects 1/n, so a vote costs discount/n. The proposer buys as few as it needs, and keeps the rest:
    1 - discount (quorum - 1) / n. The first proposal passes.

    Baron and Ferejohn (1989), "Bargaining in legislatures", American Political Science Review 83, for a majority of
    an odd number. That the payoffs are the only stationary ones for any quorum is in Eraslan (2002), "Uniqueness of
    stationary equilibrium payoffs in the Baron-Ferejohn model", Journal of Economic Theory 103.

    Args:
        n: How many members, the proposer included.
        discount: What a round later is worth, from 0 to 1.
        quorum: Votes needed; None: a majority, more than half.
    """
    if n < 1:
        raise ValueError(f"n={n}: 1 or more members are needed")
    if not 0 <= discount <= 1:
        raise ValueError(f"discount={discount}: between 0 and 1 is needed")
    needed = n // 2 + 1 if quorum is None else quorum
    if not 1 <= needed <= n:
        raise ValueError(f"quorum={quorum}: between 1 and {n}, the number of members, is needed")
    return LegislativeShares(1 - discount * (needed - 1) / n, discount / n, needed - 1)
