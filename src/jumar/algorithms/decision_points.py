"""Decision points (Sharma, Benac, Parbhoo, Doshi-Velez 2025): change only what was visited densely.

An action is *advantageous* in h if it was taken there in more than N∧ episodes, and its mean return
is above that of the history state itself:

    D(h) = {a : k(h, a) > N∧ and Q̂_b(h, a) > V̂_b(h)},

Q̂_b the mean return from the first visit of a pair in each of k(h, a) episodes, V̂_b that from the
first visit of the history state in k(h) >= k(h, a). A history state with such an action is a
decision point. There the new controller may choose one of D(h), or go on as the behavior does;
everywhere else it is the behavior. Which is chosen is planned in the estimated model, all data
included: the best policy of all that are admitted.

What is guaranteed. By Hoeffding's inequality, for all X(A+1) means together with probability 1-δ,

    |Q̂_b - Q_b| <= w √(c/(2k(h, a))),  |V̂_b - V_b| <= w √(c/(2k(h))),  c = ln(2X(A+1)/δ),

w the width of the range of the returns. Whatever is planned, a step in h loses no more than the sum
of the two, as Q̂_b > V̂_b for what is chosen, and nothing where nothing is changed. So

    ρ(new) >= ρ(behavior) - 1/(1-γ) · max over what is changed of the sum,

which is at most 2w/(1-γ) √(c/(2N∧)): no number of outcomes enters, and only the counts of what is
changed. It holds if ⟨n, z⟩ is sufficient. (The published bound shares δ among the dense pairs
alone. Which these are depends on the log, so here all that could become dense have their share; it
costs a logarithm.)

Its cousin `strict` asks for a proof in every history state, and loses nothing.
"""

from __future__ import annotations

import numpy as np

from jumar.algorithms.entry import Algorithm, Grid, Look, Looks, Words
from jumar.algorithms.problem import Material
from jumar.algorithms.spibb import check_n_wedge
from jumar.core.arrays import Floats
from jumar.core.text import counted
from jumar.evidence.certificate import promised, scale_of
from jumar.evidence.claims import Certificate
from jumar.evidence.first_visits import FirstVisits
from jumar.policy.controller import Controller
from jumar.solve.nouns import TIE, Improvement
from jumar.solve.solver import action_values, improve_by, policy_value
from jumar.tally.history import HistoryMdp


def improve(
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    n_wedge: int = 20,
    visits: FirstVisits | None = None,
    state_visits: FirstVisits | None = None,
) -> Improvement:
    """Choose only among actions taken in more than `n_wedge` episodes that did better than usual.
    `visits` and `state_visits` are what `first_returns` found in the log by action and by history
    state. Without them, those of the model; then nothing is promised."""
    known = check_n_wedge(n_wedge)
    old = mdp.policy_of(behavior)
    q, count = action_values(mdp, policy_value(mdp, old)), mdp.visits
    v = (old * q).sum(1)[:, None]
    if visits is not None and state_visits is not None:
        visits.check(mdp)
        state_visits.check(mdp)
        q, count, v = visits.mean, visits.count, state_visits.mean
    # a pair whose outcome is never known is no pair of the model
    advantageous = (count > known) & (mdp.visits > 0) & (q > v + TIE * np.abs(q).max())

    def choose(q: Floats, rows: Floats, visits: Floats) -> Floats:
        """The best of these actions, or the behavior's row where that is worth as much."""
        among = np.where(advantageous, q, -np.inf)
        best = among.argmax(1)
        better = among.max(1) > (rows * q).sum(1) + TIE * np.abs(q).max()
        return np.where(better[:, None], np.eye(q.shape[1])[best], rows)

    parameters = {"n_wedge": n_wedge}
    return improve_by(choose, mdp, behavior, algorithm="decision_points", parameters=parameters)


def _promise(improvement: Improvement, material: Material, delta: float) -> Certificate | None:
    """What the returns behind the changes leave open."""
    scale = scale_of(improvement.mdp.memory, material.rewards, material.discount)
    A = scale.actions
    off = material.visits.hoeffding(delta * A / (A + 1))
    off_state = material.state_visits.hoeffding(delta / (A + 1))[:, 0]
    changed = (improvement.policy != improvement.behavior_policy).any(1)
    of_chosen = (improvement.policy * np.where(improvement.policy > 0, off, 0.0)).sum(1)
    loss = float((of_chosen + off_state)[changed].max(initial=0.0))
    return promised(
        "decision-points",
        "Decision points, by the returns behind them",
        loss / (1 - scale.discount),
        scale,
        delta=delta,
    )


ENTRY = Algorithm(
    name="decision_points",
    summary="choose only among actions taken in more than n_wedge episodes that did better",
    improve=improve,
    needs={
        "visits": lambda material: material.visits,
        "state_visits": lambda material: material.state_visits,
    },
    promise=_promise,
    threshold="n_wedge",
    grids={"family": Grid(tuple((("n_wedge", n),) for n in (5, 20, 100)))},
    words=Words(
        setting=lambda p: f"N∧ = {p['n_wedge']:g}",
        does=lambda p: (
            "changes only to what did better than usual in more than "
            f"{counted(p['n_wedge'], 'episode')}"
        ),
        kept=lambda _: "no action was taken often enough here and did better than usual",
    ),
    looks=Looks(curve=lambda _: Look("Decision points", "#4e79a7", "*", minor=True)),
)
