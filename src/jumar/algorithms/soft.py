"""Soft-SPIBB (Nadjahi, Laroche, Tachet des Combes 2019): change by as much as is known.

SPIBB asks of every pair whether it is known, yes or no. Soft-SPIBB has an error e(h, a) for every
pair, and in every history state a budget ε for what is moved:

    Σ_a e(h, a) |π(a|h) - π_b(a|h)| <= ε.

The error is that of a mean return Q̂_b(h, a), in halves of the range of the returns: with
probability 1-δ, |Q̂_b - Q_b| <= e (hi-lo)/2 for all pairs. With k visits and X·A pairs,

    hoeffding       e = √(2 ln(2XA/δ)/k)
    maurer_pontil   e = 2 (s/(hi-lo) √(2 ln(4XA/δ)/k) + 7 ln(4XA/δ)/(3(k-1))), s the deviation.

A pair that was never tried has an infinite error: it keeps the behavior's probability.

How rows are found, given values q:

exact    the admitted row with the largest π·q, a linear program; see `_exact_row`
approx   mass goes from the worst action to those that gain most per error; and so on with the next
         worst, until the budget is spent. Close to exact, and never above it
adv      approx, but no move may make Σ_a (π - π_b) Q̂_b negative (Scholl et al. 2022)
lower    approx with only increases charged, Σ_a e max(0, π - π_b) <= ε (Scholl et al. 2022)

`steps` says what q is: "one" improves the behavior once, with its values in the estimated model;
"many" repeats that with the values of the policy itself.

What is guaranteed. The performance difference is Σ_h d(h) Σ_a (π - π_b)(a|h) Q_b(h, a), so

    ρ(new) >= ρ(behavior) - 1/(1-γ) · max_h ( (hi-lo)/2 Σ_a e |π - π_b| - Σ_a (π - π_b) Q̂_b )

with probability 1-δ, if ⟨n, z⟩ is sufficient. This is the certificate. If π is *advantageous*, that
is if the last sum is nowhere negative, the loss is at most ε/(1-γ) · (hi-lo)/2 (their Theorem 1).
`adv` is advantageous by construction; the others are not in general.

Q̂_b must be the mean of independent returns. So with a log, errors and the Q̂_b of `adv` are those of
first visits (`evidence.first_visits`). They vary more than the values of the model, so what is best
goes by the model. Without a log, errors go by the visits of the model, and Q̂_b is the model's; then
nothing is promised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from jumar.algorithms.entry import (
    Algorithm,
    Grid,
    Look,
    Looks,
    Parameters,
    Words,
    check_amount,
    check_choice,
)
from jumar.algorithms.problem import Material
from jumar.core.arrays import Floats
from jumar.core.errors import NotConverged, ParameterError
from jumar.core.jit import compiled
from jumar.evidence.bounds import check_delta
from jumar.evidence.certificate import promised, scale_of
from jumar.evidence.claims import Certificate
from jumar.evidence.first_visits import FirstVisits
from jumar.policy.controller import Controller
from jumar.solve.nouns import MAX_ITERATIONS, STRICTLY, TIE, Improvement
from jumar.solve.solver import action_values, improve_by, improvement, policy_value
from jumar.tally.history import HistoryMdp

Rule = Literal["exact", "approx", "adv", "lower"]
Steps = Literal["many", "one"]
Error = Literal["hoeffding", "maurer_pontil"]

EXACT, APPROX, ADV, LOWER = range(4)  # as compiled code knows the rules
RULES: tuple[Rule, ...] = get_args(Rule)
FindRows = Callable[..., Floats]  # the rows (H, A) that a rule makes of the values of actions
EPSILON = 0.5


def improve(
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    epsilon: float = EPSILON,
    rule: Rule = "exact",
    steps: Steps = "many",
    error: Error = "hoeffding",
    visits: FirstVisits | None = None,
    delta: float = 0.05,
) -> Improvement:
    """Move mass between actions by no more than the errors of their values allow.

    `epsilon` is the budget of every history state; `rule`, `steps` and `error` are those of the
    module. `visits` is what `first_returns` found in the log that the model was estimated with
    ("maurer_pontil" needs it), `delta` the accepted chance that an error is larger than e.

    Examples
    --------
    >>> import jumar as jm
    >>> tiger = jm.models.tiger()
    >>> fair = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = jm.simulate(tiger, fair, episodes=100)
    >>> mdp = jm.count(log, jm.window(1)).mle(0.95)
    >>> improve(mdp, fair, epsilon=0.3).policy.round(2).tolist()
    [[0.12, 0.54, 0.33], [0.57, 0.09, 0.33]]
    """
    epsilon = check_amount("epsilon", epsilon, "0 changes nothing, 0.1 is careful, 2 is bold.")
    check_choice("rule", rule, Rule)
    check_choice("steps", steps, Steps)
    check_choice("error", error, Error)
    old = mdp.policy_of(behavior)
    e = errors_of(mdp, error, visits, check_delta(delta))
    parameters = {"epsilon": epsilon, "rule": rule, "steps": steps, "error": error}
    q = action_values(mdp, policy_value(mdp, old))
    q_b, kind = q if visits is None else visits.mean, RULES.index(rule)

    def best(q: Floats, *_: object) -> Floats:
        return soft_rows(kind, q, old, e, epsilon, q_b)

    if rule == "exact" and steps == "many":
        return improve_by(best, mdp, behavior, algorithm="soft", parameters=parameters)
    new = _better(best, old, q) if steps == "one" else _in_steps(mdp, old, best)
    return improvement(mdp, behavior, new, algorithm="soft", parameters=parameters)


def errors_of(mdp: HistoryMdp, error: str, visits: FirstVisits | None, delta: float) -> Floats:
    """(H, A) e of every pair; infinite where nothing was tried."""
    if visits is not None:
        visits.check(mdp)
        off = visits.hoeffding(delta) if error == "hoeffding" else visits.maurer_pontil(delta)
        width = visits.high - visits.low
        e = np.where(off < np.inf, 2 * off / width if width > 0 else 0.0, np.inf)
    elif error == "hoeffding":
        O, A = mdp.memory.alphabet
        c = math.log(2) + math.log(mdp.memory.count_nodes() * O * A) - math.log(delta)
        e = np.sqrt(2 * c / np.maximum(mdp.visits, 1.0))
    else:
        raise ParameterError(
            f"error: {error} needs to know what followed in the log. Pass visits=first_returns("
            "log, mdp.memory, discount=..., rewards=...), or take hoeffding."
        )
    return np.where(mdp.visits > 0, e, np.inf)


def _better(best: FindRows, policy: Floats, q: Floats) -> Floats:
    """(H, A) the policy with every row replaced that becomes worth more."""
    new, scale = best(q), float(np.abs(q).max())
    gains = (new * q).sum(1) > (policy * q).sum(1) + STRICTLY * scale
    return np.where(gains[:, None], new, policy)


def _in_steps(mdp: HistoryMdp, old: Floats, best: FindRows) -> Floats:
    """Policy iteration for rules that do not find the best row of a set: a row is kept where the
    new one is worth less. There are finitely many rows, and values never fall."""
    policy = old
    for _ in range(MAX_ITERATIONS):
        new = _better(best, policy, action_values(mdp, policy_value(mdp, policy)))
        if np.array_equal(new, policy):
            return policy
        policy = new
    raise NotConverged(f"Soft-SPIBB: still improving after {MAX_ITERATIONS} rounds.")


# ---- rows, compiled -----------------------------------------------------------------------------


@compiled
def soft_rows(rule: int, q: Floats, old: Floats, e: Floats, epsilon: float, q_b: Floats) -> Floats:
    """(H, A) the row that a rule makes of the values q in every history state."""
    rows = old.copy()
    tie = TIE * np.abs(q).max()
    for h in range(len(q)):
        if rule == EXACT:
            _exact_row(q[h], old[h], e[h], epsilon, tie, rows[h])
        else:
            _approximate_row(rule, q[h], e[h], epsilon, q_b[h], tie, rows[h])
    return rows


@compiled
def _exact_row(q: Floats, old: Floats, e: Floats, epsilon: float, tie: float, row: Floats) -> None:
    """The linear program max π·q, Σπ = 1, π >= 0, Σ e |π - old| <= ε, solved by its price.

    With a price λ on the budget, everything goes to the action with the largest q - λe, from all
    those with q + λe below that. What is spent falls as λ grows. At the price where it crosses ε,
    the rows on both sides are optimal, and so is their mixture that spends ε. The price is found by
    halving until the numbers end.
    """
    low, high, cheapest = np.inf, -np.inf, np.inf
    for a in range(len(q)):
        if e[a] < np.inf:
            low, high = min(low, q[a]), max(high, q[a])
            if e[a] > 0.0:
                cheapest = min(cheapest, e[a])
    if not high > low + tie:
        return
    if _priced_row(0.0, q, old, e, tie, row) <= epsilon:
        return
    cheap, dear = 0.0, 2.0 * (high - low) / cheapest  # at the latter only what is free is moved
    while True:
        price = 0.5 * (cheap + dear)
        if not cheap < price < dear:
            break
        if _priced_row(price, q, old, e, tie, row) > epsilon:
            cheap = price
        else:
            dear = price
    more = np.empty_like(row)
    above = _priced_row(cheap, q, old, e, tie, more)
    below = _priced_row(dear, q, old, e, tie, row)
    share = (epsilon - below) / (above - below)
    for a in range(len(q)):
        row[a] += share * (more[a] - row[a])


@compiled
def _priced_row(price: float, q: Floats, old: Floats, e: Floats, tie: float, row: Floats) -> float:
    """The best row if error costs so much; says what it spends of the budget."""
    best, top = -1, -np.inf
    for a in range(len(q)):
        if e[a] < np.inf and (best < 0 or q[a] - price * e[a] > top + tie):
            best, top = a, q[a] - price * e[a]
    row[:] = old
    moved, spent = 0.0, 0.0
    for a in range(len(q)):
        if a != best and e[a] < np.inf and q[a] + price * e[a] < top - tie:
            moved += old[a]
            spent += e[a] * old[a]
            row[a] = 0.0
    row[best] += moved
    total: float = spent + e[best] * moved
    return total


@compiled
def _approximate_row(
    rule: int, q: Floats, e: Floats, epsilon: float, q_b: Floats, tie: float, row: Floats
) -> None:
    """From the worst action to those that gain most per error; `row` holds the behavior's."""
    A = len(q)
    left, earned = epsilon, 0.0  # of the budget; Σ (row - old) q_b, which adv keeps from falling
    emptied, filled = np.zeros(A, np.bool_), np.zeros(A, np.bool_)
    for _ in range(A):
        worst = -1
        for a in range(A):
            if not emptied[a] and e[a] < np.inf and (worst < 0 or q[a] < q[worst]):
                worst = a
        if worst < 0:
            return
        emptied[worst] = True
        mass = row[worst] if rule == LOWER else min(row[worst], _at_most(left, 2.0 * e[worst]))
        filled[:] = False
        while mass > 0.0:
            best, most = -1, -np.inf
            for a in range(A):
                if not filled[a] and e[a] < np.inf and q[a] > q[worst] + tie:
                    per_error = (q[a] - q[worst]) / e[a] if e[a] > 0.0 else np.inf
                    if best < 0 or per_error > most:
                        best, most = a, per_error
            if best < 0:
                break
            filled[best] = True
            # half of the budget for either side of a move. As published, the half of the side that
            # loses is worked out only once, above: the second move from it could then overspend
            if rule == LOWER:
                cost = e[best]
                moved = min(mass, _at_most(left, cost))
            else:
                cost = e[worst] + e[best]
                moved = min(mass, _at_most(left, 2.0 * max(e[worst], e[best])))
            if rule == ADV:
                gained = q_b[best] - q_b[worst]
                if gained < 0.0:
                    moved = min(moved, earned / -gained)
                earned = max(0.0, earned + moved * gained)
            row[best] += moved
            row[worst] -= moved
            mass -= moved
            left = max(0.0, left - moved * cost)


@compiled
def _at_most(left: float, cost: float) -> float:
    return left / cost if cost > 0.0 else np.inf


# ---- what is known of it ------------------------------------------------------------------------


def _promise(improvement: Improvement, material: Material, delta: float) -> Certificate | None:
    """What was spent of the budget, less what the returns say it brings."""
    parameters, visits = improvement.parameters, material.visits
    scale = scale_of(improvement.mdp.memory, material.rewards, material.discount)
    e = errors_of(improvement.mdp, str(parameters["error"]), visits, delta)
    moved = improvement.policy - improvement.behavior_policy
    # what was never tried did not move, and has no finite error
    spent = (np.abs(moved) * np.where(moved != 0, e, 0.0)).sum(1)
    loss = spent * (visits.high - visits.low) / 2 - (moved * visits.mean).sum(1)
    return promised(
        "soft",
        "Soft-SPIBB, by what was spent of the budget",
        max(0.0, float(loss.max())) / (1 - scale.discount),
        scale,
        delta=delta,
    )


def _setting(parameters: Parameters) -> str:
    steps = ", one step" if parameters["steps"] == "one" else ""
    error = ", by the variance" if parameters["error"] == "maurer_pontil" else ""
    return f"ε = {parameters['epsilon']:g}, {parameters['rule']}{steps}{error}"


def _label(parameters: Parameters) -> str:
    one = "-1" if parameters["steps"] == "one" else ""
    error = " mp" if parameters["error"] == "maurer_pontil" else ""
    return f"soft-{parameters['rule']}{one}{error} {parameters['epsilon']:g}"


def _curve(parameters: Parameters) -> Look:
    colour, marker = SHADES[parameters["rule"]]
    dashes = "-" if parameters["epsilon"] >= EPSILON else (0, (4, 2))
    label = f"Soft {_label(parameters).removeprefix('soft-')}"
    return Look(label, colour, marker, 1.0, dashes, minor=True)


SHADES = {  # of the rules
    "exact": ("#0b5345", "P"),
    "approx": ("#1e9e7e", "p"),
    "adv": ("#7dcea0", "h"),
    "lower": ("#b7d8b0", "8"),
}
EPSILONS = (0.1, 0.5, 2.0)  # the papers try 0.1 to 5
ENTRY = Algorithm(
    name="soft",
    summary="move probability by as much as the errors of the estimates allow",
    improve=improve,
    needs={"visits": lambda material: material.visits, "delta": lambda material: material.delta},
    promise=_promise,
    grids={"family": Grid(tuple((("epsilon", x),) for x in EPSILONS))},
    words=Words(
        setting=_setting,
        does=lambda p: f"moves as much as estimates are sure, with a budget of {p['epsilon']:g}",
        label=_label,
        kept=lambda _: "nothing that was tried looks better here than what the old controller does",
    ),
    looks=Looks(curve=_curve),
)
