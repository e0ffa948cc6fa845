"""The examples do what their pages say: same bytes, same commands, same numbers."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jumar
from jumar import models
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.simulation import simulate
from jumar.log.reading import read_logs
from jumar.memory import NamedNodes, window
from jumar.pipeline import improve
from jumar.policy.controller import Controller
from jumar.policy.files import load_controller
from jumar.show.program import program
from jumar.verdict.result import Result

ROOT = Path(jumar.__file__).parents[2]
EXAMPLES = ("bridge", "species", "voicemail", "machine", "broomrape")


def commands(page: str) -> list[list[str]]:
    """The commands a page shows, cut into words."""
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return [shlex.split(block.replace("\\\n", " ")) for block in blocks]


def options(words: list[str]) -> dict[str, list[str]]:
    """--option value of a command; an option without a value has the value ''."""
    found: dict[str, list[str]] = {}
    for word, after in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("-"):
            found.setdefault(word, []).append("" if after.startswith("-") else after)
    return found


def example(name: str) -> Any:
    """Everything of an example, as its page says."""
    folder = ROOT / "examples" / name
    page = (folder / "README.md").read_text()
    first, second = commands(page)
    asked = options(first)
    behavior = load_controller(ROOT / asked["--policy"][0])
    log = read_logs(
        ROOT / first[2],
        observations=behavior.observations,
        actions=behavior.actions,
        columns=dict(pair.split("=") for pair in asked["--columns"][0].split(",")),
        ends=asked["--ends"][0],
        cost="--cost" in asked,
    )
    return SimpleNamespace(
        name=name,
        folder=folder,
        page=page,
        asked=asked,
        evaluating=second,
        behavior=behavior,
        log=log,
        model=models.build(second[2]),
    )


@pytest.fixture(scope="module", params=EXAMPLES)
def case(request):
    return example(request.param)


def improved(case: Any) -> Result:
    asked = case.asked
    memory = None
    if "--window" in asked:
        memory = window(int(asked["--window"][0]), actions="--with-actions" in asked)
    return improve(
        case.log,
        case.behavior,
        discount=float(asked["--discount"][0]),
        memory=memory,
        **({"n_wedge": int(asked["--n-wedge"][0])} if "--n-wedge" in asked else {}),
    )


def test_the_log_is_what_make_makes(case, tmp_path):
    path = case.folder / "make.py"
    spec = importlib.util.spec_from_file_location(f"make_{case.name}", path)
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    make.make(tmp_path)
    assert (tmp_path / "log.csv").read_bytes() == (case.folder / "log.csv").read_bytes()


def test_an_example_is_small_and_its_page_fits_on_a_screen(case):
    assert (case.folder / "log.csv").stat().st_size < 1_200_000
    assert case.page.count("\n") <= 60


def test_the_improved_controller_is_better_on_the_truth_and_the_page_tells_by_how_much(case):
    result = improved(case)
    before = evaluate(case.model, case.behavior).value
    after = evaluate(case.model, result.controller).value
    assert after == before if case.name == "bridge" else after > before
    table = re.findall(r"^\| .+? \| (-?[\d.]+) \|$", case.page, re.MULTILINE)
    digits = len(table[0].partition(".")[2])
    sign = -1 if "--cost" in case.asked else 1  # a cost is shown as a cost
    assert table[:2] == [f"{sign * value:.{digits}f}" for value in (before, after)]


@pytest.mark.slow
def test_the_page_tells_the_verdict_how_many_situations_change_and_what_is_estimated(case):
    result = improved(case)
    page, verdict = " ".join(case.page.split()), result.assessment.verdict
    headline = re.search(r"\*\*What comes out.\*\* \*(.+?)\.?\*", page)[1]
    assert verdict.headline.startswith(headline)
    count = {"No": 0, "Three": 3, "Four": 4, "Seven": 7, "Nine": 9}
    said = re.search(r"(\w+) situations? changes?", page)[1]
    assert count[said] == result.improvement.changed
    told = re.findall(r"about [\d.,]+ \(90 % interval [\d.,]+ to [\d.,]+\)", page)
    assert len(told) == (verdict.about is not None)
    assert all(numbers in verdict.lead for numbers in told)


def test_the_page_says_what_the_certificate_is_worth(case):
    result, page = improved(case), " ".join(case.page.split())
    certificate = result.certificate
    if case.name == "bridge":
        assert "Nothing is deployed" in page
        assert certificate.claim.startswith("No change passed the test, so your policy stays.")
    elif case.name == "species":
        assert "Nothing is proved of it, either." in page
        assert certificate.zeta > 0
        assert "on the other half" in result.assessment.verdict.lead
    else:
        held_out = re.search("proved on ([0-9,]+) (?:calls|runs|fields)", page)[1]
        assert "by how much is not proved" in page
        assert certificate.zeta == 0
        assert certificate.claim.startswith(f"On {held_out} held-out episodes")


def test_the_truth_is_asked_for_the_two_controllers(case):
    policies = options(case.evaluating)["--policy"]
    assert case.evaluating[:2] == ["jumar", "evaluate"]
    assert policies == [case.asked["--policy"][0], f"{case.asked['-o'][0]}/improved.json"]


def test_the_improved_controller_runs_on_its_own(case):
    """Along the first episodes of the log, with the probabilities of the controller."""
    controller, log = improved(case).controller, case.log.select(np.arange(10))
    module: dict[str, Any] = {"__name__": "improved"}
    exec(compile(program(controller), "improved.py", "exec"), module)
    c = module["Controller"]()
    nodes = controller.memory.replay(log.observation, log.action, log.start)
    rows = controller.rows_at(np.column_stack([nodes, log.observation])).tolist()
    for t in range(log.n_steps):
        if t in log.start:
            c.reset()
        z, a = log.observations[log.observation[t]], log.actions[log.action[t]]
        assert list(c.probabilities(z).values()) == rows[t]
        c.tell(z, a)


FIELDS = ("bridge", "species", "machine", "broomrape")


@pytest.mark.parametrize("name", FIELDS)
def test_a_page_tells_what_200_logs_of_each_size_gave(name):
    """benchmarks/fields.py makes the numbers, in half an hour of one core."""
    path = ROOT / "benchmarks" / "fields.py"
    spec = importlib.util.spec_from_file_location("fields", path)
    fields = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fields)
    found = json.loads((ROOT / "docs" / "examples" / "fields.json").read_text())
    assert {cell["logs"] for key, cell in found.items() if key.startswith(name)} == {200}
    page = (ROOT / "examples" / name / "README.md").read_text()
    assert "\n".join(fields.table(name, found)) in page
    assert "ours" in page


def test_improve_is_never_worse_on_more_than_one_log_in_twenty():
    found = json.loads((ROOT / "docs" / "examples" / "fields.json").read_text())
    assert all(cell["worse"] <= 0.05 for key, cell in found.items() if key.endswith("improve"))


def test_the_weed_needs_a_memory_of_its_treatment():
    """As the page says: with a rule that forgets it, the model of the log is wrong about it."""
    weed = models.broomrape()
    moves = np.zeros((2, 2, 3), int)  # node, observation, action
    moves[0, 1] = 1  # seen once; a second sighting in a row starts anew
    memory = NamedNodes(("clear", "seen"), moves)
    nodes = memory.on(2, 3).enumerate()
    rows = np.zeros((4, 3))
    states = np.array([[*node, z] for node in nodes.tolist() for z in (0, 1)])
    for row, (node, z) in zip(rows, states.tolist(), strict=True):
        row[:] = [0, 0, 1] if z == 0 else ([0, 0.3, 0.7] if node == 0 else [0, 1, 0])
    forgetful = Controller(weed.observations, weed.actions, memory, states, rows, np.eye(3)[2])
    log = simulate(weed, forgetful, episodes=1000, seed=1, max_steps=30)
    result = improve(log, forgetful, discount=0.95, n_wedge=20)
    worse = evaluate(weed, result.controller).value - evaluate(weed, forgetful).value
    assert result.improvement.gain == pytest.approx(24, abs=2)
    assert worse == pytest.approx(-1721, abs=1)


@pytest.mark.parametrize(
    ("name", "episodes"),
    [("bridge", 520), ("species", 800), ("machine", 1200), ("broomrape", 1000)],
)
def test_what_still_goes_on_is_cut_off_and_its_last_finding_is_known(name, episodes):
    log = example(name).log
    assert len(log) == episodes
    assert not log.terminated.any()
    assert (log.final_observation >= 0).all()


def test_calls_end_with_saving_or_deleting():
    log = example("voicemail").log
    assert len(log) == 5000
    assert log.terminated.all()
    assert {log.actions[a] for a in log.action[log.last]} == {"save", "delete"}
    assert (np.delete(log.action, log.last) == log.actions.index("ask")).all()


def test_bridges_are_between_30_and_59_years_old_and_costs_are_paid():
    log = example("bridge").log
    assert (log.lengths.min(), log.lengths.max()) == (30, 59)
    assert log.reward.max() == 0
    assert log.reward.min() < -4000  # a structural repair after a failure


def test_every_behavior_leaves_something_to_learn():
    """Somewhere in the log two actions were taken in the same situation more than N∧ times."""
    for name in EXAMPLES:
        case = example(name)
        counts = improved(case).counts.visits
        tried = (counts > int(case.asked.get("--n-wedge", ["5"])[0])).sum(1)
        assert (tried > 1).any()
