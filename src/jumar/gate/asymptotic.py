"""The asymptotic gate: a t test on held-out episodes, with charges for what they cannot show.

Each held-out unit (an episode, or the mean of a cluster) gives one difference Y to the behavior:
the score of `scoring` without a floor, which is the doubly robust difference with
Q̂ kept within what returns allow. The log is tested in two halves, each at level α = δ/2. For J
candidates judged on the same n units, simultaneously

    gain_j >= mean_j - c · s_j/√n - R · (h_j + m_j)

- c is the (1-α) quantile of the *largest* of J normal variables with the correlations of the
  candidates' differences (the Gaussian multiplier bootstrap of Chernozhukov, Chetverikov and Kato
  2013), stretched from normal to Student t: candidates that are nearly alike cost nearly nothing
  extra, and the best of them may be chosen after looking;
- h_j is for what the episodes did not happen to show, charged with R, the range of the returns.
  Something that did not occur in n episodes may still have a probability of ln(1/δ)/n (the rule of
  three). And of what the candidate itself does differently the log holds few episodes: of those
  with a weight w ≠ 1 let q be the mean weight (the share of the candidate's own episodes that they
  stand for) and n_j = (Σw)²/Σw² their effective size; what did not occur in those may matter
  2·q/n_j of the time (the 2 was set by measurement). Where the rewards are declared, and R may be
  much larger than what the log shows, the worst that a single rare history state can hide is
  charged: ln(1/δ)·max w/n;
- weights have mean 1, whatever the environment. Where their mean in the log is lower than chance
  explains, w̄ + z_α·s_w/√n < 1, the candidate does things that the behavior practically never did,
  such as waiting for long; what is missing, m_j = 1 - w̄ - z_α·s_w/√n, counts as lost.

A candidate is refused, whatever its bound, if more than a tenth of its weight is missing, if the
log is worth fewer than ten of its own episodes, or if its estimated gain is larger than any return
could make it.

Weights are skewed, rare losses hide in small samples, and it is here that a plain t test fails. The
statement is asymptotic: it is exact neither for few episodes nor for extreme weights. How it holds
in practice is measured in the documentation (Are promises kept?).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import ALIKE, Floats
from jumar.evidence.offpolicy.weights import effective_size
from jumar.evidence.plausible import Evidenced
from jumar.gate.bench import UNBOUNDED, Bench, Fitted
from jumar.gate.bets import deviation_of
from jumar.gate.candidates import candidates, simpler
from jumar.gate.dealing import HALVES, DealtPart
from jumar.gate.trials import ASYMPTOTIC, Range, Trial

UNSEEN = 2.0  # effective episodes
DRAWS = 4000
SHORTLIST = 8
MOST_MISSING = 0.1
LEAST_EFFECTIVE = 10.0


@dataclass(frozen=True)
class Gate:
    """The test of one half of the log; of candidates the (n,) differences and weights are given."""

    delta: float
    units: int  # n, held out
    critical: float  # c
    range: float  # R, of the returns
    declared: bool  # the rewards were
    most: float  # the best return that is possible, less the behavior's mean return

    def lower(self, differences: Floats, weights: Floats) -> float:
        """A lower bound on a gain."""
        if self.units < 2:
            return -math.inf
        noise = self.critical * float(deviation_of(differences)) / math.sqrt(self.units)
        charge = hidden(self.delta, weights, self.declared) + missing(weights, self.delta / HALVES)
        return float(differences.mean()) - noise - self.range * charge

    def refusal(self, differences: Floats, weights: Floats) -> str:
        """Why a candidate cannot pass, whatever its bound; nothing if it can."""
        short = missing(weights, self.delta / HALVES)
        if short > MOST_MISSING:
            return f"{100 * short:.0f} % of what it does is not in the log"
        if effective_size(weights) < LEAST_EFFECTIVE:
            return f"the log is worth fewer than {LEAST_EFFECTIVE:g} of its own episodes"
        if differences.mean() > self.most:
            return "its estimated gain is larger than any return could make it"
        return ""


def gate(
    differences: Floats,
    *,
    delta: float,
    range: float,
    rng: np.random.Generator,
    declared: bool = False,
    most: float = math.inf,
) -> Gate:
    """The test for candidates with these (J, n) differences; `range` is R.

    >>> rng = np.random.default_rng(1)
    >>> one = gate(rng.standard_normal((1, 400)), delta=0.1, range=0.0, rng=rng)
    >>> same = np.repeat(rng.standard_normal((1, 400)), 9, 0)
    >>> alike = gate(same, delta=0.1, range=0.0, rng=rng)
    >>> apart = gate(rng.standard_normal((9, 400)), delta=0.1, range=0.0, rng=rng)
    >>> [round(g.critical, 1) for g in (one, alike, apart)]
    [1.7, 1.6, 2.5]
    """
    n, level = differences.shape[1], delta / HALVES  # a union bound over both halves
    critical = critical_value(largest(differences, rng), level, n) if n > 1 else math.inf
    return Gate(delta, n, critical, range, declared, most)


def shortlist(bench: Bench, own: DealtPart, units: int, delta: float) -> tuple[list[Fitted], int]:
    """The candidates worth testing on so many units: expected gain times the chance to pass, by the
    episodes they were fitted on alone; and how many candidates there were."""
    found = list(candidates(bench, own, ASYMPTOTIC, distinct=True))
    prospects = np.array([_prospect(bench, c, own, units, delta) for c in found])
    best = [found[i] for i in np.argsort(-prospects, kind="stable") if prospects[i] > 0]
    return simpler(bench, best[:SHORTLIST], own), len(found)


def _prospect(bench: Bench, candidate: Fitted, own: DealtPart, units: int, delta: float) -> float:
    """Both views of the own half are optimistic; the lower one is believed."""
    from scipy.special import ndtr

    scores = bench.scores(candidate, own, UNBOUNDED)
    if scores.units < 2:
        return 0.0
    gain = min(candidate.promised, scores.mean)
    error = scores.deviation / math.sqrt(units)
    size = effective_size(bench.weights(candidate.rows, own)) * units / len(scores)
    left = gain - bench.limits.range * max(-math.log(delta) / units, UNSEEN / max(size, 1e-9))
    tiny = 1e-12 * max(bench.limits.range, 1e-300)
    return gain * float(ndtr(left / max(error, tiny) - student(delta / HALVES, units)))


def hidden(delta: float, weights: Floats, declared: bool = False) -> float:
    """The share of a candidate's episodes that may not have shown in episodes of these weights.

    >>> round(hidden(0.05, np.ones(500)), 3), round(hidden(0.05, np.array([0.0, 2.0] * 10)), 3)
    (0.006, 0.2)
    """
    n = len(weights)
    changed = weights[np.abs(weights - 1.0) > ALIKE]
    size = effective_size(changed) if len(changed) else 0.0
    share = -math.log(delta) / n
    if size > 0:
        share = max(share, UNSEEN * float(changed.sum()) / n / size)
    if declared:
        share = max(share, -math.log(delta) * float(weights.max()) / n)
    return share


def missing(weights: Floats, level: float) -> float:
    """How far the weights fall short of their mean 1, beyond what chance explains.

    >>> missing(np.array([0.5, 0.5, 0.5, 0.5]), 0.025), missing(np.array([0.0, 2.0] * 50), 0.025)
    (0.5, 0.0)
    """
    error = float(weights.std(ddof=1)) / math.sqrt(len(weights))
    return max(0.0, 1.0 - float(weights.mean()) - normal(level) * error)


def largest(differences: Floats, rng: np.random.Generator) -> Floats | None:
    """Draws of the largest studentised mean when no candidate gains anything; None where no
    difference varies."""
    n = differences.shape[1]
    centred = differences - differences.mean(1, keepdims=True)
    deviation = deviation_of(centred)[:, None]
    moving = deviation[:, 0] > 0
    if not moving.any():
        return None
    z = centred[moving] / deviation[moving]
    # the multiplier bootstrap of J means is exactly normal with their correlation: draw that
    scale, axes = np.linalg.eigh(z @ z.T / (n - 1))
    # the symmetric root: signs of the axes are up to rounding, and would change the draws
    root = (axes * np.sqrt(np.maximum(scale, 0.0))) @ axes.T
    found: Floats = (rng.standard_normal((DRAWS, len(scale))) @ root).max(1)
    return found


def critical_value(draws: Floats | None, level: float, n: int) -> float:
    """The (1-α) quantile of these draws, stretched from normal to Student t for n values."""
    if draws is None:
        return student(level, n)
    stretch = student(level, n) / normal(level)
    return float(max(np.quantile(draws, 1 - level) * stretch, student(level, n)))


def normal(level: float) -> float:
    """The upper quantile of the normal law.

    >>> round(normal(0.05), 4)
    1.6449
    """
    from scipy.special import ndtri

    return float(-ndtri(level))


def evidence_of(trials: Sequence[Trial], possible: Range) -> Evidenced:
    """What they gain on held-out episodes, as people are told it: the mean over the halves where
    both were asked, with its 90 % interval."""
    n = len(trials)
    mean = sum(trial.told.gain for trial in trials) / n
    error = math.sqrt(sum(trial.told.error**2 for trial in trials)) / n
    margin = student(0.05, min(trial.units for trial in trials)) * error  # 5 % on either side
    effective = min(trial.effective for trial in trials)
    return Evidenced(mean, mean - margin, mean + margin, error, possible, effective)


def student(level: float, n: int) -> float:
    """The upper quantile of Student's t for n values.

    >>> round(student(0.05, 10), 4)
    1.8331
    """
    from scipy.special import stdtrit

    return float(-stdtrit(n - 1, level))
