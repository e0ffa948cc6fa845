"""The main job: a log and the controller that made it in, a better controller out.

log -> align names -> check that the behavior could have done it -> replay and count
    -> estimate -> improve -> certify
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import fields
from typing import Any, Literal, NamedTuple

from jumar import algorithms, options
from jumar.algorithms.certifying import certificates_of
from jumar.algorithms.entry import Algorithm
from jumar.algorithms.problem import Outcome, Problem
from jumar.core.errors import ParameterError
from jumar.core.randomness import Seed, generator, seed_number
from jumar.core.text import printable
from jumar.evidence.bounds import check_delta
from jumar.evidence.certificate import kept_estimate, up_to_the_cut
from jumar.evidence.consistency import check_rewards
from jumar.evidence.estimation import CURRENT
from jumar.evidence.gains import most_gain
from jumar.evidence.given import BehaviorLike, is_estimate
from jumar.evidence.practice import Practice, practice_of
from jumar.evidence.rewards import RewardRange
from jumar.gate import Selection, dealt_log
from jumar.gate.dealt_log import DealtLog
from jumar.gate.entry import choose
from jumar.gate.facts import facts_of
from jumar.gate.makers import CandidatesLike, Makers, makers_of
from jumar.gate.objectives import Keep, KeepLike, keeps_of
from jumar.gate.selecting import LEARN
from jumar.log.formats import is_dataset
from jumar.log.reading import LogFiles
from jumar.memory import Memory
from jumar.pipeline.by_counts import of_counts
from jumar.pipeline.large_logs import SeenInSample, check_held, is_large, surveyed
from jumar.pipeline.signals import seen_by
from jumar.policy.controller import Controller
from jumar.policy.files import controller_of
from jumar.project import seconds
from jumar.solve.simplifying import share_of
from jumar.tally.counted import Counted
from jumar.tally.history import check_discount
from jumar.tally.replay import LogLike
from jumar.verdict.result import Result

DELTA = 0.05


def improve(
    log: LogLike | Counted,
    behavior: BehaviorLike,
    *,
    discount: float,
    memory: Memory | Literal["learn"] | None = None,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    objective: str | None = None,
    keep: KeepLike | None = None,
    algorithm: str | None = None,
    candidates: CandidatesLike | None = None,
    delta: float = DELTA,
    seed: Seed = 1,
    **more: Any,
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
    memory
        What the new controller may remember, as ``window(2)``; or "learn". (All keywords are
        those of `Options`, which says more about each.)
    rewards
        What a step can pay, where that is known.
    horizon
        The most steps of an episode, where that is known.
    objective
        The signal, or column, that must get better, in place of the reward.
    keep
        Signals, or columns, that must not get worse.
    algorithm
        A name from `jumar algorithms`; "auto" by default.
    candidates
        Who makes what "auto" tests: names of algorithms, or a function of your own.
    delta
        Accepted chance that the certificate is wrong.
    seed
        A whole number or a generator.
    **more
        The other `Options`: `gate`, `simplify`, `unit`, `step_length`, `thorough`; and parameters
        of the algorithm, as ``n_wedge=20``.

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
    others = {field.name for field in fields(options.Options)} & {*more}
    asked = options.Options(
        discount=discount,
        memory=memory,
        rewards=rewards,
        horizon=horizon,
        objective=objective,
        keep=keep,
        algorithm=algorithm,
        candidates=candidates,
        delta=delta,
        seed=seed,
        **{name: more.pop(name) for name in others},
    )
    if isinstance(log, Counted):
        return of_counts(log, behavior, asked, more)
    return _improve(log, behavior, asked, more)


def _improve(
    log: LogLike, behavior: BehaviorLike, given: options.Options, parameters: dict[str, Any]
) -> Result:
    length = given.step_length
    step_seconds = None if length is None else seconds(length)
    entry = algorithms.meant(given.algorithm, parameters)
    entry.check(parameters)
    asked = _asked(given)
    if asked.learn_memory and entry.choice is None:
        raise ParameterError(
            f'memory: "learn" goes with algorithm="auto", which tests what is learned; '
            f"{entry.name} would use the same log twice. Leave the algorithm out, or learn the "
            "memory from an earlier log: memory=learn_memory(earlier, behavior)."
        )
    with ExitStack() as kept:
        problem = _problem(log, behavior, asked, entry, kept)
        found = entry.run(problem, **parameters)
        return _result(problem, found, asked, unit=given.unit, step_seconds=step_seconds)


def select(
    log: LogLike,
    behavior: BehaviorLike,
    *,
    discount: float,
    **more: Any,
) -> Selection:
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
        The other `Options`, as ``delta=0.1``.

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
    asked = _asked(options.Options(discount=discount, **more))
    with ExitStack() as kept:
        return choose(_problem(log, behavior, asked, algorithms.algorithm("auto"), kept))


class _Asked(NamedTuple):
    """What is asked of a log."""

    discount: float
    memory: Memory | None
    delta: float
    rewards: RewardRange | None
    horizon: int | None
    gate: str
    seed: int
    simplify: float | None
    objective: str | None
    keeps: tuple[Keep, ...]
    makers: Makers | None
    learn_memory: bool
    thorough: bool


def _problem(
    log: LogLike, behavior: BehaviorLike, asked: _Asked, entry: Algorithm, kept: ExitStack
) -> Problem:
    """The log, read at once or, if it is large, in parts, and what is asked of it."""
    _check(asked)
    check_discount(asked.discount)
    dealt = None
    files = LogFiles(log) if isinstance(log, str | os.PathLike) or is_dataset(log) else log
    if isinstance(files, LogFiles) and is_large(files):
        why = _takes_all(behavior, asked, entry)
        if why:
            check_held(files, why)
        else:
            dealt = surveyed(
                files,
                controller_of(behavior),  # type: ignore[arg-type]
                memory=asked.memory,
                discount=asked.discount,
                rewards=asked.rewards,
                seed=asked.seed,
                kept=kept,
            )
    if dealt is None:
        practice = _practice(seen_by(log, asked.objective, asked.keeps), behavior, asked)
        if entry.choice is not None and practice.log.n_steps > dealt_log.LARGE:
            # as large as one that is read in parts, and treated alike
            rng = generator(asked.seed, "selection")
            dealt = DealtLog.of(practice, rng, asked.discount)
    else:
        practice = dealt.practice
    return Problem(
        practice,
        asked.discount,
        # of an estimated behavior: it has it, and more is tried
        None if is_estimate(behavior) and entry.choice is not None else asked.memory,
        asked.delta,
        asked.rewards,
        asked.horizon,
        asked.gate,
        asked.seed,
        asked.simplify,
        asked.keeps,
        asked.objective or "",
        asked.makers,
        asked.learn_memory,
        dealt,
        asked.thorough,
    )


def _takes_all(behavior: BehaviorLike, asked: _Asked, entry: Algorithm) -> str:
    """What takes all episodes of a log at once, as an option; nothing if nothing does."""
    if entry.choice is None:
        return f"algorithm={entry.name!r} (--algorithm)"
    if asked.keeps:
        return "keep (--keep)"
    if asked.objective is not None:
        return "objective (--objective)"
    if asked.learn_memory:
        return 'memory="learn" (--learn-memory)'
    if is_estimate(behavior) or not isinstance(behavior, Controller | str | os.PathLike):
        return "a behavior that is not one controller (--policy)"
    return ""


def _result(
    problem: Problem,
    found: Outcome,
    asked: _Asked,
    *,
    unit: str,
    step_seconds: float | None,
) -> Result:
    """What came of it, with all that may be said."""
    improvement, material, practice, dealt = (
        found.improvement,
        found.material,
        problem.practice,
        problem.dealt,
    )
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
        certificates = (found.test, *(() if asked.learn_memory else others))
    if problem.copied and improvement.changed == 0:
        mixed = practice.several and bool(practice.controllers) and not practice.estimated
        certificates = (kept_estimate(certificates[0], mixed),)
        kept = tuple(kept_estimate(certificate, mixed) for certificate in kept)
    sampled = None
    if dealt is not None and found.selection is not None:
        practice = dealt.looked_at
        used = found.selection, practice.pooled, practice.replays, material.memory, asked.discount
        sampled = SeenInSample(*used)
    return Result(
        improvement,
        material.counts,
        certificates,
        practice.log,
        problem.range,
        asked.delta,
        found.selection,
        asked.seed,
        practice,
        unit,
        step_seconds,
        asked.memory,
        sampled,
        simplified=found.simplified,
        kept=kept,
    )


def _asked(given: options.Options) -> _Asked:
    """What is asked, in the types of those who do it."""
    learn, memory = _learned(given.memory)
    return _Asked(
        given.discount,
        memory,
        given.delta,
        given.rewards,
        given.horizon,
        given.gate,
        seed_number(given.seed),
        share_of(given.simplify),
        given.objective,
        keeps_of(given.keep),
        makers_of(given.candidates),
        learn,
        given.thorough,
    )


def _learned(memory: Memory | str | None) -> tuple[bool, Memory | None]:
    """Is a memory to be learned? And the one that was given."""
    if not isinstance(memory, str):
        return False, memory
    if memory != LEARN:
        raise ParameterError(
            f'memory: {printable(repr(memory)[:40])} is no memory. Pass "learn", or for example '
            "window(2)."
        )
    return True, None


def _check(asked: _Asked) -> None:
    """Refuse what makes no sense for any log."""
    check_delta(asked.delta)
    rewards, memory = asked.rewards, asked.memory
    if rewards is not None and not isinstance(rewards, RewardRange):
        raise ParameterError(
            f"rewards: {printable(repr(rewards)[:40])} is not a range of rewards. Pass for example "
            "RewardRange.constant(0, 1), or RewardRange((0, 1), ending=(-5, 5))."
        )
    if memory is not None and not isinstance(memory, Memory):
        raise ParameterError(
            f"memory: {printable(repr(memory)[:40])} is no memory. Pass for example window(2)."
        )


def _practice(log: LogLike, behavior: BehaviorLike, asked: _Asked) -> Practice:
    """Who made the log, which does not contradict what is said of it."""
    window = asked.memory if asked.memory is not None and is_estimate(behavior) else CURRENT
    practice = practice_of(log, behavior, memory=window)
    if asked.rewards is not None:
        check_rewards(practice.log, asked.rewards)
    return practice
