"""How a log is written and read: the keywords of `read_logs`, checked before a file is opened."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from jumar.core.errors import LogError, ParameterError, not_one_of
from jumar.core.names import JOINT, check_names
from jumar.core.reading import Bins, LogReading, ReadColumn
from jumar.core.text import printable
from jumar.log.episodes import SIGNAL, check_draws
from jumar.log.formats import FileOptions, known_format
from jumar.log.reading.amounts import Mark
from jumar.log.reading.clocks import check_format

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

Ends = Literal["terminated", "cut"]
Missing = Literal["error", "symbol", "drop"]
Repeated = Literal["error", "drop"]
LogSource: TypeAlias = "str | os.PathLike[str] | Dataset"
Progress = Callable[[int, int], None]  # rows that are done, and all

NEEDED = ("episode", "observation", "action", "reward")
ROW = "row"  # in place of a column: every row is an episode of its own
OPTIONAL = ("step", "time", "terminated", "node", "propensity", "cluster", "behavior")
COMBINED = ("observation", "action")  # parts that several columns may play together
COST_SIGNAL = "cost:"  # the same as a signal, but less is better
SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


class LongestPause(NamedTuple):
    """The longest pause within an episode."""

    text: str  # as it was given
    amount: float  # in seconds, or in units of the step
    of_time: bool


class Price(NamedTuple):
    """What an action, an observation or a unit of a column pays."""

    kind: str
    name: str
    amount: float


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a log is written and read.

    Parameters
    ----------
    observations
        The names of all observations, in order; use the controller's. Without it, those found,
        sorted.
    actions
        The names of all actions, likewise.
    columns
        Which column plays which part. An observation or action may be made of several columns. A
        part may be a keyword of its own: ``episode="call", reward="score"``; ``cost="EUR"`` is a
        column of costs. ``episode="row"`` makes every row an episode, where no column is called so.
    ends
        What the end of an episode means where no column says it: "terminated" or "cut".
    cost
        The reward column holds costs. False says that it does not, whatever its name suggests.
    bins
        Cuts a column of numbers into named ranges: ``{"vibration": ("low", 2, "mid", 5,
        "high")}``.
    gap
        A longer gap than this ("90d", "12h", or a number of steps) starts a new episode.
    missing
        What is done about missing values: they are an "error", become the observation "missing"
        ("symbol"), or their episode is left out ("drop").
    repeated
        What is done about rows that are repeated word for word: they are an "error" or left out
        ("drop").
    prices
        Make the rewards of a log that has none: ``{"action:repair": -10, "column:miles": -0.02}``.
    file_format
        "CSV", "TSV", "Parquet", "Arrow", "NDJSON", "JSON", "Excel" or "Minari", if the name does
        not tell.
    separator
        The column separator of a text file: ",", ";", "|", or "tab".
    decimal
        The decimal mark of numbers in text, "." or ","; the other one then parts thousands.
    dates
        How dates are written, as for ``strptime``: "%d/%m/%Y".
    encoding
        Of a text file that is not UTF-8: "cp1252", "utf-16".
    turns
        The key of nested JSON that holds the list of steps; with dots, a path of keys.
    sheet
        The sheet of an Excel workbook.
    missing_reward
        What a step pays whose reward is missing: 0 where an outcome stands only in the last row.
    propensity_draws
        Every propensity is the frequency of the action in so many draws; 0 says that propensities
        are exact.
    each_file
        Episodes are numbered anew in every file of a folder.
    """

    observations: Sequence[str] | None = None
    actions: Sequence[str] | None = None
    columns: Mapping[str, str | Sequence[str]] | None = None
    ends: Ends | None = None
    cost: bool | None = None
    bins: Mapping[str, Any] | None = None
    gap: str | float | timedelta | LongestPause | None = None
    missing: Missing = "error"
    repeated: Repeated = "error"
    prices: Mapping[str, float] | None = None
    file_format: str | None = None
    separator: str | None = None
    decimal: Mark | None = None
    dates: str | None = None
    encoding: str | None = None
    turns: str | None = None
    sheet: str | None = None
    missing_reward: float | None = None
    propensity_draws: int | None = None
    each_file: bool = False

    def __post_init__(self) -> None:
        for name, kind, choices in (
            ("ends", "meaning", (None, *get_args(Ends))),
            ("missing", "choice", get_args(Missing)),
            ("repeated", "choice", get_args(Repeated)),
            ("decimal", "mark", (None, *get_args(Mark))),
        ):
            value = getattr(self, name)
            if value not in choices:
                known = [choice for choice in choices if choice]
                raise ParameterError(f"{name}: " + not_one_of(kind, value, known))
        if self.cost and self.prices:
            raise ParameterError(
                "cost: prices already say what is paid. Give what costs a minus sign in prices "
                "(--prices), and leave out cost (--cost)."
            )
        file = self.file
        self._put(
            observations=_names("observation", self.observations),
            actions=_names("action", self.actions),
            columns=_columns(self.columns or {}, bool(self.cost)),
            bins={column: read_bins(column, spec) for column, spec in (self.bins or {}).items()},
            gap=None if self.gap is None else read_gap(self.gap),
            prices={name: _price(name, amount) for name, amount in (self.prices or {}).items()},
            file_format=known_format(self.file_format),
            separator=file.separator,
            encoding=file.encoding,
            dates=None if self.dates is None else check_format(self.dates),
            missing_reward=None if self.missing_reward is None else _amount(self.missing_reward),
            propensity_draws=check_draws(self.propensity_draws),
        )

    def _put(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def file(self) -> FileOptions:
        """How a file is written."""
        return FileOptions(self.separator, self.encoding, self.turns, self.sheet)

    @property
    def of_parquet(self) -> ReadOptions:
        """The same for a file whose form needs no word."""
        return replace(self, separator=None, encoding=None, turns=None, sheet=None)

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The columns that were named, by part; a signal that is a cost is a signal."""
        return {_signal(part): tuple(names) for part, names in (self.columns or {}).items()}

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the signals that are asked for."""
        return tuple(part.removeprefix(SIGNAL) for part in self.parts if part.startswith(SIGNAL))

    @property
    def cost_signals(self) -> tuple[str, ...]:
        """The signals that hold costs."""
        costs = [part for part in self.columns or {} if part.startswith(COST_SIGNAL)]
        return tuple(part.removeprefix(COST_SIGNAL) for part in costs)

    @property
    def cut(self) -> Mapping[str, Bins]:
        """The ranges of every column that has any."""
        return self.bins or {}

    @property
    def pause(self) -> LongestPause | None:
        """The longest pause within an episode."""
        return self.gap if isinstance(self.gap, LongestPause) else None

    @property
    def priced(self) -> tuple[Price, ...]:
        """What has a price."""
        parted = (
            (*name.partition(":")[::2], amount) for name, amount in (self.prices or {}).items()
        )
        return tuple(Price(*each) for each in parted)

    def given(self, part: str) -> tuple[str, ...] | None:
        """The names that observations or actions must have, if somebody told."""
        names = self.observations if part == "observation" else self.actions
        return None if names is None else tuple(names)

    def reading(
        self,
        columns: Mapping[str, Sequence[str]],
        episode: str | None,
        separator: str = ",",
        decimal: str = ".",
    ) -> LogReading:
        """What a program needs to know to read rows of such a log one by one."""
        observation, action = (
            tuple(ReadColumn(name, self.cut.get(name)) for name in columns[part])
            for part in COMBINED
        )
        pause = None if self.pause is None else self.pause.text
        named = self.missing == "symbol"
        return LogReading(observation, action, episode, pause, named, separator, decimal)

    def check_bins(self, columns: Sequence[str]) -> None:
        """Only columns that are an observation or action are cut."""
        for column in self.cut:
            if column not in columns:
                raise ParameterError(
                    f"bins: {not_one_of('column', column, columns)} Only columns that are an "
                    "observation or action are cut into bins."
                )


def with_columns(words: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of `ReadOptions`, with the parts that are keywords of their own among its columns.

    >>> with_columns({"episode": "call", "ends": "cut"})
    {'ends': 'cut', 'columns': {'episode': 'call'}}
    """
    parts = {p: words[p] for p in (*NEEDED, *OPTIONAL) if words.get(p) is not None}
    rest = {name: value for name, value in words.items() if name not in (*NEEDED, *OPTIONAL)}
    if isinstance(rest.get("cost"), str):
        parts["cost"], rest["cost"] = rest["cost"], True
    columns = rest.get("columns") or {}
    for part in parts:
        if part in columns:
            raise ParameterError(
                f"columns: {part} is named here and as a keyword of its own. Name it once."
            )
    return {**rest, "columns": {**columns, **parts}} if parts else rest


def reading_told(
    columns: Mapping[str, str | Sequence[str]] | None = None,
    bins: Mapping[str, Sequence[str | float]] | None = None,
    *,
    missing: str = "error",
    separator: str = ",",
    decimal: str | None = None,
) -> LogReading:
    """How a log with these options would be read, where no log shows it.

    >>> told = reading_told({"observation": "vibration+noise"}, {"vibration": ("low", 2, "high")})
    >>> [column.name for column in told.observation], told.observation[0].bins.edges
    (['vibration', 'noise'], (2.0,))
    """
    literal: Any = {"missing": missing, "decimal": decimal}
    options = ReadOptions(columns=columns, bins=bins, **literal)
    named = {part: options.parts.get(part, (part,)) for part in (*COMBINED, "episode")}
    for part in COMBINED:
        if isinstance((columns or {}).get(part), str):  # as a command line writes several
            named[part] = tuple(named[part][0].split(JOINT))
    options.check_bins([*named["observation"], *named["action"]])
    return options.reading(named, named["episode"][0], separator, decimal or ".")


# all that can be said of how a log is written: the keywords of `read_logs`
READING = (*(option.name for option in fields(ReadOptions)), *NEEDED, *OPTIONAL)


@dataclass(frozen=True)
class LogFiles:
    """A log in files that nobody has read yet, for whoever decides how to read it: at once, or, if
    it is too large for that, in parts where it lies.

    Parameters
    ----------
    sources
        A file, a folder, a pattern such as ``"logs/*.parquet"``, an address such as
        ``"s3://bucket/logs"``, a ``pyarrow.dataset``, or several of them; or a table in memory. In
        parts they are read in order: sorted by episode, then by step.
    reading
        How the logs are written, as for `read_logs`: ``{"ends": "cut", "episode": "call"}``.
    sort
        Rows lie anywhere: where the log is read in parts, sort it first, on disk, which needs
        DuckDB (``pip install 'jumar[duckdb]'``).
    engine
        Who reads the parts: "here" (threads), "processes", or "dask".
    jobs
        How many parts at once; all cores by default.
    scheduler
        The address of a running Dask cluster.
    progress
        Called with the rows that are done, and all.

    Examples
    --------
    >>> LogFiles("logs/*.parquet", {"ends": "cut"}, engine="processes").jobs is None
    True
    """

    sources: LogSource | Sequence[LogSource]
    reading: Mapping[str, Any] = field(default_factory=dict)
    sort: bool = False
    engine: str = "here"
    jobs: int | None = None
    scheduler: str | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reading", with_columns(self.reading))

    @property
    def listed(self) -> list[LogSource]:
        """The sources, one by one."""
        several = isinstance(self.sources, Sequence) and not isinstance(self.sources, str)
        return list(self.sources) if several else [self.sources]  # type: ignore[arg-type]

    @property
    def workers(self) -> dict[str, Any]:
        """Who reads the parts, for whoever tells them to."""
        names = ("engine", "jobs", "scheduler", "progress")
        return {name: getattr(self, name) for name in names}


# ---- checks -------------------------------------------------------------------------------------


def _names(part: str, names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else check_names(part, names, LogError)


def _columns(columns: Mapping[str, str | Sequence[str]], cost: bool) -> dict[str, tuple[str, ...]]:
    known = (*NEEDED, *OPTIONAL)
    found: dict[str, tuple[str, ...]] = {}
    for part, value in columns.items():
        if part == "cost" and not cost:
            raise ParameterError("columns: a cost is not a reward. Say cost=True (--cost) as well.")
        if part not in known and part != "cost" and not is_signal(part):
            raise ParameterError("columns: " + not_one_of("part", part, known))
        names = (value,) if isinstance(value, str) else tuple(value)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ParameterError(
                f"columns: {part}: {value!r} is not the name of a column. Write it as text."
            )
        if len(names) > 1 and part not in COMBINED:
            raise ParameterError(
                f"columns: {part}: takes one column, not {len(names)}. Only observations and "
                "actions are combined."
            )
        if len(set(names)) < len(names):
            raise ParameterError(f"columns: {part}: a column is named twice. Name it once.")
        part = "reward" if part == "cost" else part
        if part in found:
            raise ParameterError("columns: reward and cost are the same part. Give one of them.")
        if _signal(part) in map(_signal, found):
            name = printable(_signal(part).removeprefix(SIGNAL))
            raise ParameterError(
                f"columns: {name} is a signal and a cost. Write signal:{name} if more is better, "
                f"cost:{name} if less is."
            )
        found[part] = names
    return found


def is_signal(part: str) -> bool:
    """Is a part a signal beside the reward?"""
    return any(part.startswith(mark) and part != mark for mark in (SIGNAL, COST_SIGNAL))


def _signal(part: str) -> str:
    return SIGNAL + part.removeprefix(COST_SIGNAL) if part.startswith(COST_SIGNAL) else part


def read_bins(column: str, spec: Bins | Sequence[str | float]) -> Bins:
    """Named ranges, as callers write them.

    >>> read_bins("vibration", ("low", 2, "mid", 5, "high")).edges
    (2.0, 5.0)
    """
    if isinstance(spec, Bins):
        return spec
    example = "Write a name, then edge and name in turn: ('low', 2, 'mid', 5, 'high')."
    place = f"bins: {printable(column)}:"
    if isinstance(spec, str) or len(spec) < 3 or len(spec) % 2 == 0:
        raise ParameterError(f"{place} {spec!r} is not a list of names and edges. {example}")
    names, edges = tuple(spec[::2]), tuple(spec[1::2])
    for name in names:
        if not isinstance(name, str) or not name or name == "*":
            raise ParameterError(f"{place} {name!r} cannot be a name. {example}")
    for edge in edges:
        if _finite(edge) is None:
            raise ParameterError(
                f"{place} the edge {printable(repr(edge))} is not a number. {example}"
            )
    numbers = tuple(float(edge) for edge in edges)
    if any(high <= low for low, high in pairwise(numbers)):
        shown = ", ".join(f"{edge:g}" for edge in numbers)
        raise ParameterError(f"{place} the edges {shown} do not rise. {example}")
    if len(set(names)) < len(names):
        raise ParameterError(f"{place} two ranges have the same name. {example}")
    return Bins(tuple(str(name) for name in names), numbers)


def _finite(given: Any) -> float | None:
    """A finite number; None of anything else, such as one of hundreds of digits."""
    try:
        number = math.nan if isinstance(given, str | bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def read_gap(gap: str | float | timedelta | LongestPause) -> LongestPause:
    """A length of time such as 90d, 12h, 30m, 45s, or a plain number.

    >>> read_gap("90d").amount, read_gap("2.5").of_time
    (7776000.0, False)
    """
    if isinstance(gap, LongestPause):
        return gap
    if isinstance(gap, timedelta):
        amount, of_time = gap.total_seconds(), True
    else:
        match = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([dhms]?)\s*", str(gap))
        try:
            if match is None or isinstance(gap, bool):
                raise ValueError(gap)
            of_time = bool(match[2])
            amount = float(match[1]) * SECONDS.get(match[2], 1)
        except ValueError as error:
            raise ParameterError(
                f"gap: {printable(str(gap))!r} is not a length of time. Write 90d, 12h, 30m or "
                "45s, or a plain number for numbered steps."
            ) from error
    if not 0 < amount < math.inf:
        raise ParameterError(f"gap: {gap!s} must be more than nothing, such as 90d.")
    return LongestPause(str(gap), amount, of_time)


def _amount(given: float) -> float:
    number = _finite(given)
    if number is None:
        raise ParameterError(
            f"missing_reward: {given!r} is not a finite number. Write 0 (--missing-reward 0) if "
            "rewards come only at some steps."
        )
    return number


def _price(name: str, amount: float) -> float:
    kind, _, what = name.partition(":")
    if not what or kind not in ("action", "observation", "column"):
        raise ParameterError(
            f"prices: {printable(name)!r} is not priced. Write action:NAME, observation:NAME or "
            "column:NAME, such as action:repair."
        )
    number = _finite(amount)
    if number is None:
        raise ParameterError(
            f"prices: {printable(name)}: {amount!r} is not a finite number, such as -10."
        )
    return number
