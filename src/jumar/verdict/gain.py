"""What a change brings: one number, the same wherever it is said, per episode and per year.

It is what episodes say that the change was not learned from, counted up to where they end or
recordings stop: the mean of their scores (`gate.scoring`) and the interval of that mean.
No model of the process stands behind it, so neither a clock that a model lacks nor a pair that
nobody tried can bend it. Where "auto" chose, the scores are those of what is handed over. Where an
algorithm was named, they are those of what it learns from either half of the log.

What the old policy brings is the mean return of the log, which is known. Per year a gain is

    gain / L · N,      L = mean over episodes of Σ_t γ^t,

with N the steps of a year: those the log shows per year, if it has a column of dates, or those of
one process that runs all the time, if the length of a step was given. gain / L is the gain per step
that, paid on every step, is worth as much as the gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.text import number, rounded
from jumar.evidence.plausible import Evidenced
from jumar.gate import Selection
from jumar.gate.asymptotic import evidence_of
from jumar.project import YEAR
from jumar.verdict.result import Result

HELD_OUT = "episodes it was not learned from"
NEW, SAME_WAY = "The new policy", "A policy learned in the same way from half of the log"
UNTESTED = "nothing learned from half of the log could be tested on the other half"
UNCHANGED = "nothing changes"


@dataclass(frozen=True)
class Gain:
    """What the new policy brings against the old one, per episode."""

    estimate: Evidenced | None  # None: nothing changes, or nothing was tested
    old: float  # the mean return of the log
    source: str  # how it was estimated; or why it was not
    whose: str = NEW  # the policy that was tested
    costs: bool = False  # rewards are costs, so less is better
    unit: str = ""  # what rewards are counted in, as EUR
    steps_per_year: float | None = None
    fleet: bool = False  # are these all steps of the log's process, rather than of one that runs?
    steps: float = 1.0  # L, discounted steps of an episode
    episode: str = "episode"  # the log's own word for one

    @property
    def shown(self) -> float | None:
        """The gain, where a person may see it."""
        return self.estimate.shown if self.estimate else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """90 %, of the same estimate; None where that is not shown."""
        return self.estimate.interval if self.estimate else None

    @property
    def hidden(self) -> str:
        """Why it is not shown, as a clause; empty where it is."""
        return self.estimate.hidden if self.estimate else self.source

    @property
    def caution(self) -> str:
        """What must stand beside it, as a sentence; empty where nothing must."""
        return self.estimate.caution if self.estimate else ""

    @property
    def error(self) -> float:
        """Standard error; with it amounts are rounded."""
        return self.estimate.error if self.estimate else 0.0

    @property
    def new(self) -> float | None:
        """What an episode is worth under the new policy, where the gain is shown."""
        return None if self.shown is None else self.old + self.shown

    @property
    def per_year(self) -> float | None:
        """What it brings in a year, if it is shown and known how long a step takes."""
        if self.shown is None or self.steps_per_year is None or self.steps <= 0:
            return None
        return self.shown / self.steps * self.steps_per_year

    def money(self, x: float) -> str:
        """An amount with its unit."""
        return f"{number(x)} {self.unit}".strip()

    def size(self, x: float, error: float | None = None) -> str:
        """How large an amount is, rounded as its error allows."""
        return f"{rounded(abs(x), self.error if error is None else error)} {self.unit}".strip()

    @property
    def per_year_text(self) -> str:
        """How much, per year; empty where it is not known how long a step takes."""
        if self.per_year is None:
            return ""
        error = self.error / self.steps * (self.steps_per_year or 0)
        pace = " at the pace of this log" if self.fleet else " for each that runs all year"
        return f"{self.size(self.per_year, error)} a year{pace}"

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types. What is not shown is not in there either."""
        return {
            "per_episode": self.shown,
            "interval": None if self.interval is None else list(self.interval),
            "not_shown_because": self.hidden or None,
            "caution": self.caution or None,
            "old": self.old,
            "new": self.new,
            "estimated_by": self.source if self.estimate else None,
            "unit": self.unit or None,
            "per_year": self.per_year,
            "steps_per_year": self.steps_per_year,
        }


def gain_of(result: Result, held_out: Selection | None) -> Gain:
    """The gain of a result, by the test on held-out episodes."""
    γ = result.improvement.mdp.discount
    lengths = result.log.lengths
    L = float(np.mean((1 - γ**lengths) / (1 - γ))) if γ < 1 else float(lengths.mean())
    pace, fleet = _pace(result)
    told: dict[str, Any] = {
        "costs": result.costs,
        "unit": result.unit,
        "steps_per_year": pace,
        "fleet": fleet,
        "steps": L,
        "episode": result.episode,
    }
    if result.improvement.changed == 0:
        return Gain(None, result.logged, UNCHANGED, **told)
    trials, whose = held_out.trials if held_out else (), SAME_WAY
    if result.selection is not None:
        chosen = result.selection.chosen
        trials, whose = () if chosen is None else (chosen,), NEW
    if held_out is None or not trials:
        return Gain(None, result.logged, UNTESTED, **told)
    found = evidence_of(trials, held_out.possible)
    return Gain(found, result.logged, HELD_OUT, whose, **told)


def _pace(result: Result) -> tuple[float | None, bool]:
    """Steps per year, and whether they are those of all that the log records."""
    remarks = result.remarks
    if remarks.began is not None and remarks.ended is not None:
        span = remarks.ended - remarks.began
        if span >= YEAR / 12:  # a few days say little about a year
            return result.log.n_steps / span * YEAR, True
    if result.step_seconds is not None:
        return YEAR / result.step_seconds, False
    return None, False
