"""Outcomes on last rows of which the log does not say that the episode ended there.

What followed such a step is unknown, so no model can use it: it is left out of what is learned,
together with its reward. Where rewards differ there and hardly anywhere else, nothing that matters
is learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from jumar.core.arrays import ROUNDING
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
    # from what is usual in the steps that are used: outcomes may be alike, but unlike all the rest
    usual = float(log.reward[known].mean()) if known.any() else float(log.reward.mean())
    squares = (log.reward - usual) ** 2
    lost, used = float(squares[~known].sum()), float(squares[known].sum())
    rounding = (ROUNDING * float(np.abs(log.reward).max())) ** 2 * log.n_steps
    if lost + used <= rounding or lost < MUCH * (lost + used):
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
