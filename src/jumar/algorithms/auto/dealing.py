"""Which episodes are learned from, which are tested, and in which order: by a hash of their label.

Every episode is dealt by its own label (or that of its cluster) and the seed, and by nothing else.
So neither the order of a file nor the other episodes in it matter, episodes of one cluster stay
together, and the parts of a log that lies in several places are dealt alike. Trying several seeds
until one passes would void a promise that is made for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Codes, Floats, Frozen, Ints, freeze, sum_by
from jumar.core.episodes import Episodes
from jumar.core.errors import LogError
from jumar.io.logs.ordering import PIECE

HALVES = 2
LEAST = 8  # units of a half, below which nothing is tried
BLOCKS = 256
MANY = 50_000  # labels, beyond which compiling their hash pays
FOLDS = 4  # of a half; a block belongs to one of them


class DealtPart(NamedTuple):
    """Some of the episodes of a dealt log: a half, or some folds of it.

    >>> DealtPart(0).without(1), DealtPart(0).only(1)
    (DealtPart(half=0, folds=(0, 2, 3)), DealtPart(half=0, folds=(1,)))
    """

    half: int
    folds: tuple[int, ...] = tuple(range(FOLDS))

    def without(self, fold: int) -> DealtPart:
        """The same less one fold."""
        return DealtPart(self.half, tuple(f for f in self.folds if f != fold))

    def only(self, fold: int) -> DealtPart:
        """One fold of the same half."""
        return DealtPart(self.half, (fold,))


@dataclass(frozen=True, eq=False)
class Dealt(Frozen):
    """The part of every episode in the test. E episodes, U independent units (clusters)."""

    half: Ints  # (E,) 0 or 1
    block: Ints  # (E,) below BLOCKS: the order in which they are bet on
    unit: Ints  # (E,) which of the independent units it belongs to
    order: Ints  # (E,) the episodes in the order of their hashes

    def __post_init__(self) -> None:
        for field in ("half", "block", "unit", "order"):
            object.__setattr__(self, field, freeze(getattr(self, field), np.int64))

    def in_order(self) -> Dealt:
        """The same for `log.select(dealt.order)`, which is one log whatever order a file has: so
        that neither the first thousand episodes nor the rounding of a sum depend on it."""
        o, unit = self.order, self.unit[self.order]
        fresh = np.append(0, np.cumsum(unit[1:] != unit[:-1]))  # a unit's episodes have one hash
        return Dealt(self.half[o], self.block[o], fresh, np.arange(len(o)))

    def members(self, half: int) -> Ints:
        """The episodes of a half."""
        return np.flatnonzero(self.half == half)

    def episodes(self, part: DealtPart) -> Ints:
        """The episodes of a part."""
        inside = self.half == part.half
        if len(part.folds) < FOLDS:
            inside &= np.isin(self.block % FOLDS, part.folds)
        return np.flatnonzero(inside)

    def of_first_units(self, episodes: Ints, most: int) -> Ints:
        """Those of some episodes that belong to the first units among them."""
        units = np.unique(self.unit[episodes])
        if len(units) <= most:
            return episodes
        found: Ints = episodes[self.unit[episodes] <= units[most - 1]]
        return found

    def by_unit(self, episodes: Ints, scores: Floats) -> tuple[Floats, Ints]:
        """(u,) the mean score of each unit among some episodes, and (u,) its block."""
        own = self.unit[episodes]
        if (own[1:] > own[:-1]).all():  # the usual case, and asked thousands of times
            return scores, self.block[episodes]
        units, first, number = np.unique(own, return_index=True, return_inverse=True)
        if len(units) == len(episodes):
            return scores, self.block[episodes]
        size = np.bincount(number)
        return sum_by(number, scores, len(units)) / size, self.block[episodes[first]]


def salt_of(rng: np.random.Generator) -> int:
    """What the hash of the labels is salted with."""
    return int(rng.integers(2**62))


def key_of(salt: int) -> bytes:
    """The same as the key of `jumar.core.hashing`."""
    return salt.to_bytes(8, "little")


def half_of(code: Codes) -> Ints:
    """The half that a hash belongs to: its first bit."""
    return (code >> np.uint64(63)).astype(np.int64)


def block_of(code: Codes) -> Ints:
    """The block that a hash belongs to: the eight bits after that."""
    return ((code >> np.uint64(55)) % np.uint64(BLOCKS)).astype(np.int64)


def fold_of(code: Codes) -> Ints:
    """The fold of its half that a hash belongs to."""
    return block_of(code) % FOLDS


def deal(log: Episodes, rng: np.random.Generator) -> Dealt:
    """Deal the episodes of a log; `rng` gives the salt of the hash, nothing else.

    >>> log = Episodes(("z",), ("a",), [0] * 50, [0] * 50, [0] * 50, range(51), [-1] * 50, [1] * 50)
    >>> dealt = deal(log, np.random.default_rng(1))
    >>> sorted(set(dealt.half.tolist()))
    [0, 1]
    """
    code, unit = _codes(log, salt_of(rng))
    return Dealt(half_of(code), block_of(code), unit, np.argsort(code, kind="stable"))


def codes_of(log: Episodes, salt: int) -> Codes:
    """(E,) the hash of every episode, or of its cluster. It is the same in every part of a log, so
    the episodes need labels: numbers would begin anew in every part."""
    if log.origin is None and log.cluster is None:
        raise LogError(
            "Log: its episodes have no labels, so parts of it cannot be dealt alike. Read it from "
            "a file, or give it clusters."
        )
    return _codes(log, salt)[0]


def _codes(log: Episodes, salt: int) -> tuple[Codes, Ints]:
    labels, unit = _units(log)
    return _hashes(labels, len(log), salt)[unit], unit


def _units(log: Episodes) -> tuple[list[str] | None, Ints]:
    """The label of every unit (None: they have only a number), and (E,) the unit of an episode."""
    if log.cluster is not None:
        names, of = log.cluster.present
        return list(names), of
    if log.origin is None:
        return None, np.arange(len(log))
    labels = [str(label) for label in log.origin.label]
    if log.origin.remarks.gaps:  # the pieces of an episode that a gap split are one
        labels = [PIECE.sub("", label) for label in labels]
    number: dict[str, int] = {}
    unit = [number.setdefault(label, len(number)) for label in labels]
    return list(number), np.array(unit, np.int64)


def _hashes(labels: list[str] | None, size: int, salt: int) -> Codes:
    """(U,) 64 bits each, as good as random."""
    if labels is None:
        return _scramble(np.arange(size, dtype=np.uint64) + np.uint64(salt))
    if len(labels) > MANY:
        from jumar.core.hashing import hash_labels

        return hash_labels(labels, key_of(salt))
    digests = b"".join(
        blake2b(label.encode("utf-8", "surrogatepass"), digest_size=8, key=key_of(salt)).digest()
        for label in labels
    )
    return np.frombuffer(digests, "<u8")


def _scramble(x: Codes) -> Codes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
