"""Transcripts: who said and did what, what went wrong, how it ended, in the columns that there are."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
import pytest
from commands import played, quorum, start

from experiments.results import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return played(tmp_path_factory.mktemp("transcripts") / "run", matches=2)


def test_a_transcript_names_private_messages_and_payoffs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    run = played(tmp_path / "run", "agents=provision_point/colluders", "game.threshold=120", matches=8)
    texts = [quorum("show", run.path, str(n)).out for n in range(8)]
    assert max(len(line) for text in texts for line in text.splitlines()) <= 100
    assert any("PRIVATE to colluder_2: “Between us:" in text for text in texts)
    assert all("\x1b" not in text for text in texts)
    for number, text in enumerate(texts):
        assert text.startswith(f"m{number:06d} · provision-point\n")
        assert [line.split()[-1] for line in text.splitlines() if line.startswith("  colluder_1  ")][-1] == (
            f"{run.payoff_matrix[number, 1]:,.2f}"
        )
        for phase in ("announce", "signal", "commit"):
            assert f"── {phase} ──" in text


def test_a_transcript_has_a_line_for_each_worker_and_says_whom_a_conversation_is_with(tmp_path: Path) -> None:
    bounty = played(tmp_path / "bounty", "game=principal_agent/bounty", matches=1)
    lines = quorum("show", bounty.path, "0").out.splitlines()
    first = lines.index("workers") + 4
    assert [line.split()[0] for line in lines[first : lines.index("payoffs")]] == [
        agent_id for agent_id in bounty.agent_ids if agent_id not in ("maintainer", "reviewer")
    ]
    shopping = played(tmp_path / "shopping", "game=bargaining/comparison_shopping", matches=1)
    text = quorum("show", shopping.path, "0").out
    assert "#2 to discounter: reply  “" in text and "#3 to buyer: reply  “" in text


def test_a_transcript_says_what_was_rejected_late_and_raised(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        "import asyncio\n"
        "from actors import Agent, Action, Decision\n"
        "class Greedy(Agent):\n"
        "    def decide(self, turn):\n"
        "        said = ['\\x1b[31mred\\x1b[0m']\n"
        "        return Decision(Action('submit_commitment', {'amount': -5.0}), said)\n"
        "class Raises(Agent):\n"
        "    def decide(self, turn):\n"
        "        raise ValueError('out of order')\n"
        "class Sleeps(Agent):\n"
        "    async def act(self, turn):\n"
        "        await asyncio.sleep(3600)\n"
    )
    settings = ["game=provision_point/simple", "game.max_rounds_commit=1", "runtime.clock=virtual", "num_matches=2"]
    seats = "agents.seats={greedy: {kind: 'odd:Greedy'}, raises: {kind: 'odd:Raises'}, sleeps: {kind: 'odd:Sleeps'}}"
    process = start("run", *settings, seats, f"out={tmp_path / 'run'}", cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "errors" in out
    assert f"first error: raises: ValueError: out of order; see quorum show {tmp_path / 'run'} 0" in " ".join(
        out.split()
    )
    text = quorum("show", tmp_path / "run", "0").out
    assert "REJECTED invalid_payload: " in text
    assert "submit_commitment  amount = -5.00 x 3" in text
    assert text.count("REJECTED") == 1
    assert "raises ValueError: out of order; counts as pass" in text
    assert "gives 3 rejected answers; counts as pass" in text
    assert "lets the deadline pass; counts as pass" in text
    assert "\x1b" not in text
    assert quorum("replay", tmp_path / "run").code == 0


@pytest.mark.parametrize("columns", [60, 80, 120, None])
def test_a_transcript_is_as_wide_as_it_is_told(
    run: Run, columns: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
        monkeypatch.setattr(os, "get_terminal_size", no_terminal)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    shopping = played(tmp_path / "shopping", "game=bargaining/comparison_shopping", matches=1)
    longest = 0
    for path in (run.path, shopping.path):
        lines = quorum("show", path, "0").out.splitlines()
        assert all(line == line.rstrip() for line in lines)
        longest = max(longest, *map(len, lines))
    assert (columns or 100) - 12 < longest <= (columns or 100)


def no_terminal(stream: int) -> os.terminal_size:
    raise OSError("not a terminal")


@pytest.mark.parametrize("columns", ["80", "100"])
def test_a_transcript_ends_with_a_table_of_deals_and_a_line_for_each_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shopping = played(tmp_path / "shopping", "game=bargaining/comparison_shopping", matches=1)
    lines = quorum("show", shopping.path, "0").out.splitlines()
    start = lines.index("deals")
    assert lines[start + 1].split() == ["buyer", "seller", "global", "buyer", "seller"]
    assert " ".join(lines[start + 2].split()) == ("buyer seller items price round surplus surplus score score score")
    (deal,) = msgspec.json.decode(shopping.matches()["figures"][0])["deals"]
    assert lines[start + 4].split() == [
        deal["buyer"], deal["seller"], *deal["items"], f"{deal['price']:.2f}", str(deal["round"]),
        *(f"{deal[key]:.2f}" for key in ("buyer_surplus", "seller_surplus", "global_score", "buyer_score")),
        f"{deal['seller_score']:.2f}",
    ]  # fmt: skip
    assert lines[lines.index("costs") + 1].split() == ["boutique", "featherweight", "=", "980.00"]


LATE = ["task=fish_market_before_dawn", "game.turn_order=concurrent", "runtime.clock=virtual"]


def test_what_is_late_through_nobodys_fault_is_counted_apart_and_short_in_a_transcript(tmp_path: Path) -> None:
    run = played(tmp_path / "run", *LATE, "+runtime.delivery={delay: 'uniform:0:3'}", matches=4)
    seats = json.loads(quorum("results", run.path, "--json").out)["points"][0]["seats"]
    assert sum(seat["late"] for seat in seats) > 0
    assert all(seat["rejected"] == seat["timeouts"] == seat["forfeits"] == 0 for seat in seats)
    assert " late" not in quorum("results", run.path).out  # where all else is well
    text = "".join(quorum("show", run.path, str(number)).out for number in range(4))
    assert "REJECTED" not in text
    assert re.search(r"^ *\d+\.\d+ s .*  late: reply$", text, re.MULTILINE)


def test_what_is_late_has_a_column_beside_other_faults(tmp_path: Path) -> None:
    run = played(tmp_path / "run", *LATE, "+runtime.delivery={delay: 'uniform:0:3', duplicate: 0.2}", matches=4)
    lines = quorum("results", run.path).out.splitlines()
    assert any(line.endswith("rejected  late") for line in lines)
    assert max(map(len, lines[:-1])) <= 80


def test_what_an_agent_says_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    run = played(
        tmp_path / "run",
        "agents.seats.coordinator.project='[bold]a \\\x1b[31mred'",
        matches=1,
    )
    text = quorum("show", run.path, "0").out
    assert "\x1b" not in text
    assert "[bold]a" in text
