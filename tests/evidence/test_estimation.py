"""The behavior estimated from a log: frequencies, and what an unseen history falls back on."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from jumar.evidence.estimation import estimate_behavior
from jumar.memory import window
from jumar.policy.controller import Controller
from small_logs import log_of
from strategies import logs, memories, names


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
