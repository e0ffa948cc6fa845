"""Simplified candidates: what is tested is what is handed over, and the other half has no say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.gate import asymptotic, proved
from jumar.gate.candidates import _fitted, simpler
from jumar.gate.dealing import DealtPart
from jumar.gate.trials import Setting
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from large_logs import improve_logs
from selection_logs import (
    bench_of,
    both_gates,
    choose,
    halves_of,
    one_step,
    tiger_log,
    uniform_tiger,
)
from strategies import names

SHARE = 0.8


def shortlist(which: str, log: Episodes) -> list:
    """Of half 0, with fewer changes."""
    bench = replace(bench_of(log, uniform_tiger(), 0.95, more=2), simplify=SHARE)
    own, units = DealtPart(0), bench.log.units(DealtPart(1))
    if which == "proved":
        return [x.candidate for x in proved.shortlist(bench, own, units, 0.05)[0]]
    return asymptotic.shortlist(bench, own, units, 0.05)[0]


@both_gates
def test_held_out_episodes_have_no_say_in_what_is_kept(which):
    log = tiger_log(2000)
    other = np.repeat(halves_of(log) == 1, log.lengths)
    # returns keep their range, but what pays in half 1 no longer does
    ending = (log.reward != -1) & other
    turned = log.reward.copy()
    turned[ending] = np.where(turned[ending] == 10, -100, 10)
    mine, theirs = shortlist(which, log), shortlist(which, replace(log, reward=turned))
    assert len(mine) > 0
    assert any(x.simplified.kept < x.simplified.changes for x in mine)
    assert [x.setting for x in mine] == [x.setting for x in theirs]
    for x, y in zip(mine, theirs, strict=True):
        assert np.array_equal(x.rows, y.rows)


@both_gates
def test_what_was_tested_is_what_is_handed_over(which):
    log = tiger_log(4000)
    found = choose(log, uniform_tiger(), which, 1, 0.95, simplify=SHARE)
    chosen = found.chosen
    assert chosen is not None
    assert chosen.passed
    told = chosen.simplified
    assert told.kept <= told.changes
    assert told.kept_gain >= SHARE * told.gain * (1 - 1e-9)
    assert len(found.controller.rows) == told.kept  # the behavior, except there
    assert str(chosen.setting).endswith(", simplified")
    assert chosen.setting.record["simplify"] == SHARE


@pytest.mark.parametrize(("which", "logs", "most"), [("proved", 80, 11), ("asymptotic", 80, 11)])
@pytest.mark.slow
def test_nothing_useful_is_rarely_taken_for_something(which, logs, most):
    """Six situations, two actions, all pay alike: the luckiest changes are kept, and held-out
    episodes find out. 80 logs of 120 episodes; more than 11 at 5 % would happen once in 1,600
    runs."""
    seen, done = names("z", 6), names("a", 2)
    behavior = Controller.uniform(seen, done)
    wrong, n = 0, 120
    for seed in range(logs):
        rng = np.random.default_rng(seed)
        z, a, paid = rng.integers(0, 6, n), rng.integers(0, 2, n), rng.standard_normal(n)
        log = one_step((seen, done), z, a, paid)
        found = choose(log, behavior, which, seed, memory=window(1), simplify=0.7)
        wrong += found.chosen is not None
    assert wrong <= most


def test_a_result_says_what_was_kept():
    result = jm.improve(tiger_log(3000), uniform_tiger(), discount=0.95, simplify=SHARE)
    told = result.simplified
    assert result.improvement.changed == told.kept < told.changes
    assert result.to_dict()["simplified"]["kept"] == told.kept
    assert result.assessment.simplicity == (
        f"Simplified: {told.summary}, by the model of the half of the log that it was learned from."
    )
    whys = [result.decisions.why(h) for h in result.decisions.left_out]
    assert len(whys) == told.changes - told.kept
    assert all("keep the policy simple" in why for why in whys)
    assert "Simplified: " in str(result)
    assert jm.improve(tiger_log(3000), uniform_tiger(), discount=0.95).simplified is None


def test_a_named_algorithm_certifies_what_it_hands_over():
    log, behavior = tiger_log(3000), uniform_tiger()
    whole = jm.improve(log, behavior, discount=0.95, n_wedge=10, memory=window(3))
    fewer = jm.improve(log, behavior, discount=0.95, n_wedge=10, memory=window(3), simplify=SHARE)
    assert fewer.improvement.changed < whole.improvement.changed
    assert fewer.improvement.gain >= SHARE * whole.improvement.gain * (1 - 1e-9)
    published = {c.bound: c.zeta for c in whole.certificates}
    lost = whole.improvement.gain - fewer.improvement.gain
    for c in fewer.certificates:
        if c.bound in ("spibb", "corollary"):  # a bound on every policy of the class, less the gain
            assert c.zeta == pytest.approx(published[c.bound] + lost)
    assert fewer.assessment.held_out.trials[0].simplified is not None
    assert "by the model of the log." in fewer.assessment.simplicity


def test_a_log_read_in_parts_is_simplified_alike(tmp_path):
    log = tiger_log(3000)
    jm.write_logs(log, tmp_path / "log.parquet")
    behavior = uniform_tiger()
    result = improve_logs(tmp_path / "log.parquet", behavior, discount=0.95, simplify=SHARE)
    assert result.simplified is not None
    assert result.improvement.changed == result.simplified.kept < result.simplified.changes
    counts = jm.count_logs(tmp_path / "log.parquet", behavior, memory=window(3))
    by_counts = jm.improve(counts, behavior, discount=0.95, n_wedge=10, simplify=SHARE)
    assert by_counts.improvement.changed == by_counts.simplified.kept
    assert by_counts.to_dict()["simplified"]["kept"] == by_counts.simplified.kept


def test_what_only_rounding_tells_from_the_behavior_is_left_as_it_is():
    """Mixing a row with itself does not always give it back."""
    log, behavior = tiger_log(400), uniform_tiger()

    bench = replace(bench_of(log, behavior, 0.95), simplify=SHARE)
    own = DealtPart(0)
    (mdp, numbered), *_ = bench.models(own)
    old = numbered.behavior
    rows = old.copy()
    rows[:, 0] += 1e-16
    rows[:, 1] -= 1e-16
    assert not np.array_equal(rows, old)
    (found,) = _fitted(
        bench, mdp, numbered, [old, rows], [None, None], [Setting(numbered.memory, "spibb")]
    )
    (left,) = simpler(bench, [found], own)
    assert np.array_equal(left.rows, found.rows)
    assert (left.simplified.kept, left.simplified.changes) == (0, 0)
