"""Candidates of one half of a log, tested on the other half: by the proved gate, with the
approximate test as a second opinion, or by the asymptotic gate alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from jumar.algorithms.entry import Algorithm
from jumar.evidence.offpolicy.weights import effective_size
from jumar.gate import asymptotic, proved
from jumar.gate.bench import UNBOUNDED, Bench, Fitted
from jumar.gate.bets import Growth, excess
from jumar.gate.candidates import Make, learned
from jumar.gate.concluding import Tested, trial_of_bet
from jumar.gate.dealing import HALVES, DealtPart
from jumar.gate.objectives import Kept, candidates_heeding
from jumar.gate.opinions import Models
from jumar.gate.staging import HeldOut
from jumar.gate.trials import PROVED, Trial

Only = tuple[Algorithm, Mapping[str, object]]  # an algorithm, and what it is told


class Half(NamedTuple):
    """One half of a log to learn from, and the other one to test on."""

    bench: Bench
    number: int
    units: int  # independent ones to test on
    delta: float
    most: float  # that can be gained
    rng: np.random.Generator
    only: Only | None = None  # the one that makes candidates
    kept: tuple[Kept, ...] = ()  # signals that must not get worse
    guides: tuple[tuple[float, Bench], ...] = ()  # what candidates that heed them learn from
    taught: bool = False  # was a memory learned, by either half?

    @property
    def own(self) -> DealtPart:
        """To learn from."""
        return DealtPart(self.number)

    @property
    def other(self) -> DealtPart:
        """To test on."""
        return DealtPart(1 - self.number)


class Listing(NamedTuple):
    """What a half puts to the test, before any held-out score was seen."""

    half: Half
    listed: Sequence[proved.Listed]
    made: int  # candidates that were fitted

    @property
    def candidates(self) -> list[Fitted]:
        return [x.candidate for x in self.listed]

    @property
    def shares(self) -> Sequence[float]:
        """Of the level, for each candidate in turn."""
        return proved.ALONE if self.half.only else proved.shares(self.half.bench)

    @property
    def floors(self) -> list[float]:
        return [x.prospect.floor for x in self.listed]


def draw_up(half: Half, gate: str) -> Listing:
    """The shortlist of a half."""
    make = learned(half.bench, *half.only) if half.only else None
    if gate == PROVED:
        return Listing(half, *_bets(half, make))
    if make:
        found, made = list(make(half.own, 1.0)), 1
    else:
        found, made = asymptotic.shortlist(half.bench, half.own, half.units, half.delta)
    none = Growth(0.0, 0.0, 0.0)  # nothing is bet
    listed = [
        proved.Listed(x, proved.Prospect(x.setting, x.promised, UNBOUNDED, none, 1)) for x in found
    ]
    return Listing(half, listed, made)


def _bets(half: Half, make: Make | None) -> tuple[list[proved.Listed], int]:
    if make:
        return proved.only(half.bench, half.own, make)
    if half.kept:
        make = partial(candidates_heeding, half.bench, half.guides)
    return proved.shortlist(half.bench, half.own, half.units, half.delta, make, half.kept)


def bet(listing: Listing, held_out: Sequence[HeldOut]) -> list[Tested]:
    """The proved gate, with the approximate test as a second opinion."""
    half, listed = listing.half, listing.listed
    bench = half.bench
    approximate = _t_trials(half, listing.candidates, held_out)
    kept = [k.bets(i, listed, half.own, half.other) for i, k in enumerate(half.kept)]
    grown = [[bet.log_wealth for bet in bets] for bets in kept]
    scored = [x.scores for x in held_out]
    bets = proved.outcomes(listed, scored, half.delta, listing.shares, grown)
    models = Models(bench, half.other)
    own = Models(bench, half.own) if half.taught else None
    tests = []
    for j, (x, found, second) in enumerate(zip(listed, bets, approximate, strict=True)):
        trial = trial_of_bet(
            x,
            scored[j],
            found,
            second,
            models,
            half.most,
            # it was not asked about the signals to keep
            second=None if half.kept else second.passed,
            kept=tuple(bets[j].trial(found.level, found.bound_level) for bets in kept),
            own=own,
        )
        tests.append(Tested(trial, x.candidate, bench))
    return tests


def t_test(listing: Listing, held_out: Sequence[HeldOut]) -> list[Tested]:
    """The asymptotic gate."""
    half, candidates = listing.half, listing.candidates
    trials = _t_trials(half, candidates, held_out)
    return [Tested(t, x, half.bench) for t, x in zip(trials, candidates, strict=True)]


def _t_trials(half: Half, candidates: Sequence[Fitted], held_out: Sequence[HeldOut]) -> list[Trial]:
    if not candidates:
        return []
    limits = half.bench.limits
    test = asymptotic.gate(
        np.array([x.plain.values for x in held_out]),
        delta=half.delta,
        range=limits.range,
        rng=half.rng,
        declared=limits.rewards.declared,
        most=half.most,
    )
    return [_t_trial(half, test, *pair) for pair in zip(candidates, held_out, strict=True)]


def _t_trial(half: Half, test: asymptotic.Gate, candidate: Fitted, found: HeldOut) -> Trial:
    level, scores, weights = half.delta / HALVES, found.plain, found.weights.values
    lower = min(test.lower(scores.values, weights), half.most)
    refused = test.refusal(scores.values, weights)
    return Trial(
        candidate.setting,
        half.number,
        promised=candidate.promised,
        gain=scores.mean,
        error=scores.error,
        effective=effective_size(weights),
        missing=asymptotic.missing(weights, level),
        lower=lower,
        passed=lower > 0 and not refused,
        level=level,
        units=scores.units,
        refused=refused,
        deviation=scores.deviation,
        weight=found.weights.mean,
        weight_error=_error(weights),
        excess=excess(weights, scores.block) if half.bench.by_propensities else 0.0,
        beyond=found.beyond,
        simplified=candidate.simplified,
    )


def _error(values: np.ndarray) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
