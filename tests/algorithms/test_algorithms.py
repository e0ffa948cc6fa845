"""What every registered algorithm owes: read from the registry, so that a new one is held to it.

A case is an algorithm with one value for each of its choices (`basic` with unseen=zero, …); other
parameters keep their defaults.
"""

from __future__ import annotations

import inspect
import itertools
import math
import pickle
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import jumar as jm
from jumar import algorithms
from jumar.algorithms import ALGORITHMS, algorithm
from jumar.core.errors import JumarError, ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.validity import Validity
from jumar.lab.truth.simulation import simulate
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.solve.nouns import Improvement
from jumar.tally.history import HistoryMdp
from jumar.tally.replay import count
from selection_logs import TIGER, tiger_log, uniform_tiger
from strategies import (
    arrays_of,
    dense,
    memoryless,
    names,
    needed,
    random_controller,
    random_mdp,
    random_pomdp,
    seen_whole,
)


def choices(name: str) -> list[dict[str, object]]:
    """Every combination of the parameters that are a choice between words."""
    hints = get_type_hints(ALGORITHMS[name].improve)
    grids = {p: get_args(hints[p]) for p in ALGORITHMS[name].parameters}
    words = {p: values for p, values in grids.items() if get_origin(hints[p]) is Literal}
    return [dict(zip(words, row, strict=True)) for row in itertools.product(*words.values())]


DECLARED = jm.RewardRange(continuing=(-1, -1), ending=(-100, 10))
HOW = {"discount": 0.95, "rewards": DECLARED}
ON_MODELS = [name for name in ALGORITHMS if ALGORITHMS[name].improve is not None]
CASES = [(name, chosen) for name in ON_MODELS for chosen in choices(name)]
IDS = ["-".join([name, *map(str, chosen.values())]) for name, chosen in CASES]
every_case = pytest.mark.parametrize(("name", "chosen"), CASES, ids=IDS)
every_algorithm = pytest.mark.parametrize("name", ON_MODELS)
with_threshold = pytest.mark.parametrize(
    "name", [name for name in ON_MODELS if "n_wedge" in ALGORITHMS[name].parameters]
)


def run(name: str, mdp: HistoryMdp, behavior: Controller, **parameters: object) -> Improvement:
    """With what else an algorithm needs of a log, as one that agrees with the model has it."""
    more = needed(ALGORITHMS[name].needs, mdp, behavior)
    return algorithms.run(name, mdp, behavior, **more, **parameters)


def logged(seed: int, episodes: int = 60, k: int = 2) -> tuple[HistoryMdp, Controller]:
    """A log of a random model by a random controller: some pairs seen often, some never."""
    rng = np.random.default_rng(seed)
    pomdp = random_pomdp(rng, 3, 3, 2, 0.9)
    behavior = random_controller(rng, pomdp, window(2))
    log = simulate(pomdp, behavior, episodes=episodes, seed=random_stream(seed, "conformance"))
    return count(log, window(k)).mle(0.9), behavior


def everywhere(controller: Controller) -> np.ndarray:
    nodes = controller.memory.enumerate().tolist()
    return np.array([[*node, z] for node in nodes for z in range(len(controller.observations))])


# ---- the registry -------------------------------------------------------------------------------


@every_algorithm
def test_an_entry_says_what_it_does(name):
    entry = ALGORITHMS[name]
    assert entry.summary == entry.summary.strip() != ""
    assert entry.improve.__doc__
    assert algorithm(name) is algorithm(name.replace("_", "-").upper()) is entry


@every_algorithm
def test_every_parameter_is_a_keyword_with_a_default_and_a_type(name):
    hints = get_type_hints(ALGORITHMS[name].improve)
    signature = inspect.signature(ALGORITHMS[name].improve)
    given = {"mdp", "behavior"} | set(ALGORITHMS[name].needs)
    assert list(signature.parameters)[:2] == ["mdp", "behavior"]
    assert set(signature.parameters) - given == set(ALGORITHMS[name].parameters)
    for parameter, details in ALGORITHMS[name].parameters.items():
        assert details.default is not inspect.Parameter.empty
        assert parameter in hints


@every_algorithm
def test_every_default_can_be_written_on_a_command_line(name):
    for parameter, details in ALGORITHMS[name].parameters.items():
        read = ALGORITHMS[name].read(parameter, str(details.default))
        assert read == details.default
        assert type(read) is type(details.default)


@every_algorithm
def test_text_that_is_no_value_is_a_clear_error(name):
    for parameter in ALGORITHMS[name].parameters:
        with pytest.raises(ParameterError, match=f"{parameter}: .*'no such value'"):
            ALGORITHMS[name].read(parameter, "no such value")


@every_algorithm
def test_an_unknown_parameter_is_a_clear_error(name):
    mdp, behavior = logged(1)
    with pytest.raises(ParameterError, match=f"{name}: parameter 'n_wegde' is not one of"):
        run(name, mdp, behavior, n_wegde=3)
    with pytest.raises(ParameterError, match=f"{name}: parameter 'n_wegde' is not one of"):
        ALGORITHMS[name].read("n_wegde", "3")


def test_an_unknown_algorithm_is_a_clear_error():
    with pytest.raises(ParameterError, match=r"'spib' is not one of .* Did you mean 'spibb'\?"):
        algorithms.run("spib", *logged(1))


@with_threshold
@pytest.mark.parametrize("n_wedge", [-1, -0.5, -math.inf, math.nan, 10**400, "7"])
def test_a_threshold_that_is_no_count_is_an_error(name, n_wedge):
    with pytest.raises(ParameterError, match="n_wedge"):
        run(name, *logged(1), n_wedge=n_wedge)


@every_algorithm
def test_a_choice_that_does_not_exist_is_an_error(name):
    for parameter in choices(name)[0]:
        with pytest.raises(ParameterError, match=f"{parameter}: choice 'neither' is not one of"):
            run(name, *logged(1), **{parameter: "neither"})


# ---- what comes back ----------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_a_distribution(name, chosen, seed):
    result = run(name, *logged(seed), **chosen)
    assert isinstance(result, Improvement)
    rows = result.controller.rows_at(everywhere(result.controller))
    for policy in (result.policy, rows):
        assert (policy >= 0).all()
        np.testing.assert_allclose(policy.sum(1), 1, rtol=0, atol=1e-12)


@every_case
def test_the_controller_does_what_the_policy_says(name, chosen):
    mdp, behavior = logged(2)
    result = run(name, mdp, behavior, **chosen)
    assert result.controller.memory == mdp.memory
    assert result.controller.rows_at(mdp.states).tobytes() == result.policy.tobytes()
    assert result.behavior_policy.tobytes() == mdp.policy_of(behavior).tobytes()
    changed = (result.policy != result.behavior_policy).any(1)
    assert result.changed == changed.sum() > 0


@every_case
def test_it_says_what_it_was_and_how_it_was_asked(name, chosen):
    result = run(name, *logged(2), **chosen)
    assert result.algorithm == name
    assert chosen.items() <= dict(result.parameters).items()
    assert set(result.parameters) == set(ALGORITHMS[name].parameters)
    with pytest.raises(TypeError):
        result.parameters["n_wedge"] = 0


@every_case
@pytest.mark.parametrize("k", [2, 3])
def test_history_states_never_logged_keep_the_behaviors_row(name, chosen, k):
    mdp, behavior = logged(3, episodes=1 if k == 2 else 8, k=k)
    result = run(name, mdp, behavior, **chosen)
    states = everywhere(result.controller)
    new = states[mdp.index.find(states) < 0]
    assert len(new) > 0
    as_before = behavior.lift(mdp.memory).rows_at(new)
    assert result.controller.rows_at(new).tobytes() == as_before.tobytes()


# ---- no data ------------------------------------------------------------------------------------


@every_case
def test_a_log_that_teaches_nothing_gives_the_behavior_back_bit_for_bit(name, chosen):
    """Two episodes cut off after their first step: nobody knows what followed."""
    behavior = Controller.constant(names("z", 2), names("a", 3), [0.1, 0.2, 0.7])
    log = Episodes(
        behavior.observations, behavior.actions, [0, 1], [0, 1], [-9, 9], [0, 1, 2], [-1, -1],
        [False, False],
    )  # fmt: skip
    result = run(name, count(log, window(2)).mle(0.9), behavior, **chosen)
    assert result.policy.tobytes() == result.behavior_policy.tobytes()
    assert result.changed == 0
    assert result.gain == 0
    assert len(result.controller.rows) == 0


@with_threshold
@pytest.mark.parametrize("n_wedge", [10**9, math.inf])
@pytest.mark.parametrize("seed", range(3))
def test_a_threshold_nothing_exceeds_gives_the_behavior_back_bit_for_bit(name, n_wedge, seed):
    mdp, behavior = logged(seed)
    result = run(name, mdp, behavior, n_wedge=n_wedge)
    assert result.policy.tobytes() == mdp.policy_of(behavior).tobytes()
    assert result.gain == 0
    assert result.controller.same_as(
        behavior.lift(mdp.memory).except_at(mdp.states, mdp.policy_of(behavior))
    )


@with_threshold
def test_the_threshold_itself_is_not_enough(name):
    """Known is strictly more than N∧: with N∧ at the largest count nothing is known."""
    mdp, behavior = logged(4)
    most = int(mdp.visits.max())
    assert run(name, mdp, behavior, n_wedge=most).changed == 0
    assert run(name, mdp, behavior, n_wedge=0).changed > 0


# ---- inputs -------------------------------------------------------------------------------------


@every_case
def test_inputs_are_not_written_to(name, chosen):
    mdp, behavior = logged(5, episodes=400)
    _ = mdp.pointer, mdp.index  # arrays made on first use are made now
    before = arrays_of(mdp), arrays_of(behavior)
    result = run(name, mdp, behavior, **chosen)
    assert result.changed > 0
    assert (arrays_of(mdp), arrays_of(behavior)) == before


@every_case
def test_what_comes_back_is_read_only(name, chosen):
    result = run(name, *logged(5), **chosen)
    for array in (result.policy, result.behavior_policy, result.values, result.controller.rows):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


@every_case
def test_what_comes_back_goes_to_another_process(name, chosen):
    result = run(name, *logged(5, k=2), **chosen)
    assert pickle.loads(pickle.dumps(result)).policy.tobytes() == result.policy.tobytes()


@every_case
def test_the_same_input_gives_the_same_output_bit_for_bit(name, chosen):
    one, two = (run(name, *logged(6), **chosen) for _ in range(2))
    assert one.policy.tobytes() == two.policy.tobytes()
    assert one.values.tobytes() == two.values.tobytes()
    assert one.performance == two.performance
    assert one.controller.same_as(two.controller)


@every_case
def test_a_behavior_that_remembers_more_than_the_model_is_an_error(name, chosen):
    mdp, behavior = logged(1, k=2)
    with pytest.raises(JumarError, match="does not refine"):
        run(name, mdp, behavior.lift(window(3)), **chosen)


# ---- in the model -------------------------------------------------------------------------------


def value_in(mdp: HistoryMdp, policy: np.ndarray) -> float:
    """Of a policy in the model, the obvious way; pairs never tried pay and lead to nothing."""
    P = np.einsum("ha,hat->ht", policy, dense(mdp))
    v = np.linalg.solve(np.eye(len(mdp)) - mdp.discount * P, (policy * mdp.reward).sum(1))
    return float(mdp.start @ v)


def fully_tried(seed: int) -> tuple[HistoryMdp, Controller]:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 5, 3, visits=1e9)
    return mdp, memoryless(rng, mdp)


@every_case
@pytest.mark.parametrize("seed", range(5))
def test_where_everything_was_tried_the_model_likes_it_at_least_as_well_as_the_behavior(
    name, chosen, seed
):
    mdp, behavior = fully_tried(seed)
    result = run(name, mdp, behavior, **chosen)
    assert result.performance == pytest.approx(value_in(mdp, result.policy), abs=1e-11)
    expected = value_in(mdp, mdp.policy_of(behavior))
    assert result.behavior_performance == pytest.approx(expected, abs=1e-11)
    assert result.gain >= 0


@with_threshold
@pytest.mark.parametrize("n_wedge", [0, 2, 10])
@pytest.mark.parametrize("seed", range(5))
def test_bootstrapping_never_loses_in_the_model_whatever_was_tried(name, n_wedge, seed):
    """What was never tried counts 0 for both policies, and the behavior is always allowed."""
    mdp, behavior = logged(seed, episodes=25)
    assert (mdp.visits == 0).any()
    result = run(name, mdp, behavior, n_wedge=n_wedge)
    assert result.gain >= -1e-12
    assert result.performance == pytest.approx(value_in(mdp, result.policy), abs=1e-11)


@every_case
def test_enough_data_reaches_the_optimum_of_the_model(name, chosen):
    """10^9 visits to every pair; the optimum is the best of all 243 deterministic policies.
    An algorithm that does not promise it falls short of it in one of five models."""
    reached = []
    for seed in range(5):
        mdp, behavior = fully_tried(seed)
        best = max(
            value_in(mdp, np.eye(3)[list(choice)])
            for choice in itertools.product(range(3), repeat=5)
        )
        result = run(name, mdp, behavior, **chosen)
        reached.append(result.performance == pytest.approx(best, abs=1e-10))
        assert result.performance <= best + 1e-10
        assert result.trace.gap < 1e-9
    short = chosen.get("steps") == "one" or chosen.get("rule") == "adv"
    assert all(reached) == (not short and name not in ("strict", "decision_points", "tilt"))


@every_algorithm
def test_more_visits_than_any_count_are_as_good_as_known(name):
    """Infinite visits, as in a limit model."""
    rng = np.random.default_rng(0)
    finite, behavior = fully_tried(0)
    limit = random_mdp(rng, 5, 3, visits=math.inf)
    assert (
        run(name, limit, behavior).policy.tobytes() == run(name, finite, behavior).policy.tobytes()
    )


# ---- basic --------------------------------------------------------------------------------------


def one_bad_try(behavior_row: list[float]) -> tuple[HistoryMdp, Controller]:
    """a0 was tried and pays -5, a2 pays -1; a1 was never tried."""
    behavior = Controller.constant(("z",), names("a", 3), behavior_row)
    log = Episodes(("z",), names("a", 3), [0, 0], [0, 2], [-5, -1], [0, 1, 2], [-1, -1], [True] * 2)
    return count(log, window(1)).mle(0.9), behavior


@pytest.mark.parametrize(
    ("unseen", "row", "expected"),
    [
        ("exclude", [0.1, 0.8, 0.1], [0, 0, 1]),  # what was never tried is not chosen
        ("zero", [0.4, 0.2, 0.4], [0, 1, 0]),  # and is preferred to a loss
        ("pessimistic", [0.4, 0.2, 0.4], [0, 0, 1]),  # but not where it may cost more
    ],
)
def test_basic_by_hand(unseen, row, expected):
    """The worst the rewards allow is -5/(1 - .9) = -50."""
    result = run("basic", *one_bad_try(row), unseen=unseen)
    assert result.policy.tolist() == [expected]
    if unseen == "pessimistic":
        assert result.behavior_performance == pytest.approx(0.4 * -5 + 0.2 * -50 + 0.4 * -1)


def test_basic_keeps_the_behavior_where_nothing_was_tried():
    """z0 a0 z1, cut off: in z1 nothing was done, and a0 in z0 is all that was tried there."""
    behavior = Controller.constant(names("z", 2), names("a", 2), [0.3, 0.7])
    log = Episodes(behavior.observations, behavior.actions, [0], [0], [5], [0, 1], [1], [False])
    result = run("basic", count(log, window(1)).mle(0.9), behavior, unseen="exclude")
    assert result.policy.tolist() == [[1.0, 0.0], [0.3, 0.7]]


# ---- on a log -----------------------------------------------------------------------------------

NEEDY = [name for name in ON_MODELS if ALGORITHMS[name].needs]


@pytest.mark.parametrize("name", NEEDY)
def test_improve_hands_over_what_an_algorithm_needs_of_a_log(name):
    """δ is split between what followed the actions and where they led."""
    log, fair = tiger_log(1000), uniform_tiger()
    result = jm.improve(log, fair, memory=window(2), algorithm=name, **HOW)
    pays = {"discount": 0.95, "rewards": DECLARED}
    visits, state_visits = (
        jm.evidence.first_returns(log, window(2), **pays, by_action=by) for by in (True, False)
    )
    known = {
        "rewards": DECLARED, "delta": 0.05, "visits": visits, "state_visits": state_visits,
        "returns": visits.bounds(0.9 * 0.05),
    }  # fmt: skip
    needs = {need: known[need] for need in ALGORITHMS[name].needs}
    by_hand = algorithms.run(name, jm.count(log, window(2)).mle(0.95), fair, **needs)
    assert result.improvement.changed > 0
    assert result.controller.same_as(by_hand.controller)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("soft", {"rule": "adv", "epsilon": 0.4}), ("decision_points", {"n_wedge": 7})],
)
def test_a_bound_of_its_own_holds_where_observations_are_states(name, parameters):
    """40 logs at δ = 0.2: no loss beyond ζ. If every one failed with a chance of 0.2, more than 15
    would with a chance of 0.3 %. `robust` is tried in test_pessimism.py."""
    failures, changed = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = seen_whole(rng, 4, 3)
        old = random_controller(rng, model, window(1))
        log = simulate(model, old, episodes=60, seed=random_stream(seed, "theorem"))
        found = jm.improve(
            log, old, discount=0.8, algorithm=name, delta=0.2,
            rewards=jm.RewardRange.constant(-1, 1), **parameters,
        )  # fmt: skip
        if found.improvement.changed == 0:
            continue
        changed += 1
        (own,) = (c for c in found.certificates if c.bound == name.replace("_", "-"))
        if name == "decision_points":  # never below 2w/(1-γ) √(c/(2N∧))
            assert own.zeta <= 2 * 10 / 0.2 * math.sqrt(math.log(2 * 4 * 4 / 0.2) / 14)
        gain = jm.evaluate(model, found.controller).value - jm.evaluate(model, old).value
        failures += gain < -own.zeta
    assert changed > 30
    assert failures <= 15


# ---- with a behavior that is estimated ----------------------------------------------------------


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_every_algorithm_works_with_an_estimated_behavior_and_promises_less(name):
    log = tiger_log(2000)
    result = jm.improve(log, "estimate", algorithm=name, **HOW)
    assert result.improvement.changed > 0
    assert all(c.validity.strength <= Validity.CLAIMED.strength for c in result.certificates)
    value = jm.evaluate(TIGER, result.controller).value
    assert value > jm.evaluate(TIGER, uniform_tiger()).value
    if name == "auto":
        return
    known = jm.improve(log, uniform_tiger(), algorithm=name, **HOW)
    zeta = {c.bound: c.zeta for c in known.certificates}
    same = [c for c in result.certificates if c.bound in zeta]
    assert same
    assert all(c.zeta > zeta[c.bound] for c in same)
