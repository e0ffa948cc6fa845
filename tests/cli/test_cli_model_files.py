"""A `.POMDP` file wherever a command takes a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jumar as jm
from facts import says
from jumar.lab.truth.cassandra.reading import pomdp_from_text

PAGE = (Path(__file__).parents[2] / "docs" / "model-files.md").read_text()
MACHINE = re.search(r"```\n(# machine.POMDP\n.*?)```", PAGE, re.DOTALL)[1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.POMDP").write_text(MACHINE)
    model = jm.load_model("machine.POMDP")
    jm.Controller.constant(model.observations, model.actions, [0.9, 0.1]).save("run.json")
    return tmp_path


def test_evaluate_and_simulate(jumar, folder):
    found = jumar("evaluate", "machine.POMDP", "--policy", "run.json", "--json").data
    model = jm.load_model("machine.POMDP")
    behavior = jm.load_controller("run.json")
    assert found["controllers"][0]["value"] == jm.evaluate(model, behavior).value
    made = jumar(
        *("simulate", "machine.POMDP:max_steps=7", "--policy", "run.json"),
        *("--episodes", "20", "--output", "log.csv", "--json"),
    ).data
    assert made["steps"] == 140
    assert jumar("evaluate", "machine.POMDP:discount=0", "--policy", "run.json").code == 0


def test_train_and_plan(jumar, folder):
    done = jumar("train", "machine.POMDP", "-o", "b.json", "--window", "1", "--episodes", "50")
    assert done.code == 0
    assert jm.load_controller("b.json").observations == ("ok", "noise", "null")
    played = jumar(
        *("plan", "machine.POMDP:max_steps=5", "--simulations", "20", "--episodes", "3", "--json")
    ).data
    assert played["mean_length"] == 5


def test_an_error_in_a_file_is_told_with_its_line(jumar, folder):
    (folder / "bad.POMDP").write_text(MACHINE.replace("0.9 0.1", "0.9 0.2", 1))
    done = jumar("evaluate", "bad.POMDP", "--policy", "run.json")
    assert done.code != 0
    says(done.err, "bad.POMDP, line 10, column 1", "sums to 1.1")


def test_what_was_put_right_is_noted_beside_the_result(jumar, folder):
    (folder / "odd.POMDP").write_text(MACHINE.replace("start: good", "start: 0.5 0.50005"))
    done = jumar("evaluate", "odd.POMDP", "--policy", "run.json", "--json")
    says(done.err, "Note: odd.POMDP, line 7, column 8", "sums to 1.00005")
    assert done.data["controllers"]


def test_costs_are_said_to_be_costs(jumar, folder):
    (folder / "cost.POMDP").write_text(MACHINE.replace("values: reward", "values: cost"))
    done = jumar("evaluate", "cost.POMDP", "--policy", "run.json")
    assert "a value is the cost with a minus" in done.text
    assert jumar("evaluate", "cost.POMDP", "--policy", "run.json", "--json").data["cost"] is True


def test_discount_1_is_refused_with_the_option_that_helps(jumar, folder):
    (folder / "one.POMDP").write_text(MACHINE.replace("0.95", "1.0"))
    for command in (
        ("evaluate", "one.POMDP", "--policy", "run.json"),
        ("train", "one.POMDP", "-o", "b.json"),
        ("plan", "one.POMDP", "--episodes", "1"),
    ):
        done = jumar(*command)
        assert done.code != 0
        says(done.err, "discount 1", "FILE:discount=0.95")
    assert jumar("evaluate", "one.POMDP:discount=0.9", "--policy", "run.json").code == 0
    assert jumar("evaluate", "one.POMDP", "--policy", "run.json", "--horizon", "9").code == 0
    done = jumar("train", "one.POMDP:max_steps=5", "-o", "b.json", "--episodes", "9")
    assert done.code == 0, done.err


def test_the_file_of_the_page_is_the_one_of_its_example():
    block = re.search(r'>>> text = """\n(.*?)\.\.\. """', PAGE, re.DOTALL)[1].replace("... ", "")
    assert pomdp_from_text(block) == pomdp_from_text(MACHINE)
