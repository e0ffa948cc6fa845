"""How often does `judge_long` deploy, and how often does that do harm? Not run by `make bench`.

Models are drawn from seeds that the rules were not tuned on (tuned: 0 to 19 and 100 to 159; here:
from 1000), one log each. A result is worse when its exact value for ever is below the behavior's.
One JSON line per cell, with the 95 % upper confidence bound of `worse` (Clopper and Pearson).

    python benchmarks/long_records.py [--logs 60] [--only plain,bridge] [--most 2000]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

import long_models as lm  # noqa: E402
from jumar import load_controller, models  # noqa: E402
from jumar.algorithms.long_records import judge_long  # noqa: E402
from jumar.core.controller import Controller  # noqa: E402
from jumar.core.episodes import Episodes  # noqa: E402
from jumar.core.randomness import random_stream  # noqa: E402
from jumar.truth.evaluation import evaluate  # noqa: E402
from jumar.truth.pomdp import Pomdp  # noqa: E402
from jumar.truth.simulation import simulate  # noqa: E402

FIRST = 1000  # seeds below were used for tuning
WORSE = 1e-9

HIDDEN = {
    "wear, nothing seen": lambda s: lm.wear(s, seen=None),
    "wear, seen through noise": lambda s: lm.wear(s, seen=0.6),
    "wear, tells by luck only": lambda s: lm.breakdowns(s),
    "wear, luck and noise": lambda s: lm.breakdowns(s, seen=0.5),
    "wear, tells at the end only": lambda s: lm.cliff(s),
}
MODES = {
    "mode, alarm tells nothing": lambda s: lm.mode(s),
    "mode, alarm tells little": lambda s: lm.mode(s, seen=0.7),
}

Case = tuple[Pomdp, Controller, Episodes]


def records(pomdp: Pomdp, behavior: Controller, n: int, T: int, *names: str | int) -> Episodes:
    return simulate(
        pomdp, behavior, episodes=n, max_steps=T, seed=random_stream(FIRST, "data", *names, n, T)
    )


def drawn(name: str, build: object, n: int, T: int, logs: int) -> Iterator[Case]:
    """A model, a behavior and a log for every seed."""
    for seed in range(FIRST, FIRST + logs):
        pomdp = build(seed)  # type: ignore[operator]
        of = lm.mode_behavior if name.startswith("mode") else lm.wear_behavior
        behavior = of(pomdp, seed)
        yield pomdp, behavior, records(pomdp, behavior, n, T, name, seed)


def tigers(n: int, logs: int) -> Iterator[Case]:
    """Memoryless Tiger; every row of the behavior uniform over all distributions."""
    pomdp = models.tiger()
    for seed in range(FIRST, FIRST + logs):
        rows = random_stream(seed, "tiger behavior").dirichlet(np.ones(3), 2)
        behavior = lm.memoryless(pomdp, rows)
        yield pomdp, behavior, records(pomdp, behavior, n, 300, "tiger", seed)


def sumatran(n: int, T: int, logs: int) -> Iterator[Case]:
    """The species model, with a behavior that looks at the last observation only."""
    pomdp = models.sumatran_tiger()
    for seed in range(FIRST, FIRST + logs):
        rng = random_stream(seed, "sumatran behavior")
        rows = np.array([rng.dirichlet([6, 2, 1]), rng.dirichlet([3, 2, 2])])
        behavior = lm.memoryless(pomdp, rows)
        yield pomdp, behavior, records(pomdp, behavior, n, T, "sumatran", seed)


def bridges(n: int, logs: int) -> Iterator[Case]:
    """The example: 30 to 59 years, kept by its schedule."""
    pomdp = models.bridge_repair()
    behavior = load_controller(HERE.parent / "examples" / "bridge" / "schedule.toml")
    for seed in range(FIRST, FIRST + logs):
        log = records(pomdp, behavior, n, 59, "bridge", seed)
        length = random_stream(seed, "opened").integers(30, 59, size=n, endpoint=True)
        yield pomdp, behavior, shortened(log, length)


def shortened(log: Episodes, length: np.ndarray) -> Episodes:
    """The first years of every record; what was found then is known, what was done is not."""
    kept = np.concatenate(
        [np.arange(a, a + k) for a, k in zip(log.start[:-1], length, strict=True)]
    )
    after = log.start[:-1] + length
    inside = after < log.start[1:]
    final = np.where(inside, log.observation[np.minimum(after, log.n_steps - 1)],
                     log.final_observation)  # fmt: skip
    return Episodes(
        log.observations,
        log.actions,
        log.observation[kept],
        log.action[kept],
        log.reward[kept],
        start=np.append(0, np.cumsum(length)),
        final_observation=final,
        terminated=np.zeros(len(length), bool),
    )


def measure(name: str, n: int, T: int | None, cases: Iterator[Case], delta: float) -> None:
    """Judge every log, and print what came of it."""
    from scipy.special import betaincinv

    begin = time.process_time()
    gains, claimed, false, why, mixtures, logs = [], [], 0, Counter(), Counter(), 0
    for number, (pomdp, behavior, log) in enumerate(cases):
        verdict = judge_long(
            log,
            behavior,
            discount=pomdp.discount,
            delta=delta,
            seed=random_stream(number, "long", name),
        )
        logs += 1
        if verdict.chosen is None:
            why[verdict.refusals[0].condition] += 1
            continue
        value = evaluate(pomdp, behavior).value
        gains.append(evaluate(pomdp, verdict.controller).value - value)
        claimed.append(verdict.chosen.gain)
        false += gains[-1] < verdict.chosen.lower
        mixtures[verdict.chosen.setting.mixture] += 1
    gain = np.array(gains)
    worse = int((gain < -WORSE).sum())
    upper = 1.0 if worse == logs else float(betaincinv(worse + 1, logs - worse, 0.95))
    line = {
        "cell": name,
        "records": n,
        "steps": T,
        "logs": logs,
        "deployed": round(len(gain) / logs, 4),
        "worse": round(worse / logs, 4),
        "worse_at_most": round(upper, 4),
        "below_its_bound": round(false / logs, 4),
        "mean_gain": round(float(gain.mean()), 2) if len(gain) else None,
        "mean_claimed": round(float(np.mean(claimed)), 2) if len(gain) else None,
        "least_gain": round(float(gain.min()), 2) if len(gain) else None,
        "refused": dict(why),
        "mixtures": {str(k): v for k, v in sorted(mixtures.items())},
        "cpu_s_per_log": round((time.process_time() - begin) / logs, 2),
    }
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Long records, judged under an assumption.")
    parser.add_argument("--logs", type=int, default=60)
    parser.add_argument("--only", default="", help="parts of names of cells, with commas")
    parser.add_argument("--most", type=int, default=5000, help="records of the largest logs")
    parser.add_argument("--least", type=int, default=0, help="records of the smallest logs")
    parser.add_argument("--delta", type=float, default=0.05)
    asked = parser.parse_args()
    N, δ = asked.logs, asked.delta

    def wanted(name: str, n: int) -> bool:
        named = not asked.only or any(part in name for part in asked.only.split(","))
        return named and asked.least <= n <= asked.most

    for T in (10, 20, 50, 100):
        if wanted("plain view", 500):
            measure("wear in plain view", 500, T, drawn("plain", lm.wear, 500, T, N), δ)
    for n in (200, 500, 2000, 5000):
        for T in (20, 50):
            for name, build in {**HIDDEN, **MODES}.items():
                if wanted(name, n):
                    measure(name, n, T, drawn(name, build, n, T, N), δ)
        if wanted("memoryless tiger", n):
            measure("memoryless tiger", n, None, tigers(n, N), δ)
        if wanted("sumatran tiger", n):
            measure("sumatran tiger", n, 50, sumatran(n, 50, N), δ)
    if wanted("bridge", 520):
        measure("bridge", 520, 59, bridges(520, 200 if not asked.only else N), δ)


if __name__ == "__main__":
    main()
