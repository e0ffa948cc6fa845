"""What the end of a Parquet file tells of its columns: where their pages are, how they are packed,
and of whole numbers the least and the most of every row group.

pyarrow knows all of that, but to ask it may end the whole process where a byte is damaged: a codec
that does not exist, a least number of three bytes (26.0). So it is read here as well. It is written
in Thrift's compact protocol, as structs within structs; a struct becomes a dict by the numbers of
its fields (https://github.com/apache/parquet-format).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from jumar.io.log_files import LogFile

MAGIC = b"PAR1"
LONGEST = 1 << 19  # bytes of an end that is looked at; more would take longer than it saves
DEEPEST = 16  # lists and structs within each other
DAMAGED = (LookupError, TypeError, ValueError, AttributeError)

FLAGS, INT32, INT64, TEXT = 0, 1, 2, 6  # types
SIZES = {INT32: 4, INT64: 8}  # bytes

# numbers of fields: of the file, a row group, a chunk, what is told about it, and its statistics
ROW_GROUPS, CHUNKS, ELSEWHERE, ABOUT, SECRET = 4, 1, 1, 3, 8
TYPE, PATH, CODEC, VALUES, SIZE, PAGES, DICTIONARY, STATISTICS = 1, 3, 4, 5, 7, 9, 11, 12
GAPS, MOST, LEAST = 3, 5, 6

Ends = tuple[int, int] | None  # the least and the most; None: not known


class Chunk(NamedTuple):
    """A column of a row group."""

    number: int  # of the column, among those without columns inside
    type: int
    codec: int
    values: int  # as many as the row group has rows
    begin: int  # the first byte in the file
    size: int  # bytes
    gaps: int  # rows without a value; 0 also where that is not told
    ends: Ends


Chunks = Mapping[str, Chunk]


@lru_cache(maxsize=16)
def chunks_of(file: LogFile) -> tuple[Chunks, ...]:
    """The columns of every row group by name; nothing where the file does not tell."""
    with file.open() as handle:
        size = handle.size()
        tail = handle.read_at(min(size, LONGEST + 8), max(0, size - LONGEST - 8))
    return read_chunks(tail)


def read_chunks(tail: bytes) -> tuple[Chunks, ...]:
    """The columns of every row group, by the last bytes of a file."""
    length = int.from_bytes(tail[-8:-4], "little")
    if tail[-4:] != MAGIC or length > len(tail) - 8:
        return ()
    try:
        groups = _Thrift(tail[len(tail) - 8 - length : -8]).struct()[ROW_GROUPS]
        return tuple(_columns(group[CHUNKS]) for group in groups)
    except DAMAGED:
        return ()


def _columns(chunks: Any) -> Chunks:
    found = {}
    for number, chunk in enumerate(chunks):
        try:
            name, told = _chunk(number, chunk)
        except DAMAGED:  # or written in a way that is not read here
            continue
        found[name] = told
    return found


def _chunk(number: int, chunk: Any) -> tuple[str, Chunk]:
    about = chunk[ABOUT]
    (name,) = about[PATH]  # more than one: a column inside another
    told = about.get(STATISTICS, {})
    kind, codec, values = (_whole(about[field]) for field in (TYPE, CODEC, VALUES))
    size, begin = (_whole(about[field]) for field in (SIZE, PAGES))
    words = _whole(about.get(DICTIONARY, 0))
    if ELSEWHERE in chunk or SECRET in chunk or min(size, begin) < 0:
        raise ValueError
    begin = words if 0 < words < begin else begin  # some writers say 0 where there are none
    gaps = _whole(told.get(GAPS, 0))
    return name.decode(), Chunk(number, kind, codec, values, begin, size, gaps, _ends(kind, told))


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _ends(kind: int, told: Any) -> Ends:
    least, most = told.get(LEAST), told.get(MOST)
    if least is None or most is None or not len(least) == len(most) == SIZES.get(kind):
        return None
    low, high = (int.from_bytes(each, "little", signed=True) for each in (least, most))
    # numbers without a sign may be taken for negative ones here: if both are, they are in order
    return (low, high) if low <= high else None


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
