"""Judging a record again: the rules are applied to its inbox order, and must give the same events."""

from __future__ import annotations

from typing import Any

import msgspec

from sim.errors import RecordMismatch, describe
from sim.game import Game
from sim.judge import Judge
from sim.messages import Abort, Act, Deadline, Event, Forfeit, Lost, Message, ToReferee
from sim.paced_judge import appoint
from sim.record import ActionBody, MatchRecord, MatchSpec, MessageBody, RejectedBody

_NOTHING = msgspec.msgpack.encode({})

_MAX_SIZE = 1 << 30
"""Bytes of the largest submission that is judged again; a size above it was written by nobody but a forger."""


def rejudge(record: MatchRecord, game: Game, judge: Judge | None = None) -> None:
    """Judge a record again, byte for byte.

    Args:
        record: The record.
        game: The game, with the parameters that the match was played with.
        judge: Who judges, of a match that is not open yet; None appoints one.

    Raises:
        RecordMismatch: Something differs; it names the match and the first event that does.
    """
    events = record.events
    judge = appoint(record.spec, game) if judge is None else judge
    try:
        judge.open()
    except Exception as error:  # rules that raised ended their match
        if not any(event.kind == "abort" for event in events):
            raise RecordMismatch(record.spec.match_id, 0, f"the rules raised {describe(error)}") from None
    checked = _compare(record.spec, events, judge, 0)
    while checked < len(events):
        if judge.outcome is not None:
            raise RecordMismatch(record.spec.match_id, checked, "the match was over before this event")
        sender, item, now = _next_item(record.spec, events, checked)
        raised: Exception | None = None
        try:
            judge.read(sender, item, now)
        except Exception as error:  # rules that raise ended their match; or a changed record made them raise
            raised = error
        happened = len(judge.log.events) > checked
        checked = _compare(record.spec, events, judge, checked)
        if raised is not None and (checked == len(events) or events[checked].kind != "abort"):
            raise RecordMismatch(record.spec.match_id, checked, f"the rules raised {describe(raised)}")
        if raised is None and not happened:
            raise RecordMismatch(record.spec.match_id, checked, "judged again, nothing happens here")
    if judge.outcome is None:
        raise RecordMismatch(record.spec.match_id, checked, "the record ends before the match does")
    again = judge.close()
    for field in ("outcome", "turns", "messages", "errors"):
        if (was := getattr(record, field)) != (now_is := getattr(again, field)):
            raise RecordMismatch(record.spec.match_id, checked - 1, f"{field} is {was}; judged again it is {now_is}")


def _compare(spec: MatchSpec, events: Any, judge: Judge, start: int) -> int:
    judge.outbox.clear()
    for seq in range(start, len(judge.log.events)):
        again = judge.log.events[seq]
        if seq >= len(events):
            raise RecordMismatch(spec.match_id, seq, f"the record ends here; judged again, {_say(again)} follows")
        if events[seq] != again:
            detail = f"the record has {_say(events[seq])}; judged again it is {_say(again)}"
            raise RecordMismatch(spec.match_id, seq, detail)
    return len(judge.log.events)


def _say(event: Event) -> str:
    body = event.body.decode("utf-8", "replace")
    return f"{event.kind} at {event.time:.6f} by {event.sender} {body[:300]}"


def _next_item(spec: MatchSpec, events: Any, start: int) -> tuple[int, ToReferee, float]:
    """Return the inbox item that the event at `start` was, or was the first to follow from."""
    first: Event = events[start]
    event, messages = first, []
    try:
        while event.kind == "message":
            body = msgspec.json.decode(event.body, type=MessageBody)
            messages.append(Message(body.text if body.said is None else body.said, body.to))
            start += 1
            event = events[start]
        return event.sender, _item(event, tuple(messages)), first.time
    except (msgspec.MsgspecError, IndexError, TypeError, ValueError) as error:
        raise RecordMismatch(spec.match_id, start, f"not an event that can be judged: {error}") from None


def _item(event: Event, messages: tuple[Message, ...]) -> ToReferee:
    match event.kind:
        case "action":
            body = msgspec.json.decode(event.body, type=ActionBody)
            payload = body.payload if body.private is None else body.private
            said = (*messages, *(Message(text) for text in (body.messages if body.said is None else body.said)))
            return Act(event.sender, body.turn, event.cause, body.action or "", _packed(payload), said)
        case "rejected":
            return _rejected(event)
        case "timeout":
            body = msgspec.json.decode(event.body, type=ActionBody)
            return Deadline(body.deadline or 0.0)
        case "forfeit":
            body = msgspec.json.decode(event.body, type=ActionBody)
            return Forfeit(event.sender, body.turn, body.error or "")
        case "alarm":
            return Deadline(**msgspec.json.decode(event.body, type=dict[str, Any]))
        case "lost":
            return Lost(**msgspec.json.decode(event.body, type=dict[str, Any]))
        case "abort":
            return Abort(**msgspec.json.decode(event.body, type=dict[str, Any]))
    raise ValueError(f"nothing leads to {event.kind} here")


def _rejected(event: Event) -> Act:
    body = msgspec.json.decode(event.body, type=RejectedBody)
    if body.packed is not None:
        payload = body.packed
    elif body.size > _MAX_SIZE:
        raise ValueError(f"a submission of {body.size:,} bytes")
    elif body.size:
        payload = b"\0" * body.size
    else:
        payload = _packed(body.payload)
    said = tuple(msgspec.convert(message, Message) for message in body.messages)
    return Act(body.claimed, body.turn, event.cause, body.action, payload, said, body.problem)


def _packed(payload: Any) -> bytes:
    return _NOTHING if payload is None else msgspec.msgpack.encode(payload)
