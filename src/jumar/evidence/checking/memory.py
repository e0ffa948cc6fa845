"""Is the memory of the policy the one of the log, and does it suffice? Three questions.

*Logged nodes.* Replaying a memory tells the node at every step. A log that also names nodes is a
second opinion. Where the two differ, the log was made by another controller, or an episode does not
begin where its first row says.

*An estimated policy* fits its own log by construction: in every history x it does what was done
there. What can be asked is whether x is all that the actions depended on. With y the history under
a longer memory, of which x is a part,

    G = 2 Σ n(y, a) log( n(y, a) n(x) / (n(y) n(x, a)) )

is what the longer memory explains beyond the shorter. If actions depend on x alone, those taken in
x fall on its y as cards are dealt: G is compared with deals that keep every n(y) and n(x, a), drawn
one y and one action at a time from hypergeometric laws. Where there are many actions that takes
long, and the cards are shuffled one by one; the law is the same. A rejection means that the
behavior remembers more than the estimate, so that action and hidden state may be confounded.

*What follows* may ask for more. The behavior's memory is tested against one that knows an
observation more, then that one, and so on, until a test does not reject (`evidence.order`). A
memory that is too short does not spoil the log; it spoils what is learned with that memory. So this
is worth a look, no failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.errors import LogError
from jumar.core.plain import picked
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import (
    Columns,
    Question,
    Section,
    by_episode,
    failed,
    look,
    passed,
    table,
)
from jumar.evidence.consistency import check_nodes
from jumar.evidence.order import order_tests, suggested, with_interval
from jumar.evidence.practice import Practice
from jumar.evidence.steps import x_log_x
from jumar.memory import Memory
from jumar.memory.refinement import one_more
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay, Replays

MANY = 50  # actions, from which on cards are dealt one by one
SAME = "statistic p resamples rejected decided effect interval reward_effect reward_interval"
LONGEST_MEMORY = "There is no longer memory to compare this one with."

# ---- logged nodes -------------------------------------------------------------------------------


def check_logged_nodes(practice: Practice) -> Section | None:
    """Compare the nodes a log names with the memory of the controller that made the episode; None
    if it names none."""
    node = practice.log.node
    if node is None:
        return None
    steps = int((node.code >= 0).sum())
    try:
        compared = [
            check_nodes(practice.replays, controller, practice.made_by == k)
            for k, controller in enumerate(practice.controllers)
        ]
    except LogError as error:
        return Section(failed(str(error)), {"steps": steps})
    verdict = passed(f"Every logged memory node is that of this policy ({steps:,} in all).")
    if not compared or not all(compared):
        verdict = look(
            f"The log names memory nodes, but a {practice.memory} has no named ones to compare "
            "them with."
        )
    return Section(verdict, {"steps": steps})


# ---- a longer memory of an estimated policy -----------------------------------------------------


def check_longer(
    replays: Replays, memory: Memory, settings: Settings, rng: np.random.Generator
) -> Section:
    """Test whether one more moment of memory explains the actions of a log better."""
    fine = one_more(memory)
    facts = {"memory": str(memory), "longer": None, "statistic": 0.0, "p": 1.0, "resamples": 0}
    if fine is None:
        return Section(look(LONGEST_MEMORY), {**facts, "decided": 0})
    finer = replays.over(fine)  # first: the other is then a projection of it
    coarse = replays.over(memory)
    deal = deal_of(coarse, finer)
    G, B = deal.statistic(deal.taken), settings.draws(deal.work)
    p = p_value(G, np.array(list(deal.statistics(B, rng))))
    facts |= {"longer": str(fine), "statistic": G, "p": p, "resamples": B}
    facts["decided"] = int(deal.taken.sum())  # steps that can tell
    if not ((coarse.taken > 0).sum(1) > 1).any():
        verdict = passed(
            "It fits by construction, and in each situation the same was done every time: nothing "
            "is left for a longer memory to explain."
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
            f"(p = {p:.2g}): whoever acted remembered more, and the actions may depend on "
            f"something hidden. Estimate with a longer window.{by_episode(replays.log)}"
        )
    else:
        verdict = passed(
            f"It fits by construction, and a {fine} would not explain the actions better "
            f"(p = {p:.2g}).{by_episode(replays.log)}"
        )
    return Section(verdict, facts)


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
        deal = self.shuffles if self.many_actions else self.draws
        return map(self.statistic, deal(times, rng))

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


# ---- what follows -------------------------------------------------------------------------------


def check_order(
    replays: Replays, behavior: Controller, settings: Settings, rng: np.random.Generator
) -> Section:
    """Test the memory of the behavior, then longer ones, until one is enough."""
    memory = behavior.memory
    if one_more(memory) is None:
        facts = {"tests": [], "suggested": str(memory), "enough": False}
        return Section(look(LONGEST_MEMORY), facts)
    found = order_tests(
        replays, behavior, seed=rng, resamples=settings.resamples, level=settings.level
    )
    wanted, enough = str(suggested(found)), not found[-1].rejected
    said, independent = found[0].sentence, by_episode(replays.log) if found[0].decided else ""
    verdict = passed(f"{said}{independent}")
    if found[0].rejected:
        least = "Learn with" if enough else "No tested memory is enough; learn with at least"
        verdict = look(f"{said} {least} a {wanted}.{independent}")
    tests = [
        {"memory": str(test.base), "finer": str(test.finer), **picked(test, SAME)} for test in found
    ]
    heads: Columns = {
        "memory": "memory",
        "enough?": lambda row: "no" if row["rejected"] else "no sign against",
        "p": lambda row: f"{row['p']:.2g}",
        "chances off by": lambda row: with_interval(row["effect"], row["interval"]),
        "reward off by": lambda row: with_interval(row["reward_effect"], row["reward_interval"]),
    }
    title = "Each memory against the one that knows an observation more (95% intervals)"
    facts = {"tests": tests, "suggested": wanted, "enough": enough}
    return Section(verdict, facts, table(tests, heads, title, right=3))


NODES = Question(
    "Does the logged memory agree with the policy's?",
    lambda subject, rng: check_logged_nodes(subject.practice),
)
LONGER = Question(
    "Does the estimated policy remember enough?",
    lambda subject, rng: (
        check_longer(subject.replays, subject.behavior.memory, subject.settings, rng)
        if subject.estimated
        else None
    ),
    stream="actions",
)
ORDER = Question(
    "How much memory does what follows ask for?",
    lambda subject, rng: check_order(subject.replays, subject.behavior, subject.settings, rng),
)
