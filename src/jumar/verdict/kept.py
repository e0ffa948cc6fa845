"""Signals that must not get worse: what the held-out test says of each, in words, and for which of
them a change is there.

A signal is shown in the sense of its column: of a cost, more is worse.

Where signals are to be kept, candidates are also made for a *mixed reward*: the objective, and
every kept signal with a weight (`gate.objectives`). Such a candidate may do what brings
nothing on the objective. Action values are linear in the reward, so those of the mixed reward
split exactly,

    Q(h, a) = Q_objective(h, a) + Σ_s w_s Q_s(h, a),

and tell for each change whether the objective alone would have asked for it, and if not, which
signal counted most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from jumar.core.arrays import Floats, Frozen
from jumar.core.text import number, rounded, shown
from jumar.evidence.checking import LEVEL
from jumar.evidence.checking.drift import FEWEST, trend_in
from jumar.evidence.noticing import Notice
from jumar.evidence.plausible import Evidenced
from jumar.gate import Selection
from jumar.gate.objectives import spread_of
from jumar.gate.outcome import kept_words
from jumar.gate.trials import KeptSignal, KeptTrial
from jumar.solve.solver import tried_values
from jumar.verdict.result import Result


@dataclass(frozen=True)
class KeptRow:
    """One signal, for the controller that is handed over or was held back."""

    signal: str
    change: str  # per episode, on held-out episodes, with its standard error
    allowed: str
    proved: str  # the worst that is not excluded
    passed: bool


def kept_signals(test: Selection | None) -> tuple[str, list[KeptRow]] | None:
    """How signals are kept, and what is said of each; None where there are none."""
    if test is None or not test.kept:
        return None
    trial = test.chosen or test.held_back
    objective = shown(test.objective)
    how = (
        f"A change must do better on {objective}, and lose no more than a stated amount of every "
        "signal that is kept. It passes if its bets on all signals do. A change that is bad on one "
        "of them passes only if the bet on that one errs, so one δ covers all."
    )
    if trial is None:
        return f"{how} No change did better on {objective}.", []
    which = "The change that is handed over:" if test.chosen else "The best change, held back:"
    pairs = zip(test.kept, trial.kept, strict=True)
    return f"{how} {which}", [_row(signal, found) for signal, found in pairs]


def kept_clauses(test: Selection | None) -> list[str]:
    """What is proved of the signals of what is handed over: "safety loses at most ..."."""
    if test is None or test.chosen is None:
        return []
    pairs = zip(test.kept, test.chosen.kept, strict=True)
    return [kept_words(*pair).removeprefix("the new policy ") for pair in pairs]


def _row(signal: KeptSignal, trial: KeptTrial) -> KeptRow:
    sign, worst = (-1, "at most") if signal.costs else (1, "at least")
    found = Evidenced(trial.gain, trial.lower, math.inf, trial.error, signal.possible)
    change = "not known"
    if found.shown is not None:
        error = rounded(trial.error, trial.error)
        change = f"{rounded(sign * found.shown, trial.error)} ± {error}"
    proved = "nothing"
    if trial.lower > signal.possible[0]:
        proved = f"{worst} {_signed(sign * trial.lower)}"
    allowed = f"{worst} {_signed(-sign * trial.loss)}"
    return KeptRow(shown(signal.signal), change, allowed, proved, trial.passed)


def _signed(x: float) -> str:
    return f"+{number(x)}" if x > 0 else number(x + 0.0)


def drifting_signals(result: Result) -> list[Notice]:
    """Signals to keep that change over the log. A test of the average says little of what comes
    next."""
    test, log = result.selection, result.log
    if test is None or not test.kept or len(log) < FEWEST:
        return []
    practice = result.practice
    made_by = practice.made_by if practice is not None and practice.several else None
    found = []
    for signal in test.kept:
        view = log.with_reward(signal.signal)
        trend = trend_in(view, result.improvement.mdp.discount, made_by)
        if trend.p > LEVEL:
            continue
        name, slope = shown(signal.signal), -trend.slope if signal.costs else trend.slope
        moves = f"{'rises' if slope > 0 else 'falls'} by {number(abs(slope))} per 100 episodes"
        found.append(
            Notice(
                "drift of a kept signal",
                f"{name}, which must not get worse, {moves} over the log (p = {trend.p:.2g}): what "
                "the test found is an average over the log, not what comes next.",
                "Find out what changed, and take the episodes since then.",
                loud=True,
            )
        )
    return found


# ---- for whose sake ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Heeded(Frozen):
    """S kept signals that counted when a controller was made. Of each, more is better."""

    objective: str
    signals: tuple[str, ...]
    weight: Floats  # (S,) of a unit of the signal, beside one of the objective
    q: Floats  # (S, H, A) the behavior's action values in the model of the log

    def sake(self, h: int, moved: Floats, alone: float) -> str | None:
        """The signal for whose sake mass moves at h, where that brings `alone` on the objective;
        None where the signals do not outweigh what is lost there. (A,) `moved` sums to 0."""
        counted = self.weight * (self.q[:, h] @ moved)
        if alone > 0 or alone + counted.sum() <= 0:
            return None
        return self.signals[int(np.argmax(counted))]


def heeded(result: Result) -> Heeded | None:
    """The signals that counted, with the weights they had; None where the controller was made for
    the objective alone."""
    test, improvement = result.selection, result.improvement
    if test is None or test.chosen is None or not test.chosen.setting.heeds:
        return None
    mdp, old = improvement.mdp, improvement.behavior_policy
    replay, γ = result.replays.over(mdp.memory), mdp.discount
    unit = spread_of(result.log, γ)
    weights, values = [], []
    for kept in test.kept:
        seen = result.log.with_reward(kept.signal)
        apart = spread_of(seen, γ)
        weights.append(test.chosen.setting.heeds * unit / apart if apart > 0 else 0.0)
        paid = replace(replay, log=seen).counts.mle(γ)
        values.append(tried_values(paid, old, γ * (1 - result.stopping)))
    return Heeded(
        test.objective,
        tuple(kept.signal for kept in test.kept),
        np.array(weights),
        np.array(values),
    )
