"""The event log of a live match: writes events down, and says who may see which part of them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Raw

from sim.actions import nests
from sim.game import ActionType, Outcome
from sim.messages import REFEREE, Abort, Act, Event, EventKind, Lost, Message, Rejection
from sim.record import ActionBody, EndBody, MessageBody, NoticeBody, RejectedBody

MAX_REJECTIONS = 100
"""Rejected submissions of one seat in one match, out of its turn, that are written down."""

_TOLD_OTHERWISE = ("open", "rejected")
"""Kinds of events that a seat learns of from a message of their own: `MatchOpen`, `Verdict`."""

_UNREAD = ("agent_not_in_match", "duplicate")
"""Codes of submissions that were judged by their envelope, without a look at what is in them."""

_BULKY = 4096
"""Bytes above which of an unread submission only the size is kept."""

_json = msgspec.json.Encoder()
_pack = msgspec.msgpack.Encoder()


class EventLog:
    """Events in order, and which part of them each seat may see.

    Attributes:
        agent_ids: Seat ids, in seat order.
        now: Time of the item that is being read, in seconds of the match.
        events: The events so far.
        messages: How many chat messages there were.
        uncounted: How many rejected submissions were not written down.
    """

    __slots__ = (
        "_ending",
        "_everybody",
        "_opening",
        "_rejections",
        "_restricted",
        "_shown",
        "agent_ids",
        "events",
        "messages",
        "now",
        "uncounted",
    )

    def __init__(self, agent_ids: tuple[str, ...]) -> None:
        self.agent_ids = agent_ids
        self._everybody = tuple(range(len(agent_ids)))
        self.now = 0.0
        self.events: list[Event] = []
        self.messages = self.uncounted = 0
        self._opening = 0  # events that tell how the match opened: the seats have it from `MatchOpen`
        self._ending: int | None = None  # the event that tells how it ended: they have it from `MatchEnd`
        self._shown: dict[int, Event] = {}
        self._restricted = -1  # the last event that not every seat may see whole
        self._rejections: dict[int, int] = {}

    def since(self, start: int, seat: int) -> list[Event]:
        """Return what a seat may see of the events from number `start` on, as it may see it."""
        if start < self._opening:
            start = self._opening
        events = self.events[start : self._ending]
        if start > self._restricted:
            return events
        visible = []
        shown = self._shown
        for event in events:
            to = event.recipients
            if to is None or (seat in to and event.kind not in _TOLD_OTHERWISE):
                visible.append(shown.get(event.seq, event) if shown else event)
        return visible

    def _write(
        self, kind: EventKind, sender: int, cause: int, recipients: tuple[int, ...] | None, body: bytes
    ) -> Event:
        event = Event(len(self.events), self.now, kind, sender, cause, recipients, body)
        self.events.append(event)
        if recipients is not None:
            self._restricted = event.seq
        return event

    def opened(self, game_id: str, roles: tuple[str, ...], private: list[dict[str, Any]]) -> None:
        """The match opens; the seats are told by `MatchOpen`."""
        self._write("open", REFEREE, 0, (), _json.encode({"game": game_id, "roles": roles}))
        for seat, facts in enumerate(private):
            self._write("open", REFEREE, 0, (seat,), _json.encode(facts))
        self._opening = len(self.events)

    def phase(self, name: str) -> None:
        """A phase begins."""
        self._write("phase", REFEREE, 0, None, _json.encode({"phase": name}))

    def private_message(
        self, sender: int, cause: int, message: Message, thread: int = 0, heard: str | None = None
    ) -> None:
        """A message that its sender and its recipients alone can read; they may not hear all of it."""
        assert message.to is not None
        self.messages += 1
        recipients = tuple(s for s, a in enumerate(self.agent_ids) if s == sender or a in message.to)
        body = MessageBody(self.agent_ids[sender], message.text, message.to, thread)
        if heard is None or heard == message.text:
            self._write("message", sender, cause, recipients, _json.encode(body))
            return
        shown = msgspec.structs.replace(body, text=heard)
        whole = msgspec.structs.replace(shown, said=message.text)
        event = self._write("message", sender, cause, recipients, _json.encode(whole))
        self._shown[event.seq] = msgspec.structs.replace(event, body=_json.encode(shown))

    def notice(self, body: NoticeBody, recipients: tuple[int, ...] | None) -> None:
        """The referee says something to those who take part in a thread."""
        self._write("notice", REFEREE, 0, recipients, _json.encode(body))

    def action(
        self,
        kind: EventKind,
        sender: int,
        cause: int,
        body: ActionBody,
        public_part: ActionType | None,
        recipients: tuple[int, ...] | None = None,
    ) -> None:
        """An action that was taken, or a default that was given; what is private stays in the record."""
        self.messages += len(body.messages)
        if public_part is not None:
            body = msgspec.structs.replace(body, payload=public_part, private=body.payload)
        events = self.events
        event = Event(len(events), self.now, kind, sender, cause, recipients, _json.encode(body))
        events.append(event)
        if recipients is not None and recipients != self._everybody:
            self._restricted = event.seq
        if body.private is not None or body.error is not None or body.said is not None:
            shown = _json.encode(msgspec.structs.replace(body, private=None, error=None, said=None))
            self._shown[event.seq] = msgspec.structs.replace(event, body=shown)
            self._restricted = event.seq

    def rejected(self, sender: int, act: Act, rejection: Rejection, *, attempt: bool) -> None:
        """A submission that changed nothing; its sender is told by `Verdict`.

        An attempt at an open turn counts against it, so it is always written down; of others no more than
        `MAX_REJECTIONS` of a seat are, lest a babbling agent fills the disk.
        """
        if not attempt:
            count = self._rejections[sender] = self._rejections.get(sender, 0) + 1
            if count > MAX_REJECTIONS:
                self.uncounted += 1
                return
        recipients = (sender,) if sender != REFEREE else ()
        agent_id = self.agent_ids[sender] if sender != REFEREE else None
        self._write("rejected", sender, act.cause, recipients, _json.encode(_rejected_body(agent_id, act, rejection)))

    def alarm(self, at: float) -> None:
        """The time has come for which the state set its alarm."""
        self._write("alarm", REFEREE, 0, (), _json.encode({"at": at}))

    def lost(self, item: Lost) -> None:
        """A seat is gone."""
        self._write("lost", item.seat, 0, (), _json.encode(msgspec.structs.asdict(item)))

    def abort(self, item: Abort) -> None:
        """The match is ended from outside."""
        self._write("abort", REFEREE, 0, (), _json.encode(msgspec.structs.asdict(item)))

    def end(self, outcome: Outcome) -> None:
        """The match is over; the seats are told by `MatchEnd`."""
        digest = sha256(_pack.encode(self.events)).hexdigest()
        body = EndBody(outcome.status, outcome.trigger, outcome.utilities, outcome.details, outcome.figures, digest)
        restricted, self._ending = self._restricted, len(self.events)
        self._write("end", REFEREE, 0, (), _json.encode(body))
        self._restricted = restricted


def _rejected_body(agent_id: str | None, act: Act, rejection: Rejection) -> RejectedBody:
    body = RejectedBody(agent_id, rejection.code, rejection.reason, act.seat, act.turn)
    try:
        size = submission_size(act)
    except UnicodeEncodeError:
        return msgspec.structs.replace(body, payload=Raw(b"{}"), problem=rejection.reason)
    if rejection.code == "too_large" or (rejection.code in _UNREAD and size > _BULKY):
        return msgspec.structs.replace(body, size=size)
    payload = as_json(act.payload)
    return msgspec.structs.replace(
        body,
        action=act.action[:200],
        payload=payload,
        packed=act.payload if payload is None else None,
        messages=act.messages,
        problem=act.problem[:500],
    )


def submission_size(act: Act) -> int:
    """Return the size of a submission in bytes.

    Raises:
        UnicodeEncodeError: Some of its text cannot be encoded; Python text may hold lone surrogates.
    """
    size = len(act.payload) + len(act.action.encode())
    if act.problem:
        size += len(act.problem.encode())
    for message in act.messages:
        size += len(message.text.encode())
        if message.to is not None:
            size += sum(len(agent_id.encode()) for agent_id in message.to)
    return size


def as_json(packed: bytes) -> Raw | None:
    """Return a MessagePack value as JSON if that loses nothing, else None."""
    try:
        value = msgspec.msgpack.decode(packed)
        if value is None or nests(value):
            return None
        text = msgspec.json.encode(value)
        if msgspec.msgpack.encode(msgspec.json.decode(text)) == packed:
            return Raw(text)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError):
        pass
    return None
