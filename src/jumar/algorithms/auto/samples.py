"""How many episodes until a gain is likely to be certified.

*Proved gate.* The logarithm of a bet's wealth is a sum over held-out units. If a unit adds g on
average with standard deviation s, then on m units it stays above -ln(level) with probability Φ(z)
from the smallest m on with

    m·g >= z·s·√m - ln(level).

g and s are those of the logged scores, moved so that their mean is the gain that is asked for.

*Asymptotic gate.* A candidate with gain g whose scores have standard deviation s passes on m units
when g + noise > c·s/√m + R/m · max(ln(1/δ), 2/f), f being the share of the units that its weights
are worth (`asymptotic`); what its weights lack does not shrink with m, and is taken
off g.

Half of the episodes are held out, so the log must have twice as many. The gain and its noise are
themselves estimates, and a longer log also finds better candidates: this is a plan, not a promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jumar.algorithms.auto.asymptotic import UNSEEN, normal, student
from jumar.algorithms.auto.dealing import HALVES
from jumar.algorithms.auto.trials import PROVED, KeptTrial, Selection, Trial
from jumar.core.episodes import LARGEST_REWARD, SMALLEST_REWARD
from jumar.core.errors import ParameterError

LEAST = 5  # effective episodes below which nothing can be planned
MOST_EPISODES = 10**12  # a plan for more is no plan


@dataclass(frozen=True)
class Need:
    """Episodes for one gain and one chance of passing."""

    gain: float
    power: float
    episodes: int | None  # in the whole log; None: cannot be planned for


def needs(
    selection: Selection, gains: list[float] | None = None, powers: tuple[float, ...] = (0.5, 0.8)
) -> tuple[Need, ...]:
    """What it would take to certify some gains, judging by the log so far; without any, the gain of
    the candidate that would be decided first."""
    check_asked(gains, powers)
    first = decided_first(selection)
    if first is None:
        return ()
    return tuple(
        Need(gain, power, _needed(selection, first, gain, power))
        for gain in (gains if gains is not None else [first.gain])
        for power in powers
    )


def check_asked(gains: list[float] | None, powers: tuple[float, ...]) -> None:
    """Refuse what is no gain, and no chance."""
    for power in powers:
        if not 0 < power < 1:
            raise ParameterError(f"power: {power!r} must lie between 0 and 1, such as 0.8.")
    for gain in gains or ():
        if not SMALLEST_REWARD <= gain <= LARGEST_REWARD:
            raise ParameterError(
                f"gain: {gain!r} is not a gain per episode. Use a positive number, such as 0.5."
            )


def decided_first(selection: Selection, power: float = 0.8) -> Trial | None:
    """The candidate that takes the fewest episodes to certify; if none can be planned for, the one
    that came closest."""
    sizes = [(_needed(selection, trial, trial.gain, power), trial) for trial in selection.trials]
    found = [(size, i) for i, (size, _) in enumerate(sizes) if size is not None]
    return selection.trials[min(found)[1]] if found else selection.best


def _needed(selection: Selection, trial: Trial, gain: float, power: float) -> int | None:
    units = _by_bet(trial, gain, power)
    if selection.gate != PROVED:
        units = _by_t(selection, trial, gain, power)
    if units is None or not units < MOST_EPISODES:
        return None
    return HALVES * math.ceil(units * selection.episodes / selection.units)


def _by_bet(trial: Trial, gain: float, power: float) -> float | None:
    """Units on which a bet passes."""
    if trial.scores is None or trial.bet is None or not gain > 0 or not math.isfinite(gain):
        return None
    grows = trial.scores.growth_if(gain, trial.bet.floor)
    if not grows.mean > 0:
        return None
    needed = units_needed(grows.mean, grows.deviation * normal(1 - power), -math.log(trial.level))
    others = [_by_kept(kept, trial.level, power) for kept in trial.kept if not kept.passed]
    return None if None in others else max([needed, *(n for n in others if n is not None)])


def _by_kept(kept: KeptTrial, level: float, power: float) -> float | None:
    """Units on which a bet passes that no more is lost than may be."""
    if kept.scores is None or kept.bet is None or not kept.gain + kept.loss > 0:
        return None
    grows = kept.scores.growth_if(kept.gain + kept.loss, kept.bet.floor - kept.loss)
    if not grows.mean > 0:
        return None
    return units_needed(grows.mean, grows.deviation * normal(1 - power), -math.log(level))


def _by_t(selection: Selection, trial: Trial, gain: float, power: float) -> float | None:
    """Units on which the t test passes."""
    held_out = trial.units
    left = gain - selection.range * trial.missing
    if trial.effective < LEAST or not left > 0 or not math.isfinite(left):
        return None  # how the weights would spread in a longer log cannot be told
    noise = (student(trial.level, held_out) + normal(1 - power)) * trial.deviation
    share = min(1.0, trial.effective / held_out)
    unseen = selection.range * max(-math.log(selection.delta), UNSEEN / share)
    return units_needed(left, max(0.0, noise), unseen)


def units_needed(drift: float, noise: float, once: float) -> float:
    """The smallest m with m·drift >= noise·√m + once.

    >>> units_needed(1.0, 19.6, 0.0), units_needed(0.5, 0.0, 4.0)
    (384.16, 8.0)
    """
    root = (noise + math.sqrt(noise**2 + 4 * drift * once)) / (2 * drift)
    return round(max(root, 0.0) ** 2, 9)
