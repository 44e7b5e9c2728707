"""Figures of a run: how matches ended and what each seat got, for each grid point."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import duckdb
import msgspec

from experiments.config import game_from
from experiments.results import Run
from experiments.rows import EVENTS, MATCHES
from sim.errors import ConfigError, RunError

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


class SeatFigures(msgspec.Struct, frozen=True):
    """What a seat got, in the game's currency, and how often it did not answer as it should.

    Attributes:
        agent_id: The seat.
        mean: Mean payoff.
        half_width: Half the width of the 95 % interval of the mean (normal approximation); None for one match.
        timeouts: Turns that it let lapse.
        forfeits: Turns that it forfeited, because its agent raised, was refused too often or was lost.
        rejected: Submissions of it that were refused, as far as they are written down, but for those that were late.
        late: Submissions of it that came when their turn was over: it lapsed, or a conversation was closed by others.
    """

    agent_id: str
    mean: float
    half_width: float | None
    timeouts: int = 0
    forfeits: int = 0
    rejected: int = 0
    late: int = 0


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
        found = _figures(_connect(run))
    except duckdb.Error as error:
        run.directory.check()
        raise RunError(f"{run.path} cannot be read: {_first_line(error)}") from None
    return [
        PointFigures(number, point["labels"], **found.get(number, {}), **_success(point["game"], found.get(number)))
        for number, point in enumerate(run.config["points"])
    ]


def first_error(run: Run) -> tuple[int, str] | None:
    """Return the index of the first match in which an agent raised or was lost, and what was wrong; None without one.

    Raises:
        RunError: A part is damaged.
    """
    _, rows = query(run, "select match_index, error from matches where error is not null order by 1 limit 1")
    return (rows[0][0], rows[0][1]) if rows else None


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
    faults = _faults(database)
    seats: dict[int, list[SeatFigures]] = defaultdict(list)
    for point, agent_id, mean, error in rows:
        half_width = None if error is None else Z95 * error
        seats[point].append(SeatFigures(agent_id, mean, half_width, *faults.get((point, len(seats[point])), ())))
    return seats


def _faults(database: duckdb.DuckDBPyConnection) -> dict[tuple[int, int], tuple[int, ...]]:
    """Count turns that lapsed and that were forfeited, what was rejected and what was late, by point and seat."""
    rows = database.execute(
        """
        select point, seat, count(*) filter (kind = 'timeout'), count(*) filter (kind = 'forfeit'),
               count(*) filter (kind = 'rejected' and code is distinct from 'late'),
               count(*) filter (kind = 'rejected' and code = 'late')
        from (select match_id, seat, kind, json_extract_string(body, '$.code') as code from events
              where kind in ('timeout', 'forfeit', 'rejected'))
             join matches using (match_id)
        group by point, seat
        """
    ).fetchall()
    return {(point, seat): tuple(counts) for point, seat, *counts in rows}


def query(run: Run, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a query of DuckDB over the tables `matches` and `events` of a run; it reaches no file and no setting.

    Returns:
        The column names and the rows.

    Raises:
        RunError: The query is wrong or reaches for something else, or a part is damaged.
    """
    try:
        result: Any = _sealed(run).execute(sql)
        if result is None:
            raise RunError("--sql: there is no query in it")
        return [column[0] for column in result.description or []], result.fetchall()
    except (duckdb.Error, OSError) as error:
        if isinstance(error, duckdb.PermissionException) or _SEALED in str(error):
            allowed = "a query reads the tables matches and events of the run, and writes nothing"
            raise RunError(f"--sql: {allowed} ({_first_line(error)})") from None
        if isinstance(error, _UNREADABLE):
            run.directory.check()
        raise RunError(f"--sql: {_first_line(error)}") from None


_SEALED = "configuration has been locked"
"""What DuckDB says to whoever would open the door from inside; its type is that of other errors too."""

_UNREADABLE = (OSError, duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException)
"""What is raised when a part is damaged, among other things."""


def _connect(run: Run) -> duckdb.DuckDBPyConnection:
    """Return a database that reads the parts of a run in place."""
    database = _database()
    for table, schema in _TABLES.items():
        files = [str(file) for file in run.directory.files(table)]
        if files:
            database.from_parquet(files).create_view(table)
        else:
            database.from_arrow(schema.empty_table()).create(table)
    return database


def _sealed(run: Run) -> duckdb.DuckDBPyConnection:
    """Return a database for the queries of others.

    The files are opened on this side, so that DuckDB can be denied the file system as a whole: a view that reads
    them itself needs them to be allowed, and what is allowed may be written too (`copy ... to`).
    """
    from pyarrow import dataset  # brings pandas along, which nothing else here needs

    database = _database()
    for table, schema in _TABLES.items():
        files = [str(file) for file in run.directory.files(table)]
        database.register(table, dataset.dataset(files, schema, "parquet") if files else schema.empty_table())
    for setting in (
        "python_enable_replacements = false",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        database.execute(f"set {setting}")
    return database


_TABLES = {"matches": MATCHES, "events": EVENTS}


def _database() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    database.execute("set enable_progress_bar = false")
    return database


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    hint = next((line for line in lines[1:] if line.startswith(("Did you mean", "Candidate"))), "")
    return " ".join(filter(None, (lines[0] if lines else type(error).__name__, hint)))
