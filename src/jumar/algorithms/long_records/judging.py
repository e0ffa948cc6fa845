"""Long records, given that a memory tells all that matters: a second tier behind `auto`.

The weights of whole records die with their length, so that `auto` decides nothing about records of
fifty years. If the last few observations and actions tell all of the past that matters, weights of
single steps do (`weights`). Whether they tell all, no log can prove; but a log can
contradict it, and most logs that should do. `judge_long` therefore

1. takes the first memory that the log does not contradict (`contradictions`);
2. fits candidates on one half of the records and judges them on the other, both ways at δ/2
   (`jumar.algorithms.long_records.judge`);
3. refuses every candidate whose gain depends on what is assumed (`refusal`);
4. returns the one with the best lower bound, or the behavior, with every reason.

The claim is about values for ever, also where records were cut off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.algorithms.auto.asymptotic import Gate, gate
from jumar.algorithms.auto.board import Board, lay_out
from jumar.algorithms.auto.dealing import HALVES, deal
from jumar.algorithms.auto.trials import Setting
from jumar.algorithms.long_records.contradictions import MemoryTest, memory_test
from jumar.algorithms.long_records.judge import Candidate, candidates, fit
from jumar.algorithms.long_records.ladder import Rung, in_words, ladder, they_tell
from jumar.algorithms.long_records.refusal import (
    OF_LEVEL,
    Refusal,
    least_lower,
    passes,
    refusals,
)
from jumar.core.arrays import Frozen
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.memory import Memory, refinement, window
from jumar.core.memory.refinement import join
from jumar.core.randomness import Seed, generator
from jumar.core.replay import Replays
from jumar.core.text import percent
from jumar.evidence.bounds import check_delta
from jumar.evidence.rewards import RewardRange
from jumar.io.plain import finite, picked, plain
from jumar.solve.simplifying import Simplified

LONGEST = 4  # observations of the longest window, which serves only to be compared with
FEWEST = 4  # records (or clusters) in a half
POWER = 0.84  # four times in five
THIN = {"weight", "stretches"}  # conditions that more records of the same kind satisfy
NOISE = {*OF_LEVEL, *THIN}
MOST_BEYOND = 2 / 3  # of the discounted weight, beyond the end of the records


@dataclass(frozen=True)
class LongTrial:
    """One candidate on the half it was not fitted on."""

    setting: Setting
    half: int
    promised: float  # gain by the half it was fitted on
    gain: float  # held-out estimate, for ever
    error: float  # its standard error
    effective: float  # records' worth of weight
    unseen: float  # discounted visits that the log shows nothing of
    lower: float  # bound on the gain, the least of all rungs with weight
    refusals: tuple[Refusal, ...]
    simplified: Simplified | None = None  # what was kept of its changes, if that was asked for

    @property
    def passed(self) -> bool:
        return not self.refusals

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            "setting": str(self.setting),
            **picked(self, "half promised gain"),
            "standard_error": self.error,
            "effective_records": self.effective,
            "unseen": self.unseen,
            "lower_bound": finite(self.lower),
            **picked(self, "passed refusals"),
        }


@dataclass(frozen=True, eq=False)
class LongVerdict(Frozen):
    """What was tried under the assumption, what was chosen, and why not more."""

    delta: float
    records: int
    controller: Controller  # the chosen one, or the behavior
    chosen: LongTrial | None
    trials: tuple[LongTrial, ...]  # those that passed first, then the best lower bound
    tried: int  # candidates fitted in all
    memory: Memory | None  # that was used to judge; None: the log contradicts all of them
    tests: tuple[MemoryTest, ...]  # of the memories, shortest first
    refusals: tuple[Refusal, ...]  # why nothing was chosen; of the candidate that came closest
    needed: int | None  # records that would probably decide, where only noise stands against it
    ladder: tuple[Rung, ...]  # of the chosen candidate, or the closest
    range: float  # of the returns, declared or logged
    beyond: float  # mean share of the discounted weight that lies beyond the end of the records
    # other levels, how many would pass there, and the lower bound of the one that would be chosen
    others: tuple[tuple[float, int, float | None], ...] = ()

    @property
    def best(self) -> LongTrial | None:
        """The chosen one, or the one that came closest."""
        return self.chosen or (self.trials[0] if self.trials else None)

    @property
    def assumption(self) -> str:
        """What the verdict takes for granted, in plain words."""
        if self.memory is None:
            return "No memory was found that the log does not contradict."
        return (
            f"Given that {they_tell(self.memory)} all of the past that matters; the log does not "
            "contradict this."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain JSON types."""
        return {
            "assumption": self.assumption,
            "memory": None if self.memory is None else str(self.memory),
            "memories": [
                {"memory": str(t.memory), "contradicted": t.rejected, "reasons": list(t.reasons)}
                for t in self.tests
            ],
            "candidates": self.tried,
            "tested": [trial.to_dict() for trial in self.trials],
            "chosen": self.chosen.to_dict() if self.chosen else None,
            "refusals": plain(self.refusals),
            "records": self.records,
            "records_needed": self.needed,
            "beyond_the_records": self.beyond,
            "ladder": [
                {
                    "assumes": r.assumes,
                    "gain": finite(r.gain),
                    "lower_bound": finite(r.lower),
                    "contradicted": r.rejected,
                    "judged": r.judged,
                }
                for r in self.ladder
            ],
        }


def judge_long(
    log: Episodes | Replays,
    behavior: Controller,
    *,
    discount: float,
    seed: Seed = 1,
    memory: Memory | None = None,
    delta: float = 0.05,
    rewards: RewardRange | None = None,
    nothing_assumed: Rung | None = None,
    others: Sequence[float] = (),
    simplify: float | None = None,
) -> LongVerdict:
    """Improve on long records under the assumption that a memory suffices; or refuse.

    The log numbers names as the behavior that made it does. `memory` is the shortest one to judge
    with, besides what the behavior remembers; longer ones, with actions, are tried when the log
    contradicts it. `delta` is the level of the test, `rewards` what a step can pay where that is
    declared, and `nothing_assumed` what can be said without a memory: the top of the ladder. What
    would pass at `others`, other levels, is told too, to show how much depends on the level. With
    `simplify`, candidates have as few changes as keep that share of their gain in the half they are
    fitted on, and that is what is judged. The seed deals the records into halves, and draws other
    orders of the steps.

    >>> from jumar import models, simulate
    >>> bridge = models.bridge_repair()
    >>> behavior = Controller.uniform(bridge.observations, bridge.actions)
    >>> log = simulate(bridge, behavior, episodes=60, seed=1, max_steps=20)
    >>> verdict = judge_long(log, behavior, discount=0.95, seed=1)
    >>> verdict.chosen is None, len(verdict.refusals) > 0
    (True, True)
    """
    check_delta(delta)
    board = lay_out(log, behavior, discount, _memories(behavior.memory, memory))
    deals, orders, draws = generator(seed, "long").spawn(3)
    span, beyond = _range(board, rewards), _beyond(board)
    tests: list[MemoryTest] = []
    for number in range(len(board.memories) - 1):
        tests.append(memory_test(board, number, orders))
        if not tests[-1].rejected:
            break
    found: list[tuple[LongTrial, Candidate, Gate]] = []
    dealt = deal(board.log, deals)
    halves = [dealt.members(half) for half in range(HALVES)]
    units = min(len(np.unique(dealt.unit[half])) for half in halves)
    against = _cannot_begin(board, tests, span, beyond, units)
    tried = 0
    if not against:
        for i in range(HALVES):
            models = fit(board, halves[i], len(tests) + 1)
            fresh, n = candidates(models, halves[1 - i], i, dealt, simplify)
            tried += n
            if fresh:
                differences = np.array([candidate.rungs[0].differences for candidate in fresh])
                test = gate(differences, delta=delta, range=span, rng=draws)
                found += [(_trial(c, test), c, test) for c in fresh]
        if not found:
            against = [Refusal("candidates", "Nothing that was fitted promises a gain.", 0.0, 0.0)]
    found.sort(key=lambda item: (not item[0].passed, -item[0].lower))
    best = found[0] if found else None
    chosen = best if best is not None and best[0].passed else None
    controller = behavior
    if chosen is not None:
        controller = board.controller(chosen[0].setting.memory, chosen[1].rows)
    rungs: tuple[Rung, ...] = () if nothing_assumed is None else (nothing_assumed,)
    if best is not None:
        i = best[0].half
        rungs = ladder(
            board, halves[i], halves[1 - i], best[1], best[2], tests, nothing_assumed, dealt
        )
    else:  # nothing was judged: the memories that the log speaks against are told all the same
        rungs += tuple(
            Rung(in_words(test.memory), None, None, None, None, rejected=True)
            for test in reversed(tests)
            if test.rejected
        )
    return LongVerdict(
        delta=delta,
        records=len(board.log),
        controller=controller,
        chosen=chosen[0] if chosen else None,
        trials=tuple(trial for trial, _, _ in found),
        tried=tried,
        memory=None if not tests or tests[-1].rejected else tests[-1].memory,
        tests=tuple(tests),
        refusals=tuple(against) if best is None else best[0].refusals,
        needed=_needed(best[0], best[2], len(board.log)) if best and not chosen else None,
        ladder=rungs,
        range=span,
        beyond=beyond,
        others=tuple(_at(found, level) for level in others),
    )


def _at(
    found: Sequence[tuple[LongTrial, Candidate, Gate]], delta: float
) -> tuple[float, int, float | None]:
    """The same candidates tested at another level."""
    lowers = [
        least_lower(candidate, test.at(delta))[1]
        for trial, candidate, test in found
        if passes(candidate, trial.refusals, test.at(delta))
    ]
    return delta, len(lowers), max(lowers, default=None)


def _memories(behavior: Memory, memory: Memory | None) -> list[Memory]:
    """The behavior's memory (joined with the one asked for), then longer and longer windows with
    actions: what was done tells as much of hidden things as what was seen."""
    first = behavior if memory is None else join(behavior, memory.on(*behavior.alphabet))
    found = [first]
    for k in range(2, LONGEST + 1):
        longer = join(first, window(k, actions=True).on(*behavior.alphabet))
        if longer != found[-1] and longer != first:
            found.append(longer)
    # where a long memory was asked for, it too must be compared
    return found[:-1] + refinement.ladder(found[-1], LONGEST - 1 - len(found))


def _cannot_begin(
    board: Board, tests: list[MemoryTest], span: float, beyond: float, units: int
) -> list[Refusal]:
    """Reasons against judging at all."""
    if not tests:
        text = "Longer memories see too many different histories to compare with."
        return [Refusal("comparison", text, 0.0, 1.0)]
    if tests[-1].rejected:
        text = f"The log contradicts every memory up to {in_words(tests[-1].memory)}: "
        text += "; ".join(tests[-1].reasons) + "."
        return [Refusal("memory", text, float(len(tests)), float(len(tests) - 1))]
    if units < FEWEST:
        text = f"{units} in the smaller half are too few to judge by."
        return [Refusal("records", text, float(units), float(FEWEST))]
    if beyond > MOST_BEYOND:
        text = (
            f"{percent(beyond)} of the discounted weight lies beyond the end of the records: they "
            "are too short for a claim about what comes after."
        )
        return [Refusal("too short", text, beyond, MOST_BEYOND)]
    if span <= 0:
        return [Refusal("tie", "All returns are equal: nothing can be gained.", span, 0.0)]
    return []


def _range(board: Board, rewards: RewardRange | None) -> float:
    """How far two returns can lie apart, for ever. What the log shows of a record that was cut off
    is stretched to a whole one."""
    returns = board.returns
    logged = float(returns.max() - returns.min()) / max(1 - _beyond(board), 1e-9)
    if rewards is None or not rewards.declared:
        return logged
    lowest, highest = rewards.returns(board.discount)
    return max(logged, highest - lowest)


def _beyond(board: Board) -> float:
    """Mean share of the discounted weight that lies beyond the end of a record."""
    left = np.where(board.log.terminated, 0.0, board.discount**board.length)
    return float(left.mean())


def _trial(candidate: Candidate, test: Gate) -> LongTrial:
    first = candidate.rungs[0]
    return LongTrial(
        candidate.setting,
        candidate.half,
        candidate.promised,
        first.gain,
        first.error,
        first.effective,
        candidate.unseen,
        least_lower(candidate, test)[1],
        refusals(candidate, test),
        candidate.simplified,
    )


def _needed(best: LongTrial, test: Gate, records: int) -> int | None:
    """Records after which the test would pass four times in five, if noise is all that stands
    against it; None where it is not."""
    if best.gain <= 0 or any(r.condition not in NOISE for r in best.refusals):
        return None
    room = best.gain - test.range * best.unseen
    if room <= 0:
        return None
    # what lies between gain and bound is taken to fall with the root of the records; what may be
    # hidden falls faster
    short = room - best.lower + POWER * best.error
    factor = (short / room) ** 2
    thin = [r.limit / max(r.value, 1e-9) for r in best.refusals if r.condition in THIN]
    return math.ceil(records * max(1.0, factor, *thin))
