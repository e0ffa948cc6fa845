"""Rows of any log that jumar can read, some thousand episodes at a time.

Whole episodes are read the way a log in memory is (`jumar.log.reading`), with all that can be asked
for there: gaps, prices, decimal commas, dates in words. So memory is bounded by the longest episode
and the size of a piece. It also says what is wrong with a row that a compiled loop refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.log.files import check_columns, open_file
from jumar.log.formats import Source
from jumar.log.formats.numpy_arrays import flags
from jumar.log.reading.assembling import assemble
from jumar.log.reading.loading import load
from jumar.log.reading.options import OPTIONAL
from jumar.log.reading.ordering import PIECE, arrange
from jumar.log.shards.plan import FilePlan, HeaderOnly, Unit
from jumar.log.shards.rows import NO_TIMES, Portion, RowBatch, ShardReading

PIECE_ROWS = 1 << 18


class Unordered(LogError):
    """The rows of a log do not lie so that it can be read in parts."""


def general_rows(plan: FilePlan, first: int, last: int, reading: ShardReading) -> Iterator[Portion]:
    """The rows of the files that begin in units `first` up to `last`, read the general way. An
    episode does not go on from one file to the next."""
    for i, unit in enumerate(plan.units[first:last], first):
        if unit.group not in (None, 0):
            continue  # the whole file is read where it begins
        source, before = open_file(unit.file, reading.options.file), 0
        parts = reading.parts
        may_come = [parts.single.get(part) for part in OPTIONAL] if source.may_have_more else []
        wanted = [name for name in parts.columns if name not in may_come]
        check_columns(unit.file.name, source.names, wanted)
        label = None
        for batches, at in _pieces(source, reading):
            log = episodes_of(source, reading, batches, at)
            portion = _portion(log, reading, unit, i, before)
            assert log.origin is not None
            label = str(log.origin.label[-1])
            before += len(portion.rows)
            yield portion
        if label is not None and "episode" in parts.single and not reading.options.each_file:
            _check_over(plan, i, label, reading)


def episodes_of(
    source: Source, reading: ShardReading, batches: Sequence[Any], before: int
) -> Episodes:
    """The episodes of some batches that come after so many rows; or an error that names the row."""
    options = reading.options
    return assemble(
        arrange(load(source, reading.parts, options, batches, before), options), options
    )


def _pieces(source: Source, reading: ShardReading) -> Iterator[tuple[list[Any], int]]:
    """A log in pieces of whole episodes, as batches, and how many rows come before."""
    parts = reading.parts
    label = parts.single.get("episode")
    words = {*parts.observation, *parts.action} - {*reading.options.cut}
    held: list[Any] = []
    before = n = 0
    for batch in source.batches(parts.columns, words):
        if batch.num_rows == 0:
            continue
        held.append(batch)
        n += batch.num_rows
        if n < PIECE_ROWS:
            continue
        if label is not None:
            cut = _last_begin(held, label)
        else:  # every row is an episode, or those that gaps tell apart, anywhere in the file
            cut = n if reading.options.gap is None else 0
        if cut == 0:
            continue
        whole, rest = _split(held, cut)
        yield whole, before
        before, n, held = before + cut, n - cut, rest
    if held:
        yield held, before


def _last_begin(batches: Sequence[Any], label: str) -> int:
    """Where the last episode begins; 0 if there is only one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = pa.chunked_array([batch.column(label).cast(pa.string()) for batch in batches])
    last = labels[len(labels) - 1]
    if not last.is_valid:
        return len(labels) - 1
    differs = flags(pc.fill_null(pc.not_equal(labels, last), True).combine_chunks())
    return int(np.flatnonzero(differs)[-1]) + 1 if differs.any() else 0


def _split(batches: Sequence[Any], at: int) -> tuple[list[Any], list[Any]]:
    before, after = [], []
    for batch in batches:
        here = min(max(at, 0), batch.num_rows)
        before += [batch.slice(0, here)] if here else []
        after += [batch.slice(here)] if here < batch.num_rows else []
        at -= batch.num_rows
    return before, after


def _portion(log: Episodes, reading: ShardReading, unit: Unit, number: int, before: int) -> Portion:
    """Episodes as rows."""
    import pyarrow as pa

    assert log.origin is not None
    rows = rows_of(log)
    index = (np.cumsum(rows.begins) - 1).astype(np.int32)
    names = [str(label) for label in log.origin.label]

    def coded(code: Any, words: Sequence[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(code), pa.array(words, pa.string()))

    clusters = None
    if log.cluster is not None:
        clusters = coded(log.cluster.code[index].astype(np.int32), log.cluster.names)
    elif reading.options.gap is not None:  # the pieces of an episode are one unit
        clusters = coded(index, [PIECE.sub("", name) for name in names])
    return Portion(rows, coded(index, names), clusters, unit, number, None, before)


def rows_of(log: Episodes) -> RowBatch:
    """Episodes as rows."""
    final = np.flatnonzero(log.final_observation != UNKNOWN)
    at = log.start[1:][final]  # after the last step comes what was seen in the end
    z = np.insert(log.observation, at, log.final_observation[final]).astype(np.int32)
    a = np.insert(log.action, at, UNKNOWN).astype(np.int32)
    begins, marked = np.zeros((2, log.n_steps), np.bool_)
    begins[log.start[:-1]] = True
    marked[log.last[log.terminated]] = True
    O, A = len(log.observations), len(log.actions)
    return RowBatch(
        np.insert(begins, at, False),
        NO_TIMES,
        z,
        np.arange(O, dtype=np.int32),
        np.where(a == UNKNOWN, A, a).astype(np.int32),
        np.append(np.arange(A), UNKNOWN).astype(np.int32),
        np.insert(log.reward, at, 0.0),
        np.packbits(np.insert(marked, at, False), bitorder="little"),
        0,
    )


def _check_over(plan: FilePlan, i: int, label: str, reading: ShardReading) -> None:
    """The last episode of a file must not go on in the next one, whose rows are read by
    themselves."""
    file = plan.units[i].file
    after = next((unit for unit in plan.units[i:] if unit.file != file), None)
    if after is None:
        return
    column = reading.parts.single["episode"]
    source = open_file(after.file, reading.options.file)
    batch = next((b for b in source.batches([column], [column]) if b.num_rows), None)
    if batch is not None and str(batch.column(column)[0].as_py()) == label:
        raise Unordered(
            f"{file.name}: its last episode, {printable(label)!r}, goes on in {after.file.name}. "
            "As this log is written, episodes cannot lie in two files. Put all rows of an episode "
            "into one file."
        )


def explain(portion: Portion, row: int, reading: ShardReading, unordered: bool) -> LogError:
    """What is wrong with a row that a compiled loop refused."""
    unit, file = portion.unit, portion.unit.file
    place = f"{file.name}, row {first_row(unit) + portion.first + row}"
    not_in_order = Unordered(
        f"{place}: the rows of this episode are not in order, and a log this large is read as "
        "it lies. Sort it by episode and step, or say sort=True (--sort), which needs DuckDB: "
        "pip install 'jumar[duckdb]'."
    )
    if unordered and not file.sorted_at:
        return not_in_order
    if portion.batch is None:
        return LogError(f"{place}: cannot be counted.")
    begins = np.flatnonzero(portion.rows.begins[: row + 1])
    begin = int(begins[-1]) if len(begins) else 0
    source = HeaderOnly(file.name, portion.batch.schema.names)
    before = first_row(unit) - 1 + portion.first + begin
    try:
        episodes_of(source, reading, [portion.batch.slice(begin)], before)
    except LogError as error:
        return error
    return not_in_order  # sorted, nothing is wrong with it: an end stood before the last step


def first_row(unit: Unit) -> int:
    """The row of the file with which a unit begins; in text the header is one."""
    return unit.first + (2 if unit.file.kind in ("CSV", "TSV") else 1)
