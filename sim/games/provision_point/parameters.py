"""The parameters of the provision-point game, checked; the rules of both modes read them."""

from __future__ import annotations

from math import isfinite
from random import Random
from typing import Literal

import msgspec

from sim.errors import ConfigError
from sim.game import Game

LARGEST = 1e15
"""Largest threshold and endowment: beyond it a float no longer tells cents apart, and sums could overflow."""


class Parameters(Game, frozen=True, kw_only=True):
    """What a provision-point game is played with.

    Attributes:
        mode: "full" has a coordinator and the phases announce, signal and commit; "simple" only commit.
        threshold: Total that funds the project, in the game's currency.
        endowment: Most that a contributor can commit (full mode).
        valuation_mode: "random" draws from `valuation_range`, "fixed" takes `valuations`, "auto" lets
            contributors declare theirs (full mode). None: "fixed" where valuations are given, else "random".
        valuations: What the project is worth to each contributor, by seat id. In simple mode these are the
            reservation values. A coordinator's entry is ignored.
        valuation_range: Lowest and highest random valuation.
        allow_commitment_updates: Whether commitments may be revised and withdrawn (full mode).
        max_rounds_announce: Turns that the coordinator has to announce.
        max_rounds_signal: Rounds of signals.
        max_rounds_commit: Rounds of commitments.
    """

    mode: Literal["full", "simple"] = "full"
    threshold: float = 100.0
    endowment: float = 80.0
    valuation_mode: Literal["random", "fixed", "auto"] | None = None
    valuations: dict[str, float] | None = None
    valuation_range: tuple[float, float] = (0.0, 150.0)
    allow_commitment_updates: bool = True
    max_rounds_announce: int = 2
    max_rounds_signal: int = 3
    max_rounds_commit: int = 6

    def __post_init__(self) -> None:
        Game.__post_init__(self)
        if self.valuation_mode is None:
            mode: Literal["random", "fixed"] = "random" if self.valuations is None else "fixed"
            msgspec.structs.force_setattr(self, "valuation_mode", mode)
        self._check_amounts()
        self._check_valuations()

    def _check_amounts(self) -> None:
        for key in ("threshold", "endowment"):
            value = getattr(self, key)
            if not 0 < value <= LARGEST:
                raise ConfigError(f"{key}={value}: a finite amount above 0 and at most {LARGEST:g} is needed")
        for key in ("max_rounds_announce", "max_rounds_signal", "max_rounds_commit"):
            if getattr(self, key) < 1:
                raise ConfigError(f"{key}={getattr(self, key)}: at least 1 is needed")

    def _check_valuations(self) -> None:
        low, high = self.valuation_range
        if not (isfinite(low) and isfinite(high) and 0 <= low <= high):
            raise ConfigError(f"valuation_range=({low}, {high}): two finite amounts are needed, 0 <= lowest <= highest")
        if self.valuation_mode == "fixed" and self.valuations is None:
            raise ConfigError("valuation_mode=fixed needs valuations, one for each contributor by seat id")
        if self.valuation_mode != "fixed" and self.valuations is not None:
            raise ConfigError(f"valuations are given, but valuation_mode is {self.valuation_mode}; fixed uses them")
        if self.valuation_mode == "auto" and self.mode == "simple":
            raise ConfigError("valuation_mode=auto needs mode=full: in simple mode nobody declares a valuation")
        for agent_id, value in (self.valuations or {}).items():
            if not isfinite(value):
                raise ConfigError(f"valuations.{agent_id}={value}: a finite amount is needed")

    def draw_valuations(self, agent_ids: tuple[str, ...], rng: Random) -> list[float | None]:
        """Return the valuation of each contributor as the mode says; None where it is yet to be declared."""
        if self.valuation_mode == "auto":
            return [None] * len(agent_ids)
        if self.valuations is not None:
            return [self.valuations[a] for a in agent_ids]
        return [rng.uniform(*self.valuation_range) for _ in agent_ids]
