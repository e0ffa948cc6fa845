"""Are episodes of one cluster (person, plant, machine) alike?

Episodes of one cluster tell less than as many independent ones, if they resemble each other. With
E episodes in K clusters of sizes m_k, returns y, and mean squares between and within clusters,

    MSB = Σ m_k (ȳ_k - ȳ)² / (K - 1),    MSW = Σ (y - ȳ_k)² / (E - K),
    ICC = (MSB - MSW) / (MSB + (m₀ - 1) MSW),    m₀ = (E - Σ m_k² / E) / (K - 1)

is the intraclass correlation: the share of the spread of returns that is one between clusters. The
mean return then varies as if there were E / (1 + (m - 1) ICC) independent episodes, m = Σ m_k² / E
being the mean size of the cluster of an episode. The divisor is the *design effect*.

The test compares Σ m_k (ȳ_k - ȳ)² with what it is when episodes are shuffled over the clusters. Its
p-value is exact where clusters mean nothing.

A log without clusters may still show some in the labels of its episodes: those that a gap has split
("17", "17 (2)"), and those that begin alike ("bus 7/1", "bus 7/2"). They are tested as well, and
only mentioned where the test says that they matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.text import Detail, Facts, counted, shown
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import Finding, Question, Section, look, passed
from jumar.log.episodes import Episodes

FEW = 20  # clusters below which no interval that counts on many of them should be trusted
_PART = re.compile(r"^(.+) \(\d+\)$")  # as episodes are called that a gap has split
_STEM = re.compile(r"^(.+)[-_/:.# ][^-_/:.# ]+$")


@dataclass(frozen=True)
class Clusters(Section):
    """How alike the episodes of a cluster are."""

    named: bool  # the log names them; else they are guessed from the labels of the episodes
    clusters: int
    episodes: int
    largest: int  # episodes of the largest cluster
    discount: float  # of the returns
    correlation: float | None  # ICC; None where there is nothing to compare
    p: float | None
    resamples: int
    design_effect: float | None  # 1 + (m - 1) ICC, at least 1
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        told = "named by the log" if self.named else "guessed from the labels of the episodes"
        largest = counted(self.largest, "episode")
        lines = [("clusters", f"{self.clusters:,}, {told}; the largest has {largest}")]
        if self.correlation is not None and self.p is not None:
            test = f"p = {self.p:.3g} from {self.resamples:,} shuffles"
            alike = f"intraclass correlation {self.correlation:.3g}, {test}"
            lines.append(("returns", f"{alike}; design effect {self.design_effect:.3g}"))
        yield Facts(lines)


def clusters_of(
    log: Episodes, discount: float, settings: Settings, rng: np.random.Generator
) -> Clusters | None:
    """Test whether episodes of one cluster are alike; None where nothing hints at clusters."""
    if log.cluster is None:
        of, guessed = _guess(log)
        if of is None:
            return None
    else:
        of, guessed = log.cluster.present[1], None
    y = log.returns(discount)
    m = np.bincount(of).astype(np.float64)
    E, K = len(y), len(m)
    rho, p, B, effect = correlation_of(y, of), None, 0, None
    size = float((m**2).sum()) / E
    if rho is not None:
        p, B = _shuffled(y / np.abs(y).max(), of, settings, rng)
        effect = max(1.0, 1 + (size - 1) * rho)
    verdict = _verdict(E, K, size, rho, p, effect, settings.level, guessed)
    if guessed is not None and verdict.status != "look":
        return None
    return Clusters(guessed is None, K, E, int(m.max()), discount, rho, p, B, effect, verdict)


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


def _shuffled(
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


def _guess(log: Episodes) -> tuple[Ints, str] | tuple[None, None]:
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
        return of, f"{shown(labels[one])!r}, {shown(labels[two])!r}"
    return None, None


def _verdict(
    E: int,
    K: int,
    size: float,  # m
    rho: float | None,
    p: float | None,
    effect: float | None,
    level: float,
    guessed: str | None,
) -> Finding:
    if K == 1:
        return look(
            "All episodes belong to one cluster. Nothing in this log is independent of the rest, "
            "so no estimate has an error that can be told.",
        )
    if rho is None or p is None or effect is None:
        why = "every cluster has one episode" if K == E else "all returns are equal"
        return passed(f"There is nothing to compare: {why}.")
    alike = p <= level and rho > 0
    said = f"intraclass correlation {rho:.2g} (p = {p:.2g})"
    worth = (
        f"{E:,} episodes tell of the mean return what about {E / effect:,.0f} independent ones "
        f"would (design effect 1 + (m - 1) · ICC = {effect:.3g}, m = {size:.3g} episodes)"
    )
    if guessed is not None:
        return Finding(
            "look" if alike else "passed",
            f"Episodes whose labels begin alike ({guessed}) have similar returns: {said}; {worth}. "
            "If they are of one person, plant or machine, name the column that says so: "
            "--columns cluster=...",
        )
    if alike:
        return look(
            f"Episodes of one cluster are alike: {said}; {worth}. What counts whole clusters "
            "allows for that; what counts episodes is too sure of itself.",
        )
    if K < FEW:
        return look(
            f"There are only {K} clusters. Clusters are what is independent, and with so few the "
            f"error of an estimate is itself poorly known ({said}).",
        )
    return passed(f"No sign that episodes of one cluster are alike: {said}.")


ENTRY = Question(
    "Are episodes of one cluster alike?",
    lambda subject, rng: clusters_of(subject.log, subject.γ, subject.settings, rng),
)
