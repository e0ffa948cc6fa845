"""The rows of a shard, read plainly where that is possible, else the general way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

import numpy as np

from jumar.core.errors import JumarError
from jumar.log.shards.batches import (
    NotPlain,
    last_label,
    typed_batches,
)
from jumar.log.shards.general import general_rows
from jumar.log.shards.plan import FilePlan, Unit
from jumar.log.shards.rows import (
    AS_MARKED,
    Portion,
    RowMaker,
    ShardReading,
)


class ReadGenerally(JumarError):
    """Some rows of a log are not plain. Then all of it is read the general way: a worker that reads
    plainly leaves to its neighbour what begins there, and a file is read generally as a whole."""


def rows_of(
    plan: FilePlan, first: int, last: int, reading: ShardReading
) -> tuple[Iterator[Portion], int]:
    """The rows of a shard, and what the end of an episode means there."""
    if reading.is_plain:
        return _plainly(plain_rows(plan, first, last, reading)), reading.ends
    return general_rows(plan, first, last, reading), AS_MARKED


def _plainly(portions: Iterator[Portion]) -> Iterator[Portion]:
    try:
        yield from portions
    except NotPlain as found:
        raise ReadGenerally(f"Not plain: {', '.join(found.columns)}") from None


def plain_rows(plan: FilePlan, first: int, last: int, reading: ShardReading) -> Iterator[Portion]:
    """The rows of the episodes that begin in units `first` up to `last`; NotPlain where they cannot
    be read this way."""
    options, single = reading.options, reading.parts.single
    label, cluster = single["episode"], single.get("cluster")
    make, file = RowMaker(reading), None
    # an episode of another shard may go on here, and one of ours in the next
    skipping = first > 0 and _may_go_on(plan, first, reading)
    if skipping:
        make.begin_after(last_label(plan.units[first - 1], label, options.file))
    ours = _of_each_file(enumerate(plan.units[first:last], first))
    for i, unit in chain(ours, enumerate(plan.units[last:], last)):
        at, beyond = 0, i >= last
        if beyond and not _may_go_on(plan, i, reading):
            return
        if options.each_file and file not in (None, unit.file):
            make.begin_after(None)
        file = unit.file
        for batch in _batches(unit, reading, beyond):
            rows = make(batch)
            begins = np.flatnonzero(rows.begins) if skipping or beyond else np.zeros(0, np.int64)
            next_begin = int(begins[0]) if len(begins) else len(rows)
            begin = next_begin if skipping else 0
            end = next_begin if beyond else len(rows)
            skipping = skipping and len(begins) == 0
            if begin < end:
                chosen = batch.slice(begin, end - begin)
                clusters = chosen.column(cluster) if cluster else None
                piece, labels = rows.piece(begin, end), chosen.column(label)
                portion = Portion(piece, labels, clusters, unit, i, chosen, at + begin)
                del chosen, piece, clusters, labels
                yield portion
                del portion
            over = beyond and end < len(rows)
            at += len(rows)
            del batch, rows  # or they are held while the next ones are decoded
            if over:
                return
        if skipping and i + 1 >= last:
            return  # no episode begins in this shard


def _of_each_file(units: Iterable[tuple[int, Unit]]) -> Iterator[tuple[int, Unit]]:
    """The row groups of each file as one unit, with the number of the last of them: to read each by
    itself takes longer than the rows of a small one do."""
    for _, members in groupby(units, lambda numbered: numbered[1].file):
        numbered = [*members]
        (_, one), (number, last) = numbered[0], numbered[-1]
        yield number, replace(one, last=last.group)


def _may_go_on(plan: FilePlan, i: int, reading: ShardReading) -> bool:
    """May an episode of the unit before go on in unit i?"""
    return not reading.options.each_file or plan.units[i - 1].file == plan.units[i].file


def _batches(unit: Unit, reading: ShardReading, few: bool) -> Iterator[Any]:
    parts, cut = reading.parts, reading.options.cut
    words = [name for name in (*parts.observation, *parts.action) if name not in cut]
    amounts = [parts.single[part] for part in ("reward", "step") if part in parts.single]
    return typed_batches(unit, parts.columns, words, [*amounts, *cut], reading.options.file, few)


def typical_length(plan: FilePlan, reading: ShardReading) -> float:
    """How many rows an episode has, more or less: by the first rows of the log."""
    try:
        portion = next(plain_rows(plan, 0, 1, reading), None) if reading.is_plain else None
    except NotPlain:
        portion = None
    if portion is None:
        portion = next(general_rows(plan, 0, 1, reading), None)
    if portion is None:
        return 1.0
    return len(portion.rows) / max(1, int(portion.rows.begins.sum()))
