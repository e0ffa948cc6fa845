"""Selection and the gate: candidates, the kernel's twin, what passes, and how much it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jumar.selection.gate import critical_value, gate, hidden, missing, normal, student

import jumar as jm
from jumar import kernels
from jumar.controller import Controller
from jumar.episodes import Episodes
from jumar.memory import Table, window
from jumar.offpolicy.estimators import doubly_robust
from jumar.offpolicy.weights import final, ratios
from jumar.selection import select
from jumar.selection.board import View, chain, lay_out
from jumar.selection.candidates import Judge, candidates
from jumar.selection.samples import episodes_needed, needs
from strategies import logs, names

Z, A = names("z", 2), names("a", 2)
TIGER = jm.models.tiger()


def uniform_tiger() -> Controller:
    return Controller.uniform(TIGER.observations, TIGER.actions)


def tiger_log(episodes: int, seed: int = 1) -> Episodes:
    return jm.simulate(TIGER, uniform_tiger(), episodes=episodes, rng=jm.stream(seed, "data"))


def coin_log(n: int, better: float, rng: np.random.Generator) -> Episodes:
    """One step each, actions in turn; repair pays `better` more than keep, both with unit noise."""
    action = np.arange(n) % 2
    reward = rng.standard_normal(n) + better * action
    return Episodes(
        ("good",), ("keep", "repair"), [0] * n, action, reward,
        np.arange(n + 1), [-1] * n, [True] * n,
    )  # fmt: skip


HALF = Controller.uniform(("good",), ("keep", "repair"))


# ---- the board ----------------------------------------------------------------------------------


def test_memories_to_try_grow_by_one_observation():
    two = window(2).on(2, 3)
    assert [str(m) for m in chain(two, None, 2)] == ["window of 2", "window of 3", "window of 4"]
    assert [str(m) for m in chain(two, window(4), 2)] == ["window of 2", "window of 4"]
    assert chain(two, window(1), 2) == [two]
    phases = Table(("odd", "even"), np.tile([[[1]], [[0]]], (1, 2, 3))).on(2, 3)
    assert [str(m) for m in chain(phases, None, 1)] == [
        "table of 2 nodes",
        "table of 2 nodes × window of 2",
    ]


def test_a_memory_that_spreads_the_log_too_thin_is_left_out(monkeypatch):
    monkeypatch.setattr("jumar.selection.board.MOST_STATES", 10)
    log = tiger_log(200)
    memories = chain(uniform_tiger().memory, None, 3)
    board = lay_out(log, uniform_tiger(), 0.95, memories)
    assert [str(m) for m in board.memories] == ["window of 1", "window of 2"]
    assert len(board.states) == 6  # two first observations, and two after each of two


# ---- judging ------------------------------------------------------------------------------------


@given(logs(Z, A), st.integers(0, 10_000))
def test_the_kernel_is_the_estimator_written_out(log, seed):
    """Where every episode ended, the compiled tables give what off-policy evaluation gives."""
    log = Episodes(
        log.observations, log.actions, log.observation, log.action, log.reward, log.start,
        [-1] * len(log), [True] * len(log),
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    q, rows = rng.standard_normal((2, 2)), rng.dirichlet([1, 1], 2)
    v = (rows * q).sum(1)
    ratio = rows / 0.5
    at, every = log.observation, np.arange(len(log))
    compiled = kernels.doubly_robust(
        at, log.action, log.reward, log.start, log.lengths, every, np.zeros(len(log)),
        ratio, q, v, 0.9,
    )  # fmt: skip
    behavior = Controller.uniform(Z, A)
    target = Controller(Z, A, window(1), [[0], [1]], rows, [0.5, 0.5])
    taken = ratios(log, target, behavior)
    obvious = doubly_robust(taken, log.reward, q[at, log.action], v[at], log.start, 0.9)
    np.testing.assert_allclose(compiled, obvious, atol=1e-9)
    # without a discount only the last weight of an episode counts
    weighed = kernels.episode_weights(at, log.action, log.start, log.lengths, every, ratio, 1.0)
    np.testing.assert_allclose(weighed, final(taken, log.start))


def test_an_episode_that_was_cut_off_goes_on_with_the_behaviors_value():
    """Two steps at 1 each in one situation, cut off with the last observation known: the model of
    the other half says 1/(1-γ) = 10 from any situation on, so the score is exactly that."""
    n = 8
    log = Episodes(
        ("good",), ("keep", "repair"), [0] * 2 * n, [0, 1] * n, [1.0] * 2 * n,
        np.arange(0, 2 * n + 1, 2), [0] * n, [False] * n,
    )  # fmt: skip
    board = lay_out(log, HALF, 0.9, [HALF.memory])
    assert board.after.tolist() == [0] * n
    unknown = Episodes(
        ("good",), ("keep", "repair"), [0] * 2 * n, [0, 1] * n, [1.0] * 2 * n,
        np.arange(0, 2 * n + 1, 2), [-1] * n, [False] * n,
    )  # fmt: skip
    assert lay_out(unknown, HALF, 0.9, [HALF.memory]).length.tolist() == [1] * n
    scores = kernels.doubly_robust(
        board.at, log.action, log.reward, log.start, board.length, np.arange(n), np.full(n, 10.0),
        np.ones((1, 2)), np.full((1, 2), 10.0), np.array([10.0]), 0.9,
    )  # fmt: skip
    np.testing.assert_allclose(scores, 10.0)


def test_the_behavior_itself_is_never_a_candidate_and_no_candidate_comes_twice():
    log = tiger_log(400)
    board = lay_out(log, uniform_tiger(), 0.95, chain(window(1).on(2, 3), None, 2))
    half = np.arange(200)
    found = candidates(board, half, half + 200)
    tables = {c.rows.tobytes() for c in found}
    assert len(tables) == len(found)
    assert board.behavior_rows.tobytes() not in tables
    for c in found:
        np.testing.assert_allclose(c.rows.sum(1), 1)
        assert len(c.own) == len(c.held_out) == 200


def test_held_out_differences_estimate_the_true_gain_without_bias():
    """A fixed candidate over 200 logs of 60 episodes; its mean misses the exact gain by more than
    four standard errors once in 16,000 runs."""
    target = jm.spibb(jm.count(tiger_log(5000), window(1)).mle(0.95), uniform_tiger(), n_wedge=5)
    truth = jm.evaluate(TIGER, target.controller).value - jm.evaluate(TIGER, uniform_tiger()).value
    means = []
    for seed in range(200):
        log = tiger_log(60, seed + 100)
        board = lay_out(log, uniform_tiger(), 0.95, [uniform_tiger().memory])
        view = View(board, board.count(np.arange(30)).mle(0.95))
        rows = target.controller.rows_at(board.states)
        means.append(Judge(view, np.arange(30, 60))(rows).mean())
    error = np.std(means, ddof=1) / math.sqrt(len(means))
    assert abs(np.mean(means) - truth) < 4 * error


# ---- the gate -----------------------------------------------------------------------------------


def test_one_candidate_is_tested_by_student():
    rng = np.random.default_rng(1)
    y = rng.standard_normal((1, 50))
    # one variable: the quantile of a normal, stretched; never below Student's own
    assert critical_value(y, 0.025, rng) == pytest.approx(student(0.025, 50), rel=0.08)
    assert student(0.025, 50) == pytest.approx(2.0096, abs=1e-4)
    assert normal(0.025) == pytest.approx(1.95996, abs=1e-5)


def test_candidates_that_differ_cost_what_sidak_says():
    """J independent ones: the quantile of the largest is Φ⁻¹((1-α)^(1/J))."""
    rng = np.random.default_rng(2)
    y = rng.standard_normal((8, 20_000))
    exact = normal(1 - 0.95 ** (1 / 8))
    assert critical_value(y, 0.05, rng) == pytest.approx(exact, abs=0.08)


def test_what_stays_hidden_is_the_rule_of_three():
    assert hidden(0.05, 100, 100.0) == pytest.approx(0.029957, abs=1e-6)
    # where the weights are worth 20 episodes, two in twenty
    assert hidden(0.05, 100, 20.0) == 0.1
    assert hidden(0.05, 100, 0.0) == math.inf


def test_what_the_weights_lack_is_missing():
    """Half of what the candidate does never occurs: the weights' mean is near 1/2, not 1."""
    rng = np.random.default_rng(1)
    fair = rng.choice([0.0, 2.0], 4000)
    assert missing(fair, 0.025) == 0.0
    half = fair / 2
    error = half.std(ddof=1) / math.sqrt(4000)
    assert missing(half, 0.025) == pytest.approx(1 - half.mean() - 1.95996 * error, abs=1e-4)


def test_a_lower_bound_by_hand():
    y, once = np.array([1.0, 3.0] * 8), np.ones(16)
    test = gate(y[None, :], delta=0.1, range=2.0, rng=np.random.default_rng(1))
    s = y.std(ddof=1)
    unseen = math.log(10) * 2 / 16
    assert test.lower(y, once) == pytest.approx(2 - test.critical * s / 4 - unseen)
    # weights worth one episode: two in one may be unseen, twice the range
    one = np.eye(16)[0] * 16
    assert test.lower(y, one) == pytest.approx(2 - test.critical * s / 4 - 2 * 2)
    # and where half the weight is lacking, half the range is lost
    assert test.lower(y, once / 2) == pytest.approx(test.lower(y, once) - 2 * 0.5)
    assert test.critical >= student(0.05, 16)


def test_two_episodes_decide_nothing():
    test = gate(np.ones((3, 1)), delta=0.05, range=1.0, rng=np.random.default_rng(1))
    assert test.lower(np.array([100.0]), np.ones(1)) == -math.inf


# ---- selection ----------------------------------------------------------------------------------


def test_a_clear_gain_passes_and_is_what_was_chosen():
    log = coin_log(2000, better=1.0, rng=np.random.default_rng(1))
    found = select(log, HALF, discount=0.9, rng=jm.stream(1, "selection"))
    assert found.chosen is not None
    assert found.chosen.passed
    assert found.controller.row([], "good").tolist() == [0.0, 1.0]
    assert 0 < found.chosen.lower < 0.5 < found.chosen.gain + 4 * found.chosen.error


def test_without_a_difference_the_behavior_stays():
    log = coin_log(60, better=0.0, rng=np.random.default_rng(1))
    found = select(log, HALF, discount=0.9, rng=jm.stream(1, "selection"))
    assert found.chosen is None
    assert found.controller is HALF


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_tiny_log_changes_nothing(n):
    log = coin_log(n, better=5.0, rng=np.random.default_rng(1))
    found = select(log, HALF, discount=0.9, rng=jm.stream(1, "selection"))
    assert found.chosen is None


def test_a_behavior_that_never_deviates_leaves_nothing_to_choose():
    always = Controller.constant(("good",), ("keep", "repair"), [1.0, 0.0])
    log = coin_log(100, better=1.0, rng=np.random.default_rng(1)).select(np.arange(0, 100, 2))
    found = select(log, always, discount=0.9, rng=jm.stream(1, "selection"))
    assert (found.chosen, found.tried, found.best) == (None, 0, None)


def test_the_same_seed_gives_the_same_choice():
    log = tiger_log(1000)
    one, two = (
        select(log, uniform_tiger(), discount=0.95, rng=jm.stream(5, "selection")) for _ in range(2)
    )
    assert one.trials == two.trials
    assert one.controller.same_as(two.controller)


def test_nothing_useful_is_rarely_taken_for_something():
    """Both actions pay alike, 300 logs of 80 episodes: each half may err in 2.5 % of them. More
    than 28 of 300 at 5 % would happen once in a thousand runs; the allowance makes it rarer."""
    wrong = 0
    for seed in range(300):
        log = coin_log(80, better=0.0, rng=np.random.default_rng(seed))
        found = select(log, HALF, discount=0.9, rng=jm.stream(seed, "selection"), thresholds=(5,))
        wrong += found.chosen is not None
    assert wrong <= 28


def test_too_little_memory_is_found_out_by_held_out_episodes():
    """The best memoryless behavior of Voicemail is a mixture; every change to it loses, and the
    model, short of memory, promises gains all the same. 20 logs of 1,000 episodes."""
    pomdp = jm.models.voicemail()
    rows = np.array([[0.0, 1.0, 0.0], [0.4953, 0.0, 0.5047]])
    behavior = Controller(
        pomdp.observations, pomdp.actions, window(1), [[0], [1]], rows, [1 / 3] * 3
    )
    value = jm.evaluate(pomdp, behavior).value
    worse = plain = 0
    for seed in range(20):
        log = jm.simulate(pomdp, behavior, episodes=1000, rng=jm.stream(seed, "data"))
        found = select(
            log, behavior, discount=0.95, rng=jm.stream(seed, "selection"), memory=window(1)
        )
        worse += jm.evaluate(pomdp, found.controller).value < value - 1e-9
        fixed = jm.spibb(jm.count(log, window(1)).mle(0.95), behavior, n_wedge=5)
        plain += jm.evaluate(pomdp, fixed.controller).value < value - 1e-9
    assert plain >= 15
    assert worse <= 2


# ---- how many episodes --------------------------------------------------------------------------


def test_the_size_of_a_log_by_hand():
    # half of the episodes are held out; 1.96 · 10/√m = 1 at m = 384.2
    size = {"deviation": 10.0, "critical": 1.96, "delta": 0.05}
    assert episodes_needed(1.0, range=0.0, power=0.5, **size) == 770
    assert episodes_needed(0.0, range=0.0, power=0.5, **size) is None
    assert episodes_needed(1.0, range=0.0, power=0.8, **size) > 770
    # without noise only what may be hidden counts: ln 20 · 100/m = 1
    alone = {"deviation": 0.0, "critical": 1.96, "delta": 0.05}
    assert episodes_needed(1.0, range=100.0, power=0.5, **alone) == 2 * 300


def test_a_plan_holds_on_new_logs():
    """The size planned for an 80 % chance certifies in most of 40 new logs of that size: fewer than
    22 would happen once in 5,000 runs if 80 % were exact, and a plan is rougher than that."""
    first = select(
        coin_log(120, better=0.7, rng=np.random.default_rng(4)), HALF, discount=0.9,
        rng=jm.stream(1, "selection"),
    )  # fmt: skip
    (need,) = needs(first, gains=[0.35], powers=(0.8,))  # always repairing gains half of 0.7
    assert need.episodes is not None
    passed = 0
    for seed in range(40):
        log = coin_log(need.episodes, better=0.7, rng=np.random.default_rng(1000 + seed))
        found = select(log, HALF, discount=0.9, rng=jm.stream(seed, "selection"))
        passed += found.chosen is not None
    assert passed >= 22
