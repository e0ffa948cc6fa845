"""What a log tells of who acted: how likely each action was, and of each episode which controller
made it and which cluster (person, plant, machine) it belongs to.

A cluster or behavior is one fact about a whole episode. Rows of one episode that name two of them
are an error; a cell may be empty where another row of the episode has the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from jumar.core.arrays import ALIKE, Array, Bools, Floats
from jumar.core.text import printable
from jumar.log.episodes import UNKNOWN, Labels, not_a_chance
from jumar.log.problems import Problems
from jumar.log.reading.encoding import Coded
from jumar.log.reading.ordering import Arranged
from jumar.log.reading.symbols import DROP

OF_EPISODES = ("cluster", "behavior")


def propensities(log: Arranged, is_step: Bools, problems: Problems) -> Floats | None:
    """(N,) how likely the action of every row was; any number where there is no action."""
    amounts, name = log.rows.propensity, log.rows.parts.single.get("propensity", "")
    if amounts is None:
        return None
    absent = np.flatnonzero(amounts.missing & is_step)
    if len(absent):
        problems.add(
            f"{log.rows.cell(int(absent[0]), name)}: the propensity is missing."
            f"{log.rows.so_in_all(absent)}",
            f"Write how likely the action was, or say {DROP}.",
        )
    p = amounts.values
    problems.each(
        np.flatnonzero(is_step & ~amounts.missing & ~((p > 0) & (p <= 1 + ALIKE))),
        lambda i: (f"{log.rows.cell(int(i), name)}: {not_a_chance(p[i])}", ""),
    )
    problems.each(
        np.flatnonzero(~is_step & (np.nan_to_num(p) != 0)),
        lambda i: (
            f"{log.rows.cell(int(i), name)}: there is a propensity but no action.",
            "Write what was done; or leave the propensity out, if the row only tells what was seen "
            "in the end.",
        ),
    )
    return np.minimum(p, 1.0)


def of_episodes(log: Arranged, part: str, problems: Problems) -> Labels | None:
    """The cluster or behavior of every episode, numbered by name."""
    column: Coded | None = getattr(log.rows, part)
    if column is None:
        return None
    code = column.code
    chosen = np.maximum.reduceat(code, log.first[:-1])
    nameless = np.flatnonzero(chosen == UNKNOWN)
    if len(nameless):
        rows = log.first[nameless]
        problems.add(
            f"{log.where(int(rows[0]))}: no row of the episode names its {part}."
            f"{log.rows.so_in_all(rows)}",
            f"Fill it in, or say {DROP}.",
        )
        return None
    other = (code != UNKNOWN) & (code != np.repeat(chosen, np.diff(log.first)))
    episodes = np.unique(np.searchsorted(log.first, np.flatnonzero(other), side="right")) - 1
    problems.each(episodes, lambda e: _two_names(log, part, column, int(e)))
    return _sorted(column.names, chosen)


def _two_names(log: Arranged, part: str, column: Coded, e: int) -> tuple[str, str]:
    """The fact and the remedy for an episode whose rows name two clusters or behaviors."""
    code = column.code
    here = slice(int(log.first[e]), int(log.first[e + 1]))
    told = log.first[e] + np.flatnonzero(code[here] != UNKNOWN)
    first, second = int(told[0]), int(told[code[told] != code[told[0]]][0])
    names = column.names[code[second]], column.names[code[first]]
    return two_names(log.where(second), part, names, log.rows.row_words(first))


def two_names(place: str, part: str, names: tuple[str, str], before: str) -> tuple[str, str]:
    """The same, for a row, what it names, and another row before it."""
    here, there = map(printable, names)
    return (
        f"{place}: the {part} is {here!r}, but {there!r} in {before} of the same episode.",
        f"An episode has one {part}: correct the rows, start a new episode, or rename the column "
        "if it means something else.",
    )


def nameless(log: Arranged) -> Iterator[Bools]:
    """(E,) for every such column, the episodes of which no row has a name."""
    for part in OF_EPISODES:
        column: Coded | None = getattr(log.rows, part)
        if column is not None:
            yield np.maximum.reduceat(column.code, log.first[:-1]) == UNKNOWN


def _sorted(names: Sequence[str], code: Array) -> Labels:
    """Labels numbered in the order of the alphabet, whatever the order of the file."""
    used = sorted(np.unique(code).tolist(), key=lambda i: names[i])
    number = np.full(len(names), UNKNOWN, np.int32)
    number[used] = np.arange(len(used))
    return Labels(tuple(names[i] for i in used), number[code])
