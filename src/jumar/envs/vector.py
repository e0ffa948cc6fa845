"""Many copies of a model at once, as one vector environment that steps them in numpy.

All autoreset modes of Gymnasium are there. NEXT_STEP (the default): the step after an end ignores
the action, pays 0 and shows the first observation of a new episode. SAME_STEP: the step that ends
an episode shows the first observation of the next one; what was seen in the end is in
``info["final_obs"]``. DISABLED: whoever steps resets, with ``options={"reset_mask": mask}``.
`max_episode_steps` truncates, as TimeLimit does for a single environment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.errors import MissingExtra, ParameterError
from jumar.envs.environment import NamesOfModel, model_of, outcome_steps
from jumar.truth.pomdp import END, Pomdp
from jumar.truth.simulation import model_tables

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingExtra("Environments", "gymnasium", "gym") from error

Infos = dict[str, Any]


class PomdpVectorEnv(NamesOfModel, gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """Many copies of a model.

    Parameters
    ----------
    num_envs
        How many.
    model
        A model, its name, or the path of a model file.
    max_episode_steps
        An episode is cut off after so many steps. Without it, never.
    autoreset_mode
        Who begins the next episode, and when.
    render_mode
        Nothing is rendered; the parameter is there as Gymnasium passes it.
    **options
        Of the model.

    Examples
    --------
    >>> envs = PomdpVectorEnv(3, "tiger")
    >>> _ = envs.reset(seed=1)
    >>> envs.step(np.array([2, 2, 2]))[1].tolist()
    [-1.0, -1.0, -1.0]
    """

    def __init__(
        self,
        num_envs: int,
        model: str | Path | Pomdp,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **options: float,
    ) -> None:
        if num_envs < 1:
            raise ParameterError(f"num_envs: {num_envs} is not a whole number from 1.")
        self.pomdp = pomdp = model_of(model, options)
        self.num_envs, self.render_mode = int(num_envs), render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = gymnasium.spaces.Discrete(len(pomdp.observations))
        self.single_action_space = gymnasium.spaces.Discrete(len(pomdp.actions))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._limit = max_episode_steps
        self._first, self._first_state, self._first_seen, *_ = model_tables(pomdp)
        self._last_first = int(np.flatnonzero(np.diff(self._first, prepend=0.0) > 0)[-1])
        self._steps, self._last = outcome_steps(pomdp)
        self._state = np.full(self.num_envs, END)
        self._seen = np.zeros(self.num_envs, np.int64)
        self._length = np.zeros(self.num_envs, np.int64)
        self._over = np.zeros(self.num_envs, np.bool_)  # the episode ended or was cut off

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Ints, Infos]:
        """Begin an episode in every copy, or in those of ``options["reset_mask"]``."""
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask")
        self._begin(np.ones(self.num_envs, np.bool_) if mask is None else np.asarray(mask, bool))
        return self._seen.copy(), {}

    def step(self, actions: Any) -> tuple[Ints, Floats, Bools, Bools, Infos]:
        """Do something in every copy."""
        a, A = np.asarray(actions, np.int64), len(self.pomdp.actions)
        if a.shape != (self.num_envs,) or not ((a >= 0) & (a < A)).all():
            raise ParameterError(
                f"actions: expected {self.num_envs} numbers from 0 to {A - 1}, one for each copy."
            )
        mode, waiting = self.autoreset_mode, self._over
        if (waiting.any() and mode == AutoresetMode.DISABLED) or (
            (self._state == END) & ~waiting
        ).any():
            raise ParameterError(
                "step: an episode is over. Reset it: reset(options={'reset_mask': mask})."
            )
        act = ~waiting  # where the action counts
        pair = np.where(act, self._state, 0) * A + a
        u = self.np_random.random(self.num_envs)
        k = np.searchsorted(self._steps, pair + u, side="right")
        k = np.minimum(k, self._last[pair])
        reward = np.where(act, self.pomdp.reward[k], 0.0)
        state = np.where(act, self.pomdp.next_state[k], self._state)
        terminated = act & (state == END)
        self._length += act
        late = False if self._limit is None else self._length >= self._limit
        truncated = act & ~terminated & late
        self._seen = np.where(act & ~terminated, self.pomdp.next_observation[k], self._seen)
        self._state, self._over = state, terminated | truncated
        infos: Infos = {}
        if mode == AutoresetMode.NEXT_STEP and waiting.any():
            over = self._over
            self._begin(waiting)
            self._over = over
        elif mode == AutoresetMode.SAME_STEP and self._over.any():
            infos = {"final_obs": self._final(), "_final_obs": self._over.copy()}
            self._begin(self._over.copy())
        return self._seen.copy(), reward, terminated, truncated, infos

    def _final(self) -> Any:
        """What was seen in the end, as sub-environments would have told it."""
        final = np.full(self.num_envs, None, object)
        final[self._over] = self._seen[self._over]
        return final

    def _begin(self, which: Bools) -> None:
        u = self.np_random.random(int(which.sum()))
        k = np.minimum(np.searchsorted(self._first, u, side="right"), self._last_first)
        self._state[which], self._seen[which] = self._first_state[k], self._first_seen[k]
        self._length[which], self._over[which] = 0, False
