"""The gain that the data prove: every return and every outcome at its worst.

The difference of two policies is what the new one collects when each step pays its advantage
(performance difference lemma), x = ⟨n, z⟩:

    ρ(new) - ρ(behavior) = Σ_x d_new(x) Σ_a (new - behavior)(a|x) Q_b(x, a).

Both factors are unknown. With lower <= Q_b <= upper for all pairs (`first_visits`), a step in x
pays at least

    g(x) = Σ_a (new - behavior)⁺ lower(x, a) - (new - behavior)⁻ upper(x, a),

0 where nothing changed. And where the outcomes of a pair were seen n times, their true law is
within an L1 distance of

    ε(n) = √( 2/n · (1 + c/n) · (ln(R·(2^(m-1) - 1)/δ) + ln(1 + n/c)/2) ),    c = 10,

of the frequencies, for every one of R rows (all X·A pairs, and the first observation) and *at every
n at once*, except with a chance of δ. Proof: the L1 distance is twice the largest error over sets
of outcomes, 2^(m-1) - 1 of them up to taking the rest. For one set let S_n be the number of times
it came in n visits, less its mean. exp(λ S_n - n λ²/8) is a supermartingale in the order in which
the log was written (Hoeffding), so it is one averaged over λ ~ Normal(0, 4/c) too; that average is
exp(2 S_n²/(n+c)) / √(1 + n/c), which ever exceeds 1/η only with a chance of η (Ville). So n may
depend on what was seen, as counts of a log do.

The bound is the value of the new policy when a step pays g and each row is the worst one of its
ball. It is a Markov decision process of an adversary, solved by policy iteration: the best outcomes
lose ε/2 of their mass to the worst one that is possible, seen or not. A history state never seen
pays 0, as its rule is the behavior's, and then leads to the worst of all. If v is the value found
and r the most by which one more step of the adversary lowers it, v - r/(1-γ) is a lower bound, for
a lower start is raised by that step; so what is returned is proved whether or not it converged.
That is why the loop is not `solve.solver.iterate_policy`: the adversary answers with a law for each
pair instead of a row of actions, and every round is a proof, of which the best is kept.
"""

from __future__ import annotations

import math

import numpy as np

from jumar.core.arrays import Floats, Ints, number_rows
from jumar.evidence.bounds import check_delta, log_subsets
from jumar.evidence.first_visits import ReturnBounds
from jumar.solve.linear import solve_discounted
from jumar.solve.nouns import Improvement
from jumar.tally.history import HistoryMdp

PRIOR = 10.0  # visits at which the radius is tightest: few, as they are where it is wide
ROUNDS = 50
TOLERANCE = 1e-10  # relative to the scale of the values
END = -1


def worst_gain(
    improvement: Improvement,
    returns: ReturnBounds,
    *,
    delta: float,
    episodes: int,
    rows: int,
    outcomes: int,
    can_end: bool,
) -> float:
    """The least ρ(new) - ρ(behavior) that `returns`, and the laws within reach of the log, leave
    possible.

    It holds except with a chance of `returns.delta` + `delta`. `rows` is the number of pairs that
    could be reached, and `outcomes` that of one step, the ending included if there `can_end` one.
    """
    returns.check(improvement.mdp)
    advantage = least_advantage(improvement.policy, improvement.behavior_policy, returns)
    mdp = improvement.mdp
    log_events = math.log(rows + 1) + log_subsets(outcomes) - math.log(2)
    log_events -= math.log(check_delta(delta))
    game = _Game(mdp, improvement.policy, can_end)
    seen = np.append(mdp.visits.ravel()[game.pair], float(episodes))
    found = game.solve(advantage, radius(seen, log_events) / 2)
    # where no history state can lose, neither can the whole
    return max(0.0, found) if advantage.min() >= 0 else found


def least_advantage(new: Floats, old: Floats, returns: ReturnBounds) -> Floats:
    """(H,) the least that Σ_a (new - old)(a|h) Q(h, a) can be."""
    moved = new - old
    # rows sum to 1, so values may be counted from any point; from the lower end of what gains most,
    # a row that moves mass only from worse to better comes out at 0 or above, to the last bit
    origin = np.take_along_axis(returns.lower, moved.argmax(1)[:, None], 1)
    value = np.where(moved > 0, returns.lower, returns.upper) - origin
    return np.asarray((moved * value).sum(1))


def radius(visits: Floats, log_events: float) -> Floats:
    """How far, in L1, a law may be from the frequencies of so many visits; 2 is everything."""
    n = np.where((visits > 0) & np.isfinite(visits), visits, 1.0)
    ε = np.sqrt(2 / n * (1 + PRIOR / n) * (log_events + np.log1p(n / PRIOR) / 2))
    ε = np.where(visits > 0, np.where(np.isinf(visits), 0.0, ε), 2.0)
    return np.minimum(ε, 2.0)


class _Game:
    """The new policy's pairs with all their possible outcomes, for an adversary to choose.

    History states are numbered as in the model, H stands for all others. Row i is pair[i]; the
    last row is the beginning of an episode.
    """

    def __init__(self, mdp: HistoryMdp, policy: Floats, can_end: bool) -> None:
        H, A = mdp.shape
        self.mdp, self.H = mdp, H
        self.pair: Ints = np.flatnonzero(policy.ravel() > 0)
        self.weight: Floats = policy.ravel()[self.pair]
        self.source: Ints = self.pair // A
        self.n = len(self.pair) + 1
        row_of = np.full(H * A, -1, np.int64)
        row_of[self.pair] = np.arange(len(self.pair))
        self.can_end = np.append(np.full(len(self.pair), can_end), False)
        first = np.flatnonzero(mdp.start > 0)
        ends = np.flatnonzero(mdp.ending.ravel()[self.pair] > 0)
        row = row_of[mdp.pair]
        used = row >= 0
        likely = mdp.ending.ravel()[self.pair][ends]
        # of each seen outcome
        self.row: Ints = np.concatenate([row[used], ends, np.full(len(first), self.n - 1)])
        self.target = np.concatenate([mdp.successor[used], np.full(len(ends), END), first])
        self.probability = np.concatenate([mdp.probability[used], likely, mdp.start[first]])
        self._group_by_node(A)

    def _group_by_node(self, A: int) -> None:
        """The node after a step is known, so an outcome is any ⟨that node, z⟩."""
        mdp, H = self.mdp, self.H
        O = len(mdp.observations)
        now = mdp.states[self.source]
        after = mdp.memory.step(now[:, :-1], now[:, -1], self.pair % A)
        nodes = np.concatenate([mdp.states[:, :-1], after, mdp.memory.initial()[None, :]])
        distinct, number = number_rows(nodes)
        self.node_of_state, node = number[:H], number[H:]
        seen = np.bincount(self.node_of_state, minlength=len(distinct))  # history states of it
        self.complete = (seen == O)[node]
        self.seen_nodes = np.flatnonzero(seen)
        self.place = np.where(seen > 0, np.cumsum(seen > 0) - 1, -1)[node]  # among those

    def worst_targets(self, v: Floats) -> Ints:
        """(rows,) the worst outcome that is possible after each row."""
        order = np.lexsort([v[: self.H], self.node_of_state])
        lowest = order[np.searchsorted(self.node_of_state[order], self.seen_nodes)]
        worst = np.where(self.place >= 0, lowest[self.place], self.H)
        unseen = ~self.complete & (v[self.H] < v[worst])
        worst = np.where(unseen, self.H, worst)
        return np.where(self.can_end & (v[worst] > 0), END, worst)

    def respond(self, v: Floats, ε: Floats) -> tuple[Ints, Floats, Ints, Floats]:
        """The adversary's laws: what each seen outcome keeps, and what its worst one gets."""
        worst = self.worst_targets(v)
        value = np.append(v, 0.0)[self.target]  # END is the last one
        order = np.lexsort([-value, self.row])
        row, p = self.row[order], self.probability[order]
        total = np.cumsum(p)
        begins = np.searchsorted(row, np.arange(self.n))
        before = total - p - np.append(0.0, total)[begins][row]
        kept = p - np.clip(ε[row] - before, 0.0, p)
        given = np.maximum(0.0, 1.0 - np.bincount(row, kept, self.n))
        return order, kept, worst, given

    def solve(self, advantage: Floats, ε: Floats) -> float:
        """The value of a start in the worst game within ε (half the L1 radius) of the log: the best
        of what the rounds proved."""
        γ, H = self.mdp.discount, self.H
        pays = np.append(advantage, 0.0)
        v = np.full(H + 1, min(0.0, float(advantage.min())) / (1 - γ))
        best = -math.inf
        for played in range(ROUNDS):
            order, kept, worst, given = self.respond(v, ε)
            if played:
                values = np.append(v, 0.0)
                after = np.bincount(self.row[order], kept * values[self.target[order]], self.n)
                after += given * values[worst]
                step = np.append(
                    np.bincount(self.source, self.weight * after[:-1], H), min(0.0, v.min())
                )
                fall = float((v - pays - γ * step).max())
                gap = max(0.0, fall) / (1 - γ)
                best = max(best, float(after[-1]) - gap)
                if gap <= TOLERANCE * float(np.abs(v).max()) / (1 - γ):
                    break
            v = self._value(pays, order, kept, worst, given, v)
        return best

    def _value(
        self, pays: Floats, order: Ints, kept: Floats, worst: Ints, given: Floats, v: Floats
    ) -> Floats:
        γ, H = self.mdp.discount, self.H
        lowest = int(v[:H].argmin())
        steps = self.row[order] < self.n - 1  # the beginning is no state
        row = self.row[order][steps]
        source = np.concatenate([self.source[row], self.source, [H]])
        target = np.concatenate(
            [self.target[order][steps], worst[:-1], [lowest if v[lowest] < 0 else END]]
        )
        weight = γ * np.concatenate([self.weight[row] * kept[steps], self.weight * given[:-1], [1]])
        return solve_discounted(source, target, weight, pays)
