"""Reading a run: its matches, its events, its records and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from experiments.rows import EVENTS, MATCHES
from experiments.store import RunDirectory
from sim.errors import RunError
from sim.game import Outcome
from sim.record import MatchRecord

if TYPE_CHECKING:
    import pandas as pd


class MatchResult(msgspec.Struct, frozen=True):
    """How one match ended.

    Attributes:
        match_id: Its name.
        outcome: Its outcome in the game's documented shape: `payoffs`, `trigger` and more.
        status: "resolved", "timed_out", "agent_failed" or "aborted".
        labels: What sets its grid point apart, by dotted key.
        error: The first error of an agent, or None.
    """

    match_id: str
    outcome: dict[str, Any]
    status: str
    labels: dict[str, Any]
    error: str | None

    @property
    def utilities(self) -> dict[str, float]:
        """What each seat got, by seat id, in the game's currency."""
        return {payoff["agent_id"]: payoff["utility"] for payoff in self.outcome["payoffs"]}


class _Point(msgspec.Struct):
    labels: dict[str, Any]
    seats: list[str]
    game: dict[str, Any]
    agents: dict[str, Any]


class _RunFile(msgspec.Struct):
    """What `run.yaml` must hold for a run to be read."""

    origin: str
    seed: int
    num_matches: int
    runtime: dict[str, Any]
    points: list[_Point]


class Run:
    """A run on disk, finished or not. It is read in place: nothing is held in memory but what a call returns.

    Args:
        path: The run directory.

    Raises:
        RunError: It is not a run directory, or its `run.yaml` is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.directory = RunDirectory(path)
        if not self.path.is_dir():
            raise RunError(f"{path}: there is no such run directory")
        if not self.directory.config_file.exists():
            raise RunError(f"{path} is not a run directory: it has no run.yaml")
        self.config = _read_config(self.directory.config_file)
        """What was asked for: `run.yaml`."""

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.directory.path

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What came out: `summary.json`; empty while the run is not finished.

        Raises:
            RunError: The file is damaged.
        """
        file = self.directory.summary_file
        if not file.exists():
            return {}
        try:
            found: dict[str, Any] = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, OSError) as error:
            raise RunError(f"{file} is damaged ({error}); delete it, and `quorum resume` writes it again") from None
        return found

    @property
    def asked(self) -> int:
        """How many matches were asked for."""
        return int(len(self.config["points"]) * self.config["num_matches"])

    def __len__(self) -> int:
        """How many matches are there."""
        return int(self._collect(self._scan("matches").select(pl.len())).item())

    def matches(self) -> pl.DataFrame:
        """Return a row per match, by match index.

        Columns: match_index, match_id, point, labels (JSON), game, seed, seats, status, trigger, payoffs (by seat,
        in the game's currency), turns, messages, tokens, cost (US dollars), seconds, error (the first), errors
        (JSON), uncounted, outcome (JSON), figures (JSON; what is computed from private values).
        """
        return self._collect(self._scan("matches").sort("match_index"))

    def events(self, match_id: str | int | None = None) -> pl.DataFrame:
        """Return a row per event, of one match or of all.

        Columns: match_id, seq, time (seconds of the match), kind, sender, seat (-1 is the referee), cause,
        recipients (None is all), visibility ("public", "private" or "referee"), body (JSON).

        Args:
            match_id: Name or index of the match.

        Raises:
            RunError: There is no such match.
        """
        if match_id is None:
            return self._collect(self._scan("events"))
        row = self.match(match_id)
        table = pl.DataFrame(pl.from_arrow(self.directory.read("events", row["part"])))
        return table.filter(pl.col("match_id") == row["match_id"]).sort("seq")

    def match(self, match_id: str | int) -> dict[str, Any]:
        """Return the row of one match, and the number of its `part`.

        Args:
            match_id: Name or index of the match: "m000003", "3" or 3.

        Raises:
            RunError: There is no such match.
        """
        name = _match_name(match_id)
        if self.directory.parts():
            found = self._collect(self._scan("matches", path="part").filter(pl.col("match_id") == name))
            if not found.is_empty():
                row = found.row(0, named=True)
                return {**row, "part": int(Path(row["part"]).stem.split("-")[1])}
        there = f"it has {len(self):,} of {self.asked:,} matches, m000000 being the first"
        raise RunError(f"{self.path} has no match {match_id}; {there}")

    def records(self) -> Iterator[MatchRecord]:
        """Read the records back, holding one part at a time."""
        return self.directory.records()

    def _scan(self, table: str, path: str | None = None) -> pl.LazyFrame:
        files = self.directory.files(table)
        if not files:
            schema = MATCHES if table == "matches" else EVENTS
            return pl.DataFrame(pl.from_arrow(schema.empty_table())).lazy()
        return pl.scan_parquet(files, include_file_paths=path, glob=False)

    def _collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        try:
            return frame.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            self.directory.check()  # says which part it is
            raise RunError(f"{self.path} cannot be read: {' '.join(str(error).split())[:200]}") from None

    # ── figures ──

    @property
    def agent_ids(self) -> list[str]:
        """Seat ids of the first grid point, in seat order."""
        return [str(agent_id) for agent_id in self.config["points"][0]["seats"]]

    @property
    def completion_rate(self) -> float:
        """Share of the matches that were asked for which ended by their rules, from 0 to 1."""
        resolved = self._scan("matches").filter(pl.col("status") == "resolved").select(pl.len())
        return float(self._collect(resolved).item() / self.asked)

    @property
    def payoff_matrix(self) -> np.ndarray[Any, Any]:
        """Payoffs in the game's currency, an array of shape (matches, seats), by match index and seat.

        Raises:
            RunError: Grid points differ in their number of seats.
        """
        payoffs = self._collect(self._scan("matches").sort("match_index").select("payoffs"))["payoffs"]
        if payoffs.is_empty():
            return np.empty((0, len(self.agent_ids)))
        if payoffs.list.len().n_unique() != 1:
            raise RunError("the grid points differ in their number of seats; look at one point at a time in matches()")
        return payoffs.list.to_array(payoffs.list.len()[0]).to_numpy()

    @property
    def mean_payoffs(self) -> dict[str, float]:
        """Mean payoff in the game's currency of each seat over all its matches, by seat id; empty without matches.

        A grid's points count together; `summary["points"]` and `quorum results` have them apart.
        """
        table = self._scan("matches").sort("match_index").select("seats", "payoffs").explode("seats", "payoffs")
        means = table.group_by("seats", maintain_order=True).agg(pl.col("payoffs").mean())
        return dict(self._collect(means).iter_rows())

    @property
    def match_results(self) -> Sequence[MatchResult]:
        """How each match ended, by match index."""
        return [_result(row) for row in self.matches().iter_rows(named=True)]

    def to_polars(self) -> pl.DataFrame:
        """Return `matches()`."""
        return self.matches()

    def to_pandas(self) -> pd.DataFrame:
        """Return `matches()` for pandas."""
        return self.matches().to_pandas()


def _read_config(file: Path) -> dict[str, Any]:
    try:
        config: dict[str, Any] = msgspec.yaml.decode(file.read_bytes())
        checked = msgspec.convert(config, _RunFile)
        if not checked.points or checked.num_matches < 1:
            raise ValueError("it plays no match")
    except (msgspec.MsgspecError, ValueError, OSError) as error:
        raise RunError(f"{file} is damaged: {' '.join(str(error).split())[:200]}") from None
    return config


def _match_name(match: str | int) -> str:
    digits = str(match).strip().removeprefix("m")
    return f"m{int(digits):06d}" if digits.isascii() and digits.isdigit() else str(match)


def _result(row: dict[str, Any]) -> MatchResult:
    details, figures = msgspec.json.decode(row["outcome"]), msgspec.json.decode(row["figures"])
    outcome = Outcome(row["status"], row["trigger"], tuple(row["payoffs"]), details, figures)
    shape = outcome.to_dict(tuple(row["seats"]))
    return MatchResult(row["match_id"], shape, row["status"], msgspec.json.decode(row["labels"]), row["error"])


def load_run(path: str | Path) -> Run:
    """Open a run directory, of a finished run or of one that is not.

    Raises:
        RunError: It is not one.
    """
    return Run(path)
