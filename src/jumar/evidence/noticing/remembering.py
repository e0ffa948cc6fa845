"""A rule that remembers less than whoever acted: "half of the time" may be "every second time".

A rule with dice can fit how often each action was taken, history state by history state, though
what was done depends on more than it remembers. Then no weight is right that is computed from it.
The test is that of an estimated behavior (`checking.longer`): actions of one history state are
dealt over its histories under a longer memory. As this is said loudly, it must be beyond doubt: the
likelihood ratio must lie `MUCH` standard deviations above those of deals at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from jumar.core.text import printable
from jumar.draft.rule import remembered
from jumar.evidence.checking.base import Section, Subject
from jumar.evidence.checking.longer import deal_of
from jumar.evidence.noticing.notice import Notice
from jumar.memory.refinement import one_more

MUCH = 8.0
DEALS = 30


def look(
    subject: Subject, sections: Mapping[str, Section], rng: np.random.Generator
) -> Iterator[Notice]:
    """Notice that what was done depends on more than the rule remembers."""
    practice, fit = subject.practice, sections.get("fit")
    if subject.estimated or practice.only is None or fit is None or fit.verdict.status == "failed":
        return
    memory = subject.behavior.memory
    finer = one_more(memory)
    if finer is None:
        return
    fine = subject.replays.over(finer)  # first: the other is then a projection of it
    deal = deal_of(subject.replays.over(memory), fine)
    if deal.taken.size == 0:
        return
    drawn = np.array(list(deal.statistics(DEALS, rng)))
    if deal.statistic(deal.taken) <= drawn.mean() + MUCH * max(1.0, float(drawn.std())):
        return
    name, window = printable(subject.behavior.name), str(max(2, remembered(subject.log)))
    yield Notice(
        "remembers",
        f"What was done depends on more than {name!r} remembers: a {finer} explains the actions "
        "far better. So this rule did not make the log, though it does each action about as often.",
        "Write what it remembers into the rule, or let it be estimated with a memory.",
        ("--policy", "estimate", "--window", window),
        loud=True,
    )
