"""Counting a log of any size: `count_logs`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from jumar import engines
from jumar.core.arrays import Ints
from jumar.core.controller import Controller
from jumar.core.errors import LogError, ParameterError
from jumar.core.journal import Watch, journal
from jumar.core.memory import Memory
from jumar.core.memory.refinement import join
from jumar.engines import Recipe
from jumar.io.formats import FileOptions
from jumar.io.logs.asking import ask
from jumar.io.logs.assembling import check_ends
from jumar.io.logs.encoding import NotPlain
from jumar.io.problems import Problems
from jumar.large import kernels
from jumar.large.batches import check_alike
from jumar.large.counted import Counted, CountedFiles, FilePart, nothing
from jumar.large.keeping import KeptShards
from jumar.large.order import EpisodeOrder, Stretch, label_keys, repeated
from jumar.large.reading import (
    Portion,
    ShardReading,
    explain,
    general_rows,
    is_plain,
    parts_of,
    plain_rows,
)
from jumar.large.shards import FilePlan, described, plan
from jumar.large.tally import Refused, tally

SHARD_ROWS = 4_000_000
NO_PARTS: Ints = np.zeros(0, np.int64)

Stretches = Mapping[str, Stretch | None]  # by file

Progress = Callable[[int, int], None]  # rows that are done, and all


@dataclass(frozen=True)
class Counting:
    """What a worker must know to count any shard of a log."""

    plan: FilePlan
    reading: ShardReading
    memory: Memory

    @property
    def described(self) -> dict[str, Any]:
        """All that determines the counts, in plain types."""
        names = self.reading.observations, self.reading.actions
        return {
            "files": [[file.name, file.size, file.changed] for file in self.plan.files],
            "asked": repr(self.reading.asked),
            "options": repr(self.reading.options),
            "names": names,
            "memory": self.memory.to_document(*names),
        }

    def rows(self, shard: tuple[int, int]) -> int:
        """Of a shard, more or less."""
        return sum(unit.rows for unit in self.plan.units[shard[0] : shard[1]])

    def __call__(self, shard: tuple[int, int]) -> tuple[Counted, Stretches]:
        """The counts of the episodes that begin in a shard, and their labels by file."""
        if is_plain(self.reading):
            with suppress(NotPlain):
                rows = plain_rows(self.plan, *shard, self.reading)
                return self._count(rows, self.reading.ends)
        return self._count(general_rows(self.plan, *shard, self.reading), kernels.AS_MARKED)

    def _count(self, portions: Iterator[Portion], ends: int) -> tuple[Counted, Stretches]:
        reading = self.reading
        orders: dict[str, EpisodeOrder] = {}
        found = tally(self.memory, ends)
        for portion in portions:
            try:
                began = found.add(portion.rows, NO_PARTS)
            except Refused as refused:
                raise explain(portion, refused.row, reading, refused.unordered) from None
            order = orders.setdefault(portion.unit.file.name, EpisodeOrder())
            order.add(labels_at(portion, began))
        found.finish()
        stretches = {file: order.stretch for file, order in orders.items()}
        return found.counted(reading.observations, reading.actions)[0], stretches

    def keys(self, shard: tuple[int, int], file: str) -> Ints:
        """The labels of the episodes that begin in a file of a shard, as keys."""
        if is_plain(self.reading):
            with suppress(NotPlain):  # for the same rows as when they were counted
                return _keys(plain_rows(self.plan, *shard, self.reading), file)
        return _keys(general_rows(self.plan, *shard, self.reading), file)


def _keys(portions: Iterator[Portion], file: str) -> Ints:
    found = [
        label_keys(labels_at(p, np.flatnonzero(p.rows.begins)))
        for p in portions
        if p.unit.file.name == file
    ]
    return np.concatenate(found) if found else NO_PARTS


def labels_at(portion: Portion, rows: Ints) -> Any:
    """The labels of some rows: whole numbers, or text as an Arrow array."""
    import pyarrow as pa

    if pa.types.is_integer(portion.labels.type):
        return portion.rows.episode[rows]
    labels = portion.labels.take(pa.array(rows))
    if pa.types.is_dictionary(labels.type):
        labels = labels.cast(pa.string())
    return labels


def count_logs(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    like: Controller,
    *,
    memory: Memory | None = None,
    file_format: str | None = None,
    engine: str = "here",
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Counted:
    """Count logs where they lie."""
    job = prepare(sources, like, memory=memory, file_format=file_format, **reading)
    shards = job.plan.shards(SHARD_ROWS, jobs)
    return run(job, shards, engine=engine, jobs=jobs, scheduler=scheduler, progress=progress)


def prepare(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    like: Controller,
    *,
    memory: Memory | None = None,
    file_format: str | None = None,
    **reading: Any,
) -> Counting:
    """The work, before anything is read but the first lines of each file."""
    several = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    if not several:
        raise ParameterError("logs: there is nothing to count. Give a file or a folder.")
    file = {name: reading.pop(name, None) for name in ("separator", "encoding", "turns", "sheet")}
    asked = ask(**{**DEFAULTS, **reading})
    options = FileOptions.checked(*file.values())
    found = plan(several, file_format)
    parts = parts_of(found.files[0], asked, options)
    problems = Problems()
    check_ends(found.files[0].name, parts.single.get("terminated"), asked, problems)
    problems.check()
    check_alike(found.files, parts)
    wanted = like.memory
    if memory is not None:
        wanted = join(like.memory, memory.on(len(like.observations), len(like.actions)))
    read = ShardReading(like.observations, like.actions, asked, options, parts)
    return Counting(found, read, wanted)


DEFAULTS: Mapping[str, Any] = {
    "columns": None,
    "ends": None,
    "cost": None,
    "bins": None,
    "gap": None,
    "missing": "error",
    "repeated": "error",
    "prices": None,
    "decimal": None,
    "dates": None,
}


def run(
    job: Counting,
    shards: Sequence[tuple[int, int]],
    *,
    engine: str = "here",
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    kept: KeptShards | None = None,
    finished: Mapping[tuple[int, int], Counted] | None = None,
) -> Counted:
    """Count some shards and add them up; what is finished already is not counted again, and what
    gets finished is kept."""
    watch = Watch()
    total = nothing(job.reading.observations, job.reading.actions, job.memory)
    stretches: dict[tuple[int, int], Stretches] = {}
    done, whole = 0, sum(map(job.rows, shards))
    for shard, part in _parts(job, shards, finished or {}, kept, engine, jobs, scheduler):
        total += part.counted
        stretches[shard] = part.stretches
        done += job.rows(shard)
        if progress is not None:
            progress(done, whole)
    check_together(job, stretches)
    journal.info("Counted %s: %s (%s)", described(job.plan), total.summary, watch)
    return total


class _Part(NamedTuple):
    counted: Counted
    stretches: Stretches


def _parts(
    job: Counting,
    shards: Sequence[tuple[int, int]],
    finished: Mapping[tuple[int, int], Counted],
    kept: KeptShards | None,
    engine: str,
    jobs: int | None,
    scheduler: str | None,
) -> Iterator[tuple[tuple[int, int], _Part]]:
    """Every shard as it is finished."""
    done = [shard for shard in shards if shard in finished]
    for shard in done:
        counted = finished[shard]
        told = [part for part in counted.files.parts if part.labels is not None]
        yield shard, _Part(counted, {p.file: Stretch(*_pair(p), p.rising) for p in told})
    work = engines.run(
        Recipe(Counting, job.plan, job.reading, job.memory),
        [shard for shard in shards if shard not in done],
        engine=engine,
        jobs=jobs,
        scheduler=scheduler,
    )
    for shard, (counted, stretches) in work:
        counted = replace(counted, files=_counted_files(job, shard, stretches))
        if kept is not None:
            kept.keep(shard, counted)
        yield shard, _Part(counted, stretches)


def _pair(part: FilePart) -> tuple[Any, Any]:
    assert part.labels is not None
    return part.labels


def _counted_files(job: Counting, shard: tuple[int, int], stretches: Stretches) -> CountedFiles:
    """What was counted, for the record."""
    parts = []
    for file, units in groupby(job.plan.units[shard[0] : shard[1]], lambda unit: unit.file.name):
        groups = [unit.group or 0 for unit in units]
        stretch = stretches.get(file)
        labels = None if stretch is None else (stretch.first, stretch.last)
        rises = stretch is None or stretch.rises
        parts.append(FilePart(file, groups[0], groups[-1] + 1, labels, rises))
    return CountedFiles(tuple(parts))


def check_together(job: Counting, stretches: Mapping[tuple[int, int], Stretches]) -> None:
    """No episode may begin twice."""
    places = [
        (shard, file, stretch)
        for shard in sorted(stretches)
        for file, stretch in stretches[shard].items()
        if stretch is not None
    ]
    again = repeated([stretch for *_, stretch in places], lambda i: job.keys(*places[i][:2]))
    if again is None:
        return
    one, two = (places[i][1] for i in again)
    place = "after others" if one == two else f"in {two}"
    raise LogError(
        f"{one}: an episode comes up a second time, {place}. The rows of an episode must lie "
        "together. If episodes are numbered anew in every file, give them other labels. If rows "
        "are scattered, sort them by episode and step, or say sort=True (--sort), which needs "
        "DuckDB: pip install 'jumar[duckdb]'."
    )
