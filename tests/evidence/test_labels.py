"""What a label promises must hold: small processes on which labels were once false."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from facts import refuses
from jumar import Controller, offpolicy
from jumar.core.errors import ImpossibleClaim, LogError
from jumar.core.randomness import random_stream
from jumar.evidence.bounds import Scale
from jumar.evidence.certificate import (
    certify,
    data_dependent,
    for_estimated_behavior,
)
from jumar.evidence.checking.amount import check_cuts
from jumar.evidence.claims import Certificate
from jumar.evidence.offpolicy.intervals import INTERVALS
from jumar.evidence.offpolicy.weights import Trust, effective_size, grade, trust
from jumar.evidence.rewards import RewardRange, Starts, most_gain
from jumar.evidence.validity import Validity
from jumar.lab.truth.pomdp import Pomdp, from_arrays
from jumar.log.episodes import Episodes

TIGER = RewardRange(continuing=(-1, -1), ending=(-100, 10))
SIZE = {"states": 6, "actions": 3, "outcomes": 3, "discount": 0.95}
DECLARED = TIGER.scale(**SIZE)
READ_OFF = replace(TIGER, declared=False).scale(**SIZE)
EVEN = Starts([1.0, 1.0], [50, 50])
BOTH_WAYS = (
    "provided that no return lies outside what the log shows: neither a loss nor a gain that it "
    "does not happen to contain"
)

# ---- where episodes begin -----------------------------------------------------------------------


def least_by_linear_program(starts: Starts, radius: float) -> float:
    """The least mean gain over all laws within an L1 distance of the shares."""
    from scipy.optimize import linprog

    share = starts.episodes / starts.episodes.sum()
    O, one = len(share), np.eye(len(share))
    found = linprog(  # the law, and how far each of its parts is off
        np.append(starts.gain, np.zeros(O)),
        A_ub=np.block([[one, -one], [-one, -one], [np.zeros((1, O)), np.ones((1, O))]]),
        b_ub=np.concatenate([share, -share, [radius]]),
        A_eq=[[1.0] * O + [0.0] * O],
        b_eq=[1.0],
    )
    return float(found.fun)


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 40)), min_size=2, max_size=6),
    st.sampled_from([0.005, 0.05, 0.5]),
)
def test_the_worst_start_law_is_that_of_a_linear_program(cells, delta):
    gain, episodes = zip(*cells, strict=True)
    if sum(episodes) == 0:
        return
    starts = Starts(gain, episodes)
    expected = least_by_linear_program(starts, starts.radius(delta))
    assert starts.least(delta) == pytest.approx(expected, abs=1e-9)
    mean = np.average(gain, weights=episodes)
    assert min(gain) - 1e-9 <= starts.least(delta) <= mean + 1e-9


def test_the_radius_of_the_start_law_by_hand():
    """Three observations: 2^3 - 2 = 6 sides to err on; one observation is no law at all."""
    starts = Starts([0.0, 1.0, 2.0], [100, 100, 200])
    assert starts.radius(0.06) == pytest.approx(math.sqrt(2 / 400 * math.log(100)))
    assert Starts([3.0], [2]).least(0.05) == 3.0
    assert Starts([0.0, 5.0], [0, 1]).radius(0.05) == 2.0


def two_states() -> Pomdp:
    """In plain view: `take` pays 1 in the rich state, nothing pays in the poor one, and the next
    state is a fair coin whatever is done. So is the first."""
    return from_arrays(
        name="two states",
        states=["rich", "poor"],
        actions=["take", "leave"],
        observations=["rich", "poor"],
        transition=np.full((2, 2, 2), 0.5),
        observation=[np.eye(2)] * 2,
        reward=[[1, 0], [0, 0]],
        start=[0.5, 0.5],
        first_observation=np.eye(2),
        discount=0.5,
    )


@pytest.mark.slow
def test_plug_in_is_true_where_few_records_show_how_episodes_begin():
    """The gain is .75 from the rich state and .25 from the poor one: .5. One long record knows the
    model well and the law of beginnings not at all. Taken from where the record happens to begin,
    the bound was false in 16 of these 40 logs. At δ = .05, six false ones have a chance of 1 %."""
    pomdp = two_states()
    fair = Controller.uniform(pomdp.observations, pomdp.actions)
    false, proved = 0, []
    for seed in range(40):
        log = jm.simulate(
            pomdp, fair, episodes=1, seed=random_stream(seed, "data"), max_steps=200_000
        )
        result = jm.improve(log, fair, discount=0.5, rewards=RewardRange((0, 1)), algorithm="basic")
        (found,) = (c for c in result.certificates if c.bound == "plug-in")
        assert found.validity is Validity.PROVED_IF_SUFFICIENT
        gain = jm.evaluate(pomdp, result.controller).value - jm.evaluate(pomdp, fair).value
        assert gain == pytest.approx(0.5)
        false += -found.zeta > gain
        proved.append(-found.zeta)
    assert false <= 5
    # and it still says something, but where the only return is nearly the best there is
    assert sum(gain > 0 for gain in proved) >= 39


# ---- a range read off the log -------------------------------------------------------------------


def everything(scale: Scale) -> list[Certificate]:
    settings = {"n_wedge": 10**7, "delta": 0.05, "gain": 1.0}
    found = [
        *certify(scale, kind="bootstrapped", smallest_count=10**7, starts=EVEN, **settings),
        data_dependent(2.0, scale, delta=0.05),
        data_dependent(0.0, scale, delta=0.05, strict=True),
    ]
    return sorted(found, key=lambda c: c.bound)


def test_a_range_read_off_the_log_lowers_every_class_and_stands_in_the_sentence():
    for declared, read_off in zip(everything(DECLARED), everything(READ_OFF), strict=True):
        assert declared.bound == read_off.bound
        assert declared.zeta == read_off.zeta
        assert read_off.validity is declared.validity.if_seen
        assert read_off.validity is not Validity.PROVED_IF_SUFFICIENT
        assert BOTH_WAYS in read_off.claim
        assert BOTH_WAYS not in declared.claim
        assert "the log shows" not in declared.verdict
        assert (read_off.to_dict()["range_declared"], declared.to_dict()["range_declared"]) == (
            False,
            True,
        )


TRAP = ("start",), ("safe", "risky")


def trap_log(episodes: int, seed: int) -> Episodes:
    """One step: `safe` pays 1, `risky` 1.05, but -200 once in 1,000; both with probability 1/2."""
    rng = random_stream(seed, "trap")
    action = rng.integers(0, 2, episodes)
    lost = rng.random(episodes) < 1e-3
    reward = np.where(action == 1, np.where(lost, -200.0, 1.05), 1.0)
    zeros = np.zeros(episodes, np.int64)
    return Episodes(*TRAP, zeros, action, reward, np.arange(episodes + 1), zeros - 1, zeros == 0)


TRAP_REWARDS = RewardRange.constant(-200, 1.05)
RISKY = Controller.constant(*TRAP, [0.0, 1.0], name="risky")
WORTH = 1.05 - 0.20105  # of risky: 1.05 · .999 - 200 · .001
assert pytest.approx(0.999 * 1.05 - 0.2) == WORTH


@pytest.mark.parametrize("interval", ["hoeffding", "bernstein", "truncated"])
def test_a_rare_loss_breaks_no_interval_that_is_called_proved(interval):
    """In a third of these logs the loss never shows. With the range read off, the interval misses
    then, and is not called proved; with the range declared none of 60 misses."""
    fair = Controller.uniform(*TRAP)
    settings = {"discount": 0.5, "estimator": "pdis", "interval": interval}
    missed = 0
    for seed in range(60):
        log = trap_log(2000, seed)
        found = offpolicy.estimate(log, RISKY, fair, **settings)
        missed += not found.lower <= WORTH <= found.upper
        assert found.validity is Validity.PROVED_IF_SEEN
        assert found.read_off[:1] == ("rewards",)
        assert found.vacuous or found.evidence.hidden or BOTH_WAYS in found.verdict
        sure = offpolicy.estimate(log, RISKY, fair, rewards=TRAP_REWARDS, horizon=1, **settings)
        assert sure.validity is Validity.PROVED
        assert sure.lower <= WORTH <= sure.upper
        assert "the log shows" not in sure.verdict
    assert missed > 60 * 0.2


def test_a_rare_loss_breaks_no_certificate_that_is_called_proved_without_a_word():
    """Strict improvement moves to `risky` where the loss did not show: false there, and said to
    rest on what the log shows. With declared rewards it never moves."""
    fair = Controller.uniform(*TRAP)
    fooled = 0
    for seed in range(20):
        log = trap_log(2000, seed)
        found = jm.improve(log, fair, discount=0.5, algorithm="strict").certificate
        if found.bound == "strict":
            fooled += -found.zeta > 0
            assert found.validity is Validity.PROVED_IF_SUFFICIENT_AND_SEEN
            assert BOTH_WAYS in found.claim
        sure = jm.improve(log, fair, discount=0.5, algorithm="strict", rewards=TRAP_REWARDS)
        assert sure.certificate.bound == "unchanged"
    assert fooled >= 3


def steps_log(rewards: list[float], *, ended: bool = True, episodes: int = 40) -> Episodes:
    """Episodes that all pay the same, with both actions in turn."""
    T = len(rewards)
    action = np.arange(episodes * T) // T % 2
    return Episodes(
        *TRAP,
        np.zeros(episodes * T, np.int64),
        action,
        np.tile(rewards, episodes),
        np.arange(0, episodes * T + 1, T),
        np.full(episodes, -1 if ended else 0),
        np.full(episodes, ended),
    )


@pytest.mark.parametrize(
    ("interval", "rewards", "difference", "expected"),
    [
        ("hoeffding", (0, 1), False, ("horizon",)),
        ("truncated", (0, 1), False, ()),  # going on never costs, so the least is 0 for ever
        ("truncated", (-1, 1), False, ("horizon",)),
        ("truncated", (0, 1), True, ("horizon",)),
        ("t", (0, 1), False, ("horizon",)),  # what is possible rests on it, not the interval
    ],
)
def test_a_horizon_read_off_the_log_counts_where_it_matters(
    interval, rewards, difference, expected
):
    fair = Controller.uniform(*TRAP)
    found = offpolicy.estimate(
        steps_log([0.0, 1.0]), fair, fair, discount=0.9, estimator="pdis", interval=interval,
        rewards=RewardRange.constant(*rewards), difference=difference,
    )  # fmt: skip
    assert found.read_off == expected
    seen = bool(expected) and interval != "t"
    assert (found.validity is Validity.PROVED_IF_SEEN) == seen
    assert any("longest episode was only read off" in a for a in found.assumptions) == seen
    if seen and not found.vacuous:
        assert "provided that no episode is longer than the longest in the log" in found.verdict


# ---- chances ------------------------------------------------------------------------------------


def test_a_class_without_odds_prints_no_chance():
    for c in everything(DECLARED):
        data = json.loads(json.dumps(c.to_dict()))
        if not c.validity.proved:
            assert "%" not in c.claim
            assert "delta" not in str(c)
            assert (c.odds, data["odds"], data["delta"]) == (None, None, 0.05)
            assert "not a chance of error" in data["delta_meaning"]
            assert c.claim.endswith("how likely this is wrong is not known.")
        else:
            assert (c.odds, data["odds"]) == (0.05, 0.05)
            assert "at most 5 %" in c.claim


def test_an_estimated_behavior_takes_the_odds_away():
    (c,) = for_estimated_behavior(
        (data_dependent(2.0, DECLARED, delta=0.025),),
        scale=DECLARED, r_max=100, episodes=10**6, delta=0.05,
    )  # fmt: skip
    assert (c.validity, c.odds) == (Validity.CLAIMED, None)
    assert "%" not in c.claim


# ---- no more than returns allow -----------------------------------------------------------------


@pytest.mark.parametrize("validity", Validity)
def test_no_certificate_of_any_class_may_claim_the_impossible(validity):
    def claim(zeta: float, value_range: float, most: float | None) -> Certificate:
        return Certificate("mine", "Mine", 0.05, zeta, value_range, validity, most=most)

    assert claim(-5.0, 10.0, 5.0).zeta == -5.0
    assert claim(-5.0 - 1e-9, 10.0, 5.0).zeta < -5  # rounding
    for zeta, value_range, most in ((-6.0, 10.0, 5.0), (-11.0, 10.0, None), (-1.0, 0.0, None)):
        with refuses(ImpossibleClaim, "gain", "jumar", "report"):
            claim(zeta, value_range, most)


@given(st.floats(-1e6, 1e6), st.floats(0, 110), st.integers(1, 10**12))
def test_an_absurd_estimate_is_credited_only_as_far_as_possible(gain, most, n):
    starts = Starts([gain, gain], [50, 50])
    found = [
        *certify(DECLARED, n_wedge=n, delta=0.05, gain=gain, kind="bootstrapped", smallest_count=n,
                 starts=starts, most=most),
        data_dependent(gain, DECLARED, delta=0.05, most=most),
        data_dependent(gain, DECLARED, delta=0.05),
    ]  # fmt: skip
    for c in found:
        assert -c.zeta <= (110 if c.most is None else most)


def test_the_most_that_could_be_gained_by_hand():
    """Returns 1 + 0.9 · 2 in every episode. Ended: the best is 2 for ever, 20. Cut off after two
    steps: the best up to there is 2 + 0.9 · 2."""
    rewards = RewardRange.constant(-1, 2)
    assert most_gain(steps_log([1.0, 2.0]), rewards, 0.9) == pytest.approx(20 - 2.8)
    open_end = steps_log([1.0, 2.0], ended=False)
    assert most_gain(open_end, rewards, 0.9) == pytest.approx(3.8 - 2.8)


@given(st.integers(0, 10**6))
def test_no_log_however_small_makes_an_impossible_claim(seed):
    """Random rewards on a few random steps: nothing raises, nothing exceeds what is possible."""
    rng = np.random.default_rng(seed)
    episodes, names = int(rng.integers(1, 6)), (("a", "b"), ("x", "y"))
    lengths = rng.integers(1, 5, episodes)
    start = np.append(0, np.cumsum(lengths))
    ended = rng.random(episodes) < 0.5
    log = Episodes(
        *names,
        rng.integers(0, 2, start[-1]),
        rng.integers(0, 2, start[-1]),
        rng.choice([-5.0, 0.0, 1.0, 1e6], start[-1]),
        start,
        np.where(ended, -1, rng.integers(0, 2, episodes)),
        ended,
    )
    fair = Controller.uniform(*names)
    for algorithm, more in (("basic", {}), ("spibb", {"n_wedge": 0}), ("strict", {})):
        for estimated in (False, True):
            try:
                behavior = replace(fair, estimated=estimated)
                result = jm.improve(log, behavior, discount=0.9, algorithm=algorithm, **more)
            except LogError:  # no step has a known outcome
                continue
            for c in result.certificates:
                assert c.most is None or -c.zeta <= c.most * (1 + 1e-9)
                json.dumps(c.to_dict(), allow_nan=False)


# ---- what warnings go by ------------------------------------------------------------------------


def test_three_sizes_by_hand():
    weight = np.array([3.0, 1.0, 0.0, 0.0])  # mean 1: nothing is missing
    values = np.array([0.0, 0.0, 0.0, 1.0])  # skewness of a coin of 1/4: 2/√3
    found = trust(weight, values)
    assert found.carried == found.present == pytest.approx(16 / 10)
    assert found.balanced == pytest.approx(4 / (4 / 3))
    assert (found.size, found.missing) == (found.carried, 0.0)
    half = trust(weight / 2, values)  # one more episode of weight 2: 16 / (9/4 + 1/4 + 4)
    assert half.carried == pytest.approx(1.6)
    assert half.present == pytest.approx(16 / 6.5)
    assert half.missing == 0.5
    assert trust(1e200 * weight, 1e200 * values).size == pytest.approx(1.6)
    assert trust(0 * weight, values).size == effective_size(0 * weight) == 0
    tiny = trust(np.full(10, 1e-300), np.tile([0.0, 1.0], 5))  # whose squares are no numbers
    assert (tiny.size, tiny.missing) == (1.0, 1.0)
    # all weights alike, so the effective size is n; but they should have mean 1
    rare = trust(np.full(1000, 0.2), np.tile([0.0, 1.0], 500))
    assert rare.carried == pytest.approx(1000)
    assert rare.size == pytest.approx(1 / 0.64, rel=0.01)
    assert rare.reason == "80% of the weight is missing from the log"


def test_warnings_are_graded_and_quote_what_was_measured():
    (worst,) = grade(Trust(2.0, 500.0, 500.0), 500, "episode", INTERVALS["t"].measured)
    (care,) = grade(Trust(500.0, 500.0, 20.0), 500, "episode", INTERVALS["bootstrap-t"].measured)
    assert worst.startswith(
        "Do not trust this interval: the 500 episodes say as much as 2 ordinary"
    )
    assert care.startswith("Treat this interval with care")
    assert "a few episodes carry most of the weight" in worst
    assert "a few large values carry most of the spread" in care
    assert all("were measured to cover the truth in" in text for text in (worst, care))
    assert grade(Trust(500.0, 500.0, 500.0), 500, "episode", INTERVALS["t"].measured) == []
    # 37 people of whom none stands out: blaming a few heavy ones would be wrong
    (few,) = grade(Trust(36.8, 36.9, 37.0), 37, "cluster", INTERVALS["t"].measured)
    assert few.startswith("Treat this interval with care: there are only 37 clusters. At such")
    (one,) = grade(Trust(1.0, 1.0, 1.0), 1, "episode", INTERVALS["t"].measured)
    assert "there is only one episode" in one


def test_a_proved_interval_is_not_warned_about_for_its_size():
    fair = Controller.uniform(*TRAP)
    rare = Controller.constant(*TRAP, [0.02, 0.98])
    log = trap_log(50, 3)
    settings = {"discount": 0.5, "estimator": "pdis", "rewards": TRAP_REWARDS, "horizon": 1}
    assert not offpolicy.estimate(log, fair, fair, interval="hoeffding", **settings).warnings
    few = offpolicy.estimate(trap_log(30, 3), rare, fair, **settings)
    assert few.warnings[0].startswith("Do not trust this interval")


# ---- cuts ---------------------------------------------------------------------------------------


def test_a_check_of_cut_off_records_says_how_much_is_open():
    """Records of 6 steps at a discount of .95: .95^6 = 74 % lies beyond."""
    cut, ended = steps_log([1.0] * 6, ended=False), steps_log([1.0] * 6)
    assert (cut + ended).beyond_cut(0.95) == pytest.approx(0.95**6 / 2)
    found = check_cuts(cut, 0.95)
    assert found.verdict.status == "look"
    said = "40 of 40 were cut off; 74 % of what counts happens after that"
    assert found.verdict.sentence.startswith(said)
    late = steps_log([1.0] * 200, ended=False, episodes=2)
    assert check_cuts(late, 0.95).verdict.status == "passed"
    assert check_cuts(cut, None) is check_cuts(cut, 1.0) is check_cuts(ended, 0.95) is None
