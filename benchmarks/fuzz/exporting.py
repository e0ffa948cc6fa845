"""Exports: controllers and models with names that are code somewhere, into every format."""

from __future__ import annotations

import functools
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import deep
import mutate
import seeds
from cases import Case

HOSTILE = (
    '*/ system("x"); /*',
    "</script><script>alert(1)</script>",
    "'; DROP TABLE readings; --",
    '"; import os; os.abort() #',
    "\\",
    "\\'",
    '\\"',
    "??/",
    "%s%n",
    "{{ 7*7 }}",
    "{% raw %}",
    "${process.exit(1)}",
    "`",
    "__proto__",
    "constructor",
    "NULL",
    "null",
    "-1",
    "int",
    "class",
    "\u2028",
    "\u2029",
    "\u202e",
    "\r",
    "\n#define x",
    "\x00",
    "\x7f",
    "\x85",
    "é",
    "e\u0301",
    "名",
    "🐍",
    "<!--",
    "]]>",
    "*",
    "+",
    "a+b",
    " ",
    "init",
    "T",
    "null-1",
    "ended",
    "x" * 3000,
    "\ud800",
    "{",
    '"""',
    "'''",
    "0",
    "1",
    "#",
    "//",
)
STEMS = ("out", "out", "out", "int", "1", "é", "-", "a b", "class", "x" * 100, "名", "*", "'", ";")
ENDINGS = (
    *(".py", ".c", ".js", ".mjs", ".sql", ".table.json", ".json"),
    *(".PY", ".h", ".rs", "", ".POMDP"),
)


def _names(rng: random.Random, most: int) -> list[str]:
    pool = HOSTILE if rng.randrange(3) else (*deep.NAMES, *mutate.ODD_TEXTS)
    return rng.sample(pool, rng.randint(1, most))


def _memory(rng: random.Random, names: list[str], actions: list[str]) -> dict[str, Any]:
    if rng.randrange(3):
        found: dict[str, Any] = {"window": rng.choice((1, 2, 3, 6))}
        return found | ({"actions": True} if rng.randrange(3) == 0 else {})
    nodes = _names(rng, 3)
    moves = [{"node": node, "to": rng.choice(nodes)} for node in nodes]
    if rng.randrange(2):
        moves[0:0] = [{"node": nodes[0], "observation": names[0], "to": nodes[-1]}]
    if rng.randrange(3) == 0:
        moves[0:0] = [{"node": nodes[-1], "action": actions[0], "to": nodes[0]}]
    return {"nodes": nodes, "moves": moves}


def _row(rng: random.Random, actions: list[str]) -> Any:
    if rng.randrange(2):
        return rng.choice(actions)
    return {name: 1 / len(actions) for name in actions}


def controller(rng: random.Random) -> Case:
    """A controller whose names are code, as a program or for another tool."""
    observations, actions = _names(rng, 4), _names(rng, 3)
    document: dict[str, Any] = {
        "format": "jumar-controller/1",
        "name": rng.choice(HOSTILE),
        "observations": observations,
        "actions": actions,
        "memory": _memory(rng, observations, actions),
        "default": _row(rng, actions),
        "rules": [
            {"observation": z, "action": _row(rng, actions)}
            for z in observations
            if rng.randrange(2) and z != "*"
        ],
    }
    if rng.randrange(4) == 0:
        document["exploration"] = rng.choice((0.1, 0.5, 1e-300, 1.0))
    stem = rng.choice(STEMS)
    name = stem + rng.choice(ENDINGS)
    if rng.randrange(15) == 0:
        name = rng.choice(("c.json", "no/x.c", ".", "/dev/null", "out/", "..", "c.json/x.c", ".c"))
    words = ["export", "c.json", "-o", name]
    words += _reading(rng) if rng.randrange(3) == 0 else []
    words += ["--json"] if rng.randrange(2) else []
    words = [word.replace("\ud800", "?") for word in words]
    return Case(
        "program", tuple(w for w in words if "\0" not in w), {"c.json": mutate.as_json(document)}
    )


def _reading(rng: random.Random) -> list[str]:
    words: list[str] = []
    column = rng.choice(("reading", *HOSTILE, *mutate.ODD_TEXTS))
    if rng.randrange(2):
        words += ["--columns", f"observation={column}{rng.choice(('', '+x', '+' + column))}"]
    if rng.randrange(2):
        edge = rng.choice(("0", "1.5", "1e-9", *mutate.ODD_NUMBERS))
        words += ["--bins", f"{column}=ok:{edge}:{rng.choice(('noise', *HOSTILE))}"]
    if rng.randrange(2):
        words += ["--missing", rng.choice(("symbol", "symbol", "drop", "error", "x"))]
    return words


def model(rng: random.Random) -> Case:
    """A valid model whose names are code, for a model checker or pomdp-solve."""
    states, actions, observations = (_names(rng, n) for n in (3, 3, 3))
    outcomes = []
    for state in states:
        for action in actions:
            ways = rng.choice((1, 1, 2, 3))
            for _ in range(ways):
                one: dict[str, Any] = {"state": state, "action": action, "probability": 1 / ways}
                one["reward"] = rng.choice((0, 1, -1, 0.1, 1e-9, 1e9, 1e59, -0.0))
                if rng.randrange(5) == 0:
                    one["ends"] = True
                else:
                    to = rng.choice(states)
                    one |= {"to": to, "see": observations[states.index(to) % len(observations)]}
                outcomes.append(one)
    document = {
        "format": "jumar-model/1",
        "name": rng.choice(HOSTILE),
        "discount": rng.choice((0.9, 0.0, 0.999999, 0.5, 1.0, 1e-300)),
        "states": states,
        "actions": actions,
        "observations": observations,
        "start": rng.choice((states[0], {state: 1 / len(states) for state in states})),
        "first_observation": {
            state: observations[i % len(observations)] for i, state in enumerate(states)
        },
        "outcomes": outcomes,
    }
    coin = {
        "format": "jumar-controller/1",
        "observations": observations,
        "actions": actions,
        "memory": _memory(rng, observations, actions),
        "default": _row(rng, actions),
    }
    output = rng.choice(STEMS) + rng.choice((".drn", ".prism", ".POMDP", ".POMDP", ".pomdp"))
    words = ["export", "m.json", "-o", output]
    words += ["--policy", "c.json"] if rng.randrange(3) == 0 else []
    words += ["--undiscounted"] if rng.randrange(5) == 0 else []
    words += ["--json"] if rng.randrange(2) else []
    files = {"m.json": mutate.as_json(document), "c.json": mutate.as_json(coin)}
    return Case("model export", tuple(words), files)


@functools.cache
def _result() -> dict[str, bytes]:
    """The controller of a result and its table, which knows ranges."""
    from jumar import load_controller
    from jumar.log.reading.options import reading_told
    from jumar.show.program import export_controller

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "coin.toml").write_text(seeds.COIN)
        load_controller(folder / "coin.toml").save(folder / "improved.json")
        coin = load_controller(folder / "improved.json")
        reading = reading_told(
            {"observation": ["reading"]}, {"reading": ["ok", 0.5, "noise"]}, missing="symbol"
        )
        export_controller(coin, folder / "improved.table.json", reading=reading)
        return {
            f"out/{name}": (folder / name).read_bytes()
            for name in ("improved.json", "improved.table.json")
        }


def result(rng: random.Random) -> Case:
    """The folder of a result with a damaged table."""
    files = dict(_result())
    name = "out/improved.table.json" if rng.randrange(6) else "out/improved.json"
    data = files[name]
    kind = rng.randrange(4)
    if kind == 0:
        data = mutate.damage(data, rng)
    elif kind == 1:
        data = mutate.reword(data, rng)
    else:
        document = json.loads(data)
        if rng.randrange(2) and "reading" in document:
            document["reading"] = mutate.revalue({"reading": document["reading"]}, rng).get(
                "reading"
            )
        else:
            document = mutate.revalue(document, rng)
        data = mutate.as_json(document)
    files[name] = data
    if rng.randrange(20) == 0:
        del files[name]
    ending = rng.choice((".py", ".c", ".js", ".sql", ".table.json"))
    words = ["export", rng.choice(("out", "out", "out/improved.json")), "-o", f"x{ending}"]
    return Case("result folder", (*words, *(["--json"] if rng.randrange(2) else [])), files)
