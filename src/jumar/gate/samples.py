"""How many episodes until a gain is likely to be certified, or why that cannot be told.

The logarithm of a bet's wealth is a sum over held-out units. If a unit adds g on average with
standard deviation s, then within m units it reaches c = -ln(level) at some time with a chance of
about

    Φ( (m·g - c) / (s·√m) ) + exp(2·g·c/s²)·Φ( -(m·g + c) / (s·√m) ),

as a Brownian motion with this drift would.

What is planned for is, of each half, the change that is tested first. That was decided without a
look at held-out episodes, so their mean is an honest estimate of its gain; the best of several
would not be. Something is certified if either half certifies it.

The gain itself is only an estimate, and what a small log leaves open about it is the larger part of
what can go wrong. So the chance is averaged over the gains that held-out episodes leave possible,
with the bet that would be laid on each: the size planned for 80 % is the one with which 80 % of
such plans come true, not the one that would do if the estimate were exact. Some logs leave so much
open that no size reaches 80 %; and a plan for many times the log is a guess (`benchmarks/plans.py`
measures both). Then there is no number, and a sentence says what to change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from jumar.core.errors import ParameterError
from jumar.core.text import counted, percent
from jumar.evidence.plausible import Evidenced
from jumar.evidence.validity import EACH_LOOK
from jumar.gate.asymptotic import evidence_of, normal
from jumar.gate.bets import Scores
from jumar.gate.dealing import HALVES, LEAST
from jumar.gate.trials import MOST_BEYOND, PROVED, Selection, Trial
from jumar.log.episodes import LARGEST_REWARD, SMALLEST_REWARD
from jumar.log.pace import Pace

LIKELY = 0.8
MOST_TIMES = 10  # the log: a plan for more is a guess, as measured
MOST_EPISODES = 10**9  # the same for a gain that somebody asks for
POSSIBLE = 15  # gains that held-out episodes leave possible, each as likely
SURE = 0.05  # level of the largest of them that is planned for, where a gain is asked for

# (mean, deviation) of what a unit adds to the logarithm of a bet, and what it must come to
Race = tuple[float, float, float]


@dataclass(frozen=True)
class Need:
    """Episodes for one gain and one chance of passing."""

    gain: float
    power: float
    episodes: int | None  # in the whole log; None: cannot be told


@dataclass(frozen=True)
class SizePlan:
    """How long a log must be; or, in `why`, what stands against it."""

    needs: tuple[Need, ...]  # without a number in any, where there is a reason
    gain: Evidenced | None = None  # held out: of what passed, else of what is planned for
    why: str = ""

    @property
    def size(self) -> int | None:
        """Episodes with which a change is likely to pass; None where that cannot be told."""
        return next((need.episodes for need in self.needs if need.power == LIKELY), None)

    def said(self, episodes: int, pace: Pace | None = None) -> str:
        """In one or two sentences; `episodes` is what the log has. The gain is not told: where
        nothing is certified, none is shown (`verdict.verdicts`)."""
        if self.gain is None or self.size is None:
            return self.why
        more = max(0, self.size - episodes)
        said = (
            f"With about {self.size:,} episodes in all, {more:,} more than now, a change "
            f"would pass the test in {percent(LIKELY)} of such logs."
        )
        return " ".join(
            filter(
                None, (said, pace.text(more) if pace and more else "", self.gain.caution, EACH_LOOK)
            )
        )


def plan(
    selection: Selection, gains: Sequence[float] = (), powers: Sequence[float] = (LIKELY,)
) -> SizePlan:
    """What it would take to certify some gains, judging by the log so far; without any, what the
    changes gain that were tested first."""
    check_asked(gains, powers)
    told = evidence_of([selection.chosen], selection.possible) if selection.chosen else None
    if told and not gains:
        return SizePlan((), told, _CERTIFIED)
    firsts = _firsts(selection)
    why = _hopeless(selection, firsts)
    if why:
        return SizePlan((), told, why)
    firsts = [trial for trial in firsts if trial.beyond <= MOST_BEYOND]
    found = _gain(selection, firsts)
    if found.hidden:
        return SizePlan((), found, f"{_UNTOLD}: {found.hidden}. {_EXPLORE}")
    if gains:
        most = min(selection.possible[1], found.value + normal(SURE) * found.error)
        needs = [
            Need(
                gain,
                power,
                _episodes(selection, firsts, gain, 0.0, power, MOST_EPISODES)
                if gain <= most
                else None,
            )
            for gain in gains
            for power in powers
        ]
        return SizePlan(tuple(needs), told or found)
    if found.value <= 0:
        return SizePlan((), found, _NO_GAIN)
    own = partial(_episodes, selection, firsts, found.value, found.error)
    most = MOST_TIMES * selection.episodes
    if own(LIKELY, most) is None:
        return SizePlan((), found, _OPEN)
    return SizePlan(tuple(Need(found.value, p, own(p, most)) for p in powers), found)


_CERTIFIED = (
    "A change passes the test already. jumar improve tells which, and whether the log is sound."
)
_UNTOLD = "How many episodes would decide cannot be told"
_EXPLORE = "Let your policy try other actions more often."
_ALIKE = (
    "All that was paid is alike, so by this log no policy is better than another. Log what tells a "
    "good outcome from a bad one."
)
_NO_GAIN = (
    "What was tried did not do better on episodes it was not learned from, so more of the same log "
    "would probably not help; more memory, or other actions in the log, might."
)
_OPEN = (
    f"{_UNTOLD}: by what this log shows, even {MOST_TIMES} times as many might not. Plan again "
    "when the log has doubled; or let your policy try other actions more often, which says more "
    "per episode."
)


def check_asked(gains: Sequence[float], powers: Sequence[float]) -> None:
    """Refuse what is no gain, and no chance."""
    for power in powers:
        if not 0 < power < 1:
            raise ParameterError(f"power: {power!r} must lie between 0 and 1, such as 0.8.")
    for gain in gains:
        if not SMALLEST_REWARD <= gain <= LARGEST_REWARD:
            raise ParameterError(
                f"gain: {gain!r} is not a gain per episode. Use a positive number, such as 0.5."
            )


def _firsts(selection: Selection) -> list[Trial]:
    """Of each half, what is tested first: that has most of the level."""
    found = {}
    for trial in sorted(selection.trials, key=lambda trial: trial.level):
        if trial.scores is not None and trial.bet is not None:
            found[trial.half] = trial
    return list(found.values())


def _hopeless(selection: Selection, firsts: Sequence[Trial]) -> str:
    """Why no number of episodes like these would decide, or none can be told."""
    beyond = max(selection.beyond, min((trial.beyond for trial in firsts), default=0.0))
    if beyond > MOST_BEYOND:
        # the page tells the share under the old policy, too
        under = "" if beyond == selection.beyond else " under what was tried"
        return (
            f"Recordings stop so early that {percent(round(beyond, 2))} of what counts{under} lies "
            "beyond, so no number of them would decide. Record for longer; or, if episodes end "
            "where the recordings do, say so (--ends terminated)."
        )
    if selection.units < HALVES * LEAST:
        kind = "episode" if selection.units == selection.episodes else "cluster"
        few = f"{counted(selection.units, kind)} {'is' if selection.units == 1 else 'are'} too few"
        return f"{few} to learn from some and test on others."
    if selection.gate != PROVED:
        return f"{_UNTOLD} for the approximate test, only for the proved one (--gate proved)."
    if selection.range == 0:
        return _ALIKE
    if not firsts:
        return f"The log shows no alternative that could be tested. {_EXPLORE}"
    return ""


def _gain(selection: Selection, firsts: Sequence[Trial]) -> Evidenced:
    """Of the changes that are tested first: their mean, with each half as the other's judge."""
    value = float(np.mean([trial.gain for trial in firsts]))
    error = math.sqrt(sum(trial.error**2 for trial in firsts)) / len(firsts)
    margin, effective = normal(SURE) * error, min(trial.effective for trial in firsts)
    return Evidenced(value, value - margin, value + margin, error, selection.possible, effective)


def _episodes(
    selection: Selection,
    firsts: Sequence[Trial],
    gain: float,
    error: float,
    power: float,
    most: float,
) -> int | None:
    """The fewest with which a gain, if it is known up to an error, is certified with this chance;
    None where `most` do not suffice."""
    chance = _chance(firsts, gain, error)
    per_unit = selection.episodes / selection.units

    def suffice(units: float) -> bool:  # held out, in each half
        return chance(units) >= power

    low, high = 1.0, most / HALVES / per_unit
    if not suffice(high):
        return None
    while high > low * (1 + 1e-3):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if suffice(middle) else (middle, high)
    return two_digits(HALVES * high * per_unit)


def _chance(firsts: Sequence[Trial], gain: float, error: float) -> Callable[[float], float]:
    """How likely a gain, if it is known up to an error, is certified with so many held-out units in
    each half."""
    errors = [0.0]
    if error > 0:
        errors = [normal((i + 0.5) / POSSIBLE) for i in range(POSSIBLE)]
    races = [[_races(trial, gain + z * error, z) for trial in firsts] for z in errors]

    def chance(units: float) -> float:
        misses = [math.prod(1 - _all_won(half, units) for half in each) for each in races]
        return 1 - float(np.mean(misses))

    return chance


def chance_with(selection: Selection, episodes: int) -> float | None:
    """How likely something is certified with so many episodes in all, judging by the log so far;
    None where that cannot be told (`plan` says why), or they are too many to tell."""
    planned = plan(selection)
    if not planned.needs or planned.gain is None or episodes > MOST_TIMES * selection.episodes:
        return None
    firsts = [trial for trial in _firsts(selection) if trial.beyond <= MOST_BEYOND]
    units = episodes * selection.units / selection.episodes / HALVES
    return _chance(firsts, planned.gain.value, planned.gain.error)(units)


def two_digits(size: float) -> int:
    """Rounded up: a plan is no more exact than that.

    >>> two_digits(348.2), two_digits(4100.0), two_digits(7.5)
    (350, 4100, 8)
    """
    unit: int = 10 ** max(0, len(str(math.ceil(size))) - 2)
    return unit * math.ceil(size / unit)


def _races(trial: Trial, gain: float, z: float) -> list[Race]:
    """The bets that must all be won: on the gain, and on every signal that is not yet kept."""
    assert trial.scores is not None
    assert trial.bet is not None
    needed = -math.log(trial.level)
    found = [_race(trial.scores, gain, trial.bet.floor, needed)]
    for kept in trial.kept:
        if kept.scores is not None and kept.bet is not None and not kept.passed:
            safe = kept.gain + kept.loss + z * kept.error
            found.append(_race(kept.scores, safe, kept.bet.floor - kept.loss, needed))
    return found


def _race(scores: Scores, gain: float, floor: float, needed: float) -> Race:
    if not math.isfinite(gain) or gain <= 0 or floor <= 0:
        return 0.0, 0.0, needed
    grows = scores.growth_if(gain, floor)
    return grows.mean, grows.deviation, needed


def _all_won(races: Sequence[Race], units: float) -> float:
    """The chance that all bets reach what they must within so many units."""
    return math.prod(_won(*race, units) for race in races)


def _won(mean: float, deviation: float, needed: float, units: float) -> float:
    from scipy.special import log_ndtr, ndtr

    noise = max(deviation, 1e-12) * math.sqrt(units)
    early = 2 * mean * needed / max(deviation, 1e-12) ** 2  # reached, and lost again
    early += float(log_ndtr(-(units * mean + needed) / noise))
    return min(1.0, float(ndtr((units * mean - needed) / noise)) + math.exp(min(0.0, early)))
