"""Are logged propensities what they should be? Tests keep their level and find what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from jumar.evidence.chance import Settings
from jumar.evidence.checking.actions import check_propensities
from jumar.evidence.practice import practice_of
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller


def logged(rng, rows: np.ndarray, told: np.ndarray | None = None) -> Episodes:
    """One step per row, drawn from it; the propensity is that of `told`."""
    n, A = rows.shape
    a = (rng.random(n)[:, None] > np.cumsum(rows, 1)).sum(1)
    p = (rows if told is None else told)[np.arange(n), a]
    return Episodes(
        ("z",), tuple("abcd"[:A]), [0] * n, a, np.zeros(n), np.arange(n + 1), [-1] * n,
        [True] * n, propensity=p,
    )  # fmt: skip


def judged(log: Episodes, behavior=None, **settings):
    practice = practice_of(log, behavior, checked=False)
    return check_propensities(practice, Settings(**settings), np.random.default_rng(1))


def two(rng, n: int) -> np.ndarray:
    q = rng.random(n)
    return np.column_stack([1 - q, q])


def test_sound_propensities_fail_as_often_as_the_level_says():
    """200 logs at level 0.05: over 22 failures have a chance below 0.1 %."""
    rng = np.random.default_rng(2)
    logs = [logged(rng, two(rng, 100)) for _ in range(200)]
    assert sum(judged(log, level=0.05, resamples=99)["p"] <= 0.05 for log in logs) <= 22


def test_propensities_of_another_rule_fail():
    rng = np.random.default_rng(3)
    rows = two(rng, 2000)
    bold = rows**2 / (rows**2).sum(1, keepdims=True)
    assert judged(logged(rng, bold)).verdict.status == "passed"
    assert judged(logged(rng, bold, rows)).verdict.status == "failed"


def test_with_more_actions_too_small_is_found():
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.full(4, 5.0), 2000)
    sound = judged(logged(rng, rows))
    assert sound.verdict.status == "passed"
    assert sound["mean_inverse"] == pytest.approx(4, rel=0.1)
    assert judged(logged(rng, rows, rows / 2)).verdict.status == "failed"
    same = np.full((100, 4), 0.25)
    assert judged(logged(rng, same)).verdict.status == "passed"
    assert judged(logged(rng, same, same / 2)).verdict.status == "failed"


@pytest.mark.parametrize("actions", [1, 2, 3])
def test_certain_actions_are_worth_a_look(actions):
    rows = np.eye(actions)[[0] * 20]
    found = judged(logged(np.random.default_rng(5), rows))
    assert (found.verdict.status, found["p"]) == ("look", None)


def test_next_to_a_controller_they_are_compared():
    rng = np.random.default_rng(6)
    rows = np.tile([0.25, 0.75], (50, 1))
    behavior = Controller.constant(("z",), ("a", "b"), [0.25, 0.75])
    assert judged(logged(rng, rows), behavior)["differing"] == 0
    told = rows.copy()
    told[7] = [0.3, 0.7]
    found = judged(logged(rng, rows, told), behavior)
    assert (found["differing"], found.verdict.status) == (1, "failed")
    assert "Log, episode 7, step 0: the propensity of" in found.verdict.sentence


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("actions", [2, 3])
def test_the_smallest_number_there_is(actions):
    rows = np.full((30, actions), 1 / actions)
    told = rows.copy()
    told[3] = 5e-324
    found = judged(logged(np.random.default_rng(6), rows, told))
    assert found["least"] == 5e-324
    assert np.isfinite(found["mean_inverse"])
