"""Properties without numbers: what must hold for every model, log and controller."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumar.algorithms import ALGORITHMS, run
from jumar.core.randomness import random_stream
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.simulation import simulate, simulated_value
from jumar.log.episodes import Episodes
from jumar.memory import product, window
from jumar.memory.refinement import join, projection
from jumar.policy.controller import Controller
from jumar.tally.history import Counts, HistoryMdp
from jumar.tally.replay import count
from strategies import (
    controllers,
    logs,
    memories,
    names,
    needed,
    pomdps,
    random_controller,
    random_pomdp,
    single_memories,
)

Z, A = names("z", 2), names("a", 3)


@st.composite
def improvements(draw) -> tuple[HistoryMdp, Controller]:
    """A model counted from a log, and a behavior; nothing says that the one made the other."""
    behavior = draw(controllers(Z, A))
    log = draw(logs(Z, A, most_episodes=8))
    memory = join(behavior.memory, draw(single_memories(2, 3)).on(2, 3))
    return count(log, memory).mle(draw(st.sampled_from([0.0, 0.5, 0.95, 0.999]))), behavior


# ---- improvement in the model -------------------------------------------------------------------


@given(improvements(), st.sampled_from(["spibb", "spibb_leq"]), st.integers(0, 4))
def test_in_the_model_the_improved_policy_is_at_least_as_good(case, name, n_wedge):
    result = run(name, *case, n_wedge=n_wedge)
    scale = max(1.0, float(np.abs(result.values).max()))
    assert result.gain >= -1e-11 * scale
    if result.changed == 0:
        assert result.gain == 0


@given(improvements(), st.integers(0, 4))
def test_allowed_to_take_mass_away_it_is_at_least_as_good_as_without(case, n_wedge):
    strict, loose = (run(name, *case, n_wedge=n_wedge) for name in ("spibb", "spibb_leq"))
    scale = max(1.0, float(np.abs(strict.values).max()))
    assert (loose.values >= strict.values - 1e-10 * scale).all()


@given(improvements(), st.sampled_from([1000, math.inf]))
@pytest.mark.slow
def test_as_the_threshold_grows_the_behavior_comes_back_bit_for_bit(case, n_wedge):
    mdp, behavior = case
    for name in ("spibb", "spibb_leq"):
        result = run(name, mdp, behavior, n_wedge=n_wedge)
        assert result.policy.tobytes() == mdp.policy_of(behavior).tobytes()
        nodes = mdp.memory.enumerate().tolist()
        anywhere = np.array([[*node, z] for node in nodes for z in range(2)])
        as_before = behavior.lift(mdp.memory).rows_at(anywhere)
        assert result.controller.rows_at(anywhere).tobytes() == as_before.tobytes()


@given(improvements(), st.integers(0, 3))
@pytest.mark.slow
def test_unknown_actions_keep_their_mass_or_less(case, n_wedge):
    mdp, behavior = case
    unknown = mdp.visits <= n_wedge
    before = mdp.policy_of(behavior)
    kept = run("spibb", mdp, behavior, n_wedge=n_wedge).policy
    assert np.array_equal(kept[unknown], before[unknown])
    bounded = run("spibb_leq", mdp, behavior, n_wedge=n_wedge).policy
    assert (bounded[unknown] <= before[unknown]).all()


@given(improvements(), st.integers(0, 3))
def test_a_lower_threshold_is_never_worse_in_the_model(case, n_wedge):
    """Fewer constraints: what N∧ + 1 admits, N∧ admits too."""
    freer, stricter = (run("spibb", *case, n_wedge=n) for n in (n_wedge, n_wedge + 1))
    scale = max(1.0, float(np.abs(freer.values).max()))
    assert (freer.values >= stricter.values - 1e-10 * scale).all()


# ---- lifting ------------------------------------------------------------------------------------


@given(st.data())
@pytest.mark.slow
def test_a_lifted_controller_is_worth_the_same_on_every_model(data):
    pomdp = data.draw(pomdps())
    controller = data.draw(controllers(pomdp.observations, pomdp.actions))
    alphabet = controller.memory.alphabet
    finer = join(controller.memory, data.draw(memories(*alphabet)))
    one, other = evaluate(pomdp, controller), evaluate(pomdp, controller.lift(finer))
    assert other.value == pytest.approx(one.value, rel=1e-11, abs=1e-11)
    assert other.length == pytest.approx(one.length, rel=1e-9)


# ---- names are only names -----------------------------------------------------------------------


def real_log(seed: int) -> tuple[Episodes, Controller]:
    """Rewards are real numbers, so that no two actions are worth the same."""
    rng = np.random.default_rng(seed)
    pomdp = random_pomdp(rng, 3, 3, 3, 0.9)
    behavior = random_controller(rng, pomdp, window(2))
    log = simulate(pomdp, behavior, episodes=400, seed=random_stream(seed, "names"), max_steps=20)
    noisy = log.reward + rng.normal(size=log.n_steps)
    return Episodes(**{**vars(log), "reward": noisy}), behavior


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if ALGORITHMS[n].improve])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[1:])
def test_renumbering_observations_renumbers_the_policy(name, order):
    log, behavior = real_log(sum(order[:2]))
    shuffled = tuple(behavior.observations[z] for z in order)
    states = [
        (behavior.memory.read_node(n, behavior.observations, behavior.actions), z)
        for *n, z in behavior.states.tolist()
    ]
    blank = Controller.constant(shuffled, behavior.actions, behavior.otherwise, window(2))
    renumbered = Controller(
        shuffled,
        behavior.actions,
        window(2),
        np.array([blank.state(node, behavior.observations[z]) for node, z in states]),
        behavior.rows,
        behavior.otherwise,
    )
    aligned = log.align(shuffled, behavior.actions)
    here, there = (
        run(name, mdp, by, **needed(ALGORITHMS[name].needs, mdp, by))
        for mdp, by in (
            (count(log, window(2)).mle(0.9), behavior),
            (count(aligned, window(2)).mle(0.9), renumbered),
        )
    )
    assert here.changed == there.changed > 0
    assert there.performance == pytest.approx(here.performance, rel=1e-11)
    for node, z in states:
        row = here.controller.row(node, behavior.observations[z])
        twin = there.controller.row(node, behavior.observations[z])
        # values are found by sweeps in another order: equal up to rounding
        np.testing.assert_allclose(twin, row, rtol=0, atol=1e-13 if name == "tilt" else 1e-15)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[1:])
def test_renumbering_actions_renumbers_the_policy(order):
    log, behavior = real_log(sum(order[:2]))
    shuffled = tuple(behavior.actions[a] for a in order)
    renumbered = Controller(
        behavior.observations,
        shuffled,
        window(2),
        behavior.states,
        behavior.rows[:, list(order)],
        behavior.otherwise[list(order)],
    )
    here = run("spibb", count(log, window(2)).mle(0.9), behavior)
    aligned = log.align(behavior.observations, shuffled)
    there = run("spibb", count(aligned, window(2)).mle(0.9), renumbered)
    np.testing.assert_allclose(there.policy, here.policy[:, list(order)], rtol=0, atol=1e-15)


# ---- counts -------------------------------------------------------------------------------------


def aggregated(fine: Counts, memory) -> dict[str, dict]:
    """Counts of a longer memory, summed over what the shorter one cannot tell apart."""
    project = projection(fine.memory, memory.on(*fine.memory.alphabet))
    states = np.column_stack([project(fine.states[:, :-1]), fine.states[:, -1]]).tolist()
    states = [tuple(state) for state in states]
    n_actions = fine.n_actions
    found: dict[str, dict] = {"states": dict.fromkeys(states, 1)}
    for field in ("visits", "ends", "reward_sum"):
        sums = found.setdefault(field, {})
        for (h, a), value in np.ndenumerate(getattr(fine, field)):
            sums[states[h], a] = sums.get((states[h], a), 0) + value.item()
    starts = found.setdefault("starts", {})
    for h, n in enumerate(fine.starts.tolist()):
        starts[states[h]] = starts.get(states[h], 0) + n
    moves = found.setdefault("moves", {})
    for p, to, n in zip(fine.pair, fine.successor, fine.times, strict=True):
        key = states[p // n_actions], int(p % n_actions), states[to]
        moves[key] = moves.get(key, 0) + int(n)
    return found


@given(logs(Z, A), st.integers(1, 4), st.booleans())
def test_counts_of_a_window_are_sums_of_the_counts_of_the_next_longer_one(log, k, actions):
    memory = window(k, actions)
    shorter = count(log, memory)
    from_longer = aggregated(count(log, window(k + 1, actions)), memory)
    assert aggregated(shorter, memory) == from_longer


@given(logs(Z, A), st.integers(1, 3), memories(2, 3))
def test_counts_of_a_part_are_sums_of_the_counts_of_a_product(log, k, other):
    memory = window(k).on(2, 3)
    both = count(log, product(memory, other).on(2, 3))
    assert aggregated(count(log, memory), memory) == aggregated(both, memory)


# ---- exact against simulated --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_exact_value_is_what_simulation_finds(seed):
    """4000 episodes, 5 standard errors, value and length: a right program fails for a fresh seed
    40 · 6e-7 = 1 in 40,000 times. Cut off after 200 steps, at which γ^200 is 7e-10."""
    rng = np.random.default_rng(seed)
    S, n_actions, O = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 4)
    pomdp = random_pomdp(rng, int(S), int(n_actions), int(O), 0.9)
    memory = [window(1), window(2), window(3), window(2, actions=True)][seed % 4]
    controller = random_controller(rng, pomdp, memory)
    exact = evaluate(pomdp, controller)
    found = simulated_value(
        pomdp, controller, episodes=4000, seed=random_stream(seed, "exact"), max_steps=200
    )
    assert found.standard_error > 0
    assert abs(found.mean - exact.value) < 5 * found.standard_error
    log = simulate(
        pomdp, controller, episodes=4000, seed=random_stream(seed, "length"), max_steps=200
    )
    error = log.lengths.std(ddof=1) / math.sqrt(len(log))
    assert abs(log.lengths.mean() - exact.length) < 5 * error


@settings(max_examples=30)
@given(st.data())
def test_models_with_certain_and_impossible_events_too(data):
    """As above with probabilities 0 and 1 about; returns of one value must match to rounding.
    30 comparisons at 5.5 standard errors: 1 in a million for fresh examples. The returns here are
    far from normal, hence the wider margin and the 2000 episodes."""
    pomdp = data.draw(pomdps(discounts=(0.5,)))
    controller = data.draw(controllers(pomdp.observations, pomdp.actions))
    exact = evaluate(pomdp, controller).value
    found = simulated_value(
        pomdp, controller, episodes=2000, seed=random_stream(1, "events"), max_steps=60
    )
    assert abs(found.mean - exact) < 5.5 * found.standard_error + 1e-9 * (1 + abs(exact))
