"""Behaviors built to tempt `select` into a change for the worse; not run by `make bench`.

Candidates may remember no more than the behavior, which sees the last observation only, so models
are wrong however long the log is:

- *nothing is better*: on Voicemail, the best of all memoryless controllers is stochastic. Every
  candidate is worse than it, and looks better in a wrong model. 1,000 logs of 1,000 episodes.
- *nobody knows*: on Tiger, memoryless controllers with rows drawn at random. With infinite data
  SPIBB makes about 29 % of them worse. One log of 1,000 and one of 10,000 episodes for each of 300.

One JSON line per case: how often something was deployed, how often that was worse (`worse`), its
95 % upper confidence bound (Clopper and Pearson), and what fixed SPIBB does on the same logs.

    python benchmarks/hard_cases.py [--part 0.1] [--delta 0.05]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator

import numpy as np

from jumar import algorithms, models
from jumar.core.arrays import Floats
from jumar.core.randomness import random_stream
from jumar.gate import select
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.pomdp import Pomdp
from jumar.lab.truth.simulation import simulate
from jumar.policy.controller import Controller
from jumar.tally.replay import count

WORSE = 1e-9
N_WEDGE = 20  # of the fixed SPIBB beside it
BEST_MEMORYLESS = 0.5257  # on Voicemail, as found by an independent search

Case = tuple[Controller, int, int]  # a behavior, its number, episodes


def memoryless(pomdp: Pomdp, rows: Floats, name: str) -> Controller:
    """One row of action probabilities per observation."""
    uniform = Controller.uniform(pomdp.observations, pomdp.actions)
    return uniform.except_at(np.arange(len(rows))[:, None], rows, name)


def best_memoryless(pomdp: Pomdp) -> Controller:
    """The best stochastic controller that sees the last observation only: rows are a softmax of
    free numbers, climbed from several starts; the value is exact."""
    from scipy.optimize import minimize
    from scipy.special import softmax

    shape = len(pomdp.observations), len(pomdp.actions)

    def rows(x: Floats) -> Floats:
        found: Floats = softmax(x.reshape(shape), 1)
        found[found < 1e-9] = 0.0  # at the border of the simplex
        return found / found.sum(1, keepdims=True)

    def loss(x: Floats) -> float:
        return -evaluate(pomdp, memoryless(pomdp, rows(x), "candidate")).value

    rng = random_stream(1, "starts")
    starts = [rng.normal(0, 2, shape).ravel() for _ in range(8)]
    found = min((minimize(loss, x, method="BFGS") for x in starts), key=lambda run: run.fun)
    return memoryless(pomdp, rows(found.x), "best memoryless")


def random_behaviors(pomdp: Pomdp, n: int) -> Iterator[Controller]:
    """Every row uniform over all distributions."""
    for i in range(n):
        rng = random_stream(1, "behavior", i)
        rows = rng.dirichlet(np.ones(len(pomdp.actions)), len(pomdp.observations))
        yield memoryless(pomdp, rows, f"random {i}")


def tempt(name: str, pomdp: Pomdp, cases: Iterable[Case], delta: float) -> None:
    """Select on the log of every case, and print how often that did harm."""
    from scipy.special import betaincinv

    begin = time.process_time()
    gains, fixed = [], []
    for behavior, number, episodes in cases:
        rng = random_stream(1, "data", name, number, episodes)
        log = simulate(pomdp, behavior, episodes=episodes, seed=rng)
        value, γ = evaluate(pomdp, behavior).value, pomdp.discount
        chosen = select(
            log,
            behavior,
            discount=γ,
            memory=behavior.memory,
            delta=delta,
            seed=random_stream(1, "selection", name, number, episodes),
        )
        gains.append(evaluate(pomdp, chosen.controller).value - value if chosen.chosen else 0.0)
        spibb = algorithms.run(
            "spibb", count(log, behavior.memory).mle(γ), behavior, n_wedge=N_WEDGE
        )
        fixed.append(evaluate(pomdp, spibb.controller).value - value)
    gain, other = np.array(gains), np.array(fixed)
    worse, n = int((gain < -WORSE).sum()), len(gain)
    upper = 1.0 if worse == n else float(betaincinv(worse + 1, n - worse, 0.95))
    line = {
        "case": name,
        "logs": n,
        "delta": delta,
        "deployed": float((gain != 0).mean()),
        "worse": worse / n,
        "worse_at_most": round(upper, 4),
        "mean_gain": float(gain.mean()),
        "least_gain": float(gain.min()),
        f"spibb_{N_WEDGE}_worse": float((other < -WORSE).mean()),
        f"spibb_{N_WEDGE}_mean_gain": float(other.mean()),
        "cpu_s": round(time.process_time() - begin, 1),
    }
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Cases built to tempt selection.")
    parser.add_argument("--part", type=float, default=1.0, help="share of the cases to run")
    parser.add_argument("--delta", type=float, default=0.05)
    asked = parser.parse_args()

    voicemail, tiger = models.voicemail(), models.tiger()
    best = best_memoryless(voicemail)
    value = evaluate(voicemail, best).value
    if abs(value - BEST_MEMORYLESS) > 1e-3:
        raise SystemExit(f"the best memoryless Voicemail controller is worth {value}; search again")
    print(
        json.dumps({"behavior": best.rows_at(np.array([[0], [1]])).tolist(), "value": value}),
        flush=True,
    )

    logs = max(1, round(1000 * asked.part))
    tempt("voicemail, nothing is better", voicemail, [(best, i, 1000) for i in range(logs)],
          asked.delta)  # fmt: skip
    behaviors = list(random_behaviors(tiger, max(1, round(300 * asked.part))))
    for episodes in (1000, 10_000):
        tempt(
            f"tiger, random behaviors, {episodes:,} episodes",
            tiger,
            ((behavior, i, episodes) for i, behavior in enumerate(behaviors)),
            asked.delta,
        )


if __name__ == "__main__":
    main()
