"""Which of the candidates that passed is handed over. No promise depends on it: all of them passed.

What promises most by held-out episodes (`Trial.merit`); where fewer changes were asked for, the
one with the fewest of those that promise nearly as much.

A memory that was learned is another matter. It was chosen to foretell what the behavior brought
about, and judged by models that remember even more it looks better than it is: of what is tried
without it they remember less. So where a memory was learned, every candidate is judged by models
that remember what it remembers itself, one of each half. Scores, which are noisy for candidates
that bold, have a say only where they contradict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from jumar.core.arrays import ALIKE
from jumar.gate.opinions import blend
from jumar.gate.trials import Trial

CONTRADICTED = 3.0  # standard errors off the scores from which on models are not believed


def best_of(passed: Sequence[Trial], most: float) -> Trial | None:
    """The one to hand over; None if there is none. `most` is the most that can be gained."""
    if all(trial.by_both is not None for trial in passed):
        return _best(passed, lambda trial: min(_agreed(trial), most))
    return _best(passed, lambda trial: trial.merit(most))


def _agreed(trial: Trial) -> float:
    """What models of both halves expect, unless scores contradict."""
    if trial.by_both is None or trial.scores is None:
        return trial.weighed.merit
    return blend(trial.scores, trial.by_both, trusted=0.0, surprise=CONTRADICTED).gain


def _best(passed: Sequence[Trial], merit: Callable[[Trial], float]) -> Trial | None:
    most = max(map(merit, passed), default=-math.inf)
    # both halves may propose the same: then the one of which more is proved, whatever rounding says
    alike = [trial for trial in passed if merit(trial) >= most - ALIKE * abs(most)]
    best = max(alike, key=lambda trial: trial.lower, default=None)
    if best is None or best.simplified is None:
        return best
    enough = min(best.simplified.share * most, most)
    near = [trial for trial in passed if merit(trial) >= enough - ALIKE * abs(most)]
    fewest = min(map(_changes, near))
    return max((t for t in near if _changes(t) == fewest), key=lambda t: (merit(t), t.lower))


def _changes(trial: Trial) -> int:
    return trial.simplified.kept if trial.simplified else 0
