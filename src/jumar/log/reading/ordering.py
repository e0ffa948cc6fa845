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
from jumar.core.text import printable
from jumar.log.episodes import Remarks
from jumar.log.problems import Problems
from jumar.log.reading.amounts import Amounts
from jumar.log.reading.clocks import Clock
from jumar.log.reading.columns import Coded
from jumar.log.reading.loading import LogRows
from jumar.log.reading.options import LongestPause, ReadOptions

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


def arrange(rows: LogRows, options: ReadOptions) -> Arranged:
    """Sort the rows, leave out repeated ones, and split at gaps."""
    n = len(rows)
    rows, remarks = _sorted(rows)
    if rows.clock is not None:
        rows = _without_repeats(rows, rows.clock, options)
    code = _episodes(rows)
    begins = np.concatenate([[True], np.diff(code) != 0])
    split = np.zeros(len(rows), np.bool_)  # rows that begin an episode only because of a gap
    if options.pause is not None:
        clock = rows.time or rows.step
        assert clock is not None  # a gap without a clock was refused
        with np.errstate(over="ignore"):  # between -1e308 and 1e308 there is a gap
            apart = np.diff(clock.values)
        split = np.concatenate([[False], apart > _longest(rows, options.pause, clock)])
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
            costs=bool(options.cost),
            rewards_assumed=bool(options.prices),
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
        _check_files(rows, code)
        rows = rows if order is None else rows.take(order)
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


def _check_files(rows: LogRows, code: Array) -> None:
    """Without a clock nobody knows what comes first in an episode that several files have rows of,
    or whether it is one; unless a file ends in the midst of it, and the next one begins so."""
    if rows.episode is None or len(rows.source.files) < 2:
        return
    ends = np.array([file.before for file in rows.source.files])
    file = np.searchsorted(ends, rows.row, side="left")
    changes = np.flatnonzero((file[1:] != file[:-1]) | (code[1:] != code[:-1])) + 1
    begins = np.concatenate([[0], changes])
    runs = np.bincount(code[begins])  # stretches of each episode, cut at the ends of files
    single = np.bincount(file[begins], minlength=len(ends) + 1) == 1  # files with one episode
    goes_on = code[begins[1:]] == code[begins[:-1]]
    # where both files hold a single episode, its label may mean another one in each
    goes_on &= ~(single[file[begins[:-1]]] & single[file[begins[1:]]])
    joined = np.bincount(code[begins[1:]][goes_on], minlength=len(runs))
    of = np.full(len(runs), -1)  # the file in which an episode was seen first
    of[code[begins[::-1]]] = file[begins[::-1]]
    apart = begins[
        (runs[code[begins]] - joined[code[begins]] > 1) & (of[code[begins]] != file[begins])
    ]
    if len(apart):
        i = int(apart[0])
        other = int(np.flatnonzero(code == code[i])[0])
        raise LogError(
            f"{rows.place(i)} (episode {printable(rows.episode.names[int(code[i])])}): the episode "
            f"also has rows in {rows.file(other)}, and no column tells their order. {ANEW} Or name "
            "a column of steps or times: columns={'step': ...} (--columns step=NAME)."
        )


def _without_repeats(rows: LogRows, clock: Clock, options: ReadOptions) -> LogRows:
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
            (here if rows.file(one) == rows.file(two) else ANEW) + (copy if equal[k] else ""),
        )

    problems = Problems()
    problems.each(np.flatnonzero(~equal | (options.repeated == "error")), problem)
    problems.check()
    kept = np.ones(len(rows), np.bool_)
    kept[same + 1] = False
    return rows.take(kept)


def _are_equal(some: LogRows, others: LogRows) -> Bools:
    """(N,) whether rows say the same in every column that is read."""
    equal = np.ones(len(some), np.bool_)
    for mine, theirs in zip(_values(some.columns), _values(others.columns), strict=True):
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
