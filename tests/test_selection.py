"""Selection and its two gates: candidates, what passes, what is refused, and how much it takes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.algorithms.auto import held_out_test, proved, select
from jumar.algorithms.auto.asymptotic import critical_value, gate, hidden, missing, normal, student
from jumar.algorithms.auto.bets import Bet, Growth
from jumar.algorithms.auto.board import chain, lay_out
from jumar.algorithms.auto.candidates import UNBOUNDED, Fitted, Workbench
from jumar.algorithms.auto.dealing import deal
from jumar.algorithms.auto.fitting import fit, number, steps_of
from jumar.algorithms.auto.limits import limits_of
from jumar.algorithms.auto.proved import PASSING, SHARES, Listed, Prospect, outcomes
from jumar.algorithms.auto.samples import needs, units_needed
from jumar.algorithms.auto.trials import GATES, Setting
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.errors import ParameterError
from jumar.core.memory import NamedNodes, window
from jumar.core.replay import ENDED
from jumar.evidence.rewards import RewardRange
from jumar.solve.iteration import RawModel
from jumar.solve.sweeps import values_by_step
from strategies import names, random_controller, random_pomdp

Z, A = names("z", 2), names("a", 2)
TIGER = jm.models.tiger()
NAMES = ("good",), ("keep", "repair")
HALF = Controller.uniform(*NAMES)
both_gates = pytest.mark.parametrize("which", GATES)


def uniform_tiger() -> Controller:
    return Controller.uniform(TIGER.observations, TIGER.actions)


def tiger_log(episodes: int, seed: int = 1) -> Episodes:
    return jm.simulate(
        TIGER, uniform_tiger(), episodes=episodes, seed=jm.random_stream(seed, "data")
    )


def coin_log(n: int, better: float, rng: np.random.Generator) -> Episodes:
    """One step each, actions in turn; repair pays `better` more than keep, both with unit noise."""
    action = np.arange(n) % 2
    reward = rng.standard_normal(n) + better * action
    return Episodes(*NAMES, [0] * n, action, reward, np.arange(n + 1), [-1] * n, [True] * n)


def bench_of(
    log: Episodes,
    behavior: Controller,
    discount: float,
    more: int = 1,
    rewards: RewardRange | None = None,
) -> Workbench:
    board = lay_out(log, behavior, discount, chain(behavior.memory, None, more))
    dealt = deal(log, jm.random_stream(1, "selection"))
    return Workbench(board, number(board), dealt, limits_of(log, discount, rewards))


def choose(log, behavior, which, seed=1, discount=0.9, **more):
    rng = jm.random_stream(seed, "selection")
    return select(log, behavior, discount=discount, seed=rng, gate=which, **more)


# ---- the board ----------------------------------------------------------------------------------


def test_memories_to_try_grow_by_one_observation():
    two = window(2).on(2, 3)
    assert [str(m) for m in chain(two, None, 2)] == ["window of 2", "window of 3", "window of 4"]
    assert [str(m) for m in chain(two, window(4), 2)] == ["window of 2", "window of 4"]
    assert chain(two, window(1), 2) == [two]
    phases = NamedNodes(("odd", "even"), np.tile([[[1]], [[0]]], (1, 2, 3))).on(2, 3)
    assert [str(m) for m in chain(phases, None, 1)] == [
        "table of 2 nodes",
        "table of 2 nodes × window of 2",
    ]


def test_a_memory_that_spreads_the_log_too_thin_is_left_out(monkeypatch):
    monkeypatch.setattr("jumar.algorithms.auto.board.MOST_STATES", 10)
    log = tiger_log(200)
    memories = chain(uniform_tiger().memory, None, 3)
    board = lay_out(log, uniform_tiger(), 0.95, memories)
    assert [str(m) for m in board.memories] == ["window of 1", "window of 2"]
    assert len(board.replay.states) == 6  # two first observations, and two after each of two


def test_an_episode_that_was_cut_off_stands_where_it_was_cut():
    n = 8
    columns = [0] * 2 * n, [0, 1] * n, [1.0] * 2 * n, np.arange(0, 2 * n + 1, 2)
    told = Episodes(*NAMES, *columns, [0] * n, [False] * n)
    board = lay_out(told, HALF, 0.9, [HALF.memory])
    assert board.after.tolist() == [0] * n
    assert board.length.tolist() == [2] * n
    unknown = Episodes(*NAMES, *columns, [-1] * n, [False] * n)
    assert lay_out(unknown, HALF, 0.9, [HALF.memory]).length.tolist() == [1] * n
    over = Episodes(*NAMES, *columns, [-1] * n, [True] * n)
    assert lay_out(over, HALF, 0.9, [HALF.memory]).after.tolist() == [ENDED] * n


def test_models_from_one_replay_are_the_models_of_the_parts():
    """Every memory, some of the episodes: the same numbers as counting them alone."""
    log = tiger_log(60)
    bench = bench_of(log, uniform_tiger(), 0.95, more=2)
    some = np.arange(10, 50, 3)
    for numbered in bench.numbered:
        found = fit(bench.board, numbered, steps_of(bench.board, some))
        alone = jm.count(log.select(some), numbered.memory).mle(0.95)
        where = found.index.find(alone.states)
        assert (where >= 0).all()
        np.testing.assert_array_equal(found.visits[where], alone.visits)
        np.testing.assert_allclose(found.reward[where], alone.reward, atol=1e-12)
        np.testing.assert_allclose(found.ending[where], alone.ending, atol=1e-12)
        np.testing.assert_allclose(found.start[where], alone.start, atol=1e-12)
        assert found.visits.sum() == alone.visits.sum()
        behavior = uniform_tiger().lift(numbered.memory)
        values = [
            m.start @ jm.solve.solver.policy_value(m, m.policy_of(behavior)) for m in (found, alone)
        ]
        assert values[0] == pytest.approx(values[1], abs=1e-9)


# ---- candidates ---------------------------------------------------------------------------------


def test_the_behavior_itself_is_never_a_candidate_and_no_candidate_comes_twice():
    bench = bench_of(tiger_log(400), uniform_tiger(), 0.95, more=2)
    half = np.arange(200)
    found = list(bench.candidates(half, "asymptotic", distinct=True))
    tables = {c.rows.tobytes() for c in found}
    assert len(tables) == len(found) > 10
    for c in (*found, *bench.candidates(half, "proved")):
        assert c.rows.tobytes() != bench.board.behavior_rows.tobytes()
        assert (c.rows >= 0).all()
        np.testing.assert_allclose(c.rows.sum(1), 1)
        assert len(bench.scores(c, half + 200, UNBOUNDED)[0]) == 200
        assert len(bench.weights(c.rows, half + 200)) == 200


@pytest.mark.parametrize("seed", range(4))
def test_expectations_stay_within_what_returns_allow(seed):
    """M1: nothing that a model believes is larger than the range of returns."""
    rng = np.random.default_rng(seed)
    pomdp = random_pomdp(rng, 3, 2, 2, 0.9)
    behavior = random_controller(rng, pomdp, window(1))
    log = jm.simulate(
        pomdp, behavior, episodes=40, max_steps=5, seed=jm.random_stream(seed, "data")
    )
    for rewards in (None, RewardRange.constant(-20, 30)):
        bench = bench_of(log, behavior, 0.9, rewards=rewards)
        R = bench.limits.high - bench.limits.low
        own = np.arange(20)
        for c in (*bench.candidates(own, "proved"), *bench.candidates(own, "asymptotic")):
            for table in (c.above, c.below):
                assert (table >= 0).all()
                for t, at_step in enumerate(table):
                    assert at_step.max() <= R[t] * (1 + 1e-12)


def test_values_by_step_by_hand():
    """One situation that pays 1 for keeping and 3 for repairing, for ever; even odds. With one step
    to go 1 and 3, before that 2 more at γ = 1/2: then 1 + 1, 3 + 1."""
    both = RawModel(
        np.array([0, 1, 2]), np.array([0, 0]), np.array([1.0, 1.0]), np.array([[1.0, 3.0]]),
        np.array([[9.0, 9.0]]),
    )  # fmt: skip
    values = values_by_step(both, np.array([[0.5, 0.5]]), 0.5, 3)
    assert values[:, 0].tolist() == [[2.5, 4.5], [2, 4], [1, 3]]
    # repairing was never tried: it is worth what the situation is worth otherwise
    one = RawModel(
        np.array([0, 1, 1]), np.array([0]), np.array([1.0]), np.array([[1.0, 0.0]]),
        np.array([[9.0, 0.0]]),
    )  # fmt: skip
    values = values_by_step(one, np.array([[0.5, 0.5]]), 0.5, 2)
    assert values[:, 0].tolist() == [[1.5, 1.5], [1, 1]]


@pytest.mark.parametrize("budget", [0.5, 4.0, None])
def test_held_out_differences_estimate_the_true_gain_without_bias(budget):
    """A fixed candidate with the Q̂ of 30 episodes over 200 logs of 30 more; its mean misses the
    exact gain by more than four standard errors once in 16,000 runs. Floored or not."""
    target = jm.spibb(jm.count(tiger_log(5000), window(1)).mle(0.95), uniform_tiger(), n_wedge=5)
    truth = jm.evaluate(TIGER, target.controller).value - jm.evaluate(TIGER, uniform_tiger()).value
    rewards = RewardRange((-1, -1), (-100, 10))
    means = []
    for seed in range(200):
        bench = bench_of(tiger_log(60, seed + 100), uniform_tiger(), 0.95, 0, rewards)
        own = next(bench.candidates(np.arange(30), "proved"))
        candidate = replace(own, rows=target.controller.rows_at(bench.board.replay.states))
        floor = UNBOUNDED if budget is None else bench.limits.range * (1 + budget)
        scores, _ = bench.scores(candidate, np.arange(30, 60), floor)
        assert scores.min() >= -floor
        means.append(scores.mean())
    error = np.std(means, ddof=1) / math.sqrt(len(means))
    assert abs(np.mean(means) - truth) < 4 * error


# ---- the asymptotic gate ------------------------------------------------------------------------


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
    """ln 20 / 100 where nothing weighs otherwise; two in twenty where 20 episodes of weight 5 stand
    for all that the candidate does."""
    assert hidden(0.05, np.ones(100)) == pytest.approx(0.029957, abs=1e-6)
    assert hidden(0.05, np.repeat([5.0, 0.0], [20, 80])) == pytest.approx(0.1)


def test_a_change_in_a_rare_situation_is_charged_by_the_episodes_that_show_it():
    """M3: 990 of 1,000 episodes go on as before; of ten, two did what the candidate does, with
    weight 5. Those stand for 1 % of its episodes, and two of two may be hidden: 2 · .01 / 2."""
    weights = np.concatenate([np.ones(990), [5.0] * 2, [0.0] * 8])
    assert hidden(0.05, weights) == pytest.approx(0.01)
    # as the kernel computes them at γ = 0.95, ones are not exactly 1
    rounded = np.concatenate([np.full(990, 1 - 4e-16), [5.0] * 2, [0.0] * 8])
    assert hidden(0.05, rounded) == pytest.approx(0.01)
    # declared: the worst that one episode's worth of its heaviest weight can hide
    assert hidden(0.05, weights, declared=True) == pytest.approx(math.log(20) * 5 / 1000)
    assert hidden(0.05, np.ones(100), declared=True) == hidden(0.05, np.ones(100))


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
    # where half the weight is lacking, half the range is lost; and 16 changed episodes hide 2/16·½
    less = test.lower(y, once / 2)
    assert less == pytest.approx(test.lower(y, once) - 2 * 0.5, abs=1e-12)
    assert test.critical >= student(0.05, 16)


def test_what_is_refused_whatever_its_bound():
    y, ones = np.array([1.0, 3.0] * 50), np.ones(100)
    test = gate(y[None, :], delta=0.1, range=2.0, rng=np.random.default_rng(1), most=5.0)
    assert test.refusal(y, ones) == ""
    assert "20 % of what it does is not in the log" in test.refusal(y, 0.8 * ones)
    assert test.refusal(y, 0.91 * ones) == ""  # less than a tenth is missing
    few = np.repeat([100 / 9, 0.0], [9, 91])
    assert "fewer than 10 of its own episodes" in test.refusal(y, few)
    assert "larger than any return" in test.refusal(y + 3.5, ones)  # 5.5 > 5


def test_two_episodes_decide_nothing():
    test = gate(np.ones((3, 1)), delta=0.05, range=1.0, rng=np.random.default_rng(1))
    assert test.lower(np.array([100.0]), np.ones(1)) == -math.inf


# ---- the proved gate ----------------------------------------------------------------------------


def listed(floor: float, fraction: float) -> Listed:
    setting = Setting(HALF.memory, "tilt", (("n_wedge", 5),))
    empty = np.zeros((1, 1, 2))
    prospect = Prospect(setting, 1.0, floor, Growth(fraction, 0.1, 1.0), 100)
    return Listed(Fitted(setting, empty[0], empty, empty, 1.0), prospect)


def test_one_that_passes_hands_its_level_on():
    """The first has most of the level. A sure winner, a sure loser, two winners."""
    δ = 0.1
    four = [listed(1.0, 0.5)] * 4
    win, lose = np.ones(50), np.full(50, -0.5)
    block = np.arange(50)
    found = outcomes(four, [(x, block) for x in (win, lose, win, win)], δ)
    assert [x.passed for x in found] == [True, False, True, True]
    base = PASSING * δ / 2
    first, second, third, fourth = SHARES[:4]
    assert [x.level for x in found] == pytest.approx(
        [base * first, base * (first + second), base * third, base * (third + fourth)]
    )
    assert [x.lower > 0 for x in found] == [True, False, True, True]
    own = (1 - PASSING) / len(SHARES) * δ / 2
    assert found[0].lower == Bet(1.0, 0.5).lower(win, block, own)
    assert found[1].lower == Bet(1.0, 0.5).lower(lose, block, own)
    # fewer than there are shares: the rest of the level is not spent
    assert len(outcomes(four[:2], [(win, block)] * 2, δ)) == 2
    assert sum(SHARES) == pytest.approx(1)


def test_what_passes_is_at_least_not_worse_and_what_fails_claims_nothing():
    """Just passing at its level, but not at the smaller one of the bound: the gain is above 0, by
    how much is not proved."""
    δ, block = 0.1, np.arange(400)
    for n in range(1, 40):
        (found,) = outcomes([listed(1.0, 0.5)], [(np.ones(n), block[:n])], δ)
        had = Bet(1.0, 0.5).log_wealth(np.ones(n), block[:n])
        assert found.passed == (had >= -math.log(SHARES[0] * PASSING * δ / 2))
        assert found.lower >= 0 if found.passed else found.lower <= 0


@pytest.mark.parametrize("first", ["null", "true"])
def test_passing_by_chance_is_as_rare_as_promised_whatever_the_dependence(monkeypatch, first):
    """Candidates that share their noise, all (but the first) with gain 0, skewed both ways; δ = 1/2
    so that errors are common: any false pass in at most 20 % of 3,000 runs. More than 20 % plus
    four standard errors (688) happens once in 28,000 if 20 % is exact."""
    monkeypatch.setattr(Bet, "lower", lambda *_: 0.0)
    rng = np.random.default_rng(7)
    runs, n = 3000, 60
    block = np.arange(n)
    shared = np.where(rng.random((runs, n)) < 0.1, 9.0, -1.0)  # mean 0, at least -1
    other = np.where(rng.random((runs, n)) < 0.1, -9.0, 1.0)  # mean 0, at least -9
    coin = np.sign(shared) * rng.choice([-1.0, 1.0], (runs, n))  # mean 0, depends on both
    sure = coin + 1.5
    candidates = [
        (sure if first == "true" else coin, 1.0),
        (shared, 1.0),
        (other, 9.0),
        (coin, 1.0),
    ]
    shares = 0.5, 0.2, 0.7, 0.5
    shortlist = [listed(floor, λ) for (_, floor), λ in zip(candidates, shares, strict=True)]
    false = 0
    for i in range(runs):
        found = outcomes(shortlist, [(x[i], block) for x, _ in candidates], 0.5)
        false += any(x.passed for x in (found[1:] if first == "true" else found))
    assert 0 < false <= 688


def test_the_shortlist_is_ordered_by_how_sure_it_is_and_never_longer_than_its_shares():
    bench = bench_of(tiger_log(800), uniform_tiger(), 0.95)
    own = bench.dealt.members(0)
    found, made = proved.shortlist(bench, own, 400, 0.05)
    assert 0 < len(found) <= len(SHARES) < made
    level = PASSING * 0.025
    chances = [x.prospect.chance(400, level) for x in found]
    assert chances == sorted(chances, reverse=True)
    R = bench.limits.range
    for x in found:
        assert x.prospect.setting == x.candidate.setting
        assert x.prospect.floor >= R
        assert 0 < x.prospect.bet.fraction < 1


# ---- selection ----------------------------------------------------------------------------------


@both_gates
def test_a_clear_gain_passes_and_is_what_was_chosen(which):
    log = coin_log(2000, better=1.0, rng=np.random.default_rng(1))
    found = choose(log, HALF, which)
    assert found.gate == which
    assert found.chosen is not None
    assert found.chosen.passed
    assert found.controller.row([], "good")[1] > 0.9
    assert 0 < found.chosen.lower < 0.5 < found.chosen.gain + 4 * found.chosen.error
    assert found.chosen in found.trials


def test_the_held_out_number_is_that_of_the_half_it_was_tested_on():
    for seed in range(6):
        log = coin_log(400, better=2.0, rng=np.random.default_rng(seed))
        found = choose(log, HALF, "proved", seed)
        assert found.chosen is not None
        assert found.chosen.units == len(found.chosen.scores)


@both_gates
def test_without_a_difference_the_behavior_stays(which):
    log = coin_log(60, better=0.0, rng=np.random.default_rng(1))
    found = choose(log, HALF, which)
    assert found.chosen is None
    assert found.controller is HALF


@both_gates
@pytest.mark.parametrize("n", [1, 2, 3, 4, 15])
def test_a_tiny_log_changes_nothing(n, which):
    log = coin_log(n, better=5.0, rng=np.random.default_rng(1))
    found = choose(log, HALF, which)
    assert (found.chosen, found.tried) == (None, 0)


@both_gates
def test_a_behavior_that_never_deviates_leaves_nothing_to_choose(which):
    always = Controller.constant(*NAMES, [1.0, 0.0])
    log = coin_log(100, better=1.0, rng=np.random.default_rng(1)).select(np.arange(0, 100, 2))
    found = choose(log, always, which)
    assert (found.chosen, found.tried, found.best) == (None, 0, None)


@both_gates
@pytest.mark.parametrize("paid", [0.0, 0.1, -7.3])
def test_a_tie_is_no_improvement(which, paid):
    """Every step pays the same, so R = 0 and rounding is all there is; or the same in sum."""
    rng = np.random.default_rng(1)
    E, T = 200, 3
    action = rng.integers(0, 2, E * T)
    same = Episodes(
        *NAMES,
        [0] * E * T,
        action,
        [paid] * E * T,
        np.arange(0, E * T + 1, T),
        [-1] * E,
        [True] * E,
    )
    found = choose(same, HALF, which)
    assert (found.chosen, found.tried) == (None, 0)
    # 0.1 + 0.2 = 0.3 up to rounding, whatever was done
    reward = np.tile([0.1, 0.2, -0.3], E) + paid
    sums = replace(same, reward=reward)
    for discount in (0.0, 0.9):
        assert choose(sums, HALF, which, discount=discount).chosen is None


@both_gates
def test_identical_episodes_teach_nothing(which):
    """One episode a thousand times, by a behavior that could have done otherwise."""
    E = 1000
    log = Episodes(
        *NAMES, [0, 0] * E, [0, 1] * E, [1.0, 2.0] * E, np.arange(0, 2 * E + 1, 2), [-1] * E,
        [True] * E,
    )  # fmt: skip
    assert choose(log, HALF, which, rewards=RewardRange.constant(-5, 5)).chosen is None


@both_gates
def test_the_same_seed_gives_the_same_choice(which):
    log = tiger_log(1000)
    one, two = (choose(log, uniform_tiger(), which, 5, 0.95) for _ in range(2))
    assert one.trials == two.trials
    assert one.controller.same_as(two.controller)


@both_gates
def test_no_bound_is_above_what_is_possible(which):
    """The best return, less what the behavior earns, is the most that can be gained."""
    for seed, log in enumerate(
        [
            tiger_log(500),
            coin_log(300, 3.0, np.random.default_rng(1)),
            coin_log(40, 50.0, np.random.default_rng(2)),
        ]
    ):
        behavior = uniform_tiger() if len(log.actions) == 3 else HALF
        found = choose(log, behavior, which, seed)
        assert found.most == pytest.approx(found.limits.high[0] - log.returns(0.9).mean())
        for trial in found.trials:
            assert trial.lower <= found.most + 1e-12
            assert trial.passed <= (trial.lower >= 0)
            assert math.isfinite(trial.gain)


def test_a_gate_that_does_not_exist_is_an_error():
    with pytest.raises(ParameterError, match="gate 'prooved' is not one of proved, asymptotic"):
        choose(tiger_log(20), uniform_tiger(), "prooved")


def test_the_second_opinion_is_only_asked_of_the_other_gate():
    log = tiger_log(1000)
    assert all(t.second is not None for t in choose(log, uniform_tiger(), "proved").trials)
    assert all(t.second is None for t in choose(log, uniform_tiger(), "asymptotic").trials)


@pytest.mark.parametrize(("which", "logs", "most"), [("proved", 80, 11), ("asymptotic", 150, 18)])
def test_nothing_useful_is_rarely_taken_for_something(which, logs, most):
    """Both actions pay alike, logs of 80 episodes: each half may err in 2.5 % of them. More than 11
    of 80 at 5 % would happen once in 1,600 runs, more than 18 of 150 once in 5,000."""
    wrong = 0
    for seed in range(logs):
        log = coin_log(80, better=0.0, rng=np.random.default_rng(seed))
        wrong += choose(log, HALF, which, seed, memory=window(1)).chosen is not None
    assert wrong <= most


@both_gates
def test_too_little_memory_is_found_out_by_held_out_episodes(which):
    """The best memoryless behavior of Voicemail is a mixture; every change to it loses, and the
    model, short of memory, promises gains all the same. 12 logs of 1,000 episodes; three or more
    worse would happen once in 50 runs if each were worse with 5 %."""
    pomdp = jm.models.voicemail()
    rows = np.array([[0.0, 1.0, 0.0], [0.4953, 0.0, 0.5047]])
    behavior = Controller(
        pomdp.observations, pomdp.actions, window(1), [[0], [1]], rows, [1 / 3] * 3
    )
    value = jm.evaluate(pomdp, behavior).value
    worse = plain = 0
    for seed in range(12):
        log = jm.simulate(pomdp, behavior, episodes=1000, seed=jm.random_stream(seed, "data"))
        found = choose(log, behavior, which, seed, 0.95, memory=window(1))
        worse += jm.evaluate(pomdp, found.controller).value < value - 1e-9
        fixed = jm.spibb(jm.count(log, window(1)).mle(0.95), behavior, n_wedge=5)
        plain += jm.evaluate(pomdp, fixed.controller).value < value - 1e-9
    assert plain >= 9
    assert worse <= 2


def test_a_rare_loss_that_was_declared_does_not_pass_either_gate():
    """M3: in one of ten episodes an action explored with 5 % pays 1 and rarely costs 199; worth
    -1. 20 logs of 2,000 with fixed seeds, none of which passes. It is an example, not a test of the
    level: at an error rate of 5 % some log would pass in 64 % of runs with other seeds."""
    behavior = Controller(
        ("calm", "odd"), ("keep", "try"), window(1), [[0], [1]], [[1.0, 0.0], [0.95, 0.05]], [1, 0]
    )
    wrong = dict.fromkeys(GATES, 0)
    n = 2000
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = (rng.random(n) < 0.1).astype(int)
        a = z * (rng.random(n) < 0.05)
        reward = a * np.where(rng.random(n) < 0.01, -199.0, 1.0) + 0.0
        log = Episodes(
            ("calm", "odd"), ("keep", "try"), z, a, reward, np.arange(n + 1), [-1] * n, [True] * n
        )
        for which in GATES:
            declared = RewardRange.constant(-199, 1)
            found = choose(log, behavior, which, seed, memory=window(1), rewards=declared)
            wrong[which] += found.chosen is not None
    assert wrong == {"proved": 0, "asymptotic": 0}


# ---- how many episodes --------------------------------------------------------------------------


def test_the_size_of_a_log_by_hand():
    """m·g >= s√m + c: 1.96·10·√m = m at 384.16; without noise c/g; both: the root of a square."""
    assert units_needed(1.0, 19.6, 0.0) == pytest.approx(384.16)
    assert units_needed(0.5, 0.0, 4.0) == 8
    m = units_needed(0.3, 2.0, 5.0)
    assert 0.3 * m == pytest.approx(2 * math.sqrt(m) + 5)


@both_gates
def test_more_power_and_smaller_gains_take_more_episodes(which):
    found = choose(coin_log(300, 0.8, np.random.default_rng(4)), HALF, which)
    sizes = [n.episodes for n in needs(found, gains=[0.4, 0.2], powers=(0.5, 0.8))]
    assert all(size is not None and size % 2 == 0 for size in sizes)
    assert sizes[0] <= sizes[1] < sizes[3]
    assert sizes[0] < sizes[2] <= sizes[3]
    assert needs(found, gains=[0.0], powers=(0.5,))[0].episodes is None
    with pytest.raises(ParameterError, match="power"):
        needs(found, powers=(1.0,))


@both_gates
def test_a_plan_holds_on_new_logs(which):
    """The size planned for an 80 % chance certifies in most of 20 new logs of that size: fewer than
    10 would happen once in 1,700 runs if 80 % were exact, and a plan is rougher than that."""
    first = choose(coin_log(300, 0.7, np.random.default_rng(4)), HALF, which)
    (need,) = needs(first, gains=[0.35], powers=(0.8,))  # always repairing gains half of 0.7
    assert need.episodes is not None
    passed = 0
    for seed in range(20):
        log = coin_log(need.episodes, 0.7, np.random.default_rng(1000 + seed))
        passed += choose(log, HALF, which, seed).chosen is not None
    assert passed >= 10


# ---- a named algorithm on held-out halves -------------------------------------------------------


def named(log, behavior, name, which="proved", memory=None, **parameters):
    return held_out_test(
        log,
        behavior,
        algorithm=name,
        parameters=parameters,
        discount=0.95,
        seed=jm.random_stream(1, "selection"),
        memory=memory,
        gate=which,
    )


@both_gates
@pytest.mark.parametrize("name", ["spibb", "basic", "strict", "tilt"])
def test_every_algorithm_can_be_tested_on_the_half_it_did_not_learn_from(name, which):
    found = named(tiger_log(4000), uniform_tiger(), name, which, window(2))
    assert sorted(trial.half for trial in found.trials) == [0, 1]
    assert all(trial.passed and trial.setting.algorithm == name for trial in found.trials)
    assert found.controller.memory == window(2).on(2, 3) == found.memories[-1]
    level = PASSING * 0.05 / 2 if which == "proved" else 0.05 / 2
    assert {trial.level for trial in found.trials} == {level}


@both_gates
def test_a_named_algorithm_that_gains_nothing_does_not_pass(which):
    """Both actions pay the same: each half teaches something, and the other denies it. Passing has
    a chance of at most 5 % per log; of 20 logs more than 4 pass with a chance below 0.3 %."""
    passed = 0
    for seed in range(20):
        found = named(coin_log(200, 0.0, jm.random_stream(seed, "coins")), HALF, "basic", which)
        assert len(found.trials) == 2
        passed += found.chosen is not None
    assert passed <= 4


def test_nothing_is_tested_where_the_algorithm_keeps_the_behavior():
    found = named(tiger_log(300), uniform_tiger(), "spibb", n_wedge=10**6)
    assert (found.trials, found.chosen, found.tried) == ((), None, 2)
    assert found.controller.name == "uniform"
