"""Views on their way to a seat: what grows in them travels packed, and is unpacked by whoever looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, overload

import msgspec

LATER: Final = 1
"""Extension type of a list that is unpacked later."""

_MOST: Final = 15
"""Pairs of a map whose number MessagePack writes in its one first byte."""

encode: Final = msgspec.msgpack.Encoder().encode
"""Packs a value; what is packed already is taken as it is (`msgspec.Raw`)."""


class Lazy(msgspec.Struct, eq=False, gc=False):
    """A sequence that is made when it is looked at; most agents never look. It equals the list that it stands for."""

    def _list(self) -> list[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._list())

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Return an entry, or a list of them."""
        return self._list()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._list() == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._list())

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Copies, and what is sent elsewhere, are plain lists."""
        return list, (self._list(),)


Sequence.register(Lazy)


class Later(Lazy):
    """A list that is still packed."""

    _kind: int
    _packed: memoryview
    _entries: list[Any] | None = None

    def _list(self) -> list[Any]:
        if self._entries is None:
            self._entries = msgspec.msgpack.decode(self._packed)
        return self._entries


def head(part: Mapping[str, Any], more: int) -> bytes:
    """Pack the part of a view that stays as it is, at most 15 keys; it says that `more` are to come.

    What makes it whole is the rest of the view, `encode(rest)[1:]`: of a map of so few keys the first byte is their
    number. A list in the rest is unpacked when it is looked at if it is `Ext(LATER, encode(entries))`.
    """
    assert len(part) <= _MOST
    return b"\xde" + (len(part) + more).to_bytes(2, "big") + encode(part)[1:]


_decoder = msgspec.msgpack.Decoder(ext_hook=Later)


def read_view(packed: bytes) -> dict[str, Any]:
    """Unpack a view; what was packed as `LATER` is left so until it is looked at."""
    view: dict[str, Any] = _decoder.decode(packed)
    return view
