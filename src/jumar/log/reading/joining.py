"""The rows of several files as those of one.

Each file is read as it would be alone: its decimal mark and its dates are its own. What was
read is then put together, so that a name means the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError
from jumar.core.reading import FileRows
from jumar.core.text import printable, visible
from jumar.log.episodes import UNKNOWN
from jumar.log.formats import Source, no_rows
from jumar.log.problems import MOST, Fault, refusal
from jumar.log.reading.amounts import Amounts
from jumar.log.reading.asking import Asked
from jumar.log.reading.clocks import Clock
from jumar.log.reading.encoding import Coded
from jumar.log.reading.loading import LogRows, load
from jumar.log.reading.parts import Parts, find_parts
from jumar.log.several import NUMBERED, SeveralFiles

COLUMNS = [field.name for field in fields(LogRows)[4:]]  # all but source, parts, guessed and row


def load_each(source: SeveralFiles, asked: Asked, *, each_file: bool = False) -> LogRows:
    """Read every file of a log. Where episodes are numbered anew in `each_file`, the name of the
    file goes before their labels."""
    found: list[LogRows] = []
    labels: list[str] = []
    refused: list[LogError] = []
    for file, label in zip(source.sources, source.labels, strict=True):
        try:
            found.append(load(file, find_parts(file, asked), asked))
            labels.append(label)
        except LogError as error:
            if not error.no_rows:
                refused.append(error)
    if refused:
        problems = [Fault(problem) for error in refused for problem in error.problems]
        untold = max(0, len(problems) - MOST)
        raise refused[0] if len(refused) == 1 else refusal(problems[:MOST], untold)
    if not found:
        raise no_rows(source.name)
    if each_file:
        found = [_relabelled(rows, label) for rows, label in zip(found, labels, strict=True)]
    return _join(source, found)


def _relabelled(rows: LogRows, label: str) -> LogRows:
    if rows.episode is None:  # told apart by gaps alone
        return replace(rows, episode=Coded([label], np.zeros(len(rows), np.int32)))
    names = [f"{label}{NUMBERED}{name}" for name in rows.episode.names]
    return replace(rows, episode=replace(rows.episode, names=names))


def _join(source: SeveralFiles, found: Sequence[LogRows]) -> LogRows:
    parts = _parts_of_all(found)
    places, files, before = [], [], 0
    for rows in found:
        files.append(FileRows(before, visible(rows.source.name)))  # checks show them
        places.append(rows.row.astype(np.int64) + before)
        before = int(places[-1][-1])
    source.files = tuple(files)
    sizes = [len(rows) for rows in found]
    sources = [rows.source for rows in found]
    columns = {
        name: _together([getattr(rows, name) for rows in found], sizes, sources, name)
        for name in COLUMNS
    }
    told = tuple(dict.fromkeys(said for rows in found for said in rows.guessed))
    return LogRows(source, parts, told, np.concatenate(places), **columns)


def _parts_of_all(found: Sequence[LogRows]) -> Parts:
    """The parts that the columns of every file play. A file whose columns are not known before it
    is read through (NDJSON) may lack some."""
    merged = found[0].parts
    for part, column in (pair for rows in found for pair in _played(rows.parts).items()):
        for rows in found:
            own = _played(rows.parts).get(part)
            if own is None and rows.source.may_have_more:
                continue
            if own != column:
                other = next(r for r in found if _played(r.parts).get(part) == column)
                raise LogError(
                    f"{rows.source.name}: has no column {printable(column)!r} for the "
                    f"{part}, which {other.source.name} has. Leave the file out, or give it the "
                    "same columns."
                )
    for rows in found[1:]:
        merged = replace(
            merged,
            single={**rows.parts.single, **merged.single},
            signals={**rows.parts.signals, **merged.signals},
        )
    return merged


def _played(parts: Parts) -> dict[str, str]:
    return {
        **parts.single,
        "observation": "+".join(parts.observation),
        "action": "+".join(parts.action),
        **parts.signals,
    }


# ---- columns ------------------------------------------------------------------------------------


def _together(
    columns: Sequence[Any], sizes: Sequence[int], sources: Sequence[Source], name: str
) -> Any:
    """A column of all files; what a file lacks is missing there."""
    first = next((column for column in columns if column is not None), None)
    if first is None:
        return None
    if isinstance(first, tuple):
        return tuple(
            _together(list(each), sizes, sources, name) for each in zip(*columns, strict=True)
        )
    if isinstance(first, Mapping):
        keys = dict.fromkeys(key for column in columns for key in column)
        return {
            key: _together([column.get(key) for column in columns], sizes, sources, key)
            for key in keys
        }
    filled = [
        _nothing(first, size) if column is None else column
        for column, size in zip(columns, sizes, strict=True)
    ]
    if isinstance(first, Coded):
        _check_kinds(columns, sources, name)
        return _coded(filled)
    if isinstance(first, Clock):
        return _clock(filled, sources)
    if isinstance(first, Amounts):
        return Amounts(*(np.concatenate(each) for each in zip(*map(_pair, filled), strict=True)))
    return np.concatenate(filled)


def _pair(amounts: Amounts) -> tuple[Array, Array]:
    return amounts.values, amounts.missing


def _nothing(like: Any, size: int) -> Any:
    if isinstance(like, Coded):
        return Coded([], np.full(size, UNKNOWN, np.int32))
    if isinstance(like, Amounts):
        return Amounts(np.full(size, np.nan), np.ones(size, np.bool_))
    if isinstance(like, Clock):
        return Clock(like.column, np.zeros(size), like.per_second)
    return np.zeros(size, np.bool_)


def _coded(columns: Sequence[Coded]) -> Coded:
    number: dict[str, int] = {}
    codes = []
    for column in columns:
        own = [number.setdefault(name, len(number)) for name in column.names]
        codes.append(np.array([*own, UNKNOWN], np.int32)[column.code])
    return Coded(list(number), np.concatenate(codes))


def _check_kinds(columns: Sequence[Coded | None], sources: Sequence[Source], name: str) -> None:
    """10000000000 in one file and 1e+10 in another would be two names."""
    there = [(c, s) for c, s in zip(columns, sources, strict=True) if c is not None and c.names]
    _refuse_two(
        there,
        lambda column: column.pointed,
        lambda column: "numbers with a point" if column.pointed else "whole numbers or text",
        f"the {name}",
    )


def _clock(columns: Sequence[Clock], sources: Sequence[Source]) -> Clock:
    first = columns[0]
    _refuse_two(
        list(zip(columns, sources, strict=True)),
        lambda clock: clock.per_second is None,
        lambda clock: "plain numbers" if clock.per_second is None else "dates or times",
        f"the column {printable(first.column)!r}",
    )
    if first.per_second is None:
        return Clock(first.column, np.concatenate([clock.values for clock in columns]), None)
    finest = max(clock.per_second or 1 for clock in columns)
    values = [clock.values * (finest // (clock.per_second or 1)) for clock in columns]
    return Clock(first.column, np.concatenate(values), finest)


def _refuse_two(
    there: Sequence[tuple[Any, Source]],
    kind: Callable[[Any], bool],
    words: Callable[[Any], str],
    what: str,
) -> None:
    """All files must hold one kind of thing."""
    for column, source in there:
        if kind(column) != kind(there[0][0]):
            raise LogError(
                f"{source.name}: {what} is given by {words(column)}, but by {words(there[0][0])} "
                f"in {there[0][1].name}. Write all files alike."
            )
