"""What an episode can still be worth: each kind of log by hand, and never too narrow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.evidence.rewards import RewardRange
from jumar.gate.dealing import facts_of
from jumar.gate.limits import Limits, limits_of
from jumar.log.episodes import Episodes

NAMES = ("z",), ("a",)


def log_of(*episodes: tuple[list[float], bool]) -> Episodes:
    """Episodes by their rewards, and whether they ended."""
    rewards = [r for paid, _ in episodes for r in paid]
    start = np.cumsum([0, *(len(paid) for paid, _ in episodes)])
    ended = [e for _, e in episodes]
    n = len(rewards)
    return Episodes(
        *NAMES, [0] * n, [0] * n, rewards, start, [-1 if e else 0 for e in ended], ended
    )


def ends(limits: Limits) -> tuple[list[float], list[float]]:
    return limits.low.tolist(), limits.high.tolist()


TIGER = RewardRange((-1, -1), (-100, 10))
RARE_TIME_OUT = RewardRange((-100, 0), (0, 10))


# ---- by hand ------------------------------------------------------------------------------------


def test_episodes_that_all_end():
    """Steps pay 1 to 2, an end -5 to 3, γ = 1/2: the worst is to end at once, the best to go on for
    ever, 2/(1-γ) = 4."""
    log = log_of(([1, -5], True), ([2, 1, 3], True))
    found = limits_of(log, 0.5)
    assert ends(found) == ([-5], [4])
    assert found.steps is None
    assert not found.rewards.declared
    assert found.range == 9
    # declared ones replace what the log shows
    found = limits_of(log, 0.5, RewardRange((-10, 10), (-5, 100)))
    assert ends(found) == ([-20], [100])
    assert found.rewards.declared


def test_episodes_of_one_length_that_all_end():
    """Three steps, 1 to 2 each while it goes on, and 3 to 5 at the end; γ = 1/2."""
    log = log_of(([1, 2, 3], True), ([2, 1, 5], True))
    found = limits_of(log, 0.5)
    assert ends(found) == ([1 + 0.5 * 2.5, 1 + 0.5 * 3, 3, 0], [2 + 0.5 * 4.5, 2 + 0.5 * 5, 5, 0])
    assert found.steps == 3
    # declared rewards hold whatever the log did not show: a common length does not count
    found = limits_of(log, 0.5, RewardRange((1, 2), (3, 5)))
    assert ends(found) == ([1], [5])  # it may be cut off after one step
    assert found.steps is None


@pytest.mark.parametrize("horizon", [None, 2])
def test_recordings_of_one_length(horizon):
    """Cut off after two steps of 1 to 3, γ = 1/2. Who declared the rewards did not declare that
    none stops before: then the first step may be all."""
    log = log_of(([1, 3], False), ([2, 2], False))
    found = limits_of(log, 0.5, horizon=horizon)
    assert ends(found) == ([1.5, 1, 0], [4.5, 3, 0])
    assert found.fixed
    found = limits_of(log, 0.5, RewardRange((1, 3)), horizon)
    assert ends(found) == ([1, 1, 0], [4.5, 3, 0])
    assert not found.fixed
    assert (found.steps, found.declared_steps) == (2, horizon == 2)


@pytest.mark.parametrize("paid", [([4], True), ([-100], False)])
def test_a_time_out_that_the_log_does_not_show_can_happen(paid):
    """One step, which ends and pays 0 to 10, or is cut off and costs up to 100."""
    found = limits_of(log_of(([0], True), ([10], True), paid), 0.9, RARE_TIME_OUT, 1)
    assert ends(found) == ([-100, 0], [10, 0])


def test_recordings_that_stop_at_a_step_unless_they_end_before():
    """Steps pay -1; an end pays -100 or 10; recordings stop after 3. γ = 1."""
    log = log_of(([-1, -1, -1], False), ([-1, 10], True), ([-100], True))
    found = limits_of(log, 1.0)
    assert ends(found) == ([-102, -101, -100, 0], [10, 10, 10, 0])
    # -1 - 1 - 100 = -102 at worst; an end may be worth less than going on
    found = limits_of(log, 0.95, TIGER)
    assert found.steps == 3
    assert found.low[0] == -100  # -1 - .95 - .9025·100 = -92: ending at once is worse
    assert ends(found)[0] == [-100, -100, -100, 0]


def test_recordings_that_stop_at_any_time():
    """Steps pay 1 to 2 for ever, or for one step only: 1 to 4 at γ = 1/2."""
    log = log_of(([1, 2], False), ([2], False))
    found = limits_of(log, 0.5)
    assert ends(found) == ([1], [4])
    assert found.steps is None
    # losses: -2 to -1 for ever is -4; for one step -1
    found = limits_of(log_of(([-1, -2], False), ([-1], False)), 0.5)
    assert ends(found) == ([-4], [-1])


def test_a_recording_longer_than_the_cuts_is_no_common_length():
    """Cut off after 2, but another one ended after 3: 2 is no last step."""
    found = limits_of(log_of(([1, 1], False), ([1, 1, 1], True)), 0.5)
    assert found.steps is None


def test_common_length():
    assert facts_of(log_of(([1, 2], True), ([1, 2], False))).common_length == 2
    assert facts_of(log_of(([1, 2], True), ([1], True))).common_length is None


# ---- never too narrow ---------------------------------------------------------------------------


def parts(paid: list[float], limits: Limits, γ: float) -> np.ndarray:
    """g_t and c_t of one episode."""
    found = []
    last = len(limits.low) - 1
    for t, r in enumerate(paid):
        now, then = min(t, last), min(t + 1, last)
        over = t == len(paid) - 1
        low, high = (0.0, 0.0) if over else (limits.low[then], limits.high[then])
        found += [r + γ * low - limits.low[now], limits.high[now] - r - γ * high]
    return np.array(found)


@st.composite
def cases(draw):
    """A kind of log, the rewards it may have, and one more episode of that kind."""
    kind = draw(st.sampled_from(["ended", "one length", "stopped at T", "stopped"]))
    whole = st.integers(-8, 8).map(float)
    lo, hi = sorted([draw(whole), draw(whole)])
    lo_end, hi_end = sorted([draw(whole), draw(whole)])
    T = draw(st.integers(1, 6))

    def episode(length: int, ended: bool, low: bool | None = None) -> tuple[list[float], bool]:
        def pick(a, b):
            return draw(st.sampled_from([a, b, (a + b) / 2]))

        paid = [pick(lo, hi) for _ in range(length)]
        if ended:
            paid[-1] = pick(lo_end, hi_end)
        return paid, ended

    if kind == "ended":
        # two lengths, so that none is common; what can be paid is in the log
        log = [([lo, hi, lo_end], True), ([lo, hi_end], True)]
        new = episode(draw(st.integers(1, 8)), True)
    elif kind == "one length":
        log = [([lo] * (T - 1) + [lo_end], True), ([hi] * (T - 1) + [hi_end], True)]
        new = episode(T, True)
    elif kind == "stopped at T":
        log = [([lo] * T, False), ([hi] * T, False)]
        early = draw(st.booleans())
        if early:
            log += [([lo_end], True), ([hi_end], True)]
        ended = early and draw(st.booleans())
        new = episode(draw(st.integers(1, T)) if ended else T, ended)
    else:
        log = [([lo] * (T + 1), False), ([hi] * T, False), ([lo_end], True), ([hi_end], True)]
        new = episode(draw(st.integers(1, 8)), draw(st.booleans()))
    return kind, log_of(*log), new, draw(st.sampled_from([0.0, 0.5, 0.9, 0.99]))


@given(cases(), st.booleans())
def test_no_step_brings_less_than_the_worst_or_more_than_the_best(case, declared):
    kind, log, (paid, _), γ = case
    limits = limits_of(log, γ)
    rewards = limits.rewards
    assert (limits.steps is not None) == (kind in ("one length", "stopped at T"))
    if declared:
        limits = limits_of(log, γ, RewardRange(rewards.continuing, rewards.ending))
    scale = 1e-12 * max(1.0, float(np.abs([limits.low, limits.high]).max()))
    assert (parts(paid, limits, γ) >= -scale).all()
    worth = sum(γ**t * r for t, r in enumerate(paid))
    assert limits.low[0] - scale <= worth <= limits.high[0] + scale
    assert (limits.low <= limits.high).all()


ranges = st.tuples(st.integers(-8, 8), st.integers(0, 8)).map(lambda x: (x[0], x[0] + x[1]))


@st.composite
def declarations(draw):
    """Rewards and a horizon, and two logs that do not contradict them."""
    rewards = RewardRange(draw(ranges), draw(st.none() | ranges))
    T = draw(st.integers(1, 6))

    def episode():
        ended = rewards.ending is not None and draw(st.booleans())
        last = rewards.ending if ended else rewards.continuing
        length = draw(st.integers(1, T))
        paid = [draw(st.sampled_from(rewards.continuing)) for _ in range(length - 1)]
        return [*paid, draw(st.sampled_from(last))], ended

    logs = [log_of(*(episode() for _ in range(draw(st.integers(1, 4))))) for _ in range(2)]
    return rewards, T, logs, episode(), draw(st.sampled_from([0.0, 0.5, 0.9, 0.99]))


@given(declarations())
def test_limits_of_what_was_declared_do_not_depend_on_the_log(case):
    rewards, T, logs, (paid, _), γ = case
    one, other = (limits_of(log, γ, rewards, T) for log in logs)
    assert ends(one) == ends(other)
    assert (one.steps, one.declared_steps, one.fixed) == (T, True, False)
    assert (other.steps, other.declared_steps, other.fixed) == (T, True, False)
    assert (parts(paid, one, γ) >= -1e-9).all()  # of an episode in neither of them
    some = [limits_of(log, γ, rewards) for log in logs]
    if all(limits.steps is None for limits in some):  # a T that was read off is told
        assert ends(some[0]) == ends(some[1])
        assert (parts(paid, some[0], γ) >= -1e-9).all()


@given(cases(), st.sampled_from([1e-6, 7.0, 1e6]))
def test_limits_grow_with_the_unit(case, unit):
    _, log, _, γ = case
    limits = limits_of(log, γ)
    other = limits_of(replace(log, reward=log.reward * unit), γ)
    np.testing.assert_allclose(other.low, limits.low * unit, rtol=1e-12)
    np.testing.assert_allclose(other.high, limits.high * unit, rtol=1e-12)
