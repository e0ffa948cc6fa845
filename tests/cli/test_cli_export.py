"""`jumar export`: controllers as programs and for other tools, models for model checkers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import jumar as jm
from jumar.core.reading import LogReading
from jumar.lab.truth.checkers import model_text
from jumar.policy.controller import Controller
from jumar.show.program import LANGUAGES, render, table
from programs import NODE, compiled, needs_cc, needs_node

WORK = [{"column": "work", "ranges": None}]
ENDINGS = [".py", ".c", ".js", ".mjs", ".sql", ".table.json", ".json"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_controller_becomes_what_the_ending_says(jumar, tiger, tmp_path, ending):
    path = tmp_path / f"pump{ending}"
    done = jumar("export", tiger / "behavior.json", "-o", path)
    assert (done.code, done.out) == (0, f"Wrote {path}\n")
    controller = jm.load_controller(tiger / "behavior.json")
    if ending in LANGUAGES:
        assert path.read_text() == render(table(controller), LANGUAGES[ending], "pump")
    elif ending == ".table.json":
        assert json.loads(path.read_text())["format"] == "jumar-table/1"
    else:
        again = jm.load_controller(path)
        value = jm.evaluate(jm.models.tiger(), controller).value
        assert jm.evaluate(jm.models.tiger(), again).value == pytest.approx(value, rel=1e-12)


@pytest.fixture(scope="module")
def pumps(tmp_path_factory) -> Path:
    """The folder of a result, learned from numbers that were cut into ranges."""
    folder = tmp_path_factory.mktemp("pumps")
    rng = np.random.default_rng(3)
    n = 400
    log = jm.read_logs(
        pa.table(
            {
                "pump": np.repeat(np.arange(n // 4), 4),
                "vibration": rng.gamma(2, 1.5, n),
                "noise": rng.choice(["quiet", "loud"], n),
                "work": rng.choice(["keep", "repair"], n),
                "paid": rng.normal(size=n),
            }
        ),
        columns={
            "episode": "pump",
            "observation": ["vibration", "noise"],
            "action": "work",
            "reward": "paid",
        },
        bins={"vibration": ("low", 2, "mid", 5, "high")},
        ends="cut",
    )
    behavior = Controller.uniform(log.observations, log.actions, name="today")
    jm.improve(log, behavior, discount=0.9, n_wedge=20).save(folder / "out")
    return folder / "out"


@pytest.mark.parametrize("what", ["", "improved.json"])
def test_the_folder_of_a_result_knows_how_readings_are_read(jumar, pumps, tmp_path, what):
    done = jumar("export", pumps / what, "-o", tmp_path / "improved.py", "--json")
    assert done.data["readings"]
    assert (tmp_path / "improved.py").read_text() == (pumps / "improved.py").read_text()


@needs_cc
@needs_node
def test_c_and_javascript_take_the_reading_as_it_is(jumar, pumps, tmp_path):
    for name in ("pump.c", "pump.js"):
        assert jumar("export", pumps, "-o", tmp_path / name).code == 0
    main = r"""
#include <stdio.h>
#include "pump.c"
int main(void)
{
    const pump_value reading[] = {{3.2, NULL}, {0, "quiet"}};
    pump_controller c;
    pump_reset(&c);
    puts(pump_observations[pump_read(reading)]);
    puts(pump_actions[pump_most_likely(&c, pump_read(reading))]);
    return 0;
}
"""
    c = subprocess.run([compiled(tmp_path, main)], capture_output=True, text=True, check=True)
    code = """
const { start, observation } = require("./pump.js");
const reading = { vibration: 3.2, noise: "quiet" };
console.log(observation(reading));
console.log(start({ mostLikely: true }).act(reading));
"""
    js = subprocess.run(
        [NODE, "-e", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    agent = jm.load_controller(pumps / "improved.json").start(1, most_likely=True)
    assert c.stdout == js.stdout == f"mid+quiet\n{agent.act('mid+quiet')}\n"


def test_a_table_of_another_controller_is_not_used(jumar, pumps, tmp_path):
    (tmp_path / "improved.table.json").write_text((pumps / "improved.table.json").read_text())
    Controller.uniform(("x",), ("a",)).save(tmp_path / "improved.json")
    done = jumar("export", tmp_path, "-o", tmp_path / "improved.c", "--json")
    assert done.data["readings"] is False
    assert "improved.table.json is of another policy: its ranges are not used." in done.err


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"format": "jumar-table/2"}, "newer format version 2"),
        ({"more": 1}, "key 'more' is not one of"),
        ({"reading": 1}, "reading: is a number"),
        ({"reading": {"observation": [], "action": []}}, "is not the name of a column"),
        ({"reading": {"observation": [{"column": 1}], "action": []}}, "column: is a number"),
        (
            {"reading": {"observation": [{"column": "x", "ranges": ["a", 1]}], "action": WORK}},
            "is not a list of names and edges",
        ),
        *(
            (
                {"reading": {"observation": [{"column": "x", "ranges": ranges}], "action": WORK}},
                "is not a number",
            )
            for ranges in (["a", {}, "b"], ["a", None, "b"], ["a", 10**400, "b"], ["a", [], "b"])
        ),
    ],
)
def test_a_damaged_table_is_refused(jumar, pumps, tmp_path, change, fact):
    document = json.loads((pumps / "improved.table.json").read_text())
    (tmp_path / "improved.table.json").write_text(json.dumps({**document, **change}))
    (tmp_path / "improved.json").write_text((pumps / "improved.json").read_text())
    done = jumar("export", tmp_path, "-o", tmp_path / "improved.c")
    assert done.code == 1
    assert "improved.table.json" in done.err
    assert fact in done.err


def test_ranges_can_be_told(jumar, tmp_path):
    seen = ("low+quiet", "high+quiet", "missing+quiet")
    Controller.uniform(seen, ("keep",)).save(tmp_path / "rule.json")
    done = jumar(
        "export", tmp_path / "rule.json", "-o", tmp_path / "rule.py", "--columns",
        "observation=vibration+noise,action=work,episode=pump", "--bins", "vibration=low:2:high",
        "--missing", "symbol",
    )  # fmt: skip
    assert done.code == 0
    module: dict = {"__name__": "rule"}
    exec((tmp_path / "rule.py").read_text(), module)
    assert module["observation"]({"vibration": 2, "noise": "quiet"}) == "high+quiet"
    assert module["observation"]({"vibration": None, "noise": "quiet"}) == "missing+quiet"
    wrong = jumar(
        "export", tmp_path / "rule.json", "-o", tmp_path / "r.c", "--bins", "x=low:2:high"
    )
    assert wrong.code == 2
    assert "column 'x' is not one of observation, action" in wrong.err


@pytest.mark.parametrize("ending", [".drn", ".prism"])
def test_a_model_and_a_model_with_a_controller(jumar, tiger, tmp_path, ending):
    model, path = jm.models.tiger(), tmp_path / f"tiger{ending}"
    assert jumar("export", "tiger", "-o", path).code == 0
    assert path.read_text() == model_text(model, ending)
    behavior = tiger / "behavior.json"
    assert jumar("export", "tiger", "--policy", behavior, "-o", path).code == 0
    controller = jm.load_controller(behavior)
    assert path.read_text() == model_text(model, ending, controller)
    jumar("export", "tiger", "--policy", behavior, "--undiscounted", "-o", path)
    assert path.read_text() == model_text(model, ending, controller, discounted=False)


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["-o", "x.txt"], "x.txt: a policy is written as .py, .c, .js, .mjs, .sql,"),
        (["-o", "x.c", "--policy", "y"], "--policy: only a model takes it"),
        (["-o", "x.c", "--undiscounted"], "--undiscounted: only a model takes it"),
        (["-o", "x.drn", "--bins", "x=a:1:b"], "x.drn: a model is written, and --columns"),
    ],
)
def test_what_does_not_fit_together_is_told(jumar, tiger, tmp_path, monkeypatch, arguments, fact):
    monkeypatch.chdir(tmp_path)
    done = jumar("export", tiger / "behavior.json", *arguments)
    assert fact in done.err
    assert done.code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_program_that_is_written_runs(jumar, tiger, tmp_path):
    jumar("export", tiger / "behavior.json", "-o", tmp_path / "b.py")
    seen = "\n".join(jm.models.tiger().observations)
    command = [sys.executable, "-I", tmp_path / "b.py", "--most-likely"]
    done = subprocess.run(command, input=seen, capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 2


def test_python_hands_over_what_the_log_knows(pumps, tmp_path):
    controller = jm.load_controller(pumps / "improved.json")
    jm.export_controller(controller, tmp_path / "a.c", reading=LogReading())
    assert "a_edges" not in (tmp_path / "a.c").read_text()


@pytest.mark.parametrize("name", ["tiger", "voicemail", "cheese_maze", "bridge_repair", "machine"])
def test_a_model_as_a_pomdp_file_has_the_same_values(jumar, tmp_path, name):
    """With the options that its comments tell."""
    model, path = jm.models.build(name), tmp_path / "model.POMDP"
    assert jumar("export", name, "-o", path).code == 0
    told: dict[str, object] = dict(
        re.findall(r'read this with (\w+)="?([^"\n]+?)"?\.\n', path.read_text())
    )
    if "max_steps" in told:
        told["max_steps"] = int(str(told["max_steps"]))
    again = jm.load_model(path, **told)
    values = [
        jm.evaluate(m, jm.Controller.uniform(m.observations, m.actions)).value
        for m in (model, again)
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-12)
    done = jumar("export", name, "-o", path, "--undiscounted")
    assert done.code == 2
    assert "Leave --policy and --undiscounted out" in done.err
