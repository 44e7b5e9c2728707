"""The rules of coalition formation once more, one item after another: what a history is checked against.

Written from the protocol, not from the judge; it shares with the game nothing but what a match is played with. Seats
are named by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec import field

from sim.game import Game
from sim.judge import start
from sim.record import MatchSpec

TRIGGERS: Final = {"C1": "task_discovered", "C2": "proposal_received", "C4": "consensus_reached"}
AFTER: Final = {
    "initiate": ("C1", "C2"),
    "decline": ("C1", "listening"),
    "sign": ("C2", "threshold"),
    "modify": ("C2", "C2"),
    "reject": ("C2", "not_member"),
    "deploy": ("C4", "active"),
    "abort": ("C4", "aborted"),
}
"""The step of each action, and what comes next."""

AFTER_CHECK: Final = {"met": "C4", "not_met": "C2", "timeout": "failed", "infeasible": "failed"}


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


class Sequential:
    """A match under the rules. Each method reads one item; `claims` then holds what the referee has to say."""

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
        self.discover(0.0)

    # ── items ───────────────────────────────────────────────────────────────────────────────────────────

    def discover(self, now: float) -> None:
        """Tasks are discovered when their time has come."""
        while self.discovered < len(self.discoveries) and self.discoveries[self.discovered].at <= now:
            discovery = self.discoveries[self.discovered]
            self.discovered += 1
            task, seats = self.tasks[discovery.task], [self.ids[seat] for seat in discovery.seats]
            facts = {name: getattr(task, name) for name in ("id", "value", "quorum", "seconds", "exclusive")}
            row = {"step": "C1", "trigger": "task_discovered", "seats": seats}
            self.say((), 0, row | {"task": facts | {"requires": list(task.requires)}})
            self.searching[task.id] = {seat: self._thread(0) for seat in seats}

    def tick(self, now: float) -> None:
        """Time has come to now: what is due ends, the earliest first."""
        due = sorted((trial.due, number) for number, trial in self.open.items() if trial.due is not None)
        for at, number in due:
            if at <= now:
                trial = self.open[number]
                if trial.status == "open":
                    self._check(trial, now, over=True)
                else:
                    self._end(trial, "aborted", "timeout")
        self.discover(now)

    def decline(self, seat: str, thread: int, decision: Mapping[str, Any] | None) -> None:
        """A seat initiates nothing."""
        task = self._asked(seat, thread)
        del self.searching[task][seat]
        told = self._decided(seat, "decline", task, None, decision)
        self.say((seat,), thread, told | {"task": task, "end": "listening", "utility": 0})

    def initiate(self, seat: str, thread: int, now: float, given: Mapping[str, Any]) -> None:
        """A seat begins a formation, and signs its first version."""
        number = len(self.trials) + 1
        task_id = self._asked(seat, thread)
        task = self.tasks[task_id]
        if task_id in self.taken:
            raise Broken("exclusive task", number, f"{seat} initiates for task {task_id}, which is taken")
        others = given.get("invited")
        invited = (seat, *(self.peers[seat] if others is None else [other for other in others if other != seat]))
        if len(set(invited)) != len(invited) or not set(invited[1:]) <= set(self.peers[seat]):
            raise Broken("invitation", number, f"{seat} invites {invited[1:]}, and knows {self.peers[seat]}")
        if len(invited) < task.quorum or not self._covers(task, invited):
            raise Broken("invitation", number, f"{invited} cannot do task {task_id}")
        trial = Trial(number, task_id, seat, invited, now, now + task.seconds, 0)
        share, over = divmod(task.value, len(invited))
        evenly = {other: share + (place < over) for place, other in enumerate(invited)}
        offer = self._offer(trial, seat, _or(given.get("allocation"), evenly), _or(given.get("commitment"), {}))
        self._lock(trial, {seat: offer.commitment.get(seat, 0) if given.get("commit") else 0})
        del self.searching[task_id][seat]
        trial.thread = trial.current_thread = self._thread(number)
        self.trials[number] = self.open[number] = trial
        row = {"status": "open", "formation": number, "task": task_id, "initiator": seat}
        self.say(invited, trial.thread, row | {"invited": list(invited), "deadline": trial.deadline})
        self._put_forward(trial, seat, offer, now, "initiate", given)

    def sign(self, seat: str, number: int, now: float, given: Mapping[str, Any]) -> None:
        """A seat signs the current version."""
        trial = self._in_time(seat, number, now, "sign")
        if given.get("digest") != trial.offer.digest:
            raise Broken("signature", number, f"{seat} signs {given.get('digest')}; current is {trial.offer.digest}")
        if seat in trial.signed:
            raise Broken("signature", number, f"{seat} signs version {len(trial.offers)} twice")
        commit = bool(given.get("commit"))
        self._lock(trial, {seat: trial.offer.commitment.get(seat, 0) if commit else 0})
        trial.signed[seat] = commit
        self._owe(trial, seat, "sign", given)
        self._check(trial, now)

    def modify(self, seat: str, number: int, now: float, given: Mapping[str, Any]) -> None:
        """A seat puts another version in place of the current one, and signs it."""
        trial = self._in_time(seat, number, now, "modify")
        current = trial.offer
        if given.get("parent") != current.digest:
            raise Broken("version chain", number, f"{seat} modifies {given.get('parent')}; current is {current.digest}")
        if len(trial.offers) >= self.max_versions:
            raise Broken("version chain", number, f"more than {self.max_versions} versions")
        staying = {other: share for other, share in current.allocation.items() if other not in trial.left}
        allocation, commitment = _or(given.get("allocation"), staying), _or(given.get("commitment"), current.commitment)
        offer = self._offer(trial, seat, allocation, commitment)
        self._lock(trial, {seat: offer.commitment.get(seat, 0) if given.get("commit") else 0})
        self._put_forward(trial, seat, offer, now, "modify", given)

    def reject(self, seat: str, number: int, now: float, given: Mapping[str, Any]) -> None:
        """A seat leaves."""
        trial = self._in_time(seat, number, now, "reject")
        trial.signed.pop(seat, None)
        trial.left.append(seat)
        self._lock(trial, {seat: 0})
        self._owe(trial, seat, "reject", given)
        self._check(trial, now)

    def decide(self, seat: str, number: int, now: float, action: str, given: Mapping[str, Any]) -> None:
        """The initiator deploys or aborts."""
        trial = self._trial(seat, number)
        if trial.status != "consensus" or seat != trial.initiator:
            raise Broken("activation", number, f"{seat} cannot {action}: it is {trial.status}")
        if trial.decide_by is not None and now > trial.decide_by:
            raise Broken("deadline", number, f"{action} at {now} s, after {trial.decide_by} s")
        if action == "deploy":
            self._lock(trial, {member: trial.offer.commitment.get(member, 0) for member in trial.members})
        self._owe(trial, seat, action, given)
        if action == "deploy":
            self._end(trial, "active", None)
        else:
            self._end(trial, "aborted", "decided")

    # ── what follows ────────────────────────────────────────────────────────────────────────────────────

    def say(self, to: Sequence[str], thread: int, facts: dict[str, Any]) -> None:
        """The referee has to say something."""
        self.claims.append(Claim(tuple(sorted(to)), thread, facts))

    def _put_forward(
        self, trial: Trial, seat: str, offer: Offer, now: float, action: str, given: Mapping[str, Any]
    ) -> None:
        trial.offers.append(offer)
        trial.signed = {seat: bool(given.get("commit"))}
        self._owe(trial, seat, action, given)
        self._check(trial, now)

    def _check(self, trial: Trial, now: float, *, over: bool = False) -> None:
        task, signers = self.tasks[trial.task], self._in_order(trial.signed)
        paid = [seat for seat, share in trial.offer.allocation.items() if share]
        covered, all_signed = self._covers(task, signers), set(paid) <= set(signers)
        met = not over and len(signers) >= task.quorum and covered and all_signed
        staying = [seat for seat in trial.invited if seat not in trial.left]
        hopeless = len(staying) < task.quorum or not self._covers(task, staying)
        hopeless |= len(trial.offers) >= self.max_versions and not set(paid) <= set(staying)
        gone = trial.initiator in trial.left
        status = "timeout" if over else "met" if met else "infeasible" if hopeless or gone else "not_met"
        row = {"step": "threshold", "trigger": "deadline" if over else "signatures_updated"} | self._place(trial)
        row |= {"selection": "system_rule", "signers": signers, "quorum": task.quorum, "covered": covered}
        row |= {"paid": all_signed, "elapsed": now - trial.opened, "status": status, "next": AFTER_CHECK[status]}
        del row["task"]
        self.say((), 0, row)
        if met:
            self._agree(trial, now)
        elif status != "not_met":
            self._end(trial, "failed", "timeout" if over else "withdrawn" if gone else "infeasible")

    def _agree(self, trial: Trial, now: float) -> None:
        offer = trial.offer
        trial.status, trial.members = "consensus", tuple(self._in_order(trial.signed))
        self._lock(trial, {seat: 0 for seat in trial.locked if seat not in trial.members})
        exclusive = self.tasks[trial.task].exclusive
        if exclusive:
            self.taken[trial.task] = trial.number
            for seat, thread in self.searching.pop(trial.task, {}).items():
                self.say((seat,), thread, {"task": trial.task, "status": "taken"})
        if all(trial.signed[seat] or not offer.commitment.get(seat, 0) for seat in trial.members):
            self._end(trial, "active", None, auto=True)
        else:
            trial.decide_by = now + self.activation_timeout
            row = self._agreed(trial) | {"status": "consensus", "decide_by": trial.decide_by}
            self.say(trial.invited, trial.thread, row)
            trial.current_thread = self._thread(trial.number)
        if exclusive:
            for rival in [rival for rival in self.open.values() if rival.task == trial.task and rival is not trial]:
                self._end(rival, "failed", "superseded")

    def _end(self, trial: Trial, status: str, reason: str | None, *, auto: bool = False) -> None:
        trial.status, trial.reason = status, reason
        del self.open[trial.number]
        if status != "active":
            self._lock(trial, dict.fromkeys(trial.locked, 0))
            if self.taken.get(trial.task) == trial.number:
                del self.taken[trial.task]
        for seat, told in trial.owed:
            brings = {
                "task": trial.task,
                "formation": trial.number,
                "end": status,
                "utility": self.utility(trial, seat),
            }
            self.say((seat,), trial.current_thread, told | brings)
        row = self._agreed(trial) | {"auto": auto} if status == "active" else self._place(trial) | {"reason": reason}
        self.say(trial.invited, trial.current_thread, row | {"status": status})

    def utility(self, trial: Trial, seat: str) -> int:
        """Return the seat's share less its cost where it is a member of an active coalition, else 0."""
        if trial.status != "active" or seat not in trial.members:
            return 0
        return int(trial.offer.allocation.get(seat, 0) - self.costs[seat][trial.task - 1])

    # ── decisions ───────────────────────────────────────────────────────────────────────────────────────

    def _owe(self, trial: Trial, seat: str, action: str, given: Mapping[str, Any]) -> None:
        trial.owed.append((seat, self._decided(seat, action, trial.task, trial, given.get("decision"))))

    def _decided(
        self, seat: str, action: str, task: int, trial: Trial | None, decision: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Say that a seat has decided; returns the beginning of what it is told of the utility."""
        self.decisions[seat] += 1
        step, after = AFTER[action]
        row = {"step": step, "trigger": TRIGGERS[step], "seat": seat, "decision": self.decisions[seat], "task": task}
        row |= {} if trial is None else self._place(trial)
        self.say((), 0, row | {"action": action, "next": after} | dict(decision or {}))
        name = {"id": decision["id"]} if decision and decision.get("id") else {}
        return {"step": step, "decision": self.decisions[seat], "action": action} | name

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


def _or(given: Any, otherwise: Any) -> Any:
    return otherwise if given is None else given
