"""The ladder of one candidate: its gain against how much of the past is assumed to matter.

From the top, where nothing is assumed, over rungs on which stretches of the log are weighed
exactly, down to memories shorter than the one that was used to judge. Every rung down takes one
more thing for granted and has less noise; what the rungs say must not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumar.algorithms.auto.asymptotic import Gate
from jumar.algorithms.auto.board import Board
from jumar.algorithms.auto.dealing import Dealt
from jumar.algorithms.long_records.contradictions import MemoryTest
from jumar.algorithms.long_records.judge import Candidate, Judge, Reading, fit
from jumar.algorithms.long_records.refusal import lower, with_weight
from jumar.core.arrays import Ints
from jumar.core.memory import Memory
from jumar.core.memory.windows import NOW


@dataclass(frozen=True)
class Rung:
    """A gain, and what it takes for granted."""

    assumes: str  # in words: what of the past is taken into account
    gain: float | None  # None: nothing can be said
    error: float | None
    lower: float | None  # bound on the gain
    effective: float | None  # records' worth of weight
    steps: int | None = None  # on end that are weighed exactly
    rejected: bool = False  # the log contradicts the memory
    judged: bool = False  # the verdict rests on this rung


def in_words(memory: Memory) -> str:
    """What a memory knows of the past, in plain words.

    >>> from jumar.core.memory import window
    >>> in_words(window(1)), in_words(window(3, actions=True))
    ('the current observation', 'the last 3 observations and actions')
    """
    windows = [(part.span, part.knows) for part in memory.parts if part.span]
    # of two that look equally far back, the one that takes more words knows more
    _, told = max(windows, key=lambda told: (told[0], len(told[1])), default=(1, NOW))
    if len(windows) < len(memory.parts):
        return f"the old controller's own memory and {told}"
    return told


def they_tell(memory: Memory) -> str:
    """The same as the subject of a sentence.

    >>> from jumar.core.memory import window
    >>> they_tell(window(1)), they_tell(window(2))
    ('the current observation tells', 'the last 2 observations tell')
    """
    told = in_words(memory)
    return f"{told} {'tells' if told == NOW else 'tell'}"


def ladder(
    board: Board,
    fitted: Ints,
    held_out: Ints,
    candidate: Candidate,
    test: Gate,
    tests: Sequence[MemoryTest],
    top: Rung | None,
    dealt: Dealt,
) -> tuple[Rung, ...]:
    """The rungs of a candidate, what assumes least first. `top` is what can be said with nothing
    assumed, if the caller knows."""
    judging = len(tests) - 1
    memory = in_words(board.memories[judging])

    def rung(told: str, reading: Reading, **marks: bool) -> Rung:
        low = lower(test, reading, candidate.unseen)
        steps = reading.exact + 1
        return Rung(told, reading.gain, reading.error, low, reading.effective, steps, **marks)

    found = [] if top is None else [top]
    found += [
        rung(f"the last {r.exact + 1} steps and the memory before them", r)
        for r in reversed(with_weight(candidate.rungs)[1:])
    ]
    found.append(rung(in_words(board.memories[judging + 1]), candidate.longer))
    found.append(rung(memory, candidate.rungs[0], judged=True))
    models = fit(board, fitted, judging)
    for number in range(judging - 1, -1, -1):
        judge = Judge(models[number], held_out, dealt)
        reading = judge.read(models[number].values(candidate.rows), 0)
        told = in_words(board.memories[number])
        found.append(rung(told, reading, rejected=tests[number].rejected))
    return tuple(found)
