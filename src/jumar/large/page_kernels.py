"""Compiled loops over the bytes of a Parquet page. Bytes may be anything: a file can be damaged, so
that nothing is read or written past an end.

A page packs numbers in runs: one number and how often it comes, or many of a few bits each, eight
at a time. How wide they are, and for a run its length, is told before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumar.core.arrays import Ints
from jumar.core.jit import compiled, inlined

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]
Codes = NDArray[np.int32]

# what the header of a page tells: these, and then the fields of the inner header of its kind
PAGE, UNPACKED, PACKED, KIND, FIELD = range(5)
FIELDS = 16
TOLD = FIELD + FIELDS
DEEPEST = 4
WIDEST = 31  # bits of a packed number
LONGEST = 1 << 28  # run of packed numbers


@inlined
def _varint(data: Bytes, at: int) -> Any:
    """A number in groups of seven bits, and where it ends; -1 if it has no end."""
    value, shift = np.int64(0), 0
    while at < len(data) and shift < 63:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return np.int64(0), -1


@compiled
def read_header(data: Bytes, at: int, told: Ints) -> int:
    """What the header at `at` says (Thrift's compact protocol), and where it ends; -1 if it is
    strange. The numbers of an inner header stand at FIELD and their own number; -1: not told."""
    told[:] = -1
    told[FIELD + 7] = 1  # packed, where nothing else is said
    last = np.zeros(DEEPEST, np.int64)
    depth = 0
    while at < len(data):
        byte = np.int64(data[at])
        at += 1
        kind = byte & 15
        if kind == 0:  # this header is over
            if depth == 0:
                return at
            depth -= 1
            continue
        if byte >> 4:
            last[depth] += byte >> 4
        else:
            value, at = _varint(data, at)
            if at < 0:
                return -1
            last[depth] = (value >> 1) ^ -(value & 1)
        field = last[depth]
        value = np.int64(0)
        if kind <= 2:
            value = np.int64(kind == 1)
        elif kind == 3:
            at += 1
        elif kind <= 6:
            value, at = _varint(data, at)
            if at < 0:
                return -1
            value = (value >> 1) ^ -(value & 1)
        elif kind == 7:
            at += 8
        elif kind == 8:
            value, at = _varint(data, at)
            if at < 0 or value < 0 or value > len(data) - at:
                return -1
            at += value
        elif kind == 12:
            if depth == 0:
                told[KIND] = field
            depth += 1
            if depth == DEEPEST:
                return -1
            last[depth] = 0
        else:
            return -1
        if kind <= 6 and depth == 0 and 1 <= field <= 3:
            told[PAGE + field - 1] = value
        elif kind <= 6 and depth == 1 and 0 < field < FIELDS:
            told[FIELD + field] = value
    return -1


@compiled
def where_values_begin(data: Bytes, values: int) -> int:
    """Of a page, if no row is without one; else -1. Before them stands how many bytes tell which
    rows have one, and these."""
    if len(data) < 4:
        return -1
    size = np.int64(0)
    for i in range(4):
        size |= np.int64(data[i]) << (8 * i)
    if size > len(data) - 4 or not all_there(data[4 : 4 + size], values):
        return -1
    return int(4 + size)


@compiled
def all_there(data: Bytes, values: int) -> bool:
    """Do these bytes say of every row that it has a value?"""
    at, done, end = 0, 0, len(data)
    while done < values:
        head, at = _varint(data, at)
        if at < 0 or at >= end:
            return False
        n = head >> 1
        if head & 1:
            if n > end - at:
                return False
            for i in range(n):
                rest = values - done - 8 * i
                wanted = 255 if rest >= 8 else (1 << max(0, rest)) - 1
                if data[at + i] & wanted != wanted:
                    return False
            at += n
            done += 8 * n
        else:
            if data[at] != 1 or n == 0:
                return False
            at += 1
            done += n
    return at == end


@inlined
def _packed(words: Words, bit: int, mask: int) -> Any:
    """The packed number that begins at a bit; a word follows the one it begins in."""
    at = np.uint64(bit >> 5)
    both = np.uint64(words[at]) | (np.uint64(words[at + np.uint64(1)]) << np.uint64(32))
    return np.int32((both >> np.uint64(bit & 31)) & np.uint64(mask))


@compiled
def _unpack_run(words: Words, bit: int, width: int, found: Codes) -> None:
    mask = (1 << width) - 1  # a function of its own, so that the processor takes several at once
    for i in range(len(found)):
        found[i] = _packed(words, bit + i * width, mask)


@compiled
def unpack(words: Words, end: int, at: int, size: int, found: Codes) -> bool:
    """Numbers below `size`, out of bytes `at` to `end`; False if there are others, or not as many
    as are wanted. A word and more follows the last byte."""
    data = words.view(np.uint8)[:end]
    n, done = len(found), 0
    if at >= end:
        return n == 0
    width = int(data[at])
    at += 1
    if width > WIDEST:
        return False
    bytes_of_one = (width + 7) // 8
    while done < n:
        head, at = _varint(data, at)
        if at < 0:
            return False
        count = head >> 1
        if head & 1:
            if count > LONGEST or count * width > end - at:
                return False
            rest = min(8 * count, n - done)
            _unpack_run(words, 8 * at, width, found[done : done + rest])
            at += count * width
            count = rest
        else:
            if bytes_of_one > end - at:
                return False
            code = _packed(words, 8 * at, (1 << (8 * bytes_of_one)) - 1)
            at += bytes_of_one
            count = min(count, n - done)
            for i in range(done, done + count):
                found[i] = code
        if count == 0:
            return False
        done += count
    largest = np.uint32(0)
    for i in range(n):
        largest = max(largest, np.uint32(found[i]))
    return bool(at == end and (n == 0 or largest < size))


@compiled
def put_bits(bits: Bytes, n: int, into: Bytes, at: int) -> None:
    """Some bits behind those that are there; the others are 0."""
    first, shift = at >> 3, at & 7
    for i in range((n + 7) // 8):
        rest = n - 8 * i
        byte = np.int64(bits[i]) & (255 if rest >= 8 else (1 << rest) - 1)
        into[first + i] |= (byte << shift) & 255
        if shift and (byte << shift) >> 8:
            into[first + i + 1] |= (byte << shift) >> 8
