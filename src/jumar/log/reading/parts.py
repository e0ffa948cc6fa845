"""Which column of a log plays which part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jumar.core.errors import ParameterError, not_one_of
from jumar.core.text import printable
from jumar.log.episodes import SIGNAL
from jumar.log.formats import Source
from jumar.log.problems import Problems
from jumar.log.reading.asking import COMBINED, NEEDED, OPTIONAL, Asked

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


def find_parts(source: Source, asked: Asked) -> Parts:
    """Find the columns, or raise an error that says which is missing and what may be meant."""
    problems = Problems()
    found = _Finder(source, asked, problems)
    single = {}
    for part in (*NEEDED, *OPTIONAL):
        if part not in COMBINED and (name := found.single(part)) is not None:
            single[part] = name
    check_clock(source, asked, single, problems)
    if single.get("step") in source.names and asked.gap is None:
        single.pop("time", None)  # steps say the order; the time is only read to find gaps
    priced = tuple(price.name for price in asked.prices if price.kind == "column")
    for name in priced:
        found.named("price", name)
    symbols = found.combined("observation"), found.combined("action")
    parts = Parts(single, *symbols, priced, found.signals())
    problems.check()
    for column in asked.bins:
        if column not in (*parts.observation, *parts.action):
            names = (*parts.observation, *parts.action)
            raise ParameterError(
                f"bins: {not_one_of('column', column, names)} Only columns that are an observation "
                "or action are cut into bins."
            )
    return parts


def check_clock(
    source: Source, asked: Asked, single: Mapping[str, str], problems: Problems
) -> None:
    """Some options need a column that says when."""
    for wish, wanted in (("gap", asked.gap is not None), ("repeated", asked.repeated == "drop")):
        if wanted and "step" not in single and "time" not in single:
            problems.add(
                f"{source.name}: {wish} needs to know when a row was written, but there is no "
                "column 'step' or 'time'.",
                "Name one: columns={'time': ...} (--columns time=...).",
            )


class _Finder:
    """Looks up columns of one log."""

    def __init__(self, source: Source, asked: Asked, problems: Problems) -> None:
        self._source, self._asked, self._problems = source, asked, problems

    def single(self, part: str) -> str | None:
        """The column of a part, if it is needed or there."""
        wanted = self._asked.columns.get(part)
        if wanted is not None:
            if part == "reward" and self._asked.prices:
                self._paid_twice(wanted[0])
            return self.named(part, self._called(wanted[0]) if part == "reward" else wanted[0])
        if part == "reward":
            return self._reward()
        if part in self._source.names or (self._source.may_have_more and part in OPTIONAL):
            return self.named(part, part)
        if part in NEEDED and not (part == "episode" and self._asked.gap is not None):
            self.named(part, part)
        return None

    def _reward(self) -> str | None:
        names = self._source.names
        if self._asked.prices:
            if "reward" in names:
                self._paid_twice("reward")
            return None
        if self._asked.cost and "cost" in names:
            return self.named("reward", "cost")
        return self.named("reward", "reward")

    def signals(self) -> dict[str, str]:
        """The columns of the signals: those asked for, and those that are called so."""
        names, asked = self._source.names, self._asked
        own = [n.removeprefix(SIGNAL) for n in names if n.startswith(SIGNAL) and n != SIGNAL]
        found = {}
        for name in dict.fromkeys((*own, *asked.signals)):
            (column,) = asked.columns.get(SIGNAL + name, (SIGNAL + name,))
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
        names = self._asked.columns.get(part, (part,))
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
    if part == "reward":
        remedy += (
            " If the log has none, say what things cost or pay: prices={'action:repair': -10} "
            "(--prices action:repair=-10)."
        )
    return remedy


def those_that_came(source: Source, parts: Parts, asked: Asked) -> Parts:
    """The parts without those whose column never occurred (in NDJSON)."""
    if not source.may_have_more:
        return parts
    single = {part: name for part, name in parts.single.items() if name in source.seen}
    problems = Problems()
    for part in asked.columns:
        if part in parts.single and part not in single:
            no_column(source, part, parts.single[part], problems)
    check_clock(source, asked, single, problems)
    problems.check()
    if "step" in single and asked.gap is None:
        single.pop("time", None)
    return replace(parts, single=single)
