"""Writing a log, in the formats it can be read from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools
from jumar.core.episodes import UNKNOWN, Episodes
from jumar.core.errors import LogError
from jumar.io.files import replacing
from jumar.io.formats import format_of, is_compressed, no_format
from jumar.io.formats.arrow import METADATA

WRITTEN = ("CSV", "TSV", "Parquet", "Arrow", "NDJSON")
_LINES = 1 << 14  # lines of NDJSON that are made at a time


def write_logs(log: Episodes, path: str | Path) -> None:
    """Write a log in the format that the ending of the name says.

    That is CSV, TSV, Parquet, Arrow or NDJSON. Parquet and Arrow also keep the names that never
    occurred.

    Parameters
    ----------
    log
        The log.
    path
        The file.

    Returns
    -------
    None
        The file is written whole or not at all.
    """
    path = Path(path)
    kind = format_of(path)
    if kind is None:
        raise no_format(path)
    if kind not in WRITTEN:
        raise LogError(f"{path}: {kind} is read, not written. Choose {', '.join(WRITTEN)}.")
    try:
        table = _to_table(log)
    except UnicodeEncodeError as error:
        raise LogError(
            f"{path}: the name {error.object!r} has half a character (a lone surrogate), which no "
            "file can hold. Choose another name."
        ) from error
    with replacing(path) as temporary:
        _write(table, temporary, kind, is_compressed(path))


def _write(table: Any, path: Path, kind: str, compressed: bool) -> None:
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    if kind == "Parquet":
        parquet.write_table(table, path)
    elif kind == "Arrow":
        with ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    elif kind == "NDJSON":
        opened = gzip.open if compressed else open
        with opened(path, "wt", encoding="utf-8", newline="\n") as lines:
            for batch in table.to_batches(_LINES):
                for row in batch.to_pylist():
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    else:
        options = csv.WriteOptions(delimiter="," if kind == "CSV" else "\t")
        with pa.output_stream(str(path), compression="gzip" if compressed else None) as stream:
            csv.write_csv(table, stream, options)


def _to_table(log: Episodes) -> Any:
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
        indices = pa.array(codes[order].astype(np.int32), mask=mask)
        return pa.DictionaryArray.from_arrays(indices, pa.array(alphabet, pa.string()))

    def padded(values: Any, filler: Any) -> Any:
        return np.concatenate([values, np.full(extra, filler, values.dtype)])

    columns = {
        "episode": episode[order],
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
    for part, labels in (("cluster", log.cluster), ("behavior", log.behavior)):
        if labels is not None:
            columns[part] = names(labels.code[episode], labels.names)
    kept = {"observations": list(log.observations), "actions": list(log.actions)}
    return pa.table(columns).replace_schema_metadata({METADATA: json.dumps(kept).encode()})
