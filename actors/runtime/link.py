"""A link between two processes: one frame in flight, and everything that queued meanwhile in the next.

A call of a Ray actor costs about half a millisecond of processor time whatever it carries. So an idle link
adds one hop, and a busy one carries hundreds of messages a frame. What the other end has to say by the time it
has read a frame comes back as the answer to the call, which saves a call of its own.

Calls of an async actor may overtake each other, and so may an answer and a call: frames are numbered, and
`Arrivals` puts them back in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from sim.bus import Address
from sim.errors import CodecError, describe
from sim.messages import REFEREE, Act, AnyMessage, FrameItem, decode_frame, encode_frame

_EMPTY = msgspec.msgpack.encode({})

MAX_ITEMS = 1024
"""Messages in a frame at most, which bounds what a frame costs to hold."""


class LinkStatistics(msgspec.Struct, frozen=True):
    """What a link has carried.

    Attributes:
        messages: Messages sent.
        frames: Frames that carried them.
        bytes: Size of those frames.
        queued: Messages that wait for the next frame.
    """

    messages: int
    frames: int
    bytes: int
    queued: int


class Link:
    """Sends messages to another process.

    Args:
        deliver: Takes a frame there; returns once it has been read, with a frame of the other end or nothing.
        answered: Called with the frames that come back.
        broken: Called once with what `deliver` raised; nothing is sent after that.
    """

    def __init__(
        self,
        deliver: Callable[[bytes], Awaitable[bytes | None]],
        answered: Callable[[bytes], None],
        broken: Callable[[Exception], None],
    ) -> None:
        self._deliver = deliver
        self._answered = answered
        self._broken = broken
        self._queue: list[FrameItem] = []
        self._task: asyncio.Task[None] | None = None
        self._down = False
        self._messages = self._frames = self._bytes = 0

    def send(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Queue a message; a bus can use this as the receiver of an address that lives elsewhere."""
        self._queue.append((to.match, to.seat if to.seat != REFEREE else sender.seat, message))
        if self._task is None:
            if self._down:
                self._queue.clear()
            else:
                self._task = asyncio.get_running_loop().create_task(self._pump())

    def close(self) -> None:
        """Send nothing more; what is queued is dropped, what is in flight may still arrive."""
        self._down = True
        self._queue.clear()

    async def _pump(self) -> None:
        try:
            while self._queue and not self._down:
                answer = await self._deliver(self._next_frame())
                if answer:
                    self._answered(answer)
        except Exception as error:
            self._down = True
            self._queue.clear()
            self._broken(error)
        finally:
            self._task = None

    async def drained(self) -> None:
        """Wait until everything that was sent has been read at the other end."""
        while self._task is not None:
            await asyncio.shield(self._task)

    def take(self) -> bytes | None:
        """Return what is queued as a frame, to go back as the answer to a call; None when nothing is."""
        return self._next_frame() if self._queue else None

    def _next_frame(self) -> bytes:
        items, self._queue = self._queue[:MAX_ITEMS], self._queue[MAX_ITEMS:]
        try:
            frame = encode_frame(self._frames, items)
        except (ValueError, OverflowError):
            frame = encode_frame(self._frames, [_encodable(item) for item in items])
        self._messages += len(items)
        self._frames += 1
        self._bytes += len(frame)
        return frame

    def statistics(self) -> LinkStatistics:
        """Return what it has carried."""
        return LinkStatistics(self._messages, self._frames, self._bytes, len(self._queue))


def _encodable(item: FrameItem) -> FrameItem:
    """Return an item, or in the place of a submission that no frame can hold one that says so."""
    match, seat, message = item
    try:
        encode_frame(0, [item])
    except (ValueError, OverflowError) as error:
        if type(message) is not Act:
            raise
        problem = "text that is not Unicode" if isinstance(error, UnicodeEncodeError) else describe(error)
        return match, seat, Act(message.seat, message.turn, message.cause, "", _EMPTY, (), problem, message.receipt)
    return item


class Arrivals:
    """Frames of one other end, put back in order.

    Args:
        read: Called with the items of each frame, in the order in which the frames were sent.
    """

    def __init__(self, read: Callable[[list[FrameItem]], None]) -> None:
        self._read = read
        self._expected = 0
        self._early: dict[int, list[FrameItem]] = {}

    def take(self, frame: bytes) -> None:
        """Take a frame; reads it, and those that waited for it.

        Raises:
            CodecError: It is not a frame, or one that came before.
        """
        try:
            number, items = decode_frame(frame)
        except TypeError:  # not even bytes
            raise CodecError(f"not a message: {type(frame).__name__}") from None
        if number < self._expected or number in self._early:
            raise CodecError(f"frame {number} came twice")
        self._early[number] = items
        while (ready := self._early.pop(self._expected, None)) is not None:
            self._expected += 1
            self._read(ready)


class LinkBus:
    """The bus in a process where agents live: everything goes to the referees at the other end of its link."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def attach(self, address: Address, receive: object) -> None:
        """Nothing is delivered here but by frames."""
        raise NotImplementedError("a process of agents receives frames, not addresses")

    def detach(self, address: Address) -> None:
        """Nothing is attached here."""

    def send(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Send a message."""
        self._link.send(sender, to, message)
