"""The models under their names in Gymnasium: cheese_maze is jumar/CheeseMaze-v0."""

from __future__ import annotations

from jumar.truth.models import MODELS

NAMESPACE = "jumar"
VERSION = 0


def environment_id(model: str) -> str:
    """What a model is called in Gymnasium.

    >>> environment_id("cheese_maze")
    'jumar/CheeseMaze-v0'
    """
    words = "".join(part[:1].upper() + part[1:] for part in model.split("_"))
    return f"{NAMESPACE}/{words}-v{VERSION}"


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
                entry_point="jumar.envs.environment:PomdpEnv",
                vector_entry_point="jumar.envs.vector:PomdpVectorEnv",
                kwargs={"model": model},
                max_episode_steps=MODELS[model].build().max_steps,
            )
    return [environment_id(model) for model in MODELS]
