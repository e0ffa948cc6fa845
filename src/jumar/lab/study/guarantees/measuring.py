"""What is measured on one log: every claim that jumar makes about it, against the truth.

A row is one claim: who made it, whether it was made at all, and whether it was false.

*gates*         A gate deploys a controller and says by how much it is better. The claim is false
                if the true gain is smaller than the bound, or if there is no gain.
*intervals*     The value of a fixed target, by every interval and estimator: false if the truth
                lies outside.
*certificates*  What SPIBB and `strict` are certified to gain or lose, where the memory suffices.
*tests*         The checks of `jumar check` on a log with nothing wrong: false if they reject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from jumar.algorithms import ALGORITHMS
from jumar.core.arrays import ROUNDING
from jumar.core.errors import LogError
from jumar.core.plain import finite
from jumar.core.randomness import random_stream
from jumar.evidence.chance import Settings
from jumar.evidence.checking.actions import check_fit, with_policy
from jumar.evidence.checking.drift import check_drift
from jumar.evidence.checking.memory import check_longer
from jumar.evidence.offpolicy import INTERVALS, estimate_all
from jumar.evidence.order import order_test
from jumar.lab.study.guarantees.base import Process
from jumar.lab.study.guarantees.gates import GATES, TriedGate
from jumar.lab.study.summary import WORSE
from jumar.log.episodes import Episodes
from jumar.pipeline import improve
from jumar.tally.replay import Replays

LOG = "log"  # the subject of a row that only says that the log was drawn
SPLITS = 4  # episodes: a gate deals a log into halves and needs two episodes in each
THRESHOLD = 10
RESAMPLES = 99  # of every test: its p-value is valid with any number
COVERED = (  # the processes on which intervals are tried
    "rare-trap",
    "lottery",
    "lottery-declared",
    "rare-loss",
    "rare-loss-declared",
    "heavy-tails",
    "near-ties",
    "missing-weights",
    "fatigue",
    "hidden-wear",
    "tiger-memoryless",
    "random-1",
)
TESTED = (  # and checks
    "near-ties",
    "all-equal",
    "wear-in-view",
    "fatigue",
    "hidden-mode",
    "inverted-memory",
    "tiger-memoryless",
    "more-data-less",
    "random-2",
)


@dataclass(frozen=True)
class ClaimRow:
    """One claim about one log."""

    part: str
    subject: str  # the gate, interval, certificate or test
    of: str  # the estimator or algorithm, where there is one
    label: str  # how far the claim can be trusted, by its own account
    process: str
    size: int  # episodes in the log
    dataset: int
    nominal: float  # the chance of error that is claimed
    made: bool = False  # was anything claimed?
    false: bool = False
    shown: bool = False  # the range of the rewards was declared, or all of it is in the log
    worse: bool = False  # deployed, and worse than the behavior
    gain: float | None = None  # the truth of what was claimed
    lower: float | None = None  # the claim
    upper: float | None = None
    for_ever: float | None = None  # gain if nobody stopped recording, where records are cut off


@dataclass(frozen=True)
class TriedLog:
    """One log of one process, and what a row says of it."""

    part: str
    process: Process
    size: int
    dataset: int
    delta: float
    seed: int
    gates: Mapping[str, TriedGate] = field(default_factory=lambda: GATES)  # to be tried

    @cached_property
    def log(self) -> Episodes:
        return self.process.log(self.size, self.rng("log"))

    @cached_property
    def shown(self) -> bool:
        return self.process.shown(self.log)

    def rng(self, *names: str) -> np.random.Generator:
        """Streams by name: what one claim draws does not change another."""
        place = self.part, self.process.name, self.size, self.dataset
        return random_stream(self.seed, "guarantees", *place, *names)

    def row(self, subject: str, of: str = "", label: str = "", **claim: Any) -> ClaimRow:
        """What somebody claims about this log."""
        log = self.process.name, self.size, self.dataset, self.delta
        return ClaimRow(self.part, subject, of, label, *log, shown=self.shown, **claim)


# ---- gates --------------------------------------------------------------------------------------


def try_gates(trial: TriedLog) -> Iterator[ClaimRow]:
    """Every gate on the same log."""
    return (try_gate(trial, name, gate) for name, gate in trial.gates.items())


def try_gate(trial: TriedLog, name: str, gate: TriedGate) -> ClaimRow:
    """One gate on one log, judged by the exact value of what it claims."""
    process = trial.process
    controller, lower, validity = gate(process, trial.log, trial.delta, trial.rng("gate"))
    label = validity.value
    if controller is None:
        return trial.row(name, "", label, gain=0.0)
    before = process.value(process.behavior)
    gain = process.value(controller) - before
    slack = ROUNDING * max(1.0, abs(before))
    # to deploy is to claim a gain; without a gain the claim is false, whatever the bound
    false = gain <= slack or (lower is not None and gain < lower - slack)
    for_ever = None
    if process.horizon is not None:
        for_ever = process.value_for_ever(controller) - process.value_for_ever(process.behavior)
    return trial.row(
        name,
        "",
        label,
        made=True,
        false=bool(false),
        worse=bool(gain < -WORSE),
        gain=gain,
        lower=finite(lower),
        for_ever=for_ever,
    )


# ---- intervals ----------------------------------------------------------------------------------


def try_intervals(trial: TriedLog) -> Iterator[ClaimRow]:
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
            low, high = estimate.lower, estimate.upper
            yield trial.row(
                interval,
                name,
                estimate.validity.value,
                made=True,
                false=bool(truth < low - slack or truth > high + slack),
                gain=truth,
                lower=finite(low),
                upper=finite(high),
            )


# ---- certificates -------------------------------------------------------------------------------


def try_certificates(trial: TriedLog) -> Iterator[ClaimRow]:
    """Every certificate of the algorithms that promise something, about the gain for ever."""
    process = trial.process
    before = process.value_for_ever(process.behavior)
    slack = ROUNDING * max(1.0, abs(before))
    promising = [e for e in ALGORITHMS.values() if e.promises]
    for entry in promising:
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
                lower=finite(-found.zeta),
            )


# ---- tests --------------------------------------------------------------------------------------


def try_tests(trial: TriedLog) -> Iterator[ClaimRow]:
    """The checks of `jumar check` on a log in which nothing is wrong, each at the level δ."""
    process, level = trial.process, trial.delta
    settings = Settings(level, RESAMPLES)
    replays, behavior = Replays(trial.log), process.behavior
    replay = replays.over(behavior.memory)
    drift = check_drift(replay, process.pomdp.discount, level)
    found: dict[str, float | None] = {
        "fit": check_fit(with_policy(replay, behavior), settings, trial.rng("fit"))["p"],
        "longer": check_longer(replays, behavior.memory, settings, trial.rng("longer"))["p"],
        "drift: outcomes": drift["p"],
        "drift: returns": drift["trend"].p if drift["trend"] else None,
    }
    if process.sufficient:
        rng = trial.rng("order")
        found["order"] = order_test(replays, behavior, seed=rng, resamples=RESAMPLES, level=level).p
    for name, p in found.items():
        if p is not None:
            yield trial.row(name, "", "test", made=True, false=bool(p <= level), lower=p)


# ---- the parts ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClaimKind:
    """One of the four kinds of claims."""

    measure: Callable[[TriedLog], Iterator[ClaimRow]]
    concerns: Callable[[Process], bool]  # is it measured on that process?
    sizes: tuple[int, ...] = ()  # episodes of the logs; none: those of the process
    more_sizes: tuple[int, ...] = ()  # run only when everything is asked for

    def sizes_of(self, process: Process, full: bool) -> tuple[int, ...]:
        """The sizes of the logs, ascending."""
        own = self.sizes or process.sizes
        more = self.more_sizes if self.sizes else process.more_sizes
        return tuple(sorted({*own, *(more if full else ())}))


def measure(trial: TriedLog) -> list[ClaimRow]:
    """All claims of one kind about a log, and one row for the log itself: a log without any claim
    counts too."""
    return [trial.row(LOG), *PARTS[trial.part].measure(trial)]


PARTS: Mapping[str, ClaimKind] = MappingProxyType(
    {
        "gates": ClaimKind(try_gates, lambda process: max(process.sizes) >= SPLITS),
        "intervals": ClaimKind(
            try_intervals,
            lambda process: process.name in COVERED,
            (20, 100, 500),
            (50, 200, 1000, 10_000),
        ),
        "certificates": ClaimKind(try_certificates, lambda process: process.sufficient),
        "tests": ClaimKind(
            try_tests, lambda process: process.name in TESTED, (20, 100, 500), (50, 1000, 10_000)
        ),
    }
)
