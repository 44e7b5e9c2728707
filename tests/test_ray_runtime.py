"""Ray cells: what cannot be started or goes on failing ends the run with one clear error, and nothing is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from running import LOCAL, actors, eventually, run_plan, simple, table
from runtime_agents import (
    Fair,
    Garbles,
    GarblesLater,
    Moody,
    NotLoadable,
    NotPicklable,
    Unplayable,
    exiting_encode,
    failing_encode,
)

from actors.runtime import scheduler as scheduling
from actors.runtime.plan import Plan, Point, Settings
from actors.runtime.scheduler import Scheduler
from experiments.replaying import replay_run
from experiments.results import Run
from experiments.rows import encode
from sim.errors import ConfigError, QuorumError, RunError
from sim.games.provision_point import ProvisionPointGame
from sim.messages import SCHEMA_VERSION, Frame

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster", "nothing_is_left")]

RAY = Settings(kind="ray", cells=1, window=16, batch=20, patience=0.1)
PACKED = Settings(kind="packed", cells=1, window=16, batch=20, patience=0.1)
HOMES = pytest.mark.parametrize("settings", [RAY, PACKED], ids=lambda settings: settings.kind)


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    yield
    assert eventually(lambda: not actors()), "actors are left"


def fair(matches: int = 40) -> Plan:
    return simple([Fair("a"), Fair("b")], matches)


# ── what cannot be started ──────────────────────────────────────────────────────────────────────────────


@HOMES
def test_an_agent_that_cannot_be_made_in_another_process_ends_the_run_with_its_error(
    settings: Settings, tmp_path: Path
) -> None:
    plan = simple([Fair("a"), NotLoadable("b")], 10)
    with pytest.raises(RunError, match=r"could not be started: .*the weights are not on this machine") as caught:
        run_plan(plan, settings, tmp_path / "run")
    assert "\n" not in str(caught.value)


@HOMES
def test_an_agent_that_cannot_be_sent_is_a_mistake_of_the_configuration(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="agent b cannot be sent to another process: TypeError: a socket cannot be sent"
    ):
        run_plan(simple([Fair("a"), NotPicklable("b")], 10), settings, tmp_path / "run")


def test_a_game_of_a_notebook_is_a_mistake_of_the_configuration_that_says_how_to_mend_it(tmp_path: Path) -> None:
    kind = type("HomeMade", (ProvisionPointGame,), {"__module__": "__main__"}, frozen=True)
    plan = Plan((Point(kind(mode="simple"), (Fair("a"), Fair("b"))),), 5, seed=1)
    with pytest.raises(ConfigError, match="HomeMade is defined in a notebook or script; put it in a module"):
        run_plan(plan, RAY, tmp_path / "run")


@pytest.fixture
def busy() -> Iterator[Any]:
    """Takes processors of the cluster: `busy(2)`."""
    import ray

    class Idle:
        def ready(self) -> None: ...

    kept = []

    def take(processors: int) -> None:
        kept.append(ray.remote(num_cpus=processors)(Idle).remote())
        ray.get(kept[-1].ready.remote())

    yield take
    for actor in kept:
        ray.kill(actor)


@HOMES
def test_without_a_free_processor_the_run_ends_in_time_and_says_so(
    settings: Settings, busy: Any, tmp_path: Path
) -> None:
    busy(2)
    waiting = Settings(kind=settings.kind, cells=2, start_timeout=1.0)
    started = time.monotonic()
    with pytest.raises(RunError, match="within 1 s; 0 processors are free") as caught:
        run_plan(fair(), waiting, tmp_path / "run")
    assert time.monotonic() - started < 15
    assert "runtime.cells=1" in str(caught.value)


def test_a_run_makes_do_with_the_cells_that_there_is_room_for(busy: Any, tmp_path: Path) -> None:
    busy(1)
    settings = Settings(kind="packed", cells=2, window=16, batch=20, patience=0.1)
    started = time.monotonic()
    run = run_plan(fair(200), settings, tmp_path / "run")
    assert time.monotonic() - started < 30  # and not the two minutes that a cell has to start
    assert table(run) == table(run_plan(fair(200), LOCAL, tmp_path / "local"))


# ── what goes on failing ────────────────────────────────────────────────────────────────────────────────


async def schedule(plan: Plan, settings: Settings, encoder: Any) -> None:
    from actors.runtime.ray import put_plan, start_cell

    reference = put_plan(plan)
    scheduler = Scheduler(
        lambda: start_cell(reference, plan, settings, encoder), cells=1, ahead=50, done=list, give_up=print
    )
    async with asyncio.timeout(60):
        await scheduler.run(range(plan.total))


@HOMES
async def test_records_that_cannot_be_encoded_end_the_run_with_the_error(settings: Settings) -> None:
    with pytest.raises(RunError, match="a process of the run failed: ValueError: these cannot be encoded"):
        await schedule(fair(), settings, failing_encode)


async def test_a_process_that_dies_whenever_it_hands_over_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "MAX_BARREN", 2)
    with pytest.raises(RunError, match="processes died 3 times and no match was finished: The actor died"):
        await schedule(fair(), PACKED, exiting_encode)


@pytest.mark.parametrize("settings", [LOCAL, RAY, PACKED], ids=lambda settings: settings.kind)
def test_a_match_that_cannot_be_opened_ends_the_run_and_names_itself(settings: Settings, tmp_path: Path) -> None:
    plan = Plan((Point(Unplayable(mode="simple"), (Fair("a"), Fair("b"))),), 400, seed=1)
    with pytest.raises(RunError, match=r"match \d+ could not be opened: ZeroDivisionError: no table is free"):
        run_plan(plan, settings, tmp_path / "run")


@pytest.mark.parametrize("settings", [LOCAL, RAY, PACKED], ids=lambda settings: settings.kind)
def test_an_agent_that_cannot_be_seated_ends_the_run_with_its_error(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="ArithmeticError: do not ask"):
        run_plan(simple([Fair("a"), Moody("b")], 40), settings, tmp_path / "run")


async def test_frames_that_are_none_and_come_while_nothing_is_played_cost_nothing() -> None:
    from actors.runtime.ray import put_plan, start_cell

    plan = fair(10)
    cell = await start_cell(put_plan(plan), plan, RAY, encode)
    for number in (0, 0, 1, 2, 999):  # whoever sent two by the same connection is not asked anew twice
        await cell._actors[0].deliver.remote(number, b"\xc1")
    batch = await cell.exchange(range(10))
    assert sorted(batch.indexes) == list(range(10))
    assert pq.read_table(BytesIO(batch.matches), columns=["error"])["error"].null_count == 10
    cell.kill()
    cell.kill()  # what is gone cannot be killed again, and that is no error


# ── frames that cannot be read ──────────────────────────────────────────────────────────────────────────

NO_FRAME = b"\xc1 is in no MessagePack"
ANOTHER_VERSION = msgspec.msgpack.encode(Frame(SCHEMA_VERSION + 1, 0, []))


def lost_seats(run: Run) -> dict[str, list[str]]:
    events = run.events().filter(run.events()["kind"] == "lost")
    return {match: found["sender"].to_list() for (match,), found in events.group_by("match_id")}


@pytest.mark.parametrize("garbage", [NO_FRAME, ANOTHER_VERSION], ids=["bytes", "version"])
@pytest.mark.parametrize("kind", [Garbles, GarblesLater])
def test_a_process_that_sends_a_frame_that_is_none_loses_its_seats_in_open_matches_alone(
    kind: type[Garbles], garbage: bytes, tmp_path: Path
) -> None:
    plan = simple([Fair("a"), kind("b", garbage, 40, 41, 90), Fair("c")], 150)
    run = run_plan(plan, RAY, tmp_path / "run")
    expected = table(run_plan(simple([Fair("a"), Fair("b"), Fair("c")], 150), LOCAL, tmp_path / "fair"))
    lost = lost_seats(run)
    assert 2 <= len(lost) <= 3 * RAY.window
    assert {seat for seats in lost.values() for seat in seats} == {"b"}
    assert all(len(seats) == 1 for seats in lost.values())
    rows = table(run)
    assert [row[0] for row in rows] == list(range(150))
    assert {row[1] for row in rows} == {"resolved"}
    disturbed = {int(match[1:]) for match in lost}
    assert [row for row in rows if row[0] not in disturbed] == [r for r in expected if r[0] not in disturbed]
    said = [result.error or "" for n, result in enumerate(run.match_results) if n in disturbed]
    assert all("b: its process sent a frame that cannot be read (CodecError: " in error for error in said)
    assert run.summary["restarts"] == 0
    assert replay_run(run) == 150


def test_a_process_that_never_sends_a_frame_loses_its_seats_and_the_run_comes_to_its_end(tmp_path: Path) -> None:
    plan = simple([Fair("a"), Garbles("b", NO_FRAME, *range(100)), Fair("c")], 100)
    run = run_plan(plan, RAY, tmp_path / "run")
    assert [row[0] for row in table(run)] == list(range(100))
    assert lost_seats(run) == {f"m{number:06d}": ["b"] for number in range(100)}
    assert set(run.events().filter(run.events()["kind"] == "timeout")["sender"]) == set()
    assert run.summary["restarts"] == 0
    assert replay_run(run) == 100


def test_seats_that_share_a_process_are_lost_together(tmp_path: Path) -> None:
    plan = simple([Fair("a"), Fair("b"), Fair("c"), Garbles("d", NO_FRAME, 5)], 40, threshold=500)  # all are asked
    shared = msgspec.structs.replace(RAY, agents_per_actor=2)
    run = run_plan(plan, shared, tmp_path / "run")
    assert len(run) == 40
    assert lost_seats(run)["m000005"] == ["c", "d"]
    assert {tuple(seats) for seats in lost_seats(run).values()} == {("c", "d")}
    assert replay_run(run) == 40


def test_what_is_said_of_a_run_that_failed_is_one_error_of_the_family(tmp_path: Path) -> None:
    with pytest.raises(QuorumError) as caught:
        run_plan(simple([Fair("a"), NotLoadable("b")], 10), PACKED, tmp_path / "run")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
