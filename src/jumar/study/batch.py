"""One data set, every size, every rule: the inner loop of a study, compiled.

For one memory the history states that can ever occur are known beforehand (`Task`), so counting is
adding to fixed arrays, the pattern of every linear system is fixed, and an elimination plan made
once serves all data sets. Rules whose known pairs coincide give the same policy and are solved
once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jumar.elimination import Plan, solve
from jumar.iteration import Model, evaluate_policy, iterate, worst_value
from jumar.kernels import Bools, Floats, Ints, compiled
from jumar.rules import GREEDY, MAX_ITERATIONS, TOLERANCE

# what is reported of every policy
VALUE, MODEL_VALUE, MODEL_BEHAVIOR, KNOWN = range(4)
FIELDS = 4


class Task(NamedTuple):
    """What can happen to one memory on one model, whatever the policy."""

    node_after: Ints  # (X, A) compact node after doing a in history state x
    state_of: Ints  # (M, O) history state of node and observation, or -1
    first_node: int
    entry_of: Ints  # (X*A, O) entry of the pair's successor on seeing z', or -1
    pointer: Ints  # (X*A + 1,) entries of each pair
    successor: Ints  # (L,)
    behavior: Floats  # (X, A)
    plan: Plan  # for linear systems over history states
    # the truth, for evaluation only
    edge_history: Ints  # (E,) history state a step of the true chain starts from
    edge_source: Ints  # (E,) triple
    edge_action: Ints  # (E,)
    edge_probability: Floats  # (E,) of the outcome, the action given
    edge_reward: Floats  # (E,)
    edge_entry: Ints  # (E,) entry in the truth's plan, or -1 where the episode ends
    truth_start: Floats  # (K,)
    truth_plan: Plan


@compiled
def true_value(task: Task, policy: Floats, discount: float, slots: Floats, v: Floats) -> float:
    """The exact value of a policy on the true model."""
    plan = task.truth_plan
    slots[:] = 0.0
    for i in range(len(v)):
        slots[plan.diagonal[i]] = 1.0
        v[i] = 0.0
    for e in range(len(task.edge_source)):
        p = policy[task.edge_history[e], task.edge_action[e]] * task.edge_probability[e]
        v[task.edge_source[e]] += p * task.edge_reward[e]
        entry = task.edge_entry[e]
        if entry >= 0:
            slots[plan.entry_slot[entry]] -= discount * p
    solve(plan, slots, v)
    total = 0.0
    for i in range(len(v)):
        total += task.truth_start[i] * v[i]
    return total


@compiled
def count_episodes(
    z: Ints,
    a: Ints,
    r: Floats,
    start: Ints,
    final: Ints,
    terminated: Bools,
    first: int,
    last: int,
    task: Task,
    visits: Floats,
    paid: Floats,
    follows: Floats,
    starts: Floats,
) -> None:
    """Add episodes first..last-1 to the counts."""
    A = visits.shape[1]
    for e in range(first, last):
        x = task.state_of[task.first_node, z[start[e]]]
        starts[x] += 1.0
        for t in range(start[e], start[e + 1]):
            pair = x * A + a[t]
            end = t + 1 == start[e + 1]
            if end and not terminated[e] and final[e] < 0:
                break  # nobody knows what followed
            visits[x, a[t]] += 1.0
            paid[x, a[t]] += r[t]
            if end and terminated[e]:
                break
            entry = task.entry_of[pair, final[e] if end else z[t + 1]]
            follows[entry] += 1.0
            x = task.successor[entry]


@compiled
def run_dataset(
    z: Ints,
    a: Ints,
    r: Floats,
    start: Ints,
    final: Ints,
    terminated: Bools,
    sizes: Ints,
    task: Task,
    kinds: Ints,
    n_wedges: Floats,
    unseens: Floats,
    discount: float,
    keep: Floats,
) -> Floats:
    """(sizes, rules, FIELDS) of one data set whose first sizes[i] episodes are the i-th log.

    `keep` (sizes, rules, X, A) receives the policies unless it is empty.
    """
    X, A = task.behavior.shape
    visits, paid = np.zeros((X, A)), np.zeros((X, A))
    follows, starts = np.zeros(len(task.successor)), np.zeros(X)
    probability, reward = np.empty(len(follows)), np.empty((X, A))
    model = Model(task.pointer, task.successor, probability, reward, visits)
    slots, truth_slots = np.empty(task.plan.n_slots), np.empty(task.truth_plan.n_slots)
    truth_v = np.empty(len(task.truth_start))
    behavior_v, v, q = np.empty(X), np.empty(X), np.empty((X, A))
    policy, counted = np.empty((X, A)), 0
    out = np.empty((len(sizes), len(kinds), FIELDS))
    behavior_value = true_value(task, task.behavior, discount, truth_slots, truth_v)
    for i in range(len(sizes)):
        count_episodes(
            z,
            a,
            r,
            start,
            final,
            terminated,
            counted,
            sizes[i],
            task,
            visits,
            paid,
            follows,
            starts,
        )
        counted = sizes[i]
        for x in range(X):
            for b in range(A):
                n = max(visits[x, b], 1.0)
                reward[x, b] = paid[x, b] / n
                pair = x * A + b
                for e in range(task.pointer[pair], task.pointer[pair + 1]):
                    probability[e] = follows[e] / n
        valued_with = np.nan  # the unseen value for which behavior_v holds
        for j in range(len(kinds)):
            known = np.sum(visits > max(n_wedges[j], 0.0))
            twin = _twin(out, i, j, known, kinds, n_wedges, unseens)
            if twin >= 0:
                out[i, j] = out[i, twin]
                if keep.size:
                    keep[i, j] = keep[i, twin]
                continue
            unseen = worst_value(model, discount) if np.isnan(unseens[j]) else unseens[j]
            if unseen != valued_with:  # also at the first rule, where it is NaN
                evaluate_policy(
                    model, task.behavior, discount, unseen, task.plan, slots, behavior_v
                )
                valued_with = unseen
            v[:] = behavior_v
            rounds, gap, scale = iterate(
                model,
                task.behavior,
                discount,
                kinds[j],
                n_wedges[j],
                unseen,
                task.plan,
                slots,
                policy,
                v,
                q,
                MAX_ITERATIONS,
            )
            if rounds < 0 or gap > TOLERANCE * scale / (1.0 - discount):
                raise ArithmeticError("policy iteration did not reach the promised gap")
            before, after = 0.0, 0.0
            for x in range(X):
                before += starts[x] * behavior_v[x]
                after += starts[x] * v[x]
            same = rounds == 1 and kinds[j] != GREEDY  # nothing was replaced
            out[i, j, VALUE] = (
                behavior_value if same else true_value(task, policy, discount, truth_slots, truth_v)
            )
            out[i, j, MODEL_VALUE] = after / sizes[i]
            out[i, j, MODEL_BEHAVIOR] = before / sizes[i]
            out[i, j, KNOWN] = known
            if keep.size:
                keep[i, j] = policy
    return out


@compiled
def _twin(
    out: Floats, i: int, j: int, known: int, kinds: Ints, n_wedges: Floats, unseens: Floats
) -> int:
    """An earlier rule of the same kind with as many known pairs: then they are the same pairs,
    because a larger threshold only ever drops some."""
    for k in range(j):
        same_unseen = unseens[k] == unseens[j] or (np.isnan(unseens[k]) and np.isnan(unseens[j]))
        same_kind = kinds[k] == kinds[j] and (n_wedges[k] < 0) == (n_wedges[j] < 0)
        if same_kind and same_unseen and out[i, k, KNOWN] == known:
            return k
    return -1
