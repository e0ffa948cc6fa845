"""From a log and two controllers to a forecast of both.

The behavior is forecast from the returns of the log, a new controller from its doubly robust value
in each episode, and the difference from what differs within an episode. All of these are right on
average in every episode, whatever the process was then: weights know no time.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.controller import Controller
from jumar.core.errors import LogError, ParameterError
from jumar.core.randomness import Seed, generator
from jumar.core.text import counted, visible
from jumar.evidence.bounds import check_count, check_delta
from jumar.evidence.estimation import CURRENT
from jumar.evidence.forecasting.results import Forecast
from jumar.evidence.forecasting.trends import FEWEST, FittedTrend, trend
from jumar.evidence.given import BehaviorLike, Behaviors
from jumar.evidence.offpolicy.estimators import Weighted
from jumar.evidence.offpolicy.sample import Sample
from jumar.evidence.practice import Practice, practice_of
from jumar.evidence.validity import Validity
from jumar.io.controllers import ControllerLike, controller_of
from jumar.io.logs import LogLike, log_of

ESTIMATOR = "dr"
FOLDS = 2
CHOSEN_ELSEWHERE = "The new controller was chosen without looking at these episodes."


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

    A smooth trend is fitted to what each episode earned, and goes on for some episodes more. For
    the new controller, what it would have earned in each episode is estimated by weights. Episodes
    count in the order of the log.

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
        How many episodes to forecast, at most half as many as the log has; without it a tenth.
    delta
        Accepted chance that an end of an interval is wrong; there are two.
    seed
        A whole number or a generator, for the bootstrap.

    Returns
    -------
    Forecast
        Of the behavior, of the new controller, and of their difference; with a verdict in words.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> names = tiger.observations, tiger.actions
    >>> behavior = Controller.uniform(*names)
    >>> cautious = Controller.constant(*names, [0.25, 0.25, 0.5])
    >>> log = simulate(tiger, behavior, episodes=5000, seed=1)
    >>> found = forecast(log, behavior, cautious, discount=0.95)
    >>> found.ahead, found.difference.lower < found.difference.value
    (500, True)
    >>> print(found.verdict)
    The forecast for the next 500 episodes does not tell whether the new controller is better ...
    """
    new = None if controller is None else controller_of(controller)
    if behavior is None and new is not None:  # nobody else says how to number names
        log = log_of(log, new)
    practice = practice_of(log, behavior, memory=CURRENT)
    rng = generator(seed, "forecast")
    return forecast_of(practice, new, discount=discount, ahead=ahead, delta=delta, rng=rng)


def forecast_of(
    practice: Practice,
    controller: Controller | None,
    *,
    discount: float,
    ahead: int | None,
    delta: float,
    rng: np.random.Generator,
    held_out: Ints | None = None,
    chosen: str = CHOSEN_ELSEWHERE,
    why_not: str = "",
) -> Forecast:
    """The same for a log whose maker is known. The new controller is judged by the episodes
    `held_out` alone, if these are given; `chosen` says why it may be."""
    log = practice.log
    n = len(log)
    check_delta(delta)
    if not isinstance(discount, int | float | np.number) or not 0 <= discount <= 1:
        raise ParameterError(f"discount: {discount!r} must lie in [0, 1].")
    cluster = None if log.cluster is None else log.cluster.present[1]
    units = n if cluster is None else int(cluster.max()) + 1
    source = visible(log.origin.source) if log.origin else "Log"  # may be shown on a page
    if units < FEWEST:
        few = counted(units, "episode" if cluster is None else "cluster")
        raise LogError(
            f"{source}: {few} cannot show a trend. A forecast takes at least {FEWEST}; log more."
        )
    ahead = _checked(ahead, n)
    streams = rng.spawn(4)
    kept = np.arange(n) if held_out is None else np.sort(held_out)

    def series(values: Floats, time: Ints, stream: np.random.Generator) -> FittedTrend:
        if not np.isfinite(values).all():
            raise LogError(f"{source}: returns or weights are too large to compute with.")
        unit = None
        if cluster is not None:
            unit = np.unique(cluster[time], return_inverse=True)[1]
        return trend(values, time, n, ahead, delta=delta, rng=stream, unit=unit)

    returns = log.returns(float(discount))
    old = series(returns, np.arange(n), streams[0])
    new = less = None
    assumed = _assumed(practice, units if cluster is not None else None)
    if controller is not None:
        given = practice.replays if held_out is None else practice.replays.part(kept)
        sample = Sample(given, controller, _behaviors(practice), discount, FOLDS, streams[3])
        worth, gains = (sample.contributions(ESTIMATOR, d) for d in (False, True))
        assert not isinstance(worth, Weighted)
        assert not isinstance(gains, Weighted)
        new, less = series(worth, kept, streams[1]), series(gains, kept, streams[2])
        assumed = [*sample.assumed[:2], chosen, *assumed]
    terms = (less or old).terms
    cosines = "" if terms == 1 else f" and {counted(terms - 1, 'cosine')}"
    following = "episode" if ahead == 1 else f"{ahead:,} episodes"
    return Forecast(
        ahead,
        n,
        float(delta),
        float(discount),
        old,
        new,
        less,
        Validity.CLAIMED if practice.unproved and less else Validity.ASYMPTOTIC,
        (
            f"The trend, a straight line{cosines} over the log, goes on for the next {following}: "
            "nothing changes suddenly, and no season comes more than once in the log.",
            *assumed,
        ),
        why_not,
    )


def _checked(ahead: int | None, episodes: int) -> int:
    if ahead is None:
        return max(1, episodes // 10)
    ahead = check_count("ahead", ahead, 1, "pass how many episodes to forecast")
    if ahead > episodes // 2:
        raise ParameterError(
            f"ahead {ahead:,} is more than half of the {episodes:,} episodes of the log. Forecasts "
            f"as long are never tried on the log itself; give at most {episodes // 2:,}."
        )
    return ahead


def _behaviors(practice: Practice) -> Behaviors:
    """Who made the log, as a caller would say it."""
    if not practice.controllers:
        return None
    return practice.only or dict(zip(practice.names, practice.controllers, strict=True))


def _assumed(practice: Practice, clusters: int | None) -> list[str]:
    """What is taken for granted, whoever is forecast."""
    log = practice.log
    found = [
        "The log has its episodes in the order in which they happened, evenly in time.",
        "Given the trend, episodes are independent of each other."
        if clusters is None
        else f"Given the trend, the {clusters:,} clusters are independent of each other.",
        "Acting otherwise does not change where the process is going.",
        "There are enough episodes for the interval to hold, and no rare loss or gain matters that "
        "the log does not happen to contain.",
    ]
    if practice.several:
        found.append("Those who act next are those who acted last: what a change of behaviors did "
                     "along the log is part of the trend.")  # fmt: skip
    cut = int((~log.terminated).sum())
    if cut:
        found.append(
            f"{cut:,} of {len(log):,} episodes {'was' if cut == 1 else 'were'} cut off: what is "
            "forecast is the return up to the cut, for recordings that are cut off as these were."
        )
    return found
