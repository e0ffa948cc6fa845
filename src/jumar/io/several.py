"""Logs in several files, read as one: a folder, a pattern (``logs/2024-*.csv``), an address.

Rows come file by file, in the order of the names; messages say in which file a row stands. What
folders that are called ``key=value`` tell is a column of every row in them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError, ParameterError
from jumar.core.rows import FileRows
from jumar.core.text import listing, printable
from jumar.io.addresses import Address, as_typed, is_address, shown_address
from jumar.io.formats import FileOptions, Source, folder_format, located, open_log
from jumar.io.log_files import LogFile, files_of

NUMBERED = ":"  # between the name of a file and the label of an episode


def open_logs(source: Any, kind: str | None = None, options: FileOptions | None = None) -> Source:
    """What `open_log` opens, or a log in several files."""
    options = options or FileOptions()
    if not isinstance(source, str | os.PathLike) or not is_several(source):
        return open_log(source, kind, options)
    name = as_typed(source)
    files = files_of(name, kind)
    if len(files) == 1:
        return open_file(files[0], options)
    return SeveralFiles(shown_address(name), [open_file(file, options) for file in files])


def is_several(source: str | os.PathLike[str]) -> bool:
    """Is it a folder of logs or a pattern, here or in a store?"""
    text = as_typed(source)
    if is_address(text):
        return Address.of(text).is_folder()
    path = Path(located(source))
    if path.is_dir():
        return folder_format(path) is None
    return any(mark in str(path) for mark in "*?[") and not path.exists()


class SeveralFiles(Source):
    """Files one after the other. F of them."""

    def __init__(self, name: str, sources: Sequence[Source]) -> None:
        first = sources[0]
        self.name, self._sources = name, sources
        self.names = [*dict.fromkeys(column for source in sources for column in source.names)]
        self.separator, self.guessed, self.advice = first.separator, first.guessed, first.advice
        self.once = {column for source in sources for column in source.once}
        self.has_points = any(source.has_points for source in sources)
        self.may_have_more = any(source.may_have_more for source in sources)
        self.readable_again = all(source.readable_again for source in sources)
        if all(source.metadata == first.metadata for source in sources):
            self.metadata = first.metadata
        self.seen = set()
        self.numbered_anew: str | None = None  # a column of labels that mean another in every file
        self._read = [0] * len(sources)  # (F,) entries

    @property
    def in_all(self) -> list[str]:
        return [name for name in self.names if all(name in s.names for s in self._sources)]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        self._read = [0] * len(self._sources)
        self.seen = {*self.names}
        for f, source in enumerate(self._sources):
            # columns that only may come up in another file are not missed in this one
            unknown = [] if source.may_have_more else [c for c in columns if c not in self.names]
            known = [name for name in columns if name not in unknown]
            if not source.may_have_more:
                check_columns(source.name, source.names, known)
            for batch in source.batches(known, text):
                if source.may_have_more:
                    self.seen.update(source.seen)
                self._read[f] += batch.num_rows
                yield self._relabelled(_with_nothing(batch, unknown), source)

    def _relabelled(self, batch: Any, source: Source) -> Any:
        if self.numbered_anew is None:
            return batch
        i = batch.schema.get_field_index(self.numbered_anew)
        labels = in_file(source.name, batch.column(i))
        return batch.set_column(i, self.numbered_anew, labels)

    def rows(self, n: int) -> Array:
        found, before = [np.zeros(0, np.int64)], 0
        for source, read in zip(self._sources, self._read, strict=True):
            own = source.rows(min(read, n)).astype(np.int64) + before
            found.append(own)
            before = int(own[-1]) if len(own) else before
            n -= len(own)
        return np.concatenate(found)

    @property
    def files(self) -> tuple[FileRows, ...]:  # type: ignore[override]
        """Those that were read so far, with the places of their rows."""
        found, before = [], 0
        for source, read in zip(self._sources, self._read, strict=True):
            if read:
                found.append(FileRows(before, source.name))
                before += int(source.rows(read)[-1])
        return tuple(found)


def _with_nothing(batch: Any, columns: Sequence[str]) -> Any:
    """With columns that have no entries."""
    import pyarrow as pa

    for name in columns:
        batch = batch.append_column(name, pa.nulls(batch.num_rows, pa.string()))
    return batch


def in_file(file: str, labels: Any) -> Any:
    """Labels with the name of their file before them, where they are numbered anew in each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(labels.type):
        labels = labels.cast(labels.type.value_type)
    name = pa.scalar(file.rpartition("/")[2])
    return pc.binary_join_element_wise(name, labels.cast(pa.string()), NUMBERED)


def number_anew(source: Source, label: str | None) -> None:
    """Episodes are numbered anew in every file: they are told apart by its name."""
    if not isinstance(source, SeveralFiles):
        raise ParameterError(
            f"each_file: {source.name} is one file. Leave it out (--each-file), or give a folder "
            "of logs."
        )
    if label is None:
        raise ParameterError(
            f"each_file: {source.name} has no column that numbers episodes. Name it: "
            "columns={'episode': ...} (--columns episode=NAME)."
        )
    source.numbered_anew = label


# ---- one file of several ------------------------------------------------------------------------


def open_file(file: LogFile, options: FileOptions) -> Source:
    """A file as a source, with the columns that its folders tell."""
    source = open_untold(file, options)
    return _ToldToo(source, file) if file.partition else source


def open_untold(file: LogFile, options: FileOptions) -> Source:
    """A file as a source, with its own columns."""
    source = open_log(file.place, file.kind, options)
    source.name = file.name
    return source


class _ToldToo(Source):
    """A file with the columns that its folders tell."""

    def __init__(self, source: Source, file: LogFile) -> None:
        self._source, self._told = source, dict(file.partition)
        self.name, self.separator, self.guessed = source.name, source.separator, source.guessed
        self.metadata, self.advice = source.metadata, source.advice
        self.once, self.has_points = source.once, source.has_points
        self.may_have_more = source.may_have_more
        if source.may_have_more:
            self.seen = {*source.seen, *self._told}
        self.names = [*source.names, *(key for key in self._told if key not in source.names)]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        inside = [name for name in columns if name not in self._told]
        for batch in self._source.batches(inside, text):
            if self.may_have_more:
                self.seen.update(self._source.seen)
            yield with_told(batch, columns, self._told)

    def rows(self, n: int) -> Array:
        return self._source.rows(n)


def with_told(batch: Any, columns: Sequence[str], told: Mapping[str, str]) -> Any:
    """With the columns that the folders of the file tell."""
    import pyarrow as pa

    missing = [name for name in columns if name not in batch.schema.names and name in told]
    for name in missing:
        words = pa.DictionaryArray.from_arrays(
            pa.array([0] * batch.num_rows, pa.int32()), pa.array([told[name]], pa.string())
        )
        batch = batch.append_column(name, words)
    return batch


def check_columns(file: str, names: Collection[str], wanted: Collection[str]) -> None:
    """Has a file all columns that the first one has?"""
    missing = [name for name in wanted if name not in names]
    if missing:
        raise LogError(
            f"{file}: has no column {listing([printable(m) for m in missing])}, which the "
            f"other files have. Leave the file out, or give it the same columns."
        )
