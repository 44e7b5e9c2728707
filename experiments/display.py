"""What the command line prints: progress, tables and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from rich import box
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from experiments import stats
from experiments.results import Run

if TYPE_CHECKING:
    from experiments.markets import MarketFigures

console = Console(highlight=False)

MOST_POINTS = 8
"""Grid points that are shown seat by seat where there are other tables too."""


@contextmanager
def watch(what: str) -> Iterator[Any]:
    """Show a progress bar on a terminal; yields the function to tell (done, total)."""
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    errors = Console(stderr=True)
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(what, total=None, rate="")

        def tell(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:,.0f} matches/s" if speed else "")

        yield tell


def table(*headings: str, right: Sequence[str] = ()) -> Table:
    """Return an empty table in the house style; the columns `right` hold numbers."""
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for heading in headings:
        numeric = heading in right
        made.add_column(
            heading,
            justify="right" if numeric else "left",
            overflow="fold",
            min_width=min(len(heading), 12),
        )
    return made


def print_json(value: Any) -> None:
    """Print JSON, the same for the same value."""
    text = msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2)
    print_line(text.decode())


def print_line(text: str, style: str = "") -> None:
    """Print text as it is: no markup, no line of it broken."""
    console.print(Text(text, style=style), soft_wrap=True)


PAGE = 100
"""Columns of a text that is read: lines of more are hard to follow."""


def print_page(page: RenderableType, width: int | None = None) -> None:
    """Print something that is laid out, in `PAGE` columns at most; without trailing blanks where it is not a terminal.

    Args:
        page: What is printed.
        width: How many columns it has instead.
    """
    width = min(console.width, PAGE) if width is None else width
    wide = Console(width=width, highlight=False)
    if wide.is_terminal:
        wide.print(page)
        return
    with wide.capture() as captured:
        wide.print(page)
    print_line("\n".join(line.rstrip() for line in captured.get().splitlines()))


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────


def print_results(run: Run) -> None:
    """Print the table of a run: a row for each seat of each grid point."""
    points = stats.figures(run)
    games = [point["game"] for point in run.config["points"]]
    names = list(dict.fromkeys(map(_name, games)))
    kinds = [key for key in ("mode", "shape") if len({str(game.get(key)) for game in games}) == 1 and key in games[0]]
    what = " ".join([names[0], *(str(games[0][key]) for key in kinds)]) if len(names) == 1 else "several games"
    done = sum(point.matches for point in points)
    ended = " · all resolved" if done and _all_resolved(points) else ""
    kind = run.config["runtime"].get("kind", "?")
    print_line(f"{what} · {done:,} matches{ended} · seed {run.config['seed']} · {kind}", "bold")
    if done:
        for shown in _tables(run, points):
            console.print()
            console.print(shown)
        console.print()
        if endings := _endings(points):
            print_line(endings)
        if found := stats.first_error(run) if any(point.errors for point in points) else None:
            index, error = found
            console.print(Text(f"first error: {error}; see quorum show {run.path} {index}", style="yellow"))
    if done < run.asked:
        print_line(f"{run.asked - done:,} of {run.asked:,} matches are missing: quorum resume {run.path}", "yellow")
    elif speed := run.summary.get("matches_per_second"):
        restarts = run.summary.get("restarts")
        print_line(f"{speed:,.0f} matches/s" + (f" · {restarts} restarts of a cell" if restarts else ""))
    print_line(f"run directory: {run.path}")


def _name(game: Mapping[str, Any]) -> str:
    """Return what a game is called; one that is named by its import path, the name of its class."""
    return str(game.get("game_id") or str(game.get("class", "?")).rpartition(":")[2])


def _is_all(run: Run, game_id: str) -> bool:
    return all(point["game"].get("game_id") == game_id for point in run.config["points"])


def _tables(run: Run, points: Sequence[stats.PointFigures]) -> Iterator[RenderableType]:
    """Yield the tables of a run: by seat, and for markets by type; a run of many tasks is shown by type alone."""
    if _is_all(run, "coalition"):
        from experiments.coalition_tables import coalition_tables

        yield from coalition_tables(run, points)
        return
    markets = _is_all(run, "bargaining")
    few = len(points) <= MOST_POINTS
    if not markets or few:
        yield from tables_of_seats(points)
    if not markets:
        return
    from experiments.markets import figures_by_point, market_figures

    if few and len(points) > 1:
        by_point = figures_by_point(run)
        played = [number for number, point in enumerate(points) if point.point in by_point]
        labels = {key: [values[n] for n in played] for key, values in short_labels(points).items()}
        made = _market_table([by_point[points[n].point] for n in played], labels)
        yield Group(made, Text(_OF_MARKETS, style="dim"))
    else:
        rows = market_figures(run)
        yield Group(_market_table(rows, {}), Text(_OF_MARKETS, style="dim"), *_at_clearing_prices(rows))


def _at_clearing_prices(rows: Sequence[MarketFigures]) -> list[Text]:
    """Say how many deals were struck at a price at which their market clears, where it has such a price."""
    shares = [f"{row.market} {row.at_equilibrium:.0%}" for row in rows if row.at_equilibrium is not None]
    return [Text(f"deals at a price at which the market clears: {', '.join(shares)}", style="dim")] if shares else []


_OF_MARKETS = "global, buyer, seller: mean scores; welfare: gain of all, of the most possible"
"""What the figures of markets are."""


def _market_table(rows: Sequence[MarketFigures], labels: Mapping[str, Sequence[str]]) -> Table:
    """Return the table of markets, by type or by the labels of their grid points; what it says of none is left out."""
    columns: dict[str, list[str]] = {
        "points": [f"{r.points:,}" for r in rows],
        "matches": [f"{r.matches:,}" for r in rows],
        "deals": [f"{r.deals:.0%}" for r in rows],
        "timeout": [f"{r.timeout:.0%}" for r in rows],
        "overflow": [f"{r.overflow:.0%}" for r in rows],
        "rounds": ["–" if r.rounds is None else f"{r.rounds:.1f}" for r in rows],
        "global": [f"{r.global_score:.1f}" for r in rows],
        "buyer": [f"{r.buyer_score:.1f}" for r in rows],
        "seller": [f"{r.seller_score:.1f}" for r in rows],
        "welfare": [f"{r.efficiency:.0%}" for r in rows],
    }
    if all(r.points == 1 for r in rows):
        del columns["points"]
    if labels:  # the table by seat has them
        del columns["matches"]
    for kind in ("timeout", "overflow"):
        if not any(getattr(r, kind) for r in rows):
            del columns[kind]
    made = table(*labels, "market", *columns, right=tuple(columns))
    for number, row in enumerate(rows):
        made.add_row(
            *(values[number] for values in labels.values()),
            row.market,
            *(cells[number] for cells in columns.values()),
            end_section=not labels and number == len(rows) - 2,
        )
    return made


def _endings(points: Sequence[stats.PointFigures]) -> str:
    """Say what ended the matches, where there are more ways than success and one other."""
    counts: Counter[str] = Counter()
    for point in points:
        counts.update(point.triggers)
    if len(counts) < 3:
        return ""
    total = counts.total()
    return "ended by " + ", ".join(f"{trigger} {count / total:.1%}" for trigger, count in counts.most_common())


def tables_of_seats(points: Sequence[stats.PointFigures]) -> Iterator[Table]:
    """Yield the table of what seats got and did wrong; two where one would be too wide."""
    faults = [kind for kind in _FAULTS if any(getattr(seat, kind) for point in points for seat in point.seats)]
    if faults == ["late"]:  # where all else is well, it is nobody's fault
        faults = []
    made = _results_table(points, faults)
    if faults and console.measure(made, options=console.options.update(max_width=_MUCH)).maximum > console.width:
        yield _results_table(points, ())
        yield _faults_table(points, faults)
    else:
        yield made


def _faults_table(points: Sequence[stats.PointFigures], faults: Sequence[str]) -> Table:
    labels = short_labels(points)
    made = table(*labels, "seat", *faults, right=faults)
    for row, point in enumerate(points):
        first = [values[row] for values in labels.values()]
        for seat in point.seats:
            counts = [f"{getattr(seat, kind):,}" for kind in faults]
            made.add_row(*first, seat.agent_id, *counts, end_section=seat is point.seats[-1])
            first = [""] * len(first)
    return made


def _results_table(points: Sequence[stats.PointFigures], faults: Sequence[str]) -> Table:
    labels = short_labels(points)
    goal = next((p.goal for p in points if p.goal is not None), "")
    columns = {
        "matches": [f"{p.matches:,}" for p in points],
        "resolved": [share(p.statuses.get("resolved", 0), p.matches) for p in points],
        goal: ["–" if p.success is None else f"{p.success:.1%}" for p in points],
        "turns": ["–" if p.turns is None else f"{p.turns:.1f}" for p in points],
        "errors": [f"{p.errors:,}" for p in points],
    }
    # A column that says the same of every point would cost the width that seats need.
    if not any(p.errors for p in points):
        del columns["errors"]
    if _all_resolved(points):
        del columns["resolved"]
    if all(p.success is None for p in points):
        del columns[goal]
    of_seats = ("mean\npayoff" if faults else "mean payoff", "± 95 %", *faults)
    made = table(*labels, *columns, "seat", *of_seats, right=(*columns, *of_seats))
    for row, point in enumerate(points):
        first = [*(values[row] for values in labels.values()), *(values[row] for values in columns.values())]
        for seat in point.seats:
            counts = [f"{getattr(seat, kind):,}" for kind in faults]
            made.add_row(*first, *_seat_cells(seat), *counts, end_section=seat is point.seats[-1])
            first = [""] * len(first)
        if not point.seats:
            made.add_row(*first, *["–"] * (1 + len(of_seats)), end_section=True)
    for column in made.columns:
        if column.justify == "right":  # names may be broken, numbers never
            column.min_width = max(len(str(cell)) for cell in column.cells)
    return made


_MUCH = 1000
"""More columns than any table of seats needs."""

_FAULTS = ("timeouts", "forfeits", "rejected", "late")
"""Figures of a seat that are 0 as long as its agent answers as it should."""


def _all_resolved(points: Sequence[stats.PointFigures]) -> bool:
    return all(set(point.statuses) <= {"resolved"} for point in points)


def _seat_cells(seat: stats.SeatFigures) -> tuple[str, str, str]:
    return seat.agent_id, f"{seat.mean:,.2f}", "–" if seat.half_width is None else f"{seat.half_width:,.2f}"


def share(count: int, total: int) -> str:
    """Return a part of a total as text."""
    return f"{count / total:.1%}" if total else "–"


def short_labels(points: Sequence[stats.PointFigures]) -> dict[str, list[str]]:
    """Return the labels of each point by heading: keys by their last part, files without the folder they share."""
    keys = list(points[0].labels)
    short = [key.rpartition(".")[2] for key in keys]
    found = {}
    for key, name in zip(keys, short, strict=True):
        values = [_label(point.labels.get(key)) for point in points]
        folders = {value.rpartition("/")[0] for value in values}
        if len(folders) == 1:
            values = [value.rpartition("/")[2] for value in values]
        found[name if short.count(name) == 1 else key] = values
    return found


def _label(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def print_results_json(run: Run) -> None:
    """Print the figures of a run as JSON."""
    points = stats.figures(run)
    done = sum(point.matches for point in points)
    said: dict[str, Any] = {
        "run": str(run.path),
        "asked": run.asked,
        "matches": done,
        "finished": done == run.asked,
        "points": points,
        "summary": run.summary,
    }
    if _is_all(run, "coalition"):
        from experiments.coalitions import coalition_figures

        said["coalitions"] = coalition_figures(run)
    if _is_all(run, "bargaining"):
        from experiments.markets import market_figures

        said["markets"] = market_figures(run)
    print_json(said)
