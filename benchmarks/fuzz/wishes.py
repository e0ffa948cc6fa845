"""What may be asked of `jumar improve` beside a log and a rule: sensible or not, alone or together.

Candidates of the whole family, memory learned from the log, few changes, one signal to get better
and others to keep. Logs with signals of every kind are made here, too: missing, huge, constant,
in any unit, at odds with the reward or the same as it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import deep
import mutate
from cases import THEN, Case, possible

from jumar import algorithms

NO_CANDIDATES = (
    *("", ",", "auto,", ",spibb", "soft,soft", "auto,auto", "SPIBB", "nothing", "spibb;soft"),
    *("spibb soft", " spibb , soft ", "soft=0.5", "1", "auto,nothing", "spibb," * 500),
)
SIGNALS = ("safety", "comfort", "cost", "near misses", "é", "a=b", "x:y", "0", "\x1b[2J", "<b>")
LOSSES = ("0", "0.05", "0.5", "1", "1e9", "1e300", "1e-300", "5e-324")
RANGES = ("-1:1", "0:1", "-10:10", "-1e9:1e9", "-1e300:1e300", "0:0", "-1e308:1e308", "0:1e-300")
ODD_RANGES = ("1:0", "nan:1", "0:inf", "a:b", ":", "", "0", "0:1:2")


def candidates(rng: random.Random) -> str:
    """Names of the registry, few or all of them; or something else."""
    if rng.randrange(6) == 0:
        return rng.choice((*NO_CANDIDATES, *mutate.ODD_TEXTS))
    names = list(algorithms.ALGORITHMS)
    return ",".join(rng.sample(names, rng.choice((1, 1, 1, 2, 2, 3, len(names)))))


def kept(rng: random.Random, columns: Sequence[str], careless: bool) -> list[str]:
    """Signals to keep, some with a loss or a range."""
    words: list[str] = []
    for name in rng.sample(columns, rng.randint(1, len(columns))):
        loss = f"={rng.choice(LOSSES)}" if rng.randrange(2) or "=" in name else ""
        ends = rng.choice(RANGES)
        if careless:
            odd = (*SIGNALS, *mutate.ODD_TEXTS, "reward", "observation", "episode")
            name = rng.choice((name, name, rng.choice(odd)))
            loss = rng.choice((loss, "", f"={rng.choice(mutate.ODD_NUMBERS)}"))
            ends = rng.choice((ends, rng.choice(ODD_RANGES)))
        words += [rng.choice(("--keep", "--keep", "--keep-cost")), name + loss]
        if rng.randrange(4) == 0:
            words += ["--keep-range", f"{name}={ends}"]
        if careless and rng.randrange(9) == 0:
            words += ["--keep-range", rng.choice((name, ends, "none=0:1"))]
    return words


def wishes(rng: random.Random, columns: Sequence[str] = ()) -> list[str]:
    """Some of all that can be asked. Most go together; the careless ask for anything."""
    careless = rng.randrange(3) == 0
    words: list[str] = []
    words += ["--candidates", candidates(rng)] if rng.randrange(3) == 0 else []
    words += ["--simplify"] if rng.randrange(3) == 0 else []
    if "--simplify" in words or careless:
        shares = ("0.5", "1", "1e-9", *(mutate.ODD_NUMBERS if careless else ()))
        words += ["--gain-share", rng.choice(shares)] if rng.randrange(3) == 0 else []
    words += ["--learn-memory"] if rng.randrange(4) == 0 else []
    if "--learn-memory" not in words or careless:
        words += ["--window", rng.choice("123")] if rng.randrange(4) == 0 else []
    left = list(columns)
    if left and rng.randrange(3) == 0:
        wanted = rng.choice(left)
        words += ["--objective", rng.choice((wanted, "reward", "none", "")) if careless else wanted]
        left = left if careless else [name for name in left if name != wanted]
    keeps = kept(rng, left, careless) if left and rng.randrange(4) else []
    if not keeps or careless:
        words += ["--gate", "asymptotic"] if rng.randrange(6) == 0 else []
    words += ["--cost"] if rng.randrange(8) == 0 else []
    return words + keeps


# ---- logs with signals --------------------------------------------------------------------------


def signal_cells(rng: random.Random, rows: Sequence[dict[str, Any]]) -> list[Any]:
    """What a column of a signal holds, one cell for every row."""
    kind, scale = rng.randrange(12), 10.0 ** rng.choice((0, 0, 0, 6, -6, 12, -12, 60, 150, -150))
    if kind == 0:
        return [rng.choice((0.0, 1.0, 1e308))] * len(rows)
    if kind == 1:
        return [row.get("reward") for row in rows]
    if kind == 2:  # at odds with the reward
        return [None if row.get("reward") is None else -row["reward"] for row in rows]
    if kind == 3:  # rare
        return [-scale if rng.random() < 0.03 else 0.0 for _ in rows]
    if kind == 4:
        return [rng.choice((1e308, -1e308, 0.0, 1.0)) for _ in rows]
    if kind == 5:
        return [rng.choice((5e-324, 0.0, -1e-310)) for _ in rows]
    if kind == 6:
        holes: tuple[Any, ...] = (None, float("nan"), "", float("inf"))
        hole = rng.choice(holes)
        return [hole if rng.random() < 0.02 else rng.random() for _ in rows]
    if kind == 7:
        return [rng.choice((True, False)) for _ in rows]
    if kind == 8 and rng.randrange(4) == 0:
        return [rng.choice(("low", "high", "1,5", "0.5")) for _ in rows]
    if kind == 9:  # another unit: times and plus
        return [scale * (1000 + rng.random()) for _ in rows]
    if kind == 10:  # what is done decides
        good = rng.choice([row.get("action") for row in rows])
        return [scale * (row.get("action") == good) for row in rows]
    return [rng.gauss(0, 1) * scale for _ in rows]


def with_signals(rng: random.Random, rows: list[dict[str, Any]]) -> list[str]:
    """Add columns of signals to the rows, and say how they are called."""
    names = rng.sample(SIGNALS, rng.choice((1, 1, 2, 3)))
    for name in names:
        done = rows if rng.randrange(12) == 0 else [row for row in rows if row.get("action")]
        for row, cell in zip(done, signal_cells(rng, done), strict=True):
            row[name] = cell
    return names


def log(rng: random.Random) -> Case:
    """A valid log with signals, odd as logs are, and `jumar improve` with wishes."""
    files, rows, name, _ = deep.odd_log(rng, (2, 12, 30, 30, 60))
    columns = with_signals(rng, rows) if rng.randrange(4) else []
    policy = _policy(rng, rows)
    if rng.randrange(8) == 0:
        rows = mutate.retable(rows, rng)
    files[name] = mutate.table_bytes(rows, name.partition(".")[2], rng)
    words = ["improve", name, *policy, "--discount", rng.choice(deep.DISCOUNTS)]
    words += wishes(rng, columns)
    words += ["--delta", rng.choice(("0.5", "0.999", "1e-9"))] if rng.randrange(4) == 0 else []
    words += ["--algorithm", rng.choice(deep.ALGORITHMS)] if rng.randrange(12) == 0 else []
    words += _missing(rng, rows)
    words += ["--missing-reward", rng.choice(("0", "nan", "1e308"))] if not rng.randrange(9) else []
    words += ["--json"] if rng.randrange(2) else []
    if rng.randrange(8) == 0:
        words += ["-o", "out", THEN, *_next(rng, name, policy)]
    return Case("wishes", possible(words), files)


def _policy(rng: random.Random, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Who acted: the log tells where it has propensities, else a file or an estimate."""
    if "propensity" in rows[0] and rng.randrange(6):
        return []
    return ["--policy", rng.choice(("estimate", "estimate", "estimate", "rule.json"))]


def _missing(rng: random.Random, rows: Sequence[dict[str, Any]]) -> list[str]:
    holes = any(row.get("observation") is None for row in rows)
    how = rng.choice(("symbol", "symbol", "drop"))
    return ["--missing", how] if (holes and rng.randrange(6)) or not rng.randrange(9) else []


def _next(rng: random.Random, log: str, policy: list[str]) -> list[str]:
    """What one does with a result."""
    kind = rng.randrange(4)
    if kind == 0:
        return ["improve", "--again", "out/run.json", "--json"]
    if kind == 1:
        return ["show", "out/improved.json"]
    if kind == 2:
        return ["export", "out", "-o", rng.choice(("x.py", "x.c", "x.js", "x.sql"))]
    words = ["estimate", log, *policy, "--controller", "out/improved.json"]
    return [*words, "--discount", "0.9", "--json"]


# ---- logs that drift ----------------------------------------------------------------------------


def drifting(rng: random.Random) -> Case:
    """A log that drifts or does not, with clusters or without."""
    files, rows, name, _ = deep.odd_log(rng, (5, 12, 30, 60, 220, 220))
    drift, scale = rng.choice((0, 0, 1, 1, 2)), 10.0 ** rng.choice((0, 0, 3, -9, 40, 150))
    clusters = rng.choice((2, 10, 20, 40)) if rng.randrange(4) == 0 else 0
    for row in rows:
        if drift and row.get("reward") is not None:
            row["reward"] += scale * row["episode"] ** drift
        if clusters:
            row["cluster"] = f"plant {row['episode'] % clusters}"
    files[name] = mutate.table_bytes(rows, name.partition(".")[2], rng)
    policy = _policy(rng, rows)
    if rng.randrange(5) == 0:
        words = ["improve", name, *policy, "--discount", rng.choice(deep.DISCOUNTS)]
        words += wishes(rng) if rng.randrange(2) else []
        words += ["-o", "out"] if rng.randrange(4) == 0 else []
    elif rng.randrange(5) == 0:
        words = ["check", name, *policy, "--discount", rng.choice((*deep.DISCOUNTS, "1"))]
        words += ["--level", rng.choice(("0.5", "0.999", "1e-9"))] if rng.randrange(2) else []
        words += ["--window", rng.choice("1239")] if rng.randrange(4) == 0 else []
    else:
        words = ["estimate", name, *policy, "--discount", rng.choice(deep.DISCOUNTS)]
        words += ["--controller", "other.json"] if rng.randrange(4) else []
        words += ["--delta", rng.choice(("0.5", "0.999", "1e-9"))] if rng.randrange(4) == 0 else []
        words += ["--seed", rng.choice(("2", "-1"))] if rng.randrange(8) == 0 else []
        words += ["--estimator", "dr"] if rng.randrange(20) == 0 else []
    words += ["--columns", "cluster=cluster"] if clusters else []
    words += _missing(rng, rows)
    return Case("drifting", (*words, *(["--json"] if rng.randrange(2) else [])), files)
