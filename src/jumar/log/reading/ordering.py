"""Rows put in order and episodes set apart.

Rows of one episode come together in the order in which episodes first appear, sorted by step or
time. A pause longer than the gap splits an episode: what comes before it was cut off there, what
comes after begins anew. A file that is in order already is not sorted again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Ints
from jumar.core.errors import LogError
from jumar.core.reading import file_of
from jumar.core.text import printable
from jumar.log.episodes import Remarks
from jumar.log.problems import Problems
from jumar.log.reading.amounts import Amounts
from jumar.log.reading.asking import Asked, LongestPause
from jumar.log.reading.clocks import Clock
from jumar.log.reading.encoding import Coded
from jumar.log.reading.loading import LogRows

ANEW = (
    "If episodes are numbered anew in every file, say each_file=True (--each-file); else number "
    "them, or their steps, differently."
)
PIECE = re.compile(r" \(\d+\)$")  # what is added to the label of a later piece


@dataclass(frozen=True)
class Arranged:
    """Rows in order. E episodes."""

    rows: LogRows
    first: Ints  # (E+1,) where each episode begins
    labels: list[str]  # (E,)
    split: Bools  # (E,) whether the recording goes on after a gap
    remarks: Remarks

    def where(self, i: int) -> str:
        """Names row i: file, row and episode."""
        e = int(np.searchsorted(self.first, i, side="right")) - 1
        label = printable(self.labels[e])
        return f"{self.rows.place(i)} (episode {label})"

    def without(self, dropped: Bools) -> Arranged:
        """The other episodes."""
        lengths = np.diff(self.first)
        return Arranged(
            self.rows.take(np.repeat(~dropped, lengths)),
            np.concatenate([[0], np.cumsum(lengths[~dropped])]),
            [label for label, gone in zip(self.labels, dropped, strict=True) if not gone],
            self.split[~dropped],
            replace(self.remarks, dropped=int(dropped.sum())),
        )


def arrange(rows: LogRows, asked: Asked) -> Arranged:
    """Sort the rows, leave out repeated ones, and split at gaps."""
    n = len(rows)
    rows, remarks = _sorted(rows)
    if rows.clock is not None:
        rows = _without_repeats(rows, rows.clock, asked)
    code = _episodes(rows)
    begins = np.concatenate([[True], np.diff(code) != 0])
    split = np.zeros(len(rows), np.bool_)  # rows that begin an episode only because of a gap
    if asked.gap is not None:
        clock = rows.time or rows.step
        assert clock is not None  # a gap without a clock was refused
        with np.errstate(over="ignore"):  # between -1e308 and 1e308 there is a gap
            apart = np.diff(clock.values)
        split = np.concatenate([[False], apart > _longest(rows, asked.gap, clock)])
        split &= ~begins
    first = np.flatnonzero(begins | split)
    after_gap = split[first]
    began, ended = _span(rows.time)
    return Arranged(
        rows,
        np.append(first, len(rows)),
        _labels(rows, code[first], after_gap),
        np.append(after_gap[1:], False),
        replace(
            remarks,
            rows=n,
            repeated=n - len(rows),
            gaps=int(after_gap.sum()),
            costs=asked.cost,
            rewards_assumed=bool(asked.prices),
            began=began,
            ended=ended,
            guessed=rows.guessed,
        ),
    )


def _span(time: Clock | None) -> tuple[float | None, float | None]:
    """The first and the last moment in seconds, where times are dates."""
    if time is None or time.per_second is None or len(time.values) == 0:
        return None, None
    return float(time.values.min() / time.per_second), float(time.values.max() / time.per_second)


def _episodes(rows: LogRows) -> Array:
    """(N,) the number of each row's episode."""
    return np.zeros(len(rows), np.int32) if rows.episode is None else rows.episode.code


def _sorted(rows: LogRows) -> tuple[LogRows, Remarks]:
    code, clock = _episodes(rows), rows.clock
    change = np.diff(code)
    order, interleaved = None, 0
    # episodes are numbered as they appear: they lie together if the numbers never fall
    if (change < 0).any():
        begins = np.concatenate([[0], np.flatnonzero(change) + 1])
        interleaved = int((np.bincount(code[begins]) > 1).sum())
        order = np.argsort(code, kind="stable")
    if clock is None:
        rows = rows if order is None else rows.take(order)
        _check_files(rows)
        return rows, Remarks(interleaved=interleaved)
    when, who, row = (
        values if order is None else values[order] for values in (clock.values, code, rows.row)
    )
    early = np.flatnonzero((when[1:] < when[:-1]) & (who[1:] == who[:-1])) + 1
    if len(early):
        order = np.lexsort([clock.values, code])
    return (rows if order is None else rows.take(order)), Remarks(
        interleaved=interleaved,
        out_of_order=len(early),
        first_out_of_order=int(row[early].min()) if len(early) else None,
    )


def _check_files(rows: LogRows) -> None:
    """Without a clock nobody knows what comes first in an episode that several files have rows of,
    or whether it is one; unless a file ends in the midst of it, and the next one begins so."""
    if not rows.source.files or rows.episode is None:
        return
    before = [file.before for file in rows.source.files]
    file = np.searchsorted(before, rows.row, side="left") - 1
    code = rows.episode.code
    apart = np.flatnonzero((code[1:] == code[:-1]) & (file[1:] != file[:-1])) + 1
    apart = apart[~_goes_on(rows, file)[apart]]
    if len(apart):
        i = int(apart[0])
        label = printable(rows.episode.names[int(code[i])])
        raise LogError(
            f"{rows.place(i)} (episode {label}): the episode also has rows in "
            f"{file_of(rows.row[i - 1], rows.source.files)}, and no column tells their order. "
            f"{ANEW} Or name a column of steps or times: columns={{'step': ...}} (--columns "
            "step=NAME)."
        )


def _goes_on(rows: LogRows, file: Ints) -> Bools:
    """(N,) does a row follow the last one of the file before, as its own file's first one? Where
    both files hold a single episode, its label may mean another one in each."""
    assert rows.episode is not None
    files, n, code = len(rows.source.files), len(rows), rows.episode.code
    first, last = np.full(files, np.iinfo(np.int64).max), np.zeros(files, np.int64)
    np.minimum.at(first, file, rows.row)
    np.maximum.at(last, file, rows.row)
    least, most = np.full(files, np.iinfo(np.int64).max), np.full(files, -1)
    np.minimum.at(least, file, code)
    np.maximum.at(most, file, code)
    single = least == most
    was, found = file[:-1], np.zeros(n, np.bool_)
    there = np.flatnonzero(last > 0)  # files without rows are passed over
    following = np.full(files, -1)
    following[there[:-1]] = there[1:]
    found[1:] = (
        (following[was] == file[1:])
        & (rows.row[:-1] == last[was])
        & (rows.row[1:] == first[file[1:]])
        & ~(single[was] & single[file[1:]])
    )
    return found


def _without_repeats(rows: LogRows, clock: Clock, asked: Asked) -> LogRows:
    code = _episodes(rows)
    when = clock.values
    same = np.flatnonzero((code[1:] == code[:-1]) & (when[1:] == when[:-1]))
    if len(same) == 0:
        return rows
    equal = _are_equal(rows.take(same), rows.take(same + 1))
    part = "step" if rows.step is not None else "time"

    def problem(k: int) -> tuple[str, str]:
        i = same[k]
        one, two = sorted((i, i + 1), key=rows.row.__getitem__)
        label = "" if rows.episode is None else rows.episode.names[int(code[i])]
        episode = f" (episode {printable(label)})" if label else ""
        copy = " If it is a copy, say repeated='drop' (--repeated drop) to leave it out."
        here = "Number the steps of an episode differently."
        return (
            f"{rows.place(two)}{episode}: the {part} is the same as in {rows.row_words(one)}.",
            (here if rows.in_one_file(one, two) else ANEW) + (copy if equal[k] else ""),
        )

    problems = Problems()
    problems.each(np.flatnonzero(~equal | (asked.repeated == "error")), problem)
    problems.check()
    kept = np.ones(len(rows), np.bool_)
    kept[same + 1] = False
    return rows.take(kept)


def _are_equal(some: LogRows, others: LogRows) -> Bools:
    """(N,) whether rows say the same in every column that is read, but for the clock."""
    parts = ["observation", "action", "node", "cluster", "behavior", "terminated", "reward"]
    parts += ["propensity", "priced", "signals", *(["time"] if some.step is not None else [])]
    equal = np.ones(len(some), np.bool_)
    for part in parts:
        pairs = zip(_values(getattr(some, part)), _values(getattr(others, part)), strict=True)
        for mine, theirs in pairs:
            equal &= (mine == theirs) | ((mine != mine) & (theirs != theirs))  # NaN: both missing
    return equal


def _values(column: Any) -> Iterator[Array]:
    """(N,) numbers that differ where a column, or one of several, does."""
    if isinstance(column, tuple | Mapping):
        for each in column.values() if isinstance(column, Mapping) else column:
            yield from _values(each)
    elif isinstance(column, Coded):
        yield column.code
    elif column is not None:
        yield column.values if isinstance(column, Amounts | Clock) else column


def _longest(rows: LogRows, gap: LongestPause, clock: Clock) -> float:
    """The gap in the units of the clock."""
    place = f"{rows.source.name}, column {printable(clock.column)!r}"
    if clock.per_second is None:
        if gap.of_time:
            raise LogError(
                f"{place}: holds numbers, so the gap {gap.text} is not clear. Give the gap as a "
                "plain number in the same unit."
            )
        return gap.amount
    if not gap.of_time:
        raise LogError(
            f"{place}: holds times, so the gap {gap.text} needs a unit. Write {gap.text}d, "
            f"{gap.text}h, {gap.text}m or {gap.text}s."
        )
    return gap.amount * clock.per_second


def _labels(rows: LogRows, code: Array, after_gap: Bools) -> list[str]:
    """(E,) what the file calls each episode; the second part of 17 is '17 (2)'."""
    if rows.episode is None:
        return [str(e) for e in range(1, len(code) + 1)]
    names = rows.episode.names
    if not after_gap.any():
        return [names[c] for c in code.tolist()]
    labels, part = [], 1
    for c, split in zip(code.tolist(), after_gap.tolist(), strict=True):
        part = part + 1 if split else 1
        labels.append(names[c] if part == 1 else f"{names[c]} ({part})")
    return labels
