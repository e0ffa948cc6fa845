"""Is the process the same over the whole log?

Learning takes all episodes as draws of one process. Two tests look for time:

*The return.* Its least-squares slope over the number of the episode, with standard errors that
allow every episode a variance of its own (HC3), and Student's t.

A record that is cut off earlier has a smaller sum, whatever the process does. So where records are
cut off at different lengths, rewards are compared instead of returns, each only with those at the
same step t of other episodes: with x and y the number of the episode and the reward, less their
means over all records that reach step t, the slope is b = Σ x y / Σ x². If recordings stop for
reasons of their own, the reward at step t has the same mean in all records that get there, however
their lengths change along the file. The steps of an episode hang together, so the standard error is
the jackknife over episodes c, with Student's t for K of them,

    b_(c) - b = -(Σ_c x r + Σ_t X_t R_t / (n_t - m_t)) / (Σ x² - Σ_c x² - Σ_t X_t² / (n_t - m_t)),

where r = y - b x, and of the n_t values at step t c has m_t, with sums X_t of x and R_t of r. With
one step it is HC3.

Episodes of one person or machine are alike, and a file often goes person by person: then single
episodes would show a trend where people merely differ. So where the log names clusters, at least
FEWEST of them, the jackknife leaves out whole clusters c.

*What follows.* With n(x, a, o) counts of the outcome o (the next observation, or the end) after
(x, a), in the first half of the episodes and in the second,

    G = 2 Σ n_half(x, a, o) log( n_half(x, a, o) n(x, a) / (n_half(x, a) n(x, a, o)) ).

Its law is that of G when whole episodes are shuffled over the halves. If episodes are exchangeable
(nothing depends on when they were), the log is one of these shuffles and the p-value is exact,
however much the steps within an episode depend on each other. The shuffles are the same for every
log of a size: whoever asks about a log gets the same p-value. Records that are cut off at different
lengths are compared up to the step before which at most one in 20 was cut off: later steps are
only seen in long records, and what follows may depend on how old a thing is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.randomness import random_stream
from jumar.core.text import counted, percent, shown
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import (
    Columns,
    Finding,
    Question,
    Rows,
    Section,
    by_episode,
    failed,
    history_words,
    look,
    outcome_words,
    passed,
    table,
)
from jumar.evidence.steps import x_log_x
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.tally.replay import Replay

FEWEST = 10  # episodes: 252 ways to halve them; with fewer no p-value can be small. And clusters
SHUFFLES = 1  # seed of the shuffles
WORK = 1e8  # numbers to touch in all of them; some three seconds at most
BATCH = 4_000_000  # numbers of a batch of shuffles held at once
MOST_CELLS = 1_000_000  # outcomes of pairs that are compared
CHANGES = 5
SHORT = 0.05  # of the episodes may be cut off before the last step that is compared


@dataclass(frozen=True)
class Trend:
    """How the return, or the reward of a step, changes from episode to episode."""

    of: Literal["return", "reward"]  # the reward, where records are cut off at different lengths
    slope: float  # per 100 episodes
    low: float  # 95 % interval of it
    high: float
    p: float  # two-sided


def check_drift(
    replay: Replay, discount: float, level: float, made_by: Ints | None = None
) -> Section:
    """Test whether returns and outcomes depend on when an episode was. Of several behaviors
    (`made_by`, one number per episode) trends are sought within the episodes of each: what a new
    behavior changes is no drift of the process."""
    log = replay.log
    facts: dict[str, Any] = {
        "episodes": len(log),
        "discount": discount,  # of the returns
        "trend": None,  # with too few episodes
        "p": None,  # of the shuffles
        "steps": None,  # of an episode, up to which outcomes are compared; None: all of them
        "resamples": 0,
        "changes": [],  # where the halves differ most; none unless they do
    }
    if len(log) < FEWEST:
        few = f"{counted(len(log), 'episode')}: too few to tell whether anything changed over time."
        return Section(look(few), facts)
    trend = trend_in(log, discount, made_by)
    steps = None if records_alike(log) else _steps_compared(log)
    p, B, halves = _shuffle(replay, level, steps)
    facts |= {"trend": trend, "p": p, "steps": steps, "resamples": B}
    facts["changes"] = halves.changes() if p <= level else []
    independent = by_episode(log)
    if _units(log) is not None:  # the trend counts clusters; without shuffles no other test is left
        independent = by_episode(log, "The test of outcomes") if B else ""
    heads: Columns = {
        "situation": "situation",
        "action": "action",
        "then": "outcome",
        "first half": lambda row: percent(row["before"]),
        "second half": lambda row: percent(row["after"]),
    }
    changes = table(facts["changes"], heads, "What changed most", right=2)
    return Section(_verdict(trend, p, steps, level, independent), facts, changes)


def trend_in(log: Episodes, discount: float, made_by: Ints | None = None) -> Trend:
    """How the return changes over the episodes of a log; where records are cut off at different
    lengths, the reward of a step."""
    if records_alike(log):
        return trend_of(log.returns(discount), made_by=made_by, unit=_units(log))
    return trend_of(log.reward, log.start, made_by, _units(log))


def _units(log: Episodes) -> Ints | None:
    """The number of each episode's cluster; None where episodes are what is independent."""
    if log.cluster is None:
        return None
    names, of = log.cluster.present
    return of if FEWEST <= len(names) < len(log) else None


def records_alike(log: Episodes) -> bool:
    """Do all records go on for as long, or to their end?"""
    return bool((log.terminated | (log.lengths == log.lengths.max())).all())


def trend_of(
    values: Floats,
    start: Ints | None = None,
    made_by: Ints | None = None,
    unit: Ints | None = None,
) -> Trend:
    """The slope per 100 episodes of returns; with `start`, where each episode begins, of the reward
    at the same step. `made_by` and `unit` number the behavior and the cluster of each episode.

    >>> t = trend_of(np.array([0.0, 1.0, 1.0, 2.0]))
    >>> t.slope, t.low < 60 < t.high
    (60.0, True)
    >>> falls = trend_of(np.array([5.0, 1, 4, 0, 3]), np.array([0, 2, 4, 5]))
    >>> falls.of, falls.slope
    ('reward', -100.0)
    """
    from scipy.special import stdtr, stdtrit  # scipy.stats takes a second to load

    of: Literal["return", "reward"] = "return" if start is None else "reward"
    first = np.arange(len(values) + 1) if start is None else start
    episode = np.repeat(np.arange(len(first) - 1), np.diff(first))
    # a common slope within strata, in each of which an episode has at most one value
    stratum = np.arange(len(values)) - first[episode]
    if made_by is not None:
        stratum = stratum * (int(made_by.max()) + 1) + made_by[episode]
    E = int(episode[-1]) + 1
    size = float(np.abs(values).max())
    n = np.bincount(stratum)

    def centred(v: Floats) -> Floats:
        found: Floats = v - (np.bincount(stratum, v) / np.maximum(n, 1))[stratum]
        return found

    x = centred((episode - (E - 1) / 2).astype(np.float64))
    y = centred(values / size if size > 0 else values)  # squares of huge ones are no numbers
    Sxx = float(x @ x)
    if Sxx == 0 or np.ptp(y) <= 1e-12:  # no two to compare, or what is left is rounding
        return Trend(of, 0.0, 0.0, 0.0, 1.0)
    slope = float(x @ y) / Sxx
    pull, weight = _by_unit(x, y - slope * x, episode, stratum, unit)
    left = np.maximum(Sxx - weight, 1e-9 * Sxx)
    error = math.sqrt(float(((pull / left) ** 2).sum()))
    straight = error <= 1e-12 * abs(slope)
    free = len(pull) - 2
    p = 0.0 if straight else float(2 * stdtr(free, -abs(slope) / error))
    wide = float(stdtrit(free, 0.975)) * error
    scale = 100 * size
    return Trend(of, scale * slope, scale * (slope - wide), scale * (slope + wide), p)


def _by_unit(
    x: Floats, r: Floats, episode: Ints, stratum: Ints, unit: Ints | None
) -> tuple[Floats, Floats]:
    """What Σ x r and Σ x² lose with each episode, or with each cluster, means found anew."""
    of = episode if unit is None else unit[episode]
    n, K = np.bincount(stratum), int(of.max()) + 1
    cells, cell, m = np.unique(stratum * K + of, return_inverse=True, return_counts=True)
    X, R = (sum_by(cell, v, len(cells)) for v in (x, r))
    others, c = n[cells // K] - m, cells % K
    share = np.where(others > 0, X, 0) / np.maximum(others, 1)  # a whole step's X is rounding
    pull, weight = (sum_by(of, x * v, K) + sum_by(c, share * V, K) for v, V in ((r, R), (x, X)))
    return pull, weight


def _steps_compared(log: Episodes) -> int | None:
    """The step before which at most SHORT of the episodes were cut off; None: the last of all."""
    cut = np.sort(log.lengths[~log.terminated])
    spared = int(SHORT * len(log))
    return int(cut[spared]) if spared < len(cut) and cut[spared] < log.lengths.max() else None


# ---- what follows, in two halves ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Halves:
    """Counts of outcomes in the first half of the episodes, and in all. L cells, P pairs."""

    replay: Replay
    cells: Ints  # (L, 2) the pair h*A + a and its outcome, sorted
    pair: Ints  # (L,) the pair of each cell, numbered from 0
    total: Floats  # (L,) how often, in all
    first: Floats  # (L,) how often, in the first half

    def by_pair(self, amounts: Floats) -> Floats:
        """(P,) the sum of the amounts of each pair."""
        return sum_by(self.pair, amounts, int(self.pair.max(initial=-1)) + 1)

    def contributions(self) -> Floats:
        """(P,) the part of each pair in G."""
        all_of, mine = self.by_pair(self.total), self.by_pair(self.first)
        within = self.by_pair(_split(self.first, self.total) - x_log_x(self.total))
        return np.asarray(2 * (within - (_split(mine, all_of) - x_log_x(all_of))))

    def changes(self) -> Rows:
        """The pairs that differ most, each with the outcome that does."""
        all_of, mine = self.by_pair(self.total), self.by_pair(self.first)
        earlier = self.first / np.maximum(mine, 1)[self.pair]
        later = (self.total - self.first) / np.maximum(all_of - mine, 1)[self.pair]
        log, replay = self.replay.log, self.replay
        found = []
        for q in np.argsort(-self.contributions(), kind="stable")[:CHANGES].tolist():
            inside = np.flatnonzero(self.pair == q)
            cell = int(inside[np.argmax(np.abs(earlier - later)[inside])])
            h, a = divmod(int(self.cells[cell, 0]), len(log.actions))
            found.append(
                {
                    "situation": history_words(log, replay.memory, replay.states[h]),
                    "action": shown(log.actions[a]),
                    "outcome": outcome_words(log, int(self.cells[cell, 1])),
                    "before": float(earlier[cell]),  # its share in the first half
                    "after": float(later[cell]),
                    "visits": [int(mine[q]), int(all_of[q] - mine[q])],  # in each half
                }
            )
        return found


def _split(part: Floats, whole: Floats) -> Floats:
    """n log n of both halves, added."""
    return x_log_x(part) + x_log_x(whole - part)


def _shuffle(replay: Replay, level: float, steps: int | None = None) -> tuple[float, int, Halves]:
    """p, how many shuffles it is from, and the halves of the log as it is."""
    rng = random_stream(SHUFFLES, "drift")
    E = len(replay.log)
    cells, pair, table = _table(replay, steps)
    total = np.asarray(table.sum(1)).ravel().astype(np.float64)
    now = np.zeros((E, 1), np.float32)
    now[: E // 2] = 1
    halves = Halves(replay, cells, pair, total, np.asarray(table @ now).ravel().astype(np.float64))
    if len(cells) == 0:
        return 1.0, 0, halves
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    whole = total[:, None]
    pairs = np.add.reduceat(whole, starts)

    def statistics(chosen: Any) -> Floats:
        """(R,) G for R ways to choose a first half, up to what is the same for all."""
        part = np.asarray(table @ chosen, np.float64)
        within = _split(part, whole).sum(0)
        across = _split(np.add.reduceat(part, starts), pairs).sum(0)
        return np.asarray(2 * (within - across))

    B = Settings(level).draws((table.nnz + 10 * len(cells)) / 3, in_all=WORK)
    batch = max(1, BATCH // max(E, len(cells)))
    drawn = []
    for done in range(0, B, batch):
        chosen = np.repeat(now, min(batch, B - done), axis=1)
        drawn.append(statistics(rng.permuted(chosen, axis=0)))
    return p_value(float(statistics(now)[0]), np.concatenate(drawn)), B, halves


def _table(replay: Replay, steps: int | None) -> tuple[Ints, Ints, Any]:
    """The cells (pair, outcome), the pair of each numbered from 0, and a sparse (L, E) table of how
    often each episode had each cell within its first `steps`. Pairs that only ever had one outcome
    tell nothing."""
    from scipy.sparse import coo_matrix

    log = replay.log
    cells, at = replay.cells
    episode = np.repeat(np.arange(len(log)), log.lengths)
    early = np.arange(log.n_steps) - log.start[episode] < (steps or log.n_steps)
    times = np.bincount(at[early], minlength=len(cells))
    seen = (cells[:, 1] != UNKNOWN) & (times > 0)
    outcomes = np.bincount(cells[seen, 0], minlength=replay.taken.size)
    kept = seen & (outcomes > 1)[cells[:, 0]]
    if kept.sum() > MOST_CELLS:
        # the pairs seen most often; a choice by what all shuffles share keeps the test exact
        visits = replay.taken.ravel()[cells[:, 0]]
        often = visits > np.partition(visits[kept], -MOST_CELLS - 1)[-MOST_CELLS - 1]
        kept = kept & often if (kept & often).any() else kept
    number = np.cumsum(kept) - 1
    used = kept[at] & early
    rows, columns = number[at[used]], episode[used]
    exact = np.float32 if log.n_steps < 2**24 else np.float64  # sums of steps stay whole
    ones = np.ones(len(rows), exact)
    table = coo_matrix((ones, (rows, columns)), shape=(int(kept.sum()), len(log))).tocsr()
    cells = cells[kept]
    return cells, np.cumsum(np.diff(cells[:, 0], prepend=-1) > 0) - 1, table


def _verdict(trend: Trend, p: float, steps: int | None, level: float, independent: str) -> Finding:
    within = "" if steps is None else f" of the first {counted(steps, 'step')}"
    told = []
    if p <= level:
        told.append(
            "after the same action in the same situation, other things followed in the second half "
            f"of the log than in the first (outcomes{within} p = {p:.2g})"
        )
    if trend.p <= level:
        what = "the return" if trend.of == "return" else "the reward at the same step"
        way = "rises" if trend.slope > 0 else "falls"
        told.append(f"{what} {way} by {abs(trend.slope):.3g} per 100 episodes (p = {trend.p:.2g})")
    if told:
        text = "; ".join(told)
        return failed(
            f"{text[0].upper()}{text[1:]}. A log that changes under way does not tell what is "
            f"true now; use the later part, or find out what changed. If the file goes "
            "group by group (sites, machines), its order stands for groups rather than time: then "
            f"they differ, and each is better judged by itself.{independent}",
        )
    return passed(
        f"No sign of change over the episodes (outcomes{within} p = {p:.2g}, {trend.of} "
        f"p = {trend.p:.2g}).{independent}",
    )


ENTRY = Question(
    "Is the process the same over the whole log?",
    # plain sums, and neither the stream nor the number of draws is asked for: whoever asks, with
    # another discount or with none, finds the same
    lambda subject, rng: check_drift(
        subject.replay, 1.0, subject.settings.level, subject.practice.made_by
    ),
)
