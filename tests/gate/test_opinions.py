"""What models and scores say together, to order candidates."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jumar as jm
from jumar.gate.bench import Bench
from jumar.gate.bets import Scores
from jumar.gate.candidates import LEANING, Models, blend, candidates
from jumar.gate.dealing import DealtPart
from jumar.policy.controller import Controller
from jumar.solve.iteration import RawModel, model_of
from jumar.solve.solver import action_values, policy_value
from jumar.solve.sweeps import values_leaning
from selection_logs import bench_of, tiger_log

TIGER = jm.models.tiger()
FAIR = Controller.uniform(TIGER.observations, TIGER.actions)


def bench(episodes: int, more: int = 1) -> Bench:
    return bench_of(tiger_log(episodes), FAIR, 0.95, more)


def scored(values) -> Scores:
    return Scores(np.array(values), np.zeros(len(values), np.int64))


def test_a_model_of_a_half_expects_what_the_exact_solve_says():
    work = bench(3000, more=0)
    half = DealtPart(0)
    ((mdp, _),) = list(work.models(half))
    models = Models(work, half)
    for candidate in list(candidates(work, half, "proved"))[:6]:
        rows = candidate.rows
        exact = float(
            mdp.start @ (policy_value(mdp, rows) - policy_value(mdp, mdp.policy_of(FAIR)))
        )
        assert models.gain(candidate) == pytest.approx(exact, abs=0.01 * work.limits.range)


def test_a_model_alone_remembers_no_more_than_the_candidate():
    work = bench(3000)
    half = DealtPart(0)
    models = Models(work, half)
    exact = {numbered.memory: (mdp, numbered) for mdp, numbered in work.models(half)}
    differ = 0
    for candidate in candidates(work, half, "proved"):
        mdp, numbered = exact[candidate.setting.memory]
        rows, old = candidate.rows[numbered.first], numbered.behavior
        gain = float(mdp.start @ (policy_value(mdp, rows) - policy_value(mdp, old)))
        assert models.gain_alone(candidate) == pytest.approx(gain, abs=0.01 * work.limits.range)
        differ += abs(models.gain(candidate) - models.gain_alone(candidate)) > 1e-3
    assert differ  # for others a longer memory knows better


def test_what_a_coarser_memory_says_counts_as_much_as_so_many_visits():
    """One state, one action, seen 20 times at a reward of 1 and ending: half of the prior's 5."""
    q, v = np.zeros((1, 1)), np.zeros(1)
    one = np.ones((1, 1))
    ends = RawModel(np.array([0, 0]), np.zeros(0, np.int64), np.zeros(0), one, LEANING * one)
    values_leaning(ends, one, 0.9, 5 * one, LEANING, q, v)
    assert q[0, 0] == v[0] == 3.0
    never_tried = ends._replace(visits=np.zeros((1, 1)))
    values_leaning(never_tried, one, 0.9, 5 * one, LEANING, q, v)
    assert q[0, 0] == 5.0


def test_without_a_prior_to_lean_on_values_are_those_of_the_solver():
    work = bench(500, more=0)
    ((mdp, numbered),) = list(work.models(DealtPart(0)))
    rows = numbered.behavior.copy()
    q, v = np.zeros(rows.shape), np.zeros(len(rows))
    values_leaning(model_of(mdp), rows, 0.95, q.copy(), 0.0, q, v)
    exact = action_values(mdp, policy_value(mdp, rows))
    np.testing.assert_allclose(q, exact, atol=2e-3 * np.ptp(exact))


def test_scores_are_believed_where_a_model_is_far_off_and_models_where_scores_are_noisy():
    rng = np.random.default_rng(1)
    sure, noisy = scored(1 + rng.normal(0, 0.1, 400)), scored(1 + rng.normal(0, 100, 400))
    assert blend(sure, 50.0).gain == pytest.approx(1.0, abs=0.05)
    assert blend(noisy, 2.0).gain == pytest.approx(2.0, abs=0.3)
    assert blend(sure, 1.0).error < blend(noisy, 2.0).error
    assert blend(scored(np.zeros(10)), 0.0) == blend(scored(np.zeros(10)), 0.0)
    assert blend(scored([1.0]), 2.0).gain == -np.inf


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mean", [1e100, 3.5e118, 1e149])
def test_scores_beyond_all_numbers_leave_the_word_to_the_model(mean):
    found = blend(scored(mean * np.array([1.0, 1.5, 0.5, 1.2])), 2.0)
    assert math.isfinite(found.merit)
