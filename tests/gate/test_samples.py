"""How many episodes until a gain is likely to be certified; and where that cannot be told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jumar.core.errors import ParameterError
from jumar.gate.samples import MOST_TIMES, _all_won, plan
from selection_logs import HALF, choose, coin_log


@pytest.fixture(scope="module")
def coin():
    """A choice that certifies nothing."""
    return choose(coin_log(150, 0.8, np.random.default_rng(1)), HALF, "proved")


def with_trials(choice, **changes):
    return replace(choice, trials=tuple(replace(trial, **changes) for trial in choice.trials))


def test_the_chance_of_a_bet_by_hand():
    """Without drift, by reflection, twice the chance to be there at the end: 2·Φ(-1). Of two such
    bets, both. With .1 ± 1e-9 per unit, 4 is reached after 40 units, not before."""
    assert _all_won([(0.0, 1.0, 2.0)], 4) == pytest.approx(0.3173, abs=1e-4)
    assert _all_won([(0.0, 1.0, 2.0)] * 2, 4) == pytest.approx(0.3173**2, abs=1e-4)
    assert _all_won([(0.1, 1e-9, 4.0)], 39) == 0
    assert _all_won([(0.1, 1e-9, 4.0)], 41) == 1


def test_more_power_and_smaller_gains_take_more_episodes(coin):
    needs = plan(coin, gains=[0.4, 0.2], powers=(0.5, 0.8)).needs
    sizes = [need.episodes for need in needs]
    assert sizes[0] < sizes[1] < sizes[3]
    assert sizes[0] < sizes[2] < sizes[3]
    with pytest.raises(ParameterError, match="gain"):
        plan(coin, gains=[0.0])
    with pytest.raises(ParameterError, match="power"):
        plan(coin, powers=(1.0,))


def test_a_gain_that_is_only_estimated_takes_more_episodes_than_the_same_gain_if_it_were_known(
    coin,
):
    assert coin.chosen is None
    estimated = plan(coin)
    known = plan(coin, gains=[estimated.gain.value])
    assert estimated.needs[0].episodes > known.needs[0].episodes
    assert estimated.needs[0].episodes <= MOST_TIMES * coin.episodes


def test_the_sentence_says_how_many_in_all_and_how_many_more(coin):
    found = plan(coin)
    size = found.needs[0].episodes
    assert f"about {size:,} episodes in all, {size - 150:,} more than now" in found.said(150)


def test_a_gain_larger_than_what_is_possible_is_neither_planned_for_nor_shown(coin):
    """Steps pay up to about 4, so nobody gains 600,000."""
    found = plan(with_trials(coin, gain=6e5))
    assert found.needs == ()
    assert found.gain.shown is None
    assert found.gain.to_dict()["value"] is None
    assert "not possible" in found.why
    (need,) = plan(coin, gains=[6e5]).needs
    assert need.episodes is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"effective": 9.0}, "as much of it as 9 ordinary episodes would"),
        ({"gain": -0.1}, "did not do better"),
        ({"error": 0.5}, "by what this log shows"),
    ],
    ids=["dead weights", "no gain", "noise"],
)
def test_without_evidence_there_is_no_number(coin, changes, why):
    found = plan(with_trials(coin, **changes))
    assert found.needs == ()
    assert why in found.said(150)


def test_few_ordinary_episodes_come_with_a_caution(coin):
    assert "Read this with care" in plan(with_trials(coin, effective=20.0)).said(150)
    assert "Read this with care" not in plan(with_trials(coin, effective=40.0)).said(150)


@pytest.mark.parametrize("of", ["old policy", "new policy"])
def test_no_number_of_recordings_that_stop_too_early_would_decide(coin, of):
    short = with_trials(coin, beyond=0.3) if of == "new policy" else replace(coin, beyond=0.3)
    found = plan(short)
    assert found.needs == ()
    assert "30% of what counts" in found.why
    assert "Record for longer" in found.why


def test_the_approximate_test_is_not_planned_for():
    found = plan(choose(coin_log(150, 0.8, np.random.default_rng(1)), HALF, "asymptotic"))
    assert found.needs == ()
    assert "--gate proved" in found.why


def test_a_plan_holds_on_new_logs(coin):
    """The size planned for an 80 % chance certifies in most of 20 new logs of that size: fewer than
    10 would happen once in 1,700 runs if 80 % were exact, and a plan is rougher than that."""
    (need,) = plan(coin, gains=[0.4]).needs  # always repairing gains half of 0.8
    passed = 0
    for seed in range(20):
        log = coin_log(need.episodes, 0.8, np.random.default_rng(1000 + seed))
        passed += choose(log, HALF, "proved", seed).chosen is not None
    assert passed >= 10


def test_what_passed_is_said_to_have_passed_however_little_evidence_there_is_of_its_size():
    """Not "certified" in one line and "cannot be told" in the next."""
    won = choose(coin_log(1000, 0.8, np.random.default_rng(1)), HALF, "proved")
    assert won.chosen is not None
    for effective in (400.0, 5.0):
        few = replace(won, trials=tuple(replace(t, effective=effective) for t in won.trials))
        assert plan(few).why.startswith("A change passes the test already.")
        assert plan(few).needs == ()


def test_one_episode_is_too_few(coin):
    assert "1 episode is too few" in plan(replace(coin, units=1, episodes=1)).why
