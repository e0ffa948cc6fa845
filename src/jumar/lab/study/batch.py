"""One data set, every size, every rule: the inner loop of a study, compiled.

For one memory the history states that can ever occur are known beforehand (`Task`), so counting is
adding to fixed arrays, the pattern of every linear system is fixed, and an elimination plan made
once serves all data sets. Rules whose known pairs coincide give the same policy and are solved
once.

Why counting is here a second time. `tally.history.count` finds out which history states a log has,
by sorting, and counts one log. Here the logs are prefixes of one data set, all of which are counted
in one pass without sorting. On the paper's grid that takes a fortieth of the time, and all the rest
of a data set only nine times as long. Solving and evaluating are those of `solve`; tests compare
every policy with the one that `jumar.improve` finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, RowIndex
from jumar.core.jit import compiled
from jumar.lab.truth.chain import Chain, unroll
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.lab.truth.simulation import compact_nodes
from jumar.memory import Memory
from jumar.memory.projecting import Projection
from jumar.policy.controller import Controller
from jumar.solve.admitted import GREEDY, MAX_ITERATIONS, TOLERANCE
from jumar.solve.elimination import Plan, analyse, solve, write_identity
from jumar.solve.iteration import RawModel, evaluate_policy, iterate, worst_value

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
    """What the first n episodes of a data set say, for every size n. S sizes, L entries."""

    visits: Floats  # (S, X, A)
    paid: Floats  # (S, X, A) sum of rewards
    follows: Floats  # (S, L)
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
    counts = SizedCounts(
        np.zeros((S, X, A)),
        np.zeros((S, X, A)),
        np.zeros((S, len(task.successor))),
        np.zeros((S, X)),
    )
    counted = 0
    for i in range(S):
        if i > 0:
            counts.visits[i] = counts.visits[i - 1]
            counts.paid[i] = counts.paid[i - 1]
            counts.follows[i] = counts.follows[i - 1]
            counts.starts[i] = counts.starts[i - 1]
        visits, paid, follows = counts.visits[i], counts.paid[i], counts.follows[i]
        for e in range(counted, sizes[i]):
            x = task.state_of[task.first_node, z[start[e]]]
            counts.starts[i, x] += 1.0
            for t in range(start[e], start[e + 1]):
                end = t + 1 == start[e + 1]
                if end and not terminated[e] and final[e] < 0:
                    break  # what followed is unknown
                visits[x, a[t]] += 1.0
                paid[x, a[t]] += r[t]
                if end and terminated[e]:
                    break
                entry = task.entry_of[x * A + a[t], final[e] if end else z[t + 1]]
                follows[entry] += 1.0
                x = task.successor[entry]
        counted = sizes[i]
    return counts


def coarsen(counts: SizedCounts, state_of: Ints, entry_of: Ints, task: Task) -> SizedCounts:
    """The counts of a coarser memory: sums over the states and entries that it does not tell
    apart."""
    S, X, L = len(counts.starts), len(task.behavior), len(task.successor)
    return SizedCounts(
        _summed(counts.visits, state_of, X),
        _summed(counts.paid, state_of, X),
        _summed(counts.follows.reshape(S, -1, 1), entry_of, L).reshape(S, L),
        _summed(counts.starts.reshape(S, -1, 1), state_of, X).reshape(S, X),
    )


@compiled
def _summed(amounts: Floats, group: Ints, size: int) -> Floats:
    """(S, size, B) the sums of the amounts (S, n, B) of each group."""
    S, n, B = amounts.shape
    sums = np.zeros((S, size, B))
    for i in range(S):
        for x in range(n):
            for b in range(B):
                sums[i, group[x], b] += amounts[i, x, b]
    return sums


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
        visits, starts = counts.visits[i], counts.starts[i]
        for x in range(X):
            for b in range(A):
                n = max(visits[x, b], 1.0)
                reward[x, b] = counts.paid[i, x, b] / n
                pair = x * A + b
                for e in range(task.pointer[pair], task.pointer[pair + 1]):
                    probability[e] = counts.follows[i, e] / n
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
    pair, successor, entry_of = _pattern(chain, state_of)
    go = chain.target != END
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


def _pattern(chain: Chain, state_of: Ints) -> tuple[Ints, Ints, Ints]:
    """Entries (pair, successor) that can occur, and the entry of each pair and observation."""
    X, A = chain.rows.shape
    go = chain.target != END
    pair = chain.history[chain.source[go]] * A + chain.action[go]
    code = np.unique(pair * X + chain.history[chain.target[go]])
    pair, successor = np.divmod(code, X)
    entry_of = np.full((X * A, state_of.shape[1]), -1, np.int64)
    entry_of[pair, chain.states[successor, -1]] = np.arange(len(pair))
    return pair, successor, entry_of


def coarsening(fine: Task, coarse: Task, project: Projection) -> tuple[Ints, Ints]:
    """For every history state and entry of the finer task, the one of the coarser task it is
    part of."""
    A = fine.behavior.shape[1]
    rows = np.column_stack([project(fine.states[:, :-1]), fine.states[:, -1]])
    state_of = RowIndex(coarse.states).find(rows)
    x, a = np.divmod(np.repeat(np.arange(fine.behavior.size), np.diff(fine.pointer)), A)
    seen = fine.states[fine.successor, -1]
    return state_of, coarse.entry_of[state_of[x] * A + a, seen]
