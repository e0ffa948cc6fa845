"""One number per episode whose mean is the gain of a candidate, and which is never below a floor.

With w_t the weight of the steps so far (`evidence.offpolicy.weights`), low and high the limits of
what is still possible (`jumar.gate.limits`), and for each step

    g_t = r_t + γ·low[t+1] - low[t]      >= 0, what the step brought above the worst,
    c_t = high[t] - r_t - γ·high[t+1]    >= 0, what it brought less than the best,

(low = high = 0 after the last step), the score of an episode is

    D = low[0] - high[0] + Σ_t γ^t ( w_t·g_t + c_t + ψ_t(a_t) ).

Its mean is ρ(π) - ρ(behavior), exactly: Σγ^t w_t g_t has the mean ρ(π) - low[0], because weights
have mean 1 given the past, Σγ^t c_t is high[0] less the return, and ψ_t is any function of the past
and the action with Σ_a π_b(a) ψ_t(a) = 0. So Q̂ and V̂ may be as wrong as they like: ψ only takes
noise away. What it would best be, from a model Q̂ of what follows each action, is the doubly robust

    ψ*(a) = f̄ - f(a),   f(a) = w_{t-1}·(π/π_b)(a)·(Q̂_π(a) - low[t]) + (high[t] - Q̂_b(a)),

f̄ the mean of f under the behavior. A score may use up what it has, and no more: S_t is the score so
far above the floor -L, and ψ_t is the function closest to ψ* (in mean square, under the behavior)
among those with γ^t ψ_t(a) >= -S_t for every a. That is max(ψ* - λ, -S_t/γ^t), with λ such that
its mean is 0. All other terms are >= 0, so S_t never falls below 0:

    D >= -L  for every episode, every Q̂, every weight; L = R + B with any budget B >= 0.

Where only the probability of the logged action is known, and not the whole row, ψ = 0.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Bools, Floats, Ints
from jumar.gate.bets import LARGEST_WEIGHT

LARGEST_VALUE = 1e200


@compiled
def floored_differences(
    at: Ints,  # (N,) history state of every step
    action: Ints,  # (N,)
    reward: Floats,  # (N,)
    start: Ints,  # (E+1,)
    episodes: Ints,  # (n,)
    rows: Floats,  # (H, A) of the candidate
    taken: Floats,  # (N,) probability of the logged action under its behavior
    behavior: Floats,  # (K, A) rows of the behaviors
    row_of: Ints,  # (N,) which of them was followed at every step; -1: not known
    above: Floats,  # (T', H, A) Q̂ of the candidate above the least return
    below: Floats,  # (T', H, A) Q̂ of the behavior below the greatest
    low: Floats,  # (T+1,)
    high: Floats,  # (T+1,)
    floors: Floats,  # (F,) each L
    discount: float,
) -> Floats:
    """(F, n) the scores D of some episodes, for every floor; tables of values repeat their last
    step. Floors differ only in where the control is cut off, which is rare: several cost little
    more than one."""
    A, F = rows.shape[1], len(floors)
    scores = np.empty((F, len(episodes)))
    y, cut, score = np.zeros(A), np.zeros(A, np.bool_), np.zeros(F)
    for i in range(len(episodes)):
        first, last = start[episodes[i]], start[episodes[i] + 1] - 1
        w, power = 1.0, 1.0
        score[:] = low[0] - high[0]
        for s in range(first, last + 1):
            t, h, a, k = s - first, at[s], action[s], row_of[s]
            now, then = min(t, len(low) - 1), min(t + 1, len(low) - 1)
            shift, least = 0.0, 0.0  # λ with nothing cut off, and the least y
            if k >= 0:
                clock = min(t, len(above) - 1)
                best = np.inf
                for b in range(A):
                    p = behavior[k, b]
                    if p > 0.0:
                        ratio = min(rows[h, b] / p, LARGEST_WEIGHT)
                        f = w * ratio * above[clock, h, b] + below[clock, h, b]
                        y[b] = min(f, LARGEST_VALUE)
                        best = min(best, y[b])
                mass, total = 0.0, 0.0
                for b in range(A):
                    p = behavior[k, b]
                    y[b] = best - y[b]
                    if p > 0.0:
                        mass += p
                        total += p * y[b]
                        least = min(least, y[b])
                shift = total / mass  # makes the mean of ψ 0: unbiased, however wrong Q̂ is
            after_low, after_high = (0.0, 0.0) if s == last else (low[then], high[then])
            # only now: ψ_t(a) has the weight of the steps before, and the action's own in f(a)
            w = min(w * min(rows[h, a] / taken[s], LARGEST_WEIGHT), LARGEST_WEIGHT)
            # the floor rests on both being >= 0, which limits promise: rewards outside of declared
            # ones were refused, so that max only takes rounding away, and no mean is moved
            g = max(0.0, reward[s] + discount * after_low - low[now])
            c = max(0.0, high[now] - reward[s] - discount * after_high)
            gained = w * g + c
            for j in range(F):
                # S_t, known before this action: a budget that looked at it would bias the score
                control, budget = 0.0, (score[j] + floors[j]) / power
                if k >= 0 and budget > 0.0:
                    if least - shift < -budget:
                        control = within_budget(y, behavior, k, a, budget, cut)
                    else:
                        control = y[a] - shift
                score[j] += power * (gained + control)
            power *= discount
            if power == 0.0:  # nothing counts any more, and a budget in such units has no meaning
                break
        for j in range(F):
            scores[j, i] = max(score[j], -floors[j])  # what rounding took
    return scores


@compiled
def weights_beyond(
    at: Ints,  # (N,) history state of every step
    action: Ints,  # (N,)
    start: Ints,  # (E+1,)
    ended: Bools,  # (E,) by itself
    episodes: Ints,  # (n,)
    rows: Floats,  # (H, A) of the candidate
    taken: Floats,  # (N,) probability of the logged action under its behavior
    discount: float,
) -> Floats:
    """(n,) w_T·γ^T of the episodes that were cut off after T steps, 0 of those that ended: the mean
    is the share of the candidate's discounted weight that lies beyond where recordings stop."""
    found = np.zeros(len(episodes))
    for i in range(len(episodes)):
        e = episodes[i]
        if not ended[e]:
            w = 1.0
            for s in range(start[e], start[e + 1]):
                w = min(w * discount * (rows[at[s], action[s]] / taken[s]), LARGEST_WEIGHT)
            found[i] = w
    return found


@compiled
def episode_facts(
    reward: Floats,  # (N,)
    start: Ints,  # (E+1,)
    terminated: Bools,  # (E,)
    discount: float,
    returns: Floats,  # (E,) written: discounted returns
    beyond: Floats,  # (E,) written: γ^T where it was cut off, else 0
    ends: Floats,  # (4,) least and greatest reward of steps that go on, and of those that end
) -> None:
    """What each episode paid, and what lies beyond it."""
    least, most = ends[0], ends[1]
    for e in range(len(start) - 1):
        total, power = 0.0, 1.0
        last = start[e + 1] - 1
        for t in range(start[e], last):
            paid = reward[t]
            total += power * paid
            power *= discount
            least, most = min(least, paid), max(most, paid)
        paid = reward[last]
        total += power * paid
        power *= discount
        at = 2 if terminated[e] else 0
        ends[at] = min(ends[at], paid)
        ends[at + 1] = max(ends[at + 1], paid)
        returns[e], beyond[e] = total, 0.0 if terminated[e] else power
    ends[0], ends[1] = min(ends[0], least), max(ends[1], most)


@compiled
def within_budget(y: Floats, rows: Floats, k: int, a: int, budget: float, cut: Bools) -> float:
    """max(y(a) - λ, -budget), with λ such that the mean under p, row k of `rows`, is 0. (`cut` is
    room to write to.)

    y is at most 0, and 0 for some action: counted from there, what matters is small, and rounding
    does no harm where weights are astronomical.
    """
    if budget <= 0.0:
        return 0.0
    budget = min(budget, LARGEST_VALUE)  # more is never used, and infinity times 0 is no number
    A = len(y)
    for b in range(A):
        cut[b] = False
    while True:
        mass, total, below = 0.0, 0.0, 0.0
        for b in range(A):
            p = rows[k, b]
            if p > 0.0:
                if cut[b]:
                    below += p
                else:
                    mass += p
                    total += p * y[b]
        λ = total / mass - budget * (below / mass)
        more = False
        for b in range(A):
            if rows[k, b] > 0.0 and not cut[b] and y[b] - λ < -budget:
                cut[b] = True
                more = True
        if not more:  # the best action is never cut off, so this comes to an end
            return -budget if cut[a] else y[a] - λ
