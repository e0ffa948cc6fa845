"""Environments of Gymnasium: every model is one, and a controller acts and is logged in any.

    import gymnasium as gym
    import jumar as jm
    import jumar.envs  # registers jumar/Tiger-v0, jumar/Voicemail-v0, ...

    env = gym.make("jumar/Tiger-v0")
    fair = jm.Controller.uniform(*jumar.envs.names(env))
    log = jm.record(env, fair, episodes=1000)

`PomdpEnv` and `PomdpVectorEnv` are the environments, `names` says what the values of a space are
called, `Player` is a controller that acts in an environment. Nothing here learns; `record` sees of
an environment what a controller sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jumar.envs.naming import names
from jumar.envs.playing import Player
from jumar.envs.registering import register_models

if TYPE_CHECKING:
    from jumar.envs.environment import PomdpEnv
    from jumar.envs.vector import PomdpVectorEnv

__all__ = ["Player", "PomdpEnv", "PomdpVectorEnv", "names", "register_models"]

register_models()


def __getattr__(name: str) -> object:
    """The classes that are environments are made when gymnasium is there."""
    if name == "PomdpEnv":
        from jumar.envs.environment import PomdpEnv

        return PomdpEnv
    if name == "PomdpVectorEnv":
        from jumar.envs.vector import PomdpVectorEnv

        return PomdpVectorEnv
    raise AttributeError(f"module 'jumar.envs' has no attribute {name!r}")
