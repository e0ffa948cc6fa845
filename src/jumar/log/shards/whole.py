"""Rows put together to whole episodes, some thousand at a time, each with the hash of its label.

What is held is the episode that is not over yet, and a batch of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Codes, Floats, Ints
from jumar.core.randomness import hash_spans
from jumar.log.episodes import UNKNOWN
from jumar.log.files import in_file
from jumar.log.shards.order import text_buffers
from jumar.log.shards.rows import ALL_END, AS_MARKED, Portion, RowBatch


@dataclass(frozen=True, eq=False)
class WholeEpisodes:
    """Some episodes. N steps, E episodes."""

    z: Ints  # (N,)
    a: Ints  # (N,)
    reward: Floats  # (N,)
    start: Ints  # (E+1,)
    final: Ints  # (E,) the observation after the last step, or UNKNOWN
    terminated: Bools  # (E,)
    code: Codes  # (E,) the hash of the label, or of the cluster
    place: Ints  # (E,) where it begins in the log (`Portion.places`)

    def __len__(self) -> int:
        return len(self.code)

    @classmethod
    def joined(cls, pieces: Sequence[WholeEpisodes]) -> WholeEpisodes:
        """One after the other."""
        if len(pieces) == 1:
            return pieces[0]
        lengths = np.concatenate([np.diff(piece.start) for piece in pieces])

        def every(name: str) -> Any:
            return np.concatenate([getattr(piece, name) for piece in pieces])

        start = np.concatenate([[0], np.cumsum(lengths)])
        per_step = every("z"), every("a"), every("reward")
        per_episode = every("final"), every("terminated"), every("code"), every("place")
        return cls(*per_step, start, *per_episode)

    def select(self, chosen: Ints) -> WholeEpisodes:
        """Some of them, in the given order."""
        lengths = np.diff(self.start)[chosen]
        start = np.concatenate([[0], np.cumsum(lengths)])
        steps = np.repeat(self.start[:-1][chosen] - start[:-1], lengths) + np.arange(start[-1])
        per_step = self.z[steps], self.a[steps], self.reward[steps]
        ends = self.final[chosen], self.terminated[chosen]
        return WholeEpisodes(*per_step, start, *ends, self.code[chosen], self.place[chosen])


def label_codes(portion: Portion, rows: Ints, key: bytes, each_file: bool = False) -> Codes:
    """(n,) the hashes of the labels of some rows, or of their clusters where there are any. Where
    labels are numbered anew in `each_file`, its name goes before them."""
    import pyarrow as pa

    column = portion.labels if portion.clusters is None else portion.clusters
    labels = column.take(pa.array(rows))
    if pa.types.is_dictionary(labels.type):
        labels = labels.cast(labels.type.value_type)
    if each_file and portion.clusters is None:
        labels = in_file(portion.unit.file.label, labels)
    return hash_spans(*text_buffers(labels), key)


class Assembly:
    """Puts rows together; what is not over yet waits."""

    def __init__(self, ends: int) -> None:
        self._ends = ends
        self._held: list[RowBatch] = []  # rows of one episode
        self._label: tuple[Codes, Ints] | None = None  # its hash and its place

    def add(self, rows: RowBatch, began: Ints, code: Codes, place: Ints) -> Iterator[WholeEpisodes]:
        """More rows, where episodes begin in them, their hashes and places; what is over."""
        if len(began) == 0:
            self._held.append(rows)
            return
        first, last = int(began[0]), int(began[-1])
        self._held.append(rows.piece(0, first))
        yield from self.finish()
        if first < last:
            inside = [rows.piece(first, last)]
            yield self._episodes(inside, began[:-1] - first, code[:-1], place[:-1])
        self._held, self._label = [rows.piece(last, len(rows))], (code[-1:], place[-1:])

    def finish(self) -> Iterator[WholeEpisodes]:
        """There are no more rows."""
        held, self._held = [rows for rows in self._held if len(rows)], []
        if held and self._label is not None:
            yield self._episodes(held, np.zeros(1, np.int64), *self._label)

    def _episodes(
        self, pieces: Sequence[RowBatch], first: Ints, code: Codes, place: Ints
    ) -> WholeEpisodes:
        z = np.concatenate([rows.observations for rows in pieces]).astype(np.int64)
        a = np.concatenate([rows.actions for rows in pieces]).astype(np.int64)
        reward = np.concatenate([rows.reward for rows in pieces])
        last = np.append(first[1:], len(z)) - 1
        closing = a[last] < 0
        final = np.where(closing, z[last], UNKNOWN)
        if self._ends == AS_MARKED:
            terminated = np.concatenate([rows.marked for rows in pieces])[last] & ~closing
        else:
            terminated = ~closing & (self._ends == ALL_END)
        if closing.any():
            kept = np.ones(len(z), np.bool_)
            kept[last[closing]] = False
            z, a, reward = z[kept], a[kept], reward[kept]
        start = np.concatenate([[0], np.cumsum(last + 1 - first - closing)])
        return WholeEpisodes(z, a, reward, start, final, terminated, code, place)


def whole_episodes(
    portions: Iterator[Portion], ends: int, key: bytes, each_file: bool = False
) -> Iterator[WholeEpisodes]:
    """The whole episodes of some rows."""
    assembly = Assembly(ends)
    for portion in portions:
        began = np.flatnonzero(portion.rows.begins)
        code = label_codes(portion, began, key, each_file)
        yield from assembly.add(portion.rows, began, code, portion.places(began))
    yield from assembly.finish()
