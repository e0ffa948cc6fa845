"""The main job: a log and the controller that made it in, a better controller out.

log -> align names -> check that the behavior could have done it -> replay and count
    -> estimate -> improve -> certify
"""

from __future__ import annotations

import math
from typing import Any

from jumar import algorithms
from jumar.algorithms.auto import Selection, select
from jumar.algorithms.auto.outcome import NAME as AUTO
from jumar.algorithms.auto.outcome import certificate_of, improvement_of, memory_of
from jumar.algorithms.auto.trials import PROVED
from jumar.algorithms.long_records import LongVerdict, Rung, judge_long
from jumar.algorithms.long_records.outcome import certificate_of_long, improvement_of_long
from jumar.assessment.result import Result
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.errors import LogError, ParameterError
from jumar.core.history import Counts
from jumar.core.improvement import Improvement
from jumar.core.memory import Memory
from jumar.core.memory.refinement import join
from jumar.core.replay import Replays, count
from jumar.core.streams import stream
from jumar.core.text import printable
from jumar.evidence.bounds import Scale, check_delta
from jumar.evidence.certificate import (
    Certificate,
    RewardRange,
    by_trust,
    certify,
    data_dependent,
    for_estimated_behavior,
    kept_estimate,
    unchanged,
)
from jumar.evidence.consistency import check_rewards, rewards_seen
from jumar.evidence.first_visits import ReturnBounds, first_returns
from jumar.evidence.gains import most_gain, starts_of
from jumar.evidence.practice import Behaviors, Practice, practice_of
from jumar.evidence.robust import worst_gain

DELTA = 0.05


def improve(
    log: Episodes | Replays,
    behavior: Behaviors,
    *,
    discount: float,
    memory: Memory | None = None,
    algorithm: str | None = None,
    delta: float = DELTA,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    estimated: bool = False,
    gate: str = PROVED,
    assume_memory: bool = False,
    seed: int = 1,
    **parameters: object,
) -> Result:
    """Improve the behavior that produced a log.

    By default (``algorithm="auto"``) memory and policy are chosen from the data, and the choice is
    tested on episodes it was not learned from; if nothing passes, the behavior stays
    (`algorithms.auto`). Naming an algorithm, or giving one of its parameters (``n_wedge=20`` means
    SPIBB), improves without that test.

    Parameters
    ----------
    log, behavior
        A log and who made it: a controller; several, as a sequence or a mapping by the names in
        the log's `behavior` column; or None, where the log has propensities.
    discount
        Weight of the next step against this one, in [0, 1).
    memory
        What the new controller may remember (with what the behavior remembers). Without it, what
        the behavior remembers, and for "auto" up to two observations more.
    algorithm
        A name from `jumar algorithms`; "auto" by default.
    delta
        Accepted chance that the certificate is wrong.
    rewards
        What a step can pay, which the log must not contradict. Without it the range seen in the
        log is used, and the certificate makes its promise under that proviso.
    horizon
        The most steps of an episode or recording, where that is known: it narrows what returns are
        possible in the test of "auto".
    estimated
        The behavior is not known but was itself estimated from this log (`estimate_behavior`),
        which weakens every guarantee.
    gate
        The test of "auto": "proved" holds for every number of episodes, "asymptotic" decides
        earlier and is right as the log grows.
    assume_memory
        Where nothing passes the test of "auto": judge long records under the assumption that a
        memory tells all that matters (`long_records`). The certificate names it, and the log may
        contradict it. Each of the two tests then has half of `delta`.
    seed
        Deals the episodes of "auto" into halves.
    **parameters
        Those of the algorithm, as ``n_wedge=20``.

    >>> from jumar import models, simulate, stream
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=2000, rng=stream(1, "data"))
    >>> result = improve(log, behavior, discount=0.95)
    >>> result.certificate.bound, result.certificate.zeta < 0
    ('held-out', True)
    >>> result = improve(log, behavior, discount=0.95, n_wedge=50)
    >>> result.improvement.changed, result.certificate.bound, result.certificate.vacuous
    (2, 'data-dependent', False)
    """
    if algorithm is None:
        algorithm = "spibb" if parameters else AUTO
    if not isinstance(algorithm, str):
        raise ParameterError(f"algorithm: {algorithm!r} is no name. `jumar algorithms` lists them.")
    by_itself = algorithm.lower() == AUTO
    if by_itself and parameters:
        raise ParameterError(
            f"auto: chooses {', '.join(parameters)} itself. Leave it out, or name the algorithm."
        )
    practice = _checked(log, behavior, delta, rewards, memory)
    log, replays, old = practice.log, practice.replays, practice.pooled
    selection, long = None, None
    if assume_memory and not by_itself:
        raise ParameterError(
            f"assume_memory: {algorithm} is not tested on held-out records. Leave the algorithm "
            "and its parameters out."
        )
    if by_itself:
        share = delta / 2 if assume_memory else delta  # two tests share what may go wrong
        selection = _select(practice, discount, memory, share, rewards, horizon, gate, seed)
        if assume_memory:
            long = _judge_long(practice, selection, discount, memory, share, rewards, seed)
        memory = memory_of(selection, old)
        if long is not None and long.chosen and not selection.chosen:
            memory = long.chosen.setting.memory
    counts = _counts(replays, _joined(old, memory))
    mdp = counts.mle(discount)
    rewards = rewards or rewards_seen(log)
    # bounds of a model compare with one controller: where there is none, with an estimate of it
    copied = estimated or practice.several or not practice.controllers
    visits = first_returns(replays, mdp.memory, discount=discount, rewards=rewards)
    returns = visits.bounds(algorithms.OF_RETURNS * (delta / 2 if copied else delta))
    if selection is not None:
        improvement = improvement_of(selection, old, mdp)
        if long is not None and long.chosen and not selection.chosen:
            improvement = improvement_of_long(long, old, mdp)
    else:
        improvement = algorithms.run(algorithm, mdp, old, returns=returns, **parameters)
    most = most_gain(log, rewards, discount)
    certificates = _certify(improvement, counts, returns, rewards, delta, copied, most)
    if selection is not None:
        test = certificate_of(
            selection,
            practice=practice,
            value_range=certificates[0].value_range,
            seed=seed,
            estimated=estimated,
        )
        if long is not None and not selection.chosen:
            test = certificate_of_long(
                long,
                value_range=max(test.value_range, long.range),
                declared=rewards.declared,
                estimated=estimated,
            )
        certificates = (test, *(c for c in certificates if c.bound != "unchanged"))
    if copied and improvement.changed == 0:
        mixed = practice.several and bool(practice.controllers) and not estimated
        certificates = (kept_estimate(certificates[0], mixed),)
    return Result(
        improvement,
        counts,
        certificates,
        log,
        rewards,
        delta,
        estimated,
        selection,
        seed,
        practice,
        long,
    )


def choose(
    log: Episodes | Replays,
    behavior: Behaviors,
    *,
    discount: float,
    memory: Memory | None = None,
    delta: float = DELTA,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    gate: str = PROVED,
    seed: int = 1,
) -> Selection:
    """What "auto" would choose, with all that was tried (`jumar.algorithms.auto`).

    >>> from jumar import models, simulate, stream
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=2000, rng=stream(1, "data"))
    >>> choose(log, behavior, discount=0.95).chosen.passed
    True
    """
    practice = _checked(log, behavior, delta, rewards, memory)
    return _select(practice, discount, memory, delta, rewards, horizon, gate, seed)


def _checked(
    log: Episodes | Replays,
    behavior: Behaviors,
    delta: float,
    rewards: RewardRange | None,
    memory: Memory | None,
) -> Practice:
    """Who made the log, which does not contradict what is said of it."""
    check_delta(delta)
    if not isinstance(log, Episodes | Replays):
        raise ParameterError(
            f"log: {printable(repr(log)[:40])} is no log. Read one with jumar.read_logs(FILE)."
        )
    if rewards is not None and not isinstance(rewards, RewardRange):
        raise ParameterError(
            f"rewards: {printable(repr(rewards)[:40])} is not a range of rewards. Pass for example "
            "RewardRange.constant(0, 1), or RewardRange((0, 1), ending=(-5, 5))."
        )
    if memory is not None and not isinstance(memory, Memory):
        raise ParameterError(
            f"memory: {printable(repr(memory)[:40])} is no memory. Pass for example window(2)."
        )
    practice = practice_of(log, behavior)
    if rewards is not None:
        check_rewards(practice.log, rewards)
    return practice


def _select(
    practice: Practice,
    discount: float,
    memory: Memory | None,
    delta: float,
    rewards: RewardRange | None,
    horizon: int | None,
    gate: str,
    seed: int,
) -> Selection:
    _counts(practice.replays, practice.memory)  # before anything is tried: are there outcomes?
    return select(
        practice.replays,
        practice,
        discount=discount,
        rng=stream(seed, "selection"),
        memory=memory,
        delta=delta,
        rewards=rewards,
        horizon=horizon,
        gate=gate,
    )


def _judge_long(
    practice: Practice,
    selection: Selection,
    discount: float,
    memory: Memory | None,
    delta: float,
    rewards: RewardRange | None,
    seed: int,
) -> LongVerdict:
    """What long records say, given that a memory tells all that matters."""
    if practice.several or not practice.controllers:
        raise ParameterError(
            "assume_memory: needs the one controller that made the log. Several behaviors, or "
            "propensities alone, are only judged by whole episodes."
        )
    best = selection.best
    top = Rung(
        "all of the past: nothing assumed",
        best.gain if best else None,
        best.error if best else None,
        best.lower if best and math.isfinite(best.lower) else None,
        best.effective if best else None,
    )
    return judge_long(
        practice.replays,
        practice.pooled,
        discount=discount,
        rng=stream(seed, "long"),
        memory=memory,
        delta=delta,
        rewards=rewards,
        nothing_assumed=top,
    )


def _counts(replays: Replays, memory: Memory) -> Counts:
    counts = count(replays, memory)
    if counts.visits.sum() == 0:
        raise LogError(
            f"The log has {counts.unfinished} steps, but of none it is known what followed: every "
            "episode is one step long, cut off, without a final observation."
        )
    return counts


def _joined(behavior: Controller, memory: Memory | None) -> Memory:
    if memory is None:
        return behavior.memory
    return join(behavior.memory, memory.on(*behavior.memory.alphabet))


def scale_of(memory: Memory, rewards: RewardRange, discount: float) -> Scale:
    """What the bounds need to know of a memory: every ⟨n, z⟩ it can reach, with or without data,
    and one more outcome than observations where episodes can end."""
    O, A = memory.alphabet
    return rewards.scale(
        states=memory.count_nodes() * O,
        actions=A,
        outcomes=O + (rewards.ending is not None),
        discount=discount,
    )


def _certify(
    improvement: Improvement,
    counts: Counts,
    returns: ReturnBounds,
    rewards: RewardRange,
    delta: float,
    estimated: bool,
    most: float,
) -> tuple[Certificate, ...]:
    mdp = improvement.mdp
    n_wedge: Any = improvement.parameters.get("n_wedge", 0)
    scale = scale_of(mdp.memory, rewards, mdp.discount)
    if improvement.changed == 0:
        return (unchanged(delta, scale.value_range),)  # whatever the behavior is: go on as before
    if estimated:
        return for_estimated_behavior(
            _certify(improvement, counts, returns, rewards, delta / 2, False, most),
            scale=scale,
            r_max=rewards.r_max,
            episodes=int(counts.starts.sum()),
            delta=delta,
        )
    known = improvement.algorithm in algorithms.ALGORITHMS
    kind = algorithms.algorithm(improvement.algorithm).bound_kind if known else None
    # a pair of a state that was never visited has count 0, so all states must have been seen
    complete = len(mdp) == scale.states
    smallest = int(counts.visits.min()) if complete else 0
    worst = worst_gain(
        improvement,
        returns,
        delta=delta - returns.delta,
        episodes=int(counts.starts.sum()),
        rows=scale.states * scale.actions,
        outcomes=scale.outcomes,
        can_end=rewards.ending is not None,
    )
    from_data = data_dependent(
        worst.gain,
        scale,
        delta=delta,
        gain=improvement.gain,
        strict=kind == "strict",
        unfinished=counts.unfinished,
        most=most,
    )
    if kind != "spibb" and smallest == 0:
        return (from_data,)
    gain = improvement.values - improvement.behavior_values
    published = certify(
        scale,
        n_wedge=int(n_wedge),
        delta=delta,
        gain=improvement.gain,
        kind="spibb" if kind == "spibb" else "all-known",
        smallest_count=smallest or None,
        starts=starts_of(counts, gain) if smallest else None,
        most=most,
    )
    return by_trust([from_data, *published])
