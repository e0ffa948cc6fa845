"""How far finite-history sufficiency is from holding on a known model.

A memory is *sufficient* when any two histories h, h' with the same ⟨n, z⟩ have, for every action,
the same law of what is seen next (or of the end) and the same expected reward. Learning from counts
of ⟨n, z⟩ rests on that. Here it is measured: all histories of at most `depth` actions that a
behavior can produce are grouped by ⟨n, z⟩, and for each group and action

    tv(⟨n, z⟩, a)     = max_{h, h'} ½ Σ_o |P(o | h, a) - P(o | h', a)|
    reward(⟨n, z⟩, a) = max_{h, h'} |r(h, a) - r(h', a)|

with o the next observation or "end". Both are exact, as histories with equal (n, z, belief) have
equal futures and are walked as one. The largest gaps are a worst case, however rare. The mean gaps
tell what is usual: the distance of a history from its group's average, which is what counting
learns, weighted by how often the behavior visits the history within `depth` actions and does a
there.

With ε_R and ε_T the largest gaps over *all* histories, the value of every policy over the memory
and what the averaged model says of it differ by at most (ε_R + γ·span·ε_T) / (1-γ), with span the
largest minus the smallest value, and 0 among the values if episodes can end (the memory is then an
approximate information state). Gaps up to a depth are a lower bound of those: they only grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, number_rows, sum_by
from jumar.core.errors import ParameterError, TooLarge
from jumar.lab.truth.belief import first_beliefs, predict
from jumar.lab.truth.chain import check_names_agree, entries_of
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.memory import Memory
from jumar.memory.refinement import join, projection
from jumar.policy.controller import Controller

DIGITS = 12  # of beliefs and laws that count
MOST_BELIEFS = 200_000
_CHUNK = 5_000_000  # numbers held at once


class Witness(NamedTuple):
    """Two histories that the memory takes for the same, and that differ the most."""

    state: str  # ⟨n, z⟩ in names
    action: str
    gap: float
    histories: tuple[tuple[str, ...], tuple[str, ...]]  # each z₀ a₀ z₁ … in names
    beliefs: Floats  # (2, S)


@dataclass(frozen=True)
class Sufficiency:
    """Gaps of a memory up to a depth; all zero if it is sufficient."""

    tv: float  # largest distance between two laws of (next observation, end)
    reward: float  # largest gap in expected reward
    mean_tv: float  # how far a visited history is from its group's average law
    mean_reward: float  # the same in expected reward
    tv_witness: Witness | None  # None where no two histories differ
    n_beliefs: int  # distinct (n, z, belief) that were compared
    depth: int


def sufficiency_gap(
    pomdp: Pomdp,
    memory: Memory,
    depth: int = 20,
    behavior: Controller | None = None,
    most: int = MOST_BELIEFS,
) -> Sufficiency:
    """How much two histories can differ that this memory takes for the same.

    Histories are those of at most `depth` actions that `behavior` can produce; without one, every
    action is equally likely, always.

    >>> from jumar import models
    >>> from jumar.memory import window
    >>> gap = sufficiency_gap(models.tiger(), window(1), depth=1)
    >>> round(gap.tv, 4), round(gap.reward, 1)  # P(tiger left) is 0.9698 or 0.5
    (0.3289, 51.7)
    >>> gap.tv_witness.histories
    (('hear-left', 'listen', 'hear-left'), ('hear-right', 'listen', 'hear-left'))
    """
    if behavior is None:
        behavior = Controller.uniform(pomdp.observations, pomdp.actions)
    check_names_agree(pomdp, behavior)
    memory = memory.on(len(pomdp.observations), len(pomdp.actions))
    behavior = behavior.lift(join(behavior.memory, memory))
    if depth < 1:
        raise ParameterError(f"depth: {depth} actions; at least 1 is needed.")
    met = _Beliefs(pomdp, most)
    walk = _walk(met, behavior, depth)
    rows, number = number_rows(np.concatenate([level.rows for level in walk]))
    weight = np.bincount(number, np.concatenate([level.mass for level in walk]), len(rows))
    doing = behavior.rows_at(rows[:, :-1])
    nodes = projection(behavior.memory, memory)(rows[:, :-2])
    states, group = number_rows(np.column_stack([nodes, rows[:, -2]]))

    seen, ending, reward = predict(pomdp, met.found)
    half_law = np.concatenate([seen, ending[:, :, None]], 2)[rows[:, -1]] / 2
    paid = reward[rows[:, -1], :, None]
    tv, a, *pair = _largest_gap(half_law, doing > 0, group)
    witness = None
    if tv > 0:
        one, other = (_tell(pomdp, walk, int(np.flatnonzero(number == i)[0])) for i in pair)
        names = Controller.uniform(pomdp.observations, pomdp.actions, memory)
        state = names.describe(states[group[pair[0]]])
        witness = Witness(state, pomdp.actions[a], tv, (one, other), met.found[rows[pair, -1]])
    return Sufficiency(
        tv=tv,
        reward=_largest_gap(paid, doing > 0, group)[0],
        mean_tv=_mean_gap(half_law, weight[:, None] * doing, group),
        mean_reward=_mean_gap(paid, weight[:, None] * doing, group),
        tv_witness=witness,
        n_beliefs=len(rows),
        depth=depth,
    )


class _Level(NamedTuple):
    """The histories with equally many actions; those with equal (n, z, belief) are one row."""

    rows: Ints  # (N, W+2) the words of n, z, number of the belief
    mass: Floats  # (N,) how probable under the behavior
    parent: Ints  # (N,) a row of the level before
    action: Ints  # (N,) what was done there


class _Beliefs:
    """The distinct beliefs that were met; those that agree to `DIGITS` digits are one."""

    def __init__(self, pomdp: Pomdp, most: int) -> None:
        self.pomdp, self.most = pomdp, most
        self.found = np.zeros((0, len(pomdp.states)))
        self._number: dict[bytes, int] = {}

    def number(self, beliefs: Floats, depth: int) -> Ints:
        """The number of each belief, met after `depth` actions; new ones get the next numbers."""
        number, fresh = np.empty(len(beliefs), np.int64), list[int]()
        for i, key in enumerate(np.rint(beliefs * 10.0**DIGITS).astype(np.int64)):
            known = len(self._number)
            number[i] = self._number.setdefault(key.tobytes(), known)
            if number[i] == known:
                fresh.append(i)
        if len(self._number) > self.most:
            raise TooLarge(
                f"Beliefs of {self.pomdp.name}: more than {self.most} after {depth} actions. "
                "Ask for fewer actions, or allow more beliefs."
            )
        self.found = np.concatenate([self.found, beliefs[fresh]])
        return number


def _walk(beliefs: _Beliefs, behavior: Controller, depth: int) -> list[_Level]:
    """What the behavior can come to with 0, 1, …, depth actions."""
    A, memory = len(behavior.actions), behavior.memory
    law, first = first_beliefs(beliefs.pomdp)
    z = np.flatnonzero(law > 0)
    nodes = np.repeat(memory.initial()[None, :], len(z), 0)
    level = _level(np.column_stack([nodes, z, beliefs.number(first[z], 0)]), law[z], z, z)
    walk = [level]
    for t in range(1, depth + 1):
        met, which = np.unique(level.rows[:, -1], return_inverse=True)
        before, done, seen, after, p = _posteriors(beliefs.pomdp, beliefs.found[met])
        pointer = np.searchsorted(before * A + done, np.arange(len(met) * A + 1))
        successor = beliefs.number(after, t)
        ψ = behavior.rows_at(level.rows[:, :-1])
        source, action = np.nonzero(ψ > 0)
        of, step = entries_of(pointer, which[source] * A + action)
        source, action = source[of], action[of]
        nodes, z = level.rows[source, :-2], level.rows[source, -2]
        moved = memory.step(nodes, z, action), seen[step], successor[step]
        mass = level.mass[source] * ψ[source, action] * p[step]
        level = _level(np.column_stack(moved), mass, source, action)
        walk.append(level)
    return walk


def _posteriors(pomdp: Pomdp, beliefs: Floats) -> tuple[Ints, Ints, Ints, Floats, Floats]:
    """Every step that can follow (B, S) beliefs: the belief's number, the action, the observation,
    the belief after it, the probability of the observation."""
    from scipy.sparse import csr_array

    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    go = pomdp.next_state != END
    s, a = np.divmod(pomdp.pair_of_outcome[go], A)
    column = (a * O + pomdp.next_observation[go]) * S + pomdp.next_state[go]
    joint = csr_array((pomdp.probability[go], (s, column)), shape=(S, A * O * S))
    parts = []
    step = max(1, _CHUNK // (A * O * S))
    for i in range(0, len(beliefs), step):
        mass = (beliefs[i : i + step] @ joint).reshape(-1, A, O, S)
        p = mass.sum(3)
        source, action, z = np.nonzero(p > 0)
        p = p[source, action, z]
        parts.append((source + i, action, z, mass[source, action, z] / p[:, None], p))
    if not parts:
        none = np.zeros(0, np.int64)
        return none, none, none, np.zeros((0, S)), np.zeros(0)
    source, action, z, after, p = (np.concatenate(part) for part in zip(*parts, strict=True))
    return source, action, z, after, p


def _level(rows: Ints, mass: Floats, parent: Ints, action: Ints) -> _Level:
    """Equal rows become one; the first of them tells where it came from."""
    distinct, number = number_rows(rows)
    _, first = np.unique(number, return_index=True)
    return _Level(distinct, sum_by(number, mass, len(distinct)), parent[first], action[first])


def _tell(pomdp: Pomdp, walk: list[_Level], i: int) -> tuple[str, ...]:
    """The history behind row i of all levels one after the other, in names."""
    t = 0
    while i >= len(walk[t].rows):
        i -= len(walk[t].rows)
        t += 1
    words: list[str] = []
    for level in walk[t::-1]:
        words.append(pomdp.observations[level.rows[i, -2]])
        if level is not walk[0]:
            words.append(pomdp.actions[level.action[i]])
            i = int(level.parent[i])
    return tuple(words[::-1])


def _largest_gap(points: Floats, does: Bools, group: Ints) -> tuple[float, int, int, int]:
    """The largest ‖x - y‖₁ between two of the (R, A, D) points of a group where both do the action,
    the action, and which two."""
    largest = 0.0, 0, 0, 0
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    for inside, a in product(members, range(points.shape[1])):
        some = inside[does[inside, a]]
        x = points[some, a]
        step = max(1, _CHUNK // max(1, x.size))
        for i in range(0, len(some), step):
            apart = np.abs(x[i : i + step, None, :] - x[None, :, :]).sum(2).round(DIGITS)
            one, other = np.unravel_index(apart.argmax(), apart.shape)
            if apart[one, other] > largest[0]:
                largest = float(apart[one, other]), a, int(some[i + one]), int(some[other])
    return largest


def _mean_gap(points: Floats, times: Floats, group: Ints) -> float:
    """Mean ‖x - average of its group‖₁ of (R, A, D) points, each (R, A) `times` as heavy."""
    total = np.zeros((group.max() + 1, *points.shape[1:]))
    np.add.at(total, group, points * times[:, :, None])
    heavy = np.zeros((len(total), times.shape[1]))
    np.add.at(heavy, group, times)
    average = total / np.where(heavy > 0, heavy, 1)[:, :, None]
    apart = np.abs(points - average[group]).sum(2)
    return float((times * apart).sum() / times.sum())
