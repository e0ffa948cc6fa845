"""From batches to columns of numbers, one entry per row of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools
from jumar.io.formats import Source, no_rows
from jumar.io.logs.asking import Asked
from jumar.io.logs.clocks import Clock, Times
from jumar.io.logs.encoding import Amounts, Coded, Encoder, Flags, Names, Numbers, Ranges, cell
from jumar.io.logs.parts import Parts, those_that_came


@dataclass(frozen=True)
class LogRows:
    """The rows of a log. N of them; columns that the log does not have are None."""

    source: Source
    parts: Parts
    row: Array  # (N,) int32, where each stands in the file
    observation: tuple[Coded, ...]  # one per column that makes up the observation
    action: tuple[Coded, ...]
    priced: Mapping[str, Amounts]  # by column
    episode: Coded | None = None
    step: Clock | None = None
    time: Clock | None = None
    reward: Amounts | None = None
    terminated: Bools | None = None  # (N,)
    node: Coded | None = None
    propensity: Amounts | None = None
    cluster: Coded | None = None
    behavior: Coded | None = None

    def __len__(self) -> int:
        return len(self.row)

    @property
    def clock(self) -> Clock | None:
        """What the rows of an episode are sorted by."""
        return self.step or self.time

    def take(self, index: Array) -> LogRows:
        """Some rows, or all in another order."""
        return LogRows(
            self.source,
            self.parts,
            *(_take(getattr(self, field.name), index) for field in fields(self)[2:]),
        )

    def cell(self, i: int, column: str) -> str:
        """Names one entry of a column."""
        return cell(self.source.name, self.row[i], column)


def _take(column: Any, index: Array) -> Any:
    if column is None:
        return None
    if isinstance(column, tuple):
        return tuple(_take(each, index) for each in column)
    if isinstance(column, Mapping):
        return {name: _take(each, index) for name, each in column.items()}
    return column[index]


def load(source: Source, parts: Parts, asked: Asked) -> LogRows:
    """Read every batch of a log."""
    import pyarrow as pa

    def symbols(part: str) -> list[tuple[str, Encoder]]:
        bins = asked.bins
        return [
            (name, Ranges(source, name, bins[name]) if name in bins else Names(source, name))
            for name in parts.combined[part]
        ]

    single = {part: _encoder(part, source, name) for part, name in parts.single.items()}
    observation, action = symbols("observation"), symbols("action")
    priced = {name: Numbers(source, name) for name in parts.priced}
    wanted: list[tuple[str, Encoder]] = [
        *((parts.single[part], encoder) for part, encoder in single.items()),
        *observation,
        *action,
        *priced.items(),
    ]
    text = {name for name, encoder in wanted if isinstance(encoder, Names | Flags)}
    n = 0
    for batch in source.batches(parts.columns, text):
        n += batch.num_rows
        for name, encoder in wanted:
            encoder.add(batch.column(name))
    if n == 0:
        raise no_rows(source.name)
    parts = those_that_came(source, parts, asked)
    rows = LogRows(
        source,
        parts,
        source.rows(n),
        tuple(encoder.result() for _, encoder in observation),
        tuple(encoder.result() for _, encoder in action),
        {name: encoder.result() for name, encoder in priced.items()},
        **{part: single[part].result() for part in parts.single},
    )
    if rows.episode is not None and len(holes := np.flatnonzero(rows.episode.code < 0)):
        remedy = "Write in every row which episode it belongs to."
        raise single["episode"].missing("episode", holes, remedy)
    pa.default_memory_pool().release_unused()  # Arrow keeps what the batches took for the next ones
    return rows


def _encoder(part: str, source: Source, name: str) -> Encoder:
    if part in ("reward", "propensity"):
        return Numbers(source, name)
    if part == "terminated":
        return Flags(source, name)
    if part in ("step", "time"):
        return Times(source, name, part)
    return Names(source, name)
