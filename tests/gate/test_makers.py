"""Candidates of `auto` from any algorithm, and from a function of the caller's own."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import jumar as jm
from jumar.algorithms import ALGORITHMS
from jumar.core.errors import ParameterError
from jumar.core.randomness import random_stream
from jumar.gate import select
from jumar.gate.makers import LIGHTER, MOST_RETURNED, OwnFunction, grid_of, makers_of
from jumar.gate.trials import GATES, PROVED
from jumar.lab.study.guarantees import process
from jumar.verdict.tested import in_words, setting_words
from large_logs import improve_logs
from selection_logs import TIGER, both_gates, choose, one_step, tiger_log, uniform_tiger

FAMILY = [name for name in ALGORITHMS if name != "auto"]
DECLARED = jm.RewardRange(continuing=(-1, -1), ending=(-100, 10))
HOW = {"discount": 0.95, "rewards": DECLARED}


def greedy(mdp, behavior):
    """What paid most at once, of what was tried."""
    return np.eye(len(mdp.actions))[np.where(mdp.visits > 0, mdp.reward, -np.inf).argmax(1)]


# ---- names --------------------------------------------------------------------------------------


@both_gates
def test_auto_among_the_names_is_what_is_tried_without_a_word(which):
    log, behavior = tiger_log(600), uniform_tiger()
    usual, asked = (choose(log, behavior, which, candidates=c) for c in (None, "auto"))
    assert usual.to_dict() == {k: v for k, v in asked.to_dict().items() if k != "candidates_from"}
    assert usual.makers == ()
    assert asked.makers == ("auto",)


@both_gates
@pytest.mark.parametrize("name", FAMILY)
def test_every_algorithm_can_make_the_candidates(name, which):
    found = choose(tiger_log(1500), uniform_tiger(), which, discount=0.95, candidates=name)
    assert {trial.setting.algorithm for trial in found.trials} == {name}
    assert {trial.setting.mixture for trial in found.trials} <= set(LIGHTER)
    assert found.chosen is not None  # 1,500 episodes are enough for each of them here
    value = jm.evaluate(TIGER, found.controller).value
    assert value > jm.evaluate(TIGER, uniform_tiger()).value
    assert name in str(found.chosen.setting)
    assert setting_words(found.chosen.setting).startswith("window of ")


def test_several_names_are_tried_together():
    log, behavior = tiger_log(400), uniform_tiger()
    alone = [choose(log, behavior, PROVED, candidates=name).tried for name in ("spibb", "ramdp")]
    both = choose(log, behavior, PROVED, candidates=["spibb", "ramdp"])
    assert both.tried == sum(alone)
    assert both.makers == ("spibb", "ramdp")
    # a name that is given twice is asked once; a text may hold several
    assert choose(log, behavior, PROVED, candidates="ramdp, spibb,RaMDP").tried == both.tried


def test_a_grid_has_every_parameter_so_that_its_words_are_complete():
    for entry in map(ALGORITHMS.get, FAMILY):
        for gate in GATES:
            for setting in grid_of(entry, gate).settings:
                assert set(dict(setting)) == set(entry.parameters)
                assert entry.setting(dict(setting))


def test_what_has_a_grid_for_a_gate_keeps_it():
    for gate, name in (("proved", "tilt"), ("asymptotic", "spibb")):
        assert grid_of(ALGORITHMS[name], gate) == ALGORITHMS[name].grids[gate]
    assert grid_of(ALGORITHMS["robust"], "proved").mixtures == LIGHTER


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ("sofd", r"candidates: algorithm 'sofd' is not one of .* Did you mean 'soft'\?"),
        ([], "candidates: there is no name in it"),
        (" , ", "candidates: there is no name in it"),
        (7, "candidates: 7 is neither the name of an algorithm nor a function"),
        (["soft", 7], "candidates: 7 is neither"),
        ([greedy, greedy], r"candidates: two functions are called greedy\(\). Name them apart"),
    ],
)
def test_what_makes_nothing_is_refused(candidates, message):
    with pytest.raises(ParameterError, match=message):
        jm.improve("no-such-log.csv", "no-such-rule.json", candidates=candidates, **HOW)


@pytest.mark.parametrize("more", [{"algorithm": "soft"}, {"n_wedge": 5}])
def test_only_auto_takes_candidates(more):
    with pytest.raises(ParameterError, match=r"candidates: s\w+ takes none, only auto does"):
        jm.improve(tiger_log(50), uniform_tiger(), candidates="robust", **HOW, **more)


# ---- a function ---------------------------------------------------------------------------------


@both_gates
def test_a_function_is_tested_like_any_other(which):
    result = jm.improve(tiger_log(1500), uniform_tiger(), candidates=greedy, gate=which, **HOW)
    chosen = result.selection.chosen
    assert chosen.setting.algorithm == "greedy()"
    assert dict(result.improvement.parameters)["base"] == "greedy()"
    assert "made by greedy()" in setting_words(chosen.setting)
    assert "They were made by greedy()." in in_words(result.selection).how
    assert str(chosen.setting).startswith("greedy(), window of ")
    assert json.loads(json.dumps(result.to_dict()))["selection"]["candidates_from"] == ["greedy()"]
    assert result.certificate.bound == "held-out"


FORMS = {
    "rows": greedy,
    "lists": lambda mdp, b: greedy(mdp, b).tolist(),
    "a controller": lambda mdp, b: b.lift(mdp.memory).except_at(mdp.states, greedy(mdp, b)),
    "an improvement": lambda mdp, b: jm.algorithms.basic.improve(mdp, b),
    "single precision": lambda mdp, b: (0.3 * greedy(mdp, b) + 0.7 / 3).astype(np.float32),
    "a list": lambda mdp, b: [greedy(mdp, b), jm.spibb(mdp, b), mdp.policy_of(b)],
    "a stack": lambda mdp, b: np.stack([greedy(mdp, b), 0.5 * greedy(mdp, b) + 0.5 / 3]),
    "a generator": lambda mdp, b: (jm.spibb(mdp, b, n_wedge=n) for n in (5, 20)),
    "less memory": lambda mdp, b: jm.Controller.constant(mdp.observations, mdp.actions, [0, 0, 1]),
    "nothing": lambda mdp, b: None,
    "an empty list": lambda mdp, b: [],
    "sometimes": lambda mdp, b: greedy(mdp, b) if mdp.memory == jm.window(2).on(2, 3) else None,
}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_function_may_return(form):
    found = choose(tiger_log(300), uniform_tiger(), PROVED, discount=0.95, candidates=FORMS[form])
    nothing = form in ("nothing", "an empty list")
    assert (found.tried == 0) == nothing
    assert all(trial.setting.algorithm == "<lambda>()" for trial in found.trials) or form == "rows"
    numbered = {"a list", "a stack", "a generator"}
    for trial in found.trials:
        assert bool(dict(trial.setting.parameters)) == (form in numbered)


def off_support(mdp, behavior):
    return np.tile([0.0, 0.0, 1.0], (len(mdp), 1))


def endless(mdp, behavior):
    while True:
        yield mdp.policy_of(behavior)


def longer(mdp, behavior):
    return jm.Controller.uniform(mdp.observations, mdp.actions, jm.window(9))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda mdp, b: np.ones((1, 3)) / 3, r"<lambda>\(\): rows have shape \(1, 3\); the model"),
        (lambda mdp, b: [greedy(mdp, b), greedy(mdp, b) * 0.9], "number 2: row 0 is .*sum to 1"),
        (lambda mdp, b: greedy(mdp, b) * np.nan, "row 0 is .*Probabilities lie between 0 and 1"),
        (lambda mdp, b: greedy(mdp, b) * 2 - 1 / 3, "row 0 is .*Probabilities lie between"),
        (lambda mdp, b: "greedy", "returned str 'greedy'. Return rows"),
        (lambda mdp, b: {"a": 1}, "returned dict .*Return rows"),
        (lambda mdp, b: jm.Controller.uniform(("x",), ("y",)), r"its observations \(x\) are not"),
        (longer, "it remembers more .*Return None for models with less memory"),
        (endless, f"returned more than {MOST_RETURNED:,} candidates"),
    ],
)
def test_what_a_function_may_not_return(function, message):
    with pytest.raises(ParameterError, match=rf"candidates: .*{message}"):
        choose(tiger_log(60), uniform_tiger(), PROVED, discount=0.95, candidates=function)


def test_an_action_that_the_behavior_never_takes_is_refused_with_its_place():
    never = jm.Controller.constant(TIGER.observations, TIGER.actions, [0.5, 0.5, 0.0])
    log = jm.simulate(TIGER, never, episodes=60, seed=1)
    with pytest.raises(ParameterError, match=r"off_support\(\): node .*observation .*'listen' with "
                       r"probability 1, which the behavior never does there"):  # fmt: skip
        choose(log, never, PROVED, discount=0.95, candidates=off_support)


def test_an_error_in_a_function_says_whose_it_is():
    def mine(mdp, behavior):
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        choose(tiger_log(60), uniform_tiger(), PROVED, candidates=mine)
    (note,) = caught.value.__notes__
    assert "mine(), the function that was given as `candidates`, failed" in note


def test_a_function_sees_the_half_it_learns_from_and_nothing_else():
    """Every episode has an observation of its own, so what a model knows tells which it saw."""
    n = 60
    names = tuple(f"z{i}" for i in range(n)), ("a", "b")
    action = np.arange(n) % 2
    log = one_step(names, range(n), action, action * 1.0)
    seen: list[frozenset[int]] = []

    def look(mdp, behavior):
        assert (mdp.visits.sum(1) > 0).all()  # not even a state that only others have
        assert not mdp.visits.flags.writeable
        seen.append(frozenset(mdp.states[:, -1].tolist()))

    select(log, jm.Controller.uniform(*names), discount=0.9, more_memory=0, candidates=look, seed=1)
    halves: list[frozenset[int]] = []  # what overlaps belongs together
    for some in seen:
        apart = [half for half in halves if not half & some]
        halves = [*apart, some.union(*(half for half in halves if half & some))]
    assert len(halves) == 2
    assert halves[0] | halves[1] == set(range(n))


def test_the_same_candidate_a_thousand_times_is_one():
    calls = []

    def same(mdp, behavior):
        calls.append(mdp)
        return [greedy(mdp, behavior) for _ in range(1000)]

    once = choose(tiger_log(200), uniform_tiger(), PROVED, candidates=greedy)
    found = choose(tiger_log(200), uniform_tiger(), PROVED, candidates=same)
    assert found.tried == once.tried
    assert [t.lower for t in found.trials] == [t.lower for t in once.trials]


def test_a_generator_may_fill_one_array_again():
    def shared(mdp, behavior):
        rows = greedy(mdp, behavior)
        yield rows
        rows[:] = mdp.policy_of(behavior)
        yield rows

    def fresh(mdp, behavior):
        return [greedy(mdp, behavior), mdp.policy_of(behavior)]

    log, behavior = tiger_log(600), uniform_tiger()
    one, other = (select(log, behavior, candidates=f, **HOW) for f in (shared, fresh))
    assert [t.gain for t in one.trials] == [t.gain for t in other.trials]


def test_names_of_functions():
    class Learner:
        def __call__(self, mdp, behavior):
            return None

    from functools import partial

    assert OwnFunction(Learner()).name == "Learner()"
    assert OwnFunction(partial(greedy)).name == "greedy()"
    assert makers_of([greedy, "soft", "auto"]).names == ("greedy()", "soft", "auto")

    # one that is called as an algorithm is called is still not that algorithm
    def spibb(mdp, behavior):
        return greedy(mdp, behavior)

    found = choose(tiger_log(1500), uniform_tiger(), PROVED, discount=0.95, candidates=spibb)
    assert str(found.chosen.setting).startswith("spibb(), window")
    assert isinstance(jm.spibb, object)


def test_fewer_changes_can_be_asked_of_a_function():
    how = {"candidates": greedy, "memory": jm.window(3), **HOW}
    whole = jm.improve(tiger_log(3000), uniform_tiger(), **how)
    found = jm.improve(tiger_log(3000), uniform_tiger(), simplify=0.8, **how)
    assert found.selection.chosen is not None
    assert found.simplified.kept < whole.improvement.changed


def test_with_an_estimated_behavior_a_function_is_given_that_and_nothing_is_proved():
    given = []

    def look(mdp, behavior):
        given.append(behavior.estimated)
        return greedy(mdp, behavior)

    found = jm.improve(tiger_log(1500), "estimate", candidates=look, **HOW)
    assert all(given)
    assert given
    assert found.selection.chosen is not None
    assert str(found.certificate.validity) == "claimed"


# ---- promises -----------------------------------------------------------------------------------


def lucky(mdp, behavior):
    """Built to be fooled: the best of its half, and of 40 policies those that happened to pay."""
    old = mdp.policy_of(behavior)
    rng = np.random.default_rng(int(mdp.visits.sum()))
    rows = [greedy(mdp, behavior)]
    rows += [np.eye(old.shape[1])[rng.integers(old.shape[1], size=len(old))] for _ in range(40)]
    return sorted(rows, key=lambda r: -float((mdp.visits * mdp.reward * r).sum()))[:12]


@both_gates
@pytest.mark.parametrize("who", ["a function", "every algorithm"])
@pytest.mark.slow
def test_where_nothing_can_be_gained_hardly_anything_is_deployed(who, which):
    """All policies are worth the same up to 1e-6. 20 logs at δ = 20 %: more than 10 deployments
    come up in fewer than one of 1,000 runs of a gate that keeps its promise."""
    ties = process("near-ties")
    makers = lucky if who == "a function" else FAMILY
    deployed = 0
    for number in range(20):
        log = ties.log(120, random_stream(3, "makers", number))
        found = select(
            log, ties.behavior, discount=ties.pomdp.discount, delta=0.2, rewards=ties.rewards,
            gate=which, seed=1, candidates=makers, more_memory=0,
        )  # fmt: skip
        deployed += found.chosen is not None
    assert deployed <= 10


# ---- logs that are read in parts ----------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    for i in range(3):
        log = jm.simulate(TIGER, uniform_tiger(), episodes=700, seed=i)
        jm.write_logs(log, folder / f"day-{i}.parquet")
    return folder


@pytest.mark.parametrize("name", ["soft", "ramdp", "tilt"])
def test_names_work_on_a_log_in_parts(parts, name):
    found = improve_logs(parts, uniform_tiger(), each_file=True, candidates=name, **HOW)
    assert found.selection.chosen.setting.algorithm == name
    assert found.selection.makers == (name,)


def test_what_needs_only_a_model_learns_the_same_from_parts_and_in_memory(parts, tmp_path):
    """A log in one file, read either way: the same halves, candidates and choice."""
    file = tmp_path / "log.parquet"
    jm.write_logs(tiger_log(1500), file)
    makers = ["ramdp", "basic", greedy]
    whole = jm.improve(jm.read_logs(file), uniform_tiger(), candidates=makers, **HOW)
    in_parts = improve_logs(file, uniform_tiger(), candidates=makers, **HOW)
    assert in_parts.selection.tried == whole.selection.tried
    assert str(in_parts.selection.chosen.setting) == str(whole.selection.chosen.setting)
    settings = [{str(t.setting) for t in r.selection.trials} for r in (whole, in_parts)]
    assert settings[0] == settings[1]


def test_a_function_on_a_log_in_parts_is_called_here(parts):
    threads = set()

    def look(mdp, behavior):
        threads.add(threading.current_thread())
        assert (mdp.visits.sum(1) > 0).any()
        return greedy(mdp, behavior)

    how = {"each_file": True, "engine": "processes", "jobs": 1}
    found = improve_logs(parts, uniform_tiger(), candidates=look, **how, **HOW)
    assert threads == {threading.main_thread()}
    assert found.selection.chosen.setting.algorithm == "look()"


def test_what_learns_from_episodes_alone_cannot_learn_from_counts(parts):
    with pytest.raises(ParameterError, match="strict: learns from episodes, and of a log that is"):
        improve_logs(parts, uniform_tiger(), each_file=True, candidates="strict", **HOW)
