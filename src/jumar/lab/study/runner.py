"""Runs a study: every behavior, data set, size, memory and setting, each policy evaluated exactly,
and one row of a table for each.

Every random number has a name, so results do not depend on how the work is spread or interrupted.
Where nobody names an engine, threads share the work when all settings run compiled, without the
interpreter; when some do not, worker processes do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import ParameterError, StudyError
from jumar.core.files import write_atomically
from jumar.engines import Recipe, check, cores, run
from jumar.evidence.bounds import bound
from jumar.evidence.certificate import scale_of
from jumar.lab.study import batch
from jumar.lab.study.datasets import Prepared, prepare, run_dataset
from jumar.lab.study.spec import CHOSEN, StudySpec
from jumar.lab.study.store import Block, Store, blocks_of
from jumar.lab.truth import models
from jumar.lab.truth.model_files import model_hash
from jumar.lab.truth.planning import Pouct, plan
from jumar.policy.files import controller_to_document

BLOCK = 25  # data sets per block
SLOW_BLOCK = 5  # if settings are slow
BOUND = "corollary"  # the ζ in the table


def identity(spec: StudySpec, prepared: Sequence[Prepared]) -> dict[str, Any]:
    """Everything that determines the numbers."""
    parts = [{"datasets": s.datasets} if s.datasets else {} for s in spec.settings]
    return {
        "title": spec.title,
        "seed": spec.seed,
        "datasets": spec.datasets,
        "sizes": list(spec.sizes),
        "delta": spec.delta,
        "settings": [[s.algorithm, s.options] for s in spec.settings],
        **({"parts": parts} if any(parts) else {}),
        "behaviors": [
            {
                "name": p.spec.name,
                "model": p.spec.model,
                "model_hash": model_hash(p.pomdp),
                "title": p.pomdp.name,
                "window": p.spec.window,
                "memories": list(p.spec.memories),
                "with_actions": p.spec.with_actions,
                "value": p.value,
                "optimum": p.optimum,
                "controller": controller_to_document(p.behavior),
            }
            for p in prepared
        ],
    }


def run_study(spec: StudySpec, folder: str | Path, **how: Any) -> Store:
    """Run what is missing of a study; the table is the same wherever it is run.

    Parameters
    ----------
    spec
        What is studied.
    folder
        Where the results are stored.
    **how
        `jobs`, `engine`, `scheduler` and `progress`, as for `run_blocks`; one job unless more are
        asked for.
    """
    compiled = all(setting.compiled for setting in spec.settings)

    def begin() -> tuple[dict[str, Any], Recipe, list[Block]]:
        prepared = {behavior.name: prepare(spec, behavior) for behavior in spec.behaviors}
        size = BLOCK if compiled else SLOW_BLOCK
        blocks = [b for name in prepared for b in blocks_of(name, spec.datasets, size)]
        return identity(spec, [*prepared.values()]), Recipe(block_worker, spec, prepared), blocks

    return run_blocks(Store(folder), begin, compiled=compiled, **{"jobs": 1, **how})


def run_blocks(
    store: Store,
    begin: Callable[[], tuple[dict[str, Any], Recipe, list[Block]]],
    *,
    compiled: bool = False,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Store:
    """Work on the blocks of a study that are missing.

    Parameters
    ----------
    store
        Where the results are.
    begin
        Makes the identity of the study, the recipe of a worker, and all blocks.
    compiled
        Does the work run without the interpreter? Then threads share it.
    jobs
        How many blocks at a time; None: all cores. With more than one, work that is not compiled
        starts processes that load the calling script: such a script calls this below
        `if __name__ == "__main__":`. So it does for the engine `dask` without a scheduler.
    engine, scheduler
        Where the work is done, see `jumar.engines`; None: threads or processes, whatever suits.
    progress
        Called with data sets done and data sets in all.
    """
    check(engine or "here", jobs=jobs, scheduler=scheduler)
    jobs = jobs or cores()
    engine = engine or ("here" if compiled or jobs == 1 else "processes")
    if engine == "here" and not compiled:
        jobs = 1  # threads would only wait for each other
    with store.alone():
        known, recipe, blocks = begin()
        store.open(known)
        where: Any = {"engine": engine, "jobs": jobs, "scheduler": scheduler}
        store.run(blocks, lambda todo: run(recipe, todo, **where), progress)
    return store


# ---- a block ------------------------------------------------------------------------------------


def block_worker(spec: StudySpec, prepared: Mapping[str, Prepared]) -> Callable[[Block], Any]:
    """The function of a worker. Behaviors are sent ready, so that no worker needs their files."""
    return lambda block: run_block(spec, prepared[block.cell], block.members)


def run_block(spec: StudySpec, p: Prepared, numbers: range) -> Any:
    """The rows of some data sets of one behavior: one per policy."""
    import pyarrow as pa

    def words(codes: Ints, values: list[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values))

    done = [run_dataset(spec, p, number) for number in numbers]
    results, chosen = (np.stack(arrays) for arrays in zip(*done, strict=True))
    d, m, s, j = np.nonzero(~np.isnan(results[..., batch.VALUE]))
    found, settings = results[d, m, s, j], spec.settings
    gain = found[:, batch.MODEL_VALUE] - found[:, batch.MODEL_BEHAVIOR]
    pairs = np.array([*(task.behavior.size for task in p.tasks), 1])
    algorithms = sorted({setting.algorithm for setting in settings})
    thresholds = [setting.threshold for setting in settings]
    n_wedge = np.array([np.nan if n is None else float(n) for n in thresholds])
    return pa.table(
        {
            "environment": words(np.zeros_like(j), [p.pomdp.name]),
            "behavior": words(np.zeros_like(j), [p.spec.name]),
            "k": pa.array(np.full(len(j), p.spec.window or 0, np.int16)),
            "k_new": pa.array(np.array([*p.spec.memories, CHOSEN], np.int16)[m]),
            "algorithm": words(
                np.array([algorithms.index(x.algorithm) for x in settings])[j], algorithms
            ),
            "parameters": words(j, [json.dumps(x.options) for x in settings]),
            "n_wedge": pa.array(n_wedge[j], from_pandas=True),
            "size": pa.array(np.array(spec.sizes, np.int32)[s]),
            "dataset": pa.array(np.array(numbers, np.int32)[d]),
            "value": pa.array(found[:, batch.VALUE]),
            "model_value": pa.array(found[:, batch.MODEL_VALUE]),
            "model_behavior_value": pa.array(found[:, batch.MODEL_BEHAVIOR]),
            "zeta": pa.array(_zeta_before_gain(spec, p)[m, j] - gain, from_pandas=True),
            "known": pa.array(found[:, batch.KNOWN] / pairs[m], from_pandas=True),
            "chosen": pa.array(chosen[d, s, j], pa.string()).dictionary_encode(),
        }
    )


def _zeta_before_gain(spec: StudySpec, p: Prepared) -> Floats:
    """(memories + 1, settings) ζ of the paper's corollary without the estimated gain; NaN where the
    algorithm has no such bound."""
    table, corollary = np.full((len(p.memories) + 1, len(spec.settings)), np.nan), bound(BOUND)
    for m, memory in enumerate(p.memories):
        scale = scale_of(memory, p.pomdp.reward_range, p.pomdp.discount)
        for j, setting in enumerate(spec.settings):
            if setting.entry.bound_kind == corollary.applies_to:
                table[m, j] = corollary.zeta(scale, setting.threshold, spec.delta)
    return table


# ---- the online planner, the reference line of the figures --------------------------------------

PLANNED = "planner.json"


def read_planned(store: Store) -> dict[str, dict[str, Any]]:
    """The online planner's results by behavior, if it was run."""
    path = store.folder / PLANNED
    if not path.exists():
        return {}
    try:
        found: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
        return {name: dict(entry) for name, entry in found.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise StudyError(f"{path}: cannot be read: {error}. Delete it and run again.") from error


def run_planner(
    spec: StudySpec,
    store: Store,
    *,
    episodes: int,
    simulations: int,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Play every model of the study with the online planner, unless its result is there already."""
    if episodes < 2:
        raise ParameterError(f"planner: {episodes} episodes; a standard error needs at least 2.")
    planned = read_planned(store)
    todo: dict[str, list[str]] = {}  # by model, for behaviors on one model share the result
    built = {b.name: models.build(b.model, folder=spec.folder) for b in spec.behaviors}
    asked = {"episodes": episodes, "simulations": simulations}
    for name, pomdp in built.items():
        wanted = {**asked, "model_hash": model_hash(pomdp)}
        if not wanted.items() <= planned.get(name, {}).items():
            todo.setdefault(str(wanted["model_hash"]), []).append(name)
    for i, (known, names) in enumerate(todo.items()):

        def tell(done: int, before: int = i * episodes) -> None:
            if progress is not None:
                progress(before + done, episodes * len(todo))

        settings = Pouct(simulations=simulations)
        pomdp = built[names[0]]
        found = plan(pomdp, settings, episodes=episodes, seed=spec.seed, progress=tell)
        earned = {"mean": found.mean, "standard_error": found.standard_error}
        planned |= {name: {**earned, **asked, "model_hash": known} for name in names}
        write_atomically(store.folder / PLANNED, json.dumps(planned, indent=2) + "\n")
