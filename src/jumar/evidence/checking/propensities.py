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

from typing import Any

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.text import Facts
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import (
    NAMED,
    Columns,
    Finding,
    Question,
    Section,
    failed,
    look,
    passed,
    table,
    where,
    worst,
)
from jumar.evidence.doubts import inverses, p_of_possible
from jumar.evidence.practice import Practice

EDGES = (0.05, 0.2, 0.5, 0.8, 0.95)  # between groups of probabilities


def check_propensities(
    practice: Practice, settings: Settings, rng: np.random.Generator
) -> Section | None:
    """Compare or test the propensities of a log; None if it has none."""
    log = practice.log
    logged, A = log.propensity, len(log.actions)
    if logged is None:
        return None
    facts: dict[str, Any] = {
        "steps": log.n_steps,
        "least": float(logged.min()),
        "mean_inverse": float(inverses(logged).mean()),  # about how many actions are possible
        "actions": A,
        "differing": None,  # steps; None where there is no controller to compare with
        "examples": [],  # the first of them
        "draws": practice.draws,  # in which they are, or look like, mere frequencies
        "p": None,  # None where they were compared, or where nothing was left to chance
        "resamples": 0,
    }
    possible = f"{facts['mean_inverse']:.3g} on average, of {A} actions"
    lines = [("least", f"{facts['least']:.3g}"), ("1/propensity", possible)]
    if practice.controllers:
        wrong = practice.disagreement
        facts["differing"] = len(wrong)
        facts["examples"] = [
            {
                "where": log.where(row),
                "logged": float(logged[row]),
                "said": float(practice.taken[row]),
            }
            for row in wrong[:NAMED].tolist()
        ]
        verdict = _compared(log.n_steps, len(wrong))
    else:
        p, B = None, 0
        if A == 2 and practice.rows is not None:
            p, B = _by_chance(practice.rows[:, 1], log.action == 1, settings, rng)
        elif (logged < 1).any():
            p = p_of_possible(logged, A)
        facts |= {"p": p, "resamples": B}
        verdict = _tested(p, A, settings.level)
        if p is not None:
            lines.append(("test", f"p = {p:.3g}" + (f" from {B:,} drawn logs" if B else "")))
        if practice.draws is not None:
            drawn = _frequencies(practice.draws, said=log.propensity_draws is not None)
            told = "" if verdict.status == "passed" else f"{verdict.sentence} "
            verdict = Finding(worst([drawn.status, verdict.status]), told + drawn.sentence)
    heads: Columns = {
        "where": where,
        "logged": lambda row: f"{row['logged']:.6g}",
        "policy": lambda row: f"{row['said']:.6g}",
    }
    title = f"The first {len(facts['examples'])} of {facts['differing']} steps that disagree"
    return Section(verdict, facts, [Facts(lines), *table(facts["examples"], heads, title)])


def _by_chance(
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
        return passed(f"The actions are as likely as these propensities say (p = {p:.2g}).")
    if actions == 2:
        return failed(
            "Actions were not taken as often as their propensities say: shares like these come up "
            f"with probability {p:.2g} or less. Estimates that use them are off.",
        )
    return failed(
        "Propensities are too small: by them more actions were possible at a step than there are "
        f"(p = {p:.2g}). Are they those of the actions that were taken?",
    )


def _frequencies(draws: int, said: bool) -> Finding:
    """What frequencies cost, and what to do about it."""
    fact, remedy = f"They are frequencies of {draws:,} draws", "Log the probabilities themselves"
    if not said:
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
    lambda subject, rng: check_propensities(subject.practice, subject.settings, rng),
)
