"""What changes no comparison changes no choice: the unit of rewards, and a constant for every step.

r → a·r never matters. r → r + b does not matter where all episodes have one length: every return
moves by the same. Where rewards are declared the range moves along. Two cases are left out on
purpose. Episodes of different lengths: a bonus for every step makes long ones better, which is
another problem. Declared rewards and episodes of one length that *end*: a declared range speaks for
what the log did not show, so the common length is not relied on, an episode might go on for ever,
and how much a constant is then worth depends on when it ends.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumar.evidence.rewards import RewardRange
from jumar.gate.trials import GATES, Selection
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.pipeline import select
from jumar.policy.controller import Controller

NAMES = ("good", "worn"), ("keep", "repair")
BEHAVIOR = Controller(*NAMES, window(1), [[0], [1]], [[0.7, 0.3], [0.4, 0.6]], [0.5, 0.5])
γ = 0.6
UNITS = [1e-6, 0.37, 3.0, 1e6]
SHIFTS = [-1000.0, -3.3, 0.7, 50.0]


def make(kind: str, seed: int, E: int = 240) -> Episodes:
    """Repairing pays where it is worn and costs where it is good, with noise; the state depends on
    what was done before."""
    rng = np.random.default_rng(seed)
    steps, start, ended = [], [0], []
    for _ in range(E):
        T = int(rng.integers(1, 5)) if kind in ("ended", "stopped") else 3
        over = kind.startswith("ended") or (kind == "stopped" and rng.random() < 0.5)
        z = int(rng.random() < 0.5)
        for _ in range(T):
            a = int(rng.random() < (0.6 if z else 0.3))
            reward = (1.0 if a == z else -1.0) + rng.random()
            steps.append((z, a, reward))
            z = int(rng.random() < (0.2 if a else 0.7))
        start.append(len(steps))
        ended.append(over)
    z, a, r = zip(*steps, strict=True)
    return Episodes(*NAMES, z, a, r, start, [-1 if over else 0 for over in ended], ended)


def chosen(log: Episodes, gate: str, rewards: RewardRange | None = None) -> Selection:
    return select(log, BEHAVIOR, discount=γ, gate=gate, rewards=rewards, memory=window(1))


def same(one: Selection, two: Selection, unit: float = 1.0) -> None:
    """The same settings were tested, the same passed, the same was chosen; gains in the unit."""
    assert [(t.setting, t.half, t.passed) for t in one.trials] == [
        (t.setting, t.half, t.passed) for t in two.trials
    ]
    scale = 1e-6 * one.range
    for mine, other in zip(one.trials, two.trials, strict=True):
        assert other.gain / unit == pytest.approx(mine.gain, abs=scale)
        assert other.lower / unit == pytest.approx(mine.lower, abs=scale)
    assert two.range / unit == pytest.approx(one.range, rel=1e-9)
    assert (one.chosen and one.chosen.setting) == (two.chosen and two.chosen.setting)
    for z in NAMES[0]:
        new = two.controller.row([], z)
        np.testing.assert_allclose(new, one.controller.row([], z), atol=1e-6)


def moved(rewards: RewardRange | None, a: float, b: float) -> RewardRange | None:
    if rewards is None:
        return None
    lo, hi = rewards.continuing
    ending = rewards.ending and (a * rewards.ending[0] + b, a * rewards.ending[1] + b)
    return RewardRange((a * lo + b, a * hi + b), ending)


DECLARED = RewardRange.constant(-2, 3)
ON = RewardRange((-2, 3))
SCALES = [("ended", None), ("ended", DECLARED), ("ended 3", None), ("cut", None), ("cut", ON),
          ("stopped", None), ("stopped", DECLARED)]  # fmt: skip


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize(("kind", "rewards"), SCALES)
def test_the_unit_of_rewards_does_not_matter(kind, rewards, gate):
    log = make(kind, 1)
    first = chosen(log, gate, rewards)
    assert first.trials
    for unit in UNITS:
        other = chosen(replace(log, reward=log.reward * unit), gate, moved(rewards, unit, 0))
        same(first, other, unit)


def test_something_passes_in_these_logs():
    """Or the tests above would compare nothing with nothing."""
    assert chosen(make("cut", 1), "proved").chosen is not None
    assert chosen(make("ended 3", 1), "asymptotic").chosen is not None


@settings(max_examples=15)
@given(
    st.integers(0, 10**6),
    st.floats(-6, 6),
    st.floats(-100, 100),
    st.sampled_from(["ended 3", "cut"]),
    st.sampled_from(GATES),
)
def test_neither_unit_nor_constant_matter_in_any_log(seed, power, shift, kind, gate):
    log, unit = make(kind, seed, 60), 10.0**power
    first = chosen(log, gate)
    same(first, chosen(replace(log, reward=(log.reward + shift) * unit), gate), unit)


def test_a_constant_matters_where_it_should():
    """Declared, ended: an episode might go on for ever, and be paid the constant for ever."""
    log = make("ended 3", 1)
    one = chosen(log, "proved", DECLARED)
    two = chosen(replace(log, reward=log.reward + 50), "proved", moved(DECLARED, 1, 50))
    assert two.range > 5 * one.range
