"""Are the logged propensities what they should be?

Next to a controller they are compared with it, step by step, up to the digits they are written with
(`jumar.evidence.practice`).

Alone they can still be wrong in ways that a log shows. With two actions the propensity of one tells
that of the other, so it is known how often the second action should have been taken among steps
where it had a similar probability. With q the probability of the second action, O_g and E_g = Σ q
how often it was and should have been taken in group g, and V_g = Σ q (1 - q),

    X² = Σ_g (O_g - E_g)² / V_g

is compared with logs in which every action is drawn anew from its q.

With more actions only a sum is known: the mean of 1/propensity is the mean number of actions that
were possible. It can be less than the number of all actions, but not more, except by chance:
z = (mean - |A|) / standard error, one-sided. This one is right only for many steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.text import Detail, Facts, TextTable, shown
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import (
    NAMED,
    PLACE,
    Finding,
    Question,
    Section,
    failed,
    look,
    passed,
    worst,
)
from jumar.evidence.frequencies import inverses, p_of_possible
from jumar.evidence.practice import Practice

EDGES = (0.05, 0.2, 0.5, 0.8, 0.95)  # between groups of probabilities


@dataclass(frozen=True)
class PropensityGap:
    """A step at which the log and the controller give an action different probabilities."""

    where: str
    logged: float
    said: float


@dataclass(frozen=True)
class Propensities(Section):
    """The propensities of a log, against its controllers or against its actions."""

    steps: int
    least: float
    mean_inverse: float  # about the number of actions that are possible
    actions: int
    differing: int | None  # steps; None where there is no controller to compare with
    examples: tuple[PropensityGap, ...]  # the first of them
    draws: int | None  # in which they are, or look like, mere frequencies; None: they do not
    p: float | None  # None where they were compared, or where nothing was left to chance
    resamples: int
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        possible = f"{self.mean_inverse:.3g} on average, of {self.actions} actions"
        lines = [("least", f"{self.least:.3g}"), ("1/propensity", possible)]
        if self.p is not None:
            drawn = f" from {self.resamples:,} drawn logs" if self.resamples else ""
            lines.append(("test", f"p = {self.p:.3g}{drawn}"))
        yield Facts(lines)
        if self.examples:
            yield TextTable(
                ["where", "logged", "policy"],
                [
                    [shown(e.where, PLACE), f"{e.logged:.6g}", f"{e.said:.6g}"]
                    for e in self.examples
                ],
                f"The first {len(self.examples)} of {self.differing:,} steps that disagree",
            )


def propensities_of(
    practice: Practice, settings: Settings, rng: np.random.Generator
) -> Propensities | None:
    """Compare or test the propensities of a log; None if it has none."""
    log = practice.log
    logged = log.propensity
    if logged is None:
        return None
    differing, p, B = None, None, 0
    examples: tuple[PropensityGap, ...] = ()
    if practice.controllers:
        wrong = practice.disagreement
        differing = len(wrong)
        examples = tuple(
            PropensityGap(log.where(row), float(logged[row]), float(practice.taken[row]))
            for row in wrong[:NAMED].tolist()
        )
        verdict = _compared(log.n_steps, differing)
    else:
        if len(log.actions) == 2 and practice.rows is not None:
            p, B = _drawn(practice.rows[:, 1], log.action == 1, settings, rng)
        elif (logged < 1).any():
            p = p_of_possible(logged, len(log.actions))
        verdict = _tested(p, len(log.actions), settings.level)
        if practice.draws is not None:
            drawn = _frequencies(practice.draws, said=log.propensity_draws is not None)
            told = "" if verdict.status == "passed" else f"{verdict.sentence} "
            verdict = replace(
                drawn, status=worst([drawn.status, verdict.status]), sentence=told + drawn.sentence
            )
    least, inverse = float(logged.min()), float(inverses(logged).mean())
    return Propensities(
        log.n_steps,
        least,
        inverse,
        len(log.actions),
        differing,
        examples,
        practice.draws,
        p,
        B,
        verdict,
    )


def _drawn(
    q: Floats, taken: object, settings: Settings, rng: np.random.Generator
) -> tuple[float | None, int]:
    """p of X², and from how many draws."""
    group = np.searchsorted(EDGES, q)
    size = len(EDGES) + 1
    expected = np.bincount(group, q, size)
    variance = np.bincount(group, q * (1 - q), size)
    used = variance > 0
    if not used.any():
        return None, 0

    def statistic(done: object) -> float:
        off = (np.bincount(group, np.asarray(done, np.float64), size) - expected)[used]
        return float((off**2 / variance[used]).sum())

    B = settings.draws(10 * len(q))
    drawn = np.array([statistic(rng.random(len(q)) < q) for _ in range(B)])
    return p_value(statistic(taken), drawn), B


def _compared(steps: int, differing: int) -> Finding:
    if differing:
        some = "1 propensity is not that" if differing == 1 else f"{differing:,} are not those"
        return failed(
            f"Of {steps:,} propensities {some} of the policy. Only one of the two can be right: "
            "correct the file, or leave out either the policy or the column.",
        )
    return passed("All propensities are those of the policy, up to their digits.")


def _tested(p: float | None, actions: int, level: float) -> Finding:
    if p is None:
        return look(
            "Every propensity is 1: nothing was left to chance, so the log tells nothing of what "
            "any other action would have done.",
        )
    if p > level:
        return passed(f"The actions are such as these propensities give (p = {p:.2g}).")
    if actions == 2:
        return failed(
            "Actions were not taken as often as their propensities say: shares like these come up "
            f"with probability {p:.2g} or less. Whatever is weighed by them is off.",
        )
    return failed(
        "Propensities are too small: by them more actions were possible at a step than there are "
        f"(p = {p:.2g}). Are they those of the actions that were taken?",
    )


def _frequencies(draws: int, said: bool) -> Finding:
    """What frequencies cost, and what to do about it."""
    if said:
        fact = f"They are frequencies of {draws:,} draws"
        remedy = "Log the probabilities themselves"
    else:
        fact = (
            f"They look like frequencies of {draws:,} draws, and differ where "
            "nothing else in the log does"
        )
        remedy = (
            "If they are exact, say so: --propensity-draws 0 (propensity_draws=0). Else log the "
            "probabilities themselves"
        )
    why = "Then 1 over a propensity is too large on average, so no gain is proved."
    return look(f"{fact}. {why} {remedy}.")


ENTRY = Question(
    "Are the logged propensities what they should be?",
    lambda subject, rng: propensities_of(subject.practice, subject.settings, rng),
)
