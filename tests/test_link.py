"""Links between processes: what is sent arrives once and in order, in frames of bounded size."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.runtime.link import MAX_ITEMS, Arrivals, Link, LinkBus
from sim.bus import Address
from sim.errors import CodecError
from sim.messages import (
    REFEREE,
    SCHEMA_VERSION,
    Act,
    Frame,
    FrameItem,
    Lost,
    Message,
    decode_frame,
    encode_frame,
)


def lost(number: int) -> Lost:
    return Lost(1, str(number))


def items(*numbers: int) -> list[FrameItem]:
    return [(number, 1, lost(number)) for number in numbers]


class OtherEnd:
    """Takes frames; holds each until it is let go."""

    def __init__(self, *, holds: bool = False, answers: list[bytes] | None = None) -> None:
        self.frames: list[bytes] = []
        self.gate = asyncio.Event()
        self.in_flight = self.most_in_flight = 0
        self.answers = answers or []
        if not holds:
            self.gate.set()

    async def deliver(self, frame: bytes) -> bytes | None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.frames.append(frame)
        await self.gate.wait()
        await asyncio.sleep(0)
        self.in_flight -= 1
        return self.answers.pop(0) if self.answers else None

    def numbers(self) -> list[int]:
        return [match for frame in self.frames for match, _, _ in decode_frame(frame)[1]]


def link_to(end: OtherEnd) -> tuple[Link, list[bytes], list[Exception]]:
    answered: list[bytes] = []
    broken: list[Exception] = []
    return Link(end.deliver, answered.append, broken.append), answered, broken


async def drain(link: Link) -> None:
    while link.statistics().queued or link._task is not None:  # noqa: ASYNC110
        await asyncio.sleep(0)


# ── links ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_queues_while_a_frame_is_in_flight_goes_in_the_next_and_one_is_in_flight_at_a_time() -> None:
    end = OtherEnd(holds=True)
    link, _, _ = link_to(end)
    link.send(Address(0, 1), Address(0, REFEREE), lost(0))
    await asyncio.sleep(0)
    for number in range(1, 500):
        link.send(Address(number, 1), Address(number, REFEREE), lost(number))
    assert len(end.frames) == 1
    assert link.statistics().queued == 499
    end.gate.set()
    await drain(link)
    assert len(end.frames) == 2
    assert end.most_in_flight == 1
    assert end.numbers() == list(range(500))


async def test_a_frame_holds_a_bounded_number_of_messages() -> None:
    end = OtherEnd()
    link, _, _ = link_to(end)
    total = 2 * MAX_ITEMS + 7
    for number in range(total):
        link.send(Address(number, 1), Address(number, REFEREE), lost(number))
    await drain(link)
    assert [len(decode_frame(frame)[1]) for frame in end.frames] == [MAX_ITEMS, MAX_ITEMS, 7]
    assert end.numbers() == list(range(total))


async def test_statistics_say_what_was_carried() -> None:
    end = OtherEnd()
    link, _, _ = link_to(end)
    for number in range(10):
        link.send(Address(number, 1), Address(number, REFEREE), lost(number))
    assert link.statistics().queued == 10
    await drain(link)
    said = link.statistics()
    assert (said.messages, said.frames, said.queued) == (10, 1, 0)
    assert said.bytes == len(end.frames[0])


async def test_a_message_names_the_seat_that_is_not_the_referee_whichever_way_it_goes() -> None:
    end = OtherEnd()
    link, _, _ = link_to(end)
    link.send(Address(4, 2), Address(4, REFEREE), lost(0))
    link.send(Address(5, REFEREE), Address(5, 3), lost(0))
    await drain(link)
    assert [item[:2] for item in decode_frame(end.frames[0])[1]] == [(4, 2), (5, 3)]


async def test_a_link_that_broke_says_so_once_and_carries_nothing_more() -> None:
    class Gone(OtherEnd):
        async def deliver(self, frame: bytes) -> bytes | None:
            self.frames.append(frame)
            raise ConnectionResetError("gone")

    end = Gone()
    link, _, broken = link_to(end)
    for number in range(3):
        link.send(Address(number, 1), Address(number, REFEREE), lost(number))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert [type(error) for error in broken] == [ConnectionResetError]
    assert len(end.frames) == 1


async def test_a_closed_link_drops_what_is_queued_and_carries_nothing_more() -> None:
    end = OtherEnd(holds=True)
    link, _, broken = link_to(end)
    link.send(Address(0, 1), Address(0, REFEREE), lost(0))
    await asyncio.sleep(0)
    link.send(Address(1, 1), Address(1, REFEREE), lost(1))
    link.close()
    link.send(Address(2, 1), Address(2, REFEREE), lost(2))
    end.gate.set()
    await link.drained()
    for number in range(3, 9):
        link.send(Address(number, 1), Address(number, REFEREE), lost(number))
        await asyncio.sleep(0)
    assert end.numbers() == [0]
    assert link.statistics().queued == 0
    assert broken == []


async def test_what_the_other_end_answers_comes_back_with_the_call() -> None:
    frame = encode_frame(0, items(9))
    end = OtherEnd(answers=[frame])
    link, answered, _ = link_to(end)
    link.send(Address(0, 1), Address(0, REFEREE), lost(0))
    await drain(link)
    assert answered == [frame]


async def test_what_is_queued_can_be_taken_as_the_answer_to_a_call() -> None:
    end = OtherEnd(holds=True)
    link, _, _ = link_to(end)
    assert link.take() is None
    link.send(Address(7, 1), Address(7, REFEREE), lost(7))
    frame = link.take()
    assert frame is not None
    assert decode_frame(frame) == (0, items(7))
    await drain(link)
    assert end.frames == []  # it was taken, so nothing was left to send


async def test_a_submission_that_no_frame_can_hold_becomes_one_that_says_so_and_takes_no_other_along() -> None:
    end = OtherEnd()
    link, _, broken = link_to(end)
    bad = Act(1, 5, 3, "say", b"\x80", (Message("\ud800"),))
    for number, message in enumerate([lost(0), bad, lost(2)]):
        link.send(Address(number, 1), Address(number, REFEREE), message)
    await drain(link)
    (first, (match, seat, act), last) = decode_frame(end.frames[0])[1]
    assert (first, last) == (items(0)[0], items(2)[0])
    assert (match, seat) == (1, 1)
    assert act == Act(1, 5, 3, "", b"\x80", (), "text that is not Unicode")
    assert broken == []


async def test_a_bus_of_agents_sends_everything_over_its_link() -> None:
    end = OtherEnd()
    link, _, _ = link_to(end)
    bus = LinkBus(link)
    bus.send(Address(3, 1), Address(3, REFEREE), lost(3))
    bus.detach(Address(3, 1))
    await drain(link)
    assert end.numbers() == [3]
    with pytest.raises(NotImplementedError, match="frames"):
        bus.attach(Address(3, 1), None)


# ── arrivals ────────────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_frames_that_overtook_each_other_are_read_in_the_order_in_which_they_were_sent(seed: int, count: int) -> None:
    frames = [encode_frame(number, items(number, number + 1000)) for number in range(count)]
    Random(seed).shuffle(frames)
    read: list[int] = []
    arrivals = Arrivals(lambda got: read.extend(match for match, _, _ in got))
    for frame in frames:
        arrivals.take(frame)
    assert read == [match for number in range(count) for match in (number, number + 1000)]


def test_a_frame_that_came_before_its_time_waits() -> None:
    read: list[FrameItem] = []
    arrivals = Arrivals(read.extend)
    arrivals.take(encode_frame(1, items(1)))
    assert read == []
    arrivals.take(encode_frame(0, items(0)))
    assert read == items(0, 1)


ANOTHER_VERSION = msgspec.msgpack.encode(Frame(SCHEMA_VERSION + 1, 0, items(1)))


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xc1", b"\x93\x01", encode_frame(0, items(1))[:-2], bytes(range(256)), ANOTHER_VERSION, None, 7, "\x93"],
)
def test_a_corrupt_frame_is_refused_and_what_follows_is_read(frame: Any) -> None:
    read: list[FrameItem] = []
    arrivals = Arrivals(read.extend)
    with pytest.raises(CodecError):
        arrivals.take(frame)
    arrivals.take(encode_frame(0, items(1)))
    assert read == items(1)


def test_a_frame_that_came_before_is_refused_and_what_follows_is_read() -> None:
    read: list[FrameItem] = []
    arrivals = Arrivals(read.extend)
    arrivals.take(encode_frame(0, items(0)))
    arrivals.take(encode_frame(2, items(2)))
    for number in (0, 2):
        with pytest.raises(CodecError, match=f"frame {number} came twice"):
            arrivals.take(encode_frame(number, items(9)))
    arrivals.take(encode_frame(1, items(1)))
    assert read == items(0, 1, 2)
