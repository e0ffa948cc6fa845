"""What the end of a Parquet file tells of columns of whole numbers: the least and the most of every
row group.

pyarrow knows it too, but to ask may end the whole process where a byte is damaged: a least number
of three bytes (26.0). So it is read here. It is written in Thrift's compact protocol, as structs
within structs; a struct becomes a dict by the numbers of its fields
(https://github.com/apache/parquet-format).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from jumar.log.files import LogFile

MAGIC = b"PAR1"
LONGEST = 1 << 19  # bytes of an end that is looked at; more would take longer than it saves
DEEPEST = 16  # lists and structs within each other
DAMAGED = (LookupError, TypeError, ValueError, AttributeError)

SIZES = {1: 4, 2: 8}  # bytes of a whole number, by its type

# numbers of fields: of the file, a row group, a chunk, what is told about it, and its statistics
ROW_GROUPS, CHUNKS, ABOUT = 4, 1, 3
TYPE, PATH, STATISTICS = 1, 3, 12
MOST, LEAST = 5, 6

Ends = tuple[int, int]  # the least and the most


@lru_cache(maxsize=16)
def ends_of(file: LogFile) -> tuple[Mapping[str, Ends], ...]:
    """The ends of the columns of every row group, by name, where the file tells them."""
    with file.open() as handle:
        size = handle.size()
        tail = handle.read_at(min(size, LONGEST + 8), max(0, size - LONGEST - 8))
    return read_ends(tail)


def read_ends(tail: bytes) -> tuple[Mapping[str, Ends], ...]:
    """The ends of the columns of every row group, by the last bytes of a file."""
    length = int.from_bytes(tail[-8:-4], "little")
    if tail[-4:] != MAGIC or length > len(tail) - 8:
        return ()
    try:
        groups = _Thrift(tail[len(tail) - 8 - length : -8]).struct()[ROW_GROUPS]
        return tuple(_by_column(group[CHUNKS]) for group in groups)
    except DAMAGED:
        return ()


def _by_column(chunks: Any) -> Mapping[str, Ends]:
    found = {}
    for chunk in chunks:
        with suppress(*DAMAGED):
            about = chunk[ABOUT]
            (name,) = about[PATH]  # more than one: a column inside another
            least, most = (about[STATISTICS][field] for field in (LEAST, MOST))
            if len(least) == len(most) == SIZES[about[TYPE]]:
                low, high = (int.from_bytes(each, "little", signed=True) for each in (least, most))
                # numbers without a sign may be taken for negative ones here: if both are, they
                # are in order
                if low <= high:
                    found[name.decode()] = low, high
    return found


class _Thrift:
    """Reads values one after the other. Every value takes a byte at least, so that it ends."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while kind := (head := self._byte()) & 15:
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = kind == 1 if kind <= 2 else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError
        if kind in (1, 2, 3):  # in a list, true and false take a byte
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15, depth + 1) for _ in range(n)]
        if kind == 12:
            return self.struct(depth)
        raise ValueError

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, n: int) -> bytes:
        self._at += n
        if self._at > len(self._data):
            raise ValueError
        return self._data[self._at - n : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) > 127:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
