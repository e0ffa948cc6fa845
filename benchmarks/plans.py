"""Do plans hold? Logs of the size that is planned for an 80 % chance, and how many certify.

For each of eight processes pilot logs are drawn, plans made from those that certify nothing, and
fresh logs of each planned size tested. One JSON line per process: of how many pilots how many were
certified, and how many a number was planned for; the sizes; the share of fresh logs that certify,
in all and for each plan. In all it should lie between .5 and .95: one plan rests on one log.

    python benchmarks/plans.py [--only NAME] [--pilots 10] [--fresh 10] [--tuning]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jumar import models
from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.randomness import random_stream
from jumar.evidence.rewards import RewardRange
from jumar.gate import Selection, select
from jumar.gate.samples import plan
from jumar.lab.truth.simulation import simulate
from jumar.lab.truth.training import train_behavior
from jumar.log.episodes import Episodes, Labels
from jumar.memory import window
from jumar.policy.controller import Controller

SEED = 2
TRIES = 3  # pilots drawn for every plan that is wanted, at most

Rng = np.random.Generator
# of some episodes: what they are in -> an observation each
Observe = Callable[[Ints, Rng], Ints]
# and with an action each -> what they are in then, what it paid, and whether that was the end
Step = Callable[[Ints, Ints, Rng], tuple[Ints, Floats, Bools]]


@dataclass(frozen=True)
class Process:
    """Where logs come from. `draw` makes one of so many episodes."""

    draw: Callable[[int, Rng], Episodes]
    behavior: Controller
    pilot: int  # episodes of a pilot log
    discount: float
    asked: dict[str, Any] = field(default_factory=dict)  # of `select`


def rule(rows: list[list[float]], observations: int) -> Controller:
    """One row for every observation; for all the last, where there is but one."""
    names = tuple(f"z{i}" for i in range(observations)), tuple(f"a{i}" for i in range(len(rows[0])))
    every = np.array(rows) if len(rows) > 1 else np.repeat(rows, observations, 0)
    return Controller.uniform(*names).except_at(np.arange(observations)[:, None], every, "rule")


def stepped(
    behavior: Controller,
    start: Callable[[int, Rng], Ints],
    see: Observe,
    step: Step,
    most: int,
    *,
    per_cluster: int = 0,
) -> Callable[[int, Rng], Episodes]:
    """Episodes of at most so many steps; who has not ended then is cut off."""
    rows = behavior.rows_at(np.arange(len(behavior.observations))[:, None])

    def draw(n: int, rng: Rng) -> Episodes:
        state, alive = start(n, rng), np.arange(n)
        seen: list[tuple[Ints, Ints, Ints, Floats]] = []
        final, ended = np.full(n, -1), np.zeros(n, np.bool_)
        for _ in range(most):
            z = see(state[alive], rng)
            a = (rng.random(len(alive))[:, None] > rows[z].cumsum(1)).sum(1)
            state[alive], reward, over = step(state[alive], a, rng)
            seen.append((alive, z, a, reward))
            ended[alive] = over
            alive = alive[~over]
        final[alive] = see(state[alive], rng)
        who, z, a, reward = (np.concatenate(part) for part in zip(*seen, strict=True))
        order = np.argsort(who, kind="stable")
        at = np.append(0, np.cumsum(np.bincount(who, minlength=n)))
        cluster = None
        if per_cluster:
            names = tuple(f"house {i}" for i in range(n // per_cluster + 1))
            cluster = Labels(names, np.arange(n) // per_cluster)
        names = behavior.observations, behavior.actions
        steps = z[order], a[order], reward[order]
        return Episodes(*names, *steps, at, final, ended, cluster=cluster)

    return draw


def of_paper(name: str, k: int, seed: int, softmax: float, pilot: int) -> Process:
    """A model of the paper, with a behavior trained anew."""
    pomdp = models.build(name)
    behavior = train_behavior(pomdp, window(k), softmax=softmax, seed=random_stream(seed, "train"))

    def draw(n: int, rng: Rng) -> Episodes:
        return simulate(pomdp, behavior, episodes=n, seed=rng)

    return Process(draw, behavior, pilot, pomdp.discount)


# ---- one step -----------------------------------------------------------------------------------


def bandit(
    means: list[list[float]], row: list[float], low: float, high: float, pilot: int
) -> Process:
    """Each context comes as often; an action pays `high` with a chance that gives this mean, else
    `low`."""
    chance = (np.array(means) - low) / (high - low)
    Z = len(means)
    behavior = rule([row], Z)

    def step(z: Ints, a: Ints, rng: Rng) -> tuple[Ints, Floats, Bools]:
        paid = np.where(rng.random(len(z)) < chance[z, a], high, low)
        return z, paid, np.ones(len(z), np.bool_)

    draw = stepped(behavior, lambda n, rng: rng.integers(0, Z, n), lambda s, _: s, step, 1)
    return Process(
        draw, behavior, pilot, 0.9, {"rewards": RewardRange.constant(low, high), "horizon": 1}
    )


# ---- a few steps --------------------------------------------------------------------------------


def clinic(better: float, worse: float, steps: int, pilot: int, *, per_cluster: int = 0) -> Process:
    """Ill people (hidden; a test is right in 80 %) get better by treatment, healthy ones worse by
    it. A day pays 1 for the healthy, 0 for the ill; treatment costs .2."""
    behavior = rule([[0.5, 0.5], [0.6, 0.4]], 2)

    def start(n: int, rng: Rng) -> Ints:
        if per_cluster:  # people of one house are mostly alike
            house = np.repeat(rng.random(n // per_cluster + 1), per_cluster)[:n]
            return (rng.random(n) < house).astype(int)
        return rng.integers(0, 2, n)

    def see(ill: Ints, rng: Rng) -> Ints:
        return np.where(rng.random(len(ill)) < 0.8, ill, 1 - ill)

    def step(ill: Ints, a: Ints, rng: Rng) -> tuple[Ints, Floats, Bools]:
        u = rng.random(len(ill))
        heals = np.where(a == 1, better, 0.1)
        falls = np.where(a == 1, worse, 0.1)
        new = np.where(ill == 1, u >= heals, u < falls).astype(int)
        return new, (1.0 - new) - 0.2 * a, np.zeros(len(ill), np.bool_)

    draw = stepped(behavior, start, see, step, steps, per_cluster=per_cluster)
    asked = {"rewards": RewardRange.constant(-0.2, 1.0), "horizon": steps}
    return Process(draw, behavior, pilot, 0.6, asked)


def queue(pilot: int) -> Process:
    """Up to 4 wait; serving fast costs 1.5 and sends one home for sure, slowly in half of the
    cases. Everyone who waits costs 1 a step. 6 steps, then recordings stop."""
    behavior = rule([[0.7, 0.3]], 5)

    def step(q: Ints, a: Ints, rng: Rng) -> tuple[Ints, Floats, Bools]:
        gone = np.where(a == 1, 1, rng.random(len(q)) < 0.5)
        new = np.clip(q - gone, 0, 4) + (rng.random(len(q)) < 0.55)
        new = np.minimum(new, 4)
        return new, -new - 1.5 * a, np.zeros(len(q), np.bool_)

    draw = stepped(behavior, lambda n, rng: rng.integers(0, 5, n), lambda s, _: s, step, 6)
    return Process(
        draw, behavior, pilot, 0.75, {"rewards": RewardRange.constant(-5.5, 0.0), "horizon": 6}
    )


def maintenance(pilot: int, steps: int, fails: float) -> Process:
    """Wear 0 to 3, seen through a gauge that is off by one in 20 %. Repairing costs 2, a breakdown
    10 and ends the record; a step pays 1."""
    behavior = rule([[0.9, 0.1], [0.85, 0.15], [0.7, 0.3], [0.6, 0.4]], 4)

    def see(wear: Ints, rng: Rng) -> Ints:
        off = np.where(rng.random(len(wear)) < 0.2, rng.choice([-1, 1], len(wear)), 0)
        return np.clip(wear + off, 0, 3)

    def step(wear: Ints, a: Ints, rng: Rng) -> tuple[Ints, Floats, Bools]:
        broke = (wear == 3) & (a == 0) & (rng.random(len(wear)) < fails)
        new = np.where(a == 1, 0, np.minimum(wear + (rng.random(len(wear)) < 0.5), 3))
        return new, 1.0 - 2.0 * a - 10.0 * broke, broke

    draw = stepped(behavior, lambda n, rng: rng.integers(0, 4, n), see, step, steps)
    rewards = RewardRange((-1.0, 1.0), (-9.0, -9.0))
    return Process(draw, behavior, pilot, 0.7, {"rewards": rewards, "horizon": steps})


def shifted(pilot: int) -> Process:
    """Three steps on a line of five places, seen; the end pays most. Every reward has 20 added."""
    behavior = rule([[0.5, 0.5]], 5)

    def step(x: Ints, a: Ints, rng: Rng) -> tuple[Ints, Floats, Bools]:
        moved = np.where(rng.random(len(x)) < 0.9, 2 * a - 1, 1 - 2 * a)
        new = np.clip(x + moved, 0, 4)
        return new, 20.0 + np.array([1.0, 0.0, 0.0, 0.5, 2.0])[new], np.zeros(len(x), np.bool_)

    draw = stepped(behavior, lambda n, rng: rng.integers(1, 4, n), lambda s, _: s, step, 3)
    return Process(
        draw, behavior, pilot, 0.6, {"rewards": RewardRange.constant(20.0, 22.0), "horizon": 3}
    )


TUNING: dict[str, Callable[[], Process]] = {
    "tiger": lambda: of_paper("tiger", 1, 11, 0.05, 300),
    "contexts": lambda: bandit([[0.0, 0.25], [0.1, -0.1]], [0.7, 0.3], -1.0, 1.0, 400),
    "ward": lambda: clinic(0.5, 0.2, 4, 400),
}
CHECKED: dict[str, Callable[[], Process]] = {
    "tiger, window of 2": lambda: of_paper("tiger", 2, 5, 0.05, 250),
    "voicemail": lambda: of_paper("voicemail", 1, 7, 0.1, 60),
    "queue": lambda: queue(200),
    "maintenance, cut": lambda: maintenance(80, 6, 0.6),
    "clinic": lambda: clinic(0.6, 0.3, 3, 150),
    "clinic, houses of 4": lambda: clinic(0.6, 0.3, 3, 300, per_cluster=4),
    "rare wins": lambda: bandit([[0.03, 0.08], [0.04, 0.02]], [0.6, 0.4], 0.0, 1.0, 600),
    "shifted line": lambda: shifted(200),
}


def test(process: Process, episodes: int, *name: object) -> Selection:
    """What comes of one log."""
    log = process.draw(episodes, random_stream(SEED, "data", *name))
    seed = random_stream(SEED, "selection", *name)
    return select(log, process.behavior, discount=process.discount, seed=seed, **process.asked)


def measured(name: str, process: Process, pilots: int, fresh: int) -> dict[str, Any]:
    """Plans from pilots that certify nothing, and how many fresh logs of the planned size do."""
    begin = time.process_time()
    sizes: list[int] = []
    shares: list[float] = []
    drawn = certified = 0
    while len(sizes) < pilots and drawn < TRIES * pilots:
        drawn += 1
        found = test(process, process.pilot, name, "pilot", drawn)
        certified += found.chosen is not None
        sized = [need.episodes for need in plan(found).needs]
        if not sized or sized[0] is None:
            continue
        logs = [test(process, sized[0], name, "fresh", drawn, i).chosen for i in range(fresh)]
        sizes.append(sized[0])
        shares.append(sum(chosen is not None for chosen in logs) / fresh)
    return {
        "process": name,
        "pilot": process.pilot,
        "pilots": drawn,
        "certified": certified,
        "planned": len(sizes),
        "sizes": sorted(sizes),
        "share": round(float(np.mean(shares)), 3) if shares else None,
        "shares": sorted(shares),
        "cpu_s": round(time.process_time() - begin, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Do plans hold?")
    parser.add_argument("--only", help="one process")
    parser.add_argument("--pilots", type=int, default=10, help="that a plan is made from")
    parser.add_argument("--fresh", type=int, default=10, help="logs of each planned size")
    parser.add_argument("--tuning", action="store_true", help="the processes it was tuned on")
    asked = parser.parse_args()
    for name, make in (TUNING if asked.tuning else CHECKED).items():
        if asked.only in (None, name):
            print(json.dumps(measured(name, make(), asked.pilots, asked.fresh)), flush=True)


if __name__ == "__main__":
    main()
