"""The smallest controller does the same as the one it was made of, on every history there is."""

from __future__ import annotations

from dataclasses import replace
from itertools import product as pairs_of

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumar.core.errors import TooLarge
from jumar.memory import NamedNodes, window
from jumar.memory.reach import reachable
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.policy.minimizing import LONGEST_MOMENT
from policy.test_controller_files_written import exceptions
from strategies import controllers, memories, names

SEEN, DONE = ("good", "worn"), ("keep", "repair")
KEEP = Controller.constant(SEEN, DONE, [1, 0], window(1), name="keep")


def told_apart(one: Controller, other: Controller, any_action: bool = False) -> str | None:
    """A history after which two controllers act differently; None where there is none. Every pair
    of nodes that any history leads to is looked at, so this is a proof and not a sample."""
    todo = [(tuple(one.memory.initial().tolist()), tuple(other.memory.initial().tolist()), "")]
    known = {todo[0][:2]}
    while todo:
        n, m, history = todo.pop()
        for z, seen in enumerate(one.observations):
            row, twin = (c.rows_at(np.array([[*node, z]]))[0] for c, node in ((one, n), (other, m)))
            if not np.array_equal(row, twin):
                return f"{history} {seen}: {row} and {twin}"
            for a, done in enumerate(one.actions):
                if row[a] == 0 and not any_action:
                    continue
                moved = tuple(
                    tuple(
                        c.memory.step(
                            np.array([node], np.int64).reshape(1, -1), np.array([z]), np.array([a])
                        )[0].tolist()
                    )
                    for c, node in ((one, n), (other, m))
                )
                if moved not in known:
                    known.add(moved)
                    todo.append((*moved, f"{history} {seen}/{done}"))
    return None


def fewest(controller: Controller) -> int:
    """Classes of nodes by the table of Myhill and Nerode: mark pairs until nothing is marked."""
    nodes = [tuple(node) for node in reachable(controller).tolist()]
    O, A = len(controller.observations), len(controller.actions)
    rows = {n: controller.rows_at(np.array([[*n, z] for z in range(O)], np.int64)) for n in nodes}
    step = controller.memory.step

    def goes(n, z, a):
        node = np.array([n], np.int64).reshape(1, -1)
        return tuple(step(node, np.array([z]), np.array([a]))[0].tolist())

    apart = {(n, m) for n, m in pairs_of(nodes, nodes) if not np.array_equal(rows[n], rows[m])}
    while True:
        more = {
            (n, m)
            for n, m in pairs_of(nodes, nodes)
            if (n, m) not in apart
            and any(
                rows[n][z, a] > 0 and (goes(n, z, a), goes(m, z, a)) in apart
                for z in range(O)
                for a in range(A)
            )
        }
        if not more:
            break
        apart |= more
    found: list[tuple] = []
    for n in nodes:
        if all((n, m) in apart for m in found):
            found.append(n)
    return len(found)


@st.composite
def layered(draw, alphabet=(2, 2), longest: int = 4) -> Controller:
    """A controller, except here, except there: over longer and longer windows, or tables."""
    O, A = alphabet
    controller = draw(controllers(names("z", O), names("a", A)))
    for _ in range(draw(st.integers(0, 2))):
        windows = st.integers(1, longest).map(lambda k: window(k).on(O, A))
        finer = join(controller.memory, draw(st.one_of(memories(O, A), windows)))
        controller = controller.lift(finer).except_at(*draw(exceptions(finer)))
    return controller


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_smallest_does_the_same_on_every_history(data):
    alphabet = data.draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)]))
    big = data.draw(layered(alphabet))
    small = big.minimized()
    assert told_apart(big, small) is None
    assert small.memory.count_nodes() <= len(reachable(big))
    every = big.minimized(any_action=True)
    assert told_apart(big, every, any_action=True) is None
    assert small.memory.count_nodes() <= every.memory.count_nodes()


@settings(max_examples=40, deadline=None)
@given(layered((2, 2), longest=3))
def test_no_controller_with_fewer_nodes_does_the_same(big):
    assert big.minimized().memory.count_nodes() == fewest(big)


@settings(max_examples=40, deadline=None)
@given(layered())
def test_the_same_behavior_has_one_smallest_machine(big):
    small = big.minimized()
    lifted = big.lift(join(big.memory, window(2).on(2, 2))).minimized()
    for twin in (small.minimized(), lifted):
        assert np.array_equal(small.states, twin.states)
        assert small.rows.tobytes() == twin.rows.tobytes()
        assert small.memory.count_nodes() == twin.memory.count_nodes()
        if isinstance(small.memory, NamedNodes):
            assert np.array_equal(small.memory.next, twin.memory.next)
    assert small.minimized().same_as(small)


def test_a_row_that_differs_in_the_last_bit_is_another_row():
    nearly = np.nextafter(0.5, 1)
    states = np.array([[1, 0]])  # after good, on good
    big = Controller.uniform(SEEN, DONE, window(2)).except_at(
        states, np.array([[nearly, 1 - nearly]])
    )
    assert big.minimized().memory.nodes == ("(start) or worn", "good")


def test_histories_that_only_others_make_count_if_asked_for():
    # the second node differs, but only an action that is never done leads there
    memory = NamedNodes(("a", "b"), [[[0, 1], [0, 1]], [[1, 1], [1, 1]]])
    big = Controller(SEEN, DONE, memory, [[1, 0]], [[0.5, 0.5]], [1.0, 0.0])
    assert str(big.minimized().memory) == "window of 1"
    every = big.minimized(any_action=True)
    assert every.memory.nodes == ("a", "b")
    agent = every.start()
    agent.tell("good", "repair")
    assert agent.probabilities("good") == {"keep": 0.5, "repair": 0.5}


def test_names_are_short_and_differ():
    rng = np.random.default_rng(1)
    seen = tuple(f"{'x' * 150}{i}" for i in range(3))  # cut, they are all the same
    memory = window(3).on(3, 2)
    nodes = memory.enumerate()
    states = np.array([[*node, z] for node in nodes.tolist() for z in range(3)], np.int64)
    rows = rng.integers(1, 3, (len(states), 2)).astype(float)
    big = Controller(seen, DONE, memory, states, rows / rows.sum(1, keepdims=True), [0.5, 0.5])
    found = big.minimized().memory.nodes
    assert len(set(found)) == len(found) > 1
    # one past is told whole, the others only as far as there is room
    assert max(map(len, found)) <= 2 * LONGEST_MOMENT + len("(start) →  →  or 99 more (99)")


def test_the_likeliest_action_stands_for_those_that_are_never_done():
    # so that a file needs one move for an observation, and not one for each action
    memory = window(2, actions=True).on(2, 2)
    big = KEEP.lift(memory).except_at(
        np.array([KEEP.lift(memory).state([["worn", "keep"]], "worn")]), np.array([[0.0, 1.0]])
    )
    small = big.minimized()
    assert all((row == row[0]).all() for row in small.memory.next.reshape(-1, 2))


def test_too_many_nodes_are_told():
    with pytest.raises(TooLarge, match="shorter memory"):
        Controller.uniform(SEEN, DONE, window(30)).minimized()


def test_exploration_is_kept_where_it_is_one_and_the_same():
    slips = replace(Controller.constant(SEEN, DONE, [0.95, 0.05]), exploration=0.1)
    assert slips.lift(window(2)).minimized().exploration == 0.1
    memory = NamedNodes(("a", "b"), [[[0, 1], [0, 1]], [[1, 1], [1, 1]]])
    two = Controller(SEEN, DONE, memory, [[1, 0]], [[0.05, 0.95]], [0.95, 0.05], exploration=0.1)
    small = two.minimized()
    assert small.exploration == 0.1
    assert told_apart(two.intended, small.intended) is None
    assert slips.except_at(np.array([[0]]), np.array([[0.5, 0.5]])).minimized().exploration == 0.0
