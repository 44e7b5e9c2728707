"""Figures of a run: how matches ended and what each seat got, for each grid point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import msgspec

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


class SeatFigures(msgspec.Struct, frozen=True):
    """What a seat got.

    Attributes:
        agent_id: The seat.
        mean: Mean payoff.
        half_width: Half the width of the 95 % interval of the mean (normal approximation); 0 for one match.
    """

    agent_id: str
    mean: float
    half_width: float


class PointFigures(msgspec.Struct, frozen=True):
    """Figures of one grid point.

    Attributes:
        labels: What sets the point apart.
        matches: How many matches are there.
        statuses: How many ended in which way.
        triggers: How many were ended by what.
        funded: Share that reached the game's goal, where the game reports `funded`; else None.
        turns: Mean number of turns.
        errors: Matches in which an agent raised or was lost.
        seats: What each seat got, in seat order.
    """

    labels: dict[str, Any]
    matches: int
    statuses: dict[str, int]
    triggers: dict[str, int]
    funded: float | None
    turns: float
    errors: int
    seats: list[SeatFigures]


def figures(run: Path) -> list[PointFigures]:
    """Compute the figures of every grid point; reads the files in place and holds no match in memory."""
    database = duckdb.connect()
    database.execute(f"create view matches as select * from read_parquet('{_quoted(run)}/matches/*.parquet')")
    points = database.execute(
        """
        select point, any_value(labels), count(*), avg(turns), count(error),
               avg(case when json_extract_string(outcome, '$.funded') = 'true' then 1.0
                        when json_extract_string(outcome, '$.funded') = 'false' then 0.0 end)
        from matches group by point order by point
        """
    ).fetchall()
    return [
        PointFigures(
            labels=msgspec.json.decode(labels),
            matches=count,
            statuses=_counts(database, "status", point),
            triggers=_counts(database, "trigger", point),
            funded=funded,
            turns=turns,
            errors=errors,
            seats=_seats(database, point),
        )
        for point, labels, count, turns, errors, funded in points
    ]


def _counts(database: duckdb.DuckDBPyConnection, column: str, point: int) -> dict[str, int]:
    query = f'select "{column}", count(*) from matches where point = ? group by 1 order by 2 desc, 1'
    return dict(database.execute(query, [point]).fetchall())


def _seats(database: duckdb.DuckDBPyConnection, point: int) -> list[SeatFigures]:
    rows = database.execute(
        """
        select seat, any_value(agent_id), avg(payoff), coalesce(stddev_samp(payoff), 0) / sqrt(count(*))
        from (select unnest(range(1, len(seats) + 1)) as seat, unnest(seats) as agent_id, unnest(payoffs) as payoff
              from matches where point = ?)
        group by seat order by seat
        """,
        [point],
    ).fetchall()
    return [SeatFigures(agent_id, mean, Z95 * error) for _, agent_id, mean, error in rows]


def query(run: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a query over the tables `matches` and `events` of a run.

    Returns:
        The column names and the rows.

    Raises:
        duckdb.Error: The query is wrong.
    """
    database = duckdb.connect()
    for table in ("matches", "events"):
        database.execute(f"create view {table} as select * from read_parquet('{_quoted(run)}/{table}/*.parquet')")
    result = database.execute(sql)
    return [column[0] for column in result.description or []], result.fetchall()


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
