"""From a log to a proposal of everything that must be said about it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import JumarError, LogError, not_one_of
from jumar.core.text import counted, number, printable
from jumar.draft import ending, ranges
from jumar.draft.looking import Column, FirstLook, find_turns, look
from jumar.draft.parts import UNITS, Proposal, columns_of, is_cost, is_unit, propose, words_of
from jumar.draft.rule import Starter, remembered, starter
from jumar.log.formats import FileOptions
from jumar.log.reading import read_logs
from jumar.log.reading.asking import NEEDED, SECONDS
from jumar.log.several import SeveralFiles, open_logs
from jumar.options import of_reading
from jumar.project import YEAR, seconds

Parts = Mapping[str, tuple[str, ...]]  # part to columns
FILE_OPTIONS = ("separator", "encoding", "turns", "sheet")
SHORT = (0.8, 0.9)
DISCOUNTS = (0.95, 0.98, 0.99, 0.995, 0.999)
YEARLY = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
BEYOND = 0.25  # share of the weight that may lie beyond where recordings stop
UNSEEN = "what comes later is not seen"
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
    window: int = 1  # observations that what was done depends on
    questions: tuple[ProjectLine, ...] = ()  # what only a person can tell; a comment in the file
    trouble: str = ""  # why it cannot be read yet, or what is missing

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of `read_logs`."""
        return {item.key: item.value for item in self.settings if item.key in of_reading()}

    def value(self, key: str) -> Any:
        """What is proposed for a key, or None."""
        return next((item.value for item in self.settings if item.key == key), None)


def draft(path: str | os.PathLike[str], given: Mapping[str, Any] | None = None) -> Draft:
    """FirstLook at a log and propose how to read it, and the rule behind it.

    `given` are arguments of `read_logs` that are known already; they are taken over.
    """
    given = {key: value for key, value in (given or {}).items() if value not in (None, {}, "error")}
    if not given.get("each_file"):
        given.pop("each_file", None)
    if "turns" not in given and (turns := find_turns(path)):
        given = {**given, "turns": turns}
    file = FileOptions.checked(**{key: given.get(key) for key in FILE_OPTIONS})
    opened = open_logs(path, given.get("file_format"), file)
    if given.get("each_file") and isinstance(opened, SeveralFiles):
        opened = opened.sources[0]  # labels mean another episode in the next one
    seen = look(opened)
    proposals = _with_given(propose(seen), given, seen)
    settings = _reading(seen, proposals, given)
    cut = any(item.key == "ends" and item.value == "cut" for item in settings)
    settings += [*_time(seen, proposals, cut), *_unit(seen, proposals)]
    used = {item.column for item in proposals}
    others = tuple(name for name in seen.columns if name not in used)
    made = Draft(
        str(path), proposals, tuple(settings), None, others, questions=_questions(seen, settings)
    )
    lacking = [part for part in NEEDED if part not in columns_of(proposals)]
    if "reward" in lacking and "prices" in made.reading:
        lacking.remove("reward")
    if lacking:
        return replace(made, trouble=_lacking(lacking))
    try:
        log = read_logs(path, **made.reading)
    except JumarError as error:
        return replace(made, trouble=str(error))
    if log.propensity is not None:  # it says who acted; a rule read off the log would contradict it
        return made
    return replace(made, starter=starter(log), window=remembered(log))


def _questions(seen: FirstLook, settings: list[ProjectLine]) -> tuple[ProjectLine, ...]:
    """Settings that the log leaves open."""
    known = {item.key: item.value for item in settings}
    name = known["columns"].get("reward")
    column = seen.columns.get(name) if isinstance(name, str) else None
    if "cost" in known or column is None or not is_unit(column.name):
        return ()
    if not (column.numbers[~column.missing] >= 0).all():
        return ()
    why = f"if less is better: {printable(column.name)!r} may hold costs or earnings"
    return (ProjectLine("cost", True, why),)


def _lacking(parts: list[str]) -> str:
    hints = {
        "reward": "what a step paid or cost (or prices: --prices action:repair=-10)",
        "episode": "which rows belong together",
        "action": "what was done",
        "observation": "what was seen",
    }
    lines = [f"no column says {hints[part]}: --columns {part}=NAME" for part in parts]
    return "; ".join(lines) + "."


def _with_given(
    proposals: tuple[Proposal, ...], given: Mapping[str, Any], seen: FirstLook
) -> tuple[Proposal, ...]:
    """The proposals, with what the person has said in their place."""
    said = {part: _as_tuple(names) for part, names in given.get("columns", {}).items()}
    said = {("reward" if part == "cost" else part): names for part, names in said.items()}
    for part, names in said.items():
        if part == "observation" and len(names) == 1 and names[0] not in seen.columns:
            said[part] = tuple(names[0].split("+"))
    for names in said.values():
        for name in names:
            if name not in seen.columns:
                raise LogError(f"{seen.name}: {not_one_of('column', name, seen.columns)}")
    taken = {name for names in said.values() for name in names}
    kept = [p for p in proposals if p.part not in said and p.column not in taken]
    new = [Proposal(part, name, ("as given",)) for part, names in said.items() for name in names]
    return (*kept, *new)


def _as_tuple(names: Any) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


# ---- how to read it -----------------------------------------------------------------------


def _reading(
    seen: FirstLook, proposals: tuple[Proposal, ...], given: Mapping[str, Any]
) -> list[ProjectLine]:
    parts = columns_of(proposals)
    settings = [ProjectLine("columns", _columns(parts))]
    settings += [_ends(seen, parts)] if "terminated" not in parts else []
    reward = _first(seen, parts, "reward")
    if reward is not None and is_cost(reward):
        why = f"{printable(reward.name)!r} sounds like a cost, and is hardly ever negative"
        settings.append(ProjectLine("cost", True, why))
    settings += _missing(seen, parts)
    if reward is not None and reward.missing.any():
        why = f"{printable(reward.name)!r} is empty in {counted(int(reward.missing.sum()), 'row')}"
        last = _only_last(seen, parts, reward)
        why += ": it is paid in the last row of an episode" if last else "; please check"
        settings.append(ProjectLine("missing_reward", 0, why))
    settings += _dates(seen, parts)
    bins = {**_bins(seen, parts), **given.get("bins", {})}
    bins = {column: edges for column, edges in bins.items() if edges}
    if bins:
        settings.append(ProjectLine("bins", bins, "round numbers; correct them to those you go by"))
    lines = {line.key: line for line in settings}
    for key, value in given.items():  # what a person says stands in the place of what was read off
        if key not in ("columns", "bins") and not (key == "ends" and "terminated" in parts):
            why = "the list that holds the steps" if key == "turns" else "as given"
            lines[key] = ProjectLine(key, value, why)
    return list(lines.values())


def _columns(parts: Parts) -> dict[str, str | tuple[str, ...]]:
    return {part: names[0] if len(names) == 1 else names for part, names in parts.items()}


def _first(seen: FirstLook, parts: Parts, part: str) -> Column | None:
    names = parts.get(part)
    return seen.columns[names[0]] if names else None


def _clock(seen: FirstLook, parts: Parts) -> Floats | None:
    column = _first(seen, parts, "step") or _first(seen, parts, "time")
    if column is None:
        return None
    return column.times if column.is_time else column.numbers


def _episodes(seen: FirstLook, parts: Parts) -> Ints:
    column = _first(seen, parts, "episode")
    return np.zeros(seen.rows, np.int64) if column is None else column.code


def _ends(seen: FirstLook, parts: Parts) -> ProjectLine:
    marks = [
        seen.columns[name] for part in ("observation", "action") for name in parts.get(part, ())
    ]
    reward = _first(seen, parts, "reward")
    if reward is not None and _only_last(seen, parts, reward):
        why = f"{printable(reward.name)!r} is filled in only in the last row of an episode"
        return ProjectLine("ends", "terminated", why)
    guess = ending.guess(_episodes(seen, parts), _clock(seen, parts), "time" in parts, marks)
    doubt = "" if guess.sure else "; please check"
    return ProjectLine("ends", guess.ends, guess.reason + doubt)


def _only_last(seen: FirstLook, parts: Parts, column: Column) -> bool:
    """Is a column filled in in the last rows of episodes, and nowhere else?"""
    inner, last = ending.rows_of(_episodes(seen, parts), _clock(seen, parts))
    return bool(
        inner.any() and column.missing[inner].all() and (~column.missing[last]).mean() > 0.9
    )


def _missing(seen: FirstLook, parts: Parts) -> list[ProjectLine]:
    for name in parts.get("observation", ()):
        holes = int(seen.columns[name].missing.sum())
        if holes:
            why = f"{printable(name)!r} is empty in {counted(holes, 'row')}"
            return [ProjectLine("missing", "symbol", f"{why}: 'missing' is what was seen there")]
    return []


def _dates(seen: FirstLook, parts: Parts) -> list[ProjectLine]:
    """How dates are written, where a reader could not tell."""
    column = _first(seen, parts, "time")
    if column is None or len(column.formats) < 2:
        return []
    others = " or ".join(column.formats[1:])
    return [ProjectLine("dates", column.formats[0], f"or {others}; please check")]


def _bins(seen: FirstLook, parts: Parts) -> dict[str, tuple[str | float, ...]]:
    action = _first(seen, parts, "action")
    found = {}
    for name in parts.get("observation", ()):
        column = seen.columns[name]
        several = len(parts["observation"]) > 1
        if column.is_number and ranges.needs_ranges(column.distinct, seen.rows, several):
            known = None if action is None else action.code
            edges = ranges.cut(column.numbers, known)
            if edges:
                found[name] = ranges.named(edges)
    return found


# ---- time and money -----------------------------------------------------------------------


def _time(seen: FirstLook, proposals: tuple[Proposal, ...], cut: bool) -> list[ProjectLine]:
    parts = columns_of(proposals)
    length, why = _step_length(seen, parts)
    rows = seen.rows / max(1, len(np.unique(_episodes(seen, parts))))
    steps = YEAR / seconds(length) if length else 0.0
    years = rows / steps if steps else 0.0
    by_year = not cut or YEARLY[-1] ** years <= BEYOND  # else no rate by the year reaches so short
    if length and seconds(length) >= SECONDS["d"] / 2 and by_year:
        yearly, less = YEARLY[0], "what comes a year later counts 5 % less"
        if cut:
            seldom = next((d for d in YEARLY if d**years <= BEYOND), YEARLY[-1])
            if seldom < yearly:
                yearly, less = seldom, f"recordings stop after {years:.2g} years: {UNSEEN}"
        return [
            ProjectLine("step_length", length, why),
            ProjectLine("yearly_discount", yearly, less),
        ]
    made = [ProjectLine("step_length", length, why)] if length else []
    rate = next((γ for γ in DISCOUNTS if γ**rows >= 0.5), DISCOUNTS[-1])
    step = "step" if rows == 1 else "steps"
    long = number(float(f"{rows:.3g}"))
    why = f"an episode has {long} {step} on average"
    if cut:
        rate = next((γ for γ in reversed((*SHORT, *DISCOUNTS)) if γ**rows <= BEYOND), SHORT[0])
        why = f"recordings stop after {long} steps on average: {UNSEEN}"
    return [*made, ProjectLine("discount", rate, why)]


def _step_length(seen: FirstLook, parts: Parts) -> tuple[str, str]:
    """How long a step takes, as 7d, if the log shows it."""
    for part in ("time", "step"):
        column = _first(seen, parts, part)
        if column is None:
            continue
        if column.is_time:
            return _usual_gap(column.times, _episodes(seen, parts)), "the usual time between rows"
        for word, length in CALENDAR.items():
            if word in words_of(column.name):
                return length, f"{printable(column.name)!r} counts {word}s"
    return "", ""


def _usual_gap(times: Floats, episode: Ints) -> str:
    order = np.lexsort((times, episode))
    same = episode[order][1:] == episode[order][:-1]
    with np.errstate(over="ignore"):  # between -1e308 and 1e308
        gaps = np.diff(times[order])[same]
    gaps = gaps[gaps > 0]
    if len(gaps) == 0:
        return ""
    usual = float(np.median(gaps))
    for unit, size in SECONDS.items():
        if usual >= size:
            return f"{round(usual / size):d}{unit}"
    return ""


def _unit(seen: FirstLook, proposals: tuple[Proposal, ...]) -> list[ProjectLine]:
    reward = _first(seen, columns_of(proposals), "reward")
    if reward is None:
        return []
    words = [*words_of(reward.name), *(mark for mark in "€$" if mark in reward.name)]
    unit = next((UNITS[word] for word in words if word in UNITS), None)
    return [ProjectLine("unit", unit, f"from the name {printable(reward.name)!r}")] if unit else []
