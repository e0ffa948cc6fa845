"""Files of other tools: `.POMDP` models, damaged or odd."""

from __future__ import annotations

import json
import random

import mutate
import seeds
from cases import Case

MATRICES = """\
# two states, all matrices whole
discount: 0.9
values: reward
states: good worn
actions: run replace
observations: ok noise
start: 1.0 0.0
T: run
0.8 0.2
0.0 1.0
T: replace
1 0
1 0
O: *
0.9 0.1
0.3 0.7
R: run : good : * : * 1.0
R: run : worn : * : * -1
R: replace : * : * : * -2
"""
CELLS = """\
discount: .95   values: cost
states: 3  actions: wait mend
observations: 2
start include: 0 1
T: * : * : * 0
T: wait : 0 : 0 0.5   T: wait : 0 : 1 0.5
T: wait : 1 : 1 + 1
T: wait : 2 identity
T: wait : 2 : 2 1.0
T: mend : 0 reset
T: mend : 1 uniform
T: mend : 2 0.25 0.25 5e-1
O: wait uniform
O: mend : * : 0 1
R: wait : 2 : *
4 5
R: mend : 0
1 2 3 4 5 6
R: mend : 1 : 2 : 1 - 7
""".replace("T: wait : 2 identity\n", "")
SEEN = """\
discount: 1.0
values: reward
states: near far
actions: go
start: far
T: go identity
T: go : far : near 0.5
T: go : far : far 0.5
R: go : far : near 3
"""
RESET = """\
discount: 0.5
values: rewards
states: a b
actions: x y
observations: u v w
T: x identity
T: y : * reset
O: * : a 0.5 0.25 0.25
O: * : b uniform
R: * : * : a : * 1
R: x : * : * : u 0.125
"""
MODELS = (MATRICES, CELLS, SEEN, RESET)
COIN = seeds.COIN.replace('["ok", "noise"]', '["ok", "noise", "null"]')
WORDS = (
    *("discount", "values", "states", "actions", "observations", "T", "O", "R", "uniform"),
    *("identity", "reward", "cost", "start", "include", "exclude", "reset", ":", "*", "#", "-"),
    *("T:", "O: *", "R: * : * : * : *", "good", "0", "1", "2", "99999999999", "9" * 5000, ".5"),
)
OPTIONS = (
    *("",) * 12,
    ":discount=0.5",
    ":first_observation=after:run",
    ":first_observation=ok",
    ":first_observation=null",
    ":first_observation=after:",
    ":start=uniform",
    ":start=worn",
    ":start=0",
    ":max_steps=5",
    ":normalize=yes",
)
VALUES = (*mutate.ODD_NUMBERS, *mutate.ODD_TEXTS, "after:x", "9" * 5000)


def _rewritten(text: str, rng: random.Random) -> str:
    """Some words of the format put in, taken out, or put elsewhere."""
    words = text.split(" ")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, kind = rng.randrange(len(words)), rng.randrange(5)
        if kind == 0:
            words.insert(at, rng.choice(WORDS))
        elif kind == 1:
            words[at] = rng.choice(WORDS)
        elif kind == 2:
            del words[at : at + rng.choice((1, 1, 3))]
            words = words or [""]
        elif kind == 3:
            words[at] = rng.choice(mutate.ODD_NUMBERS)
        else:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    return " ".join(words)


def _damaged(rng: random.Random) -> bytes:
    text = rng.choice((*MODELS, MATRICES))
    kind = rng.randrange(8)
    if kind == 0:
        return text.encode()
    if kind == 1:
        return mutate.damage(text.encode(), rng)
    if kind < 5:
        return mutate.reword(text.encode(), rng)
    return _rewritten(text, rng).encode("utf-8", "surrogatepass")


def _option(rng: random.Random) -> str:
    text = rng.choice(OPTIONS)
    if text and rng.randrange(3) == 0:
        text = text.partition("=")[0] + "=" + rng.choice(VALUES)
    return text


def on_model(rng: random.Random, name: str) -> list[str]:
    """A command that reads a model."""
    kind = rng.randrange(9)
    if kind < 3:
        words = ["evaluate", name, "--policy", "coin.toml"]
        words += ["--horizon", "7"] if rng.randrange(2) else []
    elif kind < 6:
        words = ["export", name, "-o", rng.choice(("out.POMDP", "out.drn", "out.prism"))]
        words += ["--policy", "coin.toml"] if rng.randrange(5) == 0 else []
        words += ["--undiscounted"] if rng.randrange(6) == 0 else []
    elif kind == 6:
        words = ["simulate", name, "--policy", "coin.toml", "-o", "out.csv", "--episodes", "3"]
        words += ["--max-steps", "20"]
    elif kind == 7:
        words = ["train", name, "-o", "out.json", "--episodes", "2"]
    else:
        words = ["plan", name, "--episodes", "1", "--simulations", "5", "--particles", "20"]
    return words + (["--json"] if rng.randrange(2) else [])


def _with(files: dict[str, bytes]) -> dict[str, bytes]:
    return {"coin.toml": COIN.encode(), **files}


def _case(kind: str, words: list[str], files: dict[str, bytes]) -> Case:
    return Case(kind, tuple(word for word in words if "\0" not in word), _with(files))


def model(rng: random.Random) -> Case:
    """A damaged .POMDP file."""
    data = _damaged(rng)
    name = rng.choice(("m.POMDP", "m.POMDP", "m.pomdp", "a b.POMDP"))
    words = on_model(rng, name + _option(rng))
    if rng.randrange(100) == 0:
        words = ["simulate", ".", "--policy", "coin.toml", "-o", "x.csv"]
    return _case("pomdp", words, {name: data})


def _law(rng: random.Random, size: int) -> list[str]:
    if rng.randrange(8) == 0:
        return ["uniform"]
    weights = [rng.choice((0, 0, 1, 1, 2, 1e-9, 1e-300)) for _ in range(size)]
    if not any(weights):
        weights[rng.randrange(size)] = 1
    total = sum(weights)
    return [repr(weight / total) for weight in weights]


def deep_model(rng: random.Random) -> Case:
    """A valid .POMDP file of odd content: sizes, names, wildcards, rewards of all kinds."""
    S, A, O = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 3)
    pool = ("T-1", "t", "o", "r", "null", "ended", "s-1", "A", "X", "init", "_x", "e5", "x" * 200)
    names = [rng.sample(pool, size) if rng.randrange(2) else None for size in (S, A, O)]
    lines = [f"discount: {rng.choice(('0', '1', '0.9', '0.999999', '1e-300', '0.5'))}"]
    lines += [f"values: {rng.choice(('reward', 'cost'))}"]
    for word, size, named in zip(("states", "actions", "observations"), (S, A, O), names,
                                 strict=True):  # fmt: skip
        lines.append(f"{word}: {' '.join(named) if named else size}")
    seen = rng.randrange(5) > 0
    if not seen:
        lines.pop()
        O = S
    if rng.randrange(2):
        lines.append(f"start: {' '.join(_law(rng, S))}")
    for a in range(A):
        lines += [f"T: {a} : {s} {' '.join(_law(rng, S))}" for s in range(S)]
        if seen:
            lines += [f"O: {a} : {s} {' '.join(_law(rng, O))}" for s in range(S)]
    scale = rng.choice((1.0, 1.0, 1e9, 1e-9, 1e59, 1e-59, 1e100))
    for _ in range(rng.randrange(6)):
        parts = [rng.choice(("*", str(rng.randrange(n)))) for n in (A, S, S, O if seen else 1)]
        if not seen:
            parts[3] = "*"
        lines.append(f"R: {' : '.join(parts)} {rng.uniform(-1, 1) * scale!r}")
    if rng.randrange(6) == 0:
        rng.shuffle(lines)
    text = rng.choice(("\n", "\n", "\r\n", " ")).join(lines) + rng.choice(("", "\n", "\n# end"))
    words = on_model(rng, "m.POMDP" + _option(rng))
    coin = {
        "format": "jumar-controller/1",
        "observations": [*(names[2] or map(str, range(O))), "null"],
        "actions": names[1] or list(map(str, range(A))),
        "default": {(names[1] or ["0"])[0]: 1.0},
    }
    return _case(
        "deep pomdp", words, {"m.POMDP": text.encode(), "coin.toml": json.dumps(coin).encode()}
    )
