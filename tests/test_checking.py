"""Checks of a log: closed forms, sizes and power of the tests, verdicts.

False alarms: a test at level 0.05 on 200 sound logs rejects more than 20 of them with probability
0.0007, as the binomial law says; the seeds are fixed, so a test that is green stays green.
"""

from __future__ import annotations

import json
from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from jumar import models, random_stream, simulate
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes, Labels, Origin, Remarks
from jumar.core.errors import LogError, ParameterError
from jumar.core.memory import NamedNodes, product, window
from jumar.core.memory.refinement import one_more
from jumar.core.replay import Replay, Replays
from jumar.evidence.checking import QUESTIONS, check
from jumar.evidence.checking.base import Settings, p_value
from jumar.evidence.checking.drift import _shuffle, drift_of, step_trend, trend_of
from jumar.evidence.checking.fit import binomial_p, fit_policy, holm, with_policy
from jumar.evidence.checking.longer import Deal, longer_memory
from jumar.evidence.checking.nodes import _verdict as nodes_verdict
from jumar.evidence.checking.repeats import repeated_episodes
from jumar.evidence.checking.spread import spread_of
from jumar.evidence.estimation import estimate_behavior
from strategies import controllers, logs, names, random_controller, random_pomdp
from test_estimation import log_of

Z, A = ("good", "worn"), ("keep", "repair")
EVEN = Controller.uniform(Z, A)
TIGER = models.tiger()
FAST = Settings(level=0.05, resamples=99)
MOST = 20  # rejections of 200 sound logs at level 0.05


def listening(exploration: float) -> Controller:
    """Listens, except for the share of steps in which any action is as good as another."""
    other = exploration / 3
    row = [other, other, 1 - 2 * other]
    return Controller.constant(TIGER.observations, TIGER.actions, row, name="listen")


def run(behavior: Controller, episodes: int, seed: int, pomdp=TIGER, **more) -> Episodes:
    return simulate(pomdp, behavior, episodes=episodes, seed=random_stream(seed, "data"), **more)


# ---- p-values -----------------------------------------------------------------------------------


def test_a_p_value_counts_the_log_among_the_draws():
    assert p_value(5.0, np.array([1.0, 2.0, 3.0])) == 1 / 4
    assert p_value(2.0, np.array([1.0, 2.0, 3.0])) == 3 / 4


def test_what_differs_by_rounding_only_is_a_tie():
    assert p_value(0.3, np.array([0.1 + 0.2, 0.1 * 3])) == 1


def test_draws_follow_the_size_of_the_log_but_can_always_reject():
    assert Settings().draws(1) == 999
    assert Settings().draws(1e6) == 300
    assert Settings().draws(1e12) == 99
    assert Settings(level=0.001).draws(1e12) == 999


@pytest.mark.parametrize(("level", "resamples"), [(0.01, 98), (0.05, 18), (0.01, 0), (0.01, -5)])
def test_too_few_draws_to_reject_are_refused(level, resamples):
    with pytest.raises(ParameterError, match=r"resamples: .* Give at least"):
        Settings(level, resamples)


def test_just_enough_draws_are_not():
    assert Settings(0.01, 99).resamples == 99
    assert Settings(0.05, 19).resamples == 19


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_is_a_probability(level):
    with pytest.raises(ParameterError, match="level"):
        Settings(level)


def test_holm_by_hand():
    """0.01·3 = 0.03; 0.03·2 = 0.06; 0.04·1 would be less than that, so 0.06."""
    assert_allclose(holm(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])


def test_a_binomial_tail_by_hand():
    """No head in 4 throws: 1/16, and as much for none but heads."""
    p = binomial_p(np.array([0, 4, 2]), np.array([4, 4, 4]), np.full(3, 0.5))
    assert_allclose(p, [1 / 8, 1 / 8, 1])


def test_binomial_tails_of_certain_events():
    p = binomial_p(np.array([0, 1, 5, 4]), np.full(4, 5), np.array([0.0, 0.0, 1.0, 1.0]))
    assert p.tolist() == [1, 0, 1, 0]


@given(st.integers(1, 30), st.data())
def test_binomial_tails_as_sums(n, data):
    k = data.draw(st.integers(0, n))
    q = data.draw(st.sampled_from([0.01, 0.3, 0.5, 0.97]))
    law = [comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(n + 1)]
    wanted = min(1, 2 * min(sum(law[: k + 1]), sum(law[k:])))
    assert_allclose(binomial_p(np.array([k]), np.array([n]), np.array([q])), wanted, rtol=1e-9)


# ---- did this policy produce this log? ----------------------------------------------------------


def fit(log_: Episodes, behavior: Controller, setting: Settings = FAST, seed: int = 1):
    replay = with_policy(Replay.of(log_, behavior.memory), behavior)
    return fit_policy(replay, setting, random_stream(seed, "fit"))


def test_the_likelihood_ratio_by_hand():
    """3 keep and 1 repair against one half each: G = 2 (3 log 3/2 + 1 log 1/2)."""
    found = fit(log_of([(0, 0), (0, 0), (0, 0), (0, 1)]), EVEN)
    assert_allclose(found.statistic, 2 * (3 * log(1.5) + log(0.5)))


def test_the_p_value_is_that_of_a_fair_coin():
    """Of 10 throws all heads or all tails: 2/1024, and nothing is further off."""
    found = fit(log_of([(0, 0)] * 10), EVEN, Settings(0.01, 20_000))
    assert found.p == pytest.approx(2 / 1024, abs=0.0012)  # four standard errors


def test_what_is_certain_cannot_be_off():
    always = Controller.constant(Z, A, [1, 0])
    found = fit(log_of([(0, 0), (1, 0)]), always)
    assert (found.statistic, found.p, found.impossible) == (0, 1, 0)
    assert found.verdict.status == "passed"


def test_an_impossible_action_is_named_with_its_row_and_situation():
    before = log_of([(0, 0), (1, 0), (0, 1)])
    origin = Origin("bridge.csv", np.array([2, 3, 4]), ["north"])
    log_ = Episodes(
        Z, A, before.observation, before.action, before.reward, [0, 3], [-1], [True], origin
    )
    never = Controller.constant(Z, A, [1, 0], memory=window(2))
    found = fit(log_, never)
    assert (found.impossible, found.statistic, found.p) == (1, None, 1 / 100)
    example = found.examples[0]
    assert example.where == "bridge.csv, row 4 (episode north)"
    assert (example.situation, example.action) == ("worn; now good", "repair")
    assert found.verdict.status == "failed"
    assert found.verdict.sentence.startswith("1 step shows an action that this policy never takes")


def test_ten_of_many_impossible_actions_are_named():
    found = fit(log_of([(0, 1)] * 25), Controller.constant(Z, A, [1, 0]))
    assert (found.impossible, len(found.examples)) == (25, 10)


def test_the_history_that_does_not_fit_is_named():
    """On worn, repair is declared at one half and done always; on good all is well."""
    found = fit(log_of([(0, 0), (0, 1)] * 20 + [(1, 1)] * 40), EVEN)
    assert found.n_misfits == 1
    worst = found.misfits[0]
    assert (worst.situation, worst.visits, worst.expected, worst.seen) == ("worn", 40, 0.5, 1.0)
    # both tails, two actions, two histories, of which the other is no better
    assert_allclose(worst.p, 2 * 2 * 2 * 0.5**40)


def test_calibration_groups_actions_by_their_probability():
    behavior = Controller(Z, A, window(1), [[0], [1]], [[0.9, 0.1], [1.0, 0.0]], [0.5, 0.5])
    found = fit(log_of([(0, 0)] * 8 + [(0, 1)] * 2 + [(1, 0)] * 5), behavior)
    lines = {line.group: line for line in found.calibration}
    assert list(lines) == ["0", "5 to 20%", "80 to 95%", "1"]
    assert (lines["0"].chances, lines["0"].seen) == (5, 0)
    assert (lines["5 to 20%"].chances, lines["5 to 20%"].seen) == (10, 2)
    assert_allclose(lines["5 to 20%"].expected, 1)
    assert_allclose(lines["80 to 95%"].expected, 9)
    assert (lines["1"].low, lines["1"].expected, lines["1"].high) == (5, 5, 5)


def test_the_range_of_the_calibration_is_that_of_the_binomial_law():
    """Of 100 actions with probability 0.1, 95 of 100 logs have 5 to 16."""
    behavior = Controller.constant(Z, A, [0.9, 0.1])
    found = fit(log_of([(0, 0)] * 90 + [(0, 1)] * 10), behavior, Settings(0.01, 4000))
    line = found.calibration[0]
    assert line.group == "5 to 20%"
    assert abs(line.low - 5) <= 1
    assert abs(line.high - 16) <= 1


@given(st.data())
@settings(max_examples=30)
def test_expected_and_seen_add_up_to_the_steps(data):
    log_ = data.draw(logs(names("z", 2), names("a", 3)))
    behavior = data.draw(controllers(names("z", 2), names("a", 3)))
    found = fit(log_, behavior)
    assert_allclose(sum(line.expected for line in found.calibration), log_.n_steps)
    assert sum(line.seen for line in found.calibration) == log_.n_steps
    taken = behavior.rows_at(_states(log_, behavior))[np.arange(log_.n_steps), log_.action]
    assert found.impossible == (taken == 0).sum()
    assert (found.statistic is None) == (found.impossible > 0)
    assert 1 / 100 <= found.p <= 1


def _states(log_: Episodes, behavior: Controller) -> np.ndarray:
    nodes = behavior.memory.replay(log_.observation, log_.action, log_.start)
    return np.column_stack([nodes, log_.observation])


@pytest.fixture(scope="module")
def sound() -> list[tuple[Controller, Replay]]:
    """200 logs of 200 random worlds with their true behavior, replayed over its memory."""
    found = []
    for seed in range(200):
        rng = random_stream(seed, "sound")
        pomdp = random_pomdp(rng, S=3, A=3, O=3, discount=0.9)
        behavior = random_controller(rng, pomdp, window(1 + seed % 2))
        log_ = simulate(pomdp, behavior, episodes=40, seed=rng, max_steps=20)
        found.append((behavior, Replay.of(log_, behavior.memory)))
    return found


def test_the_true_behavior_is_rejected_no_more_often_than_promised(sound):
    p = [fit(r.log, behavior, seed=i).p for i, (behavior, r) in enumerate(sound)]
    assert (np.array(p) <= 0.05).sum() <= MOST


def test_histories_of_the_true_behavior_are_named_no_more_often_than_promised(sound):
    found = [fit(r.log, behavior, seed=i).n_misfits > 0 for i, (behavior, r) in enumerate(sound)]
    assert sum(found) <= MOST


def test_more_exploration_than_declared_is_found():
    """2 % declared, 10 % used: every one of 20 logs of 100 episodes gives it away."""
    found = [fit(run(listening(0.10), 100, seed), listening(0.02)) for seed in range(20)]
    assert {f.verdict.status for f in found} == {"failed"}
    assert {f.p for f in found} == {1 / 100}


# ---- does the estimated policy remember enough? -------------------------------------------------


def test_a_deal_keeps_what_everybody_holds_and_what_there_is():
    deal = Deal(np.array([[3, 1], [0, 2], [1, 1]]), np.array([0, 0, 1]), np.array([[3, 3], [1, 1]]))
    for counts in deal.draws(20, random_stream(1, "deal")):
        assert counts.sum(1).tolist() == [4, 2, 2]
        assert (counts[0] + counts[1]).tolist() == [3, 3]
        assert counts[2].tolist() == [1, 1]
        assert counts.min() >= 0


def test_a_deal_is_hypergeometric():
    """2 keep and 2 repair over two hands of 2: both keep in the first with probability 1/6."""
    deal = Deal(np.array([[2, 0], [0, 2]]), np.array([0, 0]), np.array([[2, 2]]))
    first = [int(counts[0, 0]) for counts in deal.draws(6000, random_stream(1, "deal"))]
    shares = np.bincount(first, minlength=3) / 6000
    assert_allclose(shares, [1 / 6, 4 / 6, 1 / 6], atol=0.025)  # four standard errors


def test_the_gain_of_a_longer_memory_by_hand():
    """keep, keep after one thing and repair, repair after another: G = 2 · 4 log 2."""
    deal = Deal(np.array([[2, 0], [0, 2]]), np.array([0, 0]), np.array([[2, 2]]))
    assert_allclose(deal.statistic(deal.taken), 8 * log(2))
    assert deal.statistic(np.array([[1, 1], [1, 1]])) == 0


def longer(log_: Episodes, memory=None, setting: Settings = FAST, seed: int = 1):
    memory = (memory or window(1)).on(len(log_.observations), len(log_.actions))
    return longer_memory(Replays(log_), memory, setting, random_stream(seed, "longer"))


def test_somebody_who_remembers_is_found_out_and_then_believed():
    """Repair follows worn, one step later: a window of 1 cannot know, a window of 2 does."""
    z = random_stream(1, "memory").integers(0, 2, (100, 10)).tolist()
    episodes = [list(zip(seen, [0, *seen[:-1]], strict=True)) for seen in z]
    log_ = log_of(*episodes)
    short = longer(log_)
    assert (short.p, short.longer, short.verdict.status) == (1 / 100, "window of 2", "look")
    enough = longer(log_, window(2))
    assert enough.verdict.status == "passed"
    assert "the same was done every time" in enough.verdict.sentence


def test_memory_that_suffices_is_rejected_no_more_often_than_promised(sound):
    p = [longer(r.log, r.memory, seed=i).p for i, (_, r) in enumerate(sound)]
    assert (np.array(p) <= 0.05).sum() <= MOST


def test_where_nothing_can_be_told_a_person_is_told_so():
    """Both actions were done on good, but what came before was the same: nothing."""
    found = longer(log_of([(0, 0), (1, 0)], [(0, 1), (1, 0)]))
    assert (found.decided, found.p, found.verdict.status) == (0, 1, "look")


def test_where_episodes_have_one_step_there_is_nothing_to_remember():
    found = longer(log_of([(0, 0)], [(0, 1)]))
    assert (found.decided, found.p, found.verdict.status) == (0, 1, "passed")


def test_one_more_moment_of_memory():
    odd_even = NamedNodes(("even", "odd"), [[[1, 1]] * 2, [[0, 0]] * 2]).on(2, 2)
    assert str(one_more(window(2, actions=True).on(2, 2))) == "window of 3 with actions"
    assert str(one_more(odd_even)) == "table of 2 nodes × window of 2"
    assert one_more(window(1000).on(2, 2)) is None
    assert longer(log_of([(0, 0)]), window(1000)).longer is None


# ---- spread -------------------------------------------------------------------------------------


def test_known_pairs_and_real_choices_by_hand():
    """good: keep 6, repair 6 times; worn: keep 12 times. The cut-off last step does not count."""
    log_ = log_of([(0, 0), (0, 1)] * 6 + [(1, 0)] * 13, ended=False)
    found = spread_of(Replay.of(log_, window(1)))
    assert (found.histories, found.steps, found.left_out) == (2, 24, 1)
    assert (found.pairs, found.never) == (4, 1)
    at = {e.n_wedge: (e.known, e.choices, e.share) for e in found.evidence}
    assert at[5] == (3, 1, 0.5)
    assert at[10] == (1, 0, 0)
    assert at[20] == at[50] == at[100] == (0, 0, 0)
    assert dict(found.quantiles) == dict.fromkeys((0, 10, 25, 50, 75, 90, 100), 12)


def test_a_log_without_a_choice_is_worth_a_look():
    found = spread_of(Replay.of(log_of([(0, 0)] * 50), window(1)))
    assert found.verdict.status == "look"
    assert "nothing can be improved" in found.verdict.sentence


def test_a_rare_choice_is_worth_a_look_and_a_usual_one_is_not():
    rare = log_of([(0, 0), (0, 1)] * 21 + [(1, 0)] * 1000)
    usual = log_of([(0, 0), (0, 1)] * 21 + [(1, 0)] * 100)
    assert spread_of(Replay.of(rare, window(1))).verdict.status == "look"
    assert spread_of(Replay.of(usual, window(1))).verdict.status == "passed"


# ---- drift --------------------------------------------------------------------------------------


def test_a_slope_by_hand():
    """0, 1, 1, 2 over -1.5, -0.5, 0.5, 1.5: (0 - 0.5 + 0.5 + 3) / 5 = 0.6 per episode."""
    assert_allclose(trend_of(np.array([0.0, 1.0, 1.0, 2.0])).slope, 60)


def test_the_standard_error_of_the_slope_by_hand():
    """Residuals -0.1, 0.3, -0.3, 0.1, leverages 0.7, 0.3, 0.3, 0.7; t with 2 degrees of freedom."""
    t, e = np.array([-1.5, -0.5, 0.5, 1.5]), np.array([-0.1, 0.3, -0.3, 0.1])
    error = np.sqrt(((t * e / (1 - np.array([0.7, 0.3, 0.3, 0.7]))) ** 2).sum()) / 5
    found = trend_of(np.array([0.0, 1.0, 1.0, 2.0]))
    assert_allclose(found.high - found.slope, 100 * 4.302652729911275 * error)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e100])
def test_returns_that_never_change_have_no_slope(value):
    found = trend_of(np.full(50, value))
    assert (found.slope, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_a_straight_line_is_certain():
    found = trend_of(np.arange(20.0) * 1e99)
    assert_allclose([found.slope, found.low, found.high], 1e101)
    assert found.p < 1e-12


def test_a_slope_does_not_mind_that_variances_differ():
    """Noise that grows with the episode: of 200 logs without a trend few are rejected."""
    p = [
        trend_of(random_stream(i, "noise").normal(size=100) * np.linspace(0.1, 5, 100)).p
        for i in range(200)
    ]
    assert (np.array(p) <= 0.05).sum() <= MOST


def drift(log_: Episodes, behavior: Controller, setting: Settings = FAST, seed: int = 1):
    return drift_of(Replay.of(log_, behavior.memory), 1.0, setting, random_stream(seed, "drift"))


def test_tenths_of_the_log():
    found = drift(log_of(*[[(0, 0)] * (1 + i // 10) for i in range(100)]), EVEN)
    assert [p.episodes for p in found.parts] == [10] * 10
    assert [p.mean_length for p in found.parts] == list(range(1, 11))
    assert [p.first for p in found.parts] == list(range(0, 100, 10))


def test_a_short_log_has_fewer_parts_and_no_test():
    found = drift(log_of(*[[(0, 0)]] * 9), EVEN)
    assert [(p.episodes, p.standard_error) for p in found.parts] == [(1, None)] * 9
    assert (found.trend, found.p, found.verdict.status) == (None, None, "look")


def test_halves_that_differ_as_much_as_they_can():
    """keep on good is followed by good in the first half, by worn in the second: G = 2 · 20 log 2,
    and of the 184,756 ways to halve 20 episodes only two do the same."""
    log_ = log_of(*[[(0, 0), (0, 0)]] * 10, *[[(0, 0), (1, 0)]] * 10)
    behavior = Controller.constant(Z, A, [1, 0], memory=window(2))
    p, B, halves = _shuffle(Replay.of(log_, behavior.memory), FAST, random_stream(1, "drift"))
    assert (p, B) == (1 / 100, 99)
    assert_allclose(halves.contributions(), [40 * log(2)])
    change = drift(log_, behavior).changes[0]
    assert (change.situation, change.action) == ("(start); now good", "keep")
    assert (change.before, change.after, change.visits) == ({"good": 1, "worn": 0}[change.outcome],
        {"good": 0, "worn": 1}[change.outcome], (10, 10))  # fmt: skip


def test_shuffles_are_compared_as_the_obvious_program_would():
    """p against all 252 ways to halve 10 episodes, one by one."""
    from itertools import combinations

    log_ = run(listening(0.3), 10, seed=4)
    r = Replay.of(log_, listening(0.3).memory)
    episode = np.repeat(np.arange(10), log_.lengths)

    def G(first: tuple[int, ...]) -> float:
        total = 0.0
        half = np.isin(episode, first)
        for x in np.unique(r.at):
            for a in np.unique(log_.action):
                here = (r.at == x) & (log_.action == a) & r.known
                for o in np.unique(r.outcome[here]):
                    both = (here & (r.outcome == o)).sum()
                    for side in (half, ~half):
                        n = (here & (r.outcome == o) & side).sum()
                        if n:
                            m = (here & side).sum()
                            total += 2 * n * log(n * here.sum() / (m * both))
        return total

    all_of = np.array([G(first) for first in combinations(range(10), 5)])
    exact = (all_of >= G(tuple(range(5))) - 1e-9).mean()
    p, _, halves = _shuffle(r, Settings(0.01, 4000), random_stream(1, "drift"))
    assert p == pytest.approx(exact, abs=0.032)  # four standard errors
    assert_allclose(halves.contributions().sum(), G(tuple(range(5))), atol=1e-9)


def test_logs_without_drift_are_rejected_no_more_often_than_promised(sound):
    found = [drift_of(r, 0.9, FAST, random_stream(i, "drift")) for i, (_, r) in enumerate(sound)]
    assert sum(d.p <= 0.05 for d in found) <= MOST
    assert sum(d.trend.p <= 0.05 for d in found) <= MOST


def test_two_halves_from_different_models_are_found_out():
    """In the second half every observation is a toss of a coin: all of 20 logs tell."""
    behavior = listening(0.10)
    for seed in range(20):
        log_ = run(behavior, 100, seed)
        worse = np.where(
            random_stream(seed, "flip").random(log_.n_steps) < 0.5,
            log_.observation,
            1 - log_.observation,
        )
        half = log_.start[50]
        later = np.where(np.arange(log_.n_steps) < half, log_.observation, worse)
        mixed = Episodes(
            log_.observations,
            log_.actions,
            later,
            log_.action,
            log_.reward,
            log_.start,
            log_.final_observation,
            log_.terminated,
        )
        found = drift(mixed, behavior, seed=seed)
        assert found.p <= 0.05
        assert found.verdict.status == "failed"
        assert found.changes


def test_a_return_that_falls_is_found_out():
    """Each episode pays a quarter less than the one before: 25 per 100 episodes."""
    log_ = run(listening(0.5), 400, seed=1)
    reward = log_.reward.copy()
    reward[log_.start[:-1]] -= np.arange(400) / 4
    columns = log_.observation, log_.action, reward, log_.start
    ends = log_.final_observation, log_.terminated
    found = drift(Episodes(log_.observations, log_.actions, *columns, *ends), listening(0.5))
    assert found.trend.low < -25 < found.trend.high < 0
    assert found.trend.p < 1e-6
    assert found.verdict.sentence.startswith("The return falls by 2")


def test_the_trend_of_rewards_step_by_step_by_hand():
    """Step 0 pays 4, 2, 3 over -1, 0, 1: Σxy = -1, Σx² = 2; step 1 pays 1, 0 over -1/2, 1/2:
    Σxy = -1/2, Σx² = 1/2. The slope is -1.5 / 2.5 = -0.6 per episode."""
    assert_allclose(step_trend(np.array([4.0, 1, 2, 0, 3]), np.array([0, 2, 4, 5])).slope, -60)


def test_the_standard_error_step_by_step_is_the_jackknife():
    """Each episode left out in turn, and the slope found anew by ordinary least squares."""
    rng = random_stream(5, "records")
    start = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 15))])
    reward = rng.normal(size=start[-1])
    episode = np.repeat(np.arange(15), np.diff(start))
    step = np.arange(start[-1]) - start[episode]

    def slope(kept: np.ndarray) -> float:
        design = np.column_stack([episode, step[:, None] == np.arange(step.max() + 1)])[kept]
        return np.linalg.lstsq(design.astype(float), reward[kept], rcond=None)[0][0]

    all_of = slope(episode >= 0)
    error = np.sqrt(sum((slope(episode != e) - all_of) ** 2 for e in range(15)))
    found = step_trend(reward, start)
    assert_allclose(found.slope, 100 * all_of)
    assert_allclose(found.high - found.slope, 100 * 2.160368656461013 * error)  # t, 13 degrees


def test_step_by_step_records_of_one_step_are_the_returns():
    returns = random_stream(6, "returns").normal(size=30)
    one, other = step_trend(returns, np.arange(31)), trend_of(returns)
    assert_allclose([one.slope, one.low, one.p], [other.slope, other.low, other.p])


def fleet(seed: int, lengths: np.ndarray, change: float = 0.0) -> Episodes:
    """Machines that age unseen, record after record, each cut off or broken down. An old machine
    looks worn more often, costs more and breaks down; nothing depends on when it was bought, but
    for `change` in what an episode costs more per step than the one before."""
    rng = random_stream(seed, "fleet")
    shape = len(lengths), int(lengths.max())
    age = np.minimum(np.cumsum(rng.random(shape) < 0.1, 1), 5)
    worn = (rng.random(shape) < 0.1 + 0.16 * age).astype(int)
    broke = rng.random(shape) < 0.01 * age
    broke[:, -1] = True
    lives = broke.argmax(1) + 1
    recorded = np.minimum(lives, lengths)
    there = np.arange(shape[1]) < recorded[:, None]
    cost = (
        worn + 0.2 * age + 0.3 * rng.normal(size=shape) + change * np.arange(len(lengths))[:, None]
    )
    action = rng.integers(0, 2, there.sum())
    final, ended = np.full(len(lengths), -1), (lives <= lengths) & (lives < shape[1])
    return Episodes(
        Z, A, worn[there], action, -cost[there], np.append(0, np.cumsum(recorded)), final, ended
    )


SHRINKING = np.arange(60, 10, -1).repeat(2)  # the newer the machine, the shorter its record


def test_records_that_get_shorter_are_no_drift():
    """200 fleets that never change: returns would rise in every one, as later records are shorter,
    and what follows would differ, as only early records get old."""
    logs_ = [fleet(seed, SHRINKING) for seed in range(200)]
    assert all(trend_of(log_.returns(1.0)).p < 1e-3 for log_ in logs_[:20])
    found = [drift(log_, EVEN, seed=seed) for seed, log_ in enumerate(logs_)]
    assert {d.trend.of for d in found} == {"reward"}
    assert {d.steps for d in found} <= set(range(11, 16))
    assert sum(d.trend.p <= 0.05 for d in found) <= MOST
    assert sum(d.p <= 0.05 for d in found) <= MOST


def test_records_of_all_lengths_are_no_drift():
    """200 fleets of 40 machines whose records stop anywhere."""
    found = [
        drift(fleet(seed, random_stream(seed, "cuts").integers(3, 60, 40)), EVEN, seed=seed)
        for seed in range(200)
    ]
    assert sum(d.trend.p <= 0.05 for d in found) <= MOST
    assert sum(d.p <= 0.05 for d in found) <= MOST


def test_costs_that_rise_are_found_out_although_records_get_shorter():
    """Each machine costs 0.01 more per step than the one before: 1 per 100 episodes."""
    found = drift(fleet(1, SHRINKING, change=0.01), EVEN)
    assert found.trend.low < -1 < found.trend.high < 0
    assert found.verdict.status == "failed"
    assert "the reward at the same step falls by" in found.verdict.sentence.lower()
    assert "its order stands for groups rather than time" in found.verdict.sentence


def test_records_cut_off_at_the_same_step_keep_their_returns():
    ended = log_of(*[[(0, 0)] * (1 + i % 3) for i in range(20)])
    cut = log_of(*[[(0, 0)] * 3] * 20, ended=False)
    assert [drift(log_, EVEN).trend.of for log_ in (ended, cut, ended + cut)] == ["return"] * 3
    shorter = log_of([(0, 0)] * 2, ended=False)
    assert drift(ended + cut + shorter, EVEN).trend.of == "reward"


def test_what_follows_is_compared_up_to_where_19_of_20_records_get():
    """40 records cut off at 3, 4, 5, ... steps: two may be shorter, so up to step 5."""
    log_ = log_of(*[[(0, 0)] * (3 + i) for i in range(40)], ended=False)
    assert drift(log_, EVEN).steps == 5
    assert "outcomes of the first 5 steps" in drift(log_, EVEN).verdict.sentence


def test_one_node_is_counted_as_one():
    assert nodes_verdict(3, 1).sentence.startswith("1 of 3 logged memory nodes is not that of")
    assert nodes_verdict(1, 0).sentence == "The only logged memory node is that of this policy."


def test_one_episode_is_too_few():
    found = drift(log_of([(0, 0)]), EVEN)
    assert found.verdict.sentence.startswith("1 episode is too few to tell")


def test_in_a_huge_log_only_the_pairs_seen_most_are_compared(monkeypatch):
    """On good, keep was done 50 times and repair 25, each with three outcomes: with room for three
    only keep is left."""
    episodes = [[(0, 0), (i % 2, 0), (0, i % 2)] for i in range(20)]
    log_ = log_of(*episodes, *[[(0, 1), (i % 2, 1), (0, 0)] for i in range(10)])
    r = Replay.of(log_, EVEN.memory)
    assert r.taken[0].tolist() == [50, 25]
    assert _shuffle(r, FAST, random_stream(1, "drift"))[2].cells[:, 0].tolist() == [
        0,
        0,
        0,
        1,
        1,
        1,
    ]
    monkeypatch.setattr("jumar.evidence.checking.drift.MOST_CELLS", 3)
    assert _shuffle(r, FAST, random_stream(1, "drift"))[2].cells[:, 0].tolist() == [0, 0, 0]


def test_steps_of_unknown_outcome_teach_nothing_about_what_follows():
    log_ = log_of(*[[(0, 0)]] * 20, ended=False)
    assert drift(log_, EVEN).p == 1


# ---- repeats, rows and nodes --------------------------------------------------------------------


@given(st.data())
def test_repeats_as_the_obvious_program_finds_them(data):
    log_ = data.draw(logs(names("z", 1), names("a", 2), most_episodes=8, most_steps=2))
    seen, wanted = {}, []
    for e in range(len(log_)):
        steps = slice(log_.start[e], log_.start[e + 1])
        columns = (log_.observation[steps], log_.action[steps], log_.reward[steps] // 20)
        key = (*(tuple(c.tolist()) for c in columns), log_.final_observation[e], log_.terminated[e])
        if key in seen:
            wanted.append((e, seen[key]))
        seen.setdefault(key, e)
    coarse = Episodes(
        log_.observations,
        log_.actions,
        log_.observation,
        log_.action,
        log_.reward // 20,
        log_.start,
        log_.final_observation,
        log_.terminated,
    )
    assert list(zip(*(x.tolist() for x in repeated_episodes(coarse)), strict=True)) == wanted


def test_an_order_of_steps_matters():
    later, _ = repeated_episodes(log_of([(0, 0), (1, 1)], [(1, 1), (0, 0)]))
    assert later.tolist() == []


def test_a_log_joined_with_itself_is_worth_a_look():
    log_ = run(listening(0.10), 100, seed=1)
    once = check(log_, listening(0.10), seed=random_stream(1, "check")).repeats
    twice = check(log_ + log_, listening(0.10), seed=random_stream(1, "check")).repeats
    assert once.verdict.status == "passed"
    assert twice.repeated == 100 + once.repeated
    assert twice.verdict.status == "look"
    assert twice.examples[0].where == "Log, episode 100, step 0"
    assert twice.examples[0].earlier == "Log, episode 0, step 0"


def test_how_many_repeats_chance_gives():
    """Tosses of a coin, 1 step each: the i-th equals an earlier one with probability 1 - 2^-i,
    of 12 episodes so about 10; 10 of them do."""
    log_ = log_of(*[[(0, i % 2)] for i in range(12)])
    found = check(log_, EVEN, seed=random_stream(1, "check")).repeats
    assert (found.repeated, found.long) == (10, 0)
    assert_allclose(found.by_chance, sum(1 - 0.5**i for i in range(12)))
    assert found.verdict.status == "passed"


def test_where_nothing_ever_happens_long_repeats_are_no_surprise():
    log_ = log_of(*[[(0, 0)] * 30] * 50)
    found = check(log_, Controller.constant(Z, A, [1, 0]), seed=random_stream(1, "check")).repeats
    assert (found.repeated, found.long) == (49, 49)
    assert found.verdict.status == "passed"


def with_remarks(**remarks) -> Episodes:
    log_ = log_of([(0, 0), (1, 1)])
    origin = Origin("bridge.csv", np.array([2, 3]), ["north"], Remarks(rows=2, **remarks))
    columns = log_.observation, log_.action, log_.reward, log_.start
    return Episodes(Z, A, *columns, log_.final_observation, log_.terminated, origin)


@pytest.mark.parametrize(
    ("remarks", "status", "said"),
    [
        ({}, "passed", None),
        ({"costs": True}, "passed", "2 rows whose reward is a cost"),
        ({"interleaved": 3}, "passed", "3 episodes with rows of others"),
        ({"gaps": 1}, "passed", "1 gap at which"),
        ({"replaced": 4}, "passed", "4 missing observations"),
        ({"out_of_order": 5, "first_out_of_order": 17}, "look", "5 rows out of order, sorted (fi"),
        ({"repeated": 6}, "look", "6 rows that repeat another"),
        ({"dropped": 7}, "look", "7 episodes with a missing value"),
        ({"rewards_assumed": True}, "look", "2 rows whose reward was computed"),
    ],
)
def test_what_the_reader_remarked(remarks, status, said):
    found = check(with_remarks(**remarks), EVEN, seed=random_stream(1, "check")).rows
    assert found.verdict.status == status
    texts = [f"{remark.count} {remark.what}" for remark in found.remarks]
    assert len(texts) == (said is not None)
    assert said is None or texts[0].startswith(said)


def with_nodes(names_: tuple[str, ...], code: list[int]) -> Episodes:
    log_ = log_of([(0, 0), (1, 1), (0, 0)])
    columns = log_.observation, log_.action, log_.reward, log_.start
    ends = log_.final_observation, log_.terminated
    return Episodes(Z, A, *columns, *ends, None, Labels(names_, code))


ODD_EVEN = NamedNodes(("even", "odd"), [[[1, 1]] * 2, [[0, 0]] * 2])


@pytest.mark.parametrize("memory", [ODD_EVEN, product(ODD_EVEN, window(2))])
@pytest.mark.parametrize(
    ("names_", "code", "wrong"),
    [
        (("odd", "even"), [1, 0, 1], []),
        (("odd", "even"), [1, -1, -1], []),
        (("odd", "even"), [1, 0, 0], [("odd", "even")]),
        (("even", "elsewhere"), [1, -1, 0], [("elsewhere", "even")]),
    ],
)
def test_logged_nodes_against_the_memory_of_the_policy(memory, names_, code, wrong):
    behavior = Controller.uniform(Z, A, memory)
    found = check(with_nodes(names_, code), behavior, seed=random_stream(1, "check")).nodes
    assert [(e.logged, e.replayed) for e in found.examples] == wrong
    assert found.mismatches == len(wrong)
    assert found.steps == sum(c >= 0 for c in code)
    assert found.verdict.status == ("failed" if wrong else "passed")


def test_a_window_has_no_named_nodes():
    found = check(with_nodes(("a",), [0, 0, 0]), EVEN, seed=random_stream(1, "check")).nodes
    assert found.verdict.status == "look"


# ---- all together -------------------------------------------------------------------------------


def test_a_sound_log_passes():
    """All but one thing: Tiger asks for more memory than the current observation."""
    behavior = listening(0.30)
    found = check(
        run(behavior, 300, seed=2), behavior, seed=random_stream(1, "check"), discount=0.95
    )
    assert found.verdict.sentence == "Usable, but look at: order."
    assert list(found.sections) == ["fit", "spread", "order", "drift", "repeats"]
    assert found.drift.discount == 0.95


def test_the_worst_section_decides():
    found = check(run(listening(0.3), 300, seed=2), listening(0.1), seed=random_stream(1, "check"))
    assert found.verdict.status == "failed"
    assert found.verdict.sentence == ("Do not rely on what is learned from this log: fit failed.")


def test_an_estimated_behavior_is_asked_about_its_memory_instead():
    log_ = run(listening(0.3), 300, seed=2)
    found = check(log_, estimate_behavior(log_))
    assert (found.fit, found.longer.verdict.status) == (None, "passed")
    assert next(iter(found.sections)) == "longer"


def test_the_same_generator_gives_the_same_answers():
    log_ = run(listening(0.3), 50, seed=2)
    once, again = (
        check(log_, listening(0.3), seed=random_stream(1, "check")).to_dict() for _ in "ab"
    )
    other = check(log_, listening(0.3), seed=random_stream(2, "check")).to_dict()
    assert once == again
    assert once != other


def test_names_are_aligned_to_those_of_the_behavior():
    other = Controller.constant(Z[::-1], A[::-1], [0.0, 1.0])
    found = check(log_of([(0, 0), (1, 0)]), other, seed=random_stream(1, "check"))
    assert found.fit.impossible == 0
    with pytest.raises(LogError, match="action 'repair' is not one of keep"):
        check(log_of([(0, 1)]), Controller.uniform(Z, ("keep",)), seed=random_stream(1, "check"))


@given(st.data())
@settings(max_examples=30)
def test_every_answer_is_plain_json(data):
    log_ = data.draw(logs(names("z", 2), names("a", 2), most_episodes=12))
    behavior = data.draw(controllers(names("z", 2), names("a", 2)))
    for estimated in (False, True):
        used = estimate_behavior(log_, behavior.memory) if estimated else behavior
        found = check(log_, used, seed=random_stream(1, "check"), resamples=99)
        document = found.to_dict()
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        assert set(document["sections"]) <= set(QUESTIONS)


def test_hostile_names_are_tamed():
    evil = "\x1b[2J<script>\u202e" + "x" * 10_000
    behavior = Controller.constant((evil,), ("keep", evil), [1, 0], memory=window(50))
    log_ = Episodes((evil,), ("keep", evil), [0] * 60, [1] * 60, [0.0] * 60, [0, 60], [-1], [True])
    example = check(log_, behavior, seed=random_stream(1, "check")).fit.examples[-1]
    for text in (example.situation, example.action):
        assert len(text) < 300
        assert text.isprintable()


@pytest.mark.parametrize("discount", [-0.1, 1.1, float("nan")])
def test_a_discount_lies_between_0_and_1(discount):
    with pytest.raises(ParameterError, match="discount"):
        check(log_of([(0, 0)]), EVEN, seed=random_stream(1, "check"), discount=discount)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_a_seed_is_a_whole_number_or_a_generator(seed):
    with pytest.raises(ParameterError, match=r"seed.*numpy Generator"):
        check(log_of([(0, 0)]), EVEN, seed=seed)
