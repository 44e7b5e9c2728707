"""The rules of coalition formation once more, one item after another: what a history is checked against.

Written from the protocol, not from the judge; it shares with the game nothing but what a match is played with. Seats
are named by their ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from experiments.trials import Broken, Offer, Trial, Trials
from sim.game import Game
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


class Sequential(Trials):
    """A match under the rules. Each method reads one item; `claims` then holds what the referee has to say.

    Arguments and attributes as in `Trials`.
    """

    def __init__(self, spec: MatchSpec, game: Game) -> None:
        super().__init__(spec, game)
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


def _or(given: Any, otherwise: Any) -> Any:
    return otherwise if given is None else given
