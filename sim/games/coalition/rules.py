"""The rules of the coalition game in words, for prompts, people and `quorum games`."""

from __future__ import annotations

from sim.games.coalition.parameters import Parameters

_TEXT = """\
Tasks are discovered over time. A task has a value, a quorum q and a requirement; a coalition that does it shares its \
value out. Any number of formations may be open at once, each in a thread of its own.
1. Discovery. When you discover a task you initiate a formation or decline. You invite peers that you know{exclusive}, \
and put forward version 1: an allocation of the value and a commitment in units for each seat. It carries your \
signature. A formation has {seconds} seconds, or as many as its task says; that never changes.
2. Consensus. Who is invited signs the current version by its digest, modifies it, rejects, or waits (pass). A \
modification names the digest that it replaces; if another came first it is late. A new version carries its author's \
signature only: all others sign again. There are at most {versions} versions. Rejecting is for good, and after \
signing it withdraws your signature. With commit your commitment is locked when you sign; a unit that is locked in \
one formation cannot be locked in another. Who does not answer is asked again while there is time.
There is consensus as soon as q distinct seats have signed the current version, their capabilities added up are what \
the task requires, and everybody who gets a share has signed. From then on nothing about it changes.
3. Activation. If all members have locked what they owe, the coalition is active at once. Otherwise its initiator \
deploys, which locks what is still owed, all or nothing, or aborts, within {activation} seconds; silence aborts.
A formation that fails or is aborted gives every locked unit back. Members of an active coalition get their share of \
the allocation less what the task costs them, which is known to them alone; everybody else gets 0. \
Sign, modify, reject, deploy and abort may be sent at any time, with the number of the formation."""

_EXCLUSIVE = " (a task has one coalition at most: the first to reach consensus; its rivals fail)"


def text(game: Parameters, role: str) -> str:
    """Say the rules to someone in this role."""
    return _TEXT.format(
        exclusive=_EXCLUSIVE if game.exclusive else "",
        seconds=f"{game.seconds:g}",
        versions=game.max_versions,
        activation=f"{game.activation_timeout:g}",
    )
