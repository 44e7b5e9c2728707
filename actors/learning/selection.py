"""Selection functions: how an agent goes from the scores of its actions to one action, and with what probability.

Each is a distribution over a finite list of actions, and one uniform draw picks from it by inversion. The draw is a
function of (seed, agent id, decision id), so the same decision falls the same way under every schedule and runtime.

Scores may be infinite: -inf is worse and inf is better than any finite score. NaN is a mistake of the model that gave
it, and refused. An action that is not legal must be left out of the list: a score of -inf does not keep an
epsilon-greedy agent from exploring it.

Sources: Sutton and Barto, Reinforcement Learning (2nd ed., 2018), section 2.2 for argmax and epsilon-greedy, and
equation 2.11 for softmax, there without a temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import fsum, inf, isfinite, isnan
from types import MappingProxyType
from typing import Any, Final

import msgspec

from actors.learning.exponential import exp
from actors.learning.functions import Options, find_function, function_name
from actors.learning.plain import from_plain
from sim.errors import ConfigError, nearest
from sim.rng import derive

Rule = Callable[[Options], int]
"""A system rule: from the options to the index of the action taken. Pure: it draws nothing and remembers nothing."""

Distribution = Callable[[Options], Sequence[float]]
"""A selection function of one's own: from the options to the probability of each action."""

USES: Final[Mapping[str, str | None]] = MappingProxyType(
    {
        "argmax": None,
        "epsilon_greedy": "epsilon",
        "softmax": "temperature",
        "system_rule": "function",
        "other": "function",
    }
)
"""Kinds of selection function, and the setting that each takes."""


class Choice(msgspec.Struct, frozen=True):
    """What was chosen.

    Attributes:
        index: Its place in the list of actions.
        probability: The probability with which it was chosen, above 0 and at most 1.
        function: The selection function with its parameters, such as "epsilon-greedy(0.1)".
    """

    index: int
    probability: float
    function: str


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A selection function, as YAML sets it.

    Attributes:
        kind: "argmax", "epsilon_greedy", "softmax", "system_rule" or "other".
        epsilon: With "epsilon_greedy": how often it explores, 0 to 1.
        temperature: With "softmax": in the unit of the scores, above 0; the smaller, the closer to argmax.
        function: With "system_rule" and "other": a registered name or an import path, `package.module:function`.
            A system rule may be left out here and given with every decision.
    """

    kind: str = "argmax"
    epsilon: float | None = None
    temperature: float | None = None
    function: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in USES:
            raise ConfigError(
                f"kind={self.kind!r}: no such selection function{nearest(self.kind, USES)}; "
                f"allowed are {', '.join(USES)}"
            )
        used = USES[self.kind]
        for key in ("epsilon", "temperature", "function"):
            value = getattr(self, key)
            if value is not None and key != used:
                takes = f"takes {used}" if used else "takes no setting"
                raise ConfigError(f"{key}={value!r}: kind={self.kind} {takes}; leave {key} out")
        if used and getattr(self, used) is None and self.kind != "system_rule":
            raise ConfigError(f"kind={self.kind} needs {used}")
        if self.epsilon is not None:
            _check_epsilon(self.epsilon)
        if self.temperature is not None:
            _check_temperature(self.temperature)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Selection:
        """Make one of what YAML gave.

        Raises:
            ConfigError: A key does not exist, or holds something else than it may.
        """
        return from_plain(plain, cls, "selection")

    def __str__(self) -> str:
        value = getattr(self, USES[self.kind] or "kind")
        if self.kind == "argmax" or value is None:
            return self.kind.replace("_", "-")
        return _text(self.kind, value)

    def check(self) -> None:
        """Look the function up, if one is named.

        Raises:
            ConfigError: There is none of this name.
        """
        if self.function is not None:
            find_function(self.function)

    def select(
        self, options: Options | Sequence[float], seed: int, agent_id: str, decision_id: str, rule: Rule | None = None
    ) -> Choice:
        """Choose an action.

        Args:
            options: The actions, or only their scores.
            seed: Seed of the agent; the draw depends on it and on the two ids, and on nothing else.
            agent_id: Who decides.
            decision_id: Which decision it is; unique for the agent under this seed.
            rule: The rule, where the kind is "system_rule" and the setting names none.

        Raises:
            ConfigError: The function is not there or gives no valid answer; a rule is missing or has no use.
            ValueError: There are no actions, or a score is NaN.
        """
        if not isinstance(options, Options):
            options = Options(tuple(options))
        if rule is not None and (self.kind != "system_rule" or self.function is not None):
            raise ConfigError(f"a rule was given with the decision, but the selection function is {self}")
        if self.kind == "argmax":
            return argmax(options.scores)
        if self.kind == "system_rule":
            if rule is None and self.function is None:
                raise ConfigError("kind=system_rule needs function, or a rule given with the decision")
            return system_rule(options, rule or find_function(self.function or ""), self.function)
        u = draw(seed, agent_id, decision_id)
        if self.epsilon is not None:
            return epsilon_greedy(options.scores, self.epsilon, u)
        if self.temperature is not None:
            return softmax(options.scores, self.temperature, u)
        return other(options, find_function(self.function or ""), u, self.function)


def draw(seed: int, agent_id: str, decision_id: str) -> float:
    """Return the number, uniform from 0 to below 1, that falls to a decision."""
    return (derive(seed, "selection", agent_id, decision_id) >> 10) * 2.0**-53


def argmax(scores: Sequence[float]) -> Choice:
    """Choose the best score; of equal ones the first in the list. Draws nothing."""
    return Choice(_best(scores), 1.0, "argmax")


def epsilon_greedy(scores: Sequence[float], epsilon: float, u: float) -> Choice:
    """Choose as argmax does with probability 1 - epsilon + epsilon/n, and each other action with epsilon/n.

    Args:
        scores: One for each of the n actions.
        epsilon: How often it explores, 0 to 1; exploring, it may also hit on the best action.
        u: A uniform draw, 0 <= u < 1.
    """
    _check_epsilon(epsilon)
    best = _best(scores)
    share = epsilon / len(scores)
    probabilities = [share] * len(scores)
    probabilities[best] = 1.0 - epsilon + share
    return _drawn(probabilities, u, _text("epsilon_greedy", epsilon))


def softmax(scores: Sequence[float], temperature: float, u: float) -> Choice:
    """Choose each action with probability proportional to exp(score / temperature).

    The maximum is subtracted first, so no score is too large. Near temperature 0 the best actions share the
    probability equally, where argmax takes the first. Those of score inf share it where there are any; -inf has
    probability 0, unless all are -inf and share it.

    Args:
        scores: One for each action.
        temperature: In the unit of the scores, finite and above 0.
        u: A uniform draw, 0 <= u < 1.
    """
    _check_temperature(temperature)
    top = scores[_best(scores)]
    # inf - inf is no number: those at the top weigh 1, whatever the top is.
    weights = [1.0 if score == top else exp((score - top) / temperature) for score in scores]
    total = fsum(weights)
    return _drawn([weight / total for weight in weights], u, _text("softmax", temperature))


def system_rule(options: Options, rule: Rule, name: str | None = None) -> Choice:
    """Choose as a rule says, with certainty. Draws nothing; the rule may not either.

    Args:
        options: The actions.
        rule: The rule.
        name: What the record calls it; None for the name of its function.

    Raises:
        ConfigError: The rule gives something else than the index of an action.
        ValueError: There are no actions, or a score is NaN.
    """
    name = name or function_name(rule)
    _check(options.scores)
    index = rule(options)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(options.scores):
        raise ConfigError(f"function={name}: gave {index!r}; the index of one of {len(options.scores)} is needed")
    return Choice(index, 1.0, _text("system_rule", name))


def other(options: Options, function: Distribution, u: float, name: str | None = None) -> Choice:
    """Choose from the probabilities that a function gives, so that what is recorded is what was drawn from.

    Args:
        options: The actions.
        function: Gives the probability of each action; they add up to 1 within 1e-9.
        u: A uniform draw, 0 <= u < 1.
        name: What the record calls it; None for the name of the function.

    Raises:
        ConfigError: The function gives no probabilities.
        ValueError: There are no actions, or a score is NaN.
    """
    name = name or function_name(function)
    _check(options.scores)
    probabilities = function(options)
    try:
        given = [float(p) for p in probabilities]
    except (TypeError, ValueError):
        given = []
    if len(given) != len(options.scores) or not all(0 <= p < inf for p in given) or abs(fsum(given) - 1.0) > 1e-9:
        raise ConfigError(
            f"function={name}: gave {probabilities!r}; {len(options.scores)} numbers of 0 or more are needed, "
            "the probability of each action, that add up to 1"
        )
    return _drawn(given, u, _text("other", name))


def _drawn(probabilities: Sequence[float], u: float, function: str) -> Choice:
    reached, last = 0.0, -1
    for index, probability in enumerate(probabilities):
        if probability > 0.0:
            reached, last = reached + probability, index
            if u < reached:
                break
    # Rounding may leave the sum just below 1, and u above it: then it is the last that can be chosen.
    return Choice(last, probabilities[last], function)


def _best(scores: Sequence[float]) -> int:
    _check(scores)
    return max(range(len(scores)), key=scores.__getitem__)  # max takes the first of equals


def _check(scores: Sequence[float]) -> None:
    if not scores:
        raise ValueError("there are no actions to choose from")
    for index, score in enumerate(scores):
        if isnan(score):
            raise ValueError(f"the score of action {index} is not a number")


def _check_epsilon(epsilon: float) -> None:
    if not 0 <= epsilon <= 1:
        raise ConfigError(f"epsilon={epsilon}: a probability is needed, 0 to 1")


def _check_temperature(temperature: float) -> None:
    if not (temperature > 0 and isfinite(temperature)):
        raise ConfigError(f"temperature={temperature}: a finite number above 0 is needed; for 0 set kind=argmax")


def _text(kind: str, value: float | str) -> str:
    return f"{kind.replace('_', '-')}({value if isinstance(value, str) else float(value)})"
