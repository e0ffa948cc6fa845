"""How much likelier each logged step is under another controller, and how much a log then says.

Both controllers are replayed over the log, each through its own memory. Step t of an episode has
the ratio π(a_t | n_t, z_t) / π_b(a_t | n^b_t, z_t), and the prefix up to it the weight

    w_t = Π_{s<=t} π(a_s | n_s, z_s) / π_b(a_s | n^b_s, z_s).

What the environment does cancels out, whatever it is: so E_b[w_t f] = E_π[f] for every f of the
first t+1 steps, provided that the behavior may do whatever π may do (it *covers* π). Nodes are
deterministic, so nothing is approximated.

An asymptotic interval is right when a mean is nearly normal. Three things spoil that, and the log
itself tells how many episodes each of them leaves, of n with weights w::

    carried      (Σw)² / Σw²                    a few episodes carry the estimate
    present      n² / (Σw² + (n - Σw)²)         weights have mean 1; what is missing of it counts
                                                as one episode that the log does not contain
    balanced     n / skew²                      a few values carry the spread

The last is the rule of Cochran (*Sampling Techniques*, 1977), by which a normal interval needs n
to be some 25 times the square of the skewness. The *trusted size* is the smallest of the three.
No log tells of a loss or a gain that it does not contain: then all three are large and every
asymptotic interval is wrong. Only declared rewards and a proved interval help against that.

`benchmarks/interval_coverage.py` measures what intervals cover at these sizes: below 100 a warning
stands beside them, as a threshold of 30 let one in 50 miss without one, and 100 one in 240.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints, blocks
from jumar.core.errors import ControllerError
from jumar.core.text import printable
from jumar.evidence.consistency import rows_taken
from jumar.evidence.practice import Practice
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller
from jumar.tally.replay import Replays


def taken(log: Episodes | Replays, controller: Controller) -> Floats:
    """(N,) the probability a controller gives to each logged action. Ratios are those of two.

    >>> names = ("z",), ("a", "b")
    >>> log = Episodes(*names, [0, 0], [0, 1], [0, 0], [0, 2], [-1], [True])
    >>> fair, bent = Controller.uniform(*names), Controller.constant(*names, [0.75, 0.25])
    >>> (taken(log, bent) / taken(log, fair)).tolist()
    [1.5, 0.5]
    """
    replays = Replays.of(log).align(controller.observations, controller.actions)
    return rows_taken(replays, controller)


def step_of(start: Ints) -> Ints:
    """(N,) the number of every step within its episode."""
    return np.asarray(np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start)))


def cumulative(ratio: Floats, start: Ints) -> Floats:
    """(N,) the weight w_t of every prefix: the product of the ratios so far in the episode.

    >>> cumulative(np.array([2.0, 0.5, 3.0, 3.0]), np.array([0, 2, 4])).tolist()
    [2.0, 1.0, 3.0, 9.0]
    """
    from jumar.core import kernels

    return kernels.running_products(ratio, start)


def averaged(weight: Floats, start: Ints, discount: float) -> Floats:
    """(E,) the weights of every episode, averaged over steps as a discounted return is: those of
    Σ_t γ^t w_t / Σ_t γ^t up to the longest episode. One that is over keeps its last weight, so that
    the mean is 1.

    >>> averaged(np.array([2.0, 0.0, 0.5]), np.array([0, 2, 3]), 1.0).tolist()
    [1.0, 0.5]
    """
    length = np.diff(start)
    power = np.append(0.0, np.cumsum(discount ** np.arange(length.max())))  # (T+1,) Σ_{s<t} γ^s
    within = np.add.reduceat(discount ** step_of(start) * weight, start[:-1])
    return np.asarray((within + weight[start[1:] - 1] * (power[-1] - power[length])) / power[-1])


def check_covered(target: Controller, practice: Practice, weight: Floats) -> None:
    """Where the log leads the target, it must do nothing that the behavior never does.

    A log cannot tell what such an action is worth, and every estimate would leave it out silently.
    Steps after one that the target would not have taken do not count.
    """
    log, names = practice.log, target.actions
    replay = practice.replays.align(target.observations, names).over(target.memory)
    does = target.rows_at(replay.states) > 0
    known = [a for a in names if a in log.actions]
    mine, theirs = ([of.index(a) for a in known] for of in (names, log.actions))
    first, times = None, 0
    for _, steps, own in blocks(log.start):
        before = np.append(1.0, weight[steps][:-1])
        before[own[:-1]] = 1.0
        rows = steps.start + np.flatnonzero(before > 0)
        may, done = does[replay.at[rows]], practice.rows_of(rows)
        if done is not None:
            may[:, mine] &= done[:, theirs] <= 0
        else:  # of an action that was not certain nobody knows what else might have been done
            certain = (practice.taken[rows] >= 1)[:, None]
            may[:, mine] &= certain & (log.action[rows, None] != np.array(theirs))
        wrong = np.flatnonzero(may.any(1))
        if first is None and len(wrong):
            first = int(rows[wrong[0]]), int(np.argmax(may[wrong[0]]))
        times += len(wrong)
    if first is None:
        return
    more = f" ({times:,} such steps in all)" if times > 1 else ""
    behavior = practice.names[practice.made_by[log.episode_of(first[0])]]
    raise ControllerError(
        f"{log.where(first[0])}: here {printable(target.name)} may do "
        f"{printable(names[first[1]])!r}, which {printable(behavior)} never does{more}. No log of "
        "the one can tell what that is worth. Estimate a controller that only does what the "
        "behavior does at least sometimes."
    )


# ---- how much the log then says -----------------------------------------------------------------

NONE = 1e-100  # a weight whose square is still a number
NEARLY_ALL = 0.9  # share of the episodes from which on a trusted size is that of the log itself
FEW = 10  # below this size, do not trust; above, up to the last size measured, take care


def effective_size(weight: Floats) -> float:
    """(Σw)² / Σw²: how many equally weighted episodes would say as much; 0 without any weight."""
    largest = weight.max()
    if largest <= 0:
        return 0.0
    w = weight / largest  # squares of large weights would overflow
    return float(w.sum() ** 2 / (w**2).sum())


def largest_share(weight: Floats) -> float:
    """The part of all weight that the heaviest episode carries."""
    largest = weight.max()
    return float(1 / (weight / largest).sum()) if largest > 0 else 0.0


@dataclass(frozen=True)
class Trust:
    """Numbers of well-behaved episodes that would say as much; the smallest one counts."""

    carried: float
    present: float
    balanced: float
    missing: float = 0.0  # part of the weight that the log does not contain

    @property
    def effective(self) -> float:
        """What the weights alone leave: the effective size."""
        return min(self.carried, self.present)

    @property
    def size(self) -> float:
        """The trusted size."""
        return min(self.effective, self.balanced)

    @property
    def reason(self) -> str:
        """Why the trusted size is not larger."""
        if self.size == self.balanced:
            return "a few large values carry most of the spread"
        if self.size == self.carried:
            return "a few episodes carry most of the weight"
        return f"{self.missing:.0%} of the weight is missing from the log"


def trust(weight: Floats, values: Floats) -> Trust:
    """How far a mean of `values` (E,), of episodes with these weights (E,), is from normal.

    >>> half = trust(np.full(100, 0.5), np.tile([0.0, 1.0], 50))
    >>> round(half.size, 1), half.reason
    (4.0, '50% of the weight is missing from the log')
    """
    n, largest, balanced = len(weight), float(weight.max()), _balanced(values)
    if largest == 0:
        return Trust(0.0, 0.0, balanced, 1.0)
    carried = effective_size(weight)
    if largest < n * NONE:  # all is missing, but for what no digit shows
        return Trust(carried, 1.0, balanced, 1.0)
    unit = weight / largest
    total, squares = float(unit.sum()), float((unit**2).sum())
    missing = max(0.0, n / largest - total)
    present = (total + missing) ** 2 / (squares + missing**2) if missing > 0 else carried
    return Trust(carried, present, balanced, missing * largest / n)


def _balanced(values: Floats) -> float:
    """n / skew², no more than n."""
    off = values - values.mean()
    largest = float(np.abs(off).max())
    if largest == 0 or (values == values[0]).all():
        return float(len(values))
    unit = off / largest
    second, third = float((unit**2).mean()), float((unit**3).mean())
    return len(values) / max(1.0, third**2 / second**3)


def grade(found: Trust, n: int, unit: str, coverage: Sequence[tuple[int, int, int]]) -> list[str]:
    """The warning that an asymptotic interval deserves at its trusted size, if any; `coverage` is
    what was measured of it (`intervals.Method.measured`)."""
    measured = [shares for size, *shares in coverage if found.size < size]
    if not measured:
        return []
    usual, least = measured[0]
    begins = "Do not trust this interval" if found.size < FEW else "Treat this interval with care"
    if found.size > NEARLY_ALL * n:  # nothing is wrong with them but their number
        why = f"there are only {n:,} {unit}s" if n != 1 else f"there is only one {unit}"
    else:
        says = f"the {n:,} {unit}s say" if n != 1 else f"the only {unit} says"
        why = f"{says} as much as {found.size:.2g} ordinary ones, because {found.reason}"
    return [
        f"{begins}: {why}. At such sizes 95 % intervals of this kind were measured to cover the "
        f"truth in {usual} % of logs, and in {least} % in the worst case tried."
    ]
