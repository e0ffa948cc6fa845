"""Does every episode tell something new? Clusters of episodes, and episodes that are there twice.

**Clusters.** Episodes of one person, plant or machine tell less than as many independent ones, if
they resemble each other. With E episodes in K clusters of sizes m_k, returns y, and mean squares
between and within clusters,

    MSB = Σ m_k (ȳ_k - ȳ)² / (K - 1),    MSW = Σ (y - ȳ_k)² / (E - K),
    ICC = (MSB - MSW) / (MSB + (m₀ - 1) MSW),    m₀ = (E - Σ m_k² / E) / (K - 1)

is the intraclass correlation: the share of the spread of returns that is one between clusters. The
mean return then varies as if there were E / (1 + (m - 1) ICC) independent episodes, m = Σ m_k² / E
being the mean size of the cluster of an episode. The divisor is the *design effect*.

The test compares Σ m_k (ȳ_k - ȳ)² with what it is when episodes are shuffled over the clusters. Its
p-value is exact where clusters mean nothing.

A log without clusters may show some in the labels of its episodes: those that a gap has split
("17", "17 (2)"), and those that begin alike. They are only mentioned where they matter.

**Repeats.** A file that was joined with itself, or an export that overlaps the last one, repeats
episodes step for step, and everything learned from them counts double. Short episodes repeat by
chance, and long ones where little ever happens. How many repeats chance gives is estimated from the
log: an episode like the i-th has about the probability

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
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, number_rows, sum_by
from jumar.core.text import shown
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import (
    NAMED,
    Columns,
    Finding,
    Question,
    Row,
    Section,
    look,
    passed,
    table,
    where,
)
from jumar.evidence.doubts import marks_of_steps
from jumar.log.episodes import Episodes
from jumar.tally.replay import Replay

FEW = 20  # clusters below which no interval that counts on many of them should be trusted
_PART = re.compile(r"^(.+) \(\d+\)$")  # as episodes are called that a gap has split
_STEM = re.compile(r"^(.+)[-_/:.# ][^-_/:.# ]+$")

LONG = 10  # steps from which a repeat is worth a look
TIMES = 4  # more than chance gives, for a look
UNLIKE = 0.5  # of the records that differ, the share that must pay differently, too
PARTING = 10  # for one repeat so many episodes may begin alike, and it is still worth a look

# ---- clusters -----------------------------------------------------------------------------------


def check_clusters(
    log: Episodes, discount: float, settings: Settings, rng: np.random.Generator
) -> Section | None:
    """Test whether episodes of one cluster are alike; None where nothing hints at clusters."""
    of, guessed = (log.cluster.present[1], "") if log.cluster else _guess(log)
    if of is None:
        return None
    y, m = log.returns(discount), np.bincount(of)
    E, K, rho = len(y), len(m), correlation_of(y, of)
    facts: dict[str, Any] = {
        "named": not guessed,  # the log names them; else they are guessed from labels
        "clusters": K,
        "episodes": E,
        "largest": int(m.max()),
        "discount": discount,
        "correlation": rho,
        "p": None,
        "resamples": 0,
        "design_effect": None,
    }
    if K == 1:
        verdict = look(
            "All episodes belong to one cluster. Nothing in this log is independent of the rest, "
            "so no estimate has an error that can be told.",
        )
    elif rho is None:
        why = "every cluster has one episode" if K == E else "all returns are equal"
        verdict = passed(f"There is nothing to compare: {why}.")
    else:
        size = float((m**2).sum()) / E
        p, B = _shuffle(y / np.abs(y).max(), of, settings, rng)
        effect = max(1.0, 1 + (size - 1) * rho)
        facts |= {"p": p, "resamples": B, "design_effect": effect}
        verdict = _clusters_verdict(facts, size, p <= settings.level and rho > 0, guessed)
    if guessed and verdict.status != "look":
        return None
    return Section(verdict, facts)


def _clusters_verdict(found: Row, size: float, alike: bool, guessed: str) -> Finding:
    E, K, effect = found["episodes"], found["clusters"], found["design_effect"]
    said = f"intraclass correlation {found['correlation']:.2g} (p = {found['p']:.2g})"
    if not alike and (guessed or K >= FEW):
        return passed(f"No sign that episodes of one cluster are alike: {said}.")
    if not alike:
        return look(
            f"There are only {K} clusters. Clusters are what is independent, and with so few the "
            f"error of an estimate is itself poorly known ({said}).",
        )
    worth = (
        f"For the mean return, {E:,} episodes tell as much as about {E / effect:,.0f} independent "
        f"ones (design effect 1 + (m - 1) · ICC = {effect:.3g}, m = {size:.3g} episodes)."
    )
    if guessed:
        return look(
            f"Episodes whose labels begin alike, such as {guessed}, have similar returns: {said}. "
            f"{worth} If they are of one person, plant or machine, name the column that says so: "
            "--columns cluster=...",
        )
    return look(
        f"Episodes of one cluster are alike: {said}. {worth} Intervals that count whole "
        "clusters allow for that; those that count episodes are too short.",
    )


def correlation_of(returns: Floats, of: Ints) -> float | None:
    """The intraclass correlation; None without spread, or without two episodes in a cluster.

    >>> correlation_of(np.array([1.0, 1.0, 5.0, 5.0]), np.array([0, 0, 1, 1]))
    1.0
    >>> correlation_of(np.array([1.0, 5.0, 1.0, 5.0]), np.array([0, 0, 1, 1]))
    -1.0
    """
    m = np.bincount(of).astype(np.float64)
    E, K = len(returns), len(m)
    size = float(np.abs(returns).max())
    if not 1 < K < E or np.ptp(returns) <= 1e-12 * size:
        return None
    y = (returns - returns.mean()) / size  # squares of huge ones are no numbers
    between = float((sum_by(of, y, K) ** 2 / m).sum())
    within = max(0.0, float((y**2).sum()) - between)
    msb, msw = between / (K - 1), within / (E - K)
    typical = (E - float((m**2).sum()) / E) / (K - 1)
    return (msb - msw) / (msb + (typical - 1) * msw)


def _shuffle(
    y: Floats, of: Ints, settings: Settings, rng: np.random.Generator
) -> tuple[float, int]:
    K = int(of.max()) + 1
    m, y = np.bincount(of, minlength=K), y - y.mean()

    def between(values: Floats) -> float:
        return float((sum_by(of, values, K) ** 2 / m).sum())

    B = settings.draws(20 * len(y))
    drawn = np.array([between(rng.permutation(y)) for _ in range(B)])
    # in units of all spread, so that equal up to rounding is told in any unit
    total = float((y**2).sum())
    return p_value(between(y) / total, drawn / total), B


def _guess(log: Episodes) -> tuple[Ints | None, str]:
    """Clusters that the labels of episodes hint at, and an example of two labels."""
    labels = [str(label) for label in log.origin.label] if log.origin else []
    for pattern in (_PART, _STEM):
        stems = [found[1] if (found := pattern.match(label)) else label for label in labels]
        number = {stem: i for i, stem in enumerate(dict.fromkeys(stems))}
        if not 1 < len(number) <= (len(labels) - 1 if pattern is _PART else len(labels) // 2):
            continue
        of = np.array([number[stem] for stem in stems], np.int64)
        first = int(np.argmax(np.bincount(of) > 1))
        one, two = np.flatnonzero(of == first)[:2].tolist()
        return of, f"{shown(labels[one])!r} and {shown(labels[two])!r}"
    return None, ""


# ---- repeats ------------------------------------------------------------------------------------


def check_repeats(replay: Replay, level: float) -> Section:
    """Find the episodes that repeat an earlier one step for step."""
    log = replay.log
    later, earlier = repeated_episodes(log)
    is_long, begin = log.lengths[later] >= LONG, log.start.tolist()
    pairs = np.column_stack([later, earlier])[is_long][:NAMED].tolist()
    examples = [
        {"where": log.where(begin[e]), "earlier": log.where(begin[o]), "steps": int(log.lengths[e])}
        for e, o in pairs
    ]
    chance = _by_chance(replay)
    facts = {
        "episodes": len(log),
        "repeated": len(later),  # episodes equal to an earlier one
        "by_chance": float(chance.sum()),  # how many chance alone would give, about
        "long": int(is_long.sum()),  # repeats of at least LONG steps
        "long_by_chance": float(chance[log.lengths >= LONG].sum()),
        "alike": _begin_alike(log),  # episodes whose first LONG steps are those of an earlier one
        "evenness_p": _evenness(log),  # None where that tells nothing
        "examples": examples,  # the first long ones
    }
    heads: Columns = {
        "episode from": where,
        "is the one from": lambda row: where({"where": row["earlier"]}),
        "steps": "steps",
    }
    title = f"The first {len(examples)} of {facts['long']:,} long repeats"
    return Section(_repeats_verdict(facts, level), facts, table(examples, heads, title))


def _by_chance(replay: Replay) -> Floats:
    """(E,) about how likely each episode is to equal an earlier one, if all were drawn afresh."""
    log = replay.log
    last = np.zeros(log.n_steps, np.bool_)
    last[log.last] = True
    # after the last step comes the end of the episode, which its length accounts for
    times = np.where(last, _alike(replay.pair, last), _alike(replay.cells[1], ~last))
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
    """The episodes that repeat an earlier one step for step, by 63-bit marks, and the first one
    each of them repeats.

    >>> log = Episodes(("z",), ("a", "b"), [0] * 5, [0, 1, 0, 0, 1], [1.0] * 5,
    ...                [0, 2, 3, 5], [-1] * 3, [True] * 3)
    >>> later, earlier = repeated_episodes(log)
    >>> later.tolist(), earlier.tolist()
    ([2], [0])
    """
    group, first = _groups(log)
    later = np.flatnonzero(first[group] < np.arange(len(log)))
    return later, first[group[later]]


def _groups(log: Episodes) -> tuple[Ints, Ints]:
    """(E,) the same number for episodes that are alike step for step; and the first of each."""
    group = number_rows(np.column_stack([_shapes(log), _marks(log)]))[1]
    return group, np.unique(group, return_index=True)[1]


def _evenness(log: Episodes) -> float | None:
    """p of records that come as evenly; None where records mostly pay the same."""
    group, first = _groups(log)
    only_paid = replace(log, observation=log.observation * 0, action=log.action * 0)
    if len(np.unique(_marks(only_paid)[first])) < UNLIKE * len(first):
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


def _repeats_verdict(found: Row, level: float) -> Finding:
    from scipy.special import pdtrc  # scipy.stats takes a second to load

    repeated, long, even = found["repeated"], found["long"], found["evenness_p"]
    if not repeated:
        return passed("No episode repeats an earlier one.")
    by_chance = found["long_by_chance"]
    many = long > TIMES * by_chance and PARTING * long > found["alike"]
    if many and pdtrc(long - 1, by_chance) <= level:
        return look(
            f"Repeats of an earlier episode over {LONG} or more steps: {long:,}, where chance "
            f"would give about {_about(by_chance)}. The log seems to hold the same recording "
            "twice; remove one."
        )
    if even is not None and even <= level:
        return look(
            f"Repeats of an earlier episode, to the last digit of every reward: {repeated:,}, "
            f"more evenly than chance brings them about (p = {even:.2g}). The log seems to hold "
            "the same recordings several times; remove the copies."
        )
    return passed(
        f"Repeats of an earlier episode: {repeated:,}, of which {long:,} over {LONG} or more "
        f"steps. Short ones come by chance (about {_about(found['by_chance'])})."
    )


def _about(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


CLUSTERS = Question(
    "Are episodes of one cluster alike?",
    lambda subject, rng: check_clusters(
        subject.log, 1.0 if subject.discount is None else subject.discount, subject.settings, rng
    ),
)
REPEATS = Question(
    "Are there episodes twice?",
    lambda subject, rng: check_repeats(subject.replay, subject.settings.level),
)
