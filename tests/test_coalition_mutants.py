"""Wrong rules in a whole match: the game's own checks catch them, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import mutants
import pytest
from coalition_players import move

from sim.games.coalition import CoalitionGame
from sim.games.coalition.core import CORE, Core
from sim.games.coalition.state import CoalitionState
from sim.rng import generator
from sim.testing import MatchByHand


def playing(core: Core) -> CoalitionGame:
    """Return the game by other rules."""
    rules = core

    class OtherState(CoalitionState, kw_only=True, dict=True):
        core = rules

    class Other(CoalitionGame, frozen=True, kw_only=True, dict=True):
        def start(self, agent_ids: tuple[str, ...], rng: Random) -> Any:
            made = super().start(agent_ids, rng)
            return OtherState(**{name: getattr(made, name) for name in made.__struct_fields__})

    return Other(tasks=6, seconds=1.0, quorum=3, requires=0, units=4, discoverers=2, max_versions=4, turn_timeout=0.4)


def hurry(match: MatchByHand, rng: Random) -> None:
    """Play one item: an answer, perhaps a late one, perhaps twice or of what was there before, or time that passes."""
    turns = match.open_turns()
    if not turns or rng.random() < 0.15:
        match.lapse()
        return
    match.now += rng.random() * 0.1
    seat, turn = rng.choice(turns)
    ask = match.ask(seat, turn)
    assert ask is not None
    view = msgspec.msgpack.decode(ask.view)
    name, payload = move(view, ask.allowed, rng)
    payload.pop("decision", None)
    if view["step"] == "C2" and name in ("sign", "modify"):
        payload["formation"] = view["formation"]
        if rng.random() < 0.2:  # nobody has read the clock yet
            match.now = max(match.now, view["deadline"] + 0.01)
        for _ in range(rng.choice((1, 1, 2))):
            match.act(seat, name, payload, turn=0)
        if rng.random() < 0.3:
            current = match.judge.state.world.formation(view["formation"]).current.digest  # type: ignore[attr-defined]
            match.act(seat, "modify", {"formation": view["formation"], "parent": current}, turn=0)
        return
    match.act(seat, name, payload, turn=turn)


def violation(core: Core, matches: int) -> str | None:
    """Play matches until an invariant does not hold."""
    game = playing(core)
    for seed in range(matches):
        match, rng = MatchByHand(game, tuple("abcde"), seed).open(), generator(seed, "hurry")
        try:
            while match.outcome is None:
                hurry(match, rng)
                match.judge.state.check()
        except AssertionError as error:
            return str(error)
    return None


@pytest.mark.parametrize(
    ("core", "says"),
    [
        (mutants.CarriesSignatures, "signed the current version"),
        (mutants.CountsMessages, "a signer counts once"),
        (mutants.AcceptsLateSignatures, "one terminal state|signed by the deadline"),
        (mutants.TimerFiresAfterConsensus, "one terminal state"),
        (mutants.ModifiesAfterConsensus, "signed the final digest|signed by the deadline"),
        (mutants.LocksOnlyAtDeployment, "terms bound = terms signed"),
        (mutants.ReleasesTwice, "does not add up|conserved|negative"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_wrong_rules_are_caught_in_a_match(core: Callable[[], Core], says: str) -> None:
    found = violation(core(), 200)
    assert found is not None
    assert any(part in found for part in says.split("|")), found


def test_the_rules_are_not() -> None:
    assert violation(CORE, 40) is None
