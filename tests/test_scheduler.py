"""The scheduler: every match is accounted for once, whatever its cells do."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec
import pytest

from actors.runtime.scheduler import MAX_BARREN, MAX_DEATHS, MAX_DEATHS_ALONE, CellDied, NoRoom, Scheduler
from sim.errors import RunError


class Done(msgspec.Struct):
    indexes: list[int]


class FakeCell:
    """Finishes what it is given, a few at a time.

    Args:
        batch: How many it hands over at once.
        before: Called with what it holds before each exchange; it may raise.
    """

    def __init__(self, batch: int = 4, before: Callable[[list[int]], None] | None = None) -> None:
        self.batch = batch
        self.before = before
        self.holds: list[int] = []
        self.given: list[list[int]] = []
        self.killed = 0

    async def exchange(self, indexes: Sequence[int]) -> Done:
        assert not self.killed, "a dead cell is asked"
        self.holds.extend(indexes)
        self.given.append(list(indexes))
        await asyncio.sleep(0)
        if self.before is not None:
            self.before(self.holds)
        batch, self.holds = self.holds[: self.batch], self.holds[self.batch :]
        return Done(batch)

    def kill(self) -> None:
        self.killed += 1


class House:
    """Starts fake cells, and writes down what becomes of the matches."""

    def __init__(self, make: Callable[[], FakeCell] = FakeCell, cells: int = 1, ahead: int = 10) -> None:
        self.make = make
        self.started: list[FakeCell] = []
        self.done: list[int] = []
        self.given_up: list[int] = []
        self.scheduler = Scheduler(
            self.start,
            cells=cells,
            ahead=ahead,
            done=lambda batch: self.done.extend(batch.indexes),
            give_up=self.given_up.append,
        )

    async def start(self) -> FakeCell:
        cell = self.make()
        self.started.append(cell)
        return cell

    async def play(self, indexes: Iterable[int]) -> None:
        await self.scheduler.run(indexes)
        assert all(cell.killed == 1 for cell in self.started)


def poisoned(*bad: int) -> Callable[[], FakeCell]:
    """Cells that die when they hold one of these matches."""

    def before(holds: list[int]) -> None:
        if set(bad) & set(holds):
            raise CellDied("boom")

    return lambda: FakeCell(before=before)


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("matches", [0, 1, 3, 97])
async def test_every_match_is_done_once(cells: int, matches: int) -> None:
    house = House(cells=cells)
    await house.play(range(matches))
    assert sorted(house.done) == list(range(matches))
    assert house.given_up == []
    assert len(house.started) <= min(cells, matches)


async def test_a_cell_is_given_no_more_ahead_than_it_may_hold() -> None:
    house = House(ahead=6)
    await house.play(range(100))
    held = 0
    for given in house.started[0].given:
        held += len(given)
        assert held <= 6
        held -= min(4, held)


async def test_towards_the_end_cells_are_given_ever_less_so_that_they_finish_together() -> None:
    house = House(cells=2, ahead=1000)
    await house.play(range(400))
    sizes = [len(given) for given in house.started[0].given if given]
    assert sizes[0] == 100  # a quarter of all, not all that it may hold
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 2


async def test_what_a_dead_cell_held_is_played_again_first_and_in_order() -> None:
    deaths = iter([True])

    def before(holds: list[int]) -> None:
        if 6 in holds and next(deaths, False):
            raise CellDied("boom")

    house = House(lambda: FakeCell(batch=2, before=before), ahead=8)
    await house.play(range(30))
    assert house.done == list(range(30))
    assert house.scheduler.restarts == 1
    first, second = house.started
    assert first.killed == second.killed == 1


async def test_a_match_that_kills_its_cell_each_time_is_played_alone_and_then_given_up() -> None:
    house = House(poisoned(5), ahead=8)
    await house.play(range(20))
    assert house.given_up == [5]
    assert sorted(house.done) == [n for n in range(20) if n != 5]
    assert house.scheduler.restarts == MAX_DEATHS + MAX_DEATHS_ALONE
    alone = [cell for cell in house.started if [5] in cell.given]
    assert len(alone) == MAX_DEATHS_ALONE


@pytest.mark.parametrize("cells", [1, 3])
async def test_several_that_kill_their_cells_are_given_up_and_no_other(cells: int) -> None:
    house = House(poisoned(2, 11, 17), cells=cells, ahead=8)
    await house.play(range(40))
    assert sorted(house.given_up) == [2, 11, 17]
    assert Counter(house.done) == Counter(n for n in range(40) if n not in (2, 11, 17))


async def test_a_run_in_which_every_match_kills_its_cell_ends_with_an_error() -> None:
    house = House(lambda: poisoned(*range(1000))(), ahead=50)
    with pytest.raises(RunError, match=f"died {MAX_BARREN + 1} times and no match was finished: boom"):
        await house.play(range(1000))
    assert all(cell.killed == 1 for cell in house.started)


async def test_one_finished_match_between_deaths_is_progress() -> None:
    count = 0

    def before(holds: list[int]) -> None:
        nonlocal count
        count += 1
        if count % 2 == 0:
            raise CellDied("boom")

    house = House(lambda: FakeCell(batch=1, before=before), ahead=1)
    await house.play(range(3 * MAX_BARREN))
    assert sorted(house.done) == list(range(3 * MAX_BARREN))
    assert house.scheduler.restarts > MAX_BARREN


async def test_a_cell_that_cannot_be_started_ends_the_run_with_its_own_error_and_no_group() -> None:
    async def start() -> FakeCell:
        raise RunError("no such machine")

    scheduler = Scheduler(start, cells=3, ahead=5, done=lambda b: None, give_up=lambda n: None)
    with pytest.raises(RunError, match=r"^no such machine$"):
        await scheduler.run(range(10))


async def test_whatever_else_is_raised_comes_out_as_it_is_and_ends_all_cells() -> None:
    house = House(cells=2)

    def full(batch: Done) -> None:
        raise OSError("no space left")

    house.scheduler._done = full
    with pytest.raises(OSError, match="no space left"):
        await house.scheduler.run(range(50))
    assert all(cell.killed == 1 for cell in house.started)


async def test_a_cell_that_hands_over_nothing_though_it_holds_matches_is_an_error_and_no_endless_loop() -> None:
    house = House(lambda: FakeCell(batch=0))
    with pytest.raises(RunError, match=r"lost 5 matches, 0 the first of them"):
        await house.scheduler.run(range(10))
    assert house.started[0].killed == 1


async def test_cells_for_which_there_is_no_room_are_done_without() -> None:
    house = House(cells=3)
    start = house.start

    async def sometimes() -> FakeCell:
        if house.started:
            raise NoRoom("full")
        return await start()

    house.scheduler._start = sometimes
    await house.play(range(30))
    assert sorted(house.done) == list(range(30))
    assert len(house.started) == 1


async def test_without_room_for_any_cell_the_run_ends_with_an_error() -> None:
    async def start() -> FakeCell:
        raise NoRoom("full")

    scheduler = Scheduler(start, cells=2, ahead=5, done=lambda b: None, give_up=lambda n: None)
    with pytest.raises(RunError, match="full"):
        await scheduler.run(range(10))


async def test_a_cell_that_is_still_starting_when_all_is_done_is_not_waited_for() -> None:
    house = House(cells=2)
    start = house.start
    cancelled = asyncio.Event()

    async def slow() -> FakeCell:
        if not house.started:
            return await start()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    house.scheduler._start = slow
    async with asyncio.timeout(10):
        await house.play(range(30))
    assert sorted(house.done) == list(range(30))
    assert cancelled.is_set()


async def test_a_cancelled_run_ends_its_cells() -> None:
    class Stuck(FakeCell):
        async def exchange(self, indexes: Sequence[int]) -> Done:
            await asyncio.sleep(3600)
            raise AssertionError

    house = House(Stuck, cells=2)
    task = asyncio.ensure_future(house.scheduler.run(range(10)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [cell.killed for cell in house.started] == [1, 1]
