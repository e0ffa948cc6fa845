"""A column of rewards that is called a cost, though nobody said whether more is better.

The name decides: costs and earnings have the same shape. A name that only tells a unit ("EUR",
"minutes") says neither; then the question is asked, but nothing is called unreliable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from jumar.core.text import printable
from jumar.draft.parts import is_unit, mostly_positive, named_like_cost
from jumar.evidence.checking.base import Section, Subject
from jumar.evidence.noticing.notice import Notice


def look(
    subject: Subject, sections: Mapping[str, Section], rng: np.random.Generator
) -> Iterator[Notice]:
    """Notice costs that are read as rewards."""
    origin = subject.log.origin
    if origin is None or origin.cost_said or origin.remarks.rewards_assumed:
        return
    (column,) = origin.columns.get("reward", ("",))
    if not column or not mostly_positive(subject.log.reward):
        return
    name, signs = printable(column), "mostly positive"
    if (subject.log.reward >= 0).all():
        signs = "never negative"
    read = "It is read as a reward: the more, the better."
    settle = "Add --cost if less is better, or --no-cost if more is better."
    if named_like_cost(column):
        fact = f"The column {name!r} is called a cost, and its numbers are {signs}. {read}"
        yield Notice("cost", fact, settle, ("--cost",), loud=True)
    elif is_unit(column) and (subject.log.reward >= 0).all():
        fact = f"The column {name!r} does not say whether it holds costs or earnings. {read}"
        yield Notice("cost", fact, settle, ("--cost",))
