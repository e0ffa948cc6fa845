"""Everything about one behavior and one memory that all data sets of a study share."""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Ints, RowIndex
from jumar.lab.study.batch import Task
from jumar.lab.truth.chain import Chain, unroll
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.lab.truth.simulation import compact_nodes
from jumar.memory import Memory
from jumar.memory.projecting import Projection
from jumar.policy.controller import Controller
from jumar.solve.elimination import analyse

MOST_PLANNED = 9_000  # triples: the plan is made on a dense pattern


def make_task(pomdp: Pomdp, behavior: Controller, memory: Memory) -> tuple[Task, Ints]:
    """The task, and the history states its numbers stand for."""
    chain = whatever_happens(pomdp, memory)
    X, A = chain.rows.shape
    _, state_of, first_node = compact_nodes(chain, memory)
    pair, successor, entry_of = _pattern(chain, state_of)
    go = chain.target != END
    entry = np.full(len(chain.source), -1, np.int64)
    entry[go] = np.arange(go.sum())
    task = Task(
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
    return task, chain.states


def whatever_happens(pomdp: Pomdp, memory: Memory) -> Chain:
    """The chain that holds whatever any policy can reach, or TooLarge."""
    anything = Controller.uniform(pomdp.observations, pomdp.actions, memory)
    return unroll(pomdp, anything, MOST_PLANNED)


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


def coarsening(
    fine: Task, fine_states: Ints, coarse: Task, coarse_states: Ints, project: Projection
) -> tuple[Ints, Ints]:
    """For every history state and entry of the finer task, the one of the coarser task it is
    part of."""
    A = fine.behavior.shape[1]
    rows = np.column_stack([project(fine_states[:, :-1]), fine_states[:, -1]])
    state_of = RowIndex(coarse_states).find(rows)
    x, a = np.divmod(np.repeat(np.arange(fine.behavior.size), np.diff(fine.pointer)), A)
    seen = fine_states[fine.successor, -1]
    return state_of, coarse.entry_of[state_of[x] * A + a, seen]
