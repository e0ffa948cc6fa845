"""Choosing memory and policy from the data, and the gate before deployment: `auto`.

The episodes are dealt into two halves by a hash of their label (`dealing`). On each half candidates
are fitted (`candidates`) and a shortlist is drawn up by what that half alone lets expect of the
test. The shortlist is tested on the other half (`halves`), each way at level δ/2, so that the
chance that anything worse than the behavior passes is at most δ in all. Of what passes, the one
that held-out scores and a model of held-out episodes think best is chosen; if nothing does, the
behavior stays.

There are two gates. The *proved* one (`proved`, the default) holds for every number of episodes,
every weight and every environment; it needs to know what returns are possible. The *asymptotic* one
(`asymptotic`) decides earlier and is right as the log grows. No step of either assumes that the
memory suffices: if it does not, models are wrong, candidates are bad, and held-out episodes say so.
Of recordings that were cut off both speak of the return up to the cut.

Where all episodes have one length, and what steps pay is read off the log too, rewards are counted
from their mean in the half that is learned from: a constant that every step pays more changes no
comparison, and so it changes no choice.

Which of the candidates that passed is handed over, no promise depends on: all of them passed. It is
what promises most by held-out episodes (`Trial.merit`); where fewer changes were asked for, the one
with the fewest of those that promise nearly as much. A memory that was learned is another matter.
It was chosen to foretell what the behavior brought about, and judged by models that remember even
more it looks better than it is. So there every candidate is judged by models that remember what it
remembers itself, one of each half. Scores, which are noisy for candidates that bold, have a say
only where they contradict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from jumar.algorithms import algorithm as find_algorithm
from jumar.algorithms.entry import Algorithm, Choice, Look, Looks, Parameters, Words
from jumar.algorithms.problem import Outcome, Problem
from jumar.core.arrays import ALIKE
from jumar.core.documents import checked, number, whole
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.randomness import branch, generator
from jumar.core.resources import Watch, journal
from jumar.core.text import counted, printable
from jumar.evidence.bounds import check_delta
from jumar.evidence.consistency import check_rewards
from jumar.evidence.practice import BehaviorLike, Practice, practice_of
from jumar.evidence.rewards import RewardRange
from jumar.gate.bench import Bench, Laid, chain, given, taught
from jumar.gate.candidates import blend
from jumar.gate.dealing import HALVES, LEAST, DealtLog, DealtPart, salt_of
from jumar.gate.halves import Half, Only, Tested, try_halves
from jumar.gate.limits import limits_of
from jumar.gate.makers import makers_of
from jumar.gate.objectives import Signals, check_keeps, keeps_of
from jumar.gate.outcome import NAME, certificate_of, improvement_of, kept_certificates
from jumar.gate.trials import GATES, MOST_BEYOND, PROVED, Selection, Trial
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.options import Options
from jumar.solve.simplifying import share_of
from jumar.tally.history import check_discount
from jumar.tally.replay import LogLike

MORE_MEMORY = 2
MOST_MORE_MEMORY = 8
REWARD = "reward"
LEARN: Final = "learn"  # in place of a memory
BESIDE = 1  # observations more that are tried beside a memory that is learned
CONTRADICTED = 3.0  # standard errors off the scores from which on models are not believed


def select(
    log: LogLike,
    behavior: BehaviorLike | Practice,
    *,
    discount: float,
    more_memory: int = MORE_MEMORY,
    **more: Any,
) -> Selection:
    """Fit, test, and choose; or keep the behavior. Of a log at hand.

    Parameters
    ----------
    log
        As for `jumar.improve`.
    behavior
        As for `jumar.improve`, or a `Practice`. Of several, what is compared with is their mix, as
        in the log.
    discount
        Weight of the next step against this one.
    more_memory
        Observations to remember beyond what the behavior does, where no `memory` is given.
    **more
        The other fields of `Options`. The log already has its `objective` as the reward, which here
        is only a name. A generator as `seed` is used as it is.

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
    asked = Options(discount=discount, **more)
    terms = terms_of(asked)
    problem = Problem(_practice(log, behavior), **terms)
    return choose(problem, generator(asked.seed, "selection"), more_memory)


def held_out_test(
    log: LogLike,
    behavior: BehaviorLike | Practice,
    *,
    algorithm: str,
    parameters: Mapping[str, object] | None = None,
    discount: float,
    **more: Any,
) -> Selection:
    """Test an algorithm that was named: what it learns from one half of the log, on the other half.

    There is one candidate per half, learned with these parameters over the memory of the behavior
    joined with the one that is asked for, and tested at level δ/2: the chance that one passes that
    is worse than the behavior is at most δ. The halves are those of `select`. Of what passes the
    better one is `chosen`, and `controller` is what that half taught. What the same algorithm
    learns from the *whole* log is another controller; of that the test gives evidence, not proof.

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
    **more
        Fields of `Options`: ``memory``, ``delta``, ``rewards``, ``gate``, ``simplify``, ...

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
    entry = find_algorithm(algorithm)
    settings = {name: p.default for name, p in entry.parameters.items()} | {**(parameters or {})}
    entry.check(settings)
    asked = Options(discount=discount, **more)
    problem = Problem(_practice(log, behavior), **terms_of(asked))
    rng = generator(asked.seed, "selection")
    dealt = _dealt(problem, rng)
    laid = given(dealt, chain(problem.practice.memory, problem.memory, 0)[-1:])
    return _test(problem, dealt, rng, laid, (entry, settings))


def terms_of(asked: Options) -> dict[str, Any]:
    """What is asked, as the fields of a `Problem`: all but the log, who made it, and the seed.
    What makes no sense for any log is refused."""
    check_delta(asked.delta)
    check_discount(asked.discount)
    if asked.gate not in GATES:
        raise ParameterError(not_one_of("gate", asked.gate, GATES))
    rewards, memory = asked.rewards, asked.memory
    if rewards is not None and not isinstance(rewards, RewardRange):
        raise ParameterError(
            f"rewards: {printable(repr(rewards)[:40])} is not a range of rewards. Pass for example "
            "RewardRange.constant(0, 1), or RewardRange((0, 1), ending=(-5, 5))."
        )
    if memory is not None and memory != LEARN and not isinstance(memory, Memory):
        raise ParameterError(
            f'memory: {printable(repr(memory)[:40])} is no memory. Pass "learn", or for example '
            "window(2)."
        )
    same = ("discount", "delta", "rewards", "horizon", "gate", "thorough")
    return {name: getattr(asked, name) for name in same} | {
        "memory": None if memory == LEARN else memory,
        "learn_memory": memory == LEARN,
        "simplify": share_of(asked.simplify),
        "keeps": keeps_of(asked.keep),
        "objective": asked.objective or "",
        "makers": makers_of(asked.candidates),
    }


def choose(problem: Problem, rng: np.random.Generator, more_memory: int = MORE_MEMORY) -> Selection:
    """What is tried and chosen; `rng` is the one that a large log was dealt with."""
    log = problem.dealt
    if log is None:
        log = _dealt(problem, rng)
    else:
        _check(problem)
        salt_of(rng)  # the log was dealt with it
    if problem.learn_memory:
        laid = taught(log, min(more_memory, BESIDE), branch(rng, "memory"))
    else:
        laid = given(log, chain(problem.practice.memory, problem.memory, more_memory))
    return _test(problem, log, rng, laid)


def _practice(log: LogLike, behavior: BehaviorLike | Practice) -> Practice:
    return behavior if isinstance(behavior, Practice) else practice_of(log, behavior)


def _dealt(problem: Problem, rng: np.random.Generator) -> DealtLog:
    """The log, dealt, if it does not contradict what is said of it."""
    if problem.rewards is not None:
        # a reward outside the limits would make a score fall below its floor or err in its mean
        check_rewards(problem.practice.log, problem.rewards)
    _check(problem)
    return DealtLog.of(problem.practice, rng, problem.discount)


def _check(problem: Problem) -> None:
    log = problem.practice.log
    check_keeps(problem.keeps, log, problem.objective, problem.gate, problem.discount)


def _test(
    problem: Problem,
    log: DealtLog,
    rng: np.random.Generator,
    laid: Sequence[Laid],
    only: Only | None = None,
) -> Selection:
    """Candidates of each half on the other one; with `only`, a single one of each: what this
    algorithm learns with these parameters."""
    watch = Watch()
    facts, paid = log.facts.facts, log.facts.paid
    discount, delta, keeps, horizon = (
        problem.discount,
        problem.delta,
        problem.keeps,
        problem.horizon,
    )
    # of episodes at hand a place can be named
    limits = limits_of(facts if log.counted else log.log, discount, problem.rewards, horizon)
    how = {"delta": delta, "simplify": problem.simplify, "makers": problem.makers}
    benches = [Bench.on(log, one, discount, limits, **how) for one in laid]
    signals = [Signals.of(bench, keeps, horizon) for bench in benches]
    units = [log.units(DealtPart(half)) for half in range(HALVES)]
    most = float(limits.high[0] - paid.mean)
    beside = any(one.beside is not None for one in laid)
    halves = []
    for i in range(HALVES):
        if min(units) < LEAST or not paid.differ:
            continue  # what is not tested cannot pass: a log may keep the behavior for any reason
        own = i % len(benches)
        bench, kept = benches[own].learning_from(i), signals[own].learning_from(i)
        guides = tuple(signals[own].guides(benches[own], i))
        halves.append(Half(bench, i, units[1 - i], delta, most, rng, only, kept, guides, beside))
    found, tried = try_halves(log, halves, problem)
    untested = Selection(
        gate=problem.gate,
        delta=delta,
        episodes=facts.episodes,
        units=sum(units),
        trials=(),
        tried=tried,
        chosen=None,
        controller=log.practice.pooled,
        limits=limits,
        most=most,
        beyond=paid.beyond,
        memories=tuple(dict.fromkeys(m for one in laid for m in one.tried)),
        kept=signals[0].told() if keeps else (),
        objective=(problem.objective or _rewarded(log.log)) if keeps else "",
        makers=problem.makers.names if problem.makers else (),
        learned=tuple(one.learned for one in laid) if problem.learn_memory else (),
    )
    return _conclude(untested, found, watch)


def _rewarded(log: Episodes) -> str:
    """What the reward is called: as its column."""
    columns = log.origin.columns.get(REWARD, ()) if log.origin else ()
    return columns[0] if columns else REWARD


# ---- which one is handed over -------------------------------------------------------------------


def _conclude(log: Selection, tests: Sequence[Tested], watch: Watch) -> Selection:
    """The best of what passed; or the behavior stays."""
    found = sorted(tests, key=lambda tested: -tested.trial.lower)
    # a candidate may bring recordings to an earlier stop than the behavior does: both count, and so
    # does what held-out episodes show nothing of, for all of it may be done beyond the cuts. The
    # shares are read off held-out episodes, which is allowed: they only keep the behavior
    beyond = {id(t): _beyond(t.trial, log.beyond) for t in found if t.trial.passed}
    passed = [t for t in found if beyond.get(id(t), 1.0) <= MOST_BEYOND]
    chosen = best_of([t.trial for t in passed], log.most)
    best = next((t for t in passed if t.trial is chosen), None)
    journal.info(
        "Tried %s, tested %d on held-out episodes; chosen: %s (%s)",
        counted(log.tried, "candidate"),
        len(found),
        str(chosen.setting) if chosen else "none, the behavior stays",
        watch,
    )
    return replace(
        log,
        trials=tuple(tested.trial for tested in found),
        chosen=chosen,
        controller=best.bench.controller(best.candidate) if best else log.controller,
        beyond=beyond[id(best)] if best else min(beyond.values(), default=log.beyond),
    )


def _beyond(trial: Trial, by_behavior: float) -> float:
    """The share of the weight beyond the cuts: the behavior's or a candidate's, the larger one."""
    if by_behavior == 0:  # no recording was cut off
        return 0.0
    return min(1.0, max(by_behavior, trial.beyond + trial.missing))


def best_of(passed: Sequence[Trial], most: float) -> Trial | None:
    """The one to hand over; None if there is none. `most` is the most that can be gained."""
    if all(trial.by_both is not None for trial in passed):
        return _best(passed, lambda trial: min(_agreed(trial), most))
    return _best(passed, lambda trial: trial.merit(most))


def _agreed(trial: Trial) -> float:
    """What models of both halves expect, unless scores contradict."""
    assert trial.by_both is not None
    assert trial.scores is not None
    return blend(trial.scores, trial.by_both, trusted=0.0, surprise=CONTRADICTED).gain


def _best(passed: Sequence[Trial], merit: Callable[[Trial], float]) -> Trial | None:
    most = max(map(merit, passed), default=-math.inf)
    # both halves may propose the same: then the one of which more is proved, whatever rounding says
    alike = [trial for trial in passed if merit(trial) >= most - ALIKE * abs(most)]
    best = max(alike, key=lambda trial: trial.lower, default=None)
    if best is None or best.simplified is None:
        return best
    enough = min(best.simplified.share * most, most)
    near = [trial for trial in passed if merit(trial) >= enough - ALIKE * abs(most)]
    fewest = min(map(_changes, near))
    return max((t for t in near if _changes(t) == fewest), key=lambda t: (merit(t), t.lower))


def _changes(trial: Trial) -> int:
    return trial.simplified.kept if trial.simplified else 0


# ---- as an algorithm ----------------------------------------------------------------------------

# its parameters in a study: those of `select`
DEFAULTS = {"delta": 0.05, "gate": PROVED, "more_memory": MORE_MEMORY}
CANDIDATES = "candidates"  # in a study: names in one text, with commas between


def run(problem: Problem) -> Outcome:
    """Choose and test."""
    # a log without outcomes is told before anything is tried
    _ = problem.material(problem.practice.memory).counts
    practice, old = problem.practice, problem.practice.pooled
    selection = choose(problem, generator(problem.seed, "selection"))
    chosen = selection.chosen
    material = problem.material(chosen.setting.memory if chosen else old.memory)
    return Outcome(
        material,
        improvement_of(selection, old, material.mdp),
        certificate_of(selection, practice=practice, seed=problem.seed),
        selection,
        chosen.simplified if chosen else None,
        kept_certificates(selection, practice=practice, seed=problem.seed),
    )


def _read(parameter: str, value: object) -> object:
    """A parameter as a study file has it."""
    if parameter == "more_memory":
        return whole(value, parameter, ParameterError, most=MOST_MORE_MEMORY)
    if parameter == "gate":
        if checked(value, str, parameter, ParameterError) not in GATES:
            raise ParameterError(not_one_of("gate", value, GATES))
        return value
    if parameter == CANDIDATES:
        names = checked(value, str, parameter, ParameterError)
        makers_of(names)
        return names
    return check_delta(number(value, parameter, ParameterError))


def _label(parameters: Parameters) -> str:
    unusual = [f"{k}={v}" for k, v in parameters.items() if DEFAULTS.get(k, v) != v]
    makers = parameters.get(CANDIDATES)
    return " ".join([f"{NAME}: {makers}" if makers else NAME, *unusual])


def _look(parameters: Parameters) -> Look:
    makers = parameters.get(CANDIDATES)
    return Look(f"auto: {makers} (own k′)" if makers else "auto (own k′)", "#111111", "*")


def _safety_look(parameters: Parameters, *_: object) -> Look | None:
    if CANDIDATES in parameters:
        return None  # the figure compares settings, not who makes candidates
    return Look("auto", "#0a2f5f", "o", 2.2, tail=True, size=3.6, order=4)


def _kept(others_changed: bool) -> str:
    if others_changed:
        return "the change that was tested leaves this situation as it is"
    return "no change passed the test on held-out episodes"


ENTRY = Algorithm(
    name=NAME,
    summary="choose memory and policy from the data, and test on held-out episodes (the default)",
    on_problem=run,
    least_visits=5,  # no candidate trusts an action that was tried less often
    choice=Choice(select, DEFAULTS, _read, optional=(CANDIDATES,)),
    words=Words(label=_label, kept=_kept),
    looks=Looks(_look, _safety_look),
)
