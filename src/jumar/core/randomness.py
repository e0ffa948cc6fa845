"""Randomness, one convention: every public function takes `seed`, a whole number or a generator.

A whole number gives a stream of its own to every purpose: the data drawn for one purpose never
depend on how much was drawn for another. A generator is used as it is. Labels are dealt by keyed
hashes, which are as good as random, and the same wherever a label is met.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np

from jumar.core.arrays import Codes, Ints
from jumar.core.errors import ParameterError

Seed = int | np.random.Generator


def random_stream(seed: int, *names: str | int) -> np.random.Generator:
    """The random generator for a seed and a purpose.

    Parameters
    ----------
    seed
        A whole number from 0.
    *names
        The purpose. Other names give an independent generator.

    Returns
    -------
    numpy.random.Generator
        The same seed and names give the same numbers.

    Examples
    --------
    >>> a, b = random_stream(1, "data"), random_stream(1, "evaluation")
    >>> a.random() == b.random()
    False
    >>> random_stream(1, "data").random() == random_stream(1, "data").random()
    True
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(
            f"seed: {seed!r} is not a whole number from 0. Functions with a parameter `seed` also "
            "take a numpy Generator."
        )
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_key(names)))


def branch(rng: np.random.Generator, *names: str | int) -> np.random.Generator:
    """A stream by name of a generator, the same whatever that one draws or spawns.

    >>> a, b = random_stream(1, "data"), random_stream(1, "data")
    >>> _ = a.random(), a.spawn(3)
    >>> branch(a, "mine").random() == branch(b, "mine").random() != branch(b, "yours").random()
    True
    """
    root = rng.bit_generator.seed_seq
    assert isinstance(root, np.random.SeedSequence)  # as every generator made from a seed has
    key = (*root.spawn_key, *_key(names))
    return np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=key))


def _key(names: tuple[str | int, ...]) -> tuple[int, ...]:
    # lengths and kinds, so that no two lists of names read the same
    text = "".join(f"{type(name).__name__}:{len(str(name))}:{name};" for name in names)
    digest = blake2b(text.encode(), digest_size=16).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))


def generator(seed: Seed, *purpose: str | int) -> np.random.Generator:
    """What a public function draws with: a generator as it is, a number as a stream by purpose."""
    return seed if isinstance(seed, np.random.Generator) else random_stream(seed, *purpose)


def seed_number(seed: Seed) -> int:
    """A whole number, for what starts several streams: a number as it is, or one drawn.

    >>> seed_number(7), seed_number(random_stream(7)) == seed_number(random_stream(7))
    (7, True)
    """
    return int(seed.integers(2**63)) if isinstance(seed, np.random.Generator) else seed


KEY_SIZE = 8  # bytes


def hash_labels(labels: Iterable[str], key: bytes) -> Codes:
    """(U,) 64 bits for each label: BLAKE2b, keyed."""
    return _hashes((label.encode("utf-8", "surrogatepass") for label in labels), key)


def hash_spans(data: Any, offsets: Ints, key: bytes) -> Codes:
    """(U,) 64 bits for each label, given the bytes of all and the (U+1,) places where each begins:
    as the buffers of an Arrow column have them."""
    whole = memoryview(data)
    return _hashes((whole[i:j] for i, j in pairwise(offsets.tolist())), key)


def _hashes(labels: Iterable[Any], key: bytes) -> Codes:
    digests = b"".join(blake2b(label, digest_size=8, key=key).digest() for label in labels)
    return np.frombuffer(digests, "<u8").astype(np.uint64)
