"""The registry: kinds, import paths, strict options and descriptions."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

import actors
from actors.agent import Agent
from actors.registry import AGENTS, describe_agent, describe_agents, make_agent
from actors.scripted.provision_point.collusion import Colluder
from actors.scripted.provision_point.contributors import RationalContributor
from sim.errors import ConfigError


class Trader(Agent):
    """Trades.

    At length.
    """

    def __init__(self, agent_id: str, *, price: float, name: str = "x", extra: Any = None, open: bool = True) -> None:
        super().__init__(agent_id)
        self.price, self.name, self.extra, self.open = price, name, extra, open


class Plain(Agent):
    """Has no options."""


class Fussy(Agent):
    """Refuses what its types allow."""

    def __init__(self, agent_id: str, *, level: int = 0) -> None:
        super().__init__(agent_id)
        if level > 3:
            raise ValueError("level is at most 3")


class Unread(Agent):
    """Has a hint that cannot be read."""

    def __init__(self, agent_id: str, *, what: Missing = None) -> None:  # type: ignore[name-defined]  # noqa: F821
        super().__init__(agent_id)


def test_every_agent_of_a_line_up_can_be_imported_from_actors() -> None:
    assert {kind.__name__ for kind in AGENTS.values()} <= set(actors.__all__)
    for name in actors.__all__:
        assert getattr(actors, name) is not None


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a module of a user's own agents importable; return its name and a colon."""
    module = ModuleType("a_users_agents")
    for cls in (Trader, Plain, Fussy, Unread):
        setattr(module, cls.__name__, cls)
    module.NUMBER = 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_users_agents", module)
    return "a_users_agents:"


NEEDED: dict[str, dict[str, Any]] = {"pledger": {"share": 0.1}}
"""Options of the kinds that cannot do without."""


@pytest.mark.parametrize("kind", list(AGENTS))
def test_every_kind_is_made_without_options_that_it_does_not_need(kind: str) -> None:
    agent = make_agent(kind, "me", NEEDED.get(kind, {}))
    assert type(agent) is AGENTS[kind]
    assert agent.agent_id == "me"
    assert agent.decides


def test_the_registry_cannot_be_overwritten() -> None:
    with pytest.raises(TypeError):
        AGENTS["rational"] = Agent  # type: ignore[index]


def test_options_reach_the_constructor_in_their_types() -> None:
    agent = make_agent("colluder", "me", {"partners": ["a", "b"], "share": 1})
    assert isinstance(agent, Colluder)
    assert agent.partners == ("a", "b")
    assert isinstance(agent.share, float)
    other = make_agent("rational", "me", {"margin": 0.25})
    assert isinstance(other, RationalContributor)
    assert (other.margin, other.talk, other.valuation) == (0.25, False, None)


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("rationl", {}, ["kind='rationl'", "did you mean rational?", "zero_intelligence", "package.module:Class"]),
        ("xyzzy", {}, ["kind='xyzzy'", "allowed are baron_ferejohn, best_response_worker"]),
        ("rational", {"margn": 1}, ["margn=1", "did you mean margin?", "allowed are margin, valuation, talk"]),
        ("pass", {"patience": 1}, ["patience=1", "allowed are talk"]),
        ("rational", {"margin": "x"}, ["margin='x'", "allowed is number >= 0 and <= 1"]),
        ("rational", {"margin": "0.5"}, ["margin='0.5'", "allowed is number"]),
        ("rational", {"margin": 1.5}, ["margin=1.5", "number >= 0 and <= 1"]),
        ("rational", {"margin": float("nan")}, ["margin=nan", "number >= 0"]),
        ("rational", {"valuation": float("inf")}, ["valuation=inf", "finite number >= 0"]),
        ("rational", {"talk": 1}, ["talk=1", "allowed is true or false"]),
        ("free_rider", {"patience": 1.5}, ["patience=1.5", "whole number >= 0"]),
        (
            "colluder",
            {"partners": ["a", 3]},
            ["partners=['a', 3]", "list of text (partners[1]: Expected `str`, got `int`)"],
        ),
        ("colluder", {"partners": "a2"}, ["partners='a2'", "list of text"]),
        ("no.such:Thing", {}, ["kind='no.such:Thing'", "module 'no.such' cannot be imported"]),
        (":Thing", {}, ["kind=':Thing'", "cannot be imported"]),
        ("actors.agent:Agnt", {}, ["actors.agent has no 'Agnt'", "did you mean Agent?"]),
        ("actors.agent:Action", {}, ["Action is not a subclass of actors.Agent"]),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(kind: str, options: dict[str, Any], says: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        make_agent(kind, "me", options)
    text = str(caught.value)
    assert "\n" not in text
    for part in says:
        assert part in text


def test_what_is_allowed_is_said_once() -> None:
    with pytest.raises(ConfigError) as caught:
        make_agent("boulware", "me", {"exponent": 7})
    assert str(caught.value) == "exponent=7: option of agent boulware; allowed is number > 0 and < 1"


def test_a_users_agent_is_found_by_its_import_path(path: str) -> None:
    agent = make_agent(path + "Trader", "me", {"price": 3, "extra": {"any": [1]}})
    assert isinstance(agent, Trader)
    assert (agent.agent_id, agent.price, agent.name, agent.extra) == ("me", 3.0, "x", {"any": [1]})
    assert type(make_agent(path + "Plain", "me", {})) is Plain


def test_a_users_agent_has_its_options_checked_too(path: str) -> None:
    with pytest.raises(ConfigError, match="needs the option price: number"):
        make_agent(path + "Trader", "me", {})
    with pytest.raises(ConfigError, match=r"opn=False.*did you mean open"):
        make_agent(path + "Trader", "me", {"price": 1, "opn": False})
    with pytest.raises(ConfigError, match=r"depth=1.*allowed are none"):
        make_agent(path + "Plain", "me", {"depth": 1})
    with pytest.raises(ConfigError, match="level is at most 3"):
        make_agent(path + "Fussy", "me", {"level": 4})
    with pytest.raises(ConfigError, match=r"parameters of Unread cannot be read.*Missing"):
        make_agent(path + "Unread", "me", {})
    with pytest.raises(ConfigError, match="NUMBER is not a subclass"):
        make_agent(path + "NUMBER", "me", {})


def test_a_module_that_fails_as_it_is_imported_is_a_mistake_of_the_user(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_agents.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match=r"broken_agents.*ZeroDivisionError"):
        make_agent("broken_agents:Thing", "me", {})


def test_every_kind_is_described_with_its_parameters() -> None:
    infos = {info.kind: info for info in describe_agents()}
    assert list(infos) == list(AGENTS)
    for info in infos.values():
        assert info.summary.endswith(".")
        assert all(p.default is not None for p in info.parameters)
    rational = infos["rational"]
    assert rational.games == ("provision-point",)
    assert [(p.name, p.type, p.default) for p in rational.parameters] == [
        ("margin", "number >= 0 and <= 1", "0.0"),
        ("valuation", "number >= 0 or null", "null"),
        ("talk", "true or false", "false"),
    ]
    assert infos["random"].games == ()
    assert infos["colluder"].parameters[0].type == "list of text"


def test_every_option_is_explained_by_a_sentence_of_the_docstring_it_comes_from() -> None:
    infos = {info.kind: {p.name: p.about for p in info.parameters} for info in describe_agents()}
    for kind, options in infos.items():
        for name, about in options.items():
            assert about.endswith("."), f"{kind}.{name} is not explained"
            assert not about.startswith("As in"), f"{kind}.{name} is explained elsewhere"
    assert infos["boulware"]["exponent"] == "How readily it concedes (beta)."
    assert infos["nash_splitter"]["firm"].startswith("Whether it talks firmly")
    assert "; null: an even one." in infos["colluder"]["share"]


def test_a_users_agent_is_described_too(path: str) -> None:
    info = describe_agent(path + "Trader")
    assert (info.summary, info.games) == ("Trades.", ())
    assert (info.parameters[0].name, info.parameters[0].default) == ("price", None)
