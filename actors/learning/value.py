"""What a value model is: it learns the utility of an action in a context, from one utility record per decision.

The estimate is of E[utility | context, action]. How the action came to be chosen does not bias it, so neither the
probability of the choice nor the age of the policy that made it enters an update: a record made under an older version
counts like any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan
from typing import Final

import msgspec

from sim.errors import ConfigError

LARGEST: Final = 1e15
"""Largest utility, in absolute value: of amounts beyond it a float no longer tells cents apart."""

Features = Mapping[str, float]
"""The context of a decision: numbers by name."""


class Feature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number of the context that a model looks at. What lies outside its range counts as the nearest end.

    Attributes:
        name: Its name in the context.
        low: The lowest that it gets, in its own unit.
        high: The highest.
        bins: Into how many equal intervals a table divides the range; 2 for yes or no.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    bins: int = 4

    def __post_init__(self) -> None:
        as_floats(self, "low", "high")
        if not (isfinite(self.low) and isfinite(self.high) and 0 < self.high - self.low <= LARGEST):
            raise ConfigError(
                f"features.{self.name}: low={self.low}, high={self.high}; two finite numbers are needed, "
                f"low < high, at most {LARGEST:g} apart"
            )
        if not 1 <= self.bins <= 1_000_000:
            raise ConfigError(f"features.{self.name}.bins={self.bins}: 1 to 1,000,000 are needed")

    def share(self, features: Features) -> float:
        """Return where in its range the feature stands, from 0 to 1.

        Raises:
            ValueError: The context lacks it, or it is not a number.
        """
        value = features.get(self.name)
        if value is None or isnan(value):
            raise ValueError(f"feature {self.name!r} is {value}; the context has {', '.join(features) or 'none'}")
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)


class Update(msgspec.Struct, frozen=True):
    """A decision and the one utility record that it got.

    Attributes:
        decision_id: Which decision it was.
        features: Its context.
        action: The action taken.
        utility: What came of it, in the currency of the game.
        policy_version: Version of the model when the action was chosen.
    """

    decision_id: str
    features: dict[str, float]
    action: str
    utility: float
    policy_version: int = 0


class ValueModel(ABC):
    """Scores actions by the utility that they have brought.

    The same updates in the same order give the same bytes on any machine: there is no randomness in it, and no sum
    whose order is left to a library.

    Attributes:
        version: How many updates it has learnt from.
    """

    version: int = 0

    @abstractmethod
    def scores(self, features: Features, actions: Sequence[str]) -> list[float]:
        """Return the expected utility of each action, always finite.

        Raises:
            ValueError: A feature is missing or is not a number.
        """

    def learn(self, features: Features, action: str, utility: float) -> None:
        """Learn from one utility record.

        Raises:
            ValueError: A feature is missing or not a number, or the utility is not finite or above 1e15; the model is
                unchanged.
        """
        _check_utility(utility)
        self._learn(features, action, float(utility))
        self.version += 1

    def learn_batch(self, updates: Sequence[Update]) -> None:
        """Learn from several, in the order given: all, or none where one is wrong.

        One model may serve many processes. Each plays with a copy and sends its updates to whoever holds the model;
        see `merge` for an order that does not depend on who was first.

        Raises:
            ValueError: An update is wrong, as in `learn`, or two are of one decision; the model is unchanged.
        """
        seen: set[str] = set()
        for update in updates:
            if update.decision_id in seen:
                raise ValueError(f"decision {update.decision_id!r} has two utility records; it gets exactly one")
            seen.add(update.decision_id)
            _check_utility(update.utility)
            self._check_features(update.features)
        for update in updates:
            self.learn(update.features, update.action, update.utility)

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return the model as bytes: equal models give equal bytes. `model_from_bytes` gives it back."""

    @abstractmethod
    def _learn(self, features: Features, action: str, utility: float) -> None:
        """Learn from a record whose utility has been checked."""

    @abstractmethod
    def _check_features(self, features: Features) -> None:
        """Raise ValueError where the features cannot be learnt from."""


def merge(batches: Iterable[Iterable[Update]]) -> list[Update]:
    """Put batches from several processes into one, in an order that does not depend on which came first.

    The order is by policy version, then decision id. An update that was sent twice counts once.

    Raises:
        ValueError: Two updates of one decision differ.
    """
    found: dict[str, Update] = {}
    for batch in batches:
        for update in batch:
            if found.setdefault(update.decision_id, update) != update:
                raise ValueError(f"decision {update.decision_id!r} has two utility records that differ")
    return sorted(found.values(), key=lambda update: (update.policy_version, update.decision_id))


def as_floats(struct: msgspec.Struct, *keys: str) -> None:
    """Make whole numbers that were given for floats into floats: as bytes they differ."""
    for key in keys:
        value = getattr(struct, key)
        if isinstance(value, int):
            msgspec.structs.force_setattr(struct, key, float(value))


def check_features(features: Sequence[Feature]) -> None:
    """Check the features of a model.

    Raises:
        ConfigError: Two have one name.
    """
    names = [feature.name for feature in features]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"features: {name!r} is there {names.count(name)} times; keep one")


def check_initial(initial: float) -> None:
    """Check an initial value.

    Raises:
        ConfigError: It is not finite or too large.
    """
    if not abs(initial) <= LARGEST:
        raise ConfigError(f"initial={initial}: a number from -{LARGEST:g} to {LARGEST:g} is needed")


def _check_utility(utility: float) -> None:
    if not abs(utility) <= LARGEST:
        raise ValueError(f"the utility is {utility}; a number from -{LARGEST:g} to {LARGEST:g} is needed")
