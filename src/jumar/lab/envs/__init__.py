"""Environments of Gymnasium: every model is one, and a controller acts and is logged in any.

    import gymnasium as gym
    import jumar as jm
    import jumar.lab.envs  # registers jumar/Tiger-v0, jumar/Voicemail-v0, ...

    env = gym.make("jumar/Tiger-v0")
    fair = jm.Controller.uniform(*jumar.lab.envs.names(env))
    log = jm.record(env, fair, episodes=1000)

`PomdpEnv` is the environment, `names` says what the values of a space are called, `Player` is a
controller that acts in an environment. Nothing here learns; `record` sees of an environment what a
controller sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jumar.core.lazy import lazily
from jumar.lab.envs.naming import names
from jumar.lab.envs.playing import Player
from jumar.lab.truth.models import MODELS

if TYPE_CHECKING:
    from jumar.lab.envs.environment import PomdpEnv

__all__ = ["Player", "PomdpEnv", "environment_id", "names", "register_models"]


def environment_id(model: str) -> str:
    """What a model is called in Gymnasium.

    >>> environment_id("cheese_maze")
    'jumar/CheeseMaze-v0'
    """
    words = "".join(part[:1].upper() + part[1:] for part in model.split("_"))
    return f"jumar/{words}-v0"


def register_models() -> list[str]:
    """Register every model that is not registered yet, and say what they are called. Without
    gymnasium there is nothing to register with. Call it again after ``MODELS.add``."""
    try:
        import gymnasium
    except ImportError:
        return []
    for model in MODELS:
        if environment_id(model) not in gymnasium.registry:
            gymnasium.register(
                environment_id(model),
                entry_point="jumar.lab.envs.environment:PomdpEnv",
                kwargs={"model": model},
                max_episode_steps=MODELS[model].build().max_steps,
            )
    return [environment_id(model) for model in MODELS]


register_models()


# the class that is an environment is made when gymnasium is there
__getattr__ = lazily(__name__, {"PomdpEnv": "lab.envs.environment"})
