"""Controllers of other tools: PAYNT's JSON and policy graphs, written, read back and worth the
same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import jumar as jm
from jumar.core.errors import ControllerError, ParameterError, TooLarge
from jumar.memory import NamedNodes, product, window
from jumar.policy.controller import Controller
from strategies import controllers, memories, names, pomdps

Z, A = ("good", "worn"), ("keep", "repair")
TIGER = jm.models.tiger()


def decided(controller: Controller) -> Controller:
    """The same with one action everywhere."""
    rows = np.eye(len(controller.actions))[controller.rows.argmax(1)]
    default = np.eye(len(controller.actions))[controller.default.argmax()]
    return Controller(
        controller.observations, controller.actions, controller.memory, controller.states,
        rows, default, name=controller.name,
    )  # fmt: skip


def test_a_paynt_file_is_as_paynt_writes_it(tmp_path):
    base = Controller.constant(Z, A, [1, 0], window(2))
    worn = base.except_at(base.state(["worn"], "worn")[None, :], np.array([[0.25, 0.75]]))
    worn.save(tmp_path / "worn.paynt.json")
    assert json.loads((tmp_path / "worn.paynt.json").read_text()) == {
        "num_nodes": 3,
        "num_observations": 2,
        "action_labels": ["keep", "repair"],
        "observation_labels": ["good", "worn"],
        "action_function": [[0, 0], [0, 0], [0, {"0": 0.25, "1": 0.75}]],
        "update_function": [[1, 2], [1, 2], [1, 2]],
    }


@given(st.data())
def test_a_controller_comes_back_from_paynt_with_the_same_value(tmp_path_factory, data):
    model = data.draw(pomdps())
    sizes = len(model.observations), len(model.actions)
    memory = data.draw(memories(*sizes))
    controller = data.draw(controllers(model.observations, model.actions, memory))
    path = tmp_path_factory.mktemp("paynt") / "c.paynt.json"
    try:
        controller.save(path)
    except ControllerError as error:
        assert "move by what is seen alone" in str(error)  # noqa: PT017
        assume(False)
    for given_names in (None, model):
        again = jm.load_controller(path, names=given_names)
        assert jm.evaluate(model, again).value == pytest.approx(
            jm.evaluate(model, controller).value, rel=1e-12, abs=1e-12
        )


@given(st.data())
def test_a_controller_comes_back_from_a_policy_graph_with_the_same_value(tmp_path_factory, data):
    model = data.draw(pomdps())
    sizes = len(model.observations), len(model.actions)
    memory = data.draw(memories(*sizes))
    controller = decided(data.draw(controllers(model.observations, model.actions, memory)))
    path = tmp_path_factory.mktemp("pg") / "c.pg"
    controller.save(path)
    again = jm.load_controller(path, names=model, start="observed")
    assert jm.evaluate(model, again).value == pytest.approx(
        jm.evaluate(model, controller).value, rel=1e-12, abs=1e-12
    )


def test_a_memory_of_actions_is_written_where_one_action_is_taken(tmp_path):
    memory = window(2, actions=True)
    always = Controller.constant(Z, A, [0, 1], memory)
    always.save(tmp_path / "c.paynt.json")
    sometimes = Controller.constant(Z, A, [0.5, 0.5], memory)
    with pytest.raises(ControllerError, match=r"depends on which of keep, repair is done. PAYNT's"):
        sometimes.save(tmp_path / "c.paynt.json")
    with pytest.raises(ControllerError, match=r"several actions are possible. A policy graph"):
        sometimes.save(tmp_path / "c.pg")
    with pytest.raises(ControllerError, match="too many nodes to list, as a PAYNT file must"):
        Controller.constant(Z, A, [1, 0], window(60)).save(tmp_path / "c.paynt.json")


def test_it_starts_where_the_controller_starts(tmp_path):
    memory = NamedNodes(("x", "y"), [[[1, 1]] * 2, [[0, 0]] * 2], start=1)
    states = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    odd = Controller(Z, A, product(memory), states, np.eye(2)[[0, 0, 1, 1]], [1, 0])
    for name, options in (("c.paynt.json", {}), ("c.pg", {"names": odd, "start": "observed"})):
        odd.save(tmp_path / name)
        agent = jm.load_controller(tmp_path / name, **options).start(1)
        assert [agent.act("good") for _ in range(3)] == ["repair", "keep", "repair"]


# ---- files of others ----------------------------------------------------------------------------

LISTEN_TWICE = """\
0 2  1 2
1 2  3 0
2 2  0 4
3 1  0 0
4 0  0 0
"""


def test_a_policy_graph_acts_first_and_sees_then(tmp_path):
    """Listen; once the same side was heard twice in a row, open the other door."""
    (tmp_path / "tiger.pg").write_text(LISTEN_TWICE)
    agent = jm.load_controller(tmp_path / "tiger.pg", names=TIGER).start(1)
    seen = ["hear-right", "hear-left", "hear-left", "hear-left"]
    assert [agent.act(z) for z in seen] == ["listen", "listen", "open-right", "listen"]


def test_what_is_never_seen_needs_no_node(tmp_path):
    (tmp_path / "a.pg").write_text("0 2 - 1\n1 0 X x  # a comment\n\n")
    (tmp_path / "b.pg").write_text("0 2 0 1\n1 0 1 1\n")
    a, b = (jm.load_controller(tmp_path / f"{f}.pg", names=TIGER) for f in "ab")
    assert a.same_as(b) or (a.rows == b.rows).all()


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("# nothing\n", "there is no node. Write lines: node action next next"),
        ("0 2 0\n", "line 1: has 3 words, but a node, an action and the next node for each of 2"),
        ("0 2 0 1\n\n2 0 0 0\n", "line 3: '2' is no node from 0 to 1"),
        ("1 2 0 1\n0 0 0 0\n", "line 1: node 1 stands where node 0 is expected"),
        ("0 3 0 0\n", "line 1: '3' is no action from 0 to 2"),
        ("0 2 0 1\n", "line 1: '1' is no node from 0 to 0"),
        ("0 2 0 -1\n", "'-1' is no node from 0 to 0"),
        ("0 ٢ 0 0\n", "is no action from 0 to 2"),
    ],
)
def test_a_wrong_policy_graph_is_refused_with_its_line(tmp_path, text, fact):
    (tmp_path / "x.pg").write_text(text)
    with pytest.raises(ControllerError) as caught:
        jm.load_controller(tmp_path / "x.pg", names=TIGER)
    assert str(caught.value).startswith(f"{tmp_path}/x.pg")
    assert fact in str(caught.value)


def test_a_policy_graph_needs_names_and_a_start_that_exists(tmp_path):
    (tmp_path / "x.pg").write_text("0 2 0 0\n")
    with pytest.raises(ControllerError, match=r"has no names. Give the model it is for"):
        jm.load_controller(tmp_path / "x.pg")
    for start in (1, -1, "first", True, "9" * 5000):
        with pytest.raises(ParameterError, match="there are nodes 0 to 0"):
            jm.load_controller(tmp_path / "x.pg", names=TIGER, start=start)
    with pytest.raises(ControllerError, match="1 node for 2 observations"):
        jm.load_controller(tmp_path / "x.pg", names=TIGER, start="observed")
    with pytest.raises(ControllerError, match="there is no such file"):
        jm.load_controller(tmp_path / "y.pg", names=TIGER)


def tiger_document(**changes):
    """As PAYNT writes it for a model that was exported: two more observations, labels as words."""
    document = {
        "num_nodes": 2,
        "num_observations": 4,
        "__comment_action_function": "action function has signature  NxZ -> Act",
        "action_function": [[2, 2, 4, 3], [1, None, 4, 3]],
        "update_function": [[1, 0, 1, 0], [1, None, 1, 1]],
        "action_labels": ["open_right", "open_left", "listen", "end", "start"],
        "observation_labels": ["[o=0]", "[o=1]", "[o=2]", "[o=3]"],
    }
    return {key: value for key, value in {**document, **changes}.items() if value is not None}


def test_a_controller_for_an_exported_model_begins_after_the_start(tmp_path):
    path = tmp_path / "fsc.json"
    path.write_text(json.dumps(tiger_document()))
    controller = jm.load_controller(path, names=TIGER)
    assert controller.first() == "node 1"
    left, right = TIGER.observations
    assert controller.probabilities("node 1", left)["open-left"] == 1
    assert controller.probabilities("node 1", right)["listen"] == 1  # left out: as at node 0
    assert controller.next("node 1", right, "listen") == "node 0"


def test_an_exploration_is_added(tmp_path):
    path = tmp_path / "fsc.json"
    path.write_text(json.dumps(tiger_document()))
    controller = jm.load_controller(path, names=TIGER, exploration=0.3)
    assert controller.exploration == 0.3
    assert controller.rows.min() == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"num_nodes": None}, "there is no 'num_nodes'"),
        ({"num_nodes": 0}, "num_nodes"),
        ({"num_observations": 5}, "it has 5 observations, but there are names for 2"),
        ({"update_function": None}, "there is no 'update_function'"),
        ({"action_function": [[2]]}, "expected 2 lists (nodes) of 4 (observations)"),
        ({"action_labels": ["x", "y", "z"]}, "its actions are x, y, z, but those that have names"),
        ({"action_labels": 3}, "action_labels"),
        ({"action_function": [[9, 2, 4, 3]] * 2}, "9 is not the number of an action"),
        ({"action_function": [[[2], 2, 4, 3]] * 2}, "is not the number of an action"),
        ({"action_function": [[{"2": 0.5}, 2, 4, 3]] * 2}, "probabilities sum to 0.5, not 1"),
        ({"action_function": [[{"x": 1}, 2, 4, 3]] * 2}, "'x' is not the number of an action"),
        ({"action_function": [[{"2": "1"}, 2, 4, 3]] * 2}, "'1' is not a probability"),
        ({"action_function": [[None, 2, 4, 3]] * 2}, "node 0, observation 'hear-left': there is"),
        ({"update_function": [[2, 0, 0, 0]] * 2}, "2 is not a node from 0 to 1"),
        ({"update_function": [[True, 0, 0, 0]] * 2}, "is not a node from 0 to 1"),
    ],
)
def test_a_wrong_paynt_file_is_refused(tmp_path, changes, fact):
    path = tmp_path / "fsc.json"
    path.write_text(json.dumps(tiger_document(**changes)))
    with pytest.raises(ControllerError) as caught:
        jm.load_controller(path, names=TIGER)
    assert str(caught.value).startswith(f"{path}")
    assert fact in str(caught.value)


def test_a_file_for_which_there_is_no_room_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("jumar.core.resources.memory", lambda: 100)
    (tmp_path / "fsc.json").write_text(json.dumps(tiger_document()))
    with pytest.raises(TooLarge, match="2 nodes, 2 observations and 3 actions"):
        jm.load_controller(tmp_path / "fsc.json", names=TIGER)
    (tmp_path / "x.pg").write_text("0 2 0 0\n")
    with pytest.raises(TooLarge, match=r"x\.pg: 2 nodes"):
        jm.load_controller(tmp_path / "x.pg", names=TIGER)


def test_a_paynt_file_without_labels_needs_a_model(tmp_path):
    path = tmp_path / "fsc.json"
    path.write_text(json.dumps(tiger_document(action_labels=None)))
    with pytest.raises(ControllerError, match="it has no labels"):
        jm.load_controller(path)


def test_names_are_those_that_are_given(tmp_path):
    controller = Controller.constant(names("z", 2), names("a", 3), [0, 0, 1])
    controller.save(tmp_path / "c.paynt.json")
    text = (tmp_path / "c.paynt.json").read_text()
    document = {k: v for k, v in json.loads(text).items() if not k.endswith("labels")}
    (tmp_path / "c.json").write_text(json.dumps(document))
    again = jm.load_controller(tmp_path / "c.json", names=TIGER)
    assert again.actions == TIGER.actions
    assert jm.evaluate(TIGER, again).value == pytest.approx(-20)
