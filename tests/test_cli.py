"""The command line from end to end: what it prints, its exit codes, and what it leaves on disk."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from commands import QUORUM, played, quorum, start

from actors import PassAgent, Turn
from actors.agent import Answer
from actors.runtime.local import LocalCell
from actors.runtime.plan import Plan, Point, Settings
from experiments.results import Run
from sim import ProvisionPointGame


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return played(tmp_path_factory.mktemp("cli") / "run", matches=20)


def test_a_run_from_start_to_end_in_a_process_of_its_own(tmp_path: Path) -> None:
    process = start("run", "num_matches=5", "game=provision_point/simple", cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "\x1b" not in out
    assert os.listdir(tmp_path) == ["runs"]  # no outputs folder, no log
    (path,) = (tmp_path / "runs").iterdir()
    assert f"run directory: runs/{path.name}" in out
    assert len(Run(path)) == 5


def test_a_mistake_in_a_process_of_its_own(tmp_path: Path) -> None:
    process = start("run", "game.treshold=5", cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("settings", [[], ["runtime.clock=virtual"]])
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path, settings: list[str]) -> None:
    path = tmp_path / "a run"
    process = start(
        "run", "num_matches=100000", "game=provision_point/simple", "runtime.batch=50", f"out={path}", *settings
    )
    until = time.monotonic() + 30
    while not list(path.glob("matches/part-*.parquet")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err == f"stopped; go on with: quorum resume '{path}'\n"
    run = Run(path)
    assert 0 < len(run) < 100000
    assert not list(path.rglob("*.tmp"))
    ended = quorum("replay", path)
    assert ended.code == 0
    assert "are missing: quorum resume" in ended.out
    assert "are missing: quorum resume" in quorum("results", path).out


def test_what_is_finished_but_not_written_is_written_on_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "run"
    # Patience and a batch that never fill: without the last writing there would be nothing.
    process = start(
        "run", "num_matches=100000", "runtime.batch=100000", "runtime.patience=1000", "runtime.window=4", f"out={path}"
    )
    while not (path / "run.yaml").exists():
        time.sleep(0.05)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert len(Run(path)) > 0


def test_a_reader_that_goes_away_is_no_error(run: Run) -> None:
    process = start("show", run.path, "0")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(30) in (0, 1)


def test_letters_that_the_terminal_lacks_are_no_error(run: Run) -> None:
    ended = subprocess.run(
        [*QUORUM, "results", str(run.path)],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


# ── help ────────────────────────────────────────────────────────────────────────────────────────────────


def test_help_names_every_command() -> None:
    ended = quorum("--help")
    assert ended.code == 0
    for command in ("run", "replay", "resume", "show", "results", "games", "agents", "bench"):
        assert f"  {command} " in ended.out
    assert "Usage: " in quorum().out + quorum().err


def test_help_of_run_explains_settings_and_grids() -> None:
    text = quorum("run", "--help").out
    for words in (
        "game=",
        "agents=",
        "runtime=",
        "out=",
        "game.threshold=100,150,200",
        "--config-dir",
        "quorum agents",
    ):
        assert words in text
    assert max(map(len, text.splitlines())) <= 80


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────


def test_results_fit_in_80_columns_without_escape_sequences(run: Run) -> None:
    ended = quorum("results", run.path)
    assert (ended.code, ended.err) == (0, "")
    assert "\x1b" not in ended.out
    *lines, directory = ended.out.splitlines()
    assert directory == f"run directory: {run.path}"
    assert max(map(len, lines)) <= 80
    assert lines[0] == "provision-point full · 20 matches · all resolved · seed 0 · local"
    for agent_id in run.agent_ids:
        assert sum(agent_id in line for line in lines) == 1


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_results_of_a_grid_fit_in_80_columns(tmp_path: Path, seats: int) -> None:
    line_up = ", ".join(f"contributor_{n}: {{kind: rational}}" for n in range(seats))
    run = played(
        tmp_path / "run",
        f"agents.seats={{{line_up}}}",
        "game.threshold=100,250",
        "game=provision_point/simple,provision_point/full",
        matches=10,
    )
    *lines, _ = quorum("results", run.path).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("contributor_1 " in line for line in lines) == 4
    heading = next(line for line in lines if "matches " in line and "seat" in line)
    assert heading.split()[:2] == ["threshold", "game"]


def test_results_as_json(tmp_path: Path) -> None:
    run = played(tmp_path / "run", "game.threshold=100,150", matches=3)
    found = json.loads(quorum("results", run.path, "--json").out)
    assert (found["asked"], found["matches"], found["finished"]) == (6, 6, True)
    assert [point["labels"] for point in found["points"]] == [{"game.threshold": 100}, {"game.threshold": 150}]
    assert found["points"][0]["seats"][1]["agent_id"] == "rational_1"


def test_results_show_what_went_wrong_by_seat_and_only_that(tmp_path: Path) -> None:
    seats = "{sleeps: {kind: 'faulty_agents:Sleeps'}, greedy: {kind: 'faulty_agents:Greedy'}, fair: {kind: rational}}"
    run = played(
        tmp_path / "run",
        "game=provision_point/simple",
        "game.max_rounds_commit=1",
        "game.max_invalid=2",
        "runtime.clock=virtual",
        f"agents.seats={seats}",
        matches=4,
    )
    *lines, _ = quorum("results", run.path).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("timeouts  forfeits  rejected") for line in lines)
    found = {name: line.split()[-3:] for name in run.agent_ids for line in lines if f" {name} " in line}
    assert found == {"sleeps": ["4", "0", "0"], "greedy": ["0", "4", "8"], "fair": ["0", "0", "0"]}
    seats_found = json.loads(quorum("results", run.path, "--json").out)["points"][0]["seats"]
    assert [(s["agent_id"], s["timeouts"], s["forfeits"], s["rejected"]) for s in seats_found] == [
        ("sleeps", 4, 0, 0),
        ("greedy", 0, 4, 8),
        ("fair", 0, 0, 0),
    ]


def test_results_of_agents_that_answer_as_they_should_have_no_column_for_what_went_wrong(run: Run) -> None:
    out = quorum("results", run.path).out
    assert not any(word in out for word in ("timeouts", "forfeits", "rejected"))
    for point in json.loads(quorum("results", run.path, "--json").out)["points"]:
        assert all(seat["timeouts"] == seat["forfeits"] == seat["rejected"] == 0 for seat in point["seats"])


def test_what_went_wrong_has_a_table_of_its_own_where_there_is_no_room_beside_payoffs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greedy = "{kind: 'faulty_agents:Greedy'}"
    seats = f"{{the_first_of_the_greedy_seats: {greedy}, the_second_of_the_greedy_seats: {greedy}}}"
    run = played(tmp_path / "run", "game=provision_point/simple", f"agents.seats={seats}", matches=2)
    lines = quorum("results", run.path).out.splitlines()[:-1]
    assert max(map(len, lines)) <= 80
    start = next(n for n, line in enumerate(lines) if line.split() == ["seat", "forfeits", "rejected"])
    for line, name in zip(lines[start + 2 :], run.agent_ids, strict=False):
        assert line.split()[0] == name, "no name is broken"
        assert int(line.split()[2]) > 0


def test_rows_of_a_query_that_are_too_wide_are_printed_one_below_the_other(run: Run) -> None:
    lines = quorum("results", run.path, "--sql", "select * from matches order by match_index limit 2").out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("match_id ")] == ["m000000", "m000001"]
    assert {*run.matches().columns} <= {line.split()[0] for line in lines if line.strip()}
    assert max(map(len, lines)) <= 80


def test_results_of_a_query(run: Run) -> None:
    ended = quorum("results", run.path, "--sql", "select status, count(*) as n, list(turns) from matches group by 1")
    assert ended.code == 0
    assert ended.out.split()[:2] == ["status", "n"]
    rows = json.loads(
        quorum("results", run.path, "--json", "--sql", "select status, count(*) as n from matches group by 1").out
    )
    assert rows == [{"status": "resolved", "n": 20}]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["results", "nope"], "nope: there is no such run directory"),
        (["show", "nope", "1"], "nope: there is no such run directory"),
        (["replay", "nope"], "nope: there is no such run directory"),
        (["resume", "nope"], "nope: there is no such run directory"),
        (["results", "RUN", "--sql", "select nope from matches"], "--sql: "),
        (["results", "RUN", "--sql", "select * from read_text('/etc/hostname')"], "--sql: a query reads the tables"),
        (["results", "RUN", "--sql", "copy matches to 'copied.csv'"], "--sql: a query reads the tables"),
        (["show", "RUN", "999"], "has no match 999; it has 20 of 20 matches"),
        (["show", "RUN", "nope"], "has no match nope"),
    ],
)
def test_a_mistake_about_a_run_is_one_line(run: Run, arguments: list[str], says: str) -> None:
    ended = quorum(*(str(run.path) if word == "RUN" else word for word in arguments))
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert says in ended.err


@pytest.mark.parametrize("command", ["results", "replay", "resume"])
def test_a_folder_without_a_manifest_or_with_a_damaged_one_is_one_line(tmp_path: Path, command: str) -> None:
    ended = quorum(command, tmp_path)
    assert (ended.code, ended.err) == (2, f"error: {tmp_path} is not a run directory: it has no run.yaml\n")
    (tmp_path / "run.yaml").write_text("points: [")
    ended = quorum(command, tmp_path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"{tmp_path}/run.yaml is damaged" in ended.err


class Waits(PassAgent):
    """Answers the first match at once, and the second when it is let go."""

    def __init__(self, agent_id: str) -> None:
        super().__init__(agent_id)
        self.go = asyncio.Event()
        self.asked = 0

    async def act(self, turn: Turn) -> Answer:
        self.asked += 1
        if self.asked > 1:
            await self.go.wait()
        return self.decide(turn)


@pytest.mark.parametrize("steps", range(0, 40))
async def test_a_stop_that_comes_just_as_a_match_ends_is_not_lost(steps: int) -> None:
    waits = Waits("a")
    game = ProvisionPointGame(mode="simple", max_rounds_commit=1)
    cell = LocalCell(Plan((Point(game, (waits, PassAgent("b"))),), 2, 0), Settings(patience=60))
    cell.assign([0, 1])
    collecting = asyncio.create_task(cell.collect())
    await asyncio.sleep(0.02)
    assert waits.asked == 2
    assert not collecting.done()
    waits.go.set()
    for _ in range(steps):
        await asyncio.sleep(0)
    if collecting.cancel():
        await asyncio.wait([collecting])
        assert collecting.cancelled()
    await cell.close()
