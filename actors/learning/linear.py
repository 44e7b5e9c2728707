"""Values linear in the features: for each action ridge regression, kept up to date by recursive least squares.

For an action with weights w, covariance P and the context x (a 1 and the features, each scaled to -1 .. 1), a record of
utility u gives

    g = P x,  s = 1 + x'g,  w <- w + (g / s) (u - w'x),  P <- P - g g' / s,

from w = (initial, 0, ..., 0) and P = I / ridge. After n records w is the exact minimiser of
sum (u - w'x)^2 + ridge |w - w_0|^2: there is no step size to tune, and a step costs O(d^2).

Sources: Sherman and Morrison (1950) for the step, as in Sutton and Barto (2018), equation 9.22; the same estimate for
each action as in LinUCB with disjoint models (Li, Chu, Langford and Schapire 2010, algorithm 1).

To follow a world that changes, `drift` moves P back towards its start before a step, P <- P + drift (P_0 - P): the
Kalman filter of weights that wander, with process noise drift (P_0 - P). Dividing P by a forgetting factor instead
lets it grow without bound along what is not observed, and the weights burst (windup). Bounding it by a return to P_0
is the idea of exponential resetting (Salgado, Goodwin and Middleton 1988; surveyed in Lai and Bernstein,
arXiv:2308.04259).

What keeps it from diverging: scaled features are bounded, utilities are bounded, 0 < P <= P_0 always holds, and so a
gain never exceeds that of the first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isfinite
from operator import mul
from typing import TYPE_CHECKING

import msgspec

from actors.learning.value import Feature, Features, ValueModel, as_floats, check_features, check_initial
from sim.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Matrix = NDArray[float64]


class Linear(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="linear"):
    """What a linear model is made with.

    Attributes:
        features: What of the context it looks at; at most 100.
        initial: Value of an action before its first record, in any context.
        ridge: How strongly weights are held to their start, 1e-6 to 1e6: as strongly as by so many records.
        drift: How fast old records lose weight, 0 to below 1; 0 never forgets.
    """

    features: tuple[Feature, ...] = ()
    initial: float = 0.0
    ridge: float = 1.0
    drift: float = 0.0

    def __post_init__(self) -> None:
        as_floats(self, "initial", "ridge", "drift")
        check_features(self.features)
        check_initial(self.initial)
        if len(self.features) > 100:
            raise ConfigError(f"features: {len(self.features)} are given; at most 100 are allowed")
        if not 1e-6 <= self.ridge <= 1e6:
            raise ConfigError(f"ridge={self.ridge}: a number from 1e-6 to 1e6 is needed")
        if not 0 <= self.drift < 1:
            raise ConfigError(f"drift={self.drift}: a number from 0 to below 1 is needed")


class Arm(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of an action: its weights, and its covariance row by row."""

    action: str
    weights: list[float]
    covariance: list[float]


class LinearState(msgspec.Struct, frozen=True, tag_field="kind", tag="linear"):
    """A linear model as it is kept: actions in the order of their names."""

    spec: Linear
    version: int
    arms: list[Arm]


class LinearModel(ValueModel):
    """Values linear in the features.

    Args:
        spec: What it is made with.
    """

    def __init__(self, spec: Linear) -> None:
        self.spec = spec
        self._weights: dict[str, list[float]] = {}
        self._covariances: dict[str, Matrix] = {}

    def scores(self, features: Features, actions: Sequence[str]) -> list[float]:
        """Return the value of each action in this context."""
        x = self._context(features)
        known, initial = self._weights, self.spec.initial
        return [_dot(weights, x) if (weights := known.get(action)) else initial for action in actions]

    def weights(self, action: str) -> list[float]:
        """Return the weights of an action: of the constant, then of each feature scaled to -1 .. 1."""
        return list(self._weights.get(action) or self._start())

    def covariance(self, action: str) -> Matrix:
        """Return a copy of the covariance of an action's weights, in units of the variance of a utility."""
        found = self._covariances.get(action)
        return self._prior() if found is None else found.copy()

    def to_bytes(self) -> bytes:
        """Return the model as bytes."""
        arms = [Arm(a, self._weights[a], self._covariances[a].ravel().tolist()) for a in sorted(self._weights)]
        return msgspec.msgpack.encode(LinearState(self.spec, self.version, arms))

    @classmethod
    def from_state(cls, state: LinearState) -> LinearModel:
        """Return the model that was kept.

        Raises:
            CodecError: The weights are not those of a model of these features.
        """
        import numpy as np

        model = cls(state.spec)
        model.version = state.version
        size = len(state.spec.features) + 1
        for arm in state.arms:
            sizes = len(arm.weights), len(arm.covariance)
            if sizes != (size, size * size) or not all(map(isfinite, arm.weights + arm.covariance)):
                raise CodecError(f"the weights of {arm.action!r} are not those of a model of {size - 1} features")
            model._weights[arm.action] = arm.weights
            model._covariances[arm.action] = np.array(arm.covariance, np.float64).reshape(size, size)
        if len(model._weights) != len(state.arms) or len(state.arms) > state.version:
            raise CodecError(f"a linear model of version {state.version} cannot have learnt {len(state.arms)} actions")
        return model

    def _learn(self, features: Features, action: str, utility: float) -> None:
        import numpy as np

        x = self._context(features)
        weights = self._weights.get(action) or self._start()
        covariance = self._covariances.get(action)
        if covariance is None:
            covariance = self._prior()
        elif self.spec.drift:
            covariance = covariance + self.spec.drift * (self._prior() - covariance)
        # Sums in a stated order: a matrix product leaves it to the linear algebra library and to the processor.
        gain = np.add.accumulate(covariance * np.array(x), axis=1)[:, -1]
        g = gain.tolist()
        s = 1.0 + max(0.0, _dot(g, x))  # rounding must not make a variance negative, and the gain unbounded
        step = (utility - _dot(weights, x)) / s
        self._weights[action] = [w + step * k for w, k in zip(weights, g, strict=True)]
        self._covariances[action] = covariance - np.multiply.outer(gain, gain) / s

    def _check_features(self, features: Features) -> None:
        self._context(features)

    def _context(self, features: Features) -> list[float]:
        return [1.0, *(2.0 * feature.share(features) - 1.0 for feature in self.spec.features)]

    def _start(self) -> list[float]:
        return [self.spec.initial, *[0.0] * len(self.spec.features)]

    def _prior(self) -> Matrix:
        import numpy as np

        prior: Matrix = np.eye(len(self.spec.features) + 1) / self.spec.ridge
        return prior


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return fsum(map(mul, a, b))
