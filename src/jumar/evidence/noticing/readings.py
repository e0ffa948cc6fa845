"""Numbers that were never cut into ranges: nearly every step is an observation of its own.

Then no history state is met twice, nothing can be learned, and a longer log would not help. Of a
combined observation each column is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.reading import NO_NUMBER
from jumar.core.text import counted, printable
from jumar.draft.looking import as_number
from jumar.draft.ranges import cut, named, needs_ranges
from jumar.evidence.checking.base import Section, Subject
from jumar.evidence.noticing.notice import Notice
from jumar.log.episodes import Episodes

JOINT = "+"  # between the columns of a combined observation
RARE = 30  # steps per observation, on average, below which hardly anything can be learned
MOST_WHOLE = 50  # whole numbers up to here may be names: floors, rooms, scores


@dataclass(frozen=True)
class Readings:
    """A column of numbers that are taken for names."""

    column: str  # "" where nobody knows
    distinct: int
    values: Floats  # (N,) at every step; NaN where nothing was read


def look(
    subject: Subject, sections: Mapping[str, Section], rng: np.random.Generator
) -> Iterator[Notice]:
    """Notice readings that should be ranges."""
    log = subject.log
    found = uncut(log)
    if not found:
        return
    seen = len(np.unique(log.observation))
    loud = log.n_steps < RARE * seen
    which = ", ".join(repr(printable(r.column)) for r in found if r.column) or "The observation"
    verb = "holds" if len(found) == 1 else "hold"
    fact = (
        f"{which} {verb} numbers that were never cut into ranges: {counted(log.n_steps, 'step')} "
        f"show {seen:,} different observations."
    )
    if loud:
        fact += " Each is met too seldom to learn from, and a longer log will not help."
    options = _options(log, found, bool(subject.practice.controllers) and not subject.estimated)
    remedy = "Cut them into ranges that matter to you"
    if options:
        remedy += ", for example at these round numbers, and change them if you know better"
    yield Notice("readings", fact, f"{remedy} (--bins).", options, loud=loud)


def uncut(log: Episodes) -> list[Readings]:
    """The columns of numbers with so many values that they need ranges."""
    columns = log.origin.columns.get("observation", ()) if log.origin else ()
    parts = [name.split(JOINT) for name in log.observations]
    width = max(1, len(columns))
    if any(len(cells) != width for cells in parts):  # a name with a "+" of its own
        parts, width = [[name] for name in log.observations], 1
    found = []
    for k in range(width):
        readings = _readings(log, [cells[k] for cells in parts], columns[k : k + 1])
        if readings is not None:
            found.append(readings)
    return found


def _readings(log: Episodes, cells: list[str], column: tuple[str, ...]) -> Readings | None:
    seen = set(np.unique(log.observation).tolist())
    number = np.array([as_number(cell) for cell in cells])
    words = [cell for z, cell in enumerate(cells) if z in seen and np.isnan(number[z])]
    if any(word.strip().lower() not in ("", "nan", *NO_NUMBER) for word in words):
        return None
    values = number[log.observation]
    known = np.unique(values[~np.isnan(values)])
    whole = bool((known == np.floor(known)).all())
    if not needs_ranges(len(known), log.n_steps) or (whole and len(known) <= MOST_WHOLE):
        return None
    return Readings(column[0] if column else "", len(known), values)


def _options(log: Episodes, found: list[Readings], written: bool) -> tuple[str, ...]:
    """Ranges for every column; a controller that was written for the numbers knows none of them."""
    options: list[str] = []
    for readings in found:
        edges = cut(readings.values, log.action)
        if not edges or not readings.column or "=" in readings.column:
            return ()
        spec = ":".join(str(item) for item in named(edges))
        options += ["--bins", f"{readings.column}={spec}"]
    return (*options, "--policy", "estimate") if written else tuple(options)
