"""The fewest changes that bring most of a gain.

A policy differs from the behavior in some history states. Which of these changes are worth telling
people about? Let K be the changes that are kept, π_K the policy that does the new there and the old
elsewhere, and J(K) its value in a model. Asked for is a small K with

    J(K) - J(∅) >= share · (J(all) - J(∅)).

The smallest one is a matter of trying all subsets. Here changes are taken back one after the other,
each time the one that costs least, as long as enough is left (greedy backward elimination). What is
left is evaluated exactly, so the loss is stated and not estimated; only that there is no smaller K
is not promised. The tests compare with the smallest K on small models.

Taking a change back is cheap to evaluate. Let M = I - γP of π_K, v = M⁻¹r its values, d = M⁻ᵀ·start
its discounted visits, and for a change h let u_h = γ(P_new - P_old)_h be what is added to row h of
M, and Δ_h = Σ_a (old - new)(a|h) q(h, a), the advantage of the old row. By Sherman and Morrison the
value becomes

    J(K without h) = J(K) + d_h Δ_h / (1 + W_hh),        W_ij = u_iᵀ M⁻¹ e_j.

W over the changes is all that is needed to go on: when h is taken back, W, d and Δ change by a
multiple of their h-th column, row and entry. So M is factorised once, a step takes |K|², and all
steps |K|³. In the end, what was found is evaluated once more by a linear solve.

Beyond MOST_STATES history states, or MOST_CHANGES changes, one by one takes minutes. There the
changes that cost least by d_h Δ_h are taken back all at once: as many as keep enough, found by
halving, each time by a linear solve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jumar.core.arrays import ALIKE, ROUNDING, Bools, Floats, Frozen, Ints
from jumar.core.errors import ParameterError
from jumar.core.plain import picked
from jumar.core.text import Shown
from jumar.solve.linear import solve_discounted
from jumar.solve.nouns import Improvement
from jumar.solve.solver import action_values, improvement, policy_value
from jumar.tally.history import HistoryMdp

SHARE = 0.95  # of the gain that is kept
MOST_STATES = 3000  # beyond which a factorisation takes more than seconds
MOST_CHANGES = 1500  # beyond which taking one by one back does


@dataclass(frozen=True, eq=False, repr=False)
class Simplified(Frozen, Shown):
    """What was kept of a policy's changes, by the model that it was simplified with."""

    share: float  # of the gain that was to be kept
    changes: int  # history states that differed
    kept: int  # that still do
    gain: float  # of all changes
    kept_gain: float  # of those that were kept
    left_out: Ints  # (K, W+1) int64, the history states whose change was taken back

    def __post_init__(self) -> None:
        self._freeze(np.int64, "left_out")

    @property
    def part(self) -> float:
        """Of the gain that was kept; above 1 where some changes did harm."""
        return self.kept_gain / self.gain if self.gain > 0 else 1.0

    @property
    def summary(self) -> str:
        return (
            f"{self.kept:,} of {self.changes:,} changes bring {100 * self.part:.3g} % of the gain"
        )

    def to_dict(self) -> dict[str, object]:
        """In plain JSON types."""
        return {**picked(self, "share changes kept"), "part": self.part}


def share_of(simplify: bool | float) -> float | None:
    """The share of the gain to keep, given as such or as a wish; None: nothing is simplified.

    >>> share_of(True), share_of(0.8), share_of(False)
    (0.95, 0.8, None)
    """
    if isinstance(simplify, bool):
        return SHARE if simplify else None
    return check_share(simplify)


def check_share(share: float) -> float:
    """A share of a gain."""
    number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
    if not number or not 0 < share <= 1:
        raise ParameterError(
            f"simplify: {share!r} is not a share of the gain. Use a number above 0, at most 1, "
            "such as 0.95."
        )
    return float(share)


def simplify(
    mdp: HistoryMdp, old: Floats, new: Floats, share: float = SHARE, unseen: float = 0.0
) -> tuple[Floats, Simplified]:
    """(H, A) the new rows where a change is worth it and the old ones elsewhere, and what is kept.

    A policy that gains nothing in the model is left as it is. `unseen` is what pairs that were
    never tried are taken to be worth.
    """
    share, changes = check_share(share), Changes(mdp, old, new, unseen)
    changed = kept = (new != old).any(1)
    times, whole = int(changed.sum()), changes.gain(changed)
    if times and whole > 0:
        # however small the share, some gain is left, and so is a change
        least = max(share * whole - min(ALIKE, share / 2) * whole, math.ulp(0.0))
        if len(mdp) > MOST_STATES or times > MOST_CHANGES:
            kept = changes.at_once(kept, least)
        if len(mdp) <= MOST_STATES and kept.sum() <= MOST_CHANGES:
            kept = changes.one_by_one(kept, least)
    told = Simplified(
        share, times, int(kept.sum()), whole, changes.gain(kept), mdp.states[changed & ~kept]
    )
    return changes.rows(kept), told


def settled(old: Floats, new: Floats) -> Floats:
    """The new rows, without those that only rounding tells from the old ones, as mixing a row with
    itself does."""
    return np.where(np.abs(new - old).max(1, keepdims=True) <= ROUNDING, old, new)


def certain(old: Floats, new: Floats) -> Floats:
    """(H, A) the new rows with one action wherever they differ from the old ones: the likeliest.
    People cannot do something 62 % of the time.

    >>> certain(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.38, 0.62], [0.5, 0.5]])).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    new = settled(old, new)
    best = (new + ROUNDING * (new - old)).argmax(1)  # of two alike, what is done more than before
    return np.where((new != old).any(1)[:, None], np.eye(new.shape[1])[best], new)


def simplified(found: Improvement, share: float) -> tuple[Improvement, Simplified]:
    """An improvement with the fewest changes that bring this share of its gain in its model."""
    unseen = found.unseen_value
    rows, told = simplify(found.mdp, found.behavior_policy, found.policy, share, unseen)
    if told.kept == told.changes:
        return found, told
    made = improvement(
        found.mdp, found.behavior, rows, algorithm=found.algorithm, parameters=found.parameters,
        unseen=unseen,
    )  # fmt: skip
    return made, told


@dataclass(frozen=True, eq=False)
class Changes:
    """What a policy changes in a model. Of H history states, some changes are kept (H,)."""

    mdp: HistoryMdp
    old: Floats  # (H, A)
    new: Floats  # (H, A)
    unseen: float = 0.0

    def rows(self, kept: Bools) -> Floats:
        return np.where(kept[:, None], self.new, self.old)

    @cached_property
    def before(self) -> Floats:
        return policy_value(self.mdp, self.old, self.unseen)

    def gain(self, kept: Bools) -> float:
        """By a linear solve."""
        after = policy_value(self.mdp, self.rows(kept), self.unseen)
        return float(self.mdp.start @ (after - self.before))

    def advantage(self, kept: Bools) -> Floats:
        """(H,) Δ: of the old rows, where the new ones are kept."""
        values = policy_value(self.mdp, self.rows(kept), self.unseen)
        q = action_values(self.mdp, values, self.unseen)
        return np.asarray(((self.old - self.new) * q).sum(1))

    def follows(self, policy: Floats) -> tuple[Ints, Ints, Floats]:
        """γP of a policy: from where to where, and how likely."""
        weight = self.mdp.discount * (self.mdp.probability * policy.ravel()[self.mdp.pair])
        return self.mdp.pair // len(self.mdp.actions), self.mdp.successor, weight

    def one_by_one(self, kept: Bools, least: float) -> Bools:
        """Take back, again and again, the change that costs least."""
        order: list[int] = []
        for h, gain in self.taken_back(kept, self.gain(kept)):
            if gain < least:
                break
            order.append(h)
        found = _without(kept, order)
        while order and self.gain(found) < least:  # rounding of many steps; hardly ever
            found[order.pop()] = True
        return found

    def taken_back(self, kept: Bools, gain: float) -> Iterator[tuple[int, float]]:
        """The changes in the order in which they cost least, and the gain that is left without
        each and those before it."""
        K = np.flatnonzero(kept)
        W, d, Δ = self._couplings(kept, K)
        left = list(range(len(K)))
        while left:
            left_with = gain + d[left] * Δ[left] / (1.0 + W[left, left])
            # of those that cost the same the first, whatever rounding says
            i = left.pop(int(np.argmax(left_with >= left_with.max() - ALIKE * abs(gain))))
            D = 1.0 + W[i, i]
            gain += float(d[i] * Δ[i] / D)
            yield int(K[i]), gain
            row, column = W[i] / D, W[:, i].copy()
            Δ = Δ - column * (Δ[i] / D)
            d = d - row * d[i]
            W -= np.outer(column, row)

    def _couplings(self, kept: Bools, K: Ints) -> tuple[Floats, Floats, Floats]:
        """(K, K) W, (K,) d and (K,) Δ of the policy that does the new where it is kept."""
        H = len(self.mdp)
        goes, stays, right = np.zeros((H, H)), np.zeros((H, H)), np.zeros((H, len(K)))
        for matrix, policy in ((goes, self.rows(kept)), (stays, self.old)):
            source, target, weight = self.follows(policy)
            np.add.at(matrix, (source, target), weight)
        right[K, np.arange(len(K))] = 1.0
        # a full matrix: with hundreds of right-hand sides it takes less than a sparse one
        columns = np.linalg.solve(np.eye(H) - goes, right)
        return (goes[K] - stays[K]) @ columns, self.mdp.start @ columns, self.advantage(kept)[K]

    def at_once(self, kept: Bools, least: float) -> Bools:
        """Take back those that cost least, all at once: as many as leave enough."""
        K = np.flatnonzero(kept)
        met = solve_discounted(*self.follows(self.rows(kept)), self.mdp.start, transpose=True)
        order = K[np.argsort(-(met[K] * self.advantage(kept)[K]), kind="stable")]
        enough, too_many = 0, len(order) + 1
        while too_many - enough > 1:
            middle = (enough + too_many) // 2
            if self.gain(_without(kept, order[:middle])) >= least:
                enough = middle
            else:
                too_many = middle
        return _without(kept, order[:enough])


def _without(kept: Bools, some: Ints | list[int]) -> Bools:
    found = kept.copy()
    found[some] = False
    return found
