"""Models as files: what is written is read back, what is wrong is named."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import jumar as jm
from facts import tells
from jumar.core.errors import JumarError, ModelError
from jumar.lab.truth.model_files import load_model, model_from_document, model_to_document
from strategies import pomdps

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(r"```toml\n(.*?)```", (DOCS / "studies.md").read_text(), re.DOTALL)
MACHINE = next(block for block in BLOCKS if "jumar-model/1" in block)


def same(one, two):
    fields = vars(one)
    return all(
        np.array_equal(value, getattr(two, name))
        if isinstance(value, np.ndarray)
        else value == getattr(two, name)
        for name, value in fields.items()
    )


@pytest.mark.parametrize("name", sorted(jm.models.MODELS))
def test_a_model_comes_back_bit_for_bit(tmp_path, name):
    model = jm.models.build(name)
    (tmp_path / "model.json").write_text(json.dumps(model_to_document(model)))
    assert same(load_model(tmp_path / "model.json"), model)


@given(pomdps())
def test_any_model_keeps_its_values(pomdp):
    again = model_from_document(json.loads(json.dumps(model_to_document(pomdp))))
    behavior = jm.Controller.uniform(pomdp.observations, pomdp.actions)
    value = jm.evaluate(pomdp, behavior, horizon=5).value
    assert jm.evaluate(again, behavior, horizon=5).value == pytest.approx(value, abs=1e-12)


@pytest.fixture
def machine(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE)
    return path


def test_the_machine_of_the_documentation_is_worth_what_it_should(machine):
    """Replace at once: -2. Run for ever: good pays 1 until it wears out, then -1."""
    model = load_model(machine)
    replace_at_once = jm.Controller.constant(model.observations, model.actions, [0, 1])
    assert jm.evaluate(model, replace_at_once).value == -2
    run = jm.Controller.constant(model.observations, model.actions, [1, 0])
    worn = -1 / 0.05
    good = (1 + 0.95 * 0.1 * worn) / (1 - 0.95 * 0.9)
    assert jm.evaluate(model, run).value == pytest.approx(good)


def test_a_model_file_can_stand_wherever_a_model_can(machine, tmp_path):
    behavior = jm.models.build(str(machine))
    assert behavior.name == "machine"
    assert jm.models.optimum(str(machine)) is None
    assert jm.models.build("machine.toml", folder=str(tmp_path)).states == ("good", "worn")


def broken(**changes):
    document = deepcopy(model_to_document(jm.models.tiger()))
    for key, value in changes.items():
        if value is None:
            del document[key]
        else:
            document[key] = value
    return document


def outcome(**changes):
    document = broken()
    document["outcomes"][0] = {**document["outcomes"][0], **changes}
    return document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (broken(states=None), "m: has no 'states'"),
        (broken(sates=["x"]), "key 'sates' is not one of"),
        (broken(format="jumar-model/2"), "newer format version 2"),
        (broken(discount=1.5), "discount 1.5 must lie in [0, 1]."),
        (broken(start={"tiger-left": 0.4}), "the law of the first state"),
        (broken(start={"tiger": 1.0}), "start: state 'tiger' is not one of"),
        (broken(max_steps=0), "max_steps: 0 is not a whole number from 1"),
        (broken(outcomes=[]), "outcomes have probability 0 in all, not 1"),
        (outcome(probability=0.5), "declare the missing mass as an ending"),
        (outcome(action="jump"), "outcome 1: action 'jump' is not one of"),
        (outcome(to="tiger-left"), "outcome 1: give either ends = true, or both 'to' and 'see'"),
        (outcome(reward="much"), "outcome 1, reward: 'much' is not a number"),
        (outcome(colour="red"), "outcome 1: key 'colour' is not one of"),
        ([], "m: "),
    ],
)
def test_a_wrong_model_is_refused_with_place_and_fact(document, message):
    with pytest.raises(ModelError) as caught:
        model_from_document(document, "m")
    tells(caught.value, message)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"a = [", b"[1, 2]"])
def test_garbage_is_an_error_that_names_the_file(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(JumarError, match=r"model\.json"):
        load_model(path)
