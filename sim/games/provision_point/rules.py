"""The rules of the provision-point game in words, for prompts, people and `quorum games`."""

from __future__ import annotations

from functools import lru_cache

from sim.games.provision_point.parameters import Parameters

_FULL = """\
A coordinator proposes a project that nobody can afford alone. It needs a total of {threshold:g} (the coordinator \
may announce another threshold). The match has three phases.
1. Announce: the coordinator announces the project within {announce} turns, or the match ends unfunded.
2. Signal, {signal} {rounds}: contributors may signal an approximate amount. Signals bind nobody; the last one stands.
3. Commit, at most {commit} {rounds}: contributors submit binding commitments, each above 0 and at most \
{endowment:g}. {updates}
{order} If the total is then at least the threshold, the project is funded: a contributor with a standing commitment \
gets its valuation minus its commitment, everybody else gets 0. Otherwise all commitments are refunded and everybody \
gets 0."""

_FULL_ORDER = {
    "round_robin": (
        "In a round the contributors act first, in order, then the coordinator. The commit phase ends when its "
        "rounds are used up, or after a round in which everybody passed."
    ),
    "concurrent": (
        "Everybody may act at once. A phase ends when its time is up, or when everybody has passed on the latest "
        "state of things or has no action left."
    ),
}

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
All are equal contributors. Each commits once, any amount from 0 up, {order}. As soon as the total reaches \
{threshold:g} the project is funded, and everybody gets their reservation value, committed or not. If {end} and the \
total is short, everybody loses what they committed. {valuations}"""

_SIMPLE_ORDER = {
    "round_robin": ("in turn, within {commit} rounds", "all have committed or the rounds are used up"),
    "concurrent": ("at any time", "all have committed, all have passed or the time is up"),
}


def text(game: Parameters, role: str) -> str:
    """Say the rules to someone in this role."""
    numbers = (game.max_rounds_announce, game.max_rounds_signal, game.max_rounds_commit)
    order, valuation_mode = game.turn_order, game.valuation_mode or "random"
    if game.mode == "simple":
        return _simple(game.threshold, valuation_mode, *game.valuation_range, game.max_rounds_commit, order)
    said = _full(game.threshold, game.endowment, game.allow_commitment_updates, numbers, order)
    if role == "coordinator":
        return f"You are the coordinator.\n{said} You get 0 either way; you want the project to be funded."
    low, high = game.valuation_range
    return f"You are a contributor. {_VALUATIONS[valuation_mode].format(low=low, high=high)}\n{said}"


# Every seat of every match is told; the parts are the key, for a game may hold a dict and cannot be one.
@lru_cache(maxsize=64)
def _full(threshold: float, endowment: float, updates: bool, rounds: tuple[int, int, int], order: str) -> str:
    announce, signal, commit = rounds
    return _FULL.format(
        threshold=threshold,
        endowment=endowment,
        announce=announce,
        signal=signal,
        commit=commit,
        rounds="rounds" if order == "round_robin" else "actions each",
        updates=_UPDATES[updates],
        order=_FULL_ORDER[order],
    )


@lru_cache(maxsize=64)
def _simple(threshold: float, valuation_mode: str, low: float, high: float, commit: int, order: str) -> str:
    valuations = _VALUATIONS[valuation_mode].format(low=low, high=high)
    when, end = _SIMPLE_ORDER[order]
    return _SIMPLE.format(
        threshold=threshold,
        order=when.format(commit=commit),
        end=end,
        valuations=valuations.replace("valuation", "reservation value"),
    )
