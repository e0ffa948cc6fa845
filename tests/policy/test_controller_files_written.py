"""Controllers as files: what jumar writes is read back bit for bit."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_documents import NAMES, VALIDATOR, bounded, maintenance, memories
from facts import refuses
from jumar.core.arrays import number_rows
from jumar.core.errors import ControllerError
from jumar.memory import Memory, product, window
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.policy.files import (
    controller_from_document,
    controller_to_document,
    load_controller,
    save_controller,
)


@st.composite
def exceptions(draw: st.DrawFn, memory: Memory) -> tuple[np.ndarray, np.ndarray]:
    """Some ⟨n, z⟩ with a row each."""
    O, A = memory.alphabet
    nodes = memory.enumerate()
    picks = st.tuples(st.integers(0, len(nodes) - 1), st.integers(0, O - 1))
    chosen = sorted(draw(st.sets(picks, max_size=6)))
    weights = st.lists(st.integers(0, 9), min_size=A, max_size=A).filter(any)
    rows = [np.array(draw(weights), float) for _ in chosen]
    states = [[*nodes[n], z] for n, z in chosen]
    return (
        np.array(states, np.int64).reshape(len(chosen), memory.width + 1),
        np.array([row / row.sum() for row in rows]).reshape(len(chosen), A),
    )


@st.composite
def controllers(draw: st.DrawFn) -> Controller:
    O, A = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    observations = tuple(draw(st.permutations(NAMES))[:O])
    actions = tuple(draw(st.permutations(NAMES))[:A])
    memory = draw(memories(O, A))
    default = np.array(draw(st.lists(st.integers(1, 9), min_size=A, max_size=A)), float)
    made = Controller(
        observations,
        actions,
        memory,
        *draw(exceptions(memory)),
        default / default.sum(),
        name=draw(st.sampled_from(["behavior", "", "größer"])),
    )
    for _ in range(draw(st.integers(0, 2))):
        finer = join(made.memory, draw(memories(O, A, deep=False)))
        made = made.lift(finer).except_at(*draw(exceptions(finer)), name="improved")
    return made


@bounded
@given(controllers())
def test_what_is_written_is_read_back_bit_for_bit(c):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.json")
        c.save(path)
        back = load_controller(path)
        assert back.same_as(c)
        assert back.name == c.name
        assert json.loads(path.read_text("utf-8")) == controller_to_document(c)
        save_controller(back, Path(folder, "again.json"))
        assert Path(folder, "again.json").read_bytes() == path.read_bytes()


@bounded
@given(controllers())
def test_what_is_written_obeys_the_schema_and_has_no_wildcards(c):
    document = controller_to_document(c)
    VALIDATOR.validate(document)
    assert "*" not in json.dumps(document)


def long_window_controller(memory: Memory, n: int) -> Controller:
    rng = np.random.default_rng(7)
    memory = memory.on(5, 3)
    nodes = np.repeat(memory.initial()[None], n, 0)
    for _ in range(40):
        nodes = memory.step(nodes, rng.integers(5, size=n), rng.integers(3, size=n))
    states, _ = number_rows(np.column_stack([nodes, rng.integers(5, size=n)]))
    rows = rng.dirichlet(np.ones(3), len(states))
    return Controller(tuple("vwxyz"), tuple("abc"), memory, states, rows, np.full(3, 1 / 3))


@pytest.mark.parametrize(
    "memory", [window(30), window(30, actions=True), product(window(3), window(25))], ids=str
)
def test_thousands_of_exact_rules_of_a_long_window_list_no_nodes(memory, tmp_path, monkeypatch):
    c = long_window_controller(memory, 3_000)
    assert len(c.states) == 3_000
    path = tmp_path / "long.json"
    c.save(path)

    def listed(*_: object) -> None:
        raise AssertionError("the memory was enumerated")

    monkeypatch.setattr(Memory, "enumerate", listed)
    assert load_controller(path).same_as(c)


def test_an_improved_controller_is_written_as_its_exceptions():
    behavior = controller_from_document(maintenance(name="today"))
    lifted = behavior.lift(join(behavior.memory, window(2).on(2, 3)))
    states = lifted.state(["due", ["worn"]], "good")[None, :]
    better = lifted.except_at(states, np.array([[0.5, 0.0, 0.5]]), name="better")
    document = controller_to_document(better)
    assert document["name"] == "better"
    assert document["rules"] == [
        {"node": ["due", ["worn"]], "observation": "good", "action": {"keep": 0.5, "repair": 0.5}}
    ]
    assert "default" not in document
    inner = document["otherwise"]
    assert inner["name"] == "today"
    assert inner.keys().isdisjoint({"format", "observations", "actions"})
    assert controller_from_document(document).same_as(better)


def test_a_written_file_has_one_rule_on_a_line(tmp_path):
    controller_from_document(maintenance(name="today")).save(tmp_path / "c.json")
    assert (tmp_path / "c.json").read_text().splitlines()[-7:] == [
        '  "default": "keep",',
        '  "rules": [',
        '    {"node": "inspected", "observation": "worn", "action": "repair"},',
        '    {"node": "due", "observation": "good", "action": "inspect"},',
        '    {"node": "due", "observation": "worn", "action": "repair"}',
        "  ]",
        "}",
    ]


def test_a_negative_zero_comes_back_as_zero_and_an_almost_one_as_it_is():
    c = Controller.constant(("good",), ("keep", "repair"), [-0.0, 1.0])
    assert controller_to_document(c)["default"] == "repair"
    almost = np.nextafter(1, 2)
    c = Controller.constant(("good",), ("keep", "repair"), [0.0, almost])
    document = controller_to_document(c)
    assert document["default"] == {"repair": almost}
    VALIDATOR.validate(document)
    assert controller_from_document(document).same_as(c)


def test_saving_needs_the_ending_json(tmp_path):
    c = Controller.uniform(("good",), ("keep",))
    with refuses(ControllerError, ".json", "'improved.json'"):
        c.save(tmp_path / "improved.toml")
    assert os.listdir(tmp_path) == []
