"""What an agent is asked on a turn: the phase, the visible state, what was said, and what is legal."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from sim.messages import Event, PhaseOpen, Rejection, YourTurn
from sim.record import NoticeBody
from sim.views import Lazy, read_view

if TYPE_CHECKING:
    from actors.seat import Seat
else:
    Seat = Any  # a seat makes turns; `help(Turn)` looks the name up


class Chat(msgspec.Struct, frozen=True):
    """A chat message as a seat receives it.

    Attributes:
        agent_id: Who said it.
        text: What was said.
        to: Agent ids of the recipients; None is public.
    """

    agent_id: str
    text: str
    to: tuple[str, ...] | None

    @property
    def private(self) -> bool:
        """Whether only its sender and its recipients can read it."""
        return self.to is not None


class _HistoryEntry(msgspec.Struct, frozen=True):
    agent_id: str
    phase: str
    round: int
    action: str | None
    payload: dict[str, Any] | None
    thread: int = 0


class _Said(msgspec.Struct, frozen=True):
    agent_id: str
    messages: tuple[str, ...] = ()
    thread: int = 0


class _Whispered(msgspec.Struct, frozen=True):
    agent_id: str
    text: str
    to: tuple[str, ...]
    thread: int = 0


REFEREE_ID = "referee"
"""Who speaks in a notice."""

TAKEN = ("action", "timeout", "forfeit")
"""Kinds of events in which a seat takes an action, of its own or by default."""

_entry_decoder = msgspec.json.Decoder(_HistoryEntry)
_public_decoder = msgspec.json.Decoder(_Said)
_whisper_decoder = msgspec.json.Decoder(_Whispered)
_notice_decoder = msgspec.json.Decoder(NoticeBody)


class ActionHistory(Lazy):
    """The actions so far that the seat may see, a sequence of dicts; those of its thread where there are several.

    They are decoded when they are looked at: most agents never do.
    """

    _events: list[Event]
    _end: int
    _thread: int = 0
    _entries: list[dict[str, Any]] | None = None

    def _list(self) -> list[dict[str, Any]]:
        if self._entries is None:
            taken = (event.body for event in self._events[: self._end] if event.kind in TAKEN)
            entries = map(_entry_decoder.decode, taken)
            self._entries = [_as_dict(entry) for entry in entries if entry.thread == self._thread]
        return self._entries


def _as_dict(entry: _HistoryEntry) -> dict[str, Any]:
    return {key: getattr(entry, key) for key in ("agent_id", "phase", "round", "action", "payload")}


class Turn(msgspec.Struct, eq=False):
    """What an agent is asked.

    Attributes:
        seat: The seat that is asked.
    """

    seat: Seat
    _ask: YourTurn | PhaseOpen
    _start: int
    _end: int
    _state: dict[str, Any] | None = None

    @property
    def number(self) -> int:
        """Number of the turn in the match."""
        return self._ask.turn

    @property
    def phase(self) -> str:
        """Name of the game's phase."""
        return self._ask.phase

    @property
    def round(self) -> int:
        """Round within the phase, from 1."""
        return self._ask.round

    @property
    def thread(self) -> int:
        """The conversation in which it is asked; 0 in a game that has only one."""
        return self._ask.thread

    @property
    def allowed_actions(self) -> tuple[str, ...]:
        """Names of the legal actions."""
        return self._ask.allowed

    @property
    def deadline(self) -> float:
        """When the turn lapses, in seconds since the match opened."""
        return self._ask.deadline

    @property
    def remaining(self) -> float:
        """Seconds that were left when the referee asked."""
        return self._ask.remaining

    @property
    def rejection(self) -> Rejection | None:
        """Why the last answer to this turn was rejected, if one was."""
        return self._ask.rejection

    @property
    def concurrent(self) -> bool:
        """Whether others are asked at the same time."""
        return type(self._ask) is PhaseOpen

    @property
    def state(self) -> dict[str, Any]:
        """The game's visible state, as this seat may see it. It is a copy: changing it changes nothing."""
        state = self._state
        if state is None:
            state = self._state = read_view(self._ask.view)
            state["action_history"] = ActionHistory(self.seat.events, self._end, self._ask.thread)
        return state

    @property
    def messages(self) -> list[Chat]:
        """What was said in this thread since this seat was last asked in it, its own words among it, in order.

        Private words from a thread in which this seat was not asked yet, which may be that of others, are there too.
        """
        said: list[Chat] = []
        thread = self._ask.thread
        for event in self.seat.events[self._start : self._end]:
            if event.kind == "message":
                whispered = _whisper_decoder.decode(event.body)
                if whispered.thread == thread or not self.seat.was_asked_in(whispered.thread):
                    said.append(Chat(whispered.agent_id, whispered.text, whispered.to))
            elif event.kind == "action":
                public = _public_decoder.decode(event.body)
                if public.messages and public.thread == thread:
                    said.extend(Chat(public.agent_id, text, None) for text in public.messages)
            elif event.kind == "notice":
                notice = _notice_decoder.decode(event.body)
                if notice.thread == thread:
                    said.append(Chat(REFEREE_ID, notice.text, None))
        return said

    @property
    def agent_id(self) -> str:
        """The seat's id."""
        return self.seat.agent_id

    @property
    def role(self) -> str:
        """The seat's role."""
        return self.seat.role

    @property
    def private(self) -> dict[str, Any]:
        """What this seat alone was told when the match opened."""
        return self.seat.private

    @property
    def memory(self) -> dict[str, Any]:
        """What the agent remembers of this match and of no other."""
        return self.seat.memory

    @property
    def rng(self) -> Random:
        """The seat's own generator in this match; the same draws for the same seed, whatever the schedule."""
        return self.seat.rng
