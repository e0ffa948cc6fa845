"""The value of the best policy of all, with any memory, on a known model: a proven bracket.

The best policy acts on the belief b alone, and its value V solves the Bellman equation on beliefs

    V(b) = max_a r(b, a) + γ Σ_z' P(z' | b, a) V(b').

Both bounds start from something simple: below from doing one thing for ever, above from being told
the state late. A search narrows them where it matters (`lab.truth.hsvi`). It can be stopped at
any time: what it has found is a bracket.

`lower` and `upper` are true bounds for the model as its numbers are written: whatever rounding can
do is added to them (`jumar.lab.truth.hsvi` says how). `lower` is also what a controller earns, and
`controller()` gives it.

The value is that for ever: `max_steps`, which cuts episodes off in simulations, does not count. It
is the mean over the first observation, which is seen before the first action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import ModelError, ParameterError
from jumar.lab.truth.hsvi.bounds import (
    SimpleBounds,
    begin_twice,
    below,
    consider,
    prune_plans,
    reachable,
    simple_bounds,
    sweep_once,
    sweep_twice,
)
from jumar.lab.truth.hsvi.points import lower_corners, prune_points
from jumar.lab.truth.hsvi.tables import (
    Dynamics,
    Late,
    no_plans,
    no_points,
    relative_gap,
    room_for,
    roots_of,
    tables,
    with_room,
)
from jumar.lab.truth.hsvi.trials import bounds_at, take_up, visit
from jumar.lab.truth.models.paper import tiger
from jumar.lab.truth.pomdp import Pomdp
from jumar.memory import NamedNodes
from jumar.policy.controller import Controller

SETTLED = 1e-5  # of the scale of values: sweeps that change less are not worth their time
PREPARED = 300_000_000  # work of sweeps before the search; then both take turns
TOO_LONG = 1_000_000_000  # work of one sweep that is left out
DOUBT = 0.6  # a trial goes on where more is in doubt than this share of what is at its root
REPEATED = 6  # stored beliefs that are backed up again, for each that a trial met
SECONDS, GAP = 60.0, 1e-9
AT_ONCE = 3_000_000  # numbers looked at between two looks at the clock: some hundredths of a second
TELLING = 0.1  # seconds between two reports
YARDSTICK_GAP = 1e-3
YARDSTICK_WORK = 1_000_000_000  # numbers looked at: ten seconds at the most


@cache
def compile_loops() -> None:
    """Compile, or fetch what was compiled before, by a search that takes no time."""
    model = tiger()
    search = Search(model, simple_bounds(model), 1e-3)
    while search.go_on(1000) is None:
        pass
    prune_points(search.points, search.room)
    prune_plans(search.plans, search.points, search.roots, search.room)


class Search:
    """From simple bounds to a bracket of relative width `gap`. It can be stopped and goes on; it
    does not look at the clock: what some number of trials finds is the same everywhere."""

    def __init__(self, pomdp: Pomdp, simple: SimpleBounds, gap: float) -> None:
        self.model = tables(pomdp, simple.scale)
        self.roots = roots_of(pomdp)
        self.lower, self.upper = -np.inf, np.inf
        self.gap, self.floor = float(gap), 8 * self.model.slack / (1 - pomdp.discount)
        self.room = room_for(self.model)
        self.plans = no_plans(self.model)
        for a, value in enumerate(simple.below):
            self.plans.value[:, a] = value
            self.plans.number[a] = self.plans.action[a] = a
            self.plans.then[:, a] = a
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
        self._beliefs = self._trials()
        self._note()

    @property
    def backups(self) -> int:
        return int(self.room.backups[0])

    def go_on(self, work: int) -> str | None:
        """Some more of it; returns why it ended, if it did."""
        done = int(self.room.work[0])
        if self._sweeping and self._swept <= done + PREPARED:
            self._sweep()
            return None
        until = done + work
        if self._sweeping:
            until = min(until, self._swept - PREPARED)
        while self.room.work[0] <= until:
            self._make_room()
            if next(self._beliefs):
                if relative_gap(self.lower, self.upper) <= self.gap:
                    return "gap"
                if self.upper - self.lower <= self.floor:
                    return "rounding"
        return None

    def _trials(self) -> Iterator[bool]:
        """Trial after trial, one belief further each time; true at the root of a new one.

        It is not compiled: inside one more compiled loop everything would be compiled once more,
        and a call takes a hundredth of a millisecond.
        """
        cursor = 0  # the next point or corner to back up again
        while True:
            doubt, level = DOUBT * self._begin(), 0
            yield True
            while self._visit(level, doubt, down=True):
                level += 1
                yield False
            yield False
            for t in range(level, -1, -1):
                self._visit(t, doubt)
                yield False
            for _ in range(REPEATED * (level + 1)):
                if cursor >= self.points.size[0] + self.points.corner.shape[1]:
                    cursor = 0
                self._visit(0, doubt, take_up(self.points, self.room, cursor))
                cursor += 1
                yield False

    def _visit(self, t: int, doubt: float, stored: int = -1, down: bool = False) -> bool:
        tables = self.model, self.late, self.plans, self.points, self.room
        return visit(*tables, t, doubt, stored, down)

    def _note(self) -> Floats:
        """Note the bracket; returns its (R,) width at each root."""
        roots, lows, highs = self.roots, *np.zeros((2, len(self.roots.seen)))
        for r in range(len(lows)):
            inside = slice(roots.begin[r], roots.begin[r + 1])
            state, mass = roots.state[inside], roots.mass[inside]
            lows[r], _ = bounds_at(self.plans, self.points, self.room, state, mass, len(state))
            highs[r] = self.room.q.max()
        self.lower = max(self.lower, float(lows.sum()) - self.model.slack)
        self.upper = min(self.upper, float(highs.sum()) + self.model.slack)
        return highs - lows

    def _begin(self) -> float:
        """Note the bracket and put the root that keeps it widest on level 0; returns its width."""
        points, room, roots, slack = self.points, self.room, self.roots, self.model.slack
        widths = self._note()
        widest = int(widths.argmax())
        inside = slice(roots.begin[widest], roots.begin[widest + 1])
        n, total = inside.stop - inside.start, roots.mass[inside].sum()
        room.stack_state[0, :n] = roots.state[inside]
        room.stack_mass[0, :n] = roots.mass[inside] / total
        room.stack_size[0] = n
        if room.changes[0] == 0:  # by the last trial: look more closely
            room.care[0] /= 2
        room.changes[0] = 0
        gap, best = self.upper - self.lower, points.corner.max(0)
        room.worth[0] = max(0.1 * room.care[0] * (1 - self.model.discount) * gap, slack)
        room.span[0] = best.max() - best.min() + gap
        return float(widths[widest] / total)

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
        if points.size[0] + 1 >= points.drop.shape[1] or points.size[1] + S >= len(points.state):
            prune_points(points, self.room)
            points = with_room(points, points.size[0], "value", "drop", "begin")
            self.points = with_room(points, points.size[1] + S, "state", "mass", "inverse")
        if plans.size[0] + 1 >= len(plans.number) or plans.size[1] + 1 >= len(plans.action):
            prune_plans(plans, self.points, self.roots, self.room)
            plans = with_room(plans, plans.size[0], "number", "value")
            self.plans = with_room(plans, plans.size[1], "action", "then")
            self.room = self.room._replace(score=np.zeros(len(plans.number)))

    def plan_graph(self) -> PlanGraph:
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
        return number[first], plans.action[kept], number[plans.then[:, kept].T]


def _work_of_a_sweep(model: Dynamics) -> tuple[int, int]:
    """Numbers looked at in one sweep, told once and told twice."""
    A, S = model.reward.shape
    after = np.diff(model.first).reshape(A, S).sum(0)  # triples that begin in a state
    return A * len(model.next_state) + 1, A * A * int(after[model.next_state].sum()) + 1


PlanGraph = tuple[Ints, Ints, Ints]  # see `Search.plan_graph`


@dataclass(frozen=True)
class Optimum:
    """The best value lies between `lower` and `upper`.

    `stopped` says why the search ended: "gap" (the bracket is as narrow as asked for), "rounding"
    (it cannot get narrower), "time", or "interrupted" (Ctrl-C).
    """

    lower: float
    upper: float
    seconds: float  # by the clock, without compiling
    backups: int
    stopped: str
    pomdp: Pomdp = field(repr=False, compare=False)
    plans: PlanGraph = field(repr=False, compare=False)  # behind `lower`

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def gap(self) -> float:
        """The width, relative to the larger of both bounds."""
        return relative_gap(self.lower, self.upper)

    def controller(self, name: str = "best") -> Controller:
        """A controller that earns at least `lower`: its exact value is not less.

        Node n is the plan that was followed last; the first node is followed by none.
        """
        first, action, then = self.plans
        actions = self.pomdp.actions
        (M, O), A = then.shape, len(actions)
        after = np.vstack([first, then]) + 1  # (1 + M, O) the plan to follow on seeing z
        states = np.column_stack([np.repeat(np.arange(M + 1), O), np.tile(np.arange(O), M + 1)])
        nodes = ("start", *(f"{actions[a]} {m}" for m, a in enumerate(action)))
        return Controller(
            observations=self.pomdp.observations,
            actions=actions,
            memory=NamedNodes(nodes, np.repeat(after[:, :, None], A, axis=2)),
            states=states,
            rows=np.eye(A)[action[after.ravel() - 1]],
            otherwise=np.full(A, 1 / A),
            name=name,
        )


def optimum(
    pomdp: Pomdp,
    *,
    seconds: float = SECONDS,
    gap: float = GAP,
    progress: Callable[[Optimum], None] | None = None,
) -> Optimum:
    """A bracket around the value of the best policy of all, for ever.

    The bracket is right whenever the search ends; more time makes it narrower. Ctrl-C ends it too.

    Parameters
    ----------
    pomdp
        The model.
    seconds
        Time to search, by the clock. Compiling does not count: the first call in a new
        installation does so for ten seconds or more.
    gap
        Width of the bracket, relative to the value, at which to stop before.
    progress
        Is told the bracket so far, some times per second.

    Returns
    -------
    Optimum
        `lower` and `upper`, `gap`, why it `stopped`, and a `controller()` that earns `lower`.

    Examples
    --------
    >>> from jumar import models
    >>> best = optimum(models.tiger())
    >>> round(best.lower, 6), round(best.upper, 6), best.stopped
    (5.021252, 5.021252, 'gap')
    """
    if not seconds > 0:
        raise ParameterError(f"seconds: {seconds} must be positive.")
    if not gap >= 0:
        raise ParameterError(f"gap: {gap} must not be negative.")
    if pomdp.discount >= 1:
        raise ModelError(
            f"Model {pomdp.name!r} has discount 1, where the bounds of the optimum need not "
            "exist. Use a discount close to 1, such as 0.999."
        )
    compile_loops()
    began = told = perf_counter()
    search, stopped = Search(pomdp, simple_bounds(pomdp), gap), "time"

    def found(stopped: str) -> Optimum:
        seconds, plans = perf_counter() - began, search.plan_graph()
        return Optimum(search.lower, search.upper, seconds, search.backups, stopped, pomdp, plans)

    try:
        if progress is not None:
            progress(found(""))
        while perf_counter() - began < seconds:
            if (ended := search.go_on(AT_ONCE)) is not None:
                stopped = ended
                break
            if progress is not None and perf_counter() - told > TELLING:
                told = perf_counter()
                progress(found(""))
    except KeyboardInterrupt:
        stopped = "interrupted"
    return found(stopped)


def yardstick(pomdp: Pomdp) -> float | None:
    """The best value as one number, to measure others by; None where it is not known well enough.

    It is the middle of a bracket that is narrower than a thousandth of it. The search is given an
    amount of work instead of a time, so the number is the same on every machine.

    >>> from jumar import models
    >>> round(yardstick(models.tiger()), 6)
    5.021252
    """
    if pomdp.discount >= 1:
        return None

    search = Search(pomdp, simple_bounds(pomdp), GAP)
    for _ in range(YARDSTICK_WORK // AT_ONCE):
        if search.go_on(AT_ONCE) is not None:
            break
    known = relative_gap(search.lower, search.upper) <= YARDSTICK_GAP
    return search.lower + (search.upper - search.lower) / 2 if known else None
