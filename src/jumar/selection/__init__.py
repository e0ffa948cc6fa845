"""Choosing memory, threshold and mixture from the data, and the gate before deployment.

The episodes are dealt at random into two halves. On each half candidates are fitted
(`jumar.selection.candidates`) and a shortlist is drawn up by what that half alone lets expect of
the test: how much a candidate gains times the chance that it passes. The shortlist is tested on the
other half (`jumar.selection.gate`), each way at level δ/2, so that the chance that anything worse
than the behavior passes is at most δ in all. Of what passes, the one with the best held-out
estimate is chosen; if nothing does, the behavior stays.

Where episodes end by themselves no step assumes that the memory suffices: if it does not, models
are wrong, candidates are bad, and held-out episodes say so. Of an episode that was cut off the log
shows only a part; what would have followed is valued by a model, and there the memory matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jumar.arrays import Ints
from jumar.bounds import check_delta
from jumar.controller import Controller
from jumar.episodes import Episodes
from jumar.memory import Memory
from jumar.offpolicy.weights import effective_size
from jumar.rewards import RewardRange
from jumar.selection.board import Board, chain, lay_out
from jumar.selection.candidates import (
    ALGORITHMS,
    MIXTURES,
    THRESHOLDS,
    Candidate,
    Setting,
    candidates,
    weights,
)
from jumar.selection.gate import HALVES, Gate, gate, hidden, missing, student

SHORTLIST = 8
MORE_MEMORY = 2


@dataclass(frozen=True)
class Trial:
    """One candidate on the other half of the log."""

    setting: Setting
    half: int  # that it was fitted on
    promised: float  # gain expected by the half it was fitted on
    gain: float  # held-out estimate
    error: float  # its standard error
    effective: float  # how many of its own episodes the held-out ones are worth
    missing: float  # share of what it does that the held-out episodes show nothing of
    lower: float  # lower bound on the gain, at the level of the test

    @property
    def passed(self) -> bool:
        return self.lower > 0


@dataclass(frozen=True, eq=False)
class Selection:
    """What was tried, and what was chosen."""

    delta: float
    episodes: int
    gates: tuple[Gate, ...]  # of the two halves
    trials: tuple[Trial, ...]  # the shortlists, best lower bound first
    tried: int  # candidates fitted in all
    chosen: Trial | None  # None: the behavior stays
    controller: Controller
    range: float  # of the returns, declared or logged
    cut: bool  # recordings stopped so early that what would have followed matters
    memories: tuple[Memory, ...] = field(default=())

    @property
    def best(self) -> Trial | None:
        """The chosen one, or the one that came closest."""
        return self.chosen or (self.trials[0] if self.trials else None)

    def to_dict(self) -> dict[str, Any]:
        """What was tried and chosen, in plain JSON types."""

        def plain(trial: Trial) -> dict[str, Any]:
            return {
                "setting": str(trial.setting),
                "half": trial.half,
                "promised": trial.promised,
                "gain": trial.gain,
                "standard_error": trial.error,
                "effective_episodes": trial.effective,
                "missing": trial.missing,
                "lower_bound": trial.lower if math.isfinite(trial.lower) else None,
                "passed": trial.passed,
            }

        return {
            "candidates": self.tried,
            "tested": [plain(trial) for trial in self.trials],
            "chosen": plain(self.chosen) if self.chosen else None,
        }


def select(
    log: Episodes,
    behavior: Controller,
    *,
    discount: float,
    rng: np.random.Generator,
    memory: Memory | None = None,
    delta: float = 0.05,
    rewards: RewardRange | None = None,
    families: Sequence[str] = ALGORITHMS,
    thresholds: Sequence[int] = THRESHOLDS,
    mixtures: Sequence[float] = MIXTURES,
    more_memory: int = MORE_MEMORY,
) -> Selection:
    """Fit, test, and choose; or keep the behavior. `rewards`, where declared, say how bad the worst
    can be that the log did not show.

    >>> from jumar import models, simulate, stream
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=2000, rng=stream(1, "data"))
    >>> chosen = select(log, behavior, discount=0.95, rng=stream(1, "selection")).chosen
    >>> chosen.passed
    True
    """
    check_delta(delta)
    board = lay_out(log, behavior, discount, chain(behavior.memory, memory, more_memory))
    span = _range(board, rewards)
    halves = np.array_split(rng.permutation(len(log)), HALVES)
    trials: list[tuple[Trial, Candidate]] = []
    gates, tried = [], 0
    for i, (fitted, held_out) in enumerate((halves, halves[::-1])):
        if min(len(fitted), len(held_out)) < 2:
            continue
        found = candidates(
            board,
            np.sort(fitted),
            np.sort(held_out),
            families=families,
            thresholds=thresholds,
            mixtures=mixtures,
        )
        tried += len(found)
        listed = shortlist(found, len(held_out), delta, span)
        if not listed:
            continue
        differences = np.array([c.held_out for c in listed])
        test = gate(differences, delta=delta, range=span, rng=rng)
        gates.append(test)
        trials += [(_trial(board, c, np.sort(held_out), i, test), c) for c in listed]
    trials.sort(key=lambda pair: -pair[0].lower)
    passed = [pair for pair in trials if pair[0].passed]
    chosen = max(passed, key=lambda pair: pair[0].gain - pair[0].error / 2, default=None)
    return Selection(
        delta=delta,
        episodes=len(log),
        gates=tuple(gates),
        trials=tuple(trial for trial, _ in trials),
        tried=tried,
        chosen=chosen[0] if chosen else None,
        controller=_controller(board, chosen[1]) if chosen else behavior,
        range=span,
        cut=board.cut,
        memories=board.memories,
    )


def _range(board: Board, rewards: RewardRange | None) -> float:
    """How far two returns can lie apart."""
    logged = float(board.returns.max() - board.returns.min())
    if rewards is None or not rewards.declared:
        return logged
    lowest, highest = rewards.returns(board.discount, int(board.log.lengths.max()))
    return max(logged, highest - lowest)


def shortlist(
    found: Sequence[Candidate], n: int, delta: float, span: float, most: int = SHORTLIST
) -> list[Candidate]:
    """The candidates worth testing: expected gain times the chance to pass, by the half they were
    fitted on alone."""
    scored = [(_prospect(c, n, delta, span), i) for i, c in enumerate(found)]
    order = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
    return [found[i] for _, i in order[:most]]


def _prospect(candidate: Candidate, n: int, delta: float, span: float) -> float:
    """Both views of the own half are optimistic; the lower one is believed."""
    from scipy.special import ndtr

    gain = min(candidate.promised, float(candidate.own.mean()))
    error = float(candidate.own.std(ddof=1)) / math.sqrt(n)
    left = gain - span * hidden(delta, n, n)  # how the weights will spread is not known yet
    tiny = 1e-12 * max(1.0, abs(gain))
    return gain * float(ndtr(left / max(error, tiny) - student(delta / HALVES, n)))


def _trial(board: Board, candidate: Candidate, held_out: Ints, half: int, test: Gate) -> Trial:
    weighed = weights(board, candidate.rows, held_out)
    return Trial(
        candidate.setting,
        half,
        candidate.promised,
        float(candidate.held_out.mean()),
        float(candidate.held_out.std(ddof=1)) / math.sqrt(test.episodes),
        effective_size(weighed),
        missing(weighed, test.delta / HALVES),
        test.lower(candidate.held_out, weighed),
    )


def _controller(board: Board, candidate: Candidate) -> Controller:
    """A candidate as a controller over its own memory: the behavior, except where it differs."""
    memory = candidate.setting.memory
    states, first = _distinct(board.projected[memory])
    name = f"{board.behavior.name}, improved"
    return board.behavior.lift(memory).except_at(states, candidate.rows[first], name)


def _distinct(states: Ints) -> tuple[Ints, Ints]:
    """The distinct rows, and where each stands first."""
    found, first = np.unique(states, axis=0, return_index=True)
    return found, first
