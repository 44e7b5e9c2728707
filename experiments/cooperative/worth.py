"""Games with transferable utility: what each coalition can make on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Worth: TypeAlias = Callable[[frozenset[int]], float]
"""What a coalition of players, numbered from 0, is worth in currency; 0 for the empty one."""

MOST_PLAYERS = 16
"""What looks at all coalitions looks at 65,536 of them, and a linear programme over those still takes seconds."""


def members(mask: int) -> tuple[int, ...]:
    """Return the players whose bits are set, by number."""
    return tuple(player for player in range(mask.bit_length()) if mask >> player & 1)


def membership(n: int) -> NDArray[np.int64]:
    """Return a table of who is in which coalition: a row of n zeros and ones for each mask from 0 to 2**n - 1."""
    import numpy as np

    return np.arange(1 << n)[:, None] >> np.arange(n) & 1


def submasks(mask: int) -> NDArray[np.int64]:
    """Return all parts of a coalition as masks, in rising order: the empty one first, itself last."""
    import numpy as np

    found = np.zeros(1, dtype=np.int64)
    for player in members(mask):
        found = np.concatenate([found, found | 1 << player])
    return found


def tabulate(n: int, worth: Worth) -> NDArray[np.float64]:
    """Return what each coalition is worth, by mask: player p is in it if bit p is set.

    Raises:
        ValueError: There are no players or too many, a worth is not finite, or the empty coalition has one.
    """
    import numpy as np

    if not 1 <= n <= MOST_PLAYERS:
        raise ValueError(f"n={n}: between 1 and {MOST_PLAYERS} players are needed, as every coalition is looked at")
    table = np.array([worth(frozenset(members(mask))) for mask in range(1 << n)], dtype=float)
    if not np.isfinite(table).all():
        players = members(int(np.argmin(np.isfinite(table))))
        raise ValueError(f"the worth of {set(players) or '{}'} is not finite; only what is bounded can be compared")
    if table[0] != 0:
        raise ValueError(f"the worth of nobody is {table[0]}; it must be 0")
    return table
