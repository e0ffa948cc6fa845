"""Rows put in order and episodes set apart.

Rows of one episode come together in the order in which episodes first appear, sorted by step or
time. A pause longer than the gap splits an episode: what comes before it was cut off there, what
comes after begins anew. A file that is in order already is not sorted again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Ints
from jumar.core.episodes import Remarks
from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.io.logs.asking import Asked, LongestPause
from jumar.io.logs.clocks import Clock
from jumar.io.logs.encoding import Amounts, Coded, so_in_all
from jumar.io.logs.loading import LogRows


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
        return f"{self.rows.source.name}, row {self.rows.row[i]} (episode {label})"

    def need(self, holes: Ints, fact: str, remedy: str, column: str | None = None) -> None:
        """Refuse rows that lack something; the first of them is named."""
        for i in holes[:1].tolist():
            place = self.where(i) if column is None else self.rows.cell(i, column)
            raise LogError(f"{place}: {fact}{so_in_all(self.rows.row[holes])} {remedy}")

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
        split = np.concatenate([[False], np.diff(clock.values) > _longest(rows, asked.gap, clock)])
        split &= ~begins
    first = np.flatnonzero(begins | split)
    after_gap = split[first]
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
        ),
    )


def _episodes(rows: LogRows) -> Array:
    """(N,) the number of each row's episode."""
    return np.zeros(len(rows), np.int32) if rows.episode is None else rows.episode.code


def _sorted(rows: LogRows) -> tuple[LogRows, Remarks]:
    code = _episodes(rows)
    when = np.zeros(len(rows), np.int32) if rows.clock is None else rows.clock.values
    change = np.diff(code)
    order, interleaved = None, 0
    # episodes are numbered as they appear: they lie together if the numbers never fall
    if (change < 0).any():
        begins = np.concatenate([[0], np.flatnonzero(change) + 1])
        interleaved = int((np.bincount(code[begins]) > 1).sum())
        order = np.argsort(code, kind="stable")
    who, then, row = (x if order is None else x[order] for x in (code, when, rows.row))
    early = np.flatnonzero((np.diff(then) < 0) & (np.diff(who) == 0)) + 1
    if len(early):
        order = np.lexsort([when, code])
    return (rows if order is None else rows.take(order)), Remarks(
        interleaved=interleaved,
        out_of_order=len(early),
        first_out_of_order=int(row[early].min()) if len(early) else None,
    )


def _without_repeats(rows: LogRows, clock: Clock, asked: Asked) -> LogRows:
    code = _episodes(rows)
    same = np.flatnonzero((np.diff(code) == 0) & (np.diff(clock.values) == 0))
    if len(same) == 0:
        return rows
    equal = _are_equal(rows.take(same), rows.take(same + 1))
    for i in same[~equal | (asked.repeated == "error")][:1]:
        one, two = sorted(rows.row[i : i + 2].tolist())
        part = "step" if rows.step is not None else "time"
        label = "" if rows.episode is None else rows.episode.names[int(code[i])]
        episode = f" (episode {printable(label)})" if label else ""
        copy = ""
        if equal[same == i][0]:
            copy = " If it is a copy, say repeated='drop' (--repeated drop) to leave it out."
        raise LogError(
            f"{rows.source.name}, row {two}{episode}: the {part} is the same as in row {one}. "
            f"Number the steps of an episode differently.{copy}"
        )
    kept = np.ones(len(rows), np.bool_)
    kept[same + 1] = False
    return rows.take(kept)


def _are_equal(some: LogRows, others: LogRows) -> Bools:
    """(N,) whether rows say the same in every column that is read."""
    pairs: list[tuple[Any, Any]] = [
        *zip((*some.observation, *some.action), (*others.observation, *others.action), strict=True),
        *((some.priced[name], others.priced[name]) for name in some.priced),
    ]
    for part in ("node", "cluster", "behavior", "terminated", "time", "reward", "propensity"):
        pairs.append((getattr(some, part), getattr(others, part)))
    equal = np.ones(len(some), np.bool_)
    for one, other in pairs:
        if isinstance(one, Amounts):
            equal &= (one.values == other.values) | (one.missing & other.missing)
        elif isinstance(one, Coded):
            equal &= one.code == other.code
        elif isinstance(one, Clock):
            equal &= one.values == other.values
        elif one is not None:
            equal &= one == other
    return equal


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
