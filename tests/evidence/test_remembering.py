"""Memory that is learned from a log."""

from __future__ import annotations

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.loops import best_merge, close
from jumar.evidence.remembering import _evidence, drop_unvisited, merge_nodes, redirect_moves
from jumar.evidence.remembering.coded import PRIOR, CodedLog
from jumar.lab.truth.belief import limit_mdp
from jumar.memory.refinement import refines
from jumar.tally.replay import Replays
from memory_logs import corridor, noise, upkeep


def best_with(pomdp, behavior, memory) -> float:
    """What the best policy over a memory is worth, learned from infinitely many episodes."""
    from jumar.algorithms import run

    found = run("basic", limit_mdp(pomdp, behavior, memory), behavior)
    return jm.evaluate(pomdp, found.controller).value


def told_of(log, behavior) -> CodedLog:
    return CodedLog.of(Replays.of(log).over(behavior.memory))


# ---- what it finds ------------------------------------------------------------------------------


def test_the_time_since_the_last_inspection():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=2000, seed=1)
    memory = jm.learn_memory(log, behavior)
    assert memory.count_nodes() <= 8
    assert best_with(pomdp, behavior, memory) == pytest.approx(jm.optimum(pomdp).lower, abs=1e-3)
    # no window of twice as many nodes comes near
    assert best_with(pomdp, behavior, jm.window(3)) < 2.3


def test_a_sign_that_no_window_holds():
    """The order test sees nothing here, and one observation more tells nothing."""
    pomdp, behavior = corridor()
    memory = jm.learn_memory(jm.simulate(pomdp, behavior, episodes=1000, seed=1), behavior)
    assert set(memory.nodes) == {"start", "sign up", "sign down"}
    assert best_with(pomdp, behavior, memory) == pytest.approx(jm.optimum(pomdp).lower)


@pytest.mark.parametrize("episodes", [1, 2, 20, 100, 500])
def test_a_log_that_asks_for_nothing_teaches_nothing(episodes):
    found = [noise(seed, episodes) for seed in range(10)]
    fair = jm.Controller.uniform(found[0].observations, found[0].actions)
    learned_ = [jm.learn_memory(log, fair) for log in found]
    assert sum(memory != fair.memory for memory in learned_) <= 1


def test_it_refines_what_the_behavior_remembers():
    tiger = jm.models.tiger()
    log = jm.simulate(
        tiger, jm.Controller.uniform(tiger.observations, tiger.actions), episodes=3000, seed=1
    )
    behavior = jm.Controller.uniform(tiger.observations, tiger.actions, jm.window(2))
    memory = jm.learn_memory(log, behavior)
    assert refines(memory, behavior.memory)
    lifted = behavior.lift(memory)
    assert jm.evaluate(tiger, lifted).value == pytest.approx(jm.evaluate(tiger, behavior).value)


def test_it_has_at_most_as_many_nodes_as_asked_for():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=3000, seed=1)
    sizes = [jm.learn_memory(log, behavior, most_nodes=n).count_nodes() for n in (1, 2, 3, 16)]
    assert sizes[0] == 1
    assert all(size <= n for size, n in zip(sizes, (1, 2, 3, 16), strict=True))
    for wrong in (0, -1, 2.5, True, 10_000, "4"):
        with pytest.raises(ParameterError, match="most_nodes"):
            jm.learn_memory(log, behavior, most_nodes=wrong)


def test_the_same_log_teaches_the_same_and_names_do_not_matter():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=1500, seed=1)
    one = jm.learn_memory(log, behavior)
    assert one == jm.learn_memory(log, behavior)
    backwards = log.select(np.arange(len(log))[::-1])
    other = jm.learn_memory(backwards, behavior)
    assert np.array_equal(one.next, other.next)


# ---- odd logs -----------------------------------------------------------------------------------


def test_one_observation_one_action_one_episode():
    one = jm.Episodes(("z",), ("a",), [0], [0], [1.0], [0, 1], [-1], [True])
    fair = jm.Controller.uniform(("z",), ("a",))
    assert jm.learn_memory(one, fair) == fair.memory
    many = jm.Episodes(("z",), ("a",), [0] * 90, [0] * 90, [0.0, 1, 1] * 30, [0, 90], [0], [False])
    assert jm.learn_memory(many, fair).count_nodes() <= 16


def test_a_log_of_which_nobody_knows_what_followed():
    log = jm.Episodes(("z",), ("a",), [0, 0], [0, 0], [1.0, 2.0], [0, 1, 2], [-1, -1], [False] * 2)
    fair = jm.Controller.uniform(("z",), ("a",))
    assert jm.learn_memory(log, fair) == fair.memory


def test_a_huge_alphabet():
    log = noise(1, 3000, n_observations=2000, n_actions=30)
    fair = jm.Controller.uniform(log.observations, log.actions)
    assert jm.learn_memory(log, fair) == fair.memory


def test_a_behavior_that_leaves_nothing_to_chance():
    pomdp, _ = upkeep()
    runs = jm.Controller.constant(pomdp.observations, pomdp.actions, [1.0, 0.0])
    log = jm.simulate(pomdp, runs, episodes=2000, seed=1)
    memory = jm.learn_memory(log, runs)
    assert 1 < memory.count_nodes() <= 16  # how long it has been running
    assert jm.evaluate(pomdp, runs.lift(memory)).value == pytest.approx(
        jm.evaluate(pomdp, runs).value
    )


def test_names_that_are_too_long_or_taken_stay_apart(tmp_path):
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=2000, seed=1)
    long = tuple(f"{'x' * 300}{i}" for i in range(3))
    log = jm.Episodes(
        long, ("*!" * 99, "start"), log.observation, log.action, log.reward, log.start,
        log.final_observation, log.terminated,
    )  # fmt: skip
    fair = jm.Controller.constant(long, log.actions, [0.7, 0.3])
    memory = jm.learn_memory(log, fair)
    assert len(set(memory.nodes)) == len(memory.nodes) > 2
    assert max(map(len, memory.nodes)) <= 60
    fair.lift(memory).save(tmp_path / "c.json")
    assert jm.load_controller(tmp_path / "c.json").memory == memory


# ---- its parts ----------------------------------------------------------------------------------


def test_a_merger_takes_along_what_both_lead_to():
    moves = np.array([[1, 2], [1, 3], [1, 3], [4, 4], [4, 0]])
    group = np.empty(5, np.int64)
    close(moves, 1, 2, group)
    assert group.tolist() == [0, 1, 1, 3, 4]
    close(moves, 0, 1, group)  # 0 and 1 by the second symbol: 2 and 3; these: 1 and 4, 3 and 4
    for n, g in enumerate(group):
        assert (group[moves[n]] == group[moves[g]]).all()


def test_the_best_merger_is_the_best_of_all_pairs():
    rng = random_stream(1, "mergers")
    moves = rng.integers(0, 6, (6, 2))
    counts = rng.integers(0, 20, (6, 5)).astype(float)
    pair, outcomes = np.array([0, 0, 1, 1, 1]), np.array([2, 3])

    def evidence(rows):
        from scipy.special import gammaln

        total = 0.0
        for row in rows:
            for p, C in enumerate(outcomes):
                n = row[pair == p]
                total += gammaln(C * PRIOR) - gammaln(C * PRIOR + n.sum())
                total += (gammaln(PRIOR + n) - gammaln(PRIOR)).sum()
        return total

    gain, chosen = best_merge(moves, counts, pair, outcomes, PRIOR)
    gains, group = [], np.empty(6, np.int64)
    for m in range(6):
        for n in range(m + 1, 6):
            close(moves, m, n, group)
            joined = [counts[group == g].sum(0) for g in np.unique(group)]
            gains.append(evidence(joined) - evidence(counts))
    assert gain == pytest.approx(max(gains))
    assert len(np.unique(chosen)) < 6


def test_redirecting_and_merging_never_lose_evidence():
    pomdp, behavior = upkeep()
    told = told_of(jm.simulate(pomdp, behavior, episodes=400, seed=1), behavior)
    for seed in range(5):
        moves = random_stream(seed, "moves").integers(0, 4, (4, len(told.seen)))
        moves = drop_unvisited(told, moves)
        better = redirect_moves(told, moves)
        assert _evidence(told, better) >= _evidence(told, moves) - 1e-6
        assert _evidence(told, merge_nodes(told, better, 16)) >= _evidence(told, better) - 1e-6
