"""Which column of a log plays which part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from jumar.core.errors import LogError, ParameterError, not_one_of
from jumar.core.text import printable
from jumar.io.formats import Source
from jumar.io.logs.asking import COMBINED, NEEDED, OPTIONAL, Asked


@dataclass(frozen=True)
class Parts:
    """The columns to read."""

    single: Mapping[str, str]  # part to column, for every other part there is: episode, reward, ...
    combined: Mapping[str, tuple[str, ...]]  # the columns of an observation, and of an action
    priced: tuple[str, ...]  # columns of numbers that have a price

    @property
    def columns(self) -> list[str]:
        """Every column once."""
        names = (*self.single.values(), *self.symbols, *self.priced)
        return list(dict.fromkeys(names))

    @property
    def symbols(self) -> list[str]:
        """The columns that observations and actions are made of."""
        return [name for names in self.combined.values() for name in names]


def find_parts(source: Source, asked: Asked) -> Parts:
    """Find the columns, or raise an error that says which is missing and what may be meant."""
    found = _Finder(source, asked)
    single = {}
    for part in (*NEEDED, *OPTIONAL):
        if part not in COMBINED and (name := found.single(part)) is not None:
            single[part] = name
    check_clock(source, asked, single)
    if single.get("step") in source.names and asked.gap is None:
        single.pop("time", None)  # steps say the order; the time is only read to find gaps
    priced = tuple(price.name for price in asked.prices if price.kind == "column")
    for name in priced:
        found.named("price", name)
    parts = Parts(single, {part: found.combined(part) for part in COMBINED}, priced)
    for column in asked.bins:
        if column not in parts.symbols:
            raise ParameterError(
                f"bins: {not_one_of('column', column, parts.symbols)} Only columns that are an "
                "observation or action are cut into bins."
            )
    return parts


def check_clock(source: Source, asked: Asked, single: Mapping[str, str]) -> None:
    """Some options need a column that says when."""
    for wish, wanted in (("gap", asked.gap is not None), ("repeated", asked.repeated == "drop")):
        if wanted and "step" not in single and "time" not in single:
            raise LogError(
                f"{source.name}: {wish} needs to know when a row was written, but there is no "
                "column 'step' or 'time'. Name one: columns={'time': ...} (--columns time=...)."
            )


class _Finder:
    """Looks up columns of one log."""

    def __init__(self, source: Source, asked: Asked) -> None:
        self._source, self._asked = source, asked

    def single(self, part: str) -> str | None:
        """The column of a part, if it is needed or there."""
        names, asked = self._source.names, self._asked
        column, given = part, asked.columns.get(part)
        if given is not None:
            column = given[0]
        elif part == "reward" and asked.cost and "cost" in names:
            column = "cost"
        if part == "reward" and asked.prices:
            if given is not None or column in names:
                raise LogError(
                    f"{self._source.name}: the column {printable(column)!r} holds the rewards. "
                    "Leave out prices (--prices), or the column."
                )
            return None
        optional = part in OPTIONAL and not self._source.may_have_more
        optional |= part == "episode" and asked.gap is not None
        if given is None and optional and column not in names:
            return None
        return self.named(part, column)

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
        """The name, if there is exactly one such column."""
        source, found = self._source, self._source.names
        if found.count(name) > 1:
            raise LogError(
                f"{source.name}: there are {found.count(name)} columns {printable(name)!r}. "
                "Rename all but one."
            )
        if name in found or (source.may_have_more and part in OPTIONAL):
            return name
        raise no_column(source, part, name)


def no_column(source: Source, part: str, name: str) -> LogError:
    """The error for a column that is not there."""
    found = source.names
    fact = not_one_of("column", name, found) if found else "there are no columns."
    return LogError(f"{source.name}: no column for the {part}: {fact} {_remedy(source, part)}")


def _remedy(source: Source, part: str) -> str:
    found = source.names
    others = set(";\t|,") - {{"commas": ",", "tabs": "\t"}.get(source.separator, "")}
    if source.separator and len(found) == 1 and any(mark in found[0] for mark in others):
        return f"Separate the columns by {source.separator}."
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
    for part in asked.columns:
        if part in parts.single and part not in single:
            raise no_column(source, part, parts.single[part])
    check_clock(source, asked, single)
    if "step" in single and asked.gap is None:
        single.pop("time", None)
    return replace(parts, single=single)
