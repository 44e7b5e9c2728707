"""A table of values: one cell for each (discretised context, action), each the mean of what it brought.

Source: Sutton and Barto (2018), equation 2.3 for the incremental mean, 2.5 for a constant step size, and section 2.6
for optimistic initial values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import msgspec

from actors.learning.value import Feature, Features, ValueModel, as_floats, check_features, check_initial
from sim.errors import CodecError, ConfigError

Key = tuple[int, ...]


class Tabular(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="tabular"):
    """What a table is made with.

    Attributes:
        features: What of the context it tells apart; the cells are the product of their bins.
        initial: Value of a cell before its first record. Above what is likely to come, it makes a greedy agent try
            every action. With a mean the first record replaces it, with a step size it fades.
        step_size: Constant step size, above 0 and at most 1, to follow a world that changes; None takes the mean.
    """

    features: tuple[Feature, ...] = ()
    initial: float = 0.0
    step_size: float | None = None

    def __post_init__(self) -> None:
        as_floats(self, "initial", "step_size")
        check_features(self.features)
        check_initial(self.initial)
        if self.step_size is not None and not 0 < self.step_size <= 1:
            raise ConfigError(f"step_size={self.step_size}: a number above 0 and at most 1 is needed, or none")


class Cell(msgspec.Struct, array_like=True):
    """A cell of the table.

    Attributes:
        key: The bin of each feature.
        action: The action.
        count: How many records it has had.
        value: Its estimate.
    """

    key: Key
    action: str
    count: int
    value: float


class TabularState(msgspec.Struct, frozen=True, tag_field="kind", tag="tabular"):
    """A table as it is kept: cells in the order of their keys."""

    spec: Tabular
    version: int
    cells: list[Cell]


class TabularModel(ValueModel):
    """A table of values.

    Args:
        spec: What it is made with.
    """

    def __init__(self, spec: Tabular) -> None:
        self.spec = spec
        self._cells: dict[tuple[Key, str], Cell] = {}

    def scores(self, features: Features, actions: Sequence[str]) -> list[float]:
        """Return the value of each action in the cell of this context."""
        key = self.key(features)
        cells, initial = self._cells, self.spec.initial
        return [cell.value if (cell := cells.get((key, action))) else initial for action in actions]

    def count(self, features: Features, action: str) -> int:
        """Return how many records an action has had in the cell of this context."""
        cell = self._cells.get((self.key(features), action))
        return cell.count if cell else 0

    def key(self, features: Features) -> Key:
        """Return the bin of each feature; the top of a range belongs to the last bin."""
        return tuple(min(int(f.share(features) * f.bins), f.bins - 1) for f in self.spec.features)

    def to_bytes(self) -> bytes:
        """Return the table as bytes."""
        cells = [self._cells[key] for key in sorted(self._cells)]
        return msgspec.msgpack.encode(TabularState(self.spec, self.version, cells))

    @classmethod
    def from_state(cls, state: TabularState) -> TabularModel:
        """Return the table that was kept.

        Raises:
            CodecError: The cells are not those of a table of these features.
        """
        model = cls(state.spec)
        model.version = state.version
        model._cells = {(cell.key, cell.action): cell for cell in state.cells}
        bins = [feature.bins for feature in state.spec.features]
        for cell in state.cells:
            inside = len(cell.key) == len(bins) and all(0 <= k < n for k, n in zip(cell.key, bins, strict=True))
            if not inside or cell.count < 1 or not isfinite(cell.value):
                raise CodecError(f"a table has the cell {cell}, which none of its features gives")
        if len(model._cells) != len(state.cells) or sum(cell.count for cell in state.cells) != state.version:
            raise CodecError(f"a table of version {state.version} does not have as many records in its cells")
        return model

    def _learn(self, features: Features, action: str, utility: float) -> None:
        key = self.key(features)
        cell = self._cells.get((key, action))
        if cell is None:
            cell = self._cells[key, action] = Cell(key, action, 0, self.spec.initial)
        cell.count += 1
        cell.value += (utility - cell.value) * (self.spec.step_size or 1.0 / cell.count)

    def _check_features(self, features: Features) -> None:
        self.key(features)
