"""Words and flags of a Parquet file, straight from their pages.

The words of a log come up again and again. Parquet keeps them as a dictionary and numbers into it,
packed to a few bits each. A general reader unpacks for every row as well whether there is a word at
all, and looks at every number several times. Where all rows have a word, which a few bytes tell,
unpacking takes half of the time. All else is left to pyarrow: gaps, nested columns, other
encodings, and files that are damaged, of which it says what is wrong.

The format is that of https://github.com/apache/parquet-format (pages, run lengths, Thrift headers).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jumar.core.arrays import Array, Ints
from jumar.large import page_kernels as kernels
from jumar.large.footers import FLAGS, TEXT, Chunk, Chunks
from jumar.large.page_kernels import FIELD, KIND, PACKED, PAGE, TOLD, UNPACKED, Bytes, Words

CODECS = {0: None, 1: "snappy", 2: "gzip", 6: "zstd"}  # by number; "LZ4" may be either of two
LARGEST_PAGE = 1 << 28  # bytes
MOST_WORDS = 1 << 16  # in a dictionary

DATA, DICTIONARY, DATA_2 = (0, 5), (2, 7), (3, 8)  # kinds of page, by number and header
PLAIN, OLD_CODES, RUNS, CODES = 0, 2, 3, 8  # encodings


class LeftToArrow(Exception):
    """Not what is read here."""


def quick_columns(handle: Any, file: Any, chunks: Chunks, rows: int) -> dict[str, Any]:
    """Those of some columns of a row group that can be read here, as Arrow arrays of the types that
    the pyarrow `file` says."""
    found, leaves, schema = {}, file.metadata.schema, file.schema_arrow
    for name, chunk in chunks.items():
        if chunk.number < len(leaves) and name in schema.names:
            try:
                leaf, kind = leaves.column(chunk.number), schema.field(name).type
                found[name] = _read(handle, chunk, leaf, kind, rows)
            except LeftToArrow:
                continue
    return found


def _read(handle: Any, chunk: Chunk, leaf: Any, kind: Any, rows: int) -> Any:
    import pyarrow as pa

    nested = leaf.max_definition_level > 1 or leaf.max_repetition_level > 0
    if chunk.gaps or chunk.values != rows or nested or chunk.codec not in CODECS:
        raise LeftToArrow
    optional, type_ = leaf.max_definition_level == 1, (chunk.type, leaf.physical_type)
    if type_ == (TEXT, "BYTE_ARRAY") and pa.types.is_dictionary(kind):
        return _words(_pages(handle, chunk, optional), kind, rows)
    if type_ == (FLAGS, "BOOLEAN") and pa.types.is_boolean(kind):
        return _flags(_pages(handle, chunk, optional), rows)
    raise LeftToArrow


# ---- pages --------------------------------------------------------------------------------------


class _Page(NamedTuple):
    kind: tuple[int, int]
    encoding: int
    values: int
    words: Words  # unpacked, with zeros behind
    size: int  # bytes
    at: int = 0  # where the values begin

    @property
    def data(self) -> Bytes:
        return self.words.view(np.uint8)[self.at : self.size]


def _pages(handle: Any, chunk: Chunk, optional: bool) -> Iterator[_Page]:
    """The pages of a column, one by one."""
    import pyarrow as pa

    size, codec = chunk.size, CODECS[chunk.codec]
    if size > handle.size() - chunk.begin:  # or room would be made for it
        raise LeftToArrow
    packed = np.frombuffer(handle.read_at(size, chunk.begin), np.uint8)
    if len(packed) != size:
        raise LeftToArrow
    unpacker = None if codec is None else pa.Codec(codec)
    told, at = np.zeros(TOLD, np.int64), 0
    while at < size:
        at = kernels.read_header(packed, at, told)
        length = int(told[PACKED])
        if at < 0 or not 0 <= length <= size - at or not 0 <= told[UNPACKED] <= LARGEST_PAGE:
            raise LeftToArrow
        yield _page(packed[at : at + length], told, unpacker, optional)
        at += length


def _page(packed: Bytes, told: Ints, codec: Any, optional: bool) -> _Page:
    """A page, if no row in it is without a value."""
    kind, size = (int(told[PAGE]), int(told[KIND])), int(told[UNPACKED])
    field = told[FIELD:].tolist()
    values = field[1]
    if not 0 <= values <= LARGEST_PAGE:
        raise LeftToArrow
    if kind == DICTIONARY:
        return _Page(kind, field[2], values, _unpacked(packed, size, codec), size)
    if kind == DATA and field[3] == RUNS:
        words = _unpacked(packed, size, codec)
        at = kernels.where_values_begin(words.view(np.uint8)[:size], values) if optional else 0
        if at < 0:
            raise LeftToArrow
        return _Page(kind, field[2], values, words, size, at)
    if kind == DATA_2:  # what tells where values are comes first, and is never packed
        levels, more, odd = field[5], field[6], field[2] != 0 or field[3] != values
        if odd or more or not 0 <= levels <= min(len(packed), size):
            raise LeftToArrow
        if optional and not kernels.all_there(packed[:levels], values):
            raise LeftToArrow
        size -= levels
        words = _unpacked(packed[levels:], size, codec if field[7] else None)
        return _Page(kind, field[4], values, words, size)
    raise LeftToArrow


def _unpacked(packed: Bytes, size: int, codec: Any) -> Words:
    import pyarrow as pa

    data = packed
    if codec is not None:
        try:
            data = np.frombuffer(codec.decompress(pa.py_buffer(packed), size), np.uint8)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise LeftToArrow from error
    if len(data) != size:
        raise LeftToArrow
    words = np.empty(size // 4 + 3, np.uint32)
    words[size // 4 :] = 0
    words.view(np.uint8)[:size] = data
    return words


# ---- columns ------------------------------------------------------------------------------------


def _words(pages: Iterator[_Page], kind: Any, rows: int) -> Any:
    import pyarrow as pa

    codes, at, words = _room(rows, np.int32), 0, None
    for page in pages:
        if page.kind == DICTIONARY:
            words = _dictionary(page)
            continue
        to, size = at + page.values, 0 if words is None else len(words)
        if to > rows or page.encoding not in (CODES, OLD_CODES):
            raise LeftToArrow
        if not kernels.unpack(page.words, page.size, page.at, size, codes[at:to]):
            raise LeftToArrow
        at = to
    if at != rows or words is None:
        raise LeftToArrow
    try:
        dictionary = pa.array(words, pa.binary()).cast(kind.value_type)
        indices = pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(codes)])
        return pa.DictionaryArray.from_arrays(indices, dictionary, safe=False)
    except pa.ArrowException as error:
        raise LeftToArrow from error


def _dictionary(page: _Page) -> list[bytes]:
    """Each word with its length before it."""
    if page.encoding not in (PLAIN, OLD_CODES) or page.values > MOST_WORDS:
        raise LeftToArrow
    data, at, words = page.data.tobytes(), 0, []
    for _ in range(page.values):
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4 + size
        if at > len(data):
            raise LeftToArrow
        words.append(data[at - size : at])
    if at != len(data) or len(set(words)) != len(words):
        raise LeftToArrow
    return words


def _flags(pages: Iterator[_Page], rows: int) -> Any:
    import pyarrow as pa

    bits, at = _room((rows + 7) // 8, np.uint8), 0
    bits[:] = 0
    for page in pages:
        to, data = at + page.values, page.data
        if page.kind == DICTIONARY or page.encoding != PLAIN:
            raise LeftToArrow
        if to > rows or len(data) != (page.values + 7) // 8:
            raise LeftToArrow
        kernels.put_bits(data, page.values, bits, at)
        at = to
    if at != rows:
        raise LeftToArrow
    return pa.Array.from_buffers(pa.bool_(), rows, [None, pa.py_buffer(bits)])


def _room(n: int, dtype: Any) -> Array:
    """(n,) in memory of Arrow, which it uses again; numpy would ask the system for it each time."""
    import pyarrow as pa

    return np.frombuffer(pa.allocate_buffer(n * np.dtype(dtype).itemsize), dtype)
