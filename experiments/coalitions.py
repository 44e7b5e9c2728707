"""Figures of coalition runs: how many formations succeed, how fast, and what they make of what could be made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from math import ceil, fsum
from typing import Any

import msgspec
import polars as pl

from experiments.config import game_from
from experiments.potential import Potential, World
from experiments.results import Run
from experiments.welfare import efficiency
from sim.errors import ConfigError
from sim.game import Game
from sim.games.coalition import CoalitionGame


class SeatShare(msgspec.Struct, frozen=True):
    """What a seat got, against the Shapley value of its part in what could be made; means over matches, in currency.

    Attributes:
        agent_id: The seat.
        got: What it got.
        shapley: Its Shapley value.
    """

    agent_id: str
    got: float
    shapley: float


class CoalitionFigures(msgspec.Struct, frozen=True):
    """Figures of the coalition matches of one grid point.

    Attributes:
        point: Its number.
        matches: How many matches.
        discovered: Tasks discovered.
        initiated: Formations initiated.
        formed: Formations that became active, as a part of those initiated; None without any.
        seconds: Mean time to agreement, in seconds of the match from initiation to consensus; None without any.
        seconds_p95: The time within which 95 % of the agreements were reached.
        versions: Mean number of versions that an agreement took.
        members: Mean number of members of an active coalition.
        ends: How many formations ended how: "active", or the status and the reason, such as "failed_timeout".
        welfare: Mean of what a match made: values of the tasks done, less their members' private costs.
        best: Mean of the most that could be made; None where it was not computed for any match.
        efficiency: What was made as a part of that, over the matches for which it was computed.
        exact: Whether the most is exact. Otherwise it is an upper bound, and `efficiency` a lower one.
        unmeasured: Matches for which it was not computed, as it would take too long.
        seats: What each seat got, against its Shapley value; empty for matches of many seats.
    """

    point: int
    matches: int
    discovered: int
    initiated: int
    formed: float | None
    seconds: float | None
    seconds_p95: float | None
    versions: float | None
    members: float | None
    ends: dict[str, int]
    welfare: float
    best: float | None
    efficiency: float | None
    exact: bool
    unmeasured: int
    seats: list[SeatShare]


class _Sums:
    """Adds the matches of a grid point up."""

    def __init__(self) -> None:
        self.matches = self.discovered = self.unmeasured = 0
        self.ends: Counter[str] = Counter()
        self.members: list[float] = []
        self.welfare: list[float] = []
        self.made: list[float] = []
        self.best: list[float] = []
        self.exact = True
        self.seats: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def add(self, row: Mapping[str, Any], figures: Mapping[str, Any], potential: Potential | None) -> None:
        """Add a match."""
        self.matches += 1
        self.discovered += row["discovered"]
        ends = {end: count for end, count in figures["formations"].items() if end != "initiated"}
        self.ends.update(ends)
        if figures["members_per_coalition"] is not None:
            self.members += [figures["members_per_coalition"]] * ends.get("active", 0)
        self.welfare.append(figures["welfare"])
        if potential is None:
            self.unmeasured += 1
            return
        self.made.append(figures["welfare"])
        self.best.append(potential.best)
        self.exact &= potential.exact
        for agent_id, got, shapley in zip(row["seats"], row["payoffs"], potential.shapley, strict=False):
            self.seats[agent_id].append((got, shapley))

    def figures(self, point: int, agreed: list[tuple[float, int]]) -> CoalitionFigures:
        """Return the figures of all that was added; `agreed` holds the seconds and versions of each agreement."""
        initiated = self.ends.total()
        seconds = sorted(elapsed for elapsed, _ in agreed)
        return CoalitionFigures(
            point=point,
            matches=self.matches,
            discovered=self.discovered,
            initiated=initiated,
            formed=self.ends["active"] / initiated if initiated else None,
            seconds=_mean(seconds),
            seconds_p95=seconds[ceil(0.95 * len(seconds)) - 1] if seconds else None,
            versions=_mean([version for _, version in agreed]),
            members=_mean(self.members),
            ends=dict(self.ends.most_common()),
            welfare=fsum(self.welfare) / self.matches,
            best=_mean(self.best),
            efficiency=efficiency(fsum(self.made), fsum(self.best)) if self.best else None,
            exact=self.exact,
            unmeasured=self.unmeasured,
            seats=[
                SeatShare(agent_id, fsum(got for got, _ in both) / len(both), fsum(s for _, s in both) / len(both))
                for agent_id, both in self.seats.items()
            ],
        )


def _mean(values: list[float] | list[int]) -> float | None:
    return fsum(values) / len(values) if values else None


def coalition_figures(run: Run) -> list[CoalitionFigures]:
    """Return the figures of each grid point of a coalition run that has matches.

    Points of other games are left out, and matches in which the rules broke down. It reads part by part, and holds
    no match in memory. What could be made is computed once for each distinct world.
    """
    games = [_game(point["game"]) for point in run.config["points"]]
    sums: dict[int, _Sums] = defaultdict(_Sums)
    world = World()
    for row, figures in _matches(run):
        game = games[row["point"]]
        if isinstance(game, CoalitionGame) and figures:
            sums[row["point"]].add(row, figures, world.potential(game, tuple(row["seats"]), row["seed"]))
    agreed = _agreed(run) if sums else {}
    return [sums[point].figures(point, agreed.get(point, [])) for point in sorted(sums)]


def _game(described: dict[str, Any]) -> Game | None:
    try:
        return game_from(described)
    except ConfigError:  # a class that cannot be imported here
        return None


def _matches(run: Run) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    columns = ["point", "seed", "seats", "payoffs", "outcome", "figures"]
    for number in run.directory.parts():
        for row in run.directory.read("matches", number).select(columns).to_pylist():
            row["discovered"] = msgspec.json.decode(row.pop("outcome")).get("discovered", 0)
            yield row, msgspec.json.decode(row.pop("figures"))


def _agreed(run: Run) -> dict[int, list[tuple[float, int]]]:
    """Return the seconds and the versions that each agreement took, by grid point, from the threshold checks met."""
    agreed: dict[int, list[tuple[float, int]]] = defaultdict(list)
    met = pl.col("body").str.contains('"status":"met"', literal=True)
    for number in run.directory.parts():
        matches = run.directory.read("matches", number).select(["match_id", "point"])
        points = dict(zip(*matches.to_pydict().values(), strict=True))
        events = pl.DataFrame(pl.from_arrow(run.directory.read("events", number).select(["match_id", "kind", "body"])))
        for match_id, body in events.filter((pl.col("kind") == "notice") & met).select("match_id", "body").iter_rows():
            facts = msgspec.json.decode(body).get("facts") or {}
            if facts.get("step") == "threshold":
                agreed[points[match_id]].append((facts["elapsed"], facts["version"]))
    return agreed
