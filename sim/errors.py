"""The tree of errors.

QuorumError
├── ConfigError          a setting, a file or a seat list is wrong; the text says which, and how to mend it
├── CodecError           bytes that are not a message of this product
│   └── TooLarge         a message above the size limit
├── IllegalAction        the rules refuse an action; the state is unchanged
├── InboxFull            an inbox at its capacity refused an item
├── DeadlockError        virtual time: nothing is runnable and no timer is set
├── RecordMismatch       a record does not follow from the rules
└── RunError             a run directory is missing, unreadable or in the wrong state
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.messages import Code


class QuorumError(Exception):
    """Base of every error that this product raises on purpose."""


class ConfigError(QuorumError):
    """A setting is wrong. The text names the key, what it held, what is allowed and how to fix it."""


class CodecError(QuorumError):
    """Bytes that do not decode to a message."""


class TooLarge(CodecError):
    """A message above the size limit.

    Attributes:
        size: What was offered, in bytes.
        limit: What is allowed, in bytes.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"{size:,} bytes; at most {limit:,} are allowed")
        self.size = size
        self.limit = limit

    def __reduce__(self) -> tuple[type[TooLarge], tuple[int, int]]:
        return TooLarge, (self.size, self.limit)


class IllegalAction(QuorumError):
    """The rules of a game refuse an action. Whoever raises it has left the state unchanged.

    Attributes:
        code: Under which code the submission is rejected.
    """

    def __init__(self, reason: str, *, code: Code = "game_rule_violation") -> None:
        super().__init__(reason)
        self.code: Code = code


class InboxFull(QuorumError):
    """An inbox at its capacity refused an item.

    Attributes:
        capacity: How many unread items the inbox holds at most.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(f"the inbox holds {capacity} unread items and takes no more")
        self.capacity = capacity

    def __reduce__(self) -> tuple[type[InboxFull], tuple[int]]:
        return InboxFull, (self.capacity,)


class DeadlockError(QuorumError):
    """Under virtual time nothing is runnable and no timer is set: every task waits for another."""


class RecordMismatch(QuorumError):
    """Re-judging a record gave something else than what it holds.

    Attributes:
        match_id: The match.
        seq: Sequence number of the first event that differs.
    """

    def __init__(self, match_id: str, seq: int, detail: str) -> None:
        super().__init__(f"match {match_id}, event {seq}: {detail}")
        self.match_id = match_id
        self.seq = seq
        self.detail = detail

    def __reduce__(self) -> tuple[type[RecordMismatch], tuple[str, int, str]]:
        return RecordMismatch, (self.match_id, self.seq, self.detail)


class RunError(QuorumError):
    """A run directory is missing, unreadable, or not in the state that was asked for."""


def describe(error: BaseException) -> str:
    """Say what was raised in one line of at most 500 characters; the error may be an agent's or a game's own."""
    name = type.__getattribute__(type(error), "__name__")
    try:
        text = " ".join(str(error).split())
    except Exception:  # its own text fails
        text = ""
    return one_line(f"{name}: {text}" if text else name)


def one_line(text: str) -> str:
    """Return a text as one line of at most 500 characters that any encoding can hold."""
    return " ".join(str(text).split())[:500].encode(errors="backslashreplace").decode()


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" for the nearest of the known words, or nothing; for the end of a sentence."""
    found = difflib.get_close_matches(word, list(known), 1, 0.6)
    return f"; did you mean {found[0]}?" if found else ""
