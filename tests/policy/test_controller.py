"""Controllers as exceptions to a coarser rule."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import ControllerError, MemoryMismatch
from jumar.memory import NamedNodes, product, window
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.policy.files import load_controller
from strategies import controllers, memories, names

Z, A = ("good", "worn"), ("keep", "repair")
TOGGLE = NamedNodes(("even", "odd"), [[[1, 1], [1, 1]], [[0, 0], [0, 0]]])
# window of 2: node words 0 = nothing yet, 1 = good, 2 = worn
CAREFUL = Controller(
    Z, A, window(2), states=[[2, 1], [0, 1]], rows=[[0.0, 1.0], [0.5, 0.5]], otherwise=[1.0, 0.0]
)


def every_state(controller: Controller) -> np.ndarray:
    nodes = controller.memory.enumerate().tolist()
    return np.array([[*node, z] for node in nodes for z in range(len(controller.observations))])


# ---- reading the rule ---------------------------------------------------------------------------


def test_a_history_state_with_a_row_of_its_own_uses_it_and_the_others_the_default():
    assert CAREFUL.row(["worn"], "worn").tolist() == [0.0, 1.0]
    assert CAREFUL.row([""], "worn").tolist() == [0.5, 0.5]
    assert CAREFUL.row(["good"], "worn").tolist() == [1.0, 0.0]


def test_rows_come_in_the_order_asked_for_and_may_repeat():
    asked = np.array([[2, 1], [1, 0], [2, 1], [0, 1]])
    assert CAREFUL.rows_at(asked)[:, 1].tolist() == [1.0, 0.0, 1.0, 0.5]
    assert CAREFUL.rows_at(np.zeros((0, 2), np.int64)).shape == (0, 2)


def test_what_is_handed_out_cannot_be_used_to_change_the_controller():
    CAREFUL.rows_at(CAREFUL.states)[:] = 7
    assert CAREFUL.rows.max() == 1.0
    for array in (CAREFUL.states, CAREFUL.rows, CAREFUL.otherwise):
        assert not array.flags.writeable


def test_what_was_handed_in_is_copied():
    row = np.array([0.5, 0.5])
    controller = Controller.constant(Z, A, row)
    row[:] = [1.0, 0.0]
    assert controller.row([], "good").tolist() == [0.5, 0.5]


def test_an_unknown_observation_is_told_with_a_remedy():
    with refuses(ControllerError, "'wurn'", "good, worn", "'worn'"):
        CAREFUL.row([""], "wurn")


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"rows": [[0.5, 0.6]]}, r"c: node \['worn'\], observation 'worn': .* sum to 1.1, not 1"),
        ({"rows": [[-0.5, 1.5]]}, "negative or undefined"),
        ({"rows": [[np.nan, 1.0]]}, "negative or undefined"),
        ({"rows": [[1.0, np.inf]]}, "negative or undefined"),
        ({"states": [[2, 1], [2, 1]], "rows": [[1, 0], [0, 1]]}, "a history state has two rows"),
        (
            {"states": [[2, 2]]},
            r"history state \[2, 2\] does not exist in a window of 2 with 2 obs",
        ),
        ({"states": [[-1, 1]]}, r"history state \[-1, 1\] does not exist"),
        ({"otherwise": [0.5, 0.5, 0.0]}, "the default row needs 2 probabilities"),
        ({"otherwise": [0.5, 0.6]}, "the default row: probabilities sum to 1.1"),
        ({"otherwise": [np.nan, 0.5]}, "the default row: .* undefined"),
        ({"states": [[0.5, 0]]}, "states must be whole numbers"),
        ({"states": [[0, 0], [1, 0]]}, r"rows has shape \(1, 2\); expected \(2, 2\)"),
        # not reshaped
        ({"states": [[0, 1, 1, 0]]}, r"states has shape \(1, 4\); expected \(1, 2\)"),
        ({"rows": [[1, 0, 0, 1]]}, r"rows has shape \(1, 4\); expected \(1, 2\)"),
        ({"observations": ("worn", "worn")}, "'worn' is also name 1"),
        ({"actions": ()}, "at least one is needed"),
    ],
)
def test_a_rule_that_is_none_is_refused_with_the_place(changes, fact):
    good = {
        "observations": Z,
        "actions": A,
        "memory": window(2),
        "states": [[2, 1]],
        "rows": [[1.0, 0.0]],
        "otherwise": [0.5, 0.5],
        "name": "c",
    }
    with pytest.raises(ControllerError, match=fact):
        Controller(**{**good, **changes})


def test_a_sum_that_is_off_by_rounding_is_no_error_and_by_more_is_one():
    assert Controller.constant(Z, A, [0.5, 0.5 + 9e-10]).row([], "good")[1] == 0.5 + 9e-10
    with pytest.raises(ControllerError, match="sum to"):
        Controller.constant(Z, A, [0.5, 0.5 + 2e-9])


def test_a_controller_cannot_fall_back_on_other_names():
    other = Controller.uniform(Z, ("keep", "mend"))
    with refuses(ControllerError, "actions", "uniform"):
        Controller(Z, A, window(1), np.zeros((0, 1)), np.zeros((0, 2)), other)


def test_a_controller_cannot_fall_back_on_more_memory_than_it_has():
    with refuses(MemoryMismatch, "'window of 1'", "'window of 2'", "refine"):
        Controller(Z, A, window(1), np.zeros((0, 1)), np.zeros((0, 2)), CAREFUL)


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (TOGGLE, [2]),
        (window(2), [3]),
        (window(3), [3]),  # nothing yet, and before that a "good"
        (window(3), [9]),
        (window(2, actions=True), [5]),
        (product(window(2), TOGGLE), [0, 2]),
        (product(window(2), TOGGLE), [3, 0]),
    ],
)
def test_a_row_for_a_node_that_does_not_exist_is_refused(memory, words):
    with refuses(ControllerError, "does not exist"):
        Controller(Z, A, memory, [[*words, 0]], [[1.0, 0.0]], [0.5, 0.5])


# ---- lifting ------------------------------------------------------------------------------------


@given(st.data())
def test_a_lifted_controller_does_the_same_after_every_history(data):
    observations, actions = names("z", 2), names("a", 2)
    controller = data.draw(controllers(observations, actions))
    finer = join(controller.memory, data.draw(memories(2, 2)))
    lifted = controller.lift(finer)
    steps = data.draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1))
    z, a = np.array(steps, np.int64).T
    start = np.array([0, len(steps)])
    before = np.column_stack([controller.memory.replay(z, a, start), z])
    after = np.column_stack([lifted.memory.replay(z, a, start), z])
    assert np.array_equal(controller.rows_at(before), lifted.rows_at(after))


def test_lifting_to_the_same_memory_is_free():
    assert CAREFUL.lift(window(2)) is CAREFUL


def test_lifting_to_less_memory_is_an_error():
    with pytest.raises(MemoryMismatch, match="does not refine"):
        CAREFUL.lift(window(1))
    with pytest.raises(MemoryMismatch, match="does not refine"):
        CAREFUL.lift(TOGGLE)


def test_lifting_to_a_long_window_costs_no_rows():
    lifted = CAREFUL.lift(window(500))
    assert len(lifted.rows) == 0
    assert lifted.row([""] * 498 + ["worn"], "worn").tolist() == [0.0, 1.0]


# ---- exceptions ---------------------------------------------------------------------------------


def test_exceptions_that_change_nothing_are_dropped():
    states = every_state(CAREFUL)
    rows = CAREFUL.rows_at(states)
    rows[0] = [0.25, 0.75]
    changed = CAREFUL.except_at(states, rows)
    assert changed.states.tolist() == [states[0].tolist()]


def test_an_exception_in_the_last_bit_is_one():
    row = np.array([[0.5 + 2**-53, 0.5 - 2**-53]])
    changed = CAREFUL.except_at(np.array([[0, 1]]), row)
    assert changed.row([""], "worn").tobytes() == row[0].tobytes()


@given(st.data())
def test_after_an_exception_every_row_is_the_new_one_or_the_old_one(data):
    base = data.draw(controllers(names("z", 2), names("a", 2)))
    patch = data.draw(controllers(base.observations, base.actions, base.memory))
    everywhere = every_state(base)
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(everywhere))))[
        : len(everywhere)
    ]
    new = patch.rows_at(everywhere)
    changed = base.except_at(everywhere[chosen], new[chosen])
    expected = np.where(chosen[:, None], new, base.rows_at(everywhere))
    assert np.array_equal(changed.rows_at(everywhere), expected)


def test_an_empty_layer_is_skipped_so_layers_do_not_pile_up():
    lifted = CAREFUL.lift(window(3))
    changed = lifted.except_at(every_state(lifted)[:1], np.array([[0.25, 0.75]]))
    assert changed.otherwise is CAREFUL


# ---- comparing ----------------------------------------------------------------------------------


def test_controllers_are_the_same_bit_for_bit_or_not_at_all():
    twin = Controller(Z, A, window(2), CAREFUL.states, CAREFUL.rows, [1.0, 0.0], name="twin")
    assert CAREFUL.same_as(twin)
    rows = np.array(CAREFUL.rows)
    rows[0] = [0.5 + 2**-53, 0.5 - 2**-53]
    assert not CAREFUL.same_as(Controller(Z, A, window(2), CAREFUL.states, rows, [1.0, 0.0]))
    assert not CAREFUL.same_as(Controller(Z, A, window(2), CAREFUL.states, CAREFUL.rows, [0, 1]))
    assert not CAREFUL.same_as(CAREFUL.lift(window(3)))
    assert CAREFUL.lift(window(3)).same_as(twin.lift(window(3)))
    assert not CAREFUL.lift(window(3)).same_as(CAREFUL.lift(product(window(2), TOGGLE)))
    renamed = Controller(
        ("new", "worn"), A, window(2), CAREFUL.states, CAREFUL.rows, CAREFUL.otherwise
    )
    assert not CAREFUL.same_as(renamed)


# ---- exploration --------------------------------------------------------------------------------


EXPLORING = """\
format = "jumar-controller/1"
observations = ["good", "worn", "broken"]
actions = ["keep", "repair", "sell", "wait"]
exploration = 0.08
default = "keep"

[[rules]]
observation = "worn"
action = { keep = 0.25, repair = 0.75 }

[[rules]]
observation = "broken"
action = "sell"
"""


def exploring(folder, text=EXPLORING, **more) -> Controller:
    (folder / "rule.toml").write_text(text)
    return load_controller(folder / "rule.toml", **more)


def test_what_a_controller_means_to_do_is_what_it_does_without_exploration(tmp_path):
    found, plain = exploring(tmp_path), exploring(tmp_path, EXPLORING.replace("0.08", "0"))
    assert (found.exploration, plain.exploration) == (0.08, 0.0)
    assert plain.intended is plain
    np.testing.assert_allclose(found.intended.rows, plain.rows, rtol=0, atol=1e-15)
    assert found.intended.row([], "broken").tolist() == [0, 0, 1, 0]  # exactly
    lifted = found.lift(window(2))
    assert lifted.exploration == 0.08
    assert lifted.intended.row(["good"], "broken").tolist() == [0, 0, 1, 0]


def test_exploration_survives_a_file_and_a_process_and_is_not_added_twice(tmp_path):
    found = exploring(tmp_path)
    found.save(tmp_path / "saved.json")
    again = load_controller(tmp_path / "saved.json")
    assert again.same_as(found)
    assert again.exploration == pickle.loads(pickle.dumps(found)).exploration == 0.08
    # another exploration takes the place of the one that the rows contain
    other = load_controller(tmp_path / "saved.json", exploration=0.2)
    np.testing.assert_allclose(other.rows, exploring(tmp_path, exploration=0.2).rows, atol=1e-15)
    assert other.exploration == 0.2


def test_a_file_cannot_say_exploration_twice(tmp_path):
    with pytest.raises(ControllerError, match="both 'exploration' and 'explored'"):
        exploring(tmp_path, EXPLORING.replace("exploration", "explored = 0.1\nexploration", 1))
