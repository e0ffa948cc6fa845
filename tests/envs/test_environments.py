"""Models as environments: the same dynamics, as Gymnasium wants them."""

from __future__ import annotations

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import ParameterError
from jumar.lab.truth.models import MODELS, ModelEntry
from jumar.lab.truth.pomdp import END, Pomdp, from_arrays
from jumar.lab.truth.training import Training

gym = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install jumar[gym]")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import jumar.lab.envs  # noqa: E402
from jumar.lab.envs import PomdpEnv  # noqa: E402

IDS = jumar.lab.envs.register_models()


def test_every_model_is_registered_under_its_name():
    words = ["".join(word.title() for word in name.split("_")) for name in MODELS]
    assert [f"jumar/{word}-v0" for word in words] == IDS
    assert jumar.lab.envs.register_models() == IDS  # a second time changes nothing


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_has_no_complaints_and_episodes_are_as_long_as_the_model_says(name):
    env = gym.make(name)
    check_env(env.unwrapped)  # warnings are errors here
    assert env.spec.max_episode_steps == env.unwrapped.pomdp.max_steps


def test_a_model_that_was_added_later_is_registered_on_demand():
    def coin() -> Pomdp:
        return from_arrays(
            name="coin", states=["up"], actions=["toss"], observations=["seen"],
            transition=[[[0.0]]], ending=[[1.0]], observation=[[[1.0]]], reward=[[1.0]],
            start=[1.0], first_observation=[[1.0]], discount=0.9,
        )  # fmt: skip

    MODELS.add("one_coin", ModelEntry(coin, "a coin", Training(softmax=1.0)))
    try:
        assert "jumar/OneCoin-v0" in jumar.lab.envs.register_models()
        assert gym.make("jumar/OneCoin-v0").unwrapped.pomdp.name == "coin"
    finally:
        MODELS.remove("one_coin")
        gym.registry.pop("jumar/OneCoin-v0", None)


def test_options_of_a_model_are_options_of_the_environment():
    env = gym.make("jumar/CheeseMaze-v0", step_reward=-0.25)
    env.reset(seed=1)
    assert env.step(0)[1] == -0.25
    with pytest.raises(ParameterError, match="built already"):
        PomdpEnv(jm.models.tiger(), step_reward=0.0)


# ---- dynamics -----------------------------------------------------------------------------------


def test_cheese_maze_walks_as_the_map_says_step_by_step():
    """Moves are certain, so every step is known: 3 east of c0 is c3, west again, then to the cheese
    from c2 by south twice."""
    env = PomdpEnv("cheese_maze")
    pomdp = env.pomdp
    north, south, east, west = range(4)
    way = [(east, "c1"), (east, "c2"), (east, "c3"), (north, "c3"), (west, "c2"), (south, "c6")]
    env.reset(seed=1)
    env._state = pomdp.states.index("c0")
    looks = {f"c{cell}": z for cell, z in enumerate((0, 1, 2, 1, 3, 4, 4, 4, 5, 5))}
    for action, cell in way:
        assert env.step(action) == (looks[cell], -0.01, False, False, {})
        assert pomdp.states[env._state] == cell
    seen, *rest = env.step(south)
    assert (seen, rest) == (4, [1.0, True, False, {}])  # the last observation is shown again
    with pytest.raises(ParameterError, match=r"Call reset\(\)"):
        env.step(south)


def outcomes(pomdp: Pomdp, s: int, a: int) -> dict[tuple[int, int, float], float]:
    """The law of (next state, next observation, reward), where the same may be listed twice."""
    pair = s * len(pomdp.actions) + a
    law: dict[tuple[int, int, float], float] = {}
    for k in range(pomdp.pointer[pair], pomdp.pointer[pair + 1]):
        key = int(pomdp.next_state[k]), int(pomdp.next_observation[k]), float(pomdp.reward[k])
        law[key] = law.get(key, 0.0) + float(pomdp.probability[k])
    return {key: p for key, p in law.items() if p > 0}


def check_frequencies(law, counts, n):
    """Nothing impossible happens, and no count is 5 standard deviations off: one false alarm in
    two million counts, of which there are a few hundred, with a fixed seed."""
    assert set(counts) <= set(law)
    for key, p in law.items():
        assert abs(counts.get(key, 0) - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9, (key, p)


@pytest.mark.parametrize("model", ["tiger", "voicemail", "machine", "inspection"])
def test_a_step_has_the_law_of_the_model(model):
    env, n = PomdpEnv(model), 2_000
    pomdp = env.pomdp
    env.reset(seed=7)
    for s in range(len(pomdp.states)):
        for a in range(len(pomdp.actions)):
            counts: dict[tuple[int, int, float], int] = {}
            for _ in range(n):
                env._state = s
                seen, reward, ended, _, _ = env.step(a)
                key = (END, END, reward) if ended else (env._state, seen, reward)
                counts[key] = counts.get(key, 0) + 1
            check_frequencies(outcomes(pomdp, s, a), counts, n)

    seen = [env.reset()[0] for _ in range(n)]
    law = pomdp.start @ pomdp.first_observation
    counts = np.bincount(seen, minlength=len(law))
    check_frequencies(dict(enumerate(law.tolist())), dict(enumerate(counts.tolist())), n)


# ---- the interface ------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_episode():
    def walk(seed):
        env = gym.make("jumar/Voicemail-v0")
        seen = [env.reset(seed=seed)[0]]
        return seen + [env.step(0)[0] for _ in range(50)]

    assert walk(4) == walk(4) != walk(5)


@pytest.mark.parametrize("action", [-1, 3])
def test_an_action_that_is_none_is_refused(action):
    env = PomdpEnv("tiger")
    env.reset(seed=1)
    with pytest.raises(ParameterError, match="0 to 2"):
        env.step(action)


def test_an_unknown_model_is_refused():
    with pytest.raises(ParameterError, match="Did you mean 'tiger'"):
        PomdpEnv("tigre")
