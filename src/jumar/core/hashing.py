"""BLAKE2b of many short labels at once: 64 bits each, keyed.

The same numbers as ``hashlib.blake2b(label, digest_size=8, key=key)`` (RFC 7693), compiled. The key
fills a block of its own, which comes first; what it leads to is the same for all labels and is
computed once. So a label of up to 128 bytes costs one compression.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from jumar.core.arrays import Codes, Ints
from jumar.core.jit import compiled

Bytes = NDArray[np.uint8]

KEY_SIZE = 8  # bytes
BLOCK = 128  # bytes
IV = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    np.uint64,
)  # fmt: skip
SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    np.int64,
)
PARAMETERS = 0x01010000 ^ KEY_SIZE << 8 ^ 8  # one digest of 8 bytes, with a key


def hash_labels(labels: Iterable[str], key: bytes) -> Codes:
    """(U,) 64 bits for each label.

    >>> from hashlib import blake2b
    >>> (code,) = hash_labels(["machine 17"], b"12345678")
    >>> digest = blake2b(b"machine 17", digest_size=8, key=b"12345678").digest()
    >>> int(code) == int.from_bytes(digest, "little")
    True
    """
    encoded = [label.encode("utf-8", "surrogatepass") for label in labels]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return hash_spans(np.frombuffer(b"".join(encoded), np.uint8), ends, key)


def hash_spans(data: Bytes, offsets: Ints, key: bytes) -> Codes:
    """(U,) 64 bits for each label, given the bytes of all and the (U+1,) places where each begins:
    as the buffers of an Arrow column have them."""
    if len(key) != KEY_SIZE:
        raise ValueError(f"key: {len(key)} bytes, not {KEY_SIZE}")
    return blake2b_spans(data, offsets, np.frombuffer(key, np.uint8))


# ---- compiled -----------------------------------------------------------------------------------


@compiled
def blake2b_spans(data: Bytes, offsets: Ints, key: Bytes) -> Codes:
    """See `hash_spans`."""
    begun, words = IV.copy(), np.zeros(16, np.uint64)
    begun[0] ^= np.uint64(PARAMETERS)
    load(key, 0, len(key), words)
    empty = begun.copy()
    compress(begun, words, np.uint64(BLOCK), False)
    compress(empty, words, np.uint64(BLOCK), True)
    found, state = np.empty(len(offsets) - 1, np.uint64), begun.copy()
    for i in range(len(found)):
        at, end = offsets[i], offsets[i + 1]
        if at == end:
            found[i] = empty[0]
            continue
        state[:] = begun
        counted = np.uint64(BLOCK)
        while end - at > BLOCK:
            load(data, at, BLOCK, words)
            counted += np.uint64(BLOCK)
            compress(state, words, counted, False)
            at += BLOCK
        load(data, at, end - at, words)
        compress(state, words, counted + np.uint64(end - at), True)
        found[i] = state[0]
    return found


@compiled
def load(data: Bytes, at: int, size: int, words: Codes) -> None:
    """So many bytes as 64-bit words, little end first, and zeros after them."""
    for w in range(16):
        word, first = np.uint64(0), at + 8 * w
        for j in range(min(8, at + size - first)):
            word |= np.uint64(data[first + j]) << np.uint64(8 * j)
        words[w] = word


@compiled
def rotated(x: np.uint64, bits: int) -> np.uint64:
    return (x >> np.uint64(bits)) | (x << np.uint64(64 - bits))


@compiled
def mixed(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, x: np.uint64, y: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The function G."""
    a = a + b + x
    d = rotated(d ^ a, 32)
    c = c + d
    b = rotated(b ^ c, 24)
    a = a + b + y
    d = rotated(d ^ a, 16)
    c = c + d
    b = rotated(b ^ c, 63)
    return a, b, c, d


@compiled
def compress(h: Codes, m: Codes, counted: np.uint64, last: bool) -> None:
    """The function F, on the state h in place."""
    v0, v1, v2, v3, v4, v5, v6, v7 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
    v8, v9, v10, v11 = IV[0], IV[1], IV[2], IV[3]
    v12, v13, v14, v15 = IV[4] ^ counted, IV[5], IV[6], IV[7]
    if last:
        v14 = ~v14
    for r in range(12):
        s = SIGMA[r]
        v0, v4, v8, v12 = mixed(v0, v4, v8, v12, m[s[0]], m[s[1]])
        v1, v5, v9, v13 = mixed(v1, v5, v9, v13, m[s[2]], m[s[3]])
        v2, v6, v10, v14 = mixed(v2, v6, v10, v14, m[s[4]], m[s[5]])
        v3, v7, v11, v15 = mixed(v3, v7, v11, v15, m[s[6]], m[s[7]])
        v0, v5, v10, v15 = mixed(v0, v5, v10, v15, m[s[8]], m[s[9]])
        v1, v6, v11, v12 = mixed(v1, v6, v11, v12, m[s[10]], m[s[11]])
        v2, v7, v8, v13 = mixed(v2, v7, v8, v13, m[s[12]], m[s[13]])
        v3, v4, v9, v14 = mixed(v3, v4, v9, v14, m[s[14]], m[s[15]])
    h[0] ^= v0 ^ v8
    h[1] ^= v1 ^ v9
    h[2] ^= v2 ^ v10
    h[3] ^= v3 ^ v11
    h[4] ^= v4 ^ v12
    h[5] ^= v5 ^ v13
    h[6] ^= v6 ^ v14
    h[7] ^= v7 ^ v15
