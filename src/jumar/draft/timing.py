"""Was a column known before the action was chosen, or does it tell what came of it?

A policy cannot look at what its own action brings about: a status, an outcome, a part of the costs.
Who takes such a column for an observation learns from the future. No test of one log tells the two
apart for certain, as a rule that looks at a reading leaves the same trace in one row as an action
that moves an outcome. So what speaks is added up:

    its values are those of another column one row later            after, for certain
    its value follows from the action alone                         after
    its values are those of another column one row earlier          before
    its name ("status", "failed"; "forecast", "reading")            after; before
    it stands right or left of the action                           after; before, if in doubt

Columns in alphabetical order say nothing by where they stand. What stays undecided is asked, or
left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from jumar.core.arrays import Floats, Ints
from jumar.core.text import printable
from jumar.draft.looking import Column, FirstLook

WORDS = {
    "after": "after outcome outcomes status next new final failed failure failures broke broken "
    "breakdown success successful solved resolved recovered cured died dead survived sold demand "
    "delivered consumed used loss losses margin ergebnis ausfall danach",
    "before": "before forecast predicted prediction expected previous prior last reading "
    "observation obs sensor signal symptom finding heard seen survey hour weekday season vorher "
    "prognose",
}
AFTER, BEFORE = (frozenset(words.split()) for words in WORDS.values())
CERTAIN = 4
AHEAD, LATER = 20, 0.9  # rows, and what one row later counts
SAME = 0.999  # of the rows: equal but for a few slips


@dataclass(frozen=True)
class Timing:
    """Above 0: what came of an action; below 0: known before it; 0: nobody can tell."""

    score: int
    why: str


def timing(
    column: Column, seen: FirstLook, action: Column, after: Ints, words: Callable[[str], list[str]]
) -> Timing:
    """When the value of a column was known. `after` is (N,) the next row of the same episode, -1
    where there is none."""
    score, reasons = 0, []

    def says(points: int, why: str) -> None:
        nonlocal score
        score += points
        reasons.append(why)

    for name, other in seen.columns.items():
        if name == column.name or not _alike(column, other):
            continue
        if _is_next(column, other, after):
            return Timing(CERTAIN, f"it is {printable(name)!r} of the next row")
        if _is_next(other, column, after):
            says(-CERTAIN, f"{printable(name)!r} is this of the next row")
    if _follows(column, action) and not _follows(action, column):
        says(2, f"it follows from {printable(action.name)!r} alone")
    spoken = words(column.name)
    if any(word in AFTER for word in spoken):
        says(2, "its name tells of an outcome")
    if any(word in BEFORE for word in spoken):
        says(-2, "its name tells of a reading")
    order = list(seen.columns)
    if order != sorted(order):
        right = order.index(column.name) > order.index(action.name)
        says(1 if right else -1, f"it stands {'right' if right else 'left'} of what was done")
    return Timing(score, "; ".join(reasons))


def next_rows(episode: Ints, clock: Column | None) -> Ints:
    """(N,) the next row of the same episode, -1 where there is none."""
    order = np.argsort(episode, kind="stable")
    if clock is not None:
        order = np.lexsort((clock.times if clock.is_time else clock.numbers, episode))
    after = np.full(len(episode), -1)
    same = episode[order][1:] == episode[order][:-1]
    after[order[:-1][same]] = order[1:][same]
    return after


def followed(reward: Column, after: Ints) -> Floats:
    """(N,) the rank of what was paid from a row on, what is later counting less."""
    paid = np.append(np.nan_to_num(reward.numbers, nan=0.0), 0.0)
    total, at, weight = np.zeros(len(after)), np.arange(len(after)), 1.0
    next_of = np.append(after, -1)
    for _ in range(AHEAD):
        total += weight * paid[at]
        at, weight = next_of[at], weight * LATER
    return np.asarray(rankdata(total))


def _alike(column: Column, other: Column) -> bool:
    """Could two columns hold the same values?"""
    return len(set(column.names) & set(other.names)) * 2 >= len(column.names) > 1


def _is_next(column: Column, other: Column, after: Ints) -> bool:
    """Does a column hold what another holds one row later, and not what it holds now?"""
    number = {name: i for i, name in enumerate(other.names)}
    same = np.array([number.get(name, -2) for name in column.names] + [-1])[column.code]
    inner = after >= 0
    if inner.sum() < 20:
        return False
    later = float((same[inner] == other.code[after[inner]]).mean())
    return later >= SAME and float((same[inner] == other.code[inner]).mean()) < 0.99


def _follows(column: Column, given: Column) -> bool:
    """Does one value of a column go with each value of another?"""
    if not 2 <= column.distinct <= given.distinct:
        return False
    pairs = np.unique(given.code * (column.distinct + 1) + column.code + 1)
    return len(pairs) == len(np.unique(given.code))
