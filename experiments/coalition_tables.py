"""The tables of a coalition run: what each seat got, how its formations went, and how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from experiments import stats
from experiments.coalitions import CoalitionFigures, coalition_figures
from experiments.display import MOST_POINTS, share, short_labels, table, tables_of_seats
from experiments.results import Run

MOST_SEATS = 20
"""Seats of a match that are shown one by one."""

_NOTE = "active: of those initiated; agreed, p95: time to consensus; welfare: of a match,\nand of the most possible"
"""What the figures are."""


def coalition_tables(run: Run, points: Sequence[stats.PointFigures]) -> Iterator[RenderableType]:
    """Yield the tables of a coalition run; what each seat got only where seats and points are few."""
    rows = coalition_figures(run)
    few = len(points) <= MOST_POINTS and all(len(point.seats) <= MOST_SEATS for point in points)
    if few:
        yield from tables_of_seats(points)
    if not rows:
        return
    numbers = {point.point: number for number, point in enumerate(points)}
    labels = {key: [values[numbers[row.point]] for row in rows] for key, values in short_labels(points).items()}
    notes = [_NOTE]
    if bounded := sum(not row.exact for row in rows):
        notes.append(f"most: a lower bound at {bounded} of {len(rows)} points, as the most is an upper one")
    if unmeasured := sum(row.unmeasured for row in rows):
        notes.append(f"most: without {unmeasured:,} matches for which it would take too long to compute")
    yield Group(_formation_table(rows, labels, counted=few), Text("\n".join(notes), style="dim"))
    yield _formation_ends(rows, labels)
    if few and any(row.seats for row in rows):
        yield _shapley_table(rows, labels)


def _formation_table(rows: Sequence[CoalitionFigures], labels: Mapping[str, Sequence[str]], *, counted: bool) -> Table:
    columns = {
        "matches": [f"{r.matches:,}" for r in rows],
        "initiated": [f"{r.initiated:,}" for r in rows],
        "active": ["–" if r.formed is None else f"{r.formed:.1%}" for r in rows],
        "agreed": [_seconds(r.seconds) for r in rows],
        "p95": [_seconds(r.seconds_p95) for r in rows],
        **({} if labels else _size(rows)),
        "welfare": [f"{r.welfare:,.1f}" for r in rows],
        "of most": ["–" if r.efficiency is None else f"{'' if r.exact else '≥ '}{r.efficiency:.1%}" for r in rows],
    }
    if counted:  # the table by seat has them
        del columns["matches"]
    return _table(labels, columns)


def _size(rows: Sequence[CoalitionFigures]) -> dict[str, list[str]]:
    return {
        "versions": ["–" if r.versions is None else f"{r.versions:.2f}" for r in rows],
        "members": ["–" if r.members is None else f"{r.members:.1f}" for r in rows],
    }


def _formation_ends(rows: Sequence[CoalitionFigures], labels: Mapping[str, Sequence[str]]) -> RenderableType:
    """Return how formations ended: a line; for several points a table, which says as well how large they were."""
    ends: Counter[str] = Counter()
    for row in rows:
        ends.update(row.ends)
    if not ends:
        return Text("there was no formation")
    if len(rows) == 1:
        shares = [f"{end.replace('_', ': ')} {share(count, ends.total())}" for end, count in ends.most_common()]
        return Text("formations ended " + ", ".join(shares))
    columns = {end.replace("_", ":\n"): [share(row.ends.get(end, 0), row.initiated) for row in rows] for end in ends}
    return _table(labels, columns | _size(rows))


def _table(labels: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]) -> Table:
    """Return a table with a row for each point; labels may be broken, numbers never."""
    made = table(*labels, *columns, right=tuple(columns))
    for cells in zip(*labels.values(), *columns.values(), strict=True):
        made.add_row(*cells)
    for column in made.columns[len(labels) :]:
        column.min_width = max(len(str(cell)) for cell in column.cells)
    return made


def _shapley_table(rows: Sequence[CoalitionFigures], labels: Mapping[str, Sequence[str]]) -> Table:
    """Return what seats got against their Shapley values, beside each other."""
    columns = ("got", "Shapley", "difference")
    made = table(*labels, "seat", *columns, right=columns)
    for number, row in enumerate(rows):
        first = [values[number] for values in labels.values()]
        for seat in row.seats:
            cells = (f"{seat.got:,.2f}", f"{seat.shapley:,.2f}", f"{seat.got - seat.shapley:+,.2f}")
            made.add_row(*first, seat.agent_id, *cells, end_section=seat is row.seats[-1])
            first = [""] * len(first)
    return made


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
