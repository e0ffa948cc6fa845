"""Propensities that are frequencies of draws: they are noticed, they prove nothing, and exact ones
are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import ParameterError
from jumar.evidence.checking import check
from jumar.evidence.doubts import draws_noticed, draws_of
from jumar.evidence.practice import practice_of
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.log.episodes import Episodes

UNIT = RewardRange.constant(0, 1)


def one_step(z, a, p, reward=None) -> Episodes:
    n = len(a)
    names = tuple(f"z{i}" for i in range(int(max(z)) + 1)), tuple(f"a{i}" for i in range(5))
    paid = np.zeros(n) if reward is None else reward
    return Episodes(*names, z, a, paid, np.arange(n + 1), [-1] * n, [True] * n, propensity=p)


def acted(rng, rows: np.ndarray) -> np.ndarray:
    return (rng.random(len(rows))[:, None] > np.cumsum(rows, 1)[:, :-1]).sum(1)


def by_table(rng, table: np.ndarray, n: int) -> Episodes:
    """Situations drawn alike, actions from their rows; propensities are exact."""
    z = rng.integers(len(table), size=n)
    a = acted(rng, table[z])
    return one_step(z, a, table[z, a])


def sampled(rng, K: int, n: int, *, situations: int = 1, pays=None) -> Episodes:
    """A router that samples: the propensity is the frequency in K fresh draws, at least 1/K."""
    rows = rng.dirichlet(np.full(5, 2.0), situations)
    z = rng.integers(situations, size=n)
    a = acted(rng, rows[z])
    p = np.maximum(rng.binomial(K, rows[z, a]), 1) / K
    return one_step(z, a, p, None if pays is None else (rng.random(n) < pays).astype(float))


def learning(rng, K: int, n: int) -> Episodes:
    """Thompson's sampler: five arms that all pay half of the time; its propensities are frequencies
    in K draws of its own, at least 1/K. It learns once in 50 episodes."""
    won, lost = np.ones(5), np.ones(5)
    actions, rewards, shares = [], [], []
    for _ in range(n // 50):
        a = rng.beta(won, lost, (50, 5)).argmax(1)
        drawn = rng.beta(won, lost, (50, K, 5)).argmax(2)
        r = rng.integers(2, size=50)
        np.add.at(won, a, r)
        np.add.at(lost, a, 1 - r)
        actions.append(a)
        rewards.append(r)
        shares.append(np.maximum((drawn == a[:, None]).mean(1), 1 / K))
    a, r, p = (np.concatenate(x) for x in (actions, rewards, shares))
    return one_step(np.zeros(len(a), int), a, p, r.astype(float))


@pytest.mark.parametrize("K", [16, 64, 256, 1024, 4096])
def test_frequencies_are_noticed(K):
    for seed, situations in enumerate([1, 5, 300, 10**5]):
        log = sampled(np.random.default_rng(seed), K, 600, situations=situations)
        assert draws_of(log) == K
        six = replace(log, propensity=np.maximum(log.propensity.round(6), 1e-6))
        assert draws_of(six) == K
    assert draws_of(learning(np.random.default_rng(1), K, 300)) == K


def two_decimals(rng, situations: int) -> np.ndarray:
    rows = np.floor(rng.dirichlet(np.ones(5), situations) * 95) + 1
    rows[:, -1] = 100 - rows[:, :-1].sum(1)
    return rows / 100


EXACT = {
    "all alike": lambda rng: np.full((3, 5), 0.2),
    "one half": lambda rng: np.array([[0.5, 0.5, 0, 0, 0]]),
    "nine to one": lambda rng: np.array([[0.9, 0.1, 0, 0, 0], [0.25, 0.75, 0, 0, 0]]),
    "thirds of three digits": lambda rng: np.array([[0.333, 0.333, 0.334, 0, 0]]),
    "a file with two decimals": lambda rng: two_decimals(rng, 20),
    "a long file with two decimals": lambda rng: two_decimals(rng, 300),
    "all digits": lambda rng: rng.dirichlet(np.ones(5), 20),
    "all digits, hardly ever the same": lambda rng: rng.dirichlet(np.ones(5), 10**5),
    "six digits": lambda rng: rng.dirichlet(np.full(5, 3.0), 10**5).round(6),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_propensities_are_left_alone(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        assert draws_of(by_table(rng, EXACT[name](rng), 600)) is None


def test_three_versions_of_a_policy_in_turn_are_left_alone():
    rng = np.random.default_rng(1)
    log = by_table(rng, two_decimals(rng, 15), 900)  # of which three are of one situation
    assert draws_of(replace(log, observation=log.observation // 3)) is None


def test_what_is_said_counts():
    log = sampled(np.random.default_rng(1), 64, 300)
    assert draws_of(replace(log, propensity_draws=0)) is None
    assert draws_of(replace(log, propensity_draws=100)) == 100
    assert draws_noticed(replace(log, propensity_draws=0)) == 64
    both = replace(log, propensity_draws=0) + replace(log, propensity_draws=64)
    assert both.propensity_draws == 64
    assert (replace(log, propensity_draws=0) + log).propensity_draws is None
    assert replace(log, propensity_draws=64).select([3, 1]).propensity_draws == 64
    for wrong in (-1, 0.5, "64", True):
        with pytest.raises(ParameterError, match=r"propensity_draws: .*--propensity-draws 64"):
            replace(log, propensity_draws=wrong)


@pytest.mark.parametrize(
    ("draws", "written", "found"),
    [
        ([256], lambda p: np.clip(p, 0.0123, 0.98765), 256),  # ends that are no multiple
        # 0.97·k/64 + 0.03/7 lies on no lattice through 0 with at most 10,000 steps
        ([64], lambda p: 0.97 * p + 0.03 / 7, 66),
        ([64], lambda p: (0.97 * p + 0.03 / 7).round(6), 66),
        ([64, 81, 100], lambda p: p, 100),  # their first common multiple is 129,600
        (None, lambda p: p, None),  # drawn afresh for every step, and exact
        (None, lambda p: p.round(6), None),
    ],
)
def test_frequencies_that_were_changed_are_noticed(draws, written, found):
    rng, n = np.random.default_rng(4), 1000
    rows = np.tile([0.5, 0.3, 0.15, 0.05], (n, 1))
    action, K = acted(rng, rows), rng.choice(draws or [1], n)
    share = np.maximum(rng.binomial(K, rows[np.arange(n), action]), 1) / K
    p = share if draws else rng.uniform(0.05, 0.95, n)
    assert draws_of(one_step(np.zeros(n, int), action, written(p))) == found


# ---- what it costs ------------------------------------------------------------------------------


def bold(K: int) -> Episodes:
    """All actions pay alike. One is rare, and its frequencies make it look better."""
    rng, n = np.random.default_rng(2), 20_000
    rows = np.tile([0.3, 0.3, 0.3, 0.05, 0.05], (n, 1))
    a = acted(rng, rows)
    p = np.maximum(rng.binomial(K, rows[np.arange(n), a]), 1) / K
    return one_step(np.zeros(n, int), a, p, (rng.random(n) < 0.9).astype(float))


def test_nothing_is_proved_by_frequencies():
    """The gain is 0 for certain. Said to be exact, these frequencies would prove one, if weights
    did not contradict."""
    log = bold(64)
    believed = jm.improve(replace(log, propensity_draws=0), None, discount=0.9, rewards=UNIT)
    assert believed.selection.chosen.passed
    assert believed.certificate.validity is Validity.CLAIMED
    assert "the probabilities in the log are too small" in believed.certificate.claim
    for said in (None, 64):
        result = jm.improve(replace(log, propensity_draws=said), None, discount=0.9, rewards=UNIT)
        best = result.certificate
        look = "look like" if said is None else "are"
        assert result.improvement.changed > 0
        assert best.validity is Validity.CLAIMED
        assert best.odds is None
        assert best.claim.startswith(
            f"We could not prove this: the probabilities in the log {look} frequencies of 64 draws"
        )
        assert "at least" not in best.claim
        assert "at most" not in best.claim


@pytest.mark.slow
@pytest.mark.parametrize("K", [16, 64, 256])
def test_no_bandit_that_samples_proves_anything(K):
    for seed in range(5):
        log = learning(np.random.default_rng(seed), K, 20_000)
        result = jm.improve(log, None, discount=0.9, rewards=UNIT)
        assert result.improvement.changed == 0 or result.certificate.validity is Validity.CLAIMED


def test_exact_propensities_still_prove():
    rng, n = np.random.default_rng(1), 3000
    rows = rng.dirichlet(np.full(5, 5.0), n)
    a = acted(rng, rows)
    paid = (rng.random(n) < 0.2 + 0.6 * (a == 0)).astype(float)
    log = one_step(np.zeros(n, int), a, rows[np.arange(n), a], paid)
    result = jm.improve(log, None, discount=0.9, rewards=UNIT)
    assert (result.improvement.changed, result.certificate.validity) == (1, Validity.PROVED)
    assert result.certificate.odds == 0.05


def test_estimates_by_frequencies_are_only_claimed():
    log = sampled(np.random.default_rng(1), 1024, 500, pays=0.5)
    new = jm.Controller.uniform(log.observations, log.actions)
    found = jm.offpolicy.estimate(log, new, None, discount=0.9)
    exact = jm.offpolicy.estimate(replace(log, propensity_draws=0), new, None, discount=0.9)
    assert found.validity is Validity.CLAIMED
    assert exact.validity is Validity.ASYMPTOTIC
    assert "so this is not quite so" in found.assumptions[0]


def test_the_check_tells_it_with_the_remedy():
    log = sampled(np.random.default_rng(3), 1024, 500)
    found = check(log, None).sections["propensities"]
    assert (found.verdict.status, found["draws"]) == ("look", 1024)
    assert "look like frequencies of 1,024 draws" in found.verdict.sentence
    assert "--propensity-draws 0" in found.verdict.sentence
    coarse = check(bold(64), None).sections["propensities"]
    assert coarse.verdict.status == "failed"
    assert "too small" in coarse.verdict.sentence
    assert "look like frequencies of 64 draws" in coarse.verdict.sentence
    exact = check(replace(log, propensity_draws=0), None).sections["propensities"]
    assert (exact.verdict.status, exact["draws"]) == ("passed", None)


def test_next_to_a_policy_propensities_do_not_matter():
    rng = np.random.default_rng(1)
    policy = jm.Controller.constant(("z0",), tuple(f"a{i}" for i in range(5)), [0.2] * 5)
    log = by_table(rng, np.full((1, 5), 0.2), 200)
    practice = jm.evidence.practice.practice_of(replace(log, propensity_draws=64), policy)
    assert (practice.draws, practice.unproved) == (None, "")


@pytest.mark.parametrize(("K", "proved"), [(16, False), (None, True)])
def test_an_exploration_that_changes_hides_the_steps_and_not_the_sum(K, proved):
    """Five arms that all pay half of the time, by turns one of them nine times in ten. Exploration
    dies out, so that frequencies lie on no steps of one length."""
    rng, n = np.random.default_rng(1), 4000
    z, ε = rng.integers(5, size=n), 1 / np.sqrt(1 + np.arange(n) / 50)
    rows = np.full((5, 5), 0.04) + 0.8 * np.eye(5)
    a = acted(rng, (1 - ε[:, None]) * rows[z] + ε[:, None] / 5)
    share = rows[z, a] if K is None else rng.binomial(K, rows[z, a]) / K
    log = one_step(z, a, (1 - ε) * share + ε / 5, rng.integers(2, size=n).astype(float))
    assert draws_of(log) is None
    result = jm.improve(log, None, discount=0.9, rewards=UNIT, horizon=1)
    assert (result.selection.chosen is None) == proved
    assert practice_of(log, None).unproved.startswith("We could not prove") != proved
    assert proved or result.certificate.validity is Validity.CLAIMED


@pytest.mark.parametrize("learns", [True, False])
def test_who_learns_from_outcomes_proves_nothing(learns):
    """What has paid more is done more often, in 20 situations; all arms pay half of the time.
    Whoever learns from something else is left alone."""
    rng, n = np.random.default_rng(303), 4000
    z, paid, other = rng.integers(20, size=n), rng.integers(2, size=n), rng.integers(2, size=n)
    won, lost, a, p = np.ones((20, 5)), np.ones((20, 5)), np.zeros(n, int), np.zeros(n)
    for i in range(n):
        strength = 5 * won[z[i]] / (won[z[i]] + lost[z[i]])
        row = np.exp(strength) / np.exp(strength).sum()
        a[i] = rng.choice(5, p=row)
        p[i] = row[a[i]]
        told = (paid if learns else other)[i]
        (won if told else lost)[z[i], a[i]] += 1
    log = one_step(z, a, p, paid.astype(float))
    assert ("follow what was paid before" in practice_of(log, None).unproved) == learns
    certificate = jm.improve(log, None, discount=0.9, rewards=UNIT, horizon=1).certificate
    assert certificate.validity is Validity.CLAIMED
