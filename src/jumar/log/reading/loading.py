"""From batches to columns of numbers, one entry per row of the file."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from jumar.core.arrays import Array, Bools
from jumar.core.reading import file_of, place_words, row_words
from jumar.core.text import printable
from jumar.log.formats import Source, no_rows
from jumar.log.problems import Problems
from jumar.log.reading.amounts import Amounts, Numbers, Ranges, are_doubtful, settle_marks
from jumar.log.reading.asking import COMBINED, NEEDED, OPTIONAL, Asked
from jumar.log.reading.clocks import Clock, Times
from jumar.log.reading.dates import spoken
from jumar.log.reading.encoding import Coded, Encoder, Flags, Names, NotPlain, so_in_all
from jumar.log.reading.parts import Parts, those_that_came

AMOUNTS = ("reward", "propensity")  # parts that are numbers


@dataclass(frozen=True)
class LogRows:
    """The rows of a log. N of them; columns that the log does not have are None."""

    source: Source
    parts: Parts
    guessed: tuple[str, ...]  # what was recognised and not said
    row: Array  # (N,) where each stands in the file (`jumar.core.reading`)
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
    signals: Mapping[str, Amounts]  # by name

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
            self.guessed,
            *(_take(getattr(self, field.name), index) for field in fields(self)[3:]),
        )

    def row_words(self, i: int) -> str:
        """Where a row stands in the file; or in which of several."""
        return row_words(self.row[i], self.source.files)

    def place(self, i: int) -> str:
        """The same, with the file."""
        return place_words(self.source.name, self.row[i], self.source.files)

    def in_one_file(self, i: int, j: int) -> bool:
        """Do two rows stand in the same file?"""
        files = self.source.files
        return file_of(self.row[i], files) == file_of(self.row[j], files)

    def cell(self, i: int, column: str) -> str:
        """Names one entry of a column."""
        return f"{self.place(i)}, column {printable(column)!r}"

    def so_in_all(self, which: Array) -> str:
        """How many rows lack something, the first of which is named already."""
        return so_in_all(self.row[which], self.source.files)


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
    as_words: set[str] = set()  # columns of numbers or times that are not all plain
    if asked.decimal == "," or (asked.decimal is None and are_doubtful(source)):
        # what looks plain is a number with a point
        amounts = (parts.single.get(part, "") for part in AMOUNTS)
        as_words.update((*amounts, *parts.priced, *parts.signals.values(), *asked.bins))
    while True:
        try:
            return _load(source, parts, asked, as_words)
        except NotPlain as found:  # at most once per column
            as_words.update(found.columns)


def _load(source: Source, parts: Parts, asked: Asked, as_words: Collection[str]) -> LogRows:
    import pyarrow as pa

    single: dict[str, Any] = {
        part: _encoder(part, source, name, asked, name in as_words)
        for part, name in parts.single.items()
    }
    symbols = {
        part: [
            Ranges(source, name, asked.bins[name], name in as_words)
            if name in asked.bins
            else Names(source, name)
            for name in parts.of(part)
        ]
        for part in ("observation", "action")
    }
    priced = {name: Numbers(source, name, name in as_words) for name in parts.priced}
    signals = {
        name: Numbers(source, column, column in as_words) for name, column in parts.signals.items()
    }
    wanted: list[tuple[str, Encoder]] = [
        *((parts.single[part], encoder) for part, encoder in single.items()),
        *(
            (name, e)
            for part, es in symbols.items()
            for name, e in zip(parts.of(part), es, strict=True)
        ),
        *priced.items(),
        *((parts.signals[name], encoder) for name, encoder in signals.items()),
    ]
    text = {name for name, encoder in wanted if isinstance(encoder, Names)}
    n = 0
    for batch in source.batches(parts.columns, text):
        n += batch.num_rows
        for name, encoder in wanted:
            encoder.add(batch.column(name))
    if n == 0:
        raise no_rows(source.name)
    came = those_that_came(source, parts, asked)
    numbers = [encoder for _, encoder in wanted if isinstance(encoder, Numbers)]
    guessed = [*source.guessed, *settle_marks(source, numbers, asked.decimal)]
    problems = Problems()
    columns = {part: single[part].result(problems) for part in came.single}
    columns["episode"] = _labelled(columns.get("episode"), single.get("episode"), problems)
    rows = LogRows(
        source=source,
        parts=came,
        guessed=tuple(guessed + _guessed_dates(single[part] for part in came.single)),
        row=source.rows(n),
        observation=tuple(encoder.result(problems) for encoder in symbols["observation"]),
        action=tuple(encoder.result(problems) for encoder in symbols["action"]),
        priced={name: encoder.result(problems) for name, encoder in priced.items()},
        signals={name: encoder.result(problems) for name, encoder in signals.items()},
        **{part: columns.get(part) for part in (*NEEDED, *OPTIONAL) if part not in COMBINED},
    )
    pa.default_memory_pool().release_unused()  # Arrow keeps what the batches took for the next ones
    problems.check()
    return rows


def _encoder(part: str, source: Source, name: str, asked: Asked, as_words: bool) -> Encoder:
    if part in AMOUNTS:
        return Numbers(source, name, as_words)
    if part == "terminated":
        return Flags(source, name)
    if part == "step":
        return Times(source, name, "step", decimal=asked.decimal, as_words=as_words)
    if part == "time":
        return Times(source, name, "time", asked.dates, asked.decimal, as_words)
    return Names(source, name)


def _guessed_dates(encoders: Iterable[Encoder]) -> list[str]:
    return [
        f"whose dates in {printable(encoder.column)!r} are {spoken(encoder.guessed)} (recognised; "
        f"--dates {shlex.quote(encoder.guessed)})"
        for encoder in encoders
        if isinstance(encoder, Times) and encoder.guessed
    ]


def _labelled(episode: Coded | None, encoder: Encoder | None, problems: Problems) -> Coded | None:
    if episode is not None and encoder is not None:
        holes = (episode.code < 0).nonzero()[0]
        if len(holes):
            remedy = "Write in every row which episode it belongs to."
            encoder.missing("episode", holes, remedy, problems)
    return episode
