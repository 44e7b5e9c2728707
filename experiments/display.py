"""What the command line prints: progress, tables and transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from experiments import stats
from experiments.results import Run
from sim.errors import RunError

console = Console(highlight=False)


@contextmanager
def watch(what: str) -> Iterator[Any]:
    """Show a progress bar; yields the function to tell (done, total)."""
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, rate="")

        def tell(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:,.0f} matches/s" if speed else "")

        yield tell


def print_results(run: Run) -> None:
    """Print the table of a run."""
    points = stats.figures(run.path)
    table = Table(
        title=f"{run.config['points'][0]['game']['game_id']} · seed {run.config['seed']}", title_justify="left"
    )
    keys = list(points[0].labels)
    for key in keys:
        table.add_column(key)
    for heading in ("matches", "resolved", "funded", "turns", "errors"):
        table.add_column(heading, justify="right")
    table.add_column("mean payoff per seat (95 % interval)")
    for point in points:
        table.add_row(*(str(point.labels[key]) for key in keys), *_cells(point))
    console.print(table)
    summary = run.summary
    if summary:
        speed = f"{summary['matches_per_second']:,.0f} matches/s"
        missing = summary["asked"] - summary["matches"]
        note = f" · {missing:,} missing: quorum resume {run.path}" if missing else ""
        restarts = f" · {summary['restarts']} restarts" if summary["restarts"] else ""
        console.print(f"{speed}{restarts}{note}")
    else:
        console.print(f"not finished: quorum resume {run.path}")
    console.print(f"run directory: {run.path}", soft_wrap=True)


def _cells(point: stats.PointFigures) -> tuple[Any, ...]:
    resolved = point.statuses.get("resolved", 0) / point.matches
    seats = "\n".join(f"{s.agent_id}  {s.mean:,.2f} ± {s.half_width:,.2f}" for s in point.seats)
    return (
        f"{point.matches:,}",
        f"{resolved:.1%}",
        "–" if point.funded is None else f"{point.funded:.1%}",
        f"{point.turns:.1f}",
        f"{point.errors:,}",
        seats,
    )


def print_results_json(run: Run) -> None:
    """Print the figures of a run as JSON."""
    _print_json({"run": str(run.path), "summary": run.summary, "points": stats.figures(run.path)})


def print_query(run: Run, sql: str, *, as_json: bool) -> None:
    """Print the answer to a query.

    Raises:
        RunError: The query is wrong.
    """
    try:
        names, rows = stats.query(run.path, sql)
    except duckdb.Error as error:
        raise RunError(f"--sql: {str(error).splitlines()[0]}") from None
    if as_json:
        _print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    table = Table(*names)
    for row in rows:
        table.add_row(*(_plain(value) for value in row))
    console.print(table)


def _plain(value: Any) -> str:
    return f"{value:,.4f}" if isinstance(value, float) else str(value)


def _print_json(value: Any) -> None:
    text = msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2)
    console.print(text.decode(), markup=False, soft_wrap=True)


# ── transcripts ─────────────────────────────────────────────────────────────────────────────────────────


def print_transcript(run: Run, match: str) -> None:
    """Print what happened in a match, who said what to whom, and how it ended."""
    events = run.events(int(match) if match.isdigit() else match)
    for event in events.iter_rows(named=True):
        line = Text(f"{event['time']:9.4f}s  ")
        line.append(f"{event['sender']:<16} ", style="bold")
        line.append_text(_said(event))
        console.print(line, soft_wrap=True)


def _said(event: dict[str, Any]) -> Text:
    body = msgspec.json.decode(event["body"])
    say = _SAY.get(event["kind"])
    text = say(event, body) if say else Text(event["body"])
    if event["visibility"] == "private" and event["kind"] == "message":
        to = ", ".join(r for r in event["recipients"] if r != event["sender"])
        return Text(f"PRIVATE to {to}: ", style="yellow").append_text(text)
    return text


def _open(event: dict[str, Any], body: dict[str, Any]) -> Text:
    if event["recipients"]:
        facts = ", ".join(f"{key} = {_number(value)}" for key, value in body.items()) or "nothing of its own"
        return Text(f"tells {event['recipients'][0]} alone: {facts}", style="dim")
    return Text(f"opens {body['game']}")


def _action(event: dict[str, Any], body: dict[str, Any]) -> Text:
    fields = body.get("private") or body.get("payload") or {}
    said = ", ".join(f"{key} = {_number(value)}" for key, value in fields.items())
    text = Text(f"{body['action']}", style="cyan").append(f"  {said}" if said else "", style="default")
    text.append(f"   [{body['phase']}, round {body['round']}]", style="dim")
    for message in body.get("messages", ()):
        text.append(f"\n{'':28}“{message}”")
    return text


def _default(event: dict[str, Any], body: dict[str, Any]) -> Text:
    why = "let the deadline pass" if event["kind"] == "timeout" else f"forfeits the turn ({body.get('error')})"
    return Text(f"{why}; counts as {body['action'] or 'no action'}", style="red")


def _rejected(event: dict[str, Any], body: dict[str, Any]) -> Text:
    return Text(f"rejected: {body['code']}: {body['reason']}", style="red")


def _end(event: dict[str, Any], body: dict[str, Any]) -> Text:
    gains = ", ".join(f"{_number(u)}" for u in body["utilities"])
    details = ", ".join(f"{key} = {_number(value)}" for key, value in body["details"].items())
    return Text(f"{body['status']}: {body['trigger']}; payoffs {gains}; {details}", style="bold")


def _number(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


_SAY: dict[str, Any] = {
    "open": _open,
    "phase": lambda event, body: Text(f"phase {body['phase']}", style="bold magenta"),
    "action": _action,
    "message": lambda event, body: Text(f"“{body['text']}”"),
    "timeout": _default,
    "forfeit": _default,
    "rejected": _rejected,
    "lost": lambda event, body: Text(f"is lost: {body['error']}", style="red"),
    "abort": lambda event, body: Text(f"aborts: {body['reason']}", style="red"),
    "end": _end,
}
