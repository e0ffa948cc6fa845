"""How is the data spread over histories?

An improvement can only rest on pairs (history, action) that were tried often enough: a pair is
*known* when it was seen more than N∧ times, and a history has a *real choice* when two of its
actions are known. Where there is none, the behavior stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jumar.core.text import Detail, Facts, TextTable, percent
from jumar.evidence.checking.base import Finding, Question, Section, look, passed
from jumar.tally.replay import Replay

MANY, RARE = 100, 10  # histories, and steps per history, where more of the same is no remedy
N_WEDGES = (5, 10, 20, 50, 100)
SHARES = (0, 10, 25, 50, 75, 90, 100)  # in percent, of the histories


@dataclass(frozen=True)
class Evidence:
    """What can be trusted at one N∧."""

    n_wedge: int
    known: int  # pairs seen more often than that
    choices: int  # histories with two or more of them
    share: float  # of all steps, spent in these histories


@dataclass(frozen=True)
class Spread(Section):
    """How often histories and pairs came up."""

    memory: str
    steps: int  # with known outcome
    left_out: int  # steps of which the log does not tell what followed
    histories: int
    quantiles: tuple[tuple[int, float], ...]  # (percent of the histories, visits at most)
    pairs: int  # of these histories with every action
    never: int  # pairs that were never tried
    evidence: tuple[Evidence, ...]
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        visits = dict(self.quantiles)
        left_out = f"{self.left_out:,}; the log does not tell what followed them"
        yield Facts(
            [
                ("situations", f"{self.histories:,} ({self.memory})"),
                (
                    "visits",
                    f"half of the situations have {visits[50]:,.0f} or less, one in ten "
                    f"{visits[10]:,.0f} or less, the most visited {visits[100]:,.0f}",
                ),
                ("never tried", f"{self.never:,} of {self.pairs:,} (situation, action) pairs"),
                *([("left out", left_out)] if self.left_out else []),
            ]
        )
        heads = ["N∧", "pairs seen more often", "situations with a choice", "steps in these"]
        rows = [
            [f"{e.n_wedge}", f"{e.known:,}", f"{e.choices:,}", percent(e.share)]
            for e in self.evidence
        ]
        yield TextTable(heads, rows, right=heads)


def spread_of(replay: Replay) -> Spread:
    """Count how often every history and every pair came up with a known outcome."""
    told, taken = replay.known, replay.taken
    tried = np.bincount(replay.pair[told], minlength=taken.size).reshape(taken.shape)
    tried = tried[taken.any(1)]
    visits = tried.sum(1)
    steps = int(visits.sum())
    lines = []
    for n_wedge in N_WEDGES:
        known = tried > n_wedge
        choice = known.sum(1) > 1
        share = float(visits[choice].sum() / max(steps, 1))
        lines.append(Evidence(n_wedge, int(known.sum()), int(choice.sum()), share))
    quantiles = np.percentile(visits, SHARES, method="inverted_cdf")
    return Spread(
        memory=str(replay.memory),
        steps=steps,
        left_out=int((~told).sum()),
        histories=len(tried),
        quantiles=tuple((q, float(v)) for q, v in zip(SHARES, quantiles, strict=True)),
        pairs=tried.size,
        never=int((tried == 0).sum()),
        evidence=tuple(lines),
        verdict=_verdict(lines, len(tried), steps),
    )


def _verdict(lines: list[Evidence], histories: int, steps: int) -> Finding:
    least = lines[0]
    if least.share < 0.1 and histories > MANY and steps < RARE * histories:
        return Finding(
            "look",
            f"{steps:,} steps are spread over {histories:,} situations: each is met too seldom to "
            "learn from. Remember less, or cut readings into ranges: more of the same log helps "
            "little.",
        )
    if least.choices == 0:
        return look(
            f"In no situation were two actions seen more than {least.n_wedge} times each: there is "
            "nothing to choose between, so nothing can be improved safely from this log.",
        )
    usual = next(line for line in lines if line.n_wedge == 20)
    if usual.share < 0.1:
        return look(
            f"Only {percent(usual.share)} of the steps lie in situations with two actions seen "
            "more than 20 times each: little can be improved safely. Log more, or explore more.",
        )
    return passed(
        f"{percent(usual.share)} of the steps lie in situations with two actions seen more than 20 "
        "times each.",
    )


ENTRY = Question(
    "Is there enough data, where it matters?",
    lambda subject, rng: spread_of(subject.replay),
)
