"""Chain: a model run by a controller - the Markov chain over triples (s, n, z).

Only triples that can be reached are built, by breadth-first search from the start, so the size
follows what can happen and not |S|·|N|·|Z|. Exact evaluation, simulation and the infinite-data
model all read this one object.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, RowIndex, closure, number_rows
from jumar.core.errors import ModelError
from jumar.core.text import Shown, listing
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.policy.controller import Controller

MOST_TRIPLES = 2_000_000  # some seconds
MOST_WORDS = 6_000_000  # that all of them may take: a long memory has nodes of many words


@dataclass(frozen=True, eq=False, repr=False)
class Chain(Frozen, Shown):
    """K reachable triples, X reachable history states ⟨n, z⟩ among them, L possible steps."""

    states: Ints  # (X, W+1) int64, the history states, sorted
    rows: Floats  # (X, A) what the controller does there
    hidden: Ints  # (K,) s of each triple
    history: Ints  # (K,) number of the triple's history state
    start: Floats  # (K,) probability to start there
    source: Ints  # (L,) triple a step starts from, ascending
    action: Ints  # (L,)
    target: Ints  # (L,) triple it leads to, or END
    probability: Floats  # (L,) of action and outcome together
    reward: Floats  # (L,)

    @property
    def summary(self) -> str:
        return f"{len(self.start):,} triples of state, node and observation"

    def __post_init__(self) -> None:
        self._freeze(np.float64, "rows", "start", "probability", "reward")
        self._freeze(np.int64, "states", "hidden", "history", "source", "action", "target")

    def __len__(self) -> int:
        return len(self.hidden)


def unroll(pomdp: Pomdp, controller: Controller, most: int = MOST_TRIPLES) -> Chain:
    """The chain of a model run by a controller over the same names."""
    check_names_agree(pomdp, controller)
    s, z = np.nonzero(pomdp.start[:, None] * pomdp.first_observation > 0)
    first = np.column_stack([s, np.repeat(controller.memory.initial()[None, :], len(s), 0), z])

    def successors(triples: Ints) -> Ints:
        _, _, moved, _, _ = _steps(pomdp, controller, triples)
        going: Ints = moved[moved[:, 0] != END]
        return going

    most = min(most, MOST_WORDS // first.shape[1])
    triples = closure(first, successors, most, f"States of {pomdp.name} x {controller.name}")
    index = RowIndex(triples)
    source, action, moved, probability, reward = _steps(pomdp, controller, triples)
    states, history = number_rows(triples[:, 1:])
    start = np.zeros(len(triples))
    start[index.find(first)] = pomdp.start[s] * pomdp.first_observation[s, z]
    return Chain(
        states=states,
        rows=controller.rows_at(states),
        hidden=triples[:, 0],
        history=history,
        start=start,
        source=source,
        action=action,
        target=np.where(moved[:, 0] == END, END, index.find(moved)),
        probability=probability,
        reward=reward,
    )


def _steps(
    pomdp: Pomdp, controller: Controller, triples: Ints
) -> tuple[Ints, Ints, Ints, Floats, Floats]:
    """Every step that can happen from the given triples: source, action, moved triple, p, r."""
    A = len(pomdp.actions)
    states, history = number_rows(triples[:, 1:])
    ψ = controller.rows_at(states)[history]
    source, action = np.nonzero(ψ > 0)
    step, outcome = entries_of(pomdp.pointer, triples[source, 0] * A + action)
    possible = pomdp.probability[outcome] > 0
    step, outcome = step[possible], outcome[possible]
    source, action = source[step], action[step]
    at = triples[source]
    moved = np.column_stack(
        [
            pomdp.next_state[outcome],
            controller.memory.step(at[:, 1:-1], at[:, -1], action),
            pomdp.next_observation[outcome],
        ]
    )
    p = ψ[source, action] * pomdp.probability[outcome]
    return source, action, moved, p, pomdp.reward[outcome]


def entries_of(pointer: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Every entry of some rows, those of row r at ``pointer[r] : pointer[r + 1]``: which of the
    rows it belongs to, and where it stands.

    >>> [part.tolist() for part in entries_of(np.array([0, 2, 3, 5]), np.array([2, 0]))]
    [[0, 0, 1, 1], [3, 4, 0, 1]]
    """
    count = pointer[rows + 1] - pointer[rows]
    which = np.repeat(np.arange(len(rows)), count)
    before = np.cumsum(count) - count
    return which, np.arange(len(which)) + np.repeat(pointer[rows] - before, count)


def check_names_agree(pomdp: Pomdp, controller: Controller) -> None:
    """A controller can run a model only if both number the same names alike."""
    for kind, theirs, ours in (
        ("observations", controller.observations, pomdp.observations),
        ("actions", controller.actions, pomdp.actions),
    ):
        if theirs != ours:
            raise ModelError(
                f"{controller.name} and model {pomdp.name!r} do not fit together: the controller's "
                f"{kind} are {listing(theirs)}. List them as the model does, in this order: "
                f"{listing(ours)}."
            )
