"""The value of the best policy of all, with any memory, on a known model: a proven bracket.

The best policy acts on the belief b alone, and its value V solves the Bellman equation on beliefs

    V(b) = max_a r(b, a) + γ Σ_z' P(z' | b, a) V(b').

Both bounds start from something simple, below from doing one thing for ever, above from being told
the state late, and a search narrows them where it matters (`jumar.truth.hsvi`). It can be stopped at
any time: what it has found is a bracket.

`lower` and `upper` are true bounds for the model as its numbers are written: everything that rounding can
do is added to them (`jumar.truth.hsvi` says how). `lower` is moreover what a controller earns, and
`controller()` gives it.

The value is that for ever: `max_steps`, which cuts episodes off in simulations, does not count. It is
an expectation over the first observation, which is seen before the first action.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.controller import Controller
from jumar.core.errors import ModelError, NotConverged, ParameterError
from jumar.core.memory import NamedNodes
from jumar.solve.linear import solve_discounted
from jumar.solve.solver import iterate_policy
from jumar.truth.pomdp import END, Pomdp

if TYPE_CHECKING:
    from jumar.truth.hsvi.tables import Late, Model, Plans, Points, Room, Roots

SECONDS, GAP = 60.0, 1e-9
STRICTLY = 1e-14  # of the scale of the values: what is left over is added to the bounds
TRIAL = 0.9  # a trial goes on where more is in doubt than this share of the bracket
AT_ONCE = 10_000_000  # work between two looks at the clock: some hundredths of a second
SWEEPS = 1000
SETTLED = 1e-4  # of the scale of values: sweeps that change less are not worth their time


@dataclass(frozen=True)
class Optimum:
    """The best value lies between `lower` and `upper`.

    `stopped` says why the search ended: "gap" (the bracket is as narrow as asked for), "rounding"
    (it cannot get narrower), "time", or "interrupted" (Ctrl-C).
    """

    lower: float
    upper: float
    seconds: float  # by the clock, all in all
    compiling: float  # of them, for machine code that is kept for later calls
    backups: int
    stopped: str
    plans: PlanGraph | None = field(default=None, repr=False, compare=False)

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def gap(self) -> float:
        """The width, relative to the larger of both bounds."""
        return relative_gap(self.lower, self.upper)

    @property
    def middle(self) -> float:
        return self.lower + self.width / 2

    def controller(self, name: str = "best") -> Controller:
        """A controller whose exact value is at least `lower`."""
        if self.plans is None:
            raise ParameterError("This bracket was found without a controller.")
        return self.plans.controller(name)


def relative_gap(lower: float, upper: float) -> float:
    scale = max(abs(lower), abs(upper))
    return (upper - lower) / scale if scale > 0 else 0.0


@dataclass(frozen=True, eq=False)
class PlanGraph:
    """The plans behind a lower bound. M plans; each does an action and goes on with another."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    first: Ints  # (O,) the plan to begin with after a first observation
    action: Ints  # (M,)
    then: Ints  # (M, O)

    def controller(self, name: str = "best") -> Controller:
        """Node n is the plan that was followed last; the first node is followed by none."""
        M, O = self.then.shape
        A = len(self.actions)
        after = np.vstack([self.first, self.then]) + 1  # (1 + M, O) the plan to follow on seeing z
        states = np.column_stack([np.repeat(np.arange(M + 1), O), np.tile(np.arange(O), M + 1)])
        nodes = ("start", *(f"{self.actions[a]} {m}" for m, a in enumerate(self.action)))
        return Controller(
            observations=self.observations,
            actions=self.actions,
            memory=NamedNodes(nodes, np.repeat(after[:, :, None], A, axis=2)),
            states=states,
            rows=np.eye(A)[self.action[after.ravel() - 1]],
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
        Time to search, by the clock. The first call in a new installation compiles for some
        seconds, which count; `Optimum.compiling` tells how many they were.
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
    began = told = perf_counter()
    simple = simple_bounds(pomdp)
    lower, upper = _before_the_search(pomdp, simple)
    compiling, search, stopped = 0.0, None, "time"

    def found(stopped: str) -> Optimum:
        return Optimum(
            lower=max(lower, search.lower) if search else lower,
            upper=min(upper, search.upper) if search else upper,
            seconds=perf_counter() - began,
            compiling=compiling,
            backups=search.backups if search else 0,
            stopped=stopped,
        )

    try:
        compiling = _compile()
        from jumar.truth.hsvi.searching import Search
        search = Search(pomdp, simple, gap)
        while (now := perf_counter()) - began < seconds:
            reason = search.go_on(AT_ONCE)
            if reason:
                stopped = reason
                break
            if progress is not None and now - told > TELLING:
                told = now
                progress(found(""))
    except KeyboardInterrupt:
        stopped = "interrupted"
    return found(stopped)
