"""The main job: a log and the controller that made it in, a better controller out.

log -> align names -> check that the behavior could have done it -> replay and count
    -> estimate -> improve -> certify
"""

from __future__ import annotations

from jumar import algorithms
from jumar.algorithms.auto import Selection
from jumar.algorithms.auto.entry import choose as select_for
from jumar.algorithms.auto.trials import PROVED
from jumar.algorithms.certifying import certificates_of
from jumar.algorithms.problem import Problem
from jumar.assessment.result import Result
from jumar.core.episodes import Episodes
from jumar.core.errors import ParameterError
from jumar.core.memory import Memory
from jumar.core.replay import Replays
from jumar.core.text import printable
from jumar.evidence.bounds import check_delta
from jumar.evidence.certificate import (
    kept_estimate,
)
from jumar.evidence.consistency import check_rewards
from jumar.evidence.gains import most_gain
from jumar.evidence.practice import Behaviors, Practice, practice_of
from jumar.evidence.rewards import RewardRange

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

    >>> from jumar import Controller, models, simulate, stream
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
    entry = algorithms.meant(algorithm, parameters)
    entry.check(parameters)
    practice = _checked(log, behavior, delta, rewards, memory)
    problem = Problem(
        practice, discount, memory, delta, rewards, horizon, estimated, gate, assume_memory, seed
    )
    found = entry.run(problem, **parameters)
    improvement, material = found.improvement, found.material
    most = most_gain(practice.log, problem.range, discount)
    certificates = certificates_of(
        improvement, material, delta=delta, copied=problem.copied, most=most
    )
    if found.test is not None:
        certificates = (found.test, *(c for c in certificates if c.bound != "unchanged"))
    if problem.copied and improvement.changed == 0:
        mixed = practice.several and bool(practice.controllers) and not estimated
        certificates = (kept_estimate(certificates[0], mixed),)
    return Result(
        improvement,
        material.counts,
        certificates,
        practice.log,
        problem.range,
        delta,
        estimated,
        found.selection,
        seed,
        practice,
        found.long,
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

    >>> from jumar import Controller, models, simulate, stream
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=2000, rng=stream(1, "data"))
    >>> choose(log, behavior, discount=0.95).chosen.passed
    True
    """
    practice = _checked(log, behavior, delta, rewards, memory)
    problem = Problem(practice, discount, memory, delta, rewards, horizon, gate=gate, seed=seed)
    return select_for(problem, delta)


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
