"""Input number i of a seed: the same files and command line every time."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable
from typing import Any

import counting
import datasets
import deep
import exporting
import foreign
import mutate
import seeds
import wishes
from cases import Case, possible

from jumar import algorithms

ENDINGS = ("csv", "tsv", "csv.gz", "parquet", "arrow", "ndjson")
CONTROLLERS = (
    "rule.toml",
    "coin.toml",
    "rule.json",
    "window.json",
    "actions.json",
    "lifted.json",
    "product.json",
)
COLUMNS = "episode=episode,observation=observation,action=action,reward=reward"
READING: tuple[tuple[str, ...], ...] = (
    *((),) * 12,
    ("--ends", "cut"),
    ("--cost",),
    ("--missing", "symbol"),
    ("--missing", "drop"),
    ("--repeated", "drop"),
    ("--columns", COLUMNS),
    ("--gap", "2"),
    ("--gap", "7d"),
    ("--bins", "reading=low:0:mid:0.5:high", "--columns", "observation=reading"),
    ("--bins", "reading=low:0:high", "--columns", "observation=observation+reading"),
    ("--columns", "observation=reading"),
    ("--columns", "time=time"),
    ("--columns", "propensity=propensity"),
    ("--columns", "cluster=cluster"),
    ("--columns", "behavior=behavior"),
    ("--columns", "node=node"),
    ("--prices", "action:replace=-2"),
)
HEAVY = 8  # one in so many inputs takes a command that computes for long


def _needs(*names: str) -> dict[str, bytes]:
    return {name: seeds.files()[name] for name in names}


def _on_log(rng: random.Random, log: str) -> list[str]:
    """A command that reads a log. Estimating and checking cost most."""
    kind = rng.randrange(12)
    policy = rng.choice(
        (
            *(["--policy", "coin.toml"],) * 4,
            *(["--policy", "estimate"],) * 4,
            ["--policy", "rule.toml"],
            [],
        )
    )
    discount = ["--discount", rng.choice(("0.9", "0.9", "0.9", "0", "0.99999", "0.5"))]
    if kind < 6:
        words = [
            "improve",
            log,
            *policy,
            *discount,
            "--algorithm",
            rng.choice([name for name in algorithms.ALGORITHMS if name != "auto"]),
        ]
        words += ["-o", "out"] if rng.randrange(HEAVY) == 0 else []
    elif kind < 9:
        words = [
            "estimate",
            log,
            *policy,
            *discount,
            "--controller",
            rng.choice(("coin.toml", "window.json")),
        ]
        words += ["--estimator", rng.choice(("pdis", "dr", "wdr"))]
        words += (
            ["--interval", rng.choice(("t", "hoeffding", "bernstein"))] if rng.randrange(2) else []
        )
    elif kind == 9:
        words = ["samples", log, *policy, *discount]
    elif kind == 10:
        words = ["check", log, *policy, *(discount if rng.randrange(2) else [])]
    else:
        words = ["improve", log, *policy, *discount]
        words += wishes.wishes(rng, seeds.SIGNALS) if rng.randrange(2) else []
    words += rng.choice(READING)
    return words + (["--json"] if rng.randrange(2) else [])


# ---- kinds of inputs --------------------------------------------------------------------------


def log_bytes(rng: random.Random) -> Case:
    """A log damaged byte by byte, or word by word."""
    ending = rng.choice(ENDINGS)
    name = f"log.{ending}"
    data = seeds.files()[name]
    binary = name.endswith(mutate.BINARY)
    changed = (
        mutate.damage(data, rng) if binary or rng.randrange(3) == 0 else mutate.reword(data, rng)
    )
    return Case(
        "log bytes",
        tuple(_on_log(rng, name)),
        {name: changed, **_needs("coin.toml", "rule.toml", "window.json")},
    )


def log_table(rng: random.Random) -> Case:
    """A log whose cells, columns or rows are odd, in any format."""
    ending = rng.choice(ENDINGS)
    name = f"log.{ending}"
    words = _on_log(rng, name)
    asked = " ".join(words)
    wide = ("propensity", "cluster", "behavior", "node", "time", "reading", *seeds.SIGNALS)
    before = ("=", "+", "--keep ", "--keep-cost ", "--objective ")
    more = [key for key in wide if any(f"{mark}{key}" in asked for mark in before)
            or not rng.randrange(9)]  # fmt: skip
    kept = [*seeds.BASIC, *more]
    rows = [{key: row.get(key) for key in kept} for row in seeds.rows()]
    data = mutate.table_bytes(mutate.retable(rows, rng), ending, rng)
    return Case(
        "log table",
        tuple(words),
        {name: data, **_needs("coin.toml", "rule.toml", "window.json")},
    )


def _document(rng: random.Random, name: str) -> tuple[str, bytes]:
    """A damaged document: its text, or its values."""
    data = seeds.files()[name]
    kind = rng.randrange(4)
    if kind == 0:
        return name, mutate.damage(data, rng)
    if kind == 1:
        return name, mutate.reword(data, rng)
    text = data.decode()
    document = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    return name.rpartition(".")[0] + ".json", mutate.as_json(mutate.revalue(document, rng))


def controller(rng: random.Random) -> Case:
    """A damaged controller: shown, drawn, compared, evaluated, simulated, or behind a log."""
    name, data = _document(rng, rng.choice(CONTROLLERS))
    name = f"damaged-{name}"
    kind = rng.randrange(10)
    if kind < 3:
        words = ["show", name]
    elif kind == 3:
        words = ["show", name, "coin.toml"]
    elif kind == 4:
        words = ["show", name, "-o", "out.dot"]
    elif kind < 7:
        words = [
            "evaluate",
            "model.toml",
            "--policy",
            name,
            *(["--horizon", "5"] if rng.randrange(2) else []),
        ]
    elif kind == 7:
        words = ["simulate", "model.toml", "--policy", name, "-o", "out.csv", "--episodes", "3"]
    elif kind == 8:
        words = [
            "estimate",
            "log.csv",
            "--policy",
            "coin.toml",
            "--controller",
            name,
            "--discount",
            "0.9",
        ]
    else:
        words = [
            "improve",
            "log.csv",
            "--policy",
            name,
            "--discount",
            "0.9",
            "--algorithm",
            "spibb",
        ]
    words += ["--json"] if rng.randrange(2) else []
    return Case(
        "controller", tuple(words), {name: data, **_needs("coin.toml", "model.toml", "log.csv")}
    )


def model(rng: random.Random) -> Case:
    """A damaged model."""
    name, data = _document(rng, rng.choice(("model.toml", "model.json")))
    name = f"damaged-{name}"
    kind = rng.randrange(8)
    if kind < 4:
        words = [
            "evaluate",
            name,
            "--policy",
            "coin.toml",
            *(["--horizon", "7"] if rng.randrange(2) else []),
        ]
    elif kind < 6:
        words = ["simulate", name, "--policy", "coin.toml", "-o", "out.csv", "--episodes", "3"]
    elif kind == 6:
        words = ["train", name, "-o", "out.json", "--episodes", "5"]
    else:
        words = ["plan", name, "--episodes", "2", "--simulations", "5", "--particles", "20"]
    words += ["--json"] if rng.randrange(2) else []
    return Case("model", tuple(words), {name: data, **_needs("coin.toml")})


def study(rng: random.Random) -> Case:
    """A damaged study; most are only read, as a whole run draws figures."""
    name, data = _document(rng, "study.toml")
    name = f"damaged-{name}"
    words = ["study", name, "-o", "out", "--jobs", "1"]
    words += [] if rng.randrange(20) == 0 else ["--summary"]
    words += ["--json"] if rng.randrange(2) else []
    return Case("study", tuple(words), {name: data, **_needs("coin.toml", "model.toml")})


def project(rng: random.Random) -> Case:
    """A damaged project file, or the damaged record of a run."""
    _, data = _document(rng, rng.choice(("project.toml", "project.toml", "signals.toml")))
    words = [rng.choice(("improve", "improve", "improve", "check", "samples"))]
    files = _needs("coin.toml", "log.csv", "signals.csv")
    if data.lstrip().startswith(b"{") and rng.randrange(2):
        record = (
            b'{"format": "jumar-run/1", "files": {}, "options": '
            + data.replace(b'"format": "jumar-project/1", ', b"")
            + b"}"
        )
        return Case("run record", ("improve", "--again", "run.json"), {"run.json": record, **files})
    name = "jumar.toml"
    if data.lstrip().startswith(b"{"):
        name = "project.txt"  # without an ending its content decides
        words += ["--project", name]
    words += ["--json"] if rng.randrange(2) else []
    return Case("project", tuple(words), {name: data, **files})


NUMBERS = mutate.ODD_NUMBERS
OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "improve": {
        "--discount": NUMBERS,
        "--window": NUMBERS,
        "--n-wedge": NUMBERS,
        "--delta": NUMBERS,
        "--horizon": NUMBERS,
        "--seed": NUMBERS,
        "--rewards": ("0:1", "-2:1", "1:0", "nan:1", "0:1e308", "a:b", ":", "0:1e-300"),
        "--ending-rewards": ("-2:1", "0:0", "inf:inf"),
        "--gate": ("proved", "asymptotic", "x"),
        "--algorithm": (*algorithms.ALGORITHMS, "nothing"),
        "--set": ("n_wedge=1", "n_wedge", "=", "a=b", "n_wedge=1e9", "epsilon=0", "epsilon=-1"),
        "--gain-share": NUMBERS,
        "--candidates": ("soft,robust", "auto,tilt", *algorithms.ALGORITHMS, *wishes.NO_CANDIDATES),
        "--objective": ("safety", "comfort", "reward", "observation", "none"),
        "--keep": ("safety", "comfort=0.5", "waste=0", "reward", "observation", "none", "=1", "="),
        "--keep-cost": ("waste", "waste=1e308", "safety", "action"),
        "--keep-range": (
            "safety=-1:0",
            "waste=1:0",
            "safety",
            "safety=nan:1",
            "safety=-1e308:1e308",
        ),
        "--counts": ("first.counts", "wide.counts", "nodes.counts", "log.csv", "none.counts", "."),
        "--yearly-discount": NUMBERS,
        "--step-length": ("7d", "0d", "-1d", "1e400d", "x"),
        "--policy": ("coin.toml", "estimate", "none.toml", "a=coin.toml", "model.toml"),
        "--columns": ("a=b", "episode=step", "=", "reward=observation", "observation=episode"),
        "--bins": ("reward=a:0:b", "reward=a:nan:b", "x", "reward=a:1:b:0:c", "observation=a:0:b"),
        "--gap": ("1", "0", "-1", "nan", "7d", "1e400", "x"),
        "--prices": ("action:run=1", "action:x=1", "reward=nan", "column:step=1e308"),
        "--missing": ("error", "symbol", "drop", "x"),
        "--repeated": ("drop", "error", "x"),
        "--ends": ("cut", "terminated", "x"),
        "--project": ("model.toml", "none.toml", "."),
        "--again": ("model.json", "none.json"),
    },
    "check": {
        "--level": NUMBERS,
        "--discount": NUMBERS,
        "--window": NUMBERS,
        "--seed": NUMBERS,
        "--policy": ("estimate", "coin.toml", "log.csv"),
    },
    "samples": {
        "--gain": NUMBERS,
        "--power": NUMBERS,
        "--delta": NUMBERS,
        "--horizon": NUMBERS,
        "--window": NUMBERS,
        "--seed": NUMBERS,
    },
    "estimate": {
        "--horizon": NUMBERS,
        "--delta": NUMBERS,
        "--seed": NUMBERS,
        "--estimator": ("pdis", "dr", "wdr", "all", "x"),
        "--interval": ("hoeffding", "bernstein", "truncated", "t", "bootstrap-t", "x"),
        "--sides": ("two", "lower", "upper", "x"),
        "--rewards": ("-2:1", "0:0", "-1e308:1e308"),
        "--controller": ("coin.toml", "rule.toml", "window.json", "log.csv", "none"),
        "--ahead": (*NUMBERS, "6"),
    },
    "evaluate": {
        "--horizon": NUMBERS,
        "--simulate": NUMBERS,
        "--seed": NUMBERS,
        "--policy": ("coin.toml", "rule.toml", "window.json", "study.toml"),
    },
    "simulate": {
        "--episodes": NUMBERS,
        "--max-steps": NUMBERS,
        "--seed": NUMBERS,
        "-o": (
            "out.csv",
            "out.xls",
            "no/out.csv",
            "/dev/full",
            "/dev/null",
            ".",
            "out.csv.gz",
            "out.ndjson",
        ),
    },
    "train": {
        "--episodes": NUMBERS,
        "--softmax": NUMBERS,
        "--window": NUMBERS,
        "--seed": NUMBERS,
        "-o": ("out.json", "out.toml", "no/out.json", "."),
    },
    "plan": {
        "--simulations": NUMBERS,
        "--episodes": NUMBERS,
        "--exploration": NUMBERS,
        "--particles": NUMBERS,
        "--seed": NUMBERS,
    },
    "study": {
        "--datasets": NUMBERS,
        "--sizes": (*NUMBERS, "1,2", "2,1", ",", "5,5"),
        "--only": ("machine", "x", ""),
        "--seed": NUMBERS,
        "--planner": NUMBERS,
        "--jobs": NUMBERS,
    },
    "paper": {
        "--seeds": NUMBERS,
        "--only": ("x", "tiger:1"),
        "--cheese-step-reward": NUMBERS,
        "--unseen": ("x", "zero"),
        "--planner": NUMBERS,
    },
    "count": {
        "--window": NUMBERS,
        "--shard": counting.SHARDS,
        "--jobs": NUMBERS,
        "--engine": ("here", "x"),
        "--scheduler": ("tcp://", "x"),
        "--policy": ("coin.toml", "rule.toml", "none.toml", "log.csv"),
        "-o": counting.OUTPUTS,
    },
    "merge": {"-o": counting.OUTPUTS},
    "init": {
        "--policy": ("coin.toml", "estimate", "none.toml", "log.csv"),
        "--separator": (",", ";", "tab", "x"),
        "--decimal": (".", ",", "x"),
        "--dates": ("%d/%m/%Y", "%", "%Q", "x"),
        "--encoding": ("cp1252", "utf-16", "x", "base64", "zip"),
        "--turns": ("a.b", ".", "observation"),
        "--sheet": ("1", "x"),
    },
    "show": {"-o": ("out.svg", "out.dot", "out.x", "no/x.svg")},
}
BASES: dict[str, tuple[str, ...]] = {
    "improve": ("log.csv", "--policy", "coin.toml", "--discount", "0.9", "--algorithm", "spibb"),
    "check": ("log.csv", "--policy", "coin.toml"),
    "samples": ("log.csv", "--policy", "coin.toml", "--discount", "0.9"),
    "estimate": (
        "log.csv",
        "--policy",
        "coin.toml",
        "--discount",
        "0.9",
        "--controller",
        "window.json",
        "--estimator",
        "pdis",
    ),
    "evaluate": ("model.toml", "--policy", "coin.toml"),
    "simulate": ("model.toml", "--policy", "coin.toml", "-o", "out.csv", "--episodes", "3"),
    "train": ("model.toml", "-o", "out.json", "--episodes", "5"),
    "plan": ("model.toml", "--episodes", "2", "--simulations", "5", "--particles", "20"),
    "study": ("study.toml", "-o", "out", "--summary"),
    "paper": ("-o", "out", "--summary"),
    "show": ("rule.toml",),
    "count": ("log.csv", "--policy", "coin.toml", "-o", "counts.parquet"),
    "merge": ("first.counts", "second.counts", "-o", "out.parquet"),
    "init": ("log.csv", "--yes"),
}
LOG = ("signals.csv", "--policy", "coin.toml", "--discount", "0.9")
OTHER_BASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "improve": (
        (*LOG, "--keep", "safety"),
        (*LOG, "--objective", "comfort", "--keep-cost", "waste=1", "--keep-range", "waste=0:3"),
        (*LOG, "--candidates", "soft", "--window", "1"),
        (*LOG, "--learn-memory"),
        ("--policy", "coin.toml", "--discount", "0.9", "--counts", "first.counts"),
    ),
    "estimate": ((*LOG, "--controller", "window.json"),),
    "check": (LOG,),
    "merge": (("wide.counts", "-o", "out.parquet"), ("first.counts", "wide.counts", "-o", "out")),
}
FLAGS: dict[str, tuple[str, ...]] = {
    "improve": ("--learn-memory", "--simplify", "--cost", "--thorough"),
    "estimate": ("--difference", "--cost"),
    "check": ("--with-actions", "--cost"),
}
# what is asked for in earnest may take hours: a billion training episodes are not a hang
LONG = {
    "--episodes",
    "--simulations",
    "--simulate",
    "--planner",
    "--datasets",
    "--seeds",
    "--particles",
}
MODERATE = {"1e5", "1000000", "9007199254740993", "2147483648"}


def options(rng: random.Random) -> Case:
    """Odd values of options on valid files."""
    command = rng.choice([*OPTIONS, "improve", "estimate", "evaluate", "simulate"])
    base = BASES[command]
    if command in OTHER_BASES and rng.randrange(3) == 0:
        base = rng.choice(OTHER_BASES[command])
    words = [command, *base]
    if command in FLAGS and rng.randrange(4) == 0:
        words += [rng.choice(FLAGS[command])]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        option = rng.choice(list(OPTIONS[command]))
        pool = OPTIONS[command][option]
        value = rng.choice(pool) if rng.randrange(6) else rng.choice(mutate.ODD_TEXTS)
        if option in LONG and value in MODERATE:
            value = "100000000000000000000"
        if option == "-o" and value.startswith("/dev"):
            value = "/dev/null"
        words += [option, value]
    words += ["--json"] if rng.randrange(2) else []
    if rng.randrange(30) == 0:
        rng.shuffle(words)
    files = {**seeds.files(), **(seeds.counts() if _has_counts(words) else {})}
    return Case("options", possible(words), files)


def _has_counts(words: list[str]) -> bool:
    return any(word.endswith(".counts") for word in words)


KINDS: dict[str, tuple[int, Callable[[random.Random], Case]]] = {
    "log bytes": (16, log_bytes),
    "log table": (20, log_table),
    "deep log": (16, deep.log),
    "wishes": (4, wishes.log),
    "drifting": (6, wishes.drifting),
    "controller": (14, controller),
    "model": (10, model),
    "deep model": (8, deep.model),
    "study": (8, study),
    "project": (8, project),
    "options": (16, options),
    "count": (12, counting.log),
    "several files": (8, counting.at_once),
    "counts": (12, counting.counts),
    "kept shards": (2, counting.kept),
    "by counts": (6, counting.learned),
    "counted": (6, counting.counted),
    "draft": (8, counting.draft),
    "pomdp": (10, foreign.model),
    "deep pomdp": (8, foreign.deep_model),
    "program": (8, exporting.controller),
    "model export": (6, exporting.model),
    "result folder": (4, exporting.result),
    "minari": (10, datasets.dataset),
    "convert": (8, datasets.convert),
    "parts": (8, datasets.parts),
    "frames": (6, datasets.frames),
}


def make(seed: int, number: int, kinds: tuple[str, ...] = ()) -> Case:
    """Input `number` of a seed."""
    rng = random.Random(f"{seed}-{number}")
    chosen: Any = [entry for name, entry in KINDS.items() if not kinds or name in kinds]
    (function,) = rng.choices([entry[1] for entry in chosen], [entry[0] for entry in chosen])
    case: Case = function(rng)
    return case
