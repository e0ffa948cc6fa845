"""Counting a log of any size: `count_logs`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from jumar.io.logs.encoding import NotPlain
from jumar.large import kernels
from jumar.large.batches import check_alike
from jumar.large.counted import Counted, CountedFiles, nothing
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

Progress = Callable[[int, int], None]  # rows that are done, and all


@dataclass(frozen=True)
class Counting:
    """What a worker must know to count any shard of a log."""

    plan: FilePlan
    reading: ShardReading
    memory: Memory

    def __call__(self, shard: tuple[int, int]) -> tuple[Counted, Stretch | None]:
        """The counts of the episodes that begin in a shard, and their labels."""
        if is_plain(self.reading):
            try:
                rows = plain_rows(self.plan, *shard, self.reading)
                return self._count(rows, self.reading.ends)
            except NotPlain:
                pass
        return self._count(general_rows(self.plan, *shard, self.reading), kernels.AS_MARKED)

    def _count(self, portions: Iterator[Portion], ends: int) -> tuple[Counted, Stretch | None]:
        reading, order = self.reading, EpisodeOrder()
        found = tally(self.memory, ends)
        for portion in portions:
            try:
                began = found.add(portion.rows, NO_PARTS)
            except Refused as refused:
                raise explain(portion, refused.row, reading, refused.unordered) from None
            order.add(labels_at(portion, began))
        found.finish()
        return found.counted(reading.observations, reading.actions)[0], order.stretch

    def keys(self, shard: tuple[int, int]) -> Ints:
        """The labels of the episodes that begin in a shard, as keys."""
        found = [
            label_keys(labels_at(p, np.flatnonzero(p.rows.begins)))
            for p in plain_rows(self.plan, *shard, self.reading)
        ]
        return np.concatenate(found) if found else NO_PARTS


def labels_at(portion: Portion, rows: Ints) -> Any:
    """The labels of some rows: whole numbers, or text as an Arrow array."""
    import pyarrow as pa

    if pa.types.is_integer(portion.labels.type):
        return portion.rows.episode[rows]
    labels = portion.labels.take(pa.array(rows))
    if pa.types.is_dictionary(labels.type):
        labels = labels.cast(labels.type.value_type)
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
    shards = job.plan.shards(SHARD_ROWS, at_least=jobs or engines.cores())
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
) -> Counted:
    """Count some shards and add them up."""
    watch = Watch()
    rows = {s: sum(unit.rows for unit in job.plan.units[s[0] : s[1]]) for s in shards}
    total = nothing(job.reading.observations, job.reading.actions, job.memory)
    stretches, done = {}, 0
    work = engines.run(
        Recipe(Counting, job.plan, job.reading, job.memory),
        shards,
        engine=engine,
        jobs=jobs,
        scheduler=scheduler,
    )
    for shard, (part, stretch) in work:
        total += replace(part, files=_counted_files(job, shard, stretch))
        stretches[shard] = stretch
        done += rows[shard]
        if progress is not None:
            progress(done, sum(rows.values()))
    check_together(job, [(s, stretches[s]) for s in shards if stretches[s] is not None])
    journal.info("Counted %s: %s (%s)", described(job.plan), total.summary, watch)
    return total


def _counted_files(job: Counting, shard: tuple[int, int], stretch: Stretch | None) -> CountedFiles:
    """What was counted, for the record."""
    found = CountedFiles()
    for unit in job.plan.units[shard[0] : shard[1]]:
        group = unit.group or 0
        found += CountedFiles(((unit.file.name, group, group + 1),))
    if stretch is None:
        return found
    rises = stretch.keys is None
    labels = ((stretch.first, stretch.last),) if rises else ()
    return replace(found, labels=labels, rising=rises)


def check_together(job: Counting, stretches: Sequence[tuple[tuple[int, int], Any]]) -> None:
    """No episode may begin twice."""
    again = repeated([s for _, s in stretches], lambda i: job.keys(stretches[i][0]))
    if again is None:
        return
    one, two = (job.plan.units[stretches[i][0][0]].file.name for i in again)
    raise LogError(
        f"{one}: an episode comes up a second time"
        + (f", in {two}" if two != one else ", after others")
        + ". The rows of an episode must lie together."
    )
