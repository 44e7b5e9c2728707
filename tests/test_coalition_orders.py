"""Coalition formation under any items in any order: the invariants hold after each."""

from __future__ import annotations

from math import inf

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sim.errors import IllegalAction
from sim.games.coalition import invariants
from sim.games.coalition.core import CORE, step
from sim.games.coalition.items import Abort, Deploy, Effect, Initiate, Item, Modify, Reject, Sign, Tick
from sim.games.coalition.things import ENDS, Agent, Task, World

SEATS = st.integers(0, 3)
NUMBERS = st.integers(0, 9)
INITIATOR = 4
AGE = st.integers(0, 2)
AMOUNTS = st.dictionaries(SEATS, st.integers(0, 3))
COMMIT = st.booleans()
encode = msgspec.msgpack.Encoder().encode

TASKS = (
    Task(0, 6, 2, 8.0),
    Task(1, 6, 3, 5.0, (2, 1)),
    Task(2, 6, 1, 0.5, exclusive=False),
    Task(3, 6, 2, 8.0, (1, 1), exclusive=False),
)
AGENTS = (Agent((1, 0), 4), Agent((1, 1), 3), Agent((0, 1), 2), Agent((2,), 1))


class AnyOrder(RuleBasedStateMachine):
    """Hands a world whatever comes, at any time, and keeps its own count of what ended how."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World.make(TASKS, AGENTS, activation_timeout=3.0, max_versions=3)
        self.now = 0.0
        self.ticked = -inf
        self.over: dict[int, bytes] = {}
        self.refused_for_good: list[Item] = []

    def read(self, item: Item) -> tuple[Effect, ...]:
        before = encode(self.world)
        try:
            self.world, effects = step(self.world, item, self.now)
        except IllegalAction as refusal:
            assert encode(self.world) == before
            assert refusal.code in ("late", "duplicate", "game_rule_violation")
            if refusal.code != "game_rule_violation" and not isinstance(item, Initiate):
                self.refused_for_good.append(item)
            return ()
        if not isinstance(item, Tick):
            assert effects
            self.repeats(item)
        return effects

    def repeats(self, item: Item) -> None:
        """Check that an item changes nothing the second time; an initiation, as long as the first has not ended."""
        begun = [(formation.initiator, formation.task) for formation in self.world.open.values()]
        if isinstance(item, Initiate) and (item.seat, item.task) not in begun:
            return
        before = encode(self.world)
        try:
            step(self.world, item, self.now)
        except IllegalAction:
            assert encode(self.world) == before
        else:
            raise AssertionError(f"read twice: {item}")

    def pick(self, number: int) -> int:
        """Return one of the open formations, or sometimes another number."""
        return [*self.world.open][number % len(self.world.open)] if self.world.open and number < 8 else number - 7

    def digest(self, number: int, age: int) -> str:
        formation = self.world.formation(number)
        return "none" if formation is None else formation.versions[-1 - min(age, len(formation.versions) - 1)].digest

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 3.0]), tick=st.booleans())
    def time_passes(self, seconds: float, tick: bool) -> None:
        self.now += seconds
        if tick:
            self.read(Tick())
            self.ticked = self.now

    @rule()
    def time_comes_to_what_is_due(self) -> None:
        if self.world.next_due < inf:
            self.now = max(self.now, self.world.next_due)

    @rule(seat=SEATS, task=st.integers(0, 4), seats=st.permutations(range(4)), size=st.integers(1, 4), commit=COMMIT)
    def initiate(self, seat: int, task: int, seats: list[int], size: int, commit: bool) -> None:
        invited = tuple(seats[:size]) if size < 2 else tuple(dict.fromkeys([seat, *seats[:size]]))
        self.read(Initiate(seat, task, invited, {seat: 2}, dict.fromkeys(invited, 1), commit))

    @rule(seat=SEATS, number=NUMBERS, age=AGE, commit=COMMIT)
    def sign(self, seat: int, number: int, age: int, commit: bool) -> None:
        number = self.pick(number)
        self.read(Sign(seat, number, self.digest(number, age), commit))

    @rule(number=NUMBERS, commit=COMMIT)
    def everyone_who_is_awaited_signs(self, number: int, commit: bool) -> None:
        number = self.pick(number)
        formation = self.world.formation(number)
        for seat in CORE.awaited(formation) if formation else []:
            self.read(Sign(seat, number, self.digest(number, 0), commit))

    @rule(seat=SEATS, number=NUMBERS, age=AGE, allocation=AMOUNTS, commitment=AMOUNTS, commit=COMMIT)
    def modify(
        self, seat: int, number: int, age: int, allocation: dict[int, int], commitment: dict[int, int], commit: bool
    ) -> None:
        number = self.pick(number)
        self.read(Modify(seat, number, self.digest(number, age), allocation, commitment, commit))

    @rule(seat=SEATS, number=NUMBERS)
    def reject(self, seat: int, number: int) -> None:
        number = self.pick(number)
        self.read(Reject(seat, number))

    @rule(seat=st.sampled_from([*range(4), *[INITIATOR] * 4]), number=NUMBERS, abort=st.booleans())
    def decide(self, seat: int, number: int, abort: bool) -> None:
        number = self.pick(number)
        formation = self.world.formation(number)
        seat = formation.initiator if formation and seat == INITIATOR else seat
        self.read(Abort(seat, number) if abort else Deploy(seat, number))

    @rule(seat=SEATS, number=NUMBERS, commit=COMMIT)
    def sign_what_is_over(self, seat: int, number: int, commit: bool) -> None:
        if self.world.closed:
            number = [*self.world.closed][-1 - number % len(self.world.closed)]
            assert self.read(Sign(seat, number, self.digest(number, 0), commit)) == ()

    @rule(data=st.data())
    def what_was_overtaken_stays_so(self, data: st.DataObject) -> None:
        if self.refused_for_good:
            item = data.draw(st.sampled_from(self.refused_for_good))
            assert self.read(item) == ()

    @invariant()
    def everything_holds(self) -> None:
        invariants.check(self.world, self.ticked)

    @invariant()
    def somebody_or_time_is_waited_for(self) -> None:
        for formation in self.world.open.values():
            assert CORE.awaited(formation)
            assert formation.due is not None
            assert self.world.next_due <= formation.due

    @invariant()
    def what_is_over_stays_as_it_is(self) -> None:
        for number, formation in self.world.closed.items():
            assert formation.status in ENDS
            assert self.over.setdefault(number, encode(formation)) == encode(formation)

    def teardown(self) -> None:
        self.now += 100.0
        self.read(Tick())
        assert not self.world.open
        assert self.world.next_due == inf
        assert not any(lock.status == "held" for lock in self.world.ledger.locks.values())
        invariants.check(self.world, self.now)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
