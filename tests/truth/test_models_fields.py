"""Models of the fields: every number of the published files, and values worked out apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from jumar import models
from jumar.core.randomness import random_stream
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.model_files import load_model
from jumar.lab.truth.pomdp import Pomdp
from jumar.lab.truth.simulation import simulated_value
from jumar.policy.controller import Controller
from jumar.policy.files import load_controller

BRIDGE, TIGER = models.bridge_repair(), models.sumatran_tiger()
MACHINE, WEED = models.machine(), models.broomrape()
ALL = pytest.mark.parametrize("model", [BRIDGE, TIGER, MACHINE, WEED], ids=lambda model: model.name)
SHARED = Path("/work/shared/data/pomdp")
needs_files = pytest.mark.skipif(not SHARED.is_dir(), reason="files of others are not here")

GOOD, LIGHT, MODERATE, HEAVY, FAILURE = BRIDGE.observations


def load(folder: Path, model: Pomdp, **document: object) -> Controller:
    """A controller from a file as a user writes it."""
    path = folder / "policy.json"
    names = {"observations": list(model.observations), "actions": list(model.actions)}
    path.write_text(json.dumps({"format": "jumar-controller/1", **names, **document}))
    return load_controller(path)


# ---- all ----------------------------------------------------------------------------------------


@ALL
def test_it_runs_for_ever_and_135_years_are_all_that_counts(model):
    assert not model.episodic
    assert model.discount == 0.95
    assert 0.95**model.max_steps < 0.001 <= 0.95 ** (model.max_steps - 1)


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (BRIDGE, -9763.24478407456),
        (TIGER, 1131.782672860183),
        (MACHINE, -6.225100653158696),
        (WEED, 19458.096610746135),
    ],
    ids=lambda model: getattr(model, "name", ""),
)
def test_every_number_of_the_published_files_is_in_the_value_of_doing_anything(model, value):
    """With all actions in all states; recorded when each number was compared with its source."""
    uniform = Controller.uniform(model.observations, model.actions)
    assert evaluate(model, uniform).value == pytest.approx(value, rel=1e-12)


@ALL
def test_simulation_agrees_with_the_exact_value(model):
    """Fails for a right program with probability 1e-6: 4.9 standard errors."""
    uniform = Controller.uniform(model.observations, model.actions)
    found = simulated_value(model, uniform, episodes=2000, seed=random_stream(1, "check"))
    exact = evaluate(model, uniform, horizon=model.max_steps).value
    assert abs(found.mean - exact) < 4.9 * found.standard_error


# ---- the bridge ---------------------------------------------------------------------------------


def schedule(folder: Path, every: int, exploration: float = 0.0) -> Controller:
    """A look every so many years; then paint on light corrosion, repair on anything worse."""
    years = [f"year {i}" for i in range(every)]
    moves = [{"node": n, "to": years[(i + 1) % every]} for i, n in enumerate(years)]
    look = " + visual" if every == 1 else ""
    found = {LIGHT: "paint", **dict.fromkeys((MODERATE, HEAVY, FAILURE), "structural repair")}
    rules = [
        {"node": years[0], "observation": z, "action": repair + look} for z, repair in found.items()
    ]
    return load(
        folder,
        BRIDGE,
        exploration=exploration,
        memory={"nodes": years, "moves": moves},
        rules=[*rules, {"node": years[-1], "action": "visual"}],
        default="nothing",
    )


@pytest.mark.parametrize(
    ("every", "exploration", "value"),
    [(1, 0, -5171.1), (2, 0, -6578.1), (2, 0.02, -6645.7), (4, 0, -9035.8)],
)
def test_what_a_look_every_so_many_years_is_worth(tmp_path, every, exploration, value):
    found = evaluate(BRIDGE, schedule(tmp_path, every, exploration))
    assert found.value == pytest.approx(value, abs=0.051)
    assert found.length == np.inf


def test_an_untouched_bridge_by_hand():
    """From failure nothing leads back: 2000 a year for ever is 2000/(1-0.95) = 40,000."""
    nothing = Controller.constant(BRIDGE.observations, BRIDGE.actions, np.eye(12)[0])
    v4 = -40_000.0
    v3 = (-300 + 0.95 * 0.40 * v4) / (1 - 0.95 * 0.60)
    v2 = 0.95 * (0.15 * v3 + 0.10 * v4) / (1 - 0.95 * 0.75)
    v1 = 0.95 * (0.17 * v2 + 0.05 * v3 + 0.08 * v4) / (1 - 0.95 * 0.70)
    v0 = 0.95 * (0.13 * v1 + 0.02 * v2 + 0.05 * v4) / (1 - 0.95 * 0.80)
    assert evaluate(BRIDGE, nothing).value == pytest.approx(v0)


# ---- the tiger ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "value"), [("manage", 1288.26), ("stop", 1207.81), ("survey", 991.01)]
)
def test_always_the_same(tmp_path, action, value):
    always = load(tmp_path, TIGER, default=action)
    assert evaluate(TIGER, always).value == pytest.approx(value, abs=0.0051)


def test_stopping_at_once_by_hand():
    """175.133 a year while they last, 0.9 of them to the next: 175.133/(1 - 0.95·0.9)."""
    stop = Controller.constant(TIGER.observations, TIGER.actions, [0, 0, 1])
    assert evaluate(TIGER, stop).value == pytest.approx(175.133 / (1 - 0.95 * 0.9))


# ---- the machine --------------------------------------------------------------------------------


def items(folder: Path, every: int, exploration: float) -> Controller:
    """Examine every so many items; a defect calls for an inspection and starts the count anew."""
    nodes = [f"item {i}" for i in range(every)]
    moves = [{"observation": "defective", "to": nodes[0]}]
    moves += [{"node": n, "to": nodes[(i + 1) % every]} for i, n in enumerate(nodes)]
    return load(
        folder,
        MACHINE,
        exploration=exploration,
        memory={"nodes": nodes, "moves": moves},
        rules=[
            {"observation": "defective", "action": "inspect"},
            {"node": nodes[-1], "action": "examine"},
        ],
        default="manufacture",
    )


@pytest.mark.parametrize(
    ("every", "plain", "explored"),
    [(2, 8.100, 6.944), (3, 8.720, 7.617), (4, 8.995, 7.954), (6, 9.215, 8.287)],
)
def test_what_examining_every_so_many_items_is_worth(tmp_path, every, plain, explored):
    assert evaluate(MACHINE, items(tmp_path, every, 0)).value == pytest.approx(plain, abs=6e-4)
    found = evaluate(MACHINE, items(tmp_path, every, 0.1)).value
    assert found == pytest.approx(explored, abs=6e-4)


def test_ten_items_and_an_inspection_are_as_good_as_it_gets(tmp_path):
    """The best is worth between 9.7336 and 9.7345, found by another program; this is its path."""
    nodes = [f"item {i}" for i in range(11)]
    best = load(
        tmp_path,
        MACHINE,
        memory={
            "nodes": nodes,
            "moves": [{"node": n, "to": nodes[(i + 1) % 11]} for i, n in enumerate(nodes)],
        },
        rules=[{"node": nodes[-1], "action": "inspect"}],
        default="manufacture",
    )
    assert 9.7336 <= evaluate(MACHINE, best).value <= 9.7345


@needs_files
def test_the_machine_is_the_published_file():
    theirs = load_model(
        SHARED / "cassandra/ejs1.POMDP", discount=0.95, start="none-bad", first_observation="good"
    )
    for field in ("pointer", "probability", "next_state", "next_observation", "reward", "start"):
        np.testing.assert_array_equal(getattr(MACHINE, field), getattr(theirs, field))


# ---- the weed -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("action", "value"), [("crop", 16552.9), ("host denial", 19826.6)])
def test_always_the_same_on_the_field(tmp_path, action, value):
    found = evaluate(WEED, load(tmp_path, WEED, default=action)).value
    assert found == pytest.approx(value, abs=0.051)


def test_fumigation_at_sight_is_the_best_there_is(tmp_path):
    """The best is worth between 25718.27 and 25718.61, found by another program."""
    at_sight = {"observation": "present", "action": "fumigate"}
    best = load(tmp_path, WEED, rules=[at_sight], default="crop")
    assert evaluate(WEED, best).value == pytest.approx(25718.6, abs=0.051)
    years = [f"year {i}" for i in range(14)]
    moves = [{"observation": "present", "to": "year 1"}]
    moves += [{"node": n, "to": years[min(i + 1, 13)]} for i, n in enumerate(years)]
    denied = load(
        tmp_path,
        WEED,
        memory={"nodes": years, "moves": moves},
        rules=[at_sight, {"node": "year 13", "action": "crop"}],
        default="host denial",
    )
    assert evaluate(WEED, denied).value == pytest.approx(25641.9, abs=0.051)


@needs_files
def test_the_weed_is_the_published_file_but_for_one_number():
    theirs = load_model(
        SHARED / "conservation/weeds.pomdp", start="adults", first_observation="present"
    )
    ours = WEED.reward.copy()
    pair = 1 * 3 + 1  # seeds, fumigated
    ours[WEED.pair_of_outcome == pair] = -1000018
    for field in ("pointer", "probability", "next_state", "next_observation", "start"):
        np.testing.assert_array_equal(getattr(WEED, field), getattr(theirs, field))
    np.testing.assert_array_equal(ours, theirs.reward)
