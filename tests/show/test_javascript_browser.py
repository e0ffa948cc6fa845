"""A controller in a real browser: as a script, as a module and within a page, whatever its
names."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jumar.core.reading import Bins, LogReading, ReadColumn
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.show.program import LANGUAGES, render, table
from programs import run_python, some_steps, written

pytestmark = pytest.mark.slow

NAMES = ("</script><script>window.hit = 1</script>", "<!--<script>", "plain", "__proto__", "🐯")
STEPS = """
(improved, steps) => {
  let u = 0;
  const c = improved.start({ random: () => u });
  return steps.flatMap((step) => {
    if (step === null) { c.reset(); return []; }
    u = step[1];
    const seen = improved.OBSERVATIONS[step[0]];
    const p = Object.values(c.probabilities(seen));
    return [[p, improved.ACTIONS.indexOf(c.act(seen))]];
  });
}
"""


def controller() -> Controller:
    rng = np.random.default_rng(2)
    n = len(NAMES)
    base = Controller.constant(NAMES, NAMES, np.full(n, 1 / n), window(3))
    nodes = base.memory.enumerate()[::3]
    states = np.column_stack([nodes, rng.integers(0, n, len(nodes))])
    return base.except_at(states, rng.dirichlet(np.ones(n), len(nodes)))


@pytest.fixture
def page(browser):
    complaints: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    page.close()
    assert complaints == []


def acted(page, steps) -> list:
    found = page.evaluate(f"(steps) => ({STEPS})(globalThis.improved, steps)", steps)
    return [(p, a) for p, a in found]


@pytest.mark.parametrize("how", ["script", "module", "within"])
def test_a_browser_does_what_the_python_program_does(page, tmp_path, how):
    made, steps = controller(), some_steps(np.random.default_rng(1), len(NAMES), 200)
    if how == "module":
        text = render(table(made), LANGUAGES[".mjs"])
        given = "globalThis.improved = { start, OBSERVATIONS, ACTIONS };"
        body = f'<script type="module">{text}\n{given}</script>'
    elif how == "script":
        written(tmp_path, ".js", made)
        body = '<script src="improved.js"></script>'
    else:
        body = f"<script>{render(table(made), LANGUAGES['.js'])}</script>"
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>x</title>{body}", "utf-8")
    page.goto(path.as_uri())
    assert acted(page, steps) == run_python(made, steps)
    assert page.evaluate("window.hit") is None


def test_a_browser_reads_a_form(page, tmp_path):
    """Values of a form are text: numbers in it are cut into ranges, too."""
    wear = ReadColumn("wear", Bins(("good", "worn"), (2.0,)))
    rule = Controller(
        ("good", "worn"), ("keep", "repair"), window(1), [[0], [1]], np.eye(2), [1, 0]
    )
    written(tmp_path, ".js", rule, LogReading((wear,)))
    form = '<form><input name="wear" value=" 3.2 "></form>'
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><title>x</title>{form}<script src=improved.js></script>")
    page.goto(path.as_uri())
    code = "improved.start().act(Object.fromEntries(new FormData(document.forms[0])))"
    assert page.evaluate(code) == "repair"
    told = page.evaluate(
        "(() => { try { improved.start().act({}) } catch (e) { return e.message } })()"
    )
    assert told == f"no column {json.dumps('wear')}, which is part of the observation."
