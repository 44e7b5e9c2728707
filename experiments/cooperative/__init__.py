"""Yardsticks for coalitions: fair and stable divisions, the best way to form them, and textbook equilibria.

Players, agents and tasks are numbered from 0. numpy and scipy are imported when a function needs them.
"""

from __future__ import annotations

from experiments.cooperative.core import LeastCore, core_allocation, in_core, least_core
from experiments.cooperative.formation import best_coalitions
from experiments.cooperative.legislature import LegislativeShares, baron_ferejohn
from experiments.cooperative.shapley import ShapleyEstimate, sampled_shapley_value, shapley_value
from experiments.cooperative.signing import SignEquilibrium, gain_from_signing, sign_game_equilibria
from experiments.cooperative.structure import optimal_structure
from experiments.cooperative.tasks import Agent, BestCoalitions, Coalition, Task
from experiments.cooperative.worth import Worth

__all__ = [
    "Agent",
    "BestCoalitions",
    "Coalition",
    "LeastCore",
    "LegislativeShares",
    "ShapleyEstimate",
    "SignEquilibrium",
    "Task",
    "Worth",
    "baron_ferejohn",
    "best_coalitions",
    "core_allocation",
    "gain_from_signing",
    "in_core",
    "least_core",
    "optimal_structure",
    "sampled_shapley_value",
    "shapley_value",
    "sign_game_equilibria",
]
