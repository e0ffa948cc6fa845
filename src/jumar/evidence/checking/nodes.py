"""Does the memory node that was logged agree with the one the policy would have been in?

A memory is a rule: from the observations and actions of an episode, replaying it tells the node at
every step. A log that also names nodes is a second opinion. Where the two differ, the log was made
by another controller, or an episode does not begin where its first row says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jumar.core.text import Detail, TextTable, shown
from jumar.evidence.checking.base import (
    NAMED,
    PLACE,
    Finding,
    Question,
    Section,
    failed,
    look,
    passed,
)
from jumar.evidence.consistency import compare_nodes
from jumar.evidence.practice import Practice


@dataclass(frozen=True)
class Mismatch:
    """A step at which the log names another node than the policy's memory."""

    where: str
    logged: str
    replayed: str


@dataclass(frozen=True)
class Agreement(Section):
    """The logged memory against the replayed one."""

    steps: int  # that name a node
    mismatches: int
    examples: tuple[Mismatch, ...]  # the first of them
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        if self.examples:
            yield TextTable(
                ["where", "logged", "replayed"],
                [[shown(e.where, PLACE), e.logged, e.replayed] for e in self.examples],
                f"The first {len(self.examples)} of {self.mismatches:,} steps that disagree",
            )


def nodes_of(practice: Practice) -> Agreement | None:
    """Compare the nodes a log names with the memory of the controller that made the episode; None
    if it names none."""
    log = practice.log
    if log.node is None:
        return None
    who = np.repeat(practice.made_by, log.lengths)
    steps, wrong, found = 0, 0, []
    for k, controller in enumerate(practice.controllers or (practice.pooled,)):
        compared = compare_nodes(practice.replays, controller.memory)
        if compared is None:
            verdict = look(
                f"The log names memory nodes, but a {controller.memory} has no named ones to "
                "compare them with.",
            )
            return Agreement(0, 0, (), verdict)
        mine = who == k if practice.controllers else np.ones(log.n_steps, np.bool_)
        steps += int((mine & (log.node.code >= 0)).sum())
        rows = compared.wrong[mine[compared.wrong]]
        wrong += len(rows)
        found += [(row, *map(shown, compared.names(row))) for row in rows[:NAMED].tolist()]
    examples = tuple(Mismatch(log.where(row), *names) for row, *names in sorted(found)[:NAMED])
    return Agreement(steps, wrong, examples, _verdict(steps, wrong))


def _verdict(steps: int, wrong: int) -> Finding:
    if wrong:
        verb = "is not that" if wrong == 1 else "are not those"
        return failed(
            f"{wrong:,} of {steps:,} logged memory nodes {verb} of this policy. Another "
            "controller made the log, or episodes begin elsewhere than their first rows say.",
        )
    if steps == 1:
        return passed("The only logged memory node is that of this policy.")
    return passed(f"All {steps:,} logged memory nodes are those of this policy.")


ENTRY = Question(
    "Does the logged memory agree with the policy's?",
    lambda subject, rng: nodes_of(subject.practice),
)
