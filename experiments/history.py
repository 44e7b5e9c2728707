"""Checks histories of the coalition game: what a record holds must be what the rules give, item by item.

Referee, agents and network act at the same time; their record has one order. It is right if every action that was
accepted is allowed where it stands, and everything that the referee said follows from what was accepted before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from experiments.config import game_from
from experiments.results import Run
from experiments.sequential import Sequential
from experiments.trials import Broken, Claim, Trial
from sim.errors import ConfigError, RunError
from sim.game import Game
from sim.games.coalition import CoalitionGame
from sim.games.coalition.outcome import FORMED, NOT_FORMED
from sim.messages import Event
from sim.record import MatchRecord

MOST_SHOWN = 10
"""Breaches of a run that are shown."""


class Breach(msgspec.Struct, frozen=True):
    """Something in a record that the rules do not give.

    Attributes:
        match_id: The match.
        seq: The event at which it shows.
        formation: In which formation; None where it concerns the match as a whole.
        rule: What is broken: "version chain", "signature", "threshold", "deadline", "terminal state", "conservation",
            "utilities" and others.
        text: What is wrong.
    """

    match_id: str
    seq: int
    formation: int | None
    rule: str
    text: str

    def __str__(self) -> str:
        where = "" if self.formation is None else f"formation {self.formation}, "
        return f"{self.match_id}, {where}event {self.seq}: {self.rule}: {self.text}"


def check_history(record: MatchRecord, game: Game) -> list[Breach]:
    """Check a record of the coalition game; returns what is broken, of each formation the first thing alone.

    Args:
        record: The record, of a run on any runtime.
        game: The game with the parameters that the match was played with: its draws say who can do what.
    """
    return _Reader(record, game).check()


def check_run(run: Run, progress: Callable[[int, int], None] | None = None) -> tuple[int, list[Breach]]:
    """Check all records of a coalition run; returns how many, and what is broken. Holds one part in memory.

    Raises:
        RunError: It has matches of another game, or a file is damaged.
    """
    try:
        games = [game_from(point["game"]) for point in run.config["points"]]
    except ConfigError as error:
        raise RunError(f"{run.directory.config_file}: {error}") from None
    if not all(isinstance(game, CoalitionGame) for game in games):
        raise RunError(f"{run.path} has other games than coalition; only of that can histories be checked")
    count, found, total = 0, [], len(run)
    for record in run.records():
        found += check_history(record, games[record.spec.point])
        count += 1
        if progress is not None and count % 20 == 0:
            progress(count, total)
    return count, found


class _Reader:
    """Reads the events of a record in their order, and has the rules read the same."""

    def __init__(self, record: MatchRecord, game: Game) -> None:
        self._record = record
        self._ids = record.spec.agent_ids
        self._rules = Sequential(record.spec, game)
        self._found: dict[int | str | None, Breach] = {}
        self._now = 0.0
        self._bodies: list[dict[str, Any]] = []

    def check(self) -> list[Breach]:
        for number, event in enumerate(self._record.events):
            try:
                body = msgspec.json.decode(event.body, type=dict[str, Any])
            except msgspec.MsgspecError as error:
                return [*self._found.values(), self._breach(event.seq, None, "record", f"no body: {error}")]
            if event.seq != number:
                self._broken(number, None, "record", f"the event's number is {event.seq}")
            if event.time < self._now:
                self._broken(number, None, "record", f"time goes back from {self._now} s to {event.time} s")
            self._now = event.time
            self._bodies.append(body)
        self._costs()
        for item, told in self._items():
            self._read(item, told)
        self._end()
        return list(self._found.values())

    def _items(self) -> Iterator[tuple[int | None, list[int]]]:
        """Yield what was read, and what the referee said of it; both as numbers of events."""
        item: int | None = None
        told: list[int] = []
        for number, event in enumerate(self._record.events):
            if event.kind == "notice":
                told.append(number)
            elif event.kind not in ("open", "phase"):
                yield item, told
                item, told = number, []
        yield item, told

    def _read(self, item: int | None, told: Sequence[int]) -> None:
        if item is not None:
            try:
                self._apply(self._record.events[item], self._bodies[item])
            except Broken as broken:
                self._broken(item, broken.formation, broken.rule, str(broken))
                self._rules.claims.clear()
                return
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                self._broken(item, None, "record", f"cannot be read: {type(error).__name__}: {error}")
                self._rules.claims.clear()
                return
        self._compare(self._rules.claims, told, item or 0)
        self._rules.claims.clear()

    def _apply(self, event: Event, body: dict[str, Any]) -> None:
        rules, now = self._rules, event.time
        if event.kind == "alarm":
            rules.tick(max(now, body["at"]))
        if event.kind not in ("action", "timeout", "forfeit"):
            return
        action, thread = body["action"], body.get("thread", 0)
        given = _or_empty(body.get("private") or body["payload"])
        seat = self._ids[event.sender]
        if body["agent_id"] != seat:
            raise Broken("record", None, f"{body['agent_id']} acts in the name of {seat}")
        if action == "initiate":
            rules.initiate(seat, thread, now, given)
        elif action == "decline":
            rules.decline(seat, thread, given.get("decision"))
        elif action in ("sign", "modify", "reject", "deploy", "abort"):
            number = self._formation(thread, given)
            if action in ("deploy", "abort"):
                rules.decide(seat, number, now, action, given)
            else:
                {"sign": rules.sign, "modify": rules.modify, "reject": rules.reject}[action](seat, number, now, given)

    def _formation(self, thread: int, given: dict[str, Any]) -> int:
        number = self._rules.threads[thread - 1] if 0 < thread <= len(self._rules.threads) else 0
        if not number or given.get("formation") not in (None, number):
            named = given.get("formation")
            raise Broken("membership", number or None, f"thread {thread} is not about formation {named or '?'}")
        return number

    def _compare(self, claims: Sequence[Claim], told: Sequence[int], item: int) -> None:
        """Compare what the referee should have said of an item with what it said."""
        for claim, number in zip_longest(claims, told):
            said = None if number is None else self._said(number)
            if said == claim:
                continue
            facts = (claim or said or Claim((), 0, {})).facts
            seq = item if number is None else number
            self._broken(seq, facts.get("formation"), _rule(facts), f"{_words(said)}; by the rules {_words(claim)}")
            return

    def _said(self, number: int) -> Claim:
        body, to = self._bodies[number], self._record.events[number].recipients
        seats = self._ids if to is None else tuple(self._ids[seat] for seat in to)
        return Claim(tuple(sorted(seats)), body.get("thread", 0), body.get("facts") or {})

    # ── the match as a whole ────────────────────────────────────────────────────────────────────────────

    def _costs(self) -> None:
        for number, event in enumerate(self._record.events):
            if event.kind == "open" and event.recipients:
                seat = self._ids[event.recipients[0]]
                costs = {str(task): cost for task, cost in enumerate(self._rules.costs[seat], 1)}
                if self._bodies[number] != {"costs": costs}:
                    self._broken(number, None, "private costs", f"{seat} was told {self._bodies[number]}, not {costs}")

    def _end(self) -> None:
        """Check how it ended: nothing is left open, and units and utilities add up."""
        last, outcome = len(self._record.events) - 1, self._record.outcome
        kinds = [event.kind for event in self._record.events]
        if kinds.count("end") != 1 or kinds[-1] != "end":
            self._broken(last, None, "terminal state", f"a match ends once: {kinds.count('end')} ends")
            return
        rules, body = self._rules, self._bodies[last]
        trials = list(rules.trials.values())
        active = [trial for trial in trials if trial.status == "active"]
        if body["status"] == "resolved":
            for trial in rules.open.values():
                self._broken(last, trial.number, "terminal state", f"it is {trial.status} at the end of the match")
            if rules.discovered < len(rules.discoveries):
                self._broken(last, None, "terminal state", "tasks are still to be discovered")
            if body["trigger"] != (right := FORMED if active else NOT_FORMED):
                self._broken(last, None, "outcome", f"the trigger is {body['trigger']}, not {right}")
        utilities = [float(sum(rules.utility(trial, seat) for trial in active)) for seat in self._ids]
        if list(body["utilities"]) != utilities:
            self._broken(last, None, "utilities", f"payoffs are {body['utilities']}, not {utilities}")
        said = {name: getattr(outcome, name) for name in ("status", "trigger", "details", "figures")}
        if said != {name: body[name] for name in said} or list(outcome.utilities) != list(body["utilities"]):
            self._broken(last, None, "outcome", "the record's outcome is not that of its last event")
        self._figures(last, body["figures"], trials, active)

    def _figures(self, last: int, figures: dict[str, Any], trials: list[Trial], active: list[Trial]) -> None:
        rules = self._rules
        costs = sum(rules.costs[seat][trial.task - 1] for trial in active for seat in trial.members)
        value = sum(rules.tasks[trial.task].value for trial in active)
        ends: dict[str, int] = {"initiated": len(trials)}
        locked = {"held": 0, "bound": 0}
        for trial in trials:
            end = trial.status if trial.reason is None else f"{trial.status}_{trial.reason}"
            ends[end] = ends.get(end, 0) + 1
            locked["held" if trial.status == "open" else "bound"] += sum(trial.locked.values())
        right = {
            "formations": ends,
            "agreed": sum(bool(trial.members) for trial in trials),
            "value": value,
            "costs": costs,
            "welfare": value - costs,
            "allocated": sum(sum(trial.offer.allocation.values()) for trial in active),
            "decisions": sum(rules.decisions.values()),
        }
        for name, amount in right.items():
            if figures.get(name) != amount:
                self._broken(last, None, "outcome", f"{name} is {figures.get(name)}, not {amount}")
        units = {"supply": sum(rules.units.values()), "available": sum(rules.free.values()), **locked}
        if figures.get("units") != units or units["supply"] != sum(units.values()) - units["supply"]:
            self._broken(last, None, "conservation", f"units are {figures.get('units')}, not {units}")

    def _broken(self, seq: int, formation: int | None, rule: str, text: str) -> None:
        """Note what is broken: of each formation the first thing, of the match the first by each rule."""
        self._found.setdefault(rule if formation is None else formation, self._breach(seq, formation, rule, text))

    def _breach(self, seq: int, formation: int | None, rule: str, text: str) -> Breach:
        return Breach(self._record.spec.match_id, seq, formation, rule, text)


def _or_empty(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _rule(facts: dict[str, Any]) -> str:
    if facts.get("step") == "threshold":
        return "threshold"
    if "utility" in facts:
        return "utilities"
    if "step" in facts:
        return "decisions" if "seat" in facts else "tasks"
    return {"open": "initiation", "consensus": "consensus", "taken": "exclusive task"}.get(
        facts.get("status", ""), "terminal state"
    )


def _words(claim: Claim | None) -> str:
    if claim is None:
        return "nothing is said"
    facts = ", ".join(f"{name} = {value}" for name, value in claim.facts.items())
    return f"said to {', '.join(claim.to) or 'the record'}: {facts}"
