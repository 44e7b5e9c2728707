"""Figures of a run: how matches ended and what each seat got, for each grid point."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from experiments.config import game_from
from experiments.results import Run
from experiments.rows import EVENTS, MATCHES
from sim.errors import ConfigError, RunError

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


class SeatFigures(msgspec.Struct, frozen=True):
    """What a seat got, in the game's currency.

    Attributes:
        agent_id: The seat.
        mean: Mean payoff.
        half_width: Half the width of the 95 % interval of the mean (normal approximation); None for one match.
    """

    agent_id: str
    mean: float
    half_width: float | None


class PointFigures(msgspec.Struct, frozen=True):
    """Figures of one grid point.

    Attributes:
        point: Its number.
        labels: What sets the point apart, by dotted key.
        matches: How many matches are there.
        statuses: How many ended in which way.
        triggers: How many were ended by what.
        goal: What the game calls success, such as "funded"; None where it names none.
        success: Share of the matches that reached it.
        turns: Mean number of turns; None without matches.
        errors: Matches in which an agent raised or was lost.
        seats: What each seat got, in seat order; empty without matches.
    """

    point: int
    labels: dict[str, Any]
    matches: int = 0
    statuses: dict[str, int] = {}
    triggers: dict[str, int] = {}
    goal: str | None = None
    success: float | None = None
    turns: float | None = None
    errors: int = 0
    seats: list[SeatFigures] = []


def figures(run: Run) -> list[PointFigures]:
    """Compute the figures of every grid point; reads the files in place and holds no match in memory.

    Raises:
        RunError: A part is damaged.
    """
    try:
        found = _figures(_connect(run, "matches"))
    except duckdb.Error as error:
        run.directory.check()
        raise RunError(f"{run.path} cannot be read: {_first_line(error)}") from None
    return [
        PointFigures(number, point["labels"], **found.get(number, {}), **_success(point["game"], found.get(number)))
        for number, point in enumerate(run.config["points"])
    ]


def _success(game: dict[str, Any], found: dict[str, Any] | None) -> dict[str, Any]:
    try:
        goal = game_from(game).goal
    except ConfigError:  # a class that cannot be imported here; the rest of the figures needs no game
        goal = None
    if goal is None or found is None:
        return {}
    return {"goal": goal.name, "success": found["triggers"].get(goal.trigger, 0) / found["matches"]}


def _figures(database: duckdb.DuckDBPyConnection) -> dict[int, dict[str, Any]]:
    statuses, triggers = _counts(database, "status"), _counts(database, "trigger")
    seats = _seats(database)
    rows = database.execute(
        """
        select point, count(*), avg(turns), count(error) from matches group by point
        """
    ).fetchall()
    return {
        point: {
            "matches": count,
            "statuses": statuses[point],
            "triggers": triggers[point],
            "turns": turns,
            "errors": errors,
            "seats": seats[point],
        }
        for point, count, turns, errors in rows
    }


def _counts(database: duckdb.DuckDBPyConnection, column: str) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    query = f'select point, "{column}", count(*) from matches group by 1, 2 order by 1, 3 desc, 2'
    for point, value, count in database.execute(query).fetchall():
        counts[point][value] = count
    return counts


def _seats(database: duckdb.DuckDBPyConnection) -> dict[int, list[SeatFigures]]:
    rows = database.execute(
        """
        select point, any_value(agent_id), avg(payoff), stddev_samp(payoff) / sqrt(count(*))
        from (select point, unnest(range(1, len(seats) + 1)) as seat, unnest(seats) as agent_id,
                     unnest(payoffs) as payoff
              from matches)
        group by point, seat order by point, seat
        """
    ).fetchall()
    seats: dict[int, list[SeatFigures]] = defaultdict(list)
    for point, agent_id, mean, error in rows:
        seats[point].append(SeatFigures(agent_id, mean, None if error is None else Z95 * error))
    return seats


def query(run: Run, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a query of DuckDB over the tables `matches` and `events` of a run.

    Returns:
        The column names and the rows.

    Raises:
        RunError: The query is wrong, or a part is damaged.
    """
    try:
        result: Any = _connect(run, "matches", "events").execute(sql)
        if result is None:
            raise RunError("--sql: there is no query in it")
        return [column[0] for column in result.description or []], result.fetchall()
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException | duckdb.InvalidInputException | duckdb.SerializationException):
            run.directory.check()
        raise RunError(f"--sql: {_first_line(error)}") from None


def _connect(run: Run, *tables: str) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    database.execute("set enable_progress_bar = false")
    for table in tables:
        files = [str(file) for file in run.directory.files(table)]
        if files:
            database.from_parquet(files).create_view(table)
        else:
            empty: pa.Table = (MATCHES if table == "matches" else EVENTS).empty_table()
            database.from_arrow(empty).create(table)
    return database


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    hint = next((line for line in lines[1:] if line.startswith(("Did you mean", "Candidate"))), "")
    return " ".join(filter(None, (lines[0] if lines else type(error).__name__, hint)))
