"""The core: divisions of what all players make together that no coalition would rather leave."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

import msgspec

from experiments.cooperative.worth import Worth, membership, tabulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOLERANCE = 1e-9
"""What counts as nothing, as a part of the largest worth of any coalition."""

SOLVER_TOLERANCE = 1e-10
"""The strictest that HiGHS knows; it has to be below ours."""


class LeastCore(msgspec.Struct, frozen=True):
    """How near to the core one can get.

    Attributes:
        epsilon: The most that a coalition could gain by leaving, made as small as possible, in currency. The core
            is empty when it is above 0. Below 0, every coalition would lose at least that much by leaving; -inf
            with a single player, as nobody could leave.
        allocation: A division of what all players are worth that does it, by player.
    """

    epsilon: float
    allocation: list[float]


def in_core(allocation: Sequence[float], worth: Worth) -> bool:
    """Return whether a division is in the core: it shares out what all are worth, and no coalition could get more.

    Differences up to 1e-9 of the largest worth count as none. In a game of costs, whose core is the charges that
    no coalition could undercut, give minus the costs as the worth, and minus the charges as the allocation.

    Gillies (1959), "Solutions to general non-zero-sum games", Contributions to the Theory of Games IV.

    Args:
        allocation: What each player gets, in currency.
        worth: What a coalition is worth; called once for each of the 2**n.
    """
    if not all(isfinite(amount) for amount in allocation):
        raise ValueError(f"allocation={list(allocation)}: finite amounts are needed")
    return _in_core(allocation, tabulate(len(allocation), worth))


def least_core(n: int, worth: Worth) -> LeastCore:
    """Return the least core: the smallest epsilon, and a division at which no coalition gains more by leaving.

    A linear programme with a row for each coalition but the empty one and all. Maschler, Peleg and Shapley (1979),
    "Geometric properties of the kernel, nucleolus, and related solution concepts", Mathematics of Operations
    Research 4.

    Args:
        n: How many players, up to 16.
        worth: What a coalition is worth; called once for each.
    """
    return _least_core(n, tabulate(n, worth))


def core_allocation(n: int, worth: Worth) -> list[float] | None:
    """Return a division in the core, or None where the core is empty.

    It is one of the least core, and so far from where any coalition would leave. `in_core` holds for it.
    """
    table = tabulate(n, worth)
    allocation = _least_core(n, table).allocation
    return allocation if _in_core(allocation, table) else None


def _in_core(allocation: Sequence[float], table: NDArray[np.float64]) -> bool:
    import numpy as np

    slack = TOLERANCE * float(np.abs(table).max())
    paid = membership(len(allocation)) @ np.array(allocation, dtype=float)
    return bool(abs(paid[-1] - table[-1]) <= slack and (paid >= table - slack).all())


def _least_core(n: int, table: NDArray[np.float64]) -> LeastCore:
    import numpy as np
    from scipy.optimize import linprog

    if n == 1:
        return LeastCore(-inf, [float(table[1])])
    scale = float(np.abs(table).max()) or 1.0  # the solver's tolerances are absolute
    inside = membership(n)[1:-1]
    solved = linprog(
        [0] * n + [1],
        A_ub=-np.column_stack([inside, np.ones(len(inside))]),
        b_ub=-table[1:-1] / scale,
        A_eq=[[1] * n + [0]],
        b_eq=[table[-1] / scale],
        bounds=(None, None),
        method="highs",
        options={"primal_feasibility_tolerance": SOLVER_TOLERANCE, "dual_feasibility_tolerance": SOLVER_TOLERANCE},
    )
    if solved.x is None:
        raise ArithmeticError(f"the least core of {n} players was not found: {solved.message}")
    allocation = solved.x[:n] * scale
    allocation += (table[-1] - allocation.sum()) / n  # what the solver's tolerance left over
    epsilon = float((table[1:-1] - inside @ allocation).max())
    return LeastCore(epsilon, [float(amount) for amount in allocation])
