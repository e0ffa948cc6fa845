"""Read-only arrays, and rows of integers that can be numbered and found again.

A history state ⟨n, z⟩ is a row of non-negative integers: the words of the memory node and
then the observation. Rows can be many words long, so they are never packed into one number
blindly: `number_rows` and `RowIndex` pack columns only as far as 63 bits reach and compress
what they have whenever the next column would not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jumar.core.errors import JumarError, ParameterError, TooLarge

Array = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.uint64]  # hashes

# What computing with 16 digits leaves behind, relative to what is added or compared:
ROUNDING = 1e-12  # what is smaller is what rounding left of a sum, and counts as none
ALIKE = 1e-9  # numbers that differ by less are equal: decimals in files, sums of many shares

_LIMIT = 2**63


def freeze(
    values: ArrayLike, dtype: Any, what: str = "array", error: type[JumarError] = ParameterError
) -> Array:
    """A read-only copy: neither side can change the data of the other.

    Numbers that are not whole, and flags that are not true or false, are refused, not rounded.

    >>> freeze([1, 2], np.int64).flags.writeable
    False
    """
    given = np.asarray(values)
    if np.issubdtype(dtype, np.integer) and given.size and not _are_whole(given):
        raise error(f"{what}: expected whole numbers, got {given.ravel()[:5].tolist()}.")
    if dtype is np.bool_ and given.size and given.dtype != np.bool_ and not _are_flags(given):
        raise error(f"{what}: expected true or false, got {given.ravel()[:5].tolist()}.")
    array = np.array(given, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


def _are_whole(given: Array) -> bool:
    if np.issubdtype(given.dtype, np.integer) or given.dtype == np.bool_:
        return True
    return bool(np.issubdtype(given.dtype, np.number) and (given == np.floor(given)).all())


def _are_flags(given: Array) -> bool:
    return bool(np.issubdtype(given.dtype, np.number) and np.isin(given, (0, 1)).all())


class Frozen:
    """A dataclass that stays read-only when it is copied or sent to another process, and equals
    whatever holds the same: a copy is equal to what it was copied from."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(
            same_content(getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)  # type: ignore[arg-type]
            if field.compare
        )

    def __hash__(self) -> int:
        # sizes and names tell most things apart; the content of a long log would take seconds
        marks = (_mark(getattr(self, f.name)) for f in fields(self) if f.compare)  # type: ignore[arg-type]
        return hash((type(self).__qualname__, *marks))

    def _put(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _freeze(self, dtype: Any, *names: str, error: type[JumarError] = ParameterError) -> None:
        """Put read-only copies in the place of these fields."""
        for name in names:
            self._put(**{name: freeze(getattr(self, name), dtype, name, error)})

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            for array in value.values() if type(value) is dict else (value,):
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)
            self._put(**{name: MappingProxyType(value) if type(value) is dict else value})


def same_content(mine: Any, theirs: Any) -> bool:
    """Equal, with arrays equal in shape and in every entry; what is undefined in both is equal.

    >>> same_content((1, np.array([np.nan])), (1, np.array([np.nan])))
    True
    """
    if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
        undefined = bool(np.issubdtype(mine.dtype, np.floating) and mine.dtype == theirs.dtype)
        return np.array_equal(mine, theirs, equal_nan=undefined)
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return False
    if isinstance(mine, tuple | list) and type(mine) is type(theirs):
        return len(mine) == len(theirs) and all(map(same_content, mine, theirs))
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        return list(mine) == list(theirs) and same_content([*mine.values()], [*theirs.values()])
    return bool(mine == theirs or (mine != mine and theirs != theirs))


def _mark(value: Any) -> object:
    """Something cheap that is the same for equal values."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return value
    return value if isinstance(value, str) else None


def hashed(values: Ints) -> tuple[Ints, Ints]:
    """The distinct values in order of first appearance, and the number of each value among them."""
    import pyarrow as pa  # a hash table over 10⁷ values in a tenth of the time of a sort

    # through buffers: `pa.array` and `to_numpy` load pandas where it is installed (0.3 s)
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    encoded = pa.Array.from_buffers(pa.int64(), len(values), [None, buffer]).dictionary_encode()
    distinct, number = (np.from_dlpack(part) for part in (encoded.dictionary, encoded.indices))
    return distinct.astype(np.int64), number.astype(np.int64)


def number_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct rows in lexicographic order, and the number of each row among them.

    >>> distinct, number = number_rows(np.array([[5, 1], [0, 2], [5, 1]]))
    >>> distinct.tolist(), number.tolist()
    ([[0, 2], [5, 1]], [1, 0, 1])
    """
    n, width = rows.shape
    if n == 0 or width == 0:
        return rows[:1].copy(), np.zeros(n, np.int64)
    code, spread, spans, in_order = np.zeros(n, np.int64), 1, list[int](), True
    for j in range(width):
        column = rows[:, j]
        span = int(column.max()) + 1
        if spread * span >= _LIMIT:
            values, code = hashed(code)
            spread, in_order = len(values), False
        if spread * span >= _LIMIT:
            values, column = hashed(column)
            span = len(values)
        code = code * span + column
        spread *= span
        spans.append(span)
    if in_order and spread <= 4 * n and code.min() >= 0:  # a table of codes, which is sorted
        occurs = np.zeros(spread, np.bool_)
        occurs[code] = True
        rest, distinct = np.flatnonzero(occurs), np.empty((int(occurs.sum()), width), np.int64)
        for j in range(width - 1, -1, -1):
            rest, distinct[:, j] = np.divmod(rest, spans[j])
        return distinct, (np.cumsum(occurs) - 1)[code]
    values, number = hashed(code)
    at = np.empty(len(values), np.int64)
    at[number] = np.arange(n)
    distinct = rows[at]
    # codes that are in order say all that the columns say, in one column
    order = np.argsort(values) if in_order else np.lexsort(distinct.T[::-1])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[number]


class RowIndex:
    """Finds rows among `rows`, which must be distinct.

    >>> index = RowIndex(np.array([[5, 1], [0, 2]]))
    >>> index.find(np.array([[0, 2], [0, 1], [5, 1]])).tolist()
    [1, -1, 0]
    """

    def __init__(self, rows: Ints) -> None:
        self._size = len(rows)
        self._levels: list[tuple[Ints, Ints]] = []
        code = np.zeros(self._size, np.int64)
        for j in range(rows.shape[1]):
            values, digit = np.unique(rows[:, j], return_inverse=True)
            pairs, code = np.unique(code * len(values) + digit, return_inverse=True)
            self._levels.append((values, pairs))
        self._row_of_code = np.empty(self._size, np.int64)
        self._row_of_code[code] = np.arange(self._size)

    def find(self, rows: Ints) -> Ints:
        """The number of each row, or -1."""
        if self._size == 0:
            return np.full(len(rows), -1, np.int64)
        code = np.zeros(len(rows), np.int64)
        found = np.ones(len(rows), np.bool_)
        for j, (values, pairs) in enumerate(self._levels):
            digit = _position(values, rows[:, j], found)
            code = _position(pairs, code * len(values) + digit, found)
        return np.where(found, self._row_of_code[code], -1)


def _position(sorted_values: Ints, wanted: Ints, found: Bools) -> Ints:
    """Where each wanted value stands; clears `found` where it does not."""
    at = np.minimum(np.searchsorted(sorted_values, wanted), len(sorted_values) - 1)
    found &= sorted_values[at] == wanted
    return at


def closure(first: Ints, successors: Callable[[Ints], Ints], most: int, what: str) -> Ints:
    """All rows that can be reached from the first ones, sorted; TooLarge beyond `most`.

    >>> closure(np.array([[0]]), lambda rows: (rows + 2) % 6, 100, "numbers").ravel().tolist()
    [0, 2, 4]
    """
    frontier, _ = number_rows(first)
    # in heaps, each larger than the next: a long chain of single rows does not sort all of them
    # again at every step
    heaps: list[tuple[Ints, RowIndex]] = []
    total = 0
    while len(frontier):
        total += len(frontier)
        if total > most:
            raise TooLarge(
                f"{what}: more than {most:,} of them; too many to list one by one. Use a shorter "
                "memory."
            )
        heap = [frontier]
        while heaps and len(heaps[-1][0]) <= sum(map(len, heap)):
            heap.append(heaps.pop()[0])
        rows = np.concatenate(heap)
        heaps.append((rows, RowIndex(rows)))
        frontier, _ = number_rows(successors(frontier))
        for _, index in heaps:
            frontier = frontier[index.find(frontier) < 0]
    return number_rows(np.concatenate([first, *(rows for rows, _ in heaps)]))[0]


def sum_by(group: Ints, amounts: Floats, size: int) -> Floats:
    """(size,) the sum of the amounts of each group.

    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3).tolist()
    [3.0, 0.0, 5.0]
    """
    return np.bincount(group, amounts, size).astype(np.float64, copy=False)


# Steps: what is computed of so many is still in a cache when it is used. An array over all steps of
# a long log costs several times as much for each step, because its memory is fetched anew each time
BLOCK = 100_000


def blocks(start: Ints) -> Iterator[tuple[slice, slice, Ints]]:
    """Some episodes after the other, their steps, and where they begin among these.

    >>> [(e, own.tolist()) for e, _, own in blocks(np.array([0, 70_000, 140_000]))]
    [(slice(0, 1, None), [0, 70000]), (slice(1, 2, None), [0, 70000])]
    """
    e, E = 0, len(start) - 1
    while e < E:
        end = max(e + 1, int(np.searchsorted(start, start[e] + BLOCK, side="right")) - 1)
        steps = slice(int(start[e]), int(start[end]))
        yield slice(e, end), steps, start[e : end + 1] - start[e]
        e = end
