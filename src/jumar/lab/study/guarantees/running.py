"""Runs the measurements: which logs, in blocks that are finished or not, on all cores.

Every log has a name (part, process, size, number) and its random numbers follow from it and the
seed. So results do not depend on how the work is spread, or how often it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from jumar.core.errors import ParameterError, not_one_of
from jumar.engines import Recipe, check, cores, run
from jumar.evidence.bounds import check_delta
from jumar.lab.study.guarantees.gates import GATES, TriedGate
from jumar.lab.study.guarantees.measuring import PARTS, ClaimRow, TriedLog, measure
from jumar.lab.study.guarantees.processes import PROCESSES, process
from jumar.lab.study.spec import MOST_DATASETS
from jumar.lab.study.store import Block, Store, blocks_of
from jumar.lab.truth.model_files import model_hash
from jumar.policy.files import controller_to_document

TITLE = "guarantees"
DATASETS = 100
BLOCK = 10  # logs in a block: what a kill can cost
LONG_BLOCK = 2  # of logs that take their time
LONG = 2000  # episodes


@dataclass(frozen=True)
class GuaranteesSpec:
    """Which promises are tried, on what, and how often."""

    seed: int = 1
    datasets: int = DATASETS  # logs in a cell
    delta: float = 0.05
    full: bool = False  # also the sizes that take hours
    processes: tuple[str, ...] = tuple(PROCESSES)
    parts: tuple[str, ...] = tuple(PARTS)
    sizes: tuple[int, ...] = ()  # none: those of the registry

    def __post_init__(self) -> None:
        if self.datasets < 1:
            raise ParameterError(f"datasets is {self.datasets}; at least 1 is needed.")
        if self.datasets > MOST_DATASETS:
            raise ParameterError(f"datasets is {self.datasets:,}; use {MOST_DATASETS:,} at most.")
        if self.seed < 0:
            raise ParameterError(f"seed is {self.seed}; use a whole number from 0.")
        if any(size < 1 for size in self.sizes):
            raise ParameterError("sizes must be whole numbers from 1.")
        check_delta(self.delta)
        for name in self.processes:
            if name not in PROCESSES:
                raise ParameterError(f"--only: {not_one_of('process', name, PROCESSES)}")

    def cells(self) -> dict[str, tuple[str, str, int]]:
        """Every part, process and size, by what the store calls it."""
        built = [process(name) for name in self.processes]
        return {
            f"{part} {one.name} {size}": (part, one.name, size)
            for part in self.parts
            for one in built
            if PARTS[part].concerns(one)
            for size in self.sizes or PARTS[part].sizes_of(one, self.full)
        }


def identity(spec: GuaranteesSpec, gates: Mapping[str, TriedGate]) -> dict[str, Any]:
    """Everything that determines the numbers."""
    built = [process(name) for name in spec.processes]
    return {
        "title": TITLE,
        "seed": spec.seed,
        "datasets": spec.datasets,
        "delta": spec.delta,
        "full": spec.full,
        "sizes": list(spec.sizes),
        "parts": list(spec.parts),
        "gates": list(gates),
        "behaviors": [
            {
                "name": one.name,
                "mechanism": one.mechanism,
                "kind": one.kind,
                "model_hash": model_hash(one.pomdp),
                "horizon": one.horizon,
                "longest": one.longest,
                "declared": one.declared,
                "controller": controller_to_document(one.behavior),
                "target": controller_to_document(one.target),
            }
            for one in built
        ],
    }


def run_guarantees(
    spec: GuaranteesSpec,
    folder: str | Path,
    *,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    gates: Mapping[str, TriedGate] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Store:
    """Measure what is missing in the folder; `progress` hears of logs done and logs in all.

    `engine` and `scheduler` say where, see `jumar.engines`; without, with more than one job,
    processes are started that load the calling script: such a script calls this below
    `if __name__ == "__main__":`.
    """
    check(engine or "here", jobs=jobs, scheduler=scheduler)
    tried = dict(gates or GATES)
    store, cells, jobs = Store(folder), spec.cells(), jobs or cores()

    def work(todo: list[Block]) -> Iterator[tuple[Block, Any]]:
        # the first logs of every cell first, so that a run that is stopped early says something of
        # all; among these the longest, so that no core waits for one that began last
        todo = sorted(todo, key=lambda block: (block.members.start, -cells[block.cell][2]))
        chosen = engine or ("processes" if jobs > 1 and len(todo) > 1 else "here")
        many = 1 if chosen == "here" else jobs  # threads would only wait for each other
        task = Recipe(block_worker, spec, tried)
        return run(task, todo, engine=chosen, jobs=many, scheduler=scheduler)

    blocks = (
        blocks_of(cell, spec.datasets, BLOCK if size < LONG else LONG_BLOCK)
        for cell, (_, _, size) in cells.items()
    )
    with store.alone():
        store.open(identity(spec, tried))
        store.run(
            list(chain.from_iterable(blocks)), work, lambda block: len(block.members), progress
        )
    return store


def block_worker(spec: GuaranteesSpec, gates: Mapping[str, TriedGate]) -> Callable[[Block], Any]:
    """The table of a block; a process is built when it is first met."""
    cells, built = spec.cells(), cache(process)

    def work(block: Block) -> Any:
        part, name, size = cells[block.cell]
        found: list[ClaimRow] = []
        for dataset in block.members:
            found += measure(
                TriedLog(part, built(name), size, dataset, spec.delta, spec.seed, gates)
            )
        return _table(found)

    return work


def _table(rows: list[ClaimRow]) -> Any:
    """Rows as a table whose columns are the same in every block."""
    import pyarrow as pa

    kinds = {"str": pa.string(), "int": pa.int64(), "bool": pa.bool_(), "float": pa.float64()}
    schema = pa.schema(
        [(field.name, kinds[str(field.type).partition(" ")[0]]) for field in fields(ClaimRow)]
    )
    return pa.Table.from_pylist([vars(row) for row in rows], schema=schema)
