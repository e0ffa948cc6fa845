"""Inputs that hypothesis builds from nothing: documents with anything anywhere, tables of anything.

What fails is shrunk to the smallest input that still fails.
"""

from __future__ import annotations

import copy
import json
import random
import tomllib
from collections.abc import Callable
from typing import Any

import mutate
import seeds
from cases import Case
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
names = st.sampled_from(("ok", "noise", "run", "replace", "", "é", "x", "0")) | st.text(max_size=6)
COMMANDS: dict[str, tuple[str, ...]] = {
    "rule.toml": ("show", "FILE", "--json"),
    "window.json": ("evaluate", "model.toml", "--policy", "FILE", "--json"),
    "product.json": ("show", "FILE"),
    "model.toml": ("evaluate", "FILE", "--policy", "coin.toml", "--json"),
    "model.json": ("simulate", "FILE", "--policy", "coin.toml", "-o", "out.csv", "--episodes", "3"),
    "study.toml": ("study", "FILE", "-o", "out", "--summary", "--json"),
    "project.toml": ("improve", "--project", "FILE", "--json"),
    "signals.toml": ("check", "--project", "FILE", "--json"),
}

ON_TABLES = tuple(
    tuple(line.split())
    for line in (
        "improve LOG --policy estimate --discount 0.9 --algorithm basic --json",
        "improve LOG --policy coin.toml --discount 0.9 --algorithm spibb",
        "estimate LOG --policy estimate --controller coin.toml --discount 0.9 --estimator wdr",
        "count LOG --policy coin.toml -o counts.parquet --window 2",
        "improve LOG --policy estimate --discount 0.9 --window 1 --keep safety --keep-cost cost=1",
        "improve LOG --policy estimate --discount 0.9 --objective safety --cost --algorithm basic",
        "estimate LOG --policy estimate --controller coin.toml --discount 0.9 --json",
        "init LOG --yes",
    )
)


class Failed(Exception):
    """Tells hypothesis that an input failed."""


@st.composite
def documents(draw: Any) -> Case:
    """A valid document with anything in one or two places."""
    name = draw(st.sampled_from(sorted(COMMANDS)))
    text = seeds.files()[name].decode()
    document = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    made = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from([path for path in mutate.places(made) if path] or [("x",)]))
        holder = made
        for key in path[:-1]:
            holder = holder[key]
        if isinstance(holder, dict) and draw(st.booleans()) and draw(st.booleans()):
            holder[draw(names)] = draw(anything)
        else:
            holder[path[-1]] = draw(anything)
    words = tuple("invented.txt" if word == "FILE" else word for word in COMMANDS[name])
    known = {n: seeds.files()[n] for n in ("coin.toml", "model.toml", "log.csv", "signals.csv")}
    return Case("invented document", words, {"invented.txt": mutate.as_json(made), **known})


cells = st.none() | st.integers() | st.floats() | st.booleans() | names | st.text(max_size=12)


@st.composite
def tables(draw: Any) -> Case:
    """A log of columns that hold anything, some of them as they should be."""
    size = draw(st.integers(0, 8))
    usual = {
        "episode": st.integers(0, 3),
        "step": st.integers(0, 3),
        "observation": names,
        "action": names,
        "reward": st.floats(-1e9, 1e9) | st.integers(-5, 5),
        "terminated": st.booleans(),
        "safety": st.floats(),
        "cost": st.floats(-10, 10),
    }
    rows: list[dict[str, Any]] = [{} for _ in range(size)]
    for name, values in usual.items():
        column = values if draw(st.integers(0, 4)) else cells
        for row in rows:
            row[name] = draw(column)
    ending = draw(st.sampled_from(("csv", "ndjson", "parquet", "arrow")))
    data = mutate.table_bytes(rows, ending, random.Random(0))
    log = f"log.{ending}"
    words = tuple(log if word == "LOG" else word for word in draw(st.sampled_from(ON_TABLES)))
    return Case("invented table", words, {log: data, "coin.toml": seeds.files()["coin.toml"]})


def inventions(attempt: Callable[[Case, bool], bool], name: str, number: int) -> None:
    """Try so many inputs; a failing one is told once more, as small as it gets."""
    smallest: list[Case] = []

    @seeded(int.from_bytes(name.encode(), "big"))
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(documents() | tables())
    def try_one(case: Case) -> None:
        if not attempt(case, False):
            smallest[:] = [case]
            raise Failed

    try:
        try_one()
    except Failed:
        attempt(smallest[0], True)
