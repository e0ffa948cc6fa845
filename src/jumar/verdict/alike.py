"""Actions that the data cannot tell apart, where a new controller prefers one of them.

For every step with a known outcome let y = r + γ v(h'), v the new controller's values in the model.
The mean of y over the visits of a pair is its action value. Two actions of a history state are
told apart if Welch's test of their means rejects at `LEVEL`. The test takes v as known and steps as
independent, so it tells apart a little too easily; what it cannot tell apart is alike indeed.
"""

from __future__ import annotations

import math

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.solve.nouns import Improvement
from jumar.tally.replay import ENDED, Replay

LEVEL = 0.05
LEAST = 5  # tries below which an action is unknown rather than alike


def alike(replay: Replay, improvement: Improvement) -> dict[int, tuple[int, ...]]:
    """The actions that are alike, by history state: the one that a change prefers comes first. Only
    where one of the others lost to it."""
    n, mean, variance = _moments(replay, improvement)
    moved = improvement.policy - improvement.behavior_policy
    found = {}
    for h in np.flatnonzero((moved != 0).any(1)).tolist():
        up = int(moved[h].argmax())
        others = [
            a
            for a in range(moved.shape[1])
            if a != up
            and min(n[h, a], n[h, up]) >= LEAST
            and welch(*((m[h, a], m[h, up]) for m in (n, mean, variance))) > LEVEL
        ]
        if any(moved[h, a] < 0 for a in others):
            found[h] = (up, *others)
    return found


def _moments(replay: Replay, improvement: Improvement) -> tuple[Ints, Floats, Floats]:
    """(H, A) how often, the mean of y, and its variance."""
    mdp, known = improvement.mdp, replay.known
    follows, pair = replay.follows[known], replay.pair[known]
    after = np.where(follows == ENDED, 0.0, improvement.values[np.maximum(follows, 0)])
    y = replay.log.reward[known] + mdp.discount * after
    n = np.bincount(pair, minlength=mdp.visits.size)
    mean = np.bincount(pair, y, mdp.visits.size) / np.maximum(n, 1)
    squares = np.bincount(pair, (y - mean[pair]) ** 2, mdp.visits.size)
    variance = squares / np.maximum(n - 1, 1)
    return n.reshape(mdp.shape), mean.reshape(mdp.shape), variance.reshape(mdp.shape)


def welch(
    n: tuple[float, float], mean: tuple[float, float], variance: tuple[float, float]
) -> float:
    """The two-sided p-value of Welch's test that two means are equal.

    >>> round(welch((10, 10), (0.0, 1.0), (1.0, 1.0)), 4)
    0.0382
    >>> welch((10, 10), (2.0, 2.0), (0.0, 0.0)), welch((10, 10), (0.0, 1.0), (0.0, 0.0))
    (1.0, 0.0)
    """
    from scipy.special import stdtr

    parts = variance[0] / n[0], variance[1] / n[1]
    error, difference = math.sqrt(sum(parts)), abs(mean[0] - mean[1])
    if error <= 1e-12 * max(1.0, abs(mean[0]), abs(mean[1])):  # nothing varies but rounding
        return 1.0 if difference <= 1e-9 * max(1.0, abs(mean[0]), abs(mean[1])) else 0.0
    share = parts[0] / sum(parts)  # of the variance, so that no size of rewards overflows
    freedom = 1 / (share**2 / (n[0] - 1) + (1 - share) ** 2 / (n[1] - 1))
    return float(2 * stdtr(freedom, -difference / error))
