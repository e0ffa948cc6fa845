"""The memory order test: closed forms, exact orders, one memory after the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from jumar import order_test, simulate
from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence import order, order_tests
from jumar.evidence.chance import Settings
from jumar.evidence.checking import check
from jumar.evidence.checking.memory import check_order
from jumar.evidence.loops import reorder
from jumar.evidence.order import suggested
from jumar.evidence.steps import _reward_classes
from jumar.log.episodes import Episodes
from jumar.memory import Memory, NamedNodes, product, window
from jumar.memory.refinement import one_more
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay, Replays
from order_logs import cases, finite_history, fork, forks, log_of, only, steps_of
from small_logs import facts, listening
from small_logs import run as run_tiger

# ---- the statistic ------------------------------------------------------------------------------


def test_the_likelihood_ratio_by_hand():
    """x = 2 has outcomes 3, 3, 4, 4, and its pasts tell which: 4 steps with log 2 each, twice."""
    found = order_test(fork(2, 2), only(fork(2, 2)), seed=random_stream(1, "order"))
    assert_allclose(found.statistic, 8 * log(2))
    assert found.decided == 4


def test_the_gaps_by_hand():
    """Half of the steps are at 2; there the law is off by one half. Rewards 1 and 3, mean 2."""
    log_ = replace(fork(2, 2), reward=[0.0, 1.0, 0.0, 1.0, 0.0, 3.0, 0.0, 3.0])
    steps = steps_of(log_, window(1), window(2))
    assert_allclose(steps.as_logged()[0].gaps(), [0.25, 0.5])


def test_few_rewards_are_classes_of_their_own_and_many_are_quartered():
    pair = np.repeat([0, 1], [4, 8])
    reward = np.array([5.0, -1, 5, 2, 80, 10, 20, 30, 40, 50, 60, 70])
    assert _reward_classes(pair, reward).tolist() == [2, 0, 2, 1, 3, 0, 0, 1, 1, 2, 2, 3]
    ties = _reward_classes(np.zeros(16, np.int64), np.array([0.0] * 9 + [1, 2, 3, 4, 5, 6, 7.0]))
    assert ties.tolist() == [0] * 9 + [2] * 3 + [3] * 4


def obvious(log_: Episodes, base: Memory, finer: Memory) -> tuple[float, float, float]:
    """G without rewards and both gaps, counted one step at a time."""
    coarser, y = Replay.of(log_, base), Replay.of(log_, finer).at
    xs, x, after = coarser.states, coarser.at, coarser.follows
    coarse, fine, paid = Counter(), Counter(), Counter()
    for i in np.flatnonzero(after != -2).tolist():
        o = -1 if after[i] == -1 else int(xs[after[i], -1])
        a = int(log_.action[i])
        for counter, h in ((coarse, (int(x[i]), a)), (fine, (int(x[i]), a, int(y[i])))):
            counter[h] += 1
            counter[(*h, "then", o)] += 1
            paid[h] += log_.reward[i]
    moves = [key for key in fine if "then" in key]
    pairs = [key for key in fine if "then" not in key]
    G = law = reward = 0.0
    for x_, a, y_, _, o in moves:
        n, p = fine[x_, a, y_, "then", o], coarse[x_, a, "then", o] / coarse[x_, a]
        G += 2 * n * log(n / fine[x_, a, y_] / p)
    for x_, a, y_ in pairs:
        n = fine[x_, a, y_]
        outcomes = {key[-1] for key in coarse if key[:3] == (x_, a, "then")}
        for o in outcomes:
            p = coarse[x_, a, "then", o] / coarse[x_, a]
            law += n * abs(fine[x_, a, y_, "then", o] / n - p) / 2
        reward += n * abs(paid[x_, a, y_] / n - paid[x_, a] / coarse[x_, a])
    total = max(1, sum(fine[pair] for pair in pairs))
    return G, law / total, reward / total


@given(cases())
def test_counting_as_its_obvious_twin(case):
    steps = steps_of(*case, rewards=False)
    tally, _ = steps.as_logged()
    found = (tally.statistic(), *tally.gaps())
    assert_allclose(found, obvious(*case), rtol=1e-9, atol=1e-9)


# ---- other orders of the same steps -------------------------------------------------------------


def every_walk(edges: list[tuple[int, int]], root: int) -> set[tuple[int, ...]]:
    """All orders of the edges in which each begins where the one before it ended."""
    found = set()

    def walk(at: int, done: tuple[int, ...]) -> None:
        if len(done) == len(edges):
            found.add(done)
        for e, (tail, head) in enumerate(edges):
            if tail == at and e not in done:
                walk(head, (*done, e))

    walk(root, ())
    return found


def test_every_order_is_equally_likely():
    """A graph with loops and two ways back, on which last exits matter: 120 walks, all as often."""
    root = 2
    edges = [(0, 0), (0, 1), (0, 1), (0, 2), (1, 0), (1, 0), (1, 2), (2, 0), (2, 1)]
    walks = every_walk(edges, root)
    assert len(walks) == 120
    tails = np.array([tail for tail, _ in edges])
    heads = np.array([head for _, head in edges])
    pointer = np.searchsorted(tails, np.arange(4))
    rng, draws = random_stream(1, "walks"), 400 * len(walks)
    seen = Counter()
    for _ in range(draws):
        order, start = reorder(pointer, heads, np.arange(len(edges)), root, rng)
        seen[tuple(order.tolist())] += 1
        assert (start[0], start[-1]) == (0, len(edges))
    assert set(seen) == walks
    χ2 = sum((seen[walk] - 400) ** 2 / 400 for walk in walks)
    freedom = len(walks) - 1
    assert abs(χ2 - freedom) < 4 * np.sqrt(2 * freedom)


@given(cases(), st.integers(0, 5))
def test_a_shuffled_log_has_the_same_steps_each_where_the_last_one_ended(case, seed):
    log_, base, finer = case
    steps = steps_of(log_, base, finer, rewards=True)
    taken, start = next(steps.shuffles(1, random_stream(seed, "shuffle")))
    assert sorted(taken.tolist()) == list(range(log_.n_steps))
    first = []
    for e in range(len(log_)):
        inside = taken[start[e] : start[e + 1]]
        first += steps.base.at[inside[:1]].tolist()
        assert steps.base.follows[inside[:-1]].tolist() == steps.base.at[inside[1:]].tolist()
    # an episode may have become empty: it began where another was cut off
    assert not Counter(first) - Counter(steps.base.at[log_.start[:-1]].tolist())
    again = steps.tally(taken, start)
    assert again.times.sum() == steps.as_logged()[0].times.sum()


@given(cases(), st.integers(0, 5))
def test_if_episodes_are_cut_off_their_first_steps_stay_first(case, seed):
    """As long as the finer memory, a window of 3 at most, is not full."""
    log_, base, finer = case
    log_ = replace(log_, terminated=np.append(log_.terminated[:-1], False))
    steps = steps_of(log_, base, product(finer, window(3)).on(*finer.alphabet), rewards=True)
    drawn = next(steps.shuffles(1, random_stream(seed, "shuffle")))

    def early(taken, start):
        age = np.arange(len(taken)) - np.repeat(start[:-1], np.diff(start))
        return [sorted(taken[age == t].tolist()) for t in (0, 1)]

    assert early(*drawn) == early(np.arange(log_.n_steps), log_.start)


def test_what_one_past_alone_has_cannot_be_told_by_another_order():
    """After 0 always 3 and after 1 always 4: but 2 comes after 0 only, so nothing is to be told."""
    log_ = log_of([[0, 2, 3], [0, 2, 3], [1, 4, 3]], 5)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"))
    assert (found.statistic, found.p, found.decided) == (0, 1, 0)
    assert found.sentence.startswith("The log cannot tell a window of 2 from a window of 1")
    assert (found.interval, found.rejected) == (None, False)


# ---- one memory after the other -----------------------------------------------------------------


def test_the_first_memory_that_is_enough_is_suggested():
    rng = random_stream(3, "second order")
    pomdp, _ = finite_history(rng, 2, O=3, A=1, end=0.1)
    behavior = Controller.uniform(pomdp.observations, pomdp.actions)
    log_ = simulate(pomdp, behavior, episodes=1000, seed=rng)
    found = order_tests(log_, behavior, seed=random_stream(1, "order"))
    assert [test.rejected for test in found] == [True, False]
    assert str(suggested(found)) == "window of 2"


def test_no_window_is_enough_for_tiger():
    behavior = listening(0.3)
    found = order_tests(
        run_tiger(behavior, 3000, 1), behavior, seed=random_stream(1, "order"), longest=3
    )
    assert [test.rejected for test in found] == [True, True]
    assert str(suggested(found)) == "window of 3"
    assert found[0].effect > found[1].effect > 0.02


def test_a_behavior_with_a_long_window_is_still_tested_once():
    log_ = fork(20, 20)
    behavior = only(log_).lift(window(6))
    found = order_tests(log_, behavior, seed=random_stream(1, "order"))
    assert [(str(test.base), str(test.finer)) for test in found] == [("window of 6", "window of 7")]


# ---- memories -----------------------------------------------------------------------------------

PARITY = NamedNodes(("even", "odd"), [[[1, 1], [0, 0]], [[0, 0], [1, 1]]])
LAST = NamedNodes(("nothing", "saw 0", "saw 1"), [[[1, 1], [2, 2]]] * 3)


@pytest.mark.parametrize(
    ("memory", "longer"),
    [
        (window(1), "window of 2"),
        (window(3, actions=True), "window of 4 with actions"),
        (PARITY, "table of 2 nodes × window of 2"),
        (product(PARITY, window(2)), "table of 2 nodes × window of 3"),
        (LAST, "window of 3"),
        (window(1000), "None"),
    ],
    ids=str,
)
def test_one_observation_more(memory, longer):
    assert str(one_more(memory.on(2, 2))) == longer


def test_a_table_is_tested_against_itself_and_a_window():
    """What follows is what was seen two steps before; a table of one node knows nothing of it."""
    rng = random_stream(1, "echo")
    seen = rng.integers(0, 2, (60, 2)).tolist()
    log_ = log_of([[a, b, a, b, a, b] for a, b in seen], 2, actions=("go", "stop"))
    behavior = only(log_).lift(PARITY.on(2, 2))
    found = order_test(log_, behavior, seed=rng, resamples=99)
    assert str(found.finer) == f"{found.base} × window of 2" == "table of 2 nodes × window of 2"
    assert found.p == 0.01


@pytest.mark.parametrize(
    ("memory", "finer", "error", "words"),
    [
        (window(2), window(1), MemoryMismatch, r"join\(memory, finer\)"),
        (None, window(1), ParameterError, "knows no more"),
        (window(1000), None, ParameterError, "no obvious longer one"),
    ],
)
def test_memories_that_cannot_be_compared_are_refused(memory, finer, error, words):
    log_ = fork(2, 2)
    with pytest.raises(error, match=words):
        order_test(log_, only(log_), memory=memory, finer=finer)
    with pytest.raises(MemoryMismatch, match=r"join\(behavior\.memory, memory\)"):
        order_test(log_, only(log_).lift(window(2)), memory=window(1))
    assert order_test(log_, only(log_), finer=window(2, actions=True)).p > 0.05


# ---- the rest -----------------------------------------------------------------------------------


@pytest.mark.parametrize("longest", [1, 2.5, True])
def test_longest_is_a_whole_number_from_2(longest):
    with pytest.raises(ParameterError, match="longest"):
        order_tests(fork(2, 2), only(fork(2, 2)), seed=random_stream(1, "order"), longest=longest)


def test_names_in_another_order_change_nothing():
    log_ = forks(1, 300, 0.7)
    turned = Controller.uniform(log_.observations[::-1], log_.actions)
    one = order_test(log_, only(log_), seed=random_stream(1, "order"))
    two = order_test(log_, turned, seed=random_stream(1, "order"))
    assert_allclose(one.statistic, two.statistic)
    assert_allclose(one.effect, two.effect, atol=0.01)


def test_of_a_very_long_log_some_episodes_are_tested(monkeypatch):
    monkeypatch.setattr(order, "MOST_STEPS", 100)
    log_ = forks(1, 400, 0.9)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"))
    assert found.episodes == 50
    assert found.decided == 50


# ---- in a check ---------------------------------------------------------------------------------


def test_a_check_of_a_memory_that_is_enough_passes_and_there_is_none_beyond_the_longest():
    log_, rng = fork(30, 30, flips=15), random_stream(1, "check")
    found = check_order(Replays(log_), only(log_), Settings(), rng)
    assert found.verdict.status == "passed"
    assert facts(found, "suggested enough") == ("window of 1", True)
    longest = check_order(Replays(log_), only(log_).lift(window(1000)), Settings(), rng)
    assert (longest["tests"], longest.verdict.status) == ([], "look")


@given(cases(), st.integers(0, 3))
def test_any_log_can_be_tested(case, seed):
    log_, base, _ = case
    behavior = Controller.uniform(log_.observations, log_.actions, base)
    found = check(
        log_, behavior, seed=random_stream(seed, "check"), level=0.5, resamples=3
    ).sections["order"]
    for step in found["tests"]:
        assert 0 < step["p"] <= 1
        assert 0 <= step["effect"] <= 1
        assert 0 <= step["reward_effect"] < np.inf
