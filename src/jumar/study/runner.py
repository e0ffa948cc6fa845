"""Runs a study: every behavior, data set, size, memory and setting, each policy evaluated exactly.

Every random number has a name, so results do not depend on how the work is spread or interrupted.
Threads share the work when all settings run compiled, without the interpreter; when some do not,
worker processes do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jumar.io.controllers import controller_to_document
from jumar.study.datasets import choose, run_dataset
from jumar.study.prepared import Prepared, prepare
from jumar.study.rows import block_table
from jumar.study.spec import StudySpec
from jumar.study.store import Block, Store, blocks_of
from jumar.study.workers import in_processes, in_threads
from jumar.truth.model_files import model_hash

BLOCK = 25  # data sets per block
SLOW_BLOCK = 5  # if settings are slow


def identity(spec: StudySpec, prepared: list[Prepared]) -> dict[str, Any]:
    """Everything that determines the numbers."""
    return {
        "title": spec.title,
        "seed": spec.seed,
        "datasets": spec.datasets,
        "sizes": list(spec.sizes),
        "delta": spec.delta,
        "settings": [[s.algorithm, s.options] for s in spec.settings],
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
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Store:
    """Run what is missing of a study; `progress` is called with policies done and policies in all.

    With more than one job, a study whose settings are not all compiled starts processes that load
    the calling script: such a script calls this below `if __name__ == "__main__":`.
    """
    store = Store(folder)
    with store.alone():
        _run_missing(spec, store, jobs, progress)
    return store


def _run_missing(
    spec: StudySpec, store: Store, jobs: int, progress: Callable[[int, int], None] | None
) -> None:
    prepared = {behavior.name: prepare(spec, behavior) for behavior in spec.behaviors}
    compiled = all(setting.compiled for setting in spec.settings)
    size = BLOCK if compiled else SLOW_BLOCK
    store.open(identity(spec, list(prepared.values())))

    def here(block: Block) -> Any:
        return run_block(spec, prepared[block.cell], block)

    def work(todo: list[Block]) -> Iterator[tuple[Block, Any]]:
        if compiled:
            return in_threads(here, todo, jobs)
        if jobs > 1:
            return in_processes(block_worker, (spec,), todo, jobs)
        return ((block, here(block)) for block in todo)

    store.run(
        [block for name in prepared for block in blocks_of(name, spec.datasets, size)],
        work,
        lambda block: len(block.members) * spec.policies_of(prepared[block.cell].spec),
        progress,
    )


def run_block(spec: StudySpec, prepared: Prepared, block: Block) -> Any:
    """The rows of one block."""
    numbers = block.members
    fixed = [run_dataset(spec, prepared, number) for number in numbers if spec.fixed]
    choices = [choose(spec, prepared, number) for number in numbers if spec.choosing]
    return block_table(spec, prepared, numbers, fixed, choices)


def block_worker(spec: StudySpec) -> Callable[[Block], Any]:
    """`run_block` in a process of its own, which prepares a behavior when it first meets it."""
    behaviors = {behavior.name: behavior for behavior in spec.behaviors}
    prepared = cache(lambda name: prepare(spec, behaviors[name]))
    return lambda block: run_block(spec, prepared(block.cell), block)
