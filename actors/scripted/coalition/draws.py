"""Plausible random actions for the coalition game."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType

from actors.scripted.coalition.sharing import divide, partners
from actors.scripted.coalition.situation import read_discovery, read_proposal
from actors.turn import Turn
from sim.game import ActionType
from sim.games.coalition.actions import Abort, Decline, Deploy, Initiate, Modify, Reject, Sign

MOST_OWED = 3
"""The most units that a drawn version has a member owe."""


def _initiate(turn: Turn) -> ActionType:
    """Invite those who provide what is lacking, or now and then anybody, and as many as it happens."""
    found, rng = read_discovery(turn), turn.rng
    needed = partners(found, 0, rng)
    if needed is None or rng.random() < 0.2:
        peers = [peer.id for peer in found.peers]
        least = min(found.task.quorum - 1, len(peers))
        invited = rng.sample(peers, rng.randint(least, len(peers)))
    else:
        invited = [agent.id for agent in needed if agent.id != found.me]
    members = [found.me, *invited]
    return Initiate(
        task=found.task.id,
        invited=tuple(invited),
        allocation=_shares(found.task.value, members, rng),
        commitment={member: rng.randint(0, MOST_OWED) for member in members},
    )


def _modify(turn: Turn) -> ActionType:
    """Share out anew among those who stay; who owes what stays as it is."""
    offer, rng = read_proposal(turn), turn.rng
    members = [agent.id for agent in offer.staying]
    shares = _shares(offer.task.value, members, rng)
    return Modify(formation=offer.formation, parent=offer.version.digest, allocation=shares)


def _sign(turn: Turn) -> ActionType:
    offer = read_proposal(turn)
    commit = turn.rng.random() < 0.5 and offer.can_commit
    return Sign(formation=offer.formation, digest=offer.version.digest, commit=commit)


def _shares(value: int, members: Sequence[str], rng: Random) -> dict[str, int]:
    """Share out evenly half of the time, else by drawn weights."""
    even = rng.random() < 0.5
    return divide(value, {member: 1 if even else rng.randint(1, 4) for member in members})


DRAWS: Mapping[type[ActionType], Callable[[Turn], ActionType]] = MappingProxyType(
    {
        Initiate: _initiate,
        Decline: lambda turn: Decline(),
        Sign: _sign,
        Modify: _modify,
        Reject: lambda turn: Reject(),
        Deploy: lambda turn: Deploy(),
        Abort: lambda turn: Abort(),
    }
)
"""A function for each action type that draws an action for a turn."""
