"""Models for model checkers: what is written is a model, sums to exactly 1, and is worth the
same."""

from __future__ import annotations

import re
import time
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from jumar.core.errors import ParameterError, TooLarge
from jumar.lab.truth.checkers import (
    WRITERS,
    StateGraph,
    chain_graph,
    model_graph,
    model_text,
    words_for,
)
from jumar.lab.truth.models import MODELS
from jumar.memory import window
from jumar.policy.controller import Controller
from strategies import controllers, memories, pomdps


def read_drn(text: str) -> tuple[str, list[dict]]:
    """The kind of the model, and its states: observation, rewards, labels, choices."""
    lines = [line for line in text.split("\n") if line and not line.startswith("//")]
    kind = lines[0].removeprefix("@type: ")
    states: list[dict] = []
    for line in lines[lines.index("@model") + 1 :]:
        if found := re.fullmatch(r"state (\d+)(?: \{(\d+)\})? \[([-\d.]+)\]((?: \w+)*)", line):
            assert int(found[1]) == len(states)
            seen = None if found[2] is None else int(found[2])
            labels = set(found[4].split())
            states.append({"seen": seen, "paid": found[3], "labels": labels, "choices": []})
        elif found := re.fullmatch(r"\taction (\w+) \[([-\d.]+)\]", line):
            states[-1]["choices"].append((found[1], Decimal(found[2]), {}))
        else:
            found = re.fullmatch(r"\t\t(\d+) : ([\d.]+)", line)
            states[-1]["choices"][-1][2][int(found[1])] = Decimal(found[2])
    assert lines[lines.index("@nr_states") + 1] == str(len(states))
    assert lines[lines.index("@nr_choices") + 1] == str(sum(len(s["choices"]) for s in states))
    return kind, states


def total_reward(states: list[dict], policy: list[np.ndarray] | None = None) -> float:
    """The expected total reward from state 0, by a dense solve."""
    n = len(states)
    P, r = np.zeros((n, n)), np.zeros(n)
    for i, state in enumerate(states):
        for a, (_, paid, row) in enumerate(state["choices"]):
            p = 1.0 if policy is None else policy[i][a]
            r[i] += p * (float(paid) + (float(state["paid"]) if a == 0 else 0))
            for to, weight in row.items():
                P[i, to] += p * float(weight)
    going = np.arange(n - 1)  # the last state is the end
    return float(np.linalg.solve(np.eye(n - 1) - P[np.ix_(going, going)], r[:-1])[0])


def assert_rows_are_whole(states: list[dict]) -> None:
    for state in states:
        for _, _, row in state["choices"]:
            assert sum(row.values()) == 1
            assert min(row.values()) > 0


@given(st.data())
def test_the_chain_is_worth_what_the_controller_is(data):
    model = data.draw(pomdps())
    memory = data.draw(memories(len(model.observations), len(model.actions)))
    controller = data.draw(controllers(model.observations, model.actions, memory))
    kind, states = read_drn(model_text(model, ".drn", controller))
    assert kind == "DTMC"
    assert_rows_are_whole(states)
    value = jm.evaluate(model, controller).value
    assert total_reward(states) == pytest.approx(value, rel=1e-9, abs=1e-9)


@given(st.data())
def test_a_model_run_by_a_rule_without_memory_is_worth_the_same(data):
    model = data.draw(pomdps())
    controller = data.draw(controllers(model.observations, model.actions, window(1)))
    kind, states = read_drn(model_text(model, ".drn"))
    assert kind == "POMDP"
    assert_rows_are_whole(states)
    O = len(model.observations)
    assert [states[0]["seen"], states[-1]["seen"]] == [O, O + 1]
    rows = controller.rows_at(np.arange(O)[:, None])
    policy = [np.ones(1) if s["seen"] >= O else rows[s["seen"]] for s in states]
    value = jm.evaluate(model, controller).value
    assert total_reward(states, policy) == pytest.approx(value, rel=1e-9, abs=1e-9)


def same_in_prism(graph: StateGraph, text: str) -> None:
    """Every edge and reward of the graph stands in the PRISM text, and nothing else."""
    commands = re.findall(r"^  \[(\w*)\] s=(\d+) -> (.*);$", text, re.MULTILINE)
    edges = {
        (action, int(state), int(to), Decimal(p), seen)
        for action, state, updates in commands
        for p, to, seen in re.findall(r"([\d.]+):\(s'=(\d+)\)(?:&\(o'=(\d+)\))?", updates)
    }
    wanted = {
        (c.action, s, to, p, str(graph.observations[to]) if graph.partially_observed else "")
        for s, choices in enumerate(graph.choices)
        for c in choices
        for to, p in c.row.items()
    }
    assert edges == wanted
    paid = re.findall(r"^  (?:\[\w+\] )?s=(\d+) : (-?[\d.]+);$", text, re.MULTILINE)
    rewards = [(str(s), c.reward) for s, cs in enumerate(graph.choices) for c in cs if c.reward]
    assert [(s, Decimal(r)) for s, r in paid] == rewards


@pytest.mark.parametrize("name", MODELS)
def test_prism_says_what_drn_says(name):
    model = MODELS[name].build()
    same_in_prism(model_graph(model), model_text(model, ".prism"))
    rule = Controller.uniform(model.observations, model.actions, window(2))
    same_in_prism(chain_graph(model, rule), model_text(model, ".prism", rule))


def test_without_the_discount_only_endings_end():
    """Tiger ends when a door is opened, and never by listening."""
    tiger = jm.models.tiger()
    rows = {c.action: c.row for c in model_graph(tiger, discounted=False).choices[1]}
    end = len(model_graph(tiger)) - 1
    assert rows["open_left"] == {end: 1}
    assert end not in rows["listen"]
    assert model_graph(tiger).choices[1][2].row[end] == Decimal("0.05")


HOSTILE = ["endmodule", "a b", "a-b", "", "\n// x", "1", "ü", "🐯", "true", "s", 'x" = s=0; //']


@pytest.mark.parametrize("kind", WRITERS)
def test_hostile_names_do_not_break_a_file(kind):
    odd = [name for name in HOSTILE if name]
    n = len(odd)
    model = jm.Pomdp(
        name="\n@model\nendmodule", states=odd, actions=odd, observations=odd,
        start=np.eye(n)[0], first_observation=np.eye(n), pointer=np.arange(n * n + 1),
        probability=np.ones(n * n), next_state=np.tile(np.arange(n), n),
        next_observation=np.tile(np.arange(n), n), reward=np.full(n * n, -1e-7), discount=0.5,
    )  # fmt: skip
    text = model_text(model, kind)
    assert text.isascii()
    assert len(re.findall("^endmodule$|^@model$", text, re.MULTILINE)) == 1
    assert all(line.startswith("//") for line in text.split("\n")[:3])
    if kind == ".drn":
        assert len(read_drn(text)[1]) == n + 2
        assert "-0.0000001" in text
    else:
        same_in_prism(model_graph(model), text)


def test_very_many_names_that_become_one_word_take_little_time():
    """Each double was counted up from 2: 15,000 names took 40 s."""
    names = [chr(0x4E00 + i) for i in range(20_000)]
    began = time.process_time()
    words = words_for([*names, "a_3"])
    assert (words[:3], words[-2:]) == (["a_", "a__2", "a__3"], ["a__20000", "a_3"])
    assert time.process_time() - began < 5


def test_a_model_of_more_edges_than_fit_is_refused(monkeypatch):
    monkeypatch.setattr("jumar.core.resources.memory", lambda: 1000)
    with pytest.raises(TooLarge, match=r"'tiger': 16 edges .* write a \.POMDP file"):
        model_text(jm.models.tiger(), ".drn")


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"is written as .drn or .prism, but the name ends in"):
        jm.lab.export_model(jm.models.tiger(), tmp_path / "tiger.txt")
