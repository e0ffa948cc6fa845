"""Does a log drift? Slopes by hand, size and power.

False alarms: a test at level 0.05 on 200 sound logs rejects more than 20 of them with probability
0.0007, as the binomial law says; the seeds are fixed, so a test that is green stays green.
"""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jumar as jm
from jumar.core.randomness import random_stream
from jumar.evidence.checking.drift import _shuffle, check_drift, trend_of
from jumar.log.episodes import Episodes, Labels
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay
from small_logs import EVEN, MOST, A, Z, facts, listening, log_of, run

# ---- drift --------------------------------------------------------------------------------------


def test_the_standard_error_of_the_slope_by_hand():
    """Residuals -0.1, 0.3, -0.3, 0.1, leverages 0.7, 0.3, 0.3, 0.7; t with 2 degrees of freedom."""
    t, e = np.array([-1.5, -0.5, 0.5, 1.5]), np.array([-0.1, 0.3, -0.3, 0.1])
    error = np.sqrt(((t * e / (1 - np.array([0.7, 0.3, 0.3, 0.7]))) ** 2).sum()) / 5
    found = trend_of(np.array([0.0, 1.0, 1.0, 2.0]))
    assert_allclose(found.high - found.slope, 100 * 4.302652729911275 * error)


@pytest.mark.parametrize(
    ("values", "slope", "p"),
    [(np.full(50, x), 0, 1) for x in (0.0, 0.1, -1e100)] + [(np.arange(20.0) * 1e99, 1e101, 0)],
)
def test_a_line_is_certain(values, slope, p):
    found = trend_of(values)
    assert_allclose([found.slope, found.low, found.high, found.p], [slope] * 3 + [p], atol=1e-12)


def test_a_slope_does_not_mind_that_variances_differ():
    """Noise that grows with the episode: of 200 logs without a trend few are rejected."""
    p = [
        trend_of(random_stream(i, "noise").normal(size=100) * np.linspace(0.1, 5, 100)).p
        for i in range(200)
    ]
    assert (np.array(p) <= 0.05).sum() <= MOST


def drift(log_: Episodes, behavior: Controller, level: float = 0.05):
    return check_drift(Replay.of(log_, behavior.memory), 1.0, level)


def test_a_short_log_is_not_tested_nor_are_outcomes_that_nobody_knows():
    assert drift(log_of(*[[(0, 0)]] * 20, ended=False), EVEN)["p"] == 1
    found = drift(log_of(*[[(0, 0)]] * 9), EVEN)
    assert (found["trend"], found["p"], found.verdict.status) == (None, None, "look")
    assert found.verdict.sentence.startswith("9 episodes: too few to tell")


def test_halves_that_differ_as_much_as_they_can():
    """keep on good is followed by good in the first half, by worn in the second: G = 2 · 20 log 2,
    and of the 184,756 ways to halve 20 episodes only two do the same."""
    log_ = log_of(*[[(0, 0), (0, 0)]] * 10, *[[(0, 0), (1, 0)]] * 10)
    behavior = Controller.constant(Z, A, [1, 0], memory=window(2))
    p, B, halves = _shuffle(Replay.of(log_, behavior.memory), 0.05)
    assert (p, B) == (1 / 1000, 999)
    assert_allclose(halves.contributions(), [40 * log(2)])
    change = drift(log_, behavior)["changes"][0]
    assert facts(change, "situation action visits") == ("(start); now good", "keep", [10, 10])
    good = change["outcome"] == "good"
    assert facts(change, "before after") == (float(good), float(not good))


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
    p, _, halves = _shuffle(r, 0.05)
    assert p == pytest.approx(exact, abs=0.064)  # four standard errors
    assert_allclose(halves.contributions().sum(), G(tuple(range(5))), atol=1e-9)


def test_logs_without_drift_are_rejected_no_more_often_than_promised(sound):
    found = [check_drift(r, 0.9, 0.05) for _, r in sound]
    assert sum(d["p"] <= 0.05 for d in found) <= MOST
    assert sum(d["trend"].p <= 0.05 for d in found) <= MOST


def test_two_halves_from_different_models_are_found_out():
    """In the second half every observation is a toss of a coin: all of 20 logs tell."""
    behavior = listening(0.10)
    for seed in range(20):
        log_ = run(behavior, 100, seed)
        toss = random_stream(seed, "flip").random(log_.n_steps) < 0.5
        turned = toss & (np.arange(log_.n_steps) >= log_.start[50])
        found = drift(replace(log_, observation=log_.observation ^ turned), behavior)
        assert found["p"] <= 0.05
        assert found.verdict.status == "failed"
        assert found["changes"]


def test_a_return_that_falls_is_found_out():
    """Each episode pays a quarter less than the one before: 25 per 100 episodes."""
    log_ = run(listening(0.5), 400, seed=1)
    reward = log_.reward.copy()
    reward[log_.start[:-1]] -= np.arange(400) / 4
    found = drift(replace(log_, reward=reward), listening(0.5))
    assert found["trend"].low < -25 < found["trend"].high < 0
    assert found["trend"].p < 1e-6
    assert found.verdict.sentence.startswith("The return falls by 2")


def people(seed: int, fall: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Returns of 400 episodes, 5 to 15 a person, person by person; people are not alike."""
    rng = random_stream(seed, "people")
    unit = np.repeat(np.arange(60), rng.integers(5, 16, 60))[:400]
    return rng.normal(size=60)[unit] + rng.normal(size=400) - fall * np.arange(400), unit


def test_people_who_differ_are_no_trend():
    """Counting episodes, at least 60 of 200 logs without one would be rejected."""
    logs_ = [people(seed) for seed in range(200)]
    assert sum(trend_of(y).p <= 0.05 for y, _ in logs_) >= 60
    assert sum(trend_of(y, unit=unit).p <= 0.05 for y, unit in logs_) <= MOST
    y, unit = people(1, fall=0.01)
    found = trend_of(y, unit=unit)
    assert found.low < -1 < found.high < 0
    assert found.p < 0.001


@pytest.mark.parametrize(("clusters", "t"), [(31, 2.0452296421327034), (11, 2.262157162854099)])
def test_the_standard_error_step_by_step_is_the_jackknife(clusters, t):
    """Each episode, or cluster, left out in turn, and the slope found anew by ordinary least
    squares; one of them is alone at the last steps. t with 29 and 9 degrees of freedom."""
    rng = random_stream(7, "records")
    start = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 30)), [0]])
    start[-1] = start[-2] + 12
    unit, reward = np.arange(31) % clusters, rng.normal(size=start[-1])
    episode = np.repeat(np.arange(31), np.diff(start))
    step = np.arange(start[-1]) - start[episode]

    def slope(kept: np.ndarray) -> float:
        design = np.column_stack([episode, step[:, None] == np.arange(step.max() + 1)])[kept]
        return np.linalg.lstsq(design.astype(float), reward[kept], rcond=None)[0][0]

    all_of = slope(episode >= 0)
    error = np.sqrt(sum((slope(unit[episode] != u) - all_of) ** 2 for u in range(clusters)))
    for given in (unit, None)[: 1 + (clusters == 31)]:
        found = trend_of(reward, start, unit=given)
        assert_allclose(found.slope, 100 * all_of)
        assert_allclose(found.high - found.slope, 100 * t * error)


def test_the_check_counts_people_where_the_log_names_ten():
    y, unit = people(3)
    log_ = replace(log_of(*[[(0, 0)]] * 400), reward=y)
    named = [replace(log_, cluster=Labels.of([str(u % K) for u in unit])) for K in (400, 10, 9)]
    p = [drift(x, EVEN)["trend"].p for x in (log_, *named)]
    assert p[1:3] == [trend_of(y, unit=u).p for u in (unit, unit % 10)]
    assert p[3] == p[0]
    assert ["independent" in drift(x, EVEN).verdict.sentence for x in named] == [False, False, True]


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


def test_records_that_get_shorter_or_stop_anywhere_are_no_drift():
    """200 fleets that never change. In every other one records get shorter: returns would rise, and
    what follows would differ, as only early records get old. In the others they stop anywhere."""
    logs_ = [
        fleet(i, random_stream(i, "cuts").integers(3, 60, 40) if i % 2 else SHRINKING)
        for i in range(200)
    ]
    assert all(trend_of(log_.returns(1.0)).p < 1e-3 for log_ in logs_[:20:2])
    found = [drift(log_, EVEN) for log_ in logs_]
    assert {d["trend"].of for d in found} == {"reward"}
    assert {d["steps"] for d in found[::2]} <= set(range(11, 16))
    assert sum(d["trend"].p <= 0.05 for d in found) <= MOST
    assert sum(d["p"] <= 0.05 for d in found) <= MOST


def test_costs_that_rise_are_found_out_although_records_get_shorter():
    """Each machine costs 0.01 more per step than the one before: 1 per 100 episodes."""
    found = drift(fleet(1, SHRINKING, change=0.01), EVEN)
    assert found["trend"].low < -1 < found["trend"].high < 0
    assert found.verdict.status == "failed"
    assert "the reward at the same step falls by" in found.verdict.sentence.lower()
    assert "its order stands for groups rather than time" in found.verdict.sentence


def test_records_cut_off_at_the_same_step_keep_their_returns():
    ended = log_of(*[[(0, 0)] * (1 + i % 3) for i in range(20)])
    cut = log_of(*[[(0, 0)] * 3] * 20, ended=False)
    assert [drift(log_, EVEN)["trend"].of for log_ in (ended, cut, ended + cut)] == ["return"] * 3
    shorter = log_of([(0, 0)] * 2, ended=False)
    assert drift(ended + cut + shorter, EVEN)["trend"].of == "reward"


def test_what_follows_is_compared_up_to_where_19_of_20_records_get():
    """40 records cut off at 3, 4, 5, ... steps: two may be shorter, so up to step 5."""
    log_ = log_of(*[[(0, 0)] * (3 + i) for i in range(40)], ended=False)
    assert drift(log_, EVEN)["steps"] == 5
    assert "outcomes of the first 5 steps" in drift(log_, EVEN).verdict.sentence


def test_in_a_huge_log_only_the_pairs_seen_most_are_compared(monkeypatch):
    """On good, keep was done 50 times and repair 25, each with three outcomes: with room for three
    only keep is left."""
    episodes = [[(0, 0), (i % 2, 0), (0, i % 2)] for i in range(20)]
    log_ = log_of(*episodes, *[[(0, 1), (i % 2, 1), (0, 0)] for i in range(10)])
    r = Replay.of(log_, EVEN.memory)
    assert r.taken[0].tolist() == [50, 25]
    assert _shuffle(r, 0.05)[2].cells[:, 0].tolist() == [0, 0, 0, 1, 1, 1]
    monkeypatch.setattr("jumar.evidence.checking.drift.MOST_CELLS", 3)
    assert _shuffle(r, 0.05)[2].cells[:, 0].tolist() == [0, 0, 0]


def test_a_new_behavior_with_other_returns_is_no_drift_of_the_process():
    """Repair pays 3, keep pays 1: the second behavior repairs more often, and nothing else."""
    rng = random_stream(1, "two behaviors")
    action = np.concatenate([rng.random(300) < 0.2, rng.random(300) < 0.8]).astype(np.int64)
    returns = 1.0 + 2.0 * action
    made_by = np.repeat([0, 1], 300)
    assert trend_of(returns).p < 1e-6
    assert trend_of(returns, made_by=made_by).p > 0.01
    assert trend_of(returns, np.arange(601), made_by).p > 0.01
    assert trend_of(returns + 0.01 * np.arange(600), made_by=made_by).p < 1e-6  # a drift in both


def test_whoever_asks_gets_the_same_answer():
    """check and improve, with other seeds and other numbers of draws."""
    log_ = run(listening(0.3), 200, seed=4)
    asked = [
        jm.check(log_, "estimate", discount=0.9, seed=seed, resamples=resamples).sections["drift"]
        for seed, resamples in ((1, 99), (2, 199))
    ]
    improved = jm.improve(log_, "estimate", discount=0.9, seed=7).assessment.check.sections["drift"]
    assert len({(d["p"], d["resamples"], d["trend"].p, d.verdict) for d in (*asked, improved)}) == 1
