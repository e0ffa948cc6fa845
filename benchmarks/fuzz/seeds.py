"""Valid files of every kind: what mutations begin with. Small, so that a command takes no time."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from pathlib import Path
from typing import Any

MODEL = """\
format = "jumar-model/1"
name = "machine"
discount = 0.9
max_steps = 8
states = ["good", "worn"]
actions = ["run", "replace"]
observations = ["ok", "noise"]
start = { good = 1.0 }
first_observation = { good = { ok = 0.9, noise = 0.1 } }

[[outcomes]]
state = "good"
action = "run"
probability = 0.8
to = "good"
see = { ok = 0.9, noise = 0.1 }
reward = 1.0

[[outcomes]]
state = "good"
action = "run"
probability = 0.2
to = "worn"
see = { ok = 0.3, noise = 0.7 }
reward = 0.5

[[outcomes]]
state = "worn"
action = "run"
to = "worn"
see = { ok = 0.3, noise = 0.7 }
reward = -1

[[outcomes]]
state = "good"
action = "replace"
ends = true
reward = -2.0

[[outcomes]]
state = "worn"
action = "replace"
ends = true
reward = -2.0
"""
RULE = """\
format = "jumar-controller/1"
name = "inspect every second year"
observations = ["ok", "noise"]
actions = ["run", "replace"]
exploration = 0.2
default = "run"

[memory]
nodes = ["fresh", "due"]
moves = [
  { node = "fresh", to = "due" },
  { node = "due", to = "fresh" },
]

[[rules]]
observation = "noise"
action = "replace"

[[rules]]
node = "due"
action = { run = 0.5, replace = 0.5 }
"""
COIN = """\
format = "jumar-controller/1"
observations = ["ok", "noise"]
actions = ["run", "replace"]
default = { run = 0.5, replace = 0.5 }
"""
STUDY = """\
format = "jumar-study/1"
title = "small"
seed = 1
datasets = 1
sizes = [2, 5]
delta = 0.05

[[behaviors]]
name = "machine"
model = "model.toml"
policy = "coin.toml"
memories = [1, 2]
with_actions = false

[[behaviors]]
model = "tiger"
window = 1
memories = [1]

[[algorithms]]
name = "spibb"
n_wedge = [1, 3]

[[algorithms]]
name = "basic"
unseen = ["zero"]

[[figures]]
name = "curves"
kind = "curves"
behaviors = ["machine"]
n_wedge = [1]
"""
PROJECT = """\
format = "jumar-project/1"
log = "log.csv"
policy = "coin.toml"
discount = 0.9
ends = "terminated"
missing = "symbol"
repeated = "drop"
rewards = [-2, 1]
ending_rewards = [-2, 1]
horizon = 100
window = 1
with_actions = false
algorithm = "spibb"
delta = 0.05
gate = "proved"
seed = 1
unit = "EUR"

[columns]
episode = "episode"
observation = "observation"

[parameters]
n_wedge = 5
"""
SIGNALS_PROJECT = """\
format = "jumar-project/1"
log = "signals.csv"
policy = "coin.toml"
discount = 0.9
objective = "comfort"
cost = true
keep = ["safety=0.5"]
keep_cost = ["waste"]
keep_range = ["waste=0:3"]
candidates = ["auto", "soft"]
learn_memory = true
simplify = true
gain_share = 0.9
"""


@functools.cache
def rows() -> list[dict[str, Any]]:
    """The steps of a small log, with everything that a log can tell."""
    import jumar as jm

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.toml").write_text(MODEL)
        Path(folder, "c.toml").write_text(COIN)
        coin = jm.load_controller(Path(folder, "c.toml"))
        log = jm.simulate(jm.load_model(Path(folder, "m.toml")), coin, episodes=12, seed=1)
        jm.write_logs(log, Path(folder, "log.ndjson"))
        lines = Path(folder, "log.ndjson").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    for i, row in enumerate(found):
        row["propensity"] = 0.5
        row["cluster"] = f"plant {row['episode'] % 5}"
        row["behavior"] = "coin"
        row["node"] = "[]"
        row["time"] = f"2024-01-{1 + i % 28:02d}"
        row["reading"] = 0.1 * i - 0.5
        row["safety"] = -float(row["action"] == "replace" and i % 3 == 0)
        row["comfort"] = 0.5 * (i % 4)
        row["waste"] = i % 2
    return found


BASIC = ("episode", "step", "observation", "action", "reward", "terminated")
SIGNALS = ("safety", "comfort", "waste")


@functools.cache
def files() -> dict[str, bytes]:
    """Every file that commands of valid inputs read."""
    import jumar as jm

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        texts = {
            "model.toml": MODEL,
            "rule.toml": RULE,
            "coin.toml": COIN,
            "study.toml": STUDY,
            "project.toml": PROJECT,
            "signals.toml": SIGNALS_PROJECT,
            "signals.csv": _signals(),
        }
        for name, text in texts.items():
            (folder / name).write_text(text)
        model = jm.load_model(folder / "model.toml")
        coin = jm.load_controller(folder / "coin.toml")
        rule = jm.load_controller(folder / "rule.toml")
        rule.save(folder / "rule.json")
        train = functools.partial(jm.train_behavior, model, softmax=1.0, episodes=20, seed=1)
        train(jm.window(2)).save(folder / "window.json")
        train(jm.window(3, actions=True)).save(folder / "actions.json")
        coin.lift(jm.window(4)).save(folder / "lifted.json")
        both = jm.memory.product(jm.window(2).on(2, 2), rule.memory)
        jm.Controller.uniform(("ok", "noise"), ("run", "replace"), both).save(
            folder / "product.json"
        )
        log = jm.simulate(model, coin, episodes=12, seed=1)
        for ending in ("csv", "tsv", "csv.gz", "parquet", "arrow", "ndjson"):
            jm.write_logs(log, folder / f"log.{ending}")
        from jumar.lab.truth.model_files import model_to_document

        (folder / "model.json").write_text(json.dumps(model_to_document(model)))
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _signals() -> str:
    """The log as text, with its signals."""
    names = (*BASIC, *SIGNALS)
    cells = [[str(row.get(name, "")) for name in names] for row in rows()]
    return "".join(",".join(line) + "\n" for line in [names, *cells])


@functools.cache
def counts() -> dict[str, bytes]:
    """Files of counts over several memories; the first two are halves of one log."""
    import jumar as jm
    from jumar.tally.counting import count_logs, prepared, run
    from jumar.tally.files import save_counts

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("log.parquet", "coin.toml", "rule.toml"):
            (folder / name).write_bytes(files()[name])
        log, coin = folder / "log.parquet", jm.load_controller(folder / "coin.toml")
        _in_groups(log)
        with prepared(log, coin) as job:
            for i, name in enumerate(("first", "second"), 1):
                save_counts(run(job, job.plan.shards(10**9, 1, (i, 2))), folder / f"{name}.counts")
        wide = count_logs(log, coin, memory=jm.window(3, actions=True))
        save_counts(wide, folder / "wide.counts")
        rule = jm.load_controller(folder / "rule.toml")
        save_counts(count_logs(log, rule), folder / "nodes.counts")
        return {path.name: path.read_bytes() for path in sorted(folder.glob("*.counts"))}


def _in_groups(log: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(log, partitioning=None), log, row_group_size=7)


@functools.cache
def fingerprint() -> str:
    """What `jumar count log.csv --policy coin.toml` calls its work; log.csv is as old as can be."""
    import jumar as jm
    from jumar.tally.counting import prepared
    from jumar.tally.keeping import KeptShards

    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        for name in ("log.csv", "coin.toml"):
            Path(name).write_bytes(files()[name])
            os.utime(name, (0, 0))
        with prepared("log.csv", jm.load_controller("coin.toml")) as job:
            kept = KeptShards("out.parquet", job.plan, job.described)
        kept.begin(resume=False)
        return str(json.loads((kept.folder / "job.json").read_text())["job"])
