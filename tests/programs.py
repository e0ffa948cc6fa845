"""Controllers as programs in other languages, run step by step, and what they do."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jumar.core.reading import LogReading
from jumar.policy.controller import Controller
from jumar.show.program import LANGUAGES, render, table

CC = shutil.which("cc")
NODE = shutil.which("node")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler: apt install gcc")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no Node: apt install nodejs")
FLAGS = (
    "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wshadow", "-Wmissing-prototypes",
    "-Werror", "-Wno-overlength-strings",
)  # fmt: skip

# a step: an observation and a number that decides; None begins an episode anew
Steps = Sequence[tuple[int, float] | None]
# per step: the probabilities, and the action
Acted = list[tuple[list[float], int]]

C_MAIN = r"""
#include <stdio.h>
#include "improved.c"
int main(void)
{
    improved_controller c;
    int z, a, i;
    double u;
    improved_reset(&c);
    while (scanf("%d %lf", &z, &u) == 2) {
        const double *p;
        if (u < 0) {
            improved_reset(&c);
            continue;
        }
        p = improved_probabilities(&c, z);
        for (i = 0; p != NULL && i < improved_n_actions; i++)
            printf("%.17g ", p[i]);
        a = improved_act(&c, z, u);
        printf("%d\n", a);
    }
    return 0;
}
"""
NODE_MAIN = """
const improved = require(process.argv[2]);
let u = 0;
const c = improved.start({ random: () => u });
const out = [];
for (const step of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
  if (step === null) { c.reset(); continue; }
  u = step[1];
  const seen = improved.OBSERVATIONS[step[0]];
  const p = Object.values(c.probabilities(seen));
  out.push([p, improved.ACTIONS.indexOf(c.act(seen))]);
}
console.log(JSON.stringify(out));
"""


def written(folder: Path, suffix: str, controller: Controller, reading: LogReading | None = None):
    path = folder / f"improved{suffix}"
    path.write_text(render(table(controller, reading), LANGUAGES[suffix]), encoding="utf-8")
    return path


def compiled(folder: Path, main: str = C_MAIN) -> Path:
    (folder / "main.c").write_text(main)
    command = [CC, *FLAGS, "-O1", "main.c", "-o", "main"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "main"


def run_c(folder: Path, controller: Controller, steps: Steps) -> Acted:
    written(folder, ".c", controller)
    lines = "".join("0 -1\n" if s is None else f"{s[0]} {s[1]!r}\n" for s in steps)
    program = compiled(folder)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [([float(p) for p in row[:-1]], int(row[-1])) for row in rows]


def run_node(folder: Path, controller: Controller, steps: Steps) -> Acted:
    path = written(folder, ".js", controller)
    (folder / "main.js").write_text(NODE_MAIN)
    command = [NODE, folder / "main.js", path]
    done = subprocess.run(
        command, input=json.dumps(steps), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [(p, a) for p, a in json.loads(done.stdout)]


def run_python(controller: Controller, steps: Steps) -> Acted:
    module: dict[str, Any] = {"__name__": "improved"}
    exec(render(table(controller), LANGUAGES[".py"]), module)
    c, out = module["start"](), []
    for step in steps:
        if step is None:
            c.reset()
            continue
        seen = controller.observations[step[0]]
        c._dice.random = lambda u=step[1]: u
        p = list(c.probabilities(seen).values())
        out.append((p, controller.actions.index(c.act(seen))))
    return out


def some_steps(rng: np.random.Generator, n_observations: int, n: int = 60) -> list[Any]:
    """Steps with numbers that are often at the very edge."""
    edges = [0.0, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1 - 2**-53]
    steps: list[Any] = []
    for _ in range(n):
        u = float(rng.random()) if rng.random() < 0.7 else float(rng.choice(edges))
        steps.append(None if rng.random() < 0.1 else (int(rng.integers(n_observations)), u))
    return steps
