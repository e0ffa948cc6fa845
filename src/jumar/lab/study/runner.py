"""Runs a study: every behavior, data set, size, memory and setting, each policy evaluated exactly.

Every random number has a name, so results do not depend on how the work is spread or interrupted.
Where nobody names an engine, threads share the work when all settings run compiled, without the
interpreter; when some do not, worker processes do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jumar.engines import Recipe, check, cores, run
from jumar.lab.study.datasets import choose, run_dataset
from jumar.lab.study.prepared import Prepared, prepare
from jumar.lab.study.rows import block_table
from jumar.lab.study.spec import StudySpec
from jumar.lab.study.store import Block, Store, blocks_of
from jumar.lab.truth.model_files import model_hash
from jumar.policy.files import controller_to_document

BLOCK = 25  # data sets per block
SLOW_BLOCK = 5  # if settings are slow


def identity(spec: StudySpec, prepared: list[Prepared]) -> dict[str, Any]:
    """Everything that determines the numbers."""
    parts = [s.part for s in spec.settings]
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


def run_study(
    spec: StudySpec,
    folder: str | Path,
    *,
    jobs: int | None = 1,
    engine: str | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Store:
    """Run what is missing of a study; the table is the same wherever it is run.

    Parameters
    ----------
    spec
        What is studied.
    folder
        Where the results are stored.
    jobs
        How many blocks at a time; None: all cores. With more than one, a study whose settings are
        not all compiled starts processes that load the calling script: such a script calls this
        below `if __name__ == "__main__":`. So it does for the engine `dask` without a scheduler.
    engine, scheduler
        Where the work is done, see `jumar.engines`; None: threads or processes, whatever suits.
    progress
        Called with policies done and policies in all.
    """
    check(engine or "here", jobs=jobs, scheduler=scheduler)
    store = Store(folder)
    with store.alone():
        _run_missing(spec, store, jobs or cores(), engine, scheduler, progress)
    return store


def _run_missing(
    spec: StudySpec,
    store: Store,
    jobs: int,
    engine: str | None,
    scheduler: str | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    prepared = {behavior.name: prepare(spec, behavior) for behavior in spec.behaviors}
    compiled = all(setting.compiled for setting in spec.settings)
    size = BLOCK if compiled else SLOW_BLOCK
    store.open(identity(spec, list(prepared.values())))
    engine = engine or ("here" if compiled or jobs == 1 else "processes")
    if engine == "here" and not compiled:
        jobs = 1  # threads would only wait for each other

    def work(todo: list[Block]) -> Iterator[tuple[Block, Any]]:
        task = Recipe(block_worker, spec, prepared)
        return run(task, todo, engine=engine, jobs=jobs, scheduler=scheduler)

    store.run(
        [block for name in prepared for block in blocks_of(name, spec.datasets, size)],
        work,
        lambda block: sum(spec.policies_of(prepared[block.cell].spec, n) for n in block.members),
        progress,
    )


def run_block(spec: StudySpec, prepared: Prepared, block: Block) -> Any:
    """The rows of one block."""
    numbers = block.members
    fixed = [run_dataset(spec, prepared, number) for number in numbers if spec.fixed]
    choices = [choose(spec, prepared, number) for number in numbers if spec.choosing]
    return block_table(spec, prepared, numbers, fixed, choices)


def block_worker(spec: StudySpec, prepared: Mapping[str, Prepared]) -> Callable[[Block], Any]:
    """The function of a worker. Behaviors are sent ready, so that no worker needs their files."""
    return lambda block: run_block(spec, prepared[block.cell], block)
