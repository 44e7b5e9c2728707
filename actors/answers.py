"""From what an agent answered, or raised, to what its seat submits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actors.agent import Action, Answer, Decision
from sim.errors import describe
from sim.game import ActionType
from sim.messages import Act, Message

_pack = msgspec.msgpack.Encoder()
_EMPTY = _pack.encode({})
_NOTHING: tuple[Message, ...] = ()
_MAX_TURN = 1 << 62
_MAX_MESSAGES = 1000


def make_act(seat: int, turn: int, cause: int, answer: Answer, receipt: bool = False) -> Act:
    """Turn whatever an agent returned into a submission; what cannot be encoded becomes its `problem`."""
    messages: Sequence[Message | str] = _NOTHING
    said: tuple[Message, ...] = _NOTHING
    action: object = answer
    if type(turn) is not int or not 0 <= turn < _MAX_TURN:
        return Act(seat, 0, cause, "", _EMPTY, (), "the number of the turn is not that of any turn", receipt)
    if isinstance(answer, Decision):
        action, messages = answer.action, answer.messages
    try:
        if messages is not _NOTHING:
            if isinstance(messages, (str, Message)):
                messages = (messages,)
            read = []
            for message in messages:
                read.append(Message(message) if type(message) is str else _message(message))
                if len(read) > _MAX_MESSAGES:  # a list may have no end
                    raise ValueError(f"more than {_MAX_MESSAGES} messages in one answer")
            said = tuple(read)
        if isinstance(action, ActionType):
            name = action.name
            if type(name) is not str:
                name = _text(name)
            return Act(seat, turn, cause, name, _pack.encode(action), said, "", receipt)
        if isinstance(action, Action):
            payload = _pack.encode(action.payload) if action.payload else _EMPTY
            return Act(seat, turn, cause, _text(action.type), payload, said, "", receipt)
        raise TypeError(f"an Action, a typed action or a Decision is needed, not {type(action).__name__}")
    except Exception as error:  # encoding runs the agent's own objects, which may raise anything
        return Act(seat, turn, cause, "", _EMPTY, (), describe(error), receipt)


def add_messages(answer: Answer, messages: Sequence[Message | str] | Message | str) -> Decision:
    """Return the answer with more messages; people write one message without a list around it."""
    action, said = (answer.action, answer.messages) if isinstance(answer, Decision) else (answer, ())
    both = [(some,) if isinstance(some, (str, Message)) else some for some in (said, messages)]
    return Decision(action, (*both[0], *both[1]))


def _message(message: Message | str) -> Message:
    if isinstance(message, str):
        return Message(_text(message))
    if not isinstance(message, Message):
        raise TypeError(f"a message is text or a Message, not {type(message).__name__}")
    named: object = message.to  # whatever the agent wrote there
    if named is None:
        return Message(_text(message.text))
    to = (named,) if isinstance(named, str) else tuple(message.to or ())
    return Message(_text(message.text), tuple([_text(agent_id) for agent_id in to]))


def _text(value: object) -> str:
    """Return plain text: a subclass of `str` could bring the agent's own code along to the referee."""
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"text is needed, not {type(value).__name__}")
