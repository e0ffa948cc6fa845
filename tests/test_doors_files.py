"""The doors for log formats, models and renderings, tried: each test enters a minimal new one from
here, without a change in src.

Between the marks ``# --- 8< ---`` stands all that the new one takes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import jumar as jm
from commands import run_command as run
from jumar.lab.truth.models import MODELS, ModelEntry
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.lab.truth.training import Training
from jumar.log.formats import FORMATS, LogFormat, Source
from jumar.show.outputs import FILES
from jumar.show.program.flat import Flat
from jumar.show.program.languages import LANGUAGES, Language, c_text
from results import HALF, one_step_log

# --- 8< --- a new log format: words between bars


class Bars(Source):
    """A file whose columns stand between bars."""

    def __init__(self, path):
        self.name = str(path)
        head, *rows = [line.split("|") for line in path.read_text("utf-8").splitlines()]
        self.names, self._rows = head, rows

    def batches(self, columns, text):
        import pyarrow as pa

        at = [self.names.index(name) for name in columns]
        yield pa.record_batch({self.names[i]: [row[i] for row in self._rows] for i in at})


# --- 8< ---


def test_a_new_log_format_is_one_class_and_one_entry(tmp_path):
    log = tmp_path / "log.bars"
    log.write_text("episode|observation|action|reward|terminated\n0|good|keep|1.5|true\n")
    FORMATS.add("bars", LogFormat((".bars",), Bars))
    try:
        found = jm.read_logs(log)
        assert (found.observations, found.actions) == (("good",), ("keep",))
        assert found.reward.tolist() == [1.5]
        with pytest.raises(jm.JumarError, match="bars"):
            jm.write_logs(found, log)
    finally:
        FORMATS.remove("bars")
    with pytest.raises(jm.JumarError, match="format"):
        jm.read_logs(log)


# --- 8< --- a new model: a coin that is seen, and pays when it is called


def coin():
    return Pomdp(
        name="coin", states=("up", "down"), actions=("heads", "tails"), observations=("toss",),
        start=[0.5, 0.5], first_observation=[[1.0], [1.0]], pointer=[0, 1, 2, 3, 4],
        probability=[1.0] * 4, next_state=[END] * 4, next_observation=[END] * 4,
        reward=[1.0, 0.0, 0.0, 1.0], discount=0.9,
    )  # fmt: skip


COIN = ModelEntry(coin, "call the coin", Training(softmax=1.0), optimum=0.5)

# --- 8< ---


def test_a_new_model_is_one_function_and_one_entry(tmp_path, capsys):
    MODELS.add("coin", COIN)
    try:
        assert "call the coin" in run(capsys, "models").text
        rule = tmp_path / "rule.json"
        run(capsys, "train", "coin", "--window", 1, "-o", rule)
        value = run(capsys, "evaluate", "coin", "--policy", rule, "--json").data
        assert value["optimum"] == 0.5
        assert value["controllers"][0]["value"] == pytest.approx(0.5)
        assert jm.models.coin().name == "coin"
    finally:
        MODELS.remove("coin")


def test_a_new_rendering_is_one_line(tmp_path):
    result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)
    FILES["verdict.txt"] = lambda made: made.assessment.verdict.headline  # all it takes
    try:
        written = result.save(tmp_path / "out")
    finally:
        del FILES["verdict.txt"]
    assert tmp_path / "out" / "verdict.txt" in written
    said = (tmp_path / "out" / "verdict.txt").read_text("utf-8")
    assert said == result.assessment.verdict.headline
    assert np.all([path.is_file() for path in written])


# --- 8< --- a new language: AWK, a name on a line in, the likeliest action out

AWK = r"""BEGIN {
{% for name in table.observations %}  z[{{ name | text }}] = {{ loop.index0 }}
{% endfor %}
{% for name in table.actions %}  action[{{ loop.index0 }}] = {{ name | text }}
{% endfor %}
{% for row in table.distributions %}  best[{{ loop.index0 }}] = {{ row.index(row | max) }}
{% endfor %}
{% for symbol in flat.first %}  m[{{ loop.index0 }}] = {{ symbol }}
{% endfor %}
{% for layer in flat.layers %}{% for key, choice in layer.rows %}
  rows[{{ layer.at }} ":{{ key | join(",") }}"] = {{ choice }}
{% endfor %}{% endfor %}
}
function key(at, size, seen,   i, text) {
  for (i = at; i < at + size; i++) text = text m[i] ","
  return at ":" text seen
}
{
  seen = z[$0]; choice = {{ table.default }}
{% for layer in flat.layers | reverse %}
  if ((k = key({{ layer.at }}, {{ layer.size }}, seen)) in rows) choice = rows[k]
{% endfor %}
  done = best[choice]; print action[done]
{% for part in flat.parts %}
  for (i = {{ part.at }}; i < {{ part.at + part.size - 1 }}; i++) m[i] = m[i + 1]
  m[{{ part.at + part.size - 1 }}] = seen{{ " * %d + done" % part.actions if part.actions }}
{% endfor %}
}
"""
LANGUAGE = Language("AWK", AWK, c_text, lambda table: {"flat": Flat(table)})

# --- 8< ---


@pytest.mark.skipif(shutil.which("awk") is None, reason="there is no AWK: apt install mawk")
@pytest.mark.parametrize("memory", [jm.window(1), jm.window(3), jm.window(2, actions=True)])
def test_a_new_language_is_one_template_and_one_entry(tmp_path, capsys, memory):
    rng = np.random.default_rng(4)
    names = ("good", 'wo"rn', "b\\roken")
    base = jm.Controller.constant(names, ("keep", "inspect", "repair"), [1, 0, 0], memory)
    nodes = base.memory.enumerate()
    states = np.column_stack([nodes, rng.integers(0, 3, len(nodes))])
    rule = base.except_at(states, rng.dirichlet(np.ones(3), len(nodes)))
    rule.save(tmp_path / "rule.json")
    LANGUAGES.add(".awk", LANGUAGE)
    try:
        done = run(capsys, "export", tmp_path / "rule.json", "-o", tmp_path / "rule.awk")
    finally:
        LANGUAGES.remove(".awk")
    assert done.code == 0
    seen = rng.choice(names, 60).tolist()
    agent = rule.start(1, most_likely=True)
    command = ["awk", "-f", str(tmp_path / "rule.awk")]
    answers = subprocess.run(command, input="\n".join(seen), capture_output=True, text=True)
    assert answers.stdout.split() == [agent.act(z) for z in seen]
    assert run(capsys, "export", tmp_path / "rule.json", "-o", tmp_path / "rule.awk").code == 2


NEW_OPTION = """
import sys
from dataclasses import dataclass

from jumar import options

# --- 8< --- a new option


@dataclass(frozen=True, kw_only=True)
class Options(options.Options):
    colour: str | None = options.option(None, "Of the paint.", first=True)


# --- 8< ---

options.Options = Options
"""


@pytest.mark.parametrize("where", ["python", "command", "project", "run"])
@pytest.mark.slow
def test_a_new_option_is_one_field(tmp_path, where):
    """And stands in all four views: a keyword, an option with its help, a key, a part of a run."""
    jm.write_logs(one_step_log(30, 20), tmp_path / "log.csv")
    HALF.save(tmp_path / "rule.json")
    asked = ["improve", "log.csv", "--policy", "rule.json", "--discount", "0.9"]
    project = 'format = "jumar-project/1"\ncolour = "red"\n'
    (tmp_path / "jumar.toml").write_text(project if where in ("project", "run") else "format = 'x'")
    if where == "command":
        asked += ["--no-project", "--colour", "red"]
    code = NEW_OPTION + f"from jumar.cli import main\nmain({[*asked, '-o', 'out']!r})\n"
    if where == "python":
        code = NEW_OPTION + (
            "import jumar as jm\n"
            "jm.improve('log.csv', 'rule.json', discount=0.9, colour='red')\n"
            "try: jm.improve('log.csv', 'rule.json', discount=0.9, color='red')\n"
            "except jm.JumarError as error: assert 'color' in str(error)\n"
            "else: raise AssertionError\n"
        )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if where in ("command", "project"):
        kept = json.loads((tmp_path / "out" / "run.json").read_text())["options"]
        assert kept["colour"] == "red"
    if where == "run":
        again = NEW_OPTION + "from jumar.cli import main\n"
        again += "main(['improve', '--again', 'out/run.json', '-o', 'out2'])\n"
        subprocess.run([sys.executable, "-c", again], cwd=tmp_path, check=True, capture_output=True)
        kept = json.loads((tmp_path / "out2" / "run.json").read_text())["options"]
        assert kept["colour"] == "red"
    if where == "command":
        shown = NEW_OPTION + "from jumar.cli import main\nmain(['improve', '--help'])\n"
        said = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True).stdout
        assert "--colour TEXT" in said
        assert "Of the paint" in said
