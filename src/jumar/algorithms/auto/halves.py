"""Candidates of one half of a log, tested on the other half: by the proved gate, with the
approximate test as a second opinion, or by the asymptotic gate alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from jumar.algorithms.auto import asymptotic, proved
from jumar.algorithms.auto.bets import excess
from jumar.algorithms.auto.candidates import Fitted, Make
from jumar.algorithms.auto.concluding import Tested, Weighed, trial_of_bet
from jumar.algorithms.auto.dealing import HALVES, DealtPart
from jumar.algorithms.auto.objectives import Kept, candidates_heeding
from jumar.algorithms.auto.opinions import Models
from jumar.algorithms.auto.trials import Opinion, Trial
from jumar.algorithms.auto.workbench import UNBOUNDED, Workbench
from jumar.core.arrays import Floats
from jumar.evidence.offpolicy.weights import effective_size


class Half(NamedTuple):
    """One half of a log to learn from, and the other one to test on."""

    bench: Workbench
    number: int
    units: int  # independent ones to test on
    delta: float
    most: float  # that can be gained
    rng: np.random.Generator
    kept: tuple[Kept, ...] = ()  # signals that must not get worse
    guides: tuple[tuple[float, Workbench], ...] = ()  # what candidates that heed them learn from
    taught: bool = False  # was a memory learned, by either half?

    @property
    def own(self) -> DealtPart:
        """To learn from."""
        return DealtPart(self.number)

    @property
    def other(self) -> DealtPart:
        """To test on."""
        return DealtPart(1 - self.number)


def bet(half: Half, only: Make | None) -> tuple[list[Tested], int]:
    """The proved gate, with the approximate test as a second opinion."""
    bench = half.bench
    if only:
        listed, made = proved.only(bench, half.own, only)
    else:
        make = partial(candidates_heeding, bench, half.guides) if half.kept else None
        listed, made = proved.shortlist(bench, half.own, half.units, half.delta, make, half.kept)
    shares = proved.ALONE if only else proved.shares(bench)
    approximate = _t_trials(half, [x.candidate for x in listed])
    scored = [bench.scores(x.candidate, half.other, x.prospect.floor) for x in listed]
    kept = [k.bets(i, listed, half.own, half.other) for i, k in enumerate(half.kept)]
    grown = [[bet.log_wealth for bet in bets] for bets in kept]
    bets = proved.outcomes(listed, scored, half.delta, shares, grown)
    models = Models(bench, half.other)
    own = Models(bench, half.own) if half.taught else None
    tests = []
    for j, (x, found, second) in enumerate(zip(listed, bets, approximate, strict=True)):
        weighed = Weighed(
            second.effective,
            second.missing,
            second.weight,
            second.weight_error,
            second.beyond,
            Opinion(second.gain, second.error),
            None if half.kept else second.passed,  # it was not asked about the signals to keep
            second.excess,
        )
        others = tuple(bets[j].trial(found.level, found.bound_level) for bets in kept)
        trial = trial_of_bet(
            half.number, x, scored[j], found, weighed, models, half.most, others, own
        )
        tests.append(Tested(trial, x.candidate, bench))
    return tests, made


def t_test(half: Half, only: Make | None) -> tuple[list[Tested], int]:
    """The asymptotic gate."""
    if only:
        listed, made = list(only(half.own, 1.0)), 1
    else:
        listed, made = asymptotic.shortlist(half.bench, half.own, half.units, half.delta)
    trials = _t_trials(half, listed)
    return [Tested(t, x, half.bench) for t, x in zip(trials, listed, strict=True)], made


def _t_trials(half: Half, listed: Sequence[Fitted]) -> list[Trial]:
    if not listed:
        return []
    bench, other, most = half.bench, half.other, half.most
    scored = [bench.scores(candidate, other, UNBOUNDED) for candidate in listed]
    test = asymptotic.gate(
        np.array([scores.values for scores in scored]),
        delta=half.delta,
        range=bench.limits.range,
        rng=half.rng,
        declared=bench.limits.rewards.declared,
        most=most,
    )
    trials = []
    level = half.delta / HALVES
    for candidate, scores in zip(listed, scored, strict=True):
        weights = bench.unit_weights(candidate.rows, other)
        lower = min(test.lower(scores.values, weights), most)
        refused = test.refusal(scores.values, weights)
        trials.append(
            Trial(
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
                weight=float(weights.mean()),
                weight_error=_error(weights),
                excess=excess(weights, scores.block) if bench.by_propensities else 0.0,
                beyond=bench.beyond(candidate.rows, other),
                simplified=candidate.simplified,
            )
        )
    return trials


def _error(values: Floats) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
