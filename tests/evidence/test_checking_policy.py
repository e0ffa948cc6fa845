"""Did this policy produce this log, and does it remember enough? Closed forms, size, power.

False alarms: a test at level 0.05 on 200 sound logs rejects more than 20 of them with probability
0.0007, as the binomial law says; the seeds are fixed, so a test that is green stays green.
"""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from jumar.core.randomness import random_stream
from jumar.evidence.chance import Settings
from jumar.evidence.checking.actions import check_fit, with_policy
from jumar.evidence.checking.memory import Deal, check_longer
from jumar.evidence.practice import practice_of
from jumar.log.episodes import Episodes, Origin
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.tally.replay import Replays
from small_logs import EVEN, FAST, MOST, A, Z, facts, listening, log_of, run
from strategies import controllers, logs, names

# ---- did this policy produce this log? ----------------------------------------------------------


def fit(log_: Episodes, behavior: Controller, setting: Settings = FAST, seed: int = 1):
    practice = practice_of(log_, behavior, checked=False)
    return check_fit(with_policy(practice), setting, random_stream(seed, "fit"))


def test_the_likelihood_ratio_by_hand():
    """3 keep and 1 repair against one half each: G = 2 (3 log 3/2 + 1 log 1/2)."""
    found = fit(log_of([(0, 0), (0, 0), (0, 0), (0, 1)]), EVEN)
    assert_allclose(found["statistic"], 2 * (3 * log(1.5) + log(0.5)))


def test_the_p_value_is_that_of_a_fair_coin():
    """Of 10 throws all heads or all tails: 2/1024, and nothing is further off."""
    found = fit(log_of([(0, 0)] * 10), EVEN, Settings(0.01, 20_000))
    assert found["p"] == pytest.approx(2 / 1024, abs=0.0012)  # four standard errors


def test_an_impossible_action_is_named_with_its_row_and_situation():
    before = log_of([(0, 0), (1, 0), (0, 1)])
    origin = Origin("bridge.csv", np.array([2, 3, 4]), ["north"])
    log_ = Episodes(
        Z, A, before.observation, before.action, before.reward, [0, 3], [-1], [True], origin
    )
    never = Controller.constant(Z, A, [1, 0], memory=window(2))
    found = fit(log_, never)
    assert (found["impossible"], found["statistic"], found["p"]) == (1, None, 1 / 100)
    example = found["examples"][0]
    assert example["where"] == "bridge.csv, row 4 (episode north)"
    assert (example["situation"], example["action"]) == ("worn; now good", "repair")
    assert found.verdict.status == "failed"
    assert "never takes was taken in 1 step." in found.verdict.sentence


def test_the_history_that_does_not_fit_is_named():
    """On worn, repair is declared at one half and done always; on good all is well."""
    found = fit(log_of([(0, 0), (0, 1)] * 20 + [(1, 1)] * 40), EVEN)
    assert found["n_misfits"] == 1
    worst = found["misfits"][0]
    assert facts(worst, "situation visits expected seen") == ("worn", 40, 0.5, 1.0)
    # both tails, two actions, two histories, of which the other is no better
    assert_allclose(worst["p"], 2 * 2 * 2 * 0.5**40)


@given(st.data())
@settings(max_examples=30)
def test_impossible_actions_as_the_obvious_program_counts_them(data):
    log_ = data.draw(logs(names("z", 2), names("a", 3)))
    behavior = data.draw(controllers(names("z", 2), names("a", 3)))
    found = fit(log_, behavior)
    taken = behavior.rows_at(_states(log_, behavior))[np.arange(log_.n_steps), log_.action]
    assert found["impossible"] == (taken == 0).sum()
    assert (found["statistic"] is None) == (found["impossible"] > 0)
    assert 1 / 100 <= found["p"] <= 1


def _states(log_: Episodes, behavior: Controller) -> np.ndarray:
    nodes = behavior.memory.replay(log_.observation, log_.action, log_.start)
    return np.column_stack([nodes, log_.observation])


def test_the_true_behavior_is_rejected_no_more_often_than_promised(sound):
    """As a whole, and in any of its histories."""
    found = [fit(r.log, behavior, seed=i) for i, (behavior, r) in enumerate(sound)]
    assert sum(f["p"] <= 0.05 for f in found) <= MOST
    assert sum(f["n_misfits"] > 0 for f in found) <= MOST


def test_more_exploration_than_declared_is_found():
    """2 % declared, 10 % used: every one of 20 logs of 100 episodes gives it away."""
    found = [fit(run(listening(0.10), 100, seed), listening(0.02)) for seed in range(20)]
    assert {f.verdict.status for f in found} == {"failed"}
    assert {f["p"] for f in found} == {1 / 100}


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


def test_cards_are_dealt_by_the_same_law():
    """As above, with every possible deal told by its statistic: 2:0 in either hand, or 1:1."""
    deal = Deal(np.array([[2, 0], [0, 2]]), np.array([0, 0]), np.array([[2, 2]]))
    alike = [len(counts) == 2 for counts in deal.shuffles(6000, random_stream(1, "deal"))]
    assert_allclose(np.mean(alike), 1 / 3, atol=0.025)
    # so they are where there are many actions: one action at a time takes minutes
    many = Deal(np.eye(2, 51, dtype=int), np.array([0, 0]), np.eye(2, 51, dtype=int).sum(0)[None])
    assert_allclose(list(many.statistics(3, random_stream(1, "deal"))), 4 * log(2))


def test_the_gain_of_a_longer_memory_by_hand():
    """keep, keep after one thing and repair, repair after another: G = 2 · 4 log 2."""
    deal = Deal(np.array([[2, 0], [0, 2]]), np.array([0, 0]), np.array([[2, 2]]))
    assert_allclose(deal.statistic(deal.taken), 8 * log(2))
    assert deal.statistic(np.array([[1, 1], [1, 1]])) == 0


def longer(log_: Episodes, memory=None, setting: Settings = FAST, seed: int = 1):
    memory = (memory or window(1)).on(len(log_.observations), len(log_.actions))
    return check_longer(Replays(log_), memory, setting, random_stream(seed, "longer"))


def test_somebody_who_remembers_is_found_out_and_then_believed():
    """Repair follows worn, one step later: a window of 1 cannot know, a window of 2 does."""
    z = random_stream(1, "memory").integers(0, 2, (100, 10)).tolist()
    episodes = [list(zip(seen, [0, *seen[:-1]], strict=True)) for seen in z]
    log_ = log_of(*episodes)
    short = longer(log_)
    assert (short["p"], short["longer"], short.verdict.status) == (1 / 100, "window of 2", "look")
    enough = longer(log_, window(2))
    assert enough.verdict.status == "passed"
    assert "the same was done every time" in enough.verdict.sentence


def test_memory_that_suffices_is_rejected_no_more_often_than_promised(sound):
    """19 draws: rejected when the log is the most telling of 20. More would change no level."""
    setting = Settings(level=0.05, resamples=19)
    p = [longer(r.log, r.memory, setting, seed=i)["p"] for i, (_, r) in enumerate(sound)]
    assert (np.array(p) <= 0.05).sum() <= MOST


def test_where_nothing_can_be_told_a_person_is_told_so():
    """Both actions were done on good, but what came before was the same: nothing."""
    found = longer(log_of([(0, 0), (1, 0)], [(0, 1), (1, 0)]))
    assert (found["decided"], found["p"], found.verdict.status) == (0, 1, "look")
    one_step = longer(log_of([(0, 0)], [(0, 1)]))
    assert (one_step["decided"], one_step["p"], one_step.verdict.status) == (0, 1, "passed")
    assert longer(log_of([(0, 0)]), window(1000))["longer"] is None
