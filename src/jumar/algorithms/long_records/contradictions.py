"""Does the log contradict that a memory tells all that matters? Three tests, each of which a memory
that suffices fails rarely.

*Order.* The steps of the log, put together anew so that each begins where the one before it ended,
must tell a longer memory no less than the log itself does (`evidence.order`). Of 19 such logs at
most one may be as telling; drawing stops as soon as that is decided.

*In the long run.* With V̂, Q̂ of the behavior from the log itself, the surprises of a record

    δ_t = r_t + γ V̂(x_{t+1}) - Q̂(x_t, a_t)

are on average 0 at every pair (x, a), by construction. If x suffices they are 0 on average whatever
happened before, so for every number e_t that depends on the past only,

    U = Σ_t (e_t - mean of e at (x_t, a_t)) δ_t

has mean 0 over records. With e_t = γ^t this compares the mean return of the log, up to where each
record was cut, with the value that the model of single steps gives it (the λ-discrepancy of Allen
et al. 2024).

*Persistence.* With e_t = Σ_{s<t} γ^{t-s} δ_s: after good luck, does good luck follow? If something
lasting is hidden, such as wear, a mode or a kind of machine, surprises have the same sign for long,
even where one step hardly shows it. What the fitted means take away from the sum is negative, so
that the test errs on the side of not rejecting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.algorithms.auto.board import Board
from jumar.algorithms.long_records.weights import FittedWeights, steps_of
from jumar.core.arrays import Floats, sum_by
from jumar.core.memory import Memory
from jumar.core.replay import ENDED
from jumar.evidence.order.steps import cut_into_steps

DRAWS = 19
ALLOWED = 1  # of them at least as telling as the log, for a rejection: level 0.1
MOST_STEPS = 40_000  # of a longer log, records with about so many steps are put in other orders
APART = 2.58  # standard errors between the logged returns and the model: level 0.01
LASTING = 2.33  # standard errors, to one side: level 0.01


@dataclass(frozen=True)
class MemoryTest:
    """Whether the log contradicts one memory."""

    memory: Memory
    longer: Memory  # it was compared with
    as_telling: int  # of `draws` other orders
    draws: int
    returns: float  # logged return minus the model's, in standard errors
    persistence: float  # of surprises, in standard errors

    @property
    def by_order(self) -> bool:
        return self.draws > 0 and self.as_telling <= ALLOWED

    @property
    def by_returns(self) -> bool:
        return abs(self.returns) > APART

    @property
    def by_persistence(self) -> bool:
        return self.persistence > LASTING

    @property
    def rejected(self) -> bool:
        """Does the log contradict the memory?"""
        return self.by_order or self.by_returns or self.by_persistence

    @property
    def reasons(self) -> tuple[str, ...]:
        """What contradicts it, in words."""
        found = []
        if self.by_order:
            found.append(
                f"what follows also depends on what a {self.longer} knows "
                f"({self.as_telling} of {self.draws} other orders of the steps are as telling)"
            )
        if self.by_returns:
            found.append(
                f"logged returns lie {abs(self.returns):.1f} standard errors "
                f"{'above' if self.returns > 0 else 'below'} what single steps add up to"
            )
        if self.by_persistence:
            found.append(
                f"luck lasts: after steps that went better than expected, more of them follow "
                f"({self.persistence:.1f} standard errors)"
            )
        return tuple(found)


def memory_test(board: Board, number: int, rng: np.random.Generator) -> MemoryTest:
    """Test memory `number` of a board; the next longer one serves the comparison."""
    memory, longer = board.memories[number], board.memories[number + 1]
    as_telling, draws = _orders(board, memory, longer, rng)
    returns, persistence = _surprises(board, memory)
    return MemoryTest(memory, longer, as_telling, draws, returns, persistence)


def _orders(
    board: Board, memory: Memory, longer: Memory, rng: np.random.Generator
) -> tuple[int, int]:
    """How many other orders are as telling as the log, and how many were drawn."""
    log, finer = board.log, board.replay.onto(longer)
    if log.n_steps > MOST_STEPS:
        keep = max(1, round(len(log) * MOST_STEPS / log.n_steps))
        finer = finer.part(np.sort(rng.permutation(len(log))[:keep]))
    steps = cut_into_steps(finer.onto(memory), finer, rewards=True)
    G = steps.as_logged()[0].statistic()
    if G <= 1e-9:
        return DRAWS, DRAWS  # nothing differs, so nothing can be told
    found = drawn = 0
    for other in steps.shuffles(DRAWS, rng):
        drawn += 1
        found += steps.tally(other).statistic() >= G - 1e-9 * max(1.0, G)
        if found > ALLOWED:
            break
    return found, drawn


def _surprises(board: Board, memory: Memory) -> tuple[float, float]:
    """Standard errors of the two sums U of a memory."""
    log, everybody = board.log, np.arange(len(board.log))
    fitted = FittedWeights(board, board.replay.counts, everybody, memory, None)
    values = fitted.values(board.behavior_rows)
    steps = steps_of(board, everybody)
    h, a = board.replay.at[steps], log.action[steps]
    record = np.repeat(everybody, board.length)
    follows = np.where(np.append(np.diff(record), 1) == 0, np.append(h[1:], 0), board.after[record])
    later = np.where(follows == ENDED, 0.0, values.v[np.maximum(follows, 0)])
    # V̂ at the next step, and Q̂ as its mean: what pairs were never seen for plays no part
    cell = fitted.at[h] * len(log.actions) + a
    n = np.maximum(np.bincount(cell, minlength=fitted.mdp.visits.size), 1)
    gained = log.reward[steps] + board.discount * later
    surprise = gained - (sum_by(cell, gained, len(n)) / n)[cell]
    age = np.arange(len(steps)) - np.repeat(np.cumsum(board.length) - board.length, board.length)

    def errors(e: Floats) -> float:
        e = e - (sum_by(cell, e, len(n)) / n)[cell]
        U = sum_by(record, e * surprise, len(everybody))
        spread = math.sqrt(float((U**2).sum()))
        scale = 1e-9 * float(np.abs(e).sum()) * float(np.abs(gained).max(initial=0.0))
        return float(U.sum()) / spread if spread > scale / math.sqrt(max(1, len(U))) else 0.0

    in_the_long_run: Floats = np.power(board.discount, age, dtype=np.float64)
    from jumar.algorithms.long_records.loops import discounted_before

    lasting = discounted_before(surprise, board.length, board.discount)
    return errors(in_the_long_run), errors(lasting)
