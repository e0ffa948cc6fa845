"""How far the finer histories are from what the base memory takes for the same.

A mean gap D is above 0 by chance alone: the same log, shuffled, has b on average. Independent
errors add to a real gap as squares do, so the effect is

    √(D² - b²),  and 0 where D < b,

which is D - b²/2D where the gap is large. The interval draws episodes with replacement, centres the
gaps it finds on D (the basic bootstrap) and takes off chance from both ends in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, sum_by
from jumar.core.text import shown
from jumar.evidence.order.steps import Steps, Tally
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.policy.controller import Controller
from jumar.policy.words import history_state_words

FEWEST = 10  # episodes for an interval
BLOCKS = 2000  # beyond so many episodes, blocks of them are drawn
DRAWS = 200
BATCH = 4_000_000  # numbers held at once
SUPPORT = 20  # visits of a history state worth naming
CLEAR = 2.0  # times what chance alone would make, for a gap worth naming


@dataclass(frozen=True)
class Gap:
    """A history state of the finer memory in which something else follows than the base expects."""

    history_state: str = field(metadata={"key": "situation"})  # of the finer memory, in words
    action: str
    visits: int
    what: str  # the outcome that differs most, or the mean reward
    here: float  # its share, or the mean, in this history state
    usual: float  # the same in all history states that are one to the base memory
    size: float  # distance of the laws (total variation), or of the mean rewards


def beyond_chance(gaps: Floats, chance: Floats) -> Floats:
    """Gaps without what chance adds to them.

    >>> beyond_chance(np.array([0.5, 0.2]), np.array([0.3, 0.3])).tolist()
    [0.4, 0.0]
    """
    gaps = np.maximum(gaps, 0)
    left: Floats = np.sqrt(np.maximum((gaps - chance) * (gaps + chance), 0))
    return left


def gap_ends(steps: Steps, logged: Tally, which: Ints, rng: np.random.Generator) -> Floats | None:
    """(2, 2) low and high ends of 95 % intervals around the gaps of law and reward, chance
    included; None with too few episodes. `which` is the cell of every step with known outcome."""
    from scipy.sparse import csr_array

    log = steps.log
    E = len(log)
    if E < FEWEST or len(which) == 0:
        return None
    n = min(E, BLOCKS)
    block = rng.permutation(E) % n if n < E else np.arange(E)
    known = steps.known
    column = np.repeat(block, log.lengths)[known]
    shape = len(logged.times), n
    times: Any = csr_array((np.ones(len(which)), (which, column)), shape=shape)
    rewards: Any = csr_array((log.reward[known], (which, column)), shape=shape)
    batch = max(1, BATCH // max(shape))
    drawn = []
    for done in range(0, DRAWS, batch):
        R = min(batch, DRAWS - done)
        weights = np.column_stack(
            [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(R)]
        ).astype(np.float64)
        drawn.append(logged.gaps(times @ weights, rewards @ weights))
    spread = np.concatenate(drawn, axis=1)
    spread -= spread.mean(1, keepdims=True)
    right, left = np.quantile(spread, [0.025, 0.975], axis=1)
    return np.asarray(logged.gaps()[:, None] - np.column_stack([left, right]))


def largest_gaps(steps: Steps, tally: Tally) -> tuple[Gap | None, Gap | None]:
    """The clearest well-supported gap of the law and of the mean reward; None where chance alone
    could have made it."""
    Y = len(tally.pair)
    if Y == 0:
        return None, None
    n = sum_by(tally.fine_pair, tally.times, Y)
    P = int(tally.pair.max()) + 1
    N = sum_by(tally.pair, n, P)
    # a share of n out of N cards differs from that of all by about this much
    luck = np.sqrt(2 / np.pi * (1 - n / N[tally.pair]) / n)
    supported = (n >= SUPPORT) & (n < N[tally.pair])

    K = len(tally.move)
    moves = sum_by(tally.fine_move, tally.times, K)
    all_moves = np.bincount(tally.move, moves)
    here = moves / n[tally.move_owner]
    usual = all_moves[tally.move] / N[tally.pair[tally.move_owner]]
    law = sum_by(tally.move_owner, np.maximum(here - usual, 0), Y)
    owner = np.zeros(len(all_moves), np.int64)
    owner[tally.move] = tally.pair[tally.move_owner]
    p = all_moves / np.maximum(N[owner], 1)
    scatter = sum_by(owner, np.sqrt(p * np.maximum(1 - p, 0)), P) / 2

    paid = sum_by(tally.fine_pair, tally.rewards, Y)
    mean = sum_by(tally.pair, paid, P) / np.maximum(N, 1)
    reward = np.abs(paid / n - mean[tally.pair])
    deviation = np.sqrt(_variance(steps, mean, P))

    def gap(y: int, size: Floats, what: str, seen: float, expected: float) -> Gap:
        words = _words(steps, tally, y)
        return Gap(*words, int(n[y]), what, float(seen), float(expected), float(size[y]))

    of_law = of_reward = None
    y = _clearest(law, scatter[tally.pair] * luck, supported)
    if y is not None:
        # what the law has more of than usual, as it was seen
        inside = np.flatnonzero(tally.move_owner == y)
        j = int(inside[np.argmax(here[inside] - usual[inside])])
        cell = np.flatnonzero(steps.moves == tally.move[j])[0]
        outcome = outcome_words(steps.log, int(steps.cells[cell, 1]))
        of_law = gap(y, law, outcome, here[j], usual[j])
    y = _clearest(reward, deviation[tally.pair] * luck, supported)
    if y is not None:
        of_reward = gap(y, reward, "mean reward", paid[y] / n[y], mean[tally.pair[y]])
    return of_law, of_reward


def _clearest(size: Floats, luck: Floats, supported: Bools) -> int | None:
    left = np.where(supported, size - CLEAR * luck, -np.inf)
    y = int(left.argmax())
    return y if left[y] > 1e-12 * (1 + abs(size[y])) else None


def _variance(steps: Steps, mean: Floats, P: int) -> Floats:
    """(P,) of the rewards of each pair (x, a)."""
    known = steps.known
    pair = steps.cells[steps.cell[known], 0]
    squares = (steps.log.reward[known] - mean[pair]) ** 2
    n = np.bincount(pair, minlength=P)
    return sum_by(pair, squares, P) / np.maximum(n, 1)


def _words(steps: Steps, tally: Tally, y: int) -> tuple[str, str]:
    """The finer history and the action of a pair, as people read them."""
    log = steps.log
    h, a = divmod(int(tally.pair[y]), len(log.actions))
    state = np.append(tally.nodes[y], steps.base.states[h, -1])
    return history_words(log, steps.finer.memory, state), shown(log.actions[a])


def history_words(log: Episodes, memory: Memory, state: Ints) -> str:
    """A history state as people read it."""
    *before, now = history_state_words(
        Controller.uniform(log.observations, log.actions, memory), state
    )
    return f"{shown(before[0], 200)}; now {now}" if before else now


def outcome_words(log: Episodes, outcome: int) -> str:
    """The next observation or the end as people read it."""
    names = log.observations
    return "the end" if outcome == len(names) else shown(names[outcome])
