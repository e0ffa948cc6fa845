"""The main job on logs of any size: they are read in parts, once or twice, and never held."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from jumar.assessment.result import Result
from jumar.core.arrays import Frozen
from jumar.core.controller import Controller
from jumar.core.errors import ParameterError
from jumar.core.history import check_discount
from jumar.core.memory import Memory
from jumar.core.randomness import Seed, generator, seed_number
from jumar.core.replay import Replays, count
from jumar.evidence.bounds import check_delta
from jumar.evidence.consistency import check_counted
from jumar.evidence.practice import practice_of
from jumar.evidence.rewards import RewardRange
from jumar.io.controllers import controller_of
from jumar.io.project import seconds
from jumar.pipeline import DELTA

if TYPE_CHECKING:
    from jumar.algorithms.auto.makers import CandidatesLike
    from jumar.algorithms.auto.trials import Selection
    from jumar.core.improvement import Improvement
    from jumar.large.shards import LogSource

LogFiles: TypeAlias = "LogSource | Sequence[LogSource]"
Progress = Callable[[int, int], None]  # rows that are done, and all


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
    thorough: bool = False,
    simplify: bool | float = False,
    candidates: CandidatesLike | None = None,
    **reading: Any,
) -> Result:
    """Improve the behavior that produced a log of any size, which is read in parts and never held.

    The same as `improve` with ``algorithm="auto"`` and the proved gate. Every episode is counted,
    and every episode is held out once: the test bets on one after the other, begins with some
    thousands that were kept, and reads the log again only where these leave the choice open.
    Checks look at a sample.

    Parameters
    ----------
    logs
        A file, a folder, a pattern such as ``"logs/*.parquet"``, an address such as
        ``"s3://bucket/logs"``, a ``pyarrow.dataset``, or several of them; sorted by episode, then
        by step.
    behavior
        The one controller that made the logs, or its file.
    discount
        Weight of the next step against this one, in [0, 1).
    memory
        What the new controller may remember; up to two observations more than the behavior if it is
        not given.
    delta
        Accepted chance that something worse passes the test.
    rewards
        What a step can pay. Without it, what the logs show.
    horizon
        The most steps of an episode or recording, where that is known.
    seed
        A whole number or a generator. Deals the episodes into halves.
    unit
        What rewards are counted in, as "EUR".
    step_length
        How long a step takes, as "7d".
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
    thorough
        Test on all held-out episodes, even where the first ones decide. What passes passes
        anyway; the lower bound on its gain comes closer to the gain.
    simplify
        As for `improve`.
    candidates
        As for `improve`. Only counts of the log are at hand: what some algorithms learn from single
        episodes they then learn from the model, and `strict` cannot learn at all. A function is
        called in this process.
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
    from jumar.algorithms.auto.makers import makers_of
    from jumar.algorithms.auto.outcome import certificate_of, improvement_of
    from jumar.algorithms.auto.streamed import longest_memory, shortlists
    from jumar.algorithms.auto.streamed.passes import LogInParts, score, survey
    from jumar.large.counting import SHARD_ROWS, prepared
    from jumar.large.reading import ReadGenerally, typical_length

    step_seconds = None if step_length is None else seconds(step_length)
    if reading.get("keep"):
        raise ParameterError(
            "keep: a log that is read in parts has one reward. Read all files at once, if they fit "
            "into memory: jumar.improve(jumar.read_logs(FOLDER, ...), ..., keep=...)."
        )
    if reading.pop("objective", None) is not None:
        raise ParameterError(
            "objective: a log that is read in parts has one reward. Say which column it is: "
            'columns={"reward": COLUMN}; with cost=True, if it holds costs.'
        )
    reading.pop("keep", None)
    check_delta(delta)
    check_discount(discount)
    makers = makers_of(candidates)
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
        try:
            found = survey(log, **workers)
        except ReadGenerally:
            log = log.generally()
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
            simplify=simplify,
            candidates=makers,
        )
        held_out = lists.score_first(found.first.held, jobs)
        if lists.undecided(held_out, thorough=thorough):
            held_out = score(log, lists.scoring, **workers)
        elif progress is not None:
            progress(2 * log.rows, 2 * log.rows)
        selection = lists.conclude(held_out)
    used = selection.chosen.setting.memory if selection.chosen else old.memory
    counts = found.whole.counts.coarsen(used)
    seen = job.reading.as_log(found.first.looked_at.episodes, job.plan)
    practice = practice_of(seen, old)
    improvement = improvement_of(selection, old, counts.mle(discount))
    paid = rewards or facts.rewards
    test = certificate_of(
        selection,
        practice=practice,
        seed=number,
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
        unit,
        step_seconds,
        memory,
        _SeenInSample(selection, old, practice.replays, used, discount),
        selection.chosen.simplified if selection.chosen else None,
    )


@dataclass(frozen=True, eq=False)
class _SeenInSample(Frozen):
    """The improvement as a sample of the log shows it, made once somebody asks. It can be pickled,
    as all of a result can."""

    selection: Selection
    behavior: Controller
    replays: Replays
    memory: Memory
    discount: float

    def __call__(self) -> Improvement:
        return self._made

    @cached_property
    def _made(self) -> Improvement:
        from jumar.algorithms.auto.outcome import improvement_of

        mdp = count(self.replays, self.memory).mle(self.discount)
        return improvement_of(self.selection, self.behavior, mdp)
