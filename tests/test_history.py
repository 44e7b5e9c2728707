"""The checker of histories: clean on what was played, on every runtime, and it finds whatever is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import mutants
import pytest
from coalition_players import play
from coalitions import Table
from commands import quorum

from actors.registry import make_agent
from experiments import ExperimentConfig, ExperimentRunner
from experiments.history import check_history, check_run
from experiments.results import Run
from sim.delivery import Delivery
from sim.games.coalition import CoalitionGame
from sim.games.coalition.core import Core
from sim.games.coalition.state import CoalitionState
from sim.messages import Abort
from sim.record import MatchRecord, MatchSpec

IDS = ("a", "b", "c", "d", "e", "f")
Body = dict[str, Any]


def games(seed: int) -> CoalitionGame:
    """Return a game in which much goes wrong: short deadlines, few units, rivals."""
    return CoalitionGame(
        tasks=6,
        discoverers=1 + seed % 3,
        exclusive=seed % 4 != 0,
        units=(0, 6),
        seconds=(0.05, 0.3, 10.0)[seed % 3],
        activation_timeout=(0.02, 5.0)[seed % 2],
        turn_timeout=(0.03, 2.0)[seed % 2],
        max_versions=(2, 8)[seed % 2],
        known_peers=(None, 3)[seed % 2],
    )


def played(seed: int) -> MatchRecord:
    network = Delivery("exponential:10ms", loss=0.05, duplicate=0.1, reorder=True)
    slow = (0.01, 0.08)[seed % 2]
    spec = MatchSpec(0, IDS, seed)
    return play(spec, games(seed), slow=slow, explore=seed, delivery=network if seed % 5 == 0 else None)


def test_histories_in_which_formations_end_in_every_way_are_clean() -> None:
    ends: Counter[str] = Counter()
    for seed in range(60):
        record = played(seed)
        ends.update(record.outcome.figures["formations"])
        assert check_history(record, games(seed)) == []
    failed = {f"failed_{reason}" for reason in ("timeout", "infeasible", "withdrawn", "superseded")}
    assert set(ends) == {"initiated", "active", "aborted_decided", "aborted_timeout", *failed}


@pytest.mark.parametrize("runtime", ["local", pytest.param("ray", marks=pytest.mark.ray)])
def test_real_runs_are_clean(tmp_path: Path, runtime: str) -> None:
    game = CoalitionGame(tasks=5, discovery=200.0, discoverers=2, units=6)
    options: dict[str, Any] = {"stake": 2, "fairness": 0.9, "modifies": 2}
    agents = [make_agent("coalition_agent", agent_id, options | {"greed": 0.1 * n}) for n, agent_id in enumerate(IDS)]
    config = ExperimentConfig(num_matches=20, seed=4, out=tmp_path / "run", runtime=runtime)
    run = ExperimentRunner(config).run(agents, game)
    assert check_run(run) == (20, [])
    ended = quorum("replay", run.path, "--history")
    assert (ended.code, ended.err) == (0, "") and "20 histories checked" in ended.out


def test_a_match_that_was_cut_off_is_clean() -> None:
    table = Table()
    table.initiate(owes=3, commit=True)
    table.judge.read(-1, Abort("enough"), 1.0)
    record = table.record()
    assert record.outcome.status == "aborted" and check_history(record, table.game) == []


# ── whatever is changed is found ────────────────────────────────────────────────────────────────────────────


def story() -> tuple[MatchRecord, CoalitionGame]:
    """Play a match of three formations: one modified and deployed, one withdrawn from, one that time ends."""
    table = Table(4, tasks=[{}, {"at": 0.5}, {"at": 0.5}])
    table.now = 0.1
    table.initiate(owes=4, commit=True)
    table.send("b", "modify", parent=table.digest(), allocation={"a": 10, "b": 20}, commit=True)
    table.now = 0.2
    table.send("a", "sign", digest=table.digest())
    table.send("a", "deploy")
    table.pass_time(0.6)
    table.initiate(owes=2, commit=True)
    table.initiate(owes=5)
    table.send("b", "sign", 3, digest=table.digest(3), commit=True)
    table.send("b", "reject", 2)
    table.send("a", "reject", 2)
    table.pass_time(99.0)
    assert [table.status(n) for n in (1, 2, 3)] == ["active", "failed: withdrawn", "aborted: timeout"]
    return table.record(), table.game


RECORD, GAME = story()


def first(kind: str, **like: Any) -> int:
    """Return the number of the first event of a kind that says this, in its body or among its facts."""
    for event in RECORD.events:
        body = msgspec.json.decode(event.body)
        if event.kind == kind and like.items() <= {**body, **body.get("facts", {})}.items():
            return event.seq
    raise AssertionError(f"there is no {kind} {like}")


def edited(number: int, edit: Callable[[Body], object]) -> list[Any]:
    """Return the events with the body of one changed."""
    events = list(RECORD.events)
    body = msgspec.json.decode(events[number].body)
    edit(body)
    events[number] = msgspec.structs.replace(events[number], body=msgspec.json.encode(body))
    return events


def renumbered(events: list[Any]) -> list[Any]:
    return [msgspec.structs.replace(event, seq=number) for number, event in enumerate(events)]


def without(number: int) -> list[Any]:
    events = list(RECORD.events)
    del events[number]
    return renumbered(events)


def twice(number: int) -> list[Any]:
    events = list(RECORD.events)
    return renumbered([*events[: number + 1], *events[number:]])


def again(number: int) -> list[Any]:
    """Return the events with one, and what the referee said of it, twice."""
    events = list(RECORD.events)
    end = next(event.seq for event in events[number + 1 :] if event.kind != "notice")
    return renumbered([*events[:end], *events[number:end], *events[end:]])


def moved(number: int, **changes: Any) -> list[Any]:
    events = list(RECORD.events)
    events[number] = msgspec.structs.replace(events[number], **changes)
    return events


def facts(number: int, **changes: Any) -> list[Any]:
    return edited(number, lambda body: body["facts"].update(changes))


def payload(number: int, **changes: Any) -> list[Any]:
    def edit(body: Body) -> None:
        for part in ("payload", "private"):
            if body.get(part):
                body[part].update(changes)

    return edited(number, edit)


def rules(events: list[Any], **outcome: Any) -> list[str]:
    changed = msgspec.structs.replace(RECORD.outcome, **outcome)
    record = msgspec.structs.replace(RECORD, events=events, outcome=changed)
    return [breach.rule for breach in check_history(record, GAME)]


def test_the_story_itself_is_clean() -> None:
    assert rules(list(RECORD.events)) == []


SIGN, MODIFY, DEPLOY, INITIATE = (first("action", action=name) for name in ("sign", "modify", "deploy", "initiate"))
MET = first("notice", step="threshold", status="met")
ACTIVE = first("notice", status="active")
END = len(RECORD.events) - 1
LAST_ALARM = max(event.seq for event in RECORD.events if event.kind == "alarm")

TAMPERED: dict[str, tuple[str, Callable[[], list[Any]]]] = {
    "a signature of an older version": ("signature", lambda: payload(SIGN, digest="0" * 16)),
    "a signature that counts twice": ("terminal state", lambda: again(SIGN)),
    "a signature that is left out": ("record", lambda: list(RECORD.events[:SIGN]) + list(RECORD.events[SIGN + 1 :])),
    "a signature that was never sent": ("decisions", lambda: without(SIGN)),
    "a signature by somebody else": ("record", lambda: moved(SIGN, sender=2)),
    "a modification of another version": ("version chain", lambda: payload(MODIFY, parent="0" * 16)),
    "a share that was changed after it was signed": (
        "signature",
        lambda: payload(MODIFY, allocation={"a": 5, "b": 25}),
    ),
    "more than there is": ("terms", lambda: payload(MODIFY, allocation={"a": 20, "b": 20})),
    "units that nobody has": ("conservation", lambda: payload(INITIATE, commitment={"a": 11, "b": 4})),
    "an activation after its time": ("deadline", lambda: [e if e.seq < DEPLOY else later(e) for e in RECORD.events]),
    "a check that says who has not signed": ("threshold", lambda: facts(MET, signers=["a", "b", "c"])),
    "a check of another quorum": ("threshold", lambda: facts(MET, quorum=1)),
    "members who have not signed": ("terminal state", lambda: facts(ACTIVE, members=["a", "b", "c"])),
    "terms that were not signed": ("terminal state", lambda: facts(ACTIVE, allocation={"a": 15, "b": 15})),
    "another digest at the end": ("terminal state", lambda: facts(ACTIVE, digest="0" * 16)),
    "an end that is told twice": ("terminal state", lambda: twice(ACTIVE)),
    "an end that is not told": ("terminal state", lambda: without(ACTIVE)),
    "a failure for another reason": (
        "terminal state",
        lambda: facts(first("notice", status="failed"), reason="timeout"),
    ),
    "a timeout that no time led to": ("utilities", lambda: without(LAST_ALARM)),
    "a formation that never ends": (
        "terminal state",
        lambda: renumbered([*RECORD.events[:LAST_ALARM], RECORD.events[END]]),
    ),
    "a utility that is too high": ("utilities", lambda: facts(first("notice", utility=17), utility=18)),
    "a utility that is told to another": ("utilities", lambda: moved(first("notice", utility=17), recipients=(2,))),
    "a decision that gets none": ("utilities", lambda: without(first("notice", utility=17))),
    "a decision that is not the one made": ("decisions", lambda: facts(first("notice", action="sign"), action="pass")),
    "a task of another value": ("tasks", lambda: edited(first("notice", text="Task 1 is discovered."), worth_more)),
    "a private cost": ("private costs", lambda: edited(1, lambda body: body["costs"].update({"1": 0}))),
    "payoffs": ("utilities", lambda: edited(END, lambda body: body["utilities"].reverse())),
    "units that vanish": ("conservation", lambda: edited(END, lambda body: body["figures"]["units"].update(bound=0))),
    "a figure": ("outcome", lambda: edited(END, lambda body: body["figures"].update(welfare=99))),
    "a trigger": ("outcome", lambda: edited(END, lambda body: body.update(trigger="none_formed"))),
    "the end of the match": ("terminal state", lambda: list(RECORD.events[:-1])),
    "the order of what was read": ("membership", lambda: swapped(SIGN, DEPLOY)),
    "time": ("record", lambda: moved(END, time=0.0)),
    "nothing that can be read": ("record", lambda: moved(SIGN, body=b"{")),
}


def later(event: Any) -> Any:
    return msgspec.structs.replace(event, time=event.time + 100.0)


def worth_more(body: Body) -> None:
    body["facts"]["task"]["value"] += 1


def swapped(one: int, other: int) -> list[Any]:
    events = list(RECORD.events)
    events[one], events[other] = events[other], events[one]
    return renumbered(events)


@pytest.mark.parametrize("what", TAMPERED)
def test_what_is_changed_is_found(what: str) -> None:
    rule, change = TAMPERED[what]
    found = rules(change())
    assert found and (rule in found), found


def test_an_outcome_that_is_not_that_of_the_last_event_is_found() -> None:
    assert "outcome" in rules(list(RECORD.events), utilities=(99.0, 0.0, 0.0, 0.0))


def test_any_fact_of_any_notice_that_is_changed_is_found() -> None:
    for event in RECORD.events:
        if event.kind != "notice":
            continue
        for name, value in msgspec.json.decode(event.body)["facts"].items():
            assert rules(facts(event.seq, **{name: "?" if value != "?" else 0})), (event.seq, name)


def test_a_changed_run_exits_with_1_and_another_game_is_a_mistake(tmp_path: Path) -> None:
    quorum("run", "game=coalition/full", "agents=coalition/mixed", "num_matches=2", f"out={tmp_path / 'run'}")
    file = Run(tmp_path / "run").directory.config_file
    config = file.read_text()
    assert "units: 10" in config
    file.write_text(config.replace("units: 10", "units: 1"))  # others than those that the match was played with
    ended = quorum("replay", tmp_path / "run", "--history")
    assert ended.code == 1 and "conservation" in ended.err and "2 of 2 histories" in ended.err
    quorum("run", "num_matches=1", f"out={tmp_path / 'other'}")
    ended = quorum("replay", tmp_path / "other", "--history")
    assert ended.code == 2 and "other games than coalition" in ended.err


# ── a judge that gets a rule wrong is found out by what it has written ─────────────────────────────────────


@pytest.mark.parametrize(
    ("core", "rule"),
    [
        (mutants.CarriesSignatures, "threshold"),
        (mutants.TimerFiresAfterConsensus, "threshold"),
        (mutants.LocksOnlyAtDeployment, "conservation"),
        (mutants.ReleasesTwice, "conservation"),
    ],
)
def test_wrong_rules_show_in_play(monkeypatch: pytest.MonkeyPatch, core: type[Core], rule: str) -> None:
    monkeypatch.setattr(CoalitionState, "core", core())
    histories = (check_history(played(seed), games(seed)) for seed in range(20))
    assert rule in [breach.rule for breach in next(filter(None, histories))]


def sign_twice(table: Table) -> None:
    table.initiate()
    for _ in range(2):
        assert table.send("b", "sign", digest=table.digest()) is None


def sign_late(table: Table) -> None:
    table.initiate()
    table.now = 10.5
    assert table.send("b", "sign", digest=table.digest()) is None


def modify_what_is_agreed(table: Table) -> None:
    table.initiate(owes=1)
    table.send("b", "sign", digest=table.digest())
    assert table.send("b", "modify", parent=table.digest(), allocation={"a": 1, "b": 29}) is None


@pytest.mark.parametrize(
    ("core", "story", "quorum", "rule"),
    [
        (mutants.CountsMessages, sign_twice, 3, "signature"),
        (mutants.AcceptsLateSignatures, sign_late, 2, "deadline"),
        (mutants.ModifiesAfterConsensus, modify_what_is_agreed, 2, "terminal state"),
    ],
)
def test_wrong_rules_show_in_what_they_let_pass(
    monkeypatch: pytest.MonkeyPatch, core: type[Core], story: Callable[[Table], None], quorum: int, rule: str
) -> None:
    monkeypatch.setattr(CoalitionState, "core", core())
    table = Table(tasks=[{"quorum": quorum}])
    story(table)
    if table.outcome is None:
        table.judge.read(-1, Abort("enough"), table.now)
    assert rule in [breach.rule for breach in check_history(table.record(), table.game)]
