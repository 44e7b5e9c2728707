"""From what an agent answered, or raised, to what its seat submits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actors.agent import Action, Answer, Decision
from sim.game import ActionType
from sim.messages import Act, Message

_pack = msgspec.msgpack.Encoder()
_EMPTY = _pack.encode({})
_MAX_TURN = 1 << 62


def describe(error: BaseException) -> str:
    """Say what was raised in one line of at most 500 characters."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # an agent's own exception, whose own text fails
        text = ""
    return one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def one_line(text: str) -> str:
    """Return a text as one line of at most 500 characters that any encoding can hold."""
    return " ".join(str(text).split())[:500].encode(errors="backslashreplace").decode()


def make_act(seat: int, turn: int, cause: int, answer: Answer, receipt: bool = False) -> Act:
    """Turn whatever an agent returned into a submission; what cannot be encoded becomes its `problem`."""
    messages: Sequence[Message | str] = ()
    action: object = answer
    if type(turn) is not int or not 0 <= turn < _MAX_TURN:
        return Act(seat, 0, cause, "", _EMPTY, (), "the number of the turn is not that of any turn", receipt)
    if isinstance(answer, Decision):
        action, messages = answer.action, answer.messages
    try:
        if isinstance(messages, (str, Message)):
            messages = (messages,)
        said = []
        for message in messages:
            said.append(Message(message) if type(message) is str else _message(message))  # noqa: PERF401
        if isinstance(action, ActionType):
            return Act(seat, turn, cause, action.name, _pack.encode(action), tuple(said), "", receipt)
        if isinstance(action, Action):
            if not isinstance(action.type, str):
                raise TypeError(f"the action's name is {type(action.type).__name__}, not text")
            payload = _pack.encode(action.payload) if action.payload else _EMPTY
            return Act(seat, turn, cause, action.type, payload, tuple(said), "", receipt)
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
        return Message(message)
    if not isinstance(message, Message) or not isinstance(message.text, str):
        raise TypeError("a message is text, or a Message with text")
    named: object = message.to  # whatever the agent wrote there
    if named is None:
        return message
    to = (named,) if isinstance(named, str) else tuple(message.to or ())
    if not all(isinstance(agent_id, str) for agent_id in to):
        raise TypeError("a message goes to agent ids, which are text")
    return Message(message.text, to)
