"""The wire vocabulary: frozen, tagged Structs, and the codec that turns them into bytes and back.

A referee sends `MatchOpen`, `YourTurn` or `PhaseOpen`, `Verdict` and `MatchEnd`, each in an `Update` that first
says what happened since the last one; a seat sends `Act`. What else a referee reads from its inbox (`Deadline`,
`Forfeit`, `Lost`, `Abort`) comes from the clock and from the process that a seat lives in.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from sim.errors import CodecError, TooLarge

SCHEMA_VERSION: Final = 1
"""Version of the messages and of the record; a frame of another version is refused."""

MAX_BYTES: Final = 256 * 1024
"""Default upper size of one submission (payload and messages), in bytes."""

REFEREE: Final = -1
"""The seat number that stands for the referee in addresses and events."""

STRANGER: Final = -2
"""The seat number that stands for a sender that has no seat where its message arrives."""

Code: TypeAlias = Literal[
    "match_not_running",
    "agent_not_in_match",
    "not_your_turn",
    "invalid_action_type",
    "invalid_payload",
    "game_rule_violation",
    "late",
    "duplicate",
    "too_large",
]
"""Why a submission was rejected."""

EventKind: TypeAlias = Literal[
    "open", "phase", "action", "message", "notice", "rejected", "timeout", "forfeit", "alarm", "lost", "abort", "end"
]


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Base of everything on the wire: frozen, strict about fields, and outside the garbage collector's rounds.

    Nothing on the wire refers back to what holds it, so reference counts alone free it. What only travels and is
    never written down is `array_like`: without field names it is half as long.
    """


class Message(Struct, frozen=True):
    """A chat message: public, or private to the named seats.

    Attributes:
        text: What is said.
        to: Agent ids of the recipients; None is public.
    """

    text: str
    to: tuple[str, ...] | None = None


class Rejection(Struct, frozen=True):
    """Why a submission changed nothing: a code and a sentence."""

    code: Code
    reason: str


# ── referee to seat ─────────────────────────────────────────────────────────────────────────────────────


class MatchOpen(Struct, frozen=True, array_like=True, tag="match_open"):
    """The match begins: who plays, what the role is, and what only this seat knows.

    Attributes:
        match_id: Name of the match within its run.
        agent_id: The seat's own id.
        agent_ids: All ids, in seat order.
        role: The seat's role in the game.
        rules: The rules in words, for this role.
        private: Facts that no other seat is sent, as MessagePack.
        seed: Seed of the seat's own generator.
        threads: Whether the seat may be asked several things at once, each in a thread of its own.
    """

    match_id: str
    agent_id: str
    agent_ids: tuple[str, ...]
    role: str
    rules: str
    private: bytes
    seed: int
    threads: bool = False


class _Ask(Struct, frozen=True, array_like=True):
    turn: int
    phase: str
    round: int
    deadline: float
    remaining: float
    allowed: tuple[str, ...]
    view: bytes
    rejection: Rejection | None
    thread: int = 0


class YourTurn(_Ask, frozen=True, array_like=True, tag="your_turn"):
    """The referee asks this seat alone.

    Attributes:
        turn: Number of the turn; an answer quotes it.
        phase: Name of the game's phase.
        round: Round within the phase, from 1.
        deadline: When the turn lapses, in seconds of the match.
        remaining: Seconds from now to the deadline.
        allowed: Names of the legal actions.
        view: The visible game state, as MessagePack.
        rejection: Why the last answer to this turn was rejected, if one was.
        thread: The conversation in which it asks; 0 in a game that has only one.
    """


class PhaseOpen(_Ask, frozen=True, array_like=True, tag="phase_open"):
    """The phase is open to this seat and to others at once. Attributes as in `YourTurn`."""


class Event(Struct, frozen=True, array_like=True, tag="event"):
    """Something that happened: an entry of the record, and what the seats that may see it are sent.

    Attributes:
        seq: Sequence number within the match, from 0.
        time: Seconds since the match opened.
        kind: What it was.
        sender: Seat number of who did it; `REFEREE` for the referee.
        cause: The sender's own number of the submission that caused it; 0 if none did.
        recipients: Seats that may see it; None is all, empty is nobody (the record alone).
        body: JSON.
    """

    seq: int
    time: float
    kind: EventKind
    sender: int
    cause: int
    recipients: tuple[int, ...] | None
    body: bytes

    @property
    def visibility(self) -> str:
        """`public`, `private` (some seats) or `referee` (the record alone)."""
        if self.recipients is None:
            return "public"
        return "private" if self.recipients else "referee"


class Verdict(Struct, frozen=True, array_like=True, tag="verdict"):
    """The answer to a rejected submission. An accepted one is answered by its own event.

    Attributes:
        cause: The sender's own number of the submission.
        rejection: The code and the sentence; None when it was accepted.
    """

    cause: int
    rejection: Rejection | None = None

    @property
    def accepted(self) -> bool:
        """Whether the submission was accepted."""
        return self.rejection is None


class MatchEnd(Struct, frozen=True, array_like=True, tag="match_end"):
    """The match is over.

    Attributes:
        outcome: The outcome, as JSON.
    """

    outcome: bytes


ToSeat: TypeAlias = MatchOpen | YourTurn | PhaseOpen | Verdict | MatchEnd


class Update(Struct, frozen=True, array_like=True, tag="update"):
    """All that a referee has for a seat: what happened since the last update, and then one message.

    Attributes:
        events: What the seat may see of what happened, in order.
        message: What it is told or asked; None when the events are all.
    """

    events: list[Event]
    message: ToSeat | None


# ── seat, clock and process to referee ──────────────────────────────────────────────────────────────────


class Act(Struct, frozen=True, array_like=True, tag="act"):
    """A submission: an action, with messages or without.

    Attributes:
        seat: Who claims to act; the bus knows who really did.
        turn: Number of the turn or phase opening that it answers; 0 where none was given.
        cause: The seat's own number for this submission; a number seen before is a duplicate.
        action: Name of the action.
        payload: The action's fields, as a MessagePack map.
        messages: What is said along with it.
        problem: What was wrong with the answer before it could be encoded; empty if nothing was.
        receipt: Whether the sender waits for the verdict.
    """

    seat: int
    turn: int
    cause: int
    action: str
    payload: bytes
    messages: tuple[Message, ...] = ()
    problem: str = ""
    receipt: bool = False


class Forfeit(Struct, frozen=True, array_like=True, tag="forfeit"):
    """A seat's agent raised: it forfeits the turn, not the match.

    Attributes:
        seat: The seat.
        turn: The turn that it was asked for.
        error: What was raised, for the record and the summary alone.
    """

    seat: int
    turn: int
    error: str


class Lost(Struct, frozen=True, array_like=True, tag="lost"):
    """A seat is gone for the rest of the match: its turns take the default action at once."""

    seat: int
    error: str


class Deadline(Struct, frozen=True, array_like=True, tag="deadline"):
    """The clock says: all that was due at `at` (seconds of the match) and is not in the inbox yet is late."""

    at: float


class Abort(Struct, frozen=True, array_like=True, tag="abort"):
    """The match is to end now, for a reason outside its rules."""

    reason: str
    status: Literal["agent_failed", "aborted"] = "aborted"


ToReferee: TypeAlias = Act | Forfeit | Lost | Deadline | Abort
AnyMessage: TypeAlias = Update | ToReferee


# ── frames ──────────────────────────────────────────────────────────────────────────────────────────────


FrameItem: TypeAlias = tuple[int, int, AnyMessage]
"""A message on its way to another process: (match, seat, message). The seat is the one that is not the referee."""


class Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What travels between two processes: many messages."""

    version: int
    number: int
    items: list[FrameItem]


_encoder = msgspec.msgpack.Encoder()
_frame_decoder = msgspec.msgpack.Decoder(Frame)
_message_decoder: msgspec.msgpack.Decoder[AnyMessage] = msgspec.msgpack.Decoder(AnyMessage)


def encode(message: AnyMessage) -> bytes:
    """Encode one message."""
    return _encoder.encode(message)


def decode(data: bytes, *, max_bytes: int = MAX_BYTES) -> AnyMessage:
    """Decode one message.

    Raises:
        TooLarge: More than `max_bytes`.
        CodecError: Anything else that is not a message. Nothing but these two is ever raised.
    """
    if len(data) > max_bytes:
        raise TooLarge(len(data), max_bytes)
    message: AnyMessage = _decoded(_message_decoder, data)
    return message


def encode_frame(number: int, items: list[FrameItem]) -> bytes:
    """Encode many messages into one frame, which is number so-and-so of its sender."""
    return _encoder.encode(Frame(SCHEMA_VERSION, number, items))


def decode_frame(data: bytes) -> tuple[int, list[FrameItem]]:
    """Decode a frame; returns its number and what it carries.

    Raises:
        CodecError: Not a frame, or one of another schema version.
    """
    frame: Frame = _decoded(_frame_decoder, data)
    if frame.version != SCHEMA_VERSION:
        raise CodecError(f"a frame of schema version {frame.version}; this is version {SCHEMA_VERSION}")
    return frame.number, frame.items


def _decoded(decoder: msgspec.msgpack.Decoder[Any], data: bytes) -> Any:
    # Besides its own errors a decoder lets out RecursionError for deep nesting, UnicodeDecodeError for bad
    # text, and ValueError or OverflowError for timestamps and integers out of range.
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise CodecError(f"not a message: {error}") from None
