"""What the improvement would be with another threshold, or another memory.

The log is counted once, with the longest memory asked for; shorter ones are sums of its counts.
Each cell is a whole improvement on its own model, so gains of different memories are estimates by
different models: where they disagree, the memory matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jumar.algorithms import Algorithm, run
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.memory import Memory
from jumar.core.memory.refinement import ladder
from jumar.core.replay import Replays, count
from jumar.io.plain import picked

MOST_STATES = 1000  # a longer memory is not tried when it would see more history states
LARGEST = 3000  # history states beyond which nothing is tried: it would take minutes


@dataclass(frozen=True)
class Variant:
    """One improvement."""

    n_wedge: int | float  # the threshold
    gain: float  # estimated, by the model of its own memory
    changed: int  # history states that change


@dataclass(frozen=True)
class Row:
    """One memory, with every threshold."""

    memory: str
    behavior: float  # estimated performance of the behavior, by this memory's model
    states: int  # history states seen
    chosen: bool  # the memory that the improvement has
    cells: tuple[Variant, ...]

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        cells = [picked(cell, "n_wedge gain changed") for cell in self.cells]
        return {**picked(self, "memory behavior states chosen"), "cells": cells}


def sensitivity(
    log: Episodes | Replays,
    behavior: Controller,
    *,
    discount: float,
    memory: Memory,
    algorithm: Algorithm,
    thresholds: Sequence[int | float] | None = None,
    more: int = 2,
) -> tuple[Row, ...]:
    """Improvements over memories and thresholds: the behavior's memory, `memory` itself, and with
    `more` observations of memory beside it. Nothing where the algorithm has no threshold, or
    `memory` sees too many history states.

    >>> from jumar import models, simulate, window
    >>> from jumar.algorithms import meant
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=500, seed=1)
    >>> rows = sensitivity(log, behavior, discount=0.95, memory=window(1), algorithm=meant("spibb"))
    >>> [row.memory for row in rows], [cell.changed for cell in rows[0].cells]
    (['window of 1', 'window of 2', 'window of 3'], [2, 2, 2, 2, 2])
    """
    if algorithm.threshold is None:
        return ()
    thresholds = algorithm.thresholds if thresholds is None else thresholds
    memory = memory.on(*behavior.memory.alphabet)
    # each refines the one before, so that the last one's counts give all the others
    wanted = ladder(memory, more)
    if memory != behavior.memory:
        wanted.insert(0, behavior.memory)
    replays = Replays.of(log)
    finest = count(replays, wanted[-1])
    while len(finest.states) > MOST_STATES and wanted[-1] != memory:
        wanted.pop()  # so long a memory that the log is spread over too many states
        finest = count(replays, wanted[-1])
    if len(finest.states) > LARGEST:
        return ()
    rows = []
    for chosen in wanted:
        mdp = (finest if chosen == finest.memory else finest.coarsen(chosen)).mle(discount)
        found = [run(algorithm.name, mdp, behavior, **{algorithm.threshold: n}) for n in thresholds]
        rows.append(
            Row(
                str(chosen),
                found[0].behavior_performance,
                len(mdp),
                chosen == memory,
                tuple(
                    Variant(n, better.gain, better.changed)
                    for n, better in zip(thresholds, found, strict=True)
                ),
            )
        )
    return tuple(rows)
