"""The test a candidate must pass on episodes it has never seen.

Each held-out episode gives one difference Y to the behavior (doubly robust; unbiased where episodes
ended, and elsewhere for the return up to the cut with a model's value of the rest). The log is
tested in two halves, each at level α = δ/2. For J candidates judged on the same n episodes,
simultaneously

    gain_j >= mean_j - c · s_j/√n - R · (max(ln(1/δ)/n, 2/n_j) + m_j)

- c is the (1-α) quantile of the *largest* of J normal variables with the correlations of the
  candidates' differences (the Gaussian multiplier bootstrap of Chernozhukov, Chetverikov and Kato
  2013), stretched from normal to Student t: candidates that are nearly alike cost nearly nothing
  extra, and the best of them may be chosen after looking;
- the last term is for what the episodes did not happen to show, charged with R, the range of the
  returns: what the declared rewards allow, or, if none are declared, what the log shows, which is
  then an assumption. Something that did not occur in n episodes may still have a probability of
  ln(1/δ)/n (the rule of three: with n = 100 and δ = 0.05, three in a hundred). And of what the
  candidate itself would do, the log holds no more than n_j episodes' worth, n_j = (Σw)²/Σw² being
  the effective size of its weights (discounted over the steps like the returns): what did not
  occur in those may matter twice in n_j times (the 2 was set by measurement). Last, weights have
  mean 1, whatever the environment. Where their mean in the log is lower than chance explains,
  w̄ + z_α·s_w/√n < 1, the candidate does things that the behavior practically never did, such as
  waiting for long; what is missing, m_j = 1 - w̄ - z_α·s_w/√n, counts as lost.

Weights are skewed, rare losses hide in small samples, and it is here that a plain t test fails.

The statement is asymptotic: it is exact neither for few episodes nor for extreme weights. How it
holds in practice is measured in docs/safety.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.arrays import Floats
from jumar.offpolicy.weights import effective_size

HALVES = 2
UNSEEN = 2.0  # effective episodes
DRAWS = 4000


@dataclass(frozen=True)
class Gate:
    """The test of one half of the log."""

    delta: float
    episodes: int  # n, held out
    critical: float  # c
    range: float  # R, of the returns

    def lower(self, differences: Floats, weights: Floats) -> float:
        """A lower bound on a gain, given the (n,) differences and weights of a candidate."""
        if self.episodes < 2:
            return -math.inf
        noise = self.critical * float(differences.std(ddof=1)) / math.sqrt(self.episodes)
        if self.range == 0:  # all returns are alike: nothing can be hidden
            return float(differences.mean()) - noise
        unseen = hidden(self.delta, self.episodes, effective_size(weights))
        unseen += missing(weights, self.delta / HALVES)
        return float(differences.mean()) - noise - self.range * unseen


def gate(differences: Floats, *, delta: float, range: float, rng: np.random.Generator) -> Gate:
    """The test for candidates with these (J, n) differences; `range` is R.

    >>> rng = np.random.default_rng(1)
    >>> one = gate(rng.standard_normal((1, 400)), delta=0.1, range=0.0, rng=rng)
    >>> same = np.repeat(rng.standard_normal((1, 400)), 9, 0)
    >>> alike = gate(same, delta=0.1, range=0.0, rng=rng)
    >>> apart = gate(rng.standard_normal((9, 400)), delta=0.1, range=0.0, rng=rng)
    >>> [round(g.critical, 1) for g in (one, alike, apart)]
    [1.7, 1.6, 2.6]
    """
    n = differences.shape[1]
    critical = math.inf if n < 2 else critical_value(differences, delta / HALVES, rng)
    return Gate(delta, n, critical, range)


def hidden(delta: float, n: int, effective: float) -> float:
    """The share of a candidate's episodes that may not have shown in n episodes, worth `effective`
    ones of its own.

    >>> round(hidden(0.05, 500, 250.0), 3), round(hidden(0.05, 500, 20.0), 3)
    (0.008, 0.1)
    """
    return max(math.log(1 / delta) / n, UNSEEN / effective) if effective > 0 else math.inf


def missing(weights: Floats, level: float) -> float:
    """How far the weights fall short of their mean 1, beyond what chance explains.

    >>> missing(np.array([0.5, 0.5, 0.5, 0.5]), 0.025), missing(np.array([0.0, 2.0] * 50), 0.025)
    (0.5, 0.0)
    """
    error = float(weights.std(ddof=1)) / math.sqrt(len(weights))
    return max(0.0, 1.0 - float(weights.mean()) - normal(level) * error)


def critical_value(differences: Floats, level: float, rng: np.random.Generator) -> float:
    """The (1-α) quantile of the largest studentised mean when no candidate gains anything."""
    n = differences.shape[1]
    centred = differences - differences.mean(1, keepdims=True)
    deviation = centred.std(1, ddof=1, keepdims=True)
    moving = deviation[:, 0] > 0
    if not moving.any():
        return student(level, n)
    z = centred[moving] / deviation[moving]
    # the multiplier bootstrap of J means is exactly normal with their correlation: draw that
    scale, axes = np.linalg.eigh(z @ z.T / (n - 1))
    root = axes * np.sqrt(np.maximum(scale, 0.0))
    largest = (rng.standard_normal((DRAWS, len(scale))) @ root.T).max(1)
    stretch = student(level, n) / normal(level)
    return float(max(np.quantile(largest, 1 - level) * stretch, student(level, n)))


def normal(level: float) -> float:
    """The upper quantile of the normal law.

    >>> round(normal(0.05), 4)
    1.6449
    """
    from scipy.special import ndtri

    return float(-ndtri(level))


def student(level: float, n: int) -> float:
    """The upper quantile of Student's t for n values.

    >>> round(student(0.05, 10), 4)
    1.8331
    """
    from scipy.special import stdtrit

    return float(-stdtrit(n - 1, level))
