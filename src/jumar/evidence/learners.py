"""Propensities that follow what was paid: whoever made the log learned while it was made.

Then an episode depends on those before it, held out or not, and a test on held-out episodes proves
nothing, however exact the propensities are. Where an action was taken again after the same history,
with p_t and the mean b_t of what it had paid there before, both counted from their means there,

    S = Σ_t b_t ln p_t

is large if what has paid more is done more often. It is compared with the same sum after what was
paid was shuffled among the steps of each such cell. So nothing has to be known of how it was
learned; but the log must stand in the order of time. Versions of a policy that take turns for other
reasons are no learner.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, number_rows
from jumar.core.randomness import generator
from jumar.evidence.chance import p_value
from jumar.evidence.marks import marks_of_histories
from jumar.log.episodes import Episodes

LOOKED_AT = 5000  # steps: who learns does it early
SHUFFLES = 199


def p_of_learning(log: Episodes) -> float | None:
    """p of propensities that follow what was paid before as closely; None where they cannot."""
    if log.propensity is None:
        return None
    n = min(log.n_steps, LOOKED_AT)
    cell = number_rows(np.column_stack([marks_of_histories(log), log.action])[:n])[1]
    value = np.unique(log.propensity[:n], return_inverse=True)[1]
    if len(number_rows(np.column_stack([cell, value]))[0]) == cell.max() + 1:  # a fixed policy
        return None
    order = np.argsort(cell, kind="stable")
    cell, paid = cell[order], log.reward[:n][order]
    first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    size = np.diff(np.append(first, n))
    group = np.repeat(np.arange(len(first)), size)
    turn = np.arange(n) - first[group]

    def centred(x: Floats) -> Floats:
        found: Floats = x - (np.add.reduceat(x, first) / size)[group]
        return found

    done, again = centred(np.log(log.propensity[:n][order])), turn > 0

    def statistic(paid: Floats) -> float:
        gone = np.cumsum(paid) - paid
        before = (gone - gone[first][group]) / np.maximum(turn, 1)
        return float((done * before)[again].sum())

    paid = centred(paid)  # so that what is paid before is counted from the mean, too
    rng = generator(1, "learners")
    shuffled = [paid[np.lexsort((rng.random(n), group))] for _ in range(SHUFFLES)]
    return p_value(statistic(paid), np.array([statistic(some) for some in shuffled]))
