"""Is a signal kept that is said to be kept? False deployments on processes built to tempt.

Two signals: the objective pays for haste, the other one is harmed by it. Every log is improved on
the objective with the other signal to be kept, and what is deployed is judged by its exact value on
both: it is *false* if it gains nothing on the objective, or loses more of the other signal than was
allowed, or if a bound on either signal is wrong. A share of at most δ of the logs may be false.

    python benchmarks/objectives.py                       # a few logs of every process
    python benchmarks/objectives.py --logs 1000 --out objectives.ndjson --only any-gain-harms

With --out every log is a line of its own, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import jumar as jm
from common import report  # type: ignore[import-not-found]
from jumar.core.errors import LogError
from jumar.core.randomness import random_stream
from jumar.gate import select
from jumar.lab.study.guarantees.base import model
from jumar.lab.truth.pomdp import Pomdp
from jumar.log.episodes import Episodes

DELTA = 0.05
STEPS = 3
WAIT, RUSH, CARE = "wait", "rush", "care"
BEHAVIOR = (0.5, 0.2, 0.3)
Harm = Mapping[tuple[str, str], float]  # (hidden state, action) -> chance of harm


@dataclass(frozen=True)
class TwoSignals:
    """A process whose rewards are numbers of pairs (objective, other signal)."""

    name: str
    coded: Pomdp
    pairs: tuple[tuple[float, float], ...]
    loss: float | None  # allowed of the other signal
    rewards: jm.RewardRange | None = None  # of the other signal, if that is declared
    scale: float = 1.0  # the other signal as it is logged: scale·x + shift
    shift: float = 0.0

    def log(self, episodes: int, behavior: jm.Controller, rng: np.random.Generator) -> Episodes:
        drawn = jm.simulate(self.coded, behavior, episodes=episodes, seed=rng)
        paid = np.array(self.pairs)[drawn.reward.astype(np.int64)]
        signals = {"other": self.scale * paid[:, 1] + self.shift}
        return replace(drawn, reward=paid[:, 0], signals=signals)

    def value(self, controller: jm.Controller, signal: int) -> float:
        """Exact."""
        paid = np.array(self.pairs)[self.coded.reward.astype(np.int64), signal]
        if signal == 1:
            paid = self.scale * paid + self.shift
        return float(jm.evaluate(replace(self.coded, reward=paid), controller).value)


def haste(name: str, harm: Harm, size: float = 1.0, *, loss: float | None, **more) -> TwoSignals:
    """Three steps. A hidden state, sound or weak, is seen as quiet or noise, right in 7 of 10
    cases. Rushing pays 1, care 0.5 in 4 of 5 cases, waiting nothing; each may do harm."""
    pairs = ((0.0, 0.0), (0.0, -size), (0.5, 0.0), (0.5, -size), (1.0, 0.0), (1.0, -size))
    pays = {WAIT: ((1.0, 0),), CARE: ((0.8, 2), (0.2, 0)), RUSH: ((1.0, 4),)}
    seen = {"sound": {"quiet": 0.7, "noise": 0.3}, "weak": {"quiet": 0.3, "noise": 0.7}}
    outcomes = {}
    for hidden in seen:
        for t in range(STEPS):
            for action in (WAIT, RUSH, CARE):
                found = []
                for p, code in pays[action]:
                    bad = harm[hidden, action]
                    for q, harmed in ((1 - bad, 0), (bad, 1)):
                        if t + 1 == STEPS:
                            found.append((p * q, None, None, code + harmed))
                            continue
                        found += [
                            (p * q * o, f"{hidden}{t + 1}", z, code + harmed)
                            for z, o in seen[hidden].items()
                        ]
                outcomes[f"{hidden}{t}", action] = [x for x in found if x[0] > 0]
    start = {(f"{s}0", z): 0.5 * p for s in seen for z, p in seen[s].items()}
    coded = model(name, start=start, outcomes=outcomes, discount=0.95)
    return TwoSignals(name, coded, pairs, loss, **more)


def processes() -> dict[str, TwoSignals]:
    """By name."""
    slight = {(h, a): p for h in ("sound", "weak") for a, p in
              ((WAIT, 0.05), (CARE, 0.055), (RUSH, 0.06))}  # fmt: skip
    hidden = {("sound", WAIT): 0.05, ("sound", CARE): 0.05, ("sound", RUSH): 0.05,
              ("weak", WAIT): 0.05, ("weak", CARE): 0.1, ("weak", RUSH): 0.4}  # fmt: skip
    untouched = dict.fromkeys(slight, 0.1)
    disaster = {(h, a): p for h in ("sound", "weak") for a, p in
                ((WAIT, 0.0), (CARE, 0.0), (RUSH, 0.002))}  # fmt: skip
    rare = {key: 0.015 if key[1] == RUSH else 0.0 for key in slight}
    found = [
        # whatever gains on the objective harms a little, and nothing may be lost
        haste("any-gain-harms", slight, loss=0.0),
        # the bold change harms where the state is weak; gentle ones lose less than is allowed
        haste("hidden-harm", hidden, loss=None),
        haste("hidden-harm-scaled", hidden, loss=None, scale=1e6, shift=3e6),
        haste("hidden-harm-declared", hidden, loss=0.05, rewards=jm.RewardRange.constant(-1, 0)),
        # nothing is harmed: how often is the change found?
        haste("untouched", untouched, loss=None),
        # once in 67 rushes a loss of 10, declared: bold changes lose more than 0.25
        haste("disaster", rare, 10.0, loss=0.25, rewards=jm.RewardRange.constant(-10, 0)),
        # once in 500 rushes a loss of 50, not declared: many logs show one or none
        haste("disaster-read-off", disaster, 50.0, loss=0.25),
    ]
    return {one.name: one for one in found}


def tried(process: TwoSignals, episodes: int, number: int, seed: int) -> dict[str, object]:
    """One log: what is deployed, and what it is worth."""
    behavior = jm.Controller.constant(process.coded.observations, process.coded.actions, BEHAVIOR)
    rng = random_stream(seed, "objectives", process.name.removesuffix("-scaled"), episodes, number)
    log = process.log(episodes, behavior, rng)
    keep = [jm.Keep("other", process.loss, process.rewards)]
    began = time.perf_counter()
    row: dict[str, object] = {"process": process.name, "episodes": episodes, "log": number}
    try:
        found = select(
            log,
            behavior,
            discount=0.95,
            memory=jm.window(1),
            delta=DELTA,
            keep=keep,
            horizon=STEPS if process.rewards else None,
            seed=number,
        )
    except LogError:  # all alike: jumar refuses, and deploys nothing
        return {**row, "deployed": False, "false": False, "refused": True}
    row["seconds"] = time.perf_counter() - began
    if found.chosen is None:
        held_back = found.held_back is not None
        return {**row, "deployed": False, "false": False, "held_back": held_back}
    (kept,) = found.chosen.kept
    gains = [process.value(found.controller, i) - process.value(behavior, i) for i in range(2)]
    slack = 1e-9 * max(1.0, process.scale)
    broken = gains[1] < -kept.loss - slack
    false = gains[0] <= 0 or broken or gains[0] < found.chosen.lower - slack
    false = false or gains[1] < kept.lower - slack
    least = float(log.signals["other"].min())
    shown = (
        process.rewards is not None or least == process.scale * process.pairs[1][1] + process.shift
    )
    return {
        **row,
        "deployed": True,
        "false": bool(false),
        "broken": bool(broken),
        "worse": bool(gains[0] < 0),
        "gain": gains[0],
        "other": gains[1],
        "loss": kept.loss,
        "lower": found.chosen.lower,
        "lower_other": kept.lower,
        "shown": bool(shown),
    }


def upper_limit(false: int, logs: int) -> float:
    """Clopper-Pearson, one-sided, 95 %."""
    from scipy.stats import beta

    return 1.0 if false == logs else float(beta.ppf(0.95, false + 1, logs - false))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    for name, process in processes().items():
        if asked.only and name not in asked.only:
            continue
        rows = []
        if asked.out and asked.out.exists():
            rows = [json.loads(line) for line in asked.out.read_text().splitlines()]
            rows = [r for r in rows if r["process"] == name and r["episodes"] == asked.episodes]
        done = {row["log"] for row in rows}
        for number in range(asked.logs):
            if number in done:
                continue
            rows.append(tried(process, asked.episodes, number, asked.seed))
            if asked.out:
                with asked.out.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
        false = sum(bool(row["false"]) for row in rows)
        made = [row for row in rows if row["deployed"]]
        unseen = sum(bool(row["false"]) and not row["shown"] for row in made)
        report(
            f"objectives: {name}",
            {"share": DELTA},
            share=(false - unseen) / len(rows),
            false=false,
            unseen=unseen,
            broken=sum(bool(row.get("broken")) for row in made),
            logs=len(rows),
            deployed=len(made),
            held_back=sum(bool(row.get("held_back")) for row in rows),
            refused=sum(bool(row.get("refused")) for row in rows),
            mean_gain=round(sum(row["gain"] for row in made) / len(rows), 4),
            at_most=round(upper_limit(false - unseen, len(rows)), 4),
        )


if __name__ == "__main__":
    main()
