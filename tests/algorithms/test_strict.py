"""First-visit returns, the bounds on them, and the improvement that rests on those alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from facts import refuses
from jumar.algorithms import run
from jumar.algorithms.strict import improve as strict
from jumar.algorithms.strict import strict_rows
from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.evidence.first_visits import FirstVisits, ReturnBounds, first_returns
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from strategies import logs, names

NAMES = ("good", "worn"), ("keep", "repair")
HALF = Controller.uniform(*NAMES, name="half and half")
UP_TO_4 = RewardRange.constant(0, 4)


def worn(keeps: int, repairs: int) -> Episodes:
    """Episodes of one step on 'worn' that end: keeping pays 1, repairing 3."""
    actions = [0] * keeps + [1] * repairs
    n = len(actions)
    pays = [1.0 + 2.0 * a for a in actions]
    return Episodes(*NAMES, [1] * n, actions, pays, range(n + 1), [UNKNOWN] * n, [True] * n)


def single(count: float, mean: float, deviation: float = 0.0, pairs: int = 1) -> FirstVisits:
    """One pair with returns in [0, 1]."""
    cell = [np.full((1, 1), x) for x in (count, mean, 0.0, deviation)]
    return FirstVisits(np.zeros((1, 1)), *cell, 0.0, 1.0, pairs, 0.9)


# ---- first visits -------------------------------------------------------------------------------


def test_only_the_first_visit_of_an_episode_counts():
    """z a, z a, z b with 1, 2, 4 at discount 1/2: a is worth 1 + 1 + 1, b is worth 4."""
    log = Episodes(("z",), ("a", "b"), [0, 0, 0], [0, 0, 1], [1, 2, 4], [0, 3], [-1], [True])
    found = first_returns(log, window(1), discount=0.5, rewards=UP_TO_4)
    assert found.count.tolist() == [[1, 1]]
    assert found.mean.tolist() == [[3, 4]]
    assert found.slack.tolist() == [[0, 0]]
    assert (found.low, found.high, found.pairs) == (0, 8, 2)


def test_the_deviation_is_that_of_a_sample():
    log = Episodes(("z",), ("a",), [0, 0, 0], [0, 0, 0], [1, 2, 3], range(4), [-1] * 3, [True] * 3)
    found = first_returns(log, window(1), discount=0.5, rewards=UP_TO_4)
    assert (found.count.item(), found.mean.item(), found.deviation.item()) == (3, 2, 1)


def test_what_a_cut_hides_lies_anywhere_in_the_range():
    """2, then at half weight anything from 0 to 8: from 2 to 6."""
    log = Episodes(("z",), ("a",), [0], [0], [2], [0, 1], [0], [False])
    found = first_returns(log, window(1), discount=0.5, rewards=UP_TO_4)
    assert (found.mean.item(), found.slack.item()) == (4, 2)


def test_a_last_step_of_which_nobody_knows_what_followed_tells_nothing():
    """2 and then a step that may have ended or gone on: 2 + [0, 8]/2, and [0, 8] for that step."""
    log = Episodes(("y", "z"), ("a",), [0, 1], [0, 0], [2, 3], [0, 2], [UNKNOWN], [False])
    found = first_returns(log, window(1), discount=0.5, rewards=UP_TO_4)
    assert found.mean.tolist() == [[4], [4]]
    assert found.slack.tolist() == [[2], [4]]


@given(logs(names("z", 2), names("a", 2)), st.sampled_from([0.0, 0.5, 0.9]))
def test_the_true_mean_of_returns_that_were_cut_is_within_the_slack(log, γ):
    """Cut a log that is known to its end: what was known before lies in what is known now."""
    rewards = RewardRange.constant(-10, 10)
    whole = Episodes(**{**vars(log), "terminated": np.ones(len(log), bool),
                        "final_observation": np.full(len(log), UNKNOWN)})  # fmt: skip
    full, cut = (first_returns(x, window(1), discount=γ, rewards=rewards) for x in (whole, log))
    here = [int(np.flatnonzero((cut.states == s).all(1))[0]) for s in full.states]
    assert (full.count == cut.count[here]).all()
    assert (np.abs(full.mean - cut.mean[here]) <= cut.slack[here] + 1e-9).all()
    assert (full.deviation <= cut.deviation[here] + 1e-9).all()


def test_rewards_that_the_log_contradicts_are_refused():
    with refuses(ParameterError, "0 to 2", "1 to 3"):
        first_returns(worn(1, 1), window(1), discount=0.0, rewards=RewardRange.constant(0, 2))


# ---- bounds on their means ----------------------------------------------------------------------


def test_returns_that_are_all_the_highest_have_a_closed_form():
    """kl(1, q) = -ln q, so q = (δ/4)^(1/k); all the lowest, the same from the other end."""
    assert single(50, 1.0).bounds(0.05).lower.item() == pytest.approx((0.05 / 4) ** (1 / 50))
    assert single(50, 0.0).bounds(0.05).upper.item() == pytest.approx(1 - (0.05 / 4) ** (1 / 50))
    assert single(50, 1.0).bounds(0.05).upper.item() == 1


def test_every_pair_that_could_be_visited_shares_delta():
    one, many = (single(50, 1.0, pairs=p).bounds(0.05).lower.item() for p in (1, 600))
    assert many == pytest.approx((0.05 / 2400) ** (1 / 50))
    assert many < one


def test_returns_that_hardly_vary_have_the_bernstein_bound():
    """No deviation: 7 ln(8/δ)/(3 (k - 1)) on both sides."""
    found = single(10_001, 0.5).bounds(0.05)
    radius = 7 * math.log(160) / 30_000
    assert found.lower.item() == pytest.approx(0.5 - radius)
    assert found.upper.item() == pytest.approx(0.5 + radius)
    varied = single(10_001, 0.5, deviation=0.01).bounds(0.05)
    more = 0.01 * math.sqrt(2 * math.log(160) / 10_001)
    assert varied.lower.item() == pytest.approx(0.5 - radius - more)


@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0.001, 0.9))
def test_bounds_are_never_wider_than_hoeffdings_root_and_hold_the_mean(k, mean, δ):
    found = single(k, mean, deviation=0.5).bounds(δ)
    root = math.sqrt(math.log(4 / δ) / (2 * k))
    assert max(0, mean - root) - 1e-12 <= found.lower.item() <= mean + 1e-12
    assert mean - 1e-12 <= found.upper.item() <= min(1, mean + root) + 1e-12


def test_a_pair_never_visited_keeps_the_whole_range():
    found = single(0, 0.0).bounds(0.05)
    assert (found.lower.item(), found.upper.item()) == (0, 1)


def test_the_level_holds_exactly_when_the_number_of_visits_is_random():
    """30 episodes, each visits with chance 1/2 and then returns 1 with chance q. Summed over all
    that can happen, the chance that q is outside is at most δ; nothing is simulated."""
    from scipy.stats import binom

    δ, worst = 0.2, 0.0
    bounds = {
        (k, wins): single(k, wins / k, math.sqrt(wins * (k - wins) / k / max(k - 1, 1))).bounds(δ)
        for k in range(1, 31)
        for wins in range(k + 1)
    }
    for q in np.linspace(0.01, 0.99, 50):
        outside = sum(
            float(binom.pmf(k, 30, 0.5) * binom.pmf(wins, k, q))
            for (k, wins), found in bounds.items()
            if not found.lower.item() <= q <= found.upper.item()
        )
        worst = max(worst, outside)
    assert 0.001 < worst <= δ


# ---- the improvement ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper", "new"),
    [
        ([3, 0, 1], [5, 2, 4], [0.75, 0, 0.25]),
        ([3, 0, 1], [5, 3, 4], [0.25, 0.5, 0.25]),  # a tie stays
        ([2, 2, 2], [2, 2, 2], [0.25, 0.5, 0.25]),  # where all are equal nothing changes
    ],
)
def test_only_what_is_proved_worse_loses_its_mass(lower, upper, new):
    bounds = ReturnBounds([[0]], [lower], [upper], 0.9, 0.05)
    assert strict_rows(np.array([[0.25, 0.5, 0.25]]), bounds).tolist() == [new]


def test_one_step_by_hand():
    """100 returns of 1 and 100 of 3 out of [0, 4], which never vary: Bernstein's radius is
    7·4·ln(8·4/(0.9 δ))/(3·99) = 0.61904, so repairing is worth 3 - 1 - 2·0.61904 more, half of the
    time. An episode may begin with 'good', where nothing is known to be won."""
    result = jm.improve(
        worn(100, 100), HALF, discount=0.9, algorithm="strict", rewards=RewardRange((0, 0), (0, 4))
    )
    assert result.controller.row([], "worn").tolist() == [0, 1]
    assert result.controller.row([], "good").tolist() == [0.5, 0.5]
    radius = 7 * 4 * math.log(32 / 0.045) / 297
    each = 0.5 * (2 - 2 * radius)
    # 5 rows (4 pairs, the beginning), 2^(3-1) - 1 sets of outcomes, 200 episodes
    events = math.log(5 * 3 / 0.005) + math.log(21) / 2
    lost = math.sqrt(2 / 200 * 1.05 * events) / 2
    certificate = result.certificate
    assert certificate.bound == "strict"
    assert certificate.zeta == pytest.approx(-each * (1 - lost), rel=1e-9)
    assert certificate.verdict == "proved not worse, given finite-history sufficiency"
    assert certificate.validity is Validity.PROVED_IF_SUFFICIENT
    assert certificate.delta == 0.05


def test_too_few_returns_give_the_behavior_back():
    result = jm.improve(worn(10, 10), HALF, discount=0.9, algorithm="strict", rewards=UP_TO_4)
    assert result.improvement.changed == 0
    assert result.certificate.bound == "unchanged"


def test_without_returns_it_says_what_to_pass():
    mdp = jm.count(worn(3, 3), window(1)).mle(0.9)
    with pytest.raises(ParameterError, match=r"strict: needs .* returns=first_returns\(log"):
        run("strict", mdp, HALF)


def test_returns_of_another_discount_or_memory_are_refused():
    log = worn(3, 3)
    mdp = jm.count(log, window(1)).mle(0.9)
    other = first_returns(log, window(1), discount=0.5, rewards=UP_TO_4).bounds(0.05)
    with refuses(ParameterError, "0.5", "0.9"):
        strict(mdp, HALF, returns=other)
    longer = first_returns(log, window(2), discount=0.9, rewards=UP_TO_4).bounds(0.05)
    with pytest.raises(MemoryMismatch, match="not the 1 of the model"):
        strict(mdp, HALF, returns=longer)
