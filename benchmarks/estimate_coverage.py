"""How often do the 95 % intervals of `jumar estimate` cover the truth? Not run by `make bench`.

A machine with three hidden states of wear, seen through a noisy gauge, is kept or repaired. Its
episodes end by themselves, or are recorded for 20, 100 or 300 steps and cut off. Two policies are
estimated from the log of a third: one that is close to it, and one that is not. The truth is the
exact value up to the cut.

One line per kind of record and policy: the median effective size, the share of logs in which a
number is shown without a caution (effective size 30 or more), and of those, for every estimator
and interval, the share whose interval covers the truth. With --markdown as in docs/off-policy.md.

    python benchmarks/estimate_coverage.py [--logs 200] [--episodes 300] [--markdown]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import jumar as jm
from jumar.core.errors import LogError
from jumar.core.randomness import random_stream
from jumar.evidence.offpolicy import ESTIMATORS, INTERVALS, Estimate
from jumar.evidence.plausible import CARE_BELOW
from jumar.lab.truth.pomdp import Pomdp, from_arrays
from jumar.policy.controller import Controller

DISCOUNT = 0.95
GAUGE, ACTIONS = ("green", "red"), ("keep", "repair")
ASYMPTOTIC = [name for name, method in INTERVALS.items() if method.needs == "nothing"]
FEW = 20  # logs of a cell: below, no share is given


class Kind(NamedTuple):
    """What records are like, and what is estimated from them."""

    name: str
    cut: int | None
    overlap: str
    target: Controller


def machine(ends: bool) -> Pomdp:
    """Wear grows by one state with chance .2 a step; a worn machine is seen red four times in
    five. Where episodes end, each step is the last with chance .05, and with .15 when worn out."""
    grows = np.array([[0.8, 0.2, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.0]])
    mended = np.array([[1.0, 0.0, 0.0]] * 3)
    ending = np.array([[0.05, 0.05, 0.15], [0.05] * 3]) * ends
    see = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    return from_arrays(
        name="machine",
        states=["new", "used", "worn"],
        actions=ACTIONS,
        observations=GAUGE,
        transition=np.array([grows, mended]) * (1 - ending[:, :, None]),
        ending=ending,
        observation=[see, see],
        reward=[[3.0, 2.0, -2.0], [-2.0, -2.0, -3.0]],
        start=[1.0, 0.0, 0.0],
        first_observation=see,
        discount=DISCOUNT,
        max_steps=1000,
    )


def policy(name: str, keep_green: float, keep_red: float) -> Controller:
    """Keeps with these chances."""
    rows = [[keep_green, 1 - keep_green], [keep_red, 1 - keep_red]]
    return Controller(GAUGE, ACTIONS, jm.window(1), [[0], [1]], rows, [0.5, 0.5], name=name)


OLD = policy("old", 0.8, 0.5)
TARGETS = {"good": policy("near", 0.87, 0.38), "poor": policy("far", 0.94, 0.2)}
KINDS = [
    Kind("ended" if cut is None else f"cut at {cut}", cut, overlap, target)
    for cut in (None, 20, 100, 300)
    for overlap, target in TARGETS.items()
]


def tried(kind: Kind, logs: int, episodes: int) -> Iterator[list[tuple[Estimate, str]]]:
    """Every estimate of every log, by every interval."""
    model = machine(kind.cut is None)
    for i in range(logs):
        rng = random_stream(1, "coverage", kind.name, kind.overlap, i)
        log = jm.simulate(model, OLD, episodes=episodes, seed=rng, max_steps=kind.cut)
        found = []
        for interval in ASYMPTOTIC:
            try:
                made = jm.offpolicy.estimate_all(
                    log, kind.target, OLD, discount=DISCOUNT, interval=interval
                )
            except LogError:  # nothing in the log is like the target
                continue
            found += [(estimate, interval) for estimate in made.values()]
        yield found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args()
    ways = [
        (estimator, interval)
        for estimator, entry in ESTIMATORS.items()
        for interval in ASYMPTOTIC
        if not entry.weighted or INTERVALS[interval].for_weighted
    ]
    heads = ["records", "overlap", "size", "shown", *(f"{e} {i}" for e, i in ways)]
    print("| " + " | ".join(heads) + " |")
    if chosen.markdown:
        print("|" + "---|" * len(heads))
    for kind in KINDS:
        truth = jm.evaluate(machine(kind.cut is None), kind.target, horizon=kind.cut).value
        sizes, covered = [], {way: [] for way in ways}
        for found in tried(kind, chosen.logs, chosen.episodes):
            sizes += [e.effective_size for e, _ in found if e.estimator == "dr"][:1] or [0.0]
            for e, interval in found:
                if e.evidence.shown is not None and e.effective_size >= CARE_BELOW:
                    low, high = e.evidence.interval
                    covered[e.estimator, interval].append(low <= truth <= high)
        shown = np.mean(np.array(sizes) >= CARE_BELOW)
        cells = [
            f"{100 * np.mean(hits):.0f}" if len(hits) >= FEW else "-" for hits in covered.values()
        ]
        row = [kind.name, kind.overlap, f"{np.median(sizes):.0f}", f"{100 * shown:.0f}", *cells]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
