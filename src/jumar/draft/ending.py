"""What the end of an episode means: did the process end, or only the recording?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Array, Bools, Floats, Ints
from jumar.core.text import printable
from jumar.draft.looking import Column

SHARE = 0.5  # of the episodes must show the sign


@dataclass(frozen=True)
class Ending:
    """A guess, and why."""

    ends: str  # terminated or cut
    reason: str
    sure: bool


def guess(
    episode: Ints, clock: Floats | None, is_calendar: bool, marks: Iterable[Column]
) -> Ending:
    """Terminated where episodes have one row, where most end with a value that stands nowhere else,
    or where lengths differ and nothing else ends them; cut where they all stop at the same time or
    length.

    `episode` numbers the episode of every row. `is_calendar`: does the clock show the date, so that
    episodes may stop together?
    """
    inner, last = rows_of(episode, clock)
    sizes = np.unique(episode, return_counts=True)[1]
    if (sizes == 1).all():
        return Ending("terminated", "every row is an episode of its own", True)
    for column in marks:
        if sign := _last_only(column, last, inner):
            return Ending("terminated", sign, True)
    if len(sizes) > 1 and (sizes == sizes[0]).all():
        return Ending("cut", f"all episodes have {sizes[0]:,} rows", True)
    longest = float((sizes == sizes.max()).mean())
    if longest >= 0.2 and sizes.max() > 2:
        return Ending(
            "cut", f"{100 * longest:.0f} % of the episodes stop after {sizes.max():,} rows", False
        )
    if clock is not None and is_calendar and len(last) > 1:
        end = clock[last]
        spread = float(clock.max() - clock.min())
        together = float((end >= clock.max() - 0.02 * spread).mean()) if spread > 0 else 0.0
        if together >= SHARE:
            return Ending(
                "cut", f"{100 * together:.0f} % of the episodes stop when the log stops", True
            )
    if len(sizes) == 1:
        return Ending("cut", "there is one long episode", False)
    return Ending("terminated", "lengths differ, and nothing else seems to stop episodes", False)


def rows_of(episode: Ints, clock: Floats | None) -> tuple[Bools, Ints]:
    """(N,) the rows after which an episode goes on, and (E,) the last row of every episode.

    >>> inner, last = rows_of(np.array([7, 7, 9]), None)
    >>> inner.tolist(), last.tolist()
    ([True, False, False], [1, 2])
    """
    order = np.argsort(episode, kind="stable")
    if clock is not None:
        order = np.lexsort((clock, episode))
    number = episode[order]
    last = order[np.append(np.flatnonzero(number[1:] != number[:-1]), len(number) - 1)]
    inner = np.ones(len(episode), np.bool_)
    inner[last] = False
    return inner, last


def _last_only(column: Column, last: Array, inner: Array) -> str:
    """The value of a column with which most episodes end, and which stands nowhere else."""
    if column.distinct > 200 or column.distinct < 2:
        return ""
    code = column.code[last]
    values, counts = np.unique(code[code >= 0], return_counts=True)
    elsewhere = np.unique(column.code[inner])
    final = np.isin(values, elsewhere, invert=True)
    if not final.any() or counts[final].sum() < SHARE * len(last):
        return ""
    names = ", ".join(printable(column.names[v]) for v in values[final][:3])
    return (
        f"most episodes end with {names} in {printable(column.name)!r}, which stands nowhere else"
    )
