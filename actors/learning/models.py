"""The value models there are, and how one is made from settings or from bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from actors.learning.linear import Linear, LinearModel, LinearState
from actors.learning.plain import from_plain
from actors.learning.tabular import Tabular, TabularModel, TabularState
from actors.learning.value import Feature, Update, ValueModel
from sim.errors import CodecError, ConfigError

__all__ = [
    "Feature",
    "Linear",
    "LinearModel",
    "ModelSpec",
    "Tabular",
    "TabularModel",
    "Update",
    "ValueModel",
    "make_model",
    "model_from_bytes",
    "model_spec",
]

ModelSpec = Tabular | Linear
"""What a model is made with; in YAML its `kind` is "tabular" or "linear"."""

_STATE = msgspec.msgpack.Decoder(TabularState | LinearState)


def model_spec(plain: Mapping[str, Any]) -> ModelSpec:
    """Make the settings of a model from what YAML gave.

    Raises:
        ConfigError: A key does not exist, or holds something else than it may.
    """
    return from_plain(plain, cast("type[ModelSpec]", ModelSpec), "model")


def make_model(spec: ModelSpec) -> ValueModel:
    """Make a model that has learnt nothing yet."""
    return TabularModel(spec) if isinstance(spec, Tabular) else LinearModel(spec)


def model_from_bytes(data: bytes) -> ValueModel:
    """Return the model that `to_bytes` wrote, exactly.

    Raises:
        CodecError: The bytes are not a model.
    """
    try:
        state = _STATE.decode(data)
    except (msgspec.DecodeError, ConfigError) as error:
        raise CodecError(f"these bytes are not a value model: {error}") from None
    if state.version < 0:
        raise CodecError(f"a value model cannot have version {state.version}")
    return TabularModel.from_state(state) if isinstance(state, TabularState) else LinearModel.from_state(state)
