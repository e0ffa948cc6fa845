"""Who made a log: one controller, several, or propensities only."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import jumar as jm
from jumar.core.errors import ControllerError, LogError, ParameterError
from jumar.evidence.consistency import rows_taken
from jumar.evidence.doubts import rounding_of
from jumar.evidence.estimation import estimate_behavior
from jumar.evidence.practice import practice_of
from jumar.log.episodes import Episodes, Labels
from jumar.memory import NamedNodes, window
from jumar.memory.refinement import refines
from jumar.policy.controller import Controller
from small_logs import log_of
from strategies import controllers, logs, memories, names

Z, A = ("good", "worn"), ("keep", "repair")
OLD = Controller.uniform(Z, A, name="old")
NEW = Controller.constant(Z, A, [0.2, 0.8], name="new")


def made_by(*who: str, steps: int = 2, **more: object) -> Episodes:
    """Episodes that keep once and then repair."""
    n = len(who) * steps
    action = np.tile(np.minimum(np.arange(steps), 1), len(who))
    return Episodes(
        Z, A, np.zeros(n, int), action, np.zeros(n), np.arange(0, n + 1, steps),
        [-1] * len(who), [True] * len(who), behavior=Labels.of(who), **more,
    )  # fmt: skip


# ---- one ----------------------------------------------------------------------------------------


@given(st.data())
def test_one_behavior_is_itself(data):
    observations, actions = names("z", 2), names("a", 2)
    behavior = data.draw(controllers(observations, actions))
    log = data.draw(logs(observations, actions))
    assume((rows_taken(log, behavior) > 0).all())
    practice = practice_of(log, behavior)
    assert practice.pooled is behavior
    assert np.array_equal(practice.taken, rows_taken(log, behavior))
    at = practice.rows[np.arange(log.n_steps), log.action]
    assert np.array_equal(at, practice.taken)
    assert not practice.several
    assert practice.memory == behavior.memory
    assert practice_of(log, [behavior]).pooled is behavior


def test_a_log_that_names_its_only_behavior_takes_any_controller():
    assert practice_of(made_by("plant"), OLD).names == ("old",)


def test_what_the_behavior_never_does_is_an_error_with_its_place():
    never = Controller.constant(Z, A, [1, 0], name="never")
    with pytest.raises(LogError, match=r"episode 1, step 1: action 'repair' was taken, but never"):
        practice_of(made_by("old", "new"), {"old": OLD, "new": never})
    loose = practice_of(made_by("old", "new"), {"old": OLD, "new": never}, checked=False)
    assert loose.taken.tolist() == [1, 0, 0.5, 0.5] or loose.taken.tolist() == [0.5, 0.5, 1, 0]


def test_what_it_remembered_must_agree_with_its_own_memory():
    turns, stays = [[[1, 1]] * 2, [[0, 0]] * 2], [[[0, 0]] * 2, [[0, 0]] * 2]
    clock, stopped = (
        Controller.uniform(Z, A, NamedNodes(("even", "odd"), np.array(moves)), name="clock")
        for moves in (turns, stays)
    )
    log = made_by("clock", "old", node=Labels(("even", "odd"), [0, 1, 0, 0]))
    assert practice_of(log, [clock, OLD]).several  # the old one has no nodes to compare with
    with pytest.raises(LogError, match="episode 0, step 1: the log says that the memory was 'odd'"):
        practice_of(log, [stopped, OLD])


# ---- several ------------------------------------------------------------------------------------


@given(st.data())
def test_each_episode_is_weighed_by_its_own_behavior(data):
    observations, actions = names("z", 2), names("a", 2)
    two = {name: data.draw(controllers(observations, actions)) for name in ("old", "new")}
    log = data.draw(logs(observations, actions))
    who = data.draw(st.lists(st.sampled_from(["old", "new"]), min_size=len(log), max_size=len(log)))
    log = replace(log, behavior=Labels.of(who))
    practice = practice_of(log, two, checked=False)
    own = {name: rows_taken(log, controller) for name, controller in two.items()}
    expected = [own[who[log.episode_of(row)]][row] for row in range(log.n_steps)]
    assert practice.taken.tolist() == expected
    assert practice.rows[np.arange(log.n_steps), log.action].tolist() == expected
    assert all(refines(practice.memory, c.memory) for c in practice.controllers)
    assert practice.several == (len(set(who)) > 1)


@given(st.data())
def test_pooled_is_the_mean_of_the_rows_by_visits(data):
    observations, actions = names("z", 2), names("a", 3)
    two = {name: data.draw(controllers(observations, actions)) for name in ("old", "new")}
    log = data.draw(logs(observations, actions))
    who = ["old" if e % 2 else "new" for e in range(len(log))]
    practice = practice_of(replace(log, behavior=Labels.of(who)), two, checked=False)
    nodes = practice.memory.replay(log.observation, log.action, log.start)
    states = np.column_stack([nodes, log.observation])
    for i, state in enumerate(states):
        here = (states == state).all(1)
        np.testing.assert_allclose(
            practice.pooled.rows_at(states[i : i + 1])[0], practice.rows[here].mean(0), atol=1e-12
        )


def test_where_the_log_never_was_the_first_behavior_decides():
    practice = practice_of(made_by("old", "new"), [OLD, NEW])
    assert practice.names == ("new", "old")
    assert practice.pooled.row([], "good").tolist() == pytest.approx([0.35, 0.65])
    assert practice.pooled.row([], "worn").tolist() == [0.2, 0.8]


@given(st.data())
def test_behaviors_may_number_names_differently(data):
    observations, actions = names("z", 3), names("a", 2)
    old, new = (data.draw(controllers(observations, actions)) for _ in range(2))
    log = data.draw(logs(observations, actions))
    log = replace(log, behavior=Labels.of(["new" if e % 2 else "old" for e in range(len(log))]))
    one = practice_of(log, {"old": old, "new": new}, checked=False)
    turned = jm.policy.files.controller_to_document(new)
    turned |= {"observations": list(observations[::-1]), "actions": list(actions[::-1])}
    other = jm.policy.files.controller_from_document(turned)
    assert other.observations == observations[::-1]
    two = practice_of(log, {"old": old, "new": other}, checked=False)
    assert np.array_equal(one.taken, two.taken) or not two.several
    align = two.log.align(observations, actions)
    assert align.action.tolist() == log.action.tolist()
    assert one.taken.tolist() == two.taken.tolist()


def test_behaviors_must_know_the_same_names():
    third = Controller.uniform(Z, (*A, "replace"), name="third")
    with pytest.raises(
        ControllerError, match="do not have the same actions: only one of them knows"
    ):
        practice_of(made_by("old", "third"), [OLD, third])


def test_a_practice_can_be_sent_to_another_process():
    practice = practice_of(made_by("old", "new"), [OLD, NEW])
    again = pickle.loads(pickle.dumps(practice))
    assert again.taken.tolist() == practice.taken.tolist()
    assert not again.made_by.flags.writeable


@pytest.mark.parametrize(
    ("behaviors", "error", "message"),
    [
        (OLD, LogError, r"names 2 behaviors \(new, old\), but there is one controller, old"),
        ([OLD], LogError, "names 2 behaviors"),
        ({"old": OLD}, LogError, "behaviors without a controller: new. The controllers are old"),
        ({"a": OLD, "b": NEW}, LogError, "behaviors without a controller: new, old"),
        ([OLD, OLD], ParameterError, "two controllers are called 'old'"),
        ([], ParameterError, "expected a controller"),
        ([OLD, 42], ParameterError, "42 is no controller"),
        (42, ParameterError, "42 is no controller"),
        (["missing.toml"], ControllerError, "missing.toml: there is no such file"),
        (None, LogError, "nothing says how likely the logged actions were"),
    ],
)
def test_what_cannot_be_matched_is_told(behaviors, error, message):
    with pytest.raises(error, match=message):
        practice_of(made_by("old", "new"), behaviors)


def test_two_controllers_and_no_column():
    with pytest.raises(
        LogError, match=r"2 controllers \(old, new\), but the log does not say which"
    ):
        practice_of(replace(made_by("x"), behavior=None), [OLD, NEW])


# ---- propensities -------------------------------------------------------------------------------


def test_propensities_alone():
    log = made_by("x", propensity=[0.25, 0.5])
    practice = practice_of(replace(log, behavior=None), None)
    assert practice.taken.tolist() == [0.25, 0.5]
    assert practice.rows.tolist() == [[0.25, 0.75], [0.5, 0.5]]  # two actions: one tells the other
    assert practice.pooled.same_as(estimate_behavior(log))
    assert not practice.several
    longer = practice_of(log, None, memory=window(2))
    assert str(longer.memory) == "window of 2" == str(longer.pooled.memory)


def test_with_more_actions_the_rest_of_the_row_is_not_known():
    log = Episodes(("z",), ("a", "b", "c"), [0], [1], [0.0], [0, 1], [-1], [True], propensity=[0.5])
    assert practice_of(log, None).rows is None
    alone = Episodes(("z",), ("a",), [0], [0], [0.0], [0, 1], [-1], [True], propensity=[1.0])
    assert practice_of(alone, None).rows.tolist() == [[1]]


@pytest.mark.parametrize("wrong", [0.3331, 0.34, 1.0])
def test_propensities_and_controllers_that_differ_are_an_error(wrong):
    third = Controller.constant(Z, A, [1 / 3, 2 / 3], name="third")
    log = made_by("third", "third", propensity=[0.3333, 0.6667, wrong, 0.66])
    with pytest.raises(LogError) as error:
        practice_of(log, third)
    said = str(error.value)
    assert f"episode 1, step 0: the propensity of 'keep' is {wrong:g}, but third takes it" in said
    assert "0.333333 here (2 such steps in all)" in said
    assert "leave the column out" in said


@given(
    st.lists(st.floats(1e-6, 1), min_size=1, max_size=30),
    st.integers(3, 8),
    st.booleans(),
)
def test_rounding_is_never_mistaken_for_a_difference(exact, digits, significant):
    rounded = [float(f"{p:.{digits}g}") if significant else round(p, digits) for p in exact]
    assume(all(rounded))
    logged = np.array(rounded)
    off = np.abs(logged - np.array(exact))
    if max(len(repr(p)) for p in rounded) >= digits + 2:  # at least one shows all its digits
        assert (off <= rounding_of(logged) + 1e-6 * np.array(exact)).all()


def test_full_digits_leave_no_room():
    logged = np.random.default_rng(1).random(100)
    assert rounding_of(logged).max() < 1e-15


# ---- estimated from the log ---------------------------------------------------------------------


def test_an_observation_never_seen_gets_the_overall_frequencies():
    behavior = estimate_behavior(log_of([(0, 0), (0, 0), (0, 1), (0, 0)]))
    assert behavior.row([], "worn").tolist() == [0.75, 0.25]


def test_a_history_never_seen_falls_back_on_one_observation_less():
    """Window 3: (worn, worn) before good was never seen; (worn) before good was, once, with repair;
    good alone was answered with keep twice of three times."""
    log = log_of([(1, 0), (0, 1)], [(0, 0), (0, 0)])
    behavior = estimate_behavior(log, window(3))
    assert behavior.row(["", "worn"], "good").tolist() == [0, 1]  # seen
    assert behavior.row(["worn", "worn"], "good").tolist() == [0, 1]  # as window 2 has it
    assert behavior.row(["worn", "good"], "good").tolist() == [1, 0]
    assert behavior.row(["good", "worn"], "worn").tolist() == [1, 0]  # as worn alone has it


def test_a_window_of_a_thousand_is_no_tower_of_a_thousand():
    log = log_of([(0, 0), (1, 1), (0, 1)])
    behavior = estimate_behavior(log, window(1000))
    lengths, layer = [], behavior
    while isinstance(layer, Controller):
        lengths.append(layer.memory.length)
        layer = layer.otherwise
    assert lengths[:7] == [1000, 500, 250, 125, 62, 31, 15]
    assert lengths[6:] == list(range(15, 0, -1))
    assert layer.tolist() == [1 / 3, 2 / 3]


def test_a_window_with_actions_remembers_them_and_ends_in_the_plain_observation():
    behavior = estimate_behavior(log_of([(0, 0), (0, 1)]), window(2, actions=True))
    assert behavior.row([["good", "keep"]], "good").tolist() == [0, 1]
    assert behavior.otherwise.memory == window(1).on(2, 2)


@given(st.data())
def test_no_policy_of_this_memory_makes_the_log_likelier(data):
    """Rows are frequencies of the histories seen, so that they maximise the likelihood."""
    log = data.draw(logs(names("z", 2), names("a", 3)))
    memory = data.draw(memories(2, 3))
    behavior = estimate_behavior(log, memory)
    nodes = behavior.memory.replay(log.observation, log.action, log.start)
    states = [tuple(row) for row in np.column_stack([nodes, log.observation]).tolist()]
    for state in set(states):
        here = [int(a) for s, a in zip(states, log.action, strict=True) if s == state]
        shares = [here.count(a) / len(here) for a in range(3)]
        assert_allclose(behavior.rows_at(np.array([state]))[0], shares, rtol=0, atol=1e-15)
