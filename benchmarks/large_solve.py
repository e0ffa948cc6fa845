"""SPIBB on large models: 5,000 states that follow each other in any order, and millions of pairs.

    python benchmarks/large_solve.py          # 10^6 pairs
    python benchmarks/large_solve.py --full   # 10^7 pairs, and what elimination took before

Measured with --full on two cores shared with other work (load 5 to 10), CPU seconds beside wall
time where it says so: see `docs/architecture.md`.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jumar as jm
from common import report
from jumar.solve import linear, solver
from jumar.tally.history import Counts

GAP = 1e-3  # of V_max, that the issue asks for


def random_counts(H: int, A: int, successors: int, seed: int = 1) -> Counts:
    """H = n² history states of a window of 2 over n observations; a tenth of the pairs were never
    tried, a fifth end at times, and what follows is any state."""
    rng = np.random.default_rng(seed)
    n = int(np.ceil(np.sqrt(H)))
    states = np.column_stack([np.arange(H) // n, np.arange(H) % n])
    tried = np.flatnonzero(rng.random(H * A) > 0.1)
    to = rng.integers(0, H - successors + 1, (len(tried), successors), dtype=np.int64)
    to.sort(axis=1)
    to += np.arange(successors)  # so that they are distinct
    times = rng.integers(1, 40 // min(successors, 20) + 2, to.shape)
    ends, visits = np.zeros(H * A, np.int64), np.zeros(H * A, np.int64)
    ends[tried] = np.where(rng.random(len(tried)) < 0.2, rng.integers(1, 4, len(tried)), 0)
    visits[tried] = times.sum(1) + ends[tried]
    return Counts(
        tuple(f"z{i}" for i in range(n)), tuple(f"a{i}" for i in range(A)), jm.window(2), states,
        visits.reshape(H, A), visits.reshape(H, A) * rng.normal(size=(H, A)), ends.reshape(H, A),
        np.ones(H, np.int64), tried.repeat(successors), to.ravel(), times.ravel(),
    )  # fmt: skip


def timed(job: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = job()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def spibb(H: int, A: int, successors: int, discount: float = 0.95) -> jm.Improvement:
    counts = random_counts(H, A, successors)
    behavior = jm.Controller.uniform(counts.observations, counts.actions)
    return jm.spibb(counts.mle(discount), behavior, n_wedge=int(np.median(counts.visits)))


def in_any_order(H: int, A: int, successors: int, *, before: bool) -> None:
    counts = random_counts(H, A, successors)
    mdp = counts.mle(0.95)
    behavior = jm.Controller.uniform(counts.observations, counts.actions)
    n_wedge = int(np.median(counts.visits))
    found, wall, cpu = timed(lambda: jm.spibb(mdp, behavior, n_wedge=n_wedge))
    figures = {}
    if before:
        eliminated, filled = linear.ELIMINATED, linear.FILLED
        linear.ELIMINATED, linear.FILLED = 10**12, np.inf
        policy = mdp.policy_of(behavior)
        exact, _, once = timed(lambda: solver.policy_value(mdp, policy))
        linear.ELIMINATED, linear.FILLED = eliminated, filled
        figures = {
            "one_elimination_cpu_s": once,
            "before_cpu_s": once * (found.trace.iterations + 1),
            "largest_difference": float(np.abs(exact - found.behavior_values).max()),
        }
    report(
        f"SPIBB, {H:,} states, {successors:,} successors of each pair, any of them",
        {"cpu_s": 2.0 if successors < H else 10.0},
        transitions=len(mdp.pair),
        seconds=wall,
        cpu_s=cpu,
        gap=found.trace.gap,
        **figures,
    )


def many_pairs(H: int, A: int, seconds: float, gb: float) -> None:
    found, wall, cpu = timed(lambda: spibb(H, A, 5))
    report(
        f"SPIBB, {H * A:,} pairs: counts, model, solution and controller",
        {"seconds": seconds, "peak_gb": gb, "gap_of_v_max": GAP},
        transitions=len(found.mdp.pair),
        seconds=wall,
        cpu_s=cpu,
        rounds=found.trace.iterations,
        gap_of_v_max=found.trace.gap / float(np.abs(found.values).max()),
        peak_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    )


def main() -> None:
    full = "--full" in sys.argv[1:]
    spibb(150_000, 4, 5)  # compile
    in_any_order(5000, 4, 20, before=full)
    if full:
        in_any_order(5000, 2, 5000, before=True)
        many_pairs(1_000_000, 10, 300.0, 8.0)
    else:
        many_pairs(100_000, 10, 60.0, 2.0)


if __name__ == "__main__":
    main()
