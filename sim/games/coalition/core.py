"""The rules of coalition formation, one method each: `step` reads an item and changes the world, or refuses.

Pure: no clock, no I/O, no randomness. The order in which items are read decides every race. A step costs the same
however many formations have ended.
"""

from __future__ import annotations

from heapq import heappop, heappush

from sim.errors import IllegalAction
from sim.games.coalition.checks import (
    check_current,
    check_invited,
    check_open,
    check_present,
    check_terms,
    ended,
    find,
)
from sim.games.coalition.items import (
    Abort,
    Deploy,
    Effect,
    Initiate,
    Item,
    Left,
    Modify,
    Proposed,
    Reject,
    Sign,
    Signed,
    Tick,
)
from sim.games.coalition.things import UNITS, Formation, Signature, Version, World
from sim.games.coalition.threshold import Effects, Threshold


class Core(Threshold):
    """The rules. Each is a method of its own, so that a variant of the protocol overrides one."""

    def step(self, world: World, item: Item, now: float) -> tuple[World, tuple[Effect, ...]]:
        """Read one item.

        Args:
            world: The world as it stands; it is changed and given back.
            item: What is read.
            now: Seconds since the match opened; never less than for the item before.

        Raises:
            IllegalAction: The rules refuse the item; the world is unchanged. Its code is "late" for what was
                overtaken by something, "duplicate" for a second signature, else "game_rule_violation".
        """
        match item:
            case Sign():
                effects = self.sign(world, item, now)
            case Modify():
                effects = self.modify(world, item, now)
            case Reject():
                effects = self.reject(world, item, now)
            case Initiate():
                effects = self.initiate(world, item, now)
            case Deploy():
                effects = self.deploy(world, item, now)
            case Abort():
                effects = self.abort(world, item, now)
            case Tick():
                effects = self.tick(world, now)
        while world.due and not self.stands(world, *world.due[0]):
            heappop(world.due)
        return world, tuple(effects)

    # ── items ───────────────────────────────────────────────────────────────────────────────────────────

    def initiate(self, world: World, item: Initiate, now: float) -> Effects:
        """Begin a formation: version 1, signed by its author."""
        task = world.tasks.get(item.task)
        if task is None:
            raise IllegalAction(f"there is no task {item.task}")
        if task.id in world.taken:
            raise IllegalAction(f"task {task.id} is taken by formation {world.taken[task.id]}", code="late")
        check_invited(world, task, item.seat, item.invited)
        for number in world.open_by_task.get(task.id, {}):
            if world.open[number].initiator == item.seat:
                raise IllegalAction(f"formation {number} of seat {item.seat} for task {task.id} is still open")
        check_terms(task, item.invited, {}, item.allocation, item.commitment)
        number = len(world.open) + len(world.closed) + 1
        version = Version.make(number, None, item.seat, item.allocation, item.commitment)
        deadline = now + task.seconds
        formation = Formation(number, task.id, item.seat, item.invited, now, deadline, [])
        locks = self.lock(world, formation, version, item.seat, item.commit)
        world.open[number] = formation
        world.open_by_task.setdefault(task.id, {})[number] = None
        heappush(world.due, (deadline, number))
        return self.put_forward(world, formation, version, item.commit, locks, now)

    def sign(self, world: World, item: Sign, now: float) -> Effects:
        """Count a signature of the current version; what the seat commits is locked first."""
        formation = find(world, item)
        self.may_sign(formation, now)
        check_present(formation, item.seat)
        check_current(formation, item.digest, "signed")
        if self.slot(formation, item.seat) in formation.signed:
            reason = f"seat {item.seat} has signed version {formation.current.number}"
            raise IllegalAction(reason, code="duplicate")
        locks = self.lock(world, formation, formation.current, item.seat, item.commit)
        return self.count(world, formation, item.seat, item.commit, locks, now)

    def modify(self, world: World, item: Modify, now: float) -> Effects:
        """Put another version in place of the current one, if that is the one that the item modifies."""
        formation = find(world, item)
        self.may_modify(formation, now)
        check_present(formation, item.seat)
        check_current(formation, item.parent, "modified")
        if len(formation.versions) >= world.max_versions:
            raise IllegalAction(f"formation {formation.number} has had its {world.max_versions} versions")
        task = world.tasks[formation.task]
        check_terms(task, formation.invited, formation.rejected, item.allocation, item.commitment)
        version = Version.make(formation.number, formation.current, item.seat, item.allocation, item.commitment)
        locks = self.lock(world, formation, version, item.seat, item.commit)
        return self.put_forward(world, formation, version, item.commit, locks, now)

    def reject(self, world: World, item: Reject, now: float) -> Effects:
        """Let a seat leave: its locks are given back, its signature counts no more."""
        formation = find(world, item)
        self.may_leave(formation, now)
        check_present(formation, item.seat)
        withdrew = formation.signed.pop(item.seat, None) is not None
        formation.rejected[item.seat] = None
        self.release(world, world.ledger.locks_for(formation.purpose, item.seat))
        left = Left(formation.number, formation.current.number, item.seat, withdrew)
        return [left, *self.check(world, formation, now)]

    def deploy(self, world: World, item: Deploy, now: float) -> Effects:
        """Make the coalition active: what members still owe is locked, all or nothing, and bound."""
        formation = find(world, item)
        self.may_decide(formation, item.seat, now)
        version = formation.current
        owed = {seat: {UNITS: version.owed(seat)} for seat in formation.members if version.owed(seat)}
        self.bind(world, formation, world.ledger.hold(formation.purpose, owed))
        return self.activate(world, formation, auto=False)

    def abort(self, world: World, item: Abort, now: float) -> Effects:
        """Give up the coalition that consensus was reached on."""
        formation = find(world, item)
        self.may_decide(formation, item.seat, now)
        return self.give_up(world, formation, "decided")

    def tick(self, world: World, now: float) -> Effects:
        """End whatever is due."""
        effects: Effects = []
        while world.due and world.due[0][0] <= now:
            at, number = heappop(world.due)
            if self.stands(world, at, number):
                effects += self.lapse(world, number, now)
        return effects

    # ── who may do what, and until when ─────────────────────────────────────────────────────────────────

    def may_sign(self, formation: Formation, now: float) -> None:
        """Refuse a signature that comes too late."""
        check_open(formation, now)

    def may_modify(self, formation: Formation, now: float) -> None:
        """Refuse a modification that comes too late."""
        check_open(formation, now)

    def may_leave(self, formation: Formation, now: float) -> None:
        """Refuse to let a seat leave once it is too late."""
        check_open(formation, now)

    def may_decide(self, formation: Formation, seat: int, now: float) -> None:
        """Refuse a decision that is not the seat's, or not to be taken now."""
        if seat != formation.initiator:
            raise IllegalAction(f"seat {formation.initiator} decides on formation {formation.number}")
        if formation.status == "open":
            raise IllegalAction(f"there is no consensus in formation {formation.number}")
        if formation.decide_by is None or formation.status != "consensus" or now > formation.decide_by:
            raise IllegalAction(ended(formation), code="late")

    def awaited(self, formation: Formation) -> list[int]:
        """Return the seats whose answer a formation waits for: they are asked until they answer.

        As long as it has not ended there is one at least.
        """
        if formation.status == "consensus":
            return [formation.initiator]
        if formation.status != "open":
            return []
        if formation.dead():
            return formation.staying()
        return [seat for seat in formation.staying() if seat not in formation.signed]

    # ── versions and signatures ─────────────────────────────────────────────────────────────────────────

    def put_forward(
        self, world: World, formation: Formation, version: Version, commit: bool, locks: tuple[int, ...], now: float
    ) -> Effects:
        """Make a version the current one, and count its author's signature."""
        formation.signed = self.carried(formation)
        formation.versions.append(version)
        proposed = Proposed(formation.number, version.number, version.author, version.digest, version.parent)
        return [proposed, *self.count(world, formation, version.author, commit, locks, now)]

    def carried(self, formation: Formation) -> dict[int, Signature]:
        """Return the signatures that still count once there is another version: none."""
        return {}

    def count(
        self, world: World, formation: Formation, seat: int, commit: bool, locks: tuple[int, ...], now: float
    ) -> Effects:
        """Count a signature of the current version."""
        version = formation.current
        signature = Signature(seat, version.number, version.digest, now, commit, locks)
        formation.signed[self.slot(formation, seat)] = signature
        formation.locks += [lock for lock in locks if lock not in formation.locks]
        signed = Signed(formation.number, version.number, seat, commit, locks)
        return [signed, *self.check(world, formation, now)]

    def slot(self, formation: Formation, seat: int) -> int:
        """Return where a signature is put; there is one place for each seat, so it counts once."""
        return seat


CORE = Core()
"""The rules."""

step = CORE.step
