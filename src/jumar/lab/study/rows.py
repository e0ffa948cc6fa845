"""The results of data sets as rows of the table of a study, one per policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.evidence.bounds import bound
from jumar.evidence.certificate import scale_of
from jumar.lab.study import batch
from jumar.lab.study.datasets import Choices
from jumar.lab.study.prepared import Prepared
from jumar.lab.study.settings import CHOSEN, StudySetting
from jumar.lab.study.spec import StudySpec

BOUND = "corollary"  # the ζ in the table


def block_table(
    spec: StudySpec,
    p: Prepared,
    numbers: Sequence[int],
    fixed: Sequence[Floats],
    choices: Sequence[Choices],
) -> Any:
    """The rows of some data sets: what `run_dataset` and `choose` found for each of them."""
    import pyarrow as pa

    parts = []
    if spec.fixed:
        pairs = np.array([task.behavior.size for task in p.tasks])
        zeta = _zeta_before_gain(spec, p)
        results = np.stack(fixed)
        parts.append(_rows(spec, p, numbers, spec.fixed, p.spec.memories, results, zeta, pairs))
    if spec.choosing:
        results = np.stack([choice.results for choice in choices])[:, None]
        none, one = np.full((1, len(spec.choosing)), np.nan), np.ones(1)
        words = [word for choice in choices for word in choice.chosen]
        parts.append(_rows(spec, p, numbers, spec.choosing, (CHOSEN,), results, none, one, words))
    return pa.concat_tables(parts).unify_dictionaries()


def _rows(
    spec: StudySpec,
    p: Prepared,
    numbers: Sequence[int],
    settings: Sequence[StudySetting],
    memories: Sequence[int],
    results: Floats,  # (datasets, memories, sizes, settings, fields)
    zeta: Floats,  # (memories, settings) before the estimated gain is taken off
    pairs: Ints | Floats,  # (memories,) of which KNOWN are known
    chosen: list[str] | None = None,  # what was chosen, of settings that choose
) -> Any:
    """One row per policy."""
    import pyarrow as pa

    def words(codes: Ints, values: list[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values))

    d, m, s, j = (grid.ravel() for grid in np.indices(results.shape[:-1]))
    flat = results.reshape(-1, batch.FIELDS)
    gain = flat[:, batch.MODEL_VALUE] - flat[:, batch.MODEL_BEHAVIOR]
    nothing = pa.nulls(len(j), pa.string())
    algorithms = sorted({setting.algorithm for setting in settings})
    n_wedge = np.array([_or_nan(setting.threshold) for setting in settings])
    table = pa.table(
        {
            "environment": words(np.zeros_like(j), [p.pomdp.name]),
            "behavior": words(np.zeros_like(j), [p.spec.name]),
            "k": pa.array(np.full(len(j), p.spec.window or 0, np.int16)),
            "k_new": pa.array(np.array(memories, np.int16)[m]),
            "algorithm": words(
                np.array([algorithms.index(x.algorithm) for x in settings])[j], algorithms
            ),
            "parameters": words(j, [json.dumps(x.options) for x in settings]),
            "n_wedge": pa.array(n_wedge[j], from_pandas=True),
            "size": pa.array(np.array(spec.sizes, np.int32)[s]),
            "dataset": pa.array(np.array(numbers, np.int32)[d]),
            "value": pa.array(flat[:, batch.VALUE]),
            "model_value": pa.array(flat[:, batch.MODEL_VALUE]),
            "model_behavior_value": pa.array(flat[:, batch.MODEL_BEHAVIOR]),
            "zeta": pa.array(zeta[m, j] - gain, from_pandas=True),
            "known": pa.array(flat[:, batch.KNOWN] / pairs[m], from_pandas=True),
            "chosen": (pa.array(chosen) if chosen else nothing).dictionary_encode(),
        }
    )
    ran = ~np.isnan(flat[:, batch.VALUE])
    return table if ran.all() else table.filter(pa.array(ran))


def _or_nan(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _zeta_before_gain(spec: StudySpec, p: Prepared) -> Floats:
    """(memories, settings) ζ of the paper's corollary without the estimated gain; NaN where the
    algorithm has no such bound."""
    table = np.full((len(p.memories), len(spec.fixed)), np.nan)
    for m, memory in enumerate(p.memories):
        scale = scale_of(memory, p.rewards, p.pomdp.discount)
        for j, setting in enumerate(spec.fixed):
            if setting.entry.bound_kind == bound(BOUND).applies_to:
                table[m, j] = bound(BOUND).zeta(scale, setting.threshold, spec.delta)
    return table
