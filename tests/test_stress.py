"""`quorum stress`: what it finds, what it does not, how it shrinks, and that what it saved can be repeated."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bargains import Bargain
from commands import Ended, quorum
from running import Command, eventually

from actors.runtime.host import AgentHost
from experiments.stress import command
from experiments.stress.asking import Asked, ask
from experiments.stress.counting import VERDICTS, Tally
from experiments.stress.playing import Found, play_match
from experiments.stress.running import CHUNK, stress
from experiments.stress.schedules import run_entries
from experiments.stress.seedfile import load
from experiments.stress.shrinking import shrink
from experiments.stress.watching import Violation
from sim.bus import Address
from sim.game import Outcome, State
from sim.games.principal_agent import PrincipalAgentGame
from sim.games.provision_point import ProvisionPointGame
from sim.judge import Judge
from sim.messages import Verdict
from sim.referee import Referee
from sim.rng import generator
from sim.testing import MatchByHand

FAULTS: dict[str, Any] = {
    "delay": "lognormal:50ms",
    "loss": 0.02,
    "duplicate": 0.02,
    "reorder": True,
    "slow": 0.05,
    "crash": 0.05,
}
OPTIONS = ("--delay", "lognormal:50ms", "--loss", "0.02", "--duplicate", "0.02", "--reorder", "--crash", "0.05")


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the games with a bug."""
    folder = tmp_path_factory.mktemp("conf")
    (folder / "game").mkdir()
    for name, kind in (("lost_update", "LostUpdate"), ("wild_default", "WildDefault")):
        text = f"defaults: ['provision_point/full@_here_', _self_]\nclass: stress_mutants:{kind}\n"
        (folder / "game" / f"{name}.yaml").write_text(text)
    return folder


def asked(game: str, *settings: str, matches: int = 60, seed: int = 7, conf: Path | None = None, **more: Any) -> Asked:
    faults = more.pop("faults", {})
    made: dict[str, Any] = {"clock": None, "runtime": "local", "workers": 1} | more
    return ask(game, settings, faults, matches=matches, seed=seed, config_dir=conf, **made)


def one_match(given: Asked, index: int = 0) -> tuple[Tally, Found | None]:
    plan, _ = given.config.plan()
    return play_match(plan, index, given.faults)


# ── games that keep their promises ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ["round_robin", "concurrent"])
@pytest.mark.parametrize(
    "game",
    [
        "provision_point/full",
        "provision_point/simple",
        "principal_agent/bounty",
        "principal_agent/nested_delegation",
        "principal_agent/sla_pipeline",
        "bargaining",
    ],
)
def test_faults_break_no_game_and_the_counts_add_up(game: str, order: str) -> None:
    tally, found = stress(asked(game, f"game.turn_order={order}", faults=FAULTS))
    assert found is None
    assert tally["matches"] == tally["resolved"] + tally["timed_out"] + tally["agent_failed"] == 60
    assert tally["submissions"] == sum(tally[verdict] for verdict in VERDICTS) > tally["accepted"] > 100
    assert tally["late"] == sum(tally.late_by.values())
    assert tally["in_time_at_the_instant"] <= tally["accepted"]
    assert tally["items"] >= tally["submissions"] + tally["lost_seats"]
    assert 0 < tally["crashes"] == tally["crashes_survived"] >= tally["lost_seats"]
    assert 0 < tally["messages_lost"] < tally["messages_sent"] / 20
    assert tally["messages_duplicated"] > 0 < tally["messages_delayed"]
    assert tally["timeouts"] > 0 < tally["duplicates"]


def test_a_bus_that_loses_nothing_and_agents_in_time_make_no_race() -> None:
    tally, found = stress(asked("provision_point", faults={"slow": 0.0}, matches=20))
    assert found is None
    assert tally["submissions"] == tally["accepted"] == tally["items"] == tally["turns"]
    assert not tally.late_by and not tally["timeouts"] and not tally["messages_delayed"]


@pytest.mark.parametrize("order", ["round_robin", "concurrent"])
def test_both_orders_of_an_answer_at_its_deadline_are_found(order: str) -> None:
    given = asked(
        "provision_point/simple",
        "game.max_rounds_commit=1",
        f"game.turn_order={order}",
        "agents.seats={a: {kind: 'stress_mutants:LastMoment'}, b: {kind: 'stress_mutants:LastMoment'}}",
        faults={"slow": 0.0},
        matches=300,
    )
    tally, found = stress(given)
    assert found is None
    in_time, lapsed = tally["in_time_at_the_instant"], tally["timeouts"]
    assert in_time + lapsed == tally["turns"] == 600
    assert 0.2 < in_time / 600 < 0.8


def test_slow_answers_come_before_at_and_after_the_deadline() -> None:
    tally, _ = stress(asked("provision_point", faults={"slow": 0.1}, matches=100))
    in_time, late = tally["in_time_at_the_instant"], tally.late_by["at its instant"]
    assert 0.2 < in_time / (in_time + late) < 0.8
    assert tally["late"] > late and 10 < tally.latest < 30
    assert tally["answers_slowed"] > tally["late"] + in_time


def test_one_seed_is_one_run_however_many_processes_play_it() -> None:
    alone = stress(asked("provision_point", faults=FAULTS, matches=2 * CHUNK + 3))[0]
    ticks: list[tuple[int, int]] = []
    many = asked("provision_point", faults=FAULTS, matches=2 * CHUNK + 3, workers=2)
    together = stress(many, lambda done, total: ticks.append((done, total)))[0]
    assert together.to_dict() == alone.to_dict()
    assert ticks == [(CHUNK, 2 * CHUNK + 3), (2 * CHUNK, 2 * CHUNK + 3), (2 * CHUNK + 3, 2 * CHUNK + 3)]
    other = stress(asked("provision_point", faults=FAULTS, matches=2 * CHUNK + 3, seed=8))[0]
    assert other.to_dict() != alone.to_dict()


def test_a_game_counts_its_own_races() -> None:
    tally, _ = stress(asked("principal_agent/bounty", matches=30))
    assert tally.races["workers_cut_off"] > 0


# ── games with a bug ────────────────────────────────────────────────────────────────────────────────────


def test_a_lost_update_is_found_where_updates_cross_and_shrunk_to_a_handful_of_items(conf: Path) -> None:
    assert stress(asked("lost_update", conf=conf, matches=30))[1] is None
    given = asked("lost_update", "game.turn_order=concurrent", conf=conf, matches=30, faults=FAULTS)
    tally, found = stress(given)
    assert found is not None and found.violation.kind == "rules" and "the kept total" in found.violation.text
    assert tally["matches"] == found.index + 1
    plan, _ = given.config.plan()
    game, spec = plan.point(found.index).game, plan.spec(found.index)
    shrunk = shrink(game, spec, found.items, found.violation)
    assert shrunk is not None and shrunk.violation is not None
    assert shrunk.violation.kind == "rules" and "the kept total" in shrunk.violation.text
    assert len(shrunk.entries) <= 6 < len(found.items)
    assert run_entries(game, spec, shrunk.entries).violation == shrunk.violation
    for left_out in range(len(shrunk.entries)):  # nothing in it is there for nothing
        rest = [entry for n, entry in enumerate(shrunk.entries) if n != left_out]
        assert run_entries(game, spec, rest).violation is None


def test_rules_that_raise_in_a_default_are_found_by_crashes_and_by_nothing_else(conf: Path) -> None:
    assert stress(asked("wild_default", conf=conf, matches=100, faults={"slow": 0.0}))[1] is None
    _, found = stress(asked("wild_default", conf=conf, matches=100, faults={"slow": 0.0, "crash": 0.1}))
    assert found is not None and found.violation.kind == "raised"
    assert "IllegalAction" in found.violation.text and "full.py" in found.violation.text


def test_deliverables_that_cross_are_shrunk_to_those_that_are_paid_too_many() -> None:
    given = asked("principal_agent", "+game.class='stress_mutants:DoubleAward'", matches=30)
    _, found = stress(given)
    assert found is not None and found.violation.text.startswith("awards to")
    plan, _ = given.config.plan()
    shrunk = shrink(plan.point(found.index).game, plan.spec(found.index), found.items, found.violation)
    assert shrunk is not None  # a contract, and of each of three workers an acceptance, a deliverable and its score
    assert [type(item).__name__ for _, _, item in shrunk.entries] == ["Act"] * (1 + 3 * 3)


def test_the_first_violation_is_the_same_however_many_processes_play(conf: Path) -> None:
    faults = {"slow": 0.0, "crash": 0.1}
    alone, together = (
        stress(asked("wild_default", conf=conf, matches=100, faults=faults, workers=workers)) for workers in (1, 2)
    )
    assert alone[1] == together[1] is not None
    assert alone[0].to_dict() == together[0].to_dict()


def test_a_violation_is_saved_and_a_new_process_repeats_it(conf: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ("lost_update", "game.turn_order=concurrent", "--matches", "30", "--config-dir", conf, "--workers", "1")
    ended = quorum("stress", *given, "--out", out)
    assert ended.code == 1 and ended.err == ""
    assert "broken: rules: the kept total" in ended.out and "-> referee" in ended.out
    saved = json.loads((out / "violation.json").read_text())
    assert saved["game"]["class"] == "stress_mutants:LostUpdate" and 0 < len(saved["items"]) <= 6
    assert {"time", "from", "item"} <= saved["items"][0].keys()
    assert saved["items"][0]["payload"]["json"]["description"]
    report = json.loads((out / "stress.json").read_text())
    assert report["violation"] == {**saved["violation"], "match": saved["match"]}
    repeats = [Command("stress", "--replay", str(out / "violation.json")) for _ in range(2)]
    results = [repeat.end() for repeat in repeats]
    for code, said, errors in results:
        assert (code, errors) == (1, "")
        assert f"broken: rules: {saved['violation']['text']}" in said
        assert "the same as when it was saved" in said
    assert results[0] == results[1]


def test_a_violation_that_the_inbox_does_not_show_is_repeated_by_playing_the_match(
    conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "shrink", lambda *args: None)
    out = tmp_path / "out"
    given = ("wild_default", "--slow", "0", "--crash", "0.1", "--matches", "100", "--config-dir", conf)
    assert quorum("stress", *given, "--workers", "1", "--out", out).code == 1
    assert load(out / "violation.json").items is None
    ended = quorum("stress", "--replay", out / "violation.json", "--json")
    assert ended.code == 1 and json.loads(ended.out)["same"]


def test_what_another_inbox_breaks_is_not_taken_for_the_same(conf: Path) -> None:
    given = asked("lost_update", "game.turn_order=concurrent", conf=conf, matches=30)
    _, found = stress(given)
    assert found is not None
    plan, _ = given.config.plan()
    other = Violation("deadlock", "nothing is runnable")
    assert shrink(plan.point(found.index).game, plan.spec(found.index), found.items, other) is None


def test_records_of_a_run_in_real_time_are_checked_after_every_item(conf: Path, tmp_path: Path) -> None:
    given = ("lost_update", "game.turn_order=concurrent", "--clock", "real", "--matches", "20", "--config-dir", conf)
    ended = quorum("stress", *given, "--out", tmp_path / "out")
    assert ended.code == 1 and "the kept total" in ended.out
    assert 0 < len(load(tmp_path / "out" / "violation.json").items or ()) <= 6
    clean = quorum("stress", "provision_point", "--clock", "real", "--matches", "20", "--out", tmp_path / "clean")
    assert clean.code == 0 and "all invariants hold" in clean.out
    tally = json.loads((tmp_path / "clean" / "stress.json").read_text())
    assert tally["counts"]["matches"] == 20 and tally["counts"]["items"] > 20 * 5
    assert quorum("replay", tmp_path / "clean" / "run").code == 0  # the run is kept


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("runtime", ["packed", "ray"])
def test_runs_on_ray_are_checked_as_well(runtime: str, tmp_path: Path) -> None:
    ended = quorum("stress", "principal_agent", "--runtime", runtime, "--matches", "20", "--out", tmp_path / "out")
    assert ended.code == 0 and "all invariants hold" in ended.out
    assert json.loads((tmp_path / "out" / "stress.json").read_text())["races"]["workers_cut_off"] > 0


# ── the invariants of the house ─────────────────────────────────────────────────────────────────────────


def twice(judge: Judge, sender: int, cause: int, rejection: Any) -> None:
    judge.outbox.extend([(sender, Verdict(cause, rejection))] * 2)


def deaf(judge: Judge, at: float) -> None:
    """It does not hear that time is up."""


def hasty(judge: Judge, seat: int, round_number: int, legal: tuple[str, ...]) -> None:
    open_turn(judge, seat, round_number, legal)
    judge.deadline = inf


def late(judge: Judge, seat: int, round_number: int, legal: tuple[str, ...]) -> None:
    open_turn(judge, seat, round_number, legal)
    judge.deadline += 1.0


def untold(judge: Judge, outcome: Outcome) -> None:
    end(judge, outcome)
    judge.outbox.pop()


def told_twice(judge: Judge, outcome: Outcome) -> None:
    end(judge, outcome)
    judge.outbox.append(judge.outbox[-1])


def unwritten(judge: Judge, outcome: Outcome) -> None:
    end(judge, outcome)
    judge.log.events.pop()


end, open_turn = Judge._end, Judge.open_turn


@pytest.mark.parametrize(
    ("method", "broken", "text"),
    [
        ("_answer", twice, "a submission has 2 verdicts"),
        ("_answer", lambda *args: None, "a submission has 0 verdicts"),
        ("_read_deadline", deaf, "no turn is open after its deadline was read"),
        ("_end", untold, "every seat is told"),
        ("_end", told_twice, "nothing is sent to a seat after"),
        ("_end", unwritten, "the end is in the record"),
        ("open_turn", hasty, "a match that is not over has a deadline"),
        ("open_turn", late, "the next deadline is that of an open turn"),
    ],
)
def test_a_judge_that_breaks_a_promise_is_found(
    method: str, broken: Callable[..., None], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judge, method, broken)
    _, found = stress(asked("provision_point", faults=FAULTS, matches=100))
    assert found is not None and found.violation.kind == "referee" and text in found.violation.text


def test_a_match_that_does_not_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.stress.watching.MOST_ITEMS", 10)
    _, found = one_match(asked("provision_point"))
    assert found is not None and found.violation.kind == "endless"


def test_a_match_in_which_nothing_happens_any_more_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.referee.Referee._set_timer", lambda referee, at: None)
    _, found = stress(asked("provision_point", faults={"loss": 0.2}))
    assert found is not None and found.violation == Violation("deadlock", "nothing is runnable and no timer is set")


def test_a_referee_that_speaks_after_the_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    close = Referee._close

    def close_and_go_on(referee: Any) -> None:
        close(referee)
        referee._send(0, Verdict(1))

    monkeypatch.setattr(Referee, "_close", close_and_go_on)
    _, found = one_match(asked("provision_point"))
    assert found is not None and found.violation.text.startswith("every seat is told once of the end, and then nothing")


def test_a_process_that_fails_is_found_even_if_the_match_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(host: AgentHost, address: Address) -> None:
        raise RuntimeError("no such seat")

    monkeypatch.setattr(AgentHost, "forget", fail)
    _, found = stress(asked("provision_point", faults={"crash": 0.5}))
    assert found is not None and found.violation == Violation("process", "RuntimeError: no such seat")


# ── the invariants of the games ─────────────────────────────────────────────────────────────────────────


def opened(game: Any, *agent_ids: str) -> Any:
    return game.start(agent_ids, generator(1, "game"))


def committed(**commitments: float) -> State:
    match = MatchByHand(ProvisionPointGame(max_rounds_signal=1), ("boss", "a", "b")).open()
    match.act(0, "announce_project", {"description": "a bridge"})
    for seat in (1, 2, 0):
        match.act(seat, "pass")
    state: Any = match.judge.state
    state.check()
    state.commitments.update(commitments)
    return match.judge.state


def scored(shape: str, **fields: Any) -> State:
    game = PrincipalAgentGame(shape=shape, max_clarify_rounds=0)  # type: ignore[arg-type]
    match = MatchByHand(game, ("p", "w1", "w2", "o") if shape == "bounty" else ("p", "w1", "o")).open()
    match.act(0, "post_contract", {"task_description": "t", "success_criteria": "c"})
    match.act(1, "accept_contract")
    match.act(1, "submit_deliverable", {"content": "d"})
    state: Any = match.judge.state
    state.check()
    for line in state.lines if shape == "bounty" else state.line:
        for name, value in fields.items():
            setattr(line, name, value)
    return match.judge.state


def traded(change: Callable[[Any], object]) -> State:
    sellers = {name: {"min_price": 5, "list_price": 20, "stock": 1} for name in ("s1", "s2")}
    buyers = {name: {"max_price": 10} for name in ("b1", "b2")}
    market = Bargain(market="MB1PMS", products={"tea": {}}, buyers=buyers, sellers=sellers, deal_rule="crossing")
    market.say("b1", 8)
    market.say("s1", 7)
    match = market.match
    state: Any = match.judge.state
    assert len(state.bargains) == 1
    state.check()
    change(state)
    return match.judge.state


def funded(state: Any, value: bool) -> Any:
    state.funded = value
    return state


def resolved(by: str | None, **commitments: float) -> State:
    state = opened(ProvisionPointGame(mode="simple"), "a", "b")
    state.check()
    state.commitments.update(commitments)
    state.resolved_by = by
    return state  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (lambda: committed(a=81.0), "out of bounds"),
        (lambda: committed(a=0.0), "out of bounds"),
        (lambda: committed(boss=5.0), "boss is no contributor"),
        (lambda: funded(committed(a=50.0), True), "funded is True"),
        (lambda: funded(committed(a=50.0, b=50.0), False), "funded is False"),
        (lambda: resolved(None, a=100.0), "resolved by None"),
        (lambda: resolved("all_committed", a=1.0), "not all have committed"),
        (lambda: resolved(None, a=1.0, b=1.0), "the match is not over"),
        (lambda: resolved(None, c=1.0), "has no seat"),
        (lambda: scored("single", payment=3.0), "paid without a score"),
        (lambda: scored("single", payment=3.0, outcome_score=90.0, reason="x"), "3.0 was paid"),
        (lambda: scored("single", accepted=None), "without a contract that was accepted"),
        (lambda: scored("single", phase="respond"), "do not agree"),
        (lambda: scored("bounty", contract=None), "contract"),
        (lambda: traded(lambda state: state.bargains.append(state.bargains[0])), "two agreements in thread 1"),
        (lambda: traded(lambda state: state.bargains.clear()), "end in an agreement, and there are 0"),
        (lambda: traded(lambda state: state.ledger.put(2, "tea", 1)), "seat 2 has 1 of 1 units of tea"),
        (lambda: traded(lambda state: state.ledger.put(0, "(to buy)", 1)), "seat 0 has bought 1 times"),
        (lambda: traded(lambda state: setattr(state, "open", 4)), "conversations are open, not 4"),
        (lambda: traded(lambda state: setattr(state, "waiting", 0)), "a round waits for 0"),
        (lambda: traded(lambda state: setattr(state.threads[0], "due", "buyer")), "somebody is to speak"),
    ],
)
def test_a_state_that_the_rules_cannot_reach_is_told(state: Callable[[], State], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        state().check()


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_clean_run_prints_a_narrow_table_and_leaves_the_same_figures(tmp_path: Path) -> None:
    ended = quorum("stress", "provision_point", *OPTIONS, "--matches", "30", "--seed", "3", "--out", tmp_path / "out")
    assert (ended.code, ended.err) == (0, "")
    assert all(len(line) <= 80 for line in ended.out.splitlines() if str(tmp_path) not in line)
    report = json.loads((tmp_path / "out" / "stress.json").read_text())
    assert report["violation"] is None and report["counts"]["matches"] == report["matches_asked"] == 30
    assert report["faults"]["loss"] == 0.02 and report["faults"]["reorder"]
    assert f"{report['counts']['submissions']:,}" in ended.out
    given = ("provision_point", *OPTIONS, "--matches", "30", "--seed", "3", "--out", tmp_path / "again")
    figures = json.loads(quorum("stress", *given, "--json").out)
    assert {**figures, "seconds": 0} == {**report, "seconds": 0}


def test_a_grid_plays_every_point(tmp_path: Path) -> None:
    ended = quorum("stress", "provision_point", "game.threshold=50,150", "--matches", "5", "--out", tmp_path / "out")
    assert ended.code == 0 and "10 matches" in ended.out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "GAME is missing"),
        (("provision_piont",), "did you mean provision_point?"),
        (("provision_point", "game.treshold=5"), "threshold"),
        (("provision_point", "num_matches=5"), "here that is --matches"),
        (("provision_point", "runtime=ray"), "here that is --runtime"),
        (("provision_point", "--matches", "0"), "at least 1"),
        (("provision_point", "--matches", "many"), "--matches"),
        (("provision_point", "--loss", "2"), "--loss=2.0: a probability"),
        (("provision_point", "--crash", "-1"), "--crash=-1.0: a probability"),
        (("provision_point", "--delay", "often"), "--delay='often'"),
        (("provision_point", "--clock", "fast"), "allowed is virtual or real"),
        (("provision_point", "--runtime", "raay"), "did you mean ray?"),
        (("provision_point", "--runtime", "ray", "--clock", "virtual"), "needs --runtime=local"),
        (("provision_point", "--runtime", "ray", "--loss", "0.1"), "--loss needs --runtime=local"),
        (("provision_point", "--clock", "real", "--crash", "0.1"), "needs --clock=virtual"),
        (("provision_point", "--workers", "0"), "at least 1"),
        (("--replay", "nowhere.json"), "cannot be read"),
    ],
)
def test_a_mistake_is_one_line_and_code_2(arguments: tuple[str, ...], text: str, tmp_path: Path) -> None:
    ended: Ended = quorum("stress", *arguments)
    assert ended.code == 2 and ended.out == ""
    assert ended.err.count("\n") == 1 and text in ended.err


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda saved: saved.pop("items"), "not a seed file"),
        (lambda saved: saved.update(quorum_stress=99), "form 99"),
        (lambda saved: saved["items"][0].update(item="wish"), "cannot be read"),
        (lambda saved: saved["items"][0].update(turn="first"), "cannot be read"),
        (lambda saved: saved["game"].update({"class": "nowhere:Game"}), "cannot be imported"),
    ],
)
def test_a_damaged_seed_file_is_one_line(change: Callable[[Any], Any], text: str, conf: Path, tmp_path: Path) -> None:
    given = ("lost_update", "game.turn_order=concurrent", "--matches", "30", "--config-dir", conf, "--workers", "1")
    assert quorum("stress", *given, "--out", tmp_path).code == 1
    saved = json.loads((tmp_path / "violation.json").read_text())
    change(saved)
    (tmp_path / "changed.json").write_text(json.dumps(saved))
    ended = quorum("stress", "--replay", tmp_path / "changed.json")
    assert ended.code == 2 and ended.err.count("\n") == 1 and text in ended.err


def test_a_bug_that_is_mended_no_longer_shows(conf: Path, tmp_path: Path) -> None:
    given = ("lost_update", "game.turn_order=concurrent", "--matches", "30", "--config-dir", conf, "--workers", "1")
    assert quorum("stress", *given, "--out", tmp_path).code == 1
    saved = json.loads((tmp_path / "violation.json").read_text())
    saved["game"].pop("class")
    (tmp_path / "mended.json").write_bytes(msgspec.json.encode(saved))
    ended = quorum("stress", "--replay", tmp_path / "mended.json")
    assert ended.code == 0 and "everything holds now" in ended.out


def test_ctrl_c_stops_a_run_and_all_its_processes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    started = Command("stress", "provision_point", "--matches", "1000000", "--workers", "2", "--out", str(out))
    assert eventually(lambda: len(started.left()) >= 3, 60)
    started.process.send_signal(signal.SIGINT)
    code, said, errors = started.end()
    assert (code, said, errors) == (130, "", "stopped\n")
    assert eventually(lambda: not started.left())
    assert not out.exists()
