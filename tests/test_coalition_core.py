"""The rules of coalition formation, one by one, race by race, and in any order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from math import inf
from typing import Any

import msgspec
import pytest

from sim.errors import IllegalAction
from sim.games.coalition import invariants
from sim.games.coalition.core import CORE, step
from sim.games.coalition.items import (
    Abort,
    Aborted,
    Activated,
    Checked,
    Deploy,
    Effect,
    Failed,
    Initiate,
    Item,
    Left,
    Modify,
    Proposed,
    Reached,
    Reject,
    Sign,
    Signed,
    Tick,
)
from sim.games.coalition.things import UNITS, Agent, Formation, Task, Version, World
from sim.ledger import Balance

T, TIMEOUT = 10.0, 5.0
ALL = (0, 1, 2)
OWED = {0: 1, 1: 2, 2: 3}
encode = msgspec.msgpack.Encoder().encode


class Play:
    """A world, and what it reads; every item is followed by a check of all invariants."""

    def __init__(self, *tasks: Task, units: int = 3, versions: int = 3) -> None:
        agents = [Agent((1, seat % 2), units) for seat in range(4)]
        tasks = tasks or (Task(0, 10, 2, T),)
        self.world = World.make(tasks, agents, activation_timeout=TIMEOUT, max_versions=versions)
        self.now = 0.0

    def read(self, item: Item, now: float | None = None) -> list[Effect]:
        self.now = self.now if now is None else now
        world, effects = step(self.world, item, self.now)
        assert world is self.world
        invariants.check(world, self.now if isinstance(item, Tick) else -inf)
        assert isinstance(effects, tuple)
        return list(effects)

    def refuses(self, item: Item, text: str, code: str = "game_rule_violation", now: float | None = None) -> None:
        before = encode(self.world)
        with pytest.raises(IllegalAction, match=text) as caught:
            self.read(item, now)
        assert caught.value.code == code
        assert encode(self.world) == before

    def initiate(
        self, seat: int = 0, commit: bool = False, allocation: dict[int, int] | None = None, **more: Any
    ) -> int:
        terms: dict[str, Any] = {"task": 0, "invited": ALL, "commitment": OWED}
        terms.update(more)
        self.read(Initiate(seat=seat, allocation=allocation or {seat: 4}, commit=commit, **terms))
        return len(self.world.formations())

    def formation(self, number: int = 1) -> Formation:
        formation = self.world.formation(number)
        assert formation is not None
        return formation

    def digest(self, number: int = 1, version: int = 0) -> str:
        return self.formation(number).versions[version - 1].digest

    def sign(self, seat: int, commit: bool = False, number: int = 1) -> list[Effect]:
        return self.read(Sign(seat, number, self.digest(number), commit))

    def modify(self, seat: int, commit: bool = False, allocation: dict[int, int] | None = None) -> list[Effect]:
        return self.read(Modify(seat, 1, self.digest(), allocation or {seat: 5}, OWED, commit))

    def status(self, number: int = 1) -> tuple[str, str | None]:
        return self.formation(number).status, self.formation(number).reason

    def balance(self, seat: int) -> tuple[int, int, int]:
        has = self.world.ledger.balance(seat, UNITS)
        return has.available, has.held, has.bound


@pytest.fixture
def play() -> Play:
    return Play()


# ── rule 1: initiation ──────────────────────────────────────────────────────────────────────────────────


def test_an_initiation_makes_version_1_with_the_initiators_own_signature(play: Play) -> None:
    effects = play.read(Initiate(0, 0, ALL, {1: 4, 0: 6}, OWED, True), 2.0)
    version = play.formation().current
    assert effects == [
        Proposed(1, 1, 0, version.digest, None),
        Signed(1, 1, 0, True, (1,)),
        Checked(1, 1, (0,), 2, True, False, 0.0, "not_met"),
    ]
    assert version == Version.make(1, None, 0, {0: 6, 1: 4}, OWED)
    assert (play.formation().deadline, play.world.next_due) == (2.0 + T, 2.0 + T)
    assert CORE.awaited(play.formation()) == [1, 2]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"task": 7}, "no task 7"),
        ({"invited": (1, 2)}, "seat 0 initiates"),
        ({"invited": (0, 1, 1)}, "invited twice"),
        ({"invited": (0, 9)}, "no seat 9"),
        ({"invited": (0, -1)}, "no seat -1"),
        ({"invited": (0,)}, "2 signatures; 1 seats"),
        ({"task": 1, "invited": (0, 2)}, "cannot do task 1"),
        ({"allocation": {0: 11}}, "11 is more than the task's value of 10"),
        ({"allocation": {0: -1, 1: 2}}, "allocation: seat 0: -1"),
        ({"allocation": {0: True}}, "allocation: seat 0: True"),
        ({"allocation": {3: 1}}, "allocation: seat 3 is not invited"),
        ({"commitment": {0: 1.0}}, "commitment: seat 0: 1.0"),
        ({"commitment": {0: 4}, "commit": True}, "does not have 4"),
    ],
)
def test_a_formation_that_can_never_be_is_refused(changes: dict[str, Any], text: str) -> None:
    play = Play(Task(0, 10, 2, T), Task(1, 10, 2, T, (1, 1)))
    good: dict[str, Any] = {"seat": 0, "task": 0, "invited": ALL, "allocation": {0: 4}, "commitment": OWED}
    play.refuses(Initiate(**(good | changes)), text)
    play.read(Initiate(**good))


def test_a_seat_has_one_formation_open_for_a_task(play: Play) -> None:
    play.initiate(0)
    play.refuses(Initiate(0, 0, ALL, {}, {}), "formation 1 of seat 0 for task 0 is still open")
    assert play.initiate(1) == 2
    play.read(Reject(0, 1))
    assert play.initiate(0) == 3


# ── rule 2: signing ─────────────────────────────────────────────────────────────────────────────────────


def test_a_signature_with_commitment_locks_what_the_seat_owes_and_one_without_locks_nothing(play: Play) -> None:
    play = Play(Task(0, 10, 3, T))
    play.initiate(0, commit=True)
    assert play.sign(1, commit=False)[0] == Signed(1, 1, 1, False, ())
    assert (play.balance(0), play.balance(1)) == ((2, 1, 0), (3, 0, 0))
    assert play.formation().locks == [1]


def test_a_lock_that_cannot_be_had_refuses_the_signature(play: Play) -> None:
    play = Play(Task(0, 10, 2, T), Task(1, 10, 2, T))
    play.initiate(2, commit=True)
    play.initiate(0, task=1)
    play.refuses(Sign(2, 2, play.digest(2), True), "seat 2 does not have 3 of 'units'")
    play.sign(2, commit=False, number=2)


def test_only_the_current_digest_counts(play: Play) -> None:
    play.initiate(0)
    play.modify(1)
    new = play.digest(version=2)
    play.refuses(Sign(2, 1, play.digest(version=1)), rf"version 1 can no longer be signed; .* is 2 \({new}\)", "late")
    play.refuses(Sign(2, 1, "nonsense"), "no version 'nonsense'")
    play.sign(2)
    assert play.formation().members == (1, 2)


def test_signing_the_same_version_again_is_a_duplicate() -> None:
    play = Play(Task(0, 10, 3, T))
    play.initiate(0)
    play.sign(1)
    for commit in (False, True):
        play.refuses(Sign(1, 1, play.digest(), commit), "seat 1 has signed version 1", "duplicate")


@pytest.mark.parametrize("seat", [3, 9, -1])
def test_only_the_invited_take_part(play: Play, seat: int) -> None:
    play.initiate(0)
    digest = play.digest()
    for item in (Sign(seat, 1, digest), Modify(seat, 1, digest, {}, {}), Reject(seat, 1), Deploy(seat, 1)):
        play.refuses(item, "is not invited")
    play.refuses(Sign(0, 2, digest), "no formation 2")


# ── rule 3: modification ────────────────────────────────────────────────────────────────────────────────


def test_a_modification_makes_the_next_version_signed_by_its_author_alone(play: Play) -> None:
    play.initiate(0, commit=True)
    old = play.formation().current
    proposed, signed, checked = play.modify(1, commit=True)
    assert proposed == Proposed(1, 2, 1, play.digest(), old.digest)
    assert signed == Signed(1, 2, 1, True, (2,))
    assert isinstance(checked, Checked)
    assert checked.signers == (1,)
    assert play.formation().versions[0] == old
    assert play.formation().deadline == T
    assert play.balance(0) == (2, 1, 0)  # its lock stays with the formation
    assert CORE.awaited(play.formation()) == [0, 2]


def test_of_two_modifications_of_one_version_the_second_is_told_of_the_first(play: Play) -> None:
    play.initiate(0)
    parent = play.digest()
    play.modify(1)
    play.refuses(Modify(2, 1, parent, {}, {}), "version 1 can no longer be modified; .* is 2", "late")


def test_locks_are_topped_up_or_given_back_when_their_owner_signs_again() -> None:
    play = Play(Task(0, 10, 3, T))
    play.initiate(0, commit=True)
    play.read(Modify(1, 1, play.digest(), {}, {0: 3, 2: 1}))
    play.sign(0, commit=True)
    assert play.balance(0) == (0, 3, 0)
    play.read(Modify(2, 1, play.digest(), {}, {0: 2}))
    play.sign(0, commit=True)
    assert (play.balance(0), play.formation().locks) == ((1, 2, 0), [1])


def test_a_signature_without_commitment_gives_back_what_its_owner_had_locked() -> None:
    play = Play(Task(0, 10, 3, T))
    play.initiate(0, commit=True)
    play.modify(1)
    play.sign(0, commit=False)
    assert play.balance(0) == (3, 0, 0)


def test_there_are_no_more_versions_than_allowed() -> None:
    play = Play(versions=2)
    play.initiate(0)
    play.modify(1)
    play.refuses(Modify(2, 1, play.digest(), {}, {}), "has had its 2 versions")


def test_a_version_does_not_pay_who_has_left_nor_more_than_there_is(play: Play) -> None:
    play.initiate(0)
    play.read(Reject(2, 1))
    play.refuses(Modify(1, 1, play.digest(), {2: 1}, {}), "seat 2 has left and cannot be paid")
    play.refuses(Modify(1, 1, play.digest(), {0: 6, 1: 5}, {}), "11 is more")
    play.refuses(Modify(1, 1, play.digest(), {}, {1: 4}, True), "does not have 4")
    play.modify(1, allocation={0: 5, 1: 5, 2: 0})


def test_a_digest_is_of_all_that_a_version_says_and_of_nothing_else() -> None:
    first = Version.make(1, None, 0, {0: 1, 1: 2}, {0: 1})
    assert first == Version.make(1, None, 0, {1: 2, 0: 1}, {0: 1})
    others = [
        Version.make(2, None, 0, {0: 1, 1: 2}, {0: 1}),
        Version.make(1, first, 0, {0: 1, 1: 2}, {0: 1}),
        Version.make(1, None, 1, {0: 1, 1: 2}, {0: 1}),
        Version.make(1, None, 0, {0: 1, 1: 3}, {0: 1}),
        Version.make(1, None, 0, {0: 1, 1: 2}, {0: 2}),
        Version.make(1, None, 0, {0: 1, 1: 2}, {}),
    ]
    assert len({version.digest for version in [first, *others]}) == 7
    assert (first.digest, len(first.digest)) == (Version.make(1, None, 0, {0: 1, 1: 2}, {0: 1}).digest, 16)


# ── rule 4: leaving ─────────────────────────────────────────────────────────────────────────────────────


def test_a_seat_that_rejects_leaves_for_good(play: Play) -> None:
    play.initiate(0)
    assert play.read(Reject(2, 1))[0] == Left(1, 1, 2, False)
    for item in (Sign(2, 1, play.digest()), Modify(2, 1, play.digest(), {}, {}), Reject(2, 1)):
        play.refuses(item, "seat 2 has left", "late")
    assert CORE.awaited(play.formation()) == [1]


def test_a_withdrawal_gives_back_the_locks_and_takes_back_the_signature() -> None:
    play = Play(Task(0, 10, 2, T, (3,)))
    play.initiate(0, invited=(0, 1, 2, 3))
    play.sign(1, commit=True)
    left, checked = play.read(Reject(1, 1))
    assert left == Left(1, 1, 1, True)
    assert isinstance(checked, Checked)
    assert (checked.signers, checked.status, play.balance(1)) == ((0,), "not_met", (3, 0, 0))


def test_the_locks_of_an_earlier_version_are_given_back_too(play: Play) -> None:
    play.initiate(0)
    play.world.max_versions = 9
    play.read(Modify(1, 1, play.digest(), {}, OWED, True))
    play.read(Modify(2, 1, play.digest(), {}, OWED, False))
    assert play.read(Reject(1, 1))[0] == Left(1, 3, 1, False)
    assert play.balance(1) == (3, 0, 0)


# ── rule 5: the threshold ───────────────────────────────────────────────────────────────────────────────


def test_the_threshold_needs_signers_capabilities_and_all_who_are_paid() -> None:
    play = Play(Task(0, 10, 2, T, (2, 1)))
    play.initiate(0, allocation={0: 5, 1: 5})
    checks = [play.sign(2)[-1], play.sign(1)[1]]
    assert checks == [
        Checked(1, 1, (0, 2), 2, False, False, 0.0, "not_met"),
        Checked(1, 1, (0, 1, 2), 2, True, True, 0.0, "met"),
    ]


def test_a_quorum_of_one_is_met_by_the_initiator() -> None:
    play = Play(Task(0, 10, 1, T))
    play.initiate(0, commit=True)
    assert (play.status(), play.balance(0)) == (("active", None), (2, 0, 1))


def test_too_few_who_stay_is_infeasible_at_once() -> None:
    play = Play(Task(0, 10, 3, T))
    play.initiate(0, commit=True)
    checked, failed = play.read(Reject(1, 1))[1:]
    assert checked == Checked(1, 1, (0,), 3, True, True, 0.0, "infeasible")
    assert failed == Failed(1, 1, "infeasible")
    assert (play.status(), play.balance(0), play.world.next_due) == (("failed", "infeasible"), (3, 0, 0), inf)


def test_those_who_stay_without_the_capabilities_are_infeasible_at_once() -> None:
    play = Play(Task(0, 10, 2, T, (0, 1)))
    play.initiate(0)
    play.read(Reject(1, 1))
    assert play.status() == ("failed", "infeasible")


def test_a_paid_seat_that_leaves_is_the_end_only_if_no_version_is_left() -> None:
    play = Play(Task(0, 10, 2, T), versions=2)
    play.initiate(0, allocation={0: 2, 3: 2}, invited=(0, 1, 2, 3))
    play.read(Reject(3, 1))
    assert CORE.awaited(play.formation()) == [0, 1, 2]  # somebody has to put another version forward
    play.modify(1, allocation={1: 5, 2: 5})
    play.read(Reject(2, 1))
    assert play.status() == ("failed", "infeasible")


def test_an_initiator_that_leaves_withdraws_the_formation(play: Play) -> None:
    play.initiate(0)
    play.modify(1)
    assert play.read(Reject(0, 1))[-1] == Failed(1, 2, "withdrawn")


def test_a_formation_without_consensus_fails_at_its_deadline(play: Play) -> None:
    play.initiate(0, commit=True)
    assert play.read(Tick(), 9.9) == []
    effects = play.read(Tick(), T)
    assert effects == [Checked(1, 1, (0,), 2, True, True, T, "timeout"), Failed(1, 1, "timeout")]
    assert (play.balance(0), play.world.next_due, list(play.world.closed)) == ((3, 0, 0), inf, [1])


def test_one_tick_ends_all_that_is_due_the_earliest_first() -> None:
    play = Play(Task(0, 10, 2, 8.0, exclusive=False), Task(1, 10, 2, 3.0))
    play.initiate(0)
    play.initiate(0, task=1)
    play.now = 1.0
    play.initiate(1)
    ended = [effect.formation for effect in play.read(Tick(), 8.5) if isinstance(effect, Failed)]
    assert (ended, play.world.next_due) == ([2, 1], 9.0)


# ── rule 6: consensus ───────────────────────────────────────────────────────────────────────────────────


def test_consensus_binds_the_locks_of_the_members_and_gives_back_all_others() -> None:
    play = Play(Task(0, 10, 2, T))
    play.initiate(0, commit=True)
    play.modify(1, commit=True)
    effects = play.sign(2, commit=False)
    assert effects[-1] == Reached(1, 2, (1, 2), play.digest(), TIMEOUT)
    assert [play.balance(seat) for seat in ALL] == [(3, 0, 0), (1, 0, 2), (3, 0, 0)]
    assert (play.world.next_due, CORE.awaited(play.formation())) == (TIMEOUT, [0])


def after_consensus() -> list[tuple[str, Callable[[Play], Item]]]:
    return [
        ("signature", lambda play: Sign(2, 1, play.digest())),
        ("modification", lambda play: Modify(2, 1, play.digest(), {}, {})),
        ("rejection", lambda play: Reject(2, 1)),
        ("withdrawal", lambda play: Reject(1, 1)),
        ("withdrawal of the initiator", lambda play: Reject(0, 1)),
    ]


@pytest.mark.parametrize(("name", "item"), after_consensus(), ids=lambda value: value if isinstance(value, str) else "")
def test_nothing_that_comes_behind_consensus_changes_it(name: str, item: Callable[[Play], Item]) -> None:
    play = Play()
    play.initiate(0, commit=True)
    play.sign(1)
    play.refuses(item(play), "there is consensus in formation 1 on version 1", "late")
    play.read(Deploy(0, 1))
    play.refuses(item(play), "formation 1 is active", "late")


def test_the_timer_of_the_deadline_does_not_touch_a_formation_with_consensus() -> None:
    play = Play()
    play.initiate(0)
    play.now = 9.0
    play.sign(1)
    assert (play.read(Tick(), T), play.world.next_due) == ([], 9.0 + TIMEOUT)


# ── rule 7: activation ──────────────────────────────────────────────────────────────────────────────────


def test_a_coalition_whose_members_all_committed_is_active_at_once(play: Play) -> None:
    play.initiate(0, commit=True)
    effects = play.sign(1, commit=True)
    assert effects[-2:] == [Reached(1, 1, (0, 1), play.digest(), None), Activated(1, 1, (0, 1), True)]
    assert ([play.balance(seat) for seat in ALL], play.world.next_due) == ([(2, 0, 1), (1, 0, 2), (3, 0, 0)], inf)


def test_who_owes_nothing_does_not_have_to_commit(play: Play) -> None:
    play.initiate(0, commit=True, commitment={0: 1})
    assert play.sign(1, commit=False)[-1] == Activated(1, 1, (0, 1), True)


def test_the_initiator_deploys_and_members_lock_what_they_still_owe(play: Play) -> None:
    play.initiate(0, commit=True)
    play.sign(1)
    assert play.read(Deploy(0, 1), 5.0) == [Activated(1, 1, (0, 1), False)]
    assert [play.balance(seat) for seat in ALL] == [(2, 0, 1), (1, 0, 2), (3, 0, 0)]


def test_a_deployment_locks_all_or_nothing() -> None:
    play = Play(Task(0, 10, 2, T), Task(1, 10, 2, T))
    play.initiate(0)
    play.sign(1)
    play.initiate(1, task=1, commit=True)
    play.refuses(Deploy(0, 1), "seat 1 does not have 2")
    assert play.balance(0) == (3, 0, 0)
    play.read(Reject(1, 2))
    play.read(Deploy(0, 1))


def test_the_initiator_may_abort_and_all_is_given_back(play: Play) -> None:
    play.initiate(0, commit=True)
    play.sign(1)
    assert play.read(Abort(0, 1)) == [Aborted(1, 1, "decided")]
    assert [play.balance(seat) for seat in ALL] == [(3, 0, 0)] * 3


def test_silence_aborts(play: Play) -> None:
    play.initiate(0, commit=True)
    play.sign(1)
    assert play.read(Tick(), TIMEOUT) == [Aborted(1, 1, "timeout")]
    assert (play.balance(0), play.world.next_due) == ((3, 0, 0), inf)


def test_only_the_initiator_decides_and_only_once_there_is_consensus(play: Play) -> None:
    play.initiate(0)
    play.refuses(Deploy(0, 1), "there is no consensus")
    play.sign(1)
    for item in (Deploy(1, 1), Abort(1, 1)):
        play.refuses(item, "seat 0 decides")


def test_an_initiator_that_is_no_member_still_decides(play: Play) -> None:
    play.initiate(0)
    play.modify(1)
    play.sign(2)
    play.read(Deploy(0, 1))
    assert (play.formation().members, play.status()) == ((1, 2), ("active", None))


# ── rules 8 and 9: ends, and rivals ─────────────────────────────────────────────────────────────────────


def test_the_first_to_reach_consensus_supersedes_its_rivals() -> None:
    play = Play(Task(0, 10, 2, T), Task(1, 10, 2, T))
    play.initiate(0)
    play.initiate(1, commit=True)
    play.initiate(2, task=1)
    effects = play.sign(2)
    assert effects[-1] == Failed(2, 1, "superseded")
    assert (play.balance(1), play.status(3)) == ((3, 0, 0), ("open", None))
    play.refuses(Initiate(1, 0, ALL, {}, {}), "task 0 is taken by formation 1", "late")


def test_a_task_is_free_again_once_its_coalition_is_aborted() -> None:
    play = Play()
    play.initiate(0)
    play.sign(1)
    play.read(Abort(0, 1))
    assert play.initiate(1) == 2


def test_a_task_that_is_not_exclusive_has_many_coalitions() -> None:
    play = Play(Task(0, 10, 2, T, exclusive=False))
    for seat in (0, 1, 2):
        play.initiate(seat, commitment={})
    for number, seat in ((1, 1), (2, 2), (3, 0)):
        play.sign(seat, number=number)
    assert [play.status(number)[0] for number in (1, 2, 3)] == ["active"] * 3


# ── races ───────────────────────────────────────────────────────────────────────────────────────────────


def test_at_the_deadline_the_order_of_the_inbox_decides() -> None:
    before, behind = Play(), Play()
    for play in (before, behind):
        play.initiate(0, commit=True)
    before.now = T
    before.sign(1)
    before.read(Tick())
    assert before.status() == ("consensus", None)
    behind.read(Tick(), T)
    behind.refuses(Sign(1, 1, behind.digest(), True), r"formation 1 is failed \(timeout\)", "late")
    assert behind.balance(1) == (3, 0, 0)


def test_after_the_deadline_all_is_late_whether_the_timer_was_read_or_not(play: Play) -> None:
    play.initiate(0)
    for item in (Sign(1, 1, play.digest()), Modify(1, 1, play.digest(), {}, {}), Reject(1, 1)):
        play.refuses(item, "the deadline of formation 1 has passed", "late", now=T + 0.1)
    assert play.read(Tick())[-1] == Failed(1, 1, "timeout")


@pytest.mark.parametrize(
    ("order", "end"),
    [
        ((Deploy(0, 1), Abort(0, 1), Tick()), ("active", None)),
        ((Abort(0, 1), Tick(), Deploy(0, 1)), ("aborted", "decided")),
        ((Tick(), Deploy(0, 1), Abort(0, 1)), ("aborted", "timeout")),
    ],
)
def test_of_deploy_abort_and_timeout_the_first_wins(order: tuple[Item, ...], end: tuple[str, str | None]) -> None:
    play = Play()
    play.initiate(0)
    play.sign(1)
    play.read(order[0], TIMEOUT)
    for item in order[1:]:
        if isinstance(item, Tick):
            assert play.read(item) == []
        else:
            play.refuses(item, f"formation 1 is {end[0]}", "late")
    assert play.status() == end


def test_a_decision_after_its_time_is_late_although_the_timer_was_not_read(play: Play) -> None:
    play.initiate(0)
    play.sign(1)
    play.refuses(Deploy(0, 1), "there is consensus", "late", now=TIMEOUT + 0.1)


def test_one_resource_in_two_formations_is_locked_by_the_first() -> None:
    play = Play(Task(0, 10, 2, T), Task(1, 10, 2, T))
    play.initiate(0)
    play.initiate(1, task=1)
    play.sign(2, commit=True, number=2)
    play.refuses(Sign(2, 1, play.digest(), True), "seat 2 does not have 3")
    assert play.world.ledger.balance(2, UNITS) == Balance(bound=3)


def test_what_was_read_before_changes_nothing_when_it_is_read_again() -> None:
    play = Play(Task(0, 10, 2, T))
    items: list[Item] = [Initiate(0, 0, (0, 1, 2, 3), {}, OWED, True)]
    play.read(items[0])
    items += [Modify(1, 1, play.digest(), {1: 1}, OWED, True), Reject(3, 1)]
    for item in items[1:]:
        play.read(item)
    items += [Sign(2, 1, play.digest()), Deploy(0, 1)]
    for item in items[3:]:
        for old in items[: items.index(item)]:
            before = encode(play.world)
            with pytest.raises(IllegalAction):
                step(play.world, old, 0.0)
            assert encode(play.world) == before
        play.read(item)


# ── the cost of an item, and what a world is made of ────────────────────────────────────────────────────


def lines_run(formations: int) -> int:
    """Count the lines that a formation from initiation to activation runs, after others have ended."""
    play = Play(Task(0, 10, 2, T, exclusive=False), units=9)
    world, _ = step(play.world, Initiate(1, 0, ALL, {}, {}), 0.0)  # its timer is the first: those behind it stay
    for _ in range(formations):
        world, _ = step(world, Initiate(0, 0, ALL, {}, {}), 0.0)
        world, _ = step(world, Reject(0, len(world.closed) + 2), 0.0)
    lines = 0

    def count(frame: Any, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    number = formations + 2
    before = sys.gettrace()
    sys.settrace(count)
    try:
        step(world, Initiate(0, 0, ALL, {0: 1}, OWED, True), 1.0)
        digest = world.open[number].current.digest
        step(world, Modify(1, number, digest, {}, OWED, True), 1.0)
        step(world, Sign(2, number, world.open[number].current.digest), 1.0)
        step(world, Deploy(0, number), 1.0)
        step(world, Tick(), 2.0)
    finally:
        sys.settrace(before)
    assert world.closed[number].status == "active"
    return lines


def test_an_item_costs_the_same_however_many_formations_have_ended() -> None:
    few, many = lines_run(1_000), lines_run(20_000)
    assert many - few < 100  # the heap is a few levels deeper; a scan would run thousands of lines more


def test_a_world_survives_encoding_and_goes_on_alike(play: Play) -> None:
    play.initiate(0, commit=True)
    play.modify(1, commit=True)
    again = msgspec.msgpack.decode(encode(play.world), type=World)
    assert again == play.world
    assert msgspec.json.decode(msgspec.json.encode(play.world), type=World) == play.world
    sign = Sign(2, 1, play.digest(), True)
    assert step(again, sign, 1.0)[1] == step(deepcopy(play.world), sign, 1.0)[1]


def test_items_and_effects_survive_encoding(play: Play) -> None:
    item: Item = Initiate(0, 0, ALL, {0: 1}, OWED, True)
    assert msgspec.msgpack.decode(encode(item), type=Item) == item
    for effect in play.read(item):
        assert msgspec.msgpack.decode(encode(effect), type=Effect) == effect
