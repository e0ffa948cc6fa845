"""Inputs that are valid and odd: what comes after reading gets its share, too.

Logs of one step or of many, with rewards of every size, names of every kind, rules that never
explore; models with discounts next to 1; studies and projects that run.
"""

from __future__ import annotations

import json
import random
from typing import Any

import mutate
from cases import Case

from jumar import algorithms

NAMES = (
    "ok",
    "noise",
    "é",
    "0",
    "1",
    "a b",
    "x,y",
    '"',
    "<b>",
    "true",
    "NA ",
    "\u202ez",
    "名",
    "\x1b[2J",
)
ENDINGS = ("csv", "csv", "csv", "tsv", "parquet", "arrow", "ndjson", "csv.gz")
ALGORITHMS = (*algorithms.ALGORITHMS, "spibb", "auto")
ESTIMATORS = ("pdis", "dr", "wdr", "all")
INTERVALS = ("hoeffding", "bernstein", "truncated", "t", "bootstrap-t")
SIZES = (1, 2, 5, 12, 30)  # episodes
DISCOUNTS = ("0.9", "0.95", "0.5", "0", "0.999999", "0.9999999999", "1e-300")


def _names(rng: random.Random, most: int) -> list[str]:
    return rng.sample(NAMES, rng.randint(1, most))


def _reward(rng: random.Random, style: int, scale: float) -> float:
    if style == 0:
        return 0.0
    if style == 1:
        return scale
    if style == 2:
        return rng.choice((-1.0, 0.0, 1.0)) * scale
    if style == 3:
        return rng.uniform(-1, 1) * 10.0 ** rng.randint(-9, 9) * scale
    if style == 4:
        return rng.choice((0.0, 0.0, 0.0, 0.0, 1000.0)) * scale
    return rng.gauss(0, 1) * scale


def log(rng: random.Random) -> Case:
    """A valid log of odd content, and a command that computes with it."""
    files, rows, name, longest = odd_log(rng)
    files[name] = mutate.table_bytes(rows, name.partition(".")[2], rng)
    return Case("deep log", tuple(_command(rng, name, longest, "propensity" in rows[0])), files)


def odd_log(
    rng: random.Random, sizes: tuple[int, ...] = SIZES
) -> tuple[dict[str, bytes], list[dict[str, Any]], str, int]:
    """Two rules as files, the rows of a log, the name that it shall have, its longest episode."""
    observations, actions = _names(rng, 5), _names(rng, 4)
    rows, longest = _rows(rng, observations, actions, sizes)
    files = {
        "rule.json": _rule(rng, observations, actions),
        "other.json": _rule(rng, observations, actions),
    }
    return files, rows, f"log.{rng.choice(ENDINGS)}", longest


def _rows(
    rng: random.Random,
    observations: list[str],
    actions: list[str],
    sizes: tuple[int, ...] = SIZES,
) -> tuple[list[dict[str, Any]], int]:
    style, scale = rng.randrange(6), 10.0 ** rng.choice((0, 0, 0, 3, -3, 12, -12, 40, -40))
    ends = rng.choice(("all", "none", "some", "final"))
    longest = rng.choice((1, 2, 3, 8))
    known = rng.randrange(5) == 0
    best = rng.choice(actions) if rng.randrange(4) == 0 else None  # something to be learned
    rows = []
    for episode in range(rng.choice(sizes) if rng.randrange(16) else 200):
        length = rng.randint(1, longest)
        for step in range(length):
            row = {
                "episode": episode,
                "step": step,
                "observation": rng.choice(observations),
                "action": rng.choice(actions),
                "reward": _reward(rng, style, scale),
                "terminated": step == length - 1
                and (ends == "all" or (rng.random() < 0.5 and ends != "none")),
            }
            if row["action"] == best:
                row["reward"] += scale
            if known:
                row["propensity"] = 1 / len(actions)
            if rng.randrange(300) == 0:
                row["observation"] = None
            rows.append(row)
        if ends == "final" and not rows[-1]["terminated"]:
            rows.append(
                {"episode": episode, "step": length, "observation": rng.choice(observations)}
            )
    return rows, longest


def _rule(rng: random.Random, observations: list[str], actions: list[str]) -> bytes:
    """A controller over these names, some of its rows extreme."""
    memory: dict[str, Any] = {"window": rng.choice((1, 1, 2, 3, 5))}
    if rng.randrange(4) == 0:
        memory["actions"] = True
    document: dict[str, Any] = {
        "format": "jumar-controller/1",
        "observations": observations,
        "actions": actions,
        "memory": memory,
        "default": _row(rng, actions),
    }
    if memory["window"] == 1:
        document["rules"] = [
            {"observation": z, "action": _row(rng, actions)}
            for z in observations
            if rng.randrange(2)
        ]
    return json.dumps(document).encode()


def _row(rng: random.Random, actions: list[str]) -> Any:
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(actions)
    if kind == 1 and len(actions) > 1:
        tiny = rng.choice((1e-300, 1e-12, 0.001))
        chosen = rng.sample(actions, 2)
        return {chosen[0]: 1.0 - tiny, chosen[1]: tiny}
    return {a: 1 / len(actions) for a in actions}


def _command(rng: random.Random, name: str, longest: int, known: bool) -> list[str]:
    discount = rng.choice(DISCOUNTS)
    policy = ["--policy", rng.choice(("estimate", "estimate", "rule.json"))]
    policy = [] if known and rng.randrange(2) else policy
    kind = rng.randrange(10)
    if kind < 5:
        words = ["improve", name, *policy, "--discount", discount]
        words += ["--algorithm", rng.choice(ALGORITHMS)]
        words += ["-o", "out"] if rng.randrange(8) == 0 else []
        words += ["--gate", "asymptotic"] if rng.randrange(5) == 0 else []
        words += ["--simplify"] if rng.randrange(5) == 0 else []
    elif kind < 8:
        words = ["estimate", name, *policy, "--discount", discount, "--controller", "other.json"]
        words += ["--estimator", rng.choice(ESTIMATORS)]
        words += ["--interval", rng.choice(INTERVALS)] if rng.randrange(2) else []
        words += ["--difference"] if rng.randrange(3) == 0 else []
    elif kind == 8:
        words = ["samples", name, *policy, "--discount", discount]
    else:
        words = ["check", name, *policy, *(["--discount", discount] if rng.randrange(2) else [])]
    if kind < 9:
        words += (
            ["--delta", rng.choice(("0.5", "0.999", "1e-9", "1e-300"))]
            if rng.randrange(4) == 0
            else []
        )
        words += ["--horizon", str(rng.choice((longest, 100)))] if rng.randrange(5) == 0 else []
        words += (
            ["--rewards", rng.choice(("-1e50:1e50", "-1000:1000"))] if rng.randrange(5) == 0 else []
        )
    if kind < 5 or kind == 8:
        words += ["--window", rng.choice("1234")] if rng.randrange(4) == 0 else []
    words += ["--cost"] if rng.randrange(8) == 0 else []
    words += ["--ends", rng.choice(("cut", "terminated"))] if rng.randrange(40) == 0 else []
    words += ["--missing", "symbol"] if rng.randrange(3) == 0 else []
    return words + (["--json"] if rng.randrange(2) else [])


def model(rng: random.Random) -> Case:
    """A valid model of odd content, with a controller that fits it."""
    states = [f"s{i}" for i in range(rng.randint(1, 4))]
    observations, actions = _names(rng, 3), _names(rng, 3)
    scale = 10.0 ** rng.choice((0, 0, 9, -9, 40, -40))
    outcomes = []
    for state in states:
        for action in actions:
            ways = rng.choice((1, 1, 2, 3))
            for _ in range(ways):
                one: dict[str, Any] = {"state": state, "action": action, "probability": 1 / ways}
                one["reward"] = _reward(rng, rng.randrange(6), scale)
                if rng.randrange(3) == 0:
                    one["ends"] = True
                else:
                    one |= {"to": rng.choice(states), "see": rng.choice(observations)}
                outcomes.append(one)
    document = {
        "format": "jumar-model/1",
        "discount": rng.choice((0.9, 0.0, 0.999999, 0.5, 1.0, 0.9999999999)),
        "states": states,
        "actions": actions,
        "observations": observations,
        "start": states[0],
        "first_observation": {state: rng.choice(observations) for state in states},
        "outcomes": outcomes,
    }
    if rng.randrange(2):
        document["max_steps"] = rng.choice((1, 2, 50, 10_000_000))
    kind = rng.randrange(8)
    if kind < 3:
        words = ["evaluate", "model.json", "--policy", "rule.json"]
        words += (
            ["--horizon", rng.choice(("1", "50", "100000", "10" * 10))] if rng.randrange(2) else []
        )
        words += (
            ["--simulate", "5"]
            if rng.randrange(4) == 0 and document.get("max_steps", 50) < 100
            else []
        )
    elif kind < 5:
        words = [
            "simulate",
            "model.json",
            "--policy",
            "rule.json",
            "-o",
            "out.csv",
            "--episodes",
            "5",
        ]
        words += ["--max-steps", "20"]
    elif kind == 5:
        document["max_steps"] = 20
        words = [
            "train",
            "model.json",
            "-o",
            "out.json",
            "--episodes",
            "20",
            "--window",
            rng.choice("123"),
        ]
        words += ["--softmax", rng.choice(("0", "1", "1e308"))]
    elif kind == 6:
        document["max_steps"] = 20
        words = [
            "plan",
            "model.json",
            "--episodes",
            "2",
            "--simulations",
            "20",
            "--particles",
            "20",
        ]
    else:
        words = ["show", "rule.json", "-o", rng.choice(("out.svg", "out.dot"))]
    words += ["--json"] if rng.randrange(2) else []
    files = {
        "model.json": json.dumps(document).encode(),
        "rule.json": _rule(rng, observations, actions),
    }
    return Case("deep model", tuple(words), files)
