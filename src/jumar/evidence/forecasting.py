"""Forecasts: what the next episodes will bring, for a log of a process that changes under way.

    found = jm.evidence.forecast(log, behavior, new, discount=0.95)
    print(found.verdict)

An average over such a log tells what was, not what is. One number per episode is taken, in the
order of the log: the return; for a new policy how much larger its doubly robust value is, which
weights make right on average whatever the process was at the time. A trend is fitted by least
squares over the last third of the log, and the forecast θ is its mean over the next Δ episodes.

`trends` makes a forecast and its interval of these numbers. Nothing is said where the interval was
not found to hold: short logs, few clusters, and records that are cut off after different numbers of
steps, as a longer record adds up more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.errors import LogError, ParameterError
from jumar.core.plain import picked
from jumar.core.randomness import Seed, generator
from jumar.core.text import Shown, counted, number, visible
from jumar.evidence.bounds import check_count, check_delta
from jumar.evidence.checking.drift import records_alike
from jumar.evidence.consistency import rewards_seen
from jumar.evidence.estimation import CURRENT
from jumar.evidence.given import BehaviorLike, Behaviors
from jumar.evidence.offpolicy.estimators import Weighted
from jumar.evidence.offpolicy.ranges import return_ranges
from jumar.evidence.offpolicy.sample import Sample
from jumar.evidence.offpolicy.trust import trust
from jumar.evidence.plausible import Evidenced
from jumar.evidence.practice import Practice, practice_of
from jumar.evidence.trends import trend
from jumar.evidence.validity import Validity
from jumar.log.episodes import Episodes
from jumar.policy.files import ControllerLike, controller_of
from jumar.tally.replay import LogLike, log_of

FEWEST = 200  # episodes
FEWEST_CLUSTERS = 14  # in the last third: the fewest that were tried
FOLDS = 2


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Shown):
    """What the next episodes will bring, if the trend of the log goes on."""

    ahead: int  # Δ: as many episodes are forecast
    episodes: int  # of the log
    fitted: int  # the last ones, through which the trend was laid
    delta: float  # chance that an interval misses, in the limit of a large log
    discount: float
    average: float  # return over the whole log
    behavior: Evidenced
    difference: Evidenced | None  # what a new policy brings more, taken within the episode
    validity: Validity
    assumptions: tuple[str, ...]

    @property
    def summary(self) -> str:
        return self.verdict

    @property
    def following(self) -> str:
        """What is forecast: the next so many episodes."""
        return "the next episode" if self.ahead == 1 else f"the next {self.ahead:,} episodes"

    @property
    def verdict(self) -> str:
        """What the forecast says, in one or two sentences."""
        old = told(self.behavior)
        if old is None:
            said = f"Nothing is forecast for your policy: {self.behavior.hidden}."
        else:
            said = (
                f"If the trend goes on, your policy brings {old} per episode over "
                f"{self.following}; on average over the log it brought {number(self.average)}."
            )
        if self.difference is None:
            return said
        new, ends = told(self.difference), self.difference.interval
        if new is None or ends is None:
            return f"{said} Nothing is forecast for the new policy: {self.difference.hidden}."
        which = "It is not known whether the new policy is better"
        if ends[0] > 0 or ends[1] < 0:
            which = f"The new policy is forecast to be {'better' if ends[0] > 0 else 'worse'}"
        return f"{said} {which}: the difference is {new}. This is not proved ({self.validity})."

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must stand beside the numbers."""
        found = [item.caution for item in (self.behavior, self.difference) if item]
        return tuple(text for text in found if text)

    def __str__(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            **picked(self, "ahead episodes fitted delta discount average verdict"),
            "behavior": self.behavior.to_dict(),
            "difference": self.difference.to_dict() if self.difference else None,
            "validity": self.validity.value,
            "validity_meaning": self.validity.meaning,
            **picked(self, "assumptions warnings"),
        }


def told(item: Evidenced) -> str | None:
    """A number with its interval; None where it is not shown."""
    if item.shown is None or item.interval is None:
        return None
    low, high = item.interval
    return f"about {number(item.shown)} ({number(low)} to {number(high)})"


def forecast(
    log: LogLike,
    behavior: BehaviorLike,
    controller: ControllerLike | None = None,
    *,
    discount: float,
    ahead: int | None = None,
    delta: float = 0.05,
    seed: Seed = 1,
) -> Forecast:
    """What the next episodes will bring, where a process changes along its log.

    A trend is laid through what each episode of the last third earned, and goes on for some
    episodes more. What a new controller would have earned more in each episode is estimated by
    weights.

    Parameters
    ----------
    log
        What `read_logs` returns, a file, or a table of pandas, polars or pyarrow. Its episodes
        stand in the order in which they happened.
    behavior
        Who made the log, as for `improve`: a controller or its file, several, "estimate", or None
        where the log has propensities.
    controller
        A new controller, or its file, which was not learned from this log. Without it only the
        behavior is forecast.
    discount
        Weight of the next step against this one, in [0, 1].
    ahead
        How many episodes to forecast, at most a tenth of the log; without it a twentieth.
    delta
        Accepted chance that an interval misses.
    seed
        A whole number or a generator, for the folds of the doubly robust values.

    Returns
    -------
    Forecast
        Of the behavior, and of what the new controller brings more; with a verdict in words.

    Raises
    ------
    LogError
        Where no forecast can be stood behind; it says why.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> names = tiger.observations, tiger.actions
    >>> behavior = Controller.uniform(*names)
    >>> cautious = Controller.constant(*names, [0.25, 0.25, 0.5])
    >>> log = simulate(tiger, behavior, episodes=5000, seed=1)
    >>> found = forecast(log, behavior, cautious, discount=0.95)
    >>> found.ahead, found.fitted
    (250, 1667)
    >>> print(found.verdict)
    If the trend goes on, your policy brings about ...
    """
    new = None if controller is None else controller_of(controller)
    if behavior is None and new is not None:  # nobody else says how to number names
        log = log_of(log, new)
    practice = practice_of(log, behavior, memory=CURRENT)
    log = practice.log
    check_delta(delta)
    if not isinstance(discount, int | float | np.number) or not 0 <= discount <= 1:
        raise ParameterError(f"discount: {discount!r} must lie in [0, 1].")
    γ, ahead, rng = float(discount), _checked(ahead, len(log)), generator(seed, "forecast")
    _check_log(log)
    last = math.ceil(len(log) / 3)
    unit = _units(log, last)
    low, high = _possible(log, γ)

    def item(
        values: Floats,
        size: float | None,
        possible: tuple[float, float],
        weight: Floats | None = None,
    ) -> Evidenced:
        known = None if weight is None else weight[-last:] - 1  # 0 on average, whatever drifts
        found = trend(values[-last:], ahead, delta=delta, unit=unit, x=known)
        return Evidenced(*found, possible=possible, effective=size)

    returns = log.returns(γ)
    old, less = item(returns, None, (low, high)), None
    assumed = _assumed(practice, last, unit)
    if new is not None:
        sample = Sample(practice.replays, new, _behaviors(practice), γ, FOLDS, rng)
        size = _effective(sample.weight[-last:], unit)
        less = item(_scores(sample), size, (low - high, high - low), sample.averaged)
        chosen = "The new policy was chosen without looking at these episodes."
        assumed = (sample.assumed[0], chosen, *assumed)
    return Forecast(
        ahead, len(log), last, float(delta), γ, float(returns.mean()), old, less,
        Validity.CLAIMED if practice.estimated and less else Validity.ASYMPTOTIC, assumed,
    )  # fmt: skip


def _checked(ahead: int | None, episodes: int) -> int:
    if ahead is None:
        return max(1, episodes // 20)
    ahead = check_count("ahead", ahead, 1, "pass how many episodes to forecast")
    if ahead > episodes // 10:
        raise ParameterError(
            f"ahead {ahead:,} is more than a tenth of the {episodes:,} episodes of the log. "
            f"Forecasts as long were not found to hold; give at most {episodes // 10:,}."
        )
    return ahead


def _check_log(log: Episodes) -> None:
    """A LogError where this kind of log cannot be forecast."""
    source = visible(log.origin.source) if log.origin else "Log"
    if len(log) < FEWEST:
        raise LogError(
            f"{source}: {counted(len(log), 'episode')} cannot be forecast from. Intervals were "
            f"found to hold from {FEWEST} episodes on; log more."
        )
    if not records_alike(log):
        cut = log.lengths[~log.terminated]
        raise LogError(
            f"{source}: records are cut off after {cut.min():,} to {log.lengths.max():,} steps. A "
            "longer record adds up more, so that returns change along the log even where the "
            "process does not. Nothing is forecast. Give records that go on for as long, or to "
            "their end, and leave out one that still goes on."
        )
    if not np.isfinite(log.returns(1.0)).all():
        raise LogError(f"{source}: returns are too large to compute with.")


def _units(log: Episodes, last: int) -> Ints | None:
    """(last,) numbers of the clusters of the last episodes; None where episodes count."""
    if log.cluster is None:
        return None
    unit = np.unique(log.cluster.present[1][-last:], return_inverse=True)[1].astype(np.int64)
    if (clusters := int(unit.max()) + 1) < FEWEST_CLUSTERS:
        raise LogError(
            f"The last third of the log has {counted(clusters, 'cluster')}. A forecast takes at "
            f"least {FEWEST_CLUSTERS}; log more."
        )
    return unit


def _possible(log: Episodes, discount: float) -> tuple[float, float]:
    """The least and the greatest return that the rewards in the log allow."""
    low, high = return_ranges(rewards_seen(log), discount, int(log.lengths.max()))
    return float(low.min()), float(high.max())


def _scores(sample: Sample) -> Floats:
    """(E,) the doubly robust value of the new policy less that of the old one."""
    found = sample.contributions("dr", True)
    assert not isinstance(found, Weighted)
    if not np.isfinite(found).all():
        raise LogError("Weights are too large to compute with.")
    return found


def _effective(weight: Floats, unit: Ints | None) -> float:
    """How many ordinary episodes, or clusters, weights say as much as; as of every estimate, what
    is missing of all weight counts as one of them."""
    if unit is not None:
        clusters = int(unit.max()) + 1
        weight = sum_by(unit, weight, clusters) * (clusters / len(weight))
    return trust(weight, weight).effective


def _behaviors(practice: Practice) -> Behaviors:
    """Who made the log, as a caller would say it."""
    if not practice.controllers:
        return None
    return practice.only or dict(zip(practice.names, practice.controllers, strict=True))


def _assumed(practice: Practice, last: int, unit: Ints | None) -> tuple[str, ...]:
    """What is taken for granted, whoever is forecast."""
    log = practice.log
    found = [
        f"The trend of the last {last:,} episodes goes on, or ends here: nothing jumps after the "
        "log.",
        "The log has its episodes in the order in which they happened, evenly in time.",
        "Given the trend, episodes are independent of each other, or like their neighbours only."
        if unit is None
        else "Given the trend, clusters are independent of each other.",
        "Acting otherwise does not change where the process is going.",
        "No rare loss or gain matters that the log does not happen to contain.",
    ]
    if practice.several:
        found.append("Those who act next are those who acted last: what a change of behaviors did "
                     "along the log is part of the trend.")  # fmt: skip
    if not log.terminated.all():
        found.append(
            f"Every record stops after {counted(int(log.lengths.max()), 'step')} at the latest: "
            "the return up to there is forecast."
        )
    return tuple(found)
