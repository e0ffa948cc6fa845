"""What the held-out test says of every signal that must not get worse, in words.

A signal is shown in the sense of its column: of a cost, more is worse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jumar.core.plain import picked
from jumar.core.text import number, rounded, shown
from jumar.evidence.checking import LEVEL
from jumar.evidence.checking.drift import FEWEST, trend_in
from jumar.evidence.noticing import Notice
from jumar.evidence.plausible import Evidenced
from jumar.gate import Selection
from jumar.gate.outcome import kept_words
from jumar.gate.trials import KeptSignal, KeptTrial

if TYPE_CHECKING:
    from jumar.verdict.result import Result


@dataclass(frozen=True)
class KeptRow:
    """One signal, for the controller that is handed over or was held back."""

    signal: str
    change: str  # per episode, on held-out episodes, with its standard error
    allowed: str
    proved: str  # the worst that is not excluded
    passed: bool

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return picked(self, "signal change allowed proved passed")


@dataclass(frozen=True)
class KeptSignals:
    """All of them."""

    how: str
    rows: tuple[KeptRow, ...]


def kept_signals(test: Selection | None) -> KeptSignals | None:
    """What is said of the signals to keep; None where there are none."""
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
        return KeptSignals(f"{how} No change did better on {objective}.", ())
    which = "The change that is handed over:" if test.chosen else "The best change, held back:"
    pairs = zip(test.kept, trial.kept, strict=True)
    return KeptSignals(f"{how} {which}", tuple(_row(signal, found) for signal, found in pairs))


def kept_clauses(test: Selection | None) -> list[str]:
    """What is proved of the signals of what is handed over: "safety loses at most ..."."""
    if test is None or test.chosen is None:
        return []
    pairs = zip(test.kept, test.chosen.kept, strict=True)
    return [_clause(kept_words(signal, trial)) for signal, trial in pairs]


def _clause(words: str) -> str:
    return words.removeprefix("the new policy ")


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
