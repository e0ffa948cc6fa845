"""Is the process the same over the whole log?

Learning takes all episodes as draws of one process. Two tests look for time:

*The return.* Its least-squares slope over the number of the episode, with standard errors that
allow every episode a variance of its own (HC3), and Student's t.

*What follows.* With n(x, a, o) counts of the outcome o (the next observation, or the end) after
(x, a), in the first half of the episodes and in the second,

    G = 2 Σ n_half(x, a, o) log( n_half(x, a, o) n(x, a) / (n_half(x, a) n(x, a, o)) ).

Its law is that of G when whole episodes are shuffled over the halves. If episodes are exchangeable
(nothing depends on when they were), the log is one of these shuffles and the p-value is exact,
however much the steps within an episode depend on each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.arrays import Floats, Ints, sum_by
from jumar.checking.base import Replay, Settings, Verdict, p_value, x_log_x
from jumar.episodes import UNKNOWN
from jumar.wording import shown

FEWEST = 10  # episodes: 252 ways to halve them; with fewer no p-value can be small
PARTS = 10
BATCH = 4_000_000  # numbers of a batch of shuffles held at once
MOST_CELLS = 1_000_000  # outcomes of pairs that are compared
CHANGES = 5


@dataclass(frozen=True)
class Trend:
    """How the return changes from episode to episode."""

    slope: float  # per 100 episodes
    low: float  # 95 % interval of it
    high: float
    p: float  # two-sided


@dataclass(frozen=True)
class Part:
    """A stretch of episodes."""

    first: int  # number of its first episode
    episodes: int
    mean_return: float
    standard_error: float | None  # None for a single episode
    mean_length: float


@dataclass(frozen=True)
class Change:
    """A pair after which something else follows later than earlier."""

    situation: str
    action: str
    outcome: str
    before: float  # its share in the first half
    after: float  # its share in the second
    visits: tuple[int, int]  # of the pair in each half


@dataclass(frozen=True)
class Drift:
    """Whether time matters between episodes."""

    episodes: int
    discount: float  # of the returns
    parts: tuple[Part, ...]
    trend: Trend | None  # None with too few episodes
    p: float | None  # of the shuffles
    resamples: int
    changes: tuple[Change, ...]  # where the halves differ most; none unless they do
    verdict: Verdict


def drift_of(
    replay: Replay, discount: float, settings: Settings, rng: np.random.Generator
) -> Drift:
    """Test whether returns and outcomes depend on when an episode was."""
    log = replay.log
    returns = log.returns(discount)
    parts = _parts(returns, log.lengths)
    if len(log) < FEWEST:
        verdict = Verdict(
            "look", f"{len(log)} episodes are too few to tell whether anything changed over time."
        )
        return Drift(len(log), discount, parts, None, None, 0, (), verdict)
    trend = trend_of(returns)
    p, B, halves = _shuffle(replay, settings, rng)
    changes = halves.changes() if p <= settings.level else ()
    verdict = _verdict(trend, p, settings.level)
    return Drift(len(log), discount, parts, trend, p, B, changes, verdict)


def trend_of(returns: Floats) -> Trend:
    """The slope of the returns per 100 episodes.

    >>> t = trend_of(np.array([0.0, 1.0, 1.0, 2.0]))
    >>> t.slope, t.low < 60 < t.high
    (60.0, True)
    """
    from scipy import stats

    E = len(returns)
    size = float(np.abs(returns).max())
    y = returns / size if size > 0 else returns  # squares of huge returns are no numbers
    t = np.arange(E) - (E - 1) / 2
    Sxx = float(t @ t)
    if np.ptp(y) <= 1e-12:  # all the same: what is left is rounding
        return Trend(0.0, 0.0, 0.0, 1.0)
    slope = float(t @ y) / Sxx
    residual = y - y.mean() - slope * t
    leverage = np.minimum(1 / E + t**2 / Sxx, 1 - 1e-9)
    error = math.sqrt(float((t**2 * (residual / (1 - leverage)) ** 2).sum())) / Sxx
    straight = error <= 1e-12 * abs(slope)
    p = 0.0 if straight else float(2 * stats.t.sf(abs(slope) / error, E - 2))
    wide = float(stats.t.ppf(0.975, E - 2)) * error
    unit = 100 * size
    return Trend(unit * slope, unit * (slope - wide), unit * (slope + wide), p)


def _parts(returns: Floats, lengths: Ints) -> tuple[Part, ...]:
    found, first = [], 0
    for piece, long in zip(
        np.array_split(returns, PARTS), np.array_split(lengths, PARTS), strict=True
    ):
        n = len(piece)
        if n == 0:
            continue
        error = float(piece.std(ddof=1)) / math.sqrt(n) if n > 1 else None
        found.append(Part(first, n, float(piece.mean()), error, float(long.mean())))
        first += n
    return tuple(found)


# ---- what follows, in two halves ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Halves:
    """Counts of outcomes in the first half of the episodes, and in all. L cells, P pairs."""

    replay: Replay
    cells: Ints  # (L, 2) the pair h*A + a and its outcome, sorted
    pair: Ints  # (L,) the pair of each cell, numbered from 0
    total: Floats  # (L,) how often, in all
    first: Floats  # (L,) how often, in the first half

    @property
    def n_pairs(self) -> int:
        return int(self.pair.max(initial=-1)) + 1

    def contributions(self) -> Floats:
        """(P,) the part of each pair in G."""
        P = self.n_pairs
        all_of, mine = sum_by(self.pair, self.total, P), sum_by(self.pair, self.first, P)
        within = sum_by(self.pair, _split(self.first, self.total) - x_log_x(self.total), P)
        across: Floats = _split(mine, all_of) - x_log_x(all_of)
        return np.asarray(2 * (within - across))

    def changes(self) -> tuple[Change, ...]:
        """The pairs that differ most, each with the outcome that does."""
        P = self.n_pairs
        all_of, mine = sum_by(self.pair, self.total, P), sum_by(self.pair, self.first, P)
        earlier = self.first / np.maximum(mine, 1)[self.pair]
        later = (self.total - self.first) / np.maximum(all_of - mine, 1)[self.pair]
        found = []
        for q in np.argsort(-self.contributions(), kind="stable")[:CHANGES].tolist():
            inside = np.flatnonzero(self.pair == q)
            cell = int(inside[np.argmax(np.abs(earlier - later)[inside])])
            visits = int(mine[q]), int(all_of[q] - mine[q])
            found.append(self._change(cell, float(earlier[cell]), float(later[cell]), visits))
        return tuple(found)

    def _change(self, cell: int, before: float, after: float, visits: tuple[int, int]) -> Change:
        log = self.replay.log
        h, a = divmod(int(self.cells[cell, 0]), len(log.actions))
        o = int(self.cells[cell, 1])
        outcome = "the end" if o == len(log.observations) else shown(log.observations[o])
        words = self.replay.words(h), self.replay.action(a)
        return Change(*words, outcome, before, after, visits)


def _split(part: Floats, whole: Floats) -> Floats:
    """n log n of both halves, added."""
    return x_log_x(part) + x_log_x(whole - part)


def _shuffle(
    replay: Replay, settings: Settings, rng: np.random.Generator
) -> tuple[float, int, Halves]:
    """p, how many shuffles it is from, and the halves of the log as it is."""
    E = len(replay.log)
    cells, pair, table = _table(replay)
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

    B = settings.draws((table.nnz + 10 * len(cells)) / 3)
    batch = max(1, BATCH // max(E, len(cells)))
    drawn = []
    for done in range(0, B, batch):
        chosen = np.repeat(now, min(batch, B - done), axis=1)
        drawn.append(statistics(rng.permuted(chosen, axis=0)))
    return p_value(float(statistics(now)[0]), np.concatenate(drawn)), B, halves


def _table(replay: Replay) -> tuple[Ints, Ints, Any]:
    """The cells (pair, outcome), the pair of each numbered from 0, and a sparse (L, E) table of how
    often each episode had each cell. Pairs that only ever had one outcome tell nothing."""
    from scipy.sparse import coo_matrix

    log = replay.log
    cells, at = replay.cells
    known = cells[:, 1] != UNKNOWN
    outcomes = np.bincount(cells[known, 0], minlength=replay.taken.size)
    kept = known & (outcomes > 1)[cells[:, 0]]
    if kept.sum() > MOST_CELLS:
        # the pairs seen most often; a choice by what all shuffles share keeps the test exact
        visits = replay.taken.ravel()[cells[:, 0]]
        often = visits > np.partition(visits[kept], -MOST_CELLS - 1)[-MOST_CELLS - 1]
        kept = kept & often if (kept & often).any() else kept
    number = np.cumsum(kept) - 1
    steps = kept[at]
    episode = np.repeat(np.arange(len(log)), log.lengths)
    rows, columns = number[at[steps]], episode[steps]
    exact = np.float32 if log.n_steps < 2**24 else np.float64  # sums of steps stay whole
    ones = np.ones(len(rows), exact)
    table = coo_matrix((ones, (rows, columns)), shape=(int(kept.sum()), len(log))).tocsr()
    cells = cells[kept]
    return cells, np.cumsum(np.diff(cells[:, 0], prepend=-1) > 0) - 1, table


def _verdict(trend: Trend, p: float, level: float) -> Verdict:
    told = []
    if p <= level:
        told.append(
            f"what follows the same action in the same history differs between the first and the "
            f"second half (p = {p:.2g})"
        )
    if trend.p <= level:
        way = "rises" if trend.slope > 0 else "falls"
        told.append(
            f"the return {way} by {abs(trend.slope):.3g} per 100 episodes (p = {trend.p:.2g})"
        )
    if told:
        text = "; ".join(told)
        return Verdict(
            "failed",
            f"{text[0].upper()}{text[1:]}. A log that changes under way does not tell what is "
            "true now; use the later part, or find out what changed.",
        )
    return Verdict(
        "passed",
        f"No sign of change over the episodes (outcomes p = {p:.2g}, return p = {trend.p:.2g}).",
    )
