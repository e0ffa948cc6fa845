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
from jumar.core.reading import Bins, LogReading
from jumar.core.text import printable
from jumar.io.logs.asking import read_bins
from jumar.io.spaces import NamedSpace, columns_of, named_space

Edges = Mapping[str, Sequence[str | float]]
ROOTS = ("observation", "action")


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
    """The names of what can be seen and done in an environment, single or vector."""
    cut = {name: read_bins(name, spec) for name, spec in (bins or {}).items()}
    for name in cut:
        if name.partition(".")[0] not in ROOTS:
            raise ParameterError(
                f"bins: {printable(name)!r} is not a column of a space. Write observation, or "
                "observation.0 for the first of several numbers."
            )
    if any(name.startswith(ROOTS[1]) for name in cut):
        raise ParameterError(
            "bins: actions are not cut into ranges, as a controller must know what to send. Say "
            "what each action sends: actions={'left': [-1.0], 'right': [1.0]}."
        )
    seen, z_names = _seen(env, cut, observations)
    a_names, values, done = _done(env, actions)
    reading = LogReading(observation=seen.reading)
    if done is not None:
        reading = replace(reading, action=done.reading)
    return NamedSpaces(called(env), seen, z_names, a_names, values, reading)


def _seen(
    env: Any, cut: Mapping[str, Bins], given: Sequence[str] | None
) -> tuple[NamedSpace, tuple[str, ...]]:
    space, own = _space_of(env, "observation")
    made = named_space("observation", describe(space), cut)
    names = given if given is not None else own
    if names is None:
        return made, made.names
    return made, _checked("observation", names, len(made.names))


def _done(
    env: Any, given: Sequence[str] | Mapping[str, Any] | None
) -> tuple[tuple[str, ...], tuple[Any, ...], NamedSpace | None]:
    space, own = _space_of(env, "action")
    if isinstance(given, Mapping):
        names = check_names("action", given, ParameterError)
        values = tuple(_sent(space, name, value) for name, value in given.items())
        return names, values, None
    try:
        made = named_space("action", describe(space))
    except ParameterError as error:
        raise ParameterError(
            f"{called(env)}: {printable(str(space))} has no actions with names. Say what each "
            "action sends: actions={'left': [-1.0], 'right': [1.0]}."
        ) from error
    if len(made.columns) < len(columns_of("action", made.space)):
        raise ParameterError(
            f"{called(env)}: some numbers of the action are real. Say what each action sends: "
            "actions={'left': ..., 'right': ...}."
        )
    named = given if given is not None else own
    names = made.names if named is None else _checked("action", named, len(made.names))
    return names, tuple(made.value(i) for i in range(len(names))), made


def _space_of(env: Any, kind: str) -> tuple[Any, Sequence[str] | None]:
    """The space of a single environment, and the names it gives itself."""
    inner = env.unwrapped
    if hasattr(inner, "envs"):  # copies that are stepped one after the other
        inner = inner.envs[0].unwrapped
    space = _single(env, kind)
    same = space == _single(inner, kind)  # else a wrapper changed what its numbers mean
    return space, getattr(inner, f"{kind}_names", None) if same else None


def _single(env: Any, kind: str) -> Any:
    space = getattr(env, f"{kind}_space", None)
    return getattr(env, f"single_{kind}_space", space)


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


def _checked(kind: str, names: Sequence[str], size: int) -> tuple[str, ...]:
    checked = check_names(kind, names, ParameterError)
    if len(checked) != size:
        raise ParameterError(
            f"{kind}s: {len(checked)} names, but the space has {size} values. Name each once, in "
            "their order."
        )
    return checked


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
        An environment of Gymnasium, or a vector environment.
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
