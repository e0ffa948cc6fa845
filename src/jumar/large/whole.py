"""Rows put together to whole episodes, some thousand at a time, each with the hash of its label.

What is held is the episode that is not over yet, and a batch of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jumar.core.arrays import Bools, Codes, Floats, Ints
from jumar.core.episodes import UNKNOWN, Episodes, Origin
from jumar.core.hashing import hash_spans
from jumar.io.several import in_file
from jumar.large import kernels
from jumar.large.kernels import Codes as Codes32
from jumar.large.order import text_buffers
from jumar.large.reading import Portion
from jumar.large.rows import RowBatch


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
    def of(cls, log: Episodes, code: Codes, place: Ints | None = None) -> WholeEpisodes:
        """The episodes of a log, with their hashes and places."""
        return cls(
            log.observation,
            log.action,
            log.reward,
            log.start,
            log.final_observation,
            log.terminated,
            code,
            np.zeros(len(log), np.int64) if place is None else place,
        )

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
        start, steps = _steps_of(self.start, chosen)
        return _picked(self, self.z[steps], self.a[steps], steps, start, chosen)

    def as_log(
        self,
        observations: tuple[str, ...],
        actions: tuple[str, ...],
        origin: Origin | None = None,
    ) -> Episodes:
        """As a log with these names."""
        return Episodes(
            observations,
            actions,
            self.z,
            self.a,
            self.reward,
            self.start,
            self.final,
            self.terminated,
            origin,
        )


@dataclass(frozen=True, eq=False)
class EpisodeRows:
    """Some episodes as they lie in a log: what their codes mean is looked up for those that
    somebody wants."""

    z: Codes32  # (N,) codes
    z_of: Codes32 | None  # the observation behind every code; None: codes are observations
    a: Codes32  # (N,)
    a_of: Codes32 | None
    reward: Floats  # (N,)
    start: Ints  # (E+1,)
    final: Ints  # (E,)
    terminated: Bools  # (E,)
    code: Codes  # (E,) hashes
    place: Ints  # (E,)

    def __len__(self) -> int:
        return len(self.code)

    def select(self, chosen: Ints) -> WholeEpisodes:
        """Some of them, in the given order."""
        start, steps = _steps_of(self.start, chosen)
        return self._whole(steps, start, chosen)

    def all(self) -> WholeEpisodes:
        return self._whole(slice(None), self.start, slice(None))

    def _whole(self, steps: Ints | slice, start: Ints, chosen: Ints | slice) -> WholeEpisodes:
        z = _meaning(self.z[steps], self.z_of).astype(np.int64)
        a = _meaning(self.a[steps], self.a_of).astype(np.int64)
        return _picked(self, z, a, steps, start, chosen)


def _picked(
    some: WholeEpisodes | EpisodeRows,
    z: Ints,
    a: Ints,
    steps: Ints | slice,
    start: Ints,
    chosen: Ints | slice,
) -> WholeEpisodes:
    """Chosen episodes, given what was seen and done in their steps."""
    per_episode = some.final[chosen], some.terminated[chosen], some.code[chosen], some.place[chosen]
    return WholeEpisodes(z, a, some.reward[steps], start, *per_episode)


def _steps_of(start: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """Where some episodes begin if they stand one after the other, and their steps."""
    lengths = np.diff(start)[chosen]
    begin = np.concatenate([[0], np.cumsum(lengths)])
    return begin, np.repeat(start[:-1][chosen] - begin[:-1], lengths) + np.arange(begin[-1])


def _meaning(codes: Codes32, of: Codes32 | None) -> Codes32:
    return codes if of is None else of[codes]


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

    def add(self, rows: RowBatch, began: Ints, code: Codes, place: Ints) -> Iterator[EpisodeRows]:
        """More rows, where episodes begin in them, their hashes and places; what is over."""
        if len(began) == 0:
            self._held.append(rows)
            return
        first, last = int(began[0]), int(began[-1])
        self._held.append(rows.piece(0, first))
        yield from self.finish()
        if first < last:
            inside = _Rows.of(rows.piece(first, last))
            yield self._episodes(inside, began[:-1] - first, code[:-1], place[:-1])
        self._held, self._label = [rows.piece(last, len(rows))], (code[-1:], place[-1:])

    def finish(self) -> Iterator[EpisodeRows]:
        """There are no more rows."""
        held, self._held = [rows for rows in self._held if len(rows)], []
        if held and self._label is not None:
            yield self._episodes(_Rows.joined(held), np.zeros(1, np.int64), *self._label)

    def _episodes(self, rows: _Rows, first: Ints, code: Codes, place: Ints) -> EpisodeRows:
        n = len(rows.reward)
        last = np.append(first[1:], n) - 1
        closing = _meaning(rows.a[last], rows.a_of) < 0
        final = np.where(closing, _meaning(rows.z[last], rows.z_of), UNKNOWN).astype(np.int64)
        if self._ends == kernels.AS_MARKED:
            terminated = rows.marked[last] & ~closing
        else:
            terminated = ~closing & (self._ends == kernels.ALL_END)
        z, a, reward = rows.z, rows.a, rows.reward
        if closing.any():
            kept = np.ones(n, np.bool_)
            kept[last[closing]] = False
            z, a, reward = z[kept], a[kept], reward[kept]
        start = np.concatenate([[0], np.cumsum(last + 1 - first - closing)])
        return EpisodeRows(
            z, rows.z_of, a, rows.a_of, reward, start, final, terminated, code, place
        )


class _Rows(NamedTuple):
    """What episodes are made of. n rows."""

    z: Codes32  # (n,)
    z_of: Codes32 | None
    a: Codes32  # (n,)
    a_of: Codes32 | None
    reward: Floats  # (n,)
    marked: Bools  # (n,)

    @classmethod
    def of(cls, rows: RowBatch) -> _Rows:
        return cls(rows.z, rows.z_of, rows.a, rows.a_of, rows.reward, rows.marked)

    @classmethod
    def joined(cls, pieces: Sequence[RowBatch]) -> _Rows:
        """One after the other; their codes may mean different things."""
        return cls(
            np.concatenate([rows.observations for rows in pieces]),
            None,
            np.concatenate([rows.actions for rows in pieces]),
            None,
            np.concatenate([rows.reward for rows in pieces]),
            np.concatenate([rows.marked for rows in pieces]),
        )


def whole_episodes(
    portions: Iterator[Portion], ends: int, key: bytes, each_file: bool = False
) -> Iterator[WholeEpisodes]:
    """The whole episodes of some rows."""
    assembly = Assembly(ends)
    for portion in portions:
        began = np.flatnonzero(portion.rows.begins)
        code = label_codes(portion, began, key, each_file)
        for over in assembly.add(portion.rows, began, code, portion.places(began)):
            yield over.all()
    for over in assembly.finish():
        yield over.all()
