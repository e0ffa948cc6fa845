"""Outcomes on last rows of which the log does not say that the episode ended there.

What followed such a step is unknown, so no model can use it: it is left out of what is learned,
together with its reward. Where rewards differ there and hardly anywhere else, nothing that matters
is learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from jumar.core.text import counted, percent
from jumar.evidence.checking.base import Section, Subject
from jumar.evidence.noticing.notice import Notice

MUCH, ALMOST_ALL = 0.25, 0.9  # of the squared differences between rewards
ENDED = ("--ends", "terminated")


def look(
    subject: Subject, sections: Mapping[str, Section], rng: np.random.Generator
) -> Iterator[Notice]:
    """Notice rewards that are left out with the last steps of recordings."""
    log, known = subject.log, subject.replay.known
    left_out = int((~known).sum())
    if left_out == 0:
        return
    lost, used = (float(((r - r.mean()) ** 2).sum()) if len(r) else 0.0
                  for r in (log.reward[~known], log.reward[known]))  # fmt: skip
    if lost + used == 0 or lost < MUCH * (lost + used):
        return
    by_column = log.origin is not None and "terminated" in log.origin.columns
    settle = "If episodes end there, say so (--ends terminated)"
    if by_column:
        settle = "If episodes end there, mark their last rows as terminated"
    yield Notice(
        "last rows",
        f"The log does not say what followed the last step of {counted(left_out, 'episode')}, so "
        f"these steps are left out of what is learned, and {percent(lost / (lost + used))} of the "
        "differences between rewards lie there.",
        f"{settle}; if recordings only stop there, add what was seen next as a closing row.",
        () if by_column else ENDED,
        loud=lost >= ALMOST_ALL * (lost + used),
    )
