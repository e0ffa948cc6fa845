"""The memory order test: closed forms, exact orders, size, power and effects.

False alarms: a test at level 0.05 on 200 sound logs rejects more than 20 of them with probability
0.0007, as the binomial law says; the seeds are fixed, so a test that is green stays green.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from jumar import models, order_test, order_tests, random_stream, simulate
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.core.memory import Memory, NamedNodes, product, window
from jumar.core.memory.refinement import one_more
from jumar.core.replay import Replay, Replays, count
from jumar.evidence.checking import check
from jumar.evidence.checking.base import Settings
from jumar.evidence.checking.order import order_of
from jumar.evidence.order import suggested, testing
from jumar.evidence.order.gaps import beyond_chance
from jumar.evidence.order.steps import _reward_classes, cut_into_steps
from jumar.evidence.order.walks import reorder
from jumar.truth.pomdp import Pomdp, from_arrays
from jumar.truth.training import train_behavior
from strategies import logs, memories, names
from test_checking import MOST, listening
from test_checking import run as run_tiger

ONE = ("go",)


def log_of(episodes: list[list[int]], n_observations: int, rewards=None, actions=ONE) -> Episodes:
    """Cut-off episodes of one action, each with its last observation; reward 0 unless given."""
    seen = [z for episode in episodes for z in episode[:-1]]
    paid = np.zeros(len(seen)) if rewards is None else rewards
    lengths = [len(episode) - 1 for episode in episodes]
    return Episodes(
        names("z", n_observations),
        actions,
        seen,
        np.zeros(len(seen), np.int64),
        paid,
        np.concatenate([[0], np.cumsum(lengths)]),
        [episode[-1] for episode in episodes],
        np.zeros(len(episodes), bool),
    )


def fork(zeros: int, ones: int, flips: int = 0) -> Episodes:
    """0 or 1, then always 2, then 3 after 0 and 4 after 1, except for `flips` of each."""
    after_zero = [[0, 2, 4]] * flips + [[0, 2, 3]] * (zeros - flips)
    return log_of(after_zero + [[1, 2, 3]] * flips + [[1, 2, 4]] * (ones - flips), 5)


def only(log_: Episodes) -> Controller:
    return Controller.uniform(log_.observations, log_.actions)


def steps_of(log_: Episodes, base: Memory, finer: Memory, rewards: bool = True):
    return cut_into_steps(Replay.of(log_, base), Replay.of(log_, finer), rewards)


# ---- the statistic ------------------------------------------------------------------------------


def test_the_likelihood_ratio_by_hand():
    """x = 2 has outcomes 3, 3, 4, 4, and its pasts tell which: 4 steps with log 2 each, twice."""
    found = order_test(fork(2, 2), only(fork(2, 2)), seed=random_stream(1, "order"))
    assert_allclose(found.statistic, 8 * log(2))
    assert found.decided == 4


def test_the_p_value_is_the_share_of_equally_good_orders():
    """Two 3 and two 4 fall on four episodes in 6 ways, of which 2 are as telling as the log."""
    found = order_test(fork(2, 2), only(fork(2, 2)), seed=random_stream(1, "order"), resamples=4999)
    assert found.p == pytest.approx(1 / 3, abs=0.027)  # four standard errors


def test_p_counts_the_log_among_the_draws():
    """2 of the 40!/(20! 20!) orders are as telling: none of 99 draws is."""
    found = order_test(
        fork(20, 20), only(fork(20, 20)), seed=random_stream(1, "order"), resamples=99
    )
    assert found.p == 1 / 100


def test_the_gaps_by_hand():
    """Half of the steps are at 2; there the law is off by one half. Rewards 1 and 3, mean 2."""
    log_ = replace(fork(2, 2), reward=[0.0, 1.0, 0.0, 1.0, 0.0, 3.0, 0.0, 3.0])
    steps = steps_of(log_, window(1), window(2))
    assert_allclose(steps.as_logged()[0].gaps(), [0.25, 0.5])


def test_rewards_alone_can_tell():
    log_ = replace(log_of([[0, 2, 3], [1, 2, 3]] * 20, 4), reward=np.tile([0.0, 1.0, 0.0, 3.0], 20))
    found = order_test(log_, only(log_), seed=random_stream(1, "order"), resamples=99)
    assert (found.p, found.effect) == (0.01, 0)
    assert found.largest_reward.size == 1
    without = order_test(log_, only(log_), seed=random_stream(1, "order"), rewards=False)
    assert (without.p, without.decided) == (1, 0)


def test_few_rewards_are_classes_of_their_own_and_many_are_quartered():
    pair = np.repeat([0, 1], [4, 8])
    reward = np.array([5.0, -1, 5, 2, 80, 10, 20, 30, 40, 50, 60, 70])
    assert _reward_classes(pair, reward).tolist() == [2, 0, 2, 1, 3, 0, 0, 1, 1, 2, 2, 3]


def test_equal_rewards_are_of_one_class():
    reward = np.array([0.0] * 9 + [1, 2, 3, 4, 5, 6, 7.0])
    kinds = _reward_classes(np.zeros(16, np.int64), reward)
    assert kinds.tolist() == [0] * 9 + [2] * 3 + [3] * 4


@st.composite
def cases(draw):
    O, A = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    log_ = draw(logs(names("z", O), names("a", A), most_episodes=8))
    base = draw(memories(O, A))
    return log_, base, product(base, window(draw(st.integers(2, 3)))).on(O, A)


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


@given(cases())
def test_the_two_memories_are_counted_as_the_models_are(case):
    """G is that of `Counts` and of what they coarsen to."""
    log_, base, finer = case
    fine = count(log_, finer)
    coarse = fine.coarsen(base)

    def likelihood(counts):
        outcomes = np.concatenate([counts.times, counts.ends.ravel()]).astype(float)
        visits = counts.visits.ravel().astype(float)
        return sum(n * log(n) for n in outcomes if n) - sum(n * log(n) for n in visits if n)

    steps = steps_of(log_, base, finer, rewards=False)
    wanted = 2 * (likelihood(fine) - likelihood(coarse))
    assert_allclose(steps.as_logged()[0].statistic(), wanted, rtol=1e-9, atol=1e-9)


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
    drawn = next(steps.shuffles(1, random_stream(seed, "shuffle")))
    assert sorted(drawn.steps.tolist()) == list(range(log_.n_steps))
    first = []
    for e in range(len(log_)):
        inside = drawn.steps[drawn.start[e] : drawn.start[e + 1]]
        first += steps.base.at[inside[:1]].tolist()
        assert steps.base.follows[inside[:-1]].tolist() == steps.base.at[inside[1:]].tolist()
    # an episode may have become empty: it began where another was cut off
    assert not Counter(first) - Counter(steps.base.at[log_.start[:-1]].tolist())
    again = steps.tally(drawn)
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

    assert early(drawn.steps, drawn.start) == early(np.arange(log_.n_steps), log_.start)


def test_what_one_past_alone_has_cannot_be_told_by_another_order():
    """After 0 always 3 and after 1 always 4: but 2 comes after 0 only, so nothing is to be told."""
    log_ = log_of([[0, 2, 3], [0, 2, 3], [1, 4, 3]], 5)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"))
    assert (found.statistic, found.p, found.decided) == (0, 1, 0)
    assert found.sentence.startswith("The log cannot tell a window of 2 from a window of 1")
    assert (found.interval, found.largest, found.rejected) == (None, None, False)


# ---- size and power -----------------------------------------------------------------------------


def finite_history(
    rng: np.random.Generator, k: int, O: int, A: int, end: float
) -> tuple[Pomdp, Controller]:
    """A random process whose law depends on the last k observations, and a random behavior."""
    memory = window(k).on(O, A)
    histories = [(*node, z) for node in memory.enumerate().tolist() for z in range(O)]
    number = {history: i for i, history in enumerate(histories)}
    S = len(histories)
    law, see = np.zeros((A, S, S)), np.zeros((A, S, O))
    for *node, z in histories:
        i = number[(*node, z)]
        see[:, i, z] = 1
        for a in range(A):
            row = np.array([node], np.int64).reshape(1, -1)
            after = memory.step(row, np.array([z]), np.array([a]))[0].tolist()
            p = rng.dirichlet(np.ones(O)) * (1 - end * 2 * rng.random())
            law[a, i, [number[(*after, to)] for to in range(O)]] = p
    start = np.zeros(S)
    start[[number[(*memory.initial().tolist(), z)] for z in range(O)]] = rng.dirichlet(np.ones(O))
    pomdp = from_arrays(
        name="finite history",
        states=names("s", S),
        actions=names("a", A),
        observations=names("z", O),
        transition=law,
        ending=np.maximum(1 - law.sum(2), 0),
        observation=see,
        reward=np.zeros((A, S)),
        start=start,
        first_observation=see[0],
        discount=0.9,
    )
    rows = rng.dirichlet(np.ones(A), S)
    behavior = Controller(
        pomdp.observations, pomdp.actions, memory, np.array(histories), rows, np.full(A, 1 / A)
    )
    return pomdp, behavior


def rejections(k: int, episodes: int, max_steps: int, end: float, runs: int = 200) -> int:
    """Of so many logs of processes for which a window of k is enough; rewards 0 or 1 by chance."""
    rejected = 0
    for run in range(runs):
        rng = random_stream(run, "size", k, episodes, max_steps)
        pomdp, behavior = finite_history(rng, k, O=3, A=2, end=end)
        log_ = simulate(pomdp, behavior, episodes=episodes, seed=rng, max_steps=max_steps)
        log_ = replace(log_, reward=(rng.random(log_.n_steps) < 0.4).astype(float))
        # 19 draws: rejected when the log is the most telling of 20
        rejected += order_test(log_, behavior, seed=rng, resamples=19).rejected
    return rejected


@pytest.mark.parametrize(
    ("k", "episodes", "max_steps", "end"),
    [(1, 50, 40, 0.2), (2, 50, 40, 0.2), (2, 40, 6, 0.0)],
    ids=["window of 1", "window of 2", "all cut off after 6 steps"],
)
def test_a_memory_that_is_enough_is_rejected_as_often_as_promised(k, episodes, max_steps, end):
    assert rejections(k, episodes, max_steps, end) <= MOST


def test_tiger_with_one_observation_is_seen_through_in_200_episodes():
    """With power 0.9 fewer than 23 of 30 have probability 0.008."""
    tiger = models.tiger()
    seeds = (1, 2, 3)
    behaviors = [
        train_behavior(tiger, window(1), softmax=models.training("tiger", tiger).softmax, seed=seed)
        for seed in seeds
    ]
    found = [
        order_test(
            simulate(tiger, behavior, episodes=200, seed=random_stream(run, "data")),
            behavior,
            seed=random_stream(run, "order"),
            resamples=39,
        ).rejected
        for behavior in behaviors
        for run in range(10)
    ]
    assert sum(found) >= 23


# ---- effects ------------------------------------------------------------------------------------


@cache
def forks(seed: int, episodes: int, sure: float) -> Episodes:
    """0 or 1, then 2, then 3 or 4: as 0 or 1 foretold with probability `sure`."""
    rng = random_stream(seed, "fork", episodes)
    first = rng.integers(0, 2, episodes)
    last = np.where(rng.random(episodes) < sure, first, 1 - first) + 3
    return log_of([[a, 2, b] for a, b in zip(first.tolist(), last.tolist(), strict=True)], 5)


def test_gaps_and_chance_add_up_as_squares():
    found = beyond_chance(np.array([0.5, 0.3, 0.1]), np.array([0.4, 0.0, 0.2]))
    assert_allclose(found, [0.3, 0.3, 0])


def test_the_effect_is_the_mean_distance_of_laws():
    """Of half of the steps, 0.9 against one half: 0.2 on average."""
    log_ = forks(1, 4000, 0.9)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"), resamples=99)
    assert found.effect == pytest.approx(0.2, abs=0.015)
    assert found.interval[0] < found.effect < found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.03
    assert found.reward_effect == 0


def test_the_interval_holds_the_effect_in_19_of_20_logs():
    """Fewer than 87 of 100 have probability 0.0015 if it holds it in 95 of 100."""
    held = 0
    for seed in range(100):
        log_ = forks(seed, 200, 0.75)
        found = order_test(log_, only(log_), seed=random_stream(seed, "order"), resamples=49)
        held += found.interval[0] <= 0.125 <= found.interval[1]
    assert held >= 87


def test_where_there_is_no_effect_the_interval_holds_0_and_no_gap_is_named():
    """The low end lies above 0 in 5 of 100 logs, and chance makes a gap of twice its mean in 11;
    more than 12 and 25 have probabilities 0.0015 and 0.00001."""
    above = named = 0
    for seed in range(100):
        log_ = forks(seed, 200, 0.5)
        found = order_test(log_, only(log_), seed=random_stream(seed, "order"), resamples=49)
        above += found.interval[0] > 0
        named += found.largest is not None
    assert above <= 12
    assert named <= 25


def test_the_clearest_gap_is_named():
    log_ = forks(1, 4000, 0.9)
    gap = order_test(log_, only(log_), seed=random_stream(1, "order"), resamples=99).largest
    assert gap.situation in ("z0; now z2", "z1; now z2")
    assert gap.what == {"z0; now z2": "z3", "z1; now z2": "z4"}[gap.situation]
    assert (gap.action, gap.visits > 1900) == ("go", True)
    assert_allclose([gap.here, gap.usual, gap.size], [0.9, 0.5, 0.4], atol=0.03)


def test_a_gap_that_happens_to_be_0_is_not_certain_to_be():
    """15 of 30 both times, by luck."""
    log_ = fork(30, 30, flips=15)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"))
    assert (found.largest, found.largest_reward, found.effect) == (None, None, 0)
    low, high = found.interval
    assert low == 0 < high


def test_names_are_shown_harmless_and_short():
    log_ = replace(
        forks(1, 400, 0.9), observations=("\x1b[2J", "[red]" * 9000, "\u202eb", "c", "d")
    )
    gap = order_test(log_, only(log_), seed=random_stream(1, "order"), resamples=19).largest
    assert len(gap.situation) < 300
    assert gap.situation.isprintable()


def test_few_episodes_have_no_interval():
    log_ = fork(4, 4)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"))
    assert (found.interval, found.reward_interval) == (None, None)


# ---- one memory after the other -----------------------------------------------------------------


def test_the_first_memory_that_is_enough_is_suggested():
    rng = random_stream(3, "second order")
    pomdp, _ = finite_history(rng, 2, O=3, A=1, end=0.1)
    behavior = Controller.uniform(pomdp.observations, pomdp.actions)
    log_ = simulate(pomdp, behavior, episodes=1000, seed=rng)
    found = order_tests(log_, behavior, seed=random_stream(1, "order"))
    assert [(str(test.base), test.rejected) for test in found] == [
        ("window of 1", True),
        ("window of 2", False),
    ]
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


def test_nothing_follows_from_no_test():
    with pytest.raises(ParameterError, match="none to conclude from"):
        suggested(())


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
    assert (str(found.base), str(found.finer)) == (
        "table of 2 nodes",
        "table of 2 nodes × window of 2",
    )
    assert found.p == 0.01


def test_a_memory_that_knows_less_than_the_behavior_is_refused():
    log_ = fork(2, 2)
    behavior = only(log_).lift(window(2))
    with pytest.raises(MemoryMismatch, match=r"join\(behavior\.memory, memory\)"):
        order_test(log_, behavior, seed=random_stream(1, "order"), memory=window(1))


@pytest.mark.parametrize(
    ("finer", "error"),
    [(window(2, actions=True), None), (window(1), "knows no more"), (window(2), None)],
)
def test_the_finer_memory_must_know_more(finer, error):
    log_ = fork(2, 2)
    if error is None:
        assert order_test(log_, only(log_), seed=random_stream(1, "order"), finer=finer).p > 0.05
        return
    with pytest.raises(ParameterError, match=error):
        order_test(log_, only(log_), seed=random_stream(1, "order"), finer=finer)


def test_the_finer_memory_must_know_what_the_base_knows():
    log_ = fork(2, 2)
    with pytest.raises(MemoryMismatch, match=r"join\(memory, finer\)"):
        order_test(log_, only(log_), seed=random_stream(1, "o"), memory=window(3), finer=window(2))


def test_there_is_nothing_longer_than_the_longest_window():
    log_ = fork(2, 2)
    with pytest.raises(ParameterError, match="no obvious longer one"):
        order_test(log_, only(log_), seed=random_stream(1, "order"), memory=window(1000))


# ---- the rest -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"level": 0.0}, "level"),
        ({"level": float("nan")}, "level"),
        ({"resamples": 18}, "Give at least 19"),
        ({"resamples": 0}, "Give at least 19"),
        ({"seed": 0.5}, "numpy Generator"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, said):
    log_ = fork(2, 2)
    with pytest.raises(ParameterError, match=said):
        order_test(log_, only(log_), **settings)


@pytest.mark.parametrize("longest", [1, 2.5, True])
def test_longest_is_a_whole_number_from_2(longest):
    with pytest.raises(ParameterError, match="longest"):
        order_tests(fork(2, 2), only(fork(2, 2)), seed=random_stream(1, "order"), longest=longest)


def test_the_same_generator_gives_the_same_test():
    behavior = listening(0.3)
    log_ = run_tiger(behavior, 100, 1)
    one, two = (order_test(log_, behavior, seed=random_stream(1, "order")) for _ in range(2))
    assert one == two
    other = order_test(log_, behavior, seed=random_stream(2, "order"))
    assert (other.statistic, other.interval) != (one.statistic, one.interval)
    assert other.statistic == one.statistic


def test_names_in_another_order_change_nothing():
    log_ = forks(1, 300, 0.7)
    turned = Controller.uniform(log_.observations[::-1], log_.actions)
    one = order_test(log_, only(log_), seed=random_stream(1, "order"))
    two = order_test(log_, turned, seed=random_stream(1, "order"))
    assert_allclose(one.statistic, two.statistic)
    assert_allclose(one.effect, two.effect, atol=0.01)


def test_of_a_very_long_log_some_episodes_are_tested(monkeypatch):
    monkeypatch.setattr(testing, "MOST_STEPS", 100)
    log_ = forks(1, 400, 0.9)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"))
    assert found.episodes == 50
    assert found.decided == 50


def test_draws_follow_the_size_of_the_log_but_can_always_reject():
    assert testing._draws(1000, 0.05) == 199
    assert testing._draws(100_000, 0.05) == 100
    assert testing._draws(10**9, 0.05) == 19
    assert testing._draws(10**9, 0.001) == 999


# ---- in a check ---------------------------------------------------------------------------------


def test_a_check_tells_the_memory_that_is_asked_for():
    behavior = listening(0.3)
    replays = Replays(run_tiger(behavior, 600, 1))
    found = order_of(replays, behavior, Settings(0.05, 39), random_stream(1, "check"))
    assert [step.memory for step in found.tests][:2] == ["window of 1", "window of 2"]
    assert found.verdict.status == "look"
    assert found.verdict.sentence.startswith("A window of 1 is not enough")
    assert found.verdict.sentence.endswith(f"a {found.suggested}.")


def test_a_check_of_a_memory_that_is_enough_passes():
    log_ = fork(30, 30, flips=15)
    found = order_of(Replays(log_), only(log_), Settings(), random_stream(1, "check"))
    assert (found.verdict.status, found.suggested, found.enough) == ("passed", "window of 1", True)


def test_a_check_of_the_longest_window_says_that_there_is_no_longer_one():
    log_ = fork(2, 2)
    longest = only(log_).lift(window(1000))
    found = order_of(Replays(log_), longest, Settings(), random_stream(1, "check"))
    assert (found.tests, found.verdict.status) == ((), "look")


@given(cases(), st.integers(0, 3))
def test_any_log_can_be_tested(case, seed):
    log_, base, _ = case
    behavior = Controller.uniform(log_.observations, log_.actions, base)
    found = check(log_, behavior, seed=random_stream(seed, "check"), level=0.5, resamples=3).order
    for step in found.tests:
        assert 0 < step.p <= 1
        assert 0 <= step.effect <= 1
        assert 0 <= step.reward_effect < np.inf
