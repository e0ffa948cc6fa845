"""Counting history states, and the model the counts give: against a count by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import LogError, MemoryMismatch, ParameterError
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.tally.history import Counts
from jumar.tally.replay import count
from strategies import logs, memories, names

Z, A = ("good", "worn"), ("keep", "repair")
# episode 1: good keep(1) worn repair(-2), ended; episode 2: worn keep(.5) worn keep(4), cut off
# before a "good"; episode 3: good keep(3), cut off, nobody knows what came next
LOG = Episodes(
    Z, A, [0, 1, 1, 1, 0], [0, 1, 0, 0, 0], [1, -2, 0.5, 4, 3], [0, 2, 4, 5], [-1, 0, -1],
    [True, False, False],
)  # fmt: skip


def obvious_count(log: Episodes, memory) -> dict[str, Counter]:
    """Walk the log step by step, episode by episode."""
    found = {name: Counter() for name in ("visits", "sum", "ends", "starts", "moves")}
    found["states"], found["unfinished"] = set(), 0
    for e in range(len(log)):
        node, rows = memory.initial()[None, :], range(log.start[e], log.start[e + 1])
        for t in rows:
            z, a, r = int(log.observation[t]), int(log.action[t]), float(log.reward[t])
            h = (*node[0].tolist(), z)
            found["states"].add(h)
            found["starts"][h] += t == rows[0]
            node = memory.step(node, np.array([z]), np.array([a]))
            if t < rows[-1]:
                follows = (*node[0].tolist(), int(log.observation[t + 1]))
            elif log.terminated[e]:
                follows = "end"
            elif log.final_observation[e] >= 0:
                follows = (*node[0].tolist(), int(log.final_observation[e]))
                found["states"].add(follows)
            else:
                found["unfinished"] += 1
                continue
            found["visits"][h, a] += 1
            found["sum"][h, a] += r
            if follows == "end":
                found["ends"][h, a] += 1
            else:
                found["moves"][h, a, follows] += 1
    return found


def as_dictionaries(counts: Counts) -> dict[str, dict]:
    n_actions = counts.n_actions
    states = [tuple(row) for row in counts.states.tolist()]

    def pairs(array):
        return {(states[h], int(a)): array[h, a].item() for h, a in np.argwhere(array)}

    moves = zip(counts.pair.tolist(), counts.successor.tolist(), counts.times.tolist(), strict=True)
    return {
        "states": set(states),
        "visits": pairs(counts.visits),
        "sum": pairs(counts.reward_sum),
        "ends": pairs(counts.ends),
        "starts": {states[h]: int(n) for h, n in enumerate(counts.starts) if n},
        "moves": {(states[p // n_actions], p % n_actions, states[h]): n for p, h, n in moves},
        "unfinished": counts.unfinished,
    }


# ---- counting -----------------------------------------------------------------------------------


def test_a_small_log_counted_by_hand():
    counts = count(LOG, window(1))
    assert counts.states.tolist() == [[0], [1]]
    assert counts.visits.tolist() == [[1, 0], [2, 1]]
    assert counts.reward_sum.tolist() == [[1.0, 0.0], [4.5, -2.0]]
    assert counts.ends.tolist() == [[0, 0], [0, 1]]
    assert counts.starts.tolist() == [2, 1]
    # (good, keep) -> worn; (worn, keep) -> good and worn, once each
    assert counts.pair.tolist() == [0, 2, 2]
    assert counts.successor.tolist() == [1, 0, 1]
    assert counts.times.tolist() == [1, 1, 1]
    assert counts.unfinished == 1


def test_an_episode_cut_off_with_an_observation_leads_to_a_state_nobody_acted_in():
    counts = count(LOG.select([1]), window(2))
    states = [tuple(row) for row in counts.states.tolist()]
    last = states.index((2, 0))  # after a worn, sees good
    assert counts.visits[last].tolist() == [0, 0]
    assert last in counts.successor.tolist()


@given(st.data())
def test_counting_is_walking_the_log(data):
    O, n_actions = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    log = data.draw(logs(names("z", O), names("a", n_actions)))
    memory = data.draw(memories(O, n_actions))
    found = as_dictionaries(count(log, memory))
    expected = obvious_count(log, memory)
    for name in ("sum", "starts"):  # a Counter keeps zeros, an array does not show them
        expected[name] = {key: value for key, value in expected[name].items() if value}
    assert found == {name: expected[name] for name in found}


def test_a_window_of_fifty_costs_what_the_log_visits():
    rng = np.random.default_rng(0)
    n = 1000
    long = Episodes(
        names("z", 7), names("a", 4), rng.integers(0, 7, n), rng.integers(0, 4, n), np.zeros(n),
        [0, n], [-1], [True],
    )  # fmt: skip
    counts = count(long, window(50, actions=True))
    assert len(counts.states) == n  # every history is new, and no other one is made up
    assert counts.visits.sum() == n


def test_counts_that_do_not_add_up_are_refused():
    counts = count(LOG, window(1))
    with refuses(LogError, "successors", "ends", "visits"):
        replace(counts, ends=counts.ends + 1)


def test_counts_are_read_only():
    counts = count(LOG, window(1))
    arrays = [getattr(counts, field.name) for field in fields(counts)]
    assert not any(a.flags.writeable for a in arrays if isinstance(a, np.ndarray))


# ---- the model ----------------------------------------------------------------------------------


def test_the_model_is_the_shares_of_what_was_counted():
    mdp = count(LOG, window(1)).mle(0.9)
    assert mdp.reward.tolist() == [[1.0, 0.0], [2.25, -2.0]]
    assert mdp.ending.tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert mdp.probability.tolist() == [1.0, 0.5, 0.5]
    assert mdp.start.tolist() == [2 / 3, 1 / 3]
    assert mdp.visits.tolist() == [[1.0, 0.0], [2.0, 1.0]]
    assert mdp.pointer.tolist() == [0, 1, 1, 3, 3]
    assert (len(mdp), mdp.shape) == (2, (2, 2))
    assert mdp.index.find(np.array([[1], [0], [2]])).tolist() == [1, 0, -1]


@pytest.mark.parametrize("discount", [1.0, 1.5, -0.1, float("nan")])
def test_a_learned_model_needs_a_discount_below_one(discount):
    with refuses(ParameterError, "discount", "[0, 1)"):
        count(LOG, window(1)).mle(discount)


def test_lost_probability_is_told_with_the_pair():
    mdp = count(LOG, window(1)).mle(0.9)
    with refuses(LogError, "state 1, action 'repair'", "probability 0"):
        replace(mdp, ending=np.zeros((2, 2)))
    with refuses(LogError, "state 0, action 'repair'", "probability 0.5"):
        replace(mdp, ending=[[0.0, 0.5], [0.0, 1.0]])  # never tried, so nothing can be known


@pytest.mark.parametrize("field", ["ending", "start", "reward", "probability"])
def test_a_model_of_undefined_numbers_is_refused(field):
    mdp = count(LOG, window(1)).mle(0.9)
    with pytest.raises(LogError):
        replace(mdp, **{field: np.full(getattr(mdp, field).shape, np.nan)})


def test_the_policy_of_a_controller_is_read_at_the_states_of_the_model():
    mdp = count(LOG, window(2)).mle(0.9)
    careful = Controller(Z, A, window(1), [[1]], [[0.25, 0.75]], [1.0, 0.0])
    rows = mdp.policy_of(careful)
    assert rows[:, 1].tolist() == [0.75 if z == 1 else 0.0 for z in mdp.states[:, -1]]


def test_a_controller_that_numbers_names_differently_is_refused_with_the_remedy():
    mdp = count(LOG, window(1)).mle(0.9)
    mirrored = Controller.uniform(("worn", "good"), A, name="mirrored")
    with refuses(MemoryMismatch, "mirrored", "worn, good", "log.align"):
        mdp.policy_of(mirrored)


def test_a_controller_that_remembers_more_than_the_model_is_refused():
    mdp = count(LOG, window(1)).mle(0.9)
    with pytest.raises(MemoryMismatch, match="does not refine"):
        mdp.policy_of(Controller.uniform(Z, A).lift(window(2)))
