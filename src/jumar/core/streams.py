"""Independent random streams, by name.

One seed gives as many streams as there are names; the data drawn for one purpose never depend on
how much was drawn for another.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from jumar.core.errors import ParameterError


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The generator for a seed and a purpose.

    >>> a, b = stream(1, "data"), stream(1, "evaluation")
    >>> a.random() == b.random(), stream(1, "data").random() == stream(1, "data").random()
    (False, True)
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(f"seed: {seed!r} is not a whole number from 0.")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_key(names)))


def branch(rng: np.random.Generator, *names: str | int) -> np.random.Generator:
    """A stream by name of a generator, the same whatever that one draws or spawns.

    >>> a, b = stream(1, "data"), stream(1, "data")
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
