"""Forecast: what comes next under the behavior and a new controller, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jumar.core.shown import Shown
from jumar.core.text import counted, number
from jumar.evidence.claims import NOT_ODDS, Certificate
from jumar.evidence.forecasting.trends import FittedTrend
from jumar.evidence.validity import Validity
from jumar.io.plain import picked

WIDE = 1.5  # times that an interval was widened, from which on it is said


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Shown):
    """What the next episodes will bring, if the trend of the log goes on."""

    ahead: int  # Δ: as many episodes are forecast
    episodes: int  # of the log
    delta: float  # level of each end of an interval; a chance of error only in the limit
    discount: float
    behavior: FittedTrend  # the returns of the log
    controller: FittedTrend | None  # what the new controller would have earned, episode by episode
    difference: FittedTrend | None  # of both, within the episode: what they share cancels
    validity: Validity
    assumptions: tuple[str, ...]
    why_not: str = ""  # why only the behavior is forecast

    @property
    def summary(self) -> str:
        what, trend = ("difference", self.difference) if self.difference else (
            "behavior", self.behavior)  # fmt: skip
        return (
            f"next {counted(self.ahead, 'episode')}: {what} {trend.value:.4g}, "
            f"from {trend.lower:.4g} to {trend.upper:.4g} ({self.validity})"
        )

    @property
    def not_worse(self) -> bool:
        """Is the new controller forecast to be better than the behavior?"""
        return self.difference is not None and self.difference.lower > 0

    @property
    def following(self) -> str:
        """What is forecast: the next so many episodes."""
        return "the next episode" if self.ahead == 1 else f"the next {self.ahead:,} episodes"

    @property
    def verdict(self) -> str:
        """What the forecast says, in one sentence."""
        found = self.difference
        if found is None:
            return self._of_behavior
        if found.lower > 0:
            return (
                f"The forecast finds the new controller not worse for {self.following}: better "
                f"than the behavior by at least {number(found.lower)} per episode "
                f"({self._how}), if the trend of the log goes on."
            )
        if found.upper < 0:
            return (
                f"The forecast finds the new controller worse for {self.following}: by at least "
                f"{number(-found.upper)} per episode ({self._how}), if the trend of the log goes "
                "on."
            )
        told = f": {found.range_text} per episode"
        return (
            f"The forecast for {self.following} does not tell whether the new controller is better "
            f"than the behavior{told if math.isfinite(found.upper) else ''} ({self._how})."
        )

    @property
    def _of_behavior(self) -> str:
        found = self.behavior
        if math.isinf(found.lower):
            return (
                f"The return of the behavior in {self.following} cannot be forecast; its average "
                f"over the log is {number(found.average)}."
            )
        return (
            f"The return of the behavior in {self.following} is forecast to be "
            f"{number(found.value)} ({found.range_text}), if the trend of the log "
            f"goes on; its average over the log is {number(found.average)}."
        )

    @property
    def _how(self) -> str:
        if not self.validity.states_odds:
            return str(self.validity)
        return f"{self.validity}, nominally {100 * self.delta:.6g} % chance of error"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before trusting the intervals."""
        found = []
        trend = self.difference or self.behavior
        if math.isinf(trend.widened):
            found.append(
                "Forecasts from earlier in this log were certain, and wrong: no interval can be "
                "given."
            )
        elif trend.widened > WIDE:
            found.append(
                "Forecasts from earlier in this log missed what came by "
                f"{trend.widened:.1f} times what chance explains: the trend broke before. The "
                "interval is that much wider."
            )
        if trend.flat:
            found.append("All values lie on the trend, so the interval has no width; do not trust "
                         "that.")  # fmt: skip
        return tuple(found)

    def certificate(self, value_range: float) -> Certificate | None:
        """The forecast of the difference as a certificate, where there is one. No gain is larger
        than `value_range`, the distance of two returns."""
        found = self.difference
        if found is None:
            return None
        return Certificate(
            bound="forecast",
            title=f"Forecast of {self.following}",
            delta=self.delta,
            zeta=-min(found.lower, value_range) + 0.0,  # no minus zero
            value_range=value_range,
            validity=self.validity,
            assumptions=self.assumptions,
            estimated_gain=max(-value_range, min(found.value, value_range)),
            reason=self._claim(found),
            about=f"a forecast of {self.following}, not an average over the log",
        )

    def _claim(self, found: FittedTrend) -> str:
        said = f"This is a forecast of {self.following}, not an average over the log."
        if math.isinf(found.lower):
            return f"{said} It excludes no loss."
        size = f"{number(abs(found.lower))} per episode"
        what = f"better than the old one by at least {size}"
        if found.lower <= 0:
            what = f"at most {size} worse than the old one"
        if found.upper < 0:
            what += f", and at least {number(-found.upper)}"
        odds = ""
        if self.validity.states_odds:
            odds = (
                f" The chance that this is wrong is {100 * self.delta:.6g} %, if there are enough "
                "episodes."
            )
        return f"{said} If the trend of the log goes on, the new controller is {what}.{odds}"

    def __str__(self) -> str:
        return self.verdict

    @property
    def delta_meaning(self) -> str:
        """What `delta` is, in words."""
        limit = "the chance of error of each end in the limit of a large log; here it is not known"
        return limit if self.validity.states_odds else NOT_ODDS

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types; an infinite number becomes None."""
        return {
            **picked(self, "ahead episodes delta delta_meaning discount verdict"),
            "behavior": self.behavior.to_dict(),
            "controller": self.controller.to_dict() if self.controller else None,
            "difference": self.difference.to_dict() if self.difference else None,
            "only_behavior_because": self.why_not or None,
            "validity": self.validity.value,
            "validity_meaning": self.validity.meaning,
            **picked(self, "assumptions warnings"),
        }
