"""What a log tells of who acted: how likely each action was, and of each episode which controller
made it and which cluster (person, plant, machine) it belongs to.

A cluster or behavior is one fact about a whole episode. Rows of one episode that name two of them
are an error; a cell may be empty where another row of the episode has the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from jumar.core.arrays import Array, Bools, Floats
from jumar.core.episodes import UNKNOWN, Labels, not_a_chance
from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.io.logs.encoding import Coded
from jumar.io.logs.ordering import Arranged
from jumar.io.logs.symbols import DROP

OF_EPISODES = ("cluster", "behavior")
ROUNDING = 1e-9  # above 1 is what adding up fractions leaves


def propensities(log: Arranged, is_step: Bools) -> Floats | None:
    """(N,) how likely the action of every row was; any number where there is no action."""
    amounts, name = log.rows.propensity, log.rows.parts.single.get("propensity", "")
    if amounts is None:
        return None
    absent = np.flatnonzero(amounts.missing & is_step)
    remedy = f"Write how likely the action was, or say {DROP}."
    log.need(absent, "the propensity is missing.", remedy, name)
    p = amounts.values
    for i in np.flatnonzero(is_step & ~((p > 0) & (p <= 1 + ROUNDING)))[:1]:
        raise LogError(f"{log.rows.cell(int(i), name)}: {not_a_chance(p[i])}")
    for i in np.flatnonzero(~is_step & (np.nan_to_num(p) != 0))[:1]:
        raise LogError(
            f"{log.rows.cell(int(i), name)}: there is a propensity but no action. Write what was "
            "done; or leave the propensity out, if the row only tells what was seen in the end."
        )
    return np.minimum(p, 1.0)


def of_episodes(log: Arranged, part: str) -> Labels | None:
    """The cluster or behavior of every episode, numbered by name."""
    column: Coded | None = getattr(log.rows, part)
    if column is None:
        return None
    code = column.code
    chosen = np.maximum.reduceat(code, log.first[:-1])
    fact = f"no row of the episode names its {part}."
    log.need(log.first[:-1][chosen == UNKNOWN], fact, f"Fill it in, or say {DROP}.")
    other = (code != UNKNOWN) & (code != np.repeat(chosen, np.diff(log.first)))
    for i in np.flatnonzero(other)[:1].tolist():
        e = int(np.searchsorted(log.first, i, side="right")) - 1
        here = slice(int(log.first[e]), int(log.first[e + 1]))
        told = log.first[e] + np.flatnonzero(code[here] != UNKNOWN)
        first, second = int(told[0]), int(told[code[told] != code[told[0]]][0])
        names = [printable(column.names[code[row]]) for row in (second, first)]
        raise LogError(
            f"{log.where(second)}: the {part} is {names[0]!r}, but {names[1]!r} in row "
            f"{log.rows.row[first]} of the same episode. An episode has one {part}: correct the "
            f"rows, start a new episode, or rename the column if it means something else."
        )
    return _sorted(column.names, chosen)


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
