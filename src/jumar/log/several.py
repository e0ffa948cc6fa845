"""Logs in several files, read as one: a folder, a pattern (``logs/2024-*.csv``), an address.

Rows come file by file, in the order of the names; messages say in which file a row stands. What
folders that are called ``key=value`` tell is a column of every row in them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumar.core.arrays import Array
from jumar.core.errors import LogError
from jumar.core.text import listing, printable
from jumar.log.addresses import Address, as_typed, is_address, shown_address, without_scheme
from jumar.log.files import LogFile, files_of
from jumar.log.formats import FileOptions, Source, Spooled, folder_format, located, open_log

NUMBERED = ":"  # between the name of a file and the label of an episode


def open_logs(source: Any, kind: str | None = None, options: FileOptions | None = None) -> Source:
    """What `open_log` opens, or a log in several files."""
    options = options or FileOptions()
    if isinstance(source, list | tuple) and all(isinstance(s, str | os.PathLike) for s in source):
        listed = [file for one in source for file in files_of(as_typed(one), kind)]
        return _joined(f"{len(listed):,} files", listed, options)
    if not isinstance(source, str | os.PathLike) or isinstance(source, Spooled):
        return open_log(source, kind, options)
    name = without_scheme(as_typed(source))
    if not is_several(name):
        return open_log(source if name == as_typed(source) else name, kind, options)
    return _joined(shown_address(name), files_of(name, kind), options)


def _joined(name: str, files: Sequence[LogFile], options: FileOptions) -> SeveralFiles:
    labels = [file.label for file in files]
    return SeveralFiles(name, [open_file(file, options) for file in files], labels)


def is_several(source: str | os.PathLike[str]) -> bool:
    """Is it a folder of logs or a pattern, here or in a store?"""
    text = without_scheme(as_typed(source))
    if is_address(text):
        return Address.of(text).is_folder()
    path = Path(located(text))
    if path.is_dir():
        return folder_format(path) is None
    return any(mark in str(path) for mark in "*?[") and not path.exists()


class SeveralFiles(Source):
    """Files one after the other. F of them."""

    def __init__(self, name: str, sources: Sequence[Source], labels: Sequence[str]) -> None:
        first = sources[0]
        self.name, self.sources = name, sources
        self.labels = labels  # (F,) by which they are told apart
        self.names = [*dict.fromkeys(column for source in sources for column in source.names)]
        self.separator, self.advice = first.separator, first.advice
        if all(source.metadata == first.metadata for source in sources):
            self.metadata = first.metadata

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        """For a first look: as they stand in the files, each of which writes numbers in its way."""
        for source in self.sources:
            yield from source.batches(columns, text)

    @property
    def in_all(self) -> list[str]:
        return [name for name in self.names if all(name in s.names for s in self.sources)]


def in_file(label: str, labels: Any) -> Any:
    """Labels of episodes with that of their file before them, where they are numbered anew in
    each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(pa.scalar(label), labels.cast(pa.string()), NUMBERED)


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
    """A file with the columns that its folders tell; these hold, if it has them too."""

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
