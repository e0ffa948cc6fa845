"""From batches to columns of numbers, one entry per row of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from jumar.core.arrays import Array, Bools
from jumar.core.text import printable
from jumar.io.formats import Source, no_rows
from jumar.io.logs.asking import Asked
from jumar.io.logs.clocks import Clock, Times
from jumar.io.logs.encoding import Amounts, Coded, Encoder, Flags, Names, Numbers, Ranges
from jumar.io.logs.parts import Parts, those_that_came


@dataclass(frozen=True)
class LogRows:
    """The rows of a log. N of them; columns that the log does not have are None."""

    source: Source
    parts: Parts
    row: Array  # (N,) int32, where each stands in the file
    episode: Coded | None
    step: Clock | None
    time: Clock | None
    observation: tuple[Coded, ...]  # one per column that makes up the observation
    action: tuple[Coded, ...]
    reward: Amounts | None
    terminated: Bools | None  # (N,)
    node: Coded | None
    propensity: Amounts | None
    cluster: Coded | None
    behavior: Coded | None
    priced: Mapping[str, Amounts]  # by column

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
        return f"{self.source.name}, row {self.row[i]}, column {printable(column)!r}"


def _take(column: Any, index: Array) -> Any:
    if column is None:
        return None
    if isinstance(column, tuple):
        return tuple(_take(each, index) for each in column)
    if isinstance(column, Mapping):
        return {name: _take(each, index) for name, each in column.items()}
    return column[index] if hasattr(column, "dtype") else column.take(index)


def load(source: Source, parts: Parts, asked: Asked) -> LogRows:
    """Read every batch of a log."""
    import pyarrow as pa

    single: dict[str, Any] = {
        part: _encoder(part, source, name) for part, name in parts.single.items()
    }
    symbols = {
        part: [
            Ranges(source, name, asked.bins[name]) if name in asked.bins else Names(source, name)
            for name in parts.of(part)
        ]
        for part in ("observation", "action")
    }
    priced = {name: Numbers(source, name) for name in parts.priced}
    wanted: list[tuple[str, Encoder]] = [
        *((parts.single[part], encoder) for part, encoder in single.items()),
        *(
            (name, e)
            for part, es in symbols.items()
            for name, e in zip(parts.of(part), es, strict=True)
        ),
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
    columns = {part: single[part].result() for part in parts.single}
    rows = LogRows(
        source=source,
        parts=parts,
        row=source.rows(n),
        episode=_labelled(columns.get("episode"), single.get("episode")),
        step=columns.get("step"),
        time=columns.get("time"),
        observation=tuple(encoder.result() for encoder in symbols["observation"]),
        action=tuple(encoder.result() for encoder in symbols["action"]),
        reward=columns.get("reward"),
        terminated=columns.get("terminated"),
        node=columns.get("node"),
        propensity=columns.get("propensity"),
        cluster=columns.get("cluster"),
        behavior=columns.get("behavior"),
        priced={name: encoder.result() for name, encoder in priced.items()},
    )
    pa.default_memory_pool().release_unused()  # Arrow keeps what the batches took for the next ones
    return rows


def _encoder(part: str, source: Source, name: str) -> Encoder:
    if part in ("reward", "propensity"):
        return Numbers(source, name)
    if part == "terminated":
        return Flags(source, name)
    if part in ("step", "time"):
        return Times(source, name, "step" if part == "step" else "time")
    return Names(source, name)


def _labelled(episode: Coded | None, encoder: Encoder | None) -> Coded | None:
    if episode is not None and encoder is not None:
        holes = (episode.code < 0).nonzero()[0]
        if len(holes):
            raise encoder.missing(
                "episode", holes, "Write in every row which episode it belongs to."
            )
    return episode
