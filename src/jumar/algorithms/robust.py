"""Robust improvement: the policy that is worth most when every estimate is as wrong as it can be.

Around the frequencies of n visits lies an L1 ball of laws, and around the mean reward an interval,
that hold the truth for all pairs together with probability 1-δ, at every n at once:

    ‖T - T̃‖₁ <= ε(n),   |R - R̃| <= w ε(n)/2,
    ε(n) = √( 2/n · (1 + c/n) · (ln((XA+1)·2^(m-1)/δ) + ln(1 + n/c)/2) ),   c = 10,

w the width of the range of rewards (`evidence.robust` has the proof; the rewards are one more event
besides the 2^(m-1) - 1 of the outcomes). An outcome is an observation, or the end: m = |Z| + 1, and
not the number of history states. From ⟨n, z⟩ under a only ⟨η(n, z, a), z'⟩ can follow. So the
worst law takes ε/2 from the best outcomes and gives it to the worst ⟨η(n, z, a), z'⟩, seen or not.
A history state that was never seen is worth the least that the rewards allow, and nothing is worth
less than that.

The value is that of a game, every pair with an adversary of its own:

    Q(h, a) = max(lowest, R_low(h, a) + γ min_{T in the ball} Σ T V),   V(h) = Σ_a π(a|h) Q(h, a).

Policy iteration, twice: inside, the adversary answers a policy with laws and the chain is solved,
until it finds none that is worse; outside, rows go to the best action where that is worth strictly
more, starting with the behavior's. Where nothing is known nothing is, so the behavior stays.

What is guaranteed. With v what is found and r the most by which one more step lowers it, all that
v - r/(1-γ) says is a lower bound for *every* model in the ball, hence with probability 1-δ for the
truth, if ⟨n, z⟩ is sufficient. This is what `worst_case` returns, converged or not. The certificate
compares it with the best case of the behavior in the same ball.

After Nilim and El Ghaoui 2005, Iyengar 2005; for safe improvement Petrik, Ghavamzadeh, Chow 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumar.algorithms.entry import Algorithm, Grid, Look, Looks, Words
from jumar.algorithms.problem import Material
from jumar.core.arrays import Bools, Floats, Ints, number_rows
from jumar.core.errors import NotConverged
from jumar.core.jit import compiled
from jumar.evidence.bounds import check_delta
from jumar.evidence.certificate import promised, scale_of
from jumar.evidence.claims import Certificate
from jumar.evidence.rewards import RewardRange, rewards_in
from jumar.evidence.robust import radius
from jumar.policy.controller import Controller
from jumar.solve.linear import solve_discounted
from jumar.solve.nouns import Improvement
from jumar.solve.solver import improvement
from jumar.tally.history import HistoryMdp

ROUNDS = 100  # of either policy iteration
CLOSE = 1e-11  # of the scale of the values: the adversary is done
STRICTLY = 1e-9  # of the scale: what a row must gain to be replaced
END, UNSEEN = -1, -2  # where an outcome leads that is no history state of the model


def improve(
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    rewards: RewardRange | None = None,
    delta: float = 0.05,
) -> Improvement:
    """The policy with the best worst case over all models that the log leaves possible.

    `rewards` is what a step can pay; without it, what the model shows. `delta` is the accepted
    chance that the truth is none of these models.

    Examples
    --------
    >>> import jumar as jm
    >>> tiger = jm.models.tiger()
    >>> fair = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = jm.simulate(tiger, fair, episodes=5000)
    >>> rewards = RewardRange(continuing=(-1, -1), ending=(-100, 10))
    >>> improve(jm.count(log, jm.window(1)).mle(0.95), fair, rewards=rewards).policy.tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    old = mdp.policy_of(behavior)
    found = _Ball(mdp, rewards or rewards_in(mdp), delta).best(old)
    return improvement(mdp, behavior, found, algorithm="robust", parameters={})


@dataclass(frozen=True, eq=False)
class WorstCase:
    """No model in the ball makes a policy worth less than this."""

    values: Floats  # (H,) from each history state on
    start: float  # from the beginning of an episode on


def worst_case(
    mdp: HistoryMdp,
    policy: Floats,
    *,
    rewards: RewardRange,
    delta: float,
    episodes: int | None = None,
) -> WorstCase:
    """What a policy (H, A) is worth at least in every model of the ball.

    `episodes` are those of the log, where the law of first observations is uncertain too.

    >>> import jumar as jm
    >>> tiger = jm.models.tiger()
    >>> fair = Controller.uniform(tiger.observations, tiger.actions)
    >>> rewards = RewardRange(continuing=(-1, -1), ending=(-100, 10))
    >>> log = jm.simulate(tiger, fair, episodes=10**5)
    >>> mdp = jm.count(log, jm.window(1)).mle(0.95)
    >>> round(worst_case(mdp, mdp.policy_of(fair), rewards=rewards, delta=0.05).start, 2)
    -47.39
    """
    ball = _Ball(mdp, rewards, delta)
    values = ball.value(np.asarray(policy), np.full(len(mdp), ball.lowest), proved=True)
    return WorstCase(values, ball.start_of(values, episodes))


def best_case(
    mdp: HistoryMdp,
    policy: Floats,
    *,
    rewards: RewardRange,
    delta: float,
    episodes: int | None = None,
) -> WorstCase:
    """What a policy is worth at most in every model of the ball: the worst case of the losses."""
    (low, high), ending = rewards.continuing, rewards.ending
    turned = RewardRange((-high, -low), ending and (-ending[1], -ending[0]), rewards.declared)
    losses = replace(mdp, reward=-mdp.reward)
    found = worst_case(losses, policy, rewards=turned, delta=delta, episodes=episodes)
    return WorstCase(-found.values, -found.start)


class _Ball:
    """The models that a log leaves possible."""

    def __init__(self, mdp: HistoryMdp, rewards: RewardRange, delta: float) -> None:
        H, A = mdp.shape
        O = len(mdp.observations)
        self.mdp = mdp
        self.can_end = rewards.ending is not None
        self.lowest = rewards.returns(mdp.discount)[0]
        ends = rewards.ending or rewards.continuing
        low, high = min(rewards.continuing[0], ends[0]), max(rewards.continuing[1], ends[1])
        pairs = mdp.memory.count_nodes() * O * A
        self.log_events = math.log(pairs + 1) + (O + self.can_end - 1) * math.log(2)
        self.log_events -= math.log(check_delta(delta))
        half = radius(mdp.visits, self.log_events) / 2
        self.half = np.ascontiguousarray(half).ravel()
        self.reward = np.where(mdp.visits > 0, mdp.reward - (high - low) * half, low)
        self.reward = np.maximum(self.reward, low).ravel()
        self._group_by_node(H, A, O)

    def _group_by_node(self, H: int, A: int, O: int) -> None:
        """The node after a step is known, so an outcome is any ⟨that node, z⟩."""
        mdp = self.mdp
        h, a = np.divmod(np.arange(H * A), A)
        now = mdp.states[h]
        after = mdp.memory.step(now[:, :-1], now[:, -1], a)
        nodes = np.concatenate([mdp.states[:, :-1], after, mdp.memory.initial()[None, :]])
        distinct, number = number_rows(nodes)
        self.node_of_state: Ints = number[:H].astype(np.int64)
        self.node_after: Ints = number[H:-1].astype(np.int64)
        self.first_node = int(number[-1])
        seen = np.bincount(self.node_of_state, minlength=len(distinct))
        self.complete = seen == O  # (nodes,) all that can be observed there was

    def answer(self, v: Floats) -> tuple[Floats, Floats, Ints, Floats]:
        """The adversary's laws where values are v: what each seen successor keeps, what the worst
        outcome is given and which that is; and what pairs are worth then."""
        mdp = self.mdp
        return answer(
            mdp.pointer,
            mdp.successor,
            mdp.probability,
            mdp.ending.ravel(),
            self.half,
            self.reward,
            self.node_of_state,
            self.node_after,
            self.complete,
            self.can_end,
            self.lowest,
            mdp.discount,
            v,
        )

    def value(self, policy: Floats, v: Floats, *, proved: bool = False) -> Floats:
        """(H,) the worst case of a policy, from values nearby; a lower bound if it is to be
        `proved`, however far the adversary came."""
        for _ in range(ROUNDS):
            kept, given, target, q = self.answer(v)
            away = v - (policy * q.reshape(policy.shape)).sum(1)
            if float(np.abs(away).max()) <= CLOSE * float(np.abs(q).max()):
                break
            v = self._solved(policy.ravel(), kept, given, target, q)
        if not proved:
            return v
        q = self.answer(v)[-1].reshape(policy.shape)
        fall = max(0.0, float((v - (policy * q).sum(1)).max()))
        return np.maximum(v - fall / (1 - self.mdp.discount), self.lowest)

    def _solved(
        self, weight: Floats, kept: Floats, given: Floats, target: Ints, q: Floats
    ) -> Floats:
        """The values of a policy under laws that the adversary has settled on. What is clipped at
        the lowest value pays that, and leads nowhere."""
        mdp, γ = self.mdp, self.mdp.discount
        H, A = mdp.shape
        goes = np.where(q > self.lowest, weight, 0.0)
        pays = np.where(q > self.lowest, weight * self.reward, weight * self.lowest)
        pays += np.where(target == UNSEEN, γ * goes * given * self.lowest, 0.0)
        pair, used = np.flatnonzero(goes > 0), np.flatnonzero((goes[mdp.pair] * kept) > 0)
        of = mdp.pair[used]
        worst = np.where(target[pair] == UNSEEN, END, target[pair])
        source = np.concatenate([of // A, pair // A])
        to = np.concatenate([mdp.successor[used], worst])
        each = γ * np.concatenate([goes[of] * kept[used], goes[pair] * given[pair]])
        right = pays.reshape(H, A).sum(1)
        return solve_discounted(source, to, each, right)

    def best(self, old: Floats) -> Floats:
        """(H, A) the policy with the best worst case, starting with the behavior's rows."""
        H, A = old.shape
        policy, v = np.array(old), np.full(H, self.lowest)
        for _ in range(ROUNDS):
            v = self.value(policy, v)
            q = self.answer(v)[-1].reshape(H, A)
            scale = float(np.abs(q).max())
            best = (q >= q.max(1, keepdims=True) - STRICTLY * scale).argmax(1)
            better = q[np.arange(H), best] > (policy * q).sum(1) + STRICTLY * scale
            if not better.any():
                return policy
            policy[better] = np.eye(A)[best[better]]
        raise NotConverged(f"Robust policy iteration: still improving after {ROUNDS} rounds.")

    def start_of(self, values: Floats, episodes: int | None) -> float:
        """The worst mean over the laws of first observations that so many episodes leave open."""
        seen = math.inf if episodes is None else float(episodes)
        moved = float(radius(np.array([seen]), self.log_events)[0]) / 2
        first = values[self.node_of_state == self.first_node]
        worst = float(first.min(initial=np.inf))
        if not self.complete[self.first_node]:
            worst = min(worst, self.lowest)
        order = np.argsort(-values, kind="stable")
        share = self.mdp.start[order]
        kept = share - np.clip(moved - (np.cumsum(share) - share), 0.0, share)
        return float(kept @ values[order] + max(0.0, 1.0 - kept.sum()) * worst)


@compiled
def answer(
    pointer: Ints,
    successor: Ints,
    probability: Floats,
    ending: Floats,
    half: Floats,
    reward: Floats,
    node_of_state: Ints,
    node_after: Ints,
    complete: Bools,
    can_end: bool,
    lowest: float,
    discount: float,
    v: Floats,
) -> tuple[Floats, Floats, Ints, Floats]:
    """See `_Ball.answer`."""
    P, H = len(half), len(v)
    worst_of = np.full(len(complete), UNSEEN, np.int64)  # history state of each node, or none
    for h in range(H):
        node = node_of_state[h]
        if worst_of[node] == UNSEEN or v[h] < v[worst_of[node]]:
            worst_of[node] = h
    kept, given = np.zeros(len(successor)), np.zeros(P)
    target, q = np.empty(P, np.int64), np.empty(P)
    for p in range(P):
        to = worst_of[node_after[p]]
        floor = lowest if to == UNSEEN else v[to]
        if not complete[node_after[p]] and lowest < floor:
            to, floor = UNSEEN, lowest
        if can_end and floor > 0.0:
            to, floor = END, 0.0
        target[p] = to
        first, last = pointer[p], pointer[p + 1]
        worth, mass, ends, left = 0.0, 0.0, ending[p], half[p]
        if left < 1.0:
            after = v[successor[first:last]]
            for i in np.argsort(-after):
                e = first + i
                if ends > 0.0 and after[i] < 0.0 and left > 0.0:  # ending is better: it pays first
                    taken = min(ends, left)
                    ends, left = ends - taken, left - taken
                taken = min(probability[e], left)
                left -= taken
                kept[e] = probability[e] - taken
                worth += kept[e] * after[i]
                mass += kept[e]
            ends -= min(ends, left)
            mass += ends
        given[p] = max(0.0, 1.0 - mass)
        q[p] = max(lowest, reward[p] + discount * (worth + given[p] * floor))
    return kept, given, target, q


# ---- what is known of it ------------------------------------------------------------------------


def _promise(improvement: Improvement, material: Material, delta: float) -> Certificate | None:
    """The worst case of the new controller against the best case of the behavior."""
    mdp, counts = improvement.mdp, material.counts
    scale = scale_of(mdp.memory, material.rewards, material.discount)
    log: Any = {"rewards": material.rewards, "delta": delta, "episodes": int(counts.starts.sum())}
    new = worst_case(mdp, improvement.policy, **log)
    old = best_case(mdp, improvement.behavior_policy, **log)
    return promised(
        "robust",
        "Worst case of the new controller, best case of the old",
        old.start - new.start,
        scale,
        delta=delta,
        unfinished=counts.unfinished,
    )


ENTRY = Algorithm(
    name="robust",
    summary="the best worst case over all models that the log leaves possible",
    improve=improve,
    needs={"rewards": lambda material: material.rewards, "delta": lambda material: material.delta},
    promise=_promise,
    grids={"family": Grid()},
    words=Words(
        kept=lambda _: "no action has a better worst case here than what the old controller does"
    ),
    looks=Looks(curve=lambda _: Look("Robust", "#5b5b66", "d", minor=True)),
)
