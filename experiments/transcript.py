"""The transcript of one match: who said and did what, who was told what in private, and how it ended."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from experiments.display import print_line, print_page
from experiments.ending import ending
from experiments.results import Run
from experiments.steps import steps, steps_table
from experiments.words import clean, fields_text

WIDTH = 100
"""Columns of a transcript where neither COLUMNS nor a terminal says how many there are."""

Event = tuple[dict[str, Any], dict[str, Any]]
"""A row of the table of events, and its body."""


def print_transcript(run: Run, match: str) -> None:
    """Print a match.

    Raises:
        RunError: There is no such match.
    """
    rows = list(run.events(match).iter_rows(named=True))
    agent_ids = run.match(match)["seats"]
    events: list[Event] = [(row, msgspec.json.decode(row["body"])) for row in rows]
    print_line(f"{rows[0]['match_id']} · {events[0][1].get('game', '?')}", "bold")
    width = _width()
    print_page(_facts(events, agent_ids), width)
    print_page(_course(events, max(map(len, [*agent_ids, "referee"]))), width)
    if events[0][1].get("game") == "coalition":
        print_page(steps_table(steps(events), width), width)
    for row, body in events:
        if row["kind"] == "end":
            print_page(ending(body, agent_ids, width), width)


def _width() -> int:
    """Return how many columns there are: as COLUMNS says, or a terminal that one of the standard streams is."""
    said = os.environ.get("COLUMNS", "")
    if said.isdigit() and int(said) > 0:
        return int(said)
    for stream in (1, 2, 0):
        with suppress(OSError):
            return os.get_terminal_size(stream).columns or WIDTH
    return WIDTH


def _facts(events: list[Event], agent_ids: list[str]) -> Table:
    """Return who plays: seat, role, and what the seat alone was told."""
    opened = [(row, body) for row, body in events if row["kind"] == "open"]
    roles: list[str] = next((body["roles"] for row, body in opened if not row["recipients"]), [])
    told = {row["recipients"][0]: body for row, body in opened if row["recipients"]}
    made = _grid(2, max(map(len, agent_ids)), max([0, *map(len, roles)]))
    for seat, agent_id in enumerate(agent_ids):
        role = roles[seat] if seat < len(roles) else ""
        facts = fields_text(told.get(agent_id) or {})
        line = Text.assemble(("PRIVATE ", "yellow"), facts) if facts else Text("")
        made.add_row("", Text(agent_id, style="bold"), Text(role, style="dim"), line)
    return made


def _course(events: list[Event], seat_width: int) -> Table:
    """Return what happened, a row for each event."""
    made = _grid(9, 3, seat_width)
    several = any(body.get("thread", 0) > 1 for row, body in events if row["kind"] in _SAY)
    repeated = Counter(fault for row, body in events if (fault := _fault(row, body)) is not None)
    told: set[_Fault] = set()
    last_round = None
    for row, body in events:
        fault = _fault(row, body)
        if fault in told:
            continue
        if row["kind"] == "phase":
            last_round = None
            made.add_row("", "", "", "")
            made.add_row(_time(row), "", "", Text(f"── {body['phase']} ──", style="bold magenta"))
        elif row["kind"] in _SAY:
            number = body.get("round")
            shown = f"r{number}" if number is not None and number != last_round else ""
            last_round = last_round if number is None else number
            sender = "?" if row["kind"] == "rejected" and body.get("agent_id") is None else row["sender"]
            said = _SAY[row["kind"]](row, body)
            if fault is not None:
                told.add(fault)
                said.append(f" x {repeated[fault]}" if repeated[fault] > 1 else "", style=said.style or "red")
            if several and body.get("thread"):
                said = Text.assemble((f"#{body['thread']} {_partners(row)}", "dim"), said)
            made.add_row(_time(row), Text(shown, style="dim"), Text(sender, style="bold"), said)
    return made


_Fault = tuple[Any, ...]


def _fault(row: dict[str, Any], body: dict[str, Any]) -> _Fault | None:
    """Return what makes a refused submission the same as another: its seat, its turn and what is said of it."""
    if row["kind"] != "rejected":
        return None
    return row["seat"], body.get("turn"), body.get("thread"), _rejected(row, body).plain


def _partners(row: Mapping[str, Any]) -> str:
    """Say to whom something was said, where it was one alone."""
    others = [agent_id for agent_id in row["recipients"] or () if agent_id != row["sender"]]
    return f"to {others[0]}: " if len(others) == 1 and row["kind"] == "action" else ""


def _grid(*widths: int) -> Table:
    made = Table.grid(padding=(0, 2, 0, 0))
    for number, width in enumerate(widths):
        made.add_column(width=width, justify="right" if number == 0 else "left", overflow="fold")
    made.add_column(ratio=1, overflow="fold")
    return made


def _time(row: Mapping[str, Any]) -> Text:
    return Text(f"{row['time']:.3f} s", style="dim")


def _action(row: dict[str, Any], body: dict[str, Any]) -> Text:
    text = Text(clean(body["action"]), style="cyan")
    payload = body.get("payload") or {}
    fields = f"“{clean(payload['text'])}”" if list(payload) == ["text"] else fields_text(payload)
    if fields:
        text.append(f"  {fields}", style="default")
    hidden = {k: v for k, v in (body.get("private") or {}).items() if (body.get("payload") or {}).get(k) != v}
    if hidden:
        text.append("  PRIVATE ", style="yellow").append(fields_text(hidden), style="default")
    for message in body.get("messages", ()):
        text.append(f"\n“{clean(message)}”", style="default")
    return text


def _message(row: dict[str, Any], body: dict[str, Any]) -> Text:
    quoted = f"“{clean(body['text'])}”"
    if row["visibility"] != "private":
        return Text(quoted)
    to = ", ".join(agent_id for agent_id in row["recipients"] if agent_id != row["sender"])
    return Text.assemble((f"PRIVATE to {to or 'nobody'}: ", "yellow"), quoted)


def _default(row: dict[str, Any], body: dict[str, Any]) -> Text:
    error = clean(body.get("error") or "an error")
    refused = error.endswith(" rejected answers")
    why = "lets the deadline pass" if row["kind"] == "timeout" else f"gives {error}" if refused else f"raises {error}"
    return Text(f"{why}; counts as {body['action'] or 'no action'}", style="red")


def _rejected(row: dict[str, Any], body: dict[str, Any]) -> Text:
    tried = clean(body.get("action") or "")
    if body["code"] == "late":  # nobody's fault, more often than not
        return Text(f"late: {tried or 'messages'}", style="dim")
    fields = fields_text(body["payload"]) if isinstance(body.get("payload"), dict) else ""
    text = Text.assemble((f"REJECTED {body['code']}", "red"), f": {clean(body['reason'])}")
    return text.append(f"\n{tried}  {fields}".rstrip(), style="dim") if tried else text


_SAY: dict[str, Any] = {
    "action": _action,
    "message": _message,
    "notice": lambda row, body: Text(clean(body["text"]), style="italic"),
    "timeout": _default,
    "forfeit": _default,
    "rejected": _rejected,
    "lost": lambda row, body: Text(f"is lost for the rest of the match: {clean(body['error'])}", style="red"),
    "abort": lambda row, body: Text(f"ends the match: {clean(body['reason'])}", style="red"),
}
