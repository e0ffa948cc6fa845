"""Would a longer memory explain the actions better?

An estimated behavior fits its own log by construction: in every history x it does what was done
there. What can be asked is whether x is all that the actions depended on. With y the history under
a longer memory, of which x is a part,

    G = 2 Σ n(y, a) log( n(y, a) n(x) / (n(y) n(x, a)) )

is what the longer memory explains beyond the shorter. If actions depend on x alone, those taken in
x fall on its y as cards are dealt: G is compared with deals that keep every n(y) and n(x, a), drawn
one y and one action at a time from hypergeometric laws. Where there are many actions that takes
long, and the cards are shuffled one by one; the law is the same. A rejection means that the
behavior remembers more than the estimate, so that action and hidden state may be confounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.text import Detail, Facts
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import (
    Finding,
    Question,
    Section,
    Subject,
    by_episode,
    look,
    passed,
)
from jumar.evidence.order.steps import x_log_x
from jumar.memory import Memory
from jumar.memory.refinement import one_more
from jumar.tally.replay import Replay, Replays

MANY = 50  # actions, from which on cards are dealt one by one


@dataclass(frozen=True)
class Longer(Section):
    """Whether an estimated behavior has too little memory."""

    memory: str
    longer: str | None  # what it was compared with; None where there is nothing longer
    statistic: float
    p: float
    resamples: int
    decided: int  # steps in histories where the longer memory could tell something
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        if self.longer is not None:
            test = f"G = {self.statistic:.4g}, p = {self.p:.3g} from {self.resamples:,} shuffles"
            yield Facts(
                [
                    ("memory", f"{self.memory}, compared with {self.longer}"),
                    ("likelihood", f"{test}; {self.decided:,} steps can tell"),
                ]
            )


def longer_memory(
    replays: Replays, memory: Memory, settings: Settings, rng: np.random.Generator
) -> Longer:
    """Test whether one more moment of memory explains the actions of a log better."""
    fine = one_more(memory)
    if fine is None:
        verdict = look("There is no longer memory to compare this one with.")
        return Longer(str(memory), None, 0.0, 1.0, 0, 0, verdict)
    finer = replays.over(fine)  # first: the other is then a projection of it
    coarse = replays.over(memory)
    deal = deal_of(coarse, finer)
    G = deal.statistic(deal.taken)
    B = settings.draws(deal.work)
    drawn = np.array(list(deal.statistics(B, rng)))
    p = p_value(G, drawn)
    if not ((coarse.taken > 0).sum(1) > 1).any():
        verdict = passed(
            "It fits by construction, and in each situation the same was done every time: nothing "
            "is left for a longer memory to explain.",
        )
    elif (replays.log.lengths == 1).all():
        verdict = passed("Every episode has one step: there is nothing to remember.")
    elif deal.taken.size == 0:
        verdict = look(
            "No situation came up often enough, with different actions, to test its memory."
        )
    elif p <= settings.level:
        verdict = look(
            f"It fits by construction, but a {fine} explains the actions better "
            f"(p = {p:.2g}): whoever acted remembered more, and what was done may depend on what "
            f"cannot be seen. Estimate with a longer window.{by_episode(replays.log)}",
        )
    else:
        verdict = passed(
            f"It fits by construction, and a {fine} would not explain the actions better "
            f"(p = {p:.2g}).{by_episode(replays.log)}",
        )
    steps = int(deal.taken.sum())
    return Longer(str(memory), str(fine), G, p, B, steps, verdict)


@dataclass(frozen=True, eq=False)
class Deal:
    """Actions dealt over the histories of a longer memory. Y of these, X coarse ones."""

    taken: Ints  # (Y, A) actions of each y; those of one x stand together
    x: Ints  # (Y,) ascending
    margin: Ints  # (X, A) actions of each x

    @property
    def many_actions(self) -> bool:
        return bool(self.taken.shape[1] > MANY)

    @property
    def work(self) -> float:
        """What one deal costs."""
        # a hypergeometric draw is dear, and so is sorting
        return 10.0 * (self.taken.sum() if self.many_actions else self.taken.size)

    def statistic(self, counts: Ints) -> float:
        """G for a deal with the same margins; its counts in any shape."""
        visits = self.taken.sum(1)
        within = x_log_x(counts).sum() - x_log_x(visits).sum()
        across = x_log_x(self.margin).sum() - x_log_x(self.margin.sum(1)).sum()
        return float(max(0.0, 2 * (within - across)))

    def statistics(self, times: int, rng: np.random.Generator) -> Iterator[float]:
        """G of deals at random."""
        if self.many_actions:
            return (self.statistic(counts) for counts in self.shuffles(times, rng))
        return (self.statistic(counts) for counts in self.draws(times, rng))

    def shuffles(self, times: int, rng: np.random.Generator) -> Iterator[Ints]:
        """The counts above 0 of deals as in `draws`, card by card."""
        X, A = self.margin.shape
        card = np.repeat(np.tile(np.arange(A), X), self.margin.ravel())
        x = np.repeat(np.arange(X), self.margin.sum(1))
        y = np.repeat(np.arange(len(self.taken)), self.taken.sum(1))  # those of one x together
        for _ in range(times):
            dealt = card[np.lexsort((rng.random(len(card)), x))]
            yield np.unique(y * A + dealt, return_counts=True)[1]

    def draws(self, times: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Deals with the margins of the log, all equally likely as orders of the cards."""
        Y, A = self.taken.shape
        if Y == 0:
            return
        first = np.searchsorted(self.x, np.arange(len(self.margin)))
        turn = np.arange(Y) - first[self.x]  # every x deals to its first y, then its second, ...
        rounds = np.split(np.argsort(turn, kind="stable"), np.cumsum(np.bincount(turn))[:-1])
        visits = self.taken.sum(1)
        for _ in range(times):
            left, counts = self.margin.copy(), np.empty_like(self.taken)
            for ys in rounds:
                cards, hand = left[self.x[ys]], visits[ys].copy()
                for a in range(A):
                    others = cards[:, a + 1 :].sum(1)
                    got = rng.hypergeometric(cards[:, a], others, hand)
                    counts[ys, a] = got
                    hand -= got
                left[self.x[ys]] -= counts[ys]
            yield counts


def deal_of(coarse: Replay, fine: Replay) -> Deal:
    """The table to be dealt; histories that cannot tell anything are left out."""
    taken = fine.taken
    acted = taken.any(1)
    x = fine.project(coarse.memory)[1]
    several = np.bincount(x[acted], minlength=len(coarse.states)) > 1
    tells = ((coarse.taken > 0).sum(1) > 1) & several
    kept = np.flatnonzero(acted & tells[x])
    order = kept[np.argsort(x[kept], kind="stable")]
    _, renumbered = np.unique(x[order], return_inverse=True)
    margin = np.zeros((int(tells.sum()), taken.shape[1]), np.int64)
    np.add.at(margin, renumbered, taken[order])
    return Deal(taken[order], renumbered, margin)


def _answer(subject: Subject, rng: np.random.Generator) -> Longer | None:
    """Only for a policy that was estimated."""
    if not subject.estimated:
        return None
    return longer_memory(subject.replays, subject.behavior.memory, subject.settings, rng)


ENTRY = Question("Does the estimated policy remember enough?", _answer, stream="actions")
