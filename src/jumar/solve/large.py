"""Policy iteration on models with millions of transitions, with a proven gap.

T is the best admitted step and T_π the step of a policy; the admitted rows are those of
`solve.solver`. Each round looks one step ahead from some v, replaces the rows that get better by
more than v may be wrong, and values the new policy: not exactly, but until T_π v - v is small.
Nothing rests on how v was found, only on what one pass over the model sees of it.

What is proved. A row continues with probability m, β₋ = γ·min m and β₊ = γ·max m over all pairs. T
is monotone, and for c >= 0

    T(v + c) <= Tv + β₊c,    T(v - c) >= Tv - β₊c,    T(v - c) <= Tv - β₋c,    T(v + c) >= Tv + β₋c

with the constant c added everywhere: endings and pairs never tried only make a row continue less.
So if Tv - v <= r everywhere, the best admitted value is at most v + r/(1-β), with β = β₊ for r >= 0
and β₋ for r < 0 (MacQueen 1966, Porteus 1971); and if T_π v - v >= s, the policy's own value is at
least v + s/(1-β), with β = β₊ for s <= 0 and β₋ for s > 0. `gap` is the difference of the two, and
what ties and rounding may hide is added to r and taken from s. Mass that must stay with the
behavior is in T and T_π alike.

How a policy is valued. A sweep makes the error γ times as large at least, so it is known beforehand
how many sweeps would do. BiCGSTAB gets as many passes as that at the most; where few sweeps do, or
where it does not get there in time, it is swept. So it never takes more than twice the passes of
plain sweeps, and mostly a small part of them. In the end the policy is valued up to rounding, as it
is in small models, if that takes no more passes than MOST_PASSES.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import NotConverged
from jumar.core.history import HistoryMdp
from jumar.core.improvement import Trace
from jumar.core.journal import Watch, journal
from jumar.solve import iteration, krylov, passes
from jumar.solve.admitted import STRICTLY, TIE, Admitted
from jumar.solve.progress import Stage, Tell

BLOCK = 1 << 18  # pairs and transitions that a thread takes at a time
GAP = 1e-6  # relative to the scale of the values: a tenth more passes than 1e-3 takes
FEW = 12  # sweeps that are not worth a Krylov iteration
MOST_PASSES = 2000  # of a Krylov iteration
AT_A_TIME = 20  # sweeps before it is looked whether they do
FINEST = 1e-14  # of the scale of the values: what is left is rounding, unless rows are long
EVERY = 0.2  # seconds between two signs of life
FORCING = 0.003  # share of the residual that a valuation may leave in an early round


class Found(NamedTuple):
    """What `solver.Solution` is made of."""

    policy: Floats  # (H, A)
    values: Floats  # (H,)
    q: Floats  # (H, A)
    trace: Trace
    behavior_values: Floats  # (H,)


class Seen(NamedTuple):
    """What a pass sees from v: the residuals of the best step and of the policy's own."""

    best: float  # largest Tv - v
    low: float  # least T_π v - v
    high: float  # largest T_π v - v
    scale: float  # of the action values
    hidden: float  # what ties and rounding may hide of a residual
    replaced: int

    @property
    def left(self) -> float:
        """How far v is from the policy's own equation."""
        return max(abs(self.low), abs(self.high))


def solve_large(
    mdp: HistoryMdp,
    behavior: Floats,
    admitted: Admitted,
    unseen: float,
    *,
    gap: float | None,
    max_iterations: int,
    progress: Tell | None = None,
) -> Found:
    """The best admitted policy, within `gap` times the scale of the values; None: GAP, or what
    rounding allows."""
    watch = Watch()
    with ThreadPoolExecutor(_cores()) as pool:
        model = _Model(mdp, admitted, unseen, pool)
        gap = max(GAP, model.finest_gap) if gap is None else gap
        # a residual, relative to the scale of the values, that such a gap allows
        enough = max(0.1 * gap * (1 - model.most), model.finest)
        told = _Told(len(mdp), progress)
        v, doubt = model.value_well(behavior, np.zeros(len(mdp)), told, enough)
        behavior_values, policy, scale = v, np.empty_like(behavior), _largest(v)
        iteration.write_start(admitted.kind, behavior, mdp.visits, admitted.n_wedge, policy)
        target, proved, rounds, done = 0.0, math.inf, 0, False
        for rounds in range(1, max_iterations + 1):
            last_target = scale * enough
            close = max(last_target, TIE * scale)
            strictly = max(STRICTLY * scale, 3 * last_target, 3 * target)
            look = model.look(v, behavior, policy, strictly, scale, replace=True)
            before, scale, proved = scale, look.scale, model.gap(look)
            told.round(rounds, proved, gap * scale)
            done = proved <= gap * scale
            settled = look.replaced == 0 and max(look.left, target) <= close
            if done or (settled and before <= 2 * scale):
                break  # in the second case rounding is all that keeps the bounds apart
            target = max(last_target, FORCING * look.left if look.replaced else 0.0)
            v, _ = model.value(policy, v, told, target)
        if not done:
            raise NotConverged(
                f"Policy iteration: gap {proved:.3g} after {rounds} rounds; "
                f"asked for {gap * scale:.3g}."
            )
        v, error = model.value_well(policy, v, told, enough)
        # the policy's own value is known better now; so is what may be missing of the best one
        look = model.look(v, behavior, policy, math.inf, scale)
        proved = max(0.0, min(proved + error, model.above(look.best, look.hidden)))
        q = model.worth(v)
    journal.info(
        "Solved %s history states: %d rounds, %d passes, gap %.2g (%s)",
        f"{len(mdp):,}", rounds, model.passes, proved, watch,
    )  # fmt: skip
    return Found(policy, v, q, Trace(rounds, proved, max(doubt, error)), behavior_values)


class _Model:
    """A model, and threads that share each pass over it."""

    def __init__(
        self, mdp: HistoryMdp, admitted: Admitted, unseen: float, pool: ThreadPoolExecutor
    ) -> None:
        H, A = mdp.shape
        self._raw = iteration.model_of(mdp)
        self._γ, self._admitted, self._unseen = mdp.discount, admitted, unseen
        self._pool, self.passes = pool, 0
        borders = passes.blocks(mdp.pointer, H, A, BLOCK)
        self._blocks = [(int(a), int(b)) for a, b in pairwise(borders)]
        least, most, longest = zip(*self._all(passes.continuing, self._raw), strict=True)
        self.least, self.most = float(self._γ * min(least)), float(self._γ * max(most))
        self._rounding = 2 * (int(max(longest)) + A + 3) * float(np.finfo(np.float64).eps)

    def _all(self, kernel: Callable[..., Any], *arguments: Any) -> list[Any]:
        """One pass: the kernel on every block."""
        self.passes += 1
        return list(self._pool.map(lambda block: kernel(*arguments, *block), self._blocks))

    # ---- what is proved

    def above(self, residual: float, hidden: float) -> float:
        """How far the best admitted value is above v at the most, by the largest Tv - v."""
        r = residual + hidden
        return _over(r, self.most if r >= 0 else self.least)

    def below(self, residual: float, hidden: float) -> float:
        """How far the policy's own value is above v at the least, by the least T_π v - v."""
        s = residual - hidden
        return _over(s, self.most if s <= 0 else self.least)

    @property
    def finest(self) -> float:
        """Relative to the scale of the values: the least residual to ask for."""
        return max(FINEST, self._rounding)

    @property
    def finest_gap(self) -> float:
        """Relative to the scale of the values: a gap that rounding cannot prevent."""
        return 8 * _over(TIE + self._rounding, self.most)

    def gap(self, look: Seen) -> float:
        """What the policy's own value may miss of the best one."""
        return self.above(look.best, look.hidden) - self.below(look.low, look.hidden)

    # ---- passes

    def look(
        self,
        v: Floats,
        behavior: Floats,
        policy: Floats,
        strictly: float,
        scale: float,  # action values closer than TIE times this are equal
        *,
        replace: bool = False,
    ) -> Seen:
        """What is seen from v; with `replace`, better rows are put into the policy."""
        kind, n_wedge, _ = self._admitted
        seen = self._all(
            passes.improve_rows, self._raw, behavior, self._γ, kind, n_wedge, self._unseen,
            v, TIE * scale, strictly, replace, policy,
        )  # fmt: skip
        best, low, high, scales, replaced = zip(*seen, strict=True)
        largest = max(scales)
        hidden = TIE * scale + self._rounding * max(largest, _largest(v))
        return Seen(max(best), min(low), max(high), largest, hidden, sum(replaced))

    def worth(self, v: Floats) -> Floats:
        """(H, A) what actions are worth when v follows."""
        q = np.empty_like(self._raw.reward)
        self._all(passes.write_worth, self._raw, self._γ, self._unseen, v, q)
        return q

    def value_well(
        self, policy: Floats, near: Floats, told: _Told, enough: float
    ) -> tuple[Floats, float]:
        """What a policy is worth, up to rounding if MOST_PASSES do; else until the residual is at
        most `enough` times the scale of the values."""
        v, error = self.value(policy, near, told, 0.0, MOST_PASSES)
        close = enough * _largest(v)
        return (
            (v, error) if error <= _over(close, self.most) else self.value(policy, v, told, close)
        )

    def value(
        self,
        policy: Floats,
        near: Floats,
        told: _Told,
        enough: float,
        most: float = math.inf,
    ) -> tuple[Floats, float]:
        """What a policy is worth, from values nearby, until |T_π v - v| is at most `enough` or only
        rounding, or until there were `most` passes. And how far that may be from its own value."""
        paid, v, began, tried = np.empty_like(near), near, self.passes, False
        self._all(passes.write_paid, self._raw, policy, self._unseen, paid)

        def step(x: Floats) -> Floats:
            out = np.empty_like(x)
            self._all(passes.follow, self._raw, policy, self._γ, x, out)
            told.now()
            return out

        left = paid - step(v)
        while True:
            size, scale = _largest(left), max(_largest(v), _largest(paid))
            target = max(enough, self.finest * scale)
            if size <= target or self.passes - began > most:
                return v, -self.below(-size, self._rounding * scale)
            sweeps = _sweeps(target / size, self._γ)
            if sweeps <= FEW or tried:
                v = self._swept(policy, paid, v, min(sweeps, AT_A_TIME), told)
                left = paid - step(v)
                continue
            correction, rest = krylov.bicgstab_by(step, left, target, min(sweeps, MOST_PASSES))
            better = v + correction
            left_then = paid - step(better)
            tried = rest > target or not _largest(left_then) < size / 2
            if _largest(left_then) < size:
                v, left = better, left_then

    def _swept(self, policy: Floats, paid: Floats, v: Floats, sweeps: int, told: _Told) -> Floats:
        new = np.empty_like(v)
        for i in range(sweeps):
            self._all(passes.sweep, self._raw, policy, self._γ, paid, v, new, i % 2 == 0)
            v, new = new, (np.empty_like(v) if i == 0 else v)
            told.now()
        return v


class _Told:
    """Tells how far it is, some times a second."""

    def __init__(self, states: int, tell: Tell | None) -> None:
        self._tell, self._next = tell, 0.0
        self.stage = Stage(states, 0, 0, math.inf, math.nan)

    def round(self, rounds: int, proved: float, asked: float) -> None:
        self.stage = self.stage._replace(rounds=rounds, gap=proved, asked=asked)
        journal.debug("Solving %s", self.stage)
        self._next = 0.0
        self.now(0)

    def now(self, passes: int = 1) -> None:
        self.stage = self.stage._replace(passes=self.stage.passes + passes)
        if self._tell is not None and perf_counter() >= self._next:
            self._next = perf_counter() + EVERY
            self._tell(self.stage)


def _over(residual: float, β: float) -> float:
    return residual / (1 - β) if β < 1 else math.copysign(math.inf, residual)


def _largest(x: Floats) -> float:
    return float(max(x.max(), -x.min()))  # no copy


def _sweeps(factor: float, γ: float) -> int:
    """Sweeps that are sure to make an error `factor` times as large."""
    return 1 if γ == 0 else max(1, math.ceil(math.log(factor) / math.log(γ)))


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
