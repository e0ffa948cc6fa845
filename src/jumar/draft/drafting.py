"""From a log to a proposal of everything that must be said about it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import JumarError, LogError, not_one_of
from jumar.core.text import counted, number, printable
from jumar.draft.looking import Column, FirstLook, find_turns, look
from jumar.draft.parts import (
    UNDECIDED,
    UNITS,
    Proposal,
    coded,
    columns_of,
    is_cost,
    propose,
    units_of,
    words_of,
)
from jumar.draft.ranges import dependence, named
from jumar.draft.rule import Starter, remembered, starter
from jumar.draft.telling import read_back
from jumar.draft.timing import followed, next_rows
from jumar.log.files import SeveralFiles, open_logs
from jumar.log.formats import FileOptions
from jumar.log.reading import read_logs
from jumar.log.reading.options import NEEDED, ROW, SECONDS
from jumar.options import of_reading
from jumar.project import YEAR, seconds

FIRST = 5  # rows that are shown
FILE_OPTIONS = ("separator", "encoding", "turns", "sheet")
SHORT = (0.8, 0.9)
DISCOUNTS = (0.95, 0.98, 0.99, 0.995, 0.999)
YEARLY = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
BEYOND = 0.25  # share of the weight that may lie beyond where recordings stop
UNSEEN = "what comes later is not seen"
SHARE = 0.5  # of the episodes must show the sign by which they end
SAYS = {
    "reward": "what a step paid or cost (or prices: --prices action:repair=-10)",
    "episode": "which rows belong together",
    "action": "what was done",
    "observation": "what was seen",
}
CALENDAR = {"year": "365.25d", "month": "30.4375d", "week": "7d", "day": "1d", "hour": "1h"}


@dataclass(frozen=True)
class ProjectLine:
    """A line of the project file: a key, its value, and why."""

    key: str
    value: Any
    why: str = ""


@dataclass(frozen=True)
class Draft:
    """What is proposed for a log."""

    log: str
    proposals: tuple[Proposal, ...]
    settings: tuple[ProjectLine, ...]  # of the project file, without the rule
    starter: Starter | None  # a rule to start from, if the log can be read and lacks propensities
    others: tuple[str, ...] = ()  # columns that play no part
    aside: Mapping[str, str] = field(default_factory=dict)  # of these, those with a reason
    window: int = 1  # observations that what was done depends on
    trouble: str = ""  # why it cannot be read yet, or what is missing
    rows: tuple[Mapping[str, str], ...] = ()  # the first of the log
    told: tuple[str, ...] = ()  # the draft in plain words
    limits: Mapping[str, Any] = field(default_factory=dict)  # what a person is to confirm

    @property
    def undecided(self) -> tuple[str, ...]:
        """Columns of which nobody can tell whether they were known before the action."""
        return tuple(name for name, why in self.aside.items() if why == UNDECIDED)

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of `read_logs`."""
        return {item.key: item.value for item in self.settings if item.key in of_reading()}

    def value(self, key: str) -> Any:
        """What is proposed for a key, or None."""
        return next((item.value for item in self.settings if item.key == key), None)


def draft(path: str | os.PathLike[str], given: Mapping[str, Any] | None = None) -> Draft:
    """Look at a log and propose how to read it, and the rule behind it.

    `given` are arguments of `read_logs` that are known already; they are taken over.
    """
    given = {key: value for key, value in (given or {}).items() if value not in (None, {}, "error")}
    if not given.get("each_file"):
        given.pop("each_file", None)
    if "turns" not in given and (turns := find_turns(path)):
        given = {**given, "turns": turns}
    file = FileOptions(**{key: given.get(key) for key in FILE_OPTIONS})
    opened = open_logs(path, given.get("file_format"), file)
    if given.get("each_file") and isinstance(opened, SeveralFiles):
        opened = opened.sources[0]  # labels mean another episode in the next one
    seen = look(opened)
    parts = propose(seen)
    proposals = _with_given(parts.proposals, given, seen)
    settings = _Settings(seen, columns_of(proposals)).all(given)
    used = {item.column for item in proposals}
    others = tuple(name for name in seen.columns if name not in used)
    aside = {name: why for name, why in parts.aside.items() if name in others}
    rows = tuple(
        {name: (*c.names, "")[c.code[i]] for name, c in seen.columns.items()}
        for i in range(min(FIRST, seen.rows))
    )
    made = Draft(str(path), proposals, tuple(settings), None, others, aside, rows=rows)
    lacking = [part for part in NEEDED if part not in columns_of(proposals)]
    if "reward" in lacking and "prices" in made.reading:
        lacking.remove("reward")
    if lacking:
        return replace(made, trouble=_lacking(lacking))
    try:
        log = read_logs(path, **made.reading)
    except JumarError as error:
        return replace(made, trouble=str(error))
    if log.propensity is None and log.behavior is None:  # else they say who acted, and how
        made = replace(made, starter=starter(log), window=remembered(log))
    low, high = log.reward.min() + 0.0, log.reward.max() + 0.0  # no -0
    limits: dict[str, Any] = {"rewards": [_plain(low), _plain(high)]}
    if log.terminated.all() and log.lengths.max() > 1:
        limits["horizon"] = int(log.lengths.max())
    return replace(made, told=read_back(made, log), limits=limits)


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else float(value)


def _lacking(parts: list[str]) -> str:
    return "; ".join(f"no column says {SAYS[part]}: --columns {part}=NAME" for part in parts) + "."


def _with_given(
    proposals: tuple[Proposal, ...], given: Mapping[str, Any], seen: FirstLook
) -> tuple[Proposal, ...]:
    """The proposals, with what the person has said in their place."""
    said = {}
    for part, names in given.get("columns", {}).items():
        names = (names,) if isinstance(names, str) else tuple(names)
        if part == "observation" and len(names) == 1 and names[0] not in seen.columns:
            names = tuple(names[0].split("+"))
        said["reward" if part == "cost" else part] = names
    taken = [name for names in said.values() for name in names]
    for name in taken:
        if name not in seen.columns and not name == ROW == said.get("episode", ("",))[0]:
            raise LogError(f"{seen.name}: {not_one_of('column', name, seen.columns)}")
    kept = [p for p in proposals if p.part not in said and p.column not in taken]
    new = [Proposal(part, name, ("as given",)) for part, names in said.items() for name in names]
    return (*kept, *new)


# ---- how to read it -----------------------------------------------------------------------


class _Settings:
    """What the project file says, for columns that play these parts."""

    def __init__(self, seen: FirstLook, parts: Mapping[str, tuple[str, ...]]) -> None:
        self.seen, self.parts = seen, parts
        self.reward, self.action = self._first("reward"), self._first("action")
        episode = self._first("episode")
        self.episode: Ints = np.arange(seen.rows) if episode is None else episode.code
        clock = self._first("step") or self._first("time")
        self.clock: Floats | None = None
        if clock is not None:
            self.clock = clock.times if clock.is_time else clock.numbers
        self.after: Ints = next_rows(self.episode, clock)
        self.inner = self.after >= 0  # (N,) rows after which an episode goes on
        self.last: Ints = np.flatnonzero(~self.inner)  # (E,) the last row of every episode

    def _first(self, part: str) -> Column | None:
        names = self.parts.get(part)
        return self.seen.columns.get(names[0]) if names else None  # a row is no column

    def all(self, given: Mapping[str, Any]) -> list[ProjectLine]:
        """All lines. What a person says stands in the place of what was read off."""
        lines = {line.key: line for line in self._read_off(given.get("bins", {}))}
        for key, value in given.items():
            if key not in ("columns", "bins"):
                why = "the list that holds the steps" if key == "turns" else "as given"
                lines[key] = ProjectLine(key, value, why)
        if "terminated" in self.parts:
            lines.pop("ends", None)
        cut = "ends" in lines and lines["ends"].value == "cut"
        return [*lines.values(), *self._time(cut), *self._unit()]

    def _read_off(self, bins: Mapping[str, Any]) -> Iterator[ProjectLine]:
        yield ProjectLine("columns", {p: x[0] if len(x) == 1 else x for p, x in self.parts.items()})
        yield ProjectLine("ends", *self._end())
        reward = self.reward
        if reward is not None and is_cost(reward):
            why = f"{printable(reward.name)!r} sounds like a cost, and is hardly ever negative"
            yield ProjectLine("cost", True, why)
        for column in self._observed():
            if column.missing.any():
                what = "'missing' is what was seen there"
                yield ProjectLine("missing", "symbol", f"{self._holes(column)}: {what}")
                break
        if reward is not None and reward.missing.any():
            paid = ": it is paid in the last row of an episode"
            rest = paid if self._only_last(reward) else "; please check"
            yield ProjectLine("missing_reward", 0, f"{self._holes(reward)}{rest}")
        time = self._first("time")
        if time is not None and time.formats:  # they are not plain ISO 8601
            others = " or ".join(time.formats[1:])
            why = f"or {others}; please check" if others else f"as in {printable(time.names[0])!r}"
            yield ProjectLine("dates", time.formats[0], why)
        if comma := self._decimal_comma():
            yield ProjectLine("decimal", ",", f"as in {printable(comma)!r}")
        if found := {name: edges for name, edges in {**self._bins(), **bins}.items() if edges}:
            yield ProjectLine("bins", found, "round numbers; correct them to those you go by")

    def _observed(self) -> list[Column]:
        return [self.seen.columns[name] for name in self.parts.get("observation", ())]

    def _decimal_comma(self) -> str:
        """A number in text whose decimal mark is a comma, as it stands in the log."""
        for column in map(self.seen.columns.get, sum(self.parts.values(), ())):
            if column is None:  # a row is no column
                continue
            commas = [name for name in column.names if name.rfind(",") > name.rfind(".")]
            if column.is_number and commas:
                return commas[0]
        return ""

    def _holes(self, column: Column) -> str:
        return f"{printable(column.name)!r} is empty in {counted(int(column.missing.sum()), 'row')}"

    def _end(self) -> tuple[str, str]:
        """How episodes end, and the reason. Terminated where they have one row, where most end with
        a value that stands nowhere else, or where lengths differ and nothing else ends them; cut
        where they all stop at the same time or length."""
        if self.reward is not None and self._only_last(self.reward):
            why = f"{printable(self.reward.name)!r} is filled in only in the last row of an episode"
            return "terminated", why
        sizes = np.unique(self.episode, return_counts=True)[1]
        if (sizes == 1).all():
            return "terminated", "every row is an episode of its own"
        acted = [] if self.action is None else [self.action]
        for column in (*self._observed(), *acted):
            if sign := self._ending_value(column):
                return "terminated", sign
        if len(sizes) > 1 and (sizes == sizes[0]).all():
            return "cut", f"all episodes have {sizes[0]:,} rows"
        longest = float((sizes == sizes.max()).mean())
        if longest >= 0.2 and sizes.max() > 2:
            reason = f"{100 * longest:.0f} % of the episodes stop after {sizes.max():,} rows"
            return "cut", f"{reason}; please check"
        if self.clock is not None and "time" in self.parts and len(self.last) > 1:
            spread = float(self.clock.max() - self.clock.min())
            late = self.clock[self.last] >= self.clock.max() - 0.02 * spread
            together = float(late.mean()) if spread > 0 else 0.0
            if together >= SHARE:
                return "cut", f"{100 * together:.0f} % of the episodes stop when the log stops"
        if len(sizes) == 1:
            return "cut", "there is one long episode; please check"
        if self._stops_by_itself():
            return "terminated", "what was seen, done or paid differs in last rows; please check"
        return "cut", "they stop whatever was seen, done or paid; please check"

    def _stops_by_itself(self) -> bool:
        """Do last rows depend on what was seen, done or paid there?"""
        ended = (~self.inner).astype(np.int64)
        codes = [column.code for column in (self.action, self.reward) if column is not None]
        codes += [coded(column, None, True) for column in self._observed()]
        return any(dependence(0 * ended, code + 1, ended) > 0 for code in codes)

    def _ending_value(self, column: Column) -> str:
        """The value of a column with which most episodes end, and which stands nowhere else."""
        if column.distinct > 200 or column.distinct < 2:
            return ""
        code = column.code[self.last]
        values, counts = np.unique(code[code >= 0], return_counts=True)
        final = np.isin(values, np.unique(column.code[self.inner]), invert=True)
        if not final.any() or counts[final].sum() < SHARE * len(self.last):
            return ""
        names = ", ".join(printable(column.names[v]) for v in values[final][:3])
        where = f"{printable(column.name)!r}, which stands nowhere else"
        return f"most episodes end with {names} in {where}"

    def _only_last(self, column: Column) -> bool:
        """Is a column filled in in the last rows of episodes, and nowhere else?"""
        there = ~column.missing
        return bool(
            self.inner.any() and not there[self.inner].any() and there[self.last].mean() > 0.9
        )

    def _bins(self) -> dict[str, tuple[str | float, ...]]:
        action = None if self.action is None else self.action.code
        observed = self._observed()
        follows = None if self.reward is None else followed(self.reward, self.after)
        edges = {
            column.name: column.edges(action, len(observed) > 1, follows) for column in observed
        }
        return {name: named(found) for name, found in edges.items() if found}

    # ---- time and money -----------------------------------------------------------------------

    def _time(self, cut: bool) -> Iterator[ProjectLine]:
        length, why = self._step_length()
        if length:
            yield ProjectLine("step_length", length, why)
        rows = self.seen.rows / max(1, len(np.unique(self.episode)))
        years = rows / (YEAR / seconds(length)) if length else 0.0
        by_year = not cut or YEARLY[-1] ** years <= BEYOND  # else no rate by the year is so short
        if length and seconds(length) >= SECONDS["d"] / 2 and by_year:
            yearly, why = YEARLY[0], "what comes a year later counts 5 % less"
            seldom = next((d for d in YEARLY if d**years <= BEYOND), YEARLY[-1])
            if cut and seldom < yearly:
                yearly, why = seldom, f"recordings stop after {years:.2g} years: {UNSEEN}"
            yield ProjectLine("yearly_discount", yearly, why)
            return
        long = number(float(f"{rows:.3g}"))
        if cut:
            rate = next((γ for γ in reversed((*SHORT, *DISCOUNTS)) if γ**rows <= BEYOND), SHORT[0])
            why = f"recordings stop after {long} steps on average: {UNSEEN}"
        else:
            rate = next((γ for γ in DISCOUNTS if γ**rows >= 0.5), DISCOUNTS[-1])
            why = f"an episode has {long} {'step' if rows == 1 else 'steps'} on average"
        yield ProjectLine("discount", rate, why)

    def _step_length(self) -> tuple[str, str]:
        """How long a step takes, as 7d, if the log shows it; and why."""
        for part in ("time", "step"):
            column = self._first(part)
            if column is None:
                continue
            if column.is_time:
                return self._usual_gap(column.times), "the usual time between rows"
            for word, length in CALENDAR.items():
                if word in words_of(column.name):
                    return length, f"{printable(column.name)!r} counts {word}s"
        return "", ""

    def _usual_gap(self, times: Floats) -> str:
        order = np.lexsort((times, self.episode))
        same = self.episode[order][1:] == self.episode[order][:-1]
        with np.errstate(over="ignore"):  # between -1e308 and 1e308
            gaps = np.diff(times[order])[same]
        gaps = gaps[gaps > 0]
        usual = float(np.median(gaps)) if len(gaps) else 0.0
        for unit, size in SECONDS.items():
            if usual >= size:
                return f"{round(usual / size):d}{unit}"
        return ""

    def _unit(self) -> list[ProjectLine]:
        name = "" if self.reward is None else self.reward.name
        unit = next((UNITS[word] for word in units_of(name)), None)
        return [ProjectLine("unit", unit, f"from the name {printable(name)!r}")] if unit else []
