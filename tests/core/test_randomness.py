"""Random streams by name."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest

from jumar.core.errors import ParameterError
from jumar.core.randomness import hash_labels, hash_spans, random_stream


def first(*key) -> float:
    return float(random_stream(*key).random())


def test_a_seed_and_a_name_always_mean_the_same_numbers():
    """Pinned: published studies are repeated from these."""
    assert first(1, "data") == 0.24506733002123493
    assert first(1, "evaluation") == 0.6571095539278231


def test_seeds_and_names_all_lead_elsewhere():
    keys = [(0,), (1,), (1, "data"), (2, "data"), (1, "evaluation"), (1, "data", "x"), (1, "x")]
    numbers = [first(*key) for key in keys]
    assert len(set(numbers)) == len(keys)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("b", "a")),
        (("a", "b"), ("ab",)),
        (("a", 12), ("a1", 2)),
        (("a", 1), ("a", 11)),
    ],
)
def test_names_are_neither_sorted_nor_glued(one, other):
    assert first(1, *one) != first(1, *other)


def test_drawing_from_one_stream_leaves_the_others_alone():
    untouched = first(1, "evaluation")
    random_stream(1, "data").random(1000)
    assert first(1, "evaluation") == untouched


def test_a_negative_seed_is_an_error():
    with pytest.raises(ParameterError, match="seed: -1 is not a whole number"):
        random_stream(-1)


# ---- hashes of labels ---------------------------------------------------------------------------

KEY = (123456789012345678).to_bytes(8, "little")


def test_labels_and_spans_have_the_hashes_of_hashlib():
    """A slice of an Arrow column shares the bytes of the whole: a span may begin anywhere."""
    labels = ["machine 17", "", "Ärger", "🚂" * 50, "\ud800"]
    encoded = [label.encode("utf-8", "surrogatepass") for label in labels]
    wanted = [
        int.from_bytes(blake2b(label, digest_size=8, key=KEY).digest(), "little")
        for label in encoded
    ]
    assert hash_labels(labels, KEY).tolist() == wanted
    data = np.frombuffer(b"xx" + b"".join(encoded), np.uint8)
    offsets = 2 + np.cumsum([0, *map(len, encoded)])
    assert hash_spans(data, offsets, KEY).tolist() == wanted
    assert hash_labels([], KEY).tolist() == []
