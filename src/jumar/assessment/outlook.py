"""What comes next, where the process changes along the log: a forecast in place of an average.

A forecast is made where the log fails the check for drift, and only there. The new controller is
judged by episodes it was not learned from; where there are none, only the behavior is forecast, and
it is said why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumar.algorithms.auto.dealing import held_out_from
from jumar.assessment.result import Result
from jumar.core.controller import Controller
from jumar.core.errors import JumarError
from jumar.core.randomness import random_stream
from jumar.evidence.checking import Check
from jumar.evidence.checking.drift import Drift
from jumar.evidence.claims import Certificate
from jumar.evidence.forecasting import Forecast, forecast_of

_OTHER_HALF = (
    "The new controller was learned from one half of the log, and is judged by the other half."
)
_NAMED = (
    "Only the old controller is forecast: the new one was learned from all episodes of the log, so "
    "none is left to judge it by. The default (--algorithm auto) keeps a half apart."
)
_KEPT = "Only the old controller is forecast, as nothing changes."
_LONG = (
    "Only the old controller is forecast: the new one was judged by steps rather than by whole "
    "episodes."
)
_BROKEN = (
    "Only the old controller is forecast: another check failed ({failed}), so that nothing can be "
    "said of a new one."
)
_SAMPLE = (
    "Nothing is forecast: the log was read in parts, and the sample that was kept of it does not "
    "tell when an episode was. Read the later files alone, or forecast them with jumar estimate "
    "--forecast."
)
_SILENT = (
    "Gains and certificates are averages over the log, which changes under way; an average is not "
    "what comes next."
)


@dataclass(frozen=True)
class Outlook:
    """What is said about the time to come, where the process drifts."""

    forecast: Forecast | None
    certificate: Certificate | None  # of the forecast, if both controllers have one
    why: str = ""  # why the new controller, or anything at all, is not forecast

    @property
    def headline(self) -> str:
        """One sentence for the verdict; nothing where the new controller is not forecast."""
        return self.forecast.verdict if self.forecast and self.forecast.difference else ""

    @property
    def text(self) -> str:
        """What must be known before numbers that are averages."""
        ahead = "Only the forecast looks ahead." if self.headline else ""
        if self.forecast and not self.headline:
            ahead = self.forecast.verdict
        said = [_SILENT, ahead, self.why]
        return " ".join(part for part in said if part)

    def to_dict(self) -> dict[str, Any] | None:
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
    """A forecast, where the log drifts; None where it does not."""
    if not drifts(check):
        return None
    if result.sampled is not None or result.practice is None:
        return Outlook(None, None, _SAMPLE)
    new, why = _judged(result, check)
    try:
        found = _forecast(result, new, why)
    except JumarError as problem:
        why = f"The new controller cannot be forecast: {problem}" if new else str(problem)
        try:
            found = _forecast(result, None, why)
        except JumarError as other:
            return Outlook(None, None, f"Nothing can be forecast: {other}")
    return Outlook(found, found.certificate(result.certificate.value_range), why)


def _judged(result: Result, check: Check) -> tuple[Controller | None, str]:
    """The new controller, if there are episodes to judge it by; or why not."""
    broken = [
        name
        for name, section in check.sections.items()
        if name != "drift" and section.verdict.status == "failed"
    ]
    broken += [notice.kind for notice in check.notices if notice.loud]
    if broken:
        return None, _BROKEN.format(failed=", ".join(broken))
    if result.improvement.changed == 0:
        return None, _KEPT
    if result.selection is None:
        return None, _NAMED
    return (result.controller, "") if result.selection.chosen else (None, _LONG)


def _forecast(result: Result, new: Controller | None, why: str) -> Forecast:
    assert result.practice is not None
    held_out = None
    if new is not None:
        assert result.selection is not None
        assert result.selection.chosen is not None
        held_out = held_out_from(result.log, result.selection.chosen.half, result.seed)
    return forecast_of(
        result.practice,
        new,
        discount=result.improvement.mdp.discount,
        ahead=None,
        delta=result.delta,
        rng=random_stream(result.seed, "forecast"),
        held_out=held_out,
        chosen=_OTHER_HALF,
        why_not=why,
    )
