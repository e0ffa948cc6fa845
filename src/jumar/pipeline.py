"""The main job: a log and the controller that made it in, a better controller out.

log -> align names -> check that the behavior could have done it -> replay and count
    -> estimate -> improve -> certify

Logs too large to be held are counted where they lie. By counts alone nothing is tested; the
published bounds are what is promised.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from jumar import algorithms, options
from jumar.algorithms.certifying import certificates_of, published_of
from jumar.algorithms.entry import Algorithm
from jumar.algorithms.problem import Outcome, Problem
from jumar.core.errors import CountsError, ParameterError
from jumar.core.names import other_names
from jumar.core.randomness import generator, seed_number
from jumar.core.resources import check_room
from jumar.core.text import printable
from jumar.evidence import offpolicy
from jumar.evidence.bounds import check_delta
from jumar.evidence.certificate import kept_estimate, up_to_the_cut
from jumar.evidence.checking import check
from jumar.evidence.consistency import check_counted, check_rewards
from jumar.evidence.estimation import CURRENT
from jumar.evidence.offpolicy import Estimate, best_of
from jumar.evidence.practice import BehaviorLike, is_estimate, practice_of
from jumar.evidence.rewards import RewardRange, most_gain
from jumar.gate import Selection, dealing
from jumar.gate.bench import chain
from jumar.gate.dealing import DealtLog, facts_of, key_of, salt_of
from jumar.gate.selecting import LEARN, MORE_MEMORY, choose, terms_of
from jumar.log.addresses import as_typed
from jumar.log.episodes import SIGNAL, Episodes
from jumar.log.files import LogFile, dataset_files, files_of, is_several
from jumar.log.formats import is_dataset
from jumar.log.reading import LogFiles
from jumar.log.reading.options import READING
from jumar.log.shards.plan import BYTES_OF_A_ROW, PARQUET, rows_of_parquet
from jumar.memory import Memory
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.policy.files import ControllerLike, controller_of
from jumar.project import seconds
from jumar.solve.simplifying import share_of, simplified
from jumar.tally.counted import Counted
from jumar.tally.replay import LogLike, Replays, log_of, told_log
from jumar.verdict.result import Result
from jumar.verdict.verdicts import Failure, failures

# what takes episodes, as a keyword and as it is typed
NEED_EPISODES = {
    "objective": "--objective",
    "keep": "--keep",
    "candidates": "--candidates",
    "horizon": "--horizon",
    "thorough": "--thorough",
}

BYTES_OF_PACKED = 4  # of a row of Parquet, of which one would have to read the end
BYTES_OF_A_STEP = 100  # in memory, while a log is read and replayed


def improve(
    log: LogLike | Counted, behavior: BehaviorLike, *, discount: float, **more: Any
) -> Result:
    """Improve the behavior that produced a log.

    By default (``algorithm="auto"``) memory and policy are chosen from the data, and the choice is
    tested on episodes it was not learned from; if nothing passes, the behavior stays
    (`gate`). Naming an algorithm, or giving one of its parameters (``n_wedge=20`` means
    SPIBB), improves without that test.

    Parameters
    ----------
    log
        What `read_logs` returns, a file or a folder, a table of pandas, polars or pyarrow, or
        `LogFiles`, which say how they are written. Files of more than 10 million steps are counted
        where they lie, and not held; then the log of the result is a sample. Or counts
        (`count_logs`, `load_counts`), from which a named algorithm learns, "spibb" by default:
        nothing is tested then, and the published bounds are what is promised.
    behavior
        Who made the log: a controller or its file; several, as a sequence or a mapping by the names
        in the log's `behavior` column; "estimate", to estimate it from the log, which weakens every
        claim; or None, where the log has propensities.
    discount
        Weight of the next step against this one, in [0, 1).
    **more
        The other fields of `Options`, which says what each means: ``memory=window(2)``,
        ``delta=0.1``, ``keep=["safety"]``. Of a file or table also how it is read, as for
        `read_logs`: ``episode="call", reward="score", ends="cut"``. And parameters of the
        algorithm: ``n_wedge=20``.

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
    known = [field.name for field in fields(options.Options)]
    given = {name: more.pop(name) for name in known if name in more}
    asked = options.Options(discount=discount, **given)
    if isinstance(log, Counted):
        return _of_counts(log, behavior, asked, more)
    log = told_log(log, more, whole=False)
    step_seconds = None if asked.step_length is None else seconds(asked.step_length)
    entry = algorithms.meant(asked.algorithm, more, (*known, *READING))
    entry.check(more)
    with ExitStack() as kept:
        problem = _problem(log, behavior, asked, entry, kept)
        found = entry.run(problem, **more)
        return _result(problem, found, asked, step_seconds)


def select(log: LogLike, behavior: BehaviorLike, *, discount: float, **more: Any) -> Selection:
    """What "auto" would choose, with all that was tried (`jumar.gate`).

    Parameters
    ----------
    log
        As for `improve`.
    behavior
        As for `improve`.
    discount
        Weight of the next step against this one, in [0, 1).
    **more
        The other fields of `Options`, as ``delta=0.1``; of a file or table, how it is read.

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
    log = told_log(log, more, whole=False)
    asked = options.Options(discount=discount, **more)
    with ExitStack() as kept:
        problem = _problem(log, behavior, asked, algorithms.algorithm("auto"), kept)
        return choose(problem, generator(problem.seed, "selection"))


def estimate(
    log: LogLike, new: ControllerLike, behavior: BehaviorLike, *, discount: float, **more: Any
) -> Estimate:
    """What a new policy is worth, from a log that another one made, as `jumar estimate` tells it.

    Parameters
    ----------
    log
        As for `improve`.
    new
        The policy to judge, or its file. It must not have been chosen by this log.
    behavior
        Who made the log, as for `improve`.
    discount
        Weight of the next step against this one, in [0, 1].
    **more
        The other keywords of `offpolicy.estimate`, as ``difference=True`` for how much better it is
        than the behavior. Of a file or table also how it is read, as for `read_logs`.

    Returns
    -------
    Estimate
        By the estimator that is named, or else the best that may be shown. Its number is shown only
        where the log passes the checks of `check`.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> cautious = Controller.constant(tiger.observations, tiger.actions, [0.25, 0.25, 0.5])
    >>> log = simulate(tiger, behavior, episodes=2000)
    >>> print(estimate(log, cautious, behavior, discount=0.95, difference=True).verdict)
    Better than the behavior by at least ... (asymptotic, nominally 5 % chance of error).
    """
    return best_of(estimates(log, new, behavior, discount=discount, **more))


def estimates(
    log: LogLike, new: ControllerLike, behavior: BehaviorLike, *, discount: float, **more: Any
) -> list[Estimate]:
    """The same by every estimator, where none is named."""
    new, seed = controller_of(new), seed_number(more.pop("seed", 1))
    words = {name: more.pop(name) for name in READING if name in more}
    held = Replays.of(log_of(told_log(log, words), new))
    settings: dict[str, Any] = {"discount": discount, "seed": seed, **more}
    if more.get("estimator") is None:
        settings.pop("estimator", None)
        found = [*offpolicy.estimate_all(held, new, behavior, **settings).values()]
    else:
        found = [offpolicy.estimate(held, new, behavior, **settings)]
    wrong = doubt(held, behavior, discount, seed)
    return [replace(item, doubt=wrong.said) for item in found] if wrong else found


def doubt(log: LogLike, behavior: BehaviorLike, discount: float, seed: int) -> Failure | None:
    """What is wrong with a log and what to do, by the checks of `jumar check` and `jumar improve`;
    None where nothing is wrong."""
    found = check(log, behavior, discount=discount, seed=seed)
    return next(iter(failures(found, found.notices)), None)


def _problem(
    log: LogLike,
    behavior: BehaviorLike,
    asked: options.Options,
    entry: Algorithm,
    kept: ExitStack,
) -> Problem:
    """The log, read at once or, if it is large, in parts, and what is asked of it."""
    if asked.memory == LEARN and entry.choice is None:
        raise ParameterError(
            f'memory: "learn" goes with algorithm="auto", which tests what is learned; '
            f"{entry.name} would use the same log twice. Leave the algorithm out, or learn the "
            "memory from an earlier log: memory=learn_memory(earlier, behavior)."
        )
    terms = {**terms_of(asked), "seed": seed_number(asked.seed)}
    memory, seed = terms["memory"], terms["seed"]
    files = LogFiles(log) if isinstance(log, str | os.PathLike) or is_dataset(log) else log
    if isinstance(files, LogFiles) and is_large(files):
        why = _takes_all(behavior, asked, entry)
        if why:
            _check_held(files, why)
        else:
            controller = controller_of(behavior)  # type: ignore[arg-type]
            dealt = _surveyed(files, controller, memory, asked, seed, kept)
            if dealt is not None:
                return Problem(dealt.practice, dealt=dealt, **terms)
    estimate, dealt = is_estimate(behavior), None
    seen = _seen_by(log, asked.objective, [keep.signal for keep in terms["keeps"]])
    practice = practice_of(seen, behavior, memory=memory if memory and estimate else CURRENT)
    if asked.rewards is not None:
        check_rewards(practice.log, asked.rewards)
    if estimate and entry.choice is not None:
        terms["memory"] = None  # the behavior has it, and more is tried
    if entry.choice is not None and practice.log.n_steps > dealing.LARGE:
        # as large as one that is read in parts, and treated alike
        dealt = DealtLog.of(practice, generator(seed, "selection"), asked.discount)
    return Problem(practice, dealt=dealt, **terms)


def _seen_by(log: LogLike, objective: str | None, kept: Sequence[str]) -> LogLike:
    """The log with the objective as its reward. Of a file or table, the columns of the signals to
    keep are read as well."""
    if objective is None and not kept:
        return log
    if objective is not None and (not isinstance(objective, str) or not objective):
        raise ParameterError(f"objective: {objective!r} is not the name of a signal.")
    if isinstance(log, Replays):
        log = log.log
    if isinstance(log, Episodes):
        return log if objective is None else log.with_reward(objective)
    columns = {SIGNAL + signal: signal for signal in kept}
    if objective is not None:
        columns["reward"] = objective
    return log_of(log, columns=columns)


def _takes_all(behavior: BehaviorLike, asked: options.Options, entry: Algorithm) -> str:
    """What takes all episodes of a log at once, as an option; nothing if nothing does."""
    if entry.choice is None:
        return f"algorithm={entry.name!r} (--algorithm)"
    if asked.keep:
        return "keep (--keep)"
    if asked.objective is not None:
        return "objective (--objective)"
    if asked.memory == LEARN:
        return 'memory="learn" (--learn-memory)'
    if is_estimate(behavior) or not isinstance(behavior, Controller | str | os.PathLike):
        return "a behavior that is not one controller (--policy)"
    return ""


def _result(
    problem: Problem, found: Outcome, asked: options.Options, step_seconds: float | None
) -> Result:
    """What came of it, with all that may be said."""
    improvement, material, dealt = found.improvement, found.material, problem.dealt
    practice, learned = problem.practice, problem.learn_memory
    if dealt is None:
        most = most_gain(practice.log, problem.range, asked.discount)
    else:
        assert found.selection is not None  # it is not done but to test
        most = max(0.0, found.selection.most)
    certificates = certificates_of(
        improvement, material, delta=asked.delta, copied=problem.copied, most=most
    )
    facts = facts_of(practice.log) if dealt is None else dealt.facts.facts
    if facts.cut:
        certificates = up_to_the_cut(
            certificates,
            discount=asked.discount,
            shortest=facts.shortest_cut,
            longest=facts.longest_cut if facts.cut == facts.episodes else None,
        )
    kept = found.kept
    if found.test is not None:
        others = [c for c in certificates if c.bound != "unchanged"]
        # bounds hold for a memory that was there before the log
        certificates = (found.test, *(() if learned else others))
    if problem.copied and improvement.changed == 0:
        mixed = practice.several and bool(practice.controllers) and not practice.estimated
        certificates = (kept_estimate(certificates[0], mixed),)
        kept = tuple(kept_estimate(certificate, mixed) for certificate in kept)
    if dealt is not None:
        practice = dealt.looked_at
    return Result(
        improvement,
        material.counts,
        certificates,
        practice.log,
        problem.range,
        asked.delta,
        found.selection,
        problem.seed,
        practice,
        asked.unit,
        step_seconds,
        asked.memory if isinstance(asked.memory, Memory) else None,
        sampled=dealt is not None,
        simplified=found.simplified,
        kept=kept,
    )


# ---- logs too large to be held ------------------------------------------------------------------


def is_large(files: LogFiles) -> bool:
    """Are these files likely to have more steps than are held?"""
    return _rows_of(files) > dealing.LARGE


def _rows_of(files: LogFiles) -> int:
    """How many there are, more or less, without reading any."""
    found: list[LogFile] = []
    for source in files.listed:
        if is_dataset(source):
            found += dataset_files(source)
            continue
        if not isinstance(source, str | os.PathLike):
            continue  # a table, which is in memory already
        text = as_typed(str(source))
        if Path(text).is_file():
            found.append(LogFile(text, "", Path(text).stat().st_size))
        elif "://" in text or is_several(text):  # else a pipe, or a dataset that has a name
            found += files_of(text, files.reading.get("file_format"))
    rows = 0
    for file in found:
        path = Path(file.name)
        if path.suffix == ".parquet" and path.is_file():
            rows += rows_of_parquet(path)
        else:
            rows += file.size // (BYTES_OF_PACKED if file.kind == PARQUET else BYTES_OF_A_ROW)
    return rows


def _check_held(files: LogFiles, why: str) -> None:
    """Refuse to hold what the machine has no room for."""
    rows = _rows_of(files)
    check_room(
        f"{why}: this takes every one of {rows:,} steps at once",
        rows * BYTES_OF_A_STEP,
        "Leave it out, and the log is read in parts; or use fewer files.",
    )


def _surveyed(
    files: LogFiles,
    behavior: Controller,
    memory: Memory | None,
    asked: options.Options,
    seed: int,
    kept: ExitStack,
) -> DealtLog | None:
    """The log, read once in parts; None where it is not large after all. What is `kept` must last
    as long as the log is asked for anything."""
    from jumar.gate.surveying import LogInParts, survey
    from jumar.log.shards.reading import ReadGenerally, typical_length
    from jumar.tally.counting import SHARD_ROWS, prepared

    work = kept.enter_context(
        prepared(files.listed, behavior, sort=files.sort, **dict(files.reading))
    )
    job = replace(work, memory=chain(behavior.memory, memory, MORE_MEMORY)[-1])
    log = LogInParts(
        job,
        tuple(job.plan.shards(SHARD_ROWS, files.jobs)),
        key_of(salt_of(generator(seed, "selection"))),
        asked.discount,
        typical_length(job.plan, job.reading),
    )
    try:
        found = survey(log, **files.workers)
    except ReadGenerally:
        found = survey(log.generally(), **files.workers)
    if found.facts.n_steps <= dealing.LARGE:
        return None
    if files.progress is not None:  # what comes first may decide, and the rest is not read again
        kept.callback(files.progress, 2 * log.rows, 2 * log.rows)
    check_counted(found.whole.counts, behavior, found.facts.facts.rewards, asked.rewards)
    return found.dealt(behavior, **files.workers)


# ---- counts alone -------------------------------------------------------------------------------


def _of_counts(
    counted: Counted, behavior: Any, given: options.Options, parameters: dict[str, Any]
) -> Result:
    """Improve a behavior by counts alone, with a named algorithm: "spibb" where none is named."""
    check_delta(given.delta)
    old, memory = controller_of(behavior), given.memory
    entry = algorithms.meant(given.algorithm, parameters)
    if entry.improve is None or entry.needs:
        if given.algorithm is not None:
            raise ParameterError(
                f"algorithm: {entry.name} needs the episodes of a log, and counts have none. Use "
                "spibb, or give the log."
            )
        entry = algorithms.algorithm("spibb")
    entry.check(parameters)
    asked = [typed for name, typed in NEED_EPISODES.items() if getattr(given, name)]
    if asked or isinstance(memory, str):
        option = asked[0] if asked else "--learn-memory"
        raise ParameterError(
            f"{option}: that takes the episodes of a log, and counts have none: nothing is tested "
            "on them. Leave it out, or give the log."
        )
    share = share_of(given.simplify)
    for kind in other_names(counted, old):
        raise CountsError(
            f"The counts have other {kind} than {printable(old.name)}. Count with this controller."
        )
    whole, facts = counted.counts, counted.facts
    if not whole.starts.any():
        raise CountsError(
            "The counts are of no episode, so there is nothing to learn. Merge them with those of "
            "the other parts of the log."
        )
    if isinstance(memory, Memory):
        whole = counted.over(join(old.memory, memory.on(*old.memory.alphabet)))
    seen = RewardRange(
        facts.rewards or facts.ending_rewards or (0.0, 0.0), facts.ending_rewards, declared=False
    )
    check_counted(whole, old, seen, given.rewards)
    assert entry.improve is not None
    improvement, told = entry.improve(whole.mle(given.discount), old, **parameters), None
    if share is not None:
        improvement, told = simplified(improvement, share)
    paid = given.rewards or seen
    low, high = paid.returns(given.discount)
    certificates = published_of(improvement, whole, paid, delta=given.delta, most=high - low)
    if facts.lengths_cut.shortest:
        certificates = up_to_the_cut(
            certificates,
            discount=given.discount,
            shortest=facts.lengths_cut.shortest,
            longest=None if facts.ended else facts.lengths_cut.longest,
        )
    return Result(
        improvement, whole, certificates, None, paid, given.delta, unit=given.unit, simplified=told
    )
