"""Which episodes are learned from, which are tested, and in which order: by a hash of their label.

Every episode is dealt by its own label (or that of its cluster) and the seed, and by nothing else.
So neither the order of a file nor the other episodes in it matter, episodes of one cluster stay
together, and the parts of a log that lies in several places are dealt alike. Trying several seeds
until one passes would void a promise that is made for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Codes, Floats, Frozen, Ints, sum_by
from jumar.core.randomness import hash_labels
from jumar.log.episodes import Episodes
from jumar.log.reading.ordering import PIECE

HALVES = 2
LEAST = 8  # units of a half, below which nothing is tried
BLOCKS = 256
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

    @property
    def numbers(self) -> list[int]:
        """Of its folds, among those of both halves (`part_of`)."""
        return [self.half * FOLDS + fold for fold in self.folds]


@dataclass(frozen=True, eq=False)
class Dealt(Frozen):
    """Where the episodes of a log belong. E of them, in the order of their hashes: that is one log
    whatever order a file has, so that neither the first thousand episodes nor the rounding of a sum
    depend on it."""

    code: Codes  # (E,) ascending; episodes with the same hash are one independent unit

    @cached_property
    def half(self) -> Ints:
        """(E,) 0 or 1"""
        return half_of(self.code)

    @cached_property
    def block(self) -> Ints:
        """(E,) below BLOCKS: the order in which they are bet on."""
        return block_of(self.code)

    @cached_property
    def part(self) -> Ints:
        """(E,) the fold among those of both halves."""
        return part_of(self.code)

    @cached_property
    def unit(self) -> Ints:
        """(E,) which of the independent units each belongs to."""
        fresh = self.code[1:] != self.code[:-1]
        return np.concatenate([[0], np.cumsum(fresh)]) if len(self.code) else np.zeros(0, np.int64)

    def members(self, half: int) -> Ints:
        """The episodes of a half."""
        return np.flatnonzero(self.half == half)

    def episodes(self, part: DealtPart, among: Ints | None = None) -> Ints:
        """The episodes of a part; or those of them that are `among` some."""
        if among is None:
            return np.flatnonzero(np.isin(self.part, part.numbers))
        found: Ints = among[np.isin(self.part[among], part.numbers)]
        return found

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
    """The same as the key of `hash_labels`."""
    return salt.to_bytes(8, "little")


def half_of(code: Codes) -> Ints:
    """The half that a hash belongs to: its first bit."""
    return (code >> np.uint64(63)).astype(np.int64)


def block_of(code: Codes) -> Ints:
    """The block that a hash belongs to: the eight bits after that."""
    return ((code >> np.uint64(55)) % np.uint64(BLOCKS)).astype(np.int64)


def part_of(code: Codes) -> Ints:
    """The fold, among those of both halves, that a hash belongs to."""
    return half_of(code) * FOLDS + block_of(code) % FOLDS


def codes_of(log: Episodes, salt: int) -> Codes:
    """(E,) the hash of every episode, or of its cluster. Of labels it is the same in every part of
    a log; episodes without a label have only their number.

    >>> log = Episodes(("z",), ("a",), [0] * 50, [0] * 50, [0] * 50, range(51), [-1] * 50, [1] * 50)
    >>> sorted(set(half_of(codes_of(log, 1)).tolist()))
    [0, 1]
    """
    labels, unit = _units(log)
    return _hashes(labels, len(log), salt)[unit]


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
    return hash_labels(labels, key_of(salt))


def _scramble(x: Codes) -> Codes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
