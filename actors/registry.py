"""The agents that a line-up can name, and how options from YAML become one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, get_type_hints

import msgspec

from actors.agent import Agent
from actors.doc_text import parameter_text, summary
from actors.importing import import_named
from actors.learning.coalition import CoalitionLearner
from actors.scripted.bargaining.concession import Boulware, Conceder, Linear, TimeDependent, TitForTat
from actors.scripted.bargaining.exchange import DoubleAuction, NashSplitter, Rubinstein, ZeroIntelligenceTrader
from actors.scripted.bargaining.shopping import Shopper
from actors.scripted.coalition.legislature import BaronFerejohn
from actors.scripted.coalition.rule_based import CoalitionAgent
from actors.scripted.common import PassAgent, RandomAgent
from actors.scripted.principal_agent.delegating import DelegatingWorker
from actors.scripted.principal_agent.oracle import HonestOracle, LenientOracle, NoisyOracle
from actors.scripted.principal_agent.principal import FixedPrincipal, LinearPrincipal, OptimalPrincipal
from actors.scripted.principal_agent.worker import BestResponseWorker, Shirker
from actors.scripted.provision_point.collusion import Colluder
from actors.scripted.provision_point.contributors import Coordinator, FreeRider, RationalContributor, ZeroIntelligence
from actors.scripted.provision_point.pledge import Pledger
from actors.type_text import type_text, value_text
from sim.errors import ConfigError, nearest

AGENTS: Final[Mapping[str, type[Agent]]] = MappingProxyType(
    {
        "baron_ferejohn": BaronFerejohn,
        "best_response_worker": BestResponseWorker,
        "boulware": Boulware,
        "coalition_agent": CoalitionAgent,
        "coalition_learner": CoalitionLearner,
        "colluder": Colluder,
        "conceder": Conceder,
        "coordinator": Coordinator,
        "delegating_worker": DelegatingWorker,
        "double_auction": DoubleAuction,
        "fixed_principal": FixedPrincipal,
        "free_rider": FreeRider,
        "honest_oracle": HonestOracle,
        "lenient_oracle": LenientOracle,
        "linear": Linear,
        "linear_principal": LinearPrincipal,
        "nash_splitter": NashSplitter,
        "noisy_oracle": NoisyOracle,
        "optimal_principal": OptimalPrincipal,
        "pass": PassAgent,
        "pledger": Pledger,
        "random": RandomAgent,
        "rational": RationalContributor,
        "rubinstein": Rubinstein,
        "shirker": Shirker,
        "shopper": Shopper,
        "time_dependent": TimeDependent,
        "tit_for_tat": TitForTat,
        "zero_intelligence": ZeroIntelligence,
        "zero_intelligence_trader": ZeroIntelligenceTrader,
    }
)
"""Agent classes by kind."""


class Parameter(msgspec.Struct, frozen=True):
    """An option of an agent.

    Attributes:
        name: Its name.
        type: What it takes, in words.
        default: Its default as text; None when it must be given.
        about: What it means, in one sentence.
    """

    name: str
    type: str
    default: str | None
    about: str = ""


class AgentInfo(msgspec.Struct, frozen=True):
    """What there is to know of a kind of agent.

    Attributes:
        kind: Its name in a line-up.
        games: The games that it plays; empty means any.
        summary: What it does, in one line.
        parameters: Its options.
    """

    kind: str
    games: tuple[str, ...]
    summary: str
    parameters: tuple[Parameter, ...]


def make_agent(kind: str, agent_id: str, options: Mapping[str, Any] = MappingProxyType({})) -> Agent:
    """Make an agent of a kind.

    Args:
        kind: A name in `AGENTS`, or the import path of an `Agent` subclass, `package.module:Class`.
        agent_id: Its seat id.
        options: Its keyword parameters; types are checked strictly.

    Raises:
        ConfigError: The kind or an option does not exist, or an option is of the wrong type.
    """
    cls = find_agent(kind)
    values = _convert(kind, cls, options)
    try:
        return cls(agent_id, **values)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"agent {kind} cannot be made with {dict(options)}: {error}") from error


def check_options(agent: Agent) -> None:
    """Check the options of an agent that was made in Python, as far as it still holds them by their names.

    Agents of `AGENTS` alone: what others make of their options is their own affair.

    Raises:
        ConfigError: An option is of the wrong type or out of bounds.
    """
    cls, held = type(agent), vars(agent)
    if cls in AGENTS.values():
        _convert(cls.__name__, cls, {name: held[name] for name in _parameters(cls) if name in held})


def find_agent(kind: str) -> type[Agent]:
    """Return the class of a kind of agent.

    Raises:
        ConfigError: There is none.
    """
    if ":" in kind:
        return _imported(kind)
    cls = AGENTS.get(kind)
    if cls is None:
        raise ConfigError(
            f"kind={kind!r}: no such agent{nearest(kind, AGENTS)}; "
            f"allowed are {', '.join(AGENTS)}, or an import path package.module:Class"
        )
    return cls


def describe_agents() -> list[AgentInfo]:
    """Return what there is to know of each kind, in the order of `AGENTS`."""
    return [describe_agent(kind) for kind in AGENTS]


def describe_agent(kind: str) -> AgentInfo:
    """Return what there is to know of a kind.

    Raises:
        ConfigError: There is no such kind.
    """
    cls = find_agent(kind)
    parameters = tuple(
        Parameter(
            name,
            type_text(hint),
            None if default is msgspec.NODEFAULT else value_text(default),
            parameter_text(cls, name),
        )
        for name, (hint, default) in _parameters(cls).items()
    )
    return AgentInfo(kind, tuple(getattr(cls, "games", ())), summary(cls), parameters)


def _imported(path: str) -> type[Agent]:
    module, name = import_named("kind", path)
    found = getattr(module, name, None)
    if found is None:
        classes = [n for n, value in vars(module).items() if isinstance(value, type) and issubclass(value, Agent)]
        raise ConfigError(f"kind={path!r}: {module.__name__} has no {name!r}{nearest(name, classes)}")
    if not (isinstance(found, type) and issubclass(found, Agent)):
        raise ConfigError(f"kind={path!r}: {name} is not a subclass of actors.Agent")
    return found


# ── options ─────────────────────────────────────────────────────────────────────────────────────────────


def _parameters(cls: type[Agent]) -> Mapping[str, tuple[Any, Any]]:
    """Return type and default of each option of a class: its constructor's parameters after the seat id."""
    init = cls.__init__
    try:
        hints = get_type_hints(init, include_extras=True)
    except Exception as error:  # a hint may be any expression
        raise ConfigError(f"the types of the parameters of {cls.__name__} cannot be read: {error}") from error
    found = {}
    for parameter in list(inspect.signature(init).parameters.values())[2:]:
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
            found[parameter.name] = (hints.get(parameter.name, Any), default)
    return MappingProxyType(found)


def _options_type(cls: type[Agent]) -> type[msgspec.Struct]:
    # No defaults of its own: options that are not given are left to the constructor.
    fields = [(name, hint, None) for name, (hint, _) in _parameters(cls).items()]
    return msgspec.defstruct(f"{cls.__name__}Options", fields, kw_only=True, forbid_unknown_fields=True)


def _convert(kind: str, cls: type[Agent], options: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _parameters(cls)
    for key in options:
        if key not in parameters:
            allowed = ", ".join(parameters) or "none"
            raise ConfigError(
                f"{key}={options[key]!r}: agent {kind} has no such option{nearest(str(key), parameters)}; "
                f"allowed are {allowed}"
            )
    for key, (hint, default) in parameters.items():
        if default is msgspec.NODEFAULT and key not in options:
            raise ConfigError(f"agent {kind} needs the option {key}: {type_text(hint)}")
    try:
        converted = msgspec.convert(dict(options), _options_type(cls))
    except msgspec.ValidationError as error:
        raise _wrong_value(kind, options, parameters, error) from None
    for key in options:
        value = getattr(converted, key)
        if isinstance(value, float) and not isfinite(value):
            raise ConfigError(
                f"{key}={value}: option of agent {kind}; allowed is a finite {type_text(parameters[key][0])}"
            )
    return {key: getattr(converted, key) for key in options}


def _wrong_value(
    kind: str, options: Mapping[str, Any], parameters: Mapping[str, tuple[Any, Any]], error: Exception
) -> ConfigError:
    where = re.search(r"`\$\.(\w+)(.*)`", str(error))
    if where is None or where[1] not in options:
        return ConfigError(f"options of agent {kind}: {error}")
    key = where[1]
    inside = f" ({key}{where[2]}: {str(error).partition(' - at ')[0]})" if where[2] else ""
    return ConfigError(
        f"{key}={options[key]!r}: option of agent {kind}; allowed is {type_text(parameters[key][0])}{inside}"
    )
