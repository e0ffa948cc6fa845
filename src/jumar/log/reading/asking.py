"""The options of reading a log, checked before the log is opened."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any, Literal, get_args

from jumar.core.errors import ParameterError, not_one_of
from jumar.core.reading import Bins
from jumar.core.text import printable
from jumar.log.episodes import SIGNAL, check_draws
from jumar.log.reading.dates import check_format
from jumar.log.reading.numerals import Mark

Ends = Literal["terminated", "cut"]
Missing = Literal["error", "symbol", "drop"]
Repeated = Literal["error", "drop"]

NEEDED = ("episode", "observation", "action", "reward")
OPTIONAL = ("step", "time", "terminated", "node", "propensity", "cluster", "behavior")
COMBINED = ("observation", "action")  # parts that several columns may play together
COST_SIGNAL = "cost:"  # the same as a signal, but less is better
SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


@dataclass(frozen=True)
class LongestPause:
    """The longest pause within an episode."""

    text: str  # as it was given
    amount: float  # in seconds, or in units of the step
    of_time: bool


@dataclass(frozen=True)
class Price:
    """What an action, an observation or a unit of a column pays."""

    kind: str
    name: str
    amount: float


@dataclass(frozen=True)
class Asked:
    """How a log is to be read."""

    columns: Mapping[str, tuple[str, ...]]  # part to columns
    ends: Ends | None
    cost: bool
    cost_said: bool  # or was it taken for granted that rewards are no costs?
    bins: Mapping[str, Bins]  # by column
    gap: LongestPause | None
    missing: Missing
    missing_reward: float | None  # what a step pays whose reward is missing
    repeated: Repeated
    prices: tuple[Price, ...]
    decimal: Mark | None  # nobody said it: it is recognised
    dates: str | None  # a format, as for strptime
    cost_signals: tuple[str, ...] = ()  # signals that hold costs
    propensity_draws: int | None = None  # that propensities are frequencies in; 0: exact

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the signals that are asked for."""
        return tuple(part.removeprefix(SIGNAL) for part in self.columns if part.startswith(SIGNAL))


def ask(
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    ends: str | None = None,
    cost: bool | None = None,
    bins: Mapping[str, Sequence[str | float]] | None = None,
    gap: str | float | timedelta | None = None,
    missing: str = "error",
    repeated: str = "error",
    prices: Mapping[str, float] | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    missing_reward: float | None = None,
    propensity_draws: int | None = None,
) -> Asked:
    """The options as one value, or an error that shows how to write them."""
    chosen: dict[str, Any] = {}
    for name, kind, value, choices in (
        ("ends", "meaning", ends, Ends),
        ("missing", "choice", missing, Missing),
        ("repeated", "choice", repeated, Repeated),
        ("decimal", "mark", decimal, Mark),
    ):
        if value not in get_args(choices) and not (name in ("ends", "decimal") and value is None):
            raise ParameterError(f"{name}: " + not_one_of(kind, value, get_args(choices)))
        chosen[name] = value
    if cost and prices:
        raise ParameterError(
            "cost: prices already say what is paid. Give what costs a minus sign in prices "
            "(--prices), and leave out cost (--cost)."
        )
    found = _columns(columns or {}, bool(cost))
    return Asked(
        columns={_signal(part): names for part, names in found.items()},
        cost_signals=tuple(
            part.removeprefix(COST_SIGNAL) for part in found if part.startswith(COST_SIGNAL)
        ),
        cost=bool(cost),
        cost_said=cost is not None,
        bins={column: read_bins(column, spec) for column, spec in (bins or {}).items()},
        gap=None if gap is None else read_gap(gap),
        prices=tuple(_price(name, amount) for name, amount in (prices or {}).items()),
        dates=None if dates is None else check_format(dates),
        missing_reward=None if missing_reward is None else _amount(missing_reward),
        propensity_draws=check_draws(propensity_draws),
        **chosen,
    )


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
    """Is a part a signal beside the reward?

    >>> is_signal("signal:safety"), is_signal("cost:waiting"), is_signal("reward")
    (True, True, False)
    """
    return any(part.startswith(mark) and part != mark for mark in (SIGNAL, COST_SIGNAL))


def _signal(part: str) -> str:
    """A signal that is a cost is a signal."""
    return SIGNAL + part.removeprefix(COST_SIGNAL) if part.startswith(COST_SIGNAL) else part


def read_bins(column: str, spec: Sequence[str | float]) -> Bins:
    """Named ranges, as callers write them.

    >>> read_bins("vibration", ("low", 2, "mid", 5, "high")).edges
    (2.0, 5.0)
    """
    example = "Write a name, then edge and name in turn: ('low', 2, 'mid', 5, 'high')."
    place = f"bins: {printable(column)}:"
    if isinstance(spec, str) or len(spec) < 3 or len(spec) % 2 == 0:
        raise ParameterError(f"{place} {spec!r} is not a list of names and edges. {example}")
    names, edges = tuple(spec[::2]), tuple(spec[1::2])
    for name in names:
        if not isinstance(name, str) or not name or name == "*":
            raise ParameterError(f"{place} {name!r} cannot be a name. {example}")
    for edge in edges:
        if not _is_finite(edge):
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


def _is_finite(edge: object) -> bool:
    try:
        return not isinstance(edge, str | bool) and math.isfinite(edge)  # type: ignore[arg-type]
    except (TypeError, OverflowError):  # no number, or one of hundreds of digits
        return False


def read_gap(gap: str | float | timedelta) -> LongestPause:
    """A length of time such as 90d, 12h, 30m, 45s, or a plain number.

    >>> read_gap("90d").amount, read_gap("2.5").of_time
    (7776000.0, False)
    """
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
    if isinstance(given, str | bool) or not math.isfinite(given):
        raise ParameterError(
            f"missing_reward: {given!r} is not a finite number. Write 0 (--missing-reward 0) if "
            "rewards come only at some steps."
        )
    return float(given)


def _price(name: str, amount: float) -> Price:
    kind, colon, what = name.partition(":")
    if not colon or not what or kind not in ("action", "observation", "column"):
        raise ParameterError(
            f"prices: {printable(name)!r} is not priced. Write action:NAME, observation:NAME or "
            "column:NAME, such as action:repair."
        )
    try:
        number = math.nan if isinstance(amount, str | bool) else float(amount)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(
            f"prices: {printable(name)}: {amount!r} is not a finite number, such as -10."
        )
    return Price(kind, what, number)
