"""PO-UCT, compiled: the search tree, the simulations that grow it, and new particles.

A node is a history; node 0 is the present. With N(h, a) the times action a was tried in history h,
and N(h) their sum, a simulation picks the action with the greatest

    Q(h, a) + c √(ln N(h) / N(h, a)),       an untried one first,

samples what happens, and goes on in the child until it meets a history for the first time. That one
becomes a node, gets one action of its own, and uniformly random actions after it say what it is
worth. On the way back, with V the value of a node,

    N(h, a) Q(h, a) = Σ rewards of its visits + γ Σ_z N(haz) V(haz),
    V(h) = max_a Q(h, a).

As V(haz) changes, so does the sum: the difference
N V - (N - 1) V_before is what one more visit to haz adds to it.

Nodes are stored in the order they were made, so a child has a greater number than its parent.
Children of (h, a) form a list, so memory follows the search and not the number of observations.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints
from jumar.lab.truth.hsvi.tables import with_zeros
from jumar.lab.truth.loops import draw


class Model(NamedTuple):
    """What the planner simulates. S states, A actions, K outcomes."""

    pointer: Ints  # (S*A + 1,) where the outcomes of each (s, a) begin
    cumulative: Floats  # (K,) probability within each (s, a)
    next_state: Ints  # (K,) or -1
    next_observation: Ints  # (K,) or -1
    reward: Floats  # (K,)
    probability: Floats  # (K,)
    actions: int
    discount: float


class Tree(NamedTuple):
    """Room for N nodes."""

    size: Ints  # (1,) nodes in use
    total: Ints  # (N,) N(h)
    value: Floats  # (N,) V(h)
    visits: Ints  # (N, A) N(h, a)
    gain: Floats  # (N, A) N(h, a) Q(h, a)
    paid: Floats  # (N, A) rewards of its visits, without what followed
    child: Ints  # (N, A) the newest child of (h, a), or -1
    sibling: Ints  # (N,) the child made before this one under the same (h, a), or -1
    seen: Ints  # (N,) the observation that leads here


def new_tree(room: int, actions: int) -> Tree:
    """An empty tree; `grow` fills the rows it hands out."""
    rows, pairs = (room,), (room, actions)
    names = (rows, "total value sibling seen"), (pairs, "visits gain paid child")
    return with_zeros(Tree, ((1,), "size"), *names)


@compiled
def grow(tree: Tree, z: int, sibling: int) -> int:
    """A new node without visits."""
    n: int = tree.size[0]
    tree.size[0] += 1
    tree.total[n], tree.value[n] = 0, 0.0
    for a in range(tree.visits.shape[1]):
        tree.visits[n, a], tree.gain[n, a], tree.paid[n, a] = 0, 0.0, 0.0
        tree.child[n, a] = -1
    tree.sibling[n], tree.seen[n] = sibling, z
    return n


@compiled
def find(tree: Tree, n: int, a: int, z: int) -> int:
    """The node after doing a and seeing z, or -1."""
    m: int = tree.child[n, a]
    while m >= 0 and tree.seen[m] != z:
        m = tree.sibling[m]
    return m


@compiled
def choose(tree: Tree, n: int, exploration: float, rng: Any) -> int:
    """UCB1; one of the untried actions, all equally likely, as long as there are any."""
    A = tree.visits.shape[1]
    total = tree.total[n]
    if total < A:  # an action is tried again only after every other: A - total are untried
        skip = int(rng.random() * (A - total))
        for a in range(A):
            if tree.visits[n, a] == 0:
                if skip == 0:
                    return a
                skip -= 1
    width = exploration * math.sqrt(math.log(total))
    best, highest = 0, -np.inf
    for a in range(A):
        tries = tree.visits[n, a]
        bound = tree.gain[n, a] / tries + width / math.sqrt(tries)
        if bound > highest:
            best, highest = a, bound
    return best


@compiled
def node_value(tree: Tree, n: int) -> float:
    """V(h): of the best action tried so far."""
    best = -np.inf
    for a in range(tree.visits.shape[1]):
        tries = tree.visits[n, a]
        if tries > 0:
            best = max(best, tree.gain[n, a] / tries)
    return best


@compiled
def rollout(model: Model, s: int, steps: int, rng: Any) -> float:
    """The discounted return of uniformly random actions."""
    A, together, weight = model.actions, 0.0, 1.0
    for _ in range(steps):
        u = rng.random() * A
        a = int(u)  # what is left of u is uniform again, and draws the outcome
        pair = s * A + a
        k = draw(model.cumulative, model.pointer[pair], model.pointer[pair + 1], u - a)
        together += weight * model.reward[k]
        s = model.next_state[k]
        if s < 0:
            break
        weight *= model.discount
    return together


@compiled
def search(
    model: Model,
    tree: Tree,
    particles: Ints,  # (P,) states: the belief
    simulations: int,
    horizon: int,
    exploration: float,
    rng: Any,
    passed: Ints,  # (simulations, 3) written: first action, observation and state of each
) -> None:
    """Simulate from node 0."""
    A, room = model.actions, len(tree.seen)
    path, taken = np.empty(horizon, np.int64), np.empty(horizon, np.int64)
    reward = np.empty(horizon)
    for i in range(simulations):
        s = particles[int(rng.random() * len(particles))]
        n, depth, ahead, is_new = 0, 0, 0.0, False
        while True:
            a = choose(tree, n, exploration, rng)
            pair = s * A + a
            k = draw(model.cumulative, model.pointer[pair], model.pointer[pair + 1], rng.random())
            path[depth], taken[depth], reward[depth] = n, a, model.reward[k]
            depth += 1
            s, z = model.next_state[k], model.next_observation[k]
            if depth == 1:
                passed[i, 0], passed[i, 1], passed[i, 2] = a, z, s
            if s < 0 or depth == horizon:
                break
            m = -1 if is_new else find(tree, n, a, z)
            if m < 0 and (is_new or tree.size[0] == room):
                ahead = rollout(model, s, horizon - depth, rng)
                break
            if m < 0:
                m, is_new = grow(tree, z, tree.child[n, a]), True
                tree.child[n, a] = m
            n = m
        for d in range(depth - 1, -1, -1):
            n, a = path[d], taken[d]
            before = tree.total[n] * tree.value[n]
            tree.total[n] += 1
            tree.visits[n, a] += 1
            tree.paid[n, a] += reward[d]
            tree.gain[n, a] += reward[d] + model.discount * ahead
            tree.value[n] = node_value(tree, n)
            ahead = tree.total[n] * tree.value[n] - before


@compiled
def keep_subtree(tree: Tree, root: int) -> None:
    """Make a node the root and forget all that is not below it, in place."""
    size, A = tree.size[0], tree.visits.shape[1]
    number = np.full(size, -1)  # -1 forget, else keep; then the new number, never above the old
    number[root] = 0
    tree.sibling[root] = -1
    kept = 0
    for n in range(root, size):
        if number[n] < 0:
            continue
        number[n] = kept
        for a in range(A):
            m = tree.child[n, a]
            while m >= 0:
                number[m] = 0
                m = tree.sibling[m]
            tree.visits[kept, a], tree.gain[kept, a] = tree.visits[n, a], tree.gain[n, a]
            tree.paid[kept, a], tree.child[kept, a] = tree.paid[n, a], tree.child[n, a]
        tree.total[kept], tree.value[kept] = tree.total[n], tree.value[n]
        tree.sibling[kept], tree.seen[kept] = tree.sibling[n], tree.seen[n]
        kept += 1
    for n in range(kept):
        if tree.sibling[n] >= 0:
            tree.sibling[n] = number[tree.sibling[n]]
        for a in range(A):
            if tree.child[n, a] >= 0:
                tree.child[n, a] = number[tree.child[n, a]]
    tree.size[0] = kept


@compiled
def resample(model: Model, states: Ints, a: int, z: int, u: float, into: Ints) -> bool:
    """Fill `into` with states after doing a in one of `states`, all equally likely, and seeing z.

    Systematic: draw j of J takes the outcome in which the share (j + u)/J of all the probability
    falls. False, and nothing written, if z cannot be seen from any of them.
    """
    together = 0.0
    for s in states:
        pair = s * model.actions + a
        for k in range(model.pointer[pair], model.pointer[pair + 1]):
            if model.next_observation[k] == z:
                together += model.probability[k]
    if together == 0.0:
        return False
    J, j, reached, last = len(into), 0, 0.0, -1
    for s in states:
        pair = s * model.actions + a
        for k in range(model.pointer[pair], model.pointer[pair + 1]):
            if model.next_observation[k] == z and model.probability[k] > 0.0:
                reached += model.probability[k]
                last = model.next_state[k]
                while j < J and (j + u) / J * together < reached:
                    into[j] = last
                    j += 1
    into[j:] = last  # rounding may leave the last draws without an outcome
    return True
