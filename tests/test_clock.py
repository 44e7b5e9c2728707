"""Real time and virtual time behind one interface."""

from __future__ import annotations

import asyncio
import time

import pytest

from sim.clock import JITTER, Clock, VirtualLoop, run_virtual
from sim.errors import DeadlockError


def order_of_ten(explore: int | None) -> list[int]:
    """Return the order in which ten tasks that are runnable at once get to run, twice."""
    order: list[int] = []

    async def one(n: int) -> None:
        order.append(n)
        await asyncio.sleep(0)
        order.append(n)

    async def main() -> None:
        await asyncio.gather(*(one(n) for n in range(10)))

    run_virtual(main(), explore=explore)
    return order


def order_at_one_instant(explore: int | None) -> list[int]:
    order: list[int] = []

    async def main() -> None:
        clock = Clock()
        for n in range(2):
            clock.at(5.0, order.append, n)
        await asyncio.sleep(6)

    run_virtual(main(), explore=explore)
    return order


def test_virtual_time_jumps_to_the_next_timer_without_waiting() -> None:
    async def main() -> float:
        await asyncio.sleep(1_000_000)
        return Clock().now()

    start = time.perf_counter()
    assert run_virtual(main()) == pytest.approx(1_000_000)
    assert time.perf_counter() - start < 1


def test_virtual_time_starts_at_zero_and_stands_still_while_something_runs() -> None:
    async def main() -> list[float]:
        clock = Clock()
        times = [clock.now()]
        for _ in range(100):
            await asyncio.sleep(0)
        return [*times, clock.now()]

    assert run_virtual(main()) == [0.0, 0.0]


def test_timers_fire_in_the_order_of_their_times_and_never_early() -> None:
    fired: list[tuple[float, float]] = []

    async def main() -> None:
        clock = Clock()
        for when in (0.3, 0.1, 1e7 + 0.1, 0.2, 7 * 0.1):
            clock.at(when, lambda when=when: fired.append((when, clock.now())))
        await asyncio.sleep(2e7)

    run_virtual(main())
    assert [when for when, _ in fired] == sorted(when for when, _ in fired)
    assert len(fired) == 5
    assert all(now >= when - 1e-9 for when, now in fired)


def test_a_cancelled_timer_does_not_fire_and_can_be_cancelled_again() -> None:
    fired: list[str] = []

    async def main() -> None:
        clock = Clock()
        timer = clock.at(1.0, fired.append, "cancelled")
        kept = clock.at(1.0, fired.append, "kept")
        timer.cancel()
        await asyncio.sleep(2)
        kept.cancel()
        timer.cancel()

    run_virtual(main())
    assert fired == ["kept"]


def test_soon_runs_after_what_is_runnable_now() -> None:
    order: list[str] = []

    async def main() -> None:
        clock = Clock()
        clock.soon(order.append, "first")
        clock.soon(order.append, "second")
        order.append("before")
        await asyncio.sleep(0)

    run_virtual(main())
    assert order == ["before", "first", "second"]


def test_nothing_runnable_and_no_timer_is_a_deadlock() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(DeadlockError):
        run_virtual(main())


def test_an_exception_of_the_main_coroutine_comes_out() -> None:
    async def main() -> None:
        await asyncio.sleep(3)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_virtual(main())


def test_tasks_that_are_left_over_are_cancelled_and_may_clean_up() -> None:
    cleaned: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(1)
            cleaned.append("up")

    async def main() -> str:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        return "done" if not task.done() else "early"

    assert run_virtual(main()) == "done"
    assert cleaned == ["up"]


def test_without_a_schedule_tasks_run_in_asyncio_order() -> None:
    assert order_of_ten(None) == [*range(10), *range(10)]


def test_the_same_schedule_seed_gives_the_same_order() -> None:
    for seed in range(20):
        assert order_of_ten(seed) == order_of_ten(seed)


def test_schedule_seeds_explore_many_orders() -> None:
    assert len({tuple(order_of_ten(seed)) for seed in range(50)}) > 45


def test_timers_at_one_instant_are_a_race_under_a_schedule() -> None:
    first = [order_at_one_instant(seed)[0] for seed in range(500)]
    assert 100 <= sum(first) <= 400
    assert {order_at_one_instant(None)[0] for _ in range(5)} == {0}


def test_a_schedule_shifts_a_timer_by_less_than_the_jitter() -> None:
    async def main() -> float:
        await asyncio.sleep(1.0)
        return asyncio.get_running_loop().time()

    times = {run_virtual(main(), explore=seed) for seed in range(20)}
    assert all(1.0 <= t < 1.0 + 2 * JITTER for t in times)
    assert len(times) > 1


def test_timeouts_and_queues_of_asyncio_work_in_virtual_time() -> None:
    async def main() -> str:
        queue: asyncio.Queue[int] = asyncio.Queue()
        try:
            async with asyncio.timeout(30):
                await queue.get()
        except TimeoutError:
            return f"after {asyncio.get_running_loop().time():g} s"
        return "no"

    assert run_virtual(main()) == "after 30 s"


def test_a_virtual_loop_can_be_run_by_hand() -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(asyncio.sleep(12, result=None))
        assert loop.time() == pytest.approx(12)
    finally:
        loop.close()


async def test_the_clock_keeps_real_time_on_a_real_loop() -> None:
    clock = Clock()
    done = asyncio.get_running_loop().create_future()
    start = clock.now()
    clock.at(start + 0.003, done.set_result, "fired")
    assert await done == "fired"
    assert 0.002 < clock.now() - start < 1
