"""The compiled study against the single-problem API: the same data give the same policies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar import algorithms
from jumar.core.randomness import random_stream
from jumar.lab.study import batch
from jumar.lab.study.batch import make_task
from jumar.lab.study.datasets import dataset_stream, prepare, run_dataset
from jumar.lab.study.spec import study_from_document
from jumar.lab.truth import loops

SIZES = (1, 3, 10, 60, 400)
SETTINGS = [
    {"name": "spibb", "n_wedge": [0, 3, 5, 20]},
    {"name": "spibb_leq", "n_wedge": [3, 20]},
    {"name": "basic", "unseen": ["exclude", "zero", "pessimistic"]},
]


def study(**changes):
    document = {
        "format": "jumar-study/1",
        "seed": 7,
        "datasets": 3,
        "sizes": list(SIZES),
        "behaviors": [
            {"model": "tiger", "window": 2, "memories": [2, 3]},
            {"model": "voicemail", "window": 1, "memories": [1, 2]},
            {"model": "cheese_maze", "window": 2, "memories": [2, 3]},
        ],
        "algorithms": SETTINGS,
    }
    return study_from_document({**document, **changes})


SPEC = study()


@pytest.fixture(scope="module", params=SPEC.behaviors, ids=lambda b: b.name)
def prepared(request):
    return prepare(SPEC, request.param)


def the_log(prepared, number, size):
    """The log of a data set, made again by name with the public simulator."""
    rng = dataset_stream(SPEC, prepared.spec, number)
    return jm.simulate(prepared.pomdp, prepared.behavior, episodes=size, seed=rng)


@pytest.mark.parametrize("number", range(3))
def test_every_policy_is_the_one_the_single_problem_api_finds(prepared, number):
    out, _ = run_dataset(SPEC, prepared, number)
    for m, memory in enumerate(prepared.memories):
        for i, size in enumerate(SIZES):
            mdp = jm.count(the_log(prepared, number, size), memory).mle(prepared.pomdp.discount)
            for j, setting in enumerate(SPEC.settings):
                single = algorithms.run(
                    setting.algorithm, mdp, prepared.behavior, **setting.options
                )
                exact = jm.evaluate(prepared.pomdp, single.controller).value
                known = mdp.visits > (setting.threshold or 0)
                expected = exact, single.performance, single.behavior_performance, known.sum()
                assert out[m, i, j] == pytest.approx(expected, abs=1e-9)


def test_episodes_that_are_cut_off_count_their_last_step_with_its_successor():
    maze = jm.models.cheese_maze()
    short = type(maze)(**{**vars(maze), "max_steps": 4})
    behavior = jm.Controller.uniform(maze.observations, maze.actions)
    from jumar.lab.truth.chain import unroll
    from jumar.lab.truth.simulation import controller_tables, model_tables

    memory = jm.window(2).on(7, 4)
    task = make_task(short, behavior, memory)
    tables = *model_tables(short), *controller_tables(unroll(short, behavior), behavior)
    log = loops.simulate_episodes(50, 4, random_stream(1, "data"), *tables)
    X, A = task.behavior.shape
    sized = batch.count_sizes(*log, np.array([50]), task)
    visits, paid, follows, starts = (array[0] for array in sized)
    visits, paid = visits.reshape(X, A), paid.reshape(X, A)
    counts = jm.count(jm.Episodes(maze.observations, maze.actions, *log), memory)
    at = [task.states.tolist().index(state) for state in counts.states.tolist()]
    assert (visits[at] == counts.visits).all()
    assert visits.sum() == counts.visits.sum()
    np.testing.assert_allclose(paid[at], counts.reward_sum, atol=1e-12)
    assert starts[at].tolist() == counts.starts.tolist()
    pair = np.repeat(np.arange(X * A), np.diff(task.pointer))
    found = {(p, s): n for p, s, n in zip(pair, task.successor, follows, strict=True) if n}
    expected = {
        (at[p // A] * A + p % A, at[s]): n
        for p, s, n in zip(counts.pair, counts.successor, counts.times, strict=True)
    }
    assert found == expected


def test_an_algorithm_that_no_compiled_loop_knows_is_run_one_by_one_with_the_same_numbers(
    monkeypatch,
):
    spec = study(
        sizes=[1, 20],
        behaviors=[{"model": "tiger", "window": 1, "memories": [1, 2]}],
        algorithms=[{"name": "spibb", "n_wedge": [2, 5]}, {"name": "basic"}],
    )
    prepared = prepare(spec, spec.behaviors[0])
    fast, _ = run_dataset(spec, prepared, 0)
    for name in ("spibb", "basic"):
        unknown = replace(algorithms.ALGORITHMS[name], admitted=None)
        monkeypatch.setitem(algorithms.ALGORITHMS._entries, name, unknown)
    np.testing.assert_allclose(run_dataset(spec, prepared, 0)[0], fast, atol=1e-9)
