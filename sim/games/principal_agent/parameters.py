"""The parameters of the principal-agent game, checked; the rules of all its shapes read them."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from sim.errors import ConfigError, nearest
from sim.game import Game
from sim.games.principal_agent.contract import OutcomeLevel, read

MOST_LEVELS: Final = 5
"""Deepest that a chain may go: levels of contracts inside the outer one."""

DEFAULT_LEVELS: Final = (
    OutcomeLevel("fail", 0.0, 0.0),
    OutcomeLevel("partial", 50.0, 3.0),
    OutcomeLevel("success", 80.0, 10.0),
)

_OF_A_SHAPE: Final = {"winners": ("bounty", 1), "accept_level": ("bounty", None), "depth": ("chain", 1)}
_LEAST: Final = {"max_clarify_rounds": 0, "max_rounds_offer": 1, "winners": 1}


class Parameters(Game, frozen=True, kw_only=True):
    """What a principal-agent game is played with.

    Attributes:
        outcome_levels: What is paid from which score on, where a contract says nothing else.
        max_clarify_rounds: Questions that a worker may have answered about a contract; 0 leaves the phase out.
        max_rounds_offer: Turns that the principal has to post the contract.
        shape: "single" is one worker; in a "bounty" several workers accept and deliver at the same time; in a
            "chain" a worker may post a contract of its own for a part of its task.
        oracle: "independent" has a seat that scores; with "consumer" the principal scores what it gets.
        winners: Deliverables that are paid (bounty).
        accept_level: Label of the outcome level, or score, from which on a deliverable is paid (bounty). None:
            the highest level of the contract.
        depth: Levels of contracts inside the outer one (chain): with 2 there may be three contracts.
    """

    outcome_levels: tuple[OutcomeLevel, ...] = DEFAULT_LEVELS
    max_clarify_rounds: int = 2
    max_rounds_offer: int = 2
    shape: Literal["single", "bounty", "chain"] = "single"
    oracle: Literal["independent", "consumer"] = "independent"
    winners: int = 1
    accept_level: str | float | None = None
    depth: int = 1

    def __post_init__(self) -> None:
        Game.__post_init__(self)
        try:
            levels = read(self.outcome_levels)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        msgspec.structs.force_setattr(self, "outcome_levels", levels)
        for key, (shape, default) in _OF_A_SHAPE.items():
            if self.shape != shape and getattr(self, key) != default:
                raise ConfigError(f"{key}={getattr(self, key)} needs shape={shape}, not shape={self.shape}")
        for key, least in _LEAST.items():
            if getattr(self, key) < least:
                raise ConfigError(f"{key}={getattr(self, key)}: at least {least} is needed")
        if not 1 <= self.depth <= MOST_LEVELS:
            raise ConfigError(f"depth={self.depth}: from 1 to {MOST_LEVELS} levels are possible")
        self._check_accept_level()

    def _check_accept_level(self) -> None:
        accepted = self.accept_level
        if isinstance(accepted, str):
            labels = [level.label for level in self.outcome_levels]
            if accepted not in labels:
                unknown = f"there is no such outcome level{nearest(accepted, labels)} (there is: {', '.join(labels)})"
                raise ConfigError(f"accept_level={accepted}: {unknown}")
        elif accepted is not None and not 0 <= accepted <= 100:
            raise ConfigError(f"accept_level={accepted}: a label or a score from 0 to 100 is needed")

    def accepted_from(self, levels: tuple[OutcomeLevel, ...]) -> float:
        """Return the lowest score that a bounty with these levels pays.

        Raises:
            ValueError: `accept_level` is a label that is not among them.
        """
        accepted = self.accept_level
        if accepted is None:
            return levels[-1].threshold
        if not isinstance(accepted, str):
            return accepted
        for level in levels:
            if level.label == accepted:
                return level.threshold
        raise ValueError(f"outcome_levels: this bounty pays from level {accepted} on, so a level of that label is due")

    def parties(self, seats: int) -> list[tuple[int, int, int]]:
        """Return principal, worker and oracle of each contract that there can be, as seat numbers.

        Bounty: a contract with each worker. Chain: the outer contract, then those inside it, by level; the worker
        of a level is the principal of the next.

        Args:
            seats: How many seats there are.
        """
        consumer = self.oracle == "consumer"
        if self.shape == "bounty":
            last = seats if consumer else seats - 1
            return [(0, worker, 0 if consumer else last) for worker in range(1, last)]
        made, principal, step = [], 0, 1 if consumer else 2
        for level in range(1 + (self.depth if self.shape == "chain" else 0)):
            worker = 1 + level * step
            made.append((principal, worker, principal if consumer else worker + 1))
            principal = worker
        return made
