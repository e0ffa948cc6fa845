"""The main job: a log and the controller that made it in, a better controller out.

log -> align names -> check that the behavior could have done it -> replay and count
    -> estimate -> improve -> certify
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from jumar import algorithms
from jumar.algorithms.auto import Selection
from jumar.algorithms.auto.entry import choose
from jumar.algorithms.auto.trials import PROVED
from jumar.algorithms.certifying import certificates_of
from jumar.algorithms.problem import Problem
from jumar.assessment.result import Result
from jumar.core.controller import Controller
from jumar.core.errors import ParameterError
from jumar.core.history import check_discount
from jumar.core.memory import Memory
from jumar.core.randomness import Seed, generator, seed_number
from jumar.core.replay import count
from jumar.core.text import printable
from jumar.evidence.bounds import check_delta
from jumar.evidence.certificate import kept_estimate, scale_of
from jumar.evidence.consistency import check_rewards
from jumar.evidence.estimation import CURRENT
from jumar.evidence.gains import most_gain
from jumar.evidence.given import BehaviorLike, is_estimate
from jumar.evidence.practice import Practice, practice_of
from jumar.evidence.rewards import RewardRange
from jumar.io.controllers import controller_of
from jumar.io.logs import LogLike
from jumar.io.project import seconds

DELTA = 0.05

LogFiles = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Progress = Callable[[int, int], None]  # rows that are done, and all


def improve(
    log: LogLike,
    behavior: BehaviorLike,
    *,
    discount: float,
    memory: Memory | None = None,
    algorithm: str | None = None,
    delta: float = DELTA,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    gate: str = PROVED,
    assume_memory: bool = False,
    seed: Seed = 1,
    unit: str = "",
    step_length: str | None = None,
    **parameters: object,
) -> Result:
    """Improve the behavior that produced a log.

    By default (``algorithm="auto"``) memory and policy are chosen from the data, and the choice is
    tested on episodes it was not learned from; if nothing passes, the behavior stays
    (`algorithms.auto`). Naming an algorithm, or giving one of its parameters (``n_wedge=20`` means
    SPIBB), improves without that test.

    Parameters
    ----------
    log
        What `read_logs` returns, a file, or a table of pandas, polars or pyarrow.
    behavior
        Who made the log: a controller or its file; several, as a sequence or a mapping by the names
        in the log's `behavior` column; "estimate", to estimate it from the log, which weakens every
        claim; or None, where the log has propensities.
    discount
        Weight of the next step against this one, in [0, 1).
    memory
        What the new controller may remember (with what the behavior remembers). Without it, what
        the behavior remembers, and for "auto" up to two observations more. With "estimate" the
        estimated behavior remembers it, and "auto" tries more.
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
    gate
        The test of "auto": "proved" holds for every number of episodes, "asymptotic" decides
        earlier and is right as the log grows.
    assume_memory
        Where nothing passes the test of "auto": judge long records under the assumption that a
        memory tells all that matters (`long_records`). The certificate names it, and the log may
        contradict it. Each of the two tests then has half of `delta`.
    seed
        A whole number or a generator. Deals the episodes of "auto" into halves.
    unit
        What rewards are counted in, as "EUR"; only for what people read.
    step_length
        How long a step takes, as "7d" or "12h": then the gain is also told per year.
    **parameters
        Those of the algorithm, as ``n_wedge=20``.

    Returns
    -------
    Result
        The new controller, the certificates, and everything that was counted.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=2000)
    >>> result = improve(log, behavior, discount=0.95)
    >>> result.certificate.bound, result.certificate.zeta < 0
    ('held-out', True)
    >>> result = improve(log, behavior, discount=0.95, n_wedge=50)
    >>> result.improvement.changed, result.certificate.bound, result.certificate.vacuous
    (2, 'data-dependent', False)
    """
    step_seconds = None if step_length is None else seconds(step_length)
    entry = algorithms.meant(algorithm, parameters)
    entry.check(parameters)
    practice = _checked(log, behavior, delta, rewards, memory)
    asked = memory
    if is_estimate(behavior) and entry.choice is not None:
        memory = None  # the behavior has it, and more is tried
    seed = seed_number(seed)
    problem = Problem(
        practice, discount, memory, delta, rewards, horizon, gate, assume_memory, seed
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
        mixed = practice.several and bool(practice.controllers) and not practice.estimated
        certificates = (kept_estimate(certificates[0], mixed),)
    return Result(
        improvement,
        material.counts,
        certificates,
        practice.log,
        problem.range,
        delta,
        found.selection,
        seed,
        practice,
        found.long,
        unit,
        step_seconds,
        asked,
    )


def select(
    log: LogLike,
    behavior: BehaviorLike,
    *,
    discount: float,
    memory: Memory | None = None,
    delta: float = DELTA,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    gate: str = PROVED,
    seed: Seed = 1,
) -> Selection:
    """What "auto" would choose, with all that was tried (`jumar.algorithms.auto`).

    Parameters
    ----------
    log
        As for `improve`.
    behavior
        As for `improve`.
    discount
        Weight of the next step against this one, in [0, 1).
    memory
        What the new controller may remember. Without it, up to two observations more than the
        behavior.
    delta
        Accepted chance that something worse passes the test.
    rewards
        What a step can pay. Without it, what the log shows.
    horizon
        The most steps of an episode or recording, where that is known.
    gate
        The test: "proved" or "asymptotic".
    seed
        A whole number or a generator. Deals the episodes into halves.

    Returns
    -------
    Selection
        Every candidate that was tested, and the one that was chosen, if any passed.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=2000)
    >>> select(log, behavior, discount=0.95).chosen.passed
    True
    """
    practice = _checked(log, behavior, delta, rewards, memory)
    if is_estimate(behavior):
        memory = None  # the behavior has it, and more is tried
    number = seed_number(seed)
    problem = Problem(practice, discount, memory, delta, rewards, horizon, gate=gate, seed=number)
    return choose(problem, delta)


def _checked(
    log: LogLike,
    behavior: BehaviorLike,
    delta: float,
    rewards: RewardRange | None,
    memory: Memory | None,
) -> Practice:
    """Who made the log, which does not contradict what is said of it."""
    check_delta(delta)
    if rewards is not None and not isinstance(rewards, RewardRange):
        raise ParameterError(
            f"rewards: {printable(repr(rewards)[:40])} is not a range of rewards. Pass for example "
            "RewardRange.constant(0, 1), or RewardRange((0, 1), ending=(-5, 5))."
        )
    if memory is not None and not isinstance(memory, Memory):
        raise ParameterError(
            f"memory: {printable(repr(memory)[:40])} is no memory. Pass for example window(2)."
        )
    window = memory if memory is not None and is_estimate(behavior) else CURRENT
    practice = practice_of(log, behavior, memory=window)
    if rewards is not None:
        check_rewards(practice.log, rewards)
    return practice


def improve_logs(
    logs: LogFiles,
    behavior: Controller | str | os.PathLike[str],
    *,
    discount: float,
    memory: Memory | None = None,
    delta: float = DELTA,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    seed: Seed = 1,
    unit: str = "",
    step_length: str | None = None,
    engine: str = "here",
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    sort: bool = False,
    **reading: Any,
) -> Result:
    """Improve the behavior that produced a log of any size, which is read twice and never held.

    The same as `improve` with ``algorithm="auto"`` and the proved gate. Every episode is counted,
    and every episode is held out once. Checks and redrawn logs look at a sample.

    Parameters
    ----------
    logs
        A file, a folder, a pattern such as ``"logs/*.parquet"``, an address such as
        ``"s3://bucket/logs"``, or several of them; sorted by episode, then by step, or see `sort`.
    behavior
        The one controller that made the logs, or its file.
    discount, memory, delta, rewards, horizon, seed, unit, step_length
        As for `improve`.
    engine
        Who does the work: "here" (threads), "processes", or "dask".
    jobs
        How many shards at once; all cores by default.
    scheduler
        The address of a running Dask cluster.
    progress
        Called with the rows that are done, and all.
    sort
        Rows lie anywhere: sort them first, on disk, which needs DuckDB
        (``pip install 'jumar[duckdb]'``).
    **reading
        How the logs are written, as for `read_logs`: ``columns=``, ``ends=``, ``bins=``.

    Returns
    -------
    Result
        As `improve` does; its log is the sample.

    Examples
    --------
    >>> import tempfile, os
    >>> from jumar import Controller, models, simulate, write_logs
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(3):
    ...         log = simulate(tiger, behavior, episodes=1000, seed=i)
    ...         write_logs(log, os.path.join(folder, f"day-{i}.parquet"))
    ...     improve_logs(folder, behavior, discount=0.95, each_file=True).certificate.bound
    'held-out'
    """
    from jumar.algorithms.auto.dealing import key_of, salt_of
    from jumar.algorithms.auto.outcome import certificate_of, improvement_of
    from jumar.algorithms.auto.streamed import longest_memory, shortlists
    from jumar.algorithms.auto.streamed.passes import LogInParts, score, survey
    from jumar.evidence.consistency import check_counted
    from jumar.large.counting import SHARD_ROWS, prepared
    from jumar.large.reading import typical_length

    step_seconds = None if step_length is None else seconds(step_length)
    check_delta(delta)
    check_discount(discount)
    old = controller_of(behavior)
    number = seed_number(seed)
    workers: dict[str, Any] = {"engine": engine, "jobs": jobs, "scheduler": scheduler}
    workers["progress"] = progress
    with prepared(logs, old, sort=sort, **reading) as work:
        job = replace(work, memory=longest_memory(old, memory))
        log = LogInParts(
            job,
            tuple(job.plan.shards(SHARD_ROWS, jobs)),
            key_of(salt_of(generator(number, "selection"))),
            discount,
            typical_length(job.plan, job.reading),
        )
        found = survey(log, **workers)
        facts = found.first.tally.facts
        check_counted(found.whole.counts, old, facts.rewards, rewards)
        lists = shortlists(
            found.first,
            old,
            discount=discount,
            memory=memory,
            delta=delta,
            rewards=rewards,
            horizon=horizon,
        )
        selection = lists.conclude(score(log, lists.scoring, **workers))
    used = selection.chosen.setting.memory if selection.chosen else old.memory
    counts = found.whole.counts.coarsen(used)
    seen = job.reading.as_log(found.looked_at.episodes, job.plan)
    practice = practice_of(seen, old)
    improvement = improvement_of(selection, old, counts.mle(discount))
    paid = rewards or facts.rewards
    test = certificate_of(
        selection,
        practice=practice,
        value_range=scale_of(used, paid, discount).value_range,
        seed=number,
        estimated=old.estimated,
    )
    return Result(
        improvement,
        counts,
        (test,),
        seen,
        paid,
        delta,
        selection,
        number,
        practice,
        None,
        unit,
        step_seconds,
        memory,
        improvement_of(selection, old, count(practice.replays, used).mle(discount)),
    )
