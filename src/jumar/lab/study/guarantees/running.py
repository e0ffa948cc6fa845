"""The study of guarantees: which logs of which processes are drawn, and what is claimed about them.

Every log has a name (part, process, size, number) and its random numbers follow from it and the
seed. So results do not depend on how the work is spread, or how often it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jumar.core.errors import ParameterError, not_one_of
from jumar.engines import Recipe
from jumar.lab.study.guarantees import PROCESSES, measuring, process
from jumar.lab.study.guarantees.measuring import COLUMNS, PARTS, TriedLog, measure
from jumar.lab.study.runner import run_blocks
from jumar.lab.study.spec import check_grid
from jumar.lab.study.store import Block, Store, blocks_of
from jumar.lab.truth.model_files import model_hash
from jumar.policy.files import controller_to_document

TITLE = "guarantees"
BLOCK = 10  # logs in a block: what a kill can cost
LONG_BLOCK = 2  # of logs that take their time
LONG = 2000  # episodes


@dataclass(frozen=True)
class GuaranteesSpec:
    """Which promises are tried, on what, and how often."""

    seed: int = 1
    datasets: int = 100  # logs in a cell
    delta: float = 0.05
    processes: tuple[str, ...] = tuple(PROCESSES)
    parts: tuple[str, ...] = tuple(PARTS)
    sizes: tuple[int, ...] = ()  # none: those of the registry

    def __post_init__(self) -> None:
        check_grid(self.datasets, self.seed, self.delta)
        if any(size < 1 for size in self.sizes):
            raise ParameterError("sizes must be whole numbers from 1.")
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
            for size in self.sizes or PARTS[part].sizes_of(one)
        }


def identity(spec: GuaranteesSpec) -> dict[str, Any]:
    """Everything that determines the numbers."""
    built = [process(name) for name in spec.processes]
    return {
        "title": TITLE,
        "seed": spec.seed,
        "datasets": spec.datasets,
        "delta": spec.delta,
        "sizes": list(spec.sizes),
        "parts": list(spec.parts),
        "gates": list(measuring.GATES),
        "behaviors": [
            {
                "name": one.name,
                "mechanism": one.mechanism,
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


def run_guarantees(spec: GuaranteesSpec, folder: str | Path, **how: Any) -> Store:
    """Measure what is missing in the folder; `how` as for `jumar.lab.study.runner.run_blocks`."""
    cells = spec.cells()
    blocks = [
        block
        for cell, (_, _, size) in cells.items()
        for block in blocks_of(cell, spec.datasets, BLOCK if size < LONG else LONG_BLOCK)
    ]
    # the first logs of every cell first, so that a run that is stopped early says something of
    # all; among these the longest, so that no core waits for one that began last
    blocks.sort(key=lambda block: (block.members.start, -cells[block.cell][2]))
    return run_blocks(
        Store(folder), lambda: (identity(spec), Recipe(block_worker, spec), blocks), **how
    )


def block_worker(spec: GuaranteesSpec) -> Callable[[Block], Any]:
    """The table of a block; a process is built when it is first met."""
    import pyarrow as pa

    cells, built = spec.cells(), cache(process)
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])

    def work(block: Block) -> Any:
        part, name, size = cells[block.cell]
        trials = (
            TriedLog(part, built(name), size, dataset, spec.delta, spec.seed)
            for dataset in block.members
        )
        rows = [row for trial in trials for row in measure(trial)]
        return pa.Table.from_pylist(rows, schema=schema)

    return work
