"""Are there episodes twice?

A file that was joined with itself, or an export that overlaps the last one, repeats episodes step
for step, and everything learned from them counts double. Short episodes repeat by chance, and long
ones where little ever happens. How many repeats chance gives is estimated from the log: an episode
like the i-th has about the probability

    P(i) = P(its length and end) P(first observation) Π n(x, a, o) / n(x)

over its steps, with o the next observation, so that one of the i before it is equal with
probability 1 - (1 - P(i))^i. The length has a law of its own, as recordings are often cut at a
fixed one. As x does not hold all that matters, this can be too little. So long repeats are only
worth a look when there are several times as many, and when they are not few among the episodes that
begin like an earlier one: by chance, most of these part later.

Short ones tell by how *evenly* they come. If episodes are independent, whatever their law, the
number of times m_g that record g comes is nearly Poisson with a mean λ_g, so that

    M_k = Σ_g m_g (m_g - 1) ... (m_g - k + 1),   E M_k = Σ_g λ_g^k,   E M_1 · E M_3 >= (E M_2)²

by Cauchy and Schwarz, with equality where all records are equally likely. There, with
λ = M_2 / M_1, the difference M_2²/M_1 - M_3 has the standard deviation √(2 λ² (λ + 3) M_1). Records
that were copied come too evenly: of 60 that stand there five times each this is 3.3 standard
deviations. No law of rewards has to be estimated for that. Where records that differ mostly pay
the same, a schedule that was kept may be as even, so nothing is said.

Episodes are compared by a 64-bit number computed from all of their steps, and those that agree
then step by step, so that no chance agreement of numbers is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, number_rows
from jumar.core.text import Detail, TextTable, shown
from jumar.evidence.checking.base import NAMED, PLACE, Finding, Question, Section, look, passed
from jumar.evidence.marks import marks_of_steps
from jumar.log.episodes import Episodes
from jumar.tally.replay import Replay

LONG = 10  # steps from which a repeat is worth a look
TIMES = 4  # more than chance gives, for a look
UNLIKE = 0.5  # of the records that differ, the share that must pay differently, too
PARTING = 10  # for one repeat so many episodes may begin alike, and it is still worth a look


@dataclass(frozen=True)
class Repeat:
    """An episode and the earlier one it repeats."""

    where: str  # its first step
    earlier: str  # the first step of the other
    steps: int


@dataclass(frozen=True)
class Repeats(Section):
    """Episodes that are in the log more than once."""

    episodes: int
    repeated: int  # episodes equal to an earlier one
    by_chance: float  # how many chance alone would give, about
    long: int  # repeats of at least LONG steps
    long_by_chance: float  # the same for these
    alike: int  # episodes whose first LONG steps are those of an earlier one
    evenness_p: float | None  # of records that come as evenly; None where that tells nothing
    examples: tuple[Repeat, ...]  # the first long ones
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        if self.examples:
            yield TextTable(
                ["episode from", "is the one from", "steps"],
                [
                    [shown(r.where, PLACE), shown(r.earlier, PLACE), f"{r.steps}"]
                    for r in self.examples
                ],
                f"The first {len(self.examples)} of {self.long:,} long repeats",
            )


def repeats_of(replay: Replay, level: float) -> Repeats:
    """Find the episodes that repeat an earlier one step for step."""
    log = replay.log
    later, earlier = repeated_episodes(log)
    long = np.flatnonzero(log.lengths[later] >= LONG)
    examples = tuple(
        Repeat(
            log.where(int(log.start[later[i]])),
            log.where(int(log.start[earlier[i]])),
            int(log.lengths[later[i]]),
        )
        for i in long[:NAMED]
    )
    chance = _by_chance(replay)
    by_chance, long_by_chance = float(chance.sum()), float(chance[log.lengths >= LONG].sum())
    alike, even = _begin_alike(log), _evenness(log)
    return Repeats(
        episodes=len(log),
        repeated=len(later),
        by_chance=by_chance,
        long=len(long),
        long_by_chance=long_by_chance,
        alike=alike,
        evenness_p=even,
        examples=examples,
        verdict=_verdict(len(later), by_chance, len(long), long_by_chance, alike, even, level),
    )


def _by_chance(replay: Replay) -> Floats:
    """(E,) about how likely each episode is to equal an earlier one, if all were drawn afresh."""
    log = replay.log
    last = np.zeros(log.n_steps, np.bool_)
    last[log.last] = True
    _, cell = replay.cells
    pair = replay.pair
    # after the last step comes the end of the episode, which its length accounts for
    times = np.where(last, _alike(pair, last), _alike(cell, ~last))
    visits = np.where(last, _alike(replay.at, last), _alike(replay.at, ~last))
    log_p = np.add.reduceat(np.log(times / visits), log.start[:-1])
    every = np.ones(len(log), np.bool_)
    for shared in (_shapes(log), log.observation[log.start[:-1]]):
        log_p += np.log(_alike(shared, every) / len(log))
    p = np.minimum(np.exp(log_p), 1 - 1e-12)
    chance: Floats = -np.expm1(np.arange(len(log)) * np.log1p(-p))
    return chance


def _alike(value: Ints, counted: Bools) -> Ints:
    """How many of the counted ones have the same value, for each of all."""
    found: Ints = np.bincount(value[counted], minlength=int(value.max()) + 1)[value]
    return found


def _shapes(log: Episodes) -> Ints:
    """(E,) the same number for episodes of the same length and the same kind of end."""
    ends = [log.final_observation + 1, log.terminated.astype(np.int64)]
    return number_rows(np.column_stack([log.lengths, *ends]))[1]


def repeated_episodes(log: Episodes) -> tuple[Ints, Ints]:
    """The episodes that repeat an earlier one, and the first one each of them repeats.

    >>> log = Episodes(("z",), ("a", "b"), [0] * 5, [0, 1, 0, 0, 1], [1.0] * 5,
    ...                [0, 2, 3, 5], [-1] * 3, [True] * 3)
    >>> later, earlier = repeated_episodes(log)
    >>> later.tolist(), earlier.tolist()
    ([2], [0])
    """
    group = _groups(log)
    first = np.full(int(group.max()) + 1, len(log))
    np.minimum.at(first, group, np.arange(len(log)))
    later = np.flatnonzero(first[group] < np.arange(len(log)))
    earlier = first[group[later]]
    same = _same_steps(log, later, earlier)
    return later[same], earlier[same]


def _groups(log: Episodes) -> Ints:
    """(E,) the same number for episodes that are alike step for step."""
    return number_rows(np.column_stack([_shapes(log), _marks(log)]))[1]


def _evenness(log: Episodes) -> float | None:
    """p of records that come as evenly; None where records mostly pay the same."""
    group = _groups(log)
    first = np.unique(group, return_index=True)[1]
    plain = replace(log, observation=log.observation * 0, action=log.action * 0)
    if len(np.unique(_marks(plain)[first])) < UNLIKE * len(first):
        return None
    return too_even(np.bincount(group))


def too_even(times: Ints) -> float:
    """p of records that come so evenly (`times` each), if they come independently.

    >>> rng = np.random.default_rng(1)
    >>> too_even(rng.poisson(5, 60)) > 0.1, too_even(np.full(60, 5)) < 0.001
    (True, True)
    """
    from scipy.special import ndtr

    m = times.astype(np.float64)
    m1, m2, m3 = (float(x.sum()) for x in (m, m * (m - 1), m * (m - 1) * (m - 2)))
    mean = m2 / m1
    if mean == 0:
        return 1.0
    return float(ndtr((m3 - m2 * mean) / np.sqrt(2 * mean**2 * (mean + 3) * m1)))


def _begin_alike(log: Episodes) -> int:
    """How many episodes have their first LONG steps from an earlier one."""
    begun = _marks(log, LONG)[log.lengths >= LONG]
    return len(begun) - len(np.unique(begun))


def _marks(log: Episodes, most: int | None = None) -> Ints:
    """(E,) a non-negative number for what was seen, done and paid in each episode, in order; in its
    first `most` steps only, if these are given."""
    mixed = marks_of_steps(log)
    if most is not None:
        turn = np.arange(log.n_steps) - np.repeat(log.start[:-1], log.lengths)
        mixed[turn >= most] = 0
    sums = np.add.reduceat(mixed, log.start[:-1])
    return (sums >> np.uint64(1)).astype(np.int64)


def _same_steps(log: Episodes, later: Ints, earlier: Ints) -> Bools:
    """(K,) whether these pairs of episodes, of the same length, agree in every step."""
    if len(later) == 0:
        return np.zeros(0, np.bool_)
    lengths = log.lengths[later]
    begin = np.cumsum(lengths) - lengths
    turn = np.arange(lengths.sum()) - np.repeat(begin, lengths)
    one = np.repeat(log.start[later], lengths) + turn
    other = np.repeat(log.start[earlier], lengths) + turn
    agree = np.ones(len(turn), np.bool_)
    for column in (log.observation, log.action, log.reward):
        agree &= column[one] == column[other]
    found: Bools = np.logical_and.reduceat(agree, begin)
    return found


def _verdict(
    repeated: int,
    by_chance: float,
    long: int,
    long_by_chance: float,
    alike: int,
    even: float | None,
    level: float,
) -> Finding:
    from scipy.special import pdtrc  # scipy.stats takes a second to load

    if not repeated:
        return passed("No episode repeats an earlier one.")
    many = long > TIMES * long_by_chance and PARTING * long > alike
    if many and pdtrc(long - 1, long_by_chance) <= level:
        return look(
            f"{_episodes(long)} an earlier one over {LONG} or more steps, where chance would give "
            f"about {_about(long_by_chance)}. The log seems to hold the same recording twice; "
            "remove one.",
        )
    if even is not None and even <= level:
        return look(
            f"{_episodes(repeated)} an earlier one, to the last digit of every reward, and more "
            f"evenly than chance repeats them (p = {even:.2g}). The log seems to hold the same "
            "recordings several times; remove the copies.",
        )
    rest = "" if long else f", none of them over {LONG} or more steps"
    return passed(
        f"{_episodes(repeated)} an earlier one{rest}; short ones do so by chance (about "
        f"{_about(by_chance)} of them).",
    )


def _about(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _episodes(count: int) -> str:
    return "1 episode repeats" if count == 1 else f"{count:,} episodes repeat"


ENTRY = Question(
    "Are there episodes twice?",
    lambda subject, rng: repeats_of(subject.replay, subject.settings.level),
)
