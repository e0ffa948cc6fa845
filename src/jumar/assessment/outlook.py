"""What comes next under the old policy, where the process changes along the log.

A forecast is made where the log fails the check for drift. What a new policy would gain is not
forecast: what was learned from such a log is not to be relied on (`verdict`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumar.assessment.result import Result
from jumar.core.errors import JumarError
from jumar.core.randomness import random_stream
from jumar.evidence.checking import Check
from jumar.evidence.checking.drift import Drift
from jumar.evidence.forecasting import Forecast, forecast_of

_SAMPLE = (
    "Nothing is forecast: the log was read in parts, and the sample that was kept of it does not "
    "tell when an episode was. Read the later files alone, or forecast them with jumar estimate "
    "--forecast."
)
_KEPT = "Only the old policy is forecast: what is learned from a log that changes says little."


@dataclass(frozen=True)
class Outlook:
    """What is said about the time to come, where the process drifts."""

    forecast: Forecast | None
    why: str = ""  # why nothing is forecast

    @property
    def text(self) -> str:
        """What comes next, or why nothing is forecast."""
        return self.forecast.verdict if self.forecast else self.why

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        if self.forecast is None:
            return {"not_made_because": self.why}
        return self.forecast.to_dict()


def drifts(check: Check) -> bool:
    """Does the check say that the process changes along the log?"""
    found = check.sections.get("drift")
    # with too few episodes for any test it is only worth a look, and there is no trend
    return isinstance(found, Drift) and found.trend is not None and found.verdict.status != "passed"


def outlook(result: Result, check: Check) -> Outlook | None:
    """A forecast of the old policy, where the log drifts; None where it does not."""
    if not drifts(check):
        return None
    if result.sampled is not None or result.practice is None:
        return Outlook(None, _SAMPLE)
    try:
        found = forecast_of(
            result.practice,
            None,
            discount=result.improvement.mdp.discount,
            ahead=None,
            delta=result.delta,
            rng=random_stream(result.seed, "forecast"),
            why_not=_KEPT,
        )
    except JumarError as problem:
        return Outlook(None, f"Nothing can be forecast: {problem}")
    return Outlook(found)
