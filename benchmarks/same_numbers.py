"""Record what jumar computes, and compare two recordings: a change of structure moves no number.

    python benchmarks/same_numbers.py inputs INPUTS          # logs and rules, made once
    python benchmarks/same_numbers.py record INPUTS BEFORE   # with the code before the change
    python benchmarks/same_numbers.py record INPUTS AFTER    # and with the code after it
    python benchmarks/same_numbers.py record INPUTS AFTER tiger2   # places with this name
    python benchmarks/same_numbers.py compare BEFORE AFTER

Everything goes through the command line, so that the two versions may differ inside as they like. A
number that moved, disappeared or is new is listed with its file and its place in it; the pages and
texts made for people are not compared. Exits with 1 if anything is not the same.
"""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = {
    "bridge": (
        "schedule.toml",
        "episode=bridge,step=year,observation=finding,action=work,reward=cost",
        ["--cost", "--ends", "cut"],
    ),
    "species": (
        "protocol.toml",
        "episode=block,step=year,observation=tigers,action=decision,reward=benefit",
        ["--ends", "cut"],
    ),
    "voicemail": (
        "dialog.toml",
        "episode=call,step=turn,observation=heard,action=response,reward=score",
        ["--ends", "terminated"],
    ),
}
MODELS = {"tiger": "-100:10", "voicemail": "-20:5", "cheese_maze": "-0.01:1"}
WAYS: list[list[str]] = [
    [],
    ["--gate", "asymptotic"],
    ["--n-wedge", "5"],
    ["--n-wedge", "20", "--window", "3"],
    ["--algorithm", "spibb_leq", "--n-wedge", "10"],
    ["--algorithm", "basic"],
    ["--algorithm", "strict"],
    ["--algorithm", "tilt"],
    ["--simplify"],
    ["--candidates", "soft,robust,ramdp"],
    ["--learn-memory"],
]
SAME_BYTES = {"improved.json"}


def jumar(*words: object, into: Path | None = None) -> None:
    command = [sys.executable, "-m", "jumar", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if into is not None:
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_text(done.stdout)
        into.with_suffix(".exit").write_text(f"{done.returncode}\n{done.stderr}")
    elif done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")


def make_inputs(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for model, window in itertools.product(MODELS, (1, 2)):
        rule = folder / f"{model}{window}.json"
        jumar("train", model, "--window", window, "--seed", 1, "-o", rule)
        for episodes in (100, 1000):
            log = folder / f"{model}{window}-{episodes}.csv"
            jumar("simulate", model, "--policy", rule, "--episodes", episodes, "-o", log)


def record(inputs: Path, into: Path, part: str = "") -> None:
    for place, words in jobs(inputs, into):
        if part in str(place.relative_to(into)):
            place.parent.mkdir(parents=True, exist_ok=True)
            jumar(*words, into=place if place.suffix else None)


def jobs(inputs: Path, into: Path) -> Iterator[tuple[Path, list[object]]]:
    """What is run, and where what it says goes."""
    study = into / "paper", into / "safety"
    yield study[0], ["paper", "--seeds", 20, "--planner", 0, "-o", study[0]]
    yield study[1], ["study", "safety", "--datasets", 2, "-o", study[1]]
    for name, (rule, columns, more) in EXAMPLES.items():
        folder = ROOT / "examples" / name
        words = [folder / "log.csv", "--policy", folder / rule, "--columns", columns, *more]
        for way in ([], ["--n-wedge", "20"]):
            place = into / "examples" / "-".join([name, *(w.strip("-") for w in way)])
            out = ["--discount", ".95", "--json", "-o", place]
            yield place / "said.json", ["improve", *words, *way, *out]
        yield into / "examples" / f"{name}-check.json", ["check", *words, "--json"]
    for log in sorted(inputs.glob("*.csv")):
        model, _, size = log.stem.partition("-")
        common = [log, "--policy", inputs / f"{model}.json", "--discount", ".95"]
        common += ["--rewards", MODELS[model[:-1]], "--json"]
        for way in WAYS if size == "1000" else WAYS[:3]:
            place = into / "runs" / "-".join([log.stem, *(w.strip("-") for w in way)])
            yield place / "said.json", ["improve", *common, *way, "-o", place]
    for log in sorted(inputs.glob("*-1000.csv")):
        rule = inputs / f"{log.stem.partition('-')[0]}.json"
        other = into / "runs" / f"{log.stem}-n-wedge-5" / "improved.json"
        place, gamma = into / "other" / log.stem, ["--discount", ".95", "--json"]
        estimate = ["estimate", log, "--policy", rule, "--controller", other]
        yield place / "check.json", ["check", log, "--policy", rule, "--json"]
        yield place / "estimate.json", [*estimate, *gamma]
        yield place / "samples.json", ["samples", log, "--policy", rule, *gamma]


def leaves(document: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Every number of a JSON document, with its place."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from leaves(value, f"{place}.{key}")
    elif isinstance(document, list):
        for i, value in enumerate(document):
            yield from leaves(value, f"{place}[{i}]")
    elif isinstance(document, int | float):
        yield place, document


def table(path: Path) -> pa.Table:
    """In an order that does not hang on which worker was first."""
    found = pq.read_table(path)
    plain = [pa.field(f.name, getattr(f.type, "value_type", f.type)) for f in found.schema]
    found = found.cast(pa.schema(plain))
    return found.sort_by([(name, "ascending") for name in found.column_names])


def columns(path: Path) -> dict[str, list[str]]:
    head, *rows = csv.reader(path.read_text("utf-8").splitlines())
    return {name: [row[i] for row in rows] for i, name in enumerate(head)}


def compare(before: Path, after: Path) -> int:
    files = {p.relative_to(before) for p in before.rglob("*") if p.is_file()}
    files |= {p.relative_to(after) for p in after.rglob("*") if p.is_file()}
    moved: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    numbers = 0
    for file in sorted(files):
        a, b = before / file, after / file
        if not a.exists() or not b.exists():
            missing["after" if b.exists() else "before"] += 1
        elif file.suffix == ".parquet":
            old_rows, new_rows = table(a), table(b)
            numbers += old_rows.num_rows * old_rows.num_columns
            if not old_rows.equals(new_rows):
                print(f"{file}: other rows")
                moved["rows"] += 1
        elif file.name in SAME_BYTES and a.read_bytes() != b.read_bytes():
            print(f"{file}: other bytes")
            moved["bytes"] += 1
        elif file.suffix == ".exit" and a.read_text()[:2] != b.read_text()[:2]:
            print(f"{file}: exit {a.read_text().split()[0]}, then {b.read_text().split()[0]}")
            moved["exits"] += 1
        elif file.suffix == ".csv":
            old_columns, new_columns = columns(a), columns(b)
            numbers += sum(map(len, old_columns.values()))
            moved["new columns"] += len(new_columns.keys() - old_columns.keys())
            for name in old_columns:
                if old_columns[name] != new_columns.get(name):
                    print(f"{file}: column {name} differs")
                    moved["columns"] += 1
        elif file.suffix == ".json" and file.name != "run.json":
            texts = [p.read_text() for p in (a, b)]
            if not all(texts):
                continue
            old, new = (dict(leaves(json.loads(t))) for t in texts)
            numbers += len(old)
            for place in [*old, *(k for k in new if k not in old)]:
                if old.get(place) != new.get(place):
                    kind = "gone" if place not in new else "new" if place not in old else "moved"
                    moved[kind] += 1
                    print(f"{file} {place}: {old.get(place)} -> {new.get(place)} ({kind})")
    for side, count in missing.items():
        print(f"{count} files only {side}")
        moved[f"files only {side}"] += count
    moved = +moved  # what was counted and never found is no difference
    print(f"{numbers} numbers in {len(files)} files: {dict(moved) or 'all the same'}")
    return 1 if moved else 0


if __name__ == "__main__":
    job, *folders = sys.argv[1:]
    places = [Path(f).resolve() for f in folders[:2]]
    if job == "inputs":
        make_inputs(*places)
    elif job == "record":
        record(*places, *folders[2:])
    else:
        raise SystemExit(compare(*places))
