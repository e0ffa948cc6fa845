"""A controller in every language: the same probabilities and actions as the Python program, step by
step, and no name can break it."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumar.core.errors import ControllerError
from jumar.core.reading import Bins, LogReading, ReadColumn
from jumar.memory import NamedNodes, product, window
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.show.program import LANGUAGES, render, table
from programs import (
    NODE,
    compiled,
    needs_cc,
    needs_node,
    run_c,
    run_node,
    run_python,
    some_steps,
    written,
)
from strategies import controllers, memories, names, rows_of_distributions, single_memories

Z, A = ("good", "worn", "broken"), ("keep", "inspect", "repair")
VIBRATION = ReadColumn("vibration", Bins(("low", "mid", "high"), (2.0, 5.0)))
PUMP = LogReading((VIBRATION, ReadColumn("noise")), (ReadColumn("work"),), "pump")
HOSTILE = (
    "plain",
    " space at the ends ",
    "\"'\"'",
    "*/ int x; /*",
    "// -- #",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "??/??'??<??=",
    "back\\",
    "line\nbreak",
    "carriage\rreturn",
    "tab\tand\x01",
    "\u2028\u2029",
    "\u202etxet",
    "שלום",
    "🐯🐅",
    "x" * 5000,
    "'; DROP TABLE readings; --",
    "__proto__",
    "constructor",
    "%d %s {0} ${HOME} `id` {{ 7 * 7 }}",
    "a,b;c",
)


@st.composite
def layered(draw) -> Controller:
    """Exceptions to exceptions to a base, each with a memory of its own."""
    sizes = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    z, a = names("z", sizes[0]), names("a", sizes[1])
    base = draw(controllers(z, a, draw(memories(*sizes))))
    for _ in range(draw(st.integers(0, 2))):
        memory = join(base.memory, draw(single_memories(*sizes)).on(*sizes))
        nodes = memory.enumerate()
        states = np.array([[*node, o] for node in nodes.tolist() for o in range(sizes[0])])
        some = draw(st.lists(st.integers(0, len(states) - 1), max_size=6, unique=True))
        rows = draw(rows_of_distributions(len(some), sizes[1]))
        base = base.lift(memory).except_at(states[some], rows)
    return base


def assert_same_steps(run: Any, folder: Path, controller: Controller, seed: int = 1) -> None:
    steps = some_steps(np.random.default_rng(seed), len(controller.observations))
    assert run(folder, controller, steps) == run_python(controller, steps)


few = settings(max_examples=20)


@needs_cc
@few
@given(layered())
@pytest.mark.slow
def test_c_does_what_the_python_program_does(tmp_path_factory, controller):
    assert_same_steps(run_c, tmp_path_factory.mktemp("c"), controller)


@needs_node
@few
@given(layered())
@pytest.mark.slow
def test_javascript_does_what_the_python_program_does(tmp_path_factory, controller):
    assert_same_steps(run_node, tmp_path_factory.mktemp("js"), controller)


ODD_EVEN = NamedNodes(("even", "odd"), [[[1] * 3] * 3, [[0] * 3] * 3], start=1)
LONG = [
    window(1, actions=True),
    window(45),
    window(30, actions=True),
    product(window(1), window(40), ODD_EVEN),
    window(1000),
]


def long_controller(memory: Any, rows: int = 40) -> Controller:
    """A row for every second history state of a random walk."""
    rng = np.random.default_rng(1)
    memory = memory.on(3, 3)
    z, a = rng.integers(0, 3, (2, 3 * rows))
    nodes = memory.replay(z, a, np.arange(0, 3 * rows + 1, rows))
    states = np.unique(np.column_stack([nodes, z]), axis=0)[::2]
    return Controller(
        Z, A, memory, states, rng.dirichlet(np.ones(3), len(states)), [0.5, 0.25, 0.25]
    )


@needs_cc
@needs_node
@pytest.mark.parametrize("memory", LONG, ids=str)
def test_long_memories_are_rows_of_what_was_met_and_nothing_else(memory, tmp_path):
    controller = long_controller(memory)
    for run in (run_c, run_node):
        assert_same_steps(run, tmp_path, controller)
    size = sum(part.size for part in table(controller).layers[0].parts) + 1
    per_row = 8 * size + 200
    for suffix in (".c", ".js"):
        bare = len(render(table(Controller.uniform(Z, A)), LANGUAGES[suffix]))
        text = render(table(controller), LANGUAGES[suffix])
        assert len(text) < bare + per_row * len(controller.rows) + 10 * size


def many_named() -> Controller:
    """300 observations, so that numbers take two bytes, and pairs of them three."""
    z, a = names("z", 300), names("a", 7)
    rng = np.random.default_rng(5)
    base = Controller.constant(z, a, np.full(7, 1 / 7), window(2, actions=True))
    states = np.array([[int(rng.integers(1, 2101)), int(rng.integers(300))] for _ in range(200)])
    states = np.unique(states, axis=0)
    return base.except_at(states, rng.dirichlet(np.ones(7), len(states)))


@needs_cc
@needs_node
def test_many_names_take_wider_numbers(tmp_path):
    controller = many_named()
    assert "int16_t memory[1];" in render(table(controller), LANGUAGES[".c"])
    for run in (run_c, run_node):
        assert_same_steps(run, tmp_path, controller)


# ---- names --------------------------------------------------------------------------------------


def hostile() -> Controller:
    """Observation i calls for action i; the reading has hostile columns and ranges, too."""
    n = len(HOSTILE)
    return Controller(
        HOSTILE, HOSTILE[::-1], window(2), np.array([[i + 1, i] for i in range(n)]), np.eye(n),
        np.eye(n)[0], name="\n".join(HOSTILE),
    )  # fmt: skip


@needs_cc
@needs_node
def test_hostile_names_are_harmless(tmp_path):
    for run in (run_c, run_node):
        assert_same_steps(run, tmp_path, hostile())


@needs_cc
def test_c_gives_every_name_back(tmp_path):
    written(tmp_path, ".c", hostile())
    main = r"""
#include <stdio.h>
#include "improved.c"
int main(void)
{
    int i;
    for (i = 0; i < improved_n_observations; i++) {
        fwrite(improved_observations[i], 1, strlen(improved_observations[i]) + 1, stdout);
        if (improved_observation(improved_observations[i]) != i)
            return 1;
        if (improved_action(improved_actions[i]) != i)
            return 1;
    }
    return improved_observation("unheard of") != -1 || improved_action("") != -1;
}
"""
    done = subprocess.run([compiled(tmp_path, main)], capture_output=True, check=False)
    assert done.returncode == 0
    assert tuple(done.stdout.decode().split("\0")[:-1]) == HOSTILE


def test_a_null_in_a_name_is_refused_where_text_cannot_hold_it():
    controller = Controller.uniform(("a\0b",), ("keep",))
    for suffix in (".c", ".sql"):
        with pytest.raises(ControllerError, match=r"'a\\x00b' has a null character"):
            render(table(controller), LANGUAGES[suffix])


@pytest.mark.parametrize("suffix", [".js", ".mjs"])
def test_a_script_can_stand_in_a_page(suffix):
    text = render(table(hostile(), LogReading((ReadColumn("</script>"),))), LANGUAGES[suffix])
    assert text.isascii()
    assert "</" not in text
    assert "<!--" not in text


def test_c_is_plain_ascii_without_trigraphs():
    named = replace(hostile(), name="??/")  # a backslash at the end of a line
    text = render(table(named, LogReading((ReadColumn("*/ ??/"),))), LANGUAGES[".c"])
    assert text.isascii()
    assert "??" not in text
    header = text.partition("#ifndef")[0]
    assert header.count("*/") == 1
    assert header.endswith("*/\n")


# ---- readings -----------------------------------------------------------------------------------

SEEN = tuple(f"{a}+{b}" for a in ("low", "mid", "high", "missing") for b in ("quiet", "missing"))
VALUES: list[Any] = [
    0, 1.9999999999999998, 2, 2.0, 4.5, 5, -0.0, 1e300, True, None, math.nan, math.inf, -math.inf,
    "", " ", "3", " 3.5 ", "1e1", "3,5", "1,234.5", "1,234", "1 234", "n/a", "NaN", "-", "−3",
    "-inf", "three", "0x3", "1e", ".5", "5.", "1_000", "٣",
]  # fmt: skip


def python_observation(reading: LogReading, values: dict[str, Any]) -> str | None:
    module: dict[str, Any] = {"__name__": "improved"}
    exec(render(table(Controller.uniform(SEEN, A), reading), LANGUAGES[".py"]), module)
    try:
        return module["observation"](values)
    except module["BadReading"]:
        return None


READINGS_MAIN = """
const improved = require(process.argv[2]);
const odd = new Map([["@nan", NaN], ["@inf", Infinity], ["@-inf", -Infinity]]);
const revive = (key, value) => (odd.has(value) ? odd.get(value) : value);
const values = JSON.parse(require("fs").readFileSync(0, "utf8"), revive);
console.log(JSON.stringify(values.map((reading) => {
  try { return improved.observation(reading); } catch (error) {
    if (!(error instanceof improved.BadReading)) throw error;
    return null;
  }
})));
"""


def for_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "@nan" if math.isnan(value) else f"@{value}"
    return value


@needs_node
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("names_missing", [False, True])
@pytest.mark.slow
def test_javascript_reads_what_python_reads(tmp_path, decimal, names_missing):
    reading = LogReading(PUMP.observation, names_missing=names_missing, decimal=decimal)
    readings = [{"vibration": v, "noise": "quiet"} for v in VALUES]
    readings += [{"vibration": 3, "noise": v} for v in VALUES if not isinstance(v, float)]
    readings += [{"vibration": 3, "noise": v} for v in (0.1, 123456789.5, 1.5e-7, 2.5e21, 0.00012)]
    readings += [{"noise": "quiet"}, {"vibration": 3}, {}]
    path = written(tmp_path, ".js", Controller.uniform(SEEN, A), reading)
    (tmp_path / "main.js").write_text(READINGS_MAIN)
    plain = [{k: for_json(v) for k, v in r.items()} for r in readings]
    command = [NODE, tmp_path / "main.js", path]
    done = subprocess.run(
        command, input=json.dumps(plain), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = dict(zip(map(str, readings), json.loads(done.stdout), strict=True))
    assert told == {str(r): python_observation(reading, r) for r in readings}


@needs_cc
@pytest.mark.parametrize("names_missing", [False, True])
def test_c_reads_what_python_reads(tmp_path, names_missing):
    reading = LogReading(PUMP.observation, names_missing=names_missing)
    numbers = [0, 1.9999999999999998, 2, 4.5, 5, -1e300, math.inf, -math.inf, math.nan]
    texts = ["quiet", "loud", "", "quiet+x", "q", None]
    cases = [(x, t) for x in numbers for t in texts]
    written(tmp_path, ".c", Controller.uniform(SEEN, A), reading)

    def c_number(x: float) -> str:
        return {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}.get(str(x), repr(float(x)))

    values = ",\n".join(
        f"{{{{{c_number(x)}, NULL}}, {{0, {'NULL' if t is None else json.dumps(t)}}}}}"
        for x, t in cases
    )
    main = f"""
#include <stdio.h>
#include <math.h>
#include "improved.c"
static const improved_value cases[][2] = {{ {values} }};
int main(void)
{{
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        printf("%d\\n", improved_read(cases[i]));
    return 0;
}}
"""
    done = subprocess.run([compiled(tmp_path, main)], capture_output=True, text=True, check=True)
    expected = [python_observation(reading, {"vibration": x, "noise": t}) for x, t in cases]
    numbers_of = [SEEN.index(name) if name in SEEN else -1 for name in expected]
    assert [int(line) for line in done.stdout.split()] == numbers_of
    assert len(set(numbers_of)) > 3


@needs_node
def test_what_is_not_known_throws_and_nothing_is_remembered(tmp_path):
    base = Controller.constant(Z, A, [1, 0, 0], memory=window(2))
    worn = base.except_at(base.state(["worn"], "worn")[None, :], np.array([[0.0, 0.25, 0.75]]))
    path = written(tmp_path, ".js", worn)
    code = f"""
const {{ start, UnknownName }} = require({json.dumps(str(path))});
const c = start({{ mostLikely: true }});
const told = [c.act("worn")];
for (const seen of ["won", 1, null, {{}}, ["worn"], "__proto__"]) {{
  try {{ c.act(seen); told.push("nothing thrown"); }} catch (error) {{ told.push(error.message); }}
}}
try {{ c.tell("worn", "replace"); }} catch (error) {{ told.push(error instanceof UnknownName); }}
told.push(c.act({{ observation: "worn" }}));
console.log(JSON.stringify(told));
"""
    done = subprocess.run([NODE, "-e", code], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told[0] == "keep"
    assert told[1] == 'observation "won" is not one of "good", "worn", "broken".'
    assert "nothing thrown" not in told
    assert told[-2:] == [True, "repair"]


@needs_node
def test_a_module_is_imported(tmp_path):
    path = written(tmp_path, ".mjs", Controller.constant(Z, A, [0, 1, 0]))
    (tmp_path / "main.mjs").write_text(
        f"import {{ start }} from {json.dumps(path.name)};\n".replace('"imp', '"./imp')
        + 'console.log(start().act("worn"));\n'
    )
    done = subprocess.run(
        [NODE, tmp_path / "main.mjs"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "inspect\n", done.stderr


# ---- databases ----------------------------------------------------------------------------------


def decided(connection: Any, text: str, columns: str, rows: list[tuple[Any, ...]]) -> Any:
    connection.execute(f"CREATE TABLE readings ({columns})")
    marks = ", ".join("?" for _ in rows[0])
    connection.executemany(f"INSERT INTO readings VALUES ({marks})", rows)
    run = getattr(connection, "executescript", connection.execute)
    run(text)
    run(text)  # again: nothing is in its way
    found = connection.execute(
        "SELECT episode, step, number, probability FROM improved_decisions ORDER BY 1, 2, 3"
    )
    return found.fetchall()


def databases() -> list[Any]:
    found: list[Any] = [sqlite3.connect]
    try:
        import duckdb
    except ImportError:
        return found
    return [*found, duckdb.connect]


def expected_decisions(controller: Controller, rows: list[tuple[Any, ...]]) -> Any:
    module: dict[str, Any] = {"__name__": "improved"}
    exec(render(table(controller), LANGUAGES[".py"]), module)
    running: dict[Any, Any] = {}
    out = []
    for episode, step, seen, done in sorted(rows, key=lambda row: row[:2]):
        c = running.setdefault(episode, module["start"]())
        likely = c.probabilities(seen)
        out += [(episode, step, a, p) for a, p in enumerate(likely.values())]
        if done is not None:
            c.tell(seen, done)
    return out


@pytest.mark.parametrize("connect", databases())
@settings(max_examples=15)
@given(layered(), st.integers(0, 100))
def test_a_database_decides_as_the_python_program(connect, controller, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for episode in range(3):
        for step in range(1, 8):
            seen = str(rng.choice(controller.observations))
            done = None if step == 7 else str(rng.choice(controller.actions))
            rows.append((episode, step, seen, done))
    shuffled = [rows[i] for i in rng.permutation(len(rows))]
    text = render(table(controller), LANGUAGES[".sql"])
    columns = "episode INTEGER, step INTEGER, observation TEXT, action TEXT"
    assert decided(connect(":memory:"), text, columns, shuffled) == expected_decisions(
        controller, rows
    )


@pytest.mark.parametrize("connect", databases())
def test_a_database_reads_ranges_missing_values_and_hostile_columns(connect):
    nasty = ReadColumn("no'i\"se")
    reading = LogReading((VIBRATION, nasty), (ReadColumn("work"),), "pump", names_missing=True)
    n = len(SEEN)
    controller = Controller(SEEN, SEEN, window(1), np.arange(n)[:, None], np.eye(n), np.eye(n)[0])
    text = render(table(controller, reading), LANGUAGES[".sql"])
    cases = [(0.0, "quiet"), (2.0, "quiet"), (5.0, ""), (None, None), (math.nan, "quiet")]
    rows = [(i, 1, x, t, None) for i, (x, t) in enumerate(cases)]
    rows.append((99, 1, 1.0, "unheard of", None))
    connection = connect(":memory:")
    columns = 'pump INTEGER, step INTEGER, vibration DOUBLE, "no\'i""se" TEXT, work TEXT'
    decided(connection, text, columns, rows)
    likeliest = connection.execute(
        "SELECT episode, observation, action FROM improved_likeliest ORDER BY 1"
    ).fetchall()
    called = ["low+quiet", "mid+quiet", "high+missing", "missing+missing", "missing+quiet"]
    assert likeliest == [(i, name, name) for i, name in enumerate(called)]
    unknown = connection.execute("SELECT episode, seen FROM improved_unknown").fetchall()
    assert unknown == [(99, "low+unheard of")]


@pytest.mark.parametrize("connect", databases())
def test_a_step_after_one_that_is_not_known_has_no_decision(connect):
    controller = long_controller(window(3))
    rows = [(1, t, z, a) for t, (z, a) in enumerate([("good", "keep"), ("odd", "keep")] * 2)]
    rows += [(2, t, "worn", a) for t, a in enumerate(["keep", None, "keep"])]
    columns = "episode INTEGER, step INTEGER, observation TEXT, action TEXT"
    text = render(table(controller), LANGUAGES[".sql"])
    found = decided(connect(":memory:"), text, columns, rows)
    assert sorted({row[:2] for row in found}) == [(1, 0), (2, 0), (2, 1)]


@pytest.mark.parametrize("connect", databases())
def test_hostile_names_are_harmless_in_a_database(connect):
    rows = [(i, 1, name, None) for i, name in enumerate(HOSTILE)]
    columns = "episode INTEGER, step INTEGER, observation TEXT, action TEXT"
    text = render(table(hostile()), LANGUAGES[".sql"])
    connection = connect(":memory:")
    found = decided(connection, text, columns, rows)
    assert len(found) == len(HOSTILE) ** 2
    names_there = connection.execute("SELECT name FROM improved_observations ORDER BY number")
    assert tuple(name for (name,) in names_there.fetchall()) == HOSTILE
