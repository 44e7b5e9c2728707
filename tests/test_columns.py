"""Arrow columns by their buffers hold what `pyarrow.array` would make of the same values."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.columns import lists, names, numbers, text

words = st.text(max_size=12)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_numbers(values: list[int]) -> None:
    column = numbers(values, pa.int64())
    column.validate(full=True)
    assert column.to_pylist() == values


@given(st.lists(st.none() | words, max_size=40))
def test_text_and_what_is_missing(values: list[str | None]) -> None:
    column = text([None if value is None else value.encode() for value in values])
    column.validate(full=True)
    assert column.type == pa.string()
    assert column.to_pylist() == values


@given(st.lists(words, max_size=40))
def test_few_different_names(values: list[str]) -> None:
    column = names(values)
    column.validate(full=True)
    assert column.type == pa.string()
    assert column.to_pylist() == values


@given(st.lists(st.none() | st.lists(words, max_size=4), max_size=20))
def test_lists_and_what_is_missing(values: list[list[str] | None]) -> None:
    column = lists(values, text([word.encode() for value in values if value for word in value]))
    column.validate(full=True)
    assert column.to_pylist() == values


@pytest.mark.parametrize("size", [1, 8, 9, 64, 1001])
def test_missing_values_at_every_place_of_a_byte(size: int) -> None:
    values = [None if n % 3 == 0 else b"x" for n in range(size)]
    assert text(values).null_count == sum(value is None for value in values)
