"""What a stress run prints and leaves: the table of what happened, the JSON file, and the trace of a violation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from experiments.display import console, print_line, table
from experiments.stress.asking import Asked
from experiments.stress.counting import INSTANT, LATE_BY, LATER, Tally
from experiments.stress.seedfile import SeedFile

_ROWS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "matches": (
        ("resolved", "resolved"),
        ("timed_out", "stopped at a cap"),
        ("agent_failed", "failed by an agent"),
        ("aborted", "aborted"),
    ),
    "submissions": (
        ("accepted", "accepted"),
        ("in_time_at_the_instant", "  at the very instant of the deadline"),
        ("late", "late"),
        ("overtaken", "overtaken: the turn was over before its deadline"),
        ("not_your_turn", "out of turn"),
        ("duplicates", "duplicates"),
        ("against_the_rules", "against the rules"),
        ("malformed", "malformed"),
        ("strangers", "of strangers"),
    ),
    "turns": (("timeouts", "lapsed"), ("forfeits", "forfeited")),
    "messages_sent": (
        ("messages_lost", "lost"),
        ("messages_duplicated", "duplicated"),
        ("messages_delayed", "delayed"),
    ),
    "crashes": (("crashes_survived", "survived: the match ended all the same"), ("lost_seats", "noticed")),
}
"""What is counted, in the order of the table: a head, and what it is made up of."""

_HEADS = {"messages_sent": "messages"}


def print_tally(asked: Asked, tally: Tally, seconds: float, broken: str | None) -> None:
    """Print what happened in a run."""
    count = tally["matches"]
    state = "all invariants hold" if broken is None else f"broken: {broken}"
    played = f"{count:,} match{'es' if count != 1 else ''}"
    what = f"{asked.name} · {played} · seed {asked.config.seed} · {asked.clock} time · {asked.runtime}"
    print_line(what, "bold")
    print_line(state, "green" if broken is None else "bold red")
    console.print()
    made = table("", "count", "per match", right=("count", "per match"))
    for name, value, end in _table_rows(asked.name.partition("/")[0], tally):
        made.add_row(name, f"{value:,}", f"{value / count:,.3f}" if count else "", end_section=end)
    console.print(made)
    console.print()
    if tally.latest > INSTANT:
        print_line(f"the latest answer came {tally.latest:,.3f} s after its deadline")
    print_line(f"{tally['items']:,} items checked · {count / seconds:,.0f} matches/s")


def _table_rows(game: str, tally: Tally) -> Iterator[tuple[str, int, bool]]:
    """Yield the rows of the table: (what, how many, whether a group ends); what did not happen is left out."""
    groups = []
    for head, parts in _ROWS.items():
        if not tally[head]:
            continue
        rows = [(_HEADS.get(head, head), tally[head])]
        for name, words in parts:
            if tally[name]:
                rows.append((f"  {words}", tally[name]))
            if name == "late":
                rows.extend(_late_rows(tally))
        groups.append(rows)
    if tally.races:
        own = sorted(tally.races.items())
        groups.append([(f"{game}: {name.replace('_', ' ')}", count) for name, count in own])
    for group in groups:
        for number, (name, count) in enumerate(group):
            yield name, count, number == len(group) - 1


def _late_rows(tally: Tally) -> Iterator[tuple[str, int]]:
    for (_, word), before in zip((*LATE_BY, (0.0, LATER)), (None, *LATE_BY), strict=True):
        if count := tally.late_by.get(word):
            said = f"by more than {LATE_BY[-1][1]}" if word == LATER else f"by at most {word}"
            yield f"    {said if before is not None else 'at the very instant of the deadline'}", count


def to_json(asked: Asked, tally: Tally, seconds: float, found: SeedFile | None) -> dict[str, Any]:
    """Return a run as plain data."""
    points = [{"labels": p["labels"], "game": p["game"], "agents": p["agents"]} for p in asked.config.points]
    return {
        "game": asked.name,
        "seed": asked.config.seed,
        "matches_asked": len(points) * asked.config.num_matches,
        "clock": asked.clock,
        "runtime": asked.runtime,
        "faults": msgspec.to_builtins(asked.faults),
        "points": points,
        **tally.to_dict(),
        "seconds": seconds,
        "violation": None if found is None else {**msgspec.to_builtins(found.violation), "match": found.match},
    }


def print_violation(found: SeedFile) -> None:
    """Print a violation and its trace."""
    items = f"{len(found.items):,} items" if found.items is not None else "the whole match"
    print_line(f"match {found.match} · seed {found.seed} · {items}", "bold")
    console.print()
    for line in found.trace[:-1] if found.items is not None else found.trace:
        print_line(line)
    print_line(f"broken: {found.violation}", "bold red")
