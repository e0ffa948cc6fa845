"""Exact values beside those of Storm's exact engine. `make test-storm` installs Storm and runs
this; without Storm it is skipped."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import jumar as jm
from jumar.lab.truth.models import MODELS
from jumar.memory import NamedNodes, window
from strategies import random_controller

pytestmark = pytest.mark.storm
stormpy = pytest.importorskip("stormpy", reason="there is no Storm: make test-storm installs it")

CONTROLLERS = 20  # per model
TOLERANCE = 1e-9  # relative
LARGEST = 60  # triples; exact elimination takes seconds from there on, and then minutes


def storm_value(path) -> float:
    """The expected total reward, by elimination of rational numbers."""
    total = stormpy.parse_properties('R{"reward"}=? [C]')[0]
    if path.suffix == ".drn":
        chain = stormpy.build_model_from_drn[stormpy.Rational](str(path))
    else:
        program = stormpy.parse_prism_program(str(path))
        chain = stormpy.build_model[stormpy.Rational](program, [total])
    return float(stormpy.model_checking(chain, total).get_value(chain.initial_states[0]))


def controllers_for(model):
    """Random ones over windows, one with actions, and nodes that move at random, as large as the
    model allows."""
    rng, number, found = np.random.default_rng(13), 0, 0
    size = len(model.observations), len(model.actions)
    while found < CONTROLLERS:
        table = NamedNodes(("x", "y", "z"), rng.integers(0, 3, (3, *size)))
        memories = window(1), window(2), window(2, actions=True), table
        controller = random_controller(rng, model, memories[number % 4])
        # without memory it is as small as can be
        if number % 4 == 0 or jm.evaluate(model, controller).n_triples <= LARGEST:
            found += 1
            yield controller
        number += 1


@pytest.mark.parametrize("name", MODELS)
def test_values_are_those_of_storm(name, tmp_path, capsys):
    model = MODELS[name].build()
    worst, sizes = 0.0, []
    for number, controller in enumerate(controllers_for(model)):
        ours = jm.evaluate(model, controller)
        path = tmp_path / f"{number}{'.prism' if number % 2 else '.drn'}"
        jm.lab.export_model(model, path, controller)
        theirs = storm_value(path)
        worst = max(worst, abs(ours.value - theirs) / abs(theirs))
        sizes.append(ours.n_triples)
    with capsys.disabled():
        span = f"{min(sizes)} to {max(sizes)} states"
        print(f"\n{name}: {len(sizes)} controllers, {span}, largest relative error {worst:.1e}")
    assert worst <= TOLERANCE


@pytest.mark.parametrize("name", MODELS)
def test_storm_reads_the_model_itself(name, tmp_path):
    model = MODELS[name].build()
    for ending in (".drn", ".prism"):
        path = tmp_path / f"{name}{ending}"
        jm.lab.export_model(model, path)
        if ending == ".drn":
            read = stormpy.build_model_from_drn(str(path))
        else:
            read = stormpy.build_model(stormpy.parse_prism_program(str(path)))
        assert read.model_type.name == "POMDP"
        assert read.nr_choices == (read.nr_states - 2) * len(model.actions) + 2
        assert set(read.reward_models) <= {"reward"}


def test_the_recipe_of_the_page_says_the_value(tmp_path, monkeypatch, capsys):
    page = (Path(jm.__file__).parents[2] / "docs" / "exports.md").read_text()
    recipe = next(
        code for code in re.findall(r"```python\n(.*?)```", page, re.S) if "stormpy" in code
    )
    monkeypatch.chdir(tmp_path)
    model = jm.models.tiger()
    behavior = jm.train_behavior(model, jm.window(2), softmax=0.05, seed=1, episodes=200)
    jm.lab.export_model(model, "tiger.drn", behavior)
    exec(recipe, {})
    said = float(capsys.readouterr().out)
    assert said == pytest.approx(jm.evaluate(model, behavior).value, rel=1e-9)
