"""The threshold of a formation: when it is met, what consensus does, and how a formation ends."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappush
from typing import TypeAlias

from sim.games.coalition.checks import covers
from sim.games.coalition.items import Aborted, Activated, Checked, CheckStatus, Effect, Failed, Reached
from sim.games.coalition.things import UNITS, Formation, Reason, Status, Version, World

Effects: TypeAlias = list[Effect]


class Threshold:
    """The automatic part of the rules: what follows from signatures, and from time."""

    # ── the threshold ───────────────────────────────────────────────────────────────────────────────────

    def check(self, world: World, formation: Formation, now: float, *, over: bool = False) -> Effects:
        """Check the threshold; consensus follows if it is met, failure if it never will be, or time is over."""
        task = world.tasks[formation.task]
        signers = sorted(signature.seat for signature in formation.signed.values())
        covered = covers(world, task, signers)
        paid = all(seat in signers for seat in formation.current.paid())
        met = len(signers) >= task.quorum and covered and paid and not over
        reason: Reason | None = "timeout" if over else None if met else self.hopeless(world, formation)
        status: CheckStatus = "met" if met else "timeout" if over else "infeasible" if reason else "not_met"
        place = (formation.number, formation.current.number)
        elapsed = now - formation.opened
        checked = Checked(*place, tuple(signers), task.quorum, covered, paid, elapsed, status)
        if met:
            return [checked, *self.reach(world, formation, now)]
        return [checked, *self.fail(world, formation, reason)] if reason else [checked]

    def hopeless(self, world: World, formation: Formation) -> Reason | None:
        """Return why those who have not left can no longer agree, whatever they do; None if they can."""
        if formation.initiator in formation.rejected:
            return "withdrawn"
        task, staying = world.tasks[formation.task], formation.staying()
        if len(staying) < task.quorum or not covers(world, task, staying):
            return "infeasible"
        spent = len(formation.versions) >= world.max_versions
        return "infeasible" if spent and formation.dead() else None

    # ── endings ─────────────────────────────────────────────────────────────────────────────────────────

    def reach(self, world: World, formation: Formation, now: float) -> Effects:
        """Reach consensus, in one step: membership is frozen, what members have locked is bound."""
        version, task = formation.current, world.tasks[formation.task]
        formation.members = tuple(sorted(signature.seat for signature in formation.signed.values()))
        formation.path.append("consensus")
        locks = [lock for seat in formation.members for lock in world.ledger.locks_for(formation.purpose, seat)]
        self.bind(world, formation, locks)
        self.release(world, [lock for lock in formation.locks if lock not in locks])
        rivals: Effects = []
        if task.exclusive:
            world.taken[task.id] = formation.number
            numbers = [number for number in world.open_by_task[task.id] if number != formation.number]
            rivals = [effect for number in numbers for effect in self.fail(world, world.open[number], "superseded")]
        auto = all(sign.committed or not version.owed(sign.seat) for sign in formation.signed.values())
        formation.decide_by = None if auto else now + world.activation_timeout
        reached = Reached(formation.number, version.number, formation.members, version.digest, formation.decide_by)
        if formation.decide_by is None:
            return [reached, *self.activate(world, formation, auto=True), *rivals]
        heappush(world.due, (formation.decide_by, formation.number))
        return [reached, *rivals]

    def activate(self, world: World, formation: Formation, *, auto: bool) -> Effects:
        """Make the coalition active."""
        self.close(world, formation, "active", None)
        return [Activated(formation.number, formation.current.number, formation.members, auto)]

    def give_up(self, world: World, formation: Formation, reason: Reason) -> Effects:
        """Abort after consensus: everything is given back, and the task is free again."""
        self.close(world, formation, "aborted", reason)
        self.release(world, formation.locks)
        world.taken.pop(formation.task, None)
        return [Aborted(formation.number, formation.current.number, reason)]

    def fail(self, world: World, formation: Formation, reason: Reason) -> Effects:
        """End without consensus: everything is given back."""
        self.close(world, formation, "failed", reason)
        self.release(world, formation.locks)
        return [Failed(formation.number, formation.current.number, reason)]

    def close(self, world: World, formation: Formation, status: Status, reason: Reason | None) -> None:
        """Set a formation aside; nothing changes it any more."""
        formation.path.append(status)
        formation.reason = reason
        world.open.pop(formation.number, None)
        world.open_by_task[formation.task].pop(formation.number, None)
        world.closed[formation.number] = formation

    def stands(self, world: World, at: float, number: int) -> bool:
        """Return whether an entry of the timer still means anything: its formation is due then."""
        formation = world.open.get(number)
        return formation is not None and formation.due == at

    def lapse(self, world: World, number: int, now: float) -> Effects:
        """End a formation whose time is over: no consensus by its deadline, or no decision after it."""
        formation = world.open.get(number) or world.closed[number]
        if formation.status == "consensus":
            return self.give_up(world, formation, "timeout")
        return self.check(world, formation, now, over=True)

    # ── locks ───────────────────────────────────────────────────────────────────────────────────────────

    def lock(self, world: World, formation: Formation, version: Version, seat: int, commit: bool) -> tuple[int, ...]:
        """Make what a seat has locked for a formation what it commits by signing a version: all it owes, or nothing."""
        return world.ledger.hold(formation.purpose, {seat: {UNITS: version.owed(seat) if commit else 0}})

    def bind(self, world: World, formation: Formation, locks: Iterable[int]) -> None:
        """Bind locks, all together."""
        locks = tuple(locks)
        formation.locks += [lock for lock in locks if lock not in formation.locks]
        world.ledger.bind(*locks)

    def release(self, world: World, locks: Iterable[int]) -> None:
        """Give back what is locked, whether bound or not; what was given back before stays so."""
        world.ledger.release(*locks, bound=True)
