"""Choosing memory and policy from the data, and the gate before deployment.

The episodes are dealt into two halves by a hash of their label (`dealing`). On each
half candidates are fitted (`candidates`) and a shortlist is drawn up by what that
half alone lets expect of the test. The shortlist is tested on the other half, each way at level
δ/2, so that the chance that anything worse than the behavior passes is at most δ in all. Of what
passes, the one that held-out scores and a model of held-out episodes
(`jumar.gate.opinions`) think best is chosen; if nothing does, the behavior stays.

There are two gates. The *proved* one (`proved`, the default) holds for every number
of episodes, every weight and every environment; it needs to know what returns are possible. The
*asymptotic* one (`asymptotic`) decides earlier and is right as the log grows. No
step of either assumes that the memory suffices: if it does not, models are wrong, candidates are
bad, and held-out episodes say so. Of recordings that were cut off both speak of the return up to
the cut.

What is tested, and how, is one half's matter (`halves`). Signals that must not get worse are tested
on the same held-out episodes (`objectives`).

A memory that is *learned* (`memories`) is part of a candidate like all else: each half learns its
own, which the other half has no part in.

Where all episodes have one length, and what steps pay is read off the log too, rewards are counted
from their mean in the half that is learned from: a constant that every step pays more changes no
comparison, and so it changes no choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from jumar.algorithms import algorithm as find_algorithm
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.randomness import Seed, branch, generator
from jumar.core.resources import Watch
from jumar.evidence.bounds import check_delta
from jumar.evidence.consistency import check_rewards
from jumar.evidence.practice import BehaviorLike, Practice, practice_of
from jumar.evidence.rewards import RewardRange
from jumar.gate.bench import Bench
from jumar.gate.concluding import Tested, Tried, conclude, told
from jumar.gate.dealing import HALVES, LEAST, DealtPart, salt_of
from jumar.gate.dealt_log import DealtLog
from jumar.gate.halves import Half, Only, bet, draw_up, t_test
from jumar.gate.limits import limits_of
from jumar.gate.makers import CandidatesLike, Makers, makers_of
from jumar.gate.memories import Given, Learned, Memories, chain
from jumar.gate.objectives import Keep, KeepLike, Signals, check_keeps, keeps_of
from jumar.gate.staging import Standing, score_first, score_more, shortlist_of, undecided
from jumar.gate.trials import GATES, PROVED, Selection
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.solve.simplifying import share_of
from jumar.tally.history import check_discount
from jumar.tally.replay import LogLike

MORE_MEMORY = 2
REWARD = "reward"
LEARN: Final = "learn"  # in place of a memory
BESIDE = 1  # observations more that are tried beside a memory that is learned


def select(
    log: LogLike | DealtLog,
    behavior: BehaviorLike | Practice,
    *,
    discount: float,
    memory: Memory | Literal["learn"] | None = None,
    delta: float = 0.05,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    gate: str = PROVED,
    more_memory: int = MORE_MEMORY,
    seed: Seed = 1,
    simplify: bool | float = False,
    keep: KeepLike | None = None,
    objective: str = "",
    candidates: CandidatesLike | Makers | None = None,
    thorough: bool = False,
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
        the behavior does. With "learn" each half learns a memory, which is tried beside that of the
        behavior and one observation more.
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
    simplify
        Test candidates with as few changes as bring 95 % of their gain, or another share.
    keep
        Signals of the log that must not get worse, as for `jumar.improve`.
    objective
        What the reward of the log is called, where signals are kept. Without it, as its column.
    candidates
        Who makes them, as for `jumar.improve`.
    thorough
        Test on all of a large log, even where its first episodes decide.

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
    practice = log.practice if isinstance(log, DealtLog) else _practice(log, behavior)
    if isinstance(memory, str) and memory != LEARN:
        raise ParameterError(not_one_of("memory", memory, [LEARN]))
    memories: Memories = Learned(min(more_memory, BESIDE))
    if not isinstance(memory, str):
        memories = Given(chain(practice.memory, memory, more_memory))
    rng = generator(seed, "selection")
    asked = _Asked(
        discount,
        delta,
        rewards,
        horizon,
        gate,
        share_of(simplify),
        keeps=keeps_of(keep),
        objective=objective,
        makers=makers_of(candidates),
        thorough=thorough,
    )
    asked.check()
    if isinstance(log, DealtLog):
        salt_of(rng)  # the log was dealt with it
        return _test(log, rng, memories, asked)
    return _test(_dealt(practice, rng, asked), rng, memories, asked)


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
    simplify: bool | float = False,
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
    simplify
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
    memories = Given(chain(practice.memory, memory, 0)[-1:])
    entry = find_algorithm(algorithm)
    defaults = {name: p.default for name, p in entry.parameters.items()}
    settings = {**defaults, **(parameters or {})}
    entry.check(settings)
    asked = _Asked(discount, delta, rewards, horizon, gate, share_of(simplify), (entry, settings))
    asked.check()
    rng = generator(seed, "selection")
    return _test(_dealt(practice, rng, asked), rng, memories, asked)


def _practice(log: LogLike, behavior: BehaviorLike | Practice) -> Practice:
    return behavior if isinstance(behavior, Practice) else practice_of(log, behavior)


class _Asked(NamedTuple):
    """What is asked for; with `only`, a single candidate of each half: what this algorithm learns
    with these parameters."""

    discount: float
    delta: float
    rewards: RewardRange | None
    horizon: int | None
    gate: str
    simplify: float | None = None
    only: Only | None = None
    keeps: tuple[Keep, ...] = ()
    objective: str = ""
    makers: Makers | None = None
    thorough: bool = False  # test on all of a large log, even where its first episodes decide

    def check(self) -> None:
        """Refuse what makes no sense for any log."""
        check_delta(self.delta)
        check_discount(self.discount)
        if self.gate not in GATES:
            raise ParameterError(not_one_of("gate", self.gate, GATES))


def _dealt(practice: Practice, rng: np.random.Generator, asked: _Asked) -> DealtLog:
    """The log, dealt, if it does not contradict what is said of it."""
    if asked.rewards is not None:
        check_rewards(practice.log, asked.rewards)
    check_keeps(asked.keeps, practice.log, asked.objective, asked.gate, asked.discount)
    return DealtLog.of(practice, rng, asked.discount)


def _test(log: DealtLog, rng: np.random.Generator, memories: Memories, asked: _Asked) -> Selection:
    """Candidates of each half on the other one."""
    watch = Watch()
    facts, paid = log.facts.facts, log.facts.paid
    # of episodes at hand a place can be named
    limits = limits_of(
        facts if log.counted else log.log, asked.discount, asked.rewards, asked.horizon
    )
    laid = memories.lay_out(log, branch(rng, "memory"))
    whole = [
        Bench.on(log, one, asked.discount, limits, asked.delta, asked.simplify, asked.makers)
        for one in laid
    ]
    signals = [Signals.of(bench, asked.keeps, asked.horizon) for bench in whole]
    units = [log.units(DealtPart(half)) for half in range(HALVES)]
    most = float(limits.high[0] - paid.mean)
    taught = any(one.beside is not None for one in laid)
    halves = []
    for i in range(HALVES):
        if min(units) < LEAST or not paid.differ:
            continue  # what is not tested cannot pass: a log may keep the behavior for any reason
        own = i % len(whole)
        bench, kept = whole[own].learning_from(i), signals[own].learning_from(i)
        guides = tuple(signals[own].guides(whole[own], i))
        halves.append(
            Half(bench, i, units[1 - i], asked.delta, most, rng, asked.only, kept, guides, taught)
        )
    found, tried = _tested(log, halves, asked)
    tried_on = Tried(
        asked.gate,
        asked.delta,
        facts.episodes,
        sum(units),
        log.practice.pooled,
        limits,
        most,
        paid.beyond,
        tuple(dict.fromkeys(m for one in laid for m in one.tried)),
        asked.makers.names if asked.makers else (),
    )
    if isinstance(memories, Learned):
        tried_on = tried_on._replace(learned=tuple(one.learned for one in laid))
    if asked.keeps:
        objective = asked.objective or _rewarded(log.log)
        tried_on = tried_on._replace(kept=signals[0].told(), objective=objective)
    return conclude(tried_on, found, tried, watch)


def _tested(log: DealtLog, halves: Sequence[Half], asked: _Asked) -> tuple[list[Tested], int]:
    """What came of all tests, and how many candidates were fitted."""
    lists = [draw_up(half, asked.gate) for half in halves]
    short = [shortlist_of(x.half.bench, x.half.number, x.candidates, x.floors) for x in lists]
    held_out = [score_first(x.half.bench, one) for x, one in zip(lists, short, strict=True)]
    # a t test has no sequence of bets, so it is made once; kept signals are bet on once, too
    if log.large and asked.gate == PROVED and not asked.keeps:
        stages = [
            Standing(x.listed, scored, x.half.units, x.shares)
            for x, scored in zip(lists, held_out, strict=True)
        ]
        if undecided(stages, asked.delta, thorough=asked.thorough):
            held_out = score_more(log, [x.half.bench for x in lists], short)
    found: list[Tested] = []
    for listing, scored in zip(lists, held_out, strict=True):
        trials = (bet if asked.gate == PROVED else t_test)(listing, scored)
        told(listing.half.number, trials)
        found += trials
    return found, sum(listing.made for listing in lists)


def _rewarded(log: Episodes) -> str:
    """What the reward is called: as its column."""
    columns = log.origin.columns.get(REWARD, ()) if log.origin else ()
    return columns[0] if columns else REWARD
