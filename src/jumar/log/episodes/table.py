"""A log as a table: what `jumar.write_logs` writes, and `jumar.read_logs` reads back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import Array, Bools, Ints
from jumar.log.episodes.labels import UNKNOWN
from jumar.memory.frames import named

if TYPE_CHECKING:
    from jumar.log.episodes.log import Episodes

METADATA = b"jumar"  # where a table keeps the names that never occur
SIGNAL = "signal:"  # how the column of a signal is called, before its name


def as_table(log: Episodes) -> Any:
    """One row per step, and one more for every final observation."""
    import pyarrow as pa

    cut = np.flatnonzero(log.final_observation != UNKNOWN)
    N, extra = log.n_steps, len(cut)
    episode = np.repeat(np.arange(len(log)), log.lengths)
    step = np.arange(N) - np.repeat(log.start[:-1], log.lengths)
    ends_here = np.zeros(N, np.bool_)
    ends_here[log.last] = log.terminated
    episode = np.concatenate([episode, cut])
    step = np.concatenate([step, log.lengths[cut]])
    order = np.lexsort([step, episode])
    missing = np.concatenate([np.zeros(N, np.bool_), np.ones(extra, np.bool_)])[order]

    def names(codes: Array, alphabet: Sequence[str], mask: Bools | None = None) -> Any:
        return named(codes[order], alphabet, mask)

    def padded(values: Any, filler: Any) -> Any:
        return np.concatenate([values, np.full(extra, filler, values.dtype)])

    columns = {
        "episode": _labelled(log, episode[order]),
        "step": step[order],
        "observation": names(
            np.concatenate([log.observation, log.final_observation[cut]]), log.observations
        ),
        "action": names(padded(log.action, 0), log.actions, missing),
        "reward": pa.array(padded(log.reward, 0.0)[order], mask=missing),
        "terminated": pa.array(padded(ends_here, False)[order], mask=missing),
    }
    if log.node is not None:
        code = padded(log.node.code, UNKNOWN)
        columns["node"] = names(np.maximum(code, 0), log.node.names, code[order] == UNKNOWN)
    if log.propensity is not None:
        columns["propensity"] = pa.array(padded(log.propensity, 0.0)[order], mask=missing)
    for name, signal in log.signals.items():
        columns[SIGNAL + name] = pa.array(padded(signal, 0.0)[order], mask=missing)
    for part, labels in (("cluster", log.cluster), ("behavior", log.behavior)):
        if labels is not None:
            columns[part] = names(labels.code[episode], labels.names)
    kept = {"observations": list(log.observations), "actions": list(log.actions)}
    return pa.table(columns).replace_schema_metadata({METADATA: json.dumps(kept).encode()})


def _labelled(log: Episodes, episode: Ints) -> Any:
    """The column of the episodes: numbers where their names are the numbers."""
    import pyarrow as pa

    labels = log.labels
    if labels is None or labels == [str(e) for e in range(len(log))]:
        return episode
    return pa.array(labels, pa.string()).take(pa.array(episode))
