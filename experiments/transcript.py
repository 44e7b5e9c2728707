"""The transcript of one match: who said and did what, who was told what in private, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from experiments.display import console, print_line
from experiments.results import Run

WIDTH = 100
"""Columns of a transcript; fewer where the terminal has fewer."""


def print_transcript(run: Run, match: str) -> None:
    """Print a match.

    Raises:
        RunError: There is no such match.
    """
    rows = list(run.events(match).iter_rows(named=True))
    agent_ids = run.match(match)["seats"]
    events = [(row, msgspec.json.decode(row["body"])) for row in rows]
    print_line(f"{rows[0]['match_id']} · {events[0][1].get('game', '?')}", "bold")
    page = Console(width=min(console.width, WIDTH) if console.is_terminal else WIDTH, highlight=False)
    page.print(_facts(events, agent_ids))
    page.print(_course(events, max(map(len, [*agent_ids, "referee"]))))
    for row, body in events:
        if row["kind"] == "end":
            page.print(_end(body, agent_ids))


def _facts(events: list[tuple[dict[str, Any], dict[str, Any]]], agent_ids: list[str]) -> Table:
    """Return who plays: seat, role, and what the seat alone was told."""
    opened = [(row, body) for row, body in events if row["kind"] == "open"]
    roles: list[str] = next((body["roles"] for row, body in opened if not row["recipients"]), [])
    told = {row["recipients"][0]: body for row, body in opened if row["recipients"]}
    made = _grid(2, max(map(len, agent_ids)), max([0, *map(len, roles)]))
    for seat, agent_id in enumerate(agent_ids):
        role = roles[seat] if seat < len(roles) else ""
        facts = _fields(told.get(agent_id) or {})
        line = Text.assemble(("PRIVATE ", "yellow"), facts) if facts else Text("")
        made.add_row("", Text(agent_id, style="bold"), Text(role, style="dim"), line)
    return made


def _course(events: list[tuple[dict[str, Any], dict[str, Any]]], seat_width: int) -> Table:
    """Return what happened, a row for each event."""
    made = _grid(9, 3, seat_width)
    several = any(body.get("thread", 0) > 1 for row, body in events if row["kind"] in _SAY)
    last_round = None
    for row, body in events:
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
            if several and body.get("thread"):
                said = Text.assemble((f"#{body['thread']} {_partners(row)}", "dim"), said)
            made.add_row(_time(row), Text(shown, style="dim"), Text(sender, style="bold"), said)
    return made


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


def _end(body: dict[str, Any], agent_ids: list[str]) -> Group:
    """Return how the match ended and what each seat got."""
    head = Text.assemble(("\n" + body["status"], "bold"), f" · {body['trigger']}")
    lists = {key: value for key, value in body["details"].items() if _is_list_of_entries(value)}
    details = _fields({key: value for key, value in body["details"].items() if key not in lists})
    if details:
        head.append(f" · {details}")
    gains = [f"{utility:,.2f}" for utility in body["utilities"]]
    made = _grid(2, max(map(len, agent_ids)))
    for agent_id, gain in zip(agent_ids, gains, strict=True):
        made.add_row("", Text(agent_id, style="bold"), Text(gain.rjust(max(map(len, gains)))))
    return Group(head, *_lines(lists), Text("payoffs"), made, *_figures(body.get("figures") or {}))


def _figures(figures: dict[str, Any]) -> list[Text]:
    """Return what the record alone holds, a line for each figure, and for each entry of a list of them."""
    lines = _lines(figures)
    return [Text("figures", style="yellow"), *lines] if lines else []


def _lines(fields: Mapping[str, Any]) -> list[Text]:
    """Return a line for each field, and for each entry of a list of them."""
    lines = []
    for key, value in fields.items():
        entries = value if _is_list_of_entries(value) else [value]
        lines += [Text.assemble((f"{_clean(key)} ", "dim"), _value(entry)) for entry in entries]
    return lines


def _is_list_of_entries(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def _action(row: dict[str, Any], body: dict[str, Any]) -> Text:
    text = Text(_clean(body["action"]), style="cyan")
    payload = body.get("payload") or {}
    fields = f"“{_clean(payload['text'])}”" if list(payload) == ["text"] else _fields(payload)
    if fields:
        text.append(f"  {fields}", style="default")
    hidden = {k: v for k, v in (body.get("private") or {}).items() if (body.get("payload") or {}).get(k) != v}
    if hidden:
        text.append("  PRIVATE ", style="yellow").append(_fields(hidden), style="default")
    for message in body.get("messages", ()):
        text.append(f"\n“{_clean(message)}”", style="default")
    return text


def _message(row: dict[str, Any], body: dict[str, Any]) -> Text:
    quoted = f"“{_clean(body['text'])}”"
    if row["visibility"] != "private":
        return Text(quoted)
    to = ", ".join(agent_id for agent_id in row["recipients"] if agent_id != row["sender"])
    return Text.assemble((f"PRIVATE to {to or 'nobody'}: ", "yellow"), quoted)


def _default(row: dict[str, Any], body: dict[str, Any]) -> Text:
    error = _clean(body.get("error") or "an error")
    refused = error.endswith(" rejected answers")
    why = "lets the deadline pass" if row["kind"] == "timeout" else f"gives {error}" if refused else f"raises {error}"
    return Text(f"{why}; counts as {body['action'] or 'no action'}", style="red")


def _rejected(row: dict[str, Any], body: dict[str, Any]) -> Text:
    tried = _clean(body.get("action") or "")
    fields = _fields(body["payload"]) if isinstance(body.get("payload"), dict) else ""
    text = Text.assemble((f"REJECTED {body['code']}", "red"), f": {_clean(body['reason'])}")
    return text.append(f"\n{tried}  {fields}".rstrip(), style="dim") if tried else text


def _fields(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{_clean(key)} = {_value(value)}" for key, value in fields.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, Mapping):
        return f"({_fields(value)})" if value else "none"
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "none"
    return _clean(str(value))


def _clean(text: str) -> str:
    """Return text that does nothing to a terminal: agents may say anything, escape sequences too."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)


_SAY: dict[str, Any] = {
    "action": _action,
    "message": _message,
    "notice": lambda row, body: Text(_clean(body["text"]), style="italic"),
    "timeout": _default,
    "forfeit": _default,
    "rejected": _rejected,
    "lost": lambda row, body: Text(f"is lost for the rest of the match: {_clean(body['error'])}", style="red"),
    "abort": lambda row, body: Text(f"ends the match: {_clean(body['reason'])}", style="red"),
}
