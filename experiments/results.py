"""Reading a run: its matches, its events, its records and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from experiments.store import RunDirectory
from sim.errors import RunError
from sim.record import MatchRecord

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


class MatchResult(msgspec.Struct, frozen=True):
    """How one match ended.

    Attributes:
        match_id: Its name.
        outcome: Its outcome in the game's documented shape: `payoffs`, `trigger` and more.
        status: "resolved", "timed_out", "agent_failed" or "aborted".
        labels: What sets its grid point apart.
        error: The first error of an agent, or None.
    """

    match_id: str
    outcome: dict[str, Any]
    status: str
    labels: dict[str, Any]
    error: str | None

    @property
    def utilities(self) -> dict[str, float]:
        """What each seat got, by seat id."""
        return {payoff["agent_id"]: payoff["utility"] for payoff in self.outcome["payoffs"]}


class Run:
    """A run on disk.

    Args:
        path: The run directory.
    """

    def __init__(self, path: str | Path) -> None:
        self.directory = RunDirectory(path)
        if not self.directory.config_file.exists():
            raise RunError(f"{path} is not a run directory: it has no run.yaml")

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.directory.path

    @cached_property
    def config(self) -> dict[str, Any]:
        """What was asked for: `run.yaml`."""
        config: dict[str, Any] = msgspec.yaml.decode(self.directory.config_file.read_bytes())
        return config

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What came out: `summary.json`; empty while the run is not finished."""
        file = self.directory.summary_file
        return msgspec.json.decode(file.read_bytes()) if file.exists() else {}

    def matches(self) -> pl.DataFrame:
        """Return a row per match, by match index."""
        return self._scan("matches").sort("match_index").collect()

    def events(self, match_id: str | int | None = None) -> pl.DataFrame:
        """Return a row per event, of one match or of all.

        Args:
            match_id: Name or index of the match.

        Raises:
            RunError: There is no such match.
        """
        events = self._scan("events")
        if match_id is None:
            return events.collect()
        name = f"m{match_id:06d}" if isinstance(match_id, int) else match_id
        found = events.filter(pl.col("match_id") == name).sort("seq").collect()
        if found.is_empty():
            raise RunError(f"{self.path} has no match {name}; it has {len(self)}, m000000 being the first")
        return found

    def records(self) -> Iterator[MatchRecord]:
        """Read the records, a part at a time."""
        return self.directory.records()

    def __len__(self) -> int:
        return int(self._scan("matches").select(pl.len()).collect().item())

    def _scan(self, table: str) -> pl.LazyFrame:
        files = sorted((self.path / table).glob("part-*.parquet"))
        if not files:
            raise RunError(f"{self.path} holds no finished match yet")
        return pl.scan_parquet(files)

    # ── figures ──

    @property
    def agent_ids(self) -> list[str]:
        """Seat ids of the first grid point, in seat order."""
        return [str(agent_id) for agent_id in self.config["points"][0]["seats"]]

    @property
    def completion_rate(self) -> float:
        """Share of the matches that were asked for which ended by their rules."""
        asked = len(self.config["points"]) * self.config["num_matches"]
        resolved = self._scan("matches").filter(pl.col("status") == "resolved").select(pl.len()).collect().item()
        return float(resolved / asked)

    @property
    def payoff_matrix(self) -> np.ndarray[Any, Any]:
        """Payoffs as an array of shape (matches, seats), by match index.

        Raises:
            RunError: Grid points differ in their number of seats.
        """
        payoffs = self.matches()["payoffs"]
        if payoffs.list.len().n_unique() != 1:
            raise RunError("the grid points differ in their number of seats; look at one point at a time in matches()")
        return payoffs.list.to_array(payoffs.list.len()[0]).to_numpy()

    @property
    def mean_payoffs(self) -> dict[str, float]:
        """Mean payoff of each seat over all matches, by seat id."""
        table = self._scan("matches").select("seats", "payoffs").explode("seats", "payoffs")
        means = table.group_by("seats", maintain_order=True).agg(pl.col("payoffs").mean()).collect()
        return dict(means.iter_rows())

    @property
    def match_results(self) -> Sequence[MatchResult]:
        """How each match ended, by match index."""
        return [_result(row) for row in self.matches().iter_rows(named=True)]

    def to_polars(self) -> pl.DataFrame:
        """Return a row per match."""
        return self.matches()

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per match."""
        return self.matches().to_pandas()


def _result(row: dict[str, Any]) -> MatchResult:
    payoffs = [{"agent_id": a, "utility": u} for a, u in zip(row["seats"], row["payoffs"], strict=True)]
    details = msgspec.json.decode(row["outcome"])
    outcome = {"payoffs": payoffs, "trigger": row["trigger"], **details}
    return MatchResult(row["match_id"], outcome, row["status"], msgspec.json.decode(row["labels"]), row["error"])


def load_run(path: str | Path) -> Run:
    """Open a run directory.

    Raises:
        RunError: It is not one.
    """
    return Run(path)
