"""What is measured on one log: every claim that jumar makes about it, against the truth.

A row is one claim: who made it, whether it was made at all, and whether it was false.

*gates*         A gate deploys a controller and says by how much it is better. The claim is false
                if the true gain is smaller than the bound, or if there is no gain.
*intervals*     The value of a fixed target, by every interval and estimator: false if the truth
                lies outside.
*certificates*  What SPIBB and `strict` are certified to gain or lose, where the memory suffices.
*tests*         The checks of `jumar check` on a log with nothing wrong: false if they reject.

A new gate is one line in `GATES`.

Every log has a name (part, process, size, number) and its random numbers follow from it and the
seed. So results do not depend on how the work is spread, or how often it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jumar.algorithms import ALGORITHMS
from jumar.core.arrays import ROUNDING
from jumar.core.errors import LogError, ParameterError, not_one_of
from jumar.core.randomness import random_stream
from jumar.engines import Recipe
from jumar.evidence.chance import Settings
from jumar.evidence.checking.actions import check_fit, with_policy
from jumar.evidence.checking.drift import check_drift
from jumar.evidence.checking.memory import check_longer
from jumar.evidence.offpolicy import INTERVALS, estimate_all
from jumar.evidence.order import order_test
from jumar.evidence.practice import practice_of
from jumar.evidence.validity import Validity
from jumar.gate import select
from jumar.gate.outcome import validity_of
from jumar.lab.study.guarantees import PROCESSES, process
from jumar.lab.study.guarantees.base import Process
from jumar.lab.study.runner import run_blocks
from jumar.lab.study.spec import check_grid
from jumar.lab.study.store import Block, Store, blocks_of
from jumar.lab.study.summary import WORSE
from jumar.lab.truth.model_files import model_hash
from jumar.log.episodes import Episodes
from jumar.pipeline import improve
from jumar.policy.controller import Controller
from jumar.policy.files import controller_to_document

LOG = "log"  # the subject of a row that only says that the log was drawn
SPLITS = 4  # episodes: a gate deals a log into halves and needs two episodes in each
THRESHOLD = 10
RESAMPLES = 99  # of every test: its p-value is valid with any number
COVERED = (  # the processes on which intervals are tried
    "rare-trap", "lottery", "lottery-declared", "rare-loss", "rare-loss-declared", "heavy-tails",
    "near-ties", "missing-weights", "fatigue", "hidden-wear", "tiger-memoryless", "random-1",
)  # fmt: skip
TESTED = (  # and checks
    "near-ties", "all-equal", "wear-in-view", "fatigue", "hidden-mode", "inverted-memory",
    "tiger-memoryless", "more-data-less", "random-2",
)  # fmt: skip
COLUMNS = {  # of a row
    "part": "string",
    "subject": "string",  # the gate, interval, certificate or test
    "of": "string",  # the estimator or algorithm, where there is one
    "label": "string",  # how far the claim can be trusted, by its own account
    "process": "string",
    "size": "int64",  # episodes in the log
    "dataset": "int64",
    "nominal": "float64",  # the chance of error that is claimed
    "made": "bool",  # was anything claimed?
    "false": "bool",
    "shown": "bool",  # the range of the rewards was declared, or all of it is in the log
    "worse": "bool",  # deployed, and worse than the behavior
    "gain": "float64",  # the truth of what was claimed
    "for_ever": "float64",  # gain if nobody stopped recording, where records are cut off
}
Row = dict[str, Any]


@dataclass(frozen=True)
class TriedLog:
    """One log of one process."""

    part: str
    process: Process
    size: int
    dataset: int
    delta: float
    seed: int

    @cached_property
    def log(self) -> Episodes:
        return self.process.log(self.size, self.rng("log"))

    @cached_property
    def shown(self) -> bool:
        return self.process.shows_range(self.log)

    def rng(self, *names: str) -> np.random.Generator:
        """Streams by name: what one claim draws does not change another."""
        place = self.part, self.process.name, self.size, self.dataset
        return random_stream(self.seed, "guarantees", *place, *names)

    def row(self, subject: str, of: str = "", label: str = "", **claim: Any) -> Row:
        """What somebody claims about this log."""
        return {
            "part": self.part,
            "subject": subject,
            "of": of,
            "label": label,
            "process": self.process.name,
            "size": self.size,
            "dataset": self.dataset,
            "nominal": self.delta,
            "shown": self.shown,
            **dict.fromkeys(("made", "false", "worse"), False),
            **claim,
        }


# ---- gates --------------------------------------------------------------------------------------

# a controller and how much it gains at least; None, where the behavior stays; and the class of that
Answer = tuple[Controller | None, float | None, Validity]
TriedGate = Callable[[Process, Episodes, float, np.random.Generator], Answer]  # log, δ, draws


def select_with(
    process: Process, log: Episodes, delta: float, rng: np.random.Generator, *, gate: str
) -> Answer:
    """`jumar.gate.select` with one of its gates."""
    practice = practice_of(log, process.stated)
    found = select(
        practice.log,
        practice,
        discount=process.pomdp.discount,
        seed=rng,
        rewards=process.rewards,
        horizon=process.longest if process.declared else None,
        candidates=process.candidates,
        delta=delta,
        gate=gate,
    )
    validity = validity_of(found, practice)
    if found.chosen is None:
        return None, None, validity
    return found.controller, found.chosen.lower, validity


GATES: dict[str, TriedGate] = {
    gate: partial(select_with, gate=gate) for gate in ("proved", "asymptotic")
}


def try_gates(trial: TriedLog) -> Iterator[Row]:
    """Every gate on the same log, judged by the exact value of what it claims."""
    process = trial.process
    for name, gate in GATES.items():
        controller, lower, label = gate(process, trial.log, trial.delta, trial.rng("gate"))
        if controller is None:
            yield trial.row(name, "", label.value, gain=0.0)
            continue
        before = process.value(process.behavior)
        gain = process.value(controller) - before
        slack = ROUNDING * max(1.0, abs(before))
        for_ever = None
        if process.horizon is not None:
            after = process.value_for_ever(controller)
            for_ever = after - process.value_for_ever(process.behavior)
        yield trial.row(
            name,
            "",
            label.value,
            made=True,
            # to deploy is to claim a gain; without a gain the claim is false, whatever the bound
            false=bool(gain <= slack or (lower is not None and gain < lower - slack)),
            worse=bool(gain < -WORSE),
            gain=gain,
            for_ever=for_ever,
        )


# ---- intervals, certificates and tests ----------------------------------------------------------


def try_intervals(trial: TriedLog) -> Iterator[Row]:
    """Every interval with every estimator that it serves, for the value of the fixed target."""
    process = trial.process
    truth = process.value(process.target)
    slack = ROUNDING * max(1.0, abs(truth))
    for interval in INTERVALS:
        try:
            found = estimate_all(
                trial.log,
                process.target,
                process.behavior,
                discount=process.pomdp.discount,
                interval=interval,
                delta=trial.delta,
                rewards=process.rewards,
                horizon=process.longest,
                seed=trial.rng("interval"),
            )
        except LogError:  # the log says nothing of the target: nothing is claimed
            continue
        for name, estimate in found.items():
            missed = truth < estimate.lower - slack or truth > estimate.upper + slack
            label = estimate.validity.value
            yield trial.row(interval, name, label, made=True, false=bool(missed), gain=truth)


def try_certificates(trial: TriedLog) -> Iterator[Row]:
    """Every certificate of the algorithms that promise something, about the gain for ever."""
    process = trial.process
    before = process.value_for_ever(process.behavior)
    slack = ROUNDING * max(1.0, abs(before))
    for entry in ALGORITHMS.values():
        if not entry.promises:
            continue
        more: dict[str, Any] = {entry.threshold: THRESHOLD} if entry.threshold else {}
        try:
            result = improve(
                trial.log,
                process.behavior,
                discount=process.pomdp.discount,
                algorithm=entry.name,
                delta=trial.delta,
                rewards=process.rewards,
                **more,
            )
        except LogError:
            continue
        gain = process.value_for_ever(result.controller) - before
        for found in result.certificates if result.improvement.changed else ():
            yield trial.row(
                found.bound,
                entry.name,
                found.validity.value,
                made=not found.vacuous,
                false=bool(gain < -found.zeta - slack),
                worse=bool(gain < -WORSE),
                gain=gain,
            )


def try_tests(trial: TriedLog) -> Iterator[Row]:
    """The checks of `jumar check` on a log in which nothing is wrong, each at the level δ."""
    process, level = trial.process, trial.delta
    settings = Settings(level, RESAMPLES)
    behavior = process.behavior
    practice = practice_of(trial.log, behavior, checked=False)
    replays = practice.replays
    replay = replays.over(behavior.memory)
    drift = check_drift(replay, process.pomdp.discount, level)
    found: dict[str, float | None] = {
        "fit": check_fit(with_policy(practice), settings, trial.rng("fit"))["p"],
        "longer": check_longer(replays, behavior.memory, settings, trial.rng("longer"))["p"],
        "drift: outcomes": drift["p"],
        "drift: returns": drift["trend"].p if drift["trend"] else None,
    }
    if process.sufficient:
        rng = trial.rng("order")
        found["order"] = order_test(replays, behavior, seed=rng, resamples=RESAMPLES, level=level).p
    for name, p in found.items():
        if p is not None:
            yield trial.row(name, "", "test", made=True, false=bool(p <= level))


# ---- the parts ----------------------------------------------------------------------------------


class ClaimKind(NamedTuple):
    """One of the four kinds of claims."""

    claims: Callable[[TriedLog], Iterator[Row]]
    concerns: Callable[[Process], bool]  # is it measured on that process?
    sizes: tuple[int, ...] = ()  # episodes of the logs, ascending; none: those of the process


PARTS = {
    "gates": ClaimKind(try_gates, lambda process: max(process.sizes) >= SPLITS),
    "intervals": ClaimKind(try_intervals, lambda process: process.name in COVERED, (20, 100, 500)),
    "certificates": ClaimKind(try_certificates, lambda process: process.sufficient),
    "tests": ClaimKind(try_tests, lambda process: process.name in TESTED, (20, 100, 500)),
}


def measure(trial: TriedLog) -> list[Row]:
    """All claims of one kind about a log, and one row for the log itself: a log without any claim
    counts too."""
    return [trial.row(LOG), *PARTS[trial.part].claims(trial)]


# ---- the run ------------------------------------------------------------------------------------

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
            for size in self.sizes or PARTS[part].sizes or one.sizes
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
        "gates": list(GATES),
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
