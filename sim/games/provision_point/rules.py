"""The rules of the provision-point game in words, for prompts, people and `quorum games`."""

from __future__ import annotations

from functools import lru_cache

from sim.games.provision_point.parameters import Parameters

_FULL = """\
A coordinator proposes a project that nobody can afford alone. It needs a total of {threshold:g} (the coordinator \
may announce another threshold). The match has three phases.
1. Announce: the coordinator announces the project within {announce} turns, or the match ends unfunded.
2. Signal, {signal} rounds: contributors may signal an approximate amount. Signals bind nobody; the last one stands.
3. Commit, at most {commit} rounds: contributors submit binding commitments, each above 0 and at most {endowment:g}. \
{updates}
In a round the contributors act first, in order, then the coordinator. The commit phase ends when its rounds are used \
up, or after a round in which everybody passed. If the total is then at least the threshold, the project is funded: \
a contributor with a standing commitment gets its valuation minus its commitment, everybody else gets 0. Otherwise \
all commitments are refunded and everybody gets 0."""

_UPDATES = {
    True: "A commitment can be revised or withdrawn while the phase lasts.",
    False: "A commitment is final.",
}

_VALUATIONS = {
    "auto": "You set your own valuation in private with my_valuation; without one it counts as 0.",
    "fixed": "Your valuation is known to you alone.",
    "random": "Your valuation is known to you alone; each is drawn evenly from {low:g} to {high:g}.",
}

_SIMPLE = """\
All are equal contributors. Each commits once, any amount from 0 up, in turn, within {commit} rounds. As soon as \
the total reaches {threshold:g} the project is funded, and everybody gets their reservation value, committed or not. \
If all have committed or the rounds are used up and the total is short, everybody loses what they committed. \
{valuations}"""


# Every seat of every match is told; the parts are the key, for a game may hold a dict and cannot be one.
@lru_cache(maxsize=64)
def _text(
    mode: str,
    role: str,
    threshold: float,
    endowment: float,
    updates: bool,
    valuation_mode: str,
    low: float,
    high: float,
    rounds: tuple[int, int, int],
) -> str:
    announce, signal, commit = rounds
    valuations = _VALUATIONS[valuation_mode].format(low=low, high=high)
    if mode == "simple":
        return _SIMPLE.format(
            commit=commit, threshold=threshold, valuations=valuations.replace("valuation", "reservation value")
        )
    text = _FULL.format(
        threshold=threshold,
        announce=announce,
        signal=signal,
        commit=commit,
        endowment=endowment,
        updates=_UPDATES[updates],
    )
    if role == "coordinator":
        return f"You are the coordinator.\n{text} You get 0 either way; you want the project to be funded."
    return f"You are a contributor. {valuations}\n{text}"


def text(game: Parameters, role: str) -> str:
    """Say the rules to someone in this role."""
    return _text(
        game.mode,
        role,
        game.threshold,
        game.endowment,
        game.allow_commitment_updates,
        game.valuation_mode or "random",
        *game.valuation_range,
        (game.max_rounds_announce, game.max_rounds_signal, game.max_rounds_commit),
    )
