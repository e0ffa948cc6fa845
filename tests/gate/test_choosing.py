"""Which of the candidates that passed is handed over."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.gate.bets import Scores
from jumar.gate.proved import SHARES, TWICE
from jumar.gate.selecting import CONTRADICTED, best_of
from jumar.gate.trials import Opinion, Setting, Trial
from jumar.solve.simplifying import Simplified
from memory_logs import upkeep


def trial(gain: float, *, error: float = 0.1, by_both: float | None = None, **more) -> Trial:
    """Passed, with 100 scores that have this mean and this standard error."""
    spread = error * math.sqrt(99)
    scores = Scores(gain + spread * np.array([-1.0, 1.0] * 50), np.zeros(100, np.int64))
    assert scores.error == pytest.approx(error)
    return Trial(
        Setting(jm.window(1), "tilt"), half=0, promised=gain, gain=gain, error=error,
        effective=50.0, missing=0.0, lower=0.1, passed=True, level=0.02, units=100,
        scores=scores, opinion=Opinion(gain, error), by_both=by_both, **more,
    )  # fmt: skip


def test_noise_is_no_merit():
    sure, lucky = trial(1.0, error=0.1), trial(1.2, error=0.8)
    assert best_of([lucky, sure], most=5.0) is sure
    assert best_of([], most=5.0) is None


def test_of_two_that_are_alike_the_one_of_which_more_is_proved():
    """Both halves may propose the same; then rounding must not choose."""
    for by_both in (None, 1.0):
        more, less = trial(1.0, by_both=by_both), trial(1.0, by_both=by_both)
        more = replace(more, lower=0.4)
        luckier = replace(less, promised=1.0, opinion=Opinion(1.0 + 1e-15, less.error))
        if by_both is not None:
            luckier = replace(luckier, by_both=1.0 + 1e-15)
        assert best_of([luckier, more], most=5.0) is more
        assert best_of([more, luckier], most=5.0) is more


def test_of_the_nearly_best_the_one_with_the_fewest_changes():
    def changed(gain, changes):
        none = np.zeros((0, 2), np.int64)
        return trial(gain, simplified=Simplified(0.95, 9, changes, gain, gain, none))

    many, few, poor = changed(2.0, 9), changed(1.95, 3), changed(1.0, 1)
    assert best_of([many, few, poor], most=5.0) is few


def test_where_a_memory_was_learned_models_of_both_halves_decide():
    bold, plain = trial(2.0, error=0.6, by_both=1.9), trial(1.7, error=0.3, by_both=2.0)
    assert best_of([bold, plain], most=5.0) is plain
    as_usual = [replace(one, by_both=None) for one in (bold, plain)]
    assert best_of(as_usual, most=5.0) is as_usual[0]


def test_models_that_scores_contradict_are_not_believed():
    off = CONTRADICTED * 0.1 + 2.0
    dreamed, sound = trial(1.0, by_both=1.0 + off), trial(1.5, by_both=1.5)
    assert best_of([dreamed, sound], most=9.0) is sound
    within = replace(dreamed, by_both=1.0 + 0.9 * CONTRADICTED * 0.1)
    assert best_of([within, trial(1.2, by_both=1.2)], most=9.0) is within


@pytest.fixture(scope="module")
def learned():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=3000, seed=1)
    return jm.pipeline.select(log, behavior, discount=0.95, memory="learn")


def test_windows_keep_their_places_beside_a_memory_that_was_learned(learned):
    for half in (0, 1):
        tested = [t.setting.memory for t in learned.trials if t.half == half]
        new = [memory for memory in tested if memory == learned.learned[half]]
        assert 0 < len(new) <= len(SHARES)
        assert 0 < len(tested) - len(new) <= len(SHARES)
        assert len(tested) <= len(TWICE)
    assert sum(TWICE) == pytest.approx(1)
    assert TWICE[0] == SHARES[0]
