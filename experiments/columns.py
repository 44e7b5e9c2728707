"""Arrow columns from Python values, by their buffers.

`pyarrow.array` asks of every list whether it is a pandas object, and imports pandas to find out: a second and
40 MB in every process of a run. Buffers need no such thing, and are faster for text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def numbers(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return a column of numbers.

    Args:
        values: Integers or floats, none missing.
        kind: Such as `pa.int64()`.
    """
    data = np.asarray(values, dtype=kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


def text(values: Sequence[bytes | None]) -> pa.Array:
    """Return a column of text, each value given in UTF-8 or missing."""
    given: Sequence[Any] = values if None not in values else [value or b"" for value in values]
    buffers = [_validity(values), pa.py_buffer(_offsets(given)), pa.py_buffer(b"".join(given))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def names(values: Sequence[str]) -> pa.Array:
    """Return a column of text that holds few different values."""
    codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
    indexes = list(map(codes.__getitem__, values))
    dictionary = text([name.encode() for name in codes])
    return pa.DictionaryArray.from_arrays(numbers(indexes, pa.int32()), dictionary).cast(pa.string())


def lists(values: Sequence[Sequence[Any] | None], inner: pa.Array) -> pa.Array:
    """Return a column of lists.

    Args:
        values: The lists; None is missing. Only their lengths are used.
        inner: What they hold, one after the other.
    """
    given = values if None not in values else [value or () for value in values]
    buffers = [_validity(values), pa.py_buffer(_offsets(given))]
    return pa.Array.from_buffers(pa.list_(inner.type), len(values), buffers, children=[inner])


def _offsets(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=offsets[1:])
    return offsets


def _validity(values: Sequence[Any]) -> pa.Buffer | None:
    if None not in values:
        return None
    present = np.array([value is not None for value in values], np.bool_)
    return pa.py_buffer(np.packbits(present, bitorder="little"))
