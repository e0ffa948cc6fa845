"""What a change brings: one number, the same wherever it is said, per episode and per year.

Where a held-out test chose the controller, the number is what held-out episodes say: the mean of
their scores and the expectation of a model of them, weighed by their errors
(`algorithms.auto.opinions`). The scores alone are right on average, but the controller was chosen
for them too, so the luckiest looks best. Their interval is told as it is. Otherwise the number is
the estimate of the model. Per year it is

    gain / L · N,      L = mean over episodes of Σ_t γ^t,

with N the steps of a year: those the log shows per year, if it has a column of dates, or those of
one process that runs all the time, if the length of a step was given. gain / L is the gain per step
that, paid on every step, is worth as much as the gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.algorithms.auto.asymptotic import student
from jumar.assessment.result import Result
from jumar.core.text import number, rounded
from jumar.evidence.resampling import Resampled
from jumar.io.project import YEAR

HELD_OUT, MODEL = "held-out episodes", "the model estimated from the log"


@dataclass(frozen=True)
class Gain:
    """What the new controller brings against the old one, per episode."""

    amount: float
    low: float  # of a 90 % interval
    high: float
    error: float  # standard error; with it the amount is rounded
    old: float  # what an episode is worth under the old controller
    source: str  # how it was estimated
    costs: bool  # rewards are costs, so less is better
    unit: str = ""  # what rewards are counted in, as EUR
    steps_per_year: float | None = None
    fleet: bool = False  # are these all steps of the log's process, rather than of one that runs?
    steps: float = 1.0  # L, discounted steps of an episode

    @property
    def new(self) -> float:
        """What an episode is worth under the new controller."""
        return self.old + self.amount

    @property
    def per_year(self) -> float | None:
        """What it brings in a year, if it is known how long a step takes."""
        if self.steps_per_year is None or self.steps <= 0:
            return None
        return self.amount / self.steps * self.steps_per_year

    def money(self, x: float) -> str:
        """An amount with its unit."""
        return f"{number(x)} {self.unit}".strip()

    @property
    def per_episode_text(self) -> str:
        """How much, per episode, rounded as its error allows."""
        amount = (
            rounded(abs(self.amount), self.error) if self.error > 0 else number(abs(self.amount))
        )
        return f"{amount} {self.unit}".strip()

    @property
    def per_year_text(self) -> str:
        """How much, per year; empty where it is not known how long a step takes."""
        if self.per_year is None:
            return ""
        error = self.error / self.steps * (self.steps_per_year or 0)
        amount = rounded(abs(self.per_year), error) if error > 0 else number(abs(self.per_year))
        return f"{amount} {self.unit}".strip()

    @property
    def verb(self) -> str:
        """Saves, costs, brings or loses."""
        if self.costs:
            return "saves" if self.amount >= 0 else "costs"
        return "brings" if self.amount >= 0 else "loses"

    @property
    def kind(self) -> str:
        """What the amount is: saved, or more."""
        if self.costs:
            return "saved" if self.amount >= 0 else "more cost"
        return "more" if self.amount >= 0 else "less"

    @property
    def sentence(self) -> str:
        """The gain in one sentence."""
        more = " more" if self.verb in ("brings", "costs") else ""
        said = f"The new controller {self.verb} {self.per_episode_text}{more} per episode"
        if self.per_year is not None:
            whose = " at the pace of this log" if self.fleet else " for each that runs all year"
            said += f", {self.per_year_text} a year{whose}"
        return said + f", by {self.source}."

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            "per_episode": self.amount,
            "interval": [self.low, self.high],
            "old": self.old,
            "new": self.new,
            "estimated_by": self.source,
            "unit": self.unit or None,
            "per_year": self.per_year,
            "steps_per_year": self.steps_per_year,
        }


def gain_of(result: Result, resampled: Resampled) -> Gain:
    """The gain of a result."""
    γ = result.improvement.mdp.discount
    lengths = result.log.lengths
    L = float(np.mean((1 - γ**lengths) / (1 - γ))) if γ < 1 else float(lengths.mean())
    remarks = result.log.origin.remarks if result.log.origin else None
    pace, fleet = _pace(result)
    told: dict[str, Any] = {
        "costs": bool(remarks and remarks.costs),
        "unit": result.unit,
        "steps_per_year": pace,
        "fleet": fleet,
        "steps": L,
    }
    selection = result.selection
    if selection is not None and selection.chosen is not None:
        chosen = selection.chosen
        margin = student(0.05, chosen.units) * chosen.error  # 5 % on either side
        logged = float(result.log.returns(γ).mean())
        weighed = chosen.weighed
        amount = min(weighed.gain, selection.most)  # no estimate beyond what is possible
        low, high = (min(chosen.gain + side, selection.most) for side in (-margin, margin))
        return Gain(amount, low, high, weighed.error, logged, HELD_OUT, **told)
    improvement = result.improvement
    low, high = resampled.interval()
    error = (high - low) / (2 * 1.645) if improvement.changed else 0.0
    return Gain(improvement.gain, low, high, error, improvement.behavior_performance, MODEL, **told)


def _pace(result: Result) -> tuple[float | None, bool]:
    """Steps per year, and whether they are those of all that the log records."""
    remarks = result.log.origin.remarks if result.log.origin else None
    if remarks and remarks.began is not None and remarks.ended is not None:
        span = remarks.ended - remarks.began
        if span >= YEAR / 12:  # a few days say little about a year
            return result.log.n_steps / span * YEAR, True
    if result.step_seconds is not None:
        return YEAR / result.step_seconds, False
    return None, False
