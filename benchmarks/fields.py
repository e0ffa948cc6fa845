"""How often `jumar improve` ends worse on logs of the four application models, and what it gains.

    python benchmarks/fields.py                  # go on until every cell has 200 logs
    python benchmarks/fields.py --datasets 20    # fewer
    python benchmarks/fields.py --table          # what is there, for the pages

For each model the practice of its example makes independent logs of 200 and 2,000 episodes. Each is
given to `jumar improve` as it comes, and to SPIBB with N∧ = 20, which tests nothing. Both results
are evaluated exactly on the model, for ever. A line of out/fields.jsonl is one log with both gains;
the run can be stopped and goes on where it was. docs/examples/fields.json has what the pages tell.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

import jumar as jm
from jumar.core.randomness import random_stream

ROOT = Path(__file__).parents[1]
STORE = ROOT / "out" / "fields.jsonl"
RESULT = ROOT / "docs" / "examples" / "fields.json"
SIZES, DATASETS = (200, 2000), 200
FIELDS = {  # example -> model, controller of the example, steps of a record
    "bridge": ("bridge_repair", "schedule.toml", 40),
    "species": ("sumatran_tiger", "protocol.toml", 40),
    "machine": ("machine", "practice.toml", 30),
    "broomrape": ("broomrape", "practice.toml", 30),
}
WAYS: dict[str, dict[str, int]] = {"improve": {}, "spibb": {"n_wedge": 20}}


def one(name: str, size: int, dataset: int) -> dict[str, object]:
    """The gains of both ways on one log."""
    model_name, file, steps = FIELDS[name]
    model = jm.models.build(model_name)
    behavior = jm.load_controller(ROOT / "examples" / name / file)
    before = jm.evaluate(model, behavior).value
    log = jm.simulate(
        model,
        behavior,
        episodes=size,
        seed=random_stream(dataset, "fields", name, size),
        max_steps=steps,
    )
    found: dict[str, object] = {"field": name, "episodes": size, "dataset": dataset}
    for way, options in WAYS.items():
        result = jm.improve(log, behavior, discount=model.discount, **options)
        changed = result.improvement.changed > 0
        gain = jm.evaluate(model, result.controller).value - before if changed else 0.0
        found[way] = float(f"{gain:.6g}") if abs(gain) > 1e-9 * abs(before) else 0.0
    return found


def kept() -> list[dict[str, object]]:
    """All lines that are whole."""
    if not STORE.exists():
        return []
    return [json.loads(line) for line in STORE.read_text().splitlines() if line.endswith("}")]


def summary(rows: list[dict[str, object]]) -> dict[str, dict[str, float]]:
    """For each field, size and way: logs, share worse, share changed, mean and least gain."""
    gains: dict[str, list[float]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["field"], row["episodes"])):
        for way in WAYS:
            gains[f"{row['field']}, {row['episodes']}, {way}"].append(row[way])
    return {
        key: {
            "logs": len(values),
            "worse": float((np.array(values) < 0).mean()),
            "changed": float((np.array(values) != 0).mean()),
            "mean": float(np.mean(values)),
            "least": float(np.min(values)),
        }
        for key, values in gains.items()
    }


def table(name: str, found: dict[str, dict[str, float]]) -> list[str]:
    """The lines of a page, one for each size and way."""
    words = {"improve": "`jumar improve`", "spibb": "SPIBB, N∧ = 20"}
    lines = []
    digits = 2 if name == "machine" else 0
    for size in SIZES:
        for way in WAYS:
            cell = found[f"{name}, {size}, {way}"]
            mean, least = (f"{round(cell[k], digits) + 0.0:,.{digits}f}" for k in ("mean", "least"))
            lines.append(f"| {size:,} | {words[way]} | {cell['worse']:.1%} | {mean} | {least} |")
    return lines


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--datasets", type=int, default=DATASETS)
    ask.add_argument("--table", action="store_true")
    asked = ask.parse_args()
    if not asked.table:
        STORE.parent.mkdir(exist_ok=True)
        done = {(row["field"], row["episodes"], row["dataset"]) for row in kept()}
        for dataset in range(1, asked.datasets + 1):
            for name in FIELDS:
                for size in SIZES:
                    if (name, size, dataset) not in done:
                        line = json.dumps(one(name, size, dataset))
                        with STORE.open("a", encoding="utf-8") as file:
                            file.write(line + "\n")
    found = summary(kept())
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    for name in FIELDS:
        print(name, "\n".join(table(name, found)), sep="\n")


if __name__ == "__main__":
    main()
