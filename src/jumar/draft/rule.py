"""A rule to start from: what is usually done on each observation, and how often something else is.

With one most frequent action per observation and slips spread evenly over all A actions,

    π(a | z) = (1 - ε) [a = usual(z)] + ε / A,      ε̂ = (A / (A - 1)) · share of unusual actions.

An observation on which the even spread does not fit (a likelihood-ratio test, level .001) gets its
frequencies written out. This is the log's own account of how it was made, so the file says
`estimated = true` until a person who knows the rule has read it.

In the file one line may stand for many observations of several columns: "high+*" where the second
does not matter. The first rule of a file that fits decides. So lines are found from the last to the
first: starting from the default, always the pattern and action that put right most more names than
they put wrong, until all are right. A name alone puts right one and wrong none, so this ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.names import JOINT, WILDCARD
from jumar.draft.ranges import dependence
from jumar.log.episodes import Episodes

LEVEL = 0.001
MOST_REMEMBERED = 8
MOST_COLUMNS = 6  # a name of c columns has 2^c patterns


@dataclass(frozen=True)
class Starter:
    """The rule of thumb behind a log."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    usual: Ints  # (O,) the most frequent action
    exploration: float
    shares: dict[int, Floats]  # observation -> (A,) frequencies, where no single action is usual
    seen: Ints  # (O,) how often

    @property
    def default(self) -> int:
        """The action that is usual on most observations."""
        plain = [z for z in range(len(self.observations)) if z not in self.shares]
        weights = np.bincount(self.usual[plain], minlength=len(self.actions)) if plain else [1]
        return int(np.argmax(weights))


def remembered(log: Episodes) -> int:
    """How many observations what was done depends on, as far as the log tells: 1 if only on the
    current one, at most `MOST_REMEMBERED`.

    >>> z, a = [0, 1] * 400, [0, 0] * 400
    >>> start, none = list(range(0, 801, 2)), [-1] * 400
    >>> log = Episodes(("x", "y"), ("go", "stop"), z, a, [0.0] * 800, start, none, [True] * 400)
    >>> remembered(log)
    1
    """
    known, O = log.observation.astype(np.int64), len(log.observations)
    first = np.zeros(log.n_steps, np.bool_)
    first[log.start[:-1]] = True
    before = known
    for k in range(1, MOST_REMEMBERED):
        # what was seen one step earlier than all that is known; O where there was none
        before = np.where(first, O, np.concatenate([[O], before[:-1]]))
        if dependence(known, before, log.action) <= 0:
            return k
        known = np.unique(known * (O + 1) + before, return_inverse=True)[1]
    return MOST_REMEMBERED


def starter(log: Episodes) -> Starter:
    """The rule that fits the log best, among those that look only at the current observation."""
    from scipy.stats import chi2

    O, A = len(log.observations), len(log.actions)
    taken = np.zeros((O, A), np.int64)
    np.add.at(taken, (log.observation, log.action), 1)
    seen, usual = taken.sum(1), taken.argmax(1)
    mixed: set[int] = set()
    ε = 0.0
    for _ in range(O + 1):  # every observation leaves the common rule at most once
        plain = [z for z in range(O) if z not in mixed and seen[z]]
        ε = _slips(taken[plain], usual[plain], A) if plain else 0.0
        worst, excess = None, 0.0
        for z in plain:
            ratio = _misfit(taken[z], usual[z], ε)
            if ratio > chi2.isf(LEVEL / O, A - 1) and ratio > excess:
                worst, excess = z, ratio
        if worst is None:
            break
        mixed.add(worst)
    shares = {z: taken[z] / seen[z] for z in sorted(mixed)}
    return Starter(log.observations, log.actions, usual, ε, shares, seen)


def _slips(taken: Ints, usual: Ints, A: int) -> float:
    n, kept = taken.sum(), taken[np.arange(len(taken)), usual].sum()
    return float(min(0.999, (1 - kept / n) * A / (A - 1))) if n and A > 1 else 0.0


def _misfit(taken: Ints, usual: int, ε: float) -> float:
    """The likelihood ratio of an observation's own frequencies against the common rule."""
    from scipy.special import rel_entr

    expected = np.full(len(taken), ε / len(taken))
    expected[usual] += 1 - ε
    return float(2 * rel_entr(taken, taken.sum() * expected).sum())


def patterns(usual: Mapping[str, int], default: int) -> list[tuple[str, int, list[str]]]:
    """Patterns in the order of the file, each with its action and the names it decides.

    >>> rule = {"yes+low": 1, "yes+mid": 1, "yes+high": 2, "no+low": 0, "no+high": 0}
    >>> [(pattern, action) for pattern, action, _ in patterns(rule, default=0)]
    [('yes+high', 2), ('yes+*', 1)]
    """
    fits: dict[str, list[str]] = {}
    for name in usual:
        for pattern in _of(name):
            fits.setdefault(pattern, []).append(name)
    said = dict.fromkeys(usual, default)
    found: list[tuple[str, int]] = []
    while any(said[name] != usual[name] for name in usual):
        best, most = ("", 0), 0
        for pattern, names in fits.items():
            wrong = Counter(usual[name] for name in names if said[name] != usual[name])
            if not wrong:
                continue
            action, fixed = wrong.most_common(1)[0]
            broken = sum(said[name] == usual[name] != action for name in names)
            # alone, a name is clearer than a pattern
            if fixed - broken > most and (fixed > 1 or pattern == names[0]):
                best, most = (pattern, action), fixed - broken
        found.insert(0, best)
        said.update(dict.fromkeys(fits[best[0]], best[1]))
    left = set(usual)
    lines = []
    for pattern, action in found:
        own = [name for name in fits[pattern] if name in left]
        left.difference_update(own)
        lines += [(pattern, action, own)] if own else []
    return lines


def _of(name: str) -> Iterator[str]:
    """The name itself, and its patterns."""
    parts = name.split(JOINT)
    yield name
    for count in range(1, len(parts) if len(parts) <= MOST_COLUMNS else 0):
        for stars in combinations(range(len(parts)), count):
            yield JOINT.join(WILDCARD if i in stars else part for i, part in enumerate(parts))
