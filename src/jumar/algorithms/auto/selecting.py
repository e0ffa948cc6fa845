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
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from jumar.algorithms import algorithm as find_algorithm
from jumar.algorithms.auto import asymptotic, proved
from jumar.algorithms.auto.board import chain, lay_out, number
from jumar.algorithms.auto.candidates import UNBOUNDED, Fitted, Workbench
from jumar.algorithms.auto.dealing import HALVES, LEAST, deal
from jumar.algorithms.auto.limits import limits_of
from jumar.algorithms.auto.opinions import Models, blend
from jumar.algorithms.auto.trials import GATES, MOST_BEYOND, PROVED, Selection, Trial
from jumar.algorithms.entry import Algorithm
from jumar.core.arrays import Floats, Ints
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.history import check_discount
from jumar.core.journal import Watch, journal
from jumar.core.memory import Memory
from jumar.core.randomness import Seed, generator
from jumar.core.text import counted
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
    limits = limits_of(log, discount, rewards, horizon)
    whole = log.returns(discount)
    halves = [dealt.members(half) for half in range(HALVES)]
    others = None if practice.only else practice
    board = lay_out(practice.replays, old, discount, memories, others, halves)
    whole_bench = Workbench(board, number(board), dealt, limits, delta)
    benches: dict[int, Workbench] = {}
    most = float(limits.high[0] - whole.mean())
    found: list[tuple[Trial, Fitted]] = []
    tried = 0
    for i, (own, other) in enumerate((halves, halves[::-1])):
        units = [len(np.unique(dealt.unit[part])) for part in (own, other)]
        if min(units) < LEAST or not _differ(whole):
            continue
        bench = _starting_from(whole_bench.learning_from(own), practice, own)
        if limits.fixed:
            bench = _less(bench, float(log.select(own).reward.mean()))
        benches[i] = bench
        half = _Half(bench, i, own, other, units[1], delta, most, rng)
        test = _bet if gate == PROVED else _t_test
        trials, made = test(half, bench.learned(*only) if only else None)
        found += trials
        tried += made
        for trial, _ in trials:
            journal.debug("Tested on half %d of the log: %s", 2 - i, trial.summary)
    found.sort(key=lambda pair: -pair[0].lower)
    beyond = log.beyond_cut(discount)
    passed = [pair for pair in found if pair[0].passed and beyond <= MOST_BEYOND]
    best = max(passed, key=lambda pair: _merit(pair[0], most), default=None)
    controller = old
    if best is not None:
        made_on = benches[best[0].half].board
        controller = made_on.controller(best[0].setting.memory, best[1].rows)
    made_of = str(best[0].setting) if best else "none, the behavior stays"
    journal.info(
        "Tried %s, tested %d on held-out episodes; chosen: %s (%s)",
        counted(tried, "candidate"),
        len(found),
        made_of,
        watch,
    )
    return Selection(
        gate=gate,
        delta=delta,
        episodes=len(log),
        units=len(np.unique(dealt.unit)),
        trials=tuple(trial for trial, _ in found),
        tried=tried,
        chosen=best[0] if best else None,
        controller=controller,
        limits=limits,
        most=most,
        beyond=beyond,
        memories=board.memories,
    )


class _Half(NamedTuple):
    """One half of a log to learn from, and the other one to test on."""

    bench: Workbench
    number: int
    own: Ints  # episodes to learn from
    other: Ints  # episodes to test on
    units: int  # independent ones among those to test on
    delta: float
    most: float  # that can be gained
    rng: np.random.Generator


Tested = tuple[list[tuple[Trial, Fitted]], int]  # trials, and how many candidates there were


def _bet(half: _Half, only: proved.Make | None) -> Tested:
    """The proved gate, with the approximate test as a second opinion."""
    bench, own, other = half.bench, half.own, half.other
    if only:
        listed, made = proved.only(bench, own, only)
    else:
        listed, made = proved.shortlist(bench, own, half.units, half.delta)
    shares = proved.ALONE if only else proved.SHARES
    approximate = _t_trials(half, [x.candidate for x in listed])
    scored = [bench.scores(x.candidate, other, x.prospect.floor) for x in listed]
    bets = proved.outcomes(listed, scored, half.delta, shares)
    models = Models(bench, other)
    trials = []
    for x, (scores, _), found, second in zip(listed, scored, bets, approximate, strict=True):
        trial = replace(
            second,
            promised=x.prospect.gain,
            gain=float(scores.mean()),
            error=_error(scores),
            lower=min(found.lower, half.most),
            passed=found.passed and half.most > 0,
            level=found.level,
            refused="",
            second=second.passed,
            scores=scores,
            bet=x.prospect.bet,
            deviation=float(scores.std(ddof=1)),
            opinion=blend(scores, models.gain(x.candidate)),
        )
        trials.append((trial, x.candidate))
    return trials, made


def _t_test(half: _Half, only: proved.Make | None) -> Tested:
    """The asymptotic gate."""
    if only:
        listed, made = list(only(half.own, 1.0)), 1
    else:
        listed, made = asymptotic.shortlist(half.bench, half.own, half.units, half.delta)
    trials = _t_trials(half, listed)
    return list(zip(trials, listed, strict=True)), made


def _t_trials(half: _Half, listed: Sequence[Fitted]) -> list[Trial]:
    if not listed:
        return []
    bench, other, most = half.bench, half.other, half.most
    scored = [bench.scores(candidate, other, UNBOUNDED)[0] for candidate in listed]
    test = asymptotic.gate(
        np.array(scored),
        delta=half.delta,
        range=bench.limits.range,
        rng=half.rng,
        declared=bench.limits.rewards.declared,
        most=most,
    )
    trials = []
    level = half.delta / HALVES
    for candidate, scores in zip(listed, scored, strict=True):
        weights, _ = bench.dealt.by_unit(other, bench.weights(candidate.rows, other))
        lower, refused = min(test.lower(scores, weights), most), test.refusal(scores, weights)
        trials.append(
            Trial(
                candidate.setting,
                half.number,
                promised=candidate.promised,
                gain=float(scores.mean()),
                error=_error(scores),
                effective=effective_size(weights),
                missing=asymptotic.missing(weights, level),
                lower=lower,
                passed=lower > 0 and not refused,
                level=level,
                units=len(scores),
                refused=refused,
                deviation=float(scores.std(ddof=1)),
                weight=float(weights.mean()),
                weight_error=_error(weights),
            )
        )
    return trials


def _merit(trial: Trial, most: float) -> float:
    """By which the best of those that passed is chosen: noise is no merit, nor is a gain beyond
    what returns allow."""
    if trial.opinion is not None:
        return min(trial.opinion.merit, most)
    return min(trial.gain, most) - trial.error / 2


def _error(scores: Floats) -> float:
    return float(scores.std(ddof=1)) / math.sqrt(len(scores)) if len(scores) > 1 else math.inf


def _differ(returns: Floats) -> bool:
    """Do returns differ by more than rounding? Where all are alike nothing can be better."""
    low, high = float(returns.min()), float(returns.max())
    return high - low > 1e-9 * max(abs(low), abs(high))


def _starting_from(bench: Workbench, practice: Practice, own: Ints) -> Workbench:
    """The same, with the behavior that candidates start from made of the half that is learned from,
    where it is not one controller that is known. A mix of several, or an estimate, of the whole log
    would do in held-out episodes what was done there, and be paid for it."""
    if practice.only is not None:
        return bench
    board = replace(bench.board, behavior=practice.select(own).pooled)
    numbered = tuple(replace(n, behavior=board.behavior_rows[n.first]) for n in bench.numbered)
    return replace(bench, board=board, numbered=numbered)


def _less(bench: Workbench, centre: float) -> Workbench:
    """The same with so much less for every step. The mean is that of the half that is learned from:
    what is held out has no part in what a candidate is."""
    board, rewards = bench.board, bench.limits.rewards
    moved = RewardRange(
        (rewards.continuing[0] - centre, rewards.continuing[1] - centre),
        rewards.ending and (rewards.ending[0] - centre, rewards.ending[1] - centre),
        rewards.declared,
    )
    log = replace(board.log, reward=board.log.reward - centre)
    horizon = bench.limits.steps if bench.limits.declared_steps else None
    limits = limits_of(log, board.discount, moved, horizon)
    board = replace(board, replay=replace(board.replay, log=log))
    return replace(bench, board=board, limits=limits)
