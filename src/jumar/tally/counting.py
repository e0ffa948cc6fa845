"""Counting a log of any size: `count_logs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jumar import engines
from jumar.core.arrays import Ints
from jumar.core.errors import LogError, ParameterError
from jumar.core.resources import Watch, journal
from jumar.engines import Recipe
from jumar.log.problems import Problems
from jumar.log.reading.assembling import check_ends
from jumar.log.reading.options import LogFiles, LogSource, Progress, ReadOptions
from jumar.log.shards.general import Unordered, explain
from jumar.log.shards.order import EpisodeOrder, Stretch, label_keys, repeated
from jumar.log.shards.plan import (
    CountedFiles,
    FilePart,
    FilePlan,
    check_alike,
    described,
    parts_of,
    plan,
)
from jumar.log.shards.reading import ReadGenerally, rows_of
from jumar.log.shards.rows import Portion, ShardReading
from jumar.memory import Memory
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.tally.counted import Counted, nothing
from jumar.tally.keeping import KeptShards
from jumar.tally.running import Refused, tally

SHARD_ROWS = 6_000_000
NO_PARTS: Ints = np.zeros(0, np.int64)

Shard = tuple[int, int]  # first and last unit, the last not included
Stretches = Mapping[str, Stretch]  # by file

LogSources: TypeAlias = "LogSource | Sequence[LogSource]"


class ShardCounted(NamedTuple):
    """What a worker found in a shard."""

    counted: Counted
    stretches: Stretches  # the labels of its episodes
    reach: int = -1  # the last unit with rows of its episodes


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
            "options": repr(self.reading.options),
            "names": names,
            "memory": self.memory.to_document(*names),
        }

    def rows(self, shard: Shard) -> int:
        """Of a shard, more or less."""
        return sum(unit.rows for unit in self.plan.units[shard[0] : shard[1]])

    def __call__(self, shard: Shard) -> ShardCounted:
        """The counts of the episodes that begin in a shard."""
        return self._count(*rows_of(self.plan, *shard, self.reading))

    def generally(self) -> Counting:
        """The same work, with all rows read the general way."""
        return replace(self, reading=replace(self.reading, plainly=False))

    def _count(self, portions: Iterator[Portion], ends: int) -> ShardCounted:
        reading, reach, order = self.reading, -1, EpisodeOrder()
        found = tally(self.memory, ends)
        for portion in portions:
            try:
                began = found.add(portion.rows, NO_PARTS)
            except Refused as refused:
                raise explain(portion, refused.row, reading, refused.unordered) from None
            order.add(portion.unit.file.name, portion.labels_of(began))
            reach = portion.number
            del portion  # or its rows are held while the next ones are decoded
        found.finish()
        counted = found.counted(reading.observations, reading.actions)[0]
        return ShardCounted(counted, order.stretches, reach)

    def keys(self, shard: Shard) -> dict[str, Ints]:
        """The labels of the episodes that begin in a shard, as keys, by file."""
        found: dict[str, list[Ints]] = {}
        for portion in rows_of(self.plan, *shard, self.reading)[0]:
            labels = portion.labels_of(np.flatnonzero(portion.rows.begins))
            found.setdefault(portion.unit.file.name, []).append(label_keys(labels))
        return {file: np.concatenate(keys) for file, keys in found.items()}


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


@contextmanager
def prepared(
    sources: LogSources,
    like: Controller,
    *,
    memory: Memory | None = None,
    file_format: str | None = None,
    sort: bool = False,
    **reading: Any,
) -> Iterator[Counting]:
    """The work, before anything is read but the first lines of each file. To `sort` takes reading
    all of it; the sorted log is gone afterwards."""
    several = LogFiles(sources).listed
    if not several:
        raise ParameterError("logs: there is nothing to count. Give a file or a folder.")
    names = {"observations": like.observations, "actions": like.actions}
    options = ReadOptions(file_format=file_format, **{**reading, **names})
    found = plan(several, options.file_format)
    with ExitStack() as stack:
        if sort:
            from jumar.log.shards.sorting import sorted_log

            found = stack.enter_context(sorted_log(found, options))
            options = options.of_parquet
        yield _job(found, like, memory, options)


def _job(
    found: FilePlan, like: Controller, memory: Memory | None, options: ReadOptions
) -> Counting:
    parts = parts_of(found.files[0], options)
    problems = Problems()
    check_ends(found.files[0].name, parts.single.get("terminated"), options, problems)
    problems.check()
    check_alike(found.files, parts, options)
    wanted = like.memory
    if memory is not None:
        wanted = join(like.memory, memory.on(len(like.observations), len(like.actions)))
    # in files of several kinds a label may be a number here and text there, and so may a step
    plainly = len({file.kind for file in found.files}) == 1
    return Counting(found, ShardReading(options, parts, plainly), wanted)


def run(
    job: Counting,
    shards: Sequence[Shard],
    *,
    progress: Progress | None = None,
    kept: KeptShards | None = None,
    finished: Mapping[Shard, Counted] | None = None,
    **workers: Any,
) -> Counted:
    """Count some shards and add them up; what is finished already is not counted again, and what
    gets finished is kept."""
    try:
        return _run(job, _parts(job, shards, finished or {}, kept, workers), shards, progress)
    except ReadGenerally as found:
        if sum(last - first for first, last in shards) < len(job.plan.units):
            # others have counted their part plainly, or will
            raise LogError(
                f"{job.plan.files[0].name}: not all rows of this log are plain ({found}), so that "
                "its parts cannot be counted apart. Count it at once, without --shard; or write it "
                "as Parquet, with numbers as numbers."
            ) from None
        if kept is not None:
            kept.begin(resume=False)
        job = job.generally()
        return _run(job, _parts(job, shards, {}, kept, workers), shards, progress)


def _run(
    job: Counting,
    parts: Iterator[tuple[Shard, ShardCounted]],
    shards: Sequence[Shard],
    progress: Progress | None,
) -> Counted:
    watch = Watch()
    total = nothing(job.reading.observations, job.reading.actions, job.memory)
    stretches: dict[Shard, Stretches] = {}
    done, whole = 0, sum(map(job.rows, shards))
    for shard, part in parts:
        total += part.counted
        stretches[shard] = part.stretches
        done += job.rows(shard)
        if progress is not None:
            progress(done, whole)
    check_together(job, stretches)
    journal.info("Counted %s: %s (%s)", described(job.plan), total.summary, watch)
    return total


def _parts(
    job: Counting,
    shards: Sequence[Shard],
    finished: Mapping[Shard, Counted],
    kept: KeptShards | None,
    workers: Mapping[str, Any],
) -> Iterator[tuple[Shard, ShardCounted]]:
    """Every shard as it is finished."""
    done = [shard for shard in shards if shard in finished]
    for shard in done:
        told = [(part, part.labels) for part in finished[shard].files.parts]
        labels = {p.file: Stretch(*both, p.rising) for p, both in told if both is not None}
        yield shard, ShardCounted(finished[shard], labels)
    recipe = Recipe(Counting, job.plan, job.reading, job.memory)
    to_do = [shard for shard in shards if shard not in done]
    for shard, part in engines.run(recipe, to_do, **workers):
        counted = replace(part.counted, files=_counted_files(job, shard, part.stretches))
        if kept is not None:
            kept.keep(shard, counted, part.reach)
        yield shard, part._replace(counted=counted)


def _counted_files(job: Counting, shard: Shard, stretches: Stretches) -> CountedFiles:
    """What was counted, for the record."""
    parts = []
    for file, units in groupby(job.plan.units[shard[0] : shard[1]], lambda unit: unit.file.name):
        groups = [unit.group or 0 for unit in units]
        stretch = stretches.get(file)
        labels = None if stretch is None else (stretch.first, stretch.last)
        rises = stretch is None or stretch.rises
        parts.append(FilePart(file, groups[0], groups[-1] + 1, labels, rises))
    return CountedFiles(tuple(parts))


def check_together(job: Counting, stretches: Mapping[Shard, Stretches]) -> None:
    """No episode may begin twice; where files number theirs anew, in each of them."""
    places = [(shard, *each) for shard in sorted(stretches) for each in stretches[shard].items()]
    groups: dict[str, list[tuple[Shard, str, Stretch]]] = {}
    for place in places:
        groups.setdefault(place[1] if job.reading.options.each_file else "", []).append(place)
    read = cache(job.keys)  # a shard is read once more at most
    for some in groups.values():
        _check_together(some, read)


def _check_together(
    places: Sequence[tuple[Shard, str, Stretch]], read: Callable[[Shard], Mapping[str, Ints]]
) -> None:
    again = repeated([place[2] for place in places], lambda i: read(places[i][0])[places[i][1]])
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
