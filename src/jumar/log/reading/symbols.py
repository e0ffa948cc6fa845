"""Names: what was seen and done, numbered as the policy does; and what a log tells of who acted.

A cluster or behavior is one fact about a whole episode. Rows of one episode that name two of them
are an error; a cell may be empty where another row of the episode has the name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from jumar.core.arrays import Array, Bools, hashed
from jumar.core.errors import LogError, not_one_of
from jumar.core.names import JOINT, WILDCARD, check_names
from jumar.core.reading import MISSING
from jumar.core.text import printable
from jumar.log.episodes import UNKNOWN, Labels
from jumar.log.formats import Source
from jumar.log.problems import Problems
from jumar.log.reading.columns import Coded
from jumar.log.reading.ordering import Arranged

DROP = "missing='drop' (--missing drop) to leave out its episode"
OF_EPISODES = ("cluster", "behavior")
PARTLY = -2  # an action of which only some columns are there


def combined(log: Arranged, part: str, columns: Sequence[Coded]) -> Coded:
    """One symbol out of several columns: "low" and "quiet" make "low+quiet"."""
    if len(columns) == 1:
        return columns[0]
    gone = np.stack([column.code == UNKNOWN for column in columns])
    some, all_ = gone.any(0), gone.all(0)
    code, kept = np.zeros(len(log.rows), np.int64), np.zeros((1, 0), np.int64)
    for column in columns:
        size = max(len(column.names), 1)
        values, code = hashed(np.where(some, 0, code * size + column.code))
        kept = np.column_stack([kept[values // size], values % size])
    names: dict[str, int] = {}
    used = np.bincount(code[~some], minlength=len(kept)) > 0
    for i in np.flatnonzero(used):
        cells = [column.names[k] for column, k in zip(columns, kept[i].tolist(), strict=True)]
        name = JOINT.join(cells)
        if name in names:
            one, two = sorted(int(np.flatnonzero((code == k) & ~some)[0]) for k in (i, names[name]))
            raise LogError(
                f"{log.where(two)}: the {part} would be called {printable(name)!r} like the one in "
                f"{log.rows.row_words(one)}, which is made of other values. Rename a value "
                f"that has a {JOINT!r} in it."
            )
        names[name] = int(i)
    number = np.full(len(kept), UNKNOWN, np.int32)
    number[list(names.values())] = np.arange(len(names))
    absent = np.where(all_ | (part == "observation"), UNKNOWN, PARTLY)
    return Coded(list(names), np.where(some, absent, number[code]).astype(np.int32))


def named_missing(column: Coded) -> Coded:
    """The column with a name for what is missing."""
    names = list(column.names)
    if MISSING not in names:
        names.append(MISSING)
    code = np.where(column.code == UNKNOWN, names.index(MISSING), column.code)
    return Coded(names, code.astype(np.int32))


def numbered(
    log: Arranged, part: str, symbols: Coded, given: tuple[str, ...] | None, problems: Problems
) -> tuple[tuple[str, ...], Array]:
    """The alphabet and the number of each row's symbol, UNKNOWN where it is missing."""
    code = symbols.code
    occurs = np.bincount(code[code >= 0], minlength=len(symbols.names)) > 0
    found = [name for name, here in zip(symbols.names, occurs, strict=True) if here]
    names = given
    if names is None:
        kept = _stored_names(log.rows.source).get(part, ())
        names = (*kept, *sorted(set(found) - {*kept, WILDCARD}))
    position = {name: i for i, name in enumerate(names)}
    number = np.array([*(position.get(name, UNKNOWN) for name in symbols.names), UNKNOWN], np.int32)
    unknown = (number[:-1] == UNKNOWN) & occurs
    if unknown.any():
        _refuse_names(log, part, symbols, np.flatnonzero(unknown), given, problems)
    return names, number[np.maximum(code, UNKNOWN)]  # what is there in part is missing


def _refuse_names(
    log: Arranged,
    part: str,
    symbols: Coded,
    unknown: Array,
    given: tuple[str, ...] | None,
    problems: Problems,
) -> None:
    """Tell of names that cannot be used, each where it stands first."""
    code = symbols.code
    first = np.full(len(symbols.names), len(code))
    rows = np.flatnonzero(code >= 0)
    np.minimum.at(first, code[rows], rows)

    def problem(k: int) -> tuple[str, str]:
        name = symbols.names[int(k)]
        if given is None:
            fact = f"{part} {name!r} is reserved for the wildcard. Choose another name."
        else:
            fact = _unknown(log, part, name, given)
        return f"{log.where(int(first[k]))}: {fact}", ""

    problems.each(unknown[np.argsort(first[unknown])], problem)


def _unknown(log: Arranged, part: str, name: str, names: Sequence[str]) -> str:
    """The fact and the remedy for a symbol that the controller does not know."""
    fact = not_one_of(part, name, names)
    if part == "observation" and log.remarks.replaced and MISSING in name.split(JOINT):
        wanted = f"Add {printable(name)!r} to the observations of the controller"
        return f"{fact} {wanted}, or say {DROP}."
    if fact.endswith("?"):
        return fact
    return f"{fact} Correct the log, or add the {part} to those of the controller."


def _stored_names(source: Source) -> dict[str, tuple[str, ...]]:
    try:
        kept = json.loads(source.metadata or "")
        return {
            part: check_names(part, kept[f"{part}s"], LogError)
            for part in ("observation", "action")
            if f"{part}s" in kept
        }
    except (ValueError, TypeError, KeyError, LogError):
        return {}  # not our metadata: use the names in the columns


# ---- who acted ----------------------------------------------------------------------------------


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
    before, name = (printable(column.names[code[i]]) for i in (first, second))
    return (
        f"{log.where(second)}: the {part} is {name!r}, but {before!r} in "
        f"{log.rows.row_words(first)} of the same episode.",
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
