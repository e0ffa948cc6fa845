"""The one gate between a computed number and a person: may it be shown, and with what beside it?

An estimate can be formed from any log, and on a log that hardly speaks of a policy it can be
anything: weights of a few episodes, values of pairs that nobody tried. Two things are known without
trusting the estimate. What is *possible*: rewards, horizon and what was collected already bound
every return and every gain. And how many ordinary episodes it is *worth*, (Σw)²/Σw². So

    outside what is possible, or not finite       not shown: whatever made it, it is wrong
    at the edge of it, but for its error          shown as the edge: half of all unbiased estimates
                                                  of something at its limit fall beyond that
    worth fewer than 10 ordinary episodes         not shown: it is made of a handful of them
    worth fewer than 30                           shown, with a caution beside it

A renderer asks `shown` and `hidden`, never the raw number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jumar.core.arrays import ALIKE
from jumar.core.plain import finite
from jumar.core.text import number

NONE_BELOW, CARE_BELOW = 10.0, 30.0  # ordinary episodes
EDGE = 0.05  # of what is possible: how far, at the most, an error may push it


@dataclass(frozen=True)
class Evidenced:
    """A number, its interval, and what decides whether a person may see them.

    >>> sure = Evidenced(5.0, 3.0, 12.0, error=1.0, possible=(0.0, 10.0), effective=400.0)
    >>> sure.shown, sure.interval, sure.hidden
    (5.0, (3.0, 10.0), '')
    >>> Evidenced(909.0, 800.0, 950.0, error=40.0, possible=(0.0, 90.0), effective=400.0).hidden
    'what comes out is not possible: only 0 to 90 is'
    """

    value: float
    low: float  # of the interval that belongs to this estimate
    high: float
    error: float  # standard error of the same
    possible: tuple[float, float]  # least and greatest that this log, its range and horizon allow
    effective: float | None = None  # ordinary episodes it is worth; None: it uses no weights
    doubt: str = ""  # why no number of this log is to be relied on, as a clause

    @property
    def hidden(self) -> str:
        """Why it must not be shown, as a clause; empty where it may be."""
        if self.doubt:
            return self.doubt
        low, high = self.possible
        rounding = ALIKE * max(abs(low), abs(high))
        slack = max(rounding, min(2 * self.error, EDGE * (high - low)))
        if not math.isfinite(self.value):
            return "no number comes out"
        if not low - slack <= self.value <= high + slack:
            return f"what comes out is not possible: only {number(low)} to {number(high)} is"
        if self.effective is not None and self.effective < NONE_BELOW:
            many = "episode" if f"{self.effective:.2g}" == "1" else "episodes"
            return f"the log says as much of it as {self.effective:.2g} ordinary {many} would"
        return ""

    @property
    def shown(self) -> float | None:
        """The number, where a person may see it."""
        return None if self.hidden else min(max(self.value, self.possible[0]), self.possible[1])

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its interval, cut to what is possible; None where the number is not shown."""
        if self.hidden:
            return None
        low, high = self.possible
        return min(max(self.low, low), high), max(min(self.high, high), low)

    @property
    def caution(self) -> str:
        """What must stand beside it, as a sentence; empty where nothing must."""
        if self.hidden or self.effective is None or self.effective >= CARE_BELOW:
            return ""
        return (
            f"Read this with care: the log says as much of it as {self.effective:.2g} ordinary "
            "episodes would."
        )

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types; a number that is not shown is not in there either."""
        return {
            "value": self.shown,
            "interval": None if self.interval is None else [finite(x) for x in self.interval],
            "not_shown_because": self.hidden or None,
            "caution": self.caution or None,
        }
