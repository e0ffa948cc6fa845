"""Do values learned step by step agree with what episodes paid?

The order test asks about the next step; this asks about values, however far ahead. Where the memory
of the behavior is too short for them, what is learned step by step is wrong
(`jumar.evidence.discrepancy`). As with the order, the log is not spoiled: worth a look, no failure.
Without a discount there are no values to compare, so nothing is asked.

Which way is which is told, and no amounts: both ways take a record that was cut off to go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from jumar.core.tabular import Detail, Facts, TextTable
from jumar.core.text import percent, shown
from jumar.evidence.checking.base import (
    Finding,
    Question,
    Section,
    Subject,
    by_episode,
    look,
    passed,
)
from jumar.evidence.discrepancy import Discrepancy, lambda_discrepancy
from jumar.evidence.order.gaps import history_words

SHOWN = 5  # pairs


@dataclass(frozen=True)
class Apart:
    """One pair, and its value in two ways."""

    history_state: str = field(metadata={"key": "situation"})
    action: str
    visits: int
    learned: str  # what step by step makes of it, against what episodes paid


@dataclass(frozen=True)
class ValuesApart(Section):
    """How far the two ways are apart."""

    memory: str
    p: float
    resamples: int
    rejected: bool
    cut: float  # share of episodes that were cut off
    apart: tuple[Apart, ...]  # the pairs that matter most
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        if self.rejected:
            heads = ["situation", "action", "visits", "learned step by step"]
            rows = [[x.history_state, x.action, f"{x.visits:,}", x.learned] for x in self.apart]
            title = "What actions bring, learned step by step, against what episodes paid"
            yield TextTable(heads, rows, title, right=["visits"])
        if self.cut:
            told = "beyond the cut, both ways take the value of the model"
            yield Facts([("cut off", f"{percent(self.cut)} of the episodes; {told}")])


def values_apart(subject: Subject, rng: np.random.Generator) -> ValuesApart | None:
    """None where there is no discount, or one with which values are infinite."""
    log, discount = subject.log, subject.discount
    if discount is None or (discount == 1 and not log.terminated.all()):
        return None
    settings, behavior = subject.settings, subject.behavior
    found = lambda_discrepancy(
        subject.replays,
        behavior,
        discount=discount,
        resamples=settings.resamples,
        level=settings.level,
        seed=rng,
    )
    more = by_episode(log)
    verdict = passed(f"{found.sentence}{more}")
    if found.rejected:
        verdict = look(
            f"{found.sentence} More memory than that is asked for: --window or "
            f"--learn-memory.{more}"
        )
    return ValuesApart(
        memory=str(found.memory),
        p=found.p,
        resamples=found.resamples,
        rejected=found.rejected,
        cut=found.cut,
        apart=tuple(_apart(found, subject)),
        verdict=verdict,
    )


def _apart(found: Discrepancy, subject: Subject) -> Iterator[Apart]:
    weight = found.visits * (found.to_the_end - found.step_by_step) ** 2
    log = subject.replays.log
    for i in np.argsort(-weight, kind="stable")[:SHOWN].tolist():
        yield Apart(
            history_words(log, found.memory, found.states[i]),
            shown(log.actions[found.action[i]]),
            int(found.visits[i]),
            "too much" if found.step_by_step[i] > found.to_the_end[i] else "too little",
        )


ENTRY = Question("Do values learned step by step agree with what episodes paid?", values_apart)
