"""Models of the fields: every number of the published files, and values worked out apart."""

from __future__ import annotations

import numpy as np
import pytest

from jumar import models
from jumar.lab.truth.evaluation import evaluate
from jumar.memory import NamedNodes, window
from jumar.policy.controller import Controller

BRIDGE, TIGER = models.bridge_repair(), models.sumatran_tiger()
MACHINE, WEED = models.machine(), models.broomrape()
ALL = pytest.mark.parametrize("model", [BRIDGE, TIGER, MACHINE, WEED], ids=lambda model: model.name)


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


# ---- the bridge ---------------------------------------------------------------------------------


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


def test_stopping_at_once_by_hand():
    """175.133 a year while they last, 0.9 of them to the next: 175.133/(1 - 0.95·0.9)."""
    stop = Controller.constant(TIGER.observations, TIGER.actions, [0, 0, 1])
    assert evaluate(TIGER, stop).value == pytest.approx(175.133 / (1 - 0.95 * 0.9))


# ---- the machine --------------------------------------------------------------------------------


def test_ten_items_and_an_inspection_are_as_good_as_it_gets():
    """The best is worth between 9.7336 and 9.7345, found by another program; this is its path."""
    count = NamedNodes(tuple(f"item {i}" for i in range(11)), next_of(11))
    blank = Controller.constant(MACHINE.observations, MACHINE.actions, [1, 0, 0, 0]).lift(count)
    best = blank.except_at(np.array([[10, 0], [10, 1]]), np.array([[0.0, 0, 1, 0]] * 2))
    assert 9.7336 <= evaluate(MACHINE, best).value <= 9.7345


def next_of(n: int) -> np.ndarray:
    """(n, O, A) from node to node in a circle."""
    return np.broadcast_to((np.arange(n)[:, None, None] + 1) % n, (n, 2, 4))


# ---- the weed -----------------------------------------------------------------------------------


def test_fumigation_at_sight_is_the_best_there_is():
    """The best is worth between 25718.27 and 25718.61, found by another program."""
    rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    best = Controller(WEED.observations, WEED.actions, window(1), [[0], [1]], rows, rows[0])
    assert evaluate(WEED, best).value == pytest.approx(25718.6, abs=0.051)
