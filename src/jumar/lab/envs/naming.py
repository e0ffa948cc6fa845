"""What the values of an environment's spaces are called, so that a controller can act on them.

An environment that says so itself (`observation_names`, `action_names`, as ours do) is believed, as
long as no wrapper changed the space. Else numbers are their own names, or those that the caller
gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumar.core.errors import ParameterError
from jumar.core.names import check_names
from jumar.core.reading import LogReading
from jumar.core.text import printable
from jumar.log.reading.options import read_bins
from jumar.log.spaces import NamedSpace, columns_of, named_space

Edges = Mapping[str, Sequence[str | float]]
_SAY = "Say what each action sends: actions={'left': [-1.0], 'right': [1.0]}."


def describe(space: Any) -> dict[str, Any]:
    """A space of Gymnasium as plain data, as Minari writes it.

    >>> from gymnasium.spaces import Discrete
    >>> describe(Discrete(3, start=1))
    {'type': 'Discrete', 'n': 3, 'start': 1}
    """
    told: dict[str, Any] = {"type": type(space).__name__}
    for key in ("n", "nvec", "start", "low", "high"):
        if hasattr(space, key):
            told[key] = np.asarray(getattr(space, key)).tolist()
    if told["type"] in ("MultiDiscrete", "Box"):
        told |= {"shape": list(space.shape), "dtype": str(space.dtype)}
    inside = getattr(space, "spaces", None)
    if isinstance(inside, Mapping):
        told["subspaces"] = {key: describe(part) for key, part in inside.items()}
    elif inside is not None:
        told["subspaces"] = [describe(part) for part in inside]
    return told


@dataclass(frozen=True)
class NamedSpaces:
    """The spaces of an environment with names."""

    source: str  # how messages call the environment
    observation: NamedSpace
    observations: tuple[str, ...]  # the name of every number of `observation`
    actions: tuple[str, ...]
    values: tuple[Any, ...]  # what the environment takes for each action
    reading: LogReading  # how a log with the columns of the spaces would be read


def called(env: Any) -> str:
    """What an environment is called in messages."""
    spec = getattr(env, "spec", None)
    return f"environment {printable(spec.id if spec else type(env.unwrapped).__name__)}"


def named_spaces(
    env: Any,
    bins: Edges | None = None,
    observations: Sequence[str] | None = None,
    actions: Sequence[str] | Mapping[str, Any] | None = None,
) -> NamedSpaces:
    """The names of what can be seen and done in an environment."""
    cut = {name: read_bins(name, spec) for name, spec in (bins or {}).items()}
    for name in cut:
        if name.partition(".")[0] != "observation":
            raise ParameterError(
                f"bins: {printable(name)!r} is not a column of a space that is cut into ranges. "
                "Write observation, or observation.0 for the first of several numbers; actions are "
                f"not cut, as a controller must know what to send. {_SAY}"
            )
    seen = named_space("observation", describe(env.observation_space), cut)
    z_names = _given("observation", env, observations, seen)
    reading = LogReading(observation=seen.reading)
    if isinstance(actions, Mapping):
        a_names = check_names("action", actions, ParameterError)
        values = tuple(_sent(env.action_space, name, value) for name, value in actions.items())
    else:
        done = _actions_of(env)
        a_names = _given("action", env, actions, done)
        values = tuple(done.value(i) for i in range(len(a_names)))
        reading = replace(reading, action=done.reading)
    return NamedSpaces(called(env), seen, z_names, a_names, values, reading)


def _actions_of(env: Any) -> NamedSpace:
    """The names of a space of actions, all of whose numbers must be whole."""
    try:
        done = named_space("action", describe(env.action_space))
        real = len(done.columns) < len(columns_of("action", done.space))
    except ParameterError:
        real = True
    if real:
        shown = printable(str(env.action_space))
        raise ParameterError(f"{called(env)}: the actions of {shown} have no names. {_SAY}")
    return done


def _given(kind: str, env: Any, names: Sequence[str] | None, space: NamedSpace) -> tuple[str, ...]:
    """One name for each value of the space: those that are given, else those the environment gives
    itself, unless a wrapper changed what its numbers mean, else the numbers."""
    if names is None and getattr(env, f"{kind}_space") == getattr(env.unwrapped, f"{kind}_space"):
        names = getattr(env.unwrapped, f"{kind}_names", None)
    if names is None:
        return space.names
    checked, size = check_names(kind, names, ParameterError), space.size
    if len(checked) != size:
        raise ParameterError(
            f"{kind}s: {len(checked)} names, but the space has {size} values. Name each once, in "
            "their order."
        )
    return checked


def _sent(space: Any, name: str, value: Any) -> Any:
    """What an action sends, as the space wants it."""
    if not isinstance(value, dict | tuple) and getattr(space, "shape", None) is not None:
        value = np.asarray(value, space.dtype)
        value = value.reshape(space.shape) if value.size == 1 else value
        value = int(value) if type(space).__name__ == "Discrete" else value
    if not space.contains(value):
        raise ParameterError(
            f"actions: {printable(name)!r} sends {value!r}, which is not in "
            f"{printable(str(space))}."
        )
    return value


def names(
    env: Any,
    *,
    bins: Edges | None = None,
    observations: Sequence[str] | None = None,
    actions: Sequence[str] | Mapping[str, Any] | None = None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is seen and done in an environment: the names a controller for it needs.

    Parameters
    ----------
    env
        An environment of Gymnasium.
    bins
        Cuts real numbers into ranges, as for `jumar.read_logs`: ``{"observation.2": ("left", 0,
        "right")}``.
    observations
        Other names for the numbers of a discrete space, in their order.
    actions
        The same for actions; or what each action sends: ``{"brake": [-2.0], "go": [2.0]}``.

    Returns
    -------
    tuple
        The observations, and the actions.

    Examples
    --------
    >>> import gymnasium as gym
    >>> names(gym.make("jumar/Tiger-v0"))
    (('hear-left', 'hear-right'), ('open-left', 'open-right', 'listen'))
    >>> names(gym.make("CartPole-v1"), bins={"observation.2": ("left", 0, "right")},
    ...       actions=("push left", "push right"))
    (('left', 'right'), ('push left', 'push right'))
    """
    made = named_spaces(env, bins, observations, actions)
    return made.observations, made.actions
