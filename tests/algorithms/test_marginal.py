"""Long records judged under the assumption that a memory suffices."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import long_models as lm
from jumar import models
from jumar.algorithms.auto.board import lay_out
from jumar.algorithms.auto.dealing import deal
from jumar.algorithms.long_records import Rung, judge_long
from jumar.algorithms.long_records.contradictions import memory_test
from jumar.algorithms.long_records.judge import Reading, candidates, fit, reaches
from jumar.algorithms.long_records.ladder import in_words, they_tell
from jumar.algorithms.long_records.loops import discounted_before, marginal_scores
from jumar.algorithms.long_records.outcome import certificate_of_long, improvement_of_long, why_not
from jumar.algorithms.long_records.weights import FittedWeights
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.memory import window
from jumar.core.randomness import random_stream
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.show.html.rungs import rungs
from jumar.truth.evaluation import evaluate
from jumar.truth.simulation import simulate

γ = 0.9

# ---- unbiased, by complete enumeration -----------------------------------------------------------


class Visible:
    """A process whose state is seen: the current observation suffices. X states, A actions."""

    def __init__(self, seed: int, X: int = 3, A: int = 2, ends: bool = True) -> None:
        rng = np.random.default_rng(seed)
        law = rng.dirichlet(np.ones(X + 1), (X, A))
        if not ends:
            law[:, :, X] = 0
            law /= law.sum(2, keepdims=True)
        self.P, self.end = law[:, :, :X], law[:, :, X]
        self.r = rng.normal(size=(X, A))
        self.start = rng.dirichlet(np.ones(X))
        self.b, self.new = rng.dirichlet(np.ones(A), (2, X))

    def records(self, T: int) -> list[tuple[float, list[tuple[int, int]], int]]:
        """Every record of T steps or fewer: its probability, steps, what follows (-1: the end)."""
        found = []

        def go(p: float, x: int, steps: list[tuple[int, int]]) -> None:
            if len(steps) == T:
                found.append((p, steps, x))
                return
            for a in range(self.r.shape[1]):
                here = [*steps, (x, a)]
                q = p * self.b[x, a]
                if self.end[x, a] > 0:
                    found.append((q * self.end[x, a], here, -1))
                for y in range(len(self.P)):
                    if self.P[x, a, y] > 0:
                        go(q * self.P[x, a, y], y, here)

        for x in range(len(self.start)):
            go(self.start[x], x, [])
        return found

    def values(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Q and the value of every state, for ever."""
        M = np.einsum("xa,xay->xy", policy, self.P)
        v = np.linalg.solve(np.eye(len(M)) - γ * M, (policy * self.r).sum(1))
        return self.r + γ * self.P @ v, v

    def visits(self, policy: np.ndarray) -> np.ndarray:
        """Discounted, for ever."""
        M = np.einsum("xa,xay->xy", policy, self.P)
        return np.linalg.solve(np.eye(len(M)) - γ * M.T, self.start)

    def visits_in_record(self, T: int, j: int) -> np.ndarray:
        """Mean visits in the first T - j steps: after them j steps are known, or it has ended."""
        M = np.einsum("xa,xay->xy", self.b, self.P)
        at, total = self.start, np.zeros(len(M))
        for _ in range(T - j):
            total = total + at
            at = at @ M
        return total


def mean_score(process: Visible, T: int, j: int, base: np.ndarray, q: np.ndarray) -> float:
    """E φ over all records, by the compiled kernel."""
    found = process.records(T)
    at = np.array([x for _, steps, _ in found for x, _ in steps])
    action = np.array([a for _, steps, _ in found for _, a in steps])
    length = np.array([len(steps) for _, steps, _ in found])
    scores, _ = marginal_scores(
        at,
        action,
        process.r[at, action],
        np.append(0, np.cumsum(length)),
        length,
        np.array([y for _, _, y in found]),
        np.arange(len(found)),
        base,
        process.new / process.b,
        q,
        (process.new * q).sum(1),
        γ,
        j,
    )
    return float(np.array([p for p, _, _ in found]) @ scores)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 2), st.booleans())
def test_with_exact_weights_the_score_has_the_value_for_ever_as_its_mean(seed, j, ends):
    process = Visible(seed, ends=ends)
    wrong = np.random.default_rng(seed + 1).normal(size=process.r.shape)
    base = process.visits(process.new) / process.visits_in_record(4, j)
    truth = process.start @ process.values(process.new)[1]
    assert mean_score(process, 4, j, base, wrong) == pytest.approx(truth, abs=1e-12, rel=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 2), st.booleans())
def test_with_exact_values_any_weights_will_do(seed, j, ends):
    process = Visible(seed, ends=ends)
    anything = np.random.default_rng(seed + 1).uniform(0, 9, len(process.r))
    q, v = process.values(process.new)
    found = mean_score(process, 4, j, anything, q)
    assert found == pytest.approx(process.start @ v, abs=1e-12, rel=1e-12)


def test_weights_of_the_behavior_itself_on_whole_records_are_the_discounts():
    """Two steps, both weighed exactly: with Q = 0 the score is the logged return."""
    at, action = np.array([0, 0]), np.array([0, 1])
    scores, mass = marginal_scores(
        at, action, np.array([3.0, 4.0]), np.array([0, 2]), np.array([2]), np.array([-1]),
        np.array([0]), np.array([99.0]), np.ones((1, 2)), np.zeros((1, 2)), np.zeros(1), 0.5, 2,
    )  # fmt: skip
    assert scores.tolist() == [5.0]
    assert mass.tolist() == [[1.5, 0.0]]  # nothing became likelier


# ---- kernels and their slow twins ----------------------------------------------------------------


def obvious_scores(at, action, reward, start, length, after, episodes, base, ratio, q, v, γ, j):
    scores, masses = [], []
    for e in episodes:
        steps = list(range(start[e], start[e] + length[e]))
        score, mass, new = v[at[start[e]]], 0.0, 0.0
        for n, t in enumerate(steps):
            past = steps[max(0, n - j) : n + 1]
            weight = math.prod(ratio[at[u], action[u]] for u in past)
            weight *= γ**n if n < j else γ**j * base[at[t - j]]
            then = after[e] if t == steps[-1] else at[t + 1]
            score += weight * (reward[t] + (γ * v[then] if then >= 0 else 0) - q[at[t], action[t]])
            mass += weight
            new += weight if ratio[at[t], action[t]] > 1 + 1e-9 else 0.0
        scores.append(score)
        masses.append([mass, new])
    return scores, masses


@pytest.mark.parametrize("j", [0, 1, 3, 10])
def test_scores_agree_with_the_obvious_ones(j):
    rng = np.random.default_rng(j)
    length = rng.integers(1, 9, 30)
    start = np.append(0, np.cumsum(length))
    known = length - rng.integers(0, 2, 30) * (length > 1)
    n, H, A = int(start[-1]), 5, 3
    arguments = (
        rng.integers(0, H, n), rng.integers(0, A, n), rng.normal(size=n), start, known,
        rng.integers(-1, H, 30), rng.permutation(30)[:20], rng.uniform(0, 3, H),
        rng.uniform(0, 2, (H, A)), rng.normal(size=(H, A)), rng.normal(size=H), 0.9, j,
    )  # fmt: skip
    for mine, obvious in zip(marginal_scores(*arguments), obvious_scores(*arguments), strict=True):
        np.testing.assert_allclose(mine, obvious, rtol=1e-12, atol=1e-12)


def test_what_came_before_is_discounted_by_its_distance():
    found = discounted_before(np.array([8.0, 4.0, 2.0, 5.0]), np.array([3, 1]), 0.5)
    assert found.tolist() == [0.0, 4.0, 4.0, 0.0]


def test_a_pair_that_was_never_seen_is_worth_what_the_coarser_memory_says():
    """In state 1 action 1 was never tried; over all states it paid 7 and went on as usual."""
    log = Episodes(
        ("a", "b"), ("l", "r"), [0, 1, 0, 1], [1, 0, 1, 0], [7.0, 1.0, 7.0, 1.0],
        start=[0, 2, 4], final_observation=[-1, -1], terminated=[True, True],
    )  # fmt: skip
    behavior = Controller.uniform(log.observations, log.actions)
    board = lay_out(log, behavior, 0.5, [behavior.memory, window(2, actions=True).on(2, 2)])
    both = np.arange(2)
    coarse, fine = fit(board, both, 2)
    rows = behavior.lift(board.memories[-1]).rows_at(board.replay.states)
    q = fine.values(rows).q
    # every step ends with chance 1/2 and pays 4 on average: 4 / (1 - 0.5 · 0.5)
    assert coarse.values(rows).q[coarse.at == 1, 1] == pytest.approx(16 / 3)
    assert q[fine.at == fine.at[board.replay.at[1]], 1] == pytest.approx(16 / 3)
    assert isinstance(fine, FittedWeights)


# ---- judging -------------------------------------------------------------------------------------


def judged(pomdp, behavior, n, T, seed=1, **options):
    log = simulate(pomdp, behavior, episodes=n, seed=random_stream(seed, "data"), max_steps=T)
    return log, judge_long(
        log, behavior, discount=pomdp.discount, seed=random_stream(seed, "long"), **options
    )


@pytest.fixture(scope="module")
def in_view():
    pomdp = lm.wear(201)
    behavior = lm.wear_behavior(pomdp, 201)
    return pomdp, behavior, *judged(pomdp, behavior, 500, 50)


def test_wear_in_plain_view_is_improved_and_the_bound_holds(in_view):
    pomdp, behavior, _, verdict = in_view
    assert verdict.chosen is not None
    assert str(verdict.memory) == "window of 1"
    gain = evaluate(pomdp, verdict.controller).value - evaluate(pomdp, behavior).value
    assert 0 < verdict.chosen.lower < gain
    assert verdict.chosen.gain == pytest.approx(gain, abs=5 * verdict.chosen.error)
    assert not verdict.refusals


def test_the_ladder_goes_from_little_assumed_to_much(in_view):
    *_, verdict = in_view
    steps = [r.steps for r in verdict.ladder]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] == 17  # the rule of stretches
    (judge,) = [r for r in verdict.ladder if r.judged]
    assert judge.gain == verdict.chosen.gain
    assert all(r.lower > 0 for r in verdict.ladder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pomdp",
    [lm.wear(201, seen=None), lm.breakdowns(201), lm.mode(201), lm.wear(201, seen=0.6)],
    ids=["nothing seen", "tells by luck", "mode", "noise"],
)
def test_hidden_things_are_refused_or_do_no_harm(pomdp):
    of = lm.mode_behavior if pomdp.name.startswith("mode") else lm.wear_behavior
    behavior = of(pomdp, 201)
    for seed in range(3):
        _, verdict = judged(pomdp, behavior, 300, 20, seed)
        gain = evaluate(pomdp, verdict.controller).value - evaluate(pomdp, behavior).value
        assert gain >= 0
        assert (verdict.chosen is None) == bool(verdict.refusals)


def test_a_memory_that_suffices_is_seldom_contradicted():
    """Nominal level 0.12 at most; more than 20 of 80 has a chance below 0.001."""
    pomdp = lm.wear(202)
    behavior = lm.wear_behavior(pomdp, 202)
    rejected = 0
    memories = [behavior.memory, window(2, actions=True).on(*behavior.memory.alphabet)]
    for seed in range(80):
        log = simulate(
            pomdp, behavior, episodes=60, seed=random_stream(seed, "level"), max_steps=15
        )
        board = lay_out(log, behavior, 0.95, memories)
        rejected += memory_test(board, 0, random_stream(seed, "orders")).rejected
    assert rejected <= 20


def test_a_lasting_hidden_difference_is_found_where_one_step_hardly_shows_it():
    """Coins of two kinds, 0.35 and 0.65, one kind per record; nothing is ever seen."""
    rng = random_stream(1, "coins")
    n, T = 200, 20
    p = np.repeat(np.where(rng.random(n) < 0.5, 0.35, 0.65), T)
    log = Episodes(
        ("-",), ("toss", "wait"), np.zeros(n * T, int), rng.integers(0, 2, n * T),
        (rng.random(n * T) < p).astype(float), start=np.arange(0, n * T + 1, T),
        final_observation=np.zeros(n, int), terminated=np.zeros(n, bool),
    )  # fmt: skip
    behavior = Controller.uniform(log.observations, log.actions)
    memories = [behavior.memory, window(2, actions=True).on(1, 2)]
    test = memory_test(lay_out(log, behavior, 0.95, memories), 0, random_stream(1, "orders"))
    assert test.by_persistence
    assert not test.by_order  # actions tell nothing of the kind
    assert "luck lasts" in test.reasons[0]


def test_a_change_of_unit_changes_nothing_but_the_unit(in_view):
    _, behavior, log, verdict = in_view
    other = replace(log, reward=3 * log.reward - 7)
    again = judge_long(other, behavior, discount=0.95, seed=random_stream(1, "long"))
    assert again.chosen.setting == verdict.chosen.setting
    assert again.chosen.gain == pytest.approx(3 * verdict.chosen.gain, rel=1e-6)
    assert again.chosen.lower == pytest.approx(3 * verdict.chosen.lower, rel=1e-6)


def test_a_tie_is_no_improvement(in_view):
    _, behavior, log, _ = in_view
    flat = replace(log, reward=np.full(log.n_steps, 2.0))
    verdict = judge_long(flat, behavior, discount=0.95, seed=random_stream(1, "long"))
    assert verdict.chosen is None
    assert verdict.controller is behavior
    assert verdict.refusals[0].condition == "tie"


def test_declared_rewards_make_the_charge_larger(in_view):
    _, behavior, log, verdict = in_view
    declared = RewardRange.constant(-1000.0, 1000.0)
    again = judge_long(
        log, behavior, discount=0.95, seed=random_stream(1, "long"), rewards=declared
    )
    assert again.range == pytest.approx(40_000)
    assert again.chosen is None
    assert "lower bound" in {r.condition for r in again.refusals}
    assert again.needed is not None
    assert again.needed > len(log)
    assert verdict.range < 1000


def test_records_that_stop_early_are_refused():
    pomdp = lm.wear(201)
    _, verdict = judged(pomdp, lm.wear_behavior(pomdp, 201), 300, 6)
    assert verdict.chosen is None
    assert "too short" in {r.condition for r in verdict.refusals} | {"memory"}
    assert verdict.beyond == pytest.approx(0.95**6)


def test_a_rare_situation_counts_only_the_records_that_show_it():
    """One record in fifty meets the trap, and one in twenty of those tries the other action."""
    rng = random_stream(1, "trap")
    n = 5000
    trap = rng.random(n) < 0.02
    other = rng.random(n) < np.where(trap, 0.05, 0.5)
    reward = np.where(trap & other, 10.0, rng.random(n))
    log = Episodes(
        ("usual", "trap"), ("stay", "go"), trap.astype(int), other.astype(int), reward,
        start=np.arange(n + 1), final_observation=np.full(n, -1), terminated=np.ones(n, bool),
    )  # fmt: skip
    uniform = Controller.uniform(log.observations, log.actions)
    behavior = uniform.except_at(np.array([[1]]), np.array([[0.95, 0.05]]), "careful")
    verdict = judge_long(log, behavior, discount=0.9, seed=random_stream(1, "long"))
    assert verdict.chosen is None


def test_records_that_end_at_once_are_judged_as_wholes():
    """Tiger with a rash behavior: most records have one step, some have more."""
    pomdp = models.tiger()
    behavior = lm.memoryless(pomdp, np.array([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]]))
    log, verdict = judged(pomdp, behavior, 600, 300)
    assert np.median(log.lengths) == 1
    gain = evaluate(pomdp, verdict.controller).value - evaluate(pomdp, behavior).value
    assert gain >= 0
    assert reaches(lay_out(log, behavior, 0.95, [behavior.memory]))[:2] == (0, 1)
    assert verdict.beyond == 0


def test_a_reading_against_itself_is_nothing():
    reading = Reading(0, np.array([1.0, 2.0, 4.0]), 3.0)
    assert reading.against(reading) == 0.0
    assert reading.gain == pytest.approx(7 / 3)
    assert reading.against(Reading(0, np.array([0.0, 1.0, 3.0]), 3.0)) > 100  # no noise at all


def test_the_bridge_is_refused_and_says_why():
    pomdp = models.bridge_repair()
    behavior = Controller.uniform(pomdp.observations, pomdp.actions)
    _, verdict = judged(pomdp, behavior, 100, 30)
    assert verdict.chosen is None
    told = why_not(verdict)
    assert told
    assert certificate_of_long(verdict, value_range=1.0).reason.startswith("The behavior stays. ")
    assert verdict.to_dict()["chosen"] is None


def test_the_half_that_fits_does_not_judge(in_view):
    """Judging on the fitted half instead must give other numbers."""
    _, behavior, log, _ = in_view
    memories = [behavior.memory, window(2, actions=True).on(*behavior.memory.alphabet)]
    board = lay_out(log, behavior, 0.95, memories)
    fitted, others = np.arange(250), np.arange(250, 500)
    models = fit(board, fitted, 2)
    dealt = deal(log, np.random.default_rng(1))
    (mine, *_), tried = candidates(models, others, 0, dealt)
    (own, *_), _ = candidates(models, fitted, 0, dealt)
    assert tried > 0
    assert mine.setting == own.setting
    assert mine.rungs[0].gain != own.rungs[0].gain


# ---- words, certificate, picture -----------------------------------------------------------------


def test_the_certificate_names_what_it_assumes(in_view):
    *_, verdict = in_view
    certificate = certificate_of_long(verdict, value_range=verdict.range)
    assert certificate.validity is Validity.ASYMPTOTIC_IF_SUFFICIENT
    assert certificate.zeta == -verdict.chosen.lower == -min(r.lower for r in verdict.ladder)
    assert "the current observation tells all of the past that matters" in certificate.claim
    assert "does not contradict" in certificate.assumptions[0]
    assert not certificate.vacuous
    weaker = certificate_of_long(verdict, value_range=verdict.range, estimated=True)
    assert weaker.validity is Validity.CLAIMED
    assert "5 %" not in weaker.claim


def test_the_improvement_is_that_of_the_whole_log(in_view):
    from jumar.core.replay import count

    _, behavior, log, verdict = in_view
    mdp = count(log, verdict.chosen.setting.memory).mle(0.95)
    found = improvement_of_long(verdict, behavior, mdp)
    assert found.algorithm == "assume-memory"
    assert found.changed > 0
    assert found.gain == pytest.approx(verdict.chosen.gain, rel=0.2)


def test_memories_in_words():
    table = models.tiger()
    assert in_words(window(2)) == "the last 2 observations"
    assert they_tell(window(1).on(len(table.observations), 3)).endswith(" tells")
    assert they_tell(window(3, actions=True)) == "the last 3 observations and actions tell"


LADDER = (
    Rung('nothing <b> & "x" $y$', -3.0, 40.0, -900.0, 1.0),
    Rung("the last 3 steps and the memory before them", 11.0, 2.0, 5.0, 80.0, 3),
    Rung("the last 2 observations", 10.0, 1.0, 7.0, 200.0, 1, judged=True),
    Rung("the current observation", 30.0, 1.0, 27.0, 210.0, 1, rejected=True),
)


def test_the_picture_is_escaped_and_says_all_in_words():
    svg = rungs(LADDER)
    root = ET.fromstring(svg)
    told = root.attrib["aria-label"]
    assert "at least -900" in told
    assert "the current observation: at least 27, estimate 30, contradicted by the log" in told
    assert "<b>" not in svg
    assert "currentColor" in svg
    assert "var(--good)" in svg
    assert "var(--bad)" in svg
    assert "#0" not in svg.replace('href="#', "")
    assert "contradicted by the log" in " ".join("".join(root.itertext()).split())


def test_a_ladder_without_numbers_has_no_picture():
    assert rungs(()) == ""
    assert "nothing can be said" in rungs((Rung("nothing", None, None, None, None),))
    assert "nothing can be said" in rungs((*LADDER, Rung("more", None, None, -math.inf, None)))
