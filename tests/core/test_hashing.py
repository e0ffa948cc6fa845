"""Compiled BLAKE2b: the numbers of hashlib."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pytest

from jumar.core.hashing import hash_labels, hash_spans

KEY = (123456789012345678).to_bytes(8, "little")


def expected(labels: list[bytes], key: bytes) -> list[int]:
    found = (blake2b(label, digest_size=8, key=key).digest() for label in labels)
    return [int.from_bytes(digest, "little") for digest in found]


@pytest.mark.parametrize("key", [KEY, bytes(8), b"\xff" * 8])
def test_every_length_up_to_several_blocks(key):
    """The empty label, those that just fill a block, and those that need one byte more."""
    data = np.random.default_rng(1).integers(0, 256, 200_000, np.uint8)
    lengths = [*range(520), *([127, 128, 129, 256, 257, 384] * 3)]
    offsets = np.cumsum([0, *lengths])
    labels = [data[a:b].tobytes() for a, b in pairwise(offsets)]
    assert hash_spans(data, offsets, key).tolist() == expected(labels, key)


def test_labels_in_any_script():
    labels = [f"machine {i}" for i in range(3000)] + ["", "Ärger", "ζ", "🚂" * 50, "\ud800", " "]
    encoded = [label.encode("utf-8", "surrogatepass") for label in labels]
    assert hash_labels(labels, KEY).tolist() == expected(encoded, KEY)
    assert hash_labels([], KEY).tolist() == []


def test_a_span_may_begin_anywhere():
    """A slice of an Arrow column shares the bytes of the whole."""
    data = np.frombuffer(b"xxabcyy", np.uint8)
    assert hash_spans(data, np.array([2, 4, 5]), KEY).tolist() == expected([b"ab", b"c"], KEY)
    with pytest.raises(ValueError, match="key: 3 bytes"):
        hash_spans(data, np.array([0, 1]), b"abc")
