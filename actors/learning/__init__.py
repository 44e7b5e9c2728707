"""Agents that learn: selection functions, value models, and policies on disk."""

from actors.learning.checkpoints import load_policies, policy_file, save_policies, saved_agents
from actors.learning.functions import Options, register
from actors.learning.learner import Chosen, Learner, Lessons
from actors.learning.models import (
    Feature,
    Linear,
    LinearModel,
    ModelSpec,
    Tabular,
    TabularModel,
    Update,
    ValueModel,
    make_model,
    model_from_bytes,
    model_spec,
)
from actors.learning.selection import Choice, Selection
from actors.learning.value import merge

__all__ = [
    "Choice",
    "Chosen",
    "Feature",
    "Learner",
    "Lessons",
    "Linear",
    "LinearModel",
    "ModelSpec",
    "Options",
    "Selection",
    "Tabular",
    "TabularModel",
    "Update",
    "ValueModel",
    "load_policies",
    "make_model",
    "merge",
    "model_from_bytes",
    "model_spec",
    "policy_file",
    "register",
    "save_policies",
    "saved_agents",
]
