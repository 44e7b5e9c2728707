"""What `quorum results --sql` prints: the rows of an answer, beside or below each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from experiments import stats
from experiments.display import console, print_json, table
from experiments.results import Run


def print_query(run: Run, sql: str, *, as_json: bool) -> None:
    """Print the answer to a query.

    Raises:
        RunError: The query is wrong.
    """
    names, rows = stats.query(run, sql)
    if as_json:
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    texts = [[_plain(value) for value in row] for row in rows]
    widths = [max(map(len, [name, *(row[n] for row in texts)])) for n, name in enumerate(names)]
    if sum(min(width, _NARROWEST) + 2 for width in widths) - 2 > console.width:
        console.print(*_down(names, texts), sep="\n")
        return
    numeric = [name for n, name in enumerate(names) if rows and all(isinstance(row[n], int | float) for row in rows)]
    made = table(*names, right=numeric)
    for row in texts:
        made.add_row(*map(Text, row))
    console.print(made)


_NARROWEST = 14
"""Columns of a terminal that a column of an answer needs at least to be read; with less the rows are turned."""


def _down(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Table]:
    """Yield rows that are too wide to stand beside each other, each as a column of its own with names at the left."""
    for row in rows:
        made = Table.grid(padding=(0, 2, 0, 0))
        made.add_column(min_width=max(map(len, names)), style="bold")
        made.add_column(overflow="fold")
        for name, text in zip(names, row, strict=True):
            made.add_row(name, Text(text))
        made.add_row()
        yield made


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.4f}"
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_plain(item)}" for key, item in value.items())
    return str(value)
