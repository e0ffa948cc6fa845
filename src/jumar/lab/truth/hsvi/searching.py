"""A search that can be stopped and goes on: arrays, and when they are pruned and grow.

Nothing here looks at the clock: what is found after some number of trials is the same everywhere.
"""

from __future__ import annotations

from functools import cache
from time import perf_counter

import numpy as np

from jumar.core.arrays import Ints
from jumar.lab.truth.hsvi.informed import begin_twice, sweep_once, sweep_twice
from jumar.lab.truth.hsvi.plans import below, consider, prune_plans, reachable
from jumar.lab.truth.hsvi.points import lower_corners, prune_points
from jumar.lab.truth.hsvi.simple import SimpleBounds, simple_bounds
from jumar.lab.truth.hsvi.tables import (
    LEVEL,
    WORK,
    Dynamics,
    Late,
    more_plans,
    more_points,
    no_plans,
    no_points,
    relative_gap,
    room_for,
    roots_of,
    tables,
)
from jumar.lab.truth.hsvi.trials import step
from jumar.lab.truth.pomdp import Pomdp, from_arrays

SETTLED = 1e-5  # of the scale of values: sweeps that change less are not worth their time
PREPARED = 300_000_000  # work of sweeps before the search; then both take turns
TOO_LONG = 1_000_000_000  # work of one sweep that is left out


@cache
def _compile() -> None:
    """Compile, or fetch what was compiled before, by a search that takes no time."""
    model = from_arrays(
        name="coin",
        states=["heads", "tails"],
        actions=["call-heads", "call-tails", "look"],
        observations=["heads", "tails"],
        transition=[*[np.full((2, 2), 0.5)] * 2, np.eye(2)],
        observation=[[[0.8, 0.2], [0.2, 0.8]]] * 3,
        reward=np.array([[1, -3], [-3, 1], [-0.1, -0.1]]),
        start=[0.5, 0.5],
        first_observation=[[0.5, 0.5]] * 2,
        discount=0.9,
    )
    search = Search(model, simple_bounds(model), 1e-3)
    while search.go_on(1000) is None:
        pass
    prune_points(search.points, search.room)
    prune_plans(search.plans, search.points, search.roots, search.room)


def compile_loops() -> float:
    """Seconds it took, in a process that had not done so."""
    begin = perf_counter()
    _compile()
    return perf_counter() - begin


class Search:
    """From simple bounds to a bracket of relative width `gap`."""

    def __init__(self, pomdp: Pomdp, simple: SimpleBounds, gap: float) -> None:
        self.model = tables(pomdp, simple.scale)
        self.roots = roots_of(pomdp)
        self.gap, self.floor = float(gap), 8 * self.model.slack / (1 - pomdp.discount)
        self.room = room_for(self.model)
        self.plans = no_plans(self.model)
        for a, value in enumerate(simple.below):
            self.plans.value[:, a] = value
            self.plans.number[a] = self.plans.action[a] = a
            self.plans.then[a] = a
            self.plans.size[:] = a + 1
            consider(self.plans, a)
        J, A = len(self.model.seen), len(pomdp.actions)
        self.late = Late(simple.above.copy(), np.full((J, A), np.inf))
        begin_twice(self.model, self.late)
        self.points = no_points(self.late.once)
        self._sweeping = [sweep_once, sweep_twice]  # what is still to be swept
        self._takes = _work_of_a_sweep(self.model)
        self._swept = 0
        self._settled = SETTLED * simple.scale

    @property
    def lower(self) -> float:
        return float(self.room.bracket[0])

    @property
    def upper(self) -> float:
        return float(self.room.bracket[1])

    @property
    def backups(self) -> int:
        return int(self.room.counts[0])

    def go_on(self, work: int) -> str | None:
        """Some more of it; returns why it ended, if it did."""
        done = int(self.room.counts[WORK])
        if self._sweeping and self._swept <= done + PREPARED:
            self._sweep()
            return None
        until = done + work
        if self._sweeping:
            until = min(until, self._swept - PREPARED)
        while self.room.counts[WORK] <= until:
            self._make_room()
            begins = self.room.at[LEVEL] < 0
            step(self.model, self.late, self.plans, self.points, self.room, self.roots)
            if begins and self._narrow():
                self.room.at[LEVEL] = -1
                return "gap" if self._gap() <= self.gap else "rounding"
        return None

    def _gap(self) -> float:
        return relative_gap(self.lower, self.upper)

    def _narrow(self) -> bool:
        return self._gap() <= self.gap or self.upper - self.lower <= self.floor

    def _sweep(self) -> None:
        """Bounds for one who is told the state late, first after one step, then after two."""
        sweep, takes = self._sweeping[0], self._takes[2 - len(self._sweeping)]
        fall = 0.0
        if takes <= TOO_LONG:
            fall = sweep(self.model, self.late)
            self._swept += takes
        if fall <= self._settled:
            self._sweeping.pop(0)
            begin_twice(self.model, self.late)
        lower_corners(self.points, self.late.once)

    def _make_room(self) -> None:
        """Leave out what has no use; take more room where that does not help much."""
        plans, points = self.plans, self.points
        S = points.corner.shape[1]
        if points.size[0] + 1 >= len(points.mask) or points.size[1] + S >= len(points.state):
            prune_points(points, self.room)
            self.points = more_points(points)
        if plans.size[0] + 1 >= len(plans.number) or plans.size[1] + 1 >= len(plans.action):
            prune_plans(plans, self.points, self.roots, self.room)
            self.plans, self.room = more_plans(plans, self.room)

    def plan_graph(self) -> tuple[Ints, Ints, Ints]:
        """The plans behind `lower`: (O,) which to begin with, (M,) what each does and (M, O) which
        it goes on with."""
        plans, roots, dense = self.plans, self.roots, self.room.dense
        first = np.zeros(self.model.observations, np.int64)
        for r, z in enumerate(roots.seen):
            inside = slice(roots.begin[r], roots.begin[r + 1])
            state = roots.state[inside]
            dense[state] = roots.mass[inside]
            _, column = below(plans, self.room.score, state, dense, len(state))
            dense[state] = 0.0
            first[z] = plans.number[column]
        first[np.isin(np.arange(len(first)), roots.seen, invert=True)] = first[roots.seen[0]]
        needed = reachable(plans, first)
        kept, number = np.flatnonzero(needed), np.cumsum(needed) - 1
        return number[first], plans.action[kept], number[plans.then[kept]]


def _work_of_a_sweep(model: Dynamics) -> tuple[int, int]:
    """Numbers looked at in one sweep, told once and told twice."""
    A, S = model.reward.shape
    after = np.diff(model.first).reshape(A, S).sum(0)  # triples that begin in a state
    return A * len(model.next_state) + 1, A * A * int(after[model.next_state].sum()) + 1
