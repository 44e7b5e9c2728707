"""Runs of the coalition game, and what their records say of decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import msgspec
from running import run_plan

from actors.agent import Agent
from actors.runtime.plan import Plan, Point, Settings
from experiments.config import CONF, agents_from, game_from
from experiments.results import Run
from sim.game import Game

VIRTUAL = Settings(kind="local", clock="virtual", window=16)
LEARNING: dict[str, Any] = msgspec.yaml.decode((CONF / "game/coalition/learning.yaml").read_bytes())


def line_up(kind: str, seats: int = 5, **options: Any) -> tuple[Agent, ...]:
    """Return agents of one kind, `agent_1` and so on."""
    return agents_from({"agent": {"kind": kind, "repeat": seats, **options}})


def play(
    path: Path, game: Game | Mapping[str, Any], agents: Sequence[Agent], matches: int, seed: int = 0, **settings: Any
) -> Run:
    """Play matches in virtual time."""
    made = game if isinstance(game, Game) else game_from({"game_id": "coalition", **game})
    plan = Plan((Point(made, tuple(agents)),), matches, seed)
    plan.check()
    return run_plan(plan, msgspec.structs.replace(VIRTUAL, **settings), path)


def figures(run: Run) -> list[dict[str, Any]]:
    """Return the figures of each match, in the order of their numbers."""
    return [json.loads(row) for row in run.matches().sort("match_index")["figures"]]


def outcomes(run: Run) -> dict[str, int]:
    """Count the formations of a run by how they ended."""
    counts: dict[str, int] = {}
    for row in figures(run):
        for end, count in row["formations"].items():
            counts[end] = counts.get(end, 0) + count
    return counts


def notices(run: Run) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the facts of each notice, with the number of its match."""
    for record in run.directory.records():
        for event in record.events:
            if event.kind == "notice":
                yield record.spec.index, json.loads(event.body)["facts"]


def decisions(run: Run) -> list[dict[str, Any]]:
    """Return each decision as the record has it."""
    return [facts for _, facts in notices(run) if "seat" in facts and "next" in facts]


def mean_and_half(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean and half the width of its 95 % interval."""
    return fmean(values), 1.96 * stdev(values) / sqrt(len(values))
