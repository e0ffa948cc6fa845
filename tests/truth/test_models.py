"""The model registry, and the three benchmarks of the paper cell by cell."""

from __future__ import annotations

import pkgutil

import pytest

from facts import refuses
from jumar import models
from jumar.core.errors import ModelError, ParameterError
from jumar.core.randomness import random_stream
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.models import MODELS, build, optimum, parse
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.lab.truth.training import train_behavior
from jumar.memory import window
from jumar.policy.controller import Controller

MAZE = models.cheese_maze()


def outcomes(model: Pomdp, s: int, a: int) -> list[tuple[float, int, int, float]]:
    """(probability, next state, next observation, reward), as the model stores them."""
    k = slice(*model.pointer[s * len(model.actions) + a :][:2])
    columns = model.probability, model.next_state, model.next_observation, model.reward
    return list(zip(*(c[k].tolist() for c in columns), strict=True))


# ---- every registered model ---------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
class TestEveryModel:
    def test_can_be_built_by_name_with_and_without_dashes(self, name):
        assert build(name).name == name
        assert build(name.replace("_", "-").upper()).name == name
        assert getattr(models, name)().name == name

    def test_ends_or_runs_for_ever_and_is_cut_off(self, name):
        model = build(name)
        assert model.max_steps == (300 if model.episodic else 135)
        assert model.discount == 0.95

    def test_its_training_gives_a_behavior_between_chance_and_the_optimum(self, name):
        model, how = build(name), vars(MODELS[name].training)
        behavior = train_behavior(model, window(2), seed=random_stream(1, "train"), **how)
        chance = evaluate(model, Controller.uniform(model.observations, model.actions)).value
        assert chance < evaluate(model, behavior).value < optimum(name)


def test_no_module_hides_a_builder():
    """`models.tiger` is a function; a module jumar/models/tiger.py would take its place."""
    assert not {module.name for module in pkgutil.iter_modules(models.__path__)} & set(MODELS)


def test_an_unknown_model_is_told_with_a_remedy():
    with refuses(ParameterError, "'tigr'", "'tiger'"):
        build("tigr")
    with pytest.raises(AttributeError):
        _ = models.tigr


def test_options_are_read_after_a_colon():
    assert parse("cheese_maze:step_reward=-0.5") == ("cheese_maze", {"step_reward": -0.5})
    assert parse("cheese_maze:") == ("cheese_maze", {})
    assert build("cheese_maze:step_reward=-0.5").reward.min() == -0.5


@pytest.mark.parametrize(
    ("spec", "fact"),
    [
        ("tiger:step_reward=1", "tiger: option 'step_reward' is not one of \\(none\\)"),
        ("cheese_maze:step_rewar=1", "option 'step_rewar' is not one of step_reward. Did you mean"),
        ("cheese_maze:step_reward=little", "option step_reward: 'little' is not a number"),
        ("cheese_maze:step_reward", "option step_reward: '' is not a number"),
    ],
)
def test_a_wrong_option_is_told(spec, fact):
    with pytest.raises(ParameterError, match=fact):
        build(spec)


def test_a_reward_that_is_no_number_makes_no_model():
    with refuses(ModelError, "rewards", "finite"):
        build("cheese_maze:step_reward=nan")


def test_the_optimum_on_record_is_for_the_default_options_only():
    assert optimum("cheese_maze") == 0.8152996750
    assert optimum("cheese_maze:step_reward=0") is None


# ---- tiger and voicemail ------------------------------------------------------------------------


def test_tiger():
    tiger = models.tiger()
    assert tiger.start.tolist() == [0.5, 0.5]
    assert tiger.first_observation.tolist() == [[0.85, 0.15], [0.15, 0.85]]
    assert outcomes(tiger, 0, 0) == [(1.0, END, END, -100.0)]  # the tiger was behind this door
    assert outcomes(tiger, 0, 1) == [(1.0, END, END, 10.0)]
    assert outcomes(tiger, 1, 2) == [(0.15, 1, 0, -1.0), (0.85, 1, 1, -1.0)]


def test_voicemail():
    voicemail = models.voicemail()
    assert voicemail.start.tolist() == [0.65, 0.35]
    assert outcomes(voicemail, 0, 0) == [(0.8, 0, 0, -1.0), (0.2, 0, 1, -1.0)]
    assert outcomes(voicemail, 1, 0) == [(0.3, 1, 0, -1.0), (0.7, 1, 1, -1.0)]
    assert [outcomes(voicemail, s, a)[0][3] for s in (0, 1) for a in (1, 2)] == [5, -20, -10, 5]
    assert all(outcomes(voicemail, s, a)[0][1] == END for s in (0, 1) for a in (1, 2))
