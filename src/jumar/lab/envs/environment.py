"""A model as an environment of Gymnasium.

An action is drawn an outcome by its probability: next state, next observation and reward, or an
ending. Observations and actions are numbers, in the order of the model's names. The hidden state is
not told. After an ending nothing is seen, but the interface wants an observation: the last one is
shown again, and must not be learned from. How long an episode may be is the business of TimeLimit,
which `gymnasium.make` adds; made by hand, an environment runs on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from jumar.core.errors import MissingExtra, ParameterError
from jumar.lab.truth import models
from jumar.lab.truth.loops import draw
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.lab.truth.simulation import model_tables

try:
    import gymnasium
except ImportError as error:
    raise MissingExtra("Environments", "gymnasium", "gym") from error


class PomdpEnv(gymnasium.Env):  # type: ignore[misc]
    """A model as an environment.

    Parameters
    ----------
    model
        A model, its name, or the path of a model file.
    **options
        Of the model: ``gymnasium.make("jumar/CheeseMaze-v0", step_reward=0)``.

    Examples
    --------
    >>> env = PomdpEnv("tiger")
    >>> observation, _ = env.reset(seed=1)
    >>> env.observation_names[observation]
    'hear-left'
    >>> env.step(env.action_names.index("listen"))[1:4]
    (-1.0, False, False)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, model: str | Path | Pomdp, **options: float) -> None:
        if not isinstance(model, Pomdp):
            given = ",".join(f"{name}={value!r}" for name, value in options.items())
            model = models.build(f"{model}:{given}" if given else str(model))
        elif options:
            raise ParameterError("options: this model is built already. Leave them out.")
        self.pomdp = model
        self.observation_names, self.action_names = model.observations, model.actions
        self.observation_space = gymnasium.spaces.Discrete(len(model.observations))
        self.action_space = gymnasium.spaces.Discrete(len(model.actions))
        self._tables = model_tables(model)
        self._state, self._seen = END, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        first, state, seen, *_ = self._tables
        k = draw(first, 0, len(first), self.np_random.random())
        self._state, self._seen = int(state[k]), int(seen[k])
        return self._seen, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Do something."""
        if self._state == END:
            raise ParameterError("step: the episode is over. Call reset() first.")
        A = len(self.action_names)
        if not 0 <= action < A:
            raise ParameterError(f"action {action}: there are only numbers 0 to {A - 1}.")
        pair = self._state * A + int(action)
        _, _, _, pointer, within, state, seen, reward = self._tables
        k = draw(within, pointer[pair], pointer[pair + 1], self.np_random.random())
        self._state = int(state[k])
        ended = self._state == END
        if not ended:
            self._seen = int(seen[k])
        return self._seen, float(reward[k]), ended, False, {}
