"""A wrong setting is one line on stderr that names the key, what it held, what is allowed and what comes nearest."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from commands import quorum

from experiments.mistakes import explain, shown
from sim.errors import nearest

WRONG: list[tuple[str, list[str]]] = [
    # keys
    ("gaem=x", ["gaem=x", "did you mean game?", "num_matches"]),
    ("foo", ["'foo' is not a setting", "game.threshold=200"]),
    ("+new.key=1", ["+new.key=1", "no such key", "agents"]),
    ("hydra.run.dir=x", ["hydra.run.dir=x", "no such key"]),
    ("game@other=provision_point/full", ["game@other", "no such key"]),
    ("game.treshold=5", ["game.treshold=5", "did you mean threshold?", "endowment"]),
    ("runtime.cels=2", ["runtime.cels=2", "did you mean cells?", "window"]),
    ("agents.sets.zero.kind=pass", ["agents.sets.zero.kind=pass", "did you mean seats?"]),
    ("+agents.sets.zero.kind=pass", ["agents.sets=", "did you mean seats?"]),
    ("~game", ["~game", "a run needs game"]),
    ("~num_matches", ["~num_matches", "a run needs num_matches"]),
    ("~agents.seats.zeero", ["~agents.seats.zeero", "did you mean zero?"]),
    # files
    ("game=provision_pint/full", ["game=provision_pint/full", "mean provision_point/full?", "provision_point/simple"]),
    ("game=", ["game=''", "provision_point/full"]),
    ("game={a: 1}", ["game={'a': 1}", "provision_point/full"]),
    ("agents=provision_point/nope", ["agents=provision_point/nope", "provision_point/mixed"]),
    ("agents=provision_point/random,provision_point/mixd", ["agents=provision_point/mixd", "provision_point/mixed?"]),
    ("runtime=rya", ["runtime=rya", "did you mean ray?", "local, packed, ray"]),
    # values
    ("game.threshold=abc", ["game.threshold='abc'", "number"]),
    ("game.threshold=", ["game.threshold=''", "number"]),
    ("game.threshold=-1", ["game.threshold=-1.0", "above 0"]),
    ("game.threshold=nan", ["game.threshold=nan", "finite"]),
    ("game.threshold.x=3", ["game.threshold={'x': 3}", "number"]),
    ("game.mode=fulll", ["game.mode='fulll'", "full or simple", "did you mean full?"]),
    ("game.turn_order=round_robbin", ["game.turn_order='round_robbin'", "did you mean round_robin?"]),
    ("game.valuation_range=[1]", ["game.valuation_range=[1]", "list of 2"]),
    ("game.valuation_range=[1,x]", ["game.valuation_range.1='x'", "number"]),
    ("game.valuations={foo: 1}", ["game.valuations", "unknown foo", "free_rider"]),
    ("game.valuations.foo=x", ["game.valuations.foo='x'", "number"]),
    ("game.max_turns=0", ["game.max_turns=0", "at least 1"]),
    ("game.game_id=provision-pint", ["game.game_id=provision-pint", "did you mean provision-point?"]),
    ("num_matches=0", ["num_matches=0", "at least 1"]),
    ("num_matches=1.5", ["num_matches=1.5", "whole number"]),
    ("num_matches=x", ["num_matches='x'", "whole number"]),
    ("num_matches=true", ["num_matches=true", "whole number"]),
    ("seed=99999999999999999999", ["seed=99999999999999999999", "64-bit"]),
    ("runtime.window=x", ["runtime.window='x'", "whole number"]),
    ("runtime.window=0", ["runtime.window=0", "at least 1"]),
    ("runtime.kind=rya", ["runtime.kind='rya'", "did you mean ray?"]),
    ("runtime.explore=1", ["runtime.explore", "runtime.clock=virtual"]),
    # seats
    ("agents.seats.c.knd=rational", ["agents.seats.c", "coordinator", "+agents.seats.c.knd=rational"]),
    ("agents.seats.ratonal.margin=0.1", ["agents.seats.ratonal", "did you mean rational?"]),
    ("+agents.seats.c.knd=rational", ["agents.seats.c=", "did you mean kind?", "free_rider"]),
    ("agents.seats.zero.knd=pass", ["agents.seats.zero.knd='pass'", "did you mean kind?"]),
    ("agents.seats.zero.kind=ratoinal", ["agents.seats.zero.kind='ratoinal'", "mean rational?", "zero_intelligence"]),
    ("agents.seats.zero.kind=", ["agents.seats.zero.kind=''", "free_rider"]),
    ("agents.seats.zero.kind=null", ["agents.seats.zero.kind=null", "free_rider"]),
    ("agents.seats.zero.kind=nope:Foo", ["agents.seats.zero.kind='nope:Foo'", "cannot be imported"]),
    ("agents.seats.zero.kind=os:path", ["agents.seats.zero.kind='os:path'", "Agent"]),
    ("agents.seats.zero=rational", ["agents.seats.zero='rational'", "kind"]),
    ("agents.seats=", ["agents.seats=''", "kind"]),
    ("agents.seats.rational.repeat=0", ["agents.seats.rational.repeat=0", "at least 1"]),
    ("agents.seats.rational.repeat=1.5", ["agents.seats.rational.repeat=1.5", "whole number"]),
    ("agents.seats.rational.margn=0", ["agents.seats.rational.margn=0", "did you mean margin?", "valuation"]),
    ("agents.seats.rational.margin=x", ["agents.seats.rational.margin='x'", ">= 0"]),
    ("agents.seats.zero.kind=nope", ["agents.seats.zero.kind='nope': no such agent; allowed are"]),
    ("agents.roles.buyer.kind=conceder", ["agents.roles", "such as game=bargaining", "agents.seats.ID.kind"]),
    ("+agents.roles.buyer.kind=conceder", ["agents.roles", "such as game=bargaining"]),
    ("agents.seats.rational.margin=2", ["agents.seats.rational.margin=2", "<= 1"]),
    ("agents.seats={a: {kind: pass}}", ["agents.seats", "1 seat"]),
    # grammar and grids
    ('game.threshold="5', ['game.threshold="5', "quotation mark is not closed"]),
    ("game.threshold=a(b", ["game.threshold=a(b", "quotes"]),
    ("game.threshold=${nope}", ["game.threshold", "nope"]),
    ("game.threshold=interval(0,1)", ["game.threshold=interval(0,1)", "commas"]),
    ("game.threshold=1,1", ["game.threshold=1,1", "more than once"]),
    ("num_matches=1,2", ["num_matches=1,2", "a grid cannot vary num_matches"]),
    ("seed=1,2", ["seed=1,2", "a grid cannot vary seed"]),
    ("+seed=1,2", ["seed=1,2", "a grid cannot vary seed"]),
    ("runtime=local,ray", ["runtime=local,ray", "a grid cannot vary runtime"]),
    ("game.threshold=100,abc", ["game.threshold='abc'", "number"]),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "says"), WRONG, ids=[setting for setting, _ in WRONG])
def test_a_wrong_setting_is_one_line_that_says_what_and_how(setting: str, says: list[str], tmp_path: Path) -> None:
    fixed = [f"out={tmp_path / 'run'}", *(["num_matches=2"] if "num_matches" not in setting else [])]
    ended = quorum("run", *fixed, setting)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("error: ")
    for words in says:
        assert words in ended.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("again", ["seed=2", "++seed=2", "+seed=2"])
def test_the_same_key_twice_is_refused(again: str) -> None:
    ended = quorum("run", "seed=1", again)
    assert ended.code == 2
    assert ended.err == f"error: {again}: seed is set more than once (also seed=1)\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rnu"], "rnu"),
        (["run", "--nope"], "--nope"),
        (["results"], "RUN"),
        (["show", "x"], "MATCH"),
        (["results", "x", "--sql"], "--sql"),
        (["tasks", "--type", "1B"], "--type=1B: there is no such type of market (there is: 1B1P1S, "),
        (["tasks", "--family", "cars"], "--family=cars: there is no such family"),
    ],
)
def test_a_wrong_command_is_one_line(arguments: list[str], says: str) -> None:
    ended = quorum(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert says in ended.err


def test_a_folder_of_files_that_is_not_there_is_refused() -> None:
    ended = quorum("run", "--config-dir", "/nowhere/at/all")
    assert ended.code == 2
    assert ended.err == "error: --config-dir=/nowhere/at/all: there is no such folder\n"


@pytest.mark.parametrize(
    ("text", "says"), [("seats: [", "mine"), ("seats: 3", "agents.seats=3"), ("- a", "agents="), ("", "agents")]
)
def test_a_broken_file_of_the_users_own_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.yaml").write_text(text)
    ended = quorum("run", "--config-dir", tmp_path, "agents=mine", "num_matches=1", f"out={tmp_path / 'run'}")
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert says in ended.err


def test_values_are_shown_as_yaml_writes_them() -> None:
    assert [shown(v) for v in (None, True, 1.5, "a", [1])] == ["null", "true", "1.5", "'a'", "[1]"]
    assert len(shown("x" * 1000)) == 60


def test_nothing_near_gives_no_hint() -> None:
    assert nearest("zzz", ["threshold"]) == ""


class Inner(msgspec.Struct):
    sizes: list[int]


class Outer(msgspec.Struct):
    inner: Inner


def test_what_is_wrong_deep_inside_is_named_by_its_path() -> None:
    value = {"inner": {"sizes": [1, "two"]}}
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, Outer)
    assert explain(caught.value, value, Outer, "run") == "run.inner.sizes.1='two': allowed is whole number"
