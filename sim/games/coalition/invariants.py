"""What holds in every world, after every item, whatever the order of the items."""

from __future__ import annotations

from math import inf
from typing import Final

from sim.games.coalition.checks import covers
from sim.games.coalition.things import ENDS, UNITS, Formation, Status, Version, World

_PATHS: Final[tuple[tuple[Status, ...], ...]] = (
    ("open",),
    ("open", "failed"),
    ("open", "consensus"),
    ("open", "consensus", "active"),
    ("open", "consensus", "aborted"),
)


def check(world: World, ticked: float = -inf) -> None:
    """Check a world: what it says of each formation, of their tasks, and of the units.

    Looks through everything, ended or not; for tests and for the model check, not for every item of a long match.

    Args:
        world: The world.
        ticked: The time of the last `Tick` that it has read, in seconds.

    Raises:
        AssertionError: Something does not hold; its text begins with the invariant.
    """
    for formation in world.formations():
        check_formation(world, formation, ticked)
    check_tasks(world)
    check_indexes(world)
    world.ledger.check()


def check_formation(world: World, formation: Formation, ticked: float = -inf) -> None:
    """Check one formation: its path, its versions, its signatures, its locks and its end."""
    _check_path(formation)
    _check_versions(world, formation)
    _check_signatures(formation)
    if formation.status in ("consensus", "active"):
        _check_members(world, formation)
    _check_locks(world, formation)
    overdue = formation.due is not None and formation.due <= ticked
    limit = formation.deadline + world.activation_timeout
    overdue |= formation.status not in ENDS and limit <= ticked
    overdue |= formation.decide_by is not None and formation.decide_by > limit
    _holds(not overdue, "a formation ends by its deadline plus the activation timeout", formation)


def check_tasks(world: World) -> None:
    """Check that an exclusive task has at most one coalition."""
    taken: dict[int, int] = {}
    for formation in world.formations():
        exclusive = world.tasks[formation.task].exclusive
        if not exclusive or formation.status not in ("consensus", "active"):
            continue
        _holds(formation.task not in taken, "at most one coalition for an exclusive task", formation)
        taken[formation.task] = formation.number
    if taken != world.taken:
        raise AssertionError(f"the index of taken tasks: {world.taken} instead of {taken}")


def check_indexes(world: World) -> None:
    """Check that the indexes say what the formations say."""
    open_by_task: dict[int, list[int]] = {}
    for number, formation in world.open.items():
        _holds(formation.status not in ENDS, "what has ended is set aside", formation)
        _holds((formation.due, number) in world.due, "the timer is set for what has not ended", formation)
        open_by_task.setdefault(formation.task, []).append(number)
    for formation in world.closed.values():
        _holds(formation.status in ENDS, "what is set aside has ended", formation)
    indexed = {task: list(numbers) for task, numbers in world.open_by_task.items() if numbers}
    if indexed != open_by_task:
        raise AssertionError(f"the index of open formations: {indexed} instead of {open_by_task}")
    if [formation.number for formation in world.formations()] != list(range(1, len(world.formations()) + 1)):
        raise AssertionError("formations are numbered from 1 on, each is either open or closed")


def _check_path(formation: Formation) -> None:
    _holds(tuple(formation.path) in _PATHS, f"one terminal state: the path is {formation.path}", formation)
    has_reason = formation.reason is not None
    _holds(has_reason == (formation.status in ("failed", "aborted")), "a reason, where it came to nothing", formation)


def _check_versions(world: World, formation: Formation) -> None:
    parent: Version | None = None
    for version in formation.versions:
        again = Version.make(formation.number, parent, version.author, version.allocation, version.commitment)
        _holds(version == again, f"versions form a chain: version {version.number}", formation)
        parent = version
    _holds(1 <= len(formation.versions) <= world.max_versions, "no more versions than are allowed", formation)
    value = world.tasks[formation.task].value
    _holds(sum(formation.current.allocation.values()) <= value, "no more is shared out than there is", formation)


def _check_signatures(formation: Formation) -> None:
    digest = formation.current.digest
    seats = [signature.seat for signature in formation.signed.values()]
    _holds(len(dict.fromkeys(seats)) == len(seats), "a signer counts once", formation)
    for signature in formation.signed.values():
        _holds(signature.digest == digest, f"seat {signature.seat} signed the current version", formation)
        _holds(signature.at <= formation.deadline, f"seat {signature.seat} signed by the deadline", formation)
        _holds(signature.seat in formation.invited, f"seat {signature.seat} is invited", formation)
        _holds(signature.seat not in formation.rejected, f"seat {signature.seat} has not left", formation)


def _check_members(world: World, formation: Formation) -> None:
    members, task = formation.members, world.tasks[formation.task]
    for seat in members:
        signature = formation.signed.get(seat)
        agreed = signature is not None and signature.digest == formation.current.digest
        _holds(agreed, f"every member signed the final digest: seat {seat}", formation)
    _holds(len(members) >= task.quorum, "the members are as many as are needed", formation)
    _holds(covers(world, task, members), "the members can do the task", formation)
    _holds(all(seat in members for seat in formation.current.paid()), "the allocation pays signers only", formation)


def _check_locks(world: World, formation: Formation) -> None:
    """Check that terms bound are terms signed, and that who committed has its units locked until the end."""
    locked = _locked(world, formation)
    version, status = formation.current, formation.status
    if status == "active":
        expected = {(seat, "bound"): version.owed(seat) for seat in formation.members}
    elif status == "consensus":
        expected = {(seat, "bound"): version.owed(seat) for seat in formation.members if _committed(formation, seat)}
    elif status == "open":
        expected = {(seat, "held"): version.owed(seat) for seat in formation.signed if _committed(formation, seat)}
        # a lock stays from one version to the next until its owner signs again or leaves
        others = {place for place in locked if place[1] == "held" and place[0] not in formation.signed}
        locked = {place: units for place, units in locked.items() if place not in others}
        _holds(all(seat not in formation.rejected for seat, _ in others), "who has left has no lock", formation)
    else:
        expected = {}
    expected = {place: units for place, units in expected.items() if units}
    rule = (
        "no lock is left by what has ended" if status in ENDS and status != "active" else "terms bound = terms signed"
    )
    _holds(locked == expected, f"{rule}: locked is {locked}, not {expected}", formation)


def _committed(formation: Formation, seat: int) -> bool:
    signature = formation.signed.get(seat)
    return signature is not None and signature.committed


def _locked(world: World, formation: Formation) -> dict[tuple[int, str], int]:
    locked: dict[tuple[int, str], int] = {}
    for lock_id in world.ledger.locks_for(formation.purpose):
        lock = world.ledger.locks[lock_id]
        if lock.resource == UNITS:
            place = (lock.owner, lock.status)
            locked[place] = locked.get(place, 0) + lock.units
    return locked


def _holds(holds: bool, invariant: str, formation: Formation) -> None:
    if not holds:
        raise AssertionError(f"{invariant} (formation {formation.number}, {formation.status})")
