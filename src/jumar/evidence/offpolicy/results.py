"""Estimate: what a log says of a controller that did not make it, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jumar.core.shown import Shown
from jumar.evidence.claims import AS_SEEN, NOT_ODDS
from jumar.evidence.offpolicy.estimators import ESTIMATORS
from jumar.evidence.offpolicy.intervals import INTERVALS, Sides
from jumar.evidence.offpolicy.trust import Trust, grade
from jumar.evidence.validity import Validity
from jumar.io.plain import picked

HEAVY = 0.2  # share of all weight in one episode that is worth a word


@dataclass(frozen=True, repr=False)
class Estimate(Shown):
    """The expected return of a controller, or its difference to the behavior's."""

    estimator: str  # a name of ESTIMATORS
    interval: str  # a name of INTERVALS
    value: float
    lower: float  # may be infinite
    upper: float
    standard_error: float  # may be infinite
    delta: float  # level of the interval; a chance of error only where it is proved
    sides: Sides
    difference: bool  # to the behavior, instead of a value
    discount: float
    episodes: int  # E
    effective_size: float  # (Σw)²/Σw² of the weights of episodes, or of clusters
    largest_share: float  # of all weight, in one of them
    logged: float  # mean return in the log
    possible: tuple[float, float]  # what the rewards alone allow
    validity: Validity
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()  # why the interval is what it is, where that is not plain
    trust: Trust | None = None  # how far an asymptotic interval can be trusted
    read_off: tuple[str, ...] = ()  # "rewards", "horizon": not declared, only read off the log
    clusters: int | None = None  # K, where these are independent and not the episodes

    @property
    def summary(self) -> str:
        kind = "difference" if self.difference else "value"
        return (
            f"{self.estimator}, {self.interval}: {kind} {self.value:.4g}, "
            f"from {self.lower:.4g} to {self.upper:.4g} ({self.validity})"
        )

    @property
    def vacuous(self) -> bool:
        """True when the interval excludes nothing that the rewards do not exclude."""
        low, high = self.possible
        return self.lower <= low and self.upper >= high and low < high

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before trusting the interval."""
        found = []
        if self.effective_size == 0:
            found.append(
                "No logged episode is one that this controller could have made from beginning to "
                "end: only beginnings tell of it, and the interval may be far off."
            )
        elif self.trust is not None and not self.proved:
            found += grade(self.trust, *self.units, INTERVALS[self.interval].measured)
        if self.largest_share > HEAVY and self.units[0] > 1 / HEAVY:
            found.append(f"One {self.units[1]} carries {self.largest_share:.0%} of all weight.")
        if self.lower == self.upper:
            found.append("All values are equal, so the interval has no width; do not trust that.")
        return tuple(found)

    @property
    def units(self) -> tuple[int, str]:
        """How many are independent, and of what."""
        return (self.episodes, "episode") if self.clusters is None else (self.clusters, "cluster")

    @property
    def verdict(self) -> str:
        """What the interval says, in one sentence."""
        how = f"({self.validity}{self._odds}){self._proviso}"
        if self.vacuous:
            low, high = self.possible
            by = ", going by what the log shows" if self.read_off else ""
            return (
                f"vacuous: the interval {self.range_text} excludes nothing, as no "
                f"{'difference' if self.difference else 'return'} can lie outside {low:.6g} to "
                f"{high:.6g}{by}."
            )
        if not self.difference:
            return f"The expected return is {self._where} {how}."
        if self.lower > 0:
            return f"Better than the behavior by at least {self.lower:.6g} {how}."
        if self.upper < 0:
            return f"Worse than the behavior by at least {-self.upper:.6g} {how}."
        return (
            f"Not decided: the difference to the behavior is {self._where} {how}; so it may "
            "be either better or worse."
        )

    @property
    def proved(self) -> bool:
        """Does the interval hold at every size of log?"""
        return self.validity in (Validity.PROVED, Validity.PROVED_IF_SEEN)

    @property
    def odds(self) -> float | None:
        """The chance that the interval misses is at most this; None: only in the limit, if ever."""
        return self.delta if self.proved else None

    @property
    def _odds(self) -> str:
        if not self.validity.states_odds:
            return ""
        how = "at most" if self.proved else "nominally"
        return f", {how} {100 * self.delta:.6g} % chance of error"

    @property
    def _proviso(self) -> str:
        if self.validity is not Validity.PROVED_IF_SEEN:
            return ""
        longer = "no episode is longer than the longest in the log"
        if "rewards" not in self.read_off:
            return f", provided that {longer}"
        return f", {AS_SEEN}" + (f", and {longer}" if "horizon" in self.read_off else "")

    @property
    def range_text(self) -> str:
        """The interval as people write it."""
        return between(self.lower, self.upper)

    @property
    def _where(self) -> str:
        return self.range_text if math.isinf(self.upper - self.lower) else f"in {self.range_text}"

    @property
    def delta_meaning(self) -> str:
        """What `delta` is, in words."""
        if self.proved:
            return "the chance of error, at most"
        limit = "the chance of error in the limit of a large log; at this size it is not known"
        return limit if self.validity.states_odds else NOT_ODDS

    def __str__(self) -> str:
        what = "difference to the behavior" if self.difference else "expected return"
        return (
            f"{what} {self.value:.6g}, {self.range_text} "
            f"({self.estimator}, {INTERVALS[self.interval].title}, {self.validity})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; an infinite number becomes None, and the verdict says so in words."""
        return {
            **picked(self, "estimator interval difference value lower upper standard_error odds"),
            **picked(self, "delta delta_meaning sides discount episodes clusters effective_size"),
            "trusted_size": None if self.trust is None else self.trust.size,
            "largest_share": self.largest_share,
            "logged_return": self.logged,
            **picked(self, "possible vacuous verdict"),
            "validity": self.validity.value,
            "validity_meaning": self.validity.meaning,
            **picked(self, "read_off assumptions warnings notes"),
        }


def best_of(found: Iterable[Estimate]) -> Estimate:
    """The estimate to go by, where several were asked for.

    Parameters
    ----------
    found
        Estimates of one value, as the values of `estimate_all`.

    Returns
    -------
    Estimate
        The one to go by.
    """
    return min(found, key=lambda estimate: ESTIMATORS[estimate.estimator].rank)


def between(lower: float, upper: float) -> str:
    """An interval in words.

    >>> between(1, 2.5), between(1.5, math.inf), between(-math.inf, math.inf)
    ('1 to 2.5', 'at least 1.5', 'anything')
    """
    if math.isinf(lower) and math.isinf(upper):
        return "anything"
    if math.isinf(upper):
        return f"at least {lower:.6g}"
    if math.isinf(lower):
        return f"at most {upper:.6g}"
    return f"{lower:.6g} to {upper:.6g}"
