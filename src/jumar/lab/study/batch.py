"""One data set, every size, every rule: the inner loop of a study, compiled.

For one memory the history states that can ever occur are known beforehand (`Task`), so counting is
adding to fixed arrays, the pattern of every linear system is fixed, and an elimination plan made
once serves all data sets. Rules whose known pairs coincide give the same policy and are solved
once.

Why counting is here a second time. `LogTally.of` finds out which history states a log has, by
sorting. Here they are known, the logs are prefixes of one data set, and all of them are counted in
one pass: on the paper's grid .1 to .7 ms a data set instead of 1.4 to 6.3, where all the rest takes
2.6 to 13. Solving and evaluating are those of `solve`. Tests compare every policy with the one that
`jumar.improve` finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.jit import compiled
from jumar.lab.truth.chain import unroll
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.lab.truth.simulation import compact_nodes
from jumar.memory import Memory
from jumar.policy.controller import Controller
from jumar.solve.elimination import Plan, analyse, solve, write_identity
from jumar.solve.iteration import RawModel, evaluate_policy, iterate, worst_value
from jumar.solve.nouns import GREEDY, MAX_ITERATIONS, TOLERANCE

# what is reported of every policy
VALUE, MODEL_VALUE, MODEL_BEHAVIOR, KNOWN = range(4)
FIELDS = 4


class Task(NamedTuple):
    """What can happen to one memory on one model, whatever the policy."""

    states: Ints  # (X, W+1) the history states that numbers stand for
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
def inner(x: Floats, y: Floats) -> float:
    """Σ x·y, added up in this order on every machine."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compiled
def true_value(task: Task, policy: Floats, discount: float, slots: Floats, v: Floats) -> float:
    """The exact value of a policy on the true model."""
    plan = task.truth_plan
    write_identity(plan, slots)
    v[:] = 0.0
    for e in range(len(task.edge_source)):
        p = policy[task.edge_history[e], task.edge_action[e]] * task.edge_probability[e]
        v[task.edge_source[e]] += p * task.edge_reward[e]
        entry = task.edge_entry[e]
        if entry >= 0:
            slots[plan.entry_slot[entry]] -= discount * p
    solve(plan, slots, v)
    return inner(task.truth_start, v)


class SizedCounts(NamedTuple):
    """The rows of a `LogTally` whose parts are the first n episodes of a data set, for S sizes n,
    over the pairs and moves of a task."""

    visits: Floats  # (S, X*A)
    reward: Floats  # (S, X*A) sums
    times: Floats  # (S, L)
    starts: Floats  # (S, X)


@compiled
def count_sizes(
    z: Ints,
    a: Ints,
    r: Floats,
    start: Ints,
    final: Ints,
    terminated: Bools,
    sizes: Ints,
    task: Task,
) -> SizedCounts:
    """Replay the memory over the data set once; the counts of a size include those before it."""
    X, A = task.behavior.shape
    S = len(sizes)
    visits, reward = np.zeros((S, X * A)), np.zeros((S, X * A))
    counts = SizedCounts(visits, reward, np.zeros((S, len(task.successor))), np.zeros((S, X)))
    counted = 0
    for i in range(S):
        if i > 0:
            for array in counts:
                array[i] = array[i - 1]
        for e in range(counted, sizes[i]):
            x = task.state_of[task.first_node, z[start[e]]]
            counts.starts[i, x] += 1.0
            for t in range(start[e], start[e + 1]):
                end = t + 1 == start[e + 1]
                if end and not terminated[e] and final[e] < 0:
                    break  # what followed is unknown
                pair = x * A + a[t]
                counts.visits[i, pair] += 1.0
                counts.reward[i, pair] += r[t]
                if end and terminated[e]:
                    break
                entry = task.entry_of[pair, final[e] if end else z[t + 1]]
                counts.times[i, entry] += 1.0
                x = task.successor[entry]
        counted = sizes[i]
    return counts


@compiled
def improve_sizes(
    counts: SizedCounts,
    sizes: Ints,
    task: Task,
    kinds: Ints,
    n_wedges: Floats,
    unseens: Floats,
    discount: float,
) -> Floats:
    """(sizes, rules, FIELDS) of one data set."""
    X, A = task.behavior.shape
    probability, reward = np.empty(len(task.successor)), np.empty((X, A))
    slots, truth_slots = np.empty(task.plan.n_slots), np.empty(task.truth_plan.n_slots)
    truth_v = np.empty(len(task.truth_start))
    behavior_v, v, q, policy = np.empty(X), np.empty(X), np.empty((X, A)), np.empty((X, A))
    out = np.empty((len(sizes), len(kinds), FIELDS))
    behavior_value = true_value(task, task.behavior, discount, truth_slots, truth_v)
    for i in range(len(sizes)):
        visits, starts = counts.visits[i].reshape((X, A)), counts.starts[i]
        for x in range(X):
            for b in range(A):
                pair = x * A + b
                n = max(visits[x, b], 1.0)
                reward[x, b] = counts.reward[i, pair] / n
                for e in range(task.pointer[pair], task.pointer[pair + 1]):
                    probability[e] = counts.times[i, e] / n
        model = RawModel(task.pointer, task.successor, probability, reward, visits)
        valued_with = np.nan  # the unseen value for which behavior_v holds
        for j in range(len(kinds)):
            known = np.sum(visits > max(n_wedges[j], 0.0))
            twin = _twin(out, i, j, known, kinds, n_wedges, unseens)
            if twin >= 0:
                out[i, j] = out[i, twin]
                continue
            unseen = worst_value(reward, discount) if np.isnan(unseens[j]) else unseens[j]
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
            same = rounds == 1 and kinds[j] != GREEDY  # nothing was replaced
            out[i, j, VALUE] = (
                behavior_value if same else true_value(task, policy, discount, truth_slots, truth_v)
            )
            out[i, j, MODEL_VALUE] = inner(starts, v) / sizes[i]
            out[i, j, MODEL_BEHAVIOR] = inner(starts, behavior_v) / sizes[i]
            out[i, j, KNOWN] = known
    return out


@compiled
def _twin(
    out: Floats, i: int, j: int, known: int, kinds: Ints, n_wedges: Floats, unseens: Floats
) -> int:
    """An earlier rule of the same kind with as many known pairs: then they are the same pairs,
    because a larger threshold can only remove pairs."""
    for k in range(j):
        same_unseen = unseens[k] == unseens[j] or (np.isnan(unseens[k]) and np.isnan(unseens[j]))
        same_kind = kinds[k] == kinds[j] and (n_wedges[k] < 0) == (n_wedges[j] < 0)
        if same_kind and same_unseen and out[i, k, KNOWN] == known:
            return k
    return -1


MOST_PLANNED = 9_000  # triples: the plan is made on a dense pattern


def make_task(pomdp: Pomdp, behavior: Controller, memory: Memory) -> Task:
    """The task of a memory; TooLarge if any policy could reach too much."""
    anything = Controller.uniform(pomdp.observations, pomdp.actions, memory)
    chain = unroll(pomdp, anything, MOST_PLANNED)
    X, A = chain.rows.shape
    _, state_of, first_node = compact_nodes(chain, memory)
    go = chain.target != END
    # entries (pair, successor) that can occur, and the entry of each pair and observation
    pairs = chain.history[chain.source[go]] * A + chain.action[go]
    pair, successor = np.divmod(np.unique(pairs * X + chain.history[chain.target[go]]), X)
    entry_of = np.full((X * A, state_of.shape[1]), -1, np.int64)
    entry_of[pair, chain.states[successor, -1]] = np.arange(len(pair))
    entry = np.full(len(chain.source), -1, np.int64)
    entry[go] = np.arange(go.sum())
    return Task(
        states=np.array(chain.states),
        state_of=state_of,
        first_node=first_node,
        entry_of=entry_of,
        pointer=np.searchsorted(pair, np.arange(X * A + 1)),
        successor=successor,
        behavior=behavior.lift(memory).rows_at(chain.states),
        plan=analyse(X, pair // A, successor),
        edge_history=chain.history[chain.source],
        edge_source=np.array(chain.source),
        edge_action=np.array(chain.action),
        edge_probability=chain.probability * A,  # the uniform action's 1/A taken out again
        edge_reward=np.array(chain.reward),
        edge_entry=entry,
        truth_start=np.array(chain.start),
        truth_plan=analyse(len(chain), chain.source[go], chain.target[go]),
    )
