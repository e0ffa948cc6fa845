"""Logs too large to be held: they are counted where they lie, for the test that follows."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from jumar.core.randomness import generator
from jumar.core.resources import check_room
from jumar.evidence.consistency import check_counted
from jumar.gate import dealing
from jumar.gate.bench import chain
from jumar.gate.dealing import DealtLog, key_of, salt_of
from jumar.gate.selecting import MORE_MEMORY
from jumar.log.addresses import as_typed
from jumar.log.files import LogFile, dataset_files, files_of, is_several
from jumar.log.formats import is_dataset
from jumar.log.reading import LogFiles
from jumar.log.shards.plan import BYTES_OF_A_ROW, PARQUET, rows_of_parquet
from jumar.memory import Memory
from jumar.options import Options
from jumar.policy.controller import Controller

BYTES_OF_PACKED = 4  # of a row of Parquet, of which one would have to read the end
BYTES_OF_A_STEP = 100  # in memory, while a log is read and replayed


def is_large(files: LogFiles) -> bool:
    """Are these files likely to have more steps than are held?"""
    return rows_of(files) > dealing.LARGE


def rows_of(files: LogFiles) -> int:
    """How many there are, more or less, without reading any."""
    found: list[LogFile] = []
    for source in files.listed:
        if is_dataset(source):
            found += dataset_files(source)
            continue
        text = as_typed(str(source))
        if Path(text).is_file():
            found.append(LogFile(text, "", Path(text).stat().st_size))
        elif "://" in text or is_several(text):  # else a pipe, or a dataset that has a name
            found += files_of(text, files.reading.get("file_format"))
    return sum(_rows(file) for file in found)


def _rows(file: LogFile) -> int:
    path = Path(file.name)
    if path.suffix == ".parquet" and path.is_file():
        return rows_of_parquet(path)
    return file.size // (BYTES_OF_PACKED if file.kind == PARQUET else BYTES_OF_A_ROW)


def check_held(files: LogFiles, why: str) -> None:
    """Refuse to hold what the machine has no room for."""
    rows = rows_of(files)
    check_room(
        f"{why}: this takes every one of {rows:,} steps at once",
        rows * BYTES_OF_A_STEP,
        "Leave it out, and the log is read in parts; or use fewer files.",
    )


def surveyed(
    files: LogFiles,
    behavior: Controller,
    memory: Memory | None,
    asked: Options,
    seed: int,
    kept: ExitStack,
) -> DealtLog | None:
    """The log, read once in parts; None where it is not large after all. What is `kept` must last
    as long as the log is asked for anything."""
    from jumar.gate.surveying import LogInParts, survey
    from jumar.log.shards.reading import ReadGenerally, typical_length
    from jumar.tally.counting import SHARD_ROWS, prepared

    work = kept.enter_context(
        prepared(files.listed, behavior, sort=files.sort, **dict(files.reading))
    )
    job = replace(work, memory=chain(behavior.memory, memory, MORE_MEMORY)[-1])
    log = LogInParts(
        job,
        tuple(job.plan.shards(SHARD_ROWS, files.jobs)),
        key_of(salt_of(generator(seed, "selection"))),
        asked.discount,
        typical_length(job.plan, job.reading),
    )
    try:
        found = survey(log, **files.workers)
    except ReadGenerally:
        found = survey(log.generally(), **files.workers)
    if found.facts.n_steps <= dealing.LARGE:
        return None
    if files.progress is not None:  # what comes first may decide, and the rest is not read again
        kept.callback(files.progress, 2 * log.rows, 2 * log.rows)
    check_counted(found.whole.counts, behavior, found.facts.facts.rewards, asked.rewards)
    return found.dealt(behavior, **files.workers)
