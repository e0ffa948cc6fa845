"""Choosing memory and policy from the data, and the gate before deployment.

The episodes are dealt into two halves by a hash of their label (`dealing`). On each
half candidates are fitted (`candidates`) and a shortlist is drawn up by what that
half alone lets expect of the test. The shortlist is tested on the other half, each way at level
δ/2, so that the chance that anything worse than the behavior passes is at most δ in all. Of what
passes, the one that held-out scores and a model of held-out episodes
(`jumar.algorithms.auto.opinions`) think best is chosen; if nothing does, the behavior stays.

There are two gates. The *proved* one (`proved`, the default) holds for every number
of episodes, every weight and every environment; it needs to know what returns are possible. The
*asymptotic* one (`asymptotic`) decides earlier and is right as the log grows. No
step of either assumes that the memory suffices: if it does not, models are wrong, candidates are
bad, and held-out episodes say so. Of recordings that were cut off both speak of the return up to
the cut.

Where all episodes have one length, rewards are counted from their mean in the half that is learned
from: a constant that every step pays more changes no comparison, and so it changes no choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jumar.algorithms import algorithm as find_algorithm
from jumar.algorithms.auto import asymptotic, proved
from jumar.algorithms.auto.board import chain, lay_out
from jumar.algorithms.auto.candidates import Fitted, Make
from jumar.algorithms.auto.concluding import (
    Tested,
    Tried,
    Weighed,
    conclude,
    told,
    trial_of_bet,
)
from jumar.algorithms.auto.dealing import HALVES, LEAST, DealtPart, deal
from jumar.algorithms.auto.facts import returns_of
from jumar.algorithms.auto.limits import limits_of
from jumar.algorithms.auto.opinions import Models
from jumar.algorithms.auto.other_deltas import GateAgain
from jumar.algorithms.auto.trials import GATES, PROVED, Selection, Trial
from jumar.algorithms.auto.workbench import UNBOUNDED, Workbench
from jumar.algorithms.entry import Algorithm
from jumar.core.arrays import Floats
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.history import check_discount
from jumar.core.journal import Watch
from jumar.core.memory import Memory
from jumar.core.randomness import Seed, generator
from jumar.evidence.bounds import check_delta
from jumar.evidence.consistency import check_rewards
from jumar.evidence.given import BehaviorLike
from jumar.evidence.offpolicy.weights import effective_size
from jumar.evidence.practice import Practice, practice_of
from jumar.evidence.rewards import RewardRange
from jumar.io.logs import LogLike

MORE_MEMORY = 2


def select(
    log: LogLike,
    behavior: BehaviorLike | Practice,
    *,
    discount: float,
    memory: Memory | None = None,
    delta: float = 0.05,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    gate: str = PROVED,
    more_memory: int = MORE_MEMORY,
    seed: Seed = 1,
) -> Selection:
    """Fit, test, and choose; or keep the behavior.

    Parameters
    ----------
    log
        As for `jumar.improve`.
    behavior
        As for `jumar.improve`, or a `Practice`. Of several, what is compared with is their mix, as
        in the log.
    discount
        Weight of the next step against this one.
    memory
        What the new controller may remember; without it up to `more_memory` observations more than
        the behavior does.
    delta
        Accepted chance that something worse passes.
    rewards
        What a step can pay, where that is known. Without it what the log shows is taken for all
        there is, and the promise is made under that proviso.
    horizon
        The most steps of an episode or recording, where that is known.
    gate
        "proved" or "asymptotic".
    more_memory
        Observations to remember beyond what the behavior does, where no `memory` is given.
    seed
        A whole number or a generator: salt of the hash by which episodes are dealt, and draws of
        the asymptotic gate.

    Returns
    -------
    Selection
        Every candidate that was tested, and the one that was chosen, if any passed.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=2000, seed=1)
    >>> chosen = select(log, behavior, discount=0.95, seed=1).chosen
    >>> chosen.passed
    True
    """
    practice = _practice(log, behavior)
    memories = chain(practice.memory, memory, more_memory)
    rng = generator(seed, "selection")
    return _test(practice, discount, rng, memories, delta, rewards, horizon, gate)


def held_out_test(
    log: LogLike,
    behavior: BehaviorLike | Practice,
    *,
    algorithm: str,
    parameters: Mapping[str, object] | None = None,
    discount: float,
    memory: Memory | None = None,
    delta: float = 0.05,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    gate: str = PROVED,
    seed: Seed = 1,
) -> Selection:
    """Test an algorithm that was named: what it learns from one half of the log, on the other half.

    There is one candidate per half, learned with these parameters and this memory, and tested at
    level δ/2: the chance that one passes that is worse than the behavior is at most δ. The halves
    are those of `select`. Of what passes the better one is `chosen`, and `controller` is what that
    half taught. What the same algorithm learns from the *whole* log is another controller; of that
    the test gives evidence, not proof.

    Parameters
    ----------
    log
        As for `select`.
    behavior
        As for `select`.
    algorithm
        A name of the registry.
    parameters
        What it is told; without it, its defaults.
    discount
        Weight of the next step against this one.
    memory
        What the new controller remembers, with what the behavior remembers; without it only that.
    delta
        Accepted chance that something worse passes.
    rewards
        What a step can pay, where that is known.
    horizon
        The most steps of an episode or recording, where that is known.
    gate
        "proved" or "asymptotic".
    seed
        As for `select`.

    Returns
    -------
    Selection
        One trial per half, and the better one of those that passed.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=4000, seed=1)
    >>> found = held_out_test(log, behavior, algorithm="tilt", parameters={"strength": 5.0},
    ...                       discount=0.95, seed=1)
    >>> [(trial.half, trial.passed) for trial in found.trials]
    [(0, True), (1, True)]
    """
    practice = _practice(log, behavior)
    memories = chain(practice.memory, memory, 0)[-1:]
    entry = find_algorithm(algorithm)
    defaults = {name: p.default for name, p in entry.parameters.items()}
    settings = {**defaults, **(parameters or {})}
    entry.check(settings)
    rng, only = generator(seed, "selection"), (entry, settings)
    return _test(practice, discount, rng, memories, delta, rewards, horizon, gate, only)


def _practice(log: LogLike, behavior: BehaviorLike | Practice) -> Practice:
    return behavior if isinstance(behavior, Practice) else practice_of(log, behavior)


def _test(
    practice: Practice,
    discount: float,
    rng: np.random.Generator,
    memories: Sequence[Memory],
    delta: float,
    rewards: RewardRange | None,
    horizon: int | None,
    gate: str,
    only: tuple[Algorithm, Mapping[str, object]] | None = None,
) -> Selection:
    """Candidates of each half on the other one; with `only`, a single one of each: what this
    algorithm learns with these parameters."""
    watch = Watch()
    check_delta(delta)
    check_discount(discount)
    if gate not in GATES:
        raise ParameterError(not_one_of("gate", gate, GATES))
    if rewards is not None:
        check_rewards(practice.log, rewards)
    dealt = deal(practice.log, rng)
    practice, dealt = practice.select(dealt.order), dealt.in_order()
    log, old = practice.log, practice.pooled
    limits, returns = limits_of(log, discount, rewards, horizon), returns_of(log, discount)
    others = None if practice.only else practice
    halves = [dealt.members(half) for half in range(HALVES)]
    board = lay_out(practice.replays, old, discount, memories, others, halves)
    whole = Workbench.on(board, dealt, limits, delta)
    units = [whole.units(DealtPart(half)) for half in range(HALVES)]
    most = float(limits.high[0] - returns.mean)
    found: list[Tested] = []
    tried = 0
    for i in range(HALVES):
        if min(units) < LEAST or not returns.differ:
            continue
        bench = whole.learning_from(i, practice)
        half = _Half(bench, i, units[1 - i], delta, most, rng)
        test = _bet if gate == PROVED else _t_test
        trials, made = test(half, bench.learned(*only) if only else None)
        found += trials
        tried += made
        told(i, trials)
    everything = len(np.unique(dealt.unit))
    tried_on = Tried(
        gate, delta, len(log), everything, old, limits, most, returns.beyond, board.memories
    )
    return conclude(tried_on, found, tried, watch)


class _Half(NamedTuple):
    """One half of a log to learn from, and the other one to test on."""

    bench: Workbench
    number: int
    units: int  # independent ones to test on
    delta: float
    most: float  # that can be gained
    rng: np.random.Generator

    @property
    def own(self) -> DealtPart:
        """To learn from."""
        return DealtPart(self.number)

    @property
    def other(self) -> DealtPart:
        """To test on."""
        return DealtPart(1 - self.number)


def _bet(half: _Half, only: Make | None) -> tuple[list[Tested], int]:
    """The proved gate, with the approximate test as a second opinion."""
    bench = half.bench
    if only:
        listed, made = proved.only(bench, half.own, only)
    else:
        listed, made = proved.shortlist(bench, half.own, half.units, half.delta)
    shares = proved.ALONE if only else proved.SHARES
    approximate = _t_trials(half, [x.candidate for x in listed])
    scored = [bench.scores(x.candidate, half.other, x.prospect.floor) for x in listed]
    bets = proved.outcomes(listed, scored, half.delta, shares)
    models = Models(bench, half.other)
    tests = []
    for x, scores, found, second in zip(listed, scored, bets, approximate, strict=True):
        weighed = Weighed(
            second.effective, second.missing, second.weight, second.weight_error, second.passed
        )
        trial = trial_of_bet(half.number, x, scores, found, weighed, models, half.delta, half.most)
        tests.append(Tested(trial, x.candidate, bench))
    return tests, made


def _t_test(half: _Half, only: Make | None) -> tuple[list[Tested], int]:
    """The asymptotic gate."""
    if only:
        listed, made = list(only(half.own, 1.0)), 1
    else:
        listed, made = asymptotic.shortlist(half.bench, half.own, half.units, half.delta)
    trials = _t_trials(half, listed)
    return [Tested(t, x, half.bench) for t, x in zip(trials, listed, strict=True)], made


def _t_trials(half: _Half, listed: Sequence[Fitted]) -> list[Trial]:
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
                again=GateAgain(test, scores.values, weights),
            )
        )
    return trials


def _error(values: Floats) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
