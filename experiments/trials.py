"""What the check of coalition histories keeps: formations, their versions, and who has how many units free.

Written from the protocol, as the rules in `experiments.sequential` are. Seats are named by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import field

from sim.game import Game
from sim.judge import start
from sim.record import MatchSpec


class Broken(Exception):
    """Something was accepted that a rule refuses: which rule, in which formation, and what it was."""

    def __init__(self, rule: str, formation: int | None, text: str) -> None:
        super().__init__(text)
        self.rule, self.formation = rule, formation


class Claim(msgspec.Struct, frozen=True):
    """What the referee has to say: to whom, in which thread, and what."""

    to: tuple[str, ...]
    thread: int
    facts: dict[str, Any]


class Offer(msgspec.Struct, frozen=True):
    """A version of a proposal; amounts by seat id."""

    digest: str
    allocation: dict[str, int]
    commitment: dict[str, int]


class Trial(msgspec.Struct):
    """A formation as the rules see it; `owed` lists the decisions whose utility is still to come."""

    number: int
    task: int
    initiator: str
    invited: tuple[str, ...]
    opened: float
    deadline: float
    thread: int
    offers: list[Offer] = field(default_factory=list)
    signed: dict[str, bool] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    locked: dict[str, int] = field(default_factory=dict)
    status: str = "open"
    reason: str | None = None
    members: tuple[str, ...] = ()
    decide_by: float | None = None
    current_thread: int = 0
    owed: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def offer(self) -> Offer:
        """The current version."""
        return self.offers[-1]

    @property
    def due(self) -> float | None:
        """When time alone ends it."""
        return {"open": self.deadline, "consensus": self.decide_by}.get(self.status)


class Trials:
    """The formations of a match, and what they are about: tasks, seats and units.

    Args:
        spec: Which match.
        game: The game with the parameters that it was played with.

    Attributes:
        trials: All formations, by number; `open` holds those that have not ended.
        threads: The formation of each thread, from thread 1 on; 0 for a discovery.
        searching: By task, who is asked whether it initiates, and in which thread.
        taken: The formation that has each exclusive task.
        claims: What the referee has to say of the item that was read last.
    """

    def __init__(self, spec: MatchSpec, game: Game) -> None:
        drawn: Any = start(spec, game)
        self.ids = spec.agent_ids
        self.seat_of = {agent_id: seat for seat, agent_id in enumerate(self.ids)}
        self.tasks = drawn.world.tasks
        self.capabilities = {a: drawn.world.agents[s].capabilities for a, s in self.seat_of.items()}
        self.units = {a: drawn.world.agents[s].units for a, s in self.seat_of.items()}
        self.costs = {a: drawn.costs[s] for a, s in self.seat_of.items()}
        self.peers = {a: tuple(self.ids[p] for p in drawn.peers[s]) for a, s in self.seat_of.items()}
        self.discoveries = list(drawn.discoveries)
        self.activation_timeout, self.max_versions = drawn.world.activation_timeout, drawn.world.max_versions
        self.discovered = 0
        self.free = dict(self.units)
        self.searching: dict[int, dict[str, int]] = {}
        self.threads: list[int] = []
        self.trials: dict[int, Trial] = {}
        self.open: dict[int, Trial] = {}
        self.taken: dict[int, int] = {}
        self.decisions = dict.fromkeys(self.ids, 0)
        self.claims: list[Claim] = []

    def say(self, to: Sequence[str], thread: int, facts: dict[str, Any]) -> None:
        """The referee has to say something."""
        self.claims.append(Claim(tuple(sorted(to)), thread, facts))

    def utility(self, trial: Trial, seat: str) -> int:
        """Return the seat's share less its cost where it is a member of an active coalition, else 0."""
        if trial.status != "active" or seat not in trial.members:
            return 0
        return int(trial.offer.allocation.get(seat, 0) - self.costs[seat][trial.task - 1])

    # ── looking things up ───────────────────────────────────────────────────────────────────────────────

    def _place(self, trial: Trial) -> dict[str, Any]:
        return {"formation": trial.number, "task": trial.task, "version": len(trial.offers)}

    def _agreed(self, trial: Trial) -> dict[str, Any]:
        offer, members = trial.offer, list(trial.members)
        terms = {"digest": offer.digest, "allocation": offer.allocation, "commitment": offer.commitment}
        return self._place(trial) | terms | {"members": members}

    def _thread(self, formation: int) -> int:
        """Open a thread; a discovery is of no formation."""
        self.threads.append(formation)
        return len(self.threads)

    def _in_order(self, seats: Iterable[str]) -> list[str]:
        return sorted(seats, key=self.seat_of.__getitem__)

    def _covers(self, task: Any, seats: Iterable[str]) -> bool:
        able = [self.capabilities[seat] for seat in seats]
        return all(sum(one[kind] for one in able if kind < len(one)) >= n for kind, n in enumerate(task.requires))

    def _asked(self, seat: str, thread: int) -> int:
        for task, asked in self.searching.items():
            if asked.get(seat) == thread:
                return task
        raise Broken("initiation", None, f"{seat} is not asked whether it initiates (thread {thread})")

    def _trial(self, seat: str, number: int) -> Trial:
        trial = self.trials.get(number)
        if trial is None or seat not in trial.invited:
            raise Broken("membership", number, f"{seat} is not invited to formation {number}")
        return trial

    def _in_time(self, seat: str, number: int, now: float, action: str) -> Trial:
        trial = self._trial(seat, number)
        if trial.status != "open":
            raise Broken("terminal state", number, f"{seat}: {action} is accepted when it is {trial.status}")
        if now > trial.deadline:
            raise Broken("deadline", number, f"{seat}: {action} at {now} s, after {trial.deadline} s")
        if seat in trial.left:
            raise Broken("membership", number, f"{seat}: {action} after it has left")
        return trial

    def _offer(self, trial: Trial, author: str, allocation: Mapping[str, int], commitment: Mapping[str, int]) -> Offer:
        """Return the next version, with its digest; amounts in seat order."""
        task = self.tasks[trial.task]
        named = {**allocation, **commitment}
        if not set(named) <= set(trial.invited) or min([0, *allocation.values(), *commitment.values()]) < 0:
            raise Broken("terms", trial.number, f"amounts for {sorted(named)}; invited are {trial.invited}")
        if sum(allocation.values()) > task.value or any(allocation.get(seat) for seat in trial.left):
            raise Broken("terms", trial.number, f"{dict(allocation)} of {task.value}; {trial.left} have left")
        shares = {seat: allocation[seat] for seat in self._in_order(allocation)}
        owed = {seat: commitment[seat] for seat in self._in_order(commitment)}
        parent = trial.offer.digest if trial.offers else None
        amounts = [[[self.seat_of[seat], n] for seat, n in given.items()] for given in (shares, owed)]
        content = [trial.number, len(trial.offers) + 1, parent, self.seat_of[author], *amounts]
        text = json.dumps(content, separators=(",", ":"))
        return Offer(sha256(text.encode()).hexdigest()[:16], shares, owed)

    def _lock(self, trial: Trial, units: Mapping[str, int]) -> None:
        """Make what seats have locked for a formation so many units, for all of them or none."""
        more = {seat: amount - trial.locked.get(seat, 0) for seat, amount in units.items()}
        for seat, amount in more.items():
            if amount > self.free[seat]:
                text = f"{seat} locks {amount} units more, and has {self.free[seat]} of {self.units[seat]} free"
                raise Broken("conservation", trial.number, text)
        for seat, amount in more.items():
            self.free[seat] -= amount
            trial.locked[seat] = units[seat]
