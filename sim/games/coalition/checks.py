"""What the rules refuse before they change anything; each check raises `IllegalAction` or returns."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import zip_longest

from sim.errors import IllegalAction
from sim.games.coalition.items import Abort, Deploy, Modify, Reject, Sign
from sim.games.coalition.things import Formation, Task, World


def covers(world: World, task: Task, seats: Iterable[int]) -> bool:
    """Return whether the capabilities of some seats, added up, are what a task requires."""
    if not task.requires:
        return True
    totals = [sum(column) for column in zip_longest(*(world.agents[seat].capabilities for seat in seats), fillvalue=0)]
    return all(has >= needed for has, needed in zip_longest(totals, task.requires, fillvalue=0))


def find(world: World, item: Sign | Modify | Reject | Deploy | Abort) -> Formation:
    """Return the formation that an item is about; its seat has to be invited."""
    formation = world.formation(item.formation)
    if formation is None:
        raise IllegalAction(f"there is no formation {item.formation}")
    if item.seat not in formation.invited:
        raise IllegalAction(f"seat {item.seat} is not invited to formation {formation.number}")
    return formation


def check_open(formation: Formation, now: float) -> None:
    """Refuse what comes after consensus, after the end, or after the deadline."""
    if formation.status != "open":
        raise IllegalAction(ended(formation), code="late")
    if now > formation.deadline:
        raise IllegalAction(f"the deadline of formation {formation.number} has passed", code="late")


def check_present(formation: Formation, seat: int) -> None:
    """Refuse what comes from a seat that has left."""
    if seat in formation.rejected:
        raise IllegalAction(f"seat {seat} has left formation {formation.number}", code="late")


def check_current(formation: Formation, digest: str, done: str) -> None:
    """Refuse what is about another version than the current one, and tell which that is."""
    current = formation.current
    if digest == current.digest:
        return
    now_current = f"the current version of formation {formation.number} is {current.number} ({current.digest})"
    for version in formation.versions:
        if version.digest == digest:
            raise IllegalAction(f"version {version.number} can no longer be {done}; {now_current}", code="late")
    raise IllegalAction(f"there is no version {digest!r}; {now_current}")


def check_invited(world: World, task: Task, initiator: int, invited: tuple[int, ...]) -> None:
    """Refuse a formation that its invited seats can never bring to consensus."""
    if initiator not in invited:
        raise IllegalAction(f"seat {initiator} initiates, so it has to be among the invited")
    for seat in invited:
        if not 0 <= seat < len(world.agents):
            raise IllegalAction(f"there is no seat {seat}")
    if len(dict.fromkeys(invited)) != len(invited):
        twice = next(seat for place, seat in enumerate(invited) if seat in invited[:place])
        raise IllegalAction(f"seat {twice} is invited twice")
    if len(invited) < task.quorum:
        raise IllegalAction(f"task {task.id} needs {task.quorum} signatures; {len(invited)} seats are invited")
    if not covers(world, task, invited):
        raise IllegalAction(f"the invited seats together cannot do task {task.id}")


def check_terms(
    task: Task,
    invited: Container[int],
    rejected: Container[int],
    allocation: Mapping[int, int],
    commitment: Mapping[int, int],
) -> None:
    """Refuse terms that share out more than there is, or to those who cannot sign."""
    for name, amounts in (("allocation", allocation), ("commitment", commitment)):
        for seat, amount in amounts.items():
            if seat not in invited:
                raise IllegalAction(f"{name}: seat {seat} is not invited")
            if type(amount) is not int or amount < 0:
                raise IllegalAction(f"{name}: seat {seat}: {amount!r} is no whole number of 0 or more")
    for seat, share in allocation.items():
        if share and seat in rejected:
            raise IllegalAction(f"allocation: seat {seat} has left and cannot be paid")
    if sum(allocation.values()) > task.value:
        raise IllegalAction(f"allocation: {sum(allocation.values())} is more than the task's value of {task.value}")


def ended(formation: Formation) -> str:
    """Say why nothing more can be done in a formation that is not open."""
    if formation.status == "consensus":
        return f"there is consensus in formation {formation.number} on version {formation.current.number}"
    reason = f" ({formation.reason})" if formation.reason else ""
    return f"formation {formation.number} is {formation.status}{reason}"
