"""How often do 95 % intervals of off-policy estimates cover the truth? Not run by `make bench`.

Episodes of T steps with two actions and no memory, so that the truth is a sum: what the target
does, times what that pays. Each case has one reason to be hard: heavy weights, a behavior that
hardly ever does what the target does, rewards with heavy tails, a payoff that is rare. The last
two are easy and must not be warned about.

One line per case and number of episodes: the median effective and the median *trusted*
size that warnings go by (`evidence.offpolicy.weights`), and the share of logs whose two-sided 95 %
interval covers the truth, for means (PDIS: Student t, studentised bootstrap) and for weighted means
(WDR that expects nothing: delta method with Student's t, studentised bootstrap). Then coverage by
trusted size in the hard cases, over all of them and in the worst one, which is the table that the
warnings quote; and how often an interval misses that is not warned about. Two things are left out
of it: intervals without width, which have a warning of their own, and the rare trap, of which most
logs show nothing, so that nothing computed from them could tell.

    python benchmarks/interval_coverage.py [--logs 400] [--draws 1000] [--sizes 20 50 ...]
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.randomness import random_stream
from jumar.evidence.offpolicy import estimators, intervals, weights
from jumar.evidence.offpolicy.estimators import Weighted
from jumar.evidence.offpolicy.intervals import Interval
from jumar.evidence.offpolicy.weights import trust
from jumar.evidence.plausible import CARE_BELOW

DELTA = 0.05
SIZES = (20, 50, 100, 200, 500, 1000, 2000)
EDGES = (0.0, 10.0, 100.0, np.inf)  # where warnings begin and end
ENOUGH = 30  # logs of one case and number of episodes, to speak of their share
Pay = Callable[[Ints, np.random.Generator], Floats]  # rewards of actions 0 and 1


@dataclass(frozen=True)
class Case:
    """T independent steps; the behavior does action 1 with chance `old`, the target with `new`."""

    name: str
    steps: int
    old: float
    new: float
    pay: Pay
    means: tuple[float, float]  # of the rewards of actions 0 and 1
    hidden: bool = False  # what matters does not show in most logs
    easy: bool = False

    @property
    def truth(self) -> float:
        return self.steps * ((1 - self.new) * self.means[0] + self.new * self.means[1])


def noisy(action: Ints, rng: np.random.Generator) -> Floats:
    pay: Floats = action + rng.normal(0, 1, len(action))
    return pay


def rare(action: Ints, rng: np.random.Generator) -> Floats:
    pay: Floats = action * np.where(rng.random(len(action)) < 0.01, 100.0, 0.0)
    return pay


def heavy(action: Ints, rng: np.random.Generator) -> Floats:
    pay: Floats = action * rng.lognormal(0, 2, len(action))
    return pay


def lumpy(action: Ints, rng: np.random.Generator) -> Floats:
    pay: Floats = action * rng.gamma(0.2, 5.0, len(action))
    return pay


def trap(action: Ints, rng: np.random.Generator) -> Floats:
    pay: Floats = np.where(action == 1, 1.05 - 200.0 * (rng.random(len(action)) < 1e-3), 1.0)
    return pay


CASES = (
    Case("heavy weights, 10 steps", 10, 0.5, 0.85, noisy, (0, 1)),
    Case("heavy weights, 40 steps", 40, 0.5, 0.7, noisy, (0, 1)),
    Case("behavior 98 % sure, 1 step", 1, 0.02, 1.0, noisy, (0, 1)),
    Case("behavior 95 % sure, 2 steps", 2, 0.05, 0.8, noisy, (0, 1)),
    Case("behavior 90 % sure, 4 steps", 4, 0.1, 0.6, noisy, (0, 1)),
    Case("rare payoff", 1, 0.5, 0.6, rare, (0, 1)),
    Case("lognormal rewards, σ = 2", 1, 0.5, 0.6, heavy, (0, float(np.exp(2)))),
    Case("gamma rewards, 5 steps", 5, 0.3, 0.7, lumpy, (0, 1)),
    Case("rare trap", 1, 0.5, 0.6, trap, (1.0, 0.85), hidden=True),
    Case("easy, 3 steps", 3, 0.5, 0.6, noisy, (0, 1), easy=True),
    Case("easy, 20 steps", 20, 0.5, 0.55, noisy, (0, 1), easy=True),
)
METHODS = ("pdis t", "pdis boot-t", "wdr t", "wdr boot-t")


def delta_method(sample: Weighted) -> Interval:
    """Student's t around a weighted mean, with the error of the delta method."""
    from scipy.special import stdtrit

    radius = float(stdtrit(len(sample) - 1, 1 - DELTA / 2)) * intervals.standard_error(sample)
    return Interval(sample.value - radius, sample.value + radius)


def one_log(
    case: Case, episodes: int, draws: int, rng: np.random.Generator
) -> tuple[float, list[float], list[float]]:
    """The effective size, the trusted sizes of a mean and weighted means, and what was covered."""
    T = case.steps
    action = (rng.random(episodes * T) < case.old).astype(np.int64)
    reward = case.pay(action, rng)
    up, down = case.new / case.old, (1 - case.new) / (1 - case.old)
    ratio = np.where(action == 1, up, down)
    start = np.arange(0, episodes * T + 1, T)
    w = weights.averaged(ratio, start, 1.0)
    pdis = estimators.pdis(ratio, reward, start, 1.0)
    found = [
        intervals.student(pdis, DELTA),
        intervals.bootstrap_t(pdis, DELTA, rng=rng, draws=draws),
    ]
    trusted = [trust(w, pdis).size] * 2
    if not weights.cumulative(ratio, start)[start[1:] - 1].any():
        found += [intervals.EVERYTHING] * 2  # nothing is estimated, so nothing is missed
        trusted += [0.0] * 2
    else:
        nothing = np.zeros(len(reward))
        sample = estimators.weighted_doubly_robust(ratio, reward, nothing, nothing, start, 1.0)
        found += [delta_method(sample), intervals.bootstrap_t(sample, DELTA, rng=rng, draws=draws)]
        trusted += [trust(w, sample.influence).size] * 2
    covers = [float(i.lower <= case.truth <= i.upper) for i in found]
    told = [
        np.nan if i.lower == i.upper or case.hidden else size
        for i, size in zip(found, trusted, strict=True)
    ]
    return trust(w, pdis).effective, told, covers


def pooled(cells: list[Floats]) -> float:
    """The share of all logs that are covered."""
    every = np.concatenate(cells)
    return float(every.mean()) if len(every) else np.nan


def worst(cells: list[Floats]) -> float:
    """The least share of a case and a number of episodes, of those with enough logs."""
    return min((float(cell.mean()) for cell in cells if len(cell) >= ENOUGH), default=np.nan)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    chosen = parser.parse_args()
    head = f"{'case':29}{'n':>6}{'n_eff':>7}{'trust':>7}  " + "".join(f"{m:>12}" for m in METHODS)
    print(head)
    sizes, covered, shown = [], [], []
    for case in CASES:
        for n in chosen.sizes:
            runs = [
                one_log(case, n, chosen.draws, random_stream(1, case.name, n, i))
                for i in range(chosen.logs)
            ]
            n_eff = np.array([run[0] for run in runs])
            told, cover = np.array([run[1] for run in runs]), np.array([run[2] for run in runs])
            size = np.nan if np.isnan(told).all() else np.nanmedian(told)
            print(
                f"{case.name:29}{n:6}{np.median(n_eff):7.0f}{size:7.0f}  "
                + "".join(f"{100 * share:11.1f}%" for share in cover.mean(0)),
                flush=True,
            )
            if not case.easy:
                sizes.append(told)
                covered.append(cover)
                shown.append((n_eff >= CARE_BELOW) & ~np.isnan(told).all(1))
    print(f"\n{'trusted size':>15}{'':16}" + "".join(f"{m:>12}" for m in METHODS))
    for low, high in itertools.pairwise(EDGES):
        inside = [
            [c[(s[:, m] >= low) & (s[:, m] < high), m] for s, c in zip(sizes, covered, strict=True)]
            for m in range(len(METHODS))
        ]
        for words, share in (("covered, all", pooled), ("the worst", worst)):
            cells = "".join(f"{100 * share(of_method):11.1f}%" for of_method in inside)
            print(f"{f'{low:g} to {high:g}':>15}  {words:14}{cells}")
    for words, share in (("covered, all", pooled), ("the worst", worst)):
        kept = [[c[s, m] for s, c in zip(shown, covered, strict=True)] for m in range(len(METHODS))]
        cells = "".join(f"{100 * share(of_method):11.1f}%" for of_method in kept)
        print(f"{f'n_eff >= {CARE_BELOW:g}':>15}  {words:14}{cells}")
    size, missed = np.concatenate(sizes), 1 - np.concatenate(covered)
    told = np.isfinite(size)
    for words, share in (
        ("no warning", ((size >= EDGES[-2]) & told).sum(0) / told.sum(0)),
        ("missed then", (missed * (size >= EDGES[-2])).sum(0) / told.sum(0)),
        ("missed in all", (missed * told).sum(0) / told.sum(0)),
    ):
        print(f"{'':15}  {words:14}" + "".join(f"{100 * part:11.1f}%" for part in share))


if __name__ == "__main__":
    main()
