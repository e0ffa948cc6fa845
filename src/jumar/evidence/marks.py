"""Marks: 64-bit numbers that tell steps and histories of a log apart, to compare many at once."""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Array, Ints
from jumar.log.episodes import Episodes


def marks_of_steps(log: Episodes) -> Array:
    """(N,) uint64, one for what was seen, done and paid at a step, and at which."""
    turn = np.arange(log.n_steps) - np.repeat(log.start[:-1], log.lengths)
    code = log.observation * len(log.actions) + log.action
    mixed = mix(code.astype(np.uint64) + mix(turn.astype(np.uint64)))
    return mix(mixed ^ (log.reward + 0.0).view(np.uint64))  # -0.0 is 0.0


def marks_of_histories(log: Episodes) -> Ints:
    """(N,) a non-negative number for what is known when a step is taken: all before it in the
    episode, what is seen now, and whom the log names as acting.

    >>> log = Episodes(("y", "z"), ("a",), [0, 1, 0, 1, 0, 0], [0] * 6, [0] * 6, [0, 2, 4, 6],
    ...                [-1] * 3, [True] * 3)
    >>> first, seen_z, same, again, *_, seen_y = marks_of_histories(log).tolist()
    >>> first == same, seen_z == again, seen_z == seen_y
    (True, True, False)
    """
    steps = marks_of_steps(log)
    before = np.cumsum(steps) - steps  # it may wrap around
    before -= np.repeat(before[log.start[:-1]], log.lengths)
    who = np.zeros(len(log), np.int64) if log.behavior is None else log.behavior.code
    now = np.repeat(who.astype(np.uint64), log.lengths) * np.uint64(len(log.observations))
    mark = mix(before ^ mix(now + log.observation.astype(np.uint64)))
    return (mark >> np.uint64(1)).astype(np.int64)


def mix(x: Array) -> Array:
    """Scramble 64 bits (splitmix64); what wraps around is meant to."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
