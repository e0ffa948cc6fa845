"""Why a candidate is refused, with the numbers.

For the J candidates of one half, judged on n records of the other, with c the (1-δ/2) quantile of
the largest of J normal variables with their correlations (stretched to Student's t), the lower
bound on the gain of a candidate at rung j is

    L_j = gain_j - c · error_j - R · (unseen + max(ln(1/δ)/n, 2/n_eff)),

R being the range of the returns: what the log did not show may be the worst. A candidate passes
when all of these conditions hold:

1. *weight*: at least 30 records' worth of weight, counted over the steps it would do more often;
2. *stretches*: the same on all rungs up to j = 16, as far as records are that long. The log then
   shows it followed for 17 steps on end. What happens only to those who follow it for longer is
   in no log, and a memory that hides it looks as if it sufficed;
3. *lower bound*: L_j > 0 on every rung that has weight; the least of them is what is claimed;
4. *drift*: no rung with weight lies farther from the first than chance would put any of them five
   times in a hundred, counted in standard errors of the difference;
5. *gently*: the same two conditions for its gentle version, whose rungs reach far: a tenth of the
   change, judged with long stretches of exact weights, must also be found to gain, and the same;
6. *longer memory*: judged with the next longer memory, the gain differs by at most two standard
   errors of the difference;
7. *too good*: no gain is larger than the range of the returns, and none is a tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from jumar.algorithms.auto.asymptotic import UNSEEN, Gate, normal
from jumar.algorithms.long_records.judge import Candidate, Reading

FEWEST = 30.0  # records' worth of weight
STRETCH = 16  # j of the longest rung on which the candidate itself must have weight
APART = 2.0  # standard errors of a difference
DRIFTS = 0.05  # chance that one of the rungs seems to drift
TIE = 1e-9
BOUND, GENTLY = "lower bound", "gently, lower bound"
OF_LEVEL = {BOUND, GENTLY}  # conditions that another level may satisfy


@dataclass(frozen=True)
class Refusal:
    """One reason against a candidate, or against judging at all."""

    condition: str  # short name
    text: str  # for people, with the numbers
    value: float
    limit: float


def lower(test: Gate, reading: Reading, unseen: float) -> float:
    """L_j of a reading."""
    if reading.effective <= 0:
        return -math.inf
    rare = max(math.log(1 / test.delta) / test.units, UNSEEN / reading.effective)
    return reading.gain - test.critical * reading.error - test.range * (unseen + rare)


def refusals(candidate: Candidate, test: Gate) -> tuple[Refusal, ...]:
    """Every reason against a candidate; none: it passes."""
    first = candidate.rungs[0]
    found = [*_weights(candidate), *_bounds(candidate, test)]
    found += _drift("drift", "it", with_weight(candidate.rungs))
    found += _gently(candidate, test)
    apart = abs(candidate.longer.against(first))
    if apart > APART:
        text = (
            f"Judged with the next longer memory the gain is {candidate.longer.gain:.4g} "
            f"instead of {first.gain:.4g}, {apart:.1f} standard errors apart."
        )
        found.append(Refusal("longer memory", text, apart, APART))
    if first.gain > test.range:
        text = f"The gain of {first.gain:.4g} exceeds the range of the returns, {test.range:.4g}."
        found.append(Refusal("too good", text, first.gain, test.range))
    return tuple(found)


def passes(candidate: Candidate, found: Sequence[Refusal], test: Gate) -> bool:
    """Would it pass this test, having been refused for these reasons by the same test at another
    level? Only the lower bounds depend on the level."""
    if any(refusal.condition not in OF_LEVEL for refusal in found):
        return False
    again = [*_bounds(candidate, test), *_gentle_bounds(with_weight(candidate.gentle), test)]
    return not again


def with_weight(rungs: Sequence[Reading]) -> list[Reading]:
    """The rungs up to the first that is worth too few records."""
    return list(takewhile(lambda reading: not reading.effective < FEWEST, rungs))


def _weights(candidate: Candidate) -> Iterator[Refusal]:
    for reading in candidate.rungs:
        if reading.exact <= STRETCH and reading.effective < FEWEST:
            steps, weight = reading.exact + 1, reading.effective
            what = "steps" if steps == 1 else f"stretches of {steps} steps"
            shown = f"The held-out records show {what} of it"
            text = f"{shown} with the weight of only {weight:.0f} records."
            yield Refusal("stretches" if reading.exact else "weight", text, weight, FEWEST)
            break


def least_lower(candidate: Candidate, test: Gate) -> tuple[Reading, float]:
    """The least of the lower bounds on rungs with weight, which is the one that is claimed."""
    bounds = [(r, lower(test, r, candidate.unseen)) for r in with_weight(candidate.rungs)]
    first = candidate.rungs[0]
    bounds = bounds or [(first, lower(test, first, candidate.unseen))]
    return min(bounds, key=lambda pair: pair[1])


def _bounds(candidate: Candidate, test: Gate) -> Iterator[Refusal]:
    least, low = least_lower(candidate, test)
    tie = TIE * max(test.range, abs(least.gain))
    if not low > tie:
        exact = f", the last {least.exact + 1} steps weighed exactly," if least.exact else ""
        text = (
            f"The gain{exact} is {least.gain:.4g} with a standard error of {least.error:.3g}; "
            f"at the worst it is {low:.4g}."
        )
        yield Refusal(BOUND, text, low, tie)


def _drift(condition: str, who: str, rungs: Sequence[Reading]) -> Iterator[Refusal]:
    if len(rungs) < 2:
        return
    far = max(rungs[1:], key=lambda r: abs(r.against(rungs[0])))
    apart = abs(far.against(rungs[0]))
    limit = max(APART, normal(DRIFTS / 2 / (len(rungs) - 1)))
    if not apart <= limit:
        text = (
            f"With the last {far.exact + 1} steps weighed exactly {who} gains {far.gain:.4g} "
            f"instead of {rungs[0].gain:.4g}, {apart:.1f} standard errors apart: more of the past "
            "matters than the memory knows."
        )
        yield Refusal(condition, text, apart, limit)


def _gently(candidate: Candidate, test: Gate) -> Iterator[Refusal]:
    alive = with_weight(candidate.gentle)
    yield from _drift("gently, drift", "a tenth of the change", alive)
    yield from _gentle_bounds(alive, test)


def _gentle_bounds(alive: Sequence[Reading], test: Gate) -> Iterator[Refusal]:
    for reading in alive:
        low = reading.gain - test.critical * reading.error
        if low <= 0:
            text = (
                f"A tenth of the change, with the last {reading.exact + 1} steps weighed exactly, "
                f"gains {reading.gain:.4g} with a standard error of {reading.error:.3g}; at the "
                f"worst {low:.4g}."
            )
            yield Refusal(GENTLY, text, low, 0.0)
            break
