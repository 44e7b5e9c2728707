"""How a match ended, laid out for people: payoffs, what was reported to all, and what the record alone holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from experiments.display import table
from experiments.words import clean, fields_text, value_text

_DERIVED = ("thread", "max_surplus", "buyer_utility", "seller_utility")
"""Keys of a deal that a table of deals leaves out: its columns are few, and the others tell what these would."""

_GAP = 2
"""Columns between those of a table."""

_NARROWEST = 6
"""Columns that a column of words needs at least to be read."""


def ending(body: Mapping[str, Any], agent_ids: Sequence[str], width: int) -> Group:
    """Return how a match ended and what each seat got, in `width` columns."""
    head = Text.assemble(("\n" + body["status"], "bold"), f" · {body['trigger']}")
    told = {key: value for key, value in body["details"].items() if not _has_parts(value)}
    if details := fields_text(told):
        head.append(f" · {details}")
    lists = {key: value for key, value in body["details"].items() if key not in told}
    figures = list(laid_out(body.get("figures") or {}, agent_ids, width))
    if figures:
        figures.insert(0, Text("figures", style="yellow"))
    return Group(head, *laid_out(lists, agent_ids, width), *_payoffs(body["utilities"], agent_ids), *figures)


def _payoffs(utilities: Sequence[float], agent_ids: Sequence[str]) -> Iterator[RenderableType]:
    yield Text("payoffs")
    gains = [f"{utility:,.2f}" for utility in utilities]
    made = Table.grid(padding=(0, _GAP, 0, 0))
    made.add_column(style="bold")
    made.add_column(justify="right")
    for agent_id, gain in zip(agent_ids, gains, strict=True):
        made.add_row(Text(agent_id), Text(gain))
    yield _indented(made)


def laid_out(fields: Mapping[str, Any], agent_ids: Sequence[str], width: int) -> Iterator[RenderableType]:
    """Yield fields: single values in a line, mappings by seat in one each, lists of records as tables."""
    plain = {key: value for key, value in fields.items() if not _has_parts(value)}
    if any(value is not None for value in plain.values()):
        yield Text(fields_text(plain))
    for key, value in fields.items():
        if key in plain:
            continue
        name = Text(clean(key), style="dim")
        if isinstance(value, list):
            yield name
            yield _indented(_records(value, width - _GAP))
        elif not value.keys() <= set(agent_ids):
            yield name
            yield _indented(Group(*laid_out(value, agent_ids, width - _GAP)))
        elif any(isinstance(held, Mapping) for held in value.values()):
            yield name
            yield _indented(_by_seat(value))
        else:
            yield Text.assemble(name, "  ", fields_text(value))


def _has_parts(value: Any) -> bool:
    """Whether a value is a mapping or a list of them, and not empty."""
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _by_seat(held: Mapping[str, Any]) -> Table:
    """Return a line for each seat, with the mapping that it has."""
    made = Table.grid(padding=(0, _GAP, 0, 0))
    made.add_column(style="bold")
    made.add_column(ratio=1, overflow="fold")
    for agent_id, value in held.items():
        made.add_row(
            Text(clean(agent_id)), Text(fields_text(value) if isinstance(value, Mapping) else value_text(value))
        )
    return made


def _records(entries: Sequence[Mapping[str, Any]], width: int) -> RenderableType:
    """Return records as a table; where that is too wide, as a line each."""
    keys = [key for key in dict.fromkeys(key for entry in entries for key in entry) if key not in _DERIVED]
    numeric = {key: all(isinstance(entry.get(key), int | float | None) for entry in entries) for key in keys}
    cells = {key: [value_text(entry[key]) if entry.get(key) is not None else "" for entry in entries] for key in keys}
    widest = {key: max(map(len, (*_heading(key).split("\n"), *cells[key]))) for key in keys}
    least = [widest[key] if numeric[key] else min(widest[key], _NARROWEST) for key in keys]
    if sum(least) + len(keys) - 1 > width:
        return Group(*(Text(fields_text(entry)) for entry in entries))
    made = table(*map(_heading, keys), right=[_heading(key) for key in keys if numeric[key]])
    if sum(widest.values()) + _GAP * (len(keys) - 1) > width:
        made.padding = (0, 0, 0, 0)  # one column between two is what the frame has
    for column, key, columns in zip(made.columns, keys, least, strict=True):
        column.min_width = columns
        column.no_wrap = numeric[key]
    for row in zip(*cells.values(), strict=True):
        made.add_row(*map(Text, row))
    return made


def _heading(key: str) -> str:
    """Return a key with its words below each other, for a column is as narrow as its numbers."""
    return clean(key).replace("_", "\n") if key != "agent_id" else "seat"


def _indented(page: RenderableType) -> Padding:
    return Padding(page, (0, 0, 0, _GAP))
