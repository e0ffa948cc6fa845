"""Forecasts: what the next episodes will bring, for a log of a process that changes under way.

    found = jm.evidence.forecast(log, behavior, new, discount=0.95)
    print(found.verdict)

An average over such a log tells what was, not what is. One number per episode is taken, in the
order of the log: the return; for a new policy how much larger its doubly robust value is, which
weights make right on average whatever the process was at the time.

*What is fitted* to the last third of these numbers: a parabola; where a cubic forecasts something
else, by more than one standard error of the difference, the cubic; and the level of the latest, as
if nothing changed any more. The forecast is the mean of the parabola over the next Δ episodes, and
the interval spans those of all three: where the trend bends a parabola misses, and where it jumps a
parabola overshoots. Each end of each is wrong with a chance of 0.8 δ; what they span was measured
to miss with about δ in all, or less often (see the page "When the process drifts").

*What is known to be 0 on average*, as weights less 1 are whatever drifts, is fitted along with the
polynomial, and taken as 0 in what comes. It takes most of the skewness of heavy weights out.

*The errors.* With weights h, residuals e and leverages l, g_i = h_i e_i / (1 - l_i), the error of
θ = Σ h_i y_i is (Σ g_i²)^½ (HC3: every episode may have a variance of its own). Neighbouring
episodes may be alike: it is multiplied by ((1 + r)/(1 - r))^½, where r is the correlation of
neighbouring residuals, corrected for what the fit takes away (-(p(1 + r) + 2r)/m for p parameters
and m numbers). The quantile is Student's.

Nothing is said where the interval was not found to hold: short logs, clusters, neighbours that are
too alike, numbers that are nearly all the same, and records that are cut off after different
numbers of steps, as a longer record adds up more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jumar.core.arrays import ROUNDING, Floats
from jumar.core.errors import LogError, ParameterError
from jumar.core.plain import picked
from jumar.core.randomness import Seed, generator
from jumar.core.text import Shown, counted, number, visible
from jumar.evidence.bounds import check_count, check_delta
from jumar.evidence.checking.drift import records_alike
from jumar.evidence.consistency import rewards_seen
from jumar.evidence.offpolicy.estimators import Weighted
from jumar.evidence.offpolicy.ranges import return_ranges
from jumar.evidence.offpolicy.sample import Sample, check_share, practice_for
from jumar.evidence.offpolicy.weights import trust
from jumar.evidence.plausible import NONE_BELOW, Evidenced
from jumar.evidence.practice import BehaviorLike, Practice
from jumar.evidence.validity import Validity
from jumar.log.episodes import Episodes
from jumar.policy.files import ControllerLike, controller_of
from jumar.tally.replay import LogLike

FEWEST = 200  # episodes
DEGREE = 2
ALIKE = 0.7  # correlation of neighbours; at 0.8, 10 % missed in logs of 200
SHARE = 0.8  # of δ, for each end of each answer; 0.5 would do for one answer alone
LATEST = 0.15  # of the numbers: the last twentieth of a log


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

    @property
    def summary(self) -> str:
        return self.verdict

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
    """Forecast what the next episodes bring, where a process changes along its log.

    Parameters
    ----------
    log
    behavior
        As for `offpolicy.estimate`; episodes stand in the order in which they happened.
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
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> cautious = Controller.constant(tiger.observations, tiger.actions, [0.25, 0.25, 0.5])
    >>> log = simulate(tiger, behavior, episodes=5000, seed=1)
    >>> found = forecast(log, behavior, cautious, discount=0.95)
    >>> found.ahead, found.fitted
    (250, 1667)
    >>> print(found.verdict)
    If the trend goes on, your policy brings about ...
    """
    new = None if controller is None else controller_of(controller)
    practice = practice_for(log, behavior, new)
    log = practice.log
    check_delta(delta)
    γ, ahead, rng = check_share(discount), _checked(ahead, len(log)), generator(seed, "forecast")
    _check_log(log)
    last = math.ceil(len(log) / 3)
    # the least and the greatest return that the rewards in the log allow
    ends = return_ranges(rewards_seen(log), γ, int(log.lengths.max()))
    low, high = float(ends[0].min()), float(ends[1].max())
    returns = log.returns(γ)
    line = trend(returns[-last:], ahead, delta=delta)
    old, less = Evidenced(*line, possible=(low, high), effective=None), None
    assumed = _assumed(practice, last)
    if new is not None:
        sample = Sample(practice, new, γ, rng)
        scores = sample.contributions("dr", True)
        assert not isinstance(scores, Weighted)
        known = sample.averaged[-last:] - 1  # 0 on average, whatever drifts
        line = trend(scores[-last:], ahead, delta=delta, x=known)
        weight = sample.weight[-last:]
        size = trust(weight, weight).effective
        less = Evidenced(*line, possible=(low - high, high - low), effective=size)
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
    if log.cluster is not None:
        raise LogError(
            f"{source}: episodes of one cluster are alike, so that a trend cannot be told from the "
            "clusters that come last. Nothing is forecast. Estimate the later part of the log: "
            "what it brought on average can be said by cluster."
        )
    if not records_alike(log):
        cut = log.lengths[~log.terminated]
        raise LogError(
            f"{source}: records are cut off after {cut.min():,} to {log.lengths.max():,} steps. A "
            "longer record adds up more, so that returns change along the log even where the "
            "process does not. Nothing is forecast. Give records that go on for as long, or to "
            "their end, and leave out one that still goes on."
        )


def _assumed(practice: Practice, last: int) -> tuple[str, ...]:
    """What is taken for granted, whoever is forecast."""
    log = practice.log
    found = [
        f"The trend of the last {last:,} episodes goes on, or ends here: nothing jumps after the "
        "log.",
        "The log has its episodes in the order in which they happened, evenly in time.",
        "Given the trend, episodes are independent of each other, or like their neighbours only.",
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


# ---- one series of numbers ----------------------------------------------------------------------


class Trended(NamedTuple):
    """A forecast of one number, as `Evidenced` takes it."""

    value: float
    low: float
    high: float
    error: float


class _Fit(NamedTuple):
    value: float  # the forecast
    pull: Floats  # (m,) h: its weights
    residual: Floats  # (m,)
    basis: Floats  # (m, p) orthonormal columns
    slope: Floats  # (m,) the weights of the coefficient of x; 0 without


def trend(y: Floats, ahead: int, *, delta: float, x: Floats | None = None) -> Trended:
    """The mean of the next `ahead` numbers after `y` (m,), with an interval that misses with a
    chance of `delta`. `x` (m,) is known to be 0 on average; a LogError where nothing can be said.

    >>> x = np.arange(100.0)
    >>> found = trend(x**2 + (-1) ** x, 1, delta=0.05)
    >>> found.low < 100**2 < found.high
    True
    """
    from scipy.special import stdtrit  # scipy.stats takes a second to load

    _check_spread(y)
    size = float(np.abs(y).max())
    y = y / size  # squares of huge numbers are no numbers
    x = np.zeros(len(y)) if x is None else x / max(float(np.abs(x).max()), 1e-300)
    flat, bent = (_fit(y, ahead, degree, x) for degree in (DEGREE, DEGREE + 1))
    fitted = bent.basis.shape[1]
    chain = _chain(bent.residual, fitted)
    quantile = max(0.0, float(stdtrit(len(y) - fitted, 1 - SHARE * delta)))
    latest = np.arange(len(y)) >= (1 - LATEST) * len(y)
    pull = latest / latest.sum()
    pull = pull - float(pull @ x) * bent.slope
    level = _Fit(float(pull @ y), pull, bent.residual, bent.basis, bent.slope)
    apart = chain * _error(bent.pull - flat.pull, bent.residual, bent.basis)
    spanned = [flat, level, *[bent] * (abs(bent.value - flat.value) > apart)]
    errors = [chain * _error(fit.pull, fit.residual, fit.basis) for fit in spanned]
    low, high = (
        end(fit.value + sign * quantile * error for fit, error in zip(spanned, errors, strict=True))
        for sign, end in ((-1, min), (1, max))
    )
    return Trended(*(size * x for x in (flat.value, low, high, errors[0])))


def _fit(y: Floats, ahead: int, degree: int, x: Floats) -> _Fit:
    """A polynomial through y, and the mean of what comes next, where x is 0."""
    m = len(y)
    place = 2 * np.arange(m + ahead) / (m - 1) - 1
    design = np.polynomial.legendre.legvander(place, degree)
    beside = np.ptp(x) > ROUNDING
    if beside:
        design = np.column_stack([design, np.append(x, np.zeros(ahead))])
    Q, R = (np.asarray(part) for part in np.linalg.qr(design[:m]))
    pull = Q @ np.linalg.solve(R.T, design[m:].mean(0))
    slope = Q[:, -1] / R[-1, -1] if beside else np.zeros(m)
    return _Fit(float(pull @ y), pull, y - Q @ (Q.T @ y), Q, slope)


def _error(pull: Floats, residual: Floats, basis: Floats) -> float:
    """The jackknife of a sum `pull`·y: without number i it changes by h_i e_i / (1 - l_i)."""
    left = np.maximum(1 - (basis**2).sum(1), 1e-9)
    return math.sqrt(float(((pull * residual / left) ** 2).sum()))


def _chain(residual: Floats, fitted: int) -> float:
    """How much larger an error is because neighbours are alike."""
    square = float((residual**2).sum())
    if square <= ROUNDING**2 * len(residual):
        return 1.0
    r = float((residual[1:] * residual[:-1]).sum()) / square
    r = max(0.0, r + (fitted * (1 + r) + 2 * r) / len(residual))
    if r > ALIKE:
        raise LogError(
            f"Each episode is so much like the one before (correlation {min(r, 1):.2f}) that a "
            "trend cannot be told from chance. Nothing is forecast."
        )
    return math.sqrt((1 + r) / (1 - r))


def _check_spread(y: Floats) -> None:
    """A LogError where nearly all numbers are the same: the few others are the forecast."""
    others = len(y) - int(np.unique(y, return_counts=True)[1].max())
    if others < NONE_BELOW:
        raise LogError(
            f"All but {others} of the last {len(y):,} episodes bring exactly the same: too few "
            "others to tell where they go. Nothing is forecast."
        )
