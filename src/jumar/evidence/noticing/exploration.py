"""The exploration that a file declares, against the one that the log shows.

With b(· | x) what the controller does without exploration, the log of N actions is likeliest at

    ε̂ = argmax Σ n(x, a) log( (1 - ε) b(a | x) + ε / A ),

a concave function of ε. Whether ε̂, written with two digits, fits is told by the same test that the
declared one failed. Which rule of the file fits worst is told by G over the history states that it
decides, against χ².
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.text import percent, printable, shown
from jumar.evidence.checking.base import Section, Subject
from jumar.evidence.checking.fit import Fit, PolicyReplay, fit_policy, with_policy
from jumar.evidence.noticing.notice import Notice
from jumar.evidence.order.steps import x_log_x


@dataclass(frozen=True)
class WorstRule:
    """The rule of a file that fits the log worst, and what is furthest off there."""

    name: str
    action: str
    said: float  # how often it takes the action
    seen: float  # how often the log shows it
    visits: int

    def __str__(self) -> str:
        return (
            f"{self.name[0].upper()}{self.name[1:]} fits worst: it does {shown(self.action)!r} "
            f"{percent(self.said)} of the time, the log {percent(self.seen)} of {self.visits:,} "
            "times"
        )


def look(
    subject: Subject, sections: Mapping[str, Section], rng: np.random.Generator
) -> Iterator[Notice]:
    """Notice an exploration that is not the one of the log, or a rule that is not."""
    fit, practice = sections.get("fit"), subject.practice
    if not isinstance(fit, Fit) or fit.verdict.status != "failed" or practice.several:
        return
    acting = with_policy(subject.replay, subject.behavior)
    bare = subject.behavior.intended.rows_at(acting.states)
    ε = float(f"{likeliest(acting.taken, bare):.2g}")
    exploring = replace(acting, policy=(1 - ε) * bare + ε / bare.shape[1])
    again = fit_policy(exploring, subject.settings, rng)
    name, declared = printable(subject.behavior.name), subject.behavior.exploration
    if again.verdict.status != "failed":
        fits = f"exploration = {ε:g} would fit the log (p = {again.p:.2g})"
        yield Notice(
            "exploration",
            _sentences(f"{name} says exploration = {declared:g}, but {fits}", worst_rule(acting)),
            f"Write exploration = {ε:g} in the file, or add --exploration {ε:g}.",
            ("--exploration", f"{ε:g}"),
        )
    else:
        yield Notice(
            "rule",
            _sentences(f"No exploration makes {name} fit the log", worst_rule(exploring)),
            "Correct the rule in the file; or leave the file out and estimate what was done.",
            ("--policy", "estimate"),
        )


def _sentences(*facts: object) -> str:
    return " ".join(f"{fact}." for fact in facts if fact is not None)


def likeliest(taken: Ints, bare: Floats) -> float:
    """The exploration that makes the actions likeliest.

    >>> round(likeliest(np.array([[97, 3]]), np.array([[1.0, 0.0]])), 3)
    0.06
    """
    from scipy.optimize import minimize_scalar

    used = taken > 0
    n, b, A = taken[used], bare[used], bare.shape[1]
    found = minimize_scalar(
        lambda ε: -float((n * np.log((1 - ε) * b + ε / A)).sum()),
        bounds=(1e-9, 1 - 1e-9),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(found.x)


def worst_rule(acting: PolicyReplay) -> WorstRule | None:
    """The rule with the smallest p-value; None where nobody knows the rules."""
    from scipy.stats import chi2

    names = acting.controller.rules_at(acting.states)
    visits = acting.taken.sum(1)
    with np.errstate(divide="ignore"):
        log_policy = np.where(acting.taken > 0, np.log(acting.policy), 0.0)
    off = (acting.taken * log_policy).sum(1)
    G = 2 * (x_log_x(acting.taken).sum(1) - x_log_x(visits) - off)
    rules, rule = np.unique(names, return_inverse=True)
    freedom = np.bincount(rule, ((acting.policy > 0).sum(1) - 1).clip(0), len(rules)).clip(1)
    by_rule = np.bincount(rule, G, len(rules))
    # of two p-values that vanish, the one with the larger G
    order = np.lexsort([-by_rule, chi2.sf(by_rule, freedom)])
    known = [k for k in order.tolist() if rules[k]]
    if not known:
        return None
    inside = rule == known[0]
    taken, total = acting.taken[inside].sum(0), int(visits[inside].sum())
    expected = (visits[inside, None] * acting.policy[inside]).sum(0)
    a = int(np.abs(taken - expected).argmax())
    return WorstRule(
        str(rules[known[0]]),
        acting.log.actions[a],
        float(expected[a] / total),
        float(taken[a] / total),
        total,
    )
