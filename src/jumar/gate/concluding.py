"""From tests to a choice: what came of every bet, and the best of what passed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from jumar.core.resources import Watch, journal
from jumar.core.text import counted
from jumar.gate.bench import Bench, Fitted
from jumar.gate.choosing import best_of
from jumar.gate.limits import Limits
from jumar.gate.opinions import Models, blend
from jumar.gate.proved import Listed, Shortlisted
from jumar.gate.scored import Scores
from jumar.gate.trials import (
    MOST_BEYOND,
    KeptSignal,
    KeptTrial,
    Opinion,
    Selection,
    Trial,
)
from jumar.memory import Memory
from jumar.policy.controller import Controller


class Tested(NamedTuple):
    """A candidate that was tested on the other half."""

    trial: Trial
    candidate: Fitted
    bench: Bench  # on which it was made


class Tried(NamedTuple):
    """The log that candidates were tried on."""

    gate: str
    delta: float
    episodes: int
    units: int
    behavior: Controller
    limits: Limits
    most: float  # that can be gained
    beyond: float  # share of the behavior's weight beyond the cuts
    memories: tuple[Memory, ...]
    makers: tuple[str, ...] = ()  # of candidates, as they were asked for
    kept: tuple[KeptSignal, ...] = ()
    objective: str = ""
    learned: tuple[Memory | None, ...] = ()  # by each half, where that was asked for


def trial_of_bet(
    x: Listed,
    scored: Scores,
    found: Shortlisted,
    approximate: Trial,
    models: Models,
    most: float,
    *,
    second: bool | None,
    kept: tuple[KeptTrial, ...] = (),
    own: Models | None = None,
) -> Trial:
    """What came of a bet, beside what the approximate test says of the same candidate, and what a
    model of the held-out half does; with `own` models of the half it was fitted on, also what both
    say that remember no more than it does."""
    by_both = None
    if own is not None:
        by_both = (own.gain_alone(x.candidate) + models.gain_alone(x.candidate)) / 2
    return replace(
        approximate,
        promised=x.prospect.gain,
        gain=scored.mean,
        error=scored.error,
        deviation=scored.deviation,
        lower=min(found.lower, most),  # `most` is read off the log: it only takes claims away
        passed=found.passed and most > 0,
        level=found.level,
        refused="",
        second=second,
        plain=Opinion(approximate.gain, approximate.error),
        scores=scored,
        bet=x.prospect.bet,
        opinion=blend(scored, models.gain(x.candidate)),
        reached=found.reached if most > 0 else math.inf,
        kept=kept,
        won=bool(kept) and found.won and most > 0,
        by_both=by_both,
    )


def told(half: int, trials: Sequence[Tested]) -> None:
    """For `-v`."""
    for tested in trials:
        journal.debug("Tested on half %d of the log: %s", 2 - half, tested.trial.summary)


def conclude(log: Tried, tests: Sequence[Tested], tried: int, watch: Watch) -> Selection:
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
        counted(tried, "candidate"),
        len(found),
        str(chosen.setting) if chosen else "none, the behavior stays",
        watch,
    )
    return Selection(
        gate=log.gate,
        delta=log.delta,
        episodes=log.episodes,
        units=log.units,
        trials=tuple(tested.trial for tested in found),
        tried=tried,
        chosen=chosen,
        controller=best.bench.controller(best.candidate) if best else log.behavior,
        limits=log.limits,
        most=log.most,
        beyond=beyond[id(best)] if best else min(beyond.values(), default=log.beyond),
        memories=log.memories,
        kept=log.kept,
        objective=log.objective,
        makers=log.makers,
        learned=log.learned,
    )


def _beyond(trial: Trial, by_behavior: float) -> float:
    """The share of the weight beyond the cuts: the behavior's or a candidate's, the larger one."""
    if by_behavior == 0:  # no recording was cut off
        return 0.0
    return min(1.0, max(by_behavior, trial.beyond + trial.missing))
