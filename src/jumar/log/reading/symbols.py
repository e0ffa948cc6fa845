"""Observations and actions: several columns made one, and names numbered as the controller does."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from jumar.core.arrays import Array, hashed
from jumar.core.errors import LogError, not_one_of
from jumar.core.names import JOINT, WILDCARD, check_names
from jumar.core.reading import MISSING
from jumar.core.text import printable
from jumar.log.episodes import UNKNOWN
from jumar.log.formats import Source
from jumar.log.problems import Problems
from jumar.log.reading.encoding import Coded
from jumar.log.reading.ordering import Arranged

DROP = "missing='drop' (--missing drop) to leave out its episode"
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
