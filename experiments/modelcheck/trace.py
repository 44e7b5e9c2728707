"""A path through the small world in words: who sent what, what was read, and what followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from experiments.modelcheck.places import Step
from experiments.modelcheck.world import ASKS, Message, Move, SmallWorld
from sim.games.coalition.items import (
    Aborted,
    Activated,
    Checked,
    Effect,
    Failed,
    Left,
    Proposed,
    Reached,
    Signed,
)


def describe(small: SmallWorld, path: Iterable[Move]) -> Iterator[str]:
    """Give a line for each move of a path that begins at the start."""
    state, time = small.start(), 0.0
    for move in path:
        before = state
        state = next(after for name, after in small.moves(state) if name == move)
        if move.name == "waits":
            time += small.wait(before)
            yield f"t={time:g}  time passes"
        else:
            yield f"t={time:g}  {_words(move, small.taken(before, move))}"


def _words(move: Move, step: Step | None) -> str:
    about = move.about
    match move.name:
        case "answers" if move.sent is not None:
            return f"seat {about.seat}, asked {_asked(about)}, sends: {_text(move.sent)}"
        case "withdraws" | "modifies":
            return f"seat {about.seat}, unasked, sends: {_text(about)}"
        case "lost" | "doubled":
            return f"{move.name}: {_text(about)}"
        case _ if step is None:
            return move.name
    read = "the timer is read" if move.name == "tick" else f"read from seat {about.seat}: {_text(about)}"
    if step.refused is not None:
        return f"{read} -> refused: {step.refused}"
    return f"{read} -> {'; '.join(_effect(effect) for effect in step.effects) or 'nothing'}"


def _text(message: Message) -> str:
    kind, seat, formation, version, commit = message
    if kind in ASKS:
        return f"the ask to seat {seat} {_asked(message)}"
    if kind == "initiate":
        return f"initiate{', commit' if commit else ''}"
    about = f"{kind} formation {formation}" + (f" version {version}" if version else "")
    return f"{about}{', commit' if commit else ''}"


def _asked(ask: Message) -> str:
    about = f"about version {ask.version}" if ask.kind == "ask" else "to deploy or abort"
    return f"{about} in formation {ask.formation}"


def _effect(effect: Effect) -> str:
    match effect:
        case Proposed():
            return f"formation {effect.formation}: version {effect.version} of seat {effect.seat}"
        case Signed():
            return f"seat {effect.seat} has signed{', committed' if effect.committed else ''}"
        case Left():
            return f"seat {effect.seat} has {'withdrawn' if effect.withdrew else 'left'}"
        case Checked():
            return f"signers {list(effect.signers)} of {effect.quorum}: {effect.status.replace('_', ' ')}"
        case Reached():
            return f"consensus of seats {list(effect.members)} on version {effect.version}"
        case Activated():
            return f"formation {effect.formation} is active{' at once' if effect.auto else ''}"
        case Aborted():
            return f"formation {effect.formation} is aborted ({effect.reason})"
        case Failed():
            return f"formation {effect.formation} has failed ({effect.reason})"
