"""The two gates of selection: what passes, what is refused, and that the level is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jumar.gate import proved
from jumar.gate.asymptotic import (
    critical_value,
    gate,
    hidden,
    largest,
    missing,
    normal,
    student,
)
from jumar.gate.bets import Bet, Growth, Scores
from jumar.gate.candidates import Fitted
from jumar.gate.dealing import HALVES, DealtPart
from jumar.gate.proved import PASSING, SHARES, Listed, Prospect, least_deltas, outcomes
from jumar.gate.trials import Setting
from selection_logs import HALF, bench_of, tiger_log, uniform_tiger

# ---- the asymptotic gate ------------------------------------------------------------------------


def test_one_candidate_is_tested_by_student():
    rng = np.random.default_rng(1)
    y = rng.standard_normal((1, 50))
    # one variable: the quantile of a normal, stretched; never below Student's own
    assert critical_value(largest(y, rng), 0.025, y.shape[1]) == pytest.approx(
        student(0.025, 50), rel=0.08
    )
    assert student(0.025, 50) == pytest.approx(2.0096, abs=1e-4)
    assert normal(0.025) == pytest.approx(1.95996, abs=1e-5)


def test_candidates_that_differ_cost_what_sidak_says():
    """J independent ones: the quantile of the largest is Φ⁻¹((1-α)^(1/J))."""
    rng = np.random.default_rng(2)
    y = rng.standard_normal((8, 20_000))
    exact = normal(1 - 0.95 ** (1 / 8))
    assert critical_value(largest(y, rng), 0.05, y.shape[1]) == pytest.approx(exact, abs=0.08)


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


@pytest.mark.filterwarnings("error")
def test_astronomical_weights_do_not_overflow():
    """Squares of these scores do. Of numbers that are only scaled the draws are the same."""
    rng = np.random.default_rng(1)
    usual = rng.standard_normal((3, 100))
    huge = usual * 2.0**600
    assert np.allclose(
        largest(huge, np.random.default_rng(2)), largest(usual, np.random.default_rng(2))
    )
    scores = Scores(huge[0], np.zeros(100, np.int64))
    assert scores.variance == math.inf
    assert scores.deviation / 2.0**600 == pytest.approx(usual[0].std(ddof=1), rel=1e-12)
    test = gate(huge, delta=0.05, range=1.0, rng=rng)
    assert -math.inf < test.lower(huge[0], np.ones(100)) < 0


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
    found = outcomes(four, [Scores(x, block) for x in (win, lose, win, win)], δ)
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
    assert len(outcomes(four[:2], [Scores(win, block)] * 2, δ)) == 2
    assert sum(SHARES) == pytest.approx(1)


def pass_one_after_the_other(log_wealths, shares, delta):
    """The fallback procedure as it is written in the books."""
    found, handed_on = [], 0.0
    for grown, share in zip(log_wealths, shares, strict=False):
        level = (share + handed_on) * PASSING * delta / HALVES
        found.append(grown >= -math.log(level))
        handed_on = share + handed_on if found[-1] else 0.0
    return found


def test_the_least_delta_is_where_a_candidate_begins_to_pass():
    rng = np.random.default_rng(1)
    for _ in range(200):
        grown = rng.exponential(5.0, rng.integers(1, len(SHARES) + 1))
        least = least_deltas(grown, SHARES)
        for delta in 10 ** rng.uniform(-6, 0, 20):
            passed = pass_one_after_the_other(grown, SHARES, delta)
            assert passed == [x <= delta for x in least]


def test_a_bet_that_grew_to_a_hundred_passes_alone_from_a_delta_of_one_in_45():
    """1/100 <= δ · .9 / 2; a wealth beyond every float passes with every δ."""
    assert least_deltas([math.log(100)], (1.0,)) == pytest.approx([1 / 45])
    assert least_deltas([800.0], (1.0,)) == [0.0]


def test_what_passes_is_at_least_not_worse_and_what_fails_claims_nothing():
    """Just passing at its level, but not at the smaller one of the bound: the gain is above 0, by
    how much is not proved."""
    δ, block = 0.1, np.arange(400)
    for n in range(1, 40):
        (found,) = outcomes([listed(1.0, 0.5)], [Scores(np.ones(n), block[:n])], δ)
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
        found = outcomes(shortlist, [Scores(x[i], block) for x, _ in candidates], 0.5)
        false += any(x.passed for x in (found[1:] if first == "true" else found))
    assert 0 < false <= 688


def test_the_shortlist_is_ordered_by_how_sure_it_is_and_never_longer_than_its_shares():
    bench = bench_of(tiger_log(800), uniform_tiger(), 0.95)
    found, made = proved.shortlist(bench, DealtPart(0), 400, 0.05)
    assert 0 < len(found) <= len(SHARES) < made
    level = PASSING * 0.025
    chances = [x.prospect.chance(400, level) for x in found]
    assert chances == sorted(chances, reverse=True)
    R = bench.limits.range
    for x in found:
        assert x.prospect.setting == x.candidate.setting
        assert x.prospect.floor >= R
        assert 0 < x.prospect.bet.fraction < 1
