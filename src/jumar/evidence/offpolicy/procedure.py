"""From a log and two controllers to an estimate with an interval.

log -> replay both -> ratios -> estimator -> one value per episode (or a weighted mean) -> interval
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.documents import show
from jumar.core.errors import ParameterError
from jumar.core.randomness import Seed, generator
from jumar.core.text import counted
from jumar.evidence.bounds import check_count
from jumar.evidence.certificate import READ_OFF
from jumar.evidence.offpolicy import intervals, weights
from jumar.evidence.offpolicy.estimators import ESTIMATORS, Estimator, Weighted
from jumar.evidence.offpolicy.intervals import INTERVALS, Interval, Method, Sides
from jumar.evidence.offpolicy.ranges import Possible, possible_of
from jumar.evidence.offpolicy.results import Estimate
from jumar.evidence.offpolicy.sample import Sample
from jumar.evidence.offpolicy.weights import trust
from jumar.evidence.practice import BehaviorLike, practice_of
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.policy.files import ControllerLike, controller_of
from jumar.tally.replay import LogLike, Replays, log_of

MOST_STEPS = 100_000  # of a declared horizon: ranges are found by going backwards through it


def estimate(
    log: LogLike,
    target: ControllerLike,
    behavior: BehaviorLike,
    *,
    discount: float,
    estimator: str = "dr",
    interval: str | None = None,
    delta: float = 0.05,
    sides: Sides | None = None,
    difference: bool = False,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    seed: Seed = 1,
) -> Estimate:
    """What a controller is worth, from a log that another one made.

    Episodes that were cut off count up to the cut.

    Parameters
    ----------
    log
        What `read_logs` returns, a file, or a table of pandas, polars or pyarrow.
    target
        The controller to judge, or its file.
    behavior
        Who made the log, as for `improve`: a controller or its file, several, "estimate", or None
        where the log has propensities.
    discount
        Weight of the next step against this one, in [0, 1].
    estimator
        A name from `offpolicy.ESTIMATORS`.
    interval
        A name from `offpolicy.INTERVALS`. Without it, Student's t for dr, and the studentised
        bootstrap for all others.
    delta
        Accepted chance that the interval misses.
    sides
        Which ends are claimed: "two", "lower" or "upper".
    difference
        Estimate how much better than the behavior it is.
    rewards
        What a step can pay, for proved intervals. Without it, what the log shows, and the interval
        is proved only within that.
    horizon
        The most steps of an episode, for proved intervals; likewise.
    seed
        A whole number or a generator. It deals the halves of the log, each of which doubly robust
        estimators judge by the other, and draws the bootstrap.

    Returns
    -------
    Estimate
        The value with its interval, its validity, and a verdict in words.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> names = tiger.observations, tiger.actions
    >>> behavior = Controller.uniform(*names)
    >>> cautious = Controller.constant(*names, [0.25, 0.25, 0.5])
    >>> log = simulate(tiger, behavior, episodes=5000, seed=1)
    >>> found = estimate(log, cautious, behavior, discount=0.95, difference=True)
    >>> print(found.verdict)
    Better than the behavior by at least ... (asymptotic, nominally 5 % chance of error).
    """
    asked = _Asked(estimator, interval, delta, sides, difference, rewards, horizon)
    return _estimate(_sample(log, target, behavior, discount, seed), asked)


def estimate_all(
    log: LogLike,
    target: ControllerLike,
    behavior: BehaviorLike,
    *,
    discount: float,
    interval: str | None = None,
    **options: Any,
) -> dict[str, Estimate]:
    """Every estimator, each as `estimate` gives it.

    Where no whole episode is one that the target could have made, only those that learn from
    beginnings.

    Parameters
    ----------
    log
    target
    behavior
    discount
        As for `estimate`.
    interval
        Likewise. With one, only the estimators that it serves.
    **options
        All others of `estimate`.

    Returns
    -------
    dict of Estimate
        By the name of the estimator.
    """
    seed = options.pop("seed", 1)
    wanted = [
        _Asked(name, interval, **options)
        for name in ESTIMATORS
        if interval is None or _serves(INTERVALS.find(interval), ESTIMATORS[name])
    ]
    sample = _sample(log, target, behavior, discount, seed)
    able = [asked for asked in wanted if sample.serves(asked.estimator)]
    return {asked.estimator: _estimate(sample, asked) for asked in able or wanted}


def _sample(
    log: LogLike, target: ControllerLike, behavior: BehaviorLike, discount: float, seed: Seed
) -> Sample:
    new = controller_of(target)
    if behavior is None:  # names of a log with propensities alone are numbered as the target's
        log = Replays.of(log_of(log, new)).align(new.observations, new.actions)
    return Sample(practice_of(log, behavior), new, discount, generator(seed, "offpolicy"))


def _serves(method: Method, entry: Estimator) -> bool:
    if entry.weighted:
        return method.for_weighted
    if method.needs == "nothing":
        return True
    return (entry.range if method.needs == "range" else entry.floored) is not None


@dataclass(frozen=True)
class _Asked:
    """What is asked for, checked before anything is computed."""

    estimator: str
    interval: str | None
    delta: float = 0.05
    sides: Sides | None = None
    difference: bool = False
    rewards: RewardRange | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        entry, method = ESTIMATORS.find(self.estimator), self.method
        if not _serves(method, entry):
            able = ", ".join(name for name, other in INTERVALS.items() if _serves(other, entry))
            why = f"which is no mean of independent values. Use one of {able}"
            if not entry.weighted:
                why = "whose values have no range that is known beforehand. Use one of "
                why += f"{able}, or estimator pdis"
            raise ParameterError(f"interval {self.name}: not for {self.estimator}, {why}.")
        intervals.tails(self.delta, self.claimed)
        if method.needs == "floor" and self.claimed != "lower":
            raise ParameterError(f"interval {self.name}: it bounds from below only; sides='lower'.")
        if self.horizon is not None:
            remedy = "pass the most steps of an episode"
            if check_count("horizon", self.horizon, 1, remedy) > MOST_STEPS:
                raise ParameterError(
                    f"horizon {show(self.horizon)} is more than {MOST_STEPS:,}: nothing is known "
                    "of returns so far away. Leave it out: the longest episode of the log is then "
                    "taken for it."
                )

    @property
    def name(self) -> str:
        """Of the interval."""
        return self.interval or ESTIMATORS.find(self.estimator).interval

    @property
    def method(self) -> Method:
        return INTERVALS.find(self.name)

    @property
    def claimed(self) -> Sides:
        return self.sides or ("lower" if self.method.needs == "floor" else "two")


def _estimate(sample: Sample, asked: _Asked) -> Estimate:
    sample.check_serves(asked.estimator)
    method = asked.method
    ranged = method.needs != "nothing"
    bounds = possible_of(sample, asked.rewards, asked.horizon, asked.difference)
    values, found = _values(sample, asked, bounds)
    read_off = bounds.read_off(method.needs)
    if isinstance(values, Weighted):
        value, pulls = values.value, values.influence
    else:
        value, pulls = float(values.mean()), values
    possible = bounds.possible(proved=ranged)
    weight = sample.unit_weight
    trusted = trust(weight, pulls)
    validity = method.validity.if_seen if read_off else method.validity
    if sample.practice.unproved:
        # no interval counts what an estimate of the behavior may be off by, nor what frequencies
        # that stand for probabilities are
        validity = min(validity, Validity.CLAIMED, key=lambda v: v.strength)
    return Estimate(
        estimator=asked.estimator,
        interval=asked.name,
        value=bounds.without_dust(bounds.without_rounding(value, possible)),
        lower=bounds.without_dust(found.lower),
        upper=bounds.without_dust(found.upper),
        standard_error=intervals.standard_error(values),
        delta=float(asked.delta),
        sides=asked.claimed,
        difference=asked.difference,
        discount=float(sample.discount),
        episodes=len(sample.log),
        effective_size=trusted.effective,
        largest_share=weights.largest_share(weight),
        logged=float(sample.returns.mean()),
        possible=possible,
        validity=validity,
        assumptions=_assumptions(sample, bounds, method, read_off),
        notes=_notes(sample, bounds, method),
        trust=trusted,
        read_off=read_off,
        clusters=sample.n_clusters,
    )


def _values(sample: Sample, asked: _Asked, bounds: Possible) -> tuple[Floats | Weighted, Interval]:
    entry, method, delta = ESTIMATORS[asked.estimator], asked.method, asked.delta
    rng = sample.streams[1 + list(ESTIMATORS).index(asked.estimator)]
    if method.needs == "floor":  # the number belongs to its interval
        floored, low = bounds.floored(entry.floored)
        return floored, method.compute(floored, delta, low=low, rng=rng)
    if method.needs == "nothing":
        values = sample.units(asked.estimator, asked.difference, alike=False)
        return values, method.compute(values, delta, rng=rng, sides=asked.claimed)
    values = sample.units(asked.estimator, asked.difference, alike=True)
    assert entry.range is not None, "_serves said so"
    low, high = entry.range(bounds)
    if not np.isfinite(high - low):
        return values, intervals.EVERYTHING
    return values, method.compute(values, delta, low=low, high=high, sides=asked.claimed)


def _notes(sample: Sample, bounds: Possible, method: Method) -> tuple[str, ...]:
    """Why the interval is what it is; which mean is estimated, where clusters differ in size."""
    notes = bounds.notes if method.needs == "range" else ()
    if not sample.unequal:
        return notes
    how = "each episode counts the same, so a large cluster counts more"
    if method.needs != "nothing":
        how = "each cluster counts the same, as that is what the interval is proved for"
    return (*notes, f"Clusters differ in size: {how}.")


def _assumptions(
    sample: Sample, bounds: Possible, method: Method, read_off: tuple[str, ...]
) -> tuple[str, ...]:
    log = sample.log
    found = [*sample.assumed, "The new controller was chosen without looking at these episodes."]
    if not sample.covered:
        found.append(
            "Wherever the new controller may come to, the behavior does at least sometimes what "
            "the new one does; this was checked only where the log leads."
        )
    cut = int((~log.terminated).sum())
    if cut:
        found.append(
            f"{cut:,} of {counted(len(log), 'episode')} {'was' if cut == 1 else 'were'} cut off: "
            "what is estimated is the return up to the cut, for recordings that are cut off as "
            "these were."
        )
    if log.origin is not None and log.origin.remarks and log.origin.remarks.rewards_assumed:
        found.append("Things cost and pay what the given prices say; the log does not tell.")
    if method.needs == "nothing":
        found.append(
            "No rare loss or gain matters that the log does not happen to contain: an interval "
            "that is only asymptotic cannot tell."
        )
        read_off = ()  # it does not use the range
    if "rewards" in read_off:
        found.append(READ_OFF)
    if "horizon" in read_off:
        most = counted(bounds.horizon, "step")
        found.append(f"The longest episode was only read off the log: none has more than {most}.")
    return tuple(found)
