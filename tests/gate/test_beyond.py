"""What lies beyond where recordings stop, under the policy that is handed over: an action that
brings them to an early stop leaves more there than the log shows."""

from __future__ import annotations

import numpy as np
import pytest

import jumar as jm
from jumar.gate import select
from jumar.gate.scoring import weights_beyond
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller
from large_logs import as_large, labelled

NAMES = ("first", "later"), ("stay", "leave")
STEPS, DISCOUNT = 10, 0.8
HOW = {"discount": DISCOUNT, "rewards": jm.RewardRange((0, 1)), "horizon": STEPS}


def leaving(n: int, share: float = 0.1) -> tuple[Episodes, Controller]:
    """Who leaves at the first step is paid 1, and the recording stops; all others are paid nothing
    in ten steps, after which recordings stop. What is done later makes no difference."""
    rng = np.random.default_rng(1)
    leaves = rng.random(n) < share
    lengths = np.where(leaves, 1, STEPS)
    start = np.append(0, np.cumsum(lengths))
    action = (rng.random(start[-1]) < share).astype(int)
    action[start[:-1]] = leaves
    z, reward = np.ones(start[-1], int), np.zeros(start[-1])
    z[start[:-1]], reward[start[:-1]] = 0, leaves
    log = Episodes(*NAMES, z, action, reward, start, [1] * n, [False] * n)
    return labelled(log), Controller.constant(*NAMES, [1 - share, share], name="rarely leaves")


def test_weights_by_hand():
    """Half as likely in the first step, twice in the second; γ = 1/2. One of them ended."""
    rows, taken = np.array([[0.25, 0.75]]), np.full(4, 0.5)
    taken[1] = 0.375
    found = weights_beyond(
        np.zeros(4, int), np.array([0, 1, 0, 0]), np.array([0, 2, 4]), np.array([False, True]),
        np.array([0, 1]), rows, taken, 0.5,
    )  # fmt: skip
    assert found.tolist() == [0.5 * 2 * 0.25, 0]


def test_what_would_bring_recordings_to_an_early_stop_is_not_deployed():
    """Of the old policy's weight .1·.8 + .9·.8^10 = 18 % lies beyond; of one that leaves with
    chance p, .8·p + .107·(1-p): more than a quarter from p = .21 on."""
    log, behavior = leaving(2000)
    assert log.beyond_cut(DISCOUNT) == pytest.approx(0.177, abs=0.02)
    found = select(log, behavior, **HOW)
    passed = [trial for trial in found.trials if trial.passed]
    assert passed
    assert found.chosen is None
    assert found.too_short
    assert found.beyond == min(trial.beyond for trial in passed) > 0.25
    with as_large():
        large = select(log, behavior, **HOW)
    assert large.chosen is None
    assert large.beyond == found.beyond


def test_the_share_that_is_said_is_that_of_the_policy_handed_over():
    """With a discount of .5 half lies beyond a first step, and a thousandth beyond ten: what leaves
    half of the time has a quarter there, the old policy 5 %."""
    log, behavior = leaving(4000)
    gentle = Controller.constant(*NAMES, [0.6, 0.4])
    result = jm.improve(log, behavior, **HOW | {"discount": 0.5}, candidates=lambda m, b: gentle)
    chosen = result.selection.chosen
    assert chosen.setting.mixture == 1.0
    assert chosen.beyond == pytest.approx(0.4 * 0.5, abs=0.02)
    said = f"{100 * chosen.beyond:.2g} % of the discounted weight lies beyond"
    assert said in result.certificate.reason
    assert any(said in text for text in result.certificate.assumptions)
    assert result.to_dict()["selection"]["weight_beyond_the_cut"] == chosen.beyond


def test_what_no_episode_shows_counts_as_beyond():
    """Half of the episodes begin where nobody ever leaves, and there the new policy always does. No
    held-out weight shows it: these episodes weigh nothing."""
    rng, n = np.random.default_rng(1), 400
    acts = np.array([0.5, 0.499, 0.001])
    z, action = np.full((n, STEPS), 2), rng.choice(2, (n, STEPS), p=acts[:2] / acts[:2].sum())
    z[:, 0] = rng.integers(2, size=n)
    reward = ((z == 0) & (action == 0)).astype(float)
    names = ("good", "bad", "later"), ("stay", "wait", "leave")
    start = np.arange(0, n * STEPS + 1, STEPS)
    columns = z.ravel(), action.ravel(), reward.ravel()
    log = labelled(Episodes(*names, *columns, start, [2] * n, [False] * n))
    old = Controller.constant(*names, acts)
    leaves = old.except_at(np.array([[0], [1]]), np.array([[1.0, 0, 0], [0, 0, 1]]))
    how = HOW | {"candidates": lambda m, b: leaves}
    with as_large():
        large = select(log, old, **how)
    for found in (select(log, old, **how), large):
        boldest = max(found.trials, key=lambda trial: trial.setting.mixture)
        assert boldest.passed
        assert boldest.beyond + boldest.missing > 0.25 > boldest.beyond  # in truth .45
        assert found.chosen is not boldest
