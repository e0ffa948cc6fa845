"""`.POMDP` files: every corner of the grammar, and every error with its line and column."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from facts import refuses
from jumar.core.errors import ModelError, ModelWarning, ParameterError, TooLarge
from jumar.lab.truth.cassandra.reading import pomdp_from_text
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.model_files import is_model_file, load_model, load_named, save_model
from jumar.lab.truth.models import build, training
from jumar.lab.truth.planning import Pouct, plan
from jumar.lab.truth.pomdp import Pomdp
from jumar.lab.truth.simulation import simulate
from jumar.lab.truth.training import train_behavior
from jumar.policy.controller import Controller

HEAD = """discount: 0.9
values: reward
states: left right
actions: listen open-left
observations: hear-left hear-right
"""
BODY = """T: listen identity
T: open-left uniform
O: listen
0.85 0.15
0.15 0.85
O: open-left uniform
R: listen : * : * : * -1
R: open-left : left : * : * -100
R: open-left : right : * : * 10
"""


def read(text: str, **options: object) -> Pomdp:
    return pomdp_from_text(text, "m.POMDP", **options)


def moves(model: Pomdp, action: int) -> list[list[float]]:
    S = len(model.states)
    return [model.factors.transition.row(action * S + s, S).tolist() for s in range(S)]


def sights(model: Pomdp, action: int) -> list[list[float]]:
    S, width = len(model.states), model.factors.n_observations
    return [model.factors.observation.row(action * S + s, width).tolist() for s in range(S)]


def pays(model: Pomdp, a: int, s: int, t: int, z: int) -> float:
    """The reward of one outcome."""
    A = len(model.actions)
    part = slice(model.pointer[s * A + a], model.pointer[s * A + a + 1])
    (at,) = np.flatnonzero((model.next_state[part] == t) & (model.next_observation[part] == z))
    return float(model.reward[part][at])


def test_line_ends_and_comments_of_all_systems(tmp_path):
    plain = HEAD + "# Chadès\n" + BODY
    for name, data in {
        "mac": plain.replace("\n", "\r").encode(),
        "windows": plain.replace("\n", "\r\n").encode("utf-8-sig"),
        "old": plain.encode("latin-1"),
    }.items():
        path = tmp_path / f"{name}.POMDP"
        path.write_bytes(data)
        found = load_model(path)
        assert found.name == name
        assert np.array_equal(found.reward, read(plain).reward)


@pytest.mark.parametrize(
    ("line", "reward"),
    [
        ("R: open-left : left : * : * -1", -1),
        ("R:open-left:left:*:*-1", -1),
        ("R: open-left : left : * : * - 1", -1),
        ("R: open-left : left : * : * +1.5e-1", 0.15),
        ("R: open-left : left : * : * .5", 0.5),
        ("R: open-left : left : * : * 5.", 5),
        ("R: open-left : left : * : * 1E2", 100),
        ("R: 1 : 0 : * : * -0", 0),
    ],
)
def test_a_minus_belongs_to_a_name_or_is_a_sign(line, reward):
    assert pays(read(HEAD + BODY + line), 1, 0, 0, 0) == reward


def test_later_lines_overwrite_cells_with_wildcards_expanded_at_that_moment():
    model = read(
        HEAD
        + BODY
        + """
        T: * : * : * 0
        T: * : * : right 1.0
        T: listen : left : left 0.75
        T: listen : left : right 0.25
        O: * : * 0.5 0.5
        O: listen : right : hear-right 1
        O: listen : right : hear-left 0
        R: * : * : * : * 7
        R: listen : left : * : * 1
        R: * : left : right : * 2
        R: listen : left : left : hear-right 3
        R: listen : left : right : hear-left 4
        """
    )
    assert moves(model, 0) == [[0.75, 0.25], [0, 1]]
    assert moves(model, 1) == [[0, 1], [0, 1]]
    assert sights(model, 0) == [[0.5, 0.5], [0, 1]]
    assert pays(model, 0, 0, 0, 0) == 1
    assert pays(model, 0, 0, 0, 1) == 3
    assert pays(model, 0, 0, 1, 1) == 2
    assert pays(model, 1, 0, 1, 0) == 2
    assert pays(model, 1, 1, 1, 0) == 7


def test_uniform_rows_and_matrices_and_the_way_back_to_the_start():
    model = read(
        HEAD + "start: 0.25 0.75\n" + BODY + "T: listen : left uniform T: open-left : * reset"
    )
    assert moves(model, 0) == [[0.5, 0.5], [0, 1]]
    assert moves(model, 1) == [[0.25, 0.75]] * 2


@pytest.mark.parametrize(
    ("start", "law"),
    [
        ("start: uniform", [0.5, 0.5]),
        ("start:\n  0.25\n  0.75", [0.25, 0.75]),
        ("start: 0 1", [0, 1]),
        ("start: right", [0, 1]),
        ("start: right left", [0.5, 0.5]),
        ("start include: 0 right", [0.5, 0.5]),
        ("start include : 1 1", [0, 1]),
        ("start exclude: left", [0, 1]),
        ("start exclude:\n 1", [1, 0]),
    ],
)
def test_every_way_to_start(start, law):
    assert read(HEAD + start + "\n" + BODY).start.tolist() == law


def test_a_lone_number_is_a_state_unless_there_is_one_only():
    one = "discount: 0.5 values: reward states: 1 actions: 1 observations: 1 start: {} "
    one += "T: 0 identity O: 0 1.0"
    assert [read(one.format(i)).start.tolist() for i in ("0", "1", "1.0")] == [[1.0]] * 3


# ---- sums ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "row", "warning"),
    [
        ("T: listen : left 0.1 0.9000000000000001", [0.1, 0.9000000000000001], None),
        ("T: listen : left 0.333333 0.666666", [0.333333 / 0.999999, 0.666666 / 0.999999], None),
        ("T: listen : left 0.5 0.50005", [0.5 / 1.00005, 0.50005 / 1.00005], "line 15, column 18"),
    ],
)
def test_small_errors_of_sums_are_put_right_and_larger_ones_with_a_warning(line, row, warning):
    with pytest.warns(ModelWarning, match=warning) if warning else nullcontext():
        assert moves(read(HEAD + BODY + line), 0)[0] == pytest.approx(row, rel=1e-15)


def test_beyond_that_only_on_request_and_the_start_too():
    text = HEAD + BODY + "O: listen\n0.5 0.5\n0.4 0.7"
    with refuses(ModelError, "line 17", "column 1", "'listen'", "'right'", "sums to 1.1", "1"):
        read(text)
    with pytest.warns(ModelWarning, match="0.1"):
        assert sights(read(text, normalize=True), 0)[1] == [0.4 / 1.1, 0.7 / 1.1]
    with pytest.raises(ModelError, match="sums to 0"):
        read(HEAD + BODY + "T: listen : left 0 0", normalize=True)
    with pytest.warns(ModelWarning, match="line 6"):
        read(HEAD + "start: 0.5 0.50005\n" + BODY)


def test_a_row_that_was_never_given_is_an_error_and_a_reward_is_zero():
    body = "T: * identity\nO: listen uniform"
    with refuses(ModelError, "line 7", "O of action 'open-left' and state 'left'", "never given"):
        read(HEAD + body)
    assert (read(HEAD + body + "\nO: open-left uniform").reward == 0).all()


def test_costs_are_rewards_with_a_minus_and_are_written_as_costs(tmp_path):
    model = read(HEAD.replace("reward", "cost") + BODY)
    assert model.expected_reward.round(12).tolist() == [[1, 100], [1, -10]]
    assert not (np.signbit(model.reward) & (model.reward == 0)).any()  # no minus zero
    save_model(model, tmp_path / "again.POMDP")
    assert "values: cost" in (tmp_path / "again.POMDP").read_text()
    assert "R: listen : left : * : * -1.0" in (tmp_path / "again.POMDP").read_text()
    assert np.array_equal(load_model(tmp_path / "again.POMDP").reward, model.reward)


def test_discount_1_loads_and_is_refused_where_it_cannot_do():
    model = read(HEAD.replace("0.9", "1") + BODY)
    listen = Controller.constant(model.observations, model.actions, [1, 0])
    assert model.max_steps is None
    assert evaluate(model, listen, horizon=10).value == -10
    assert simulate(model, listen, episodes=2, max_steps=5).n_steps == 10
    with refuses(ModelError, "discount 1", "--horizon", "FILE:discount=0.95"):
        evaluate(model, listen)
    for fails in (
        lambda: plan(model, Pouct(simulations=10), episodes=1),
        lambda: train_behavior(model, listen.memory, softmax=1.0, episodes=2),
    ):
        with refuses(ModelError, "discount 1", "FILE:discount=0.95", "FILE:max_steps=100"):
            fails()


# ---- files without observations --------------------------------------------------------------

SEEN = """discount: 0.9 values: reward states: a b actions: stay go
T: stay identity
T: go 0 1 1 0
"""


@pytest.mark.parametrize(
    ("line", "rewards"),
    [
        ("R: go : a : b 5", [[0, 5], [0, 0]]),
        ("R: go : a : b : * 5", [[0, 5], [0, 0]]),
        ("R: go : a 1 5", [[0, 5], [0, 0]]),
        ("R: go 1 5 6 2", [[0, 5], [0, 6]]),
        ("R: * : * : b 2", [[0, 2], [2, 0]]),
    ],
)
def test_without_observations_the_state_is_seen(line, rewards):
    model = read(SEEN + line)
    assert model.observations == model.states
    assert model.first_observation.tolist() == [[1, 0], [0, 1]]
    assert model.expected_reward.tolist() == rewards


def test_a_table_of_all_rewards_is_never_built():
    """2,000 states, 5 actions and 50 observations: 10^9 cells, 8 GB."""
    S = 2000
    text = f"""discount: 0.9 values: reward states: {S} actions: 5 observations: 50
    T: * identity
    O: * : * : 0 1
    R: * : * : * : * 1
    R: 2 : 7 : * : * 5
    """
    model = read(text)
    assert len(model.probability) == 5 * S
    assert model.expected_reward.sum() == 5 * S + 4


# ---- the first observation -------------------------------------------------------------------


def test_nothing_is_seen_first_unless_something_else_is_asked_for():
    text = HEAD + "start: left\n" + BODY
    null = read(text)
    assert null.first_observation.tolist() == [[0, 0, 1]] * 2
    assert 2 not in null.next_observation
    after = read(text, first_observation="after:listen")
    assert after.observations == ("hear-left", "hear-right")
    assert after.first_observation.tolist() == [[0.85, 0.15], [0.15, 0.85]]
    named = read(text, first_observation="hear-right")
    assert named.first_observation.tolist() == [[0, 1]] * 2
    assert read(text, first_observation="1") == named
    assert read(text, first_observation="null") == null


def test_an_unknown_first_observation_is_refused_with_the_choice():
    with refuses(ParameterError, "'loud'", "hear-left, hear-right", "'null'", "'after:'"):
        read(HEAD + BODY, first_observation="loud")
    with refuses(ParameterError, "action 'look' is not one of listen, open-left"):
        read(HEAD + BODY, first_observation="after:look")


# ---- errors -------------------------------------------------------------------------------------


WRONG_PREAMBLES = [  # what is replaced, what by, and what the message says
    ("discount: 0.9\n", "", ("line 5", "column 1", "'T'", "discount:")),
    ("states: left right\n", "", ("line 5", "states:")),
    ("discount", "Discount", ("line 1", "column 1", "'Discount'", "Did you mean 'discount'?")),
    ("0.9", "much", ("line 1", "column 11", "'much'", "1 more number")),
    ("0.9", "1e999", ("line 1", "column 11", "out of range")),
    ("0.9", "1.1", ("line 1", "column 11", "'1.1'", "0 to 1")),
    ("reward", "money", ("line 2", "'money'", "reward or cost")),
    ("left right", "left left", ("line 3", "column 14", "named twice")),
    ("left right", "left reset", ("line 3", "column 14", "'reset'")),
    ("left right", "0", ("line 3", "column 9", "at least 1")),
    ("left right", "5 7", ("line 3", "column 11", "'7'", "how many")),
    ("left right", "a&b c", ("line 3", "column 10", "'&'")),
    ("left right", "9" * 5000, ("line 3, column 9", "how many")),
    ("states:", "states", ("line 3", "column 8", "colon")),
]
WRONG_STARTS = [
    ("start exclude: left right", ("line 6", "column 16", "excluded")),
    ("start include:", ("line 7", "column 1", "list of states")),
    ("start include: *", ("line 6", "column 16", "'*'")),
    ("start: up", ("line 6", "column 8", "state 'up' is not one of left, right")),
    ("start: 2", ("line 6", "column 8", "found '2'", "the state's name", "0 to 1")),
    ("start: 0.5", ("line 7", "1 of 2 numbers", "begins on line 6")),
    ("start: 0.5 0.4", ("line 6", "column 8", "sums to 0.9", "Expected 1")),
    ("start: 1.5 -0.5", ("line 6", "column 8", "'1.5' is out of range")),
    ("start: reset", ("line 6", "column 8", "'reset'", "Expected")),
    ("start uniform", ("line 6", "column 1", "'start'", "no word of the format", "a colon")),
    ("states: 2", ("line 6", "column 1", "line 3")),
]
WRONG_STATEMENTS = [  # on line 15
    ("start: left", ("line 15", "column 1", "start", "Expected it")),
    ("states: 2", ("line 15", "column 1", "states", "Expected it")),
    ("Q: 1", ("line 15", "column 1", "'Q'", "T:, O: or R:")),
    ("T listen", ("line 15", "column 3", "colon")),
    ("T: lisen identity", ("line 15", "column 4", "Did you mean 'listen'?")),
    ("T: listen : * : * : * 1", ("line 15", "column 19", "3 parts")),
    ("T: : left", ("line 15", "column 4", "':'", "'*'")),
    ("T: listen left", ("line 15", "column 11", "'left'")),
    ("T: listen : left identity", ("line 15", "identity", "Expected")),
    ("T: listen reset", ("line 15", "reset", "Expected")),
    ("R: listen : left uniform", ("line 15", "uniform", "Expected")),
    ("R: listen : * : * : * inf", ("line 15", "column 23", "'inf'")),
    ("T: listen : left -0.5 1.5", ("line 15", "column 18", "'-0.5' is out of range")),
    ("O: listen : left : 0 2", ("line 15", "column 22", "'2' is out of range", "0 to 1")),
    ("T: listen : left : right 0.5", ("line 15", "column 26", "sums to 1.5")),
    ("T: listen\n1 0\n0", ("line 17", "end of the file", "begins on line 15", "3 of 4")),
    ("T: listen\n1 0\n0 1\n0.5", ("line 18", "column 1", "begins on line 15", "5 numbers")),
    ("O: listen : left : 0 1 1", ("line 15", "column 24", "2 numbers", "1")),
    ("R: listen : left : left 1", ("line 15", "1 of 2 numbers")),
    ("R: listen : left : left : 0", ("line 15", "end of the file", "1 number")),
]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("", ("line 1", "discount:", "states:", "values:", "actions:")),
        *(((HEAD + BODY).replace(old, new, 1), facts) for old, new, facts in WRONG_PREAMBLES),
        *((HEAD + start + "\n" + BODY, facts) for start, facts in WRONG_STARTS),
        *((HEAD + BODY + line, facts) for line, facts in WRONG_STATEMENTS),
        (SEEN + "O: go uniform", ("line 4", "column 1", "observations:")),
        (SEEN + "R: go : a : b : 1 5", ("line 4", "Expected '*'")),
    ],
)
def test_an_error_names_file_line_column_and_what_was_expected(text, facts):
    with refuses(ModelError, "m.POMDP", *facts):
        read(text)


@pytest.mark.parametrize("data", [b"\0\1\2", b"", b"hello", b"\xff\xfeT\0"])
def test_what_is_no_such_file_is_refused_by_name(tmp_path, data):
    (tmp_path / "x.POMDP").write_bytes(data)
    (tmp_path / "zero.POMDP").symlink_to("/dev/zero")  # without an end
    (tmp_path / "folder.POMDP").mkdir()
    for name, fact in {
        "x": "x.POMDP",
        "y": "Check the path",
        "zero": "not a text file",
        "folder": "directory",
        "a\0": "null byte",
    }.items():
        with refuses(ModelError, fact):
            load_model(tmp_path / f"{name}.POMDP")


def test_wildcards_that_name_all_rows_over_and_over_are_refused(monkeypatch):
    """10,000 lines on 100,000 rows would take minutes."""
    monkeypatch.setattr("jumar.core.resources.memory", lambda: 10**5)
    with refuses(TooLarge, "numbers of T", "write each row once"):
        read(HEAD + "T: * : * : left 0.5\n" * 300 + BODY)
    assert read(HEAD + "T: * : * : left 0.5\n" * 100 + BODY).states == ("left", "right")


@pytest.mark.parametrize("observations", ["observations: 300000", ""])
def test_what_models_hold_in_full_is_refused_if_there_is_no_room(observations, monkeypatch):
    monkeypatch.setattr("jumar.core.resources.memory", lambda: 10**9)
    text = f"discount: 0.9 values: reward states: 300000 actions: 1 {observations}\nT: 0 identity"
    with refuses(TooLarge, "300,000 states and 300,000 observations", "1.44 TB"):
        read(text)


# ---- wherever a model can be named --------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tiger.x.PoMdP").write_text(HEAD + BODY)
    return tmp_path


def test_a_file_can_stand_for_a_model_with_options(folder):
    spec = "tiger.x.PoMdP:discount=0.5,first_observation=after:listen,start=right,max_steps=7"
    model = build(spec, folder=str(folder))
    assert is_model_file(spec)
    assert (model.name, model.discount, model.max_steps) == ("tiger.x", 0.5, 7)
    assert model.start.tolist() == [0, 1]
    assert model.first_observation.shape == (2, 2)
    assert build("tiger.x.PoMdP", folder=str(folder)).max_steps == 66  # 0.9^66 < 0.001
    assert training(spec, model).softmax == 6 / 110


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ("discont=0.5", ("'discont'", "Did you mean 'discount'?")),
        ("discount=half", ("discount", "'half'", "a number")),
        ("max_steps=1.5", ("max_steps", "'1.5'", "a whole number")),
        ("normalize=perhaps", ("normalize", "'perhaps'", "yes or no")),
        ("discount=0.5,discount=0.6", ("discount", "twice")),
        ("start=up", ("state 'up' is not one of left, right",)),
        (f"start={'9' * 5000}", ("start: state", "is not one of left, right")),
    ],
)
def test_a_wrong_option_is_refused(folder, options, facts):
    with refuses(ParameterError, *facts):
        load_named(f"tiger.x.PoMdP:{options}", str(folder))


def test_other_files_take_the_options_that_they_leave_open(tmp_path):
    save_model(build("tiger"), tmp_path / "tiger.json")
    assert build("tiger.json:discount=0.5", str(tmp_path)).discount == 0.5
    assert load_model(tmp_path / "tiger.json") == build("tiger")
    with refuses(ParameterError, "first_observation", "tiger.json", ".POMDP"):
        build("tiger.json:first_observation=null", str(tmp_path))


def test_a_model_is_saved_in_a_format_that_is_known(tmp_path):
    with refuses(ParameterError, "tiger.xml", ".json", ".POMDP"):
        save_model(build("tiger"), tmp_path / "tiger.xml")
