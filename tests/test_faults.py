"""Processes are killed, agents misbehave, terminals interrupt: every match is there once, and the same."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from running import LOCAL, Command, Killer, actors, eventually, run_plan, simple, table, title
from runtime_agents import Blocks, CallsExit, CancelsItself, Dawdler, Exits, Fair, In, NotUnicode, Raises, Waits

from actors.runtime.plan import Plan, Settings
from experiments.config import compose
from experiments.replaying import replay_run
from experiments.results import Run

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]

RAY = Settings(kind="ray", cells=1, window=16, batch=50, patience=0.1)
PACKED = Settings(kind="packed", cells=1, window=16, batch=50, patience=0.1)


def sound(run: Run, plan: Plan) -> bool:
    """Every index once, and every record follows from the rules."""
    indexes = [row[0] for row in table(run)]
    return indexes == list(range(plan.total)) and replay_run(run) == plan.total


# ── killed processes ────────────────────────────────────────────────────────────────────────────────────


def dawdlers(matches: int = 400) -> Plan:
    return simple([Dawdler("a"), Dawdler("b")], matches, seed=4)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    return table(run_plan(dawdlers(), LOCAL, tmp_path_factory.mktemp("undisturbed") / "run"))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("AgentActor", RAY),
        ("RefereeActor", RAY),
        ("PackedActor", PACKED),
        ("PackedActor", Settings(kind="packed", cells=2, window=8, batch=25, patience=0.1)),
    ],
    ids=["agent", "referee", "packed", "one of two packed"],
)
def test_a_process_killed_in_the_middle_costs_no_match(
    kind: str, settings: Settings, undisturbed: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    plan = dawdlers()
    killer = Killer(tmp_path / "run", kind)
    killer.start()
    run = run_plan(plan, settings, tmp_path / "run")
    killer.join()
    assert killer.killed
    assert 1 <= killer.parts < len(list(run.path.glob("matches/part-*")))
    assert run.summary["restarts"] == 1
    assert table(run) == undisturbed
    assert sound(run, plan)
    assert eventually(lambda: not actors())


def test_a_process_killed_again_and_again_costs_no_match(undisturbed: list[tuple[Any, ...]], tmp_path: Path) -> None:
    plan = dawdlers()
    killers = [Killer(tmp_path / "run", kind) for kind in ("AgentActor", "RefereeActor")]
    for killer in killers:  # both at the same time
        killer.start()
    run = run_plan(plan, RAY, tmp_path / "run")
    assert all(killer.killed for killer in killers)
    assert run.summary["restarts"] >= 1
    assert table(run) == undisturbed
    assert sound(run, plan)


# ── agents that take their process down ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("settings", [RAY, PACKED], ids=lambda settings: settings.kind)
def test_a_match_that_takes_its_process_down_each_time_is_given_up_and_no_other(
    settings: Settings, tmp_path: Path
) -> None:
    fair = simple([Fair("a"), Fair("b")], 120)
    plan = simple([Fair("a"), Exits("b", 37)], 120)
    expected = table(run_plan(fair, LOCAL, tmp_path / "local"))
    run = run_plan(plan, settings, tmp_path / "run")
    rows = table(run)
    assert [row for row in rows if row[0] != 37] == [row for row in expected if row[0] != 37]
    assert rows[37][1:3] == ("agent_failed", "agent_failed")
    assert "died each time" in (run.match_results[37].error or "")
    assert run.summary["restarts"] == 5
    assert sound(run, plan)


# ── agents that misbehave in their processes ────────────────────────────────────────────────────────────


def errors(run: Run) -> dict[int, str]:
    return {number: result.error for number, result in enumerate(run.match_results) if result.error}


@pytest.mark.parametrize("settings", [LOCAL, RAY, PACKED], ids=lambda settings: settings.kind)
@pytest.mark.parametrize("kind", [Raises, CallsExit, CancelsItself])
def test_an_agent_that_raises_forfeits_its_turns_and_disturbs_no_other_match(
    kind: type[In], settings: Settings, tmp_path: Path
) -> None:
    plan = simple([Fair("a"), kind("b", 3, 11)], 30)
    run = run_plan(plan, settings, tmp_path / "run")
    expected = table(run_plan(simple([Fair("a"), Fair("b")], 30), LOCAL, tmp_path / "fair"))
    assert [row for row in table(run) if row[0] not in (3, 11)] == [r for r in expected if r[0] not in (3, 11)]
    assert set(errors(run)) == {3, 11}
    assert {row[1] for row in table(run)} == {"resolved"}
    said = {"Raises": "ValueError: I would rather not", "CallsExit": "SystemExit", "CancelsItself": "CancelledError"}
    assert all(said[kind.__name__] in error for error in errors(run).values())
    assert run.summary["restarts"] == 0
    assert sound(run, plan)


@pytest.mark.parametrize("settings", [LOCAL, RAY, PACKED], ids=lambda settings: settings.kind)
def test_an_answer_that_no_frame_can_hold_is_refused_and_disturbs_no_other_match(
    settings: Settings, tmp_path: Path
) -> None:
    plan = simple([Fair("a"), NotUnicode("b", 5)], 20)
    run = run_plan(plan, settings, tmp_path / "run")
    expected = table(run_plan(simple([Fair("a"), Fair("b")], 20), LOCAL, tmp_path / "fair"))
    assert [row for row in table(run) if row[0] != 5] == [row for row in expected if row[0] != 5]
    kinds = run.events(5)["kind"].to_list()
    assert "rejected" in kinds
    assert "forfeit" in kinds
    assert run.summary["restarts"] == 0
    assert sound(run, plan)


@pytest.mark.parametrize("settings", [LOCAL, RAY], ids=lambda settings: settings.kind)
def test_an_agent_that_waits_for_ever_lets_its_turns_lapse_and_no_others(settings: Settings, tmp_path: Path) -> None:
    plan = simple([Fair("a"), Waits("b", 2)], 12, turn_timeout=0.3)
    run = run_plan(plan, settings, tmp_path / "run")
    lapsed = run.events().filter(run.events()["kind"] == "timeout")
    assert set(lapsed["match_id"]) == {"m000002"}
    assert set(lapsed["sender"]) == {"b"}
    assert {row[1] for row in table(run)} == {"resolved"}
    assert sound(run, plan)


def test_matches_of_another_cell_go_on_while_an_agent_blocks_its_own(tmp_path: Path) -> None:
    plan = simple([Fair("a"), Blocks("b", 0)], 400, turn_timeout=0.5)
    settings = Settings(kind="ray", cells=2, window=4, batch=4, patience=0.05)
    run = run_plan(plan, settings, tmp_path / "run")
    events = run.events().filter(run.events()["kind"] == "timeout")
    lapsed = set(events["match_id"])
    assert "m000000" in lapsed
    assert len(lapsed) < 40
    assert set(events["sender"]) == {"b"}  # the seats of other processes answer in time
    assert {row[1] for row in table(run)} == {"resolved"}
    assert run.summary["restarts"] == 0
    assert sound(run, plan)


# ── the driver ──────────────────────────────────────────────────────────────────────────────────────────

ASKED = ["game=provision_point/full", "agents=provision_point/mixed", "seed=6", "num_matches=800"]


def reference(tmp_path: Path) -> list[tuple[Any, ...]]:
    plan, _ = compose(ASKED).plan()
    return table(run_plan(plan, LOCAL, tmp_path / "reference"))


def started(out: Path) -> Command:
    run = ["run", *ASKED, "runtime=ray", "runtime.cells=1", "runtime.window=32", "runtime.batch=50", f"out={out}"]
    command = Command(*run)
    assert eventually(lambda: list(out.glob("matches/part-*.parquet")), 60)
    return command


def parts(out: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(out.glob("*/part-*.parquet"))}


def test_a_run_whose_driver_is_killed_or_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "run"
    expected = reference(tmp_path)

    command = started(out)
    assert len(command.left()) > 3
    assert command.sessions()
    orphaned = command.sessions()
    os.kill(command.process.pid, signal.SIGKILL)
    assert command.end()[0] == -signal.SIGKILL
    # Ray's own two agents of a node notice after a minute that it is gone; all others within seconds.
    assert eventually(lambda: not [p for p in command.left() if "Actor" in title(p) or "raylet" in title(p)], 30)
    for session in orphaned:
        shutil.rmtree(session, ignore_errors=True)
    kept = parts(out)
    assert 0 < len(Run(out)) < 800
    # What a driver leaves that dies between two files, or within one.
    (out / "events" / "part-09999.parquet").write_bytes(b"PAR1 of a match that has no row")
    (out / "matches" / "part-09999.parquet.tmp").write_bytes(b"PAR1 half")

    command = Command("resume", str(out))
    assert eventually(lambda: len(parts(out)) > len(kept) + 2, 60)
    os.killpg(command.process.pid, signal.SIGINT)  # as a terminal does
    code, _, said = command.end()
    assert code == 130, said
    assert "Traceback" not in said
    assert eventually(lambda: not command.left(), 20), "processes are left of an interrupted run"
    assert not command.sessions()
    assert kept.items() <= parts(out).items()
    assert len(kept) < len(parts(out))
    assert 0 < len(Run(out)) < 800

    command = Command("resume", str(out))
    code, _, said = command.end()
    assert code == 0, said
    assert eventually(lambda: not command.left(), 20)
    assert not command.sessions()
    assert table(Run(out)) == expected
    assert replay_run(Run(out)) == 800
    assert not list(out.rglob("*.tmp"))
    assert not (out / "events" / "part-09999.parquet").exists()


def test_a_run_that_fails_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    seat = "agents.seats.agent_2.kind=runtime_agents:NotLoadable"
    asked = ["game=provision_point/simple", "agents=provision_point/rational", seat, "num_matches=20"]
    command = Command("run", *asked, "runtime=packed", "runtime.cells=1", f"out={tmp_path / 'run'}")
    code, _, said = command.end()
    assert code == 2
    (line,) = [line for line in said.splitlines() if line.strip() and "playing" not in line]
    assert line.startswith("error: a process of the run could not be started: LookupError: the weights")
    assert eventually(lambda: not command.left(), 20)
    assert not command.sessions()
