"""Counting a log of any size: `count_logs`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jumar import engines
from jumar.core.arrays import Ints
from jumar.core.controller import Controller
from jumar.core.errors import LogError, ParameterError
from jumar.core.journal import Watch, journal
from jumar.core.memory import Memory
from jumar.core.memory.refinement import join
from jumar.engines import Recipe
from jumar.io.formats import FileOptions, is_dataset
from jumar.io.logs.asking import Asked, ask
from jumar.io.logs.assembling import check_ends
from jumar.io.problems import Problems
from jumar.large.batches import check_alike, check_none_has_more
from jumar.large.counted import Counted, CountedFiles, FilePart, nothing
from jumar.large.keeping import KeptShards
from jumar.large.order import EpisodeOrder, Stretch, label_keys, repeated
from jumar.large.reading import (
    Portion,
    ReadGenerally,
    ShardReading,
    Unordered,
    explain,
    parts_of,
    rows_of,
)
from jumar.large.shards import FilePlan, LogSource, described, plan
from jumar.large.tally import Refused, tally

SHARD_ROWS = 6_000_000
NO_PARTS: Ints = np.zeros(0, np.int64)

Stretches = Mapping[str, Stretch | None]  # by file

LogSources: TypeAlias = "LogSource | Sequence[LogSource]"
Progress = Callable[[int, int], None]  # rows that are done, and all


class ShardCounted(NamedTuple):
    """What a worker found in a shard."""

    counted: Counted
    stretches: Stretches  # the labels of its episodes
    reach: int  # the last unit with rows of its episodes


@dataclass(frozen=True)
class Counting:
    """What a worker must know to count any shard of a log."""

    plan: FilePlan
    reading: ShardReading
    memory: Memory

    @property
    def described(self) -> dict[str, Any]:
        """All that determines the counts but the files that lie in order, in plain types."""
        names = self.reading.observations, self.reading.actions
        sources = self.plan.sources
        return {
            "sources": [[file.name, file.size, file.changed] for file in sources],
            "sorted": [unit.rows for unit in self.plan.units] if sources else [],
            "asked": [repr(self.reading.asked), self.reading.each_file],
            "options": repr(self.reading.options),
            "names": names,
            "memory": self.memory.to_document(*names),
        }

    def rows(self, shard: tuple[int, int]) -> int:
        """Of a shard, more or less."""
        return sum(unit.rows for unit in self.plan.units[shard[0] : shard[1]])

    def __call__(self, shard: tuple[int, int]) -> ShardCounted:
        """The counts of the episodes that begin in a shard."""
        return self._count(*rows_of(self.plan, *shard, self.reading))

    def generally(self) -> Counting:
        """The same work, with all rows read the general way."""
        return replace(self, reading=replace(self.reading, plainly=False))

    def _count(self, portions: Iterator[Portion], ends: int) -> ShardCounted:
        reading, reach = self.reading, -1
        orders: dict[str, EpisodeOrder] = {}
        found = tally(self.memory, ends)
        for portion in portions:
            try:
                began = found.add(portion.rows, NO_PARTS)
            except Refused as refused:
                raise explain(portion, refused.row, reading, refused.unordered) from None
            order = orders.setdefault(portion.unit.file.name, EpisodeOrder())
            order.add(portion.labels_of(began))
            reach = portion.number
            del portion  # or its rows are held while the next ones are decoded
        found.finish()
        stretches = {file: order.stretch for file, order in orders.items()}
        counted = found.counted(reading.observations, reading.actions)[0]
        return ShardCounted(counted, stretches, reach)

    def keys(self, shard: tuple[int, int], file: str) -> Ints:
        """The labels of the episodes that begin in a file of a shard, as keys."""
        return _keys(rows_of(self.plan, *shard, self.reading)[0], file)


def _keys(portions: Iterator[Portion], file: str) -> Ints:
    found = [
        label_keys(p.labels_of(np.flatnonzero(p.rows.begins)))
        for p in portions
        if p.unit.file.name == file
    ]
    return np.concatenate(found) if found else NO_PARTS


def count_logs(
    sources: LogSources,
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
    """Count logs of any size where they lie, in one pass and with little memory.

    Parameters
    ----------
    sources
        A file, a folder, a pattern such as ``"logs/*.parquet"``, an address such as
        ``"s3://bucket/logs"``, a ``pyarrow.dataset``, or several of them; sorted by episode, then
        by step.
    like
        The controller that made the logs: its names, and what it remembers.
    memory
        What else is to be remembered, as ``window(2)``.
    file_format
        Of files whose names do not tell.
    engine
        Who does the work: "here" (threads), "processes", or "dask".
    jobs
        How many shards at once; all cores by default.
    scheduler
        The address of a running Dask cluster.
    progress
        Called with the rows that are done, and all.
    **reading
        How the logs are written, as for `read_logs`; ``each_file=True`` where episodes are numbered
        anew in every file; ``sort=True`` where rows lie anywhere (needs DuckDB).

    Returns
    -------
    Counted
        What algorithms need to know. Counts of parts add up with ``+``; ``.counts`` are tables.

    Examples
    --------
    >>> import os, tempfile
    >>> from jumar import models, simulate, window, write_logs
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "log.parquet")
    ...     write_logs(simulate(tiger, behavior, episodes=500, seed=1), path)
    ...     count_logs(path, behavior, memory=window(2)).facts.episodes
    500
    """
    with prepared(sources, like, memory=memory, file_format=file_format, **reading) as job:
        shards = job.plan.shards(SHARD_ROWS, jobs)
        return run(job, shards, engine=engine, jobs=jobs, scheduler=scheduler, progress=progress)


def prepare(sources: LogSources, like: Controller, **asked: Any) -> Counting:
    """The work on logs that lie in order, as `prepared` gives it."""
    with prepared(sources, like, **asked) as job:
        if job.plan.sources:
            raise ParameterError("sort: a sorted log does not last. Use `prepared`.")
        return job


@contextmanager
def prepared(
    sources: LogSources,
    like: Controller,
    *,
    memory: Memory | None = None,
    file_format: str | None = None,
    each_file: bool = False,
    sort: bool = False,
    **reading: Any,
) -> Iterator[Counting]:
    """The work, before anything is read but the first lines of each file. To `sort` takes reading
    all of it; the sorted log is gone afterwards."""
    several = _several(sources)
    if not several:
        raise ParameterError("logs: there is nothing to count. Give a file or a folder.")
    file = {name: reading.pop(name, None) for name in ("separator", "encoding", "turns", "sheet")}
    asked = ask(**{**DEFAULTS, **reading})
    options = FileOptions.checked(*file.values())
    found = plan(several, file_format, options)
    with ExitStack() as stack:
        if sort:
            _check_sortable(each_file)
            from jumar.large.sorting import sorted_log

            found, options = stack.enter_context(sorted_log(found, asked, options)), FileOptions()
        yield _job(found, like, memory, asked, options, each_file)


def _several(sources: Any) -> list[LogSource]:
    one = isinstance(sources, str | os.PathLike) or is_dataset(sources)
    return [sources] if one else list(sources)


def _check_sortable(each_file: bool) -> None:
    if each_file:
        raise ParameterError(
            "sort: rows are put together by the labels of episodes, which each_file (--each-file) "
            "says are used again in other files. Give episodes labels of their own, or leave one "
            "of the two out."
        )


def _job(
    found: FilePlan,
    like: Controller,
    memory: Memory | None,
    asked: Asked,
    options: FileOptions,
    each_file: bool,
) -> Counting:
    parts = parts_of(found.files[0], asked, options)
    problems = Problems()
    check_ends(found.files[0].name, parts.single.get("terminated"), asked, problems)
    problems.check()
    check_alike(found.files, parts)
    check_none_has_more(found.files, asked, options)
    wanted = like.memory
    if memory is not None:
        wanted = join(like.memory, memory.on(len(like.observations), len(like.actions)))
    read = ShardReading(like.observations, like.actions, asked, options, parts, each_file)
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
    try:
        return _run(job, shards, engine, jobs, scheduler, progress, kept, finished or {})
    except ReadGenerally as found:
        if not _all_of(job.plan, shards):  # others have counted their part plainly, or will
            raise LogError(
                f"{job.plan.files[0].name}: not all rows of this log are plain ({found}), so that "
                "its parts cannot be counted apart. Count it at once, without --shard; or write it "
                "as Parquet, with numbers as numbers."
            ) from None
        if kept is not None:
            kept.begin(resume=False)
        return _run(job.generally(), shards, engine, jobs, scheduler, progress, kept, {})


def _all_of(plan: FilePlan, shards: Sequence[tuple[int, int]]) -> bool:
    """Do some shards make up all of a log?"""
    return sum(last - first for first, last in shards) == len(plan.units)


def _run(
    job: Counting,
    shards: Sequence[tuple[int, int]],
    engine: str,
    jobs: int | None,
    scheduler: str | None,
    progress: Progress | None,
    kept: KeptShards | None,
    finished: Mapping[tuple[int, int], Counted],
) -> Counted:
    watch = Watch()
    total = nothing(job.reading.observations, job.reading.actions, job.memory)
    stretches: dict[tuple[int, int], Stretches] = {}
    done, whole = 0, sum(map(job.rows, shards))
    for shard, part in _parts(job, shards, finished, kept, engine, jobs, scheduler):
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
    for shard, (counted, stretches, reach) in work:
        counted = replace(counted, files=_counted_files(job, shard, stretches))
        if kept is not None:
            kept.keep(shard, counted, reach)
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
    if job.reading.each_file:
        for file in sorted({file for by_file in stretches.values() for file in by_file}):
            own = {s: {file: found[file]} for s, found in stretches.items() if file in found}
            check_together(replace(job, reading=replace(job.reading, each_file=False)), own)
        return
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
    raise Unordered(
        f"{one}: an episode comes up a second time, {place}. The rows of an episode must lie "
        "together. If episodes are numbered anew in every file, say each_file=True "
        "(--each-file). If rows are scattered, sort them by episode and step, or say sort=True "
        "(--sort), which needs DuckDB: pip install 'jumar[duckdb]'."
    )
