"""A copy of anything public equals what it was copied from, however it was copied."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import jumar as jm
from jumar.core.arrays import same_content

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}
NAMES = ("good", "worn"), ("keep", "repair")


@pytest.fixture(scope="module")
def things() -> dict[str, object]:
    tiger = jm.models.tiger()
    behavior = jm.train_behavior(tiger, jm.window(1), softmax=0.05, seed=1)
    log = jm.simulate(tiger, behavior, episodes=60, seed=1)
    uniform = jm.Controller.uniform(*NAMES, jm.window(2, actions=True))
    nodes = jm.memory.NamedNodes(("even", "odd"), [[[1, 1]] * 2, [[0, 0]] * 2])
    result = jm.improve(log, behavior, discount=0.95, algorithm="spibb")
    assert result.assessment.verdict  # kept with the result, and must not hinder its copies
    selection = jm.pipeline.select(log, behavior, discount=0.95)
    counts = jm.count(log, jm.window(2))
    return {
        "controller": uniform,
        "lifted controller": uniform.lift(jm.window(4, actions=True)),
        "controller of named nodes": jm.Controller.uniform(*NAMES, nodes),
        "trained controller": behavior,
        "model": tiger,
        "log": log,
        "replays": jm.Replays(log),
        "window": jm.window(3),
        "bound window": jm.window(3, actions=True).on(2, 2),
        "named nodes": nodes,
        "product": jm.memory.product(jm.window(2).on(2, 2), nodes.on(2, 2)),
        "counts": counts,
        "history mdp": counts.mle(0.95),
        "check": jm.check(log, behavior),
        "selection": selection,
        "result": result,
        "improvement": result.improvement,
        "certificate": result.certificate,
        "assessment": result.assessment,
        "decisions": result.assessment.decisions,
        "reward range": jm.RewardRange.constant(0.0, 1.0),
        "planner": jm.lab.Pouct(),
    }


KINDS = [
    "controller",
    "lifted controller",
    "controller of named nodes",
    "trained controller",
    "model",
    "log",
    "replays",
    "window",
    "bound window",
    "named nodes",
    "product",
    "counts",
    "history mdp",
    "check",
    "selection",
    "result",
    "improvement",
    "certificate",
    "assessment",
    "decisions",
    "reward range",
    "planner",
]


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_equal(things, kind, how):
    thing = things[kind]
    twin = COPIES[how](thing)
    assert twin is not thing
    assert twin == thing
    assert hash(twin) == hash(thing)


def test_all_kinds_are_tried(things):
    assert list(things) == KINDS


def test_copies_stay_read_only(things):
    twin = copy.deepcopy(things["controller"])
    with pytest.raises(ValueError, match="read-only"):
        twin.otherwise[0] = 1.0


def test_what_differs_is_unequal(things):
    controller, log = things["controller"], things["log"]
    other = jm.Controller.constant(*NAMES, [0.25, 0.75], jm.window(2, actions=True))
    assert controller != other
    assert controller != "uniform"
    assert log != log.select(np.arange(len(log) - 1))
    assert things["lifted controller"] != controller
    assert things["model"] != jm.models.voicemail()


def test_a_log_is_the_same_wherever_it_stands(tmp_path, things):
    for name in ("a.csv", "b.csv"):
        jm.write_logs(things["log"], tmp_path / name)
    one, other = jm.read_logs(tmp_path / "a.csv"), jm.read_logs(tmp_path / "b.csv")
    assert one.origin.source != other.origin.source
    assert one == other


def test_equal_things_find_each_other_in_a_table(things):
    assert {things["controller"]: "found"}[copy.deepcopy(things["controller"])] == "found"


def test_what_is_undefined_in_both_is_equal():
    nan = float("nan")
    assert same_content({"a": (nan, np.array([nan, 1.0]))}, {"a": (nan, np.array([nan, 1.0]))})
    assert not same_content(np.array([1.0]), 1.0)
    assert not same_content([1, 2], [1])
