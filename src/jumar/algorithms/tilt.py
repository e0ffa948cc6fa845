"""Tilt: do more often what pays, by no more than it pays.

In every history state the behavior's probabilities are multiplied by a factor that grows with what
an action is worth,

    π(a|h) = π_b(a|h) · max(0, 1 + s·(Q(h, a) - ν_h)/R),

with s the strength, R the range of the action values in the model, and ν_h such that the row sums
to 1. Of all rows it is the one that gains most for its mean squared weight: it maximises
Σ π Q - (R/2s) Σ π_b (π/π_b - 1)². Small s stays close to the behavior; as s grows it becomes
SPIBB≤b. An action that was seen `n_wedge` times or less may become rarer, not more frequent; one
that was never seen keeps its probability.

Q is that of the policy itself: the tilt is repeated a few times with the values of the one before.
A pair that was never tried is worth what its history state is worth otherwise.

There is no bound for what it returns. It is made to be tested (`gate`): its importance
weights stay light, so that a test on held-out episodes has something to go by.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, product

import numpy as np

from jumar.algorithms.entry import (
    Algorithm,
    Grid,
    Named,
    Parameters,
    Proposal,
    Words,
    check_amount,
)
from jumar.algorithms.spibb import check_n_wedge
from jumar.core.arrays import Floats
from jumar.core.jit import compiled
from jumar.core.text import counted
from jumar.policy.controller import Controller
from jumar.solve.iteration import RawModel, model_of
from jumar.solve.nouns import Improvement
from jumar.solve.solver import improvement
from jumar.solve.sweeps import CLOSE, value_by_sweeps
from jumar.tally.history import HistoryMdp

ROUNDS = 4  # tilts, each with the values of the one before
EXACT = 1e-13
HALVINGS = 48  # of the interval in which ν lies


def improve(
    mdp: HistoryMdp, behavior: Controller, *, strength: float = 10.0, n_wedge: int = 5
) -> Improvement:
    """Tilt the behavior towards what pays, `strength` times as far as it pays."""
    times = check_amount("strength", strength, "0 changes nothing, 3 is gentle, 40 is bold.")
    rows, _ = tilts(mdp, mdp.policy_of(behavior), [times], check_n_wedge(n_wedge), EXACT)
    parameters = {"strength": strength, "n_wedge": n_wedge}
    return improvement(mdp, behavior, rows[1], algorithm="tilt", parameters=parameters)


def tilts(
    mdp: HistoryMdp,
    behavior: Floats,
    strengths: Sequence[float],
    n_wedge: float,
    close: float = CLOSE,
) -> tuple[Floats, Floats]:
    """(S+1, H, A) the behavior's rows and, for every strength, the tilted ones; and (S+1, H, A)
    what their actions are worth, to about `close` times the range of the values."""
    return tilt_path(
        model_of(mdp),
        np.ascontiguousarray(behavior),
        mdp.discount,
        np.array(strengths, np.float64),
        n_wedge,
        close,
    )


@compiled
def tilt_path(
    model: RawModel,
    old: Floats,
    discount: float,
    strengths: Floats,
    n_wedge: float,
    close: float = CLOSE,
) -> tuple[Floats, Floats]:
    """See `tilts`. The values of one strength are where those of the next begin."""
    H, A = old.shape
    S, visits = len(strengths), model.visits
    rows, values = np.empty((S + 1, H, A)), np.empty((S + 1, H, A))
    policy, q, v = old.copy(), np.zeros((H, A)), np.zeros(H)
    for i in range(S + 1):
        if i > 0 and strengths[i - 1] > 0.0:
            for _ in range(ROUNDS):
                low, high = _ends(q, visits)
                if not high > low:
                    break
                tilt_rows(strengths[i - 1] / (high - low) * q, old, visits, n_wedge, policy)
                value_by_sweeps(model, policy, discount, q, v, close)
        else:
            policy[:] = old
            value_by_sweeps(model, policy, discount, q, v, close)
        rows[i], values[i] = policy, q
    return rows, values


@compiled
def tilt_rows(x: Floats, old: Floats, visits: Floats, n_wedge: float, rows: Floats) -> None:
    """old · max(0, 1 + x - ν), at most old where visits <= n_wedge, old where there are none; a row
    in which nothing is better than the rest stays as it is. Written into `rows`."""
    H, A = x.shape
    rows[:] = old
    for h in range(H):
        low, high = np.inf, -np.inf
        for a in range(A):
            if old[h, a] > 0.0 and visits[h, a] > 0.0:
                low, high = min(low, x[h, a]), max(high, x[h, a])
        if not high - low > 1e-9:  # a tie is no reason to change
            continue
        high += 1.0
        for _ in range(HALVINGS):
            ν = (low + high) / 2.0
            total = 0.0
            for a in range(A):
                total += old[h, a] * _factor(x[h, a] - ν, visits[h, a], n_wedge)
            if total > 1.0:
                low = ν
            else:
                high = ν
        total, change = 0.0, 0.0
        for a in range(A):
            rows[h, a] = old[h, a] * _factor(x[h, a] - high, visits[h, a], n_wedge)
            total += rows[h, a]
        for a in range(A):
            rows[h, a] /= total
            change = max(change, abs(rows[h, a] - old[h, a]))
        if not change > 1e-9:  # rounding: what could become more frequent is not known enough
            rows[h] = old[h]


@compiled
def _factor(above: float, visits: float, n_wedge: float) -> float:
    if not visits > 0.0:
        return 1.0
    factor = max(0.0, 1.0 + above)
    return factor if visits > n_wedge else min(1.0, factor)


@compiled
def _ends(q: Floats, visits: Floats) -> tuple[float, float]:
    """The least and the greatest of what was tried."""
    low, high = np.inf, -np.inf
    for h in range(q.shape[0]):
        for a in range(q.shape[1]):
            if visits[h, a] > 0.0:
                low, high = min(low, q[h, a]), max(high, q[h, a])
    return low, high


# ---- what is known of it ------------------------------------------------------------------------

STRENGTHS = (2.0, 5.0, 10.0, 20.0, 40.0, 100.0, 1000.0)


def _propose(
    mdp: HistoryMdp, behavior: Floats, settings: Sequence[Named], thinned: float
) -> Iterator[Proposal]:
    """All strengths of one threshold in one go: the values of one begin where the last ended."""
    grids = groupby(settings, key=lambda setting: dict(setting)["n_wedge"])
    for i, (n_wedge, group) in enumerate(grids):
        some = list(group)
        strengths = [dict(setting)["strength"] for setting in some]
        rows, q = tilts(mdp, behavior, strengths, math.floor(n_wedge * thinned))
        if i == 0:
            yield (), rows[0], q[0]
        yield from zip(some, rows[1:], q[1:], strict=True)


def _does(parameters: Parameters) -> str:
    return (
        f"does more often what pays, with strength {parameters['strength']:g}, where it was tried "
        f"more than {counted(parameters['n_wedge'], 'time')}"
    )


ENTRY = Algorithm(
    name="tilt",
    summary="do more often what pays, by no more than it pays; made to be tested",
    improve=improve,
    threshold="n_wedge",
    grids={
        "proved": Grid(
            tuple((("n_wedge", n), ("strength", s)) for n, s in product((5, 20), STRENGTHS))
        )
    },
    propose=_propose,
    words=Words(setting=lambda p: f"strength {p['strength']:g}, N∧ = {p['n_wedge']:g}", does=_does),
)
