"""Which column of a log plays which part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from jumar.core.errors import LogError, ParameterError, not_one_of
from jumar.core.names import JOINT
from jumar.core.text import printable
from jumar.log.episodes import SIGNAL
from jumar.log.files import SeveralFiles
from jumar.log.formats import Source
from jumar.log.problems import Problems
from jumar.log.reading.options import COMBINED, NEEDED, OPTIONAL, ROW, ReadOptions

OF_TURNS = ("reward", "terminated", "propensity", "price")  # that every step has for itself


@dataclass(frozen=True)
class Parts:
    """The columns to read."""

    single: Mapping[str, str]  # part to column, for every other part there is: episode, reward, ...
    observation: tuple[str, ...]  # combined into one symbol
    action: tuple[str, ...]
    priced: tuple[str, ...]  # columns of numbers that have a price
    signals: Mapping[str, str] = field(default_factory=dict)  # name to column

    @property
    def columns(self) -> list[str]:
        """Every column once."""
        symbols, amounts = (*self.observation, *self.action), (*self.priced, *self.signals.values())
        return list(dict.fromkeys((*self.single.values(), *symbols, *amounts)))

    def of(self, part: str) -> tuple[str, ...]:
        """The columns that play a part together."""
        return self.observation if part == "observation" else self.action


def find_parts(source: Source, options: ReadOptions) -> Parts:
    """Find the columns, or raise an error that says which is missing and what may be meant. In
    several files they must be the same; one whose columns are not known before it is read through
    (NDJSON) may lack some."""
    if not isinstance(source, SeveralFiles):
        return _find_parts(source, options)
    first = source.sources[0]
    merged = _certain(_find_parts(first, options), first, source)
    has = dict.fromkeys(_played(merged), first)  # a file that has the part in this column
    for file in source.sources[1:]:
        parts = _certain(_find_parts(file, options), file, source)
        own = dict.fromkeys(_played(parts), file)
        for there, here in ((has, own), (own, has)):
            for part, column in there.keys() - here.keys():
                lacks = file if here is own else first
                if not lacks.may_have_more:
                    raise LogError(
                        f"{lacks.name}: has no column {printable(column)!r} for the {part}, which "
                        f"{there[part, column].name} has. Leave the file out, or give it the same "
                        "columns."
                    )
        has |= own
        merged = replace(
            merged,
            single={**parts.single, **merged.single},
            signals={**parts.signals, **merged.signals},
        )
    return merged


def _certain(parts: Parts, file: Source, several: SeveralFiles) -> Parts:
    """The parts of a file, without those that may come up later, unless in every file one may."""
    if all(one.may_have_more for one in several.sources):
        return parts
    single = {part: name for part, name in parts.single.items() if name in file.names}
    return replace(parts, single=single)


def _played(parts: Parts) -> Iterator[tuple[str, str]]:
    """The parts and their columns."""
    yield from parts.single.items()
    yield from ((part, JOINT.join(parts.of(part))) for part in COMBINED)
    yield from parts.signals.items()


def _find_parts(source: Source, options: ReadOptions) -> Parts:
    problems = Problems()
    found = _Finder(source, options, problems)
    single = {}
    for part in (*NEEDED, *OPTIONAL):
        if part not in COMBINED and (name := found.single(part)) is not None:
            single[part] = name
    check_clock(source, options, single, problems)
    if single.get("step") in source.names and options.gap is None:
        single.pop("time", None)  # steps say the order; the time is only read to find gaps
    priced = tuple(price.name for price in options.priced if price.kind == "column")
    for name in priced:
        found.named("price", name)
    symbols = found.combined("observation"), found.combined("action")
    parts = Parts(single, *symbols, priced, found.signals())
    problems.check()
    options.check_bins([*parts.observation, *parts.action])
    return parts


def check_clock(
    source: Source, options: ReadOptions, single: Mapping[str, str], problems: Problems
) -> None:
    """Some options need a column that says when."""
    for wish, wanted in (
        ("gap", options.gap is not None),
        ("repeated", options.repeated == "drop"),
    ):
        if wanted and "step" not in single and "time" not in single:
            problems.add(
                f"{source.name}: {wish} needs to know when a row was written, but there is no "
                "column 'step' or 'time'.",
                "Name one: columns={'time': ...} (--columns time=...).",
            )


class _Finder:
    """Looks up columns of one log."""

    def __init__(self, source: Source, options: ReadOptions, problems: Problems) -> None:
        self._source, self._options, self._problems = source, options, problems

    def single(self, part: str) -> str | None:
        """The column of a part, if it is needed or there."""
        wanted = self._options.parts.get(part)
        if part == "episode" and wanted == (ROW,) and ROW not in self._source.names:
            return None
        if wanted is not None:
            if part == "reward" and self._options.prices:
                self._paid_twice(wanted[0])
            return self.named(part, self._called(wanted[0]) if part == "reward" else wanted[0])
        if part == "reward":
            return self._reward()
        if part in self._source.names or (self._source.may_have_more and part in OPTIONAL):
            return self.named(part, part)
        if part in NEEDED and not (part == "episode" and self._options.gap is not None):
            self.named(part, part)
        return None

    def _reward(self) -> str | None:
        names = self._source.names
        if self._options.prices:
            if "reward" in names:
                self._paid_twice("reward")
            return None
        if self._options.cost and "cost" in names:
            return self.named("reward", "cost")
        return self.named("reward", "reward")

    def signals(self) -> dict[str, str]:
        """The columns of the signals: those asked for, and those that are called so."""
        names, options = self._source.names, self._options
        own = [n.removeprefix(SIGNAL) for n in names if n.startswith(SIGNAL) and n != SIGNAL]
        found = {}
        for name in dict.fromkeys((*own, *options.signals)):
            (column,) = options.parts.get(SIGNAL + name, (SIGNAL + name,))
            found[name] = self.named(SIGNAL + name, self._called(column))
        return found

    def _called(self, column: str) -> str:
        """The column of a signal. A log that jumar wrote has it under the name of its part."""
        names = self._source.names
        return SIGNAL + column if column not in names and SIGNAL + column in names else column

    def _paid_twice(self, column: str) -> None:
        self._problems.add(
            f"{self._source.name}: the column {printable(column)!r} holds the rewards.",
            "Leave out prices (--prices), or the column.",
        )

    def combined(self, part: str) -> tuple[str, ...]:
        """The columns of an observation or action; one that is called 'a+b' is not taken apart."""
        names = self._options.parts.get(part, (part,))
        if len(names) == 1 and names[0] not in self._source.names and "+" in names[0]:
            names = tuple(names[0].split("+"))
            if len(set(names)) < len(names):
                raise ParameterError(f"columns: {part}: a column is named twice. Name it once.")
        for name in names:
            self.named(part, name)
        return names

    def named(self, part: str, name: str) -> str:
        """The name, of which there must be exactly one column."""
        source, found = self._source, self._source.names
        if found.count(name) > 1:
            self._problems.add(
                f"{source.name}: there are {found.count(name)} columns {printable(name)!r}.",
                "Rename all but one.",
            )
        elif name not in found and not (source.may_have_more and part in OPTIONAL):
            no_column(source, part, name, self._problems)
        elif (part in OF_TURNS or part.startswith(SIGNAL)) and name in source.once:
            shown = printable(name)
            self._problems.add(
                f"{source.name}: {shown!r} stands once for all turns of an object, but the {part} "
                "is a matter of every turn.",
                f"Call it last.{shown} for the last turn only: "
                f"columns={{'{part}': 'last.{shown}'}} (--columns {part}=last.{shown}).",
            )
        return name


def no_column(source: Source, part: str, name: str, problems: Problems) -> None:
    """Tell of a column that is not there."""
    found = source.names
    fact = not_one_of("column", name, found) if found else "there are no columns."
    problems.add(f"{source.name}: no column for the {part}: {fact}", _remedy(source, part))


def _remedy(source: Source, part: str) -> str:
    found = source.names
    if source.separator and len(found) == 1 and any(mark in found[0] for mark in ";\t|, "):
        return (
            f"Separate the columns by {source.separator}, or say what separates them: "
            "separator=';' (--separator ';')."
        )
    if source.advice:
        return source.advice
    if part == "price":
        return "A price column:NAME (--prices column:NAME=...) needs a column of numbers."
    if part == "reward" and "cost" in found:
        return "If the column 'cost' is meant, say cost=True (--cost)."
    remedy = f"If it has another name, say so: columns={{'{part}': ...}} (--columns {part}=...)."
    if part == "episode":
        remedy += (
            " If every row is an episode of its own: columns={'episode': 'row'} "
            "(--columns episode=row)."
        )
    if part == "reward":
        remedy += (
            " If the log has none, say what things cost or pay: prices={'action:repair': -10} "
            "(--prices action:repair=-10)."
        )
    return remedy


def those_that_came(source: Source, parts: Parts, options: ReadOptions) -> Parts:
    """The parts without those whose column never occurred (in NDJSON)."""
    if not source.may_have_more:
        return parts
    for part in OPTIONAL:  # in some of several files
        if part in source.seen - {*source.names} and part not in parts.single:
            raise LogError(
                f"{source.name}: the column {part!r} comes up late in one file, and others lack "
                "it. Give all files the same columns."
            )
    single = {part: name for part, name in parts.single.items() if name in source.seen}
    problems = Problems()
    for part in options.parts:
        if part in parts.single and part not in single:
            no_column(source, part, parts.single[part], problems)
    check_clock(source, options, single, problems)
    problems.check()
    if "step" in single and options.gap is None:
        single.pop("time", None)
    return replace(parts, single=single)
