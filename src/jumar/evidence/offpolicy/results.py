"""Estimate: what a log says of a controller that did not make it, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jumar.core.plain import finite, picked
from jumar.core.text import Shown
from jumar.evidence.claims import AS_SEEN, NOT_ODDS
from jumar.evidence.offpolicy.estimators import ESTIMATORS
from jumar.evidence.offpolicy.intervals import INTERVALS, Sides
from jumar.evidence.offpolicy.weights import FEW, Trust, grade
from jumar.evidence.plausible import Evidenced
from jumar.evidence.validity import Validity

INSTEAD = "Estimate a controller that is closer to the behavior, or give a longer log."


@dataclass(frozen=True, repr=False)
class Estimate(Shown):
    """The expected return of a controller, or its difference to the behavior's.

    `value`, `lower`, `upper` and `standard_error` are raw: what was computed, for programs. What
    may be shown is `evidence`; the words, `str` and `to_dict` show nothing else.
    """

    estimator: str  # a name of ESTIMATORS
    interval: str  # a name of INTERVALS
    value: float  # raw, as the next three
    lower: float  # may be infinite
    upper: float
    standard_error: float  # may be infinite
    delta: float  # level of the interval; a chance of error only where it is proved
    sides: Sides
    difference: bool  # to the behavior, instead of a value
    discount: float
    episodes: int  # E
    effective_size: float  # episodes, or clusters, that the weights in use leave (`trust`)
    largest_share: float  # of all weight, in one of them
    logged: float  # mean return in the log
    possible: tuple[float, float]  # what rewards and horizon, and the logged return, allow
    validity: Validity
    trust: Trust  # how far an asymptotic interval can be trusted
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()  # why the interval is what it is, where that is not plain
    read_off: tuple[str, ...] = ()  # "rewards", "horizon": not declared, only read off the log
    clusters: int | None = None  # K, where these are independent and not the episodes
    doubt: str = ""  # what a check of the log found, if one failed: then no number is shown

    @property
    def evidence(self) -> Evidenced:
        """The number and its interval, as far as a person may see them."""
        return Evidenced(
            self.value,
            self.lower,
            self.upper,
            self.standard_error,
            self.possible,
            self.effective_size,
            "the log failed a check" if self.doubt else "",
        )

    @property
    def ends(self) -> tuple[float, float]:
        """The interval, cut to what is possible; an end that is not claimed is infinite."""
        low, high = self.possible
        return (
            self.lower if math.isinf(self.lower) else min(max(self.lower, low), high),
            self.upper if math.isinf(self.upper) else max(min(self.upper, high), low),
        )

    @property
    def vacuous(self) -> bool:
        """True when the interval excludes nothing that is not excluded without it."""
        low, high = self.possible
        return self.lower <= low and self.upper >= high and low < high

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before trusting the interval, beside the caution."""
        if self.evidence.hidden:
            return ()
        found: list[str] = []
        # few episodes by their weights is what the caution says
        new = not self.evidence.caution or self.trust.balanced < self.trust.effective
        if new and not self.proved:
            found += grade(self.trust, *self.units, INTERVALS[self.interval].measured)
        if self.ends[0] == self.ends[1]:
            found.append("All values are equal, so the interval has no width; do not trust that.")
        return tuple(found)

    @property
    def plain(self) -> bool:
        """Is there nothing that must be said beside it?"""
        told = self.evidence
        return not (told.hidden or told.caution or self.vacuous or self.warnings)

    @property
    def units(self) -> tuple[int, str]:
        """How many are independent, and of what."""
        return (self.episodes, "episode") if self.clusters is None else (self.clusters, "cluster")

    @property
    def verdict(self) -> str:
        """What the interval says, in one sentence, and the caution that belongs to it."""
        if self.doubt:
            return self.doubt
        if self.evidence.hidden:
            return f"No number is shown: {self.evidence.hidden}. {INSTEAD}"
        return " ".join(filter(None, (self._says, self.evidence.caution)))

    @property
    def _says(self) -> str:
        how, (lower, upper) = f"({self.validity}{self._odds}){self._proviso}", self.ends
        if self.vacuous:
            low, high = self.possible
            by = ", going by what the log shows" if self.read_off else ""
            return (
                f"vacuous: the interval excludes nothing, as no "
                f"{'difference' if self.difference else 'return'} can lie outside {low:.6g} to "
                f"{high:.6g}{by}."
            )
        if not self.proved and self.trust.size < FEW:
            return "Not decided: the interval is not to be trusted."
        if not self.difference:
            return f"The expected return is {self._where} {how}."
        if lower == upper == 0:
            return "Not decided: nothing in this log tells the one from the other."
        if self.validity is Validity.CLAIMED and (lower > 0 or upper < 0):
            than = "better" if lower > 0 else "worse"
            return f"Looks {than} than the behavior: the difference is {self._where} {how}."
        if lower > 0:
            return f"Better than the behavior by at least {lower:.6g} {how}."
        if upper < 0:
            return f"Worse than the behavior by at least {-upper:.6g} {how}."
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
        """The interval as people write it; a dash where it is not shown."""
        return "-" if self.evidence.hidden else between(*self.ends)

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

    @property
    def summary(self) -> str:
        return str(self)

    def __str__(self) -> str:
        what = "difference to the behavior" if self.difference else "expected return"
        how = f"({self.estimator}, {INTERVALS[self.interval].title}, {self.validity})"
        evidence = self.evidence
        if evidence.shown is None:
            return f"{what} not shown: {evidence.hidden} {how}"
        care = f". {evidence.caution}" if evidence.caution else ""
        return f"{what} {evidence.shown:.6g}, {self.range_text} {how}{care}"

    @property
    def error_shown(self) -> float | None:
        """The standard error, where it is shown and says anything."""
        width = self.possible[1] - self.possible[0]
        return None if self.evidence.hidden else min(self.standard_error, width)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; an infinite number, and one that is not shown, becomes None, and the
        verdict says so in words."""
        told, ends = self.evidence, self.ends if not self.evidence.hidden else (None, None)
        return {
            **picked(self, "estimator interval difference"),
            "value": told.shown,
            "lower": finite(ends[0]),
            "upper": finite(ends[1]),
            "standard_error": finite(self.error_shown),
            "not_shown_because": told.hidden or None,
            "caution": told.caution or None,
            **picked(self, "odds delta delta_meaning sides discount episodes clusters"),
            "effective_size": self.effective_size,
            "trusted_size": self.trust.size,
            "largest_share": self.largest_share,
            "logged_return": self.logged,
            **picked(self, "possible vacuous verdict"),
            "validity": self.validity.value,
            "validity_meaning": self.validity.meaning,
            **picked(self, "read_off assumptions warnings notes"),
        }


def best_of(found: Iterable[Estimate]) -> Estimate:
    """The estimate to go by, where several were asked for: of those that may be shown.

    Parameters
    ----------
    found
        Estimates of one value, as the values of `estimate_all`.

    Returns
    -------
    Estimate
        The one to go by.
    """
    return min(found, key=lambda e: (bool(e.evidence.hidden), ESTIMATORS[e.estimator].rank))


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
