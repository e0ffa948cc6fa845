"""Runs a study: every behavior, data set, size, memory and setting, each policy evaluated exactly.

Every random number has a name, so results do not depend on how the work is spread or interrupted.
Threads share the work when all settings run compiled, without the interpreter; when some do not,
worker processes do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from jumar import __version__
from jumar.io.controllers import controller_to_document
from jumar.study.datasets import choose, run_dataset
from jumar.study.prepared import Prepared, prepare
from jumar.study.rows import block_table
from jumar.study.spec import StudySpec
from jumar.study.store import Store
from jumar.study.workers import in_processes
from jumar.truth.model_files import model_hash

BLOCK = 25  # data sets per block: lost at most when the run is killed
SLOW_BLOCK = 5  # if settings are slow

Block = tuple[int, int]  # number of the behavior, number of the block


def identity(spec: StudySpec, prepared: list[Prepared]) -> dict[str, Any]:
    """Everything that determines the numbers."""
    return {
        "jumar": __version__,
        "title": spec.title,
        "seed": spec.seed,
        "datasets": spec.datasets,
        "sizes": list(spec.sizes),
        "delta": spec.delta,
        "settings": [[s.algorithm, dict(s.parameters)] for s in spec.settings],
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
        _run_missing(spec, store, jobs, progress or (lambda done, total: None))
    return store


def _run_missing(
    spec: StudySpec, store: Store, jobs: int, tell: Callable[[int, int], None]
) -> None:
    prepared = [prepare(spec, behavior) for behavior in spec.behaviors]
    store.open(identity(spec, prepared))
    names = [behavior.name for behavior in spec.behaviors]
    blocks = [(i, b) for i in range(len(names)) for b in range(-(-spec.datasets // _size(spec)))]
    todo = [(i, b) for i, b in blocks if not store.has_block(names[i], b)]
    total, done = spec.n_policies, spec.n_policies
    done -= sum(_policies(spec, block) for block in todo)
    tell(done, total)
    for block, table in _finished(spec, prepared, todo, jobs):
        store.write_block(names[block[0]], block[1], table)
        done += _policies(spec, block)
        tell(done, total)
    store.finish([(names[i], b) for i, b in blocks])


def _size(spec: StudySpec) -> int:
    """Data sets per block."""
    return BLOCK if all(setting.compiled for setting in spec.settings) else SLOW_BLOCK


def _members(spec: StudySpec, block: int) -> range:
    size = _size(spec)
    return range(block * size, min((block + 1) * size, spec.datasets))


def _policies(spec: StudySpec, block: Block) -> int:
    i, b = block
    return len(_members(spec, b)) * spec.policies_of(spec.behaviors[i])


def run_block(spec: StudySpec, prepared: Prepared, block: int) -> Any:
    """The rows of one block."""
    numbers = _members(spec, block)
    fixed = [run_dataset(spec, prepared, number) for number in numbers if spec.fixed]
    choices = [choose(spec, prepared, number) for number in numbers if spec.choosing]
    return block_table(spec, prepared, numbers, fixed, choices)


def block_worker(spec: StudySpec) -> Callable[[Block], Any]:
    """`run_block` in a process of its own, which prepares a behavior when it first meets it."""
    prepared: dict[int, Prepared] = {}

    def work(block: Block) -> Any:
        i, b = block
        if i not in prepared:
            prepared[i] = prepare(spec, spec.behaviors[i])
        return run_block(spec, prepared[i], b)

    return work


def _finished(
    spec: StudySpec, prepared: list[Prepared], todo: list[Block], jobs: int
) -> Iterator[tuple[Block, Any]]:
    """Blocks with their rows, as they finish."""

    def work(block: Block) -> tuple[Block, Any]:
        i, b = block
        return block, run_block(spec, prepared[i], b)

    if all(setting.compiled for setting in spec.settings):
        yield from _in_threads(work, todo, jobs)
    elif jobs > 1:
        yield from in_processes(block_worker, (spec,), todo, jobs)
    else:
        yield from map(work, todo)


def _in_threads(
    work: Callable[[Block], tuple[Block, Any]], todo: list[Block], jobs: int
) -> Iterator[tuple[Block, Any]]:
    """No more blocks at a time than there are threads."""
    waiting = iter(todo)
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        under_way: set[Future[tuple[Block, Any]]] = set()
        try:
            while True:
                while len(under_way) < max(1, jobs) + 1:
                    job = next(waiting, None)
                    if job is None:
                        break
                    under_way.add(pool.submit(work, job))
                if not under_way:
                    return
                finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                # keep finished blocks, even if another one failed at the same time
                for future in sorted(finished, key=lambda done: done.exception() is not None):
                    yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
