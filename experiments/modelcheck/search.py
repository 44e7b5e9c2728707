"""Breadth first through every state of a small world, until an invariant does not hold or no state is left."""

from __future__ import annotations

from array import array
from time import perf_counter
from typing import Final

import msgspec

from experiments.modelcheck.config import Config
from experiments.modelcheck.trace import describe
from experiments.modelcheck.world import Move, SmallWorld, State


class Report(msgspec.Struct, frozen=True):
    """What a search found.

    Attributes:
        config: What was searched.
        states: How many states were come to.
        places: How many states of the rules alone.
        transitions: How many moves were tried.
        depth: How many moves it takes to come to the farthest of these states.
        seconds: How long the search took.
        complete: Whether there is no other state; false if it was stopped, by `max_states` or by what it found.
        broken: The invariant that does not hold, or None.
        trace: What led to it, in as few moves as possible, a line each.
    """

    config: Config
    states: int
    places: int
    transitions: int
    depth: int
    seconds: float
    complete: bool
    broken: str | None = None
    trace: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every invariant holds in every state, and no state was left out."""
        return self.complete and self.broken is None

    def __str__(self) -> str:
        config = self.config
        words = ("agents", "versions", "formations", "drops", "duplicates")
        counts = [_count(getattr(config, word), word) for word in words]
        sizes = f"quorum {config.quorum}, {', '.join(counts)}, commit {config.commit}"
        figures = f"{self.states:,} states ({self.places:,} of the rules), {self.transitions:,} transitions"
        lines = [sizes, f"{figures}, depth {self.depth}, {self.seconds:.1f} s"]
        if self.broken is not None:
            lines += [f"broken: {self.broken}", f"moves: {len(self.trace)}"]
            lines += [f"{number:4}  {line}" for number, line in enumerate(self.trace, start=1)]
        elif self.complete:
            lines.append("every invariant holds in every state")
        else:
            lines.append(f"stopped at {config.max_states:,} states; every invariant holds in these")
        return "\n".join(lines)


def _count(number: int, words: str) -> str:
    return f"{number} {words.removesuffix('s') if number == 1 else words}"


class _Found(Exception):
    """The search is over: at this state."""


class _Search:
    def __init__(self, small: SmallWorld) -> None:
        self.small = small
        self.seen: set[bytes] = set()  # looked up, never gone through
        self.parents = array("q")
        self.moves = array("q")
        self.names: dict[Move, int] = {}
        self.transitions = 0
        self.depth = 0
        self.complete = False
        self.broken: str | None = None

    def run(self) -> None:
        level = [(0, self.small.start())]
        self._add(-1, None, level[0][1])
        try:
            while level:
                level = self._next(level)
                self.depth += bool(level)
        except _Found:
            self.depth += 1
        else:
            self.complete = True

    def _next(self, level: list[tuple[int, State]]) -> list[tuple[int, State]]:
        found = []
        for parent, state in level:
            for move, after in self.small.moves(state):
                self.transitions += 1
                if self._add(parent, move, after):
                    found.append((len(self.parents) - 1, after))
        return found

    def _add(self, parent: int, move: Move | None, state: State) -> bool:
        key = _encode(state)
        if key in self.seen:
            return False
        self.seen.add(key)
        self.parents.append(parent)
        self.moves.append(-1 if move is None else self.names.setdefault(move, len(self.names)))
        self.broken = self.small.broken(state)
        if self.broken is not None or len(self.parents) >= self.small.config.max_states:
            raise _Found
        return True

    def path(self) -> list[Move]:
        """Return the moves that lead to the last state, one of the shortest ways."""
        names, moves, at = list(self.names), [], len(self.parents) - 1
        while at > 0:
            moves.append(names[self.moves[at]])
            at = self.parents[at]
        return moves[::-1]


def check(config: Config, small: SmallWorld | None = None) -> Report:
    """Search a small world.

    Args:
        config: How large it is, and how far it is searched.
        small: Another small world of this configuration, as with other rules; None for the rules as they are.
    """
    began = perf_counter()
    search = _Search(small or SmallWorld(config))
    search.run()
    trace = tuple(describe(search.small, search.path())) if search.broken is not None else ()
    return Report(
        config,
        len(search.parents),
        len(search.small.places.facts),
        search.transitions,
        search.depth,
        perf_counter() - began,
        search.complete,
        search.broken,
        trace,
    )


_encode: Final = msgspec.msgpack.Encoder().encode
