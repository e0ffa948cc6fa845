"""RowBatch of any log that jumar can read, some thousand episodes at a time.

Whole episodes are read the way a log in memory is (`jumar.log.reading`), with all that can be asked
for there: gaps, prices, decimal commas, dates in words. So memory is bounded by the longest episode
and the size of a piece. It takes longer than `jumar.log.shards.rows`, and gives the same.

It also says what is wrong with a row that a compiled loop refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.log.formats import Source
from jumar.log.formats.numpy_arrays import flags
from jumar.log.reading.asking import Asked
from jumar.log.reading.assembling import assemble
from jumar.log.reading.loading import load
from jumar.log.reading.ordering import arrange
from jumar.log.reading.parts import Parts
from jumar.log.shards.rows import NO_TIMES, RowBatch

PIECE_ROWS = 1 << 18

Given = Mapping[str, tuple[str, ...]]  # names of observations and actions


class Piece(Source):
    """Some consecutive rows of a source."""

    def __init__(self, source: Source, batches: Sequence[Any], first: int) -> None:
        self._source, self._batches, self._first = source, batches, first
        self.name, self.names = source.name, source.names
        self.separator, self.guessed = source.separator, source.guessed
        self.metadata, self.advice = source.metadata, source.advice
        self.once, self.has_points = source.once, source.has_points
        self.may_have_more = source.may_have_more
        if source.may_have_more:
            self.seen = source.seen

    def batches(self, columns: Sequence[str], text: Any) -> Iterator[Any]:
        yield from self._batches

    def rows(self, n: int) -> Array:
        return self._source.rows(self._first + n)[self._first :]


def pieces(
    source: Source, parts: Parts, asked: Asked, at_once: int = PIECE_ROWS
) -> Iterator[Piece]:
    """A log in pieces of whole episodes."""
    label = parts.single.get("episode")
    words = {*parts.observation, *parts.action} - set(asked.bins)
    held: list[Any] = []
    first = n = 0
    for batch in source.batches(parts.columns, words):
        if batch.num_rows == 0:
            continue
        held.append(batch)
        n += batch.num_rows
        if n < at_once or label is None:
            continue
        cut = _last_begin(held, label)
        if cut == 0:
            continue
        whole, rest = _split(held, cut)
        yield Piece(source, whole, first)
        first, n, held = first + cut, n - cut, rest
    if held:
        yield Piece(source, held, first)


def _last_begin(batches: Sequence[Any], label: str) -> int:
    """Where the last episode begins; 0 if there is only one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = pa.chunked_array([batch.column(label).cast(pa.string()) for batch in batches])
    last = labels[len(labels) - 1]
    if not last.is_valid:
        return len(labels) - 1
    differs = flags(pc.fill_null(pc.not_equal(labels, last), True).combine_chunks())
    return int(np.flatnonzero(differs)[-1]) + 1 if differs.any() else 0


def _split(batches: Sequence[Any], at: int) -> tuple[list[Any], list[Any]]:
    before, after = [], []
    for batch in batches:
        if at >= batch.num_rows:
            before.append(batch)
        elif at <= 0:
            after.append(batch)
        else:
            before.append(batch.slice(0, at))
            after.append(batch.slice(at))
        at -= batch.num_rows
    return before, after


def episodes_of(piece: Source, parts: Parts, asked: Asked, given: Given) -> Episodes:
    """The episodes of a piece, or an error that names the row."""
    return assemble(arrange(load(piece, parts, asked), asked), given, asked)


def rows_of(log: Episodes) -> RowBatch:
    """Episodes as rows."""
    final = np.flatnonzero(log.final_observation != UNKNOWN)
    at = log.start[1:][final]  # after the last step comes what was seen in the end
    z = np.insert(log.observation, at, log.final_observation[final]).astype(np.int32)
    a = np.insert(log.action, at, UNKNOWN).astype(np.int32)
    begins, marked = np.zeros((2, log.n_steps), np.bool_)
    begins[log.start[:-1]] = True
    marked[log.last[log.terminated]] = True
    O, A = len(log.observations), len(log.actions)
    return RowBatch(
        np.insert(begins, at, False),
        NO_TIMES,
        z,
        np.arange(O, dtype=np.int32),
        np.where(a == UNKNOWN, A, a).astype(np.int32),
        np.append(np.arange(A), UNKNOWN).astype(np.int32),
        np.insert(log.reward, at, 0.0),
        np.packbits(np.insert(marked, at, False), bitorder="little"),
        0,
    )
