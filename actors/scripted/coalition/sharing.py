"""Who is to be in a coalition, and who gets what of its value; shares are whole numbers and add up to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from random import Random
from typing import Literal

from actors.scripted.coalition.situation import Agent, Discovery, Proposal, Task

Sharing = Literal["equal", "proportional"]
"""How a value is shared out: evenly, or by what each provides of what the task requires."""


def partners(found: Discovery, extra: int, rng: Random) -> list[Agent] | None:
    """Choose members for a coalition: as few as the task needs, and so many beyond; None if the peers are too few.

    The seat comes first. Each next one is the peer who provides most of what is still lacking; among equals it is
    drawn.
    """
    chosen = [found.myself]
    peers = list(found.peers)
    rng.shuffle(peers)
    lacking = found.task.lacks([found.capabilities])
    while peers and (any(lacking) or len(chosen) < found.task.quorum + extra):
        best = max(peers, key=lambda peer: _provides(lacking, peer))
        if any(lacking) and not _provides(lacking, best):
            return None
        peers.remove(best)
        chosen.append(best)
        lacking = found.task.lacks(agent.capabilities for agent in chosen)
    return None if any(lacking) or len(chosen) < found.task.quorum else chosen


def _provides(lacking: Sequence[int], agent: Agent) -> int:
    return sum(map(min, lacking, agent.capabilities))


def share_out(task: Task, members: Sequence[Agent], sharing: Sharing, greed: float = 0.0) -> dict[str, int]:
    """Share the value of a task out among members.

    Args:
        task: The task.
        members: Who gets something; the first takes the part `greed` of the value before the rest is shared.
        sharing: How the rest is shared.
        greed: The part that the first keeps for itself beyond its share.
    """
    kept = int(greed * task.value)
    uses = [task.use(agent.capabilities) if sharing == "proportional" else 1 for agent in members]
    shares = divide(task.value - kept, {agent.id: use for agent, use in zip(members, uses, strict=True)})
    shares[members[0].id] += kept
    return shares


def divide(value: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Divide a whole number in proportion to weights, evenly if all are 0; the largest remainders are rounded up."""
    total = sum(weights.values())
    if not total:
        weights, total = dict.fromkeys(weights, 1), len(weights)
    shares = {name: value * weight // total for name, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda name: -(value * weights[name] % total))  # stable: the first of equals
    for name in by_remainder[: value - sum(shares.values())]:
        shares[name] += 1
    return shares


def demand(offer: Proposal, least: float) -> dict[str, int] | None:
    """Return the allocation of a proposal with a share of at least `least` for the seat, or None if there is none.

    What it takes more, all others who stay give in proportion to what they have.
    """
    others = {name: share for name, share in offer.version.allocation.items() if name != offer.me}
    for name in offer.left:
        others.pop(name, None)
    asked = ceil(least)
    if asked > offer.task.value:
        return None
    rest = min(sum(others.values()), offer.task.value - asked)
    return {offer.me: asked, **(divide(rest, others) if others else {})}


def reshare(offer: Proposal, sharing: Sharing, greed: float = 0.0) -> dict[str, int] | None:
    """Return an allocation among those who stay, the seat first, or None if they cannot do the task."""
    others = [agent for agent in offer.staying if agent.id != offer.me]
    myself = [agent for agent in offer.staying if agent.id == offer.me]
    members = [*myself, *others]
    if len(members) < offer.task.quorum or any(offer.task.lacks(agent.capabilities for agent in members)):
        return None
    return share_out(offer.task, members, sharing, greed)
